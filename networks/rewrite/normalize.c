/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folds a BatchNormalization into the convolution before it: with s = scale / sqrt(variance + epsilon),
 *
 *     (w * x + b - mean) * s + shift = (w * s) * x + (b - mean) * s + shift.
 *
 * Roundings differ from those of the two operators.
 */
#include <math.h>
#include <string.h>
#include "rewrite/rewrite.h"

static bool is_constant(const struct uk_graph_node *n, int first, int end) {
    for (int i = first; i < end; i++)
        if (!uk_node_input(n, i) || !n->input[i]->data || n->input[i]->type != UK_F32)
            return false;
    return true;
}

/* Returns the convolution whose result only the normalization reads, or NULL. */
static struct uk_graph_node *convolution(const struct uk_graph_node *n) {
    struct uk_graph_node *c = n->input[0] ? n->input[0]->producer : NULL;

    if (!c || *c->domain || strcmp(c->type, "Conv") || n->input[0]->uses != 1 || n->input[0]->is_output)
        return NULL;
    return is_constant(c, 1, c->inputs > 2 && c->input[2] ? 3 : 2) ? c : NULL;
}

static struct uk_graph_value *copy_shape(struct uk_graph *g, const struct uk_graph_value *like, int rank,
                                         float **data) {
    struct uk_graph_value *v = uk_value_new(g, like->name);

    *data = v ? uk_value_constant(g, v, UK_F32, rank, like->extent) : NULL;
    if (v)
        v->uses = 1;
    return *data ? v : NULL;
}

static enum uk_status fold(struct uk_graph *g, struct uk_graph_node *n, struct uk_graph_node *c) {
    const struct uk_graph_value *w = c->input[1], *b = uk_node_input(c, 2);
    const double epsilon = uk_attribute_float(n, "epsilon", 1e-5);
    const int64_t channels = w->extent[0], each = channels ? uk_value_elements(w) / channels : 0;
    float *filter, *bias;
    struct uk_graph_value *new_w = copy_shape(g, w, w->rank, &filter), *new_b = copy_shape(g, w, 1, &bias);
    struct uk_graph_value **input = uk_alloc(&g->arena, 3 * sizeof *input);

    if (!new_w || !new_b || !input)
        return uk_graph_no_memory(g);
    for (int64_t o = 0; o < channels; o++) {
        const double s = uk_constant_real(n->input[1], o) / sqrt(uk_constant_real(n->input[4], o) + epsilon);
        for (int64_t i = 0; i < each; i++)
            filter[o * each + i] = (float)(uk_constant_real(w, o * each + i) * s);
        bias[o] = (float)(((b ? uk_constant_real(b, o) : 0) - uk_constant_real(n->input[3], o)) * s +
                          uk_constant_real(n->input[2], o));
    }
    input[0] = c->input[0];
    input[1] = new_w;
    input[2] = new_b;
    c->input = input;
    c->inputs = 3;
    struct uk_graph_value *unread = c->output[0];
    c->output[0] = n->output[0];
    c->output[0]->producer = c;
    n->output[0] = unread;
    n->inputs = 0;
    unread->uses = 0;
    return UK_OK;
}

enum uk_status uk_rewrite_normalized(struct uk_graph *g) {
    struct uk_graph_node **at = &g->nodes;
    enum uk_status s = UK_OK;

    while (*at && !s) {
        struct uk_graph_node *n = *at, *c = NULL;
        if (!*n->domain && !strcmp(n->type, "BatchNormalization") && !n->is_folded && is_constant(n, 1, 5))
            c = convolution(n);
        if (c)
            s = fold(g, n, c);
        if (c)
            *at = n->next;
        else
            at = &n->next;
    }
    return s;
}
