/* SPDX-License-Identifier: Apache-2.0 */
/* Applies the steps of a schedule in order, each by the function that its row of steps.def names. Those of
 * tensorize and import are here, the others in room schedule. */
#include "match.h"

enum uk_status uk_apply_tensorize_step(struct uk_schedule *s, struct uk_step *step) {
    struct uk_stage *st;
    int position;
    enum uk_status status = uk_find_loop(s, &step->loop[0], &st, &position);

    if (status)
        return status;
    if (st->match)
        return uk_fail(s->context, UK_REFUSED, step->at,
                       "tensorize %s: stage %s is already tensorized; tensorize a stage once",
                       step->loop[0].loop, st->name);
    return uk_apply_tensorize(s, st, position, step->subject, step->at);
}

/* Does nothing: the linker reads imports from the program. */
enum uk_status uk_apply_import(struct uk_schedule *s, struct uk_step *step) {
    (void)s;
    (void)step;
    return UK_OK;
}

static enum uk_status apply(struct uk_schedule *s, struct uk_step *step) {
    static enum uk_status (*const by_kind[])(struct uk_schedule *s, struct uk_step *step) = {
#define UK_STEP_ROW(id, word, role, apply, ...) [UK_STEP_##id] = apply,
#include "language/steps.def"
    };

    return by_kind[step->kind](s, step);
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
