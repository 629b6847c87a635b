/* SPDX-License-Identifier: Apache-2.0 */
/*
 * c[i][j] += sum over p of a(i, p) * b(p, j) of a thread's 8 x 8 tile, by v_fmac_f32 on 64 sums in registers.
 *
 * Bound: 64 FMAs a k iteration take 256 cycles of a SIMD. Two 16-byte reads of each operand in shared memory
 * take a compute unit 32 cycles per wave; with one wave on each of four SIMDs that is half of the FMAs' time.
 * The loop is unrolled by two: 128 FMAs and 2 additions of addresses. About 106 registers: two waves a SIMD.
 */
#include "groups.h"

enum { MR = 8, NR = 8 };

static inline __attribute__((always_inline)) void multiply(float (*sum)[NR], const UK_SHARED float *a, int sa,
                                                           const UK_SHARED float *b, int sb) {
    group x[MR / GROUP], y[NR / GROUP];

    read_groups(x, MR / GROUP, a, sa);
    read_groups(y, NR / GROUP, b, sb);
#pragma unroll
    for (int i = 0; i < MR; i++)
#pragma unroll
        for (int j = 0; j < NR; j++)
            __asm__("v_fmac_f32 %0, %1, %2"
                    : "+v"(sum[i][j])
                    : "v"(x[i / GROUP][i % GROUP]), "v"(y[j / GROUP][j % GROUP]));
}

void UK_SYMBOL(int64_t k, const UK_SHARED float *a, int64_t lda, int64_t sa, const UK_SHARED float *b,
               int64_t ldb, int64_t sb, UK_REGISTER float *c) {
    float sum[MR][NR];
    /* Addresses of shared memory have 32 bits, so strides fit an int. */
    const int da = (int)lda, db = (int)ldb;
    int left = (int)k;

#pragma unroll
    for (int i = 0; i < MR * NR; i++)
        sum[i / NR][i % NR] = c[i];
    for (; left >= 2; left -= 2, a += 2 * da, b += 2 * db) {
        multiply(sum, a, (int)sa, b, (int)sb);
        multiply(sum, a + da, (int)sa, b + db, (int)sb);
    }
    if (left)
        multiply(sum, a, (int)sa, b, (int)sb);
#pragma unroll
    for (int i = 0; i < MR * NR; i++)
        c[i] = sum[i / NR][i % NR];
}
