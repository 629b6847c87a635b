/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measures the entries of the TLB's levels and the cost of a miss: chains with one line in each of n small
 * pages. The excess over as many lines in few pages is translation. (Large pages cannot be measured: a
 * hypervisor may back them with small ones.)
 */
#include <math.h>
#include "measure.h"

enum {
    GRID = 8,
    FIRST = 16,
    BETWEEN = 256 /* pages: more than any first level holds, fewer than a second level */
};

/* The stride is set to the system's page size. */
static struct uk_chain pages = {.uses_small_pages = true, .is_spread = true};
static const struct uk_chain compact = {.stride = UK_LINE, .window = 32 * 4096 / UK_LINE};

/* The i-th number of pages, GRID per octave; 0: there are no more. Half of L2 is left for the page table. */
static int64_t count(const struct uk_lab *lab, int i) {
    const int64_t octave = (int64_t)FIRST << i / GRID, n = octave + octave / GRID * (i % GRID);

    return n * lab->page <= lab->bytes && n * UK_LINE <= lab->machine.core.l2.size / 2 ? n : 0;
}

static double with_pages(const struct uk_lab *lab, int64_t n) {
    return uk_chase_cycles(lab, &pages, n);
}

static double translation(const struct uk_lab *lab, int64_t n) {
    return with_pages(lab, n) - uk_chase_cycles(lab, &compact, n);
}

void uk_tlb_begin(struct uk_lab *lab) {
    pages.stride = lab->page;
    for (int i = 0; count(lab, i); i++) {
        uk_point_add(lab, &uk_chase, &pages, count(lab, i), 0);
        uk_point_add(lab, &uk_chase, &compact, count(lab, i), 0);
    }
}

/* The largest number of pages at which a load takes less than the mean of the two translation costs; 0: there
 * is none. */
static int64_t largest(const struct uk_lab *lab, int64_t from, double near, double far) {
    int64_t found = 0;

    for (int i = 0; count(lab, i); i++) {
        const int64_t n = count(lab, i);
        if (n >= from && translation(lab, n) >= (near + far) / 2)
            return found;
        found = n;
    }
    return 0;
}

static int64_t most(const struct uk_lab *lab) {
    int i = 0;

    while (count(lab, i))
        i++;
    return count(lab, i - 1);
}

static void say_second(struct uk_lab *lab, double latency) {
    static const char reason[] =
        "no misses of the second level were seen with half as many pages as the second cache has lines";
    const double far = translation(lab, most(lab));
    const int64_t second = far > 1.5 * latency ? largest(lab, BETWEEN, latency, far) : 0;

    if (!second) {
        uk_lab_add_reason(lab, "tlb.second", reason);
        uk_lab_add_reason(lab, "tlb.walk", reason);
        return;
    }
    uk_lab_add_answer(lab, "tlb.second", (double)second);
    uk_lab_add_answer(lab, "tlb.walk", far);
}

void uk_tlb_end(struct uk_lab *lab) {
    static const char reason[] =
        "accesses to at most 256 pages take no longer than to as many lines in few pages";
    const double latency = translation(lab, BETWEEN);
    const int64_t first = latency > 1 ? largest(lab, 0, 0, latency) : 0;

    uk_lab_add_reason(lab, "tlb.page", "reported by the system");
    if (!first) {
        uk_lab_add_reason(lab, "tlb.first", reason);
        uk_lab_add_reason(lab, "tlb.latency", reason);
        uk_lab_add_reason(lab, "tlb.second", reason);
        uk_lab_add_reason(lab, "tlb.walk", reason);
        return;
    }
    uk_lab_add_answer(lab, "tlb.first", (double)first);
    uk_lab_add_answer(lab, "tlb.latency", latency);
    say_second(lab, latency);
}
