/* SPDX-License-Identifier: Apache-2.0 */
/* Inside room auto: steps on loops of a stage, applied as if they had been written. */
#ifndef UK_STEPS_H
#define UK_STEPS_H

#include "auto.h"

/* A step on loops of the stage, to be applied as if it had been written; NULL: no memory. */
struct uk_step *uk_step_on(struct uk_schedule *s, enum uk_step_kind kind, struct uk_stage *st,
                           struct uk_loop *const *loops, int n);
enum uk_status uk_apply_one(struct uk_schedule *s, struct uk_step *step);
/* l -> outer, inner of `factor`; *l becomes the inner loop. NULL as outer: the loop is that short already. */
enum uk_status uk_split_by(struct uk_schedule *s, struct uk_stage *st, struct uk_loop **l, int64_t factor,
                           const char *suffix, struct uk_loop **outer);
/* uk_split_by, however short the loop is. */
enum uk_status uk_split_always(struct uk_schedule *s, struct uk_stage *st, struct uk_loop **l, int64_t factor,
                               const char *suffix, struct uk_loop **outer);

/* auto_copy.c: applies a pack or cache_read of the operand; step->layout or the panel is there already.
 * place: NULL is the whole program. A copy that another stage has made is taken again, or will be by stages
 * that follow: `place` is none then. */
enum uk_status uk_copy_operand(struct uk_schedule *s, struct uk_stage *st, int o, struct uk_loop *place,
                               struct uk_step *step);
/* The step's copy is for operand o alone: it names its subscripts if the stage reads the tensor at others
 * too. */
void uk_name_access(const struct uk_stage *st, int o, struct uk_step *step);

#endif
