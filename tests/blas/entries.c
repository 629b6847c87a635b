/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "entries.h"
#include <cblas.h>
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

/* ---- between libukblas and libukernels ---- */

atomic_int calls;
enum uk_status answer = UK_OK;

#define BETWEEN(T, name)                                                                                 \
    enum uk_status name(enum uk_layout layout, enum uk_transpose ta, enum uk_transpose tb, int64_t m,    \
                        int64_t n, int64_t k, T alpha, const T *a, int64_t lda, const T *b, int64_t ldb, \
                        T beta, T *c, int64_t ldc) {                                                     \
        __typeof__(name) *next = (__typeof__(name) *)dlsym(RTLD_NEXT, #name);                            \
                                                                                                         \
        atomic_fetch_add(&calls, 1);                                                                     \
        return answer != UK_OK ? answer                                                                  \
                               : next(layout, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);     \
    }
BETWEEN(float, uk_sgemm)
BETWEEN(double, uk_dgemm)

#define BETWEEN_BATCH(T, name)                                                                            \
    enum uk_status name(enum uk_layout layout, enum uk_transpose ta, enum uk_transpose tb, int64_t m,     \
                        int64_t n, int64_t k, T alpha, const T *a, int64_t lda, int64_t stride_a,         \
                        const T *b, int64_t ldb, int64_t stride_b, T beta, T *c, int64_t ldc,             \
                        int64_t stride_c, int64_t count) {                                                \
        __typeof__(name) *next = (__typeof__(name) *)dlsym(RTLD_NEXT, #name);                             \
                                                                                                          \
        atomic_fetch_add(&calls, 1);                                                                      \
        return answer != UK_OK ? answer                                                                   \
                               : next(layout, ta, tb, m, n, k, alpha, a, lda, stride_a, b, ldb, stride_b, \
                                      beta, c, ldc, stride_c, count);                                     \
    }
BETWEEN_BATCH(float, uk_sgemm_batch_strided)
BETWEEN_BATCH(double, uk_dgemm_batch_strided)

/* ---- the program's own handlers ---- */

int RowMajorStrg;
struct report report;

static void keep(int argument, const char *routine, size_t length, bool wide, bool c_interface) {
    report.argument = argument;
    snprintf(report.routine, sizeof report.routine, "%.*s", (int)length, routine);
    report.wide = wide;
    report.c_interface = c_interface;
}

void xerbla_(const char *routine, const int32_t *argument, size_t length) {
    keep(*argument, routine, length, false, false);
}

void xerbla_64_(const char *routine, const int64_t *argument, size_t length) {
    keep((int)*argument, routine, length, true, false);
}

/* As in the reference: the reported argument of a row-major product is that of the column-major product which
 * computes it. */
static int exchange(int argument) {
    static const int other[12] = {[4] = 5, [5] = 4, [9] = 11, [11] = 9};

    return RowMajorStrg && argument < 12 && other[argument] ? other[argument] : argument;
}

void cblas_xerbla(int argument, const char *routine, const char *form, ...) {
    (void)form;
    keep(exchange(argument), routine, strlen(routine), false, true);
}

void cblas_xerbla_64(int64_t argument, const char *routine, const char *form, ...);
void cblas_xerbla_64(int64_t argument, const char *routine, const char *form, ...) {
    (void)form;
    keep(exchange((int)argument), routine, strlen(routine), true, true);
}

/* ---- the entries; of CBLAS's, cblas.h declares cblas_sgemm and cblas_dgemm alone ---- */

#define SCALARS(INT, T)                                                                    \
    INT m = (INT)p->m, n = (INT)p->n, k = (INT)p->k, lda = (INT)p->lda, ldb = (INT)p->ldb, \
        ldc = (INT)p->ldc;                                                                 \
    T alpha = (T)p->alpha, beta = (T)p->beta;
#define STRIDES(INT)                                                                           \
    INT stride_a = (INT)p->stride_a, stride_b = (INT)p->stride_b, stride_c = (INT)p->stride_c, \
        count = (INT)p->count;

#define FORTRAN_ENTRIES(T, INT, gemm, batch)                                                                 \
    void gemm(const char *, const char *, const INT *, const INT *, const INT *, const T *, const T *,       \
              const INT *, const T *, const INT *, const T *, T *, const INT *);                             \
    void batch(const char *, const char *, const INT *, const INT *, const INT *, const T *, const T *,      \
               const INT *, const INT *, const T *, const INT *, const INT *, const T *, T *, const INT *,   \
               const INT *, const INT *);                                                                    \
    static void call_##gemm(const struct product *p) {                                                       \
        SCALARS(INT, T)                                                                                      \
        gemm(&p->ta, &p->tb, &m, &n, &k, &alpha, p->a, &lda, p->b, &ldb, &beta, p->c, &ldc);                 \
    }                                                                                                        \
    static void call_##batch(const struct product *p) {                                                      \
        SCALARS(INT, T)                                                                                      \
        STRIDES(INT)                                                                                         \
        batch(&p->ta, &p->tb, &m, &n, &k, &alpha, p->a, &lda, &stride_a, p->b, &ldb, &stride_b, &beta, p->c, \
              &ldc, &stride_c, &count);                                                                      \
    }

#define CBLAS_BATCH_ENTRY(T, INT, batch)                                                                    \
    void batch(CBLAS_LAYOUT, CBLAS_TRANSPOSE, CBLAS_TRANSPOSE, INT, INT, INT, T, const T *, INT, INT,       \
               const T *, INT, INT, T, T *, INT, INT, INT);                                                 \
    static void call_##batch(const struct product *p) {                                                     \
        SCALARS(INT, T)                                                                                     \
        STRIDES(INT)                                                                                        \
        batch((CBLAS_LAYOUT)p->layout, (CBLAS_TRANSPOSE)p->number_a, (CBLAS_TRANSPOSE)p->number_b, m, n, k, \
              alpha, p->a, lda, stride_a, p->b, ldb, stride_b, beta, p->c, ldc, stride_c, count);           \
    }

#define CBLAS_ENTRY(T, INT, gemm)                                                                          \
    static void call_##gemm(const struct product *p) {                                                     \
        SCALARS(INT, T)                                                                                    \
        gemm((CBLAS_LAYOUT)p->layout, (CBLAS_TRANSPOSE)p->number_a, (CBLAS_TRANSPOSE)p->number_b, m, n, k, \
             alpha, p->a, lda, p->b, ldb, beta, p->c, ldc);                                                \
    }
#define CBLAS_WIDE_ENTRY(T, gemm)                                                                      \
    void gemm(CBLAS_LAYOUT, CBLAS_TRANSPOSE, CBLAS_TRANSPOSE, int64_t, int64_t, int64_t, T, const T *, \
              int64_t, const T *, int64_t, T, T *, int64_t);                                           \
    CBLAS_ENTRY(T, int64_t, gemm)

#define ALL_ENTRIES(T, s)                                               \
    FORTRAN_ENTRIES(T, int32_t, s##gemm_, s##gemm_batch_strided_)       \
    FORTRAN_ENTRIES(T, int64_t, s##gemm_64_, s##gemm_batch_strided_64_) \
    CBLAS_ENTRY(T, int32_t, cblas_##s##gemm)                            \
    CBLAS_WIDE_ENTRY(T, cblas_##s##gemm_64)                             \
    CBLAS_WIDE_ENTRY(T, cblas_##s##gemm64_)                             \
    CBLAS_BATCH_ENTRY(T, int32_t, cblas_##s##gemm_batch_strided)        \
    CBLAS_BATCH_ENTRY(T, int64_t, cblas_##s##gemm_batch_strided_64)

#undef sgemm_
#undef dgemm_
ALL_ENTRIES(float, s)
ALL_ENTRIES(double, d)

#define ENTRIES(s, S, is_double)                                                                              \
    {S "GEMM ", call_##s##gemm_, is_double, false, false, false},                                             \
        {S "GEMM ", call_##s##gemm_64_, is_double, true, false, false},                                       \
        {S "GEMM_BATCH_STRIDED", call_##s##gemm_batch_strided_, is_double, false, false, true},               \
        {S "GEMM_BATCH_STRIDED", call_##s##gemm_batch_strided_64_, is_double, true, false, true},             \
        {"cblas_" #s "gemm", call_cblas_##s##gemm, is_double, false, true, false},                            \
        {"cblas_" #s "gemm_64", call_cblas_##s##gemm_64, is_double, true, true, false},                       \
        {"cblas_" #s "gemm_64", call_cblas_##s##gemm64_, is_double, true, true, false},                       \
        {"cblas_" #s "gemm_batch_strided", call_cblas_##s##gemm_batch_strided, is_double, false, true, true}, \
        {"cblas_" #s "gemm_batch_strided_64",                                                                 \
         call_cblas_##s##gemm_batch_strided_64,                                                               \
         is_double,                                                                                           \
         true,                                                                                                \
         true,                                                                                                \
         true},
const struct entry entries[] = {ENTRIES(s, "S", false) ENTRIES(d, "D", true)};
const int entry_count = sizeof entries / sizeof *entries;
