/* SPDX-License-Identifier: Apache-2.0 */
/* Versions of a program: the sizes for which each schedule is taken. */
#include <isl/set.h>
#include "polyhedra.h"

/* The sizes that the program allows and that fulfil the condition. */
static isl_set *fulfilling(struct uk_schedule *s, struct uk_index *condition) {
    struct uk_program assumed = *s->program;
    struct uk_schedule one = *s;

    assumed.assumes = uk_assumptions_with(s->arena, s->program, condition);
    one.program = &assumed;
    uk_scope_all(&one);
    s->scope = one.scope;
    return uk_context_set(&one);
}

bool uk_is_possible(struct uk_schedule *s, struct uk_index *condition) {
    isl_set *sizes = fulfilling(s, condition);
    const bool is_empty = isl_set_is_empty(sizes) == isl_bool_true;

    isl_set_free(sizes);
    return !is_empty;
}

static enum uk_status check_all(struct uk_schedule *s) {
    enum uk_status status = UK_OK;
    isl_set *earlier = NULL;

    for (const struct uk_version *v = s->program->versions; v && v->condition && !status; v = v->next) {
        isl_set *sizes = fulfilling(s, v->condition);
        const bool is_empty = isl_set_is_empty(sizes) == isl_bool_true;
        const bool is_earlier = earlier && isl_set_is_subset(sizes, earlier) == isl_bool_true;

        status = s->arena->failed ? uk_out_of_memory(s->context) : uk_isl_status(s);
        if (!status && is_empty)
            status =
                uk_fail(s->context, UK_REFUSED, v->at,
                        "no sizes that the program allows fulfil this `where`; correct it, or remove the "
                        "schedule");
        else if (!status && is_earlier)
            status =
                uk_fail(s->context, UK_REFUSED, v->at,
                        "for all sizes that fulfil this `where` an earlier schedule is taken; put this one "
                        "before that, or remove it");
        earlier = earlier ? isl_set_union(earlier, sizes) : sizes;
    }
    isl_set_free(earlier);
    return status;
}

enum uk_status uk_check_version_sizes(struct uk_schedule *s) {
    const size_t n = (size_t)s->program->size_count;
    bool *defined = uk_alloc(s->arena, (n + 1) * sizeof *defined);

    if (!s->program->versions)
        return UK_OK;
    if (!defined)
        return uk_out_of_memory(s->context);
    for (struct uk_var *v = s->program->sizes; v; v = v->next) {
        defined[v->number] = v->defined;
        v->defined = false;
    }
    const enum uk_status status = check_all(s);

    for (struct uk_var *v = s->program->sizes; v; v = v->next)
        v->defined = defined[v->number];
    return status;
}
