/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a loop nest costs by the lines that it moves.
 *
 * Lines. From the innermost loop outwards, an operand's footprint in the loops so far is counted by its view.
 * Where a loop comes back to lines that the iteration before has touched, or to all of them, because its
 * stride for the operand is 0, a cache has kept the part of them for which there is room among all that an
 * iteration touches, and among the sets that the operand's own lines map to. The others are misses. The part
 * is that of random replacement, as no cache's is that of the least recently used, and of pages at random
 * places where a cache's sets are chosen by more bits of the address than those within a page. Operands begin
 * with lines; what a cache keeps of all operands is there when the nest begins. Pages and the two levels of
 * the TLB are counted in the same way.
 *
 * Cycles. A line takes what its cache delivers it in (64 bytes over the rate), or the latency over the number
 * of misses that may be in flight if that is more, as it is not for lines that come before they are needed:
 * those of streams that the hardware follows, and those that instructions prefetch. Stores commit one after
 * the other, so that each to a line that is not in L1 and was not prefetched takes the time of the core's
 * `store_miss`, or, from L2, as much less of it as L2's latency is less than the last cache's. Translations
 * are one after the other. In the Execution-Cache-Memory model (Stengel, Treibig, Hager and Wellein,
 * "Quantifying performance bottlenecks of stencil computations using the ECM model", ICS 2015) transfers
 * between a core's caches on Intel's CPUs run neither at the same time nor while loads do; on AMD's and Arm's
 * they do (Hofmann, Alappat, Hager, Fey and Wellein, "Bridging the architecture gap: abstracting
 * performance-relevant properties of modern server processors", 2020).
 */
#include "cost.h"
#include <stddef.h>
#include <string.h>

enum { LINE = 64 }; /* bytes */

/* What an operand touches in some loops of the nest. */
struct footprint {
    double lines, pages; /* that are distinct */
    int64_t pitch;       /* of its runs */
    double run;          /* lines of a run */
};

/* By how many loops of the nest are outside: of each operand, and of all together. */
struct footprints {
    struct footprint of[UK_NEST_LOOPS + 1][UK_NEST_OPERANDS];
    double lines[UK_NEST_LOOPS + 1], pages[UK_NEST_LOOPS + 1];
};

/* The view grows by a loop at a time. */
static void find_footprints(const struct uk_loop_nest *n, int o, struct footprints *f) {
    const struct uk_loop_operand *x = &n->operand[o];
    struct uk_view v = {.bytes = (int)x->length};

    uk_view_add(&v, x->runs, x->pitch);
    for (int i = n->loops; i >= 0; i--) {
        if (i < n->loops)
            uk_view_add(&v, n->extent[i], x->stride[i]);
        if (i > n->loops - x->held)
            continue;
        const struct uk_runs r = uk_view_runs(&v, LINE), far = uk_view_runs(&v, COST_PAGE);
        const struct footprint all = {uk_runs_units(&r, LINE, LINE), uk_runs_units(&far, COST_PAGE, LINE),
                                      r.pitch, r.length / LINE};

        f->of[i][o] = all;
        f->lines[i] += all.lines;
        f->pages[i] += all.pages;
    }
}

/* The part of the cache's sets that runs `pitch` bytes apart map to: such begin in one of way / 2^s places.
 * */
static double sets_of(const struct uk_cache *c, const struct footprint *f) {
    const int64_t way = c->size / c->ways, apart = f->pitch & -f->pitch;

    return apart ? uk_min_real(1, uk_max_real((double)way / (double)apart, 1) * uk_max_real(f->run, 1) *
                                      LINE / (double)way)
                 : 1;
}

/* The part that a cache with random replacement keeps of what is accessed again and again, h = exp((h - 1)
 * size / room), is about the square of room over size. */
static double kept_in(double room, double size) {
    return size <= room ? 1 : room * room / (size * size);
}

/* The same where pages lie at random places: some sets have more lines than ways before the cache is full.
 * The mean over a Poisson distribution of pages, by a fraction that is within 0.03 of it for 4 to 12 ways and
 * 0.1 for 20. */
static double kept_of_pages(double room, double size, int ways) {
    const double r = size / room * (size / room), a = (double)(ways + 30) / (10 * ways) * r;

    return (1 + a) / (1 + a + a * r);
}

/* The part of an operand's lines that is kept in their sets, beside the part of all `lines` that map there
 * too. */
static double kept_of(const struct uk_cache *c, const struct footprint *f, double lines) {
    const double sets = sets_of(c, f), room = (double)(c->size / LINE) * sets,
                 size = f->lines + (lines - f->lines) * sets;

    return c->size / c->ways > COST_PAGE ? kept_of_pages(room, size, c->ways) : kept_in(room, size);
}

/* One more loop: of what an iteration touches, `before`, with so many misses, the part `kept` is there when
 * the next one comes back to it; all iterations touch `after`. */
static double outwards(double misses, double extent, double before, double after, double kept) {
    return after + extent * (misses - before) + (1 - kept) * uk_max_real(extent * before - after, 0);
}

/* How often a line of the operand is not in the cache, in a nest that runs again and again: what the cache
 * keeps of all is there when it begins. */
static double misses_of(const struct uk_loop_nest *n, const struct footprints *f, int o,
                        const struct uk_cache *c) {
    const struct footprint *all = &f->of[0][o];
    const double kept = kept_of(c, all, f->lines[0]), there = kept * all->lines;
    const int first = n->loops - n->operand[o].held;
    double misses = f->of[first][o].lines;

    if (kept == 1)
        return 0;
    for (int i = first - 1; i >= 0; i--) {
        const struct footprint *in = &f->of[i + 1][o];

        misses = outwards(misses, (double)n->extent[i], in->lines, f->of[i][o].lines,
                          kept_of(c, in, f->lines[i + 1]));
    }
    return misses - there;
}

/* How often a page is not among so many entries of the TLB, which has no sets. */
static double misses_of_pages(const struct uk_loop_nest *n, const struct footprints *f, int o, int entries) {
    const double pages = f->of[0][o].pages, kept = kept_in(entries, f->pages[0]);
    const int first = n->loops - n->operand[o].held;
    double misses = f->of[first][o].pages;

    for (int i = first - 1; i >= 0 && kept < 1; i--)
        misses = outwards(misses, (double)n->extent[i], f->of[i + 1][o].pages, f->of[i][o].pages,
                          kept_in(entries, f->pages[i + 1]));
    return kept < 1 ? misses - kept * pages : 0;
}

/* The part of an operand's lines that nothing fetches early: the first two of each run that the hardware
 * could follow, or all where it cannot follow so many at once. A run ends at the end of a page where streams
 * do. */
static double unforeseen(const struct uk_machine *m, const struct uk_loop_nest *n,
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

/* Lines of an operand that the instructions in flight access: those of as many bodies as these make. */
static double reached(const struct uk_machine *m, const struct uk_loop_nest *n,
                      const struct uk_loop_operand *o) {
    const int inside = n->loops - o->held - 1;
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

/* Cycles for so many lines, a part of them too late, from where each takes LINE / bytes cycles or its latency
 * over the misses in flight; as many go back if they were written. */
static double transfer(double lines, double ways, double late, double bytes, double latency,
                       double in_flight) {
    const double each = LINE / bytes;

    return lines * (ways * each + late * uk_max_real(latency / in_flight - each, 0));
}

/* Work that runs beside longer work waits for it as often as the two meet: half of the share of the time that
 * it takes shows. */
static double beside(double a, double b) {
    const double most = uk_max_real(a, b), rest = uk_min_real(a, b);

    return rest > 0 ? most + rest * rest / (2 * most) : most;
}

/* Cycles for what all operands bring into L1, into L2 and into the last cache. */
struct transfers {
    double from_l2, from_last, from_memory;
};

static void add_operand(const struct uk_machine *m, const struct uk_loop_nest *n, const struct footprints *f,
                        int o, struct transfers *t) {
    const struct uk_core *core = &m->core;
    const struct uk_loop_operand *x = &n->operand[o];
    const struct uk_cache *last = m->uncore.cache.size ? &m->cache[UK_LLC] : NULL;
    const double into_first = misses_of(n, f, o, &m->cache[UK_L1]),
                 into_second = misses_of(n, f, o, &m->cache[UK_L2]),
                 into_last = last ? misses_of(n, f, o, last) : into_second;
    const double ways = x->is_written ? 2 : 1, late = x->is_written ? 0 : unforeseen(m, n, x),
                 reach = reached(m, n, x), first = uk_min_real(core->l1.lines, reach),
                 second = uk_min_real(core->l2.lines, reach);
    const double pages = misses_of_pages(n, f, o, core->tlb.first),
                 walks =
                     core->tlb.second ? misses_of_pages(n, f, o, core->tlb.first + core->tlb.second) : pages;

    t->from_l2 += transfer(into_first, ways, late, core->l2.bytes, core->l2.latency, first) +
                  pages * core->tlb.latency + walks * core->tlb.walk;
    if (last)
        t->from_last += transfer(into_second, ways, late, last->bytes, last->latency, first);
    if (x->is_written && !x->is_prefetched)
        t->from_l2 += core->store_miss * (into_second + (last ? core->l2.latency / last->latency : 0) *
                                                            uk_max_real(into_first - into_second, 0));
    t->from_memory += transfer(into_last, ways, late, m->uncore.bytes, m->uncore.latency, second);
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
        return n->loads +
               beside(uk_max_real(n->instructions - n->loads, 0), t.from_l2 + t.from_last + t.from_memory);
    return beside(beside(n->instructions, t.from_l2), beside(t.from_last, t.from_memory));
}
