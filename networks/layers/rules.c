/* SPDX-License-Identifier: Apache-2.0 */
/* Helpers of shape inference. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "layers/layers.h"

bool uk_is_real(enum uk_type t) {
    return t == UK_F64 || t == UK_F32 || t == UK_F16 || t == UK_BF16;
}

bool uk_node_is_elementwise(const struct uk_graph_node *n) {
    return n->op->expression || n->op->express;
}

const char *uk_expression_of(struct uk_graph *g, const struct uk_graph_node *n) {
    return n->op->express ? n->op->express(g, n) : n->op->expression;
}

enum uk_status uk_need_input(struct uk_graph *g, const struct uk_graph_node *n, int i) {
    const struct uk_graph_value *v = uk_node_input(n, i);

    if (!v)
        return uk_graph_fail(g, UK_REFUSED, n, "input %d is missing", i);
    if (!v->has_shape || v->type == UK_TYPES)
        return uk_graph_fail(g, UK_REFUSED, n, "the shape of its input '%s' is not known", v->name);
    return UK_OK;
}

enum uk_status uk_need_inputs(struct uk_graph *g, const struct uk_graph_node *n, int count) {
    enum uk_status s = UK_OK;

    for (int i = 0; i < count && !s; i++)
        s = uk_need_input(g, n, i);
    return s;
}

enum uk_status uk_set_output(struct uk_graph *g, struct uk_graph_node *n, int i, enum uk_type type, int rank,
                             const int64_t *extent) {
    struct uk_graph_value *v = i < n->outputs ? n->output[i] : NULL;

    if (!v)
        return i ? UK_OK : uk_graph_fail(g, UK_REFUSED, n, "it has no output");
    if (rank > UK_RANK)
        return uk_graph_fail(g, UK_REFUSED, n, "its result has %d dimensions; at most %d are supported", rank,
                             UK_RANK);
    v->type = type;
    v->rank = rank;
    v->has_shape = true;
    for (int d = 0; d < rank; d++) {
        v->extent[d] = extent[d];
        if (extent[d] < 0)
            return uk_graph_fail(g, UK_REFUSED, n, "dimension %d of its result would be %" PRId64, d,
                                 extent[d]);
    }
    if (uk_value_elements(v) < 0)
        return uk_graph_fail(g, UK_REFUSED, n, "its result of shape %s is too large for 64 bits",
                             uk_value_shape(v));
    return UK_OK;
}

/* Broadcasts the result's extents with input i, whose dimension 0 is the result's dimension `from`. */
static enum uk_status broadcast(struct uk_graph *g, const struct uk_graph_node *n, int i, int from, int rank,
                                int64_t *extent) {
    const struct uk_graph_value *v = n->input[i];

    for (int d = 0; d < v->rank; d++) {
        int64_t *e = &extent[from + d];
        if (from + d >= rank || (*e != v->extent[d] && *e != 1 && v->extent[d] != 1))
            return uk_graph_fail(g, UK_REFUSED, n, "shapes %s and %s do not broadcast",
                                 uk_value_shape(n->input[0]), uk_value_shape(v));
        if (*e == 1)
            *e = v->extent[d];
    }
    return UK_OK;
}

enum uk_status uk_infer_broadcast(struct uk_graph *g, struct uk_graph_node *n) {
    const int64_t axis = uk_attribute_int(n, "axis", 0);
    int64_t extent[UK_RANK];
    enum uk_status s = n->inputs ? UK_OK : uk_need_input(g, n, 0);
    int rank = 0;

    for (int i = 0; i < n->inputs && !s; i++) {
        if ((s = n->input[i] || i < 1 ? uk_need_input(g, n, i) : UK_OK) || !n->input[i])
            continue;
        rank = n->input[i]->rank > rank ? n->input[i]->rank : rank;
    }
    for (int d = 0; d < rank; d++)
        extent[d] = 1;
    for (int i = 0; i < n->inputs && !s; i++) {
        if (!n->input[i])
            continue;
        const int back = rank - n->input[i]->rank;
        const bool placed = i == 1 && uk_attribute_find(n, "axis") && uk_attribute_int(n, "broadcast", 0);
        if (placed && (axis < 0 || axis > back))
            return uk_graph_fail(g, UK_REFUSED, n,
                                 "axis %" PRId64 " does not exist for operands of shapes %s and %s", axis,
                                 uk_value_shape(n->input[0]), uk_value_shape(n->input[1]));
        s = broadcast(g, n, i, placed ? (int)axis : back, rank, extent);
    }
    return s ? s : uk_set_output(g, n, 0, n->op->is_boolean ? UK_U8 : n->input[0]->type, rank, extent);
}

/* True if the value changes while a loop runs. */
static bool is_of_iteration(const struct uk_graph_value *v) {
    const struct uk_graph_node *by = v->producer;
    const enum uk_loop_role role = by && by->op ? by->op->loop : UK_LOOP_NONE;

    return role == UK_LOOP_COUNTER || role == UK_LOOP_STATE || role == UK_LOOP_ELEMENT ||
           (role == UK_LOOP_RESULT && by->input[0]->mover);
}

bool uk_mark_needed(struct uk_graph *g, struct uk_graph_value *v) {
    struct uk_graph_value **stack = calloc((size_t)g->value_count + 1, sizeof *stack);
    bool *is_seen = calloc((size_t)g->value_count + 1, sizeof *is_seen), small = stack && is_seen;
    const struct uk_graph_value *needed = v;
    int count = 0;

    if (small)
        stack[count++] = v;
    while (count && small) {
        v = stack[--count];
        v->is_needed = v->is_input;
        small = v->is_input ? v == needed || (v->has_shape && uk_value_elements(v) <= UK_MAX_LISTED_INTS)
                            : !is_of_iteration(v);
        const struct uk_graph_node *n = v->producer;
        for (int i = 0; n && i <= n->inputs; i++) {
            struct uk_graph_value *in = i < n->inputs ? n->input[i] : n->region ? n->region->condition : NULL;
            if (in && !in->data && !is_seen[in->number]) {
                is_seen[in->number] = true;
                stack[count++] = in;
            }
        }
    }
    free(stack);
    free(is_seen);
    return small;
}

enum uk_status uk_need_constant(struct uk_graph *g, const struct uk_graph_node *n, struct uk_graph_value *v) {
    if (v->data)
        return UK_OK;
    g->needs_values = uk_mark_needed(g, v);
    return uk_graph_fail(g, UK_REFUSED, n,
                         "its input '%s' must be known at compile time, but is computed from data", v->name);
}

enum uk_status uk_need_ints(struct uk_graph *g, const struct uk_graph_node *n, const char *attribute,
                            int input, int64_t *list, int *count) {
    const struct uk_attribute *a = attribute ? uk_attribute_find(n, attribute) : NULL;
    struct uk_graph_value *v = input < 0 ? NULL : uk_node_input(n, input);
    const char *what = attribute ? attribute : "a list";

    *count = -1;
    if (a && a->kind == UK_A_INTS) {
        *count = a->count;
    } else if (v) {
        enum uk_status s = uk_need_input(g, n, input);
        if (!s && v->type != UK_I64 && v->type != UK_I32)
            s = uk_graph_fail(g, UK_REFUSED, n, "its input '%s' is of type %s; i64 or i32 is required",
                              v->name, uk_type_name(v->type));
        if (s || (s = uk_need_constant(g, n, v)))
            return s;
        *count =
            uk_value_elements(v) > UK_MAX_LISTED_INTS ? UK_MAX_LISTED_INTS + 1 : (int)uk_value_elements(v);
    }
    if (*count > UK_MAX_LISTED_INTS)
        return uk_graph_fail(g, UK_REFUSED, n, "%s has more than %d numbers", what, UK_MAX_LISTED_INTS);
    for (int i = 0; i < *count; i++)
        list[i] = a && a->kind == UK_A_INTS ? a->ints[i] : uk_constant_int(v, i);
    return UK_OK;
}

enum uk_status uk_need_axis(struct uk_graph *g, const struct uk_graph_node *n, int64_t axis, int rank,
                            int *out) {
    if (axis < -rank || axis >= rank)
        return uk_graph_fail(g, UK_REFUSED, n, "axis %" PRId64 " does not exist in a tensor of %d dimensions",
                             axis, rank);
    *out = (int)(axis < 0 ? axis + rank : axis);
    return UK_OK;
}

enum uk_status uk_extend_inputs(struct uk_graph *g, struct uk_graph_node *n, int inputs) {
    struct uk_graph_value **input = uk_alloc(&g->arena, (size_t)inputs * sizeof *input);

    if (n->inputs >= inputs)
        return UK_OK;
    if (!input)
        return uk_graph_no_memory(g);
    for (int i = 0; i < n->inputs; i++)
        input[i] = n->input[i];
    n->input = input;
    n->inputs = inputs;
    return UK_OK;
}

int uk_append_constant(struct uk_graph *g, struct uk_graph_node *n, enum uk_type type, int64_t count,
                       void **data) {
    struct uk_graph_value **input = uk_alloc(&g->arena, ((size_t)n->inputs + 1) * sizeof *input);
    struct uk_graph_value *v = input ? uk_value_new(g, n->name) : NULL;

    if (!v || !(*data = uk_value_constant(g, v, type, 1, &count))) {
        uk_graph_no_memory(g);
        return -1;
    }
    if (n->inputs)
        memcpy(input, n->input, (size_t)n->inputs * sizeof *input);
    input[n->inputs] = v;
    n->input = input;
    v->uses = 1;
    return n->inputs++;
}

bool uk_is_slice_of(const struct uk_graph_value *v, const struct uk_graph_value *in) {
    return v->is_slice && v->storage == in;
}
