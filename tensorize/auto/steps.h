/* SPDX-License-Identifier: Apache-2.0 */
/* Inside room auto: steps on loops of a stage, applied as if they had been written. */
#ifndef UK_STEPS_H
#define UK_STEPS_H

#include "auto.h"

/* A step on loops of the stage, to be applied as if it had been written; NULL: no memory. */
struct uk_step *uk_step_on(struct uk_schedule *s, enum uk_step_kind kind, struct uk_stage *st,
                           struct uk_loop *const *loops, int n);
enum uk_status uk_apply_one(struct uk_schedule *s, struct uk_step *step);
/* Applies the step if it is legal, and sets *done; a refused step changes nothing. */
enum uk_status uk_try_step(struct uk_schedule *s, struct uk_step *step, bool *done);
/* A step on the stage itself. */
struct uk_step *uk_step_of(struct uk_schedule *s, enum uk_step_kind kind, struct uk_stage *st);
/* Splits l into outer and inner loop, the inner one of `factor` values; *l becomes the inner loop. *outer
 * NULL: the loop has no more values than that and is left as it is. */
enum uk_status uk_split_by(struct uk_schedule *s, struct uk_stage *st, struct uk_loop **l, int64_t factor,
                           const char *suffix, struct uk_loop **outer);
/* uk_split_by without that exception. */
enum uk_status uk_split_unconditionally(struct uk_schedule *s, struct uk_stage *st, struct uk_loop **l,
                                        int64_t factor, const char *suffix, struct uk_loop **outer);

/* Applies `step`, a pack or cache_read of operand o whose panel or layout is set, at the loop
 * `place` (NULL: at root, once for the whole program). If an earlier stage has made the same copy, the stage
 * shares it; if a later stage will want it, the copy is made at root. */
enum uk_status uk_copy_operand(struct uk_schedule *s, struct uk_stage *st, int o, struct uk_loop *place,
                               struct uk_step *step);
/* The same for all accesses of the stage to the operand's tensor, in one copy. */
enum uk_status uk_copy_tensor(struct uk_schedule *s, struct uk_stage *st, int o, struct uk_loop *place,
                              struct uk_step *step);
/* Makes the step's copy one of operand o alone: if the stage reads the tensor at other subscripts too, names
 * those of o. */
void uk_name_access(const struct uk_stage *st, int o, struct uk_step *step);

#endif
