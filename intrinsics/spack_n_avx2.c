/*
 * Packs k rows of n floats into a panel of width UK_NR, a row a step: vectors of 8, a last one of 4 or 2
 * where the width has it. Columns n and up are zeroed by the mask of the load. UK_NR is at most 24.
 *
 * A row is one or two cache lines, often in a page of its own, which the hardware does not fetch ahead: the
 * row 8 steps on is asked for.
 *
 * Bound: one load and one store per 8 elements; at one store a cycle 8 elements per cycle, as long as the
 * source is in the first cache.
 */
#include <immintrin.h>
#include "ukernels.h"

enum { AHEAD = 8 };

/* As many of the 8 floats at s as are left, the rest 0. */
static inline __attribute__((always_inline)) __m256 load(const float *s, int64_t left) {
    const __m256i columns = _mm256_set_epi32(7, 6, 5, 4, 3, 2, 1, 0);

    return _mm256_maskload_ps(s, _mm256_cmpgt_epi32(_mm256_set1_epi32((int)left), columns));
}

static inline __attribute__((always_inline)) void store(float *d, __m256 x, int width) {
    const __m256i columns = _mm256_set_epi32(7, 6, 5, 4, 3, 2, 1, 0);

    if (width >= 8)
        _mm256_storeu_ps(d, x);
    else if (width == 4)
        _mm_storeu_ps(d, _mm256_castps256_ps128(x));
    else
        _mm256_maskstore_ps(d, _mm256_cmpgt_epi32(_mm256_set1_epi32(width), columns), x);
}

void UK_SYMBOL(int64_t k, const float *s, int64_t lds, float *d, int64_t n) {
#pragma GCC unroll 1
    for (int64_t p = 0; p < k; p++, s += lds, d += UK_NR) {
        for (int j = 0; j < UK_NR; j += 16)
            _mm_prefetch((const char *)(s + AHEAD * lds + j), _MM_HINT_T0);
        if (n == UK_NR && UK_NR % 8 == 0) {
            for (int j = 0; j < UK_NR; j += 8)
                _mm256_storeu_ps(d + j, _mm256_loadu_ps(s + j));
        } else {
            for (int j = 0; j < UK_NR; j += 8)
                store(d + j, load(s + j, n - j), UK_NR - j);
        }
    }
}
