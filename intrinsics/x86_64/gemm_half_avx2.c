/* SPDX-License-Identifier: Apache-2.0 */
/*
 * 8 rows x 8 columns of C, all of f16: the products and sums of its declaration, each rounded to f16 by a
 * conversion from f32 and back. A product of two f16 is exact in f32. Their sum is rounded twice, which gives
 * the same as once: an f32 has 24 bits, two more than twice those of an f16 (Figueroa, "When is double
 * rounding innocuous?", 1995).
 *
 * Bound, for a k iteration: for each row a multiplication, an addition, and four conversions of two
 * operations each, 80 operations for 64 multiply-adds besides those that convert A and B: at four operations
 * a cycle 3 multiply-adds a cycle.
 *
 * Edges: a tile of fewer rows ends each k iteration after its last row; columns are stored through the stack.
 */
#include <immintrin.h>
#include "registry/kernel_contract.h"

enum { MR = UK_MR, NR = UK_NR };
#define INLINE static inline __attribute__((always_inline))

INLINE __m256 rounded(__m256 x) {
    return _mm256_cvtph_ps(_mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT));
}

INLINE __m256 load(const uint16_t *s) {
    return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)s));
}

/* Stores a row of nr columns, plus C if acc. */
INLINE void store(uint16_t *c, __m256 sum, int64_t acc, int64_t nr) {
    uint16_t row[NR] = {0};

    if (acc) {
#pragma GCC unroll 1
        for (int64_t j = 0; j < nr; j++)
            row[j] = c[j];
        sum = _mm256_add_ps(load(row), sum);
    }
    _mm_storeu_si128((__m128i *)row, _mm256_cvtps_ph(sum, _MM_FROUND_TO_NEAREST_INT));
#pragma GCC unroll 1
    for (int64_t j = 0; j < nr; j++)
        c[j] = row[j];
}

void UK_SYMBOL(int64_t k, const uint16_t *a, const uint16_t *b, uint16_t *c, int64_t ldc, int64_t acc,
               int64_t mr, int64_t nr) {
    __m256 sum[MR];

#pragma GCC unroll 8
    for (int i = 0; i < MR; i++)
        sum[i] = _mm256_setzero_ps();
#pragma GCC unroll 1
    for (int64_t p = 0; p < k; p++, a += MR, b += NR) {
        const __m256 y = load(b);
        float x[MR] __attribute__((aligned(32)));

        _mm256_store_ps(x, load(a));
#pragma GCC unroll 8
        for (int i = 0; i < MR; i++)
            if (i < mr)
                sum[i] =
                    rounded(_mm256_add_ps(sum[i], rounded(_mm256_mul_ps(_mm256_broadcast_ss(&x[i]), y))));
    }
#pragma GCC unroll 8
    for (int i = 0; i < MR; i++)
        if (i < mr)
            store(c + i * ldc, sum[i], acc, nr);
}
