/* SPDX-License-Identifier: Apache-2.0 */
/* The time of a launch on a GPU: which block runs where, and what bounds each compute unit. */
#include <stdlib.h>
#include "machine.h"

enum { MAX_SIMDS = 8, SHARED_GRANULE = 512, ACCUMULATION = 4 };

const char *const uk_device_bound_names[UK_DEVICE_BOUNDS] = {
    "instructions", "matrix units", "shared memory", "L2", "latency", "memory",
};

/* A compute unit, with what its blocks so far use. */
struct unit {
    double issue[MAX_SIMDS][UK_ISSUES], matrix[MAX_SIMDS];
    double shared, lines;
    /* of groups of resident blocks, one after the other; the longest of the last group, and its size */
    double alone, longest;
    int in_group;
    int simd; /* of the next wave */
    double cycles;
    enum uk_device_bound bound;
};

static int64_t up(int64_t n, int64_t granule) {
    return (n + granule - 1) / granule * granule;
}

int uk_device_registers(int vgprs, int agprs) {
    return agprs ? (int)up(vgprs, ACCUMULATION) + agprs : vgprs;
}

int uk_device_resident(const struct uk_device *d, int registers, int64_t shared_bytes, int threads) {
    const int waves = (threads + d->lanes - 1) / d->lanes;
    const int by_registers = d->registers / (int)up(registers ? registers : 1, d->granule);
    const int of_simd = by_registers < d->waves ? by_registers : d->waves;
    int blocks = waves ? of_simd * d->simds / waves : 0;

    if (shared_bytes && blocks > d->shared_bytes / up(shared_bytes, SHARED_GRANULE))
        blocks = (int)(d->shared_bytes / up(shared_bytes, SHARED_GRANULE));
    return blocks;
}

static void bound(struct unit *u, enum uk_device_bound b, double cycles) {
    if (cycles > u->cycles) {
        u->cycles = cycles;
        u->bound = b;
    }
}

static void add_block(struct unit *u, const struct uk_core *core, const struct uk_device_launch *l,
                      const struct uk_block_time *b) {
    const struct uk_device *d = &core->device;

    for (int w = 0; w < l->waves; w++, u->simd = (u->simd + 1) % d->simds) {
        for (int i = 0; i < UK_ISSUES; i++) {
            u->issue[u->simd][i] += (double)b->issue[i] / l->waves;
            bound(u, UK_DEVICE_BOUND_ISSUE, u->issue[u->simd][i]);
        }
        bound(u, UK_DEVICE_BOUND_MATRIX, u->matrix[u->simd] += (double)b->matrix / l->waves);
    }
    if (u->in_group == l->resident) {
        u->alone += u->longest;
        u->longest = u->in_group = 0;
    }
    u->in_group++;
    u->longest = (double)b->alone > u->longest ? (double)b->alone : u->longest;
    bound(u, UK_DEVICE_BOUND_SHARED, u->shared += (double)b->shared);
    bound(u, UK_DEVICE_BOUND_L2, (u->lines += (double)b->lines) * d->line / core->l2.bytes);
    bound(u, UK_DEVICE_BOUND_LATENCY, u->alone + u->longest);
}

static struct unit *first_free(struct unit *unit, int units) {
    struct unit *first = unit;

    for (int i = 1; i < units; i++)
        first = unit[i].cycles < first->cycles ? &unit[i] : first;
    return first;
}

bool uk_device_time(const struct uk_core *core, const struct uk_device_launch *l,
                    struct uk_launch_time *out) {
    const struct uk_device *d = &core->device;
    const uint64_t units = (uint64_t)d->units, first = units * (uint64_t)(l->resident ? l->resident : 1);
    struct unit *unit = calloc((size_t)units, sizeof *unit);
    double sum = 0, least = 0;

    *out = (struct uk_launch_time){.cycles = 0};
    if (!unit)
        return false;
    for (uint64_t i = 0; i < l->blocks; i++)
        add_block(i < first ? &unit[i % units] : first_free(unit, d->units), core, l, &l->block[i]);
    for (int i = 0; i < d->units; i++) {
        sum += unit[i].cycles;
        least = !i || unit[i].cycles < least ? unit[i].cycles : least;
        if (unit[i].cycles > out->cycles) {
            out->cycles = unit[i].cycles;
            out->bound = unit[i].bound;
        }
    }
    out->busy = out->cycles > 0 ? sum / (double)units / out->cycles : 0;
    out->tail = out->cycles > 0 ? 1 - least / out->cycles : 0;
    if (l->distinct_lines * d->line / d->memory_rate > out->cycles) {
        out->cycles = l->distinct_lines * d->line / d->memory_rate;
        out->bound = UK_DEVICE_BOUND_MEMORY;
    }
    free(unit);
    return true;
}
