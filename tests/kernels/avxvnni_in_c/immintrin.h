/* SPDX-License-Identifier: Apache-2.0 */
/* Replaces the compiler's header: the intrinsics that kernels for AVX-VNNI use, in C, as in Intel's manual.
 */
#ifndef UK_AVXVNNI_IN_C
#define UK_AVXVNNI_IN_C
#include <stdint.h>
#include <string.h>

enum { M256I_LANES = 8 };
typedef struct {
    uint32_t lane[M256I_LANES];
} __m256i;

/* Defines a function whose result has `value` in lane i. */
#define BY_LANE(name, parameters, value)      \
    static inline __m256i name parameters {   \
        __m256i r;                            \
                                              \
        for (int i = 0; i < M256I_LANES; i++) \
            r.lane[i] = (uint32_t)(value);    \
        return r;                             \
    }

/* Four products of bytes of x, unsigned, by those of y, signed. */
static inline uint32_t products(uint32_t x, uint32_t y) {
    uint32_t sum = 0;

    for (int byte = 0; byte < 32; byte += 8)
        sum += (uint32_t)((int32_t)(uint8_t)(x >> byte) * (int8_t)(uint8_t)(y >> byte));
    return sum;
}

BY_LANE(_mm256_setzero_si256, (void), 0)
BY_LANE(_mm256_set1_epi32, (int x), x)
BY_LANE(_mm256_set1_epi8, (char x), (uint8_t)x * 0x01010101u)
BY_LANE(_mm256_add_epi32, (__m256i x, __m256i y), x.lane[i] + y.lane[i])
BY_LANE(_mm256_sub_epi32, (__m256i x, __m256i y), x.lane[i] - y.lane[i])
BY_LANE(_mm256_xor_si256, (__m256i x, __m256i y), x.lane[i] ^ y.lane[i])
BY_LANE(_mm256_slli_epi32, (__m256i x, int bits), x.lane[i] << bits)
BY_LANE(_mm256_dpbusd_avx_epi32, (__m256i sum, __m256i x, __m256i y),
        sum.lane[i] + products(x.lane[i], y.lane[i]))

static inline __m256i _mm256_loadu_si256(const __m256i *p) {
    __m256i r;

    memcpy(&r, p, sizeof r);
    return r;
}

static inline void _mm256_storeu_si256(__m256i *p, __m256i x) {
    memcpy(p, &x, sizeof x);
}

#endif
