/* SPDX-License-Identifier: Apache-2.0 */
/* The names that libukblas has, called in one way; what it calls of libukernels; what it reports. */
#ifndef BLAS_ENTRIES_H
#define BLAS_ENTRIES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include "ukernels.h"

struct product {
    int layout, number_a, number_b; /* of CBLAS */
    char ta, tb;                    /* of BLAS */
    int64_t m, n, k, lda, ldb, ldc, stride_a, stride_b, stride_c, count;
    double alpha, beta;
    void *a, *b, *c;
};

struct entry {
    const char *routine; /* in reports */
    void (*call)(const struct product *p);
    bool is_double, wide, c_interface, batch;
};

extern const struct entry entries[];
extern const int entry_count;

/* How often libukblas has called libukernels; what these calls return instead of computing, if it is not
 * UK_OK. */
extern atomic_int calls;
extern enum uk_status answer;

/* The last call of xerbla_ or cblas_xerbla, which this program has of its own. */
extern struct report {
    int argument;
    char routine[40];
    bool wide, c_interface; /* 64-bit integers; cblas_xerbla */
} report;
extern int RowMajorStrg; /* as the reference's xerbla names it: the product is row-major */

#endif
