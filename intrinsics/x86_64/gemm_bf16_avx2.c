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
#include "halves_vectors.h"
#include "registry/kernel_contract.h"

typedef uint16_t left, right;
typedef float term, total;
enum { TERMS = 128, WIDENED = LANES, COLUMNS_OF_3 = 3 };

INLINE term to_term(left a) {
    return uk_from_bf16(a);
}

INLINE void widen(term *to, const left *a) {
    STORE(to, from_bf16(a));
}

INLINE vector zero(void) {
    return ZERO();
}

INLINE void store(total *c, vector x, int64_t acc, int64_t nr) {
    store_first(c, nr, acc ? ADD(x, load_first(c, nr)) : x);
}

/* Adds the products of one term of all rows. */
INLINE void add_term(int rows, int vectors, const term (*a)[TERMS], int64_t p, const vector *y, vector *sum) {
#pragma GCC unroll 6
    for (int i = 0; i < rows; i++) {
        const vector x = BROADCAST(a[i] + p);

#pragma GCC unroll 8
        for (int v = 0; v < vectors; v++)
            sum[i * vectors + v] = MULTIPLY_ADD(x, y[v], sum[i * vectors + v]);
    }
}

INLINE void add_pair(int rows, int vectors, const term (*a)[TERMS], int64_t p, const right *b, vector *sum) {
    vector y[8];

#pragma GCC unroll 8
    for (int v = 0; v < vectors; v++)
        y[v] = first_of_pairs(b + v * LANES * 2);
    add_term(rows, vectors, a, p, y, sum);
#pragma GCC unroll 8
    for (int v = 0; v < vectors; v++)
        y[v] = second_of_pairs(b + v * LANES * 2);
    add_term(rows, vectors, a, p + 1, y, sum);
}

/* Adds the products of a single term to C. */
INLINE void add_single(const term (*a)[TERMS], int64_t p, const right *b, float *c, int64_t ldc, int64_t mr,
                       int64_t nr) {
#pragma GCC unroll 1
    for (int64_t j = 0; j < nr; j += LANES) {
        const vector y = first_of_pairs(b + j * 2);

#pragma GCC unroll 1
        for (int64_t i = 0; i < mr; i++)
            store(c + i * ldc + j, MULTIPLY(BROADCAST(a[i] + p), y), 1, nr - j);
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
