/* SPDX-License-Identifier: Apache-2.0 */
/* The user's own kernels: c[4][24] += a b, where a is a panel of 4 rows and b one of 24 columns, with offsets
 * in elements as some compilers pass them; and c = 0. matmul_4x24.uk declares what they compute.
 *
 * Registers: 12 accumulators (4 rows of 3 vectors), 3 vectors for a row of b, and one broadcast element of a.
 * A step has 12 multiply-adds and 7 loads, so the multiply-adds are the bound. */
#include <immintrin.h>
#include <stdint.h>

int gemm_4x24(float *a, int32_t a_off, float *b, int32_t b_off, float *c, int32_t c_off, int32_t K,
              int32_t ldc) {
    __m256 sum[4][3];

    a += a_off;
    b += b_off;
    c += c_off;
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 3; j++)
            sum[i][j] = _mm256_loadu_ps(c + (int64_t)i * ldc + 8 * j);
    for (int32_t p = 0; p < K; p++, a += 4, b += 24)
        for (int i = 0; i < 4; i++) {
            __m256 x = _mm256_broadcast_ss(a + i);

            for (int j = 0; j < 3; j++)
                sum[i][j] = _mm256_fmadd_ps(x, _mm256_loadu_ps(b + 8 * j), sum[i][j]);
        }
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 3; j++)
            _mm256_storeu_ps(c + (int64_t)i * ldc + 8 * j, sum[i][j]);
    return 0;
}

void gemm_4x24_reset(float *c, int32_t ldc) {
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 3; j++)
            _mm256_storeu_ps(c + (int64_t)i * ldc + 8 * j, _mm256_setzero_ps());
}
