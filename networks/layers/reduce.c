/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions over axes: Softmax, Reduce*, ArgMax and ArgMin. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "layers/bytes/quantized.h"

struct axes {
    bool reduced[UK_RANK];
    int count;
};

/* Lists the iterators, "i0, i2", of the dimensions that are reduced, or of the others. */
static void list(char *text, size_t room, const struct axes *a, int rank, bool reduced) {
    size_t used = 0;

    *text = 0;
    for (int d = 0; d < rank; d++)
        if (a->reduced[d] == reduced)
            used += (size_t)snprintf(text + used, room - used, "%si%d", used ? ", " : "", d);
}

/* ---- Softmax, LogSoftmax; QLinearSoftmax: x, scale, zero, y scale, zero ---- */

/* Version of ONNX's Softmax that the node follows; ONNX Runtime's QLinearSoftmax names it in `opset`. */
static int64_t softmax_version(const struct uk_graph_node *n) {
    return uk_attribute_int(n, "opset", n->version);
}

static enum uk_status softmax_axis(struct uk_graph *g, const struct uk_graph_node *n, int *axis) {
    return uk_need_axis(g, n, uk_attribute_int(n, "axis", softmax_version(n) < 13 ? 1 : -1),
                        n->input[0]->rank, axis);
}

enum uk_status uk_infer_softmax(struct uk_graph *g, struct uk_graph_node *n) {
    enum uk_status s = uk_need_input(g, n, 0);
    int axis;

    if (!s)
        s = softmax_axis(g, n, &axis);
    return s ? s : uk_set_output(g, n, 0, n->input[0]->type, n->input[0]->rank, n->input[0]->extent);
}

static enum uk_status softmax_scales(struct uk_graph *g, const struct uk_graph_node *n,
                                     struct uk_quantization scale[2]) {
    enum uk_status s = uk_scale_of(g, n, 1, 2, 1, n->input[0]->type, &scale[0]);

    return s ? s : uk_scale_of(g, n, 3, 4, 1, n->input[0]->type, &scale[1]);
}

enum uk_status uk_infer_qlinear_softmax(struct uk_graph *g, struct uk_graph_node *n) {
    struct uk_quantization scale[2];
    enum uk_status s = uk_need_input(g, n, 0);

    if (!s && !uk_is_byte(n->input[0]->type))
        s = uk_graph_fail(g, UK_REFUSED, n, "its input has type %s; u8 and i8 are supported",
                          uk_type_name(n->input[0]->type));
    if (!s)
        s = softmax_scales(g, n, scale);
    return s ? s : uk_infer_softmax(g, n);
}

/* Writes, of the exponentials relative to the maximum @m, the sum @s of those below 1, and the number @c of
 * the others. The logarithm of their sum is log1p(@s + (@c - 1)): if a single element is the maximum, the sum
 * would lose digits of @s. over: the iterators; "": a single element. */
static void write_rest(struct uk_writer *w, const struct uk_graph_node *n, const char *left, const char *over,
                       const char *all, const char *power) {
    const char *sum = *over ? "sum(" : "", *end = *over ? ") " : "";
    char term[768];

    snprintf(term, sizeof term, power, all, left);
    uk_write(w, n, "@s[%s] = %s%s%sselect($0[%s] == @m[%s], 0, %s)", left, sum, over, end, all, left, term);
    uk_write(w, n, "@c[%s] = %s%s%sselect($0[%s] == @m[%s], %s(1), 0)", left, sum, over, end, all, left,
             uk_type_name(n->input[0]->type));
}

/* The exponential of the exact difference of x, $0[%1$s], and the maximum m, @m[%2$s]. The rounding error of
 * d = x - m, by Knuth's TwoSum, is (x - (d - b)) - (m + b), b = d - x; it is as large as the logarithm's tail
 * has digits to lose. */
static const char exact_power[] = "@e[%1$s] * select(abs($0[%1$s]) < inf, 1 + (($0[%1$s] - (($0[%1$s] - "
                                  "@m[%2$s]) - (($0[%1$s] - @m[%2$s]) - "
                                  "$0[%1$s]))) - (@m[%2$s] + (($0[%1$s] - @m[%2$s]) - $0[%1$s]))), 1)";

/* Writes the maximum @m, the exponentials @e relative to it and their sums @s; for LogSoftmax the sums of
 * write_rest(). left: the subscripts of @m and @s. scale: that of bytes; NULL: the input is not quantized. */
static enum uk_status write_powers(struct uk_writer *w, const struct uk_graph_node *n, const char *scale,
                                   char *left, size_t room) {
    const struct uk_graph_value *x = n->input[0];
    const enum uk_type type = scale ? UK_F32 : x->type;
    const char *all = uk_iterators(x->rank);
    struct axes a = {.count = 0};
    int64_t kept[UK_RANK];
    char over[64];
    int rank = 0, axis = 0;
    enum uk_status s = softmax_axis(w->g, n, &axis);

    for (int d = 0; d < x->rank; d++) {
        /* Before version 13 the input was flattened to two dimensions at the axis. */
        a.reduced[d] = d == axis || (softmax_version(n) < 13 && d > axis);
        if (!a.reduced[d])
            kept[rank++] = x->extent[d];
    }
    list(over, sizeof over, &a, x->rank, true);
    list(left, room, &a, x->rank, false);
    uk_write_temp(w, n, "m", x->type, rank, kept, NULL);
    uk_write_temp(w, n, "s", type, rank, kept, NULL);
    uk_write_temp_like(w, n, "e", type);
    uk_write(w, n, "@m[%s] = max(%s) $0[%s]", left, over, all);
    if (scale)
        uk_write(w, n, "@e[%s] = exp(f32(i32($0[%s]) - i32(@m[%s])) * %s)", all, all, left, scale);
    else
        uk_write(w, n, "@e[%s] = exp($0[%s] - @m[%s])", all, all, left);
    if (strcmp(n->type, "LogSoftmax") != 0) {
        uk_write(w, n, "@s[%s] = sum(%s) @e[%s]", left, over, all);
    } else {
        uk_write_temp(w, n, "c", type, rank, kept, NULL);
        write_rest(w, n, left, over, all, exact_power);
    }
    return s;
}

enum uk_status uk_write_softmax(struct uk_writer *w, const struct uk_graph_node *n, int output) {
    const char *all = uk_iterators(n->input[0]->rank);
    char left[64];
    enum uk_status s = write_powers(w, n, NULL, left, sizeof left);

    (void)output;
    if (!strcmp(n->type, "LogSoftmax"))
        uk_write_result(w, n, "$0[%1$s] - @m[%2$s] - log1p(@s[%2$s] + (@c[%2$s] - 1))", all, left);
    else
        uk_write_result(w, n, "@e[%s] / @s[%s]", all, left);
    return s;
}

/* Hardmax: 1 at the first of the largest elements, else 0. Elements of all reduced dimensions are counted in
 * row-major order. */
enum uk_status uk_write_hardmax(struct uk_writer *w, const struct uk_graph_node *n, int output) {
    const struct uk_graph_value *x = n->input[0];
    const char *all = uk_iterators(x->rank), *type = uk_type_name(x->type);
    char over[64], kept[64], place[UK_RANK * 32] = "";
    struct axes a = {.count = 1};
    int64_t extent[UK_RANK], stride = 1;
    size_t used = 0;
    int axis, rank = 0;
    enum uk_status s = softmax_axis(w->g, n, &axis);

    (void)output;
    if (s)
        return s;
    for (int d = 0; d < x->rank; d++) {
        a.reduced[d] = d == axis || (softmax_version(n) < 13 && d > axis);
        if (!a.reduced[d])
            extent[rank++] = x->extent[d];
    }
    for (int d = x->rank - 1; d >= 0; d--) {
        if (!a.reduced[d])
            continue;
        used += (size_t)snprintf(place + used, sizeof place - used, "%s%" PRId64 " * i%d", used ? " + " : "",
                                 stride, d);
        stride *= x->extent[d];
    }
    list(over, sizeof over, &a, x->rank, true);
    list(kept, sizeof kept, &a, x->rank, false);
    uk_write_temp(w, n, "m", x->type, rank, extent, NULL);
    uk_write_temp(w, n, "p", UK_I64, rank, extent, NULL);
    uk_write(w, n, "@m[%s] = max(%s) $0[%s]", kept, over, all);
    uk_write(w, n, "@p[%s] = min(%s) select($0[%s] == @m[%s], index(%s), %" PRId64 ")", kept, over, all, kept,
             place, stride);
    uk_write(w, n, "$y[%1$s] = select(index(%2$s) == @p[%3$s], %4$s(1), %4$s(0))", all, place, kept, type);
    return UK_OK;
}

/* ONNX Runtime multiplies by the integer part of 1 / scale: 254 if the scale is slightly above 1 / 255. */
enum uk_status uk_write_qlinear_softmax(struct uk_writer *w, const struct uk_graph_node *n, int output) {
    const char *all = uk_iterators(n->input[0]->rank);
    struct uk_quantization scale[2];
    char left[64];
    enum uk_status s = softmax_scales(w->g, n, scale);

    (void)output;
    if (!s)
        s = write_powers(w, n, uk_number_text(uk_scale_at(&scale[0], 0), true), left, sizeof left);
    if (!s)
        uk_write_result(w, n, "%s(round(@e[%s] * %s / @s[%s]) + (%" PRId64 "))",
                        uk_type_name(n->output[0]->type), all,
                        uk_number_text(floorf(1 / (float)uk_scale_at(&scale[1], 0)), true), left,
                        uk_zero_at(&scale[1], 0));
    return s;
}

/* ---- Reduce* ---- */

static enum uk_status axes_of(struct uk_graph *g, const struct uk_graph_node *n, struct axes *a) {
    int64_t listed[UK_MAX_LISTED_INTS];
    int count;
    enum uk_status s = uk_need_ints(g, n, "axes", 1, listed, &count);

    *a = (struct axes){.count = 0};
    if (!s && count <= 0) { /* no axes: all dimensions, or none with noop_with_empty_axes */
        const bool none = uk_attribute_int(n, "noop_with_empty_axes", 0);
        for (int d = 0; d < n->input[0]->rank && !none; d++)
            a->reduced[d] = true;
    }
    for (int i = 0; i < count && !s; i++) {
        int axis = 0;
        s = uk_need_axis(g, n, listed[i], n->input[0]->rank, &axis);
        if (!s && a->reduced[axis])
            s = uk_graph_fail(g, UK_REFUSED, n, "axis %d is given twice", axis);
        a->reduced[axis] = true;
    }
    for (int d = 0; d < UK_RANK; d++)
        a->count += a->reduced[d];
    return s;
}

enum uk_status uk_infer_reduce(struct uk_graph *g, struct uk_graph_node *n) {
    const bool keep = uk_attribute_int(n, "keepdims", 1);
    int64_t extent[UK_RANK];
    struct axes a;
    int rank = 0;
    enum uk_status s = uk_need_input(g, n, 0);

    if (!s)
        s = axes_of(g, n, &a);
    if (s)
        return s;
    for (int d = 0; d < n->input[0]->rank; d++)
        if (!a.reduced[d] || keep)
            extent[rank++] = a.reduced[d] ? 1 : n->input[0]->extent[d];
    s = uk_set_output(g, n, 0, n->input[0]->type, rank, extent);
    if (!s)
        n->output[0]->is_boolean = n->input[0]->is_boolean;
    return s;
}

/* Reductions: how to combine terms, a term, and the result made of their combination @t; NULL: that itself. A
 * result that ends in "/ " is followed by the number of elements. */
static const struct rule {
    const char *name, *reduction, *term, *result;
} rules[] = {
    {"ReduceSum", "sum", "$0[%s]", NULL},
    {"ReduceMean", "sum", "$0[%s]", "@t[%s] / "},
    {"ReduceMax", "max", "$0[%s]", NULL},
    {"ReduceMin", "min", "$0[%s]", NULL},
    {"ReduceProd", "prod", "$0[%s]", NULL},
    {"ReduceL1", "sum", "abs($0[%s])", NULL},
    {"ReduceL2", "sum", "$0[%1$s] * $0[%1$s]", "sqrt(@t[%s])"},
    {"ReduceSumSquare", "sum", "$0[%1$s] * $0[%1$s]", NULL},
    {"ReduceLogSum", "sum", "$0[%s]", "log(@t[%s])"},
};

static const struct rule *rule_of(const struct uk_graph_node *n) {
    const struct rule *r = rules;

    while (strcmp(r->name, n->type) != 0)
        r++;
    return r;
}

enum uk_status uk_write_reduce(struct uk_writer *w, const struct uk_graph_node *n, int output) {
    const struct uk_graph_value *x = n->input[0], *y = n->output[0];
    const struct rule *r = rule_of(n);
    char over[64], left[UK_RANK * 5] = "", term[256];
    struct axes a;
    double count = 1;
    size_t used = 0;
    enum uk_status s = axes_of(w->g, n, &a);

    (void)output;
    if (s)
        return s;
    list(over, sizeof over, &a, x->rank, true);
    for (int d = 0; d < x->rank; d++) {
        if (a.reduced[d])
            count *= (double)x->extent[d];
        if (!a.reduced[d] || y->rank == x->rank) /* a reduced dimension that is kept has extent 1 */
            used += (size_t)snprintf(left + used, sizeof left - used, "%s%c%d", used ? ", " : "",
                                     a.reduced[d] ? 'k' : 'i', d);
    }
    snprintf(term, sizeof term, r->term, uk_iterators(x->rank));
    if (r->result)
        uk_write_temp_like(w, n, "t", y->type);
    uk_write(w, n, "%s[%s] = %s%s%s%s%s", r->result ? "@t" : "$y", left, a.count ? r->reduction : "",
             a.count ? "(" : "", over, a.count ? ") " : "", term);
    if (r->result) {
        snprintf(term, sizeof term, r->result, uk_iterators(y->rank));
        uk_write_result(w, n, !strcmp(r->name, "ReduceMean") ? "%s%.17g" : "%s", term, count);
    }
    return UK_OK;
}

/* ---- ReduceLogSumExp ---- */

enum uk_status uk_write_reduce_log_sum_exp(struct uk_writer *w, const struct uk_graph_node *n, int output) {
    const struct uk_graph_value *x = n->input[0], *y = n->output[0];
    char over[64], kept[64], left[UK_RANK * 5] = "";
    int64_t extent[UK_RANK];
    struct axes a;
    size_t used = 0;
    int rank = 0;
    enum uk_status s = axes_of(w->g, n, &a);

    (void)output;
    if (s)
        return s;
    list(over, sizeof over, &a, x->rank, true);
    list(kept, sizeof kept, &a, x->rank, false);
    for (int d = 0; d < x->rank; d++) {
        if (!a.reduced[d])
            extent[rank++] = x->extent[d];
        if (!a.reduced[d] || y->rank == x->rank)
            used += (size_t)snprintf(left + used, sizeof left - used, "%s%c%d", used ? ", " : "",
                                     a.reduced[d] ? 'k' : 'i', d);
    }
    const char *all = uk_iterators(x->rank);
    uk_write_temp(w, n, "m", x->type, rank, extent, NULL);
    uk_write_temp(w, n, "s", x->type, rank, extent, NULL);
    uk_write(w, n, "@m[%s] = %s%s%s$0[%s]", kept, a.count ? "max(" : "", over, a.count ? ") " : "", all);
    uk_write_temp(w, n, "c", x->type, rank, extent, NULL);
    write_rest(w, n, kept, over, all, "exp($0[%1$s] - @m[%2$s])");
    uk_write(w, n, "$y[%s] = log1p(@s[%s] + (@c[%s] - 1)) + @m[%s]", left, kept, kept, kept);
    return UK_OK;
}

/* ---- ArgMax, ArgMin: the first or last index of the extreme element ---- */

/* Index that ONNX Runtime returns if elements are NaN: it compares each element with the extreme one so far,
 * from the first on. So NaN is passed over, unless it is the first: then no element is more extreme, and the
 * index is 0. */

enum uk_status uk_infer_arg(struct uk_graph *g, struct uk_graph_node *n) {
    const bool keep = uk_attribute_int(n, "keepdims", 1);
    int64_t extent[UK_RANK];
    int axis, rank = 0;
    enum uk_status s = uk_need_input(g, n, 0);

    if (!s)
        s = uk_need_axis(g, n, uk_attribute_int(n, "axis", 0), n->input[0]->rank, &axis);
    for (int d = 0; !s && d < n->input[0]->rank; d++)
        if (d != axis || keep)
            extent[rank++] = d == axis ? 1 : n->input[0]->extent[d];
    if (!s)
        s = uk_set_output(g, n, 0, UK_I64, rank, extent);
    return !s && !n->input[0]->extent[axis] && uk_value_elements(n->output[0])
               ? uk_graph_fail(g, UK_REFUSED, n, "dimension %d of its input %s has no element to select",
                               axis, uk_value_shape(n->input[0]))
               : s;
}

/* Iterators of all dimensions, but 0 for the axis. */
static void first_along(char *text, size_t room, int rank, int axis) {
    size_t used = 0;

    for (int d = 0; d < rank; d++)
        used += (size_t)snprintf(text + used, room - used, d == axis ? "%s0" : "%si%d", d ? ", " : "", d);
}

enum uk_status uk_write_arg(struct uk_writer *w, const struct uk_graph_node *n, int output) {
    const struct uk_graph_value *x = n->input[0];
    const bool last = uk_attribute_int(n, "select_last_index", 0), keep = n->output[0]->rank == x->rank;
    struct axes a = {.count = 1};
    int64_t extent[UK_RANK];
    char kept[64], left[UK_RANK * 5] = "";
    size_t used = 0;
    int axis, rank = 0;
    enum uk_status s = uk_need_axis(w->g, n, uk_attribute_int(n, "axis", 0), x->rank, &axis);

    (void)output;
    if (s)
        return s;
    a.reduced[axis] = true;
    list(kept, sizeof kept, &a, x->rank, false);
    for (int d = 0; d < x->rank; d++) {
        if (d != axis)
            extent[rank++] = x->extent[d];
        if (d != axis || keep)
            used += (size_t)snprintf(left + used, sizeof left - used, "%s%c%d", used ? ", " : "",
                                     d == axis ? 'k' : 'i', d);
    }
    const char *all = uk_iterators(x->rank);
    const bool may_be_nan = uk_is_real(x->type);
    const int64_t none = last ? -1 : x->extent[axis];
    char otherwise[96], first[UK_RANK * 5];
    first_along(first, sizeof first, x->rank, axis);
    uk_write_temp(w, n, "m", x->type, rank, extent, NULL);
    uk_write(w, n,
             may_be_nan ? "@m[%1$s] = %2$s(i%3$d) select($0[%4$s] == $0[%4$s], $0[%4$s], $0[%5$s])"
                        : "@m[%1$s] = %2$s(i%3$d) $0[%4$s]",
             kept, strcmp(n->type, "ArgMin") ? "max" : "min", axis, all, first);
    snprintf(otherwise, sizeof otherwise,
             may_be_nan ? "select(@m[%2$s] == @m[%2$s], %1$" PRId64 ", 0)" : "%1$" PRId64, none, kept);
    uk_write(w, n, "$y[%s] = %s(i%d) select($0[%s] == @m[%s], index(i%d), %s)", left, last ? "max" : "min",
             axis, all, kept, axis, otherwise);
    return UK_OK;
}
