/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of libukblas with one signature, its calls of libukernels, and its reports. */
#ifndef BLAS_ENTRIES_H
#define BLAS_ENTRIES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include "ukernels.h"

struct product {
    int layout, number_a, number_b; /* arguments of CBLAS */
    char ta, tb;                    /* arguments of BLAS */
    int64_t m, n, k, lda, ldb, ldc, stride_a, stride_b, stride_c, count;
    double alpha, beta;
    void *a, *b, *c;
};

struct entry {
    const char *routine; /* name in reports */
    void (*call)(const struct product *p);
    bool is_double, wide, c_interface, batch;
};

extern const struct entry entries[];
extern const int entry_count;

/* The number of libukblas's calls of libukernels, and the status that these return instead of computing, if
 * it is not UK_OK. */
extern atomic_int calls;
extern enum uk_status answer;

/* The last call of this program's own xerbla_ or cblas_xerbla. */
extern struct report {
    int argument;
    char routine[40];
    bool wide, c_interface; /* 64-bit integers; from cblas_xerbla */
} report;
extern int RowMajorStrg; /* the reference's variable: the product is row-major */

#endif
