/* SPDX-License-Identifier: Apache-2.0 */
/*
 * 6 rows x up to UK_NR columns of C, in f32, from rows of bf16 of A in place and panels of pairs of bf16 of
 * B, 16 columns at a time: sum[i][0] and sum[i][1] are columns 0-7 and 8-15 of row i.
 *
 * A bf16 is the upper half of an f32. The rows are widened once for all columns, TERMS terms at a time, on
 * the stack. Of the words of B, which hold a pair of terms, the first becomes an f32 by a shift, the second
 * by a mask. Products are exact, and each sum is rounded once.
 *
 * Bound, for a pair of terms and 16 columns: 24 multiply-adds, 4 loads and 12 broadcasts, 2 shifts and 2
 * masks. With two multiply-adds a cycle and ports of vectors besides these 12 cycles, the rate of f32;
 * without such ports 14.
 *
 * Edges: there is a loop for each number of rows; up to 8 columns take half of the multiply-adds; columns are
 * masked. Of a last single term the second half of B's words is not used.
 */
#include <immintrin.h>
#include "../../asm/x86_64/store_first_avx2.h"
#include "registry/kernel_contract.h"

enum { MR = UK_MR, NR = UK_NR, KR = 2, LANES = 8, TERMS = 128 };
#define INLINE static inline __attribute__((always_inline))

struct rows {
    float term[MR][TERMS];
};

INLINE void widen(float *to, const uint16_t *a) {
    const __m256i x = _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)a));

    _mm256_storeu_ps(to, _mm256_castsi256_ps(_mm256_slli_epi32(x, 16)));
}

/* The last vector of a row overlaps the one before. */
INLINE void widen_row(float *to, const uint16_t *a, int64_t k) {
    int64_t p = 0;

#pragma GCC unroll 1
    for (; p + LANES <= k; p += LANES)
        widen(to + p, a + p);
    if (p < k && p > 0)
        widen(to + k - LANES, a + k - LANES);
#pragma GCC unroll 1
    for (; p < k && k < LANES; p++)
        to[p] = uk_from_bf16(a[p]);
}

/* The first terms of eight pairs. */
INLINE __m256 first(const uint16_t *b) {
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_loadu_si256((const __m256i *)b), 16));
}

/* Adds the products of one term of all rows. */
INLINE void add_term(int rows, int vectors, const struct rows *a, int64_t p, const __m256 *y,
                     __m256 sum[MR][2]) {
#pragma GCC unroll 6
    for (int i = 0; i < rows; i++) {
        const __m256 x = _mm256_broadcast_ss(&a->term[i][p]);

#pragma GCC unroll 2
        for (int v = 0; v < vectors; v++)
            sum[i][v] = _mm256_fmadd_ps(x, y[v], sum[i][v]);
    }
}

INLINE void store(float *c, __m256 x, int64_t acc, int64_t nr) {
    const __m256i all =
        _mm256_cmpgt_epi32(_mm256_set1_epi32((int)nr), _mm256_set_epi32(7, 6, 5, 4, 3, 2, 1, 0));

    if (acc)
        x = _mm256_add_ps(x, nr >= LANES ? _mm256_loadu_ps(c) : _mm256_maskload_ps(c, all));
    if (nr >= LANES)
        _mm256_storeu_ps(c, x);
    else
        store_first_ps(c, nr, x);
}

/* One or two vectors of columns; k is even. */
INLINE void tile(int rows, int vectors, const struct rows *a, int64_t k, const uint16_t *b, float *c,
                 int64_t ldc, int64_t acc, int64_t nr) {
    const __m256 upper = _mm256_castsi256_ps(_mm256_set1_epi32(-65536));
    __m256 sum[MR][2];

#pragma GCC unroll 6
    for (int i = 0; i < rows; i++)
#pragma GCC unroll 2
        for (int v = 0; v < vectors; v++)
            sum[i][v] = _mm256_setzero_ps();
#pragma GCC unroll 1
    for (int64_t p = 0; p < k; p += KR, b += NR * KR) {
        __m256 y[2];

#pragma GCC unroll 2
        for (int v = 0; v < vectors; v++)
            y[v] = first(b + v * LANES * KR);
        add_term(rows, vectors, a, p, y, sum);
#pragma GCC unroll 2
        for (int v = 0; v < vectors; v++)
            y[v] = _mm256_and_ps(_mm256_loadu_ps((const float *)(const void *)(b + v * LANES * KR)), upper);
        add_term(rows, vectors, a, p + 1, y, sum);
    }
#pragma GCC unroll 6
    for (int i = 0; i < rows; i++)
#pragma GCC unroll 2
        for (int v = 0; v < vectors; v++)
            store(c + i * ldc + v * LANES, sum[i][v], acc, nr - v * LANES);
}

INLINE void columns(int rows, const struct rows *a, int64_t k, const uint16_t *b, float *c, int64_t ldc,
                    int64_t acc, int64_t nr) {
#pragma GCC unroll 1
    for (int64_t j = 0; j < nr; j += 2 * LANES)
        if (nr - j > LANES)
            tile(rows, 2, a, k, b + j * KR, c + j, ldc, acc, nr - j);
        else
            tile(rows, 1, a, k, b + j * KR, c + j, ldc, acc, nr - j);
}

/* Adds the products of a last single term to C. */
INLINE void add_last(const struct rows *a, int64_t p, const uint16_t *b, float *c, int64_t ldc, int64_t mr,
                     int64_t nr) {
#pragma GCC unroll 1
    for (int64_t j = 0; j < nr; j += LANES) {
        const __m256 y = first(b + j * KR);

#pragma GCC unroll 1
        for (int64_t i = 0; i < mr; i++)
            store(c + i * ldc + j, _mm256_mul_ps(_mm256_broadcast_ss(&a->term[i][p]), y), 1, nr - j);
    }
}

void UK_SYMBOL(int64_t k, const uint16_t *a, int64_t lda, const uint16_t *b, float *c, int64_t ldc,
               int64_t acc, int64_t mr, int64_t nr) {
    struct rows rows;

#pragma GCC unroll 1
    do {
        const int64_t terms = k < TERMS ? k : TERMS, pairs = terms / KR * KR;

#pragma GCC unroll 1
        for (int64_t i = 0; i < mr; i++)
            widen_row(rows.term[i], a + i * lda, terms);
        switch (mr) {
        case 6:
            columns(6, &rows, pairs, b, c, ldc, acc, nr);
            break;
        case 5:
            columns(5, &rows, pairs, b, c, ldc, acc, nr);
            break;
        case 4:
            columns(4, &rows, pairs, b, c, ldc, acc, nr);
            break;
        case 3:
            columns(3, &rows, pairs, b, c, ldc, acc, nr);
            break;
        case 2:
            columns(2, &rows, pairs, b, c, ldc, acc, nr);
            break;
        default:
            columns(1, &rows, pairs, b, c, ldc, acc, nr);
            break;
        }
        if (pairs < terms)
            add_last(&rows, pairs, b + pairs * NR, c, ldc, mr, nr);
        k -= terms;
        a += terms;
        b += terms * NR;
        acc = 1;
    } while (k > 0);
}
