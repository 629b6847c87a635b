/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that uses libukblas but no other BLAS, and has no error handlers: an illegal argument is named on
 * standard error, and C is unchanged.
 */
#define _GNU_SOURCE
#include <cblas.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#undef sgemm_
void sgemm_(const char *, const char *, const int *, const int *, const int *, const float *, const float *,
            const int *, const float *, const int *, const float *, float *, const int *);

static float a[6], b[6], c[4] = {1, 2, 3, 4};

static void fortran(void) {
    int two = 2, three = 3, one = 1;
    float alpha = 1, beta = 0;

    sgemm_("N", "N", &two, &two, &three, &alpha, a, &two, b, &three, &beta, c, &one);
}

static void rows(void) {
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, 2, 2, 3, 1, a, 2, b, 2, 0, c, 2);
}

static void negative_rows(void) {
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, -1, 2, 3, 1, NULL, 3, NULL, 2, 0, NULL, 2);
}

static void no_layout(void) {
    cblas_sgemm((CBLAS_LAYOUT)0, CblasNoTrans, CblasNoTrans, 2, 2, 3, 1, a, 3, b, 2, 0, c, 2);
}

static void says(void (*call)(void), const char *wanted) {
    static const float before[4] = {1, 2, 3, 4};
    char text[200] = "";
    FILE *file = tmpfile();
    int kept = dup(STDERR_FILENO);

    assert_non_null(file);
    assert_true(kept >= 0 && dup2(fileno(file), STDERR_FILENO) >= 0);
    call();
    assert_true(dup2(kept, STDERR_FILENO) >= 0);
    close(kept);
    rewind(file);
    text[fread(text, 1, sizeof text - 1, file)] = 0;
    fclose(file);
    assert_string_equal(text, wanted);
    assert_memory_equal(c, before, sizeof before);
}

static void illegal_arguments_are_named(void **state) {
    (void)state;
    says(fortran, " ** On entry to SGEMM  parameter number 13 had an illegal value\n");
    says(rows, "Parameter 9 to routine cblas_sgemm was incorrect\n");
    says(negative_rows, "Parameter 4 to routine cblas_dgemm was incorrect\n");
    says(no_layout, "Parameter 1 to routine cblas_sgemm was incorrect\n");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(illegal_arguments_are_named)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
