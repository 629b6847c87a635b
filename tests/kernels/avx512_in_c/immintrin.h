/* SPDX-License-Identifier: Apache-2.0 */
/* Replaces the compiler's header: the AVX-512 intrinsics that kernels for VNNI use, in C, as in Intel's
 * manual. */
#ifndef UK_AVX512_IN_C
#define UK_AVX512_IN_C
#include <stdint.h>
#include <string.h>

enum { LANES = 16 };
typedef struct {
    uint32_t lane[LANES];
} __m512i;
typedef struct {
    uint32_t lane[4];
} __m128i;
typedef uint16_t __mmask16;
typedef uint64_t __mmask64;

/* Defines a function whose result has `value` in lane i. */
#define BY_LANE(name, parameters, value)    \
    static inline __m512i name parameters { \
        __m512i r;                          \
                                            \
        for (int i = 0; i < LANES; i++)     \
            r.lane[i] = (uint32_t)(value);  \
        return r;                           \
    }

static inline uint32_t lane_at(const void *p, int i) {
    uint32_t value;

    memcpy(&value, (const char *)p + i * (int64_t)sizeof value, sizeof value);
    return value;
}

/* Four products of bytes of x, unsigned, by those of y, signed. */
static inline uint32_t products(uint32_t x, uint32_t y) {
    uint32_t sum = 0;

    for (int byte = 0; byte < 32; byte += 8)
        sum += (uint32_t)((int32_t)(uint8_t)(x >> byte) * (int8_t)(uint8_t)(y >> byte));
    return sum;
}

/* Byte i of 64, which the lanes have in order. */
static inline uint32_t byte_of(const __m512i *x, int i) {
    return x->lane[i / 4] >> i % 4 * 8 & 0xff;
}

/* Lane i of the interleaved elements of `bytes` bytes each: in every 128 bits those of x's and y's half that
 * begins at byte `half`. */
static inline uint32_t interleaved(const __m512i *x, const __m512i *y, int i, int bytes, int half) {
    uint32_t value = 0;

    for (int b = 0; b < 4; b++) {
        const int at = i % 4 * 4 + b, element = at / bytes,
                  from = i / 4 * 16 + half + element / 2 * bytes + at % bytes;

        value |= byte_of(element % 2 ? y : x, from) << 8 * b;
    }
    return value;
}

/* Lane i of the bytes of p that the mask selects. */
static inline uint32_t some_bytes(__mmask64 mask, const void *p, int i) {
    uint32_t value = 0;

    for (int b = 4 * i; b < 4 * i + 4; b++)
        value |= mask >> b & 1 ? (uint32_t)((const uint8_t *)p)[b] << b % 4 * 8 : 0;
    return value;
}

BY_LANE(_mm512_setzero_si512, (void), 0)
static inline __m128i _mm_maskz_loadu_epi8(__mmask16 mask, const void *p) {
    __m128i r = {{0}};

    for (int i = 0; i < 16; i++)
        if (mask >> i & 1)
            r.lane[i / 4] |= (uint32_t)((const uint8_t *)p)[i] << i % 4 * 8;
    return r;
}

BY_LANE(_mm512_set1_epi32, (int32_t x), x)
BY_LANE(_mm512_broadcastd_epi32, (__m128i x), x.lane[0])
BY_LANE(_mm512_set1_epi8, (char x), (uint8_t)x * 0x01010101u)
BY_LANE(_mm512_loadu_si512, (const void *p), lane_at(p, i))
BY_LANE(_mm512_maskz_loadu_epi32, (__mmask16 mask, const void *p), mask >> i & 1 ? lane_at(p, i) : 0)
BY_LANE(_mm512_maskz_loadu_epi8, (__mmask64 mask, const void *p), some_bytes(mask, p, i))
BY_LANE(_mm512_unpacklo_epi8, (__m512i x, __m512i y), interleaved(&x, &y, i, 1, 0))
BY_LANE(_mm512_unpackhi_epi8, (__m512i x, __m512i y), interleaved(&x, &y, i, 1, 8))
BY_LANE(_mm512_unpacklo_epi16, (__m512i x, __m512i y), interleaved(&x, &y, i, 2, 0))
BY_LANE(_mm512_unpackhi_epi16, (__m512i x, __m512i y), interleaved(&x, &y, i, 2, 8))
BY_LANE(_mm512_add_epi32, (__m512i x, __m512i y), x.lane[i] + y.lane[i])
BY_LANE(_mm512_sub_epi32, (__m512i x, __m512i y), x.lane[i] - y.lane[i])
BY_LANE(_mm512_xor_si512, (__m512i x, __m512i y), x.lane[i] ^ y.lane[i])
BY_LANE(_mm512_or_si512, (__m512i x, __m512i y), x.lane[i] | y.lane[i])
BY_LANE(_mm512_slli_epi32, (__m512i x, unsigned by), x.lane[i] << by)
BY_LANE(_mm512_srli_epi32, (__m512i x, unsigned by), x.lane[i] >> by)
BY_LANE(_mm512_permutexvar_epi32, (__m512i index, __m512i x), x.lane[index.lane[i] % LANES])
BY_LANE(_mm512_mask_blend_epi32, (__mmask16 mask, __m512i x, __m512i y),
        mask >> i & 1 ? y.lane[i] : x.lane[i])
BY_LANE(_mm512_permutex2var_epi32, (__m512i x, __m512i index, __m512i y),
        (index.lane[i] / LANES % 2 ? y : x).lane[index.lane[i] % LANES])
BY_LANE(_mm512_dpbusd_epi32, (__m512i s, __m512i x, __m512i y), s.lane[i] + products(x.lane[i], y.lane[i]))

#define _mm512_setr_epi32(...) ((__m512i){{__VA_ARGS__}})
#define _mm_prefetch(p, hint) ((void)(p))

static inline void _mm512_storeu_si512(void *p, __m512i x) {
    memcpy(p, x.lane, sizeof x.lane);
}

static inline void _mm512_mask_storeu_epi32(void *p, __mmask16 mask, __m512i x) {
    for (int i = 0; i < LANES; i++)
        if (mask >> i & 1)
            memcpy((char *)p + i * (int64_t)sizeof *x.lane, &x.lane[i], sizeof *x.lane);
}
#endif
