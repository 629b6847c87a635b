/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares the number of terms that `uk run --time` counts with the number that the interpreter adds. If all
 * inputs are 1 and terms are products, the latter is the sum of the output.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>
#include "random_data.h"
#include "operands/shape.h"
#include "test_context.h"
#include "uk.h"

enum { MOST_SIZES = 4 };

/* `operations`: per term, in addition to the addition. */
static void counts(const char *text, int operations, const int64_t size[MOST_SIZES]) {
    struct random_data d = {.uninterpreted = true};
    struct uk_program *p = parse_text(text);
    double sum = 0;

    memcpy(d.size, size, MOST_SIZES * sizeof *size);
    random_data_fill(&d, p, 1);
    for (int i = 0; i < d.tensors; i++)
        for (size_t e = 0; e < d.bytes[i] / sizeof(double); e++)
            ((double *)(void *)(d.start[i] + RANDOM_DATA_MARGIN))[e] = 1;
    random_data_interpret(&d, p);
    assert_int_equal(d.status, UK_OK);
    const double *c = (const void *)(d.wanted[d.tensors - 1] + RANDOM_DATA_MARGIN);
    for (size_t e = 0; e < d.bytes[d.tensors - 1] / sizeof *c; e++)
        sum += c[e];
    const double found = uk_operations(p, size);
    if (found != sum * (operations + 1))
        fail_msg("%.0f operations, and the interpreter adds %.0f terms of %d\n%s", found, sum, operations + 1,
                 text);
    random_data_free(&d);
    uk_program_destroy(p);
}

#define VECTORS "tensor A f64 [M, K]\ntensor B f64 [K, N]\ntensor C f64 [M, N]\n"

static void all(void **state) {
    (void)state;
    counts(VECTORS "C[m, n] = sum(k) A[m, k] * B[k, n]\n", 1, (int64_t[MOST_SIZES]){7, 5, 6});
    counts(VECTORS "C[m, n] = sum(k) A[m, k] * B[k, n]\n", 1, (int64_t[MOST_SIZES]){7, 0, 6});
}

static void where(void **state) {
    static const char *const relations[] = {
        "k <= m",
        "k < m and n > k",
        "k == m",
        "k != m",
        "2 * k + 1 >= m + n",
        "m <= 3 * k and k <= n and n <= m",
        "(m + k) % 3 == 0",
        "k / 2 == n",
        "m < 3",
        "k * 3 == n",
        "0 - k + n > M - 8",
        "M < K",
        "M >= K",
        "k % 2 == 0 and k > m and n >= 2",
    };
    static const int64_t size[][MOST_SIZES] = {{7, 9, 6}, {9, 7, 11}, {1, 1, 1}, {13, 2, 5}};

    (void)state;
    for (size_t i = 0; i < sizeof relations / sizeof *relations; i++)
        for (size_t j = 0; j < sizeof size / sizeof *size; j++) {
            char text[256];

            snprintf(text, sizeof text, VECTORS "C[m, n] = sum(k where %s) A[m, k] * B[k, n]\n",
                     relations[i]);
            counts(text, 1, size[j]);
        }
}

static void pads(void **state) {
    static const char *const programs[] = {
        "tensor X f64 [N]\ntensor F f64 [R]\ntensor Y f64 [N]\nY[i] = sum(r) pad(X[i + r - 2], 0) * F[r]\n",
        "tensor X f64 [N]\ntensor F f64 [R]\ntensor Y f64 [N]\nY[i] = sum(r) F[r] * pad(X[2 * i - r], 0)\n",
        "tensor X f64 [N]\ntensor F f64 [R]\ntensor Y f64 [N]\n"
        "Y[i] = sum(r where r <= i) pad(X[i - r + 1], 0) * F[r]\n",
        "tensor X f64 [N, N]\ntensor F f64 [R, R]\ntensor Y f64 [N, N]\n"
        "Y[i, j] = sum(r, s) pad(X[i + r - 1, j + s - 1], 0) * F[r, s]\n",
    };
    static const int64_t size[][MOST_SIZES] = {{11, 3}, {2, 5}, {1, 1}};

    (void)state;
    counts(
        "tensor X f64 [N]\ntensor F f64 [3]\ntensor Y f64 [N]\nY[i] = sum(r) pad(X[i + r - 1], 0) * F[r]\n",
        1, (int64_t[MOST_SIZES]){6});
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++)
        for (size_t j = 0; j < sizeof size / sizeof *size; j++)
            counts(programs[i], 1, size[j]);
}

/* A band of a large matrix, whose points must not be enumerated. */
static void large(void **state) {
    static const char text[] = VECTORS "C[m, n] = sum(k where k == m) A[m, k] * B[k, n]\n";
    const int64_t size[MOST_SIZES] = {100000, 100000, 1000000};
    struct uk_program *p = parse_text(text);

    (void)state;
    assert_true(uk_operations(p, size) == 2e11);
    uk_program_destroy(p);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(all), cmocka_unit_test(where), cmocka_unit_test(pads),
                                       cmocka_unit_test(large)};
    return cmocka_run_group_tests(tests, make_context, destroy_context);
}
