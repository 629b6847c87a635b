/* SPDX-License-Identifier: Apache-2.0 */
/*
 * 6 rows x up to UK_NR columns of C, in i32, from rows of bytes of A in place and panels of pairs of bytes of
 * B, 16 columns at a time: sum[i][0] and sum[i][1] are columns 0-7 and 8-15 of row i.
 *
 * The rows are widened to 16 bits once for all columns, TERMS terms at a time, on the stack. vpmaddwd adds
 * two products in 32 bits, where -128 * 255 + -128 * 255 fits. (vpmaddubsw, which takes bytes, would
 * saturate.)
 *
 * Bound, for a pair of terms and 16 columns: 12 products, 12 additions, 2 widenings of B and 8 loads: at four
 * vector operations a cycle 6.5 cycles, 29.5 multiply-adds a cycle; two products a cycle would allow 32. Zen
 * 3 reaches 1.5 products a cycle if an addition follows each.
 *
 * Edges: one row takes all columns at once; a tile of fewer rows ends each k iteration after its last row;
 * columns are masked. B's panels have all columns. If the number of terms is odd, the last pair's second term
 * of A is 0.
 */
#include "../../asm/x86_64/store_first_avx2.h"
#include "registry/kernel_contract.h"
#include "bytes_avx2.h"

enum { MR = UK_MR, NR = UK_NR, KR = 2, LANES = 8, SUMS = 12, TERMS = 256, BYTES = 16 };
#define INLINE static inline __attribute__((always_inline))

struct rows {
    int16_t term[MR][TERMS];
};

INLINE void widen(int16_t *to, const left *a) {
    _mm256_storeu_si256((__m256i *)to, WIDEN_A(_mm_loadu_si128((const __m128i *)a)));
}

/* The last vector of a row overlaps the one before. A term of 0 completes the last pair. */
INLINE void widen_row(int16_t *to, const left *a, int64_t k) {
    int64_t p = 0;

#pragma GCC unroll 1
    for (; p + BYTES <= k; p += BYTES)
        widen(to + p, a + p);
    if (p < k && p > 0)
        widen(to + k - BYTES, a + k - BYTES);
#pragma GCC unroll 1
    for (; p < k && k < BYTES; p++)
        to[p] = a[p];
    if (k % KR)
        to[k] = 0;
}

INLINE __m256i pair(const int16_t *a) {
    int32_t both;

    __builtin_memcpy(&both, a, sizeof both);
    return _mm256_set1_epi32(both);
}

INLINE __m256i columns(const right *b) {
    return WIDEN_B(_mm_loadu_si128((const __m128i *)b));
}

INLINE void store(int32_t *c, __m256i x, int64_t acc, int64_t nr) {
    const __m256i all =
        _mm256_cmpgt_epi32(_mm256_set1_epi32((int)nr), _mm256_set_epi32(7, 6, 5, 4, 3, 2, 1, 0));

    if (acc)
        x = _mm256_add_epi32(x, nr >= LANES ? _mm256_loadu_si256((const __m256i *)c)
                                            : _mm256_maskload_epi32(c, all));
    if (nr >= LANES)
        _mm256_storeu_si256((__m256i *)c, x);
    else
        store_first_ps((float *)c, nr, _mm256_castsi256_ps(x));
}

/* `rows` rows, of which mr exist, and one or two vectors of columns; or one row and all columns at once,
 * which reads B line by line. */
INLINE void tile(int rows, int vectors, const struct rows *a, int64_t k, const right *b, int32_t *c,
                 int64_t ldc, int64_t acc, int64_t mr, int64_t nr) {
    __m256i sum[SUMS];

#pragma GCC unroll 12
    for (int i = 0; i < rows * vectors; i++)
        sum[i] = _mm256_setzero_si256();
#pragma GCC unroll 1
    for (int64_t p = 0; p < k; p += KR, b += NR * KR) {
        __m256i y[NR / LANES];

#pragma GCC unroll 8
        for (int v = 0; v < vectors; v++)
            y[v] = columns(b + v * LANES * KR);
#pragma GCC unroll 6
        for (int i = 0; i < rows; i++) {
            if (rows == 1 || i < mr) {
                const __m256i x = pair(a->term[i] + p);

#pragma GCC unroll 8
                for (int v = 0; v < vectors; v++)
                    sum[i * vectors + v] = _mm256_add_epi32(sum[i * vectors + v], _mm256_madd_epi16(x, y[v]));
            }
        }
    }
#pragma GCC unroll 6
    for (int i = 0; i < rows; i++)
        if (rows == 1 || i < mr)
#pragma GCC unroll 8
            for (int v = 0; v < vectors; v++)
                store(c + i * ldc + v * LANES, sum[i * vectors + v], acc, nr - v * LANES);
}

void UK_SYMBOL(int64_t k, const left *a, int64_t lda, const right *b, int32_t *c, int64_t ldc, int64_t acc,
               int64_t mr, int64_t nr) {
    struct rows rows;

#pragma GCC unroll 1
    do {
        const int64_t terms = k < TERMS ? k : TERMS;

#pragma GCC unroll 1
        for (int64_t i = 0; i < mr; i++)
            widen_row(rows.term[i], a + i * lda, terms);
        if (mr == 1 && nr == NR)
            tile(1, NR / LANES, &rows, terms, b, c, ldc, acc, 1, NR);
        else
#pragma GCC unroll 1
            for (int64_t j = 0; j < nr; j += 2 * LANES)
                if (nr - j > LANES)
                    tile(MR, 2, &rows, terms, b + j * KR, c + j, ldc, acc, mr, nr - j);
                else
                    tile(MR, 1, &rows, terms, b + j * KR, c + j, ldc, acc, mr, nr - j);
        k -= terms;
        a += terms;
        b += terms * NR;
        acc = 1;
    } while (k > 0);
}
