/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Depthwise convolution: a window of 3x3 or 5x5 weights over a plane of bytes, stride 1 or 2 (.._s2): up to
 * UK_MR rows of 8 outputs in i32. A register holds 8 neighbouring bytes of a row, at any address; smaqa.su,
 * smaqa or umaqa multiplies them by weights and adds four products to each half of a sum.
 *
 *     3x3            w0 w1 w2 0 | w0 w1 w2 0    outputs j, j + 4 of the load at j (stride 2: j, j + 2 of the
 *                                               load at 2 j)
 *     3x3, stride 1  0 w0 w1 w2 | 0 w0 w1 w2    outputs j + 1, j + 5 of the same load
 *     5x5            w0 w1 w2 w3 | w4 0 0 0     output j: the halves of the sum are added in the end
 *                    0 w0 w1 w2 | w3 w4 0 0     output j + 1; and so on, shifted by up to 3 bytes
 *                                               (stride 2: by up to 2)
 *
 * If ldi is STRIDE times the row stride, one load of an input row serves UK_MR rows of outputs.
 *
 * Bound: instructions per output, for 8 outputs in each of two rows (5x5: in one row)
 *
 *     3x3            0.5 loads, 1.5 products, 0.25 to begin: 0.25 for each of 9 multiply-adds
 *     3x3, stride 2  1.25 loads, 1.5 products, 0.25 to begin, 0.3 to shift the load that would pass the row
 *     5x5            1.25 loads, 5 products, 2 to shift weights, 2 to add halves: 0.41 for each of 25
 *
 * and a store, and half an instruction to reach the upper half.
 *
 * Edges: each number of columns has its own code. If fewer than 8 bytes exist, a register gets them from a
 * whole load that ends where the window ends, shifted, or byte by byte.
 */
#include "any_address_rvp.h"
#include "depthwise_bytes_rvp.h"

#if defined(UK_OP_u8dw5_s2) || defined(UK_OP_i8dw5_s2) || defined(UK_OP_u8u8dw5_s2) || \
    defined(UK_OP_i8u8dw5_s2)
#define FIVE_BY_TWO
#endif
#if defined(UK_OP_u8dw5) || defined(UK_OP_i8dw5) || defined(UK_OP_u8u8dw5) || defined(UK_OP_i8u8dw5) || \
    defined FIVE_BY_TWO
enum { WINDOW = 5 };
#else
enum { WINDOW = 3 };
#endif
#if defined FIVE_BY_TWO || defined(UK_OP_u8dw3_s2) || defined(UK_OP_i8dw3_s2) || \
    defined(UK_OP_u8u8dw3_s2) || defined(UK_OP_i8u8dw3_s2)
enum { STRIDE = 2 };
#else
enum { STRIDE = 1 };
#endif
/* LOADS: loads for 8 outputs; each is multiplied by the weights at SHIFTS shifts. There is a sum for each
 * such pair. */
enum {
    PAIRED = WINDOW == 3, /* the halves of a sum are two outputs */
    SHIFTS = PAIRED ? 2 / STRIDE : 4 / STRIDE,
    LOADS = (PAIRED ? 4 : 8) / SHIFTS,
    APART = PAIRED ? 4 / STRIDE : 0, /* the distance between the two outputs of a sum */
    MR = UK_MR,
    NR = UK_NR,
    BLOCK = 8,
};
_Static_assert(MR <= 2 && NR <= 2 * BLOCK, "the code below is for 1 or 2 rows of as many blocks");

/* The byte at which load l begins; the first output of its sum with shift s. */
static inline int64_t place_of(int l) {
    return !PAIRED ? 4 * l : STRIDE == 1 ? 2 * l : l % 2 * 2 + l / 2 * 8;
}

static inline int64_t output_of(int l, int s) {
    return place_of(l) / STRIDE + s;
}

/* The 8 bytes from x + at on; bytes from x + there on are 0 and not read. */
static inline __attribute__((always_inline)) uint64_t load_some(const element *x, int64_t at, int64_t there) {
    uint64_t v = 0;

    if (at + 8 <= there)
        return load_8(x + at);
    if (there >= 8)
        return load_8(x + there - 8) >> 8 * (at + 8 - there);
#pragma GCC unroll 8
    for (int64_t i = there - 1; i >= at; i--)
        v = v << 8 | (uint8_t)x[i];
    return v;
}

struct tile {
    const element *x;
    int64_t ldx;
    int32_t *y;
    int64_t ldy, acc;
    uint64_t weights[WINDOW];
};

/* The initial value of the sum of load l with shift s: if acc, those of its outputs that are among n, else
 * 0. */
static inline __attribute__((always_inline)) uint64_t begin(const int32_t *y, int64_t acc, int l, int s,
                                                            int64_t n) {
    const int64_t j = output_of(l, s);
    uint64_t v = 0;

    if (acc && j < n)
        v = (uint32_t)y[j];
    if (acc && PAIRED && j + APART < n)
        v |= (uint64_t)(uint32_t)y[j + APART] << 32;
    return v;
}

/* Stores a row of outputs. */
static inline __attribute__((always_inline)) void store(const uint64_t sum[LOADS][SHIFTS], int32_t *y,
                                                        int64_t n) {
#pragma GCC unroll 8
    for (int l = 0; l < LOADS; l++)
#pragma GCC unroll 4
        for (int s = 0; s < SHIFTS; s++) {
            const int64_t j = output_of(l, s);

            if (j < n)
                y[j] = (int32_t)((uint32_t)sum[l][s] + (PAIRED ? 0 : (uint32_t)(sum[l][s] >> 32)));
            if (PAIRED && j + APART < n)
                y[j + APART] = (int32_t)(uint32_t)(sum[l][s] >> 32);
        }
}

/* m rows of n outputs; both are constants. */
static inline __attribute__((always_inline)) void rows(const struct tile *t, int m, int64_t n) {
    uint64_t sum[MR][LOADS][SHIFTS];
    const element *x = t->x;

#pragma GCC unroll 2
    for (int i = 0; i < m; i++)
#pragma GCC unroll 8
        for (int l = 0; l < LOADS; l++)
#pragma GCC unroll 4
            for (int s = 0; s < SHIFTS; s++)
                sum[i][l][s] = begin(t->y + i * t->ldy, t->acc, l, s, n);
#pragma GCC unroll 8
    for (int r = 0; r < STRIDE * (m - 1) + WINDOW; r++, x += t->ldx)
#pragma GCC unroll 8
        for (int l = 0; l < LOADS; l++) {
            if (output_of(l, 0) >= n)
                continue;
            const uint64_t v = load_some(x, place_of(l), STRIDE * (n - 1) + WINDOW);

#pragma GCC unroll 2
            for (int i = 0; i < m; i++)
                if (STRIDE * i <= r && r < STRIDE * i + WINDOW)
#pragma GCC unroll 4
                    for (int s = 0; s < SHIFTS; s++)
                        if (output_of(l, s) < n)
                            sum[i][l][s] =
                                MAQA(sum[i][l][s], t->weights[r - STRIDE * i] << 8 * STRIDE * s, v);
        }
#pragma GCC unroll 2
    for (int i = 0; i < m; i++)
        store(sum[i], t->y + i * t->ldy, n);
}

#define TILE(m, n)     \
    case n:            \
        rows(t, m, n); \
        break;

/* m rows of n outputs; m is a constant. */
static inline __attribute__((always_inline)) void blocks(struct tile *t, int m, int64_t n) {
#pragma GCC unroll 2
    for (int b = 0; b < NR / BLOCK; b++, n -= BLOCK, t->x += STRIDE * BLOCK, t->y += BLOCK)
        switch (n < BLOCK ? n : BLOCK) {
            TILE(m, 1) TILE(m, 2) TILE(m, 3) TILE(m, 4) TILE(m, 5) TILE(m, 6) TILE(m, 7) TILE(m, 8)
        }
}

void UK_SYMBOL(const element *x, int64_t ldi, int64_t ldx, const weight *f, int64_t ldf, int64_t csf,
               int32_t *y, int64_t ldy, int64_t acc, int64_t m, int64_t n) {
    struct tile t = {.x = x, .ldx = ldx, .y = y, .ldy = ldy, .acc = acc};

#pragma GCC unroll 5
    for (int r = 0; r < WINDOW; r++, f += ldf) {
        uint64_t w = 0;

#pragma GCC unroll 5
        for (int s = WINDOW - 1; s >= 0; s--)
            w = w << 8 | (uint8_t)f[s * csf];
        t.weights[r] = PAIRED ? w << 32 | w : w;
    }
    if (MR == 2 && m == 2 && ldi == STRIDE * ldx) {
        blocks(&t, MR, n);
        return;
    }
    for (int64_t i = 0; i < m; i++) {
        t.x = x + i * ldi;
        t.y = y + i * ldy;
        blocks(&t, 1, n);
    }
}
