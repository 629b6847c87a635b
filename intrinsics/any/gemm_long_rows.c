/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Up to UK_MR rows x up to UK_NR columns of C, of floats or doubles (UK_OP_dgemm_rab), from rows of A and of
 * B in place, for a B that comes from memory.
 *
 * A tile that takes all of k at a time reads a cache line or two from each of many rows of B, which are too
 * many streams for prefetchers. Here BLOCK rows of B at a time are read from the first column to the last,
 * and prefetched AHEAD bytes before they are used, into L2, because L1 may have too few ways for rows that
 * lie a multiple of its size apart. Sums are in registers for a block's terms, and in C between blocks.
 *
 * Groups of at most GROUP rows, as equal as possible, are computed one after another for STRIP columns. If
 * there are several, the first copies its part of B, as that may not stay in L1 either, and the others read
 * the copy. One or two rows take several vectors of columns at a time, for as many sums as
 * hide the latency of a multiply-add.
 *
 * Bound, for a k iteration of 4 rows x 2 vectors: 8 multiply-adds, 6 loads and a prefetch: at two of each a
 * cycle 4 cycles for 64 bytes of B (AVX2), which is faster than memory; 16 rows of floats are bound by their
 * multiply-adds. A block loads and stores the sums once.
 */
#if defined UK_OP_dgemm_rab
#define DOUBLE 1
#else
#define DOUBLE 0
#endif
#include "vector_real.h"

#ifdef __AVX512F__
enum { GROUP = 8 };
#else
enum { GROUP = 6 };
#endif
enum { BLOCK = 16, SUMS = 2 * GROUP, STRIP = 8 * V, LINE = 64 / sizeof(real), AHEAD = 256 / sizeof(real) };

/* The operands of a group of rows: k terms of STRIP columns of B. `columns`: from the first of these to the
 * last of the call. Prefetched is what lies `ahead` elements further; or, if that is beyond the columns,
 * `turn` further: the first columns of the next block. copy: B is copied to it, to rows of STRIP columns;
 * NULL: it is not. */
struct part {
    int64_t k;
    const real *a;
    int64_t lda;
    const real *b;
    int64_t ldb, columns, ahead, turn;
    real *copy;
};

/* `vectors` vectors of columns of `rows` rows, from column j on; the last vector has `last` columns if
 * `partial`. */
INLINE void tile(const int rows, const int vectors, const bool partial, const struct part *x, int64_t j,
                 real *c, int64_t ldc, int64_t acc, int64_t last) {
    const int64_t lda = x->lda, ldb = x->ldb, k = x->k,
                  ahead = j + x->ahead < x->columns ? x->ahead : x->turn;
    const real *a = x->a, *b = x->b + j;
    real *copy = x->copy ? x->copy + j : NULL;
    vector sums[SUMS];

    c += j;
    (void)last;
#pragma GCC unroll 8
    for (int i = 0; i < rows; i++)
#pragma GCC unroll 8
        for (int v = 0; v < vectors; v++)
            sums[i * vectors + v] = !acc      ? all(0)
                                    : partial ? load_part(c + i * ldc + v * V, last)
                                              : load(c + i * ldc + v * V);
#pragma GCC unroll 1
    for (int64_t p = 0; p < k; p++, a++, b += ldb) {
        vector y[8];

#pragma GCC unroll 8
        for (int v = 0; v < vectors * V; v += LINE)
            __builtin_prefetch(b + ahead + v, 0, 2);
#pragma GCC unroll 8
        for (int v = 0; v < vectors; v++)
            y[v] = partial ? load_part(b, last) : load(b + v * V);
        if (copy) {
#pragma GCC unroll 8
            for (int v = 0; v < vectors; v++)
                store(copy + v * V, y[v]);
            copy += STRIP;
        }
#pragma GCC unroll 8
        for (int i = 0; i < rows; i++) {
            const vector factor = all(a[i * lda]);

#pragma GCC unroll 8
            for (int v = 0; v < vectors; v++)
                sums[i * vectors + v] = fma(factor, y[v], sums[i * vectors + v]);
        }
    }
#pragma GCC unroll 8
    for (int i = 0; i < rows; i++)
#pragma GCC unroll 8
        for (int v = 0; v < vectors; v++)
            if (partial)
                store_part(c + i * ldc + v * V, last, sums[i * vectors + v]);
            else
                store(c + i * ldc + v * V, sums[i * vectors + v]);
}

/* n columns of a group, `most` vectors at a time, the last ones one at a time. */
INLINE void group(const int rows, const int most, const struct part *x, real *c, int64_t ldc, int64_t acc,
                  int64_t n) {
    int64_t j = 0;

#pragma GCC unroll 1
    for (; j + most * V <= n; j += most * V)
        tile(rows, most, false, x, j, c, ldc, acc, V);
#pragma GCC unroll 1
    for (; j + V <= n; j += V)
        tile(rows, 1, false, x, j, c, ldc, acc, V);
    if (j < n)
        tile(rows, 1, true, x, j, c, ldc, acc, n - j);
}

/* n columns of all rows. */
INLINE void strip(struct part x, real *c, int64_t ldc, int64_t acc, int64_t mr, int64_t n) {
    real copy[BLOCK * STRIP] __attribute__((aligned(64)));
    int32_t rest = (int32_t)mr, count = (rest + GROUP - 1) / GROUP;

    x.copy = count > 1 ? copy : NULL;
#pragma GCC unroll 1
    for (int32_t rows; rest; rest -= rows, x.a += rows * x.lda, c += rows * ldc) {
        rows = rest / count--;
        switch (rows) {
#ifdef __AVX512F__
        case 8:
            group(8, 2, &x, c, ldc, acc, n);
            break;
        case 7:
            group(7, 2, &x, c, ldc, acc, n);
            break;
#endif
        case 6:
            group(6, 2, &x, c, ldc, acc, n);
            break;
        case 5:
            group(5, 2, &x, c, ldc, acc, n);
            break;
        case 4:
            group(4, 2, &x, c, ldc, acc, n);
            break;
        case 3:
            group(3, 2, &x, c, ldc, acc, n);
            break;
        case 2:
            group(2, 4, &x, c, ldc, acc, n);
            break;
        default:
            group(1, 4, &x, c, ldc, acc, n);
            break;
        }
        if (x.copy) {
            x.b = copy;
            x.ldb = STRIP;
            x.ahead = x.turn = 0;
            x.copy = NULL;
        }
    }
}

void UK_SYMBOL(int64_t k, const real *a, int64_t lda, const real *b, int64_t ldb, real *c, int64_t ldc,
               int64_t acc, int64_t mr, int64_t nr) {
    const int64_t block = mr <= 4 ? BLOCK / 2 : BLOCK;

#pragma GCC unroll 1
    do {
        const int64_t terms = k < block ? k : block;

#pragma GCC unroll 1
        for (int64_t j = 0; j < nr; j += STRIP)
            strip((struct part){terms, a, lda, b + j, ldb, nr - j, AHEAD, AHEAD + terms * ldb - nr, NULL},
                  c + j, ldc, acc, mr, nr - j < STRIP ? nr - j : STRIP);
        k -= terms;
        a += terms;
        b += terms * ldb;
        acc = 1;
    } while (k > 0);
}
