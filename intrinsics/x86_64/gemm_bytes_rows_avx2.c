/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Up to UK_MR rows x UK_NR columns of C, in i32, from rows of bytes of A in place and panels of pairs of
 * bytes of B: row_groups_avx2.h.
 *
 * The rows are widened to 16 bits. vpmaddwd adds two products in 32 bits, where -128 * 255 + -128 * 255 fits.
 * (vpmaddubsw, which takes bytes, would saturate.) A last single term is paired with 0.
 *
 * Bound, for a pair of terms, 16 columns and 6 rows: 12 products, 12 additions, 2 widenings of B and 8 loads:
 * at four vector operations a cycle 6.5 cycles, 29.5 multiply-adds a cycle; two products a cycle would allow
 * 32. Zen 3 reaches 1.5 products a cycle if an addition follows each. One row takes 32 bytes of B in 2.5
 * cycles, which is faster than memory.
 */
#include "../../asm/x86_64/store_first_avx2.h"
#include "registry/kernel_contract.h"
#include "bytes_avx2.h"

typedef int16_t term;
typedef int32_t total;
typedef __m256i vector;
#define INLINE static inline __attribute__((always_inline))
enum { LANES = 8, TERMS = 256, WIDENED = 16, COLUMNS_OF_3 = 2 };

INLINE term to_term(left a) {
    return a;
}

INLINE void widen(term *to, const left *a) {
    _mm256_storeu_si256((__m256i *)to, WIDEN_A(_mm_loadu_si128((const __m128i *)a)));
}

INLINE vector zero(void) {
    return _mm256_setzero_si256();
}

INLINE void store(total *c, vector x, int64_t acc, int64_t nr) {
    const __m256i all =
        _mm256_cmpgt_epi32(_mm256_set1_epi32((int)nr), _mm256_set_epi32(7, 6, 5, 4, 3, 2, 1, 0));

    if (acc)
        x = _mm256_add_epi32(x, nr >= 8 ? _mm256_loadu_si256((const __m256i *)c)
                                        : _mm256_maskload_epi32(c, all));
    if (nr >= 8)
        _mm256_storeu_si256((__m256i *)c, x);
    else
        store_first_ps((float *)c, nr, _mm256_castsi256_ps(x));
}

INLINE __m256i pair(const term *a) {
    int32_t both;

    __builtin_memcpy(&both, a, sizeof both);
    return _mm256_set1_epi32(both);
}

INLINE void add_pair(int rows, int vectors, const term (*a)[TERMS], int64_t p, const right *b, vector *sum) {
    __m256i y[8];

#pragma GCC unroll 8
    for (int v = 0; v < vectors; v++)
        y[v] = WIDEN_B(_mm_loadu_si128((const __m128i *)(b + v * 16)));
#pragma GCC unroll 6
    for (int i = 0; i < rows; i++) {
        const __m256i x = pair(a[i] + p);

#pragma GCC unroll 8
        for (int v = 0; v < vectors; v++)
            sum[i * vectors + v] = _mm256_add_epi32(sum[i * vectors + v], _mm256_madd_epi16(x, y[v]));
    }
}
#define SINGLE(a, p, b, c, ldc, mr, nr)
#include "row_groups_avx2.h"

void UK_SYMBOL(int64_t k, const left *a, int64_t lda, const right *b, int32_t *c, int64_t ldc, int64_t acc,
               int64_t mr, int64_t nr) {
#pragma GCC unroll 1
    do {
        const int64_t terms = k < TERMS ? k : TERMS, padded = terms + terms % KR;

        groups((struct block){NULL, padded, b, (const char *)(b + padded * NR), 1}, terms, a, lda, c, ldc,
               acc, mr, nr);
        k -= terms;
        a += terms;
        b += terms * NR;
        acc = 1;
    } while (k > 0);
}
