/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bounds the cost of a process's first product apart from libcpuinfo's detection of the CPU, by counting
 * string comparisons and estimates of a kernel's cycles. Counts are used because times would depend on the
 * machine's load. With these bounds, making the tables takes some milliseconds at most (with AVX-512, 0.75 ms
 * on Zen 5 and 1.35 ms on Granite Rapids).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>
#include "cost/cost.h"
#include "gemm/gemm.h"

enum { COMPARISONS_MOST = 2000, ESTIMATES_MOST = 60000 };

static int64_t comparisons, estimates;

int __real_strcmp(const char *a, const char *b);
int __wrap_strcmp(const char *a, const char *b);
int __real_strncmp(const char *a, const char *b, size_t n);
int __wrap_strncmp(const char *a, const char *b, size_t n);
int __real_memcmp(const void *a, const void *b, size_t n);
int __wrap_memcmp(const void *a, const void *b, size_t n);
double __real_uk_cost_cycles(const struct uk_core *core, const struct uk_vectors *v,
                             const struct uk_counts *n);
double __wrap_uk_cost_cycles(const struct uk_core *core, const struct uk_vectors *v,
                             const struct uk_counts *n);

int __wrap_strcmp(const char *a, const char *b) {
    comparisons++;
    return __real_strcmp(a, b);
}

int __wrap_strncmp(const char *a, const char *b, size_t n) {
    comparisons++;
    return __real_strncmp(a, b, n);
}

int __wrap_memcmp(const void *a, const void *b, size_t n) {
    comparisons++;
    return __real_memcmp(a, b, n);
}

double __wrap_uk_cost_cycles(const struct uk_core *core, const struct uk_vectors *v,
                             const struct uk_counts *n) {
    estimates++;
    return __real_uk_cost_cycles(core, v, n);
}

static void few_comparisons(void **state) {
    const double a[4] = {1, 2, 3, 4}, b[4] = {5, 6, 7, 8};
    double c[4];

    (void)state;
    comparisons = estimates = 0;
    assert_int_equal(
        uk_dgemm(UK_ROW_MAJOR, UK_NO_TRANSPOSE, UK_NO_TRANSPOSE, 2, 2, 2, 1, a, 2, b, 2, 0, c, 2), UK_OK);
    print_message("%lld comparisons, %lld estimates\n", (long long)comparisons, (long long)estimates);
    assert_true(c[0] == 19 && c[3] == 50);
    assert_true(comparisons > 0 && comparisons <= COMPARISONS_MOST);
    assert_true(estimates > 0 && estimates <= ESTIMATES_MOST);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(few_comparisons)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
