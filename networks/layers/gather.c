/* SPDX-License-Identifier: Apache-2.0 */
/* Gather: elements chosen by integers in a tensor. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "layers/layers.h"

void uk_listed_subscript(const struct uk_graph_node *n, int list, int dimension, char *text, size_t room) {
    const struct uk_graph_value *v = n->input[list];
    const int64_t *at = v->data, count = v->extent[0];
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
    for (int64_t i = 0; at->data && i < uk_value_elements(at); i++)
        if (uk_constant_int(at, i) < -x->extent[axis] || uk_constant_int(at, i) >= x->extent[axis])
            return uk_graph_fail(g, UK_REFUSED, n, "index %" PRId64 " is outside of dimension %d of %s",
                                 uk_constant_int(at, i), axis, uk_value_shape(x));
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
