/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Launches by kinds of blocks, compared with launches that execute all blocks: equal counts of each
 * instruction, lines within 5 %.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "compiled.h"
#include "driver.h"
#include "machine/machine.h"

enum { MAX_LAUNCHES = 4, MAX_INSTRUCTIONS = 1 << 14, MAX_SIZES = 6 };

/* Counts of one launch. */
struct launch {
    uint64_t blocks;
    uint32_t instructions;
    struct uk_amdgpu_counts all;
    struct uk_amdgpu_instruction instruction[MAX_INSTRUCTIONS];
};

/* By whole launches, and by kinds. */
static struct launch launches[2][MAX_LAUNCHES];
static int count[2];

static void observe(void *user, const struct uk_amdgpu_kernel *k, const struct uk_amdgpu_launch *how,
                    const struct uk_amdgpu_counts *counts) {
    const int by_kind = *(const int *)user;
    struct launch *l = &launches[by_kind][count[by_kind]++];

    assert_true(count[by_kind] <= MAX_LAUNCHES);
    l->blocks = (uint64_t)how->grid[0] * how->grid[1] * how->grid[2];
    l->all = *counts;
    l->instructions = uk_amdgpu_n_instructions(k);
    assert_true(l->instructions <= MAX_INSTRUCTIONS);
    for (uint32_t i = 0; i < l->instructions; i++)
        l->instruction[i] = uk_amdgpu_instruction(k, i);
}

struct program {
    const char *name, *text;
    struct {
        const char *name;
        int64_t sizes[MAX_SIZES];
    } size[MAX_SIZES];
    /* of blocks that are executed, in the last set of sizes; 100: as many as there are */
    int most_percent;
};

static const struct program programs[] = {
    {"product",
     "tensor A f32 [M, K]\ntensor B f32 [K, N]\ntensor C f32 [M, N]\nC[i, j] = sum(k) A[i, k] * B[k, j]\n",
     {{"M", {63, 65, 127, 1, 520}}, {"N", {65, 200, 1000, 300, 500}}, {"K", {127, 63, 65, 200, 33}}},
     40},
    {"product of constant sizes, in parts",
     "size M = 200, N = 127, K = 1000\ntensor A f32 [200, 1000]\ntensor B f32 [1000, 127]\n"
     "tensor C f32 [200, 127]\nC[i, j] = sum(k) A[i, k] * B[k, j]\n",
     {{"M", {200}}},
     100},
    {"convolution",
     "tensor X f32 [N, H, W, C]\ntensor F f32 [3, 3, C, O]\ntensor Y f32 [N, H, W, O]\n"
     "Y[n, p, q, o] = sum(r, s, c) pad(X[n, p + r - 1, q + s - 1, c], 0) * F[r, s, c, o]\n",
     {{"N", {1, 2}}, {"H", {9, 13}}, {"W", {15, 17}}, {"C", {20, 17}}, {"O", {63, 65}}},
     100},
    {"depthwise convolution",
     "tensor X f32 [H, W, C]\ntensor F f32 [3, 3, C]\ntensor Y f32 [H, W, C]\n"
     "Y[p, q, c] = sum(r, s) pad(X[p + r - 1, q + s - 1, c], 0) * F[r, s, c]\n",
     {{"H", {20}}, {"W", {65}}, {"C", {63}}},
     100},
    {"elements",
     "tensor A f32 [M, N]\ntensor B f32 [N, M]\ntensor C f32 [M, N]\nC[i, j] = A[i, j] + max(B[j, i], 0)\n",
     {{"M", {63, 200, 1000}}, {"N", {65, 127, 200}}},
     25},
    {"sums of rows",
     "tensor A f32 [M, N]\ntensor C f32 [M]\nC[i] = sum(j) A[i, j]\n",
     {{"M", {63, 1000}}, {"N", {2000, 127}}},
     25},
    {"sums of columns",
     "tensor A f32 [M, N]\ntensor C f32 [N]\nC[j] = sum(i) A[i, j]\n",
     {{"M", {65, 63}}, {"N", {200, 3000}}},
     40},
};

static bool is_within(uint64_t a, uint64_t b, double part) {
    const double d = a > b ? (double)(a - b) : (double)(b - a);

    return d <= part * (double)b;
}

static void compare_launch(const char *what, const struct launch *all, const struct launch *kinds) {
    struct uk_amdgpu_counts wanted = all->all, got = kinds->all;

    if (!got.kinds || got.executed_blocks > 2 * got.kinds || wanted.executed_blocks != all->blocks)
        fail_msg("%s: %" PRIu64 " and %" PRIu64 " of %" PRIu64 " blocks are executed, of %" PRIu64 " kinds",
                 what, got.executed_blocks, wanted.executed_blocks, all->blocks, got.kinds);
    if (!is_within(got.lines, wanted.lines, 0.05) ||
        !is_within(got.distinct_lines, wanted.distinct_lines, 0.05))
        fail_msg("%s: %" PRIu64 " lines, %" PRIu64 " different ones, not %" PRIu64 ", %" PRIu64, what,
                 got.lines, got.distinct_lines, wanted.lines, wanted.distinct_lines);
    assert_int_equal(all->instructions, kinds->instructions);
    for (uint32_t i = 0; i < all->instructions; i++)
        if (all->instruction[i].executed != kinds->instruction[i].executed)
            fail_msg("%s: %s is counted %" PRIu64 " times, executed %" PRIu64, what, all->instruction[i].text,
                     kinds->instruction[i].executed, all->instruction[i].executed);
    got.lines = wanted.lines;
    got.distinct_lines = wanted.distinct_lines;
    got.executed_blocks = wanted.executed_blocks;
    got.kinds = wanted.kinds;
    if (memcmp(&got, &wanted, sizeof got))
        fail_msg("%s: flops %" PRIu64 ", not %" PRIu64 "; bytes loaded %" PRIu64 ", not %" PRIu64
                 ", stored %" PRIu64 ", not %" PRIu64 "; LDS cycles %" PRIu64 ", not %" PRIu64,
                 what, got.flops, wanted.flops, got.load_bytes, wanted.load_bytes, got.store_bytes,
                 wanted.store_bytes, got.lds_read_cycles + got.lds_write_cycles,
                 wanted.lds_read_cycles + wanted.lds_write_cycles);
}

static void compare(const struct program *p, struct run *r, int set, int ordinal) {
    struct random_data d = {.small = true, .uninterpreted = true};
    uint64_t blocks = 0, executed = 0;
    char what[128];

    for (int i = 0; i < uk_program_sizes(r->program); i++)
        for (int k = 0; k < MAX_SIZES && p->size[k].name; k++)
            if (!strcmp(p->size[k].name, uk_program_size_name(r->program, i)))
                d.size[i] = p->size[k].sizes[set];
    random_data_fill(&d, r->program, 1);
    r->device = open_gpu("sim", ordinal);
    for (int by_kind = 0; by_kind < 2; by_kind++) {
        count[by_kind] = 0;
        uk_sim_observe(observe, &by_kind, uk_core_find(strchr(targets[ordinal], '-') + 1), by_kind);
        assert_int_equal(run_call(r, &d), UK_OK);
        uk_sim_observe(NULL, NULL, NULL, false);
    }
    uk_gpu_close(r->device);
    assert_int_equal(count[0], count[1]);
    snprintf(what, sizeof what, "%s, sizes %d, %s", p->name, set, targets[ordinal]);
    for (int i = 0; i < count[0]; i++) {
        compare_launch(what, &launches[0][i], &launches[1][i]);
        blocks += launches[1][i].blocks;
        executed += launches[1][i].all.executed_blocks;
    }
    if (!p->size[0].sizes[set + 1] && 100 * executed > (uint64_t)p->most_percent * blocks)
        fail_msg("%s: %" PRIu64 " of %" PRIu64 " blocks are executed", what, executed, blocks);
    random_data_free(&d);
}

static void check_programs(void **unused) {
    (void)unused;
    for (int ordinal = 0; ordinal < TARGETS; ordinal++)
        for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
            struct run r;

            assert_true(compile_text(&r, programs[i].name, programs[i].text, ordinal));
            for (int set = 0; programs[i].size[0].sizes[set]; set++)
                compare(&programs[i], &r, set, ordinal);
            compiled_end(&r);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(check_programs)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
