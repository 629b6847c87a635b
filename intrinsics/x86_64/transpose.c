/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Transposes a matrix of elements of 1, 2, 4 or 8 bytes: any/transpose.h, with vectors of 2 lanes (AVX2)
 * or 4.
 *
 * Bound: a tile of ROWS rows is ROWS loads of 16 bytes, all but SIDE of them with an insertion, SIDE
 * log2(SIDE) shuffles and SIDE stores: of bytes with AVX-512 64, 64 and 16 for 1 KB, 16 bytes a cycle with
 * one port for shuffles; of floats 16, 8 and 4 for 256 bytes, 25 bytes a cycle with two ports for insertions
 * and shuffles.
 */
#include <immintrin.h>
#include "registry/kernel_contract.h"

#ifdef UK_OP_u8transpose
typedef uint8_t element;
#define WIDE_NAME(name) name##epi8
#elif defined UK_OP_i16transpose
typedef int16_t element;
#define WIDE_NAME(name) name##epi16
#elif defined UK_OP_i32transpose
typedef int32_t element;
#define WIDE_NAME(name) name##epi32
#else
typedef int64_t element;
#define WIDE_NAME(name) name##epi64
#endif

#define UK_NARROW __m128i
#define LOAD_LANE(s) _mm_loadu_si128((const __m128i_u *)(s))
#define UK_LOAD_1(s, lds) LOAD_LANE(s)
#define UK_STORE_1(d, v) _mm_storeu_si128((__m128i_u *)(d), v)
#define UK_LOW_1 WIDE_NAME(_mm_unpacklo_)
#define UK_HIGH_1 WIDE_NAME(_mm_unpackhi_)

#ifdef UK_ISA_avx512
#define UK_VECTOR __m512i
/* A load under a mask: an insertion would take the port of the shuffles. */
#define INSERT(v, lane, s) _mm512_mask_broadcast_i64x2(v, 3 << 2 * (lane), LOAD_LANE(s))
#define UK_LOAD(s, lds)                                                                                 \
    INSERT(INSERT(INSERT(_mm512_castsi128_si512(LOAD_LANE(s)), 1, (s) + (lds)), 2, (s) + 2 * (lds)), 3, \
           (s) + 3 * (lds))
#define UK_STORE(d, v) _mm512_storeu_si512(d, v)
#define UK_LOW WIDE_NAME(_mm512_unpacklo_)
#define UK_HIGH WIDE_NAME(_mm512_unpackhi_)

/* The first n elements of a vector; its memory exists as a whole. */
static inline void store_part(element *d, const element *s, int64_t n) {
    _mm512_mask_storeu_epi8(d, ~0ull >> (64 - n * (int64_t)sizeof(element)), _mm512_loadu_si512(s));
}
#else
#define UK_VECTOR __m256i
#define UK_LOAD(s, lds) \
    _mm256_inserti128_si256(_mm256_castsi128_si256(LOAD_LANE(s)), LOAD_LANE((s) + (lds)), 1)
#define UK_STORE(d, v) _mm256_storeu_si256((__m256i_u *)(d), v)
#define UK_LOW WIDE_NAME(_mm256_unpacklo_)
#define UK_HIGH WIDE_NAME(_mm256_unpackhi_)
#endif

enum { V = sizeof(UK_VECTOR) / sizeof(element) };

static inline void store_all(element *d, const element *s) {
#ifdef UK_ISA_avx512
    UK_STORE(d, _mm512_loadu_si512(s));
#else
    UK_STORE(d, _mm256_loadu_si256((const __m256i_u *)s));
#endif
}

/* n elements, at least V; the memory of whole vectors of s exists. The first and the last store may cross a
 * line, unless they have masks. */
static inline void copy(element *d, const element *s, int64_t n) {
    const int64_t aligned = V - (int64_t)((uintptr_t)d % sizeof(UK_VECTOR) / sizeof(element));
    int64_t i = aligned;

#ifdef UK_ISA_avx512
    store_part(d, s, aligned);
#pragma GCC unroll 1
    for (; i + V <= n; i += V)
        store_all(d + i, s + i);
    if (i < n)
        store_part(d + i, s + i, n - i);
#else
    store_all(d, s);
#pragma GCC unroll 1
    for (; i + V < n; i += V)
        store_all(d + i, s + i);
    store_all(d + n - V, s + n - V);
#endif
}
#define UK_COPY copy

#include "../any/transpose.h"

void UK_SYMBOL(int64_t k, const element *s, int64_t lds, element *d, int64_t ldd, int64_t m) {
    transpose(k, s, lds, d, ldd, m);
}
