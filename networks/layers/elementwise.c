/* SPDX-License-Identifier: Apache-2.0 */
/* Elementwise operators whose expression or type depends on the node. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "layers/layers.h"

/* Clip: bounds are attributes in early operator sets, and optional inputs in later ones. The operand is the
 * second argument of min and max, which they return if it is NaN. */
const char *uk_express_clip(struct uk_graph *g, const struct uk_graph_node *n) {
    const char *low = uk_node_input(n, 1) ? "$1" : uk_attribute_find(n, "min") ? "{min}" : NULL;
    const char *high = uk_node_input(n, 2) ? "$2" : uk_attribute_find(n, "max") ? "{max}" : NULL;

    if (low && high)
        return uk_format(&g->arena, "min(%s, max(%s, $0))", high, low);
    return low    ? uk_format(&g->arena, "max(%s, $0)", low)
           : high ? uk_format(&g->arena, "min(%s, $0)", high)
                  : "$0";
}

/* True if the value may have an element that is NaN. */
static bool may_be_nan(const struct uk_graph_value *v) {
    const bool is_known = v && v->data && (v->type == UK_F32 || v->type == UK_F64);
    bool any = v && uk_is_real(v->type) && !is_known;

    for (int64_t i = 0; is_known && !any && i < uk_value_elements(v); i++)
        any = isnan(uk_constant_real(v, i));
    return any;
}

/* Min or Max of any number of operands. NaN spreads: the function returns its second argument if either is
 * NaN, so that is what the operands so far give; a further operand is tested. Operands that are never NaN
 * come last: they need no test. */
static const char *express_extreme(struct uk_graph *g, const struct uk_graph_node *n, const char *function) {
    const char *text = NULL;

    for (int i = 0; i < 2 * n->inputs; i++) {
        const int k = i % n->inputs;
        const bool is_tested = may_be_nan(n->input[k]);

        if (is_tested != (i < n->inputs))
            continue;
        text = !text       ? uk_format(&g->arena, "$%c", '0' + k)
               : is_tested ? uk_format(&g->arena, "select(abs($%1$c) <= inf, %2$s($%1$c, %3$s), inf - inf)",
                                       '0' + k, function, text)
                           : uk_format(&g->arena, "%s($%c, %s)", function, '0' + k, text);
        if (!text)
            return NULL;
    }
    return text;
}

/* Min, Max, Sum or Mean of any number of operands. */
const char *uk_express_nary(struct uk_graph *g, const struct uk_graph_node *n) {
    char text[3 * 80 + 3] = "";
    size_t used = 0;

    if (!strcmp(n->type, "Min") || !strcmp(n->type, "Max"))
        return express_extreme(g, n, strcmp(n->type, "Min") ? "max" : "min");
    for (int i = 0; i < n->inputs; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s$%c", i ? " + " : "", '0' + i);
    return strcmp(n->type, "Mean") ? uk_strdup(&g->arena, text)
                                   : uk_format(&g->arena, "(%s) / %d", text, n->inputs);
}

/* Leaves the first inputs of a Min or Max to this node; a new one after it adds the others.
 */
static enum uk_status split_inputs(struct uk_graph *g, struct uk_graph_node *n, int kept) {
    struct uk_graph_node *rest = uk_alloc(&g->arena, sizeof *rest);
    struct uk_graph_value *part = uk_value_new(g, n->name), **output = uk_alloc(&g->arena, sizeof(void *));

    if (!rest || !part || !output)
        return uk_graph_no_memory(g);
    *rest = *n;
    rest->number = g->node_count++;
    rest->op = NULL; /* inferred next */
    rest->input += kept - 1;
    rest->inputs -= kept - 1;
    rest->output[0]->producer = rest;
    struct uk_graph_value **first = uk_alloc(&g->arena, (size_t)kept * sizeof(void *));
    if (!first)
        return uk_graph_no_memory(g);
    memcpy(first, n->input, (size_t)kept * sizeof(void *));
    *rest->input = *output = part;
    part->producer = n;
    part->uses = 1;
    n->input = first;
    n->inputs = kept;
    n->output = output;
    n->next = rest;
    return UK_OK;
}

enum uk_status uk_infer_nary(struct uk_graph *g, struct uk_graph_node *n) {
    enum { MOST_EXTREMES = UK_MAX_ACCESSES / 2 }; /* a test for NaN is a second access */
    enum uk_status s = UK_OK;

    if (n->inputs >= UK_MAX_ACCESSES)
        return uk_graph_fail(g, UK_REFUSED, n, "it has %d inputs; at most %d are supported", n->inputs,
                             UK_MAX_ACCESSES - 1);
    if (n->inputs > MOST_EXTREMES && (!strcmp(n->type, "Min") || !strcmp(n->type, "Max")))
        s = split_inputs(g, n, MOST_EXTREMES);
    return s ? s : uk_infer_broadcast(g, n);
}

/* IsInf: of either sign, or of one. */
const char *uk_express_is_inf(struct uk_graph *g, const struct uk_graph_node *n) {
    const bool negative = uk_attribute_int(n, "detect_negative", 1),
               positive = uk_attribute_int(n, "detect_positive", 1);

    (void)g;
    return negative && positive ? "select($0 == inf or $0 == (-inf), u8(1), u8(0))"
           : positive           ? "select($0 == inf, u8(1), u8(0))"
           : negative           ? "select($0 == (-inf), u8(1), u8(0))"
                                : "select($0 == inf, u8(0), u8(0))";
}

/* ---- Cast ---- */

enum uk_status uk_infer_cast(struct uk_graph *g, struct uk_graph_node *n) {
    const int64_t to = uk_attribute_int(n, "to", 0);
    bool is_boolean;
    const enum uk_type type = uk_onnx_type(to, &is_boolean);
    enum uk_status s = uk_need_input(g, n, 0);

    if (!s && type == UK_TYPES)
        s = uk_graph_refuse_type(g, n, "its result", NULL, to);
    if (!s)
        s = uk_set_output(g, n, 0, type, n->input[0]->rank, n->input[0]->extent);
    if (!s)
        n->output[0]->is_boolean = is_boolean;
    return s;
}

/* CastLike: only the type of input 1 counts, so the operand is dropped. */
enum uk_status uk_infer_cast_like(struct uk_graph *g, struct uk_graph_node *n) {
    enum uk_status s = uk_need_input(g, n, 0);
    struct uk_graph_value *like = uk_node_input(n, 1);

    if (!s)
        s = uk_need_input(g, n, 1);
    if (!s && like->is_nibble)
        s = uk_graph_fail(g, UK_REFUSED, n, "casts to four bits are not supported");
    if (!s)
        s = uk_set_output(g, n, 0, like->type, n->input[0]->rank, n->input[0]->extent);
    if (s)
        return s;
    n->output[0]->is_boolean = like->is_boolean;
    like->uses--;
    n->inputs = 1;
    return UK_OK;
}

const char *uk_express_cast(struct uk_graph *g, const struct uk_graph_node *n) {
    (void)g;
    return n->output[0]->is_boolean && !n->input[0]->is_boolean ? "select($0 != 0, u8(1), u8(0))" : "{y}($0)";
}

/* ---- operands of several types ---- */

enum uk_status uk_infer_where(struct uk_graph *g, struct uk_graph_node *n) {
    enum uk_status s = uk_infer_broadcast(g, n);

    if (!s && (n->inputs != 3 || !n->input[1] || !n->input[2] || n->input[1]->type != n->input[2]->type ||
               n->input[0]->type != UK_U8))
        s = uk_graph_fail(g, UK_REFUSED, n, "it needs a condition and two inputs of one type");
    if (s)
        return s;
    n->output[0]->type = n->input[1]->type;
    n->output[0]->is_boolean = n->input[1]->is_boolean;
    return UK_OK;
}

/* ---- BitShift ---- */

const char *uk_express_bit_shift(struct uk_graph *g, const struct uk_graph_node *n) {
    (void)g;
    return strcmp(uk_attribute_string(n, "direction", ""), "LEFT") ? "$0 >> $1" : "$0 << $1";
}

/* ---- SwiGLU ---- */

/* Unlike other operators of two operands it does not broadcast. */
enum uk_status uk_infer_swiglu(struct uk_graph *g, struct uk_graph_node *n) {
    enum uk_status s = uk_need_input(g, n, 0);

    if (!s)
        s = uk_need_input(g, n, 1);
    if (s)
        return s;
    if (!uk_same_extents(g, n->input[0], n->input[1]) || !uk_is_real(n->input[0]->type))
        return uk_graph_fail(
            g, UK_REFUSED, n, "inputs of type %s and shapes %s and %s are not two of floats of one shape",
            uk_type_name(n->input[0]->type), uk_value_shape(n->input[0]), uk_value_shape(n->input[1]));
    return uk_infer_broadcast(g, n);
}

/* ---- Pow ---- */

enum uk_status uk_infer_power(struct uk_graph *g, struct uk_graph_node *n) {
    enum uk_status s = uk_need_input(g, n, 1);

    return s ? s : uk_infer_broadcast(g, n);
}

const char *uk_express_power(struct uk_graph *g, const struct uk_graph_node *n) {
    const struct uk_graph_value *e = n->input[1];
    const double to = e->data && uk_value_elements(e) == 1 ? uk_constant_real(e, 0) : 0;
    const bool is_half = e->type == UK_F16 || e->type == UK_BF16;

    (void)g;
    if (!is_half && (to == 1 || to == 2 || to == 3))
        return to == 1 ? "$0" : to == 2 ? "$0 * $0" : "$0 * $0 * $0";
    return uk_is_real(n->input[0]->type) ? "pow($0, {x}($1))" : "{x}(pow(f64($0), f64($1)))";
}

const char *uk_express_gelu(struct uk_graph *g, const struct uk_graph_node *n) {
    (void)g;
    return strcmp(uk_attribute_string(n, "approximate", "none"), "tanh") ? "gelu($0)" : "gelu_tanh($0)";
}

/* With n = exp(-|x|): x tanh(log(1 + exp(x))) = x (n^2 + 2 n) / (n^2 + 2 n + 2) for x < 0, and
 * x (1 + 2 n) / (1 + 2 n + 2 n^2) for others. Far below 0 the first factor n is h^2, h = exp(-|x| / 2), since
 * x n may be a normal number where n is not. */
const char *uk_express_mish(struct uk_graph *g, const struct uk_graph_node *n) {
    (void)n;
    return uk_format(&g->arena,
                     "$0 * select($0 < -64, %1$s, 1) * "
                     "select($0 < 0, select($0 < -64, %1$s, %2$s) * (%2$s + 2), 1 + 2 * %2$s) / "
                     "select($0 < 0, %2$s * (%2$s + 2) + 2, 1 + 2 * %2$s * (1 + %2$s))",
                     "exp(-0.5 * abs($0))", "exp(-abs($0))");
}

/* ---- by channel ---- */

/* Appends the factor and the addend of each channel, as inputs 5 and 6. */
static enum uk_status append_factors(struct uk_graph *g, struct uk_graph_node *n, int64_t channels) {
    const double epsilon = uk_attribute_float(n, "epsilon", 1e-5);
    void *factors, *addends;

    if (uk_append_constant(g, n, UK_F32, channels, &factors) < 0 ||
        uk_append_constant(g, n, UK_F32, channels, &addends) < 0)
        return g->status;
    for (int64_t c = 0; c < channels; c++) {
        const double s = uk_constant_real(n->input[1], c) / sqrt(uk_constant_real(n->input[4], c) + epsilon);
        ((float *)factors)[c] = (float)s;
        ((float *)addends)[c] =
            (float)(uk_constant_real(n->input[2], c) - uk_constant_real(n->input[3], c) * s);
    }
    return UK_OK;
}

/* Inputs 1 to 4 have one element per channel. */
enum uk_status uk_infer_batch_normalization(struct uk_graph *g, struct uk_graph_node *n) {
    enum uk_status s = uk_need_inputs(g, n, 5);

    if (s || n->inputs > 5)
        return s ? s : uk_graph_fail(g, UK_REFUSED, n, "it has %d inputs and needs 5", n->inputs);
    const struct uk_graph_value *x = n->input[0];
    if (uk_attribute_int(n, "training_mode", 0) || (n->version < 7 && !uk_attribute_int(n, "is_test", 0)))
        return uk_graph_fail(g, UK_REFUSED, n, "training mode is not supported");
    if (!uk_attribute_int(n, "spatial", 1) || x->rank < 2)
        return uk_graph_fail(g, UK_REFUSED, n, "statistics of each activation (spatial=0) are not supported");
    for (int i = 1; i < 5; i++)
        if (n->input[i]->rank != 1 || n->input[i]->extent[0] != x->extent[1])
            return uk_graph_fail(g, UK_REFUSED, n,
                                 "input '%s' has shape %s, but there are %" PRId64 " channels",
                                 n->input[i]->name, uk_value_shape(n->input[i]), x->extent[1]);
    if (x->type == UK_F32 && n->input[1]->data && n->input[2]->data && n->input[3]->data && n->input[4]->data)
        s = append_factors(g, n, x->extent[1]);
    return s ? s : uk_set_output(g, n, 0, x->type, x->rank, x->extent);
}

const char *uk_express_batch_normalization(struct uk_graph *g, const struct uk_graph_node *n) {
    (void)g;
    return n->inputs > 5 ? "$0 * $5 + $6" : "($0 - $3) * ($1 / sqrt($4 + {epsilon})) + $2";
}

/* Slopes broadcast to the input, and not the reverse. In early operator sets a one-dimensional slope is per
 * channel. */
enum uk_status uk_infer_prelu(struct uk_graph *g, struct uk_graph_node *n) {
    enum uk_status s = uk_need_input(g, n, 0);

    if (!s)
        s = uk_need_input(g, n, 1);
    if (s)
        return s;
    const struct uk_graph_value *x = n->input[0], *slope = n->input[1];
    const int first = n->op->is_channelwise && slope->rank == 1 && x->rank > 1 ? 1 : x->rank - slope->rank;
    for (int d = 0; d < slope->rank; d++)
        if (first < 0 || (slope->extent[d] != 1 && slope->extent[d] != x->extent[first + d]))
            return uk_graph_fail(g, UK_REFUSED, n, "the slope's shape %s does not broadcast to %s",
                                 uk_value_shape(slope), uk_value_shape(x));
    return uk_set_output(g, n, 0, x->type, x->rank, x->extent);
}
