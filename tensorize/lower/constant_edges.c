/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Constant extents of edge tiles: after `if min(56 - 16 * q, 16) == 16`, full tiles, the extent in the else
 * part is the constant 56 % 16. Loops over registers, and kernels with code for each edge, need it as a
 * number. Only for targets without vectors: elsewhere loops of any length are as fast.
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

/* Matches a condition for full tiles; *rest is the extent of the other ones. */
static bool find_rest(const struct uk_index *condition, int64_t *rest) {
    const struct uk_index *minimum = condition->a;
    int64_t full, extent, number;

    if (condition->op != UK_I_EQ || minimum->op != UK_I_MIN || !uk_index_is_int(condition->b, &full) ||
        full <= 0)
        return false;
    const struct uk_index *other = uk_index_is_int(minimum->b, &extent) ? minimum->a : minimum->b;
    if (other == minimum->b && !uk_index_is_int(minimum->a, &extent))
        return false;
    if (extent != full || !counts_down(other, full, &number))
        return false;
    *rest = number % full;
    return true;
}

static void replace(struct uk_node *n, const struct uk_index *e, struct uk_index *rest) {
    for (; n; n = n->next) {
        if (n->op == UK_N_FOR && uk_index_equal(n->upper, e))
            n->upper = rest;
        for (int i = 0; n->op == UK_N_CALL && i < n->intrinsic->declaration->size_count; i++)
            if (uk_index_equal(n->bind[i], e))
                n->bind[i] = rest;
        if (n->op == UK_N_FOR || n->op == UK_N_IF || n->op == UK_N_LET) {
            replace(n->body, e, rest);
            replace(n->other, e, rest);
        }
    }
}

static bool name_edges(struct uk_schedule *s, struct uk_node *n) {
    for (; n; n = n->next) {
        int64_t number;

        if (n->op != UK_N_FOR && n->op != UK_N_IF && n->op != UK_N_LET)
            continue;
        if (!name_edges(s, n->body) || !name_edges(s, n->other))
            return false;
        if (n->op != UK_N_IF || !n->other || !find_rest(n->condition, &number))
            continue;
        struct uk_index *rest = uk_index_int(s->arena, number);
        if (!rest)
            return uk_out_of_memory(s->context), false;
        replace(n->other, n->condition->a, rest);
    }
    return true;
}

enum uk_status uk_constant_edges(struct uk_schedule *s, struct uk_node *body) {
    if (s->target->interpreted || s->target->vectors.bytes >= 16)
        return UK_OK;
    return name_edges(s, body) ? UK_OK : UK_OUT_OF_MEMORY;
}
