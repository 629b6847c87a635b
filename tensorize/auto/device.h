/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside the automatic schedules for GPUs: each nest becomes a kernel in the normal form, loops over blocks
 * outside, then serial ones, then those over threads.
 */
#ifndef UK_DEVICE_H
#define UK_DEVICE_H

#include "auto.h"
#include "cost/cost.h"

/* device_steps.c: steps, applied as if they had been written. */

/* l -> outer, inner; *l becomes the inner loop, of `factor` values, and *outer is the other one. */
enum uk_status uk_device_split(struct uk_schedule *s, struct uk_stage *st, struct uk_loop **l, int64_t factor,
                               const char *outer_suffix, const char *inner_suffix, struct uk_loop **outer);
enum uk_status uk_device_order(struct uk_schedule *s, struct uk_stage *st, struct uk_loop *const *order,
                               int n);
enum uk_status uk_device_bind(struct uk_schedule *s, struct uk_stage *st, struct uk_loop *l, const char *kind,
                              int axis);
/* Up to UK_AXES loops over blocks: the one with the most values gets x, whose grid has no limit that matters.
 * */
enum uk_status uk_device_bind_blocks(struct uk_schedule *s, struct uk_stage *st, struct uk_loop *const *loop,
                                     int n);
/* What the stage computes inside the loop is in registers until then. */
enum uk_status uk_device_keep(struct uk_schedule *s, struct uk_stage *st, const struct uk_loop *place);
/* The step if it is legal; one that is refused leaves everything as it was. */
enum uk_status uk_device_try(struct uk_schedule *s, struct uk_step *step, bool *done);

/* Is it one of the stage's own loops, and do its iterations not depend on each other? */
bool uk_device_is_free(const struct uk_stage *st, int position);
/* Are neighbours along the loop neighbours in memory? */
bool uk_device_is_contiguous(const struct uk_operand *o, const struct uk_loop *l);
/* The least power of two that is n at least. */
int64_t uk_device_power(double n);

/* auto_device.c: a thread for each element, or for a few neighbours. */
enum uk_status uk_device_spread(struct uk_schedule *s, struct uk_stage *st);
/* device_sum.c: several threads for each sum, and those of a block or wave add up what each has. done: else
 * it is spread. */
enum uk_status uk_device_rows(struct uk_schedule *s, struct uk_stage *st, bool *done);
/* device_product.c: tiles of products, and what follows element by element. done: the stage is one, and large
 * enough. */
enum uk_status uk_device_product(struct uk_schedule *s, struct uk_stage *st, bool *done);

#endif
