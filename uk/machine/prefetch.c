/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What hardware prefetches: loads of line after line, each of which waits for the one before, so that a line
 * that was not fetched beforehand takes memory's latency, and one that was takes less than half of it. One
 * load instruction follows all streams, which lie in random order: equal distances between them would be
 * followed as well.
 */
#include <math.h>
#include "measure.h"

enum {
    APART = 5 * 4096, /* of streams: an odd number of pages, so that they lie in all sets */
    WALKED = 128,     /* lines of a stream, in two pages */
    PLACES = 32,      /* at which the reach is tried */
    PAGE_LINES = 64,
    HALF = PAGE_LINES / 2, /* lines that are read there, or a page's, then one further on */
    FEW = 4,               /* streams that all prefetchers follow, if they follow any */
    BEYOND = 4,            /* lines in the next page that are tried */
    WORD = 8               /* of each line: that which no chain uses, 0 */
};
static const int counts[] = {1, 2, 4, 6, 8, 10, 12, 14, 16, 20, 24, 28, 32, 40, 48, 64};
enum { COUNTS = sizeof counts / sizeof *counts };

static void flush_places(struct uk_lab *lab, int64_t places, int64_t lines) {
    uk_random_order(lab, places, places);
    for (int64_t i = 0; i < places; i++)
        for (int64_t j = 0; j < lines; j++)
            uk_flush(lab->large + i * APART + j * UK_LINE);
    uk_flush_end();
}

/* Of the i-th place in lab->order. */
static uint64_t load(const struct uk_lab *lab, int64_t i, int64_t line, uint64_t zero) {
    return *(const volatile uint64_t *)(lab->large + lab->order[i] * (int64_t)APART + line * UK_LINE + WORD +
                                        zero);
}

/* ---- streams ---- */

/* a: how many. */
static void flush_streams(struct uk_lab *lab, const struct uk_measured *p) {
    flush_places(lab, p->a, WALKED);
}

static double walk_streams(struct uk_lab *lab, const struct uk_measured *p) {
    uint64_t zero = 0;

    for (int64_t j = 0; j < WALKED; j++)
        for (int64_t i = 0; i < p->a; i++)
            zero = load(lab, i, j, zero);
    uk_hidden(zero);
    return (double)(WALKED * p->a);
}

static const struct uk_trial streams = {.prepare = flush_streams, .run = walk_streams, .median = true};

/* ---- reach ---- */

/* a: lines that are read at each place, from a page's beginning on; b: the line that is tried then. */
static void approach(struct uk_lab *lab, const struct uk_measured *p) {
    uint64_t zero = 0;

    flush_places(lab, PLACES, 2 * PAGE_LINES);
    for (int64_t i = 0; i < PLACES; i++)
        for (int64_t j = 0; j < p->a; j++)
            zero = load(lab, i, j, zero);
    /* What was begun by then arrives while the clock is looked at. */
    uk_hidden(zero);
}

static double try_next(struct uk_lab *lab, const struct uk_measured *p) {
    uint64_t zero = 0;

    for (int64_t i = 0; i < PLACES; i++)
        zero = load(lab, i, p->b, zero);
    uk_hidden(zero);
    return PLACES;
}

static const struct uk_trial reach = {.prepare = approach, .run = try_next};

void uk_prefetch_begin(struct uk_lab *lab) {
    if (!uk_can_flush())
        return;
    for (int i = 0; i < COUNTS; i++)
        uk_point_add(lab, &streams, NULL, counts[i], 0);
    for (int d = 0; d < HALF; d++)
        uk_point_add(lab, &reach, NULL, HALF, HALF + d);
    for (int d = 0; d < PAGE_LINES; d++)
        uk_point_add(lab, &reach, NULL, PAGE_LINES, PAGE_LINES + d);
}

/* ---- answers ---- */

/* Half of what lines take that nothing fetched. */
static double limit(const struct uk_lab *lab) {
    return uk_memory_latency(lab) / 2;
}

/* The farthest line that comes early after so many. */
static int64_t farthest(const struct uk_lab *lab, int64_t read) {
    int64_t found = 0;

    for (int d = 0; d < read; d++)
        if (uk_point_cycles(lab, &reach, NULL, read, read + d) < limit(lab))
            found = d + 1;
    return found * UK_LINE;
}

static bool goes_on(const struct uk_lab *lab) {
    for (int d = 0; d < BEYOND; d++)
        if (uk_point_cycles(lab, &reach, NULL, PAGE_LINES, PAGE_LINES + d) < limit(lab))
            return true;
    return false;
}

/* Lines of as many streams take less than twice what those of a few do. */
static int followed(const struct uk_lab *lab) {
    double few = INFINITY;
    int i = 0;

    for (int j = 0; j < COUNTS && counts[j] <= FEW; j++)
        few = fmin(few, uk_point_cycles(lab, &streams, NULL, counts[j], 0));
    if (few >= limit(lab))
        return 0;
    while (i < COUNTS && (counts[i] <= FEW || uk_point_cycles(lab, &streams, NULL, counts[i], 0) < 2 * few))
        i++;
    return counts[i - 1];
}

void uk_prefetch_end(struct uk_lab *lab) {
    static const char reason[] = "this architecture's programs cannot take lines out of caches";

    if (!uk_can_flush()) {
        uk_cannot(lab, "prefetch.streams", reason);
        uk_cannot(lab, "prefetch.ahead", reason);
        uk_cannot(lab, "prefetch.past_page", reason);
        return;
    }
    uk_say(lab, "prefetch.streams", followed(lab));
    uk_say(lab, "prefetch.ahead", fmax((double)farthest(lab, HALF), (double)farthest(lab, PAGE_LINES)));
    uk_say(lab, "prefetch.past_page", goes_on(lab));
}
