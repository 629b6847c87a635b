/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replaces DequantizeLinear, an operator and QuantizeLinear by ONNX Runtime's operator on bytes, which
 * computes the same. Conditions:
 * - all data that the operator reads is dequantized;
 * - its result is quantized, and nothing else reads it;
 * - scales and zero points are constants, scales are above 0, and only weights have one per channel;
 * - an operator that moves elements or takes a maximum has one scale and zero point on both sides.
 *
 * An operator of the last kind then works on the bytes as it is. Groups that do not meet the conditions, or
 * that the operator on bytes would refuse, are computed in floats as they are written.
 */
#include <string.h>
#include "rewrite/rewrite.h"

enum { MOST_INPUTS = 70 };

/* Inputs of the new operator, one letter each:
 * - 0, 1, ...: data of the old operator's input i, as tensor, scale and zero point
 * - Y: scale and zero point of the result
 * - B: bias as i32
 * - R: bias as f32, after ONNX Runtime's inputs
 * - *: data of all inputs */
static const struct rule {
    const char *from, *to, *domain, *inputs;
} rules[] = {
    {"Conv", "QLinearConv", "", "01YBR"},
    {"MatMul", "QLinearMatMul", "", "01Y"},
    {"Gemm", "QGemm", "com.microsoft", "01BYR"},
    {"Add", "QLinearAdd", "com.microsoft", "01Y"},
    {"Mul", "QLinearMul", "com.microsoft", "01Y"},
    {"AveragePool", "QLinearAveragePool", "com.microsoft", "0Y"},
    {"GlobalAveragePool", "QLinearGlobalAveragePool", "com.microsoft", "0Y"},
    {"Sigmoid", "QLinearSigmoid", "com.microsoft", "0Y"},
    {"LeakyRelu", "QLinearLeakyRelu", "com.microsoft", "0Y"},
    {"Softmax", "QLinearSoftmax", "com.microsoft", "0Y"},
    {"Concat", "QLinearConcat", "com.microsoft", "Y*"},
};

enum { RULES = sizeof rules / sizeof rules[0] };

static const char *const moves[] = {"MaxPool",      "Reshape",      "Flatten",  "Transpose",
                                    "Squeeze",      "Unsqueeze",    "Identity", "Slice",
                                    "DepthToSpace", "SpaceToDepth", "Expand",   "GlobalMaxPool"};

/* ---- neighbours of an operator ---- */

static struct uk_graph_node *dequantizer(const struct uk_graph_value *v) {
    struct uk_graph_node *n = v ? v->producer : NULL;

    return n && !*n->domain && !strcmp(n->type, "DequantizeLinear") && n->inputs >= 2 && n->input[0] &&
                   n->input[1]
               ? n
               : NULL;
}

/* Returns the only reader of the value if that is a QuantizeLinear, else NULL. */
static struct uk_graph_node *quantizer(struct uk_graph *g, const struct uk_graph_value *v) {
    if (v->uses != 1 || v->is_output)
        return NULL;
    for (struct uk_graph_node *n = v->producer; n; n = n->next)
        for (int i = 0; i < n->inputs; i++)
            if (n->input[i] == v)
                return i == 0 && !*n->domain && !strcmp(n->type, "QuantizeLinear") && n->inputs >= 2 &&
                               n->input[1]
                           ? n
                           : NULL;
    (void)g;
    return NULL;
}

/* ---- conditions ---- */

static bool is_byte_of(const struct uk_graph_node *n) {
    const struct uk_graph_value *zero = uk_constant_input(n, 2);

    return zero && (zero->type == UK_U8 || zero->type == UK_I8);
}

/* True if the scales along the operator's output channels are those of its weights. Scales of a tensor of
 * unknown rank are refused. */
static bool is_by_output(const struct uk_graph_node *n, const struct uk_graph_node *dq) {
    const struct uk_graph_value *w = uk_constant_input(dq, 0);
    const int64_t axis = uk_attribute_int(dq, "axis", 1);
    const bool is_conv = !strcmp(n->type, "Conv");

    if (!w || w->rank < 2)
        return false;
    const int channels = is_conv                                                        ? 0
                         : !strcmp(n->type, "Gemm") && uk_attribute_int(n, "transB", 0) ? 0
                                                                                        : w->rank - 1;
    return (axis < 0 ? axis + w->rank : axis) == channels;
}

/* True if the operator on bytes accepts the quantization of input i. */
static bool is_accepted(const struct uk_graph_node *n, int i) {
    const struct uk_graph_node *dq = dequantizer(uk_node_input(n, i));
    const bool is_conv = !strcmp(n->type, "Conv"), is_gemm = !strcmp(n->type, "Gemm"),
               has_weights = is_conv || is_gemm || !strcmp(n->type, "MatMul");

    if (!dq || !is_byte_of(dq) || !uk_has_regular_scales(dq))
        return false;
    if (i == 1 && (is_conv || is_gemm) && !uk_constant_input(dq, 0))
        return false;
    return uk_count_scales(dq) == 1 || (i == 1 && has_weights && is_by_output(n, dq));
}

static bool is_one_scale(const struct uk_graph_node *n) {
    return uk_has_regular_scales(n) && uk_count_scales(n) == 1;
}

/* True if all zero points have the type of the result's, as operators of com.microsoft require. */
static bool is_one_type(const struct uk_graph_node *n, const struct uk_graph_node *q) {
    for (int i = 0; i < n->inputs; i++) {
        const struct uk_graph_node *dq = dequantizer(n->input[i]);
        if (dq && uk_constant_input(dq, 2)->type != q->input[2]->type)
            return false;
    }
    return true;
}

static bool has_rule_for_types(const struct rule *r, const struct uk_graph_node *n,
                               const struct uk_graph_node *q) {
    return !*r->domain || !strcmp(r->to, "QGemm") || is_one_type(n, q);
}

/* ---- new inputs ---- */

struct building {
    struct uk_graph *g;
    struct uk_graph_value *input[MOST_INPUTS];
    int count;
    struct uk_bias bias;
    bool refused; /* the group does not meet the conditions */
};

static void push(struct building *b, struct uk_graph_value *v) {
    if (b->count == MOST_INPUTS)
        b->refused = true;
    else
        b->input[b->count++] = v;
}

static void push_dequantized(struct building *b, const struct uk_graph_node *n, int i) {
    if (!is_accepted(n, i)) {
        b->refused = true;
        return;
    }
    for (int k = 0; k < 3; k++)
        push(b, dequantizer(n->input[i])->input[k]);
}

/* Converts the bias, if there is one, after the factors were accepted. */
static enum uk_status convert_bias(struct building *b, const struct uk_graph_node *n,
                                   const struct uk_graph_node *q) {
    const struct uk_graph_value *bias = uk_node_input(n, 2);
    const struct uk_graph_node *dq = dequantizer(bias);
    enum uk_status s = UK_OK;

    if (dq)
        s = uk_requantize_bias(b->g, dq, dequantizer(n->input[0]), dequantizer(n->input[1]),
                               uk_constant_real(q->input[1], 0), &b->bias);
    b->refused |= bias && !b->bias.whole && !b->bias.real;
    return s;
}

static enum uk_status build(struct building *b, const struct rule *r, const struct uk_graph_node *n,
                            const struct uk_graph_node *q) {
    enum uk_status s = UK_OK;

    for (const char *c = r->inputs; *c && !b->refused && !s; c++) {
        if (*c == 'Y') {
            push(b, q->input[1]);
            push(b, uk_node_input(q, 2));
        } else if (*c == 'B') {
            s = convert_bias(b, n, q);
            push(b, b->bias.whole);
        } else if (*c == 'R') {
            if (b->bias.real)
                push(b, b->bias.real);
        } else if (*c == '*') {
            for (int i = 0; i < n->inputs; i++)
                push_dequantized(b, n, i);
        } else {
            push_dequantized(b, n, *c - '0');
        }
    }
    return s;
}

/* Makes the node produce the quantizer's result; the quantizer becomes dead. */
static enum uk_status replace(struct building *b, struct uk_graph_node *n, struct uk_graph_node *q,
                              const char *type, const char *domain) {
    struct uk_graph_value **input = uk_alloc(&b->g->arena, ((size_t)b->count + 1) * sizeof *input);

    if (!input)
        return uk_graph_no_memory(b->g);
    memcpy(input, b->input, (size_t)b->count * sizeof *input);
    for (int i = 0; i < b->count; i++)
        if (input[i])
            input[i]->uses++;
    for (int i = 0; i < n->inputs; i++)
        if (n->input[i])
            n->input[i]->uses--;
    n->input = input;
    n->inputs = b->count;
    n->type = type;
    n->domain = domain;
    struct uk_graph_value *unread = n->output[0];
    n->output[0] = q->output[0];
    n->output[0]->producer = n;
    q->output[0] = unread; /* q is dead: its inputs lose a use */
    unread->producer = NULL;
    unread->uses = 0;
    for (int i = 1; i < q->inputs; i++)
        if (q->input[i])
            q->input[i]->uses--;
    q->inputs = 0;
    return UK_OK;
}

/* ---- groups ---- */

static const struct rule *rule_of(const struct uk_graph_node *n) {
    for (int i = 0; i < RULES; i++)
        if (!*n->domain && !strcmp(rules[i].from, n->type))
            return &rules[i];
    return NULL;
}

static bool moves_elements(const struct uk_graph_node *n) {
    for (size_t i = 0; i < sizeof moves / sizeof moves[0]; i++)
        if (!*n->domain && !strcmp(moves[i], n->type))
            return true;
    return false;
}

static bool equal(const struct uk_graph_value *a, const struct uk_graph_value *b) {
    return a && b && a->data && b->data && a->type == b->type &&
           uk_value_elements(a) == uk_value_elements(b) &&
           !memcmp(a->data, b->data, (size_t)uk_value_elements(a) * uk_type_bytes(a->type));
}

/* True if q makes of the dequantized bytes the same bytes again. Without zero points their types are not
 * known yet: one of them may be i8. */
static bool is_inverse(const struct uk_graph_node *dq, const struct uk_graph_node *q) {
    return is_one_scale(dq) && is_byte_of(dq) && equal(dq->input[1], q->input[1]) &&
           equal(uk_node_input(dq, 2), uk_node_input(q, 2));
}

/* True unless alpha or beta of a Gemm scales its result: QGemm adds the bias in the scale of the products. */
static bool is_plain(const struct uk_graph_node *n) {
    return strcmp(n->type, "Gemm") ||
           (uk_attribute_float(n, "beta", 1) == 1 && uk_attribute_float(n, "alpha", 1) == 1);
}

static enum uk_status rewrite(struct uk_graph *g, struct uk_graph_node *n) {
    struct building b = {.g = g};
    struct uk_graph_node *q = n->outputs == 1 && n->output[0] ? quantizer(g, n->output[0]) : NULL;
    const struct rule *r = rule_of(n);

    if (!q)
        return UK_OK;
    if (moves_elements(n)) {
        const struct uk_graph_node *dq = dequantizer(uk_node_input(n, 0));
        if (!dq || !is_inverse(dq, q))
            return UK_OK;
        push(&b, dq->input[0]);
        for (int i = 1; i < n->inputs; i++)
            push(&b, n->input[i]);
        return b.refused ? UK_OK : replace(&b, n, q, n->type, n->domain);
    }
    if (!r || !is_plain(n) || !is_one_scale(q) || !is_byte_of(q))
        return UK_OK;
    enum uk_status s = build(&b, r, n, q);
    return s || b.refused || !has_rule_for_types(r, n, q) ? s : replace(&b, n, q, r->to, r->domain);
}

enum uk_status uk_rewrite_quantized(struct uk_graph *g) {
    enum uk_status s = UK_OK;

    uk_know_constants(g);
    for (struct uk_graph_node *n = g->nodes; n && !s; n = n->next)
        s = rewrite(g, n);
    return s;
}
