/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks every way of computing a product by tiles, also those that no plan chooses on this machine: random
 * sizes in all forms, with gaps between rows, on integers that the types hold exactly, compared with integer
 * sums. The gaps of C, and the memory after it, must not change.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "gemm/gemm.h"
#include "ukernels.h"

enum { GAP = 3, BEHIND = 64, OUTSIDE = -77 };

struct product {
    int64_t m, n, k;
    bool a_transposed, b_transposed, is_double;
};

static double get(const void *x, bool is_double, int64_t i) {
    return is_double ? ((const double *)x)[i] : (double)((const float *)x)[i];
}

static void set(void *x, bool is_double, int64_t i, double value) {
    if (is_double)
        ((double *)x)[i] = value;
    else
        ((float *)x)[i] = (float)value;
}

/* Allocates `rows` rows of values from -6 to 6, ld elements apart. */
static void *filled(const struct product *p, int64_t rows, int64_t ld, int factor) {
    void *x = malloc((size_t)(rows * ld) * (p->is_double ? sizeof(double) : sizeof(float)));

    assert_non_null(x);
    for (int64_t i = 0; i < rows * ld; i++)
        set(x, p->is_double, i, (double)(i * factor % 13 - 6));
    return x;
}

static void check(const struct product *p, const struct gemm_plan *plan, int way, const void *a,
                  const void *b, const int64_t *sums) {
    const int64_t ldc = p->n + GAP, count = p->m * ldc + BEHIND;
    const size_t size = p->is_double ? sizeof(double) : sizeof(float);
    void *c = malloc((size_t)count * size);
    const struct gemm_operands o = {.alpha = 1, .beta = 2, .a = a, .b = b, .c = c};

    assert_non_null(c);
    for (int64_t i = 0; i < count; i++)
        set(c, p->is_double, i, i < p->m * ldc && i % ldc < p->n ? (double)(i % 5) : OUTSIDE);
    assert_int_equal(uk_gemm_run(plan, &o, NULL), UK_OK);
    for (int64_t i = 0; i < count; i++) {
        const bool inside = i < p->m * ldc && i % ldc < p->n;
        const double expected = inside ? (double)(sums[i / ldc * p->n + i % ldc] + 2 * (i % 5)) : OUTSIDE;

        if (get(c, p->is_double, i) != expected)
            fail_msg("%s, %d x %d x %d %c%c, way %d: element %d is %g, not %g", p->is_double ? "f64" : "f32",
                     (int)p->m, (int)p->n, (int)p->k, p->a_transposed ? 'T' : 'N',
                     p->b_transposed ? 'T' : 'N', way, (int)i, get(c, p->is_double, i), expected);
    }
    free(c);
}

/* Checks all ways; returns their number. */
static int check_all(const struct product *p) {
    const struct gemm_type *type = uk_gemm_look_up(p->is_double ? &uk_gemm_f64 : &uk_gemm_f32);
    const struct uk_gemm_options one_thread = {.threads = 1};
    const int64_t a_rows = p->a_transposed ? p->k : p->m, lda = (p->a_transposed ? p->m : p->k) + GAP,
                  b_rows = p->b_transposed ? p->n : p->k, ldb = (p->b_transposed ? p->k : p->n) + GAP;
    const struct gemm_shape shape = {UK_ROW_MAJOR,
                                     p->a_transposed ? UK_TRANSPOSE : UK_NO_TRANSPOSE,
                                     p->b_transposed ? UK_TRANSPOSE : UK_NO_TRANSPOSE,
                                     p->m,
                                     p->n,
                                     p->k,
                                     lda,
                                     ldb,
                                     p->n + GAP};
    void *a = filled(p, a_rows, lda, 7), *b = filled(p, b_rows, ldb, 5);
    int64_t *sums = calloc((size_t)(p->m * p->n), sizeof *sums);
    const struct gemm_wanted best_of = {.path = "tiles"};
    struct gemm_plan own;
    int ways = 0;

    assert_non_null(sums);
    for (int64_t i = 0; i < p->m; i++)
        for (int64_t l = 0; l < p->k; l++)
            for (int64_t j = 0; j < p->n; j++)
                sums[i * p->n + j] +=
                    (int64_t)get(a, p->is_double, p->a_transposed ? l * lda + i : i * lda + l) *
                    (int64_t)get(b, p->is_double, p->b_transposed ? j * ldb + l : l * ldb + j);
    assert_int_equal(uk_gemm_resolve(&own, type, &shape, &one_thread, NULL), UK_OK);
    check(p, &own, -1, a, b, sums);
    for (int i = 0;; i++) {
        struct gemm_plan plan = own;
        const enum uk_status status =
            own.product.c_columns ? UK_INVALID_ARGUMENT : uk_gemm_plan_choice(&plan, i, &best_of);

        if (status == UK_INVALID_ARGUMENT)
            break;
        if (status)
            continue;
        check(p, &plan, i, a, b, sums);
        ways++;
    }
    free(sums);
    free(a);
    free(b);
    return ways;
}

static int64_t draw(uint64_t *random, int64_t most) {
    *random = *random * 6364136223846793005u + 1442695040888963407u;
    return 1 + (int64_t)((*random >> 33) % (uint64_t)most);
}

static void all_ways_are_right(void **state) {
    uint64_t random = 5;
    int ways = 0;

    (void)state;
    for (int i = 0; i < 160; i++) {
        const bool is_long = i % 20 == 0; /* so that k is split into blocks */
        const int64_t m = draw(&random, is_long ? 30 : 130), n = draw(&random, is_long ? 40 : 130);

        ways += check_all(&(struct product){m, n, is_long ? 800 + draw(&random, 900) : draw(&random, 90),
                                            i & 1, i & 2, i & 4});
    }
    assert_true(ways > 160);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_ways_are_right)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
