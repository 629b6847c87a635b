/* SPDX-License-Identifier: Apache-2.0 */
/*
 * c[i][j] += sum over p of a(i, p) * b(p, j) of a thread's tile of UK_MR x UK_NR, by v_pk_fma_f32: two
 * neighbouring columns at once, with one half of a pair of rows for both.
 *
 * Bound: the packed FMAs of a k iteration take 2 * UK_MR * UK_NR cycles of a SIMD. The 16-byte reads take a
 * compute unit 2 * (UK_MR + UK_NR) cycles per wave; with one wave on each of four SIMDs that is three
 * quarters of the FMAs' time for 8 x 16, all of it for 8 x 8, one and a half times it for 8 x 4 and twice it
 * for 4 x 4. The smaller tiles are for outputs that larger ones would leave most compute units without.
 * Besides FMAs there are 2 additions of addresses for two k iterations. 8 x 16 takes about 165 registers:
 * three waves a SIMD.
 */
#include "groups.h"

enum { MR = UK_MR, NR = UK_NR, MOST_AHEAD = 64 };
typedef float pair __attribute__((ext_vector_type(2)));
typedef pair sum_row[NR / 2];

/* Adds to the sums of rows i and i + 1, columns j and j + 1. */
static inline __attribute__((always_inline)) void multiply_pairs(pair *upper, pair *lower, pair rows,
                                                                 pair columns) {
    __asm__("v_pk_fma_f32 %0, %1, %2, %0 op_sel_hi:[0,1,1]" : "+v"(*upper) : "v"(rows), "v"(columns));
    __asm__("v_pk_fma_f32 %0, %1, %2, %0 op_sel:[1,0,0]" : "+v"(*lower) : "v"(rows), "v"(columns));
}

static inline __attribute__((always_inline)) void multiply(sum_row *sum, const group *x, const group *y) {
#pragma unroll
    for (int i = 0; i < MR; i += 2)
#pragma unroll
        for (int j = 0; j < NR; j += 2)
            multiply_pairs(&sum[i][j / 2], &sum[i + 1][j / 2], i % GROUP ? x[i / GROUP].zw : x[i / GROUP].xy,
                           j % GROUP ? y[j / GROUP].zw : y[j / GROUP].xy);
}

#include "k_loop.h"

void UK_SYMBOL(int64_t k, const UK_SHARED float *a, int64_t lda, int64_t sa, const UK_SHARED float *b,
               int64_t ldb, int64_t sb, UK_REGISTER float *c) {
    sum_row sum[MR];

#pragma unroll
    for (int i = 0; i < MR * NR / 2; i++)
        sum[i / (NR / 2)][i % (NR / 2)] = (pair){c[2 * i], c[2 * i + 1]};
    /* Addresses of shared memory have 32 bits, so strides fit an int. */
    add_products(sum, (int)k, a, (int)lda, (int)sa, b, (int)ldb, (int)sb);
#pragma unroll
    for (int i = 0; i < MR * NR; i++)
        c[i] = sum[i / NR][i % NR / 2][i % 2];
}
