/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TopK: each element's rank along the axis is the number of elements before it, and it is written there.
 * Equal elements are in the order of their indices. A NaN is larger than all numbers, and equal to other
 * NaNs.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "layers/layers.h"

static enum uk_status count_of(struct uk_graph *g, const struct uk_graph_node *n, int64_t *k) {
    int64_t listed[UK_MAX_LISTED_INTS];
    int count;

    *k = uk_attribute_int(n, "k", -1);
    if (*k >= 0 || n->inputs < 2)
        return *k >= 0 ? UK_OK : uk_need_input(g, n, 1);
    enum uk_status s = uk_need_ints(g, n, NULL, 1, listed, &count);
    if (!s && count != 1)
        s = uk_graph_fail(g, UK_REFUSED, n, "k is a list of %d numbers", count);
    *k = s ? 0 : listed[0];
    return s;
}

enum uk_status uk_infer_top_k(struct uk_graph *g, struct uk_graph_node *n) {
    int64_t extent[UK_RANK], k;
    int axis;
    enum uk_status s = uk_need_input(g, n, 0);

    if (!s)
        s = uk_need_axis(g, n, uk_attribute_int(n, "axis", -1), n->input[0]->rank, &axis);
    if (!s)
        s = count_of(g, n, &k);
    if (s)
        return s;
    const struct uk_graph_value *x = n->input[0];
    if (k < 0 || k > x->extent[axis])
        return uk_graph_fail(g, UK_REFUSED, n,
                             "k is %" PRId64 ", and dimension %d of its input has extent %" PRId64, k, axis,
                             x->extent[axis]);
    memcpy(extent, x->extent, sizeof extent);
    extent[axis] = k;
    s = uk_set_output(g, n, 0, x->type, x->rank, extent);
    return s ? s : uk_set_output(g, n, 1, UK_I64, x->rank, extent);
}

/* Writes @rank: the number of elements, subscripts `other`, that come before each, subscripts `all`. */
static void write_ranks(struct uk_writer *w, const struct uk_graph_node *n, const char *all,
                        const char *other, int axis) {
    const bool largest = uk_attribute_int(n, "largest", 1),
               has_nan = n->input[0]->type <= UK_BF16; /* the floats are the first types */
    const char *a = largest ? other : all, *b = largest ? all : other;

    uk_write_temp(w, n, "rank", UK_I32, n->input[0]->rank, n->input[0]->extent, NULL);
    if (has_nan)
        uk_write(w, n,
                 "@rank[%1$s] = sum(j) select($0[%3$s] > $0[%4$s] or $0[%3$s] != $0[%3$s] and $0[%4$s] == "
                 "$0[%4$s] or index(j) < index(i%5$d) and ($0[%1$s] == $0[%2$s] or $0[%1$s] != $0[%1$s] and "
                 "$0[%2$s] != $0[%2$s]), i32(1), i32(0))",
                 all, other, a, b, axis);
    else
        uk_write(w, n,
                 "@rank[%1$s] = sum(j) select($0[%3$s] > $0[%4$s] or index(j) < index(i%5$d) and $0[%1$s] == "
                 "$0[%2$s], i32(1), i32(0))",
                 all, other, a, b, axis);
}

enum uk_status uk_write_top_k(struct uk_writer *w, const struct uk_graph_node *n, int output) {
    const struct uk_graph_value *x = n->input[0];
    const enum uk_type type = output ? UK_I64 : x->type;
    const char *all = uk_iterators(x->rank);
    char other[UK_SUBSCRIPTS] = "", at[UK_SUBSCRIPTS] = "", value[32];
    int axis;
    enum uk_status s = uk_need_axis(w->g, n, uk_attribute_int(n, "axis", -1), x->rank, &axis);

    if (s)
        return s;
    for (int d = 0; d < x->rank; d++)
        if (d == axis) {
            uk_append_subscript(other, "j");
            uk_append_subscript(at, "@rank[%s]", all);
        } else {
            uk_append_subscript(other, "i%d", d);
            uk_append_subscript(at, "i%d", d);
        }
    write_ranks(w, n, all, other, axis);
    uk_write_temp(w, n, "sorted", type, x->rank, x->extent, NULL);
    snprintf(value, sizeof value, "i64(index(i%d))", axis);
    uk_write(w, n, "@sorted[%s] = %s(0)", all, uk_type_name(type));
    if (output)
        uk_write(w, n, "place: @sorted[%s] = %s", at, value);
    else
        uk_write(w, n, "place: @sorted[%s] = $0[%s]", at, all);
    uk_write(w, n, "$y[%1$s] = @sorted[%1$s] where i%2$d < %3$" PRId64, all, axis, w->result->extent[axis]);
    return UK_OK;
}
