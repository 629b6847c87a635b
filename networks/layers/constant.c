/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes whose results follow from shapes, attributes and constants: they have no program. */
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include "layers/layers.h"

/* Makes output 0 a constant of i64: a scalar (rank 0) or a list of `count` (rank 1). NULL: no memory. */
static int64_t *list_of(struct uk_graph *g, struct uk_graph_node *n, int rank, int64_t count) {
    return uk_value_constant(g, n->output[0], UK_I64, rank, &count);
}

/* ---- Constant ---- */

enum uk_status uk_fold_constant(struct uk_graph *g, struct uk_graph_node *n) {
    const struct uk_attribute *a = n->attributes == 1 ? n->attribute : NULL;
    struct uk_graph_value *v = n->output[0];
    int64_t count = a ? a->count : 0;
    void *data;

    switch (a ? a->kind : UK_A_OTHER) {
    case UK_A_TENSOR:
        v->data = a->tensor->data;
        v->is_boolean = a->tensor->is_boolean;
        v->is_nibble = a->tensor->is_nibble;
        return uk_set_output(g, n, 0, a->tensor->type, a->tensor->rank, a->tensor->extent);
    case UK_A_INT:
        if (!(data = list_of(g, n, 0, 0)))
            return uk_graph_no_memory(g);
        *(int64_t *)data = a->i;
        return UK_OK;
    case UK_A_FLOAT:
        if (!(data = uk_value_constant(g, v, UK_F32, 0, &count)))
            return uk_graph_no_memory(g);
        *(float *)data = (float)a->f;
        return UK_OK;
    case UK_A_INTS:
        if (!(data = list_of(g, n, 1, count)))
            return uk_graph_no_memory(g);
        memcpy(data, a->ints, (size_t)count * sizeof(int64_t));
        return UK_OK;
    case UK_A_FLOATS:
        if (!(data = uk_value_constant(g, v, UK_F32, 1, &count)))
            return uk_graph_no_memory(g);
        for (int64_t i = 0; i < count; i++)
            ((float *)data)[i] = (float)a->floats[i];
        return UK_OK;
    default:
        return uk_graph_fail(g, UK_REFUSED, n, "its value is not a tensor of numbers");
    }
}

/* ---- Shape, Size ---- */

enum uk_status uk_fold_shape(struct uk_graph *g, struct uk_graph_node *n) {
    enum uk_status s = uk_need_input(g, n, 0);

    if (s)
        return s;
    const struct uk_graph_value *x = n->input[0];
    int64_t start = uk_attribute_int(n, "start", 0), end = uk_attribute_int(n, "end", x->rank);
    start = start < 0 ? start + x->rank : start;
    end = end < 0 ? end + x->rank : end;
    start = start < 0 ? 0 : start > x->rank ? x->rank : start;
    end = end < start ? start : end > x->rank ? x->rank : end;
    int64_t *data = list_of(g, n, 1, end - start);
    if (!data)
        return uk_graph_no_memory(g);
    memcpy(data, x->extent + start, (size_t)(end - start) * sizeof *data);
    return UK_OK;
}

enum uk_status uk_fold_size(struct uk_graph *g, struct uk_graph_node *n) {
    enum uk_status s = uk_need_input(g, n, 0);
    int64_t *data = s ? NULL : list_of(g, n, 0, 0);

    if (s || !data)
        return s ? s : uk_graph_no_memory(g);
    *data = uk_value_elements(n->input[0]);
    return UK_OK;
}

/* ---- ConstantOfShape ---- */

enum uk_status uk_fold_constant_of_shape(struct uk_graph *g, struct uk_graph_node *n) {
    const struct uk_attribute *a = uk_attribute_find(n, "value");
    const struct uk_graph_value *value = a && a->kind == UK_A_TENSOR ? a->tensor : NULL;
    const enum uk_type type = value ? value->type : UK_F32;
    const size_t bytes = uk_type_bytes(type);
    int64_t extent[UK_MAX_LISTED_INTS];
    int rank;
    enum uk_status s = uk_need_ints(g, n, NULL, 0, extent, &rank);

    if (!s && (rank < 0 || (value && uk_value_elements(value) != 1)))
        s = uk_graph_fail(g, UK_REFUSED, n, "its shape or its value of one element is missing");
    if (!s)
        s = uk_set_output(g, n, 0, type, rank, extent);
    if (s)
        return s;
    char *data = uk_value_constant(g, n->output[0], type, rank, extent);
    if (!data)
        return uk_graph_no_memory(g);
    n->output[0]->is_boolean = value && value->is_boolean;
    for (int64_t i = 0; value && i < uk_value_elements(n->output[0]); i++)
        memcpy(data + (size_t)i * bytes, value->data, bytes);
    return UK_OK;
}

/* ---- NonZero: the subscripts of elements that are not 0, a row per dimension ---- */

static bool is_zero(const struct uk_graph_value *v, int64_t i) {
    return uk_constant_real(v, i) == 0;
}

enum uk_status uk_fold_nonzero(struct uk_graph *g, struct uk_graph_node *n) {
    enum uk_status s = uk_need_input(g, n, 0);
    const struct uk_graph_value *x = uk_node_input(n, 0);
    int64_t count = 0, stride = 1;

    if (s)
        return s;
    if (!x->data)
        return uk_graph_fail(g, UK_REFUSED, n,
                             "the shape of its result depends on data: only a constant input is supported");
    for (int64_t i = 0; i < uk_value_elements(x); i++)
        count += !is_zero(x, i);
    const int64_t extent[] = {x->rank, count};
    int64_t *out = uk_value_constant(g, n->output[0], UK_I64, 2, extent);
    if (!out)
        return uk_graph_no_memory(g);
    for (int d = x->rank - 1; d >= 0; stride *= x->extent[d--])
        for (int64_t i = 0, at = 0; i < uk_value_elements(x); i++)
            if (!is_zero(x, i))
                out[d * count + at++] = i / stride % x->extent[d];
    return UK_OK;
}

/* ---- Range ---- */

enum uk_status uk_fold_range(struct uk_graph *g, struct uk_graph_node *n) {
    for (int i = 0; i < 3; i++) {
        enum uk_status s = uk_need_input(g, n, i);
        if (!s && (uk_value_elements(n->input[i]) != 1 || n->input[i]->type != n->input[0]->type))
            s = uk_graph_fail(g, UK_REFUSED, n, "its input '%s' is not one number of the type of the others",
                              n->input[i]->name);
        if (s || (s = uk_need_constant(g, n, n->input[i])))
            return s;
    }
    const enum uk_type type = n->input[0]->type;
    const double start = uk_constant_real(n->input[0], 0), limit = uk_constant_real(n->input[1], 0),
                 delta = uk_constant_real(n->input[2], 0), many = delta ? ceil((limit - start) / delta) : NAN;
    const int64_t count = many > 0 ? (int64_t)fmin(many, 0x1p40) : 0;
    if (isnan(many) || (type != UK_F32 && type != UK_F64 && type != UK_I64 && type != UK_I32))
        return uk_graph_fail(g, UK_REFUSED, n, "the step is 0, or the type is not supported");
    void *data = uk_value_constant(g, n->output[0], type, 1, &count);
    if (!data)
        return uk_graph_no_memory(g);
    for (int64_t i = 0; i < count; i++)
        if (type == UK_F32)
            ((float *)data)[i] = (float)start + (float)i * (float)delta;
        else if (type == UK_F64)
            ((double *)data)[i] = start + (double)i * delta;
        else if (type == UK_I64)
            ((int64_t *)data)[i] = (int64_t)((uint64_t)uk_constant_int(n->input[0], 0) +
                                             (uint64_t)i * (uint64_t)uk_constant_int(n->input[2], 0));
        else
            ((int32_t *)data)[i] =
                (int32_t)(uk_constant_int(n->input[0], 0) + i * uk_constant_int(n->input[2], 0));
    return UK_OK;
}

/* The program for networks whose open sizes decide the bounds. */
enum uk_status uk_write_range(struct uk_writer *w, const struct uk_graph_node *n, int output) {
    const struct uk_graph_value *start = n->input[0], *delta = n->input[2];
    const char *type = uk_type_name(start->type);

    (void)output;
    if (start->type == UK_F32 || start->type == UK_F64)
        uk_write(w, n, "$y[i0] = %s + %s(index(i0)) * %s",
                 uk_number_text(uk_constant_real(start, 0), start->type == UK_F32), type,
                 uk_number_text(uk_constant_real(delta, 0), start->type == UK_F32));
    else
        uk_write(w, n, "$y[i0] = %" PRId64 " + %s(index(i0)) * (%" PRId64 ")", uk_constant_int(start, 0),
                 type, uk_constant_int(delta, 0));
    return UK_OK;
}

/* The fold functions above also set types and shapes. */
enum uk_status uk_infer_nothing(struct uk_graph *g, struct uk_graph_node *n) {
    return n->outputs == 1 && n->output[0] ? UK_OK
                                           : uk_graph_fail(g, UK_REFUSED, n, "it has %d outputs", n->outputs);
}
