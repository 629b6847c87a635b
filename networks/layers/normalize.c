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

/* Writes the subscripts of an operand that is broadcast to the last dimensions of a tensor of that rank. */
static void broadcast_iterators(const struct uk_graph *g, char *text, size_t room,
                                const struct uk_graph_value *v, int rank) {
    size_t used = 0;

    *text = 0;
    for (int d = 0; d < v->rank; d++)
        used += (size_t)snprintf(text + used, room - used, uk_is_one(g, v, d) ? "%s0" : "%si%d",
                                 d ? ", " : "", rank - v->rank + d);
}

/* Writes, over the dimensions from `axis` on, the sums of the elements, temp @s, and of the squares of their
 * differences from the mean, temp @d; without the mean: of the squares of the elements. Returns the number of
 * elements. */
static double write_statistics(struct uk_writer *w, const struct uk_graph_node *n, int axis, const char *kept,
                               bool has_mean) {
    const struct uk_graph_value *x = n->input[0];
    const char *all = uk_iterators(x->rank);
    char over[64];
    double count = 1;

    iterators(over, sizeof over, axis, x->rank);
    for (int d = axis; d < x->rank; d++)
        count *= (double)x->extent[d];
    if (!has_mean) {
        uk_write_temp(w, n, "d", x->type, axis, x->extent, NULL);
        uk_write(w, n, "@d[%1$s] = sum(%2$s) $0[%3$s] * $0[%3$s]", kept, over, all);
        return count;
    }
    uk_write_temp(w, n, "s", x->type, axis, x->extent, NULL);
    uk_write_temp(w, n, "d", x->type, axis, x->extent, NULL);
    uk_write(w, n, "@s[%s] = sum(%s) $0[%s]", kept, over, all);
    uk_write(w, n, "@d[%1$s] = sum(%2$s) ($0[%3$s] - @s[%1$s] / %4$.17g) * ($0[%3$s] - @s[%1$s] / %4$.17g)",
             kept, over, all, count);
    return count;
}

/* ---- LayerNormalization; RMSNormalization, which ONNX Runtime names SimplifiedLayerNormalization ---- */

static bool has_mean(const struct uk_graph_node *n) {
    return !strcmp(n->type, "LayerNormalization");
}

/* Scale and bias are broadcast to the input. A scale may be left out by nodes that this library makes. */
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
        bool fits =
            !v || (v->has_shape && v->rank <= x->rank && v->type == x->type && (i == 1 || has_mean(n)));
        for (int d = 0; v && fits && d < v->rank; d++)
            fits = v->extent[d] == 1 || v->extent[d] == x->extent[x->rank - v->rank + d];
        if (!fits)
            s = uk_graph_fail(g, UK_REFUSED, n, "scale or bias does not fit an input of shape %s",
                              uk_value_shape(x));
    }
    for (int d = 0; d < x->rank; d++)
        extent[d] = d < axis ? x->extent[d] : 1;
    if (!s)
        s = uk_set_output(g, n, 0, x->type, x->rank, x->extent);
    if (!s)
        s = uk_set_output(g, n, 1, UK_F32, x->rank, extent);
    return s || !has_mean(n) ? s : uk_set_output(g, n, 2, UK_F32, x->rank, extent);
}

/* Writes the mean, output 1 if there is one, or the reciprocal of the deviation, the output after it. */
static void write_statistic(struct uk_writer *w, const struct uk_graph_node *n, int output, int axis,
                            const char *kept, double count, const char *epsilon) {
    char left[128];
    size_t used = (size_t)snprintf(left, sizeof left, "%s", kept);

    for (int d = axis; d < n->input[0]->rank; d++)
        used += (size_t)snprintf(left + used, sizeof left - used, "%sk%d", used ? ", " : "", d);
    if (output == 1 && has_mean(n))
        uk_write(w, n, "$y[%s] = f32(@s[%s] / %.17g)", left, kept, count);
    else
        uk_write(w, n, "$y[%s] = f32(1 / sqrt(@d[%s] / %.17g + %s))", left, kept, count, epsilon);
}

enum uk_status uk_write_layer_normalization(struct uk_writer *w, const struct uk_graph_node *n, int output) {
    const struct uk_graph_value *x = n->input[0], *scale = uk_node_input(n, 1), *bias = uk_node_input(n, 2);
    const char *epsilon = uk_number_text(uk_attribute_float(n, "epsilon", 1e-5), true);
    char kept[64], at[64], less[128] = "", times[80] = "", plus[80] = "";
    int axis;
    enum uk_status s = uk_need_axis(w->g, n, uk_attribute_int(n, "axis", -1), x->rank, &axis);

    if (s)
        return s;
    iterators(kept, sizeof kept, 0, axis);
    const double count = write_statistics(w, n, axis, kept, has_mean(n));
    if (output) {
        write_statistic(w, n, output, axis, kept, count, epsilon);
        return UK_OK;
    }
    if (scale) {
        broadcast_iterators(w->g, at, sizeof at, scale, x->rank);
        snprintf(times, sizeof times, " * $1[%s]", at);
    }
    if (bias) {
        broadcast_iterators(w->g, at, sizeof at, bias, x->rank);
        snprintf(plus, sizeof plus, " + $2[%s]", at);
    }
    if (has_mean(n))
        snprintf(less, sizeof less, " - @s[%s] / %.17g", kept, count);
    uk_write_result(w, n, "($0[%s]%s) / sqrt(@d[%s] / %.17g + %s)%s%s", uk_iterators(x->rank), less, kept,
                    count, epsilon, times, plus);
    return UK_OK;
}

/* ---- GroupNormalization: scale and bias per group before version 21, per channel from then on ---- */

enum uk_status uk_infer_group_normalization(struct uk_graph *g, struct uk_graph_node *n) {
    const int64_t groups = uk_attribute_int(n, "num_groups", 0);
    enum uk_status s = uk_need_inputs(g, n, 3);

    if (s)
        return s;
    const struct uk_graph_value *x = n->input[0];
    if (x->rank < 2 || groups < 1 || x->extent[1] % groups)
        return uk_graph_fail(g, UK_REFUSED, n, "num_groups=%" PRId64 " does not divide channels of shape %s",
                             groups, uk_value_shape(x));
    for (int i = 1; i < 3; i++)
        if (n->input[i]->rank != 1 || n->input[i]->type != x->type ||
            n->input[i]->extent[0] != (n->version < 21 ? groups : x->extent[1]))
            return uk_graph_fail(g, UK_REFUSED, n,
                                 "input %d has shape %s, which does not fit %s in %" PRId64 " groups", i,
                                 uk_value_shape(n->input[i]), uk_value_shape(x), groups);
    return uk_set_output(g, n, 0, x->type, x->rank, x->extent);
}

/* Sums, means and factors are per channel: those of neighbouring channels are vectors if channels are
 * innermost. */
enum uk_status uk_write_group_normalization(struct uk_writer *w, const struct uk_graph_node *n, int output) {
    const struct uk_graph_value *x = n->input[0];
    const int64_t groups = uk_attribute_int(n, "num_groups", 0), each = x->extent[1] / groups;
    const int64_t kept[] = {x->extent[0], groups};
    const char *all = uk_iterators(x->rank);
    char rest[64], over[72] = "", group[40], parameter[40];
    double count = (double)each;

    (void)output;
    iterators(rest, sizeof rest, 2, x->rank);
    if (*rest)
        snprintf(over, sizeof over, "sum(%s) ", rest);
    for (int d = 2; d < x->rank; d++)
        count *= (double)x->extent[d];
    snprintf(group, sizeof group, "i1 / %" PRId64, each);
    snprintf(parameter, sizeof parameter, "%s", n->version < 21 ? group : "i1");
    static const char *const per_channel[] = {"p", "q", "m", "f"};
    for (int i = 0; i < 4; i++)
        uk_write_temp(w, n, per_channel[i], x->type, 2, x->extent, NULL);
    uk_write_temp(w, n, "s", x->type, 2, kept, NULL);
    uk_write_temp(w, n, "d", x->type, 2, kept, NULL);
    uk_write(w, n, "@p[i0, i1] = %s$0[%s]", over, all);
    uk_write(w, n, "@s[i0, g] = sum(c where c < %1$" PRId64 ") @p[i0, g * %1$" PRId64 " + c]", each);
    uk_write(w, n, "@m[i0, i1] = @s[i0, %s] / %.17g", group, count);
    uk_write(w, n, "@q[i0, i1] = %1$s($0[%2$s] - @m[i0, i1]) * ($0[%2$s] - @m[i0, i1])", over, all);
    uk_write(w, n, "@d[i0, g] = sum(c where c < %1$" PRId64 ") @q[i0, g * %1$" PRId64 " + c]", each);
    uk_write(w, n, "@f[i0, i1] = $1[%s] / sqrt(@d[i0, %s] / %.17g + %s)", parameter, group, count,
             uk_number_text(uk_attribute_float(n, "epsilon", 1e-5), true));
    uk_write_result(w, n, "($0[%s] - @m[i0, i1]) * @f[i0, i1] + $2[%s]", all, parameter);
    return UK_OK;
}

/* ---- InstanceNormalization ---- */

enum uk_status uk_infer_instance_normalization(struct uk_graph *g, struct uk_graph_node *n) {
    enum uk_status s = uk_need_inputs(g, n, 3);

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
    const double count = write_statistics(w, n, 2, "i0, i1", true);

    (void)output;
    uk_write_result(w, n, "($0[%s] - @s[i0, i1] / %.17g) / sqrt(@d[i0, i1] / %.17g + %s) * $1[i1] + $2[i1]",
                    uk_iterators(n->input[0]->rank), count, count,
                    uk_number_text(uk_attribute_float(n, "epsilon", 1e-5), true));
    return UK_OK;
}

/* ---- MeanVarianceNormalization: over any dimensions ---- */

/* Marks the dimensions that are reduced. */
static enum uk_status reduced_by(struct uk_graph *g, const struct uk_graph_node *n, bool reduced[UK_RANK]) {
    static const int64_t usual[] = {0, 2, 3};
    int64_t axes[UK_MAX_LISTED_INTS];
    int count, axis;
    enum uk_status s = uk_need_ints(g, n, "axes", -1, axes, &count);

    if (!s && count < 0) {
        count = 3;
        memcpy(axes, usual, sizeof usual);
    }
    memset(reduced, 0, UK_RANK * sizeof *reduced);
    for (int i = 0; i < count && !s; i++)
        if (!(s = uk_need_axis(g, n, axes[i], n->input[0]->rank, &axis)))
            reduced[axis] = true;
    return s;
}

enum uk_status uk_infer_mean_variance(struct uk_graph *g, struct uk_graph_node *n) {
    bool reduced[UK_RANK];
    enum uk_status s = uk_need_input(g, n, 0);

    if (!s)
        s = reduced_by(g, n, reduced);
    if (!s && !uk_is_real(n->input[0]->type))
        s = uk_graph_fail(g, UK_REFUSED, n, "an input of type %s is not one of floats",
                          uk_type_name(n->input[0]->type));
    return s ? s : uk_set_output(g, n, 0, n->input[0]->type, n->input[0]->rank, n->input[0]->extent);
}

enum uk_status uk_write_mean_variance(struct uk_writer *w, const struct uk_graph_node *n, int output) {
    const struct uk_graph_value *x = n->input[0];
    const char *all = uk_iterators(x->rank);
    char kept[64] = "", over[64] = "", sum[80] = "";
    size_t used = 0, listed = 0;
    int64_t extent[UK_RANK];
    bool reduced[UK_RANK];
    double count = 1;
    int rank = 0;
    enum uk_status s = reduced_by(w->g, n, reduced);

    (void)output;
    for (int d = 0; d < x->rank && !s; d++)
        if (reduced[d]) {
            listed += (size_t)snprintf(over + listed, sizeof over - listed, "%si%d", listed ? ", " : "", d);
            count *= (double)x->extent[d];
        } else {
            used += (size_t)snprintf(kept + used, sizeof kept - used, "%si%d", used ? ", " : "", d);
            extent[rank++] = x->extent[d];
        }
    if (listed)
        snprintf(sum, sizeof sum, "sum(%s) ", over);
    uk_write_temp(w, n, "s", x->type, rank, extent, NULL);
    uk_write_temp(w, n, "d", x->type, rank, extent, NULL);
    uk_write(w, n, "@s[%s] = %s$0[%s]", kept, sum, all);
    uk_write(w, n, "@d[%1$s] = %2$s($0[%3$s] - @s[%1$s] / %4$.17g) * ($0[%3$s] - @s[%1$s] / %4$.17g)", kept,
             sum, all, count);
    uk_write_result(w, n, "($0[%1$s] - @s[%2$s] / %3$.17g) / (sqrt(@d[%2$s] / %3$.17g) + 1e-9)", all, kept,
                    count);
    return s;
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

/* ---- LpNormalization: by the sum of magnitudes, or the root of the sum of squares, along an axis ---- */

enum uk_status uk_infer_lp_normalization(struct uk_graph *g, struct uk_graph_node *n) {
    const int64_t p = uk_attribute_int(n, "p", 2);
    int axis;
    enum uk_status s = uk_need_input(g, n, 0);

    if (!s)
        s = uk_need_axis(g, n, uk_attribute_int(n, "axis", -1), n->input[0]->rank, &axis);
    if (!s && p != 1 && p != 2)
        s = uk_graph_fail(g, UK_REFUSED, n, "p=%" PRId64 " is not supported; 1 and 2 are", p);
    return s ? s : uk_set_output(g, n, 0, n->input[0]->type, n->input[0]->rank, n->input[0]->extent);
}

enum uk_status uk_write_lp_normalization(struct uk_writer *w, const struct uk_graph_node *n, int output) {
    const struct uk_graph_value *x = n->input[0];
    const bool squares = uk_attribute_int(n, "p", 2) == 2;
    const char *all = uk_iterators(x->rank);
    int64_t extent[UK_RANK];
    char kept[64] = "";
    size_t used = 0;
    int axis, rank = 0;
    enum uk_status s = uk_need_axis(w->g, n, uk_attribute_int(n, "axis", -1), x->rank, &axis);

    (void)output;
    for (int d = 0; d < x->rank && !s; d++) {
        if (d == axis)
            continue;
        extent[rank++] = x->extent[d];
        used += (size_t)snprintf(kept + used, sizeof kept - used, "%si%d", used ? ", " : "", d);
    }
    if (s)
        return s;
    uk_write_temp(w, n, "t", x->type, rank, extent, NULL);
    uk_write(w, n,
             squares ? "@t[%1$s] = sum(i%2$d) $0[%3$s] * $0[%3$s]" : "@t[%1$s] = sum(i%2$d) abs($0[%3$s])",
             kept, axis, all);
    uk_write_result(w, n,
                    squares ? "select(@t[%2$s] == 0, 0, $0[%1$s] / sqrt(@t[%2$s]))"
                            : "select(@t[%2$s] == 0, 0, $0[%1$s] / @t[%2$s])",
                    all, kept);
    return UK_OK;
}
