/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libukblas and another BLAS, both loaded with RTLD_LOCAL, as Python's ctypes and extensions load them: an
 * illegal argument is reported to the handler of that BLAS, whichever was loaded first. Arguments:
 * libukblas.so, an object with the reference's handlers, one with MKL's.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

typedef void gemm_function(const char *, const char *, const int *, const int *, const int *, const float *,
                           const float *, const int *, const float *, const int *, const float *, float *,
                           const int *);
typedef void gemm_64_function(const char *, const char *, const int64_t *, const int64_t *, const int64_t *,
                              const float *, const float *, const int64_t *, const float *, const int64_t *,
                              const float *, float *, const int64_t *);
typedef void cblas_gemm_function(int, int, int, int, int, int, float, const float *, int, const float *, int,
                                 float, float *, int);

static const char *ukblas, *reference, *mkl;
static float x[9], c[4] = {1, 2, 3, 4};

static void *open_local(const char *path) {
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);

    if (!handle)
        fail_msg("%s", dlerror());
    return handle;
}

static void call(void *blas) {
    const int two = 2, minus = -1;
    const float one = 1;

    ((gemm_function *)dlsym(blas, "sgemm_"))("N", "N", &two, &two, &minus, &one, x, &two, x, &two, &one, c,
                                             &two);
}

static void call_64(void *blas) {
    const int64_t two = 2, minus = -1;
    const float one = 1;

    ((gemm_64_function *)dlsym(blas, "sgemm_64_"))("N", "N", &two, &two, &minus, &one, x, &two, x, &two, &one,
                                                   c, &two);
}

static void call_rows(void *blas) {
    ((cblas_gemm_function *)dlsym(blas, "cblas_sgemm"))(101, 111, 111, 2, 2, 3, 1, x, 2, x, 2, 1, c, 2);
}

/* Runs first, while no handler is loaded: a message on standard error names the argument. */
static void none_is_beside(void **state) {
    void *blas = open_local(ukblas);
    char text[200] = "";
    FILE *file = tmpfile();
    const int kept = dup(STDERR_FILENO);

    (void)state;
    assert_non_null(file);
    assert_true(kept >= 0 && dup2(fileno(file), STDERR_FILENO) >= 0);
    call(blas);
    assert_true(dup2(kept, STDERR_FILENO) >= 0);
    close(kept);
    rewind(file);
    text[fread(text, 1, sizeof text - 1, file)] = 0;
    fclose(file);
    assert_string_equal(text, " ** On entry to SGEMM  parameter number  5 had an illegal value\n");
}

static void reference_is_beside(void **state) {
    void *blas = open_local(ukblas), *beside = open_local(reference);
    const char *reported = dlsym(beside, "reported");

    (void)state;
    assert_null(dlsym(RTLD_DEFAULT, "xerbla_"));
    call(blas);
    assert_string_equal(reported, "xerbla SGEMM  5");
    call_64(blas);
    assert_string_equal(reported, "xerbla_64 SGEMM  5");
    call_rows(blas);
    assert_string_equal(reported, "cblas_xerbla cblas_sgemm 11 1");
    assert_int_equal(*(int *)dlsym(beside, "RowMajorStrg"), 5);
    dlclose(beside);
    assert_null(dlopen(reference, RTLD_NOW | RTLD_NOLOAD)); /* libukblas does not keep it loaded */
}

static void mkl_is_beside(void **state) {
    void *beside = open_local(mkl), *blas = open_local(ukblas);

    (void)state;
    call_rows(blas);
    assert_string_equal((const char *)dlsym(beside, "reported"), "mkl cblas_sgemm 9");
    dlclose(beside);
}

static void nothing_was_written(void **state) {
    static const float before[4] = {1, 2, 3, 4};

    (void)state;
    assert_memory_equal(c, before, sizeof c);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(none_is_beside),
        cmocka_unit_test(reference_is_beside),
        cmocka_unit_test(mkl_is_beside),
        cmocka_unit_test(nothing_was_written),
    };

    if (argc != 4)
        return 2;
    ukblas = argv[1];
    reference = argv[2];
    mkl = argv[3];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
