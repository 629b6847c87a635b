/* SPDX-License-Identifier: Apache-2.0 */
/* Operators that choose elements by their subscripts: Trilu, EyeLike, CenterCropPad, ReverseSequence. */
#include <inttypes.h>
#include <stdio.h>
#include "layers/layers.h"

/* ---- Trilu: the part on one side of a diagonal; the rest is 0 ---- */

enum uk_status uk_infer_trilu(struct uk_graph *g, struct uk_graph_node *n) {
    const struct uk_graph_value *k = uk_node_input(n, 1);
    enum uk_status s = uk_need_input(g, n, 0);

    if (!s && n->input[0]->rank < 2)
        s = uk_graph_fail(g, UK_REFUSED, n, "its input of shape %s is not a matrix",
                          uk_value_shape(n->input[0]));
    if (!s && k && (k->type != UK_I64 || (k->has_shape && uk_value_elements(k) != 1) || k->rank > 1))
        s = uk_graph_fail(g, UK_REFUSED, n, "its diagonal, input 1, must be one i64");
    if (!s)
        s = uk_set_output(g, n, 0, n->input[0]->type, n->input[0]->rank, n->input[0]->extent);
    if (!s)
        n->output[0]->is_boolean = n->input[0]->is_boolean;
    return s;
}

enum uk_status uk_write_trilu(struct uk_writer *w, const struct uk_graph_node *n, int output) {
    const struct uk_graph_value *x = n->input[0], *k = uk_node_input(n, 1);
    char diagonal[32] = "0";

    (void)output;
    if (k && k->data)
        snprintf(diagonal, sizeof diagonal, "(%" PRId64 ")", uk_constant_int(k, 0));
    else if (k)
        snprintf(diagonal, sizeof diagonal, "$1[%s]", k->rank ? "0" : "");
    uk_write(w, n, "$y[%1$s] = select(index(i%2$d - i%3$d) %4$s %5$s, $0[%1$s], %6$s(0))",
             uk_iterators(x->rank), x->rank - 1, x->rank - 2,
             uk_attribute_int(n, "upper", 1) ? ">=" : "<=", diagonal, uk_type_name(x->type));
    return UK_OK;
}

/* ---- EyeLike ---- */

enum uk_status uk_infer_eye(struct uk_graph *g, struct uk_graph_node *n) {
    bool is_boolean;
    enum uk_status s = uk_need_input(g, n, 0);

    if (!s && n->input[0]->rank != 2)
        s = uk_graph_fail(g, UK_REFUSED, n, "its input of shape %s is not a matrix",
                          uk_value_shape(n->input[0]));
    if (s)
        return s;
    const bool given = uk_attribute_find(n, "dtype");
    const enum uk_type type =
        given ? uk_onnx_type(uk_attribute_int(n, "dtype", 0), &is_boolean) : n->input[0]->type;
    if (type == UK_TYPES)
        return uk_graph_fail(g, UK_REFUSED, n, "dtype=%" PRId64 " is not supported",
                             uk_attribute_int(n, "dtype", 0));
    s = uk_set_output(g, n, 0, type, 2, n->input[0]->extent);
    if (!s)
        n->output[0]->is_boolean = given ? is_boolean : n->input[0]->is_boolean;
    return s;
}

enum uk_status uk_write_eye(struct uk_writer *w, const struct uk_graph_node *n, int output) {
    (void)output;
    uk_write(w, n, "$y[i0, i1] = select(index(i1 - i0) == (%" PRId64 "), %s(1), %s(0))",
             uk_attribute_int(n, "k", 0), uk_type_name(n->output[0]->type), uk_type_name(n->output[0]->type));
    return UK_OK;
}

/* ---- CenterCropPad ---- */

/* Gives the result's extents, and the offset of the result's first element in the input, per dimension. */
static enum uk_status center_of(struct uk_graph *g, const struct uk_graph_node *n, int64_t *extent,
                                int64_t *offset) {
    int64_t size[UK_MAX_LISTED_INTS], axes[UK_MAX_LISTED_INTS];
    int count, listed;
    enum uk_status s = uk_need_ints(g, n, NULL, 1, size, &count);

    if (!s)
        s = uk_need_ints(g, n, "axes", -1, axes, &listed);
    if (!s && count != (listed < 0 ? n->input[0]->rank : listed))
        s = uk_graph_fail(g, UK_REFUSED, n, "its shape, input 1, has %d numbers", count);
    for (int d = 0; d < n->input[0]->rank && !s; d++) {
        extent[d] = n->input[0]->extent[d];
        offset[d] = 0;
    }
    for (int i = 0; i < count && !s; i++) {
        int d = i;
        if (listed >= 0)
            s = uk_need_axis(g, n, axes[i], n->input[0]->rank, &d);
        if (!s && (size[i] < 0 || size[i] > UK_MAX_ELEMENTS))
            s = uk_graph_fail(g, UK_REFUSED, n, "its shape has the number %" PRId64, size[i]);
        if (s)
            break;
        const int64_t more = extent[d] - size[i];
        offset[d] = more >= 0 ? more / 2 : -(-more / 2);
        extent[d] = size[i];
    }
    return s;
}

enum uk_status uk_infer_center(struct uk_graph *g, struct uk_graph_node *n) {
    int64_t extent[UK_RANK], offset[UK_RANK];
    enum uk_status s = uk_need_input(g, n, 0);

    if (!s)
        s = center_of(g, n, extent, offset);
    if (!s)
        s = uk_set_output(g, n, 0, n->input[0]->type, n->input[0]->rank, extent);
    if (!s)
        n->output[0]->is_boolean = n->input[0]->is_boolean;
    return s;
}

enum uk_status uk_write_center(struct uk_writer *w, const struct uk_graph_node *n, int output) {
    const int rank = n->input[0]->rank;
    int64_t extent[UK_RANK], offset[UK_RANK];
    char at[UK_RANK * 32] = "", ranges[UK_RANK * 32] = "";
    size_t used = 0, ranged = 0;
    enum uk_status s = center_of(w->g, n, extent, offset);

    (void)output;
    for (int d = 0; d < rank && !s; d++) {
        used +=
            (size_t)snprintf(at + used, sizeof at - used, "%si%d + %" PRId64, d ? ", " : "", d, offset[d]);
        ranged += (size_t)snprintf(ranges + ranged, sizeof ranges - ranged, "%si%d < %" PRId64,
                                   d ? " and " : "", d, extent[d]);
    }
    if (!s)
        uk_write(w, n, "$y[%s] = pad($0[%s], 0)%s%s", uk_iterators(rank), at, rank ? " where " : "", ranges);
    return s;
}

/* ---- ReverseSequence: input 1 has the number of elements to reverse of each batch ---- */

static enum uk_status sequence_axes(struct uk_graph *g, const struct uk_graph_node *n, int *time,
                                    int *batch) {
    const int rank = n->input[0]->rank;
    enum uk_status s = uk_need_axis(g, n, uk_attribute_int(n, "time_axis", 0), rank, time);

    return s ? s : uk_need_axis(g, n, uk_attribute_int(n, "batch_axis", 1), rank, batch);
}

enum uk_status uk_infer_reverse_sequence(struct uk_graph *g, struct uk_graph_node *n) {
    int time, batch;
    enum uk_status s = uk_need_input(g, n, 0);

    if (!s)
        s = uk_need_input(g, n, 1);
    if (!s)
        s = sequence_axes(g, n, &time, &batch);
    if (s)
        return s;
    const struct uk_graph_value *x = n->input[0], *lengths = n->input[1];
    if (time == batch || lengths->type != UK_I64 || lengths->rank != 1 ||
        lengths->extent[0] != x->extent[batch])
        return uk_graph_fail(g, UK_REFUSED, n,
                             "its lengths, input 1, of shape %s do not fit axes %d and %d of %s",
                             uk_value_shape(lengths), batch, time, uk_value_shape(x));
    s = uk_set_output(g, n, 0, x->type, x->rank, x->extent);
    if (!s)
        n->output[0]->is_boolean = x->is_boolean;
    return s;
}

enum uk_status uk_write_reverse_sequence(struct uk_writer *w, const struct uk_graph_node *n, int output) {
    const struct uk_graph_value *x = n->input[0];
    char at[32], right[UK_RANK * 32];
    int time = 0, batch = 0;
    enum uk_status s = sequence_axes(w->g, n, &time, &batch);

    (void)output;
    if (s)
        return s;
    const int64_t extent[] = {x->extent[time], x->extent[batch]};
    uk_write_temp(w, n, "t", UK_I64, 2, extent, NULL);
    uk_write(w, n, "@t[i, j] = select(index(i) < $1[j], $1[j] - 1 - index(i), index(i))");
    snprintf(at, sizeof at, "@t[i%d, i%d]", time, batch);
    uk_subscripts(right, sizeof right, x->rank, time, at);
    uk_write(w, n, "$y[%s] = $0[%s]", uk_iterators(x->rank), right);
    return UK_OK;
}
