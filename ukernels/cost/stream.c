/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Estimates the cycles of a loop nest from its instructions and the cache lines that it moves.
 *
 * Misses. From the innermost loop outwards, an operand's footprint in the loops so far is counted by struct
 * uk_view. A loop may access lines again that its previous iteration accessed: some of them, or all if its
 * stride for the operand is 0. A cache has kept a part of them, according to its room
 *
 * - for all lines of all operands that an iteration accesses, and
 * - in those of its sets that the operand's own lines map to.
 *
 * The others are misses. Replacement is taken to be random, as no cache replaces exactly the least recently
 * used line. If address bits beyond those within a page select the set, pages are taken to lie at random
 * places. Operands begin at cache lines. The nest is one of many equal runs: it begins with what a cache can
 * keep of all operands. Pages are counted in the same way for the two levels of the TLB.
 *
 * Cycles.
 *
 * - A line takes 64 bytes over the rate of the cache that it comes from; or, if more, that cache's latency
 *   over the number of misses in flight. Lines that arrive before they are needed, because the hardware or
 *   instructions prefetch them, take the former.
 * - Panels that are used many times: all their lines come from beyond L2 in the first use, whose instructions
 *   are few. That part overlaps nothing, unless a kernel prefetches the next panel while it uses the present
 *   one; then the core's `hint_hides` of it does.
 * - Stores commit one after another. A store to a line that is not in L1 and was not prefetched takes the
 *   core's `store_miss`; if the line is in L2, that times L2's latency over the last-level cache's.
 * - TLB misses are served one after another.
 * - On Intel's CPUs transfers between a core's caches overlap neither each other nor loads: the
 *   Execution-Cache-Memory model (Stengel, Treibig, Hager and Wellein, "Quantifying performance
 *   bottlenecks of stencil computations using the ECM model", ICS 2015). On AMD's and Arm's they do
 *   (Hofmann, Alappat, Hager, Fey and Wellein, "Bridging the architecture gap: abstracting
 *   performance-relevant properties of modern server processors", 2020).
 */
#include "cost.h"
#include <stddef.h>
#include <string.h>

enum { LINE = 64 }; /* bytes */

/* What an operand accesses in the innermost loops of the nest. */
struct footprint {
    double lines, pages; /* distinct ones */
    int64_t pitch;       /* of its runs */
    double run;          /* lines of a run */
};

/* Footprints in one iteration of the i outermost loops, i = 0 the whole nest: of each operand,
 * of[i][operand], and of all together, lines[i] and pages[i]. */
struct footprints {
    struct footprint of[UK_NEST_LOOPS + 1][UK_NEST_OPERANDS];
    double lines[UK_NEST_LOOPS + 1], pages[UK_NEST_LOOPS + 1];
};

/* Adds the footprints of operand o. Its view grows by one loop at a time. */
static void find_footprints(const struct uk_loop_nest *n, int o, struct footprints *f) {
    const struct uk_loop_operand *x = &n->operand[o];
    struct uk_view v = {.bytes = (int)x->length};

    uk_view_add(&v, x->runs, x->pitch);
    for (int i = n->loops; i >= 0; i--) {
        if (i < n->loops)
            uk_view_add(&v, n->extent[i], x->stride[i]);
        if (i > n->loops - x->register_loops)
            continue;
        const struct uk_runs r = uk_view_runs(&v, LINE), far = uk_view_runs(&v, COST_PAGE);
        const struct footprint all = {uk_runs_units(&r, LINE, LINE), uk_runs_units(&far, COST_PAGE, LINE),
                                      r.pitch, r.length / LINE};

        f->of[i][o] = all;
        f->lines[i] += all.lines;
        f->pages[i] += all.pages;
    }
}

/* The fraction of the cache's sets that the operand's runs map to: runs that are 2^s * odd bytes apart begin
 * at (bytes of a way) / 2^s different places. */
static double sets_of(const struct uk_cache *c, const struct footprint *f) {
    const int64_t way = c->size / c->ways, apart = f->pitch & -f->pitch;

    return apart ? uk_min_real(1, uk_max_real((double)way / (double)apart, 1) * uk_max_real(f->run, 1) *
                                      LINE / (double)way)
                 : 1;
}

/* The fraction h of `size` lines, accessed again and again, that a cache of `room` lines with random
 * replacement keeps: h = exp((h - 1) size / room), which is about the square of room / size. */
static double retained_fraction(double room, double size) {
    return size <= room ? 1 : room * room / (size * size);
}

/* The same if pages lie at random places: some sets have more lines than ways before the cache is full. The
 * mean over a Poisson distribution of pages, approximated by a rational function with an error of 0.03 at
 * most for 4 to 12 ways, and of 0.1 for 20. */
static double retained_fraction_by_pages(double room, double size, int ways) {
    const double r = size / room * (size / room), a = (double)(ways + 30) / (10 * ways) * r;

    return (1 + a) / (1 + a + a * r);
}

/* The fraction of an operand's lines that a cache keeps. They share their sets with those of the other
 * operands' lines that map there; `lines` are those of all operands. */
static double retained_fraction_of(const struct uk_cache *c, const struct footprint *f, double lines) {
    const double sets = sets_of(c, f), room = (double)(c->size / LINE) * sets,
                 size = f->lines + (lines - f->lines) * sets;

    return c->size / c->ways > COST_PAGE ? retained_fraction_by_pages(room, size, c->ways)
                                         : retained_fraction(room, size);
}

/* Misses of a loop, from those of one iteration. `before` and `after` are the distinct lines of one iteration
 * and of all; `kept` is the fraction of an iteration's lines that are still there in the next. */
static double outwards(double misses, double extent, double before, double after, double kept) {
    return after + extent * (misses - before) + (1 - kept) * uk_max_real(extent * before - after, 0);
}

/* Misses of operand o in a cache, per run of a nest that runs again and again: lines that the cache keeps
 * from one run to the next do not count. */
static double misses_of(const struct uk_loop_nest *n, const struct footprints *f, int o,
                        const struct uk_cache *c) {
    const struct footprint *all = &f->of[0][o];
    const double kept = retained_fraction_of(c, all, f->lines[0]), there = kept * all->lines;
    const int first = n->loops - n->operand[o].register_loops;
    double misses = f->of[first][o].lines;

    if (kept == 1)
        return 0;
    for (int i = first - 1; i >= 0; i--) {
        const struct footprint *in = &f->of[i + 1][o];

        misses = outwards(misses, (double)n->extent[i], in->lines, f->of[i][o].lines,
                          retained_fraction_of(c, in, f->lines[i + 1]));
    }
    return misses - there;
}

/* The same for pages, in a fully associative TLB of `entries` entries. */
static double misses_of_pages(const struct uk_loop_nest *n, const struct footprints *f, int o, int entries) {
    const double pages = f->of[0][o].pages, kept = retained_fraction(entries, f->pages[0]);
    const int first = n->loops - n->operand[o].register_loops;
    double misses = f->of[first][o].pages;

    for (int i = first - 1; i >= 0 && kept < 1; i--)
        misses = outwards(misses, (double)n->extent[i], f->of[i + 1][o].pages, f->of[i][o].pages,
                          retained_fraction(entries, f->pages[i + 1]));
    return kept < 1 ? misses - kept * pages : 0;
}

/* The fraction of an operand's lines that are not prefetched: the first two of each run that the hardware can
 * follow, or all if there are more runs at once than it can follow. A run ends at the end of a page if the
 * prefetcher stops there. */
static double unprefetched_fraction(const struct uk_machine *m, const struct uk_loop_nest *n,
                                    const struct uk_loop_operand *o) {
    double length = (double)o->length, streams = o->pitch > LINE ? (double)o->runs : 1;
    double longest = length;

    if (o->is_prefetched)
        return 0;
    for (int i = n->loops - 1; i >= 0 && streams <= m->core.prefetch.streams; i--) {
        const double on = (double)(o->stride[i] < 0 ? -o->stride[i] : o->stride[i]);

        if (on == 0 || n->extent[i] == 1)
            continue;
        if (on < length + LINE) {
            length += ((double)n->extent[i] - 1) * on;
            longest = length;
        } else {
            streams *= (double)n->extent[i];
        }
    }
    if (!m->core.prefetch.past_page)
        longest = uk_min_real(longest, COST_PAGE);
    return uk_min_real(1, 2 * LINE / longest);
}

/* Lines of an operand that the instructions in flight access: those of as many iterations of the body as the
 * reorder buffer holds. */
static double lines_in_flight(const struct uk_machine *m, const struct uk_loop_nest *n,
                              const struct uk_loop_operand *o) {
    const int inside = n->loops - o->register_loops - 1;
    struct uk_view v = {.bytes = (int)o->length};
    double bodies = 1;

    uk_view_add(&v, o->runs, o->pitch);
    for (int i = 0; i <= inside; i++)
        bodies *= (double)n->extent[i];
    if (inside >= 0 && n->instructions > 0) {
        const double each = n->instructions / bodies, more = m->core.reorder / m->core.issue / each;

        uk_view_add(&v, 1 + (int64_t)uk_min_real(more, (double)n->extent[inside] - 1), o->stride[inside]);
    }
    const struct uk_runs r = uk_view_runs(&v, LINE);
    return uk_max_real(uk_runs_units(&r, LINE, LINE), 1);
}

/* Cycles for `lines` lines from a cache or memory that delivers `bytes` per cycle. `ways`: 2 if they are
 * written back too, else 1. `late` is the fraction that is not prefetched: these take latency / in_flight
 * cycles each, if that is more. */
static double transfer(double lines, double ways, double late, double bytes, double latency,
                       double in_flight) {
    const double each = LINE / bytes;

    return lines * (ways * each + late * uk_max_real(latency / in_flight - each, 0));
}

/* Cycles of two kinds of work that overlap: those of the longer, and a part of the shorter, because the two
 * delay each other when they meet. The part is half of (shorter / longer). */
static double beside(double a, double b) {
    const double most = uk_max_real(a, b), rest = uk_min_real(a, b);

    return rest > 0 ? most + rest * rest / (2 * most) : most;
}

/* Cycles for lines that all operands bring from L2 into L1, from the last-level cache into L2, and from
 * memory. */
struct transfers {
    double from_l2, from_last, from_memory;
    double exposed; /* of the last two, what overlaps nothing */
};

static void add_operand(const struct uk_machine *m, const struct uk_loop_nest *n, const struct footprints *f,
                        int o, struct transfers *t) {
    const struct uk_core *core = &m->core;
    const struct uk_loop_operand *x = &n->operand[o];
    const struct uk_cache *last = m->uncore.cache.size ? &m->cache[UK_LLC] : NULL;
    const double into_first = misses_of(n, f, o, &m->cache[UK_L1]),
                 into_second = misses_of(n, f, o, &m->cache[UK_L2]),
                 into_last = last ? misses_of(n, f, o, last) : into_second;
    const double ways = x->is_written ? 2 : 1, late = x->is_written ? 0 : unprefetched_fraction(m, n, x),
                 in_flight = lines_in_flight(m, n, x), first = uk_min_real(core->l1.lines, in_flight),
                 second = uk_min_real(core->l2.lines, in_flight);
    const double pages = misses_of_pages(n, f, o, core->tlb.first),
                 walks =
                     core->tlb.second ? misses_of_pages(n, f, o, core->tlb.first + core->tlb.second) : pages;

    t->from_l2 += transfer(into_first, ways, late, core->l2.bytes, core->l2.latency, first) +
                  pages * core->tlb.latency + walks * core->tlb.walk;
    const double from_last = last ? transfer(into_second, ways, late, last->bytes, last->latency, first) : 0,
                 from_memory = transfer(into_last, ways, late, m->uncore.bytes, m->uncore.latency, second);

    t->from_last += (1 - x->exposed) * from_last;
    t->from_memory += (1 - x->exposed) * from_memory;
    t->exposed += x->exposed * uk_max_real(from_last, from_memory);
    if (x->is_written && !x->is_prefetched)
        t->from_l2 += core->store_miss * (into_second + (last ? core->l2.latency / last->latency : 0) *
                                                            uk_max_real(into_first - into_second, 0));
}

double uk_cost_nest(const struct uk_machine *m, const struct uk_loop_nest *n) {
    struct footprints f;
    struct transfers t = {0};

    memset(f.lines, 0, sizeof f.lines);
    memset(f.pages, 0, sizeof f.pages);
    for (int o = 0; o < n->operands; o++)
        find_footprints(n, o, &f);
    for (int o = 0; o < n->operands; o++)
        add_operand(m, n, &f, o, &t);
    if (m->core.serial_transfers)
        return t.exposed + n->loads +
               beside(uk_max_real(n->instructions - n->loads, 0), t.from_l2 + t.from_last + t.from_memory);
    return t.exposed + beside(beside(n->instructions, t.from_l2), beside(t.from_last, t.from_memory));
}
