/* SPDX-License-Identifier: Apache-2.0 */
/*
 * 14 rows x 32 columns of C: sum[i][0] and sum[i][1] are columns 0-15 and 16-31 of row i, 28 accumulators
 * that leave four registers for two vectors of b and the broadcasts of a.
 *
 * Bound: 28 FMAs, 16 loads per k iteration. At two 512-bit FMAs and two loads a cycle the FMAs take 14
 * cycles, the loads 8: 64 flop per cycle, the peak. 28 accumulators hide an FMA latency of 4 cycles at two
 * FMAs a cycle, for which eight would do.
 *
 * Edges: a tile of fewer rows ends each k iteration after its last row; columns are masked.
 */
#include <immintrin.h>
#include "registry/kernel_contract.h"

enum { MR = 14, NR = 32 };

void uk_sgemm_14x32_avx512_intrin(int64_t k, const float *a, const float *b, float *c, int64_t ldc,
                                  int64_t acc, int64_t mr, int64_t nr) {
    const uint32_t columns = nr < NR ? (1u << nr) - 1 : ~0u;
    const __mmask16 low = (__mmask16)columns, high = (__mmask16)(columns >> 16);
    __m512 sum[MR][2];

#pragma GCC unroll 14
    for (int i = 0; i < MR; i++)
        sum[i][0] = sum[i][1] = _mm512_setzero_ps();
#pragma GCC unroll 1
    for (int64_t p = 0; p < k; p++, a += MR, b += NR) {
        const __m512 left = _mm512_loadu_ps(b), right = _mm512_loadu_ps(b + 16);

#pragma GCC unroll 14
        for (int i = 0; i < MR; i++) {
            if (i < mr) {
                const __m512 x = _mm512_set1_ps(a[i]);

                sum[i][0] = _mm512_fmadd_ps(x, left, sum[i][0]);
                sum[i][1] = _mm512_fmadd_ps(x, right, sum[i][1]);
            }
        }
    }
#pragma GCC unroll 14
    for (int i = 0; i < MR; i++) {
        if (i < mr) {
            float *d = c + i * ldc;
            const __m512 x = acc ? _mm512_maskz_loadu_ps(low, d) : _mm512_setzero_ps();
            const __m512 y = acc ? _mm512_maskz_loadu_ps(high, d + 16) : _mm512_setzero_ps();

            _mm512_mask_storeu_ps(d, low, acc ? _mm512_add_ps(x, sum[i][0]) : sum[i][0]);
            _mm512_mask_storeu_ps(d + 16, high, acc ? _mm512_add_ps(y, sum[i][1]) : sum[i][1]);
        }
    }
}
