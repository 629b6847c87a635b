/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of a schedule, in order: each primitive is the scheduler's, and tensorize is ours. */
#include "match.h"

static enum uk_status tensorize(struct uk_schedule *s, const struct uk_step *step) {
    struct uk_stage *st;
    int position;
    enum uk_status status = uk_find_loop(s, &step->loop[0], &st, &position);

    if (status)
        return status;
    if (st->match)
        return uk_fail(s->context, UK_REFUSED, step->at,
                       "tensorize %s: stage %s is tensorized already; tensorize a stage once",
                       step->loop[0].loop, st->name);
    return uk_apply_tensorize(s, st, position, step->subject, step->at);
}

static enum uk_status apply(struct uk_schedule *s, struct uk_step *step) {
    switch (step->kind) {
    case UK_STEP_SPLIT:
        return uk_apply_split(s, step);
    case UK_STEP_TILE:
        return uk_apply_tile(s, step);
    case UK_STEP_REORDER:
        return uk_apply_reorder(s, step);
    case UK_STEP_PARALLEL:
        return uk_apply_kind(s, step, UK_LOOP_PARALLEL);
    case UK_STEP_UNROLL:
        return uk_apply_kind(s, step, UK_LOOP_UNROLLED);
    case UK_STEP_VECTORIZE:
        return uk_apply_kind(s, step, UK_LOOP_VECTOR);
    case UK_STEP_PACK:
    case UK_STEP_CACHE_READ:
        return uk_apply_pack(s, step);
    case UK_STEP_FUSE:
        return uk_apply_fuse(s, step);
    case UK_STEP_COMPUTE_INLINE:
        return uk_apply_inline(s, step);
    case UK_STEP_RFACTOR:
        return uk_apply_rfactor(s, step);
    case UK_STEP_CACHE_WRITE:
        return uk_apply_cache_write(s, step);
    case UK_STEP_COMPUTE_AT:
    case UK_STEP_REVERSE_COMPUTE_AT:
        return uk_apply_attach(s, step);
    case UK_STEP_TENSORIZE:
        return tensorize(s, step);
    case UK_STEP_IMPORT:
        break; /* the linker takes imports from the program, wherever they stand */
    case UK_STEP_PIPELINE:
        return uk_apply_pipeline(s, step);
    case UK_STEP_BIND:
        return uk_apply_bind(s, step);
    }
    return UK_OK;
}

enum uk_status uk_apply_steps(struct uk_schedule *s, struct uk_step *steps) {
    for (struct uk_step *step = steps; step; step = step->next) {
        struct uk_step *copy = uk_alloc(s->arena, sizeof *copy);
        enum uk_status status = apply(s, step);

        if (status)
            return status;
        if (!copy)
            return uk_out_of_memory(s->context);
        for (int i = 0; i < step->names; i++)
            if ((status = uk_name_add(s, step->name[i])))
                return status;
        *copy = *step;
        copy->next = NULL;
        *s->applied_end = copy;
        s->applied_end = &copy->next;
    }
    return UK_OK;
}
