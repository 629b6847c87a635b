/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Vectors of f32 and conversions of f16 and bf16 to them, of 256 bits (AVX2 and F16C), or of 512 bits where
 * the kernel's row has AVX-512.
 */
#include <immintrin.h>
#include <stdint.h>
#include "../../asm/x86_64/store_first_avx2.h"

#define INLINE static inline __attribute__((always_inline, unused))

#ifdef UK_ISA_avx512
typedef __m512 vector;
enum { LANES = 16 };
#define ZERO() _mm512_setzero_ps()
#define BROADCAST(p) _mm512_set1_ps(*(p))
#define ADD(x, y) _mm512_add_ps(x, y)
#define MULTIPLY(x, y) _mm512_mul_ps(x, y)
#define MULTIPLY_ADD(x, y, sum) _mm512_fmadd_ps(x, y, sum)
#define STORE(p, x) _mm512_storeu_ps(p, x)

INLINE vector from_f16(const uint16_t *s) {
    return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)s));
}

INLINE vector from_bf16(const uint16_t *s) {
    const __m512i x = _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)s));

    return _mm512_castsi512_ps(_mm512_slli_epi32(x, 16));
}

/* The first bf16 of each of LANES pairs, and the second. */
INLINE vector first_of_pairs(const uint16_t *s) {
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_loadu_si512(s), 16));
}

INLINE vector second_of_pairs(const uint16_t *s) {
    return _mm512_castsi512_ps(_mm512_and_si512(_mm512_loadu_si512(s), _mm512_set1_epi32(-65536)));
}

/* The first n lanes, at most all. */
INLINE __mmask16 first_lanes(int64_t n) {
    return (__mmask16)(n >= LANES ? 0xffff : (1 << n) - 1);
}

/* The first n elements of a vector, at most all; others are 0. */
INLINE vector load_first(const float *p, int64_t n) {
    return _mm512_maskz_loadu_ps(first_lanes(n), p);
}

INLINE void store_first(float *p, int64_t n, vector x) {
    _mm512_mask_storeu_ps(p, first_lanes(n), x);
}
#else
typedef __m256 vector;
enum { LANES = 8 };
#define ZERO() _mm256_setzero_ps()
#define BROADCAST(p) _mm256_broadcast_ss(p)
#define ADD(x, y) _mm256_add_ps(x, y)
#define MULTIPLY(x, y) _mm256_mul_ps(x, y)
#define MULTIPLY_ADD(x, y, sum) _mm256_fmadd_ps(x, y, sum)
#define STORE(p, x) _mm256_storeu_ps(p, x)

#ifdef __F16C__
INLINE vector from_f16(const uint16_t *s) {
    return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)s));
}
#endif

INLINE vector from_bf16(const uint16_t *s) {
    const __m256i x = _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)s));

    return _mm256_castsi256_ps(_mm256_slli_epi32(x, 16));
}

/* The first bf16 of each of LANES pairs, and the second. */
INLINE vector first_of_pairs(const uint16_t *s) {
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_loadu_si256((const __m256i *)s), 16));
}

INLINE vector second_of_pairs(const uint16_t *s) {
    return _mm256_and_ps(_mm256_loadu_ps((const float *)(const void *)s),
                         _mm256_castsi256_ps(_mm256_set1_epi32(-65536)));
}

/* The first n elements of a vector, at most all; others are 0. */
INLINE vector load_first(const float *p, int64_t n) {
    const __m256i lanes =
        _mm256_cmpgt_epi32(_mm256_set1_epi32((int)n), _mm256_set_epi32(7, 6, 5, 4, 3, 2, 1, 0));

    return n >= LANES ? _mm256_loadu_ps(p) : _mm256_maskload_ps(p, lanes);
}

INLINE void store_first(float *p, int64_t n, vector x) {
    if (n >= LANES)
        _mm256_storeu_ps(p, x);
    else
        store_first_ps(p, n, x);
}
#endif
