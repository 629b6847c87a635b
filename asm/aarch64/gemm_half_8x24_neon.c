/* SPDX-License-Identifier: Apache-2.0 */
/*
 * 8 rows x 24 columns of C, all of f16: each fmla multiplies 8 columns by one row, which is a lane of a, and
 * rounds once.
 *
 *                      b: v2 (columns 0-7)    v3 (8-15)    v4 (16-23)       of the even k iteration
 *                         v5                  v6           v7               of the odd k iteration
 *     a: v0.h[0] row 0      c00                c01           c02
 *        (v1:    ...        ...                ...           ...
 *        odd) .h[7] row 7   c70                c71           c72
 *
 * Bound: 48 multiply-adds, 8 vectors loaded by 5 instructions, 56 instructions per two k iterations. At two
 * vectors a cycle (Cortex-A76, Neoverse N1) 12 cycles a k iteration, 32 flop per cycle; at four (Neoverse V1)
 * 6. In-order cores (Cortex-A55: two 64-bit halves of a vector a cycle) have every load but the first of an
 * unrolled iteration at least 8 multiply-adds before its use.
 *
 * Edges cost as the whole tile; rows and columns that the tile does not have are not stored.
 */
#include <arm_neon.h>
#include "registry/kernel_contract.h"

enum { NR = 24, V = 8 };
typedef float16x8_t vector;

/* clang-format off */
#define FMLA(i, j, b, a) "fmla %[c" #i #j "].8h, v" #b ".8h, v" #a ".h[" #i "]\n\t"
/* Vector j of the columns, in v<b>, times all rows. */
#define COLUMNS(j, b, a)                                                             \
    FMLA(0, j, b, a) FMLA(1, j, b, a) FMLA(2, j, b, a) FMLA(3, j, b, a)              \
    FMLA(4, j, b, a) FMLA(5, j, b, a) FMLA(6, j, b, a) FMLA(7, j, b, a)
#define ZERO(x) "movi %[" #x "].8h, 0\n\t"
/* clang-format on */

/* Stores a row of the tile to C, or adds it. */
static inline __attribute__((always_inline)) void store_row(uint16_t *c, vector x, vector y, vector z,
                                                            int64_t acc, int64_t nr) {
    uint16_t row[NR] = {0};
    uint16_t *d = nr == NR ? c : row;

    if (nr < NR && acc)
#pragma GCC unroll 1
        for (int64_t j = 0; j < nr; j++)
            row[j] = c[j];
    if (acc) {
        x += vreinterpretq_f16_u16(vld1q_u16(d));
        y += vreinterpretq_f16_u16(vld1q_u16(d + V));
        z += vreinterpretq_f16_u16(vld1q_u16(d + 2 * V));
    }
    vst1q_u16(d, vreinterpretq_u16_f16(x));
    vst1q_u16(d + V, vreinterpretq_u16_f16(y));
    vst1q_u16(d + 2 * V, vreinterpretq_u16_f16(z));
    if (nr < NR)
#pragma GCC unroll 1
        for (int64_t j = 0; j < nr; j++)
            c[j] = row[j];
}

void UK_SYMBOL(int64_t k, const uint16_t *a, const uint16_t *b, uint16_t *c, int64_t ldc, int64_t acc,
               int64_t mr, int64_t nr) {
    vector c00, c01, c02, c10, c11, c12, c20, c21, c22, c30, c31, c32, c40, c41, c42, c50, c51, c52, c60, c61,
        c62, c70, c71, c72;

    /* clang-format off */
    __asm__ volatile(
        ZERO(c00) ZERO(c01) ZERO(c02) ZERO(c10) ZERO(c11) ZERO(c12) ZERO(c20) ZERO(c21) ZERO(c22) ZERO(c30)
        ZERO(c31) ZERO(c32) ZERO(c40) ZERO(c41) ZERO(c42) ZERO(c50) ZERO(c51) ZERO(c52) ZERO(c60) ZERO(c61)
        ZERO(c62) ZERO(c70) ZERO(c71) ZERO(c72)
        "tbz %[k], 0, 1f\n\t"
        "ldr q0, [%[a]], 16\n\t"
        "ldp q2, q3, [%[b]]\n\t"
        "ldr q4, [%[b], 32]\n\t"
        "add %[b], %[b], 48\n\t"
        COLUMNS(0, 2, 0) COLUMNS(1, 3, 0) COLUMNS(2, 4, 0)
        "1:\n\t"
        "lsr %[k], %[k], 1\n\t"
        "cbz %[k], 3f\n\t"
        "2:\n\t"
        "ldp q0, q1, [%[a]], 32\n\t"
        "ldr q2, [%[b]]\n\t"
        "ldp q3, q4, [%[b], 16]\n\t"
        COLUMNS(0, 2, 0)
        "ldr q5, [%[b], 48]\n\t"
        COLUMNS(1, 3, 0)
        "ldp q6, q7, [%[b], 64]\n\t"
        "sub %[k], %[k], 1\n\t"
        COLUMNS(2, 4, 0)
        "add %[b], %[b], 96\n\t"
        COLUMNS(0, 5, 1) COLUMNS(1, 6, 1) COLUMNS(2, 7, 1)
        "cbnz %[k], 2b\n\t"
        "3:"
        : [a] "+&r"(a), [b] "+&r"(b), [k] "+&r"(k), [c00] "=&w"(c00), [c01] "=&w"(c01), [c02] "=&w"(c02),
          [c10] "=&w"(c10), [c11] "=&w"(c11), [c12] "=&w"(c12), [c20] "=&w"(c20), [c21] "=&w"(c21),
          [c22] "=&w"(c22), [c30] "=&w"(c30), [c31] "=&w"(c31), [c32] "=&w"(c32), [c40] "=&w"(c40),
          [c41] "=&w"(c41), [c42] "=&w"(c42), [c50] "=&w"(c50), [c51] "=&w"(c51), [c52] "=&w"(c52),
          [c60] "=&w"(c60), [c61] "=&w"(c61), [c62] "=&w"(c62), [c70] "=&w"(c70), [c71] "=&w"(c71),
          [c72] "=&w"(c72)
        :
        : "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "cc", "memory");
    /* clang-format on */
    store_row(c, c00, c01, c02, acc, nr);
    if (mr > 1)
        store_row(c + ldc, c10, c11, c12, acc, nr);
    if (mr > 2)
        store_row(c + 2 * ldc, c20, c21, c22, acc, nr);
    if (mr > 3)
        store_row(c + 3 * ldc, c30, c31, c32, acc, nr);
    if (mr > 4)
        store_row(c + 4 * ldc, c40, c41, c42, acc, nr);
    if (mr > 5)
        store_row(c + 5 * ldc, c50, c51, c52, acc, nr);
    if (mr > 6)
        store_row(c + 6 * ldc, c60, c61, c62, acc, nr);
    if (mr > 7)
        store_row(c + 7 * ldc, c70, c71, c72, acc, nr);
}
