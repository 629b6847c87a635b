/* SPDX-License-Identifier: Apache-2.0 */
/* Empty sums: which parts run if a size is 0, and which are skipped. */
#include "nest.h"

/* True if another stage follows a sum over several tiles; it runs in the last of them. */
static bool ends_in(const struct uk_nest *n, const struct uk_stage *st) {
    for (int i = 0; i < n->stages; i++)
        for (int q = 0;
             n->member[i].stage->parent == st && n->member[i].stage->after && q < n->member[i].stage->prefix;
             q++)
            if (uk_is_reduced(st, st->loop[q]))
                return true;
    return false;
}

/* The size if the extent is a size or a positive multiple of one, else NULL. */
static const struct uk_var *size_of(const struct uk_index *e) {
    while (e->op == UK_I_MUL) {
        const bool first = uk_index_is_int(e->a, NULL);
        int64_t c;

        if (!uk_index_is_int(first ? e->a : e->b, &c) || c <= 0)
            return NULL;
        e = first ? e->b : e->a;
    }
    return e->op == UK_I_VAR ? e->var : NULL;
}

bool uk_is_raised_extent(const struct uk_nest *n, const struct uk_index *e) {
    const struct uk_var *v = size_of(e);

    return v && uk_is_raised(n->s, v);
}

enum uk_status uk_raise_sizes(struct uk_nest *n) {
    n->s->raised = 0;
    for (int i = 0; i < n->stages; i++) {
        const struct uk_stage *st = n->member[i].stage;
        bool follows = ends_in(n, st);

        for (int v = 0; (follows || (st->match && st->match->begins_sums)) && v < st->iterators; v++) {
            const struct uk_index *e = st->statement->extent[v];
            int64_t c;

            if (!st->reduced[v] || uk_index_is_int(e, &c))
                continue;
            const struct uk_var *size = size_of(e);
            if (!size)
                return uk_fail(
                    n->s->context, UK_UNSUPPORTED, st->statement->at,
                    "stage %s: the sum over %s ends in an outer loop, and its extent is not a size; "
                    "attach the later stages outside of the sum",
                    st->name, st->statement->iterator[v]->name);
            if (!uk_is_raised(n->s, size) && n->s->raised < UK_MAX_SIZES)
                n->s->raised_size[n->s->raised++] = size;
        }
    }
    return UK_OK;
}

/* True if the stage computes something even if the extent is 0, that is if none of its results' subscripts
 * has it. */
static bool runs_without(const struct uk_stage *st, const struct uk_index *extent) {
    for (int k = 0; k < st->iterators; k++)
        if (!st->reduced[k] && uk_index_equal(st->statement->extent[k], extent))
            return false;
    return true;
}

/* True if a stage that is attached after the loops over the iterator runs even if there is no iteration. */
static bool has_follower(const struct uk_nest *n, int iterator) {
    for (int i = 1; i < n->stages; i++) {
        const struct uk_stage *st = n->member[i].stage;
        bool inside = false;

        for (int q = 0; q < st->prefix; q++)
            inside |= n->main->iterator[iterator].coefficient[st->loop[q]->id] != 0;
        if (st->after && !st->is_copy && st->parent == n->main && !inside &&
            runs_without(st, n->main->statement->extent[iterator]))
            return true;
    }
    return false;
}

bool uk_needs_iterations(const struct uk_nest *n, int iterator) {
    const struct uk_index *e = n->main->statement->extent[iterator];
    int64_t c;

    if (!n->main->reduced[iterator] && !n->main->match && has_follower(n, iterator))
        return false;
    if (n->main->reduced[iterator] && uk_index_is_int(e, &c))
        return false;
    if (!n->main->reduced[iterator] || uk_is_raised_extent(n, e))
        return true;
    for (int i = 1; i < n->stages; i++)
        if (!n->member[i].stage->is_copy)
            return false;
    return true;
}

struct uk_node *uk_guard_body(struct uk_nest *n, struct uk_node *body) {
    struct uk_arena *a = n->s->arena;
    struct uk_index *all = NULL;
    struct uk_node *r;
    int64_t c;

    for (int i = 0; i < n->main->iterators; i++) {
        struct uk_index *e = n->main->statement->extent[i];

        if (!uk_needs_iterations(n, i) || (n->main->reduced[i] && uk_is_raised_extent(n, e)) ||
            (uk_index_is_int(e, &c) && c >= 1))
            continue;
        struct uk_index *one = uk_index_op(a, UK_I_GE, e, uk_index_int(a, 1));
        all = all ? uk_index_op(a, UK_I_AND, all, one) : one;
    }
    if (!all)
        return body;
    r = uk_alloc(a, sizeof *r);
    if (r)
        *r = (struct uk_node){.op = UK_N_IF, .condition = all, .body = body};
    return r;
}
