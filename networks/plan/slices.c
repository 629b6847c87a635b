/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Concatenation and splitting without copies: the producers of a Concat's inputs write into its result, and
 * the readers of a Split's or Slice's results read its input. Such a value is a slice: it has the strides of
 * the larger value. Conditions:
 * - both have the same order of dimensions;
 * - the slice is no input, output or constant of the network, no view of another value, and has no view;
 * - no layer then reads what overlaps the range of memory that it writes: functions refuse such operands,
 * also if their elements alternate. Each placement is tried, and taken back if a layer does.
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
    return v->producer && !v->producer->op->loop && !v->data && !v->storage && !v->is_input &&
           !v->is_output && uk_value_elements(v) > 0 && !is_viewed(g, v);
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

/* The elements of the root, from `first` to `last`, between which those of the value are. */
struct range {
    const struct uk_graph_value *root;
    int64_t first, last;
};

static struct range range_of(const struct uk_graph_value *v) {
    int64_t stride[UK_RANK];
    struct range r = {v, uk_value_begin(v), uk_value_begin(v)};
    bool moves = false; /* then it may be anywhere in the root */

    uk_value_strides(v, stride);
    for (int d = 0; d < v->rank; d++)
        r.last += (v->extent[d] - 1) * stride[d];
    for (; r.root->storage; r.root = r.root->storage)
        moves |= r.root->mover != NULL;
    return moves ? (struct range){r.root, 0, uk_value_elements(r.root)} : r;
}

static bool overlaps(const struct range *r, const struct uk_graph_value *v) {
    const struct range s = range_of(v);

    return uk_value_elements(v) && s.root == r->root && s.first <= r->last && r->first <= s.last;
}

/* True if the layer that ends in the node may read elements in the range of its output, apart from those that
 * are in their places and need no copy. It reads the node's inputs and, through elementwise nodes, theirs. */
static bool reads_what_it_writes(struct uk_graph *g, const struct uk_graph_node *last,
                                 const struct uk_graph_value *output) {
    const struct range written = range_of(output);
    struct chain c = {{last}, 1, false};

    for (int k = 0; k < c.nodes; k++)
        for (int i = 0; i < c.node[k]->inputs; i++) {
            const struct uk_graph_value *v = c.node[k]->input[i];

            if (!v || v->data ||
                (k == 0 && (last->op->is_union || last->op->is_update) && uk_is_in_place(g, last, i)))
                continue;
            if (overlaps(&written, v))
                return true;
            if (v->producer && uk_node_is_elementwise(c.node[k]))
                add(&c, v->producer);
        }
    return c.is_long && output->is_slice;
}

static bool has_conflict(struct uk_graph *g) {
    for (const struct uk_graph_node *n = g->nodes; n; n = n->next)
        for (int i = 0; i < n->outputs && !n->is_folded && !n->is_placed && !n->op->is_view; i++) {
            const struct uk_graph_value *v = n->output[i];
            const bool needs_code = v && !(n->op->is_part && v->is_slice) && uk_value_elements(v);

            if (needs_code && reads_what_it_writes(g, n, v))
                return true;
        }
    return false;
}

/* ---- places of slices ---- */

/* Returns the offset of an element in the value's memory. */
static int64_t offset_of(const struct uk_graph_value *in, const int64_t *element) {
    int64_t stride[UK_RANK], at = 0;

    uk_value_strides(in, stride);
    for (int d = 0; d < in->rank; d++)
        at += element[d] * stride[d];
    return at;
}

static void move_inside(struct uk_graph_node *border) {
    int64_t before[UK_RANK];

    for (int d = 0; d < border->output[0]->rank; d++)
        before[d] = uk_border_before(border, d);
    border->input[0]->slice_at = offset_of(border->output[0], before);
}

static void move_united(struct uk_graph *g, struct uk_graph_node *n) {
    for (int i = 0; i < n->inputs; i++) {
        int64_t element[UK_RANK] = {0}, from;
        int axis;
        if (!n->input[i] || !uk_is_slice_of(n->input[i], n->output[0]) ||
            !uk_part_of_union(g, n, i, &axis, &from))
            continue;
        element[axis] = from;
        n->input[i]->slice_at = offset_of(n->output[0], element);
    }
}

static void move_parts(struct uk_graph *g, struct uk_graph_node *n) {
    int64_t from[UK_RANK];

    for (int i = 0; i < n->outputs; i++)
        if (n->output[i] && uk_is_slice_of(n->output[i], n->input[0]) && uk_part_of_input(g, n, i, from))
            n->output[i]->slice_at = offset_of(n->input[0], from);
}

void uk_move_slices(struct uk_graph *g) {
    for (struct uk_graph_node *n = g->nodes; n; n = n->next)
        if (uk_is_border(n))
            move_inside(n);
        else if (!n->is_folded && n->op->is_union)
            move_united(g, n);
        else if (!n->is_folded && n->op->is_part)
            move_parts(g, n);
}

/* ---- choice of slices ---- */

static void place(struct uk_graph_value *v, struct uk_graph_value *in) {
    v->storage = in;
    v->is_slice = true;
}

/* Makes v a slice, unless a layer would then have operands that overlap. At other points of open sizes
 * extents are smaller, so that what overlaps does here, too. */
static bool try_place(struct uk_graph *g, struct uk_graph_value *v, struct uk_graph_value *in) {
    place(v, in);
    uk_move_slices(g);
    if (!has_conflict(g))
        return true;
    v->storage = NULL;
    v->is_slice = false;
    uk_move_slices(g);
    return false;
}

static int occurrences(const struct uk_graph_node *n, const struct uk_graph_value *v) {
    int count = 0;

    for (int i = 0; i < n->inputs; i++)
        count += n->input[i] == v;
    return count;
}

/* Makes inputs slices of the union. If all are, the node needs no code. */
static void unite(struct uk_graph *g, struct uk_graph_node *n) {
    struct uk_graph_value *y = n->output[0];
    bool all = true;
    int axis;

    for (int i = 0; i < n->inputs; i++) {
        struct uk_graph_value *v = n->input[i];
        int64_t from;
        if (!v || (n->op->is_union && v->rank != y->rank) || !uk_part_of_union(g, n, i, &axis, &from)) {
            all &= v && v->rank != y->rank; /* scales and zero points are not elements */
            continue;
        }
        if (v->producer && !v->producer->op->is_view && !v->producer->op->is_part &&
            v->producer->region == n->region && is_free(g, v) && same_order(v, y) && occurrences(n, v) == 1)
            try_place(g, v, y);
        all &= !uk_value_elements(v) || uk_is_in_place(g, n, i);
    }
    n->is_placed = all;
}

/* True if v, a part of x, would change before it is read: x is a state of a loop, v the next value of one. */
static bool changes_before_read(const struct uk_graph *g, const struct uk_graph_value *v,
                                struct uk_graph_value *x) {
    const struct uk_graph_node *from = uk_storage(x)->producer;

    for (const struct uk_graph_node *n = g->nodes; n && from && from->op->loop == UK_LOOP_STATE; n = n->next)
        if (n->op->loop == UK_LOOP_NEXT && n->input[0] == v)
            return true;
    return false;
}

static void take_parts(struct uk_graph *g, struct uk_graph_node *n) {
    struct uk_graph_value *x = n->input[0];
    bool all = true;

    for (int i = 0; i < n->outputs; i++) {
        struct uk_graph_value *v = n->output[i];
        int64_t from[UK_RANK] = {0};
        if (v && v->uses)
            all &= !x->data && is_free(g, v) && same_order(v, x) && uk_part_of_input(g, n, i, from) &&
                   !changes_before_read(g, v, x) && try_place(g, v, x);
    }
    n->is_placed = all;
}

/* ---- results of loops ---- */

/* Has the producer of a value that goes out of a loop or branch write it into the result's place. */
static void store_directly(struct uk_graph *g, struct uk_graph_node *n) {
    struct uk_graph_value *y = n->input[0];
    const struct uk_graph_value *stored = n->output[0];
    const struct uk_graph_node *by = y->producer;

    if (!by || by->region != n->region || by->op->loop || by->op->is_view || by->op->is_part || y->data ||
        y->storage || y->is_output || !uk_value_elements(y) || !same_order(y, stored))
        return;
    y->storage = stored->storage;
    y->mover = stored->mover;
    y->is_reversed = stored->is_reversed;
    n->is_placed = true;
    if (!has_conflict(g))
        return;
    y->storage = NULL;
    y->mover = NULL;
    n->is_placed = false;
}

void uk_plan_slices(struct uk_graph *g) {
    for (struct uk_graph_node *n = g->nodes; n; n = n->next)
        if (uk_is_border(n)) /* border.c adds them only to values that qualify and have the image's order */
            place(n->input[0], n->output[0]);
        else if (!n->is_folded && n->op->is_union)
            unite(g, n);
    for (struct uk_graph_node *n = g->nodes; n; n = n->next)
        if (!n->is_folded && n->op->is_part)
            take_parts(g, n);
    for (struct uk_graph_node *n = g->nodes; n; n = n->next)
        if (!n->is_folded && n->op->loop == UK_LOOP_STORE)
            store_directly(g, n);
    uk_move_slices(g);
}
