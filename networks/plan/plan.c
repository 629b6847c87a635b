/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the passes over the graph, writes the layers' programs and places values. */
#include "plan/plan.h"

static enum uk_status write_layers(struct uk_plan *p, const char *stem, struct uk_context *context) {
    enum uk_status s = UK_OK;

    if (p->g->points.count)
        return uk_layers_write_open(p, stem, context);
    for (struct uk_layer *l = p->layers; l && !s; l = l->next)
        s = uk_layer_write(p, l, stem);
    return s;
}

enum uk_status uk_plan(struct uk_plan *p, struct uk_graph *g, const char *stem, struct uk_context *context) {
    *p = (struct uk_plan){.g = g};
    enum uk_status s = uk_plan_channels(g);

    if (!s)
        s = uk_plan_borders(g);
    if (!s)
        s = uk_plan_orders(g);
    if (!s) {
        uk_plan_slices(g);
        s = g->states ? uk_check_states(g) : UK_OK;
    }
    if (!s)
        s = uk_plan_layers(p);
    p->layer = uk_alloc(&g->arena, ((size_t)p->count + 1) * sizeof *p->layer);
    if (!s && !p->layer)
        s = uk_graph_no_memory(g);
    int i = 0;
    for (struct uk_layer *l = p->layers; l && !s; l = l->next) {
        l->number = i;
        p->layer[i++] = l;
    }
    if (!s)
        s = write_layers(p, stem, context);
    if (!s)
        s = uk_plan_trips(g);
    return s ? s : uk_plan_memory(p);
}
