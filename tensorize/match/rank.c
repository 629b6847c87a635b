/* SPDX-License-Identifier: Apache-2.0 */
/* Orders assignments of loops to the axes of a declaration, of which the best one is taken. */
#include "attempt.h"

/* True if the bound is a guard of an operand whose borders the kernel leaves out. */
static bool is_of_border(const struct uk_attempt *t, const struct uk_bound *b) {
    for (int i = 0; i < t->pairs && b->is_guard; i++)
        if (t->pair[i].operand == b->operand && t->has_border[t->pair[i].tensor])
            return true;
    return false;
}

/* The number of bounds with two or more of the axes, with which tiles are not boxes. */
static int count_coupled_bounds(const struct uk_attempt *t) {
    int n = 0;

    for (int b = 0; b < t->st->bounds; b++) {
        int loops = 0;

        for (int v = 0; v < t->ks->iterators && !is_of_border(t, &t->st->bound[b]); v++)
            loops += t->m.axis[v] && t->st->bound[b].form.coefficient[t->m.axis[v]->id];
        n += loops > 1;
    }
    return n;
}

/* The number of summed axes whose extent in the kernel is a constant that the loop may not have: the loop is
 * split, and its remainder runs as plain loops. */
static int inexact(const struct uk_attempt *t) {
    int n = 0;
    int64_t exact;

    for (int v = t->ks->left_iterators; v < t->ks->iterators; v++)
        n += t->m.axis[v] && uk_index_is_int(t->ks->extent[v], &exact) &&
             uk_constant_extent(t->st, t->m.axis[v]) != exact;
    return n;
}

/* True if rows and columns of an image may change places, since the kernel takes both with borders. */
static bool has_rows_and_columns(const struct uk_attempt *t) {
    for (int i = 0; i < t->pairs; i++)
        if (t->has_border[t->pair[i].tensor])
            return true;
    return false;
}

struct uk_rank uk_match_rank(const struct uk_attempt *t) {
    enum { OF_BOX = UK_MAX_OPERANDS * UK_MAX_AXES };
    struct uk_rank r = {.effort = OF_BOX * count_coupled_bounds(t) + UK_MAX_OPERANDS * inexact(t), .sum = 1};

    for (int v = 0; v < t->ks->iterators; v++) {
        for (int w = v + 1; w < t->ks->left_iterators && has_rows_and_columns(t); w++)
            r.swapped += t->m.axis[v] && t->m.axis[w] &&
                         uk_loop_position(t->st, t->m.axis[v]) > uk_loop_position(t->st, t->m.axis[w]);
        r.effort += t->m.axis[v] ? 0 : UK_MAX_OPERANDS;
        if (t->m.axis[v] && v >= t->ks->left_iterators)
            r.sum *= uk_values_estimate(t->s, t->st, t->m.axis[v]);
    }
    for (int o = 0; o < UK_MAX_OPERANDS; o++)
        r.effort += t->fit->panel[o].width != 0;
    return r;
}

bool uk_match_is_better(struct uk_rank a, struct uk_rank b) {
    if (a.effort != b.effort)
        return a.effort < b.effort;
    return a.sum != b.sum ? a.sum > b.sum : a.swapped < b.swapped;
}
