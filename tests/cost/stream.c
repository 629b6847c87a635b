/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares estimates of the lines that a nest moves with a simulated cache. On the machine of the estimates
 * only misses of one cache, or of the TLB, take time: one cycle each. The simulated cache has the same size
 * and ways, and random replacement. Estimates may be a third lower.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "cost/cost.h"

enum { LINE = 64, WAYS_MOST = 64, SETS_MOST = 1024 };

struct simulated {
    int64_t unit, held[SETS_MOST][WAYS_MOST];
    int sets, ways;
    uint64_t random, misses;
};

static struct simulated cache;

static void reset(int64_t unit, int sets, int ways) {
    cache = (struct simulated){.unit = unit, .sets = sets, .ways = ways, .random = 1};
    memset(cache.held, 0xff, sizeof cache.held);
}

static void look(int64_t address) {
    const int64_t u = address / cache.unit;
    int64_t *set = cache.held[u % cache.sets];

    for (int w = 0; w < cache.ways; w++)
        if (set[w] == u)
            return;
    cache.misses++;
    cache.random = cache.random * 6364136223846793005u + 1442695040888963407u;
    set[(cache.random >> 33) % (uint64_t)cache.ways] = u;
}

/* Runs all accesses of the nest through the cache; operands are 1 GB and a few lines apart. */
static void run(const struct uk_loop_nest *n) {
    int64_t index[UK_NEST_LOOPS] = {0};

    for (;;) {
        int i = n->loops - 1;

        for (int o = 0; o < n->operands; o++) {
            const struct uk_loop_operand *x = &n->operand[o];
            int64_t at = (o + 1) * (((int64_t)1 << 30) + 27 * LINE);

            for (int j = 0; j < n->loops; j++)
                at += index[j] * x->stride[j];
            for (int64_t r = 0; r < x->runs; r++, at += x->pitch)
                for (int64_t b = at / cache.unit; b <= (at + x->length - 1) / cache.unit; b++)
                    look(b * cache.unit);
        }
        while (i >= 0 && ++index[i] == n->extent[i])
            index[i--] = 0;
        if (i < 0)
            return;
    }
}

/* A product of k iterations in 6 x `tiles` tiles of 6 x 16 floats: rows of A in place, `pitch` bytes apart;
 * panels of B. */
static struct uk_loop_nest product(int64_t pitch, int64_t k, int64_t tiles) {
    return (struct uk_loop_nest){
        .loops = 3,
        .operands = 3,
        .extent = {6, tiles, k},
        .operand = {{4, 6, 4, pitch, {6 * pitch, 0, 4}, false, false, 0, 0},
                    {4, 1, 64, 0, {0, 64 * k, 64}, false, false, 0, 0},
                    {4, 6, 64, 4096 + 64, {6 * (4096 + 64), 64, 0}, false, false, 0, 0}}};
}

/* The same with the rows of B in place, `pitch` bytes apart. */
static struct uk_loop_nest in_place(int64_t pitch, int64_t k, int64_t tiles) {
    struct uk_loop_nest n = product(1000, k, tiles);

    n.operand[1].stride[1] = 64;
    n.operand[1].stride[2] = pitch;
    return n;
}

/* Windows of 3 x 3 pixels of 8 channels, stride 2, in rows of 128 pixels. Loops: output rows, output columns,
 * window rows, window columns, channels. */
static struct uk_loop_nest windows(void) {
    return (struct uk_loop_nest){
        .loops = 5,
        .operands = 1,
        .extent = {20, 60, 3, 3, 8},
        .operand = {{4, 1, 4, 0, {2 * 4096, 2 * 32, 4096, 32, 4}, false, false, 0, 0}}};
}

static const struct {
    const char *what;
    int kind;
    int64_t pitch, k, tiles;
} nests[] = {
    {"all in the cache", 0, 1000, 50, 2},
    {"panels of B that leave it", 0, 1000, 200, 20},
    {"rows of A that share a set", 0, 4096, 200, 20},
    {"rows of A that share some sets", 0, 1024, 200, 20},
    {"a long k", 0, 2000, 1500, 4},
    {"B in place", 1, 2000, 200, 20},
    {"B in place, in few sets", 1, 4096, 200, 20},
    {"B in place, in some sets", 1, 1024, 300, 10},
    {"windows", 2, 0, 0, 0},
};

static struct uk_loop_nest nest_of(size_t i) {
    return nests[i].kind == 2
               ? windows()
               : (nests[i].kind ? in_place : product)(nests[i].pitch, nests[i].k, nests[i].tiles);
}

/* A machine on which nothing takes time; tests then set one cost. */
static struct uk_machine nothing_costs(void) {
    static const struct uk_cache free = {1 << 30, 16, 0, 1e12, 1};
    struct uk_machine m = {.cache = {free, free, free}};

    m.core.l1 = m.core.l2 = m.uncore.cache = free;
    m.core.serial_transfers = true;
    m.core.prefetch.streams = 16;
    m.core.tlb.first = m.core.tlb.second = 1 << 20;
    m.core.tlb.page = 4096;
    m.uncore.bytes = 1e12;
    return m;
}

static void check(size_t i, const char *where, double got, double least_misses) {
    /* The nest has run once before: lines that stay in the cache cost nothing. */
    const double misses = (double)cache.misses;

    if (got > 1.2 * misses + least_misses || got < 0.65 * misses - least_misses)
        fail_msg("%s: %.0f misses of %s, %.0f in the simulated cache", nests[i].what, got, where, misses);
}

/* Checks the misses of a second run. */
static void check_second(size_t i, const struct uk_loop_nest *n, const char *what, double estimate) {
    run(n);
    cache.misses = 0;
    run(n);
    check(i, what, estimate, 80);
}

static void lines_come_from_l2(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof nests / sizeof *nests; i++) {
        const struct uk_loop_nest n = nest_of(i);
        struct uk_machine m = nothing_costs();

        m.cache[UK_L1].size = 32768;
        m.cache[UK_L1].ways = 8;
        m.core.l2.bytes = LINE; /* one cycle per line */
        reset(LINE, 64, 8);
        check_second(i, &n, "L1", uk_cost_nest(&m, &n));
    }
}

static void pages_are_translated(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof nests / sizeof *nests; i++) {
        const struct uk_loop_nest n = nest_of(i);
        struct uk_machine m = nothing_costs();

        m.core.tlb.first = 64;
        m.core.tlb.latency = 1;
        reset(4096, 1, 64);
        check_second(i, &n, "the TLB", uk_cost_nest(&m, &n));
    }
}

/* The estimate is at least the instructions' cycles, and equal to them if no data is moved. */
static void instructions_are_the_least(void **state) {
    struct uk_loop_nest n = nest_of(0);
    const struct uk_machine m = nothing_costs();

    (void)state;
    n.instructions = 5000;
    n.loads = 4000;
    assert_true(uk_cost_nest(&m, &n) >= 5000);
    n.loads = 0;
    assert_true(uk_cost_nest(&m, &n) - 5000 < 1);
}

/* A line that neither the hardware nor an instruction prefetches takes its latency. As many lines are fetched
 * at once as the cache allows and as the instructions in flight access. */
static void late_lines_take_longer(void **state) {
    struct uk_loop_nest n = in_place(4096 + 64, 200, 20);
    struct uk_machine m = nothing_costs();

    (void)state;
    n.operands = 2;
    m.cache[UK_L1].size = 8192;
    m.cache[UK_L1].ways = 8;
    m.core.l2.bytes = LINE;
    m.core.l2.latency = 100;
    m.core.l1.lines = 10;
    m.core.reorder = 1 << 20;
    m.core.issue = 1;
    n.instructions = 1;
    const double late = uk_cost_nest(&m, &n);
    n.operand[1].is_prefetched = true;
    const double prefetched = uk_cost_nest(&m, &n);
    assert_true(prefetched < 0.5 * late);
    n.operand[1].is_prefetched = false;
    m.core.l1.lines = 100; /* one line per cycle */
    assert_true(uk_cost_nest(&m, &n) < 0.2 * late);
    m.core.reorder = 0; /* only lines of one iteration are fetched at once */
    assert_true(uk_cost_nest(&m, &n) > late);
}

/* Transfers from beyond L2 overlap instructions, except for the exposed part, which is added. */
static void exposed_lines_overlap_nothing(void **state) {
    struct uk_loop_nest n = in_place(4096 + 64, 200, 20);
    struct uk_machine m = nothing_costs();
    double cycles[3];

    (void)state;
    n.operands = 2;
    for (int i = UK_L1; i < UK_CACHES; i++) {
        m.cache[i].size = 8192;
        m.cache[i].ways = 8;
    }
    m.uncore.bytes = 1;
    n.operand[1].is_prefetched = true;
    n.instructions = 1e12;
    for (int i = 0; i < 3; i++) {
        n.operand[1].exposed = i / 2.0;
        cycles[i] = uk_cost_nest(&m, &n);
    }
    assert_true(cycles[0] < 1e12 + 100);
    assert_true(cycles[2] > 1e12 + 200 * 20 * LINE);
    assert_true(fabs((cycles[2] - cycles[0]) - 2 * (cycles[1] - cycles[0])) < 100);
}

/* Compares the fraction of vectors that cross a line with a count over LINE rows, after which positions in a
 * line repeat. */
static void vectors_lie_across_lines(void **state) {
    (void)state;
    for (int64_t bytes = 4; bytes <= LINE; bytes *= 2)
        for (int64_t stride = 4; stride < 1000; stride += 4) {
            int across = 0;

            for (int64_t row = 0; row < LINE; row++)
                across += row * stride / LINE != (row * stride + bytes - 1) / LINE;
            assert_true(LINE * uk_cost_splits(bytes, stride) == across); /* a multiple of 1/64: exact */
        }
    assert_true(uk_cost_splits(LINE, 0) == 0); /* a single row */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_come_from_l2),
        cmocka_unit_test(pages_are_translated),
        cmocka_unit_test(instructions_are_the_least),
        cmocka_unit_test(late_lines_take_longer),
        cmocka_unit_test(exposed_lines_overlap_nothing),
        cmocka_unit_test(vectors_lie_across_lines),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
