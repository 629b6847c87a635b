/* SPDX-License-Identifier: Apache-2.0 */
/*
 * States: an input and an output of the network that share a buffer. The input is its first part. From the
 * output back to the input, values are parts of the buffer, too: a view's operand is a view of the result,
 * and what a Concat unites are slices of the result. What is left to be computed are new rows.
 *
 *     present -> Concat -> new rows
 *                       -> views and parts of past, which must be where the Concat has them
 *     present -> TensorScatter, ScatterND or ScatterElements of past: only updates are written
 *
 * An input whose rows are replaced rather than appended to has no other readers, as they might come later.
 */
#include <inttypes.h>
#include <string.h>
#include "plan/plan.h"

/* Views and parts between a present and its past at most, where a Concat counts as CONCAT of them. */
enum { LONGEST_PATH = 64, CONCAT = 16 };

static enum uk_status refuse(struct uk_graph *g, const struct uk_graph_state *s,
                             const struct uk_graph_node *at, const char *why) {
    return uk_graph_fail(g, UK_REFUSED, at,
                         "'%s' and '%s' are no state that is written in place: %s; leave them out of the "
                         "states",
                         s->past->name, s->present->name, why);
}

/* True if the value has only elements of the past, through views, parts and copies, or a part of it united
 * with others. */
static bool has_past(const struct uk_graph_state *s, const struct uk_graph_value *v, int depth) {
    for (; v != s->past; depth++) {
        const struct uk_graph_node *n = v->producer;
        if (!n || n->is_folded || depth > LONGEST_PATH)
            return false;
        if (n->op->is_union) {
            for (int i = 0; i < n->inputs; i++)
                if (n->input[i] && has_past(s, n->input[i], depth + CONCAT))
                    return true;
            return false;
        }
        if (!n->op->is_view && !n->op->is_part && !n->op->is_update && strcmp(n->type, "Copy") != 0)
            return false;
        v = n->input[0];
    }
    return true;
}

/* True if the value is the past, or views and parts of it. */
static bool is_past(const struct uk_graph_state *s, const struct uk_graph_value *v) {
    for (int depth = 0; v != s->past; depth++) {
        const struct uk_graph_node *n = v->producer;
        if (!n || n->is_folded || depth > LONGEST_PATH ||
            (!n->op->is_view && !n->op->is_part && strcmp(n->type, "Copy") != 0))
            return false;
        v = n->input[0];
    }
    return true;
}

/* ---- from the present to the past ---- */

/* Makes the operand a view of the result. */
static enum uk_status reverse_view(struct uk_graph *g, struct uk_graph_state *s, struct uk_graph_node *n) {
    struct uk_graph_value *x = n->input[0], *y = n->output[0];
    int perm[UK_RANK];

    if (x->data || x->storage)
        return refuse(g, s, n,
                      x == s->past ? "the output is the input as it is"
                                   : "the output has elements of another one");
    for (int d = 0; d < x->rank; d++)
        x->order[d] = d;
    if (!strcmp(n->type, "Transpose") && !uk_permutation(g, n, perm))
        for (int i = 0; i < x->rank; i++)
            x->order[i] = perm[y->order[i]];
    else if (uk_same_extents(g, x, y))
        memcpy(x->order, y->order, sizeof x->order);
    else if (!uk_is_row_major(g, y))
        return refuse(g, s, n, "the output is not a part of one buffer");
    x->is_laid_out = true;
    x->storage = y;
    return uk_has_view(g, y, x) ? UK_OK : refuse(g, s, n, "the output is not a part of one buffer");
}

static enum uk_status follow(struct uk_graph *g, struct uk_graph_state *s, struct uk_graph_value *v,
                             int depth);

/* Notes that the node writes rows along the axis of its result: the dimension of the buffer with the same
 * stride. */
static void set_axis(struct uk_graph *g, struct uk_graph_state *s, const struct uk_graph_node *n,
                     int64_t attribute) {
    const struct uk_graph_value *y = n->output[0], *b = s->buffer;
    int64_t of_y[UK_RANK], of_b[UK_RANK];
    int axis;

    if (s->axis >= 0 || uk_need_axis(g, n, attribute, y->rank, &axis))
        return;
    uk_value_strides(y, of_y);
    uk_value_strides(b, of_b);
    for (int d = 0; d < b->rank; d++)
        if (of_b[d] == of_y[axis] && (s->axis < 0 || b->extent[d] > b->extent[s->axis]))
            s->axis = d;
}

/* True if a layer may write the value's elements in the order of the buffer. */
static bool is_computed(const struct uk_graph_value *v) {
    return v->producer && !v->producer->is_folded && !v->producer->op->is_view && !v->is_output &&
           !v->storage;
}

static enum uk_status follow_union(struct uk_graph *g, struct uk_graph_state *s, struct uk_graph_node *n,
                                   int depth) {
    struct uk_graph_value *y = n->output[0];
    enum uk_status status = UK_OK;
    bool found = false;

    for (int i = 0; i < n->inputs && !status; i++) {
        struct uk_graph_value *v = n->input[i];
        const bool is_new = !has_past(s, v, 0);
        found |= !is_new;
        if (is_new ? !is_computed(v) : is_past(s, v))
            continue;
        if (v->storage || v->data)
            return refuse(g, s, n, "the output has the same rows twice");
        memcpy(v->order, y->order, sizeof v->order);
        v->is_laid_out = true;
        if (is_new)
            continue;
        v->storage = y;
        v->is_slice = true;
        status = follow(g, s, v, depth + CONCAT);
    }
    if (!status && !found)
        status = refuse(g, s, n, "the output has no rows of the input");
    if (!status)
        set_axis(g, s, n, uk_attribute_int(n, "axis", 1));
    return status;
}

static enum uk_status follow_update(struct uk_graph *g, struct uk_graph_state *s, struct uk_graph_node *n) {
    const bool has_axis = strcmp(n->type, "ScatterND") != 0, is_rows = !strcmp(n->type, "TensorScatter");

    if (!is_past(s, n->input[0]))
        return refuse(g, s, n, "rows are written to another tensor than the input");
    if (strcmp(uk_attribute_string(n, "reduction", "none"), "none") != 0)
        return refuse(g, s, n, "its rows are not replaced but combined with others");
    if (has_axis)
        set_axis(g, s, n, uk_attribute_int(n, "axis", is_rows ? -2 : 0));
    return UK_OK;
}

/* Gives the values that the value is made of places in its memory. */
static enum uk_status follow(struct uk_graph *g, struct uk_graph_state *s, struct uk_graph_value *v,
                             int depth) {
    for (; v != s->past; depth++) {
        struct uk_graph_node *n = v->producer;
        enum uk_status status;
        if (!n || n->is_folded || depth > LONGEST_PATH)
            return refuse(g, s, NULL, "the output does not depend on the input");
        if (n->region)
            return refuse(g, s, n, "the output is computed in a loop or a branch");
        if (!strcmp(n->type, "Concat"))
            return follow_union(g, s, n, depth);
        if (n->op->is_update)
            return follow_update(g, s, n);
        if (!n->op->is_view)
            return refuse(g, s, n, "this node computes the output from the input's elements, or from others");
        if ((status = reverse_view(g, s, n)))
            return status;
        v = n->input[0];
    }
    return refuse(g, s, NULL, "the output is the input as it is");
}

/* ---- the buffer ---- */

static void put_in(struct uk_graph_value *v, struct uk_graph_value *buffer) {
    v->storage = buffer;
    v->is_slice = true;
    v->is_laid_out = true;
    for (int d = 0; d < v->rank; d++)
        v->order[d] = d;
}

static void enlarge(struct uk_graph_value *buffer, const int64_t *extent) {
    for (int d = 0; d < buffer->rank; d++)
        if (extent[d] > buffer->extent[d])
            buffer->extent[d] = extent[d];
}

static enum uk_status make_buffer(struct uk_graph *g, struct uk_graph_state *s) {
    struct uk_graph_value *b = uk_value_new(g, s->past->name);

    if (!b)
        return uk_graph_no_memory(g);
    uk_copy_type_and_shape(b, s->present);
    b->at = NULL;
    for (int p = 0; p < g->points.count; p++) {
        if (s->present->at)
            enlarge(b, s->present->at[p]);
        if (s->past->at)
            enlarge(b, s->past->at[p]);
    }
    enlarge(b, s->past->extent);
    if (uk_value_elements(b) < 0)
        return refuse(g, s, NULL, "it is too large for 64 bits");
    for (int d = 0; d < b->rank; d++)
        b->order[d] = d;
    b->is_laid_out = b->is_state = true;
    s->buffer = b;
    put_in(s->present, b);
    put_in(s->past, b);
    return UK_OK;
}

static void take_out(struct uk_graph_value **list, int *count, const struct uk_graph_value *v) {
    int i = 0;

    while (i < *count && list[i] != v)
        i++;
    if (i == *count)
        return;
    memmove(&list[i], &list[i + 1], (size_t)(*count - i - 1) * sizeof *list);
    --*count;
}

static enum uk_status make_state(struct uk_graph *g, struct uk_graph_state *s) {
    const struct uk_graph_value *past = s->past, *present = s->present;
    enum uk_status status;

    if (past->type != present->type || past->is_boolean != present->is_boolean || past->rank != present->rank)
        return refuse(g, s, NULL, "their types or numbers of dimensions differ");
    if (present->data || present->is_input || present->storage)
        return refuse(g, s, NULL, "the output is a constant, an input, or a part of another state");
    if ((status = make_buffer(g, s)) || (status = follow(g, s, s->present, 0)))
        return status;
    take_out(g->input, &g->inputs, s->past);
    take_out(g->output, &g->outputs, s->present);
    s->past->is_input = s->present->is_output = false;
    return UK_OK;
}

enum uk_status uk_plan_states(struct uk_graph *g) {
    enum uk_status status = UK_OK;

    for (int i = 0; i < g->states && !status; i++)
        status = make_state(g, &g->state[i]);
    return status;
}

/* ---- places of what the present is made of ---- */

/* Refuses the state if the past's elements in the result of the node are elsewhere than in the past. */
static enum uk_status check_places(struct uk_graph *g, const struct uk_graph_state *s,
                                   const struct uk_graph_node *n) {
    for (int i = 0; i < n->inputs; i++)
        if (n->input[i] && is_past(s, n->input[i]) && uk_value_elements(n->input[i]) &&
            !uk_is_in_place(g, n, i))
            return refuse(g, s, n, "the input's rows are not at the same place in the output");
    return UK_OK;
}

/* True if the node appends rows after all those of the past, at the point that the graph has. */
static bool appends(struct uk_graph *g, const struct uk_graph_state *s, const struct uk_graph_node *n) {
    int axis;
    int64_t from;

    for (int i = 0; i < n->inputs; i++)
        if (!is_past(s, n->input[i]))
            return n->op->is_union && n->output[0]->rank == s->past->rank &&
                   uk_part_of_union(g, n, i, &axis, &from) && s->past->extent[axis] <= from;
    return true;
}

/* True if the node's result is a part of the present, or the whole. */
static bool is_writer(const struct uk_graph_state *s, const struct uk_graph_node *n) {
    return !n->is_folded && (n->op->is_union || n->op->is_update) && n->output[0] &&
           uk_storage(n->output[0]) == s->buffer;
}

/* Refuses the state if a node other than those computes something of the past. */
static enum uk_status check_readers(struct uk_graph *g, const struct uk_graph_state *s) {
    for (const struct uk_graph_node *n = g->nodes; n; n = n->next)
        for (int i = 0; i < n->inputs; i++)
            if (!n->is_folded && !n->op->is_view && !n->is_placed && n->input[i] && !is_writer(s, n) &&
                uk_storage(n->input[i]) == s->buffer && is_past(s, n->input[i]))
                return refuse(g, s, n, "this node reads the input, whose rows are replaced");
    return UK_OK;
}

static enum uk_status check_state(struct uk_graph *g, const struct uk_graph_state *s) {
    enum uk_status status = UK_OK;

    for (const struct uk_graph_node *n = g->nodes; n && !status; n = n->next) {
        if (!is_writer(s, n))
            continue;
        status = check_places(g, s, n);
        if (!status && !appends(g, s, n))
            status = check_readers(g, s);
    }
    return status;
}

enum uk_status uk_check_states(struct uk_graph *g) {
    enum uk_status status = UK_OK;
    int p = g->points.count;

    do { /* point 0 last: the graph stays at it */
        if (--p >= 0)
            uk_graph_set_point(g, p);
        uk_move_slices(g);
        for (int i = 0; i < g->states && !status; i++)
            status = check_state(g, &g->state[i]);
    } while (p > 0);
    return status;
}
