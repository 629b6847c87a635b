/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chooses each value's order of dimensions in memory:
 * - inputs and outputs of the network are row-major;
 * - results of operators whose kernels want channels innermost have them so, and so do their inputs;
 * - results of elementwise operators have the order of an operand;
 * - a transpose is another order of its operand's memory;
 * - any other view shares its operand's memory if that is row-major, else that of a row-major copy; a view of
 *   a block does, too.
 */
#include <string.h>
#include "plan/plan.h"

struct uk_graph_value *uk_storage(struct uk_graph_value *v) {
    while (v->storage)
        v = v->storage;
    return v;
}

bool uk_is_row_major(const struct uk_graph *g, const struct uk_graph_value *v) {
    int last = -1;

    for (int i = 0; i < v->rank; i++) {
        if (uk_is_one(g, v, v->order[i]))
            continue;
        if (v->order[i] < last)
            return false;
        last = v->order[i];
    }
    return true;
}

void uk_set_row_major(struct uk_graph_value *v) {
    for (int i = 0; i < v->rank; i++)
        v->order[i] = i;
    v->is_laid_out = true;
}

static void set_channels_last(struct uk_graph_value *v) {
    v->order[0] = 0;
    for (int i = 1; i + 1 < v->rank; i++)
        v->order[i] = i + 1;
    v->order[v->rank - 1] = 1;
    v->is_laid_out = true;
}

/* ---- copies ---- */

static const struct uk_operator copy_operator = {.name = "Copy", .domain = "", .expression = "$0"};

struct uk_graph_value *uk_copy_row_major(struct uk_graph *g, struct uk_graph_value *v,
                                         struct uk_graph_node **place, struct uk_graph_region *region) {
    struct uk_graph_value *copy = uk_value_new(g, v->name);
    struct uk_graph_node *n = copy ? uk_node_new(g, &copy_operator, v->name, 1) : NULL;

    if (!n)
        return NULL;
    uk_copy_type_and_shape(copy, v);
    copy->producer = n;
    copy->uses = 1;
    uk_set_row_major(copy);
    n->input[0] = v;
    n->output[0] = copy;
    n->region = region;
    n->next = *place;
    *place = n;
    return copy;
}

/* ---- views ---- */

/* Sets the view's order. False: it needs row-major elements and the operand's are not. */
static bool view_order(struct uk_graph *g, struct uk_graph_node *n) {
    const struct uk_graph_value *x = n->input[0];
    struct uk_graph_value *y = n->output[0];
    int perm[UK_RANK];

    y->is_laid_out = true;
    if (!strcmp(n->type, "Transpose") && !uk_permutation(g, n, perm)) {
        for (int i = 0; i < x->rank; i++)
            for (int d = 0; d < x->rank; d++)
                if (perm[d] == x->order[i])
                    y->order[i] = d;
        return true;
    }
    if (uk_same_extents(g, x, y)) {
        memcpy(y->order, x->order, sizeof y->order);
        return true;
    }
    uk_set_row_major(y);
    return uk_is_row_major(g, x);
}

bool uk_has_view(struct uk_graph *g, const struct uk_graph_value *of, const struct uk_graph_value *v) {
    int64_t from[UK_RANK], to[UK_RANK];
    bool has = true;

    for (int p = g->points.count; p >= 0 && has; p--) { /* point 0 last: the graph stays at it */
        if (p < g->points.count)
            uk_graph_set_point(g, p);
        uk_value_strides(of, from);
        has = uk_view_strides(of, from, v, to);
    }
    if (g->points.count)
        uk_graph_set_point(g, 0);
    return has;
}

/* Gives the view a place in its operand's memory, or in that of a copy. A view of what becomes part of a
 * state has its operand in its own. */
static enum uk_status place_view(struct uk_graph *g, struct uk_graph_node *n, struct uk_graph_node **place) {
    const bool is_block = n->input[0]->is_block; /* its elements are apart in a larger constant */

    if (n->input[0]->storage == n->output[0])
        return UK_OK;
    if (is_block || !view_order(g, n) ||
        (uk_is_strided(n->input[0]) && !uk_has_view(g, n->input[0], n->output[0]))) {
        struct uk_graph_value *copy = uk_copy_row_major(g, n->input[0], place, n->region);
        if (!copy)
            return uk_graph_no_memory(g);
        n->input[0] = copy;
    }
    if (is_block)
        view_order(g, n);
    n->output[0]->storage = n->input[0];
    return UK_OK;
}

/* ---- results ---- */

/* Gives the result the order of an operand of the same rank: of input 0, else of the first with the same
 * shape. Constants do not count. False: there is none. */
static bool take_order(const struct uk_graph *g, struct uk_graph_value *y, const struct uk_graph_node *n) {
    for (int i = 0; i < n->inputs; i++) {
        const struct uk_graph_value *x = n->input[i];
        if (x && !x->data && x->is_laid_out && x->rank == y->rank && (i == 0 || uk_same_extents(g, x, y))) {
            memcpy(y->order, x->order, sizeof y->order);
            y->is_laid_out = true;
            return true;
        }
    }
    return false;
}

static void place_result(const struct uk_graph *g, const struct uk_graph_node *n, struct uk_graph_value *y) {
    const bool by_kernels = n->op->channels_last && !uk_node_is_elementwise(n);

    if (y->is_laid_out) /* a part of a state */
        return;
    if (y->is_output)
        uk_set_row_major(y);
    else if (y->rank >= 3 && (by_kernels || y->wants_channels_last))
        set_channels_last(y);
    else if (!take_order(g, y, n))
        uk_set_row_major(y);
}

/* Copies an output of the network unless it has memory of its own in row-major order. */
static enum uk_status place_output(struct uk_graph *g, int i, struct uk_graph_node **end) {
    struct uk_graph_value *v = g->output[i];
    struct uk_graph_value *storage = uk_storage(v);
    bool shared = v->data || storage->data || storage->is_input || uk_is_strided(v) || !uk_is_row_major(g, v);

    for (int j = 0; j < i; j++)
        shared |= uk_storage(g->output[j]) == storage;
    if (!shared) {
        storage->is_output = true;
        return UK_OK;
    }
    struct uk_graph_value *copy = uk_copy_row_major(g, v, end, NULL);
    if (!copy)
        return uk_graph_no_memory(g);
    copy->is_output = true;
    g->output[i] = copy;
    return UK_OK;
}

enum uk_status uk_plan_orders(struct uk_graph *g) {
    struct uk_graph_node **place = &g->nodes;
    enum uk_status s = UK_OK;

    for (int i = 0; i < g->inputs; i++)
        uk_set_row_major(g->input[i]);
    for (const struct uk_graph_node *n = g->nodes; n; n = n->next)
        if (n->op->channels_last && !uk_node_is_elementwise(n) && n->inputs && n->input[0])
            n->input[0]->wants_channels_last = true;
    for (struct uk_graph_node *n; (n = *place) && !s; place = &(*place)->next) {
        if (n->is_folded)
            continue;
        if (n->op->is_view || uk_has_loop_place(n)) {
            s = n->op->loop ? uk_place_loop_part(g, n) : place_view(g, n, place);
            while (*place != n) /* skip the copy */
                place = &(*place)->next;
            continue;
        }
        for (int i = 0; i < n->outputs; i++)
            if (n->output[i])
                place_result(g, n, n->output[i]);
        if (n->op->lay_out)
            n->op->lay_out(n);
    }
    for (struct uk_graph_value *v = g->values; v; v = v->next)
        if (v->data && !v->is_laid_out)
            uk_set_row_major(v);
    for (int i = 0; i < g->outputs && !s; i++)
        s = place_output(g, i, place);
    return s;
}
