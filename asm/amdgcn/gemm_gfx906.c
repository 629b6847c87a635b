/* SPDX-License-Identifier: Apache-2.0 */
/*
 * c[i][j] += sum over p of a(i, p) * b(p, j) of a thread's tile of UK_MR x UK_NR, by v_fmac_f32 on sums in
 * registers.
 *
 * Bound: the FMAs of a k iteration take 4 * UK_MR * UK_NR cycles of a SIMD. The 16-byte reads of each operand
 * in shared memory take a compute unit 2 * (UK_MR + UK_NR) cycles per wave; with one wave on each of four
 * SIMDs that is half of the FMAs' time for 8 x 8, three quarters for 8 x 4, and all of it for 4 x 4. The
 * smaller tiles are for outputs that larger ones would leave most compute units without. Besides FMAs there
 * are 2 additions of addresses for two k iterations. 8 x 8 takes about 106 registers: two waves a SIMD.
 */
#include "groups.h"

enum { MR = UK_MR, NR = UK_NR, MOST_AHEAD = 32 };
typedef float sum_row[NR];

static inline __attribute__((always_inline)) void multiply(sum_row *sum, const group *x, const group *y) {
#pragma unroll
    for (int i = 0; i < MR; i++)
#pragma unroll
        for (int j = 0; j < NR; j++)
            __asm__("v_fmac_f32 %0, %1, %2"
                    : "+v"(sum[i][j])
                    : "v"(x[i / GROUP][i % GROUP]), "v"(y[j / GROUP][j % GROUP]));
}

#include "k_loop.h"

void UK_SYMBOL(int64_t k, const UK_SHARED float *a, int64_t lda, int64_t sa, const UK_SHARED float *b,
               int64_t ldb, int64_t sb, UK_REGISTER float *c) {
    sum_row sum[MR];

#pragma unroll
    for (int i = 0; i < MR * NR; i++)
        sum[i / NR][i % NR] = c[i];
    /* Addresses of shared memory have 32 bits, so strides fit an int. */
    add_products(sum, (int)k, a, (int)lda, (int)sa, b, (int)ldb, (int)sb);
#pragma unroll
    for (int i = 0; i < MR * NR; i++)
        c[i] = sum[i / NR][i % NR];
}
