/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks of elements used as subscripts: before the nest, loops over the elements that the statement uses
 * check each. No stage of the nest writes their tensor (schedule/attach.c).
 */
#include "lower.h"

struct checking {
    struct uk_schedule *s;
    const struct uk_stage *stage;
    struct uk_node **end;
    int checks; /* number of checks so far, each of an element and the extent of its dimension */
    const struct uk_index *element[UK_MAX_OPERANDS], *extent[UK_MAX_OPERANDS];
};

/* True if the check goes over the iterator: it occurs in the element's subscripts or in `where`. */
static bool is_needed(const struct uk_statement *t, const struct uk_index *element, int iterator) {
    return uk_mentions(element, t->iterator[iterator]) || uk_mentions(t->where, t->iterator[iterator]);
}

/* Creates check lower <= element < extent. */
static struct uk_node *check_node(const struct checking *c, const struct uk_index *e, struct uk_index *extent,
                                  struct uk_position at) {
    struct uk_node *n = uk_lower_node(c->s, UK_N_CHECK, c->stage);
    struct uk_index *value = uk_alloc(c->s->arena, sizeof *value);

    if (!n || !value)
        return NULL;
    *value = *e;
    value->wraps = false;
    value->b = NULL;
    n->value = value;
    n->lower = e->wraps ? uk_index_op(c->s->arena, UK_I_NEG, extent, NULL) : uk_index_int(c->s->arena, 0);
    n->upper = extent;
    n->at = at;
    return n->lower ? n : NULL;
}

/* Puts the loop of an iterator around the check; false: no memory. */
static bool add_loop(const struct checking *c, const struct uk_statement *t, int iterator,
                     struct uk_node **body, struct uk_node *check, struct uk_node *filter) {
    struct uk_arena *a = c->s->arena;
    struct uk_node *loop = uk_lower_node(c->s, UK_N_FOR, c->stage);
    struct uk_var *v = uk_alloc(a, sizeof *v);
    struct uk_index *by;

    if (!loop || !v)
        return false;
    *v = (struct uk_var){.name = t->iterator[iterator]->name, .kind = UK_VAR_LOOP};
    loop->var = v;
    loop->lower = uk_index_int(a, 0);
    loop->upper = t->extent[iterator];
    loop->step = 1;
    loop->body = *body;
    *body = loop;
    by = uk_index_var(a, v);
    check->value = uk_substitute(a, check->value, t->iterator[iterator], by);
    if (filter)
        filter->condition = uk_substitute(a, filter->condition, t->iterator[iterator], by);
    return by && loop->lower && check->value && (!filter || filter->condition);
}

/* True if another access of the statement has the same check. */
static bool is_checked(struct checking *c, const struct uk_index *element, const struct uk_index *extent) {
    for (int i = 0; i < c->checks; i++)
        if (uk_index_equal(c->element[i], element) && uk_index_equal(c->extent[i], extent))
            return true;
    if (c->checks < UK_MAX_OPERANDS) {
        c->element[c->checks] = element;
        c->extent[c->checks++] = extent;
    }
    return false;
}

static bool add_check(struct checking *c, const struct uk_statement *t, const struct uk_access *a, int d) {
    if (is_checked(c, a->index[d], a->tensor->shape[d]))
        return true;
    struct uk_node *check = check_node(c, a->index[d], a->tensor->shape[d], a->at), *body = check,
                   *filter = NULL;

    if (!check)
        return false;
    if (t->where) {
        if (!(filter = uk_lower_if(c->s, c->stage, t->where, check, NULL)))
            return false;
        body = filter;
    }
    for (int i = t->iterators - 1; i >= 0; i--)
        if (is_needed(t, a->index[d], i) && !add_loop(c, t, i, &body, check, filter))
            return false;
    *c->end = body;
    c->end = &body->next;
    return true;
}

static bool add_checks_of(struct checking *c, const struct uk_statement *t, const struct uk_access *a) {
    for (int d = 0; d < a->tensor->dims; d++)
        if (a->index[d]->op == UK_I_ELEMENT && !add_check(c, t, a, d))
            return false;
    return true;
}

static bool add_checks(struct checking *c, const struct uk_statement *t, const struct uk_expr *e) {
    if (e->op == UK_E_ACCESS && !add_checks_of(c, t, &e->access))
        return false;
    for (int i = 0; i < 3 && e->arg[i]; i++)
        if (!add_checks(c, t, e->arg[i]))
            return false;
    return true;
}

enum uk_status uk_lower_checks(struct uk_schedule *s, const struct uk_stage *st, struct uk_node ***end) {
    struct checking c = {.s = s, .stage = st, .end = *end};
    bool reads = false;

    for (int o = 1; o < st->operands; o++)
        reads |= st->operand[o].is_subscript;
    if (!reads)
        return UK_OK;
    if (!add_checks_of(&c, st->source, &st->source->left) || !add_checks(&c, st->source, st->source->right))
        return uk_out_of_memory(s->context);
    *end = c.end;
    return UK_OK;
}
