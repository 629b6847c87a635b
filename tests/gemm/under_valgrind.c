/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs products under valgrind, which detects reads of uninitialized memory and accesses outside of blocks;
 * each operand is a block of its own. Valgrind lacks AVX-512, so the AVX2 kernels are chosen.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>
#include "ukernels.h"

struct shape {
    int64_t m, n, k;
};

static double *integers(int64_t n, int step) {
    double *p = malloc((size_t)n * sizeof *p);

    assert_non_null(p);
    for (int64_t i = 0; i < n; i++)
        p[i] = (double)(i * step % 7 - 3);
    return p;
}

static float *floats(const double *from, int64_t n) {
    float *p = malloc((size_t)n * sizeof *p);

    assert_non_null(p);
    for (int64_t i = 0; i < n; i++)
        p[i] = (float)from[i];
    return p;
}

/* An element of the row-major product; a transposed operand is stored transposed. */
static double element(const struct shape *s, bool ta, bool tb, const double *a, const double *b, int64_t i,
                      int64_t j) {
    double sum = 0;

    for (int64_t p = 0; p < s->k; p++)
        sum += a[ta ? p * s->m + i : i * s->k + p] * b[tb ? j * s->k + p : p * s->n + j];
    return sum;
}

static void multiply(const struct shape *s, bool ta, bool tb, double alpha) {
    const int64_t m = s->m, n = s->n, k = s->k, lda = ta ? m : k, ldb = tb ? k : n;
    const enum uk_transpose of_a = ta ? UK_TRANSPOSE : UK_NO_TRANSPOSE,
                            of_b = tb ? UK_TRANSPOSE : UK_NO_TRANSPOSE;
    double *a = integers(m * k, 3), *b = integers(k * n, 5), *c = malloc((size_t)(m * n) * sizeof *c);
    float *af = floats(a, m * k), *bf = floats(b, k * n), *cf = malloc((size_t)(m * n) * sizeof *cf);

    assert_true(c && cf);
    assert_int_equal(uk_dgemm(UK_ROW_MAJOR, of_a, of_b, m, n, k, alpha, a, lda, b, ldb, 0, c, n), UK_OK);
    assert_int_equal(uk_sgemm(UK_ROW_MAJOR, of_a, of_b, m, n, k, (float)alpha, af, lda, bf, ldb, 0, cf, n),
                     UK_OK);
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            const double expected = alpha * element(s, ta, tb, a, b, i, j);

            assert_true(c[i * n + j] == expected && (double)cf[i * n + j] == expected);
        }
    free(a);
    free(b);
    free(c);
    free(af);
    free(bf);
    free(cf);
}

static void products(void **state) {
    static const struct shape shape[] = {{1, 1, 1},     {3, 5, 7},     {17, 33, 20}, {64, 9, 64},
                                         {9, 100, 30},  {1, 70, 300},  {70, 1, 300}, {20, 20, 255},
                                         {97, 130, 65}, {6, 200, 150}, {130, 5, 400}};

    (void)state;
    for (size_t i = 0; i < sizeof shape / sizeof *shape; i++)
        for (int form = 0; form < 8; form++)
            multiply(&shape[i], form & 1, form & 2, form & 4 ? 2 : 1);
    uk_release_memory();
}

static void vectors_are_what_valgrind_knows(void **state) {
    (void)state;
    assert_true(uk_cpu_has("avx2"));
    assert_false(uk_cpu_has("avx512f"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vectors_are_what_valgrind_knows),
        cmocka_unit_test(products),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
