/* SPDX-License-Identifier: Apache-2.0 */
/* Classifies layers for users: by the convolution or product in it, else by what it does to elements. */
#include <inttypes.h>
#include <string.h>
#include "plan/plan.h"

enum { FEW_CHANNELS = 4 };

static bool ends_in(const char *text, const char *end) {
    const size_t n = strlen(text), m = strlen(end);

    return n >= m && !strcmp(text + n - m, end);
}

static const struct uk_graph_node *node_that(const struct uk_layer *l,
                                             bool (*is)(const struct uk_graph_node *n)) {
    for (int i = 0; i < l->nodes; i++)
        if (is(l->node[i]))
            return l->node[i];
    return NULL;
}

static bool is_conv(const struct uk_graph_node *n) {
    return ends_in(n->type, "Conv") || !strcmp(n->type, "ConvInteger") || !strcmp(n->type, "ConvTranspose");
}

static bool is_product(const struct uk_graph_node *n) {
    return strstr(n->type, "Gemm") || strstr(n->type, "MatMul");
}

static bool is_pool(const struct uk_graph_node *n) {
    return ends_in(n->type, "Pool");
}

static const struct uk_graph_value *filter_of(const struct uk_graph_node *n) {
    return n->input[strcmp(n->type, "QLinearConv") ? 1 : 3];
}

/* Returns "3x3", "1x7", or "3x3/2" for stride 2 (that of the first dimension). NULL: no memory. */
static const char *window_of(struct uk_arena *arena, const struct uk_graph_node *n, const int64_t *kernel,
                             int dimensions) {
    const struct uk_attribute *stride = uk_attribute_find(n, "strides");
    const char *text = "";

    for (int d = 0; d < dimensions && text; d++)
        text = uk_format(arena, "%s%s%" PRId64, text, d ? "x" : "", kernel[d]);
    if (text && stride && stride->kind == UK_A_INTS && stride->count > 0 && stride->ints[0] > 1)
        text = uk_format(arena, "%s/%" PRId64, text, stride->ints[0]);
    return text;
}

static const char *kind_of_conv(const struct uk_graph_node *n, int64_t channels) {
    const struct uk_graph_value *f = filter_of(n);
    int64_t inside = 1;

    for (int d = 2; d < f->rank; d++)
        inside *= f->extent[d];
    if (uk_attribute_int(n, "group", 1) > 1)
        return f->extent[1] == 1 ? "depthwise" : "grouped";
    return channels <= FEW_CHANNELS ? "first" : inside == 1 ? "1x1" : "window";
}

/* Number of the input's channels, without padding. */
static int64_t channels_of(const struct uk_graph_value *x) {
    return (uk_padded_channels_of(x) ? uk_padded_channels_of(x) : x)->extent[1];
}

static const char *kind_without_products(const struct uk_layer *l) {
    const struct uk_graph_node *n = l->node[0];

    return uk_is_border(n)             ? "border"
           : !strcmp(n->type, "Copy")  ? "copy"
           : n->op->loop               ? "copy"
           : n->op->is_union           ? "concat"
           : uk_node_is_elementwise(n) ? "elements"
                                       : "other";
}

enum uk_status uk_layer_classify(struct uk_graph *g, struct uk_layer *l) {
    const struct uk_graph_node *conv = node_that(l, is_conv), *pool = node_that(l, is_pool);
    const struct uk_attribute *kernel = pool ? uk_attribute_find(pool, "kernel_shape") : NULL;
    struct uk_network_layer *s = &l->shown;

    s->window = "";
    l->true_terms = 1;
    if (conv) {
        const struct uk_graph_value *f = filter_of(conv), *x = conv->input[0];
        s->kind = kind_of_conv(conv, channels_of(x));
        s->window = window_of(&g->arena, conv, f->extent + 2, f->rank - 2);
        l->true_terms = (double)channels_of(x) / (double)x->extent[1];
    } else if (node_that(l, is_product)) {
        s->kind = "fc";
    } else if (pool) {
        s->kind = "pool";
        if (kernel && kernel->kind == UK_A_INTS)
            s->window = window_of(&g->arena, pool, kernel->ints, kernel->count);
    } else {
        s->kind = kind_without_products(l);
    }
    return s->window ? UK_OK : uk_graph_no_memory(g);
}
