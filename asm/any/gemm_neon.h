/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by NEON's matrix product kernels: the element type, and the way of an edge tile from a scratch tile
 * to C. */
#ifndef GEMM_NEON_H
#define GEMM_NEON_H

#include "registry/kernel_contract.h"

#if defined UK_OP_dgemm || defined UK_OP_dgemm_ra || defined UK_OP_dgemm_rab || defined UK_OP_dgemm_sab
#define UK_DOUBLE 1
typedef double real;
#else
#define UK_DOUBLE 0
typedef float real;
#endif
/* Unaligned; may alias real. */
typedef real vector __attribute__((vector_size(16), aligned(sizeof(real)), may_alias));
enum { V = 16 / sizeof(real) };
static const int64_t size = sizeof(real);

/*
 * C (+)= t for mr rows of nr columns, `vectors` vectors each. The last vector begins at column nr - V and
 * overlaps the one before it (see the kernels); both have the same sums in the columns that they share. A row
 * is read completely before any of it is written, so that no column is added twice. Fewer than V columns go
 * one by one.
 */
static inline __attribute__((always_inline, unused)) void store_tile(real *c, int64_t ldc, int64_t acc,
                                                                     int64_t mr, int64_t nr, const vector *t,
                                                                     const int row_vectors,
                                                                     const int vectors) {
#pragma GCC unroll 1
    for (; mr > 0; mr--, c += ldc, t += row_vectors) {
        vector sum[4];

        if (nr < V) {
#pragma GCC unroll 1
            for (int64_t j = 0; j < nr; j++)
                c[j] = acc ? c[j] + ((const real *)t)[j] : ((const real *)t)[j];
            continue;
        }
#pragma GCC unroll 4
        for (int j = 0; j < vectors; j++)
            sum[j] =
                acc ? (vector)(t[j] + *(const vector *)(j + 1 < vectors ? c + j * V : c + nr - V)) : t[j];
#pragma GCC unroll 4
        for (int j = 0; j < vectors; j++)
            *(vector *)(j + 1 < vectors ? c + j * V : c + nr - V) = sum[j];
    }
}

#endif
