/* SPDX-License-Identifier: Apache-2.0 */
/*
 * c[i][j] += sum over p of a(i, p) * b(p, j) of a thread's 8 x 16 tile, by v_pk_fma_f32: two neighbouring
 * columns at once, with one half of a pair of rows for both.
 *
 * Bound: 64 packed FMAs a k iteration take 256 cycles of a SIMD. Two 16-byte reads of A and four of B take a
 * compute unit 48 cycles per wave; with one wave on each of four SIMDs that is three quarters of the FMAs'
 * time (in 8 x 8 tiles, all of it). The loop is unrolled by two: 128 packed FMAs and 2 additions of
 * addresses. About 165 registers: three waves a SIMD.
 */
#include "groups.h"

enum { MR = 8, NR = 16 };
typedef float pair __attribute__((ext_vector_type(2)));

/* Adds to the sums of rows i and i + 1, columns j and j + 1. */
static inline __attribute__((always_inline)) void multiply_pairs(pair *upper, pair *lower, pair rows,
                                                                 pair columns) {
    __asm__("v_pk_fma_f32 %0, %1, %2, %0 op_sel_hi:[0,1,1]" : "+v"(*upper) : "v"(rows), "v"(columns));
    __asm__("v_pk_fma_f32 %0, %1, %2, %0 op_sel:[1,0,0]" : "+v"(*lower) : "v"(rows), "v"(columns));
}

static inline __attribute__((always_inline)) void multiply(pair (*sum)[NR / 2], const UK_SHARED float *a,
                                                           int sa, const UK_SHARED float *b, int sb) {
    group x[MR / GROUP], y[NR / GROUP];

    read_groups(x, MR / GROUP, a, sa);
    read_groups(y, NR / GROUP, b, sb);
#pragma unroll
    for (int i = 0; i < MR; i += 2)
#pragma unroll
        for (int j = 0; j < NR; j += 2)
            multiply_pairs(&sum[i][j / 2], &sum[i + 1][j / 2], i % GROUP ? x[i / GROUP].zw : x[i / GROUP].xy,
                           j % GROUP ? y[j / GROUP].zw : y[j / GROUP].xy);
}

void UK_SYMBOL(int64_t k, const UK_SHARED float *a, int64_t lda, int64_t sa, const UK_SHARED float *b,
               int64_t ldb, int64_t sb, UK_REGISTER float *c) {
    pair sum[MR][NR / 2];
    /* Addresses of shared memory have 32 bits, so strides fit an int. */
    const int da = (int)lda, db = (int)ldb;
    int left = (int)k;

#pragma unroll
    for (int i = 0; i < MR * NR / 2; i++)
        sum[i / (NR / 2)][i % (NR / 2)] = (pair){c[2 * i], c[2 * i + 1]};
    for (; left >= 2; left -= 2, a += 2 * da, b += 2 * db) {
        multiply(sum, a, (int)sa, b, (int)sb);
        multiply(sum, a + da, (int)sa, b + db, (int)sb);
    }
    if (left)
        multiply(sum, a, (int)sa, b, (int)sb);
#pragma unroll
    for (int i = 0; i < MR * NR; i++)
        c[i] = sum[i / NR][i % NR / 2][i % 2];
}
