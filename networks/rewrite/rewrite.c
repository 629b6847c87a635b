/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the rewriting passes and removes dead nodes. */
#include <stdlib.h>
#include "rewrite/rewrite.h"

static bool is_read(const struct uk_graph_node *n) {
    for (int i = 0; i < n->outputs; i++)
        if (n->output[i] && n->output[i]->uses)
            return true;
    return false;
}

/* Goes from the last node to the first, so that nodes that only dead nodes read die in the same pass. */
enum uk_status uk_rewrite_remove_dead(struct uk_graph *g) {
    struct uk_graph_node **node = calloc((size_t)g->node_count + 1, sizeof *node);
    int count = 0;

    if (!node)
        return uk_graph_no_memory(g);
    for (struct uk_graph_node *n = g->nodes; n; n = n->next)
        node[count++] = n;
    g->nodes = NULL;
    while (count--) {
        struct uk_graph_node *n = node[count];
        if (is_read(n)) {
            n->next = g->nodes;
            g->nodes = n;
            continue;
        }
        uk_node_release(n);
    }
    free(node);
    return UK_OK;
}

enum uk_status uk_rewrite(struct uk_graph *g) {
    enum uk_status s = uk_rewrite_quantized(g);

    if (!s)
        s = uk_rewrite_weights(g);
    return s ? s : uk_rewrite_remove_dead(g);
}
