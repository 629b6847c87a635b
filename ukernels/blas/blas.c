/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libukblas: sgemm and dgemm as BLAS and CBLAS declare them, and their strided batches, on top of uk_sgemm
 * and uk_dgemm. Linked in front of a BLAS, or preloaded, it defines these names, and leaves all others to
 * that BLAS.
 *
 * The names without suffix take 32-bit integers, those that end in 64_ (and cblas_*_64) 64-bit ones. Illegal
 * arguments are reported as the reference BLAS reports them, and C is left as it is.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include "blas.h"
#include "ukernels.h"

/* The error handlers are the program's, or those of the BLAS beside this library: none is defined here, so
 * that theirs are called. Where the linker finds none, because that BLAS was loaded with RTLD_LOCAL,
 * handlers.c looks for it when it is needed. */
#define WEAK __attribute__((weak))
typedef void xerbla_function(const char *routine, const int32_t *argument, size_t length);
typedef void xerbla_64_function(const char *routine, const int64_t *argument, size_t length);
typedef void cblas_function(int32_t argument, const char *routine, const char *form, ...);
typedef void cblas_64_function(int64_t argument, const char *routine, const char *form, ...);
/* MKL's cblas_xerbla is another function: it takes the routine and then the caller's argument. */
typedef void mkl_function(const char *routine, int32_t argument);
WEAK xerbla_function xerbla_;
WEAK xerbla_64_function xerbla_64_;
WEAK cblas_function cblas_xerbla;
WEAK cblas_64_function cblas_xerbla_64;
WEAK void mkl_get_version(void *version);
/* The reference's cblas_xerbla, and what is modelled on it, reads this: nonzero says that a row-major product
 * is computed as a column-major one and arguments are numbered as that one's; the handler then reports the
 * caller's numbers. */
WEAK extern int RowMajorStrg;

/* The handler of illegal arguments: `wide` takes 64-bit integers, `narrow` 32-bit ones; at least one of them
 * is NULL. */
struct handler {
    void *wide, *narrow;
    void *object; /* the object that defines it, kept open while it runs; NULL: the linker found it */
};

static struct handler find_handler(bool wide, void *linked_wide, const char *name_of_wide,
                                   void *linked_narrow, const char *name_of_narrow) {
    struct handler h = {.wide = wide ? linked_wide : NULL};

    if (!h.wide)
        h.narrow = linked_narrow;
    if (!h.wide && !h.narrow && wide)
        h.wide = blas_find_beside(name_of_wide, &h.object);
    if (!h.wide && !h.narrow)
        h.narrow = blas_find_beside(name_of_narrow, &h.object);
    return h;
}

static void close_handler(const struct handler *h) {
    if (h->object)
        dlclose(h->object);
}

enum {
    CBLAS_ROWS = 101,
    CBLAS_COLUMNS = 102,
    CBLAS_NO_TRANS = 111,
    CBLAS_TRANS = 112,
    CBLAS_CONJ_TRANS = 113
};

/* A column-major product. A row-major one is the column-major product of the transposes: B' A', with m and n
 * exchanged. */
struct shape {
    enum uk_transpose ta, tb;
    int64_t m, n, k, lda, ldb, ldc;
};

struct batch {
    int64_t stride_a, stride_b, stride_c, count;
};

/* The positions of sgemm_'s arguments, and where sgemm_batch_strided_ has them. CBLAS counts the layout
 * first. */
enum { TRANSA = 1, TRANSB, M, N, K, LDA = 8, LDB = 10, LDC = 13 };
enum { BATCH_LDA = 8, BATCH_LDB = 11, BATCH_LDC = 15, BATCH_SIZE = 17 };

/* Returns the caller's position, in a row-major product, of the argument at this position of the column-major
 * one. */
static int exchange(int argument, int lda, int ldb) {
    return argument == M ? N : argument == N ? M : argument == lda ? ldb : argument == ldb ? lda : argument;
}

static void report(const char *routine, int argument, bool wide) {
    const struct handler h = find_handler(wide, (void *)xerbla_64_, "xerbla_64_", (void *)xerbla_, "xerbla_");
    const int64_t long_argument = argument;
    const int32_t short_argument = argument;

    if (h.wide)
        ((xerbla_64_function *)h.wide)(routine, &long_argument, strlen(routine));
    else if (h.narrow)
        ((xerbla_function *)h.narrow)(routine, &short_argument, strlen(routine));
    else
        fprintf(stderr, " ** On entry to %s parameter number %2d had an illegal value\n", routine, argument);
    close_handler(&h);
}

/* `exchanged`: the argument is counted as in the column-major product that computes the caller's. */
static void report_cblas(const char *routine, int argument, bool exchanged, bool wide, const char *form,
                         int value) {
    const struct handler h =
        find_handler(wide, (void *)cblas_xerbla_64, "cblas_xerbla_64", (void *)cblas_xerbla, "cblas_xerbla");
    const int callers = exchanged ? exchange(argument - 1, LDA, LDB) + 1 : argument;
    const bool is_mkl = h.object ? dlsym(h.object, "mkl_get_version") != NULL : mkl_get_version != NULL;
    int *const rows = h.object ? dlsym(h.object, "RowMajorStrg") : &RowMajorStrg;
    const int before = rows ? *rows : 0;

    if (rows)
        *rows = exchanged;
    if (h.wide)
        ((cblas_64_function *)h.wide)(argument, routine, form, value);
    else if (h.narrow && is_mkl)
        ((mkl_function *)h.narrow)(routine, callers);
    else if (h.narrow)
        ((cblas_function *)h.narrow)(argument, routine, form, value);
    else
        fprintf(stderr, "Parameter %d to routine %s was incorrect\n", callers, routine);
    if (rows)
        *rows = before;
    close_handler(&h);
}

/* True if BLAS has this letter for a transpose; its meaning in *transpose. */
static inline bool read_letter(char letter, enum uk_transpose *transpose) {
    *transpose = letter == 'N' || letter == 'n' ? UK_NO_TRANSPOSE : UK_TRANSPOSE;
    return *transpose == UK_NO_TRANSPOSE || letter == 'T' || letter == 't' || letter == 'C' || letter == 'c';
}

/* The same for CBLAS' numbers. */
static inline bool read_number(int number, enum uk_transpose *transpose) {
    *transpose = number == CBLAS_NO_TRANS ? UK_NO_TRANSPOSE : UK_TRANSPOSE;
    return number == CBLAS_NO_TRANS || number == CBLAS_TRANS || number == CBLAS_CONJ_TRANS;
}

static inline int64_t at_least_one(int64_t n) {
    return n > 1 ? n : 1;
}

/* The position of the first illegal size as sgemm_ counts its arguments, or 0. */
static inline int illegal_size(const struct shape *s) {
    return s->m < 0                                                        ? M
           : s->n < 0                                                      ? N
           : s->k < 0                                                      ? K
           : s->lda < at_least_one(s->ta == UK_NO_TRANSPOSE ? s->m : s->k) ? LDA
           : s->ldb < at_least_one(s->tb == UK_NO_TRANSPOSE ? s->k : s->n) ? LDB
           : s->ldc < at_least_one(s->m)                                   ? LDC
                                                                           : 0;
}

/* The same for sgemm_batch_strided_. Operands may lie at any strides. */
static int illegal_in_batch(const struct shape *s, const struct batch *batch) {
    int size = illegal_size(s);

    return size == LDA        ? BATCH_LDA
           : size == LDB      ? BATCH_LDB
           : size == LDC      ? BATCH_LDC
           : size             ? size
           : batch->count < 0 ? BATCH_SIZE
                              : 0;
}

/* Reads cblas_sgemm's arguments in front of the sizes; false after a report. */
static inline bool read_cblas(const char *routine, bool wide, int layout, int ta, int tb, struct shape *s) {
    bool rows = layout == CBLAS_ROWS;

    if (!rows && layout != CBLAS_COLUMNS)
        report_cblas(routine, 1, false, wide, "Illegal layout setting, %d\n", layout);
    else if (!read_number(ta, rows ? &s->tb : &s->ta))
        report_cblas(routine, 2, rows, wide, "Illegal TransA setting, %d\n", ta);
    else if (!read_number(tb, rows ? &s->ta : &s->tb))
        report_cblas(routine, 3, rows, wide, "Illegal TransB setting, %d\n", tb);
    else
        return true;
    return false;
}

#define PASTE_(a, b, c) a##b##c
#define PASTE(a, b, c) PASTE_(a, b, c)
#define STRING_(name) #name
#define STRING(name) STRING_(name)

#define T float
#define LETTER s
#define UPPER "S"
#include "product.h"
#undef T
#undef LETTER
#undef UPPER

#define T double
#define LETTER d
#define UPPER "D"
#include "product.h"
