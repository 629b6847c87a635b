/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products of bytes whose zero points may be computed at run time. With sums over k,
 *
 *     sum (a - za) * (b - zb) = (sum a * b - za * sum b) - zb * (sum a - K * za),
 *
 * so that kernels multiply the bytes as they are. No term in parentheses exceeds K * 255 * 255.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "layers/bytes/quantized.h"

/* True if there are no zero points, or all are 0 and known. */
static bool is_zero(const struct uk_graph_value *v) {
    for (int64_t i = 0; v && v->data && i < uk_value_elements(v); i++)
        if (uk_constant_int(v, i))
            return false;
    return !v || v->data;
}

/* ---- MatMulInteger: a, b, zero of a, zero of b; inference appends sums of a constant b's columns ---- */

enum { COLUMN_SUMS = 4 };

/* Writes the element of a zero point that belongs to the result's element: of one for all; or per row of a
 * (dimension `kept` from the end of its operand), or per column of b. False: another shape. */
static bool zero_text(const struct uk_graph_node *n, int input, char *text, size_t room) {
    const struct uk_graph_value *z = n->input[input], *of = n->input[input - 2], *y = n->output[0];
    const bool rows = input == 2;
    const int kept = rows ? of->rank - 2 : of->rank - 1;
    const int at = rows && n->input[1]->rank > 1 ? y->rank - 2 : y->rank - 1;
    size_t used = (size_t)snprintf(text, room, "i32($%d[", input);

    if (uk_value_elements(z) == 1) {
        for (int d = 0; d < z->rank; d++)
            used += (size_t)snprintf(text + used, room - used, "%s0", d ? ", " : "");
    } else if (of->rank > 1 && z->rank == 1 && z->extent[0] == of->extent[kept]) {
        used += (size_t)snprintf(text + used, room - used, "i%d", at);
    } else {
        if (of->rank < 2 || z->rank != of->rank)
            return false;
        for (int d = 0; d < z->rank; d++) {
            const bool is_one = z->extent[d] == 1, is_sum = d == (rows ? of->rank - 1 : of->rank - 2);
            if ((is_sum && !is_one) || (!is_one && z->extent[d] != of->extent[d]))
                return false;
            const int i = d == kept ? at : y->rank - of->rank + d;
            used += (size_t)snprintf(text + used, room - used, is_one ? "%s0" : "%si%d", d ? ", " : "", i);
        }
    }
    snprintf(text + used, room - used, "])");
    return true;
}

/* Appends the sums of b's columns, in its shape without the rows. */
static enum uk_status append_sums(struct uk_graph *g, struct uk_graph_node *n) {
    const struct uk_graph_value *b = n->input[1];
    const int row = b->rank > 1 ? b->rank - 2 : 0;
    const int64_t columns = b->rank > 1 ? b->extent[b->rank - 1] : 1, rows = b->extent[row];
    int64_t extent[UK_RANK];
    int rank = 0;

    for (int d = 0; d < b->rank; d++)
        if (d != row)
            extent[rank++] = b->extent[d];
    struct uk_graph_value *sums = uk_value_new(g, n->name);
    int32_t *data = sums ? uk_value_constant(g, sums, UK_I32, rank, extent) : NULL;
    if (!data || uk_extend_inputs(g, n, COLUMN_SUMS + 1))
        return uk_graph_no_memory(g);
    memset(data, 0, (size_t)uk_value_elements(sums) * sizeof *data);
    for (int64_t i = 0; i < uk_value_elements(b); i++)
        data[i / (rows * columns) * columns + i % columns] += (int32_t)uk_constant_int(b, i);
    sums->uses = 1;
    n->input[COLUMN_SUMS] = sums;
    return UK_OK;
}

enum uk_status uk_infer_matmul_integer(struct uk_graph *g, struct uk_graph_node *n) {
    char text[80];
    enum uk_status s = uk_need_input(g, n, 0);

    for (int i = 1; i < 4 && !s; i++)
        s = i == 1 || uk_node_input(n, i) ? uk_need_input(g, n, i) : UK_OK;
    if (s)
        return s;
    struct uk_graph_value *a = n->input[0], *input[2] = {a, n->input[1]}, typed = *input[1];
    struct uk_graph_node product = *n;
    if (!uk_is_byte(a->type) || !uk_is_byte(typed.type))
        return uk_graph_fail(g, UK_REFUSED, n, "it needs matrices of bytes");
    typed.type = a->type;
    input[1] = &typed;
    product.input = input;
    product.inputs = 2;
    if ((s = uk_infer_matmul(g, &product)))
        return s;
    n->output[0]->type = UK_I32;
    if (a->extent[a->rank - 1] > UK_MAX_BYTE_PRODUCTS)
        return uk_graph_fail(g, UK_REFUSED, n, "sums of %" PRId64 " products of bytes may overflow 32 bits",
                             a->extent[a->rank - 1]);
    for (int i = 2; i < 4; i++)
        if (uk_node_input(n, i) &&
            (n->input[i]->type != n->input[i - 2]->type || !zero_text(n, i, text, sizeof text)))
            return uk_graph_fail(g, UK_REFUSED, n, "zero points of shape %s and type %s do not fit %s",
                                 uk_value_shape(n->input[i]), uk_type_name(n->input[i]->type),
                                 uk_value_shape(n->input[i - 2]));
    return n->input[1]->data && !is_zero(uk_node_input(n, 2)) ? append_sums(g, n) : UK_OK;
}

/* Writes temp @name: sums over the last dimension of input 0, or over the rows of input 1. */
static void write_sums(struct uk_writer *w, const struct uk_graph_node *n, const char *name, int input) {
    const struct uk_graph_value *v = n->input[input];
    const int over = input && v->rank > 1 ? v->rank - 2 : v->rank - 1;
    char left[64] = "", right[80] = "";
    int64_t extent[UK_RANK];
    size_t used = 0, given = 0;
    int rank = 0;

    for (int d = 0; d < v->rank; d++) {
        given += d == over ? (size_t)snprintf(right + given, sizeof right - given, "%sk", d ? ", " : "")
                           : (size_t)snprintf(right + given, sizeof right - given, "%sp%d", d ? ", " : "", d);
        if (d == over)
            continue;
        used += (size_t)snprintf(left + used, sizeof left - used, "%sp%d", rank ? ", " : "", d);
        extent[rank++] = v->extent[d];
    }
    uk_write_temp(w, n, name, UK_I32, rank, extent, NULL);
    uk_write(w, n, "@%s[%s] = sum(k) i32($%d[%s])", name, left, input, right);
}

/* Writes the subscripts of sums of an operand: those of its batches, and of its rows or columns. */
static void sum_subscripts(const struct uk_graph *g, const struct uk_graph_node *n, int input, char *text,
                           size_t room) {
    const struct uk_graph_value *v = n->input[input], *y = n->output[0];
    const int batch = y->rank - (n->input[0]->rank > 1) - (n->input[1]->rank > 1);

    uk_batch_subscripts(g, text, room, v, batch, y);
    size_t used = strlen(text);
    if (v->rank > 1)
        snprintf(text + used, room - used, "i%d", input ? y->rank - 1 : batch);
    else if (used)
        text[used - 2] = 0;
}

enum uk_status uk_write_matmul_integer(struct uk_writer *w, const struct uk_graph_node *n, int output) {
    const struct uk_graph_value *a = n->input[0];
    const bool has_a = !is_zero(uk_node_input(n, 2)), has_b = !is_zero(uk_node_input(n, 3));
    char za[80] = "", zb[80] = "", columns[64], rows[64], less_a[240] = "", less_b[320] = "", bias[120] = "";

    (void)output;
    sum_subscripts(w->g, n, 1, columns, sizeof columns);
    sum_subscripts(w->g, n, 0, rows, sizeof rows);
    if (has_a)
        zero_text(n, 2, za, sizeof za);
    if (has_b)
        zero_text(n, 3, zb, sizeof zb);
    uk_write_temp_like(w, n, "t", UK_I32);
    uk_write_matmul_sum(w, n, 1, "@t", "i32", "", "");
    if (has_a) {
        const bool known = uk_node_input(n, COLUMN_SUMS);
        if (!known)
            write_sums(w, n, "c", 1);
        snprintf(less_a, sizeof less_a, " - %s * %s[%s]", za, known ? "$4" : "@c", columns);
        snprintf(bias, sizeof bias, " - %" PRId64 " * %s", a->extent[a->rank - 1], za);
    }
    if (has_b) {
        write_sums(w, n, "r", 0);
        snprintf(less_b, sizeof less_b, " - %s * (@r[%s]%s)", zb, rows, bias);
    }
    uk_write_result(w, n, "(@t[%s]%s)%s", uk_iterators(n->output[0]->rank), less_a, less_b);
    return UK_OK;
}

/* ---- ConvInteger: x, filter, zero of x, zero of the filter; inference appends sums of the filters ---- */

enum { FILTER_SUMS = 4 };

/* Appends the sums of each filter less its zero points, if those are constant. */
static enum uk_status append_filter_sums(struct uk_graph *g, struct uk_graph_node *n) {
    const struct uk_graph_value *f = n->input[1], *z = n->input[3];
    const int64_t channels = f->extent[0], terms = channels ? uk_value_elements(f) / channels : 0;
    void *sums;

    if (!f->data || (z && !z->data))
        return UK_OK;
    if (uk_append_constant(g, n, UK_I32, channels, &sums) < 0)
        return g->status;
    for (int64_t c = 0; c < channels; c++) {
        const int64_t zero = z ? uk_constant_int(z, uk_value_elements(z) > 1 ? c : 0) : 0;
        int64_t sum = 0;
        for (int64_t i = 0; i < terms; i++)
            sum += uk_constant_int(f, c * terms + i) - zero;
        ((int32_t *)sums)[c] = (int32_t)sum;
    }
    return UK_OK;
}

enum uk_status uk_infer_conv_integer(struct uk_graph *g, struct uk_graph_node *n) {
    enum uk_status s = uk_extend_inputs(g, n, FILTER_SUMS);

    for (int i = 0; i < 4 && !s; i++)
        s = i < 2 || n->input[i] ? uk_need_input(g, n, i) : UK_OK;
    if (s)
        return s;
    const struct uk_graph_value *x = n->input[0], *f = n->input[1];
    struct uk_graph_node conv = *n;
    conv.inputs = 2;
    if (!uk_is_byte(x->type) || !uk_is_byte(f->type))
        return uk_graph_fail(g, UK_REFUSED, n, "it needs an input and a filter of bytes");
    if ((s = uk_infer_conv(g, &conv)))
        return s;
    n->output[0]->type = UK_I32;
    const int64_t channels = f->extent[0], terms = channels ? uk_value_elements(f) / channels : 0;
    for (int i = 2; i < 4; i++)
        if (n->input[i] &&
            (n->input[i]->type != n->input[i - 2]->type || n->input[i]->rank > 1 ||
             (uk_value_elements(n->input[i]) != 1 && (i == 2 || uk_value_elements(n->input[i]) != channels))))
            return uk_graph_fail(g, UK_REFUSED, n, "zero points of shape %s and type %s do not fit %s",
                                 uk_value_shape(n->input[i]), uk_type_name(n->input[i]->type),
                                 uk_value_shape(n->input[i - 2]));
    if (terms > UK_MAX_BYTE_PRODUCTS)
        return uk_graph_fail(g, UK_REFUSED, n, "sums of %" PRId64 " products of bytes may overflow 32 bits",
                             terms);
    return n->input[2] ? append_filter_sums(g, n) : UK_OK;
}

/* The zero point's element, of channel `channel` if there are several; in text that lives until the next
 * call. */
static const char *zero_of(const struct uk_graph_node *n, int input, const char *channel) {
    static _Thread_local char text[32];
    const struct uk_graph_value *z = n->input[input];

    snprintf(text, sizeof text, "$%d[%s]", input, !z->rank ? "" : uk_value_elements(z) > 1 ? channel : "0");
    return text;
}

enum uk_status uk_write_conv_integer(struct uk_writer *w, const struct uk_graph_node *n, int output) {
    const struct uk_graph_value *f = n->input[1], *zx = n->input[2];
    const char *all = uk_iterators(n->output[0]->rank), *sums = "$4";
    char zero[32] = "0", suffix[48] = "", over[64] = "";
    size_t used = 0;

    (void)output;
    if (zx)
        snprintf(zero, sizeof zero, "%s", zero_of(n, 2, ""));
    if (!is_zero(n->input[3]))
        snprintf(suffix, sizeof suffix, " - i32(%s)", zero_of(n, 3, "i1"));
    uk_write_temp_like(w, n, "t", UK_I32);
    enum uk_status s = uk_write_conv_sum(
        w, n, 1,
        &(struct uk_conv_form){.to = "@t", .cast = "i32", .pad_value = zero, .filter_suffix = suffix});
    if (zx && n->inputs == FILTER_SUMS) {
        for (int d = 1; d < f->rank; d++)
            used += (size_t)snprintf(over + used, sizeof over - used, "%sk%d", d > 1 ? ", " : "", d);
        uk_write_temp(w, n, "c", UK_I32, 1, f->extent, NULL);
        uk_write(w, n, "@c[i1] = sum(%s) (i32($1[i1, %s])%s)", over, over, suffix);
        sums = "@c";
    }
    if (zx)
        uk_write_result(w, n, "@t[%s] - i32(%s) * %s[i1]", all, zero, sums);
    else
        uk_write_result(w, n, "@t[%s]", all);
    return s;
}

/* ---- products with computed scales ---- */

/* Rescale: sums, two scales, bias. */
const char *uk_express_rescale(struct uk_graph *g, const struct uk_graph_node *n) {
    (void)g;
    return uk_node_input(n, 3) ? "f32($0) * ($1 * $2) + $3" : "f32($0) * ($1 * $2)";
}

/* Requantize: sums, two scales, the result's scale and zero point. */
enum uk_status uk_infer_rescale(struct uk_graph *g, struct uk_graph_node *n) {
    enum uk_status s = uk_infer_broadcast(g, n);

    for (int i = 1; i < (n->inputs < 4 ? n->inputs : 4) && !s; i++)
        if (n->input[i] && n->input[i]->type != UK_F32)
            s = uk_graph_fail(g, UK_REFUSED, n, "a scale of type %s is not supported",
                              uk_type_name(n->input[i]->type));
    if (!s)
        n->output[0]->type = n->inputs > 4 ? n->input[4]->type : UK_F32;
    return s;
}

const char *uk_express_requantize(struct uk_graph *g, const struct uk_graph_node *n) {
    (void)g;
    (void)n;
    return "{y}(round(f32($0) * ($1 * $2 / $3)) + f32($4))";
}

static struct uk_graph_value *integers(struct uk_expansion *e, int a, int b, int zero_a, int zero_b) {
    return uk_expand_to(e, NULL, "MatMulInteger", 4, e->n->input[a], e->n->input[b],
                        uk_node_input(e->n, zero_a), uk_node_input(e->n, zero_b));
}

/* QLinearMatMul, if a scale or a zero point is computed; otherwise the node stays. */
enum uk_status uk_expand_qlinear_matmul(struct uk_graph *g, struct uk_graph_node *n,
                                        struct uk_graph_node **first) {
    struct uk_expansion e = uk_expansion_begin(g, n, first);
    bool known = true;
    enum uk_status s = UK_OK;

    for (int i = 0; i < 8 && !s; i++) {
        s = uk_need_input(g, n, i);
        known &= !s && (i == 0 || i == 3 || n->input[i]->data);
    }
    if (s || known)
        return s;
    if (!uk_is_byte(n->input[7]->type))
        return uk_graph_fail(g, UK_REFUSED, n, "it needs matrices of bytes");
    struct uk_graph_value *y = integers(&e, 0, 3, 2, 5);
    uk_expand_to(&e, n->output[0], "Requantize", 5, y, n->input[1], n->input[4], n->input[6], n->input[7]);
    uk_expand_domain(&e, UK_INTERNAL_DOMAIN);
    return uk_expansion_end(&e);
}

/* MatMulIntegerToFloat: a, b, scale of a, scale of b, zero of a, zero of b, bias. */
enum uk_status uk_expand_matmul_integer_to_float(struct uk_graph *g, struct uk_graph_node *n,
                                                 struct uk_graph_node **first) {
    struct uk_expansion e = uk_expansion_begin(g, n, first);
    enum uk_status s = uk_need_inputs(g, n, 4);

    if (s)
        return s;
    struct uk_graph_value *y = integers(&e, 0, 1, 4, 5);
    uk_expand_to(&e, n->output[0], "Rescale", 4, y, n->input[2], n->input[3], uk_node_input(n, 6));
    uk_expand_domain(&e, UK_INTERNAL_DOMAIN);
    return uk_expansion_end(&e);
}

/* ---- DynamicQuantizeLinear: x; bytes, scale, zero point ---- */

/* DynamicScale: maximum, minimum. A tensor of zeros has scale 1, as in ONNX Runtime. */
const char *uk_express_dynamic_scale(struct uk_graph *g, const struct uk_graph_node *n) {
    (void)g;
    (void)n;
    return "select(max($0, 0) == min($1, 0), 1, (max($0, 0) - min($1, 0)) / 255)";
}

/* DynamicZero: minimum, scale. */
enum uk_status uk_infer_dynamic_zero(struct uk_graph *g, struct uk_graph_node *n) {
    enum uk_status s = uk_infer_broadcast(g, n);

    if (!s)
        n->output[0]->type = UK_U8;
    return s;
}

const char *uk_express_dynamic_zero(struct uk_graph *g, const struct uk_graph_node *n) {
    (void)g;
    (void)n;
    return "u8(round(0 - min($0, 0) / $1))";
}

/* Adds the nodes that quantize x; the values are new ones unless they are given. */
static void quantize(struct uk_expansion *e, struct uk_graph_value *x, struct uk_graph_value *to[3]) {
    struct uk_graph_value *low = uk_expand_to(e, NULL, "ReduceMin", 1, x), *high;

    uk_expand_int(e, "keepdims", 0);
    high = uk_expand_to(e, NULL, "ReduceMax", 1, x);
    uk_expand_int(e, "keepdims", 0);
    to[1] = uk_expand_to(e, to[1], "DynamicScale", 2, high, low);
    uk_expand_domain(e, UK_INTERNAL_DOMAIN);
    to[2] = uk_expand_to(e, to[2], "DynamicZero", 2, low, to[1]);
    uk_expand_domain(e, UK_INTERNAL_DOMAIN);
    to[0] = uk_expand_to(e, to[0], "QuantizeLinear", 3, x, to[1], to[2]);
}

static enum uk_status need_float(struct uk_graph *g, const struct uk_graph_node *n) {
    enum uk_status s = uk_need_input(g, n, 0);

    return s || n->input[0]->type == UK_F32
               ? s
               : uk_graph_fail(g, UK_REFUSED, n, "quantizing %s is not supported",
                               uk_type_name(n->input[0]->type));
}

enum uk_status uk_expand_dynamic_quantize(struct uk_graph *g, struct uk_graph_node *n,
                                          struct uk_graph_node **first) {
    struct uk_expansion e = uk_expansion_begin(g, n, first);
    struct uk_graph_value *to[3] = {NULL};
    const enum uk_status s = need_float(g, n);

    if (s)
        return s;
    for (int i = 0; i < n->outputs && i < 3; i++)
        to[i] = n->output[i];
    quantize(&e, n->input[0], to);
    return uk_expansion_end(&e);
}

struct uk_graph_value *uk_expand_dynamic_product(struct uk_expansion *e, struct uk_graph_value *to,
                                                 struct uk_graph_value *x, struct uk_graph_value *b,
                                                 struct uk_graph_value *scale, struct uk_graph_value *zero,
                                                 struct uk_graph_value *bias) {
    struct uk_graph_value *bytes[3] = {NULL};

    quantize(e, x, bytes);
    x = uk_expand_to(e, NULL, "MatMulInteger", 4, bytes[0], b, bytes[2], zero);
    to = uk_expand_to(e, to, "Rescale", 4, x, bytes[1], scale, bias);
    uk_expand_domain(e, UK_INTERNAL_DOMAIN);
    return to;
}

/* DynamicQuantizeMatMul: x, b, scale of b, zero of b, bias. */
enum uk_status uk_expand_dynamic_matmul(struct uk_graph *g, struct uk_graph_node *n,
                                        struct uk_graph_node **first) {
    struct uk_expansion e = uk_expansion_begin(g, n, first);
    enum uk_status s = need_float(g, n);

    for (int i = 1; i < 3 && !s; i++)
        s = uk_need_input(g, n, i);
    if (s)
        return s;
    uk_expand_dynamic_product(&e, n->output[0], n->input[0], n->input[1], n->input[2], uk_node_input(n, 3),
                              uk_node_input(n, 4));
    return uk_expansion_end(&e);
}
