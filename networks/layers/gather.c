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
