/* The measuring harness: medians, paired ratios, peers that are missing. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "bench.h"

static void median(void **state) {
    (void)state;
    double odd[] = {5, 1, 3}, even[] = {4, 1, 3, 2};
    assert_float_equal(bench_median(odd, 3), 3, 0);
    assert_float_equal(bench_median(even, 4), 2.5, 0);
    assert_float_equal(bench_median(even, 0), 0, 0);
}

static void random_values(void **state) {
    (void)state;
    float a[1000], b[1000], c[1000];
    double sum = 0;
    bench_random(a, 1000, 1);
    bench_random(b, 1000, 1);
    bench_random(c, 1000, 2);
    assert_memory_equal(a, b, sizeof a);
    assert_memory_not_equal(a, c, sizeof a);
    for (int i = 0; i < 1000; i++) {
        assert_true(a[i] >= -1 && a[i] < 1);
        sum += a[i];
    }
    assert_true(sum > -100 && sum < 100);
}

static void peaks(void **state) {
    (void)state;
    for (int isa = BENCH_SSE2; isa <= BENCH_AVX512; isa++)
        if (bench_isa_runs((enum bench_isa)isa))
            assert_true(bench_peak((enum bench_isa)isa, 1) > 1e8);
    assert_true(bench_peak(BENCH_SSE2, 2) > 1e8);
    assert_true(bench_isa_runs(bench_isa_best()));
}

/* They change nothing, to the last byte. */
static void streams(void **state) {
    (void)state;
    enum { N = 2048 };
    float a[N], b[N], before[N];
    bench_random(a, N, 1);
    bench_random(b, N, 2);
    memcpy(before, b, sizeof b);
    for (int isa = BENCH_SSE2; isa <= BENCH_AVX512; isa++) {
        if (!bench_isa_runs((enum bench_isa)isa))
            continue;
        bench_load((enum bench_isa)isa, a, sizeof a);
        bench_load((enum bench_isa)isa, NULL, 0);
        bench_load_and_store((enum bench_isa)isa, a, b, sizeof b);
        bench_load_and_store((enum bench_isa)isa, NULL, NULL, 0);
        assert_memory_equal(b, before, sizeof b);
    }
}

static void work(void *user) {
    double end = bench_seconds() + *(double *)user;
    while (bench_seconds() < end)
        ;
}

static void paired(void **state) {
    (void)state;
    double one = 200e-6, three = 600e-6;
    struct bench_contender c[] = {{.name = "one", .run = work, .user = &one},
                                  {.name = "three", .run = work, .user = &three}};
    struct bench_plan plan = {.isa = BENCH_SSE2, .threads = 1, .flops = 1, .rounds = 7, .sample_time = 1e-3};
    assert_int_equal(bench_paired(&plan, c, 2), UK_OK);
    assert_true(c[0].seconds >= 200e-6 && c[1].seconds >= 600e-6);
    assert_true(c[0].fastest <= c[0].seconds && c[0].seconds <= c[0].slowest);
    assert_true(c[0].calls >= 2 && c[0].percent > 0 && plan.peak > 0);
    assert_float_equal(c[0].ratio, 1, 0);
    /* A shared machine may stop either one for a while: the order holds, the factor roughly. */
    assert_true(c[1].ratio > 1.5 && c[1].ratio_low <= c[1].ratio && c[1].ratio <= c[1].ratio_high);
}

static void missing_peers(void **state) {
    (void)state;
    struct bench_peers peers;
    bench_peers_open(&peers, "/nonexistent", BENCH_SSE2, 1);
    for (int i = 0; i < 2; i++) {
        assert_null(peers.peer[i].sgemm);
        assert_non_null(strstr(peers.peer[i].detail, "not installed; ./uk-setup peers"));
    }
}

/* What the environment says against the best kernels is overwritten, unless the user insists. */
static void peers_environment(void **state) {
    (void)state;
    struct bench_peers peers;
    setenv("OPENBLAS_CORETYPE", "user", 1);
    setenv("OPENBLAS_L2_SIZE", "1", 1);
    setenv("MKL_ENABLE_INSTRUCTIONS", "user", 1);
    setenv("UK_PEERS_KEEP_ENV", "1", 1);
    bench_peers_open(&peers, "/nonexistent", BENCH_AVX2, 1);
    assert_string_equal(getenv("OPENBLAS_CORETYPE"), "user");
    assert_string_equal(getenv("OPENBLAS_L2_SIZE"), "1");
    assert_string_equal(getenv("MKL_ENABLE_INSTRUCTIONS"), "user");
    unsetenv("UK_PEERS_KEEP_ENV");
    bench_peers_open(&peers, "/nonexistent", BENCH_AVX2, 1);
    assert_string_equal(getenv("OPENBLAS_CORETYPE"), "HASWELL");
    assert_null(getenv("OPENBLAS_L2_SIZE"));
    assert_string_equal(getenv("MKL_ENABLE_INSTRUCTIONS"), "AVX2");
    bench_peers_open(&peers, "/nonexistent", BENCH_AVX512, 1);
    assert_string_equal(getenv("OPENBLAS_CORETYPE"), "SKYLAKEX");
    assert_null(getenv("MKL_ENABLE_INSTRUCTIONS"));
}

/* MKL finds the answer only if the program itself exports it. */
static void answers_mkl(void **state) {
    (void)state;
    int (*(*ask)(void))(void) = NULL;
    void *address = dlsym(RTLD_DEFAULT, "mkl_serv_get_cpu_true");
    assert_non_null(address);
    memcpy(&ask, &address, sizeof address);
    assert_int_equal(ask()(), 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(median),
                                       cmocka_unit_test(random_values),
                                       cmocka_unit_test(peaks),
                                       cmocka_unit_test(streams),
                                       cmocka_unit_test(paired),
                                       cmocka_unit_test(missing_peers),
                                       cmocka_unit_test(peers_environment),
                                       cmocka_unit_test(answers_mkl)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
