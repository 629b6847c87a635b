/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Converts f16 to f32 (UK_OP_hwiden), or f32 to f16 (UK_OP_hnarrow), UK_NR elements at a time. The last 8
 * overlap those before; fewer than 8 in all go through 16 bytes on the stack.
 *
 * Bound: 8 elements take a load, a conversion of two operations, and a store: one cycle at one store a cycle.
 */
#include <immintrin.h>
#include "registry/kernel_contract.h"

enum { LANES = 8 };

#ifdef UK_OP_hwiden
typedef uint16_t from;
typedef float to;

static inline __attribute__((always_inline)) void convert(const from *s, to *d) {
    _mm256_storeu_ps(d, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)s)));
}
#else
typedef float from;
typedef uint16_t to;

static inline __attribute__((always_inline)) void convert(const from *s, to *d) {
    _mm_storeu_si128((__m128i *)d, _mm256_cvtps_ph(_mm256_loadu_ps(s), _MM_FROUND_TO_NEAREST_INT));
}
#endif

void UK_SYMBOL(const from *s, to *d, int64_t n) {
    int64_t j = 0;

#pragma GCC unroll 1
    for (; j + UK_NR <= n; j += UK_NR)
#pragma GCC unroll 2
        for (int i = 0; i < UK_NR; i += LANES)
            convert(s + j + i, d + j + i);
#pragma GCC unroll 1
    for (; j + LANES <= n; j += LANES)
        convert(s + j, d + j);
    if (j < n && n >= LANES) {
        convert(s + n - LANES, d + n - LANES);
    } else if (j < n) {
        from x[LANES] = {0};
        to y[LANES];

        for (int64_t i = 0; i < n; i++)
            x[i] = s[i];
        convert(x, y);
        for (int64_t i = 0; i < n; i++)
            d[i] = y[i];
    }
}
