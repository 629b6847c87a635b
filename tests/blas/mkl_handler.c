/* SPDX-License-Identifier: Apache-2.0 */
/* A program that uses libukblas and MKL, whose cblas_xerbla has other parameters than all others. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

void cblas_sgemm(int, int, int, int, int, int, float, const float *, int, const float *, int, float, float *,
                 int);
void cblas_sgemm_64(int, int, int, int64_t, int64_t, int64_t, float, const float *, int64_t, const float *,
                    int64_t, float, float *, int64_t);

/* As mkl_cblas.h and mkl_service.h declare them. */
void cblas_xerbla(const char *routine, int argument);
void mkl_get_version(void *version);

static char reported[40];

void cblas_xerbla(const char *routine, int argument) {
    snprintf(reported, sizeof reported, "%s %d", routine, argument);
}

void mkl_get_version(void *version) {
    (void)version;
}

static void mkl_handler_is_called(void **state) {
    enum { ROWS = 101, COLUMNS = 102, NO = 111 };
    float x[9] = {0};

    (void)state;
    cblas_sgemm(0, NO, NO, 1, 2, 3, 1, x, 3, x, 3, 0, x, 3);
    assert_string_equal(reported, "cblas_sgemm 1");
    cblas_sgemm(COLUMNS, NO, NO, -1, 2, 3, 1, x, 3, x, 3, 0, x, 3);
    assert_string_equal(reported, "cblas_sgemm 4");
    cblas_sgemm(ROWS, NO, NO, -1, 2, 3, 1, x, 3, x, 3, 0, x, 3);
    assert_string_equal(reported, "cblas_sgemm 4");
    cblas_sgemm(ROWS, NO, NO, 1, 2, 3, 1, x, 2, x, 3, 0, x, 3);
    assert_string_equal(reported, "cblas_sgemm 9");
    cblas_sgemm_64(ROWS, NO, NO, 1, 2, 3, 1, x, 3, x, 1, 0, x, 3);
    assert_string_equal(reported, "cblas_sgemm_64 11");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(mkl_handler_is_called)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
