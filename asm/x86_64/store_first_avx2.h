/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stores the first elements of an AVX2 vector, in up to three parts: AMD's cores take some twelve cycles for
 * a store under a mask, and a load under a mask waits for that; Intel's take about as long for the parts as
 * for one store under a mask.
 */
#include <immintrin.h>
#include <stdint.h>

/* n < 8 */
static inline __attribute__((always_inline, unused)) void store_first_ps(float *p, int64_t n, __m256 x) {
    __m128 part = _mm256_castps256_ps128(x);

    if (n & 4) {
        _mm_storeu_ps(p, part);
        part = _mm256_extractf128_ps(x, 1);
        p += 4;
    }
    if (n & 2) {
        _mm_storel_pi((__m64 *)p, part);
        part = _mm_movehl_ps(part, part);
        p += 2;
    }
    if (n & 1)
        _mm_store_ss(p, part);
}

/* n < 4 */
static inline __attribute__((always_inline, unused)) void store_first_pd(double *p, int64_t n, __m256d x) {
    __m128d part = _mm256_castpd256_pd128(x);

    if (n & 2) {
        _mm_storeu_pd(p, part);
        part = _mm256_extractf128_pd(x, 1);
        p += 2;
    }
    if (n & 1)
        _mm_store_sd(p, part);
}
