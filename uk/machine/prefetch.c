/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Detects hardware prefetching. Dependent loads read consecutive lines: a line that was not prefetched takes
 * memory's latency, a prefetched one less than half of it. A single load instruction walks all streams, which
 * lie in random order, as equal distances between streams would be prefetched too.
 */
#include <math.h>
#include "measure.h"

enum {
    APART = 5 * 4096, /* bytes between streams: an odd number of pages, so that streams use all sets */
    WALKED = 128,     /* lines per stream, on two pages */
    PLACES = 32,      /* places at which each distance is tried */
    PAGE_LINES = 64,
    HALF = PAGE_LINES / 2, /* lines read at a place before the test; alternatively all lines of a page */
    FEW = 4,               /* number of streams that any prefetcher follows */
    BEYOND = 4,            /* lines of the next page that are tested */
    WORD = 8               /* offset in a line that no chain uses, so it is 0 */
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

/* Loads a line of the i-th place in lab->order; `zero` makes it depend on the previous load. */
static uint64_t load(const struct uk_lab *lab, int64_t i, int64_t line, uint64_t zero) {
    return *(const volatile uint64_t *)(lab->large + lab->order[i] * (int64_t)APART + line * UK_LINE + WORD +
                                        zero);
}

/* ---- streams ---- */

/* Parameter a: number of streams. */
static void flush_streams(struct uk_lab *lab, const struct uk_measured *p) {
    flush_places(lab, p->a, WALKED);
}

static double walk_streams(struct uk_lab *lab, const struct uk_measured *p) {
    uint64_t zero = 0;

    for (int64_t j = 0; j < WALKED; j++)
        for (int64_t i = 0; i < p->a; i++)
            zero = load(lab, i, j, zero);
    uk_hide_value(zero);
    return (double)(WALKED * p->a);
}

static const struct uk_trial streams = {.prepare = flush_streams, .run = walk_streams, .median = true};

/* ---- prefetch distance ---- */

/* Parameters: a, lines read at each place, from the start of a page; b, the line tested then. */
static void approach(struct uk_lab *lab, const struct uk_measured *p) {
    uint64_t zero = 0;

    flush_places(lab, PLACES, 2 * PAGE_LINES);
    for (int64_t i = 0; i < PLACES; i++)
        for (int64_t j = 0; j < p->a; j++)
            zero = load(lab, i, j, zero);
    /* Prefetches that have begun complete while the clock is read. */
    uk_hide_value(zero);
}

static double try_next(struct uk_lab *lab, const struct uk_measured *p) {
    uint64_t zero = 0;

    for (int64_t i = 0; i < PLACES; i++)
        zero = load(lab, i, p->b, zero);
    uk_hide_value(zero);
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

/* Half of the latency of a line that was not prefetched. */
static double limit(const struct uk_lab *lab) {
    return uk_memory_latency(lab) / 2;
}

/* The farthest line that is prefetched after `read` lines. */
static int64_t farthest(const struct uk_lab *lab, int64_t read) {
    int64_t found = 0;

    for (int d = 0; d < read; d++)
        if (uk_point_cycles(lab, &reach, NULL, read, read + d) < limit(lab))
            found = d + 1;
    return found * UK_LINE;
}

static bool continues_scan(const struct uk_lab *lab) {
    for (int d = 0; d < BEYOND; d++)
        if (uk_point_cycles(lab, &reach, NULL, PAGE_LINES, PAGE_LINES + d) < limit(lab))
            return true;
    return false;
}

/* Number of streams whose lines take less than twice as long as with few streams. */
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
    static const char reason[] = "programs of this architecture cannot evict cache lines";

    if (!uk_can_flush()) {
        uk_lab_add_reason(lab, "prefetch.streams", reason);
        uk_lab_add_reason(lab, "prefetch.ahead", reason);
        uk_lab_add_reason(lab, "prefetch.past_page", reason);
        return;
    }
    uk_lab_add_answer(lab, "prefetch.streams", followed(lab));
    uk_lab_add_answer(lab, "prefetch.ahead",
                      fmax((double)farthest(lab, HALF), (double)farthest(lab, PAGE_LINES)));
    uk_lab_add_answer(lab, "prefetch.past_page", continues_scan(lab));
}
