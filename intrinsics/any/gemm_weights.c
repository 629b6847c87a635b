/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products of rows of f32 with weights of 4 bits (UK_OP_sgemm_i4, UK_OP_sgemm_u4) or 8 (UK_OP_sgemm_i8,
 * UK_OP_sgemm_u8) in blocks that share a scale and, if they are unsigned, an offset. Written with the
 * compiler's vectors: LANES columns are a vector, the tile is two of them wide; one for at most LANES
 * columns.
 *
 * A word of 32 bits has the bytes of KR terms of a column: eight weights of 4 bits, or four of 8. With
 * AVX-512 a weight of 4 bits is the index of a table of f32, which takes a shift and a shuffle. Elsewhere a
 * weight becomes an f32 by shifts (signed) or a shift and a mask (unsigned), and a conversion. It is scaled.
 *
 * Few rows multiply the scaled weights at once; at most two have two sums per row and vector, of alternate
 * terms, which hide the latency of multiply-adds. More rows read the weights of up to TERMS terms, scaled,
 * from a buffer on the stack, STRIP rows at a time, which takes sums of STRIP rows and two vectors in
 * registers.
 *
 * Bound, for LANES weights and m rows: m multiply-adds and four other operations (by a table, and of 8 bits
 * at a word's ends, three; with offsets one more); for more than FEW rows also a store.
 */
#include "weights.h"

/* FEW: rows that multiply the weights in registers, at most. STRIP: rows whose sums are in registers. PART:
 * bytes of a column that are converted before the sums are computed, at most. */
#if defined __AVX512F__
enum { FEW = 6, STRIP = 14, TERMS = 4096 / NR };
#elif defined UK_ISA_generic
enum { FEW = 2, STRIP = 2, TERMS = 2048 / NR };
#else
enum { FEW = 2, STRIP = 6, TERMS = 2048 / NR };
#endif
enum { PART = TERMS / HALVES, RUNS = TERMS / KR };
/* Blocks whose scales are converted to f32 at a time. */
enum { AHEAD = 32 };

/* Half h of byte r of each word. */
INLINE reals widen(words y, int r, int h) {
    const int at = 8 * r + BITS * h;

#if defined __AVX512F__ && HAS_HALVES
    const reals table = HAS_OFFSETS ? (reals){0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}
                                    : (reals){0, 1, 2, 3, 4, 5, 6, 7, -8, -7, -6, -5, -4, -3, -2, -1};

    return (reals)_mm512_permutexvar_ps((__m512i)(y >> at), (__m512)table);
#elif HAS_OFFSETS
    return __builtin_convertvector((integers)(y >> at & ((1u << BITS) - 1)), reals);
#else
    return __builtin_convertvector((integers)(y << (32 - BITS - at)) >> (32 - BITS), reals);
#endif
}

/* The value of the weights. */
INLINE reals value(words y, int r, int h, reals scale, reals offset) {
    const reals x = widen(y, r, h) * scale;

    return HAS_OFFSETS ? x + offset : x;
}

/* ---- few rows ---- */

/* The rows, and the blocks of a call. */
struct rows {
    int64_t blocks, k;
    const float *a;
    int64_t lda, ldg, ldh;
};

/* Adds block g, of k > 0 bytes of each column, to the sums; those of alternate terms are two if there are at
 * most two rows. */
INLINE void add_block(const int rows, const int vectors, const struct rows *s, int64_t g, const weight *w,
                      const float *scale, const float *offset, reals sum[FEW][VECTORS][2]) {
    const float *a = s->a + g * s->ldg;
    int64_t p = 0;

#pragma GCC unroll 1
    do {
        words y[VECTORS];

        __builtin_memcpy(y, w, sizeof y);
#pragma GCC unroll 8
        for (int n = 0; n < KR * HALVES; n++) {
            const int r = n / HALVES, h = n % HALVES;
            reals x[VECTORS];

#pragma GCC unroll 2
            for (int v = 0; v < vectors; v++)
                x[v] = value(y[v], r, h, load(scale + v * LANES),
                             HAS_OFFSETS ? load(offset + v * LANES) : (reals){0});
#pragma GCC unroll 6
            for (int i = 0; i < rows; i++)
#pragma GCC unroll 2
                for (int v = 0; v < vectors; v++)
                    sum[i][v][rows <= 2 ? n % 2 : 0] += a[i * s->lda + h * s->ldh + p + r] * x[v];
        }
        p += KR;
        w += NR * KR;
    } while (p < s->k);
}

INLINE void few_rows(const int rows, const int vectors, const struct rows *s, struct call call, float *buffer,
                     float *c, int64_t ldc, int64_t acc) {
    reals sum[FEW][VECTORS][2] = {0};
    struct call at = call;

#pragma GCC unroll 1
    for (int64_t g = 0; g < s->blocks; g += AHEAD) {
        const int64_t n = s->blocks - g < AHEAD ? s->blocks - g : AHEAD;
        struct scales x = scales_of(&at, n, buffer, buffer + HAS_OFFSETS * AHEAD * NR);
        const weight *w = at.w;

#pragma GCC unroll 1
        for (int64_t h = 0; h < n; h++) {
            prefetch_block(true, w, s->k, x.s);
            add_block(rows, vectors, s, g + h, w, x.s, x.o, sum);
            w += call.ldw;
            x.s += x.lds;
            x.o += x.ldo;
        }
        skip_blocks(&at, n);
    }
#pragma GCC unroll 6
    for (int i = 0; i < rows; i++)
#pragma GCC unroll 2
        for (int v = 0; v < vectors; v++)
            put(c + i * ldc + v * LANES, sum[i][v][0] + sum[i][v][1], acc, call.nr - v * LANES);
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
INLINE void append(const int vectors, struct buffer *to, const struct block *b, int64_t place, int64_t ldh,
                   int64_t p, int64_t count) {
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
            for (int v = 0; v < vectors; v++)
                store(d + (n / HALVES + n % HALVES * count) * NR + v * LANES,
                      value(y[v], n / HALVES, n % HALVES, b->scale[v], b->offset[v]));
    }
    to->used += count * HALVES;
}

/* Reads runs of terms of the next strip's rows into L1: rows are too far apart for the hardware. */
INLINE void prefetch_rows(const int rows, const float *a, int64_t lda, int64_t terms) {
#pragma GCC unroll 1
    for (int64_t p = 0; p < terms; p += 64 / (int)sizeof *a)
#pragma GCC unroll 14
        for (int i = 0; i < rows; i++)
            __builtin_prefetch(a + i * lda + p);
}

INLINE void strip(const int rows, const int vectors, const struct buffer *b, const float *a, int64_t lda,
                  float *c, int64_t ldc, int64_t acc, int64_t nr) {
    reals sum[STRIP][VECTORS];
    const float *w = b->weight;

#pragma GCC unroll 14
    for (int i = 0; i < rows; i++)
#pragma GCC unroll 2
        for (int v = 0; v < vectors; v++)
            sum[i][v] = (reals){0};
#pragma GCC unroll 1
    for (int r = 0; r < b->runs; r++) {
        const float *x = a + b->place[r];

        prefetch_rows(rows, x + rows * lda, lda, b->terms[r]);
#pragma GCC unroll 1
        for (int64_t p = b->terms[r]; p > 0; p--, x++, w += NR)
#pragma GCC unroll 14
            for (int i = 0; i < rows; i++)
#pragma GCC unroll 2
                for (int v = 0; v < vectors; v++)
                    sum[i][v] += x[i * lda] * load(w + v * LANES);
    }
#pragma GCC unroll 14
    for (int i = 0; i < rows; i++)
#pragma GCC unroll 2
        for (int v = 0; v < vectors; v++)
            put(c + i * ldc + v * LANES, sum[i][v], acc, nr - v * LANES);
}

/* As few strips as possible, of equal heights or one row more. */
INLINE void multiply(const int vectors, const struct buffer *b, const float *a, int64_t lda, float *c,
                     int64_t ldc, int64_t acc, int64_t mr, int64_t nr) {
#pragma GCC unroll 1
    for (int64_t strips = (mr + STRIP - 1) / STRIP; strips > 0; strips--) {
        const int64_t rows = (mr + strips - 1) / strips;

        switch (rows) {
#define ROWS(n)                                        \
    case n:                                            \
        strip(n, vectors, b, a, lda, c, ldc, acc, nr); \
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
            strip(1, vectors, b, a, lda, c, ldc, acc, nr);
        }
        a += rows * lda;
        c += rows * ldc;
        mr -= rows;
    }
}

INLINE void many_rows(const int vectors, const struct rows *s, struct call call, float *c, int64_t ldc,
                      int64_t acc, int64_t mr) {
    struct buffer buffer;
    int64_t g = 0, p = 0;

#pragma GCC unroll 1
    do {
        buffer.runs = 0;
        buffer.used = 0;
#pragma GCC unroll 1
        while (g < s->blocks) {
            const int64_t count = s->k - p < PART ? s->k - p : PART;
            struct block b;

            if (buffer.used + count * HALVES > TERMS)
                break;
            load_block(&call, &b);
            prefetch_block(false, b.w + p * NR, count, call.s);
            append(vectors, &buffer, &b, g * s->ldg, s->ldh, p, count);
            p += count;
            if (p == s->k) {
                p = 0;
                g++;
                skip_blocks(&call, 1);
            }
        }
        multiply(vectors, &buffer, s->a, s->lda, c, ldc, acc, mr, call.nr);
        acc = 1;
    } while (g < s->blocks);
}

/* The product of `vectors` vectors of columns. */
INLINE void multiply_columns(const int vectors, const struct rows *s, struct call call, float *c, int64_t ldc,
                             int64_t acc, int64_t mr) {
    float buffer[(1 + HAS_OFFSETS) * AHEAD * NR];

    switch (mr) {
#define FEW_ROWS(n)                                         \
    case n:                                                 \
        few_rows(n, vectors, s, call, buffer, c, ldc, acc); \
        break;
        FEW_ROWS(1)
        FEW_ROWS(2)
#if defined __AVX512F__
        FEW_ROWS(3)
        FEW_ROWS(4)
        FEW_ROWS(5)
        FEW_ROWS(6)
#endif
    default:
        many_rows(vectors, s, call, c, ldc, acc, mr);
    }
}

void UK_SYMBOL(int64_t blocks, int64_t k, const float *a, int64_t lda, int64_t ldg,
               LDH_PARAMETER WEIGHTS_PARAMETERS, float *c, int64_t ldc, int64_t acc, int64_t mr, int64_t nr) {
    const struct call call = CALL;
    const struct rows all = {.blocks = k == 0 ? 0 : blocks, /* infinite scales are not multiplied by 0 */
                             .k = k,
                             .a = a,
                             .lda = lda,
                             .ldg = ldg,
                             .ldh = LDH};

    if (nr > LANES)
        multiply_columns(VECTORS, &all, call, c, ldc, acc & 1, mr);
    else
        multiply_columns(1, &all, call, c, ldc, acc & 1, mr);
}
