/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Constant extents of tiles, for kernels, which have code for each extent, and for loops over registers.
 * After `if min(56 - 16 * q, 16) == 16`, full tiles, the extent in the else part is the constant 56 % 16.
 * After `if min(56 - 16 * q, 16) < 9`, tiles of few columns, it is 56 % 16, and 16 in the else part.
 */
#include "lower.h"

/* Matches number - step * var for some loop variable. */
static bool counts_down(const struct uk_index *e, int64_t step, int64_t *number) {
    const struct uk_poly p = uk_poly_of(e);
    int vars = 0;

    *number = 0;
    for (int i = 0; i < p.terms; i++) {
        const struct uk_term *t = &p.term[i];
        const struct uk_var *v = t->atoms == 1 && t->atom[0]->op == UK_I_VAR ? t->atom[0]->var : NULL;

        if (t->atoms && !v)
            return false;
        if (!v || v->defined)
            *number += t->factor * (v ? v->value : 1);
        else if (v->kind != UK_VAR_LOOP || t->factor != -step || vars++)
            return false;
    }
    return vars == 1 && *number > 0;
}

/* Values of an extent where a condition holds, and where not. */
struct edge {
    int64_t then, other;
};

/* Matches a condition on the extent of tiles. Extents are at least 1. */
static bool find_edge(const struct uk_index *condition, struct edge *e) {
    const struct uk_index *minimum = condition->a;
    int64_t bound, full, number;

    if ((condition->op != UK_I_EQ && condition->op != UK_I_LT) || minimum->op != UK_I_MIN ||
        !uk_index_is_int(condition->b, &bound))
        return false;
    const struct uk_index *other = uk_index_is_int(minimum->b, &full) ? minimum->a : minimum->b;
    if ((other == minimum->b && !uk_index_is_int(minimum->a, &full)) || full <= 0 ||
        !counts_down(other, full, &number))
        return false;
    const int64_t rest = number % full;
    const bool is_full = condition->op == UK_I_EQ;

    *e = is_full ? (struct edge){full, rest} : (struct edge){rest, full};
    return rest > 0 && (is_full ? bound == full : rest < bound && bound <= full);
}

static bool replace(struct uk_schedule *s, struct uk_node *n, const struct uk_index *e, int64_t value);

/* A condition on the extent is known: the node becomes the first of the part that runs. */
static bool decide(struct uk_schedule *s, struct uk_node *n, int64_t value) {
    struct uk_index *condition =
        uk_index_op(s->arena, n->condition->op, uk_index_int(s->arena, value), n->condition->b);
    int64_t holds;

    if (!condition)
        return uk_out_of_memory(s->context), false;
    struct uk_node *part = uk_index_is_int(condition, &holds) ? holds ? n->body : n->other : NULL,
                   *last = part;

    if (!part)
        return true;
    while (last->next)
        last = last->next;
    last->next = n->next;
    *n = *part;
    return true;
}

/* The extent is a number for kernels. For loops it is one only on targets without vectors: elsewhere loops of
 * any length are as fast. */
static bool replace(struct uk_schedule *s, struct uk_node *n, const struct uk_index *e, int64_t value) {
    const bool in_loops = s->target->vectors.bytes < 16;
    struct uk_index *number = uk_index_int(s->arena, value);

    if (!number)
        return uk_out_of_memory(s->context), false;
    for (; n; n = n->next) {
        if (n->op == UK_N_IF && n->condition->a && uk_index_equal(n->condition->a, e) && !decide(s, n, value))
            return false;
        if (n->op == UK_N_FOR && in_loops && uk_index_equal(n->upper, e))
            n->upper = number;
        for (int i = 0; n->op == UK_N_CALL && i < n->intrinsic->declaration->size_count; i++)
            if (uk_index_equal(n->bind[i], e))
                n->bind[i] = number;
        if ((n->op == UK_N_FOR || n->op == UK_N_IF || n->op == UK_N_LET) &&
            (!replace(s, n->body, e, value) || !replace(s, n->other, e, value)))
            return false;
    }
    return true;
}

static bool name_edges(struct uk_schedule *s, struct uk_node *n) {
    for (; n; n = n->next) {
        struct edge edge;

        if (n->op != UK_N_FOR && n->op != UK_N_IF && n->op != UK_N_LET)
            continue;
        if (!name_edges(s, n->body) || !name_edges(s, n->other))
            return false;
        if (n->op == UK_N_IF && find_edge(n->condition, &edge) &&
            (!replace(s, n->body, n->condition->a, edge.then) ||
             !replace(s, n->other, n->condition->a, edge.other)))
            return false;
    }
    return true;
}

enum uk_status uk_constant_edges(struct uk_schedule *s, struct uk_node *body) {
    return s->target->interpreted || name_edges(s, body) ? UK_OK : UK_OUT_OF_MEMORY;
}
