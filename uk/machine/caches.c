/* SPDX-License-Identifier: Apache-2.0 */
/* Measures size, associativity and latency of caches by pointer chains, their bandwidth, and the number of
 * outstanding misses. */
#include <math.h>
#include "measure.h"
#include "ukernels.h"

enum { WAYS = 20, GRID = 4 /* sizes per octave */ };

/* Lines 1 MB apart, which map to one set in every level whose way size divides 1 MB. */
static const struct uk_chain one_set = {.stride = 1 << 20};

/* ---- bandwidth ---- */

static const struct uk_micro *reading(const struct uk_lab *lab) {
    const struct uk_micro *best = NULL;

    for (const struct uk_micro *l = uk_micros; l->run; l++)
        if (l->kind == UK_MICRO_READ && l->bytes <= uk_core_vectors(&lab->machine.core, INT32_MAX)->bytes &&
            !uk_cpu_lacks(l->features, NULL, 0))
            best = l;
    return best;
}

/* Fallback without vector loops: reads words. */
static void read_words(const char *from, int64_t bytes) {
    const char *const end = from + bytes;
    uint64_t sum = 0;

    for (; from < end; from += 64)
        for (int i = 0; i < 64; i += (int)sizeof(void *))
            sum += *(const volatile uintptr_t *)(from + i);
    uk_hide_value(sum);
}

static void read_all(const struct uk_micro *l, char *from, int64_t bytes) {
    if (l)
        l->run((long)(bytes / (8 * l->bytes)), from);
    else
        read_words(from, bytes);
}

/* Parameters: a, bytes; b, true to read from memory. */
static void fill(struct uk_lab *lab, const struct uk_measured *p) {
    read_all(p->what, lab->large, p->a);
    for (int64_t i = 0; i < p->a && p->b; i += UK_LINE)
        uk_flush(lab->large + i);
    uk_flush_end();
    for (int i = 0; i < UK_PASSES && !p->b; i++)
        read_all(p->what, lab->large, p->a);
}

static double read_bytes(struct uk_lab *lab, const struct uk_measured *p) {
    const int64_t passes = p->a < 1 << 17 ? (1 << 17) / p->a : 1;

    for (int64_t i = 0; i < passes; i++)
        read_all(p->what, lab->large, p->a);
    return (double)(passes * p->a);
}

static const struct uk_trial read = {.prepare = fill, .run = read_bytes};

/* ---- outstanding misses: independent loads in the order of a chain ---- */

enum { LOADS = 2048 };

/* Parameter b: true to read from memory. */
static void scatter(struct uk_lab *lab, const struct uk_measured *p) {
    uk_random_order(lab, p->a, uk_lines.window);
    for (int64_t i = 0; i < p->a; i++)
        lab->order[i] *= (uint32_t)uk_lines.stride;
    for (int pass = 0; pass < UK_PASSES && !p->b; pass++)
        for (int64_t i = 0; i < p->a; i++)
            *(volatile char *)(lab->large + lab->order[i]);
    for (int64_t i = 0; i < p->a && p->b; i++)
        uk_flush(lab->large + lab->order[i]);
    uk_flush_end();
}

static double gather(struct uk_lab *lab, const struct uk_measured *p) {
    const char *const base = lab->large;

    for (int i = 0; i < LOADS; i += 8) {
        const uint32_t *o = lab->order + i;
        uint64_t v[8];
        for (int j = 0; j < 8; j++)
            v[j] = *(const volatile uint64_t *)(base + o[j]);
        for (int j = 0; j < 8; j++)
            uk_hide_value(v[j]);
    }
    (void)p;
    return LOADS;
}

static const struct uk_trial scattered = {.prepare = scatter, .run = gather};

/* ---- points ---- */

/* The i-th size of the grid in which a level's size is searched, in elements of a chain; 0: there are no
 * more. */
static int64_t grid(int level, int i) {
    const int64_t first = level == 1 ? 8192 : 131072, last = level == 1 ? 131072 : 4 << 20;
    const int64_t bytes = (first << i / GRID) + (first << i / GRID) / GRID * (i % GRID);

    return bytes <= last ? bytes / uk_lines.stride : 0;
}

static int64_t lines_in(const struct uk_lab *lab, int level) {
    return uk_bytes_in(lab, level) / uk_lines.stride;
}

void uk_caches_begin(struct uk_lab *lab) {
    const struct uk_micro *l = reading(lab);

    for (int level = 1; level <= 3; level++) {
        uk_point_add(lab, &uk_chase, &uk_lines, lines_in(lab, level), 0);
        uk_point_add(lab, &read, l, uk_bytes_in(lab, level), 0);
        for (int i = 0; level < 3 && grid(level, i); i++)
            uk_point_add(lab, &uk_chase, &uk_lines, grid(level, i), 0);
    }
    for (int i = 1; i <= WAYS; i++)
        uk_point_add(lab, &uk_chase, &one_set, i, 0);
    uk_point_add(lab, &scattered, NULL, lines_in(lab, 3), 0);
    if (uk_can_flush()) {
        uk_point_add(lab, &uk_chase, &uk_lines_flushed, lines_in(lab, 4), 0);
        uk_point_add(lab, &read, l, uk_bytes_in(lab, 4), 1);
        uk_point_add(lab, &scattered, NULL, lines_in(lab, 4), 1);
    }
}

/* ---- answers ---- */

/* The largest size or number of ways at which a load takes less than the mean of the latencies of this level
 * and the next; 0: no load, or every load, does. */
static int64_t largest(const struct uk_lab *lab, int level, double near, double far, bool ways) {
    const double limit = (near + far) / 2;
    int64_t found = 0;

    for (int i = ways ? 1 : 0; ways ? i <= WAYS : grid(level, i) != 0; i++) {
        const int64_t n = ways ? i : grid(level, i);
        if (uk_chase_cycles(lab, ways ? &one_set : &uk_lines, n) >= limit)
            return found;
        found = ways ? i : n * uk_lines.stride;
    }
    return 0;
}

static void say_found(struct uk_lab *lab, const char *field, int64_t found, const char *reason) {
    if (found)
        uk_lab_add_answer(lab, field, (double)found);
    else
        uk_lab_add_reason(lab, field, reason);
}

static void say_sizes(struct uk_lab *lab, const double *latency) {
    static const char noise[] = "no size, or every size, took longer than the level's latency";
    static const char pages[] =
        "lines a multiple of 1 MB apart do not share a set: the hypervisor's pages are small";

    say_found(lab, "l1.size", largest(lab, 1, latency[0], latency[1], false), noise);
    say_found(lab, "l1.ways", largest(lab, 1, latency[0], latency[1], true), noise);
    say_found(lab, "l2.size", largest(lab, 2, latency[1], latency[2], false), noise);
    say_found(lab, "l2.ways", largest(lab, 2, latency[1], latency[2], true), pages);
}

/* Reports what loops on one thread cannot show. */
static void say_what_is_shared(struct uk_lab *lab) {
    static const char shared[] = "only the part that other cores leave free can be measured; the value of "
                                 "cpuinfo or of the row is used";
    static const char sharing[] = "the value of cpuinfo or of the row is used";

    uk_lab_add_reason(lab, "l2_cores", sharing);
    uk_lab_add_reason(lab, "cores", sharing);
    uk_lab_add_reason(lab, "uncore.cores", sharing);
    if (!lab->machine.uncore.cache.size)
        return;
    uk_lab_add_reason(lab, "uncore.cache.size", shared);
    uk_lab_add_reason(lab, "uncore.cache.ways", "its slices are chosen by a hash of the address");
    uk_lab_add_reason(lab, "uncore.cache.lines", "one core does not fill it");
}

void uk_caches_end(struct uk_lab *lab) {
    const struct uk_micro *l = reading(lab);
    const bool can = uk_can_flush();
    double latency[3], bytes[3];
    const double memory = uk_memory_latency(lab);
    const double stream = 1 / uk_point_cycles(lab, &read, l, uk_bytes_in(lab, 4), 1);
    const double near = uk_point_cycles(lab, &scattered, NULL, lines_in(lab, 3), 0);
    const double far = uk_point_cycles(lab, &scattered, NULL, lines_in(lab, 4), 1);
    static const char reason[] = "programs of this architecture cannot evict cache lines";

    for (int i = 0; i < 3; i++) {
        latency[i] = uk_chase_cycles(lab, &uk_lines, lines_in(lab, i + 1));
        bytes[i] = 1 / uk_point_cycles(lab, &read, l, uk_bytes_in(lab, i + 1), 0);
    }
    say_sizes(lab, latency);
    uk_lab_add_answer(lab, "l1.latency", latency[0]);
    uk_lab_add_answer(lab, "l2.latency", latency[1]);
    uk_lab_add_answer(lab, "l1.bytes", isnan(uk_load_rate(lab)) ? bytes[0] : uk_load_rate(lab));
    uk_lab_add_answer(lab, "l2.bytes", bytes[1]);
    uk_lab_add_answer(lab, "l1.lines", fmax(latency[2] / near, can ? memory / far : 0));
    say_what_is_shared(lab);
    if (lab->machine.uncore.cache.size) {
        uk_lab_add_answer(lab, "uncore.cache.latency", latency[2]);
        uk_lab_add_answer(lab, "uncore.cache.bytes", bytes[2]);
    }
    if (can) {
        uk_lab_add_answer(lab, "uncore.latency", memory);
        uk_lab_add_answer(lab, "uncore.bytes", stream);
        uk_lab_add_answer(lab, "l2.lines", fmax(bytes[2] * latency[2], stream * memory) / UK_LINE);
        uk_lab_add_extra_answer(lab, "l1.lines, last cache", "lines", latency[2] / near, NAN);
        uk_lab_add_extra_answer(lab, "l1.lines, memory", "lines", memory / far, NAN);
    } else {
        uk_lab_add_reason(lab, "uncore.latency", reason);
        uk_lab_add_reason(lab, "uncore.bytes", reason);
        uk_lab_add_reason(lab, "l2.lines", reason);
    }
}
