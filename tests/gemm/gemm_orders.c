/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks the order of summation in plans for machines with other caches than this one's: it must be the same
 * with one thread and two, and for small products in place and with B packed beforehand.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include "gemm/gemm.h"
#include "random.h"

enum { SHAPES = 40000 };

static struct uk_machine machine;
const struct uk_machine *__wrap_uk_machine(void);

const struct uk_machine *__wrap_uk_machine(void) {
    return &machine;
}

static uint64_t seed;

static int64_t next(int64_t n) {
    return (int64_t)(random_next(&seed) >> 1) % n;
}

/* Draws from 1 to 2^bits, uniform in the logarithm. */
static int64_t draw(int bits) {
    return 1 + next((int64_t)1 << (1 + next(bits)));
}

static int64_t round_up(int64_t n) {
    const int64_t step = (int64_t)1 << next(13);

    return next(2) ? n : (n + step - 1) / step * step;
}

struct order {
    int64_t block; /* terms of k per block */
    const void *path;
};

/* The order for the index-th shape. In small products, and those of few rows, each element is one sum, as in
 * tiles with a single block. */
static struct order order_of(int64_t index, bool packed) {
    struct uk_gemm_plan p;
    const struct uk_gemm_options options = {.b_packed = packed};

    seed = (uint64_t)index;
    next(2);
    const enum uk_transpose ta = next(2) ? UK_TRANSPOSE : UK_NO_TRANSPOSE,
                            tb = next(2) ? UK_TRANSPOSE : UK_NO_TRANSPOSE;
    const int64_t m = next(3) ? draw(20) : 1 + next(400), n = next(3) ? draw(20) : 1 + next(160),
                  k = next(2) ? draw(15) : 128 + next(1200);
    const int64_t lda = round_up(ta ? m : k), ldb = round_up(tb ? k : n);

    const enum uk_status status =
        (index % 2 ? uk_sgemm_plan : uk_dgemm_plan)(&p, UK_ROW_MAJOR, ta, tb, m, n, k, lda, ldb, n, &options);

    if (status == UK_INVALID_SIZE && sizeof(void *) == 4)
        return (struct order){0}; /* too large for 32-bit addresses */
    assert_int_equal(status, UK_OK);
    const struct gemm_plan *plan = gemm_plan_in(&p);

    if (plan->path == &uk_gemm_small || plan->path == &uk_gemm_stream)
        return (struct order){k, &uk_gemm_tiles};
    return plan->path == &uk_gemm_dots ? (struct order){plan->dots.k_block, plan->path}
                                       : (struct order){plan->way.kc, plan->path};
}

/* Finds the orders in a new process, with this number of threads. */
static void find_orders(struct order *order, const char *threads, bool packed) {
    int status = 0;
    const pid_t child = fork();

    if (!child) {
        setenv("UK_NUM_THREADS", threads, 1);
        for (int64_t i = 0; i < SHAPES; i++)
            order[i] = order_of(i, packed);
        _exit(0);
    }
    assert_true(child > 0 && waitpid(child, &status, 0) == child);
    assert_true(WIFEXITED(status) && !WEXITSTATUS(status));
}

static void compare(const struct order *order, const struct order *other, const char *what) {
    for (int64_t i = 0; i < SHAPES; i++)
        if (order[i].block != other[i].block || order[i].path != other[i].path)
            fail_msg("caches of %lld, %lld and %lld bytes: shape %lld has blocks of %lld, but %lld %s",
                     (long long)machine.cache[UK_L1].size, (long long)machine.cache[UK_L2].size,
                     (long long)machine.cache[UK_LLC].size, (long long)i, (long long)order[i].block,
                     (long long)other[i].block, what);
}

/* Caches of several generations of Intel's cores, and of no real CPU, each with a last-level cache far away
 * on a mesh, or near. */
static void orders_depend_on_the_shape(void **state) {
    static const struct {
        int64_t size;
        int ways;
    } caches[][3] = {
        {{32768, 8}, {262144, 4}, {8 << 20, 16}},     {{32768, 8}, {1 << 20, 16}, {20 << 20, 11}},
        {{49152, 12}, {1310720, 20}, {30 << 20, 12}}, {{49152, 12}, {2 << 20, 16}, {256 << 20, 16}},
        {{49152, 12}, {3 << 20, 12}, {36 << 20, 12}}, {{16384, 2}, {131072, 2}, {1 << 20, 2}},
    };
    const size_t bytes = SHAPES * sizeof(struct order);
    struct order *all =
        mmap(NULL, 3 * bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    (void)state;
    assert_ptr_not_equal(all, MAP_FAILED);
    for (size_t i = 0; i < 2 * sizeof caches / sizeof *caches; i++) {
        machine = uk_machine_of(uk_core_find(i % 2 ? "golden_cove" : "zen5"));
        machine.cores = 2;
        for (int level = 0; level < 3; level++) {
            machine.cache[level].size = caches[i / 2][level].size;
            machine.cache[level].ways = caches[i / 2][level].ways;
        }
        find_orders(all, "1", false);
        find_orders(all + SHAPES, "2", false);
        find_orders(all + 2 * SHAPES, "1", true);
        compare(all, all + SHAPES, "with two threads");
        compare(all, all + 2 * SHAPES, "with B packed");
    }
    munmap(all, 3 * bytes);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(orders_depend_on_the_shape)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
