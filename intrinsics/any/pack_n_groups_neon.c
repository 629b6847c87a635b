/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packs UK_MR rows, of which k exist, into groups of UK_MR elements: the elements s[p * lds + j] of column j
 * go to d + UK_MR * j. Rows and columns that do not exist are packed as 0, up to w columns. 4 or 8 bytes
 * (UK_OP_u8pack_n, UK_OP_i8pack_n), 4 of 16 bits (UK_OP_bpack_n). For AArch64 and ARMv7.
 *
 * UK_NR columns at a time, a vector of each row: st4 interleaves the elements of four vectors. Of eight rows,
 * two neighbours are zipped to pairs of bytes first. The last, fewer columns are copied to a vector for each
 * row first.
 *
 * Bound: a load per row, and the stores, which take a cycle per 16 bytes or more: at most 16 bytes per cycle.
 */
#include <arm_neon.h>
#include "registry/kernel_contract.h"

#ifdef UK_OP_bpack_n
typedef uint16_t element;
typedef uint16x8_t vector;
#define LOAD(p) vld1q_u16(p)
#define NONE vdupq_n_u16(0)
#else
#ifdef UK_OP_i8pack_n
typedef int8_t element;
#else
typedef uint8_t element;
#endif
typedef uint8x16_t vector;
#define LOAD(p) vld1q_u8((const uint8_t *)(p))
#define NONE vdupq_n_u8(0)
#endif

static inline __attribute__((always_inline)) void store(element *d, const vector r[UK_MR]) {
#ifdef UK_OP_bpack_n
    vst4q_u16(d, ((uint16x8x4_t){{r[0], r[1], r[2], r[3]}}));
#elif UK_MR == 4
    vst4q_u8((uint8_t *)d, ((uint8x16x4_t){{r[0], r[1], r[2], r[3]}}));
#else
    uint16x8x4_t left, right;

#pragma GCC unroll 4
    for (int p = 0; p < 4; p++) {
        const uint8x16x2_t pair = vzipq_u8(r[2 * p], r[2 * p + 1]);

        left.val[p] = vreinterpretq_u16_u8(pair.val[0]);
        right.val[p] = vreinterpretq_u16_u8(pair.val[1]);
    }
    vst4q_u16((uint16_t *)(void *)d, left);
    vst4q_u16((uint16_t *)(void *)(d + UK_MR * UK_NR / 2), right);
#endif
}

/* The last columns, from j on, at most UK_NR. */
static inline __attribute__((always_inline)) void last_columns(int64_t k, const element *s, int64_t lds,
                                                               element *d, int64_t n, int64_t w) {
    element row[UK_MR][UK_NR] = {{0}}, to[UK_MR * UK_NR];
    vector r[UK_MR];

    for (int p = 0; p < UK_MR && p < k; p++)
#pragma GCC unroll 1
        for (int64_t j = 0; j < n; j++)
            row[p][j] = s[p * lds + j];
    for (int p = 0; p < UK_MR; p++)
        r[p] = LOAD(row[p]);
    store(to, r);
#pragma GCC unroll 1
    for (int64_t j = 0; j < w; j++)
        __builtin_memcpy(d + UK_MR * j, to + UK_MR * j, UK_MR * sizeof *d);
}

void UK_SYMBOL(int64_t k, const element *s, int64_t lds, element *d, int64_t n, int64_t w) {
    int64_t j = 0;

    if (n > w)
        n = w;
#pragma GCC unroll 1
    for (; j + UK_NR <= n; j += UK_NR) {
        vector r[UK_MR];

#pragma GCC unroll 8
        for (int p = 0; p < UK_MR; p++)
            r[p] = p < k ? LOAD(s + p * lds + j) : NONE;
        store(d + UK_MR * j, r);
    }
#pragma GCC unroll 1
    for (; j < w; j += UK_NR)
        last_columns(k, s + j, lds, d + UK_MR * j, n - j, w - j < UK_NR ? w - j : UK_NR);
}
