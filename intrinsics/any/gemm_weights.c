/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products of rows of f32 with weights of 4 bits (UK_OP_sgemm_i4, UK_OP_sgemm_u4) or 8 (UK_OP_sgemm_i8,
 * UK_OP_sgemm_u8) in blocks that share a scale and, if they are unsigned, an offset. Written with the
 * compiler's vectors: LANES columns are a vector, the tile is two of them wide.
 *
 * A word of 32 bits has the bytes of KR terms of a column: eight weights of 4 bits, or four of 8. A weight
 * becomes an f32 by shifts (signed) or a shift and a mask (unsigned), and a conversion, and is scaled.
 *
 * One or two rows multiply the scaled weights at once; two sums per row and vector, of alternate terms, hide
 * the latency of multiply-adds. More rows read the weights of up to TERMS terms, scaled, from a buffer on the
 * stack, STRIP rows at a time, which takes sums of STRIP rows and two vectors in registers.
 *
 * Bound, for LANES weights and m rows: m multiply-adds and four other operations (of 8 bits and at a word's
 * ends three; with offsets one more); for three rows or more also a store.
 */
#include "weights.h"

#if defined __AVX512F__
enum { STRIP = 14 };
#elif defined UK_ISA_generic
enum { STRIP = 2 };
#else
enum { STRIP = 6 };
#endif
/* PART: bytes of a column that are converted before the sums are computed, at most. */
enum { TERMS = 2048 / NR, PART = TERMS / HALVES, RUNS = TERMS / KR };

/* Half h of byte r of each word. */
INLINE reals widen(words y, int r, int h) {
    const int at = 8 * r + BITS * h;

#if HAS_OFFSETS
    return __builtin_convertvector((integers)(y >> at & ((1u << BITS) - 1)), reals);
#else
    return __builtin_convertvector((integers)(y << (32 - BITS - at)) >> (32 - BITS), reals);
#endif
}

/* The value of the weights. */
INLINE reals value(words y, int r, int h, const struct block *b, int v) {
    const reals x = widen(y, r, h) * b->scale[v];

    return HAS_OFFSETS ? x + b->offset[v] : x;
}

/* ---- one or two rows ---- */

INLINE void add_block(const int rows, int64_t k, const struct block *b, const float *a, int64_t lda,
                      int64_t ldh, reals sum[2][VECTORS][2]) {
    const weight *w = b->w;

#pragma GCC unroll 1
    for (int64_t p = 0; p < k; p += KR, w += NR * KR) {
        words y[VECTORS];

        __builtin_memcpy(y, w, sizeof y);
#pragma GCC unroll 8
        for (int n = 0; n < KR * HALVES; n++) {
            const int r = n / HALVES, h = n % HALVES;
            reals x[VECTORS];

#pragma GCC unroll 2
            for (int v = 0; v < VECTORS; v++)
                x[v] = value(y[v], r, h, b, v);
#pragma GCC unroll 2
            for (int i = 0; i < rows; i++)
#pragma GCC unroll 2
                for (int v = 0; v < VECTORS; v++)
                    sum[i][v][n % 2] += a[i * lda + h * ldh + p + r] * x[v];
        }
    }
}

INLINE void few_rows(const int rows, int64_t blocks, int64_t k, const float *a, int64_t lda, int64_t ldg,
                     int64_t ldh, struct call *call, float *c, int64_t ldc, int64_t acc) {
    reals sum[2][VECTORS][2] = {0};

#pragma GCC unroll 1
    for (; blocks > 0; blocks--, a += ldg) {
        struct block b;

        load_block(call, &b);
        add_block(rows, k, &b, a, lda, ldh, sum);
        skip_blocks(call, 1);
    }
#pragma GCC unroll 2
    for (int i = 0; i < rows; i++)
#pragma GCC unroll 2
        for (int v = 0; v < VECTORS; v++)
            put(c + i * ldc + v * LANES, sum[i][v][0] + sum[i][v][1], acc, call->nr - v * LANES);
}

/* ---- more rows ---- */

/* Weights of f32, terms one after another, and where the rows of A have these terms. */
struct buffer {
    float weight[TERMS * NR] __attribute__((aligned(64)));
    int64_t place[RUNS]; /* of the run's first term in a row */
    int64_t terms[RUNS];
    int runs;
    int64_t used; /* terms */
};

/* Appends `count` bytes of each column, from byte p of the block on: a run of terms of each half. */
INLINE void append(struct buffer *to, const struct block *b, int64_t place, int64_t ldh, int64_t p,
                   int64_t count) {
    const weight *w = b->w + p * NR;
    float *d = to->weight + to->used * NR;

#pragma GCC unroll 2
    for (int h = 0; h < HALVES; h++) {
        to->place[to->runs] = place + h * ldh + p;
        to->terms[to->runs++] = count;
    }
#pragma GCC unroll 1
    for (int64_t q = 0; q < count; q += KR, w += NR * KR, d += NR * KR) {
        words y[VECTORS];

        __builtin_memcpy(y, w, sizeof y);
#pragma GCC unroll 8
        for (int n = 0; n < KR * HALVES; n++)
#pragma GCC unroll 2
            for (int v = 0; v < VECTORS; v++)
                store(d + (n / HALVES + n % HALVES * count) * NR + v * LANES,
                      value(y[v], n / HALVES, n % HALVES, b, v));
    }
    to->used += count * HALVES;
}

INLINE void strip(const int rows, const struct buffer *b, const float *a, int64_t lda, float *c, int64_t ldc,
                  int64_t acc, int64_t nr) {
    reals sum[STRIP][VECTORS];
    const float *w = b->weight;

#pragma GCC unroll 14
    for (int i = 0; i < rows; i++)
#pragma GCC unroll 2
        for (int v = 0; v < VECTORS; v++)
            sum[i][v] = (reals){0};
#pragma GCC unroll 1
    for (int r = 0; r < b->runs; r++) {
        const float *x = a + b->place[r];

#pragma GCC unroll 1
        for (int64_t p = b->terms[r]; p > 0; p--, x++, w += NR)
#pragma GCC unroll 14
            for (int i = 0; i < rows; i++)
#pragma GCC unroll 2
                for (int v = 0; v < VECTORS; v++)
                    sum[i][v] += x[i * lda] * load(w + v * LANES);
    }
#pragma GCC unroll 14
    for (int i = 0; i < rows; i++)
#pragma GCC unroll 2
        for (int v = 0; v < VECTORS; v++)
            put(c + i * ldc + v * LANES, sum[i][v], acc, nr - v * LANES);
}

/* As few strips as possible, of equal heights or one row more. */
INLINE void multiply(const struct buffer *b, const float *a, int64_t lda, float *c, int64_t ldc, int64_t acc,
                     int64_t mr, int64_t nr) {
#pragma GCC unroll 1
    for (int64_t strips = (mr + STRIP - 1) / STRIP; strips > 0; strips--) {
        const int64_t rows = (mr + strips - 1) / strips;

        switch (rows) {
#define ROWS(n)                               \
    case n:                                   \
        strip(n, b, a, lda, c, ldc, acc, nr); \
        break;
#if defined __AVX512F__
            ROWS(14)
            ROWS(13)
            ROWS(12)
            ROWS(11)
            ROWS(10)
            ROWS(9)
            ROWS(8)
            ROWS(7)
#endif
#ifndef UK_ISA_generic
            ROWS(6)
            ROWS(5)
            ROWS(4)
            ROWS(3)
#endif
            ROWS(2)
        default:
            strip(1, b, a, lda, c, ldc, acc, nr);
        }
        a += rows * lda;
        c += rows * ldc;
        mr -= rows;
    }
}

INLINE void many_rows(int64_t blocks, int64_t k, const float *a, int64_t lda, int64_t ldg, int64_t ldh,
                      struct call *call, float *c, int64_t ldc, int64_t acc, int64_t mr) {
    struct buffer buffer;

    buffer.runs = 0;
    buffer.used = 0;
#pragma GCC unroll 1
    for (int64_t g = 0; g < blocks; g++) {
        struct block b;

        load_block(call, &b);
#pragma GCC unroll 1
        for (int64_t p = 0; p < k; p += PART) {
            const int64_t count = k - p < PART ? k - p : PART;

            if (buffer.used + count * HALVES > TERMS) {
                multiply(&buffer, a, lda, c, ldc, acc, mr, call->nr);
                acc = 1;
                buffer.runs = 0;
                buffer.used = 0;
            }
            append(&buffer, &b, g * ldg, ldh, p, count);
        }
        skip_blocks(call, 1);
    }
    multiply(&buffer, a, lda, c, ldc, acc, mr, call->nr);
}

void UK_SYMBOL(int64_t blocks, int64_t k, const float *a, int64_t lda, int64_t ldg,
               LDH_PARAMETER WEIGHTS_PARAMETERS, float *c, int64_t ldc, int64_t acc, int64_t mr, int64_t nr) {
    struct call call = CALL;

    acc &= 1;
    if (k == 0) /* scales that are infinite are not multiplied by 0 */
        blocks = 0;
    if (mr == 1)
        few_rows(1, blocks, k, a, lda, ldg, LDH, &call, c, ldc, acc);
    else if (mr == 2)
        few_rows(2, blocks, k, a, lda, ldg, LDH, &call, c, ldc, acc);
    else
        many_rows(blocks, k, a, lda, ldg, LDH, &call, c, ldc, acc, mr);
}
