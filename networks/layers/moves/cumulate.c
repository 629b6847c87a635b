/* SPDX-License-Identifier: Apache-2.0 */
/* CumSum and CumProd: sums and products of the elements before each one, along an axis. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "layers/layers.h"

static enum uk_status axis_of(struct uk_graph *g, const struct uk_graph_node *n, int *axis) {
    int64_t listed[UK_MAX_LISTED_INTS];
    int count;
    enum uk_status s = uk_need_ints(g, n, NULL, 1, listed, &count);

    if (!s && count != 1)
        s = uk_graph_fail(g, UK_REFUSED, n, "its axis, input 1, must be one integer");
    return s ? s : uk_need_axis(g, n, listed[0], n->input[0]->rank, axis);
}

enum uk_status uk_infer_cumulate(struct uk_graph *g, struct uk_graph_node *n) {
    int axis;
    enum uk_status s = uk_need_input(g, n, 0);

    if (!s)
        s = axis_of(g, n, &axis);
    return s ? s : uk_set_output(g, n, 0, n->input[0]->type, n->input[0]->rank, n->input[0]->extent);
}

/* The scan runs over the reversed elements if `reverse` is set. */
enum uk_status uk_write_cumulate(struct uk_writer *w, const struct uk_graph_node *n, int output) {
    const struct uk_graph_value *x = n->input[0];
    const bool product = !strcmp(n->type, "CumProd"), reverse = uk_attribute_int(n, "reverse", 0),
               exclusive = uk_attribute_int(n, "exclusive", 0);
    const char *all = uk_iterators(x->rank);
    char at[64], from[UK_RANK * 32], to[UK_RANK * 32];
    int axis = 0;
    enum uk_status s = axis_of(w->g, n, &axis);

    (void)output;
    if (s)
        return s;
    const int64_t last = x->extent[axis] - 1;
    if (reverse)
        snprintf(at, sizeof at, "%" PRId64 " - i%d", last, axis);
    else
        snprintf(at, sizeof at, "i%d", axis);
    uk_subscripts(from, sizeof from, x->rank, axis, at);
    if (reverse)
        snprintf(at, sizeof at, "%" PRId64 " - i%d", last - exclusive, axis);
    else
        snprintf(at, sizeof at, "i%d - %d", axis, exclusive);
    uk_subscripts(to, sizeof to, x->rank, axis, at);
    uk_write_temp_like(w, n, "t", x->type);
    uk_write(w, n, "@t[%s] = scan %s(i%d) $0[%s]", all, product ? "prod" : "sum", axis, from);
    if (exclusive)
        uk_write(w, n, "$y[%s] = pad(@t[%s], %d)", all, to, product);
    else
        uk_write(w, n, "$y[%s] = @t[%s]", all, to);
    return UK_OK;
}
