/* SPDX-License-Identifier: Apache-2.0 */
/* Scatter, ScatterElements, ScatterND, TensorScatter: a copy of input 0, then elements written at indices. */
#include <inttypes.h>
#include <string.h>
#include "layers/layers.h"

enum { DATA, INDICES, UPDATES };

/* The assignment of a reduction; NULL: unknown name. */
static const char *assignment(const struct uk_graph_node *n) {
    static const char *const named[][2] = {
        {"none", "="}, {"add", "+="}, {"mul", "*="}, {"max", "max="}, {"min", "min="}};
    const char *reduction = uk_attribute_string(n, "reduction", "none");

    for (size_t i = 0; i < sizeof named / sizeof *named; i++)
        if (!strcmp(reduction, named[i][0]))
            return named[i][1];
    return NULL;
}

/* Refuses the node unless its three inputs exist and have the right types. */
static enum uk_status check(struct uk_graph *g, const struct uk_graph_node *n) {
    enum uk_status s = uk_need_input(g, n, DATA);

    for (int i = INDICES; i <= UPDATES && !s; i++)
        s = uk_need_input(g, n, i);
    if (s)
        return s;
    const enum uk_type index = n->input[INDICES]->type;
    if (index != UK_I64 && index != UK_I32)
        return uk_graph_fail(g, UK_REFUSED, n, "indices of type %s are not supported", uk_type_name(index));
    if (n->input[UPDATES]->type != n->input[DATA]->type)
        return uk_graph_fail(g, UK_REFUSED, n, "updates of type %s cannot be written to a tensor of %s",
                             uk_type_name(n->input[UPDATES]->type), uk_type_name(n->input[DATA]->type));
    if (!assignment(n))
        return uk_graph_fail(g, UK_REFUSED, n, "reduction=%s is not supported",
                             uk_attribute_string(n, "reduction", "none"));
    return n->input[DATA]->rank ? UK_OK
                                : uk_graph_fail(g, UK_REFUSED, n, "the data has no dimension to index");
}

static enum uk_status set_output(struct uk_graph *g, struct uk_graph_node *n) {
    const struct uk_graph_value *x = n->input[DATA];
    const enum uk_status s = uk_set_output(g, n, 0, x->type, x->rank, x->extent);

    if (!s)
        n->output[0]->is_boolean = x->is_boolean;
    return s;
}

/* Copies the data, unless the result has its memory. */
static void write_copy(struct uk_writer *w, const struct uk_graph_node *n) {
    if (!uk_is_in_place(w->g, n, DATA))
        uk_write(w, n, "$y[%1$s] = $0[%1$s]", uk_iterators(n->input[DATA]->rank));
}

/* ---- ScatterElements ---- */

enum uk_status uk_infer_scatter_elements(struct uk_graph *g, struct uk_graph_node *n) {
    int axis;
    enum uk_status s = check(g, n);

    if (!s)
        s = uk_need_axis(g, n, uk_attribute_int(n, "axis", 0), n->input[DATA]->rank, &axis);
    if (s)
        return s;
    const struct uk_graph_value *x = n->input[DATA], *at = n->input[INDICES], *u = n->input[UPDATES];
    bool fits = at->rank == x->rank && u->rank == x->rank;
    for (int d = 0; d < x->rank && fits; d++)
        fits = at->extent[d] == u->extent[d] && (d == axis || at->extent[d] <= x->extent[d]);
    if (!fits)
        return uk_graph_fail(g, UK_REFUSED, n,
                             "indices of shape %s and updates of shape %s do not fit a tensor of shape %s",
                             uk_value_shape(at), uk_value_shape(u), uk_value_shape(x));
    s = uk_check_indices(g, n, axis, 0, 1);
    return s ? s : set_output(g, n);
}

enum uk_status uk_write_scatter_elements(struct uk_writer *w, const struct uk_graph_node *n, int output) {
    const struct uk_graph_value *x = n->input[DATA], *at = n->input[INDICES];
    const char *all = uk_iterators(x->rank);
    char left[UK_SUBSCRIPTS] = "";
    int axis;
    enum uk_status s = uk_need_axis(w->g, n, uk_attribute_int(n, "axis", 0), x->rank, &axis);

    (void)output;
    if (s)
        return s;
    for (int d = 0; d < x->rank; d++)
        if (d == axis)
            uk_append_subscript(left, "wrap($1[%s])", all);
        else /* an offset: a part of the dimension is written */
            uk_append_subscript(left, at->extent[d] == x->extent[d] ? "i%d" : "i%d + 0", d);
    write_copy(w, n);
    if (uk_value_elements(at))
        uk_write(w, n, "scatter: $y[%s] %s $2[%s]", left, assignment(n), all);
    return UK_OK;
}

/* ---- ScatterND ---- */

enum uk_status uk_infer_scatter_nd(struct uk_graph *g, struct uk_graph_node *n) {
    enum uk_status s = check(g, n);

    if (s)
        return s;
    const struct uk_graph_value *x = n->input[DATA], *at = n->input[INDICES], *u = n->input[UPDATES];
    const int batch = at->rank - 1;
    const int64_t count = batch < 0 ? 0 : at->extent[batch];
    bool fits = count >= 1 && count <= x->rank && u->rank == batch + x->rank - count;
    for (int d = 0; d < u->rank && fits; d++)
        fits = u->extent[d] == (d < batch ? at->extent[d] : x->extent[d - batch + count]);
    if (!fits)
        return uk_graph_fail(g, UK_REFUSED, n,
                             "indices of shape %s and updates of shape %s do not fit a tensor of shape %s",
                             uk_value_shape(at), uk_value_shape(u), uk_value_shape(x));
    for (int d = 0; d < count && !s; d++)
        s = uk_check_indices(g, n, d, d, count);
    return s ? s : set_output(g, n);
}

enum uk_status uk_write_scatter_nd(struct uk_writer *w, const struct uk_graph_node *n, int output) {
    const struct uk_graph_value *x = n->input[DATA], *at = n->input[INDICES];
    const int batch = at->rank - 1, count = (int)at->extent[batch];
    char left[UK_SUBSCRIPTS] = "", instance[UK_SUBSCRIPTS] = "", update[UK_SUBSCRIPTS] = "";

    (void)output;
    for (int b = 0; b < batch; b++)
        uk_append_subscript(instance, "b%d", b);
    for (int d = 0; d < x->rank; d++)
        if (d < count)
            uk_append_subscript(left, "wrap($1[%s%s%d])", instance, batch ? ", " : "", d);
        else
            uk_append_subscript(left, "i%d", d);
    strcpy(update, instance);
    for (int d = count; d < x->rank; d++)
        uk_append_subscript(update, "i%d", d);
    write_copy(w, n);
    if (uk_value_elements(n->input[UPDATES]))
        uk_write(w, n, "scatter: $y[%s] %s $2[%s]", left, assignment(n), update);
    return UK_OK;
}

/* ---- TensorScatter ---- */

enum { UPDATE = 1, POSITIONS = 2 };

static bool is_circular(const struct uk_graph_node *n) {
    return !strcmp(uk_attribute_string(n, "mode", "linear"), "circular");
}

/* Refuses constant positions from which rows would be written outside. */
static enum uk_status check_positions(struct uk_graph *g, const struct uk_graph_node *n, int axis) {
    const struct uk_graph_value *at = uk_node_input(n, POSITIONS), *x = n->input[DATA];
    const int64_t last = x->extent[axis] - n->input[UPDATE]->extent[axis];

    for (int64_t b = 0; at && at->data && !is_circular(n) && b < uk_value_elements(at); b++)
        if (uk_constant_int(at, b) < 0 || uk_constant_int(at, b) > last)
            return uk_graph_fail(g, UK_REFUSED, n, "position %" PRId64 " is outside of 0 to %" PRId64,
                                 uk_constant_int(at, b), last);
    return UK_OK;
}

enum uk_status uk_infer_tensor_scatter(struct uk_graph *g, struct uk_graph_node *n) {
    const char *mode = uk_attribute_string(n, "mode", "linear");
    enum uk_status s = uk_need_input(g, n, DATA);
    int axis;

    if (!s)
        s = uk_need_input(g, n, UPDATE);
    if (!s)
        s = uk_need_axis(g, n, uk_attribute_int(n, "axis", -2), n->input[DATA]->rank, &axis);
    if (s)
        return s;
    const struct uk_graph_value *x = n->input[DATA], *u = n->input[UPDATE], *at = uk_node_input(n, POSITIONS);
    if (strcmp(mode, "linear") && strcmp(mode, "circular"))
        return uk_graph_fail(g, UK_REFUSED, n, "mode=%s is not supported", mode);
    bool fits = u->rank == x->rank && u->type == x->type && axis > 0;
    for (int d = 0; d < x->rank && fits; d++)
        fits = d == axis ? u->extent[d] <= x->extent[d] : u->extent[d] == x->extent[d];
    if (!fits)
        return uk_graph_fail(g, UK_REFUSED, n,
                             "an update of type %s and shape %s does not fit a cache of type %s and shape %s "
                             "along axis %d",
                             uk_type_name(u->type), uk_value_shape(u), uk_type_name(x->type),
                             uk_value_shape(x), axis);
    if (at && (!at->has_shape || at->rank != 1 || at->extent[0] != x->extent[0] || at->type != UK_I64))
        return uk_graph_fail(g, UK_REFUSED, n, "positions of type %s and shape %s are not one for each batch",
                             uk_type_name(at->type), uk_value_shape(at));
    s = check_positions(g, n, axis);
    return s ? s : set_output(g, n);
}

/* Computes the row of each update, modulo the cache's length if it is circular. Doubles are exact below
 * 2^53. */
static void write_rows(struct uk_writer *w, const struct uk_graph_node *n, int axis) {
    const int64_t length = n->input[DATA]->extent[axis];
    const int64_t extent[] = {n->input[DATA]->extent[0], n->input[UPDATE]->extent[axis]};
    const char *row = "($2[i0] + i64(index(s)))";

    uk_write_temp(w, n, "row", UK_I64, 2, extent, NULL);
    if (is_circular(n) && length)
        uk_write(w, n, "@row[i0, s] = %s - %" PRId64 " * i64(floor(f64(%s) / %" PRId64 "))", row, length, row,
                 length);
    else
        uk_write(w, n, "@row[i0, s] = %s", row);
}

enum uk_status uk_write_tensor_scatter(struct uk_writer *w, const struct uk_graph_node *n, int output) {
    const struct uk_graph_value *x = n->input[DATA], *u = n->input[UPDATE];
    const char *all = uk_iterators(x->rank);
    char left[UK_SUBSCRIPTS] = "";
    int axis;
    enum uk_status s = uk_need_axis(w->g, n, uk_attribute_int(n, "axis", -2), x->rank, &axis);

    (void)output;
    if (s)
        return s;
    const bool has_positions = uk_node_input(n, POSITIONS);
    for (int d = 0; d < x->rank; d++)
        if (d == axis && has_positions)
            uk_append_subscript(left, "@row[i0, i%d]", d);
        else
            uk_append_subscript(left, d == axis ? "i%d + 0" : "i%d", d);
    write_copy(w, n);
    if (!uk_value_elements(u))
        return UK_OK;
    if (has_positions)
        write_rows(w, n, axis);
    uk_write(w, n, "scatter: $y[%s] = $1[%s]", left, all);
    return UK_OK;
}
