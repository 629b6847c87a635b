/* SPDX-License-Identifier: Apache-2.0 */
/* Operators whose attributes are graphs. */
#include <string.h>
#include "layers/layers.h"

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

/* ---- If ---- */

/* The branch that a constant chooses takes the node's place. */
static enum uk_status expand_chosen(struct uk_graph *g, struct uk_graph_node *n,
                                    struct uk_subgraph *const branch[2], struct uk_graph_node **first) {
    const bool is_true = *(const uint8_t *)n->input[0]->data;
    const enum uk_status s = bind_results(g, n, branch[is_true]);

    *first = branch[is_true]->nodes;
    uk_subgraph_release(branch[!is_true]);
    n->attributes = 0; /* the chosen branch's uses stay */
    uk_node_release(n);
    return s;
}

/* Adds a region for the branch; part[i] becomes what it stores as result i. */
static void add_branch(struct uk_expansion *e, struct uk_subgraph *branch, bool is_negated,
                       struct uk_graph_value **part) {
    uk_expand_branch(e, e->n->input[0], is_negated);
    uk_expand_nodes(e, branch->nodes);
    for (int i = 0; i < e->n->outputs; i++) {
        struct uk_graph_value *to = e->n->output[i];
        if (to && to->uses)
            part[i] = uk_expand_store(e, to, branch->output[i]);
        branch->output[i]->uses--;
    }
    uk_expand_loop_end(e);
}

/* A run takes one of both branches. */
static enum uk_status expand_both(struct uk_graph *g, struct uk_graph_node *n,
                                  struct uk_subgraph *const branch[2], struct uk_graph_node **first) {
    struct uk_expansion e = uk_expansion_begin(g, n, first);
    struct uk_graph_value **part = uk_alloc(&g->arena, (2 * (size_t)n->outputs + 1) * sizeof *part);

    if (!part)
        return uk_graph_no_memory(g);
    add_branch(&e, branch[1], false, part);
    add_branch(&e, branch[0], true, part + n->outputs);
    for (int i = 0; i < n->outputs; i++)
        if (part[i])
            uk_expand_either(&e, n->output[i], part[i], part[n->outputs + i]);
    n->attributes = 0; /* the branches' uses stay */
    return uk_expansion_end(&e);
}

enum uk_status uk_expand_if(struct uk_graph *g, struct uk_graph_node *n, struct uk_graph_node **first) {
    struct uk_subgraph *const branch[] = {uk_attribute_graph(n, "else_branch"),
                                          uk_attribute_graph(n, "then_branch")};
    const struct uk_graph_value *condition = uk_node_input(n, 0);

    if (!branch[0] || !branch[1] || branch[0]->inputs || branch[1]->inputs ||
        branch[0]->outputs != n->outputs || branch[1]->outputs != n->outputs)
        return uk_graph_fail(g, UK_REFUSED, n, "it needs two branches without inputs and with %d outputs",
                             n->outputs);
    enum uk_status s = uk_need_input(g, n, 0);
    if (!s && (!condition->is_boolean || uk_value_elements(condition) != 1))
        s = uk_graph_fail(g, UK_REFUSED, n, "its condition '%s' is not one boolean", condition->name);
    if (s)
        return s;
    return condition->data ? expand_chosen(g, n, branch, first) : expand_both(g, n, branch, first);
}
