/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Concatenation and splitting without copies: the producers of a Concat's inputs write into its result, and
 * the readers of a Split's or Slice's results read its input. Such a value is a slice: it has the strides of
 * the larger value. Conditions:
 * - both have the same order of dimensions;
 * - the slice is no input, output or constant of the network, no view of another value, and has no view;
 * - no layer reads one slice and writes another one whose elements alternate with its own.
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

/* Nodes that one layer may contain. If there are more than CHAIN, the layer is assumed to read anything. */
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

/* True if the layer that ends in the node may read memory of the root: the node's inputs and, through
 * elementwise nodes, theirs. */
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

/* True if a layer other than `but` that writes into the memory of `in` may read v. */
static bool is_read_by_other_layer(const struct uk_graph *g, const struct uk_graph_value *v,
                                   const struct uk_graph_value *in, const struct uk_graph_node *but) {
    for (const struct uk_graph_node *n = g->nodes; n; n = n->next)
        for (int i = 0; i < n->outputs && n != but && !n->is_folded; i++)
            if (n->output[i] && root_of(n->output[i]) == root_of(in) && reads(n, v))
                return true;
    return false;
}

/* True if slices along the axis are contiguous in memory, one after the other. Otherwise their elements
 * alternate, and no layer may read one and write another: functions refuse operands whose memory ranges
 * overlap. */
static bool is_disjoint_slice(const struct uk_graph_value *y, int axis) {
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

/* Makes the value inside a border a slice of the image. border.c adds borders only to values that qualify and
 * have the image's order. The border's node remains and writes the padding. */
static void surround(struct uk_graph_node *n) {
    int64_t stride[UK_RANK], at = 0;

    uk_value_strides(n->output[0], stride);
    for (int d = 0; d < n->output[0]->rank; d++)
        at += uk_border_before(n, d) * stride[d];
    place(n->input[0], n->output[0], at);
}

/* Makes inputs slices of the union. If all are, the node needs no code. */
static void unite(struct uk_graph *g, struct uk_graph_node *n) {
    struct uk_graph_value *y = n->output[0];
    int64_t stride[UK_RANK], from;
    bool all = true;
    int axis;

    for (int i = 0; i < n->inputs; i++) {
        struct uk_graph_value *v = n->input[i];
        if (!v || (n->op->is_union && v->rank != y->rank) || !uk_part_of_union(g, n, i, &axis, &from)) {
            all &= v && v->rank != y->rank; /* scales and zero points are not elements */
            continue;
        }
        if (v->producer && !v->producer->op->is_view && !v->producer->op->is_part && is_free(g, v) &&
            same_order(v, y) && occurrences(n, v) == 1 &&
            (is_disjoint_slice(y, axis) ||
             (!reads(v->producer, root_of(y)) && !is_read_by_other_layer(g, v, y, n)))) {
            uk_value_strides(y, stride);
            place(v, y, from * stride[axis]);
        }
        all &= uk_is_slice_of(v, y) || !uk_value_elements(v);
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
            is_read_by_other_layer(g, v, x, n)) {
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
