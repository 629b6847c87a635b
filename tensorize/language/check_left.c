/* SPDX-License-Identifier: Apache-2.0 */
/* The iterators of a statement: those of its left side, in the order in which they first appear there, then
 * those that it reduces. */
#include "language.h"

static bool is_reduced(const struct uk_statement *s, const struct uk_var *v) {
    for (int i = 0; i < s->reduced; i++)
        if (s->reduced_iterator[i] == v)
            return true;
    return false;
}

/* Returns the iterator of a left subscript "i", "i + offset", "offset + i" or "i - offset"; else NULL. */
static struct uk_var *left_iterator(struct uk_program *p, const struct uk_index *e) {
    if (e->op == UK_I_VAR)
        return e->var->kind == UK_VAR_ITERATOR ? e->var : NULL;
    if (e->op != UK_I_ADD && e->op != UK_I_SUB)
        return NULL;
    struct uk_var *l = left_iterator(p, e->a), *r = e->op == UK_I_ADD ? left_iterator(p, e->b) : NULL;

    return l && r ? NULL : l ? l : r;
}

/* True if e contains no iterator except v; *count counts v's occurrences. */
static bool only_iterator(const struct uk_index *e, const struct uk_var *v, int *count) {
    if (e->op == UK_I_VAR && e->var->kind == UK_VAR_ITERATOR) {
        ++*count;
        return e->var == v;
    }
    return (!e->a || only_iterator(e->a, v, count)) && (!e->b || only_iterator(e->b, v, count));
}

static bool add_iterator(struct uk_program *p, struct uk_statement *s, struct uk_var *v,
                         struct uk_position at) {
    enum { MOST = sizeof s->iterator / sizeof *s->iterator };

    if (uk_iterator_number(s, v) >= 0)
        return true;
    if (is_reduced(s, v) && !s->scan)
        return uk_program_fail(p, UK_REFUSED, at,
                               "%s is reduced, but also on the left; remove it on one side, or write scan",
                               v->name);
    if (s->iterators == MOST)
        return uk_program_fail(p, UK_REFUSED, at, "more than %d iterators on the left; use fewer", MOST);
    s->iterator[s->iterators++] = v;
    return true;
}

/* Adds the iterators of an element's subscripts. */
static bool add_iterators(struct uk_program *p, struct uk_statement *s, const struct uk_index *e) {
    if (!e)
        return true;
    if (e->op == UK_I_VAR)
        return e->var->kind != UK_VAR_ITERATOR || add_iterator(p, s, e->var, e->at);
    return add_iterators(p, s, e->a) && add_iterators(p, s, e->b);
}

static bool is_alone_before(struct uk_program *p, const struct uk_statement *s, int dims,
                            const struct uk_var *v) {
    for (int d = 0; d < dims; d++)
        if (s->left.index[d]->op != UK_I_ELEMENT && left_iterator(p, s->left.index[d]) == v)
            return true;
    return false;
}

/* Checks that subscript d of the left side is an iterator, possibly with an offset, and adds it. */
static bool add_plain(struct uk_program *p, struct uk_statement *s, int d) {
    const struct uk_index *e = s->left.index[d];
    struct uk_var *v = left_iterator(p, e);
    int count = 0;

    if (!uk_check_affine(p, e, true))
        return false;
    if (!v || !only_iterator(e, v, &count) || count != 1)
        return uk_program_fail(p, UK_REFUSED, e->at,
                               "subscript %d of %s on the left is not an iterator, or iterator plus an "
                               "offset of sizes; write it as one",
                               d, s->left.tensor->name);
    if (is_alone_before(p, s, d, v))
        return uk_program_fail(p, UK_REFUSED, e->at, "%s appears twice on the left; use each iterator once",
                               v->name);
    return add_iterator(p, s, v, e->at);
}

/* Checks that the statement neither reduces nor scans: instances that write one element run one after the
 * other, each with a complete value. */
static bool check_scattering(struct uk_program *p, const struct uk_statement *s) {
    return !s->reduce ||
           uk_program_fail(p, UK_REFUSED, s->at,
                           "%s is written at elements of a tensor, and the right side is a reduction; "
                           "compute the reduction in a temp before",
                           s->left.tensor->name);
}

bool uk_find_left_iterators(struct uk_program *p, struct uk_statement *s) {
    s->iterators = 0;
    if (uk_scatters(s) && !check_scattering(p, s))
        return false;
    for (int d = 0; d < s->left.tensor->dims; d++)
        if (s->left.index[d]->op == UK_I_ELEMENT ? !add_iterators(p, s, s->left.index[d]->a)
                                                 : !add_plain(p, s, d))
            return false;
    s->left_iterators = s->iterators;
    if (s->scan && s->reduced > 1)
        return uk_program_fail(p, UK_REFUSED, s->at,
                               "scan runs along %d iterators; scan along one, then along the next",
                               s->reduced);
    for (int i = 0; i < s->reduced; i++) {
        struct uk_var *v = s->reduced_iterator[i];

        if (s->scan && uk_iterator_number(s, v) < 0)
            return uk_program_fail(p, UK_REFUSED, s->at,
                                   "scan runs along %s, which is not on the left; add it there", v->name);
        if (!s->scan)
            s->iterator[s->iterators++] = v;
    }
    return true;
}
