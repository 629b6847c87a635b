/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Up to UK_MR rows x UK_NR columns of C from rows of A in place and panels of pairs of terms of B, whose
 * elements are narrower than the vectors' lanes. Kernels include this header after they have defined
 *
 *     left, right, total       the types of the elements of A, B and C
 *     term                     the type that A's elements are widened to
 *     TERMS                    the terms that are widened at a time
 *     WIDENED                  the elements that widen() widens
 *     widen(), to_term()       widen that many elements, and one
 *     COLUMNS_OF_3             vectors of columns that 3 rows take at a time
 *     vector, LANES, zero()    a vector of LANES sums
 *     INLINE                   specifiers of functions
 *     store(total *c, vector, acc, nr)    stores, or adds to C, the first nr sums
 *     add_pair(rows, vectors, a, p, b, sum)    adds the products of terms p and p + 1
 *     SINGLE(a, p, b, c, ldc, mr, nr)    adds those of a last single term to C; empty if it is paired with 0
 *
 * Groups of at most 6 rows, as equal as possible, are computed one after another: the rows are widened once
 * for all columns, on the stack, then multiplied some columns at a time. sum[i * vectors + v] is vector v of
 * row i.
 *
 * A block of TERMS terms of B stays in L1 for all groups and columns. While the first group reads it, the
 * next block, which follows it in memory, is prefetched into L2: a few rows are multiplied faster than B
 * would come by loads alone, whose order within a block is not that of memory.
 *
 * Edges: there is a loop for each number of rows; columns are masked. B's panels have all columns.
 */
enum { MR = UK_MR, NR = UK_NR, KR = 2, SUMS = 12, GROUP = 6, LINE = 64 };

struct rows {
    term a[GROUP][TERMS];
};

/* The last vector of a row overlaps the one before. */
INLINE void widen_row(term *to, const left *a, int64_t k) {
    int64_t p = 0;

#pragma GCC unroll 1
    for (; p + WIDENED <= k; p += WIDENED)
        widen(to + p, a + p);
    if (p < k && p > 0)
        widen(to + k - WIDENED, a + k - WIDENED);
#pragma GCC unroll 1
    for (; p < k && k < WIDENED; p++)
        to[p] = to_term(a[p]);
}

/* A block of k terms: a group's rows, the panel of B, and the address that is prefetched from while the panel
 * is read once, `step` bytes on for each byte that is read; 0: always the same. */
struct block {
    const term (*a)[TERMS];
    int64_t k;
    const right *b;
    const char *next;
    int64_t step;
};

/* `rows` rows and `vectors` vectors of columns, from column j on. */
INLINE void tile(int rows, int vectors, const struct block *x, int64_t j, total *c, int64_t ldc, int64_t acc,
                 int64_t nr) {
    const int bytes = vectors * LANES * KR * (int)sizeof(right);
    const int64_t k = x->k, step = x->step * bytes;
    const char *next = x->next + x->step * j * k * (int64_t)sizeof(right);
    const right *b = x->b + j * KR;
    vector sum[SUMS];

#pragma GCC unroll 12
    for (int i = 0; i < rows * vectors; i++)
        sum[i] = zero();
#pragma GCC unroll 2
    for (int64_t p = 0; p < k; p += KR, b += NR * KR, next += step) {
#pragma GCC unroll 4
        for (int l = 0; l < bytes; l += LINE)
            _mm_prefetch(next + l, _MM_HINT_T1);
        add_pair(rows, vectors, x->a, p, b, sum);
    }
#pragma GCC unroll 6
    for (int i = 0; i < rows; i++)
#pragma GCC unroll 8
        for (int v = 0; v < vectors; v++)
            store(c + i * ldc + j + v * LANES, sum[i * vectors + v], acc, nr - j - v * LANES);
}

/* All columns of a group, `most` vectors at a time, the last ones two at a time. */
INLINE void group(int rows, int most, const struct block *x, total *c, int64_t ldc, int64_t acc, int64_t nr) {
    int64_t j = 0;

    most = most < NR / LANES ? most : NR / LANES;
#pragma GCC unroll 1
    for (; j + most * LANES <= nr; j += most * LANES)
        tile(rows, most, x, j, c, ldc, acc, nr);
#pragma GCC unroll 1
    for (; j < nr; j += 2 * LANES)
        if (nr - j > LANES)
            tile(rows, 2, x, j, c, ldc, acc, nr);
        else
            tile(rows, 1, x, j, c, ldc, acc, nr);
}

/* All groups of a block of `terms` terms, which are computed as x.k: with zeros after them, or all but a
 * single one. */
INLINE void groups(struct block x, int64_t terms, const left *a, int64_t lda, total *c, int64_t ldc,
                   int64_t acc, int64_t mr, int64_t nr) {
    int32_t left_over = (int32_t)mr, count = (left_over + GROUP - 1) / GROUP;
    struct rows rows;

    x.a = rows.a;
#pragma GCC unroll 1
    for (int32_t n; left_over; left_over -= n, a += n * lda, x.step = 0, c += n * ldc) {
        n = left_over / count--;
#pragma GCC unroll 1
        for (int32_t i = 0; i < n; i++) {
            widen_row(rows.a[i], a + i * lda, terms);
            if (x.k > terms)
                rows.a[i][terms] = 0;
        }
        switch (n) {
        case 6:
            group(6, 2, &x, c, ldc, acc, nr);
            break;
        case 5:
            group(5, 2, &x, c, ldc, acc, nr);
            break;
        case 4:
            group(4, 2, &x, c, ldc, acc, nr);
            break;
        case 3:
            group(3, COLUMNS_OF_3, &x, c, ldc, acc, nr);
            break;
        case 2:
            group(2, 4, &x, c, ldc, acc, nr);
            break;
        default:
            group(1, 8, &x, c, ldc, acc, nr);
            break;
        }
        if (x.k < terms) {
            SINGLE(x.a, x.k, x.b + x.k * NR, c, ldc, n, nr);
        }
    }
}
