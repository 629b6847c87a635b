/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chooses points. Those that determine a form are near the largest sizes but not at them, where they can, so
 * that no extent of 1 or 0 and no coincidence of two extents hides what a program depends on. The others are
 * the corners of the ranges; values next to the bounds, as a program may differ there; all values of a small
 * range; and a few in between.
 */
#include <string.h>
#include "ranges/ranges.h"

enum { MOST_POINTS = 200, FEW_VALUES = 6, DRAWN = 5, MOST_CORNERS = 3 };

static int64_t lower(const struct uk_graph *g, int i) {
    return g->open[i]->lower / g->open[i]->step;
}

static int64_t upper(const struct uk_graph *g, int i) {
    return g->open[i]->upper / g->open[i]->step;
}

/* Returns the point's number; an equal one may exist. -1: too many. */
static int add(struct uk_graph *g, const int64_t *size) {
    struct uk_size_points *p = &g->points;

    for (int i = 0; i < p->count; i++)
        if (!memcmp(p->size[i], size, sizeof *p->size))
            return i;
    if (p->count == MOST_POINTS)
        return -1;
    memcpy(p->size[p->count], size, sizeof *p->size);
    return p->count++;
}

/* Adds the point that is `by` from the base in size i and `more` in size j. */
static int add_near(struct uk_graph *g, int i, int64_t by, int j, int64_t more) {
    int64_t size[UK_MAX_OPEN];

    memcpy(size, g->points.size[g->points.base], sizeof size);
    size[i] += by;
    size[j] += more;
    return size[i] < lower(g, i) || size[j] < lower(g, j) ? -1 : add(g, size);
}

static void add_determining(struct uk_graph *g) {
    struct uk_size_points *p = &g->points;
    int64_t base[UK_MAX_OPEN] = {0};

    for (int i = 0; i < g->open_count; i++)
        base[i] = upper(g, i) - (upper(g, i) - lower(g, i) > 2);
    p->base = add(g, base);
    for (int i = 0; i < g->open_count; i++) {
        for (int k = 0; k < 2; k++)
            p->below[i][k] = add_near(g, i, -1 - k, i, 0);
        for (int j = i + 1; j < g->open_count; j++)
            p->across[i][j] = add_near(g, i, -1, j, -1);
    }
}

static void add_corners(struct uk_graph *g) {
    const int corners = g->open_count > MOST_CORNERS ? 1 : 1 << g->open_count;
    int64_t size[UK_MAX_OPEN] = {0};

    for (int c = 0; c < corners; c++) {
        for (int i = 0; i < g->open_count; i++)
            size[i] = c >> i & 1 ? upper(g, i) : lower(g, i);
        add(g, size);
    }
}

/* Adds points with the value in size i: one with the base's other sizes, one with the smallest. */
static void add_value(struct uk_graph *g, int i, int64_t value) {
    int64_t size[UK_MAX_OPEN] = {0};

    if (value < lower(g, i) || value > upper(g, i))
        return;
    memcpy(size, g->points.size[g->points.base], sizeof size);
    size[i] = value;
    add(g, size);
}

static void add_drawn(struct uk_graph *g) {
    uint64_t state = 1;

    for (int k = 0; k < DRAWN; k++) {
        int64_t size[UK_MAX_OPEN] = {0};
        for (int i = 0; i < g->open_count; i++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            size[i] = lower(g, i) + (int64_t)((state >> 33) % (uint64_t)(upper(g, i) - lower(g, i) + 1));
        }
        add(g, size);
    }
}

enum uk_status uk_points_choose(struct uk_graph *g) {
    struct uk_size_points *p = &g->points;
    int64_t largest[UK_MAX_OPEN] = {0};

    p->size = uk_alloc(&g->arena, MOST_POINTS * sizeof *p->size);
    if (!p->size)
        return uk_graph_no_memory(g);
    for (int i = 0; i < g->open_count; i++)
        largest[i] = upper(g, i);
    add(g, largest);
    add_determining(g);
    add_corners(g);
    for (int i = 0; i < g->open_count; i++) {
        const int64_t low = lower(g, i), high = upper(g, i);
        for (int k = 0; k < FEW_VALUES / 2; k++) {
            add_value(g, i, low + k);
            add_value(g, i, high - k);
        }
        add_value(g, i, (low + high) / 2);
        add_value(g, i, (low + 3 * high) / 4 | 1);
    }
    add_drawn(g);
    return UK_OK;
}
