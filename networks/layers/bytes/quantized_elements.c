/* SPDX-License-Identifier: Apache-2.0 */
/* Quantized elementwise operators and Concat of ONNX Runtime (com.microsoft). */
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "layers/bytes/quantized.h"

static float ratio(const struct uk_quantization *x, const struct uk_quantization *y) {
    return (float)uk_scale_at(x, 0) / (float)uk_scale_at(y, 0);
}

enum uk_status uk_byte_scales(struct uk_graph *g, const struct uk_graph_node *n, int count, const int at[],
                              struct uk_quantization out[]) {
    const struct uk_graph_value *x = uk_node_input(n, 0);
    enum uk_status s = uk_need_input(g, n, 0);

    if (!s && !uk_is_byte(x->type))
        s = uk_graph_fail(g, UK_REFUSED, n, "its input has type %s; u8 and i8 are supported",
                          uk_type_name(x->type));
    for (int i = 0; i < count && !s; i++)
        s = uk_scale_of(g, n, at[i], at[i] + 1, 1, x->type, &out[i]);
    return s;
}

/* ---- QLinearAdd, QLinearMul: a, scale, zero, b, scale, zero, y scale, zero ---- */

static const int of_binary[] = {1, 4, 6};

enum uk_status uk_infer_qlinear_binary(struct uk_graph *g, struct uk_graph_node *n) {
    struct uk_quantization scale[3];
    enum uk_status s = uk_byte_scales(g, n, 3, of_binary, scale);

    if (!s)
        s = uk_need_input(g, n, 3);
    if (!s && n->input[3]->type != n->input[0]->type)
        s = uk_graph_fail(g, UK_REFUSED, n, "inputs of types %s and %s cannot be combined",
                          uk_type_name(n->input[0]->type), uk_type_name(n->input[3]->type));
    return s ? s : uk_infer_broadcast(g, n);
}

/* The sum a * ra + (b * rb + c) of bytes a and b; the result is the integer nearest to it. */
struct byte_sum {
    float ra, rb, c;
    int least, most; /* range of the bytes */
};

/* Returns the coefficients that ONNX Runtime uses on x86. It combines the zero points first and uses fused
 * multiply-adds, which do not round products. */
static struct byte_sum sum_of(const struct uk_quantization scale[3], enum uk_type type) {
    const float ra = ratio(&scale[0], &scale[2]), rb = ratio(&scale[1], &scale[2]);
    const float of_b = rb * (float)uk_zero_at(&scale[1], 0);

    return (struct byte_sum){.ra = ra,
                             .rb = rb,
                             .c = (float)uk_zero_at(&scale[2], 0) -
                                  fmaf(ra, (float)uk_zero_at(&scale[0], 0), of_b),
                             .least = type == UK_I8 ? -128 : 0,
                             .most = type == UK_I8 ? 127 : 255};
}

static float saturated(const struct byte_sum *s, float v) {
    return rintf(fminf(fmaxf(v, (float)s->least), (float)s->most));
}

/* Counts pairs of bytes for which `t`, with rounded products, gives another integer than `s` with fused ones.
 * Stops at `enough`. */
static int count_different_pairs(const struct byte_sum *s, const struct byte_sum *t, int enough) {
    int apart = 0;

    for (int b = s->least; b <= s->most && apart < enough; b++) {
        const float of_b = (float)b * t->rb, rounded = of_b + t->c, exact = fmaf((float)b, s->rb, s->c);
        for (int a = s->least; a <= s->most; a++) {
            const float of_a = (float)a * t->ra;
            apart += saturated(s, of_a + rounded) != saturated(s, fmaf((float)a, s->ra, exact));
        }
    }
    return apart;
}

static float neighbour(float v, int distance) {
    for (; distance < 0; distance++)
        v = nextafterf(v, -INFINITY);
    for (; distance > 0; distance--)
        v = nextafterf(v, INFINITY);
    return v;
}

/* Adapts the coefficients to the language, which rounds products. That changes the result of few pairs of
 * bytes, if any; coefficients at most two ulps away nearly always change none. */
static struct byte_sum rounded_sum(const struct byte_sum *s) {
    static const int near[] = {0, -1, 1, -2, 2};
    enum { NEAR = sizeof near / sizeof near[0] };
    struct byte_sum best = *s;
    int fewest = count_different_pairs(s, s, INT_MAX);

    for (int i = 0; i < NEAR * NEAR * NEAR && fewest; i++) {
        struct byte_sum t = *s;
        t.c = neighbour(s->c, near[i % NEAR]);
        t.rb = neighbour(s->rb, near[i / NEAR % NEAR]);
        t.ra = neighbour(s->ra, near[i / NEAR / NEAR]);
        const int apart = count_different_pairs(s, &t, fewest);
        if (apart < fewest) {
            fewest = apart;
            best = t;
        }
    }
    return best;
}

static const struct uk_graph_sum *find_sum(const struct uk_graph *g, const struct byte_sum *s) {
    const struct uk_graph_sum *f = g->sums;

    while (f && (f->from[0] != s->ra || f->from[1] != s->rb || f->from[2] != s->c || f->least != s->least))
        f = f->next;
    return f || !g->largest ? f : find_sum(g->largest, s);
}

/* Adapts the coefficients, once for all nodes and points of open sizes that have the same. NULL: no memory.
 */
static const struct uk_graph_sum *adapted(struct uk_graph *g, const struct byte_sum *exact) {
    const struct uk_graph_sum *found = find_sum(g, exact);
    struct uk_graph_sum *made = found ? NULL : uk_alloc(&g->arena, sizeof *made);

    if (found || !made)
        return found;
    const struct byte_sum s = rounded_sum(exact);
    *made = (struct uk_graph_sum){g->sums, {exact->ra, exact->rb, exact->c}, {s.ra, s.rb, s.c}, exact->least};
    return g->sums = made;
}

const char *uk_express_qlinear_binary(struct uk_graph *g, const struct uk_graph_node *n) {
    struct uk_quantization scale[3];

    if (uk_byte_scales(g, n, 3, of_binary, scale))
        return NULL;
    const int64_t a = uk_zero_at(&scale[0], 0), b = uk_zero_at(&scale[1], 0), y = uk_zero_at(&scale[2], 0);
    if (!strcmp(n->type, "QLinearMul"))
        return uk_format(
            &g->arena,
            "{y}(round(f32((i32($0) - (%" PRId64 ")) * (i32($3) - (%" PRId64 "))) * %s) + (%" PRId64 "))", a,
            b, uk_number_text((float)uk_scale_at(&scale[0], 0) * ratio(&scale[1], &scale[2]), true), y);
    const struct byte_sum exact = sum_of(scale, n->input[0]->type);
    const struct uk_graph_sum *s = adapted(g, &exact);
    return s ? uk_format(&g->arena, "{y}(round(f32(i32($0)) * %s + (f32(i32($3)) * %s + (%s))))",
                         uk_number_text(s->to[0], true), uk_number_text(s->to[1], true),
                         uk_number_text(s->to[2], true))
             : NULL;
}

/* ---- QLinearSigmoid, QLinearLeakyRelu: x, scale, zero, y scale, zero ---- */

static const int of_unary[] = {1, 3};

enum uk_status uk_infer_qlinear_unary(struct uk_graph *g, struct uk_graph_node *n) {
    struct uk_quantization scale[2];
    enum uk_status s = uk_byte_scales(g, n, 2, of_unary, scale);

    return s ? s : uk_set_output(g, n, 0, n->input[0]->type, n->input[0]->rank, n->input[0]->extent);
}

const char *uk_express_qlinear_unary(struct uk_graph *g, const struct uk_graph_node *n) {
    struct uk_quantization scale[2];

    if (uk_byte_scales(g, n, 2, of_unary, scale))
        return NULL;
    char *x = uk_format(&g->arena, "f32(i32($0) - (%" PRId64 ")) * %s", uk_zero_at(&scale[0], 0),
                        uk_number_text(uk_scale_at(&scale[0], 0), true));
    if (!x)
        return NULL;
    char *f = !strcmp(n->type, "QLinearSigmoid")
                  ? uk_format(&g->arena, "1 / (1 + exp(-(%s)))", x)
                  : uk_format(&g->arena, "select(i32($0) < %" PRId64 ", {alpha} * (%s), %s)",
                              uk_zero_at(&scale[0], 0), x, x);
    return f ? uk_format(&g->arena, "{y}(round((%s) / %s) + (%" PRId64 "))", f,
                         uk_number_text(uk_scale_at(&scale[1], 0), true), uk_zero_at(&scale[1], 0))
             : NULL;
}

/* ---- QLinearConcat: y scale, zero, then x, scale, zero of each input ---- */

static enum uk_status parts(struct uk_graph *g, const struct uk_graph_node *n, struct uk_graph_node *concat,
                            struct uk_graph_value *input[64]) {
    if (n->inputs < 5 || (n->inputs - 2) % 3 || n->inputs > 70)
        return uk_graph_fail(g, UK_REFUSED, n,
                             "its %d inputs are not tensors with a scale and a zero point each", n->inputs);
    *concat = *n;
    concat->input = input;
    concat->inputs = (n->inputs - 2) / 3;
    for (int i = 0; i < concat->inputs; i++) {
        struct uk_quantization scale;
        enum uk_status s = uk_need_input(g, n, 3 * i + 2);
        if (!s)
            s = uk_scale_of(g, n, 3 * i + 3, 3 * i + 4, 1, n->input[3 * i + 2]->type, &scale);
        if (s)
            return s;
        input[i] = n->input[3 * i + 2];
    }
    return UK_OK;
}

enum uk_status uk_infer_qlinear_concat(struct uk_graph *g, struct uk_graph_node *n) {
    struct uk_graph_value *input[64];
    struct uk_graph_node concat;
    struct uk_quantization scale;
    enum uk_status s = parts(g, n, &concat, input);

    if (!s && !uk_is_byte(input[0]->type))
        s = uk_graph_fail(g, UK_REFUSED, n, "its input has type %s; u8 and i8 are supported",
                          uk_type_name(input[0]->type));
    if (!s)
        s = uk_scale_of(g, n, 0, 1, 1, input[0]->type, &scale);
    return s ? s : uk_infer_concat(g, &concat);
}

enum uk_status uk_write_qlinear_concat(struct uk_writer *w, const struct uk_graph_node *n, int output) {
    const struct uk_graph_value *y = n->output[0];
    struct uk_graph_value *input[64];
    struct uk_graph_node concat;
    struct uk_quantization to, of;
    int64_t from = 0;
    int axis;
    enum uk_status s = parts(w->g, n, &concat, input);

    (void)output;
    if (!s)
        s = uk_scale_of(w->g, n, 0, 1, 1, y->type, &to);
    if (!s)
        s = uk_need_axis(w->g, n, uk_attribute_int(n, "axis", 1), y->rank, &axis);
    for (int i = 0; !s && i < concat.inputs; i++) {
        char left[128], element[64], value[256];
        size_t used = 0;
        if ((s = uk_scale_of(w->g, n, 3 * i + 3, 3 * i + 4, 1, y->type, &of)))
            break;
        for (int d = 0; d < y->rank; d++)
            used += (size_t)snprintf(left + used, sizeof left - used,
                                     d == axis ? "%si%d + %" PRId64 : "%si%d", d ? ", " : "", d, from);
        snprintf(element, sizeof element, "$%c[%s]", '0' + 3 * i + 2, uk_iterators(y->rank));
        if (uk_scale_at(&of, 0) == uk_scale_at(&to, 0) && uk_zero_at(&of, 0) == uk_zero_at(&to, 0))
            snprintf(value, sizeof value, "%s", element);
        else
            snprintf(value, sizeof value, "%s(round(f32(i32(%s) - (%" PRId64 ")) * %s / %s) + (%" PRId64 "))",
                     uk_type_name(y->type), element, uk_zero_at(&of, 0),
                     uk_number_text(uk_scale_at(&of, 0), true), uk_number_text(uk_scale_at(&to, 0), true),
                     uk_zero_at(&to, 0));
        if (uk_value_elements(input[i]) && !uk_is_slice_of(input[i], y))
            uk_write(w, n, "part%d: $y[%s] = %s", i, left, value);
        from += input[i]->extent[axis];
    }
    if (!s && !uk_value_elements(y)) /* a program needs at least one statement */
        uk_write(w, n, "$y[%1$s] = $2[%1$s]", uk_iterators(y->rank));
    return s;
}

bool uk_has_same_scale(struct uk_graph *g, const struct uk_graph_node *n, int input) {
    const enum uk_type type = n->output[0]->type;
    struct uk_quantization of, to;

    return !uk_scale_of(g, n, input + 1, input + 2, 1, type, &of) && !uk_scale_of(g, n, 0, 1, 1, type, &to) &&
           uk_scale_at(&of, 0) == uk_scale_at(&to, 0) && uk_zero_at(&of, 0) == uk_zero_at(&to, 0);
}
