/* SPDX-License-Identifier: Apache-2.0 */
/* Creates nodes and values that a plan adds to the graph. */
#include <string.h>
#include "plan/plan.h"

struct uk_graph_node *uk_node_new(struct uk_graph *g, const struct uk_operator *op, const char *name,
                                  int inputs) {
    struct uk_graph_node *n = uk_alloc(&g->arena, sizeof *n);

    if (!n || !(n->input = uk_alloc(&g->arena, (size_t)inputs * sizeof *n->input)) ||
        !(n->output = uk_alloc(&g->arena, sizeof *n->output)))
        return NULL;
    n->number = g->node_count++;
    n->op = op;
    n->type = op->name;
    n->domain = "";
    n->name = name;
    n->inputs = inputs;
    n->outputs = 1;
    return n;
}

void uk_copy_type_and_shape(struct uk_graph_value *v, const struct uk_graph_value *like) {
    v->type = like->type;
    v->is_boolean = like->is_boolean;
    v->has_shape = true;
    v->rank = like->rank;
    memcpy(v->extent, like->extent, sizeof v->extent);
    v->at = like->at;
    v->follows = true;
}
