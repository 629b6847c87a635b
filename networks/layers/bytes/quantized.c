/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Quantized operators. A byte q represents the real number (q - zero point) * scale; scales and zero points
 * are constants. Sums of products are exact in i32. The result is ONNX Runtime's:
 * - the sum, converted to f32, times one factor;
 * - rounded to the nearest integer, ties to even;
 * - plus the zero point, saturated to the type.
 *
 * The input's zero point times the sum of the weights is part of the bias. A bias with a scale of its own is
 * an input more than ONNX Runtime's operators have, REAL_BIAS, which only rewriting adds: f32, in units of
 * the result's scale, added before the result is rounded.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "layers/bytes/quantized.h"

enum { REAL_BIAS = 9 };

/* ---- QuantizeLinear, DequantizeLinear: element by element ---- */

/* Refuses scales that are not one for each block of the input along the axis. */
static enum uk_status check_blocks(struct uk_graph *g, const struct uk_graph_node *n, int64_t block) {
    const struct uk_graph_value *x = n->input[0], *scale = n->input[1];
    int axis;
    enum uk_status s = uk_need_axis(g, n, uk_attribute_int(n, "axis", 1), x->rank, &axis);
    bool fits = scale->rank == x->rank && block > 0;

    for (int d = 0; !s && fits && d < x->rank; d++)
        fits = scale->extent[d] == (d == axis ? (x->extent[d] + block - 1) / block : x->extent[d]);
    return s || fits
               ? s
               : uk_graph_fail(g, UK_REFUSED, n,
                               "scales of shape %s do not fit blocks of %" PRId64 " in an input of shape %s",
                               uk_value_shape(scale), block, uk_value_shape(x));
}

static enum uk_status infer_linear(struct uk_graph *g, struct uk_graph_node *n, enum uk_type type) {
    const int64_t block = uk_attribute_int(n, "block_size", 0);
    enum uk_status s = uk_need_input(g, n, 0);
    int axis = 0;

    if (!s)
        s = uk_need_input(g, n, 1);
    if (s)
        return s;
    const struct uk_graph_value *x = n->input[0], *scale = n->input[1], *zero = uk_node_input(n, 2);
    if (block)
        s = check_blocks(g, n, block);
    else if (uk_value_elements(scale) != 1)
        s = uk_need_axis(g, n, uk_attribute_int(n, "axis", 1), x->rank, &axis);
    if (!s && ((!block && (scale->rank > 1 ||
                           (uk_value_elements(scale) != 1 && scale->extent[0] != x->extent[axis]))) ||
               (zero &&
                (zero->rank > (block ? x->rank : 1) || uk_value_elements(zero) != uk_value_elements(scale)))))
        s = uk_graph_fail(g, UK_REFUSED, n, "scales of shape %s do not fit an input of shape %s",
                          uk_value_shape(scale), uk_value_shape(x));
    return s ? s : uk_set_output(g, n, 0, type, x->rank, x->extent);
}

enum uk_status uk_infer_quantize(struct uk_graph *g, struct uk_graph_node *n) {
    const struct uk_graph_value *x = uk_node_input(n, 0), *zero = uk_node_input(n, 2);
    const int64_t to = uk_attribute_int(n, "output_dtype", 0);
    const bool is_known = !to || to == 2 || to == 3 || to == 5 || to == 21 || to == 22;
    const enum uk_type type = zero ? zero->type : to == 3 || to == 22 ? UK_I8 : to == 5 ? UK_I16 : UK_U8;

    if (x && (x->type != UK_F32 || (!uk_is_byte(type) && type != UK_I16) || !is_known))
        return uk_graph_fail(g, UK_REFUSED, n,
                             "quantizing %s to %s is not supported; f32 to u8, i8 or i16 is",
                             uk_type_name(x->type), zero ? uk_type_name(type) : "that type");
    if (n->output[0])
        n->output[0]->is_nibble = zero ? zero->is_nibble : to > 20;
    return infer_linear(g, n, type);
}

enum uk_status uk_infer_dequantize(struct uk_graph *g, struct uk_graph_node *n) {
    const struct uk_graph_value *x = uk_node_input(n, 0), *scale = uk_node_input(n, 1);

    if (x && scale &&
        ((!uk_is_byte(x->type) && x->type != UK_I32 && x->type != UK_I16) || scale->type != UK_F32))
        return uk_graph_fail(g, UK_REFUSED, n, "dequantizing %s with a scale of type %s is not supported",
                             uk_type_name(x->type), uk_type_name(scale->type));
    return infer_linear(g, n, UK_F32);
}

const char *uk_express_quantize(struct uk_graph *g, const struct uk_graph_node *n) {
    const char *e = uk_node_input(n, 2) ? "round($0 / $1) + f32({y}($2))" : "round($0 / $1)";

    if (!n->output[0]->is_nibble)
        return uk_format(&g->arena, "{y}(%s)", e);
    return uk_format(
        &g->arena, n->output[0]->type == UK_I8 ? "{y}(min(max(%s, -8), 7))" : "{y}(min(max(%s, 0), 15))", e);
}

const char *uk_express_dequantize(struct uk_graph *g, const struct uk_graph_node *n) {
    (void)g;
    return uk_node_input(n, 2) ? "f32(i32($0) - i32({x}($2))) * $1" : "f32(i32($0)) * $1";
}

/* ---- QLinearConv: x, scale, zero, w, scale, zero, y scale, zero, bias ---- */

/* Replaces weights with zero points by signed bytes without them, if the differences fit. The zero points are
 * input `input` + 2. *done: true if they fit. */
static enum uk_status move_zero(struct uk_graph *g, struct uk_graph_node *n, int input,
                                struct uk_quantization *ws, int64_t channels, int64_t inside, bool *done) {
    const struct uk_graph_value *w = n->input[input];
    const int64_t count = uk_value_elements(w);
    int8_t *data;

    *done = false;
    for (int64_t i = 0; i < count; i++) {
        const int64_t v = uk_constant_int(w, i) - uk_zero_at(ws, i / inside % channels);
        if (v < -128 || v > 127)
            return UK_OK;
    }
    struct uk_graph_value *moved = uk_value_new(g, w->name);
    if (!moved || !(data = uk_value_constant(g, moved, UK_I8, w->rank, w->extent)))
        return uk_graph_no_memory(g);
    for (int64_t i = 0; i < count; i++)
        data[i] = (int8_t)(uk_constant_int(w, i) - uk_zero_at(ws, i / inside % channels));
    moved->uses = 1;
    n->input[input] = moved;
    ws->zero = NULL;
    n->input[input + 2] = NULL;
    *done = true;
    return UK_OK;
}

/* Appends biases and factors, an element per channel, as the last two inputs. Weight i belongs to channel i /
 * inside % channels. */
static enum uk_status append_factors(struct uk_graph *g, struct uk_graph_node *n,
                                     const struct uk_graph_value *w, int64_t channels, int64_t inside,
                                     const struct uk_graph_value *bias, const struct uk_quantization *xs,
                                     const struct uk_quantization *ws, const struct uk_quantization *ys,
                                     double alpha) {
    const int64_t count = uk_value_elements(w), terms = channels ? count / channels : 0;
    void *sums, *factors;

    if (terms > UK_MAX_BYTE_PRODUCTS)
        return uk_graph_fail(g, UK_REFUSED, n, "sums of %" PRId64 " products of bytes may overflow 32 bits",
                             terms);
    if (uk_append_constant(g, n, UK_I32, channels, &sums) < 0 ||
        uk_append_constant(g, n, UK_F32, channels, &factors) < 0)
        return g->status;
    int64_t *sum = uk_alloc(&g->arena, ((size_t)channels + 1) * sizeof *sum);
    if (!sum)
        return uk_graph_no_memory(g);
    for (int64_t i = 0; i < count; i++)
        sum[i / inside % channels] += uk_constant_int(w, i) - uk_zero_at(ws, i / inside % channels);
    for (int64_t c = 0; c < channels; c++) {
        const int64_t b = bias ? uk_constant_int(bias, uk_value_elements(bias) > 1 ? c : 0) : 0;
        ((int32_t *)sums)[c] = (int32_t)(uint32_t)(b - uk_zero_at(xs, 0) * sum[c]);
        float f = (float)uk_scale_at(xs, 0) * (float)uk_scale_at(ws, c);
        if (alpha != 1)
            f *= (float)alpha;
        ((float *)factors)[c] = ys ? f / (float)uk_scale_at(ys, 0) : f;
    }
    return UK_OK;
}

static bool has_zero(const struct uk_quantization *s) {
    for (int64_t i = 0; s->zero && i < s->count; i++)
        if (uk_zero_at(s, i))
            return true;
    return false;
}

/* True if the weights still have zero points, because move_zero() could not remove them. */
static bool keeps_zero(const struct uk_graph_node *n) {
    const struct uk_graph_value *zero = n->input[5];
    bool any = false;

    for (int64_t i = 0; zero && i < uk_value_elements(zero); i++)
        any |= uk_constant_int(zero, i) != 0;
    return any;
}

/* Returns a copy of the node with the input and the filter first, as Conv has them, for Conv's rules about
 * windows. */
static struct uk_graph_node as_conv(const struct uk_graph_node *n, struct uk_graph_value *input[2]) {
    struct uk_graph_node conv = *n;

    input[0] = n->input[0];
    input[1] = n->input[3];
    conv.input = input;
    conv.inputs = 2;
    return conv;
}

/* Checks the bias that rewriting adds. */
static enum uk_status check_real_bias(struct uk_graph *g, const struct uk_graph_node *n, int rank,
                                      const int64_t extent[]) {
    const struct uk_graph_value *v = uk_node_input(n, REAL_BIAS);
    bool fits = n->inputs <= REAL_BIAS ||
                (n->inputs == REAL_BIAS + 1 && v && v->data && v->type == UK_F32 && v->rank <= rank);

    for (int d = 0; v && fits && d < v->rank; d++)
        fits = v->extent[d] == 1 || v->extent[d] == extent[rank - v->rank + d];
    return fits ? UK_OK
                : uk_graph_fail(g, UK_REFUSED, n, "the bias has shape %s, which does not fit the result",
                                v ? uk_value_shape(v) : "unknown");
}

enum uk_status uk_infer_qlinear_conv(struct uk_graph *g, struct uk_graph_node *n) {
    struct uk_graph_value *input[2];
    struct uk_quantization xs, ws, ys;
    enum uk_status s = uk_need_inputs(g, n, 8);
    bool moved;

    if (s)
        return s;
    struct uk_graph_node conv = as_conv(n, input);
    const struct uk_graph_value *w = n->input[3], *bias = uk_node_input(n, 8);
    if (!uk_is_byte(n->input[0]->type) || !uk_is_byte(w->type) ||
        (bias && (bias->type != UK_I32 || bias->rank != 1 || bias->extent[0] != w->extent[0])) ||
        !uk_is_byte(n->input[7]->type))
        return uk_graph_fail(
            g, UK_REFUSED, n,
            "it needs an input and weights of bytes, and a bias of int32 with one number per "
            "channel");
    if ((s = uk_need_constant(g, n, n->input[3])) || (bias && (s = uk_need_constant(g, n, n->input[8]))))
        return s;
    if ((s = uk_infer_conv(g, &conv)) || (s = check_real_bias(g, n, 1, w->extent)))
        return s;
    const int64_t channels = w->extent[0], inside = channels ? uk_value_elements(w) / channels : 1;
    if ((s = uk_scale_of(g, n, 1, 2, 1, n->input[0]->type, &xs)) ||
        (s = uk_scale_of(g, n, 4, 5, channels, w->type, &ws)) ||
        (s = uk_scale_of(g, n, 6, 7, 1, n->input[7]->type, &ys)))
        return s;
    if (has_zero(&ws) || w->type == UK_U8) {
        s = move_zero(g, n, 3, &ws, channels, inside, &moved);
        w = n->input[3];
    }
    if (!s)
        s = append_factors(g, n, w, channels, inside, bias, &xs, &ws, &ys, 1);
    n->output[0]->type = n->input[7]->type;
    return s;
}

/* Text " + $9[i1]" of an addend that broadcasts to the result's dimensions up to number `last`; "": none. */
static const char *addend_text(const struct uk_graph *g, const struct uk_graph_node *n, int input, int last,
                               char text[32]) {
    const struct uk_graph_value *v = uk_node_input(n, input);
    size_t used = v ? (size_t)snprintf(text, 32, " + $%c[", '0' + input) : 0;

    text[used] = 0;
    for (int d = 0; v && d < v->rank; d++)
        used += (size_t)snprintf(text + used, 32 - used, uk_is_one(g, v, d) ? "%s0" : "%si%d", d ? ", " : "",
                                 last - v->rank + 1 + d);
    if (v)
        snprintf(text + used, 32 - used, "]");
    return text;
}

static const char *real_bias(const struct uk_graph *g, const struct uk_graph_node *n, int last,
                             char text[32]) {
    return addend_text(g, n, n->inputs == REAL_BIAS + 3 ? REAL_BIAS : n->inputs, last, text);
}

enum uk_status uk_write_qlinear_conv(struct uk_writer *w, const struct uk_graph_node *n, int output) {
    const int factor = n->inputs - 1;
    char outside[32], behind[48] = "", text[32];

    (void)output;
    snprintf(outside, sizeof outside, "%" PRId64, uk_constant_int(n->input[2], 0));
    if (keeps_zero(n) && uk_value_elements(n->input[5]) > 1)
        snprintf(behind, sizeof behind, " - i32($5[i1])");
    else if (keeps_zero(n))
        snprintf(behind, sizeof behind, " - (%" PRId64 ")", uk_constant_int(n->input[5], 0));
    uk_write_temp_like(w, n, "t", UK_I32);
    enum uk_status s = UK_OK;
    if (!uk_write_gathered(w, n, "@t"))
        s = uk_write_conv_sum(
            w, n, 3,
            &(struct uk_conv_form){.to = "@t", .cast = "i32", .pad_value = outside, .filter_suffix = behind});
    if (!s)
        uk_write_result(w, n, "%s(round(f32(@t[%s] + $%c[i1]) * $%c[i1]%s) + %" PRId64 ")",
                        uk_type_name(n->output[0]->type), uk_iterators(n->output[0]->rank), '0' + factor - 1,
                        '0' + factor, real_bias(w->g, n, 1, text), uk_constant_int(n->input[7], 0));
    return s;
}

void uk_lay_out_qlinear_conv(struct uk_graph_node *n) {
    struct uk_graph_value *input[2];
    struct uk_graph_node conv = as_conv(n, input);

    uk_lay_out_conv(&conv);
}

/* ---- QGemm: a, scale, zero, b, scale, zero, bias, y scale, zero; f32 without the last two ---- */

/* True for a bias that is the same in all rows: it is added to the sums' constants. */
static bool is_row(const struct uk_graph_value *bias) {
    return bias && (bias->rank < 2 || bias->extent[0] == 1);
}

enum uk_status uk_infer_qgemm(struct uk_graph *g, struct uk_graph_node *n) {
    const bool ta = uk_attribute_int(n, "transA", 0), tb = uk_attribute_int(n, "transB", 0);
    struct uk_quantization as, bs, ys = {0};
    enum uk_status s = uk_extend_inputs(g, n, 9);
    bool moved;

    for (int i = 0; i < 5 && !s; i++)
        s = i == 2 && !uk_node_input(n, 2) ? UK_OK : uk_need_input(g, n, i);
    if (s)
        return s;
    const struct uk_graph_value *a = n->input[0], *b = n->input[3], *bias = uk_node_input(n, 6),
                                *y = uk_node_input(n, 8);
    if (!uk_is_byte(a->type) || !uk_is_byte(b->type) || a->rank != 2 || b->rank != 2 ||
        (bias && bias->type != UK_I32) || a->extent[!ta] != b->extent[tb] || (y && !uk_is_byte(y->type)))
        return uk_graph_fail(g, UK_REFUSED, n,
                             "it needs matrices of bytes whose shapes fit, and a bias of int32");
    if ((s = uk_need_constant(g, n, n->input[3])) || (bias && (s = uk_need_constant(g, n, n->input[6]))))
        return s;
    const int64_t channels = b->extent[!tb], inside = tb ? b->extent[1] : 1,
                  extent[] = {a->extent[ta], channels};
    for (int d = 0; bias && d < bias->rank; d++)
        if (bias->rank > 2 || (bias->extent[d] != 1 && bias->extent[d] != extent[2 - bias->rank + d]))
            return uk_graph_fail(g, UK_REFUSED, n, "the bias %s does not broadcast to the product",
                                 uk_value_shape(bias));
    if ((s = check_real_bias(g, n, 2, extent)))
        return s;
    if ((s = uk_scale_of(g, n, 1, 2, 1, a->type, &as)) ||
        (s = uk_scale_of(g, n, 4, 5, channels, b->type, &bs)) ||
        (uk_node_input(n, 7) && (s = uk_scale_of(g, n, 7, 8, 1, y ? y->type : UK_U8, &ys))))
        return s;
    if (has_zero(&bs) || b->type == UK_U8) {
        s = move_zero(g, n, 3, &bs, channels, inside, &moved);
        if (!s && !moved)
            s = uk_graph_fail(g, UK_REFUSED, n,
                              "weights minus their zero points do not fit into signed bytes");
        b = n->input[3];
    }
    if (!s)
        s = append_factors(g, n, b, channels, inside, is_row(bias) ? bias : NULL, &as, &bs,
                           ys.scale ? &ys : NULL, uk_attribute_float(n, "alpha", 1));
    return s ? s : uk_set_output(g, n, 0, ys.scale ? y ? y->type : UK_U8 : UK_F32, 2, extent);
}

enum uk_status uk_write_qgemm(struct uk_writer *w, const struct uk_graph_node *n, int output) {
    const int factor = n->inputs - 1;
    const struct uk_graph_value *y = n->output[0];
    char sum[128], whole[32] = "", real[32];

    (void)output;
    uk_write_temp_like(w, n, "t", UK_I32);
    uk_write(w, n, "@t[i0, i1] = sum(k) i32(%s) * i32(%s)",
             uk_attribute_int(n, "transA", 0) ? "$0[k, i0]" : "$0[i0, k]",
             uk_attribute_int(n, "transB", 0) ? "$3[i1, k]" : "$3[k, i1]");
    if (!is_row(uk_node_input(n, 6)))
        addend_text(w->g, n, 6, 1, whole);
    snprintf(sum, sizeof sum, "f32(@t[i0, i1] + $%c[i1]%s) * $%c[i1]%s", '0' + factor - 1, whole,
             '0' + factor, real_bias(w->g, n, 1, real));
    if (y->type == UK_F32)
        uk_write_result(w, n, "%s", sum);
    else
        uk_write_result(w, n, "%s(round(%s) + %" PRId64 ")", uk_type_name(y->type), sum,
                        uk_node_input(n, 8) ? uk_constant_int(n->input[8], 0) : (int64_t)0);
    return UK_OK;
}

void uk_lay_out_qgemm(struct uk_graph_node *n) {
    struct uk_graph_value *b = n->input[3];

    if (!b->data || b->is_laid_out || !uk_attribute_int(n, "transB", 0))
        return;
    b->order[0] = 1;
    b->order[1] = 0;
    b->is_laid_out = true;
}

/* ---- QLinearMatMul: a, scale, zero, b, scale, zero, y scale, zero; neither side need be constant ---- */

/* Inputs after the factors are appended; a constant b adds one before them, the constants of its columns. */
enum { MATMUL_INPUTS = 9 };

enum uk_status uk_infer_qlinear_matmul(struct uk_graph *g, struct uk_graph_node *n) {
    struct uk_quantization as, bs, ys;
    enum uk_status s = uk_need_inputs(g, n, 8);

    if (s)
        return s;
    const struct uk_graph_value *b = n->input[3];
    if (!uk_is_byte(n->input[0]->type) || !uk_is_byte(b->type) || !uk_is_byte(n->input[7]->type))
        return uk_graph_fail(g, UK_REFUSED, n, "it needs matrices of bytes");
    struct uk_graph_value *input[2] = {n->input[0], n->input[3]}, typed = *input[1];
    struct uk_graph_node product = *n;
    typed.type = input[0]->type;
    input[1] = &typed;
    product.input = input;
    product.inputs = 2;
    if ((s = uk_infer_matmul(g, &product)))
        return s;
    n->output[0]->type = n->input[7]->type;
    const int64_t columns = b->rank > 1 ? b->extent[b->rank - 1] : 1,
                  terms = n->input[0]->extent[n->input[0]->rank - 1];
    if (terms > UK_MAX_BYTE_PRODUCTS)
        return uk_graph_fail(g, UK_REFUSED, n, "sums of %" PRId64 " products of bytes may overflow 32 bits",
                             terms);
    if ((s = uk_scale_of(g, n, 1, 2, 1, n->input[0]->type, &as)) ||
        (s = uk_scale_of(g, n, 4, 5, columns, b->type, &bs)) ||
        (s = uk_scale_of(g, n, 6, 7, 1, n->input[7]->type, &ys)))
        return s;
    if (b->data && b->rank <= 2) {
        bool moved;

        if (has_zero(&bs) || b->type == UK_U8)
            s = move_zero(g, n, 3, &bs, columns, 1, &moved);
        return s ? s : append_factors(g, n, n->input[3], columns, 1, NULL, &as, &bs, &ys, 1);
    }
    void *factors;
    if (uk_append_constant(g, n, UK_F32, columns, &factors) < 0)
        return g->status;
    for (int64_t c = 0; c < columns; c++)
        ((float *)factors)[c] =
            (float)uk_scale_at(&as, 0) * (float)uk_scale_at(&bs, c) / (float)uk_scale_at(&ys, 0);
    return UK_OK;
}

enum uk_status uk_write_qlinear_matmul(struct uk_writer *w, const struct uk_graph_node *n, int output) {
    const struct uk_graph_value *b = n->input[3], *zero = n->input[5], *y = n->output[0];
    const bool has_sums = n->inputs > MATMUL_INPUTS;
    char minus_a[32] = "", minus_b[64] = "", column[16] = "0", plus[32] = "";

    (void)output;
    if (!has_sums && uk_constant_int(n->input[2], 0))
        snprintf(minus_a, sizeof minus_a, " - (%" PRId64 ")", uk_constant_int(n->input[2], 0));
    if (zero && uk_value_elements(zero) != 1)
        snprintf(minus_b, sizeof minus_b, " - i32($5[i%d])", y->rank - 1);
    else if (zero && uk_constant_int(zero, 0))
        snprintf(minus_b, sizeof minus_b, " - (%" PRId64 ")", uk_constant_int(zero, 0));
    uk_write_temp_like(w, n, "t", UK_I32);
    uk_write_matmul_sum(w, n, 3, "@t", "i32", minus_a, minus_b);
    if (b->rank > 1)
        snprintf(column, sizeof column, "i%d", y->rank - 1);
    if (has_sums)
        snprintf(plus, sizeof plus, " + $%c[%s]", '0' + n->inputs - 2, column);
    uk_write_result(w, n, "%s(round(f32(@t[%s]%s) * $%c[%s]) + %" PRId64 ")", uk_type_name(y->type),
                    uk_iterators(y->rank), plus, '0' + n->inputs - 1, column,
                    uk_constant_int(n->input[7], 0));
    return UK_OK;
}
