/* SPDX-License-Identifier: Apache-2.0 */
/*
 * UK_MR rows x 16 columns of C, in i32, from rows of bytes of A in place and panels of groups of 4 bytes of
 * B: sum[i][0] and sum[i][1] are columns 0-7 and 8-15 of row i. A k iteration multiplies a row's group,
 * broadcast to all lanes, by the groups of the columns.
 *
 * vpdpbusd multiplies u8 by i8. If both operands are signed or both are not, the highest bit of A is flipped,
 * which adds 128 (i8) or takes 128 away (u8); of_b is the sums of b, by products with ones after the rows':
 *
 *     sum of a * b = sum of (a + 128) * b - 128 * sum of b = sum of (a - 128) * b + 128 * sum of b
 *
 * All wraps at 2^32, as i32 does.
 *
 * Bound: 12 products and 8 loads per group for 6 rows. At two products a cycle these take 6 cycles: 64
 * multiply-adds a cycle. 12 sums hide a latency of 5 cycles. Flips are 6 more operations, of other ports.
 *
 * Edges: a tile of fewer rows ends each k iteration after its last row. The last group of a row may have
 * fewer terms: the others are 0, or cancel if they are flipped, and no byte after the row is read.
 */
#include "registry/kernel_contract.h"
#include "bytes_avx2.h"

enum { MR = UK_MR, NR = UK_NR, KR = 4, LANES = 8, VECTORS = NR / LANES };
#define INLINE static inline __attribute__((always_inline))
#define EACH_ROW(i) _Pragma("GCC unroll 6") for (int i = 0; i < MR; i++)
#define EACH_VECTOR(v) _Pragma("GCC unroll 2") for (int v = 0; v < vectors; v++)

#if defined UK_OP_i8gemm_ra
#define FLIPS
#define MULTIPLY(s, a, b) _mm256_dpbusd_avx_epi32(s, a, b)
#define WITH(s, of_b) _mm256_sub_epi32(s, _mm256_slli_epi32(of_b, 7))
#define OF_B(s, b, ones) _mm256_dpbusd_avx_epi32(s, ones, b)
#elif defined UK_OP_u8gemm_ra
#define FLIPS
#define MULTIPLY(s, a, b) _mm256_dpbusd_avx_epi32(s, b, a)
#define WITH(s, of_b) _mm256_add_epi32(s, _mm256_slli_epi32(of_b, 7))
#define OF_B(s, b, ones) _mm256_dpbusd_avx_epi32(s, b, ones)
#elif defined UK_OP_i8u8gemm_ra
#define MULTIPLY(s, a, b) _mm256_dpbusd_avx_epi32(s, b, a)
#else
#define MULTIPLY(s, a, b) _mm256_dpbusd_avx_epi32(s, a, b)
#endif

struct tile {
    __m256i sum[MR][VECTORS];
};

/* A row's group of that many terms, in all lanes. */
INLINE __m256i group_of(const left *a, int64_t terms) {
    uint32_t group = 0;
    __m256i x;

    if (terms >= KR)
        __builtin_memcpy(&group, a, sizeof group);
    else
        for (int64_t p = 0; p < terms; p++)
            group |= (uint32_t)(uint8_t)a[p] << 8 * p;
    x = _mm256_set1_epi32((int)group);
#ifdef FLIPS
#ifndef UK_IN_C
    __asm__("" : "+x"(x)); /* otherwise the broadcast is no load: the compiler flips the bits before it */
#endif
    x = _mm256_xor_si256(x, _mm256_set1_epi8(-128));
#endif
    return x;
}

INLINE __m256i columns(const right *b) {
    return _mm256_loadu_si256((const __m256i *)b);
}

INLINE void multiply(struct tile *t, int vectors, const left *a, int64_t lda, int64_t terms, const right *b,
                     int64_t mr) {
    __m256i y[VECTORS];

    EACH_VECTOR(v) y[v] = columns(b + v * LANES * KR);
    EACH_ROW(i) {
        if (i < mr) {
            const __m256i x = group_of(a + i * lda, terms);

            EACH_VECTOR(v) t->sum[i][v] = MULTIPLY(t->sum[i][v], x, y[v]);
        }
    }
}

/* Adds to all rows what flips of A have taken away. */
INLINE void unflip(struct tile *t, int vectors, int64_t k, const right *b) {
#ifdef FLIPS
    __m256i of_b[VECTORS];

    EACH_VECTOR(v) of_b[v] = _mm256_setzero_si256();
#pragma GCC unroll 1
    for (int64_t p = 0; p < k; p += KR, b += NR * KR)
        EACH_VECTOR(v) of_b[v] = OF_B(of_b[v], columns(b + v * LANES * KR), _mm256_set1_epi8(1));
    EACH_ROW(i) EACH_VECTOR(v) t->sum[i][v] = WITH(t->sum[i][v], of_b[v]);
#else
    (void)t;
    (void)vectors;
    (void)k;
    (void)b;
#endif
}

INLINE void store(int32_t *c, __m256i x, int64_t acc, int64_t nr) {
    if (nr >= LANES) {
        if (acc)
            x = _mm256_add_epi32(x, _mm256_loadu_si256((const __m256i *)c));
        _mm256_storeu_si256((__m256i *)c, x);
    } else {
        int32_t lane[LANES];

        _mm256_storeu_si256((__m256i *)lane, x);
#pragma GCC unroll 1
        for (int64_t j = 0; j < nr; j++)
            c[j] = (int32_t)((uint32_t)lane[j] + (acc ? (uint32_t)c[j] : 0));
    }
}

INLINE void compute(int vectors, int64_t k, const left *a, int64_t lda, const right *b, int32_t *c,
                    int64_t ldc, int64_t acc, int64_t mr, int64_t nr) {
    const right *const first = b;
    struct tile t;
    int64_t p = 0;

    EACH_ROW(i) EACH_VECTOR(v) t.sum[i][v] = _mm256_setzero_si256();
#pragma GCC unroll 1
    for (; p + KR <= k; p += KR, b += NR * KR)
        multiply(&t, vectors, a + p, lda, KR, b, mr);
    if (p < k)
        multiply(&t, vectors, a + p, lda, k - p, b, mr);
    unflip(&t, vectors, k, first);
    EACH_ROW(i) {
        if (i < mr) {
            EACH_VECTOR(v) store(c + i * ldc + v * LANES, t.sum[i][v], acc, nr - v * LANES);
        }
    }
}

void UK_SYMBOL(int64_t k, const left *a, int64_t lda, const right *b, int32_t *c, int64_t ldc, int64_t acc,
               int64_t mr, int64_t nr) {
    if (nr > LANES)
        compute(2, k, a, lda, b, c, ldc, acc, mr, nr);
    else
        compute(1, k, a, lda, b, c, ldc, acc, mr, nr);
}
