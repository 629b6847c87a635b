/* SPDX-License-Identifier: Apache-2.0 */
/* Operators of the domain com.microsoft that consist of others. */
#include <string.h>
#include "layers/layers.h"

/* ---- SkipLayerNormalization: input, skip, scale, bias, addend; without the bias if it is Simplified;
 * results: y, mean, reciprocal of the deviation, sum ---- */

enum uk_status uk_expand_skip_normalization(struct uk_graph *g, struct uk_graph_node *n,
                                            struct uk_graph_node **first) {
    const bool has_mean = !strcmp(n->type, "SkipLayerNormalization");
    struct uk_expansion e = uk_expansion_begin(g, n, first);
    struct uk_graph_value *bias = has_mean ? uk_node_input(n, 3) : NULL,
                          *addend = uk_node_input(n, has_mean ? 4 : 3),
                          *to = n->outputs > 3 ? n->output[3] : NULL;
    enum uk_status s = uk_need_inputs(g, n, 3);

    for (int i = 1; i < 3 && !s; i++)
        if (i < n->outputs && n->output[i] && n->output[i]->uses)
            s = uk_graph_fail(g, UK_REFUSED, n, "its output '%s' is not supported", n->output[i]->name);
    if (s)
        return s;
    /* A residual and the product that it is added to come first: the sum is part of the product's layer. */
    struct uk_graph_value *sum = uk_expand_to(&e, addend ? NULL : to, "Add", 2, n->input[0], n->input[1]);
    if (addend)
        sum = uk_expand_to(&e, to, "Add", 2, sum, addend);
    uk_expand_to(&e, n->output[0], has_mean ? "LayerNormalization" : "RMSNormalization", 3, sum, n->input[2],
                 bias);
    uk_expand_float(&e, "epsilon", uk_attribute_float(n, "epsilon", 1e-12));
    return uk_expansion_end(&e);
}

/* ---- BiasGelu; FastGelu, whose bias may be left out ---- */

enum uk_status uk_expand_bias_gelu(struct uk_graph *g, struct uk_graph_node *n,
                                   struct uk_graph_node **first) {
    struct uk_expansion e = uk_expansion_begin(g, n, first);
    struct uk_graph_value *x = uk_node_input(n, 0), *bias = uk_node_input(n, 1);
    const bool is_fast = !strcmp(n->type, "FastGelu");
    enum uk_status s = uk_need_input(g, n, 0);

    if (!s && (bias || !is_fast))
        s = uk_need_input(g, n, 1);
    if (s)
        return s;
    if (bias)
        x = uk_expand_to(&e, NULL, "Add", 2, x, bias);
    uk_expand_to(&e, n->output[0], "Gelu", 1, x);
    if (is_fast)
        uk_expand_text(&e, "approximate", "tanh");
    return uk_expansion_end(&e);
}

/* ---- FusedConv: x, filter, bias, addend ---- */

/* Activations with the attributes that activation_params lists. */
static const struct {
    const char *name, *parameter[2];
} activations[] = {
    {"Relu", {NULL, NULL}},         {"Sigmoid", {NULL, NULL}},          {"Tanh", {NULL, NULL}},
    {"LeakyRelu", {"alpha", NULL}}, {"HardSigmoid", {"alpha", "beta"}}, {"Clip", {NULL, NULL}},
};

enum { ACTIVATIONS = sizeof activations / sizeof activations[0] };

static enum uk_status activate(struct uk_expansion *e, struct uk_graph_value *x, enum uk_type type) {
    const char *name = uk_attribute_string(e->n, "activation", "");
    const struct uk_attribute *list = uk_attribute_find(e->n, "activation_params");
    const int given = list ? list->count : 0;
    int i = 0, wanted = 0;

    while (i < ACTIVATIONS && strcmp(activations[i].name, name) != 0)
        i++;
    if (i == ACTIVATIONS)
        return uk_graph_fail(e->g, UK_REFUSED, e->n, "activation '%s' is not supported", name);
    while (wanted < 2 && activations[i].parameter[wanted])
        wanted++;
    if (!strcmp(name, "Clip"))
        wanted = 2;
    if (given < wanted)
        return uk_graph_fail(e->g, UK_REFUSED, e->n, "activation %s has %d parameters; it needs %d", name,
                             given, wanted);
    if (!strcmp(name, "Clip")) { /* its parameters are inputs */
        struct uk_graph_value *low = uk_expand_real(e, type, list->floats[0]),
                              *high = uk_expand_real(e, type, list->floats[1]);
        uk_expand_to(e, e->n->output[0], name, 3, x, low, high);
        return UK_OK;
    }
    uk_expand_to(e, e->n->output[0], name, 1, x);
    for (int k = 0; k < wanted; k++)
        uk_expand_float(e, activations[i].parameter[k], list->floats[k]);
    return UK_OK;
}

enum uk_status uk_expand_fused_conv(struct uk_graph *g, struct uk_graph_node *n,
                                    struct uk_graph_node **first) {
    struct uk_expansion e = uk_expansion_begin(g, n, first);
    struct uk_graph_value *addend = uk_node_input(n, 3), *bias = uk_node_input(n, 2);
    const bool is_active = *uk_attribute_string(n, "activation", "");
    enum uk_status s = uk_need_input(g, n, 0);

    if (!s)
        s = uk_need_input(g, n, 1);
    if (s)
        return s;
    struct uk_graph_value *y = uk_expand_to(&e, is_active || addend ? NULL : n->output[0], "Conv", 3,
                                            n->input[0], n->input[1], bias);
    uk_expand_same(&e, "auto_pad dilations group kernel_shape pads strides");
    if (addend)
        y = uk_expand_to(&e, is_active ? NULL : n->output[0], "Add", 2, y, addend);
    if (is_active)
        s = activate(&e, y, n->input[0]->type);
    return s ? s : uk_expansion_end(&e);
}

/* ---- FusedMatMul ---- */

/* Transposes an operand: dimension 0 after the batch dimensions, if `batch`; then the last two, if `matrix`.
 */
static struct uk_graph_value *transposed(struct uk_expansion *e, struct uk_graph_value *v, bool batch,
                                         bool matrix) {
    int64_t perm[UK_RANK];
    const int rank = v->rank;

    if (rank < 2 || (!batch && !matrix))
        return v;
    for (int i = 0; i < rank; i++)
        perm[i] = i;
    for (int i = 0; i < rank - 1 && batch; i++)
        perm[i] = i == rank - 2 ? 0 : i + 1;
    if (matrix) {
        const int64_t row = perm[rank - 2];
        perm[rank - 2] = perm[rank - 1];
        perm[rank - 1] = row;
    }
    return uk_expand_transpose(e, NULL, v, rank, perm);
}

enum uk_status uk_expand_fused_matmul(struct uk_graph *g, struct uk_graph_node *n,
                                      struct uk_graph_node **first) {
    const double alpha = uk_attribute_float(n, "alpha", 1);
    struct uk_expansion e = uk_expansion_begin(g, n, first);
    enum uk_status s = uk_need_input(g, n, 0);

    if (!s)
        s = uk_need_input(g, n, 1);
    if (s)
        return s;
    struct uk_graph_value *a = transposed(&e, n->input[0], uk_attribute_int(n, "transBatchA", 0),
                                          uk_attribute_int(n, "transA", 0)),
                          *b = transposed(&e, n->input[1], uk_attribute_int(n, "transBatchB", 0),
                                          uk_attribute_int(n, "transB", 0));
    struct uk_graph_value *y = uk_expand_to(&e, alpha == 1 ? n->output[0] : NULL, "MatMul", 2, a, b);
    if (alpha != 1)
        uk_expand_to(&e, n->output[0], "Mul", 2, y, uk_expand_real(&e, n->input[0]->type, alpha));
    return uk_expansion_end(&e);
}
