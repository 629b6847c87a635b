/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the passes over the graph, writes the layers' programs and places values. */
#include "plan/plan.h"

enum uk_status uk_plan(struct uk_plan *p, struct uk_graph *g, const char *stem) {
    *p = (struct uk_plan){.g = g};
    enum uk_status s = uk_plan_channels(g);

    if (!s)
        s = uk_plan_borders(g);
    if (!s)
        s = uk_plan_orders(g);
    if (!s) {
        uk_plan_slices(g);
        s = uk_plan_layers(p);
    }
    p->layer = uk_alloc(&g->arena, ((size_t)p->count + 1) * sizeof *p->layer);
    if (!s && !p->layer)
        s = uk_graph_no_memory(g);
    int i = 0;
    for (struct uk_layer *l = p->layers; l && !s; l = l->next) {
        l->number = i;
        p->layer[i++] = l;
        s = uk_layer_write(p, l, stem);
    }
    return s ? s : uk_plan_memory(p);
}
