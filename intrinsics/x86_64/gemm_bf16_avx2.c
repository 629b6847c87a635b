/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Up to UK_MR rows x UK_NR columns of C, in f32, from rows of bf16 of A in place and panels of pairs of bf16
 * of B: row_groups_avx2.h.
 *
 * A bf16 is the upper half of an f32. Of the words of B, which hold a pair of terms, the first becomes an f32
 * by a shift, the second by a mask. Products are exact, and each sum is rounded once. Of a last single term
 * the second half of B's words is not used.
 *
 * Bound, for a pair of terms, 16 columns and 6 rows: 24 multiply-adds, 4 loads and 12 broadcasts, 2 shifts
 * and 2 masks. With two multiply-adds a cycle and ports of vectors besides these 12 cycles, the rate of f32;
 * without such ports 14. One row takes 64 bytes of B in 2 cycles: memory is slower.
 */
#include <immintrin.h>
#include "../../asm/x86_64/store_first_avx2.h"
#include "registry/kernel_contract.h"

typedef uint16_t left, right;
typedef float term, total;
typedef __m256 vector;
enum { TERMS = 128, WIDENED = 8, COLUMNS_OF_3 = 3 };

static inline __attribute__((always_inline)) term to_term(left a) {
    return uk_from_bf16(a);
}

static inline __attribute__((always_inline)) void widen(term *to, const left *a) {
    const __m256i x = _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)a));

    _mm256_storeu_ps(to, _mm256_castsi256_ps(_mm256_slli_epi32(x, 16)));
}

static inline __attribute__((always_inline)) vector zero(void) {
    return _mm256_setzero_ps();
}

static inline __attribute__((always_inline)) void store(total *c, vector x, int64_t acc, int64_t nr) {
    const __m256i all =
        _mm256_cmpgt_epi32(_mm256_set1_epi32((int)nr), _mm256_set_epi32(7, 6, 5, 4, 3, 2, 1, 0));

    if (acc)
        x = _mm256_add_ps(x, nr >= 8 ? _mm256_loadu_ps(c) : _mm256_maskload_ps(c, all));
    if (nr >= 8)
        _mm256_storeu_ps(c, x);
    else
        store_first_ps(c, nr, x);
}

/* The first terms of eight pairs. */
static inline __attribute__((always_inline)) __m256 first(const right *b) {
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_loadu_si256((const __m256i *)b), 16));
}

/* Adds the products of one term of all rows. */
static inline __attribute__((always_inline)) void add_term(int rows, int vectors, const term (*a)[TERMS],
                                                           int64_t p, const __m256 *y, vector *sum) {
#pragma GCC unroll 6
    for (int i = 0; i < rows; i++) {
        const __m256 x = _mm256_broadcast_ss(a[i] + p);

#pragma GCC unroll 8
        for (int v = 0; v < vectors; v++)
            sum[i * vectors + v] = _mm256_fmadd_ps(x, y[v], sum[i * vectors + v]);
    }
}

static inline __attribute__((always_inline)) void add_pair(int rows, int vectors, const term (*a)[TERMS],
                                                           int64_t p, const right *b, vector *sum) {
    const __m256 upper = _mm256_castsi256_ps(_mm256_set1_epi32(-65536));
    __m256 y[8];

#pragma GCC unroll 8
    for (int v = 0; v < vectors; v++)
        y[v] = first(b + v * 16);
    add_term(rows, vectors, a, p, y, sum);
#pragma GCC unroll 8
    for (int v = 0; v < vectors; v++)
        y[v] = _mm256_and_ps(_mm256_loadu_ps((const float *)(const void *)(b + v * 16)), upper);
    add_term(rows, vectors, a, p + 1, y, sum);
}
/* Adds the products of a single term to C. */
static inline __attribute__((always_inline)) void
add_single(const term (*a)[TERMS], int64_t p, const right *b, float *c, int64_t ldc, int64_t mr, int64_t nr) {
#pragma GCC unroll 1
    for (int64_t j = 0; j < nr; j += 8) {
        const __m256 y = first(b + j * 2);

#pragma GCC unroll 1
        for (int64_t i = 0; i < mr; i++)
            store(c + i * ldc + j, _mm256_mul_ps(_mm256_broadcast_ss(a[i] + p), y), 1, nr - j);
    }
}
#define SINGLE(...) add_single(__VA_ARGS__)
#include "row_groups_avx2.h"

void UK_SYMBOL(int64_t k, const left *a, int64_t lda, const right *b, float *c, int64_t ldc, int64_t acc,
               int64_t mr, int64_t nr) {
#pragma GCC unroll 1
    do {
        const int64_t terms = k < TERMS ? k : TERMS, pairs = terms / KR * KR;

        groups((struct block){NULL, pairs, b, (const char *)(b + terms * NR), 1}, terms, a, lda, c, ldc, acc,
               mr, nr);
        k -= terms;
        a += terms;
        b += terms * NR;
        acc = 1;
    } while (k > 0);
}
