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
    enum uk_status s = UK_OK;

    for (int i = 0; i < 3 && !s; i++)
        s = uk_need_input(g, n, i);
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
