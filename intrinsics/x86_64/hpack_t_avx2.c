/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Panels of f16 (moved as 16-bit integers) of UK_MR rows: 8 rows of 8 elements are a square, which three
 * rounds of unpacking transpose; each round interleaves rows that are half the square apart. Missing rows are
 * packed as zeros. Of panels that are not multiples of 8 rows wide, the last square stores only those left.
 *
 * BLOCK elements of all rows are packed before the next ones: so few are in L1 until every row of the panel
 * has been stored to their lines.
 *
 * Bound: 8 loads, 24 unpackings and 8 stores per square: at two unpackings a cycle 12 cycles, 10 bytes per
 * cycle.
 */
#include <immintrin.h>
#include "registry/kernel_contract.h"

enum { V = 8, BLOCK = 64 };
#define INLINE static inline __attribute__((always_inline))

INLINE void transpose(__m128i r[V]) {
#pragma GCC unroll 3
    for (int round = 0; round < 3; round++) {
        __m128i next[V];

#pragma GCC unroll 4
        for (int i = 0; i < V / 2; i++) {
            next[2 * i] = _mm_unpacklo_epi16(r[i], r[i + V / 2]);
            next[2 * i + 1] = _mm_unpackhi_epi16(r[i], r[i + V / 2]);
        }
#pragma GCC unroll 8
        for (int i = 0; i < V; i++)
            r[i] = next[i];
    }
}

/* The n elements of a row that are left, n < 8, and zeros. */
INLINE __m128i last_of_row(const uint16_t *s, int64_t n) {
    uint16_t row[V] = {0};

#pragma GCC unroll 1
    for (int64_t p = 0; p < n; p++)
        row[p] = s[p];
    return _mm_loadu_si128((const __m128i *)row);
}

/* Stores the first `width` elements. */
INLINE void store(uint16_t *d, __m128i x, int width) {
    if (width == V) {
        _mm_storeu_si128((__m128i *)d, x);
        return;
    }
    for (int j = 0; j < width; j += 2)
        __builtin_memcpy(d + j, &(int32_t){((__v4si)x)[j / 2]}, 4);
}

/* Transposes n elements of 8 rows of the panel, where m exist, to `width` columns of it; n is 8 except at
 * the end of the rows. */
INLINE void square(const uint16_t *s, int64_t lds, uint16_t *d, int width, int64_t m, int64_t n) {
    __m128i r[V];

#pragma GCC unroll 8
    for (int i = 0; i < V; i++)
        r[i] = i >= m   ? _mm_setzero_si128()
               : n == V ? _mm_loadu_si128((const __m128i *)(s + i * lds))
                        : last_of_row(s + i * lds, n);
    transpose(r);
#pragma GCC unroll 8
    for (int p = 0; p < V; p++)
        if (p < n)
            store(d + p * UK_MR, r[p], width);
}

/* Packs k elements of 8 rows to `width` columns of the panel. */
INLINE void rows(int64_t k, const uint16_t *s, int64_t lds, uint16_t *d, int width, int64_t m) {
    int64_t p = 0;

    if (m >= V)
#pragma GCC unroll 1
        for (; p + V <= k; p += V)
            square(s + p, lds, d + p * UK_MR, width, V, V);
#pragma GCC unroll 1
    for (; p + V <= k; p += V)
        square(s + p, lds, d + p * UK_MR, width, m, V);
    if (p < k)
        square(s + p, lds, d + p * UK_MR, width, m, k - p);
}

void UK_SYMBOL(int64_t k, const uint16_t *s, int64_t lds, uint16_t *d, int64_t m) {
#pragma GCC unroll 1
    for (int64_t p = 0; p < k; p += BLOCK) {
        const int64_t terms = k - p < BLOCK ? k - p : BLOCK;

#pragma GCC unroll 1
        for (int64_t i = 0; i < UK_MR / V * V; i += V)
            rows(terms, s + p + i * lds, lds, d + p * UK_MR + i, V, m - i);
        if (UK_MR % V) {
            const int64_t i = UK_MR / V * V;

            rows(terms, s + p + i * lds, lds, d + p * UK_MR + i, UK_MR % V, m - i);
        }
    }
}
