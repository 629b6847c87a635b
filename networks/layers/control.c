/* SPDX-License-Identifier: Apache-2.0 */
/* Operators whose attributes are graphs. */
#include <string.h>
#include "layers/layers.h"

static struct uk_subgraph *graph_of(const struct uk_graph_node *n, const char *name) {
    const struct uk_attribute *a = uk_attribute_find(n, name);

    return a ? a->graph : NULL;
}

/* Makes the node of the subgraph that computes `from` compute `to` instead. */
static enum uk_status rename_result(struct uk_graph *g, struct uk_graph_value *from,
                                    struct uk_graph_value *to) {
    struct uk_graph_node *p = from->producer, *copy;

    for (int i = 0; i < p->outputs; i++)
        if (p->output[i] == from)
            p->output[i] = to;
    to->producer = p;
    if (!from->uses)
        return UK_OK;
    if (!(copy = uk_identity_new(g, p->name, to, from)))
        return uk_graph_no_memory(g);
    copy->next = p->next;
    p->next = copy;
    return UK_OK;
}

/* Makes the subgraph's nodes compute the node's outputs. */
static enum uk_status bind_results(struct uk_graph *g, const struct uk_graph_node *n,
                                   struct uk_subgraph *sub) {
    struct uk_graph_node **end = &sub->nodes;
    enum uk_status s = UK_OK;

    for (int i = 0; i < n->outputs && !s; i++) {
        struct uk_graph_value *from = sub->output[i], *to = n->output[i];
        const struct uk_graph_node *p = from->producer;
        from->uses--;
        if (!to)
            continue;
        if (p && p->number >= sub->first && p->number < sub->end) {
            s = rename_result(g, from, to);
            continue;
        }
        while (*end)
            end = &(*end)->next;
        if (!(*end = uk_identity_new(g, n->name, from, to)))
            s = uk_graph_no_memory(g);
    }
    return s;
}

/* ---- If: the branch that a condition known at compile time chooses ---- */

enum uk_status uk_expand_if(struct uk_graph *g, struct uk_graph_node *n, struct uk_graph_node **first) {
    struct uk_subgraph *branch[] = {graph_of(n, "else_branch"), graph_of(n, "then_branch")};
    const struct uk_graph_value *condition = uk_node_input(n, 0);

    if (!branch[0] || !branch[1] || branch[0]->inputs || branch[1]->inputs ||
        branch[0]->outputs != n->outputs || branch[1]->outputs != n->outputs)
        return uk_graph_fail(g, UK_REFUSED, n, "it needs two branches without inputs and with %d outputs",
                             n->outputs);
    enum uk_status s = uk_need_input(g, n, 0);
    if (!s && (!condition->is_boolean || uk_value_elements(condition) != 1))
        s = uk_graph_fail(g, UK_REFUSED, n, "its condition '%s' is not one boolean", condition->name);
    if (s || (s = uk_need_constant(g, n, n->input[0])))
        return s;
    const bool is_true = *(const uint8_t *)condition->data;
    s = bind_results(g, n, branch[is_true]);
    *first = branch[is_true]->nodes;
    uk_subgraph_release(branch[!is_true]);
    n->attributes = 0; /* the chosen branch's uses stay */
    uk_node_release(n);
    return s;
}
