/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside the automatic schedules for GPUs. Each nest becomes a GPU kernel in the normal form: loops over
 * blocks outermost, then serial ones, then those over threads.
 */
#ifndef UK_DEVICE_H
#define UK_DEVICE_H

#include "auto/auto.h"
#include "cost/cost.h"

/* ---- steps.c: steps, applied as if they had been written ---- */

/* Splits l; *l becomes the inner loop, of `factor` values, and *outer is the other one. */
enum uk_status uk_device_split(struct uk_schedule *s, struct uk_stage *st, struct uk_loop **l, int64_t factor,
                               const char *outer_suffix, const char *inner_suffix, struct uk_loop **outer);
/* Divides the sum by rfactor along l. The stage becomes the one of the parts, which gets the name; the stage
 * after it adds these. */
enum uk_status uk_device_rfactor(struct uk_schedule *s, struct uk_stage *st, struct uk_loop *l,
                                 const char *name);
enum uk_status uk_device_order(struct uk_schedule *s, struct uk_stage *st, struct uk_loop *const *order,
                               int n);
enum uk_status uk_device_bind(struct uk_schedule *s, struct uk_stage *st, struct uk_loop *l, const char *kind,
                              int axis);
/* Binds loops to blocks. The one with the most values gets axis x, whose limit is by far the largest, and so
 * do those for which there is no other axis. */
enum uk_status uk_device_bind_blocks(struct uk_schedule *s, struct uk_stage *st, struct uk_loop *const *loop,
                                     int n);
/* Keeps the elements that the stage computes inside the loop `place` in registers, and stores them after it
 * (step cache_write). */
enum uk_status uk_device_keep_in_registers(struct uk_schedule *s, struct uk_stage *st,
                                           const struct uk_loop *place);
/* Attaches an elementwise stage that is the only reader of the stage's output at `place`: it runs while what
 * it reads is in registers. */
enum uk_status uk_device_attach_reader(struct uk_schedule *s, struct uk_stage *st,
                                       const struct uk_loop *place);
/* The step that copies the operand's part at `place` to that memory, not applied yet; the copy's name is the
 * tensor's with the suffix. NULL: no memory. */
struct uk_step *uk_device_copy(struct uk_schedule *s, struct uk_stage *st, struct uk_loop *place, int operand,
                               enum uk_scope scope, const char *suffix);

/* True if the loop is one of the stage's own, and its iterations do not depend on each other. */
bool uk_device_is_free(const struct uk_stage *st, int position);
/* True if adjacent iterations of the loop access adjacent elements of the operand. */
bool uk_device_is_contiguous(const struct uk_operand *o, const struct uk_loop *l);
/* n / of, rounded up. */
static inline double uk_device_ceiling(double n, double of) {
    const double whole = (double)(int64_t)(n / of);

    return whole * of < n ? whole + 1 : whole;
}
/* The smallest power of two that is at least n. */
int64_t uk_power_of_two_above(double n);

/* device.c: a thread per element, or per few adjacent elements. */
enum uk_status uk_device_spread(struct uk_schedule *s, struct uk_stage *st);
/* sum.c: several threads for each sum; then those of a block or wave add their partial sums. *done
 * false: not scheduled, to be spread instead. */
enum uk_status uk_device_rows(struct uk_schedule *s, struct uk_stage *st, bool *done);
/* few_rows.c: a product of a large matrix by few vectors. *done false: the stage is not such a product. */
enum uk_status uk_device_few_rows(struct uk_schedule *s, struct uk_stage *st, bool *done);
/* product.c: tiles for a product, and the elementwise stage after it. *done false: the stage is no
 * product, or too small. */
enum uk_status uk_device_product(struct uk_schedule *s, struct uk_stage *st, bool *done);

/* depthwise.c: tiles of pixels for a sum over windows of an image, channel by channel, and the elementwise
 * stage after it. *done false: the stage is another one. */
enum uk_status uk_device_depthwise(struct uk_schedule *s, struct uk_stage *st, bool *done);

#endif
