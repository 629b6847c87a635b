/* SPDX-License-Identifier: Apache-2.0 */
/* CausalConvWithState: x [batch, channels, rows], filter [channels, 1, k], bias, past [batch, channels, k -
 * 1]; y, present. A convolution per channel of the past, or zeros, and x; the present is their last elements.
 */
#include <inttypes.h>
#include <string.h>
#include "layers/layers.h"

struct causal_conv {
    int64_t batch, channels, rows, before;
    const char *activation;
};

static enum uk_status read(struct uk_graph *g, const struct uk_graph_node *n, struct causal_conv *c) {
    enum uk_status s = uk_need_input(g, n, 0);

    if (!s)
        s = uk_need_input(g, n, 1);
    for (int i = 2; i < n->inputs && i < 4 && !s; i++)
        s = n->input[i] ? uk_need_input(g, n, i) : UK_OK;
    if (s)
        return s;
    const struct uk_graph_value *x = n->input[0], *w = n->input[1], *past = uk_node_input(n, 3);
    c->activation = uk_attribute_string(n, "activation", "none");
    if (strcmp(c->activation, "none") && strcmp(c->activation, "silu") && strcmp(c->activation, "swish"))
        return uk_graph_fail(g, UK_REFUSED, n, "activation '%s' is not supported", c->activation);
    if (x->rank != 3 || w->rank != 3 || w->extent[0] != x->extent[1] || w->extent[1] != 1 || w->extent[2] < 1)
        return uk_graph_fail(g, UK_REFUSED, n, "a filter of shape %s does not fit an input of shape %s",
                             uk_value_shape(w), uk_value_shape(x));
    c->batch = x->extent[0];
    c->channels = x->extent[1];
    c->rows = x->extent[2];
    c->before = w->extent[2] - 1;
    if (past && (past->rank != 3 || past->type != x->type || past->extent[0] != c->batch ||
                 past->extent[1] != c->channels || past->extent[2] != c->before))
        return uk_graph_fail(g, UK_REFUSED, n,
                             "past_state has type %s and shape %s; it needs %s and [%" PRId64 ", %" PRId64
                             ", %" PRId64 "]",
                             uk_type_name(past->type), uk_value_shape(past), uk_type_name(x->type), c->batch,
                             c->channels, c->before);
    return UK_OK;
}

/* The input after the past. */
static struct uk_graph_value *extended(struct uk_expansion *e, const struct causal_conv *c) {
    const int64_t pads[] = {0, 0, c->before, 0, 0, 0};
    struct uk_graph_value *x = e->n->input[0], *past = uk_node_input(e->n, 3);

    if (!c->before)
        return x;
    if (!past)
        return uk_expand_to(e, NULL, "Pad", 2, x, uk_expand_ints(e, 6, pads));
    x = uk_expand_to(e, NULL, "Concat", 2, past, x);
    uk_expand_int(e, "axis", 2);
    return x;
}

enum uk_status uk_expand_causal_conv(struct uk_graph *g, struct uk_graph_node *n,
                                     struct uk_graph_node **first) {
    struct uk_expansion e = uk_expansion_begin(g, n, first);
    struct causal_conv c;
    enum uk_status s = read(g, n, &c);

    if (s)
        return s;
    const bool is_active = strcmp(c.activation, "none") != 0;
    struct uk_graph_value *x = extended(&e, &c), *present = n->outputs > 1 ? n->output[1] : NULL,
                          *y = uk_expand_to(&e, is_active ? NULL : n->output[0], "Conv", 3, x, n->input[1],
                                            uk_node_input(n, 2));
    uk_expand_int(&e, "group", c.channels);
    if (is_active) { /* x * sigmoid(x) */
        uk_expand_to(&e, n->output[0], "QuickGelu", 1, y);
        uk_expand_domain(&e, "com.microsoft");
        uk_expand_float(&e, "alpha", 1);
    }
    if (present && present->uses)
        uk_expand_to(&e, present, "Identity", 1, uk_expand_slice(&e, x, 2, c.rows, c.rows + c.before));
    return uk_expansion_end(&e);
}
