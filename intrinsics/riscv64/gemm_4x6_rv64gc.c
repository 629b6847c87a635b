/* SPDX-License-Identifier: Apache-2.0 */
/*
 * 4 rows x 6 columns of C in single (UK_OP_sgemm) or double precision, from panels, one element per register:
 * 24 sums, 4 values of A and 1 or more of B in the 32 F registers. The FP32 baseline of machines without
 * vectors.
 *
 * Bound: 24 multiply-adds, 10 loads and, unrolled by 4 k iterations, 0.75 instructions of the loop: 34.75
 * instructions per k iteration, 1.448 per multiply-add. The 24 independent sums hide a latency of 24 cycles.
 *
 * Edges: each number of rows and of columns has its own loop, unrolled by 2.
 */
#include "registry/kernel_contract.h"

#ifdef UK_OP_dgemm
typedef double real;
#define FMA __builtin_fma
#else
typedef float real;
#define FMA __builtin_fmaf
#endif
enum { MR = UK_MR, NR = UK_NR };
_Static_assert(MR == 4 && NR == 6, "24 sums and 4 + 1 values in 32 registers");

/* A k iteration of r rows and n columns. */
static inline __attribute__((always_inline)) void k_iteration(real sum[MR][NR], const real *a, const real *b,
                                                              int r, int n) {
    real x[MR];

#pragma GCC unroll 4
    for (int i = 0; i < r; i++)
        x[i] = a[i];
#pragma GCC unroll 6
    for (int j = 0; j < n; j++) {
        const real y = b[j];

#pragma GCC unroll 4
        for (int i = 0; i < r; i++)
            sum[i][j] = FMA(x[i], y, sum[i][j]);
    }
}

static inline __attribute__((always_inline)) void tile(int64_t k, const real *a, const real *b, real *c,
                                                       int64_t ldc, int64_t acc, int r, int n, int u) {
    real sum[MR][NR];
    const real *const unrolled_end = a + k / u * u * MR, *const end = a + k * MR;

#pragma GCC unroll 4
    for (int i = 0; i < r; i++)
#pragma GCC unroll 6
        for (int j = 0; j < n; j++)
            sum[i][j] = 0;
    for (; a != unrolled_end; a += u * MR, b += u * NR)
#pragma GCC unroll 4
        for (int p = 0; p < u; p++)
            k_iteration(sum, a + p * MR, b + p * NR, r, n);
    for (; a != end; a += MR, b += NR)
        k_iteration(sum, a, b, r, n);
    if (acc) {
#pragma GCC unroll 4
        for (int i = 0; i < r; i++)
#pragma GCC unroll 6
            for (int j = 0; j < n; j++)
                c[i * ldc + j] += sum[i][j];
    } else {
#pragma GCC unroll 4
        for (int i = 0; i < r; i++)
#pragma GCC unroll 6
            for (int j = 0; j < n; j++)
                c[i * ldc + j] = sum[i][j];
    }
}

#define TILE(r, n, u)                        \
    case 8 * r + n:                          \
        tile(k, a, b, c, ldc, acc, r, n, u); \
        break;
#define TILES(r) TILE(r, 1, 2) TILE(r, 2, 2) TILE(r, 3, 2) TILE(r, 4, 2) TILE(r, 5, 2)
#define ALL_TILES TILES(1) TILES(2) TILES(3) TILES(4) TILE(1, 6, 2) TILE(2, 6, 2) TILE(3, 6, 2) TILE(4, 6, 4)

void UK_SYMBOL(int64_t k, const real *a, const real *b, real *c, int64_t ldc, int64_t acc, int64_t mr,
               int64_t nr) {
    switch (8 * mr + nr) { ALL_TILES }
}
