/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Groups nodes into layers. A layer begins with the first node that belongs to none, and grows by elementwise
 * nodes of its region on its results with the same shape, and by those that only these read, as long as only
 * one of its values is read outside: that value is the layer's result.
 */
#include <stdlib.h>
#include <string.h>
#include "plan/plan.h"

/* Per layer: nodes at most (programs of more compile slowly), and nodes to look ahead. */
enum { MOST_NODES = 24, WINDOW = 64 };

struct grouping {
    struct uk_plan *p;
    const struct uk_graph_node **node; /* nodes that need code, in order */
    int count;
    const int *position; /* in `node`, by the node's number */
    bool *taken;
};

static bool same_shape(const struct uk_graph *g, const struct uk_graph_value *a,
                       const struct uk_graph_value *b) {
    return uk_same_extents(g, a, b) && !memcmp(a->order, b->order, (size_t)a->rank * sizeof *a->order);
}

static bool is_member(const struct uk_layer *l, const struct uk_graph_node *n) {
    for (int i = 0; i < l->nodes; i++)
        if (l->node[i] == n)
            return true;
    return false;
}

static int uses_inside(const struct uk_layer *l, const struct uk_graph_value *v) {
    int uses = 0;

    for (int i = 0; i < l->nodes; i++)
        for (int j = 0; j < l->node[i]->inputs; j++)
            uses += l->node[i]->input[j] == v;
    return uses;
}

/* Returns the only value that nodes outside of the layer read; NULL: there are several. */
static struct uk_graph_value *escape(const struct uk_layer *l) {
    struct uk_graph_value *found = NULL;

    for (int i = 0; i < l->nodes; i++) {
        struct uk_graph_value *v = l->node[i]->output[0];
        if (v->uses == uses_inside(l, v))
            continue;
        if (found)
            return NULL;
        found = v;
    }
    return found;
}

static bool reads_layer(const struct uk_layer *l, const struct uk_graph_node *n) {
    for (int i = 0; i < n->inputs; i++)
        if (n->input[i] && n->input[i]->producer && is_member(l, n->input[i]->producer))
            return true;
    return false;
}

static int uses_by(const struct uk_graph_node *n, const struct uk_graph_value *v) {
    int uses = 0;

    for (int i = 0; i < n->inputs; i++)
        uses += n->input[i] == v;
    return uses;
}

/* Adds the node, and before it elementwise nodes of the same shape that only it reads, and theirs. */
static void add(const struct grouping *gr, struct uk_layer *l, const struct uk_graph_node *n) {
    const struct uk_graph_value *shape = l->node[0]->output[0];

    for (int i = 0; i < n->inputs; i++) {
        const struct uk_graph_value *v = n->input[i];
        const struct uk_graph_node *by = v && !v->data ? v->producer : NULL;
        const int at = by ? gr->position[by->number] : 0;
        if (!by || gr->node[at] != by || gr->taken[at] || is_member(l, by) || by->region != l->region ||
            !uk_node_is_elementwise(by) || v->uses != uses_by(n, v) || !same_shape(gr->p->g, v, shape))
            continue;
        if (l->nodes < MOST_NODES - 1)
            add(gr, l, by);
    }
    if (l->nodes < MOST_NODES)
        l->node[l->nodes++] = n;
}

/* Adds later nodes to the layer. Ends with the longest prefix of them that has one result. */
static void grow(struct grouping *gr, struct uk_layer *l, int first) {
    const struct uk_graph_value *shape = l->node[0]->output[0];
    int good = 1;

    for (int i = first + 1; i < gr->count && i < first + WINDOW && l->nodes < MOST_NODES; i++) {
        const struct uk_graph_node *n = gr->node[i];
        if (gr->taken[i] || is_member(l, n) || n->region != l->region || !uk_node_is_elementwise(n) ||
            !reads_layer(l, n) || !same_shape(gr->p->g, n->output[0], shape))
            continue;
        add(gr, l, n);
        struct uk_graph_value *result = escape(l);
        if (result) {
            good = l->nodes;
            l->result = result;
        }
    }
    l->nodes = good;
}

static int other_outputs(const struct uk_graph_node *n) {
    int used = 0;

    for (int i = 0; i < n->outputs; i++)
        used += n->output[i] && n->output[i]->uses > 0;
    return used;
}

static struct uk_layer *new_layer(struct uk_plan *p) {
    struct uk_layer *l = uk_alloc(&p->g->arena, sizeof *l);

    if (!l || !(l->node = uk_alloc(&p->g->arena, MOST_NODES * sizeof *l->node)))
        return NULL;
    return l;
}

/* Inserts the layer in the order of last nodes, each of which comes after the producers of its inputs. */
static void insert(struct uk_plan *p, struct uk_layer *l, const int *position) {
    struct uk_layer **at = &p->layers;
    const int last = position[l->node[l->nodes - 1]->number];

    while (*at && position[(*at)->node[(*at)->nodes - 1]->number] <= last)
        at = &(*at)->next;
    l->next = *at;
    *at = l;
    p->count++;
}

static enum uk_status group(struct grouping *gr) {
    for (int i = 0; i < gr->count; i++) {
        const struct uk_graph_node *n = gr->node[i];
        if (gr->taken[i])
            continue;
        const int results = other_outputs(n);
        for (int j = 0; j < n->outputs; j++) {
            if (!n->output[j] || !n->output[j]->uses || (n->op->is_part && n->output[j]->is_slice))
                continue;
            struct uk_layer *l = new_layer(gr->p);
            if (!l)
                return uk_graph_no_memory(gr->p->g);
            l->node[l->nodes++] = n;
            l->region = n->region;
            l->result = n->output[j];
            if (results == 1 && j == 0 && !n->op->is_union) /* other layers may write slices of a union */
                grow(gr, l, i);
            for (int k = 0; k < l->nodes; k++)
                gr->taken[gr->position[l->node[k]->number]] = true;
            insert(gr->p, l, gr->position);
        }
    }
    return UK_OK;
}

/* ---- all layers ---- */

static enum uk_status collect(struct grouping *gr, int *position) {
    for (const struct uk_graph_node *n = gr->p->g->nodes; n; n = n->next)
        if (!n->is_folded && !n->is_placed && !n->op->is_view && other_outputs(n)) {
            position[n->number] = gr->count;
            gr->node[gr->count++] = n;
        }
    return UK_OK;
}

enum uk_status uk_plan_layers(struct uk_plan *p) {
    const size_t most = (size_t)p->g->node_count + 1;
    struct grouping gr = {
        .p = p, .node = calloc(most, sizeof *gr.node), .taken = calloc(most, sizeof *gr.taken)};
    int *position = calloc(most, sizeof *position);

    gr.position = position;
    enum uk_status s = gr.node && gr.taken && position ? collect(&gr, position) : uk_graph_no_memory(p->g);

    if (!s)
        s = group(&gr);
    free(gr.node);
    free(gr.taken);
    free(position);
    return s;
}
