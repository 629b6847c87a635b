/* SPDX-License-Identifier: Apache-2.0 */
/* Steps as data, applied as if they had been written. */
#include <string.h>
#include "steps.h"

struct uk_step *uk_step_on(struct uk_schedule *s, enum uk_step_kind kind, struct uk_stage *st,
                           struct uk_loop *const *loops, int n) {
    struct uk_step *step = uk_alloc(s->arena, sizeof *step);

    if (!step || !(step->loop = uk_alloc(s->arena, sizeof *step->loop * (size_t)(n + 1))))
        return NULL;
    step->kind = kind;
    step->at = st->statement->at;
    step->loops = n;
    for (int i = 0; i < n; i++)
        step->loop[i] = (struct uk_loop_name){.stage = st->name, .loop = loops[i]->var->name, .at = step->at};
    return step;
}

enum uk_status uk_apply_one(struct uk_schedule *s, struct uk_step *step) {
    return step ? uk_apply_steps(s, step) : uk_out_of_memory(s->context);
}

enum uk_status uk_split_unconditionally(struct uk_schedule *s, struct uk_stage *st, struct uk_loop **l,
                                        int64_t factor, const char *suffix, struct uk_loop **outer) {
    struct uk_step *step;
    int at = uk_loop_position(st, *l);

    *outer = NULL;
    const char *base = st->statement->iterator[(*l)->iterator]->name;
    if (!(step = uk_step_on(s, UK_STEP_SPLIT, st, l, 1)) ||
        !(step->name = uk_alloc(s->arena, 2 * sizeof *step->name)))
        return uk_out_of_memory(s->context);
    step->number[0] = factor;
    step->names = 2;
    step->name[0] = uk_fresh_name(s, base, suffix);
    step->name[1] = uk_fresh_name(s, base, !strcmp(suffix, "c") ? "b" : "i");
    if (!step->name[0] || !step->name[1])
        return uk_out_of_memory(s->context);
    enum uk_status status = uk_apply_steps(s, step);
    if (status)
        return status;
    *outer = st->loop[at];
    *l = st->loop[at + 1];
    return UK_OK;
}

enum uk_status uk_split_by(struct uk_schedule *s, struct uk_stage *st, struct uk_loop **l, int64_t factor,
                           const char *suffix, struct uk_loop **outer) {
    int64_t n = uk_constant_extent(st, *l);

    *outer = NULL;
    return n >= 0 && n <= factor ? UK_OK : uk_split_unconditionally(s, st, l, factor, suffix, outer);
}
