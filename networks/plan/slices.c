/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unions and parts for nothing: what a Concat unites is written into its result by who computes it, and what
 * a Split or a Slice takes is read where it is. Such a value has the strides of the larger one. It needs the
 * same order of dimensions, and is no input, output or constant of the network, no view of another value, and
 * viewed by nothing; and no layer reads one part and writes another one that lies between its elements.
 */
#include <string.h>
#include "plan/plan.h"

enum { CHAIN = 64 };

static bool is_viewed(const struct uk_graph *g, const struct uk_graph_value *v) {
    for (const struct uk_graph_node *n = g->nodes; n; n = n->next)
        for (int i = 0; i < n->inputs; i++)
            if (n->input[i] == v && n->op->is_view && !n->is_folded)
                return true;
    return false;
}

static bool same_order(const struct uk_graph_value *a, const struct uk_graph_value *b) {
    return a->rank == b->rank && a->is_laid_out && b->is_laid_out &&
           !memcmp(a->order, b->order, (size_t)a->rank * sizeof *a->order);
}

static bool is_free(const struct uk_graph *g, const struct uk_graph_value *v) {
    return v->producer && !v->data && !v->storage && !v->is_input && !v->is_output &&
           uk_value_elements(v) > 0 && !is_viewed(g, v);
}

static const struct uk_graph_value *root_of(const struct uk_graph_value *v) {
    while (v->storage)
        v = v->storage;
    return v;
}

/* Nodes that one layer may have, and their number, beyond which what it reads is taken for unknown. */
struct chain {
    const struct uk_graph_node *node[CHAIN];
    int nodes;
    bool is_long;
};

static void add(struct chain *c, const struct uk_graph_node *n) {
    for (int i = 0; i < c->nodes; i++)
        if (c->node[i] == n)
            return;
    if (c->nodes == CHAIN)
        c->is_long = true;
    else
        c->node[c->nodes++] = n;
}

/* Would the layer that ends in the node read what lies in the root? It has, besides the node, what
 * element-by-element nodes read. */
static bool reads(const struct uk_graph_node *last, const struct uk_graph_value *root) {
    struct chain c = {{last}, 1, false};

    for (int k = 0; k < c.nodes; k++)
        for (int i = 0; i < c.node[k]->inputs; i++) {
            const struct uk_graph_value *v = c.node[k]->input[i];

            if (v && root_of(v) == root)
                return true;
            if (v && v->producer && !v->data && uk_node_is_elementwise(c.node[k]))
                add(&c, v->producer);
        }
    return c.is_long;
}

/* Would a layer that writes into what `in` lies in read v, but for the one node? */
static bool is_read_beside(const struct uk_graph *g, const struct uk_graph_value *v,
                           const struct uk_graph_value *in, const struct uk_graph_node *but) {
    for (const struct uk_graph_node *n = g->nodes; n; n = n->next)
        for (int i = 0; i < n->outputs && n != but && !n->is_folded; i++)
            if (n->output[i] && root_of(n->output[i]) == root_of(in) && reads(n, v))
                return true;
    return false;
}

/* Are parts along the axis in memory one behind the other? Else a part lies between the elements of another,
 * and no layer may read one and write the other: functions refuse operands whose memory overlaps. */
static bool is_apart(const struct uk_graph_value *y, int axis) {
    for (int d = 0; d < y->rank && y->order[d] != axis; d++)
        if (y->extent[y->order[d]] != 1)
            return false;
    return true;
}

static void place(struct uk_graph_value *v, struct uk_graph_value *in, int64_t at) {
    v->storage = in;
    v->is_slice = true;
    v->slice_at = at;
}

static int occurrences(const struct uk_graph_node *n, const struct uk_graph_value *v) {
    int count = 0;

    for (int i = 0; i < n->inputs; i++)
        count += n->input[i] == v;
    return count;
}

/* What a border is around lies inside of it: border.c gives one to values alone that are free and have its
 * order. The border itself is left to write. */
static void surround(struct uk_graph_node *n) {
    int64_t stride[UK_RANK], at = 0;

    uk_value_strides(n->output[0], stride);
    for (int d = 0; d < n->output[0]->rank; d++)
        at += uk_border_before(n, d) * stride[d];
    place(n->input[0], n->output[0], at);
}

/* The node computes nothing if all of its inputs lie in the result. */
static void unite(struct uk_graph *g, struct uk_graph_node *n) {
    struct uk_graph_value *y = n->output[0];
    int64_t stride[UK_RANK], from;
    bool all = true;
    int axis;

    for (int i = 0; i < n->inputs; i++) {
        struct uk_graph_value *v = n->input[i];
        if (!v || (n->op->is_union && v->rank != y->rank) || !uk_part_of_union(g, n, i, &axis, &from)) {
            all &= v && v->rank != y->rank; /* scales and zero points */
            continue;
        }
        if (v->producer && !v->producer->op->is_view && !v->producer->op->is_part && is_free(g, v) &&
            same_order(v, y) && occurrences(n, v) == 1 &&
            (is_apart(y, axis) || (!reads(v->producer, root_of(y)) && !is_read_beside(g, v, y, n)))) {
            uk_value_strides(y, stride);
            place(v, y, from * stride[axis]);
        }
        all &= uk_is_placed(v, y) || !uk_value_elements(v);
    }
    n->is_placed = all;
}

static void take_parts(struct uk_graph *g, struct uk_graph_node *n) {
    struct uk_graph_value *x = n->input[0];
    int64_t stride[UK_RANK], from[UK_RANK];
    bool all = true;

    for (int i = 0; i < n->outputs; i++) {
        struct uk_graph_value *v = n->output[i];
        if (!v || !v->uses)
            continue;
        if (x->data || !is_free(g, v) || !same_order(v, x) || !uk_part_of_input(g, n, i, from) ||
            is_read_beside(g, v, x, n)) {
            all = false;
            continue;
        }
        int64_t at = 0;
        uk_value_strides(x, stride);
        for (int d = 0; d < x->rank; d++)
            at += from[d] * stride[d];
        place(v, x, at);
    }
    n->is_placed = all;
}

void uk_plan_slices(struct uk_graph *g) {
    for (struct uk_graph_node *n = g->nodes; n; n = n->next)
        if (uk_is_border(n))
            surround(n);
        else if (!n->is_folded && n->op->is_union)
            unite(g, n);
    for (struct uk_graph_node *n = g->nodes; n; n = n->next)
        if (!n->is_folded && n->op->is_part)
            take_parts(g, n);
}
