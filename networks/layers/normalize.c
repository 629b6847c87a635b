/* SPDX-License-Identifier: Apache-2.0 */
/* Normalizations that compute their statistics from the input. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "layers/layers.h"

/* Lists the iterators "i1, i2" from dimension `from` to `end`, exclusive. */
static void iterators(char *text, size_t room, int from, int end) {
    size_t used = 0;

    *text = 0;
    for (int d = from; d < end; d++)
        used += (size_t)snprintf(text + used, room - used, "%si%d", d > from ? ", " : "", d);
}

/* Writes, over the dimensions from `axis` on, the sums of the elements, temp @s, and of the squares of their
 * differences from the mean, temp @d. Returns the number of elements. */
static double write_statistics(struct uk_writer *w, const struct uk_graph_node *n, int axis,
                               const char *kept) {
    const struct uk_graph_value *x = n->input[0];
    const char *all = uk_iterators(x->rank);
    char over[64];
    double count = 1;

    iterators(over, sizeof over, axis, x->rank);
    for (int d = axis; d < x->rank; d++)
        count *= (double)x->extent[d];
    uk_write_temp(w, n, "s", x->type, axis, x->extent, NULL);
    uk_write_temp(w, n, "d", x->type, axis, x->extent, NULL);
    uk_write(w, n, "@s[%s] = sum(%s) $0[%s]", kept, over, all);
    uk_write(w, n, "@d[%1$s] = sum(%2$s) ($0[%3$s] - @s[%1$s] / %4$.17g) * ($0[%3$s] - @s[%1$s] / %4$.17g)",
             kept, over, all, count);
    return count;
}

/* ---- LayerNormalization ---- */

enum uk_status uk_infer_layer_normalization(struct uk_graph *g, struct uk_graph_node *n) {
    int64_t extent[UK_RANK];
    int axis;
    enum uk_status s = uk_need_input(g, n, 0);

    if (!s)
        s = uk_need_axis(g, n, uk_attribute_int(n, "axis", -1), n->input[0]->rank, &axis);
    if (s)
        return s;
    const struct uk_graph_value *x = n->input[0];
    for (int i = 1; i < 3 && !s; i++) {
        const struct uk_graph_value *v = uk_node_input(n, i);
        bool fits = !v || (v->has_shape && v->rank <= x->rank - axis);
        for (int d = 0; v && fits && d < v->rank; d++)
            fits = v->extent[d] == x->extent[x->rank - v->rank + d];
        if (!fits || (!v && i == 1))
            s = uk_graph_fail(g, UK_REFUSED, n,
                              "scale or bias does not have the shape of the last dimensions of %s",
                              uk_value_shape(x));
    }
    for (int d = 0; d < x->rank; d++)
        extent[d] = d < axis ? x->extent[d] : 1;
    if (!s)
        s = uk_set_output(g, n, 0, x->type, x->rank, x->extent);
    if (!s)
        s = uk_set_output(g, n, 1, UK_F32, x->rank, extent);
    return s ? s : uk_set_output(g, n, 2, UK_F32, x->rank, extent);
}

enum uk_status uk_write_layer_normalization(struct uk_writer *w, const struct uk_graph_node *n, int output) {
    const struct uk_graph_value *x = n->input[0], *bias = uk_node_input(n, 2);
    const char *epsilon = uk_number_text(uk_attribute_float(n, "epsilon", 1e-5), true);
    char kept[64], scale[64], last[64], plus[80] = "";
    int axis;
    enum uk_status s = uk_need_axis(w->g, n, uk_attribute_int(n, "axis", -1), x->rank, &axis);

    if (s)
        return s;
    iterators(kept, sizeof kept, 0, axis);
    const double count = write_statistics(w, n, axis, kept);
    if (output) { /* output 1 is the mean, output 2 the reciprocal of the deviation */
        char left[128];
        size_t used = (size_t)snprintf(left, sizeof left, "%s", kept);
        for (int d = axis; d < x->rank; d++)
            used += (size_t)snprintf(left + used, sizeof left - used, "%sk%d", used ? ", " : "", d);
        if (output == 1)
            uk_write(w, n, "$y[%s] = @s[%s] / %.17g", left, kept, count);
        else
            uk_write(w, n, "$y[%s] = 1 / sqrt(@d[%s] / %.17g + %s)", left, kept, count, epsilon);
        return UK_OK;
    }
    iterators(scale, sizeof scale, x->rank - n->input[1]->rank, x->rank);
    if (bias) {
        iterators(last, sizeof last, x->rank - bias->rank, x->rank);
        snprintf(plus, sizeof plus, " + $2[%s]", last);
    }
    uk_write_result(w, n, "($0[%s] - @s[%s] / %.17g) / sqrt(@d[%s] / %.17g + %s) * $1[%s]%s",
                    uk_iterators(x->rank), kept, count, kept, count, epsilon, scale, plus);
    return UK_OK;
}

/* ---- InstanceNormalization ---- */

enum uk_status uk_infer_instance_normalization(struct uk_graph *g, struct uk_graph_node *n) {
    enum uk_status s = UK_OK;

    for (int i = 0; i < 3 && !s; i++)
        s = uk_need_input(g, n, i);
    for (int i = 1; i < 3 && !s; i++)
        if (n->input[0]->rank < 3 || n->input[i]->rank != 1 ||
            n->input[i]->extent[0] != n->input[0]->extent[1])
            s = uk_graph_fail(g, UK_REFUSED, n,
                              "input %d has shape %s, which does not fit an image of shape %s", i,
                              uk_value_shape(n->input[i]), uk_value_shape(n->input[0]));
    return s ? s : uk_set_output(g, n, 0, n->input[0]->type, n->input[0]->rank, n->input[0]->extent);
}

enum uk_status uk_write_instance_normalization(struct uk_writer *w, const struct uk_graph_node *n,
                                               int output) {
    const double count = write_statistics(w, n, 2, "i0, i1");

    (void)output;
    uk_write_result(w, n, "($0[%s] - @s[i0, i1] / %.17g) / sqrt(@d[i0, i1] / %.17g + %s) * $1[i1] + $2[i1]",
                    uk_iterators(n->input[0]->rank), count, count,
                    uk_number_text(uk_attribute_float(n, "epsilon", 1e-5), true));
    return UK_OK;
}

/* ---- LRN: over `size` neighbouring channels ---- */

enum uk_status uk_infer_lrn(struct uk_graph *g, struct uk_graph_node *n) {
    const int64_t size = uk_attribute_int(n, "size", 0);
    enum uk_status s = uk_need_input(g, n, 0);

    if (!s && (size < 1 || size > 1 << 20 || n->input[0]->rank < 2))
        s = uk_graph_fail(g, UK_REFUSED, n, "size %" PRId64 " does not fit an input of shape %s", size,
                          uk_value_shape(n->input[0]));
    return s ? s : uk_set_output(g, n, 0, n->input[0]->type, n->input[0]->rank, n->input[0]->extent);
}

enum uk_status uk_write_lrn(struct uk_writer *w, const struct uk_graph_node *n, int output) {
    const int64_t size = uk_attribute_int(n, "size", 0);
    const double alpha = uk_attribute_float(n, "alpha", 1e-4), beta = uk_attribute_float(n, "beta", 0.75);
    const int rank = n->input[0]->rank;
    const char *all = uk_iterators(rank);
    char rest[64], comma[80] = "";

    (void)output;
    iterators(rest, sizeof rest, 2, rank);
    if (*rest)
        snprintf(comma, sizeof comma, ", %s", rest);
    uk_write_temp_like(w, n, "t", n->output[0]->type);
    uk_write(w, n,
             "@t[%1$s] = sum(r where r < %2$" PRId64 ") pad($0[i0, i1 + r - %3$" PRId64
             "%4$s], 0) * pad($0[i0, i1 + r - %3$" PRId64 "%4$s], 0)",
             all, size, (size - 1) / 2, comma);
    uk_write_result(w, n, "$0[%s] / pow(%s + %s * @t[%s], %s)", all,
                    uk_number_text(uk_attribute_float(n, "bias", 1), true),
                    uk_number_text(alpha / (double)size, true), all, uk_number_text(beta, true));
    return UK_OK;
}
