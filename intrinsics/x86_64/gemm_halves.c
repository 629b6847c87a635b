/* SPDX-License-Identifier: Apache-2.0 */
/*
 * UK_MR rows x up to UK_NR columns of C, in f32, from rows of A in place, of bf16 (UK_OP_bgemm_ra) or f16
 * (UK_OP_hsgemm_ra), or panels of A of f16 (UK_OP_hsgemm), and panels of pairs of bf16 or of single f16 of B,
 * two vectors of columns at a time: sum[i][v] is vector v of row i.
 *
 * A is widened once for all columns, TERMS terms at a time, on the stack. A bf16 is the upper half of
 * an f32: of the words of B, which hold a pair of terms, the first becomes an f32 by a shift, the second by a
 * mask. An instruction converts f16. Products are exact, and each sum is rounded once.
 *
 * Bound, for 6 rows and two vectors of 8 columns (AVX2): for a pair of terms of bf16 24 multiply-adds, 4
 * loads and 12 broadcasts, 2 shifts and 2 masks. With two multiply-adds a cycle and ports of vectors besides
 * these 12 cycles, the rate of f32; without such ports 14. f16, for a term: 12 multiply-adds, 2 conversions
 * that load, 6 broadcasts. Each line of B has a prefetch besides.
 *
 * For 14 rows and two vectors of 16 columns (AVX-512): for a pair of terms of bf16 56 multiply-adds, 4 loads
 * and 28 broadcasts, 2 shifts and 2 masks; for a term of f16 28 multiply-adds, 2 conversions that load, 14
 * broadcasts. Shifts, masks and conversions take ports of multiply-adds: 30 and 15 cycles, 93 % of the rate
 * of f32. vdpbf16ps takes 56 cycles for that pair where a core has one every second cycle, 14 where it has
 * two a cycle.
 *
 * Few rows take four vectors of columns at a time, so that B is read line by line. B is prefetched a page
 * ahead, where the prefetchers of the core stop: it may come from beyond L2.
 *
 * Edges: up to one vector of columns takes half of the multiply-adds; columns are masked. There is a loop for
 * each number of rows: branches between rows would take a port of multiply-adds. Of a last single term of
 * bf16 the second half of B's words is not used.
 */
#include "halves_vectors.h"
#include "registry/kernel_contract.h"

/* A multiple of KR. Calls of libukernels take at most 16 KB of stack: 14 rows get as many bytes as 6. */
enum { MR = UK_MR, NR = UK_NR, KR = UK_KR, TERMS = UK_MR > 6 ? 64 : 128 };
/* Tiles of up to FEW rows have MOST vectors of columns: whole lines of a panel. */
enum { FEW = UK_MR > 6 ? 6 : 2, MOST = 4, AHEAD = 4096, LINE = 64 };
#define EACH_ROW(i) _Pragma("GCC unroll 14") for (int i = 0; i < MR; i++)
#define EACH_VECTOR(v) _Pragma("GCC unroll 4") for (int v = 0; v < vectors; v++)

/* Terms of A, widened: as rows, or as in a panel. */
struct terms {
    float term[MR * TERMS];
};
#ifdef UK_OP_hsgemm
#define OPERANDS int64_t k, const uint16_t *a, const uint16_t *b
#define TERM(i, p) ((p) * MR + (i))
#else
#define OPERANDS int64_t k, const uint16_t *a, int64_t lda, const uint16_t *b
#define TERM(i, p) ((i) * TERMS + (p))
#endif

#ifdef UK_OP_bgemm_ra
#define WIDENED(s) from_bf16(s)
#define WIDENED_ONE(x) uk_from_bf16(x)
#define FIRST(s) first_of_pairs(s)
#else
#define WIDENED(s) from_f16(s)
#define WIDENED_ONE(x) uk_from_f16(x)
#define FIRST(s) from_f16(s)
#endif

/* Widens k elements. The last vector overlaps the one before. */
INLINE void widen(float *to, const uint16_t *a, int64_t k) {
    int64_t p = 0;

#pragma GCC unroll 1
    for (; p + LANES <= k; p += LANES)
        STORE(to + p, WIDENED(a + p));
    if (p < k && p > 0)
        STORE(to + k - LANES, WIDENED(a + k - LANES));
#pragma GCC unroll 1
    for (; p < k && k < LANES; p++)
        to[p] = WIDENED_ONE(a[p]);
}

/* Adds the products of one term of all rows. */
INLINE void add_term(int rows, int vectors, const struct terms *a, int64_t p, const vector *y,
                     vector sum[MR][MOST]) {
    EACH_ROW(i) {
        if (i < rows) {
            const vector x = BROADCAST(&a->term[TERM(i, p)]);

            EACH_VECTOR(v) {
                sum[i][v] = MULTIPLY_ADD(x, y[v], sum[i][v]);
            }
        }
    }
}

INLINE void add_c(int rows, int vectors, const float *c, int64_t ldc, int64_t nr, vector sum[MR][MOST]) {
    EACH_ROW(i) {
        if (i < rows)
            EACH_VECTOR(v) {
                sum[i][v] = ADD(sum[i][v], load_first(c + i * ldc + v * LANES, nr - v * LANES));
            }
    }
}

/* Prefetches as many bytes of B as the vectors take. */
INLINE void prefetch(int vectors, const uint16_t *b) {
#pragma GCC unroll 4
    for (int i = 0; i < vectors * LANES * KR * (int)sizeof *b; i += LINE)
        _mm_prefetch((const char *)b + AHEAD + i, _MM_HINT_T0);
}

/* One, two or MOST vectors of columns; k is a multiple of KR. */
INLINE void tile(int rows, int vectors, const struct terms *a, int64_t k, const uint16_t *b, float *c,
                 int64_t ldc, int64_t acc, int64_t nr) {
    vector sum[MR][MOST];

    EACH_ROW(i) {
        EACH_VECTOR(v) {
            sum[i][v] = ZERO();
        }
    }
#pragma GCC unroll 1
    for (int64_t p = 0; p < k; p += KR, b += NR * KR) {
        vector y[MOST];

        if (vectors > 1)
            prefetch(vectors, b);
        EACH_VECTOR(v) {
            y[v] = FIRST(b + v * LANES * KR);
        }
        add_term(rows, vectors, a, p, y, sum);
#ifdef UK_OP_bgemm_ra
        const uint16_t *again = b;

        __asm__("" : "+r"(again)); /* Words that stayed in registers would spill sums. */
        EACH_VECTOR(v) {
            y[v] = second_of_pairs(again + v * LANES * KR);
        }
        add_term(rows, vectors, a, p + 1, y, sum);
#endif
    }
    if (acc)
        add_c(rows, vectors, c, ldc, nr, sum);
    /* After all loads: a load would wait for a store under a mask to any byte of its vector, such as to the
     * row before it where rows are shorter than a vector. */
    __asm__("" : : : "memory");
    EACH_ROW(i) {
        if (i < rows)
            EACH_VECTOR(v) {
                store_first(c + i * ldc + v * LANES, nr - v * LANES, sum[i][v]);
            }
    }
}

INLINE void columns(int rows, const struct terms *a, int64_t k, const uint16_t *b, float *c, int64_t ldc,
                    int64_t acc, int64_t nr) {
    int64_t j = 0;

#pragma GCC unroll 1
    for (; rows <= FEW && nr - j > (MOST - 1) * LANES; j += MOST * LANES)
        tile(rows, MOST, a, k, b + j * KR, c + j, ldc, acc, nr - j);
#pragma GCC unroll 1
    for (; nr - j > LANES; j += 2 * LANES)
        tile(rows, 2, a, k, b + j * KR, c + j, ldc, acc, nr - j);
    if (j < nr)
        tile(rows, 1, a, k, b + j * KR, c + j, ldc, acc, nr - j);
}

INLINE void all_columns(int rows, const struct terms *a, int64_t k, const uint16_t *b, float *c, int64_t ldc,
                        int64_t acc, int64_t nr) {
    switch (rows) {
#define ROWS(n)                               \
    case n:                                   \
        columns(n, a, k, b, c, ldc, acc, nr); \
        break;
#ifdef UK_ISA_avx512
        ROWS(14)
        ROWS(13)
        ROWS(12)
        ROWS(11)
        ROWS(10)
        ROWS(9)
        ROWS(8)
        ROWS(7)
#endif
        ROWS(6)
        ROWS(5)
        ROWS(4)
        ROWS(3)
        ROWS(2)
    default:
        columns(1, a, k, b, c, ldc, acc, nr);
    }
}

/* Adds the products of a last single term to C. */
INLINE void add_last(const struct terms *a, int64_t p, const uint16_t *b, float *c, int64_t ldc, int64_t mr,
                     int64_t nr) {
#pragma GCC unroll 1
    for (int64_t j = 0; j < nr; j += LANES) {
        const vector y = FIRST(b + j * KR);

#pragma GCC unroll 1
        for (int64_t i = 0; i < mr; i++) {
            float *to = c + i * ldc + j;

            store_first(to, nr - j,
                        ADD(MULTIPLY(BROADCAST(&a->term[TERM(i, p)]), y), load_first(to, nr - j)));
        }
    }
}

void UK_SYMBOL(OPERANDS, float *c, int64_t ldc, int64_t acc, int64_t mr, int64_t nr) {
    struct terms widened;

#pragma GCC unroll 1
    do {
        const int64_t terms = k < TERMS ? k : TERMS, whole = terms / KR * KR;

#ifdef UK_OP_hsgemm
        widen(widened.term, a, terms * MR);
        a += terms * MR;
#else
#pragma GCC unroll 1
        for (int64_t i = 0; i < mr; i++)
            widen(widened.term + TERM(i, 0), a + i * lda, terms);
        a += terms;
#endif
        all_columns((int)mr, &widened, whole, b, c, ldc, acc, nr);
        if (whole < terms)
            add_last(&widened, whole, b + whole * NR, c, ldc, mr, nr);
        k -= terms;
        b += terms * NR;
        acc = 1;
    } while (k > 0);
}
