/* SPDX-License-Identifier: Apache-2.0 */
/* Versions of a program: several schedules. Conditions on the sizes choose one at entry. */
#include "language.h"

static const struct uk_version *last_version(const struct uk_program *p) {
    const struct uk_version *v = p->versions;

    while (v && v->next)
        v = v->next;
    return v;
}

static int count_versions(const struct uk_program *p) {
    int n = 0;

    for (const struct uk_version *v = p->versions; v; v = v->next)
        n++;
    return n;
}

int uk_current_version(const struct uk_program *p) {
    return p->versions ? count_versions(p) - 1 : 0;
}

bool uk_begin_schedule(struct uk_program *p, struct uk_index *condition) {
    const struct uk_version *last = last_version(p);
    struct uk_version **end = &p->versions, *v;

    if (p->has_schedule && !(last && last->condition))
        return uk_program_fail(
            p, UK_REFUSED, p->at,
            "the schedule before this one has no `where`, so this one is never taken; give "
            "that one a `where`, or put it last");
    if (count_versions(p) == UK_MAX_VERSIONS)
        return uk_program_fail(p, UK_REFUSED, p->at, "more than %d schedules; remove one", UK_MAX_VERSIONS);
    p->has_schedule = true;
    p->is_checked = false;
    if (!last && !condition)
        return true;
    if (!(v = uk_program_check_memory(p, uk_alloc(&p->arena, sizeof *v))))
        return false;
    *v = (struct uk_version){.condition = condition, .at = p->at};
    while (*end)
        end = &(*end)->next;
    *end = v;
    return true;
}

void uk_schedule_where(struct uk_program *p, struct uk_index *relation) {
    if (!uk_may_build(p))
        return;
    struct uk_position before = uk_begin_item(p, UK_ITEM_SCHEDULE, count_versions(p) + 1);

    if (relation && !uk_is_own(p, "the relation", relation))
        relation = NULL;
    else if (relation && (relation->op < UK_I_EQ || relation->op > UK_I_GE) && relation->op != UK_I_AND)
        uk_program_fail(p, UK_INVALID_ARGUMENT, p->at,
                        "uk_schedule_where takes a relation; make it by uk_index_compare");
    if (uk_may_build(p))
        uk_begin_schedule(p, relation);
    p->at = before;
}

static bool check_condition(struct uk_program *p, const struct uk_index *e) {
    if (e->op == UK_I_AND)
        return check_condition(p, e->a) && check_condition(p, e->b);
    return uk_check_affine(p, e->a, false) && uk_check_affine(p, e->b, false);
}

bool uk_check_versions(struct uk_program *p) {
    const struct uk_version *last = last_version(p);

    for (const struct uk_version *v = p->versions; v; v = v->next) {
        p->at = v->at;
        if (v->condition && !check_condition(p, v->condition))
            return false;
    }
    return !last || !last->condition ||
           uk_program_fail(
               p, UK_REFUSED, last->at,
               "the last schedule has a `where`; add `schedule` without one, for all other sizes");
}

enum uk_status uk_refuse_versions(const struct uk_program *p) {
    if (!p->versions)
        return UK_OK;
    return uk_fail(p->context, UK_UNSUPPORTED, p->versions->at,
                   "the program has several schedules, and a search changes one; leave one, without `where`");
}

static struct uk_assume **append_assumption(struct uk_arena *a, struct uk_assume **end,
                                            struct uk_index *relation, struct uk_position at) {
    if (relation->op == UK_I_AND)
        return append_assumption(a, append_assumption(a, end, relation->a, at), relation->b, at);
    struct uk_assume *one = uk_alloc(a, sizeof *one);

    if (!one)
        return end;
    *one = (struct uk_assume){.relation = relation, .at = at};
    *end = one;
    return &one->next;
}

struct uk_assume *uk_assumptions_with(struct uk_arena *a, const struct uk_program *p,
                                      struct uk_index *condition) {
    struct uk_assume *all = NULL, **end = &all;

    for (const struct uk_assume *one = p->assumes; one; one = one->next)
        end = append_assumption(a, end, one->relation, one->at);
    if (condition)
        append_assumption(a, end, condition, condition->at);
    return all;
}

struct sizes {
    const int64_t *size;
    bool overflow; /* of a size that a schedule introduced */
};

static int64_t value_of(const struct uk_var *v, void *user) {
    struct sizes *s = user;

    if (v->definition)
        return uk_index_eval(v->definition, value_of, s, &s->overflow);
    return v->defined ? v->value : s->size[v->number];
}

static bool holds(const struct uk_index *condition, const int64_t *size) {
    struct sizes s = {.size = size};
    bool overflow = false;

    return uk_index_eval(condition, value_of, &s, &overflow) && !overflow && !s.overflow;
}

const struct uk_function *uk_version_for(const struct uk_function *f, const int64_t *size) {
    const struct uk_function_version *v = f->versions;

    while (v && v->condition &&
           !(holds(v->condition, size) && (!v->function->is_short || holds(v->function->fits, size))))
        v = v->next;
    return v ? v->function : f;
}
