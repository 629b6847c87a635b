/* SPDX-License-Identifier: Apache-2.0 */
/*
 * 6 rows x 16 columns of C: sum[i][0] and sum[i][1] are columns 0-7 and 8-15 of row i, 12 accumulators that
 * leave four registers for two vectors of b and the broadcasts of a.
 *
 * Bound: 12 FMAs, 8 loads per k iteration. At two 256-bit FMAs and two loads a cycle the FMAs take 6 cycles,
 * the loads 4: 32 flop per cycle, the peak. Twelve accumulators hide an FMA latency of 4 cycles at two FMAs a
 * cycle, for which eight would do.
 *
 * Edges: a tile of fewer rows ends each k iteration after its last row; a last vector of fewer columns is
 * stored in parts, and a second vector without columns is not stored.
 */
#include "../../asm/x86_64/store_first_avx2.h"
#include "registry/kernel_contract.h"

enum { MR = 6, NR = 16 };

/* Stores the first n columns of x, 8 at most, to c, or adds them if acc. */
static inline __attribute__((always_inline)) void store(float *c, __m256 x, int64_t acc, int64_t n) {
    if (n >= 8) {
        _mm256_storeu_ps(c, acc ? _mm256_add_ps(_mm256_loadu_ps(c), x) : x);
    } else if (n > 0) {
        const __m256i lanes = _mm256_set_epi32(7, 6, 5, 4, 3, 2, 1, 0);
        const __m256i mask = _mm256_cmpgt_epi32(_mm256_set1_epi32((int)n), lanes);

        store_first_ps(c, n, acc ? _mm256_add_ps(_mm256_maskload_ps(c, mask), x) : x);
    }
}

void uk_sgemm_6x16_avx2_intrin(int64_t k, const float *a, const float *b, float *c, int64_t ldc, int64_t acc,
                               int64_t mr, int64_t nr) {
    __m256 sum[MR][2];

#pragma GCC unroll 6
    for (int i = 0; i < MR; i++)
        sum[i][0] = sum[i][1] = _mm256_setzero_ps();
#pragma GCC unroll 1
    for (int64_t p = 0; p < k; p++, a += MR, b += NR) {
        const __m256 left = _mm256_loadu_ps(b), right = _mm256_loadu_ps(b + 8);

#pragma GCC unroll 6
        for (int i = 0; i < MR; i++) {
            if (i < mr) {
                const __m256 x = _mm256_broadcast_ss(a + i);

                sum[i][0] = _mm256_fmadd_ps(x, left, sum[i][0]);
                sum[i][1] = _mm256_fmadd_ps(x, right, sum[i][1]);
            }
        }
    }
#pragma GCC unroll 6
    for (int i = 0; i < MR; i++) {
        if (i < mr) {
            store(c + i * ldc, sum[i][0], acc, nr);
            store(c + i * ldc + 8, sum[i][1], acc, nr - 8);
        }
    }
}
