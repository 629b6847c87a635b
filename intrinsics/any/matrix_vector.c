/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products of matrices and vectors, of floats or doubles, for vectors of any width. UK_OP_sdot, UK_OP_ddot,
 * UK_OP_sgemv_n and UK_OP_dgemv_n add along the rows of a matrix; UK_OP_saxpy, UK_OP_daxpy, UK_OP_sgemv_t and
 * UK_OP_dgemv_t add rows to one another.
 *
 * gemv_n takes 4 rows at a time (8 rows far apart in memory are more streams than memory delivers at full
 * speed); each vector of x is loaded once for all of them. 4, 2 or 1 rows have 2, 4 or 8 sums each: 8 chains
 * hide an FMA latency of 4 cycles at two FMAs a cycle. Short rows, of matrices in L1 or L2, have 4 sums each:
 * the loop has fewer iterations, and more of them are in flight.
 *
 * gemv_t takes 4 rows at a time, for the same number of streams, with x[p] of each in a register, so that y
 * is read and written once for 4 rows. Its blocks of y have up to 32 KB, which is L1 or most of it: shorter
 * runs of rows would be read more slowly. Rows from memory are read fastest by 2 vectors of each at a time;
 * short rows, of matrices in L1 or L2, by 4. If there are registers for the sums of all columns, the sums
 * stay there for all rows, which are then read one after the other; one or two vectors of columns have 8 or 4
 * sums each, of every eighth or fourth row.
 *
 * `ahead`: the prefetch distance within a row if the matrix is neither in L1 nor in L2 and rows are at least
 * that long; gemv_t then reads 8 rows at a time. The end of a row prefetches the begin of the next ones,
 * because the hardware prefetcher sees a new page only when it is read.
 *
 * Without masks (NEON) the last n < V elements are loaded and stored lane by lane.
 *
 * Bound: an element of the matrix is used once, so memory decides: 2 flop per element that it delivers (dot
 * and axpy: per two elements, and axpy writes one). In L1 the loads decide, at two a cycle: 5 for 4 FMAs of
 * gemv_n, 5 for 4 of gemv_t, 2 for 1 of the others.
 */
#if defined UK_OP_ddot || defined UK_OP_daxpy || defined UK_OP_dgemv_n || defined UK_OP_dgemv_t
#define DOUBLE 1
#else
#define DOUBLE 0
#endif
#include "vector_real.h"

/* 1 if there are registers for 16 sums, x, and the loaded vectors. */
#ifdef __AVX512F__
#define SIXTEEN_SUMS 1
#else
#define SIXTEEN_SUMS 0
#endif

/* c[i] (+)= sum of a[i*lda + p] * x[p], i < mr <= rows, with `chains` partial sums for each row. Missing rows
 * repeat the last one. prefetches: prefetches the element `ahead` elements further, or that of the next rows
 * if it is past a row's end. */
INLINE void add_along(const int rows, const int chains, const bool prefetches, int64_t k, const real *a,
                      int64_t lda, const real *x, real *c, int64_t acc, int64_t ahead, int64_t mr) {
    vector total[16] = {0};
    const real *row[8];
    int64_t p = 0;

#pragma GCC unroll 16
    for (int i = 0; i < rows; i++)
        row[i] = a + (i < mr ? i : mr - 1) * lda;
#pragma GCC unroll 1
    for (; p + chains * V <= k; p += chains * V) {
        const int64_t on = p + ahead < k ? p + ahead : p + ahead - k + rows * lda;

#pragma GCC unroll 16
        for (int u = 0; u < chains; u++) {
            const vector v = load(x + p + u * V);

#pragma GCC unroll 16
            for (int i = 0; i < rows; i++) {
                if (prefetches)
                    __builtin_prefetch(row[i] + on + u * V);
                total[i * chains + u] = fma(load(row[i] + p + u * V), v, total[i * chains + u]);
            }
        }
    }
#pragma GCC unroll 1
    for (; p + V <= k; p += V)
#pragma GCC unroll 16
        for (int i = 0; i < rows; i++)
            total[i * chains] = fma(load(row[i] + p), load(x + p), total[i * chains]);
    if (p < k)
#pragma GCC unroll 16
        for (int i = 0; i < rows; i++)
            total[i * chains] = fma(load_part(row[i] + p, k - p), load_part(x + p, k - p), total[i * chains]);
#pragma GCC unroll 16
    for (int i = 0; i < rows; i++)
#pragma GCC unroll 16
        for (int u = 1; u < chains; u++)
            total[i * chains] += total[i * chains + u];
    if (rows == 4 && mr == 4) {
        add_four(sum_four(total[0], total[chains], total[2 * chains], total[3 * chains]), c, acc);
        return;
    }
#pragma GCC unroll 16
    for (int i = 0; i < rows; i++)
        if (i < mr)
            c[i] = (acc ? c[i] : 0) + sum(total[i * chains]);
}

/* A vector of add_rows. `on`: the prefetch distance from a. */
INLINE void add_vector(const int rows, const bool prefetches, const vector *factor, const real *a,
                       int64_t lda, real *y, int64_t acc, int64_t on) {
    vector t = acc ? load(y) : all(0);

#pragma GCC unroll 8
    for (int i = 0; i < rows; i++) {
        if (prefetches)
            __builtin_prefetch(a + i * lda + on);
        t = fma(factor[i], load(a + i * lda), t);
    }
    store(y, t);
}

/* y[j] (+)= sum of x[i] * a[i*lda + j], i < rows, j < n; unrolled by `unroll` vectors. prefetches: as in
 * add_along. */
INLINE void add_rows(const int rows, const int unroll, const bool prefetches, int64_t n, const real *a,
                     int64_t lda, const real *x, real *y, int64_t acc, int64_t ahead) {
    vector factor[8];
    int64_t j = 0;

#pragma GCC unroll 8
    for (int i = 0; i < rows; i++)
        factor[i] = all(x[i]);
#pragma GCC unroll 1
    for (; j + unroll * V <= n; j += unroll * V) {
        const int64_t on = j + ahead < n ? ahead : ahead - n + rows * lda;

#pragma GCC unroll 4
        for (int u = 0; u < unroll; u++)
            add_vector(rows, prefetches, factor, a + j + u * V, lda, y + j + u * V, acc, on);
    }
    for (; j + V <= n && unroll > 1; j += V)
        add_vector(rows, false, factor, a + j, lda, y + j, acc, 0);
    if (j < n) {
        vector t = acc ? load_part(y + j, n - j) : all(0);

#pragma GCC unroll 8
        for (int i = 0; i < rows; i++)
            t = fma(factor[i], load_part(a + i * lda + j, n - j), t);
        store_part(y + j, n - j, t);
    }
}

/* t[u] += factor * vector u of a row, for a row of `vectors` vectors. */
INLINE void add_short_row(const int vectors, const bool part, const real *a, real factor, vector *t,
                          int64_t left) {
    const vector f = all(factor);

    (void)left;
#pragma GCC unroll 16
    for (int u = 0; u < vectors - part; u++)
        t[u] = fma(f, load(a + u * V), t[u]);
    if (part)
        t[vectors - 1] = fma(f, load_part(a + (vectors - 1) * V, left), t[vectors - 1]);
}

/* The same for all rows, with the sums in registers. part: the last vector has fewer columns. */
INLINE void add_short_rows(const int vectors, const bool part, int64_t k, const real *a, int64_t lda,
                           const real *x, real *y, int64_t acc, int64_t n) {
    const int whole = vectors - part, chains = vectors > 2 ? 1 : 8 / vectors;
    const int64_t left = n - whole * V;
    vector t[16] = {0};
    int64_t p = 0;

    (void)left;
#pragma GCC unroll 16
    for (int u = 0; u < whole && acc; u++)
        t[u] = load(y + u * V);
    if (part && acc)
        t[whole] = load_part(y + whole * V, left);
#pragma GCC unroll 1
    for (; p + chains <= k; p += chains, a += chains * lda)
#pragma GCC unroll 8
        for (int i = 0; i < chains; i++)
            add_short_row(vectors, part, a + i * lda, x[p + i], t + i * vectors, left);
#pragma GCC unroll 1
    for (; p < k; p++, a += lda)
        add_short_row(vectors, part, a, x[p], t, left);
#pragma GCC unroll 8
    for (int i = 1; i < chains; i++)
#pragma GCC unroll 16
        for (int u = 0; u < vectors; u++)
            t[u] += t[i * vectors + u];
#pragma GCC unroll 16
    for (int u = 0; u < whole; u++)
        store(y + u * V, t[u]);
    if (part)
        store_part(y + whole * V, left, t[whole]);
}

#if defined UK_OP_sdot || defined UK_OP_ddot
void UK_SYMBOL(int64_t k, const real *a, const real *b, real *c, int64_t acc) {
    add_along(1, 8, false, k, a, 0, b, c, acc, 0, 1);
}
#elif defined UK_OP_sgemv_n || defined UK_OP_dgemv_n
void UK_SYMBOL(int64_t k, const real *a, int64_t lda, const real *x, real *c, int64_t acc, int64_t ahead,
               int64_t m) {
    const bool is_short = SIXTEEN_SUMS && k >= 8 * V && k <= 2048 / (int64_t)sizeof(real);

    if (ahead && k >= ahead)
        for (; m >= 4; m -= 4, a += 4 * lda, c += 4)
            add_along(4, 2, true, k, a, lda, x, c, acc, ahead, 4);
    else if (is_short)
        for (; m >= 4; m -= 4, a += 4 * lda, c += 4)
            add_along(4, SIXTEEN_SUMS ? 4 : 2, false, k, a, lda, x, c, acc, 0, 4);
    else
        for (; m >= 4; m -= 4, a += 4 * lda, c += 4)
            add_along(4, 2, false, k, a, lda, x, c, acc, 0, 4);
    if (m > 2 && is_short)
        add_along(4, SIXTEEN_SUMS ? 4 : 2, false, k, a, lda, x, c, acc, 0, m);
    else if (m > 2)
        add_along(4, 2, false, k, a, lda, x, c, acc, 0, m);
    else if (m > 1)
        add_along(2, 4, false, k, a, lda, x, c, acc, 0, m);
    else if (m)
        add_along(1, 8, false, k, a, lda, x, c, acc, 0, m);
}
#elif defined UK_OP_saxpy || defined UK_OP_daxpy
void UK_SYMBOL(int64_t n, real alpha, const real *x, real *y) {
    add_rows(1, 4, false, n, x, 0, &alpha, y, 1, 0);
}
#elif defined UK_OP_sgemv_t || defined UK_OP_dgemv_t
void UK_SYMBOL(int64_t k, const real *a, int64_t lda, const real *x, real *y, int64_t acc, int64_t ahead,
               int64_t n) {
    enum { NEAR = 4096 / sizeof(real) };
    int64_t p = 0;

#define SHORT(v)                                               \
    case v:                                                    \
        if (n % V)                                             \
            add_short_rows(v, true, k, a, lda, x, y, acc, n);  \
        else                                                   \
            add_short_rows(v, false, k, a, lda, x, y, acc, n); \
        return
#ifdef __AVX2__
    switch ((n + V - 1) / V) {
        SHORT(1);
        SHORT(2);
        SHORT(3);
        SHORT(4);
        SHORT(5);
        SHORT(6);
        SHORT(7);
        SHORT(8);
#ifdef __AVX512F__
        SHORT(9);
        SHORT(10);
        SHORT(11);
        SHORT(12);
        SHORT(13);
        SHORT(14);
        SHORT(15);
        SHORT(16);
#endif
    }
#endif
    for (int64_t j = 0; j < n && !k && !acc; j++) {
        y[j] = 0;
        __asm__ volatile("" ::: "memory"); /* keeps compilers from calling memset */
    }
    if (k >= 4 && !acc) {
        add_rows(4, 4, false, n, a, lda, x, y, 0, 0);
        acc = 1;
        p = 4;
    }
    if (ahead && n >= ahead)
        for (; p + 8 <= k; p += 8)
            add_rows(8, 2, true, n, a + p * lda, lda, x + p, y, 1, ahead);
    for (; p + 4 <= k; p += 4)
        if (n <= NEAR)
            add_rows(4, 4, false, n, a + p * lda, lda, x + p, y, 1, 0);
        else
            add_rows(4, 2, false, n, a + p * lda, lda, x + p, y, 1, 0);
    if (k & 2) {
        add_rows(2, 1, false, n, a + p * lda, lda, x + p, y, acc, 0);
        acc = 1;
        p += 2;
    }
    if (k & 1)
        add_rows(1, 1, false, n, a + p * lda, lda, x + p, y, acc, 0);
}
#endif
