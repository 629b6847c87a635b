/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Guarantees of matrix products beyond their values: a process's first call gives the same bits as later
 * ones, long vectors give the same bits with any number of threads, empty batches need no operands, sizes
 * that are too large are refused.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include "emulated.h"
#include "gemm/gemm.h"
#include "random.h"
#include "ukernels.h"

static uint64_t seed = 1;

static float fraction(void) {
    return (float)(random_next(&seed) >> 40) / (1 << 23) - 1;
}

/* ---- the first call ---- */

/* Multiplies a row by a matrix twice. Exit status 0: the bits are equal. */
static int twice(enum uk_transpose tb, int64_t n, int64_t k) {
    enum { MOST = 256 };
    float a[MOST], b[MOST], c[2][MOST] = {{0}};

    for (int64_t i = 0; i < n * k; i++) {
        a[i % k] = fraction();
        b[i] = fraction();
    }
    for (int i = 0; i < 2; i++)
        if (uk_sgemm(UK_ROW_MAJOR, UK_NO_TRANSPOSE, tb, 1, n, k, 1, a, k, b, tb ? k : n, 0, c[i], n))
            return 2;
    return memcmp(c[0], c[1], sizeof c[0]) != 0;
}

/* Runs in child processes, before this process's first call. */
static void first_call_is_as_the_next(void **state) {
    static const int64_t shape[][2] = {{4, 60}, {2, 100}, {16, 16}, {7, 30}, {1, 250}};

    (void)state;
    for (size_t i = 0; i < 2 * sizeof shape / sizeof *shape; i++) {
        int status = 0;
        const pid_t child = fork();

        if (!child)
            _exit(twice(i % 2 ? UK_TRANSPOSE : UK_NO_TRANSPOSE, shape[i / 2][0], shape[i / 2][1]));
        assert_true(child > 0 && waitpid(child, &status, 0) == child);
        assert_true(WIFEXITED(status));
        if (WEXITSTATUS(status))
            fail_msg("1 x %lld x %lld: status %d", (long long)shape[i / 2][0], (long long)shape[i / 2][1],
                     WEXITSTATUS(status));
    }
}

/* ---- long vectors ---- */

static float *zeros(size_t elements) {
    float *p = mmap(NULL, elements * sizeof *p, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    assert_ptr_not_equal(p, MAP_FAILED);
    return p;
}

/* The row has a few columns beyond 510 times the largest number computed at once; only these are not 0. */
static void long_rows_have_the_same_bits(void **state) {
    enum { K = 9, LAST = 20 };
    const int64_t n = 510 * 8192 + LAST;

    (void)state;
    SKIP_UNDER_QEMU("it takes too long");
    float *b = zeros((size_t)(K * n)), *c[2] = {zeros((size_t)n), zeros((size_t)n)}, x[K];

    for (int p = 0; p < K; p++) {
        x[p] = fraction();
        for (int64_t j = n - LAST; j < n; j++)
            b[p * n + j] = fraction();
    }
    for (int i = 0; i < 2; i++) {
        const struct uk_gemm_options options = {.threads = i + 1};
        struct uk_gemm_plan plan;

        assert_int_equal(
            uk_sgemm_plan(&plan, UK_ROW_MAJOR, UK_NO_TRANSPOSE, UK_NO_TRANSPOSE, 1, n, K, K, n, n, &options),
            UK_OK);
        assert_int_equal(uk_sgemm_run(&plan, 1, x, b, 0, c[i], NULL, NULL), UK_OK);
    }
    assert_memory_equal(c[0] + n - LAST, c[1] + n - LAST, LAST * sizeof **c);
    munmap(b, (size_t)(K * n) * sizeof *b);
    munmap(c[0], (size_t)n * sizeof **c);
    munmap(c[1], (size_t)n * sizeof **c);
}

/* ---- batches ---- */

static void batches_of_nothing(void **state) {
    float c[2] = {3, 5};
    float *const to[] = {c, c + 1};
    const enum uk_layout rows = UK_ROW_MAJOR;
    const enum uk_transpose no = UK_NO_TRANSPOSE;

    (void)state;
    /* k = 0 or alpha = 0: arrays of A and B may be NULL */
    assert_int_equal(uk_sgemm_batch(rows, no, no, 1, 1, 0, 1, NULL, 1, NULL, 1, 2, to, 1, 2), UK_OK);
    assert_true(c[0] == 6 && c[1] == 10);
    assert_int_equal(uk_sgemm_batch(rows, no, no, 1, 1, 4, 0, NULL, 4, NULL, 1, 2, to, 1, 2), UK_OK);
    assert_true(c[0] == 12 && c[1] == 20);
    assert_int_equal(uk_sgemm_batch(rows, no, no, 1, 1, 4, 1, NULL, 4, NULL, 1, 2, to, 1, 2),
                     UK_INVALID_ARGUMENT);
    assert_int_equal(uk_sgemm_batch(rows, no, no, 1, 1, 0, 1, NULL, 1, NULL, 1, 2, NULL, 1, 2),
                     UK_INVALID_ARGUMENT);
    /* empty products: all arrays may be NULL, and the count costs no time */
    assert_int_equal(uk_sgemm_batch(rows, no, no, 0, 1, 1, 1, NULL, 1, NULL, 1, 0, NULL, 1, INT64_MAX),
                     UK_OK);
    assert_int_equal(
        uk_sgemm_batch_strided(rows, no, no, 1, 0, 1, 1, NULL, 1, 0, NULL, 1, 0, 0, NULL, 1, 0, INT64_MAX),
        UK_OK);
    /* strides of a single product are ignored */
    assert_int_equal(uk_sgemm_batch_strided(rows, no, no, 1, 1, 1, 1, c, 1, INT64_MAX, c, 1, INT64_MIN, 0,
                                            c + 1, 1, INT64_MAX, 1),
                     UK_OK);
    assert_true(c[0] == 12 && c[1] == 144);
}

/* ---- sizes ---- */

/* Packed operands are larger than the matrices, and their sizes must still fit. */
static void sizes_do_not_overflow(void **state) {
    struct uk_gemm_plan plan;
    const enum uk_layout rows = UK_ROW_MAJOR;
    const enum uk_transpose no = UK_NO_TRANSPOSE;

    (void)state;
    for (int64_t few = 1; few < 70; few++)
        for (int power = 24; power < 62; power++) {
            const int64_t k = INT64_C(1) << power;
            const int is_long = few % 3;
            const int64_t m = is_long == 1 ? k : few, n = is_long == 2 ? k : few, steps = is_long ? few : k;

            if (uk_dgemm_plan(&plan, rows, no, no, m, n, steps, steps, n, n, NULL))
                continue;
            assert_true(power < 53);
            const size_t size = sizeof(double), a = uk_gemm_packed_a_size(&plan),
                         b = uk_gemm_packed_b_size(&plan);
            assert_true(a / size / (size_t)m >= (size_t)steps && b / size / (size_t)n >= (size_t)steps);
            assert_true(uk_gemm_workspace(&plan) < (size_t)1 << 31);
        }
    /* Cost estimates must not overflow either, which UBSan checks. */
    for (int power = 10; power < 26; power++)
        for (int form = 0; form < 4; form++) {
            const int64_t n = INT64_C(1) << power;

            assert_int_equal(uk_sgemm_plan(&plan, rows, form & 1 ? UK_TRANSPOSE : no,
                                           form & 2 ? UK_TRANSPOSE : no, n, n, n, n, n, n, NULL),
                             sizeof(void *) == 4 && power > 14 ? UK_INVALID_SIZE : UK_OK);
        }
    assert_int_equal(uk_sgemm_plan(&plan, rows, no, no, 2, 2, INT64_C(1) << 57, INT64_C(1) << 57, 2, 2, NULL),
                     UK_INVALID_SIZE);
}

/* ---- explanations and messages ---- */

static void explained(void **state) {
    struct uk_gemm_plan plan;
    char text[1024], cut[16];

    (void)state;
    assert_int_equal(uk_sgemm_plan(&plan, UK_COLUMN_MAJOR, UK_NO_TRANSPOSE, UK_TRANSPOSE, 300, 200, 150, 300,
                                   200, 300, NULL),
                     UK_OK);
    const size_t length = uk_gemm_explain(&plan, text, sizeof text);
    assert_int_equal(length, strlen(text));
    assert_non_null(
        strstr(text, strstr(text, "path: small") ? "kernel of columns 0 to" : "kernel: uk_sgemm"));
    assert_non_null(strstr(text, "sgemm, 200 x 300 x 150"));
    assert_int_equal(uk_gemm_explain(&plan, cut, sizeof cut), length);
    assert_int_equal(strlen(cut), 15);
    assert_int_equal(uk_gemm_explain(&plan, NULL, 0), length);
    /* A small product's kernels share its columns, in blocks if B is transposed. */
    assert_int_equal(
        uk_sgemm_plan(&plan, UK_ROW_MAJOR, UK_NO_TRANSPOSE, UK_TRANSPOSE, 9, 100, 30, 30, 30, 100, NULL),
        UK_OK);
    uk_gemm_explain(&plan, text, sizeof text);
    if (strstr(text, "path: small")) {
        assert_non_null(strstr(text, "transposed first"));
        assert_non_null(strstr(text, "B: 64 columns at a time"));
        assert_non_null(strstr(text, "kernel of columns 0 to"));
    }
}

/* Returns the argument if this thread has a message, else NULL. */
static void *if_there_is_a_message(void *argument) {
    return *uk_last_message() ? argument : NULL;
}

/* Each refusal names the argument in a message that belongs to the thread. */
static void messages_name_the_argument(void **state) {
    static float x[16];
    const struct uk_sgemm_epilogue e = {.flags = 8};
    struct uk_gemm_plan plan;
    pthread_t thread;
    void *other;

    (void)state;
#define REFUSED(call, text)                           \
    do {                                              \
        assert_int_not_equal(call, UK_OK);            \
        assert_string_equal(uk_last_message(), text); \
    } while (0)
#define SGEMM(layout, ta, tb, m, n, k, lda, ldb, ldc)                                                        \
    uk_sgemm((enum uk_layout)(layout), (enum uk_transpose)(ta), (enum uk_transpose)(tb), m, n, k, 1, x, lda, \
             x, ldb, 0, x, ldc)
    REFUSED(SGEMM(7, 0, 0, 2, 2, 2, 2, 2, 2), "layout = 7 is neither UK_ROW_MAJOR nor UK_COLUMN_MAJOR");
    REFUSED(SGEMM(UK_ROW_MAJOR, 5, 0, 2, 2, 2, 2, 2, 2),
            "ta = 5 is neither UK_NO_TRANSPOSE nor UK_TRANSPOSE");
    REFUSED(SGEMM(UK_ROW_MAJOR, 0, 0, 2, -1, 2, 2, 2, 2), "n = -1 is negative");
    REFUSED(SGEMM(UK_ROW_MAJOR, 0, 0, 2, 3, 4, 3, 3, 3),
            "lda = 3 is less than 4, the elements of a row of A");
    REFUSED(SGEMM(UK_COLUMN_MAJOR, 0, UK_TRANSPOSE, 2, 3, 4, 2, 2, 2),
            "ldb = 2 is less than 3, the elements of a column of B");
    REFUSED(SGEMM(UK_ROW_MAJOR, 0, 0, 2, 3, 4, 4, 3, 0),
            "ldc = 0 is less than 3, the elements of a row of C");
    REFUSED(SGEMM(UK_ROW_MAJOR, 0, 0, 2, 3, 4, INT64_MAX / 2, 3, 3),
            "A, 2 rows 4611686018427387903 elements apart, is too large to be addressed");
    REFUSED(SGEMM(UK_ROW_MAJOR, 0, 0, 1, 3, 4, INT64_MAX, 3, 3),
            "A, 1 row 9223372036854775807 elements apart, is too large to be addressed");
    REFUSED(uk_sgemm(UK_COLUMN_MAJOR, 0, 0, 2, 2, 2, 1, NULL, 2, x, 2, 0, x, 2), "a is NULL");
    REFUSED(uk_sgemm(UK_ROW_MAJOR, 0, 0, 2, 2, 2, 1, x, 2, NULL, 2, 0, x, 2), "b is NULL");
    REFUSED(uk_sgemm(UK_ROW_MAJOR, 0, 0, 2, 2, 2, 1, x, 2, x, 2, 0, NULL, 2), "c is NULL");
    REFUSED(
        uk_sgemm_plan(&plan, UK_ROW_MAJOR, 0, 0, 2, 2, 2, 2, 2, 2, &(struct uk_gemm_options){.threads = -1}),
        "options.threads = -1 is negative");
    REFUSED(uk_sgemm_plan(&plan, UK_ROW_MAJOR, 0, 0, 2, 2, 2, 2, 2, 2,
                          &(struct uk_gemm_options){.machine = "abacus"}),
            "options.machine: no CPU's core is named \"abacus\"");
    REFUSED(uk_sgemm_batch_strided(UK_ROW_MAJOR, 0, 0, 2, 2, 2, 1, x, 2, 0, x, 2, 0, 0, x, 2, 4, -3),
            "count = -3 is negative");
    assert_int_equal(uk_sgemm_plan(&plan, UK_ROW_MAJOR, 0, 0, 2, 2, 2, 2, 2, 2, NULL), UK_OK);
    assert_string_equal(uk_last_message(), "count = -3 is negative");
    REFUSED(uk_sgemm_run(&plan, 1, x, x, 0, x, &e, NULL),
            "the epilogue has an unknown flag, or a value without its flag");
    REFUSED(uk_dgemm_run(&plan, 1, NULL, NULL, 0, NULL, NULL, NULL),
            "the plan is not one of uk_dgemm_plan for this machine");
#undef SGEMM
#undef REFUSED
    assert_int_equal(pthread_create(&thread, NULL, if_there_is_a_message, &plan), 0);
    assert_int_equal(pthread_join(thread, &other), 0);
    assert_null(other);
}

/* The bits are the same with any number of threads, which changes while the program runs. */
static void threads_do_not_change_bits(void **state) {
    enum { N = 400 };
    static const int number[] = {1, 3, 2, 5, 1};
    static float a[N * N], b[N * N], first[N * N], c[N * N];

    (void)state;
    for (int i = 0; i < N * N; i++) {
        a[i] = (float)(i % 97) / 97;
        b[i] = (float)(i % 89) / 89;
    }
    for (size_t i = 0; i < sizeof number / sizeof *number; i++) {
        struct uk_gemm_plan plan;
        float *to = i ? c : first;

        assert_int_equal(uk_set_num_threads(number[i]), UK_OK);
        assert_int_equal(
            uk_sgemm_plan(&plan, UK_ROW_MAJOR, UK_NO_TRANSPOSE, UK_TRANSPOSE, N, N, N, N, N, N, NULL), UK_OK);
        assert_int_equal(gemm_plan_in(&plan)->product.threads, number[i]);
        assert_int_equal(
            uk_sgemm(UK_ROW_MAJOR, UK_NO_TRANSPOSE, UK_TRANSPOSE, N, N, N, 1, a, N, b, N, 0, to, N), UK_OK);
        assert_memory_equal(to, first, sizeof first);
    }
    assert_int_equal(uk_set_num_threads(0), UK_OK);
}

/* Operands that a plan packs are for plans of the same product with other options, too: whatever path each
 * takes. */
static void packed_operands_suit_other_plans(void **state) {
    enum { MOST = 40 };
    static const int64_t size[][3] = {{1, 1, 1},   {4, 4, 4},   {5, 7, 3}, {30, 31, 29},
                                      {1, 40, 20}, {40, 1, 20}, {3, 5, 40}};
    static const struct uk_gemm_options options[] = {
        {0}, {.a_packed = true}, {.b_packed = true}, {.a_packed = true, .b_packed = true}};
    static float a[MOST * MOST], b[MOST * MOST];

    (void)state;
    for (int i = 0; i < MOST * MOST; i++) {
        a[i] = (float)(i % 7 - 3);
        b[i] = (float)(i % 5 - 2);
    }
    for (size_t i = 0; i < sizeof size / sizeof *size; i++)
        for (int form = 0; form < 8; form++) {
            const int64_t m = size[i][0], n = size[i][1], k = size[i][2];
            const enum uk_layout layout = form & 1 ? UK_COLUMN_MAJOR : UK_ROW_MAJOR;
            const enum uk_transpose ta = form & 2 ? UK_TRANSPOSE : UK_NO_TRANSPOSE,
                                    tb = form & 4 ? UK_TRANSPOSE : UK_NO_TRANSPOSE;
            struct uk_gemm_plan plan[4];
            float c[2][MOST * MOST] = {{0}};

            for (int o = 0; o < 4; o++)
                assert_int_equal(
                    uk_sgemm_plan(&plan[o], layout, ta, tb, m, n, k, MOST, MOST, MOST, &options[o]), UK_OK);
            assert_int_equal(uk_sgemm_run(&plan[0], 1, a, b, 0, c[0], NULL, NULL), UK_OK);
            for (int packs = 0; packs < 4; packs++)
                for (int runs = 1; runs < 4; runs++) {
                    float *pa = aligned_alloc(64, uk_gemm_packed_a_size(&plan[packs]) / 64 * 64 + 64),
                          *pb = aligned_alloc(64, uk_gemm_packed_b_size(&plan[packs]) / 64 * 64 + 64);

                    assert_true(pa && pb);
                    assert_int_equal(uk_gemm_packed_a_size(&plan[packs]), uk_gemm_packed_a_size(&plan[runs]));
                    assert_int_equal(uk_gemm_packed_b_size(&plan[packs]), uk_gemm_packed_b_size(&plan[runs]));
                    assert_int_equal(uk_sgemm_pack_a(&plan[packs], a, pa), UK_OK);
                    assert_int_equal(uk_sgemm_pack_b(&plan[packs], b, pb), UK_OK);
                    assert_int_equal(uk_sgemm_run(&plan[runs], 1, options[runs].a_packed ? pa : a,
                                                  options[runs].b_packed ? pb : b, 0, c[1], NULL, NULL),
                                     UK_OK);
                    assert_memory_equal(c[0], c[1], sizeof c[0]);
                    free(pa);
                    free(pb);
                }
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(packed_operands_suit_other_plans),
        cmocka_unit_test(first_call_is_as_the_next),
        cmocka_unit_test(long_rows_have_the_same_bits),
        cmocka_unit_test(batches_of_nothing),
        cmocka_unit_test(sizes_do_not_overflow),
        cmocka_unit_test(explained),
        cmocka_unit_test(messages_name_the_argument),
        cmocka_unit_test(threads_do_not_change_bits),
    };

    setenv("UK_NUM_THREADS", "2", 0);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
