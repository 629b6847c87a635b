/* SPDX-License-Identifier: Apache-2.0 */
/* Loops and branches: ranges of nodes that run several times, or not at all. */
#include <string.h>
#include "graph/graph.h"

struct uk_graph_region *uk_region_new(struct uk_graph *g, struct uk_graph_region *outside) {
    struct uk_graph_region *r = uk_alloc(&g->arena, sizeof *r), **end = &g->regions;

    if (!r)
        return NULL;
    r->outside = outside;
    r->number = g->region_count++;
    r->last = -1;
    while (*end)
        end = &(*end)->next;
    *end = r;
    return r;
}

int64_t uk_region_trips(const struct uk_graph_region *r) {
    if (r->is_branch)
        return 1;
    if (r->extent_of)
        return r->extent_of->extent[r->dimension];
    if (!r->count || !r->count->data)
        return -1;
    const int64_t count = uk_constant_int(r->count, 0);
    return count < 0 ? 0 : count;
}

bool uk_region_contains(const struct uk_graph_region *outer, const struct uk_graph_region *r) {
    while (r && r != outer)
        r = r->outside;
    return r == outer;
}

struct uk_graph_region *uk_region_within(const struct uk_graph_region *outer, struct uk_graph_region *r) {
    while (r && r->outside != outer)
        r = r->outside;
    return r;
}

int64_t uk_value_part(const struct uk_graph_value *v, const void *memory) {
    const int64_t parts = v->storage->extent[0];
    int64_t at;

    memcpy(&at, (const char *)memory + v->mover->counter->offset, sizeof at);
    return at < 0 || at >= parts ? 0 : v->is_reversed ? parts - 1 - at : at;
}
