/* SPDX-License-Identifier: Apache-2.0 */
/* The order in which layers run one by one: loops and branches as NAME_run takes them. */
#include <string.h>
#include "emit/emit.h"

enum uk_status uk_network_refuse_loops(struct uk_network *n, const char *what) {
    for (const struct uk_layer *l = n->plan.layers; l; l = l->next)
        if (l->region)
            return uk_graph_fail(&n->graph, UK_REFUSED, NULL,
                                 "%s runs no loops and no branches that a condition chooses at run time, and "
                                 "'%s' is one; use a CPU as target",
                                 what, l->region->counter->producer->name);
    return UK_OK;
}

/* Begins an iteration of the region, or returns false if none follows. */
static bool begin_iteration(const struct uk_graph_region *r, char *memory, int64_t iteration) {
    int64_t trips = r->trips;

    if (r->trips < 0 && r->count)
        memcpy(&trips, memory + uk_value_offset(r->count, memory), sizeof trips);
    if ((r->trips >= 0 || r->count) && iteration >= trips)
        return false;
    if (r->condition && !memory[uk_value_offset(r->condition, memory)] != r->is_negated)
        return false;
    memcpy(memory + r->counter->offset, &iteration, sizeof iteration);
    return true;
}

/* Returns the layer to run: `layer`, or another one if it is the first of loops that have no iterations or
 * the one after the last of an iteration; -1: none. r: the region of the layer before. */
static int settle(const struct uk_network *n, char *memory, const struct uk_graph_region *r, int layer) {
    for (;;) {
        const struct uk_graph_region *inner;
        if (r && layer > r->last) {
            int64_t iteration;
            memcpy(&iteration, memory + r->counter->offset, sizeof iteration);
            if (begin_iteration(r, memory, iteration + 1))
                layer = r->first;
            else
                r = r->outside;
            continue;
        }
        if (layer == n->plan.count)
            return -1;
        if (!(inner = uk_region_within(r, n->plan.layer[layer]->region)))
            return layer;
        if (begin_iteration(inner, memory, 0))
            r = inner;
        else
            layer = inner->last + 1;
    }
}

int uk_network_next_layer(const struct uk_network *n, void *memory, int layer) {
    if (!memory || !n || !n->is_read || layer < -1 || layer >= n->plan.count)
        return -1;
    return settle(n, memory, layer < 0 ? NULL : n->plan.layer[layer]->region, layer + 1);
}
