/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inner products: rows of a row-major A times columns of a column-major B, so that k is contiguous in both. A
 * vector along k of each of 4 rows of A times one of each of 4 columns of B gives 4 x 4 vectors of sums; 3 x
 * 4 with 16 registers. For products of few rows and columns and a long k, whose operands other kernels would
 * have to transpose.
 *
 * The sum of an element is that of the lanes of a vector, each lane the sum of every V-th k, added in a tree:
 * the same order for every m and n. Missing columns repeat the last one.
 *
 * Bound: 16 FMAs and 8 loads per V elements of k, 8 cycles: the peak. The trees take some 45 cycles more per
 * group of rows, half of its time at k = 64 (AVX-512, floats).
 */
#if defined UK_OP_dgemm_nt
#define DOUBLE 1
#else
#define DOUBLE 0
#endif
#include "../any/vector_real.h"

#ifdef __AVX512F__
enum { ROWS = 4 };
#else
enum { ROWS = 3 };
#endif
enum { COLUMNS = 4 };

/* c[j] (+)= the sum of the lanes of sums[j], j < n. */
INLINE void add_columns(four_sums sums, real *c, int64_t acc, int64_t n) {
    real s[COLUMNS];

    if (n == COLUMNS) {
        add_four(sums, c, acc);
        return;
    }
    store_four(s, sums);
#pragma GCC unroll 1
    for (int64_t j = 0; j < n; j++)
        c[j] = (acc ? c[j] : 0) + s[j];
}

/* Columns of B: a pointer to the first, and the offsets of the others from it. */
struct columns {
    const real *first;
    int64_t to[COLUMNS];
};

/* A group of `rows` rows. The asm statements hide a and b from compilers, which would otherwise keep a
 * pointer to each row and column. */
INLINE void add_group(const int rows, int64_t k, const real *a, int64_t lda, struct columns column, real *c,
                      int64_t ldc, int64_t acc, int64_t n) {
    vector t[ROWS * COLUMNS] = {0};
    const real *b = column.first;

#define K_ITERATION(load_it)                                                                  \
    do {                                                                                      \
        vector row[ROWS];                                                                     \
                                                                                              \
        __asm__("" : "+r"(a), "+r"(b));                                                       \
        _Pragma("GCC unroll 4") for (int i = 0; i < rows; i++) row[i] = load_it(a + i * lda); \
        _Pragma("GCC unroll 4") for (int j = 0; j < COLUMNS; j++) {                           \
            const vector x = load_it(b + column.to[j]);                                       \
                                                                                              \
            _Pragma("GCC unroll 4") for (int i = 0; i < rows; i++) t[i * COLUMNS + j] =       \
                fma(row[i], x, t[i * COLUMNS + j]);                                           \
        }                                                                                     \
    } while (0)
#define load_left(at) load_part(at, k)

#pragma GCC unroll 1
    for (; k >= V; k -= V, a += V, b += V)
        K_ITERATION(load);
    if (k)
        K_ITERATION(load_left);
#pragma GCC unroll 4
    for (int i = 0; i < rows; i++)
        add_columns(sum_four(t[i * COLUMNS], t[i * COLUMNS + 1], t[i * COLUMNS + 2], t[i * COLUMNS + 3]),
                    c + i * ldc, acc, n);
}

void UK_SYMBOL(int64_t k, const real *a, int64_t lda, const real *b, int64_t ldb, real *c, int64_t ldc,
               int64_t acc, int64_t m, int64_t n) {
    struct columns column = {b, {0}};

    for (int j = 1; j < COLUMNS; j++)
        column.to[j] = (j < n ? j : n - 1) * ldb;
    for (; m >= ROWS; m -= ROWS, a += ROWS * lda, c += ROWS * ldc)
        add_group(ROWS, k, a, lda, column, c, ldc, acc, n);
    if (ROWS > 3 && m == 3)
        add_group(3, k, a, lda, column, c, ldc, acc, n);
    else if (m == 2)
        add_group(2, k, a, lda, column, c, ldc, acc, n);
    else if (m == 1)
        add_group(1, k, a, lda, column, c, ldc, acc, n);
}
