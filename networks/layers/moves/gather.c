/* SPDX-License-Identifier: Apache-2.0 */
/* Gather, GatherElements, GatherND, OneHot: elements chosen by integers in a tensor. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "layers/layers.h"

void uk_listed_subscript(const struct uk_graph_node *n, int list, int dimension, char *text, size_t room) {
    const struct uk_graph_value *v = n->input[list];
    const int64_t *at = v->data, count = at ? v->extent[0] : 0; /* NULL: computed at run time */
    int64_t repeats = 0;
    bool shifted = true, repeated = true;

    while (repeats < count && at[repeats] == at[0])
        repeats++;
    for (int64_t i = 0; i < count; i++) {
        shifted &= at[i] == at[0] + i;
        repeated &= at[i] == i / repeats;
    }
    if (count && repeated && repeats > 1)
        snprintf(text, room, "i%d / %" PRId64, dimension, repeats);
    else if (count > 1 && shifted && at[0])
        snprintf(text, room, "i%d + %" PRId64, dimension, at[0]);
    else
        snprintf(text, room, "$%c[i%d]", '0' + list, dimension);
}

enum { DATA, INDICES };

enum uk_status uk_check_indices(struct uk_graph *g, const struct uk_graph_node *n, int dimension,
                                int64_t first, int64_t step) {
    const struct uk_graph_value *at = n->input[INDICES], *x = n->input[DATA];
    const int64_t extent = x->extent[dimension];

    for (int64_t i = first; at->data && i < uk_value_elements(at); i += step) {
        const int64_t index = uk_constant_int(at, i);

        if (index < -extent || index >= extent)
            return uk_graph_fail(g, UK_REFUSED, n, "index %" PRId64 " is outside of dimension %d of %s",
                                 index, dimension, uk_value_shape(x));
    }
    return UK_OK;
}

void uk_append_subscript(char text[UK_SUBSCRIPTS], const char *format, ...) {
    const size_t used = strlen(text), comma = used ? 2 : 0;
    va_list ap;

    memcpy(text + used, ", ", comma + 1);
    text[used + comma] = 0;
    va_start(ap, format);
    vsnprintf(text + used + comma, UK_SUBSCRIPTS - used - comma, format, ap);
    va_end(ap);
}

enum uk_status uk_infer_gather(struct uk_graph *g, struct uk_graph_node *n) {
    int64_t extent[UK_RANK];
    int axis, rank = 0;
    enum uk_status s = uk_need_input(g, n, 0);

    if (!s)
        s = uk_need_input(g, n, 1);
    if (!s)
        s = uk_need_axis(g, n, uk_attribute_int(n, "axis", 0), n->input[0]->rank, &axis);
    if (s)
        return s;
    const struct uk_graph_value *x = n->input[0], *at = n->input[1];
    if (x->rank + at->rank - 1 > UK_RANK || (at->type != UK_I64 && at->type != UK_I32))
        return uk_graph_fail(g, UK_REFUSED, n,
                             "choosing elements of %s by indices of %s and type %s is not supported",
                             uk_value_shape(x), uk_value_shape(at), uk_type_name(at->type));
    if ((s = uk_check_indices(g, n, axis, 0, 1)))
        return s;
    for (int d = 0; d < x->rank; d++)
        for (int k = 0; k < (d == axis ? at->rank : 1); k++)
            extent[rank++] = d == axis ? at->extent[k] : x->extent[d];
    s = uk_set_output(g, n, 0, x->type, rank, extent);
    if (!s)
        n->output[0]->is_boolean = x->is_boolean;
    return s;
}

enum uk_status uk_write_gather(struct uk_writer *w, const struct uk_graph_node *n, int output) {
    const struct uk_graph_value *x = n->input[0], *at = n->input[1];
    char right[256] = "", inner[64] = "";
    size_t used = 0, listed = 0;
    int axis, next = 0;
    enum uk_status s = uk_need_axis(w->g, n, uk_attribute_int(n, "axis", 0), x->rank, &axis);

    (void)output;
    if (s)
        return s;
    for (int d = 0; d < x->rank; d++) {
        const char *comma = d ? ", " : "";
        if (d != axis) {
            used += (size_t)snprintf(right + used, sizeof right - used, "%si%d", comma, next++);
        } else if (at->data && uk_value_elements(at) == 1) {
            const int64_t i = uk_constant_int(at, 0);
            used += (size_t)snprintf(right + used, sizeof right - used, "%s%" PRId64, comma,
                                     i < 0 ? i + x->extent[d] : i);
            next += at->rank;
        } else {
            for (int k = 0; k < at->rank; k++)
                listed +=
                    (size_t)snprintf(inner + listed, sizeof inner - listed, "%si%d", k ? ", " : "", next++);
            used += (size_t)snprintf(right + used, sizeof right - used, "%swrap($1[%s])", comma, inner);
        }
    }
    uk_write(w, n, "$y[%s] = $0[%s]", uk_iterators(n->output[0]->rank), right);
    return UK_OK;
}

/* ---- Compress: elements, or parts along an axis, for which a constant is true ---- */

/* Appends, for each dimension of the input that is chosen from, a list of its subscripts, as inputs from
 * number 2 on. */
static enum uk_status append_chosen(struct uk_graph *g, struct uk_graph_node *n, int from, int end,
                                    int64_t count) {
    const struct uk_graph_value *x = n->input[0], *condition = n->input[1];
    int64_t stride = 1;

    n->inputs = 2;
    for (int d = from; d < end; d++) {
        void *list;
        if (uk_append_constant(g, n, UK_I64, count, &list) < 0)
            return g->status;
    }
    for (int d = end - 1; d >= from; stride *= x->extent[d--]) {
        int64_t *list = (int64_t *)n->input[2 + d - from]->data, at = 0;
        for (int64_t i = 0; i < uk_value_elements(condition); i++)
            if (uk_constant_int(condition, i))
                list[at++] = i / stride % x->extent[d];
    }
    return UK_OK;
}

enum uk_status uk_infer_compress(struct uk_graph *g, struct uk_graph_node *n) {
    const bool flat = !uk_attribute_find(n, "axis");
    int64_t extent[UK_RANK], count = 0;
    int axis = 0;
    enum uk_status s = uk_need_input(g, n, 0);

    if (!s)
        s = uk_need_input(g, n, 1);
    if (!s && !flat)
        s = uk_need_axis(g, n, uk_attribute_int(n, "axis", 0), n->input[0]->rank, &axis);
    if (s)
        return s;
    const struct uk_graph_value *x = n->input[0], *condition = n->input[1];
    if ((s = uk_need_constant(g, n, n->input[1])))
        return s;
    if (condition->type != UK_U8 || condition->rank != 1 ||
        condition->extent[0] > (flat ? uk_value_elements(x) : x->extent[axis]))
        return uk_graph_fail(g, UK_REFUSED, n, "its condition of shape %s does not fit %s",
                             uk_value_shape(condition), uk_value_shape(x));
    for (int64_t i = 0; i < condition->extent[0]; i++)
        count += uk_constant_int(condition, i) != 0;
    memcpy(extent, x->extent, sizeof extent);
    extent[axis] = count;
    s = append_chosen(g, n, axis, flat ? x->rank : axis + 1, count);
    if (!s)
        s = uk_set_output(g, n, 0, x->type, flat ? 1 : x->rank, extent);
    if (!s)
        n->output[0]->is_boolean = x->is_boolean;
    return s;
}

enum uk_status uk_write_compress(struct uk_writer *w, const struct uk_graph_node *n, int output) {
    const int rank = n->input[0]->rank, lists = n->inputs - 2;
    char right[UK_RANK * 16] = "";
    size_t used = 0;
    int axis = 0;
    const bool flat = !uk_attribute_find(n, "axis");
    enum uk_status s = flat ? UK_OK : uk_need_axis(w->g, n, uk_attribute_int(n, "axis", 0), rank, &axis);

    (void)output;
    for (int d = 0; d < rank && !s; d++) {
        const char *comma = d ? ", " : "";
        if (d >= axis && d < axis + lists)
            used += (size_t)snprintf(right + used, sizeof right - used, "%s$%c[i%d]", comma, '2' + d - axis,
                                     axis);
        else
            used += (size_t)snprintf(right + used, sizeof right - used, "%si%d", comma, d);
    }
    if (!s)
        uk_write(w, n, "$y[%s] = $0[%s]", uk_iterators(n->output[0]->rank), right);
    return s;
}

/* ---- GatherElements and GatherND ---- */

/* Refuses the node unless its data and indices exist, the latter with a type of indices. */
static enum uk_status check_operands(struct uk_graph *g, const struct uk_graph_node *n) {
    enum uk_status s = uk_need_input(g, n, DATA);

    if (!s)
        s = uk_need_input(g, n, INDICES);
    if (s)
        return s;
    const enum uk_type type = n->input[INDICES]->type;
    return type == UK_I64 || type == UK_I32
               ? UK_OK
               : uk_graph_fail(g, UK_REFUSED, n, "indices of type %s are not supported", uk_type_name(type));
}

static enum uk_status refuse_shapes(struct uk_graph *g, const struct uk_graph_node *n) {
    return uk_graph_fail(g, UK_REFUSED, n, "indices of shape %s do not fit a tensor of shape %s",
                         uk_value_shape(n->input[INDICES]), uk_value_shape(n->input[DATA]));
}

static enum uk_status set_output(struct uk_graph *g, struct uk_graph_node *n, int rank,
                                 const int64_t *extent) {
    const enum uk_status s = uk_set_output(g, n, 0, n->input[DATA]->type, rank, extent);

    if (!s)
        n->output[0]->is_boolean = n->input[DATA]->is_boolean;
    return s;
}

enum uk_status uk_infer_gather_elements(struct uk_graph *g, struct uk_graph_node *n) {
    int axis;
    enum uk_status s = check_operands(g, n);

    if (!s)
        s = uk_need_axis(g, n, uk_attribute_int(n, "axis", 0), n->input[DATA]->rank, &axis);
    if (s)
        return s;
    const struct uk_graph_value *x = n->input[DATA], *at = n->input[INDICES];
    bool fits = at->rank == x->rank;
    for (int d = 0; d < x->rank && fits; d++)
        fits = d == axis || at->extent[d] <= x->extent[d];
    if (!fits)
        return refuse_shapes(g, n);
    s = uk_check_indices(g, n, axis, 0, 1);
    return s ? s : set_output(g, n, at->rank, at->extent);
}

enum uk_status uk_write_gather_elements(struct uk_writer *w, const struct uk_graph_node *n, int output) {
    const struct uk_graph_value *x = n->input[DATA], *at = n->input[INDICES];
    const char *all = uk_iterators(x->rank), *before = " where ";
    char right[UK_SUBSCRIPTS] = "", ranges[UK_SUBSCRIPTS] = "";
    size_t used = 0;
    int axis;
    enum uk_status s = uk_need_axis(w->g, n, uk_attribute_int(n, "axis", 0), x->rank, &axis);

    (void)output;
    if (s)
        return s;
    for (int d = 0; d < x->rank; d++) {
        if (d == axis)
            uk_append_subscript(right, "wrap($1[%s])", all);
        else
            uk_append_subscript(right, "i%d", d);
        if (d == axis || at->extent[d] == x->extent[d])
            continue;
        used += (size_t)snprintf(ranges + used, sizeof ranges - used, "%si%d < %" PRId64, before, d,
                                 at->extent[d]);
        before = " and ";
    }
    uk_write(w, n, "$y[%s] = $0[%s]%s", all, right, ranges);
    return UK_OK;
}

enum uk_status uk_infer_gather_nd(struct uk_graph *g, struct uk_graph_node *n) {
    const int64_t batch = uk_attribute_int(n, "batch_dims", 0);
    int64_t extent[2 * UK_RANK];
    int rank = 0;
    enum uk_status s = check_operands(g, n);

    if (s)
        return s;
    const struct uk_graph_value *x = n->input[DATA], *at = n->input[INDICES];
    const int64_t count = at->rank ? at->extent[at->rank - 1] : 0;
    bool fits = count >= 1 && batch >= 0 && batch < at->rank && count <= x->rank - batch;
    for (int d = 0; d < batch && fits; d++)
        fits = at->extent[d] == x->extent[d];
    if (!fits)
        return refuse_shapes(g, n);
    for (int64_t d = 0; d < count && !s; d++)
        s = uk_check_indices(g, n, (int)(batch + d), d, count);
    for (int d = 0; d < at->rank - 1; d++)
        extent[rank++] = at->extent[d];
    for (int64_t d = batch + count; d < x->rank; d++)
        extent[rank++] = x->extent[d];
    return s ? s : set_output(g, n, rank, extent);
}

enum uk_status uk_write_gather_nd(struct uk_writer *w, const struct uk_graph_node *n, int output) {
    const struct uk_graph_value *x = n->input[DATA], *at = n->input[INDICES];
    const int batch = (int)uk_attribute_int(n, "batch_dims", 0), heads = at->rank - 1,
              count = (int)at->extent[heads];
    char right[UK_SUBSCRIPTS] = "";

    (void)output;
    for (int d = 0; d < x->rank; d++)
        if (d < batch || d >= batch + count)
            uk_append_subscript(right, "i%d", d < batch ? d : d - batch - count + heads);
        else
            uk_append_subscript(right, "wrap($1[%s%s%d])", uk_iterators(heads), heads ? ", " : "", d - batch);
    uk_write(w, n, "$y[%s] = $0[%s]", uk_iterators(n->output[0]->rank), right);
    return UK_OK;
}

/* ---- OneHot: indices, depth, values [off, on] ---- */

enum { DEPTH = 1, VALUES = 2 };

enum uk_status uk_infer_one_hot(struct uk_graph *g, struct uk_graph_node *n) {
    int64_t extent[UK_RANK + 1];
    int axis, rank = 0;
    enum uk_status s = UK_OK;

    for (int i = 0; i <= VALUES && !s; i++)
        s = uk_need_input(g, n, i);
    if (!s)
        s = uk_need_axis(g, n, uk_attribute_int(n, "axis", -1), n->input[0]->rank + 1, &axis);
    if (s)
        return s;
    const struct uk_graph_value *at = n->input[0], *depth = n->input[DEPTH], *values = n->input[VALUES];
    if (!depth->data || uk_value_elements(depth) != 1)
        return uk_graph_fail(
            g, UK_REFUSED, n,
            "its depth '%s' is not a constant number; if that is an input of the network, give "
            "its value (--constant %s=FILE)",
            depth->name, depth->name);
    const double count = uk_constant_real(depth, 0);
    if (!(count >= 0 && count <= (double)UK_MAX_ELEMENTS))
        return uk_graph_fail(g, UK_REFUSED, n, "its depth is %g", count);
    if (values->rank != 1 || values->extent[0] != 2)
        return uk_graph_fail(g, UK_REFUSED, n, "its values have shape %s, not 2: off and on",
                             uk_value_shape(values));
    for (int d = 0; d < at->rank + 1; d++)
        extent[rank++] = d == axis ? (int64_t)count : at->extent[d - (d > axis)];
    s = uk_set_output(g, n, 0, values->type, rank, extent);
    if (!s)
        n->output[0]->is_boolean = values->is_boolean;
    return s;
}

enum uk_status uk_write_one_hot(struct uk_writer *w, const struct uk_graph_node *n, int output) {
    const int rank = n->output[0]->rank;
    char at[UK_SUBSCRIPTS] = "";
    int axis;
    enum uk_status s = uk_need_axis(w->g, n, uk_attribute_int(n, "axis", -1), rank, &axis);

    (void)output;
    if (s)
        return s;
    for (int d = 0; d < rank; d++)
        if (d != axis)
            uk_append_subscript(at, "i%d", d);
    /* Negative indices count from the end since version 11; the sum of an index and the extent is in the
     * dimension for these alone. */
    const int64_t extent = n->version < 11 ? 0 : n->output[0]->extent[axis];
    uk_write(w, n,
             "$y[%1$s] = select(index(i%2$d) == i64($0[%3$s]) or index(i%2$d) == i64($0[%3$s]) + %4$" PRId64
             ", $2[1], $2[0])",
             uk_iterators(rank), axis, at, extent);
    return UK_OK;
}
