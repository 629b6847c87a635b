/* SPDX-License-Identifier: Apache-2.0 */
/* Places of a union's inputs in its result. */
#include <string.h>
#include "layers/layers.h"

bool uk_part_of_union(struct uk_graph *g, const struct uk_graph_node *n, int input, int *axis,
                      int64_t *from) {
    const bool quantized = !strcmp(n->type, "QLinearConcat");

    *from = 0;
    if (uk_need_axis(g, n, uk_attribute_int(n, "axis", 1), n->output[0]->rank, axis) ||
        (quantized && (input < 2 || (input - 2) % 3 || !uk_has_same_scale(g, n, input))))
        return false;
    for (int i = quantized ? 2 : 0; i < input; i += quantized ? 3 : 1)
        *from += n->input[i]->extent[*axis];
    return true;
}

/* True if the elements of v are those of y from element `from` of dimension `axis` on. */
static bool has_same_place(const struct uk_graph_value *v, const struct uk_graph_value *y, int axis,
                           int64_t from) {
    const struct uk_graph_value *a = v, *b = y;
    int64_t of_v[UK_RANK], of_y[UK_RANK];

    while (a->storage)
        a = a->storage;
    while (b->storage)
        b = b->storage;
    if (a != b || !a->is_state || v->rank != y->rank)
        return false;
    uk_value_strides(v, of_v);
    uk_value_strides(y, of_y);
    for (int d = 0; d < v->rank; d++)
        if (v->extent[d] > 1 && of_v[d] != of_y[d])
            return false;
    return uk_value_begin(v) == uk_value_begin(y) + from * of_y[axis];
}

bool uk_is_in_place(struct uk_graph *g, const struct uk_graph_node *n, int input) {
    const struct uk_graph_value *v = n->input[input], *y = n->output[0];
    int64_t from = 0;
    int axis = 0;

    if (n->op->is_update)
        return input == 0 && v->rank && has_same_place(v, y, 0, 0);
    return uk_is_slice_of(v, y) || (v->storage && y->storage && uk_part_of_union(g, n, input, &axis, &from) &&
                                    has_same_place(v, y, axis, from));
}
