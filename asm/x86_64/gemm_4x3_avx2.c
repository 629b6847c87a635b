/* SPDX-License-Identifier: Apache-2.0 */
/*
 * 4 rows x 3 vectors of C, 24 floats or 12 doubles (UK_OP_d...), in twelve ymm registers.
 *
 *                       b: ymm12 (vector 0)      ymm13 (1)   ymm14 (2)
 *     a: ymm15  row 0      c00                      c01            c02
 *        (one   row 1      c10                      c11            c12
 *        at a   row 2      c20                      c21            c22
 *        time)  row 3      c30                      c31            c32
 *
 * Bound: 12 FMAs, 7 loads, 23 instructions per k iteration. At two 256-bit FMAs and two loads a cycle the
 * FMAs take 6 cycles, the loads 3.5: 32 flop per cycle (16 of doubles), the peak. Twelve accumulators hide an
 * FMA latency of 4 cycles at two FMAs a cycle, for which eight would do.
 *
 * Edges: tiles of up to 2 rows, or of up to a vector of columns, have loops of their own of 4 cycles per k
 * iteration, since each sum waits for the latency of an FMA; two partial sums for an element would round
 * differently from other tiles.
 */
#include <immintrin.h>
#include "registry/kernel_contract.h"
#include "element_avx2.h"

enum { NR = 3 * V };

/* clang-format off */
/* Row i of the n-th k iteration of an unrolled one: adds its products to accumulators x, y and z. */
#define ROW(i, n, x, y, z)                                       \
    "vbroadcast" S " " BYTES "*(" #i " + 4*" #n ")(%[a]), %%ymm15\n\t"      \
    "vfmadd231" P " %%ymm12, %%ymm15, %[" #x "]\n\t"                \
    "vfmadd231" P " %%ymm13, %%ymm15, %[" #y "]\n\t"                \
    "vfmadd231" P " %%ymm14, %%ymm15, %[" #z "]\n\t"
#define NARROW_ROW(i, n, t, x)                                   \
    "vbroadcast" S " " BYTES "*(" #i " + 4*" #n ")(%[a]), %%" t "\n\t"      \
    "vfmadd231" P " %%ymm12, %%" t ", %[" #x "]\n\t"
#define B(n)                                                     \
    "vmovups 96*" #n "(%[b]), %%ymm12\n\t"                       \
    "vmovups 32 + 96*" #n "(%[b]), %%ymm13\n\t"                  \
    "vmovups 64 + 96*" #n "(%[b]), %%ymm14\n\t"
#define NARROW_B(n) "vmovups 96*" #n "(%[b]), %%ymm12\n\t"

#define K_ITERATION                                                                                       \
    B(0) ROW(0, 0, c00, c01, c02) ROW(1, 0, c10, c11, c12) ROW(2, 0, c20, c21, c22) ROW(3, 0, c30, c31, c32)
#define SHORT_EVEN B(0) ROW(0, 0, c00, c01, c02) ROW(1, 0, c10, c11, c12)
#define SHORT_ODD B(1) ROW(0, 1, c00, c01, c02) ROW(1, 1, c10, c11, c12)
#define NARROW_EVEN                                                                                       \
    NARROW_B(0) NARROW_ROW(0, 0, "ymm15", c00) NARROW_ROW(1, 0, "ymm14", c10)                             \
                NARROW_ROW(2, 0, "ymm15", c20) NARROW_ROW(3, 0, "ymm14", c30)
#define NARROW_ODD                                                                                        \
    NARROW_B(1) NARROW_ROW(0, 1, "ymm15", c00) NARROW_ROW(1, 1, "ymm14", c10)                             \
                NARROW_ROW(2, 1, "ymm15", c20) NARROW_ROW(3, 1, "ymm14", c30)

#define LOOP(body, iterations)           \
    "1:\n\t" body                        \
    "add $" BYTES "*4*" #iterations ", %[a]\n\t" \
    "add $96*" #iterations ", %[b]\n\t" \
    "sub $" #iterations ", %[k]\n\t"     \
    "jg 1b\n\t"
/* The loop over k, unrolled by two; an odd k enters in the middle. */
#define PAIRS(even, odd)                 \
    "test $1, %b[k]\n\t"                 \
    "jz 1f\n\t"                          \
    "sub $" BYTES "*4, %[a]\n\t"                 \
    "sub $96, %[b]\n\t"                \
    "inc %[k]\n\t"                       \
    "jmp 2f\n\t"                         \
    LOOP(even "2:\n\t" odd, 2)

#define RUN(loop)                                                                                         \
    __asm__ volatile("test %[k], %[k]\n\t"                                                                \
                     "jle 3f\n\t"                                                                         \
                     loop                                                                                 \
                     "3:"                                                                                 \
                     : [a] "+&r"(a), [b] "+&r"(b), [k] "+&r"(k), [c00] "+x"(c00), [c01] "+x"(c01),           \
                       [c02] "+x"(c02), [c10] "+x"(c10), [c11] "+x"(c11), [c12] "+x"(c12),                \
                       [c20] "+x"(c20), [c21] "+x"(c21), [c22] "+x"(c22), [c30] "+x"(c30),                \
                       [c31] "+x"(c31), [c32] "+x"(c32)                                                   \
                     :                                                                                    \
                     : "ymm12", "ymm13", "ymm14", "ymm15", "cc", "memory")
/* clang-format on */

/* Stores V columns of a row of the tile, from column `first` on. */
static inline __attribute__((always_inline)) void store_vector(element *c, vector x, int64_t acc, int64_t nr,
                                                               int first) {
    if (nr >= first + V) {
        store(c + first, acc ? (vector)(load(c + first) + x) : x);
    } else if (nr > first) {
        const __m256i mask = MASK(nr - first);

        store_first(c + first, nr - first, acc ? (vector)(load_part(c + first, mask) + x) : x);
    }
}

static inline __attribute__((always_inline)) void store_row(element *c, vector x, vector y, vector z,
                                                            int64_t acc, int64_t nr) {
    store_vector(c, x, acc, nr, 0);
    store_vector(c, y, acc, nr, V);
    store_vector(c, z, acc, nr, 2 * V);
}

void UK_SYMBOL(int64_t k, const element *a, const element *b, element *c, int64_t ldc, int64_t acc,
               int64_t mr, int64_t nr) {
    vector c00 = {0}, c01 = c00, c02 = c00, c10 = c00, c11 = c00, c12 = c00;
    vector c20 = c00, c21 = c00, c22 = c00, c30 = c00, c31 = c00, c32 = c00;

    if (nr <= V) {
        RUN(PAIRS(NARROW_EVEN, NARROW_ODD));
    } else if (mr <= 2) {
        RUN(PAIRS(SHORT_EVEN, SHORT_ODD));
    } else {
        RUN(LOOP(K_ITERATION, 1));
    }
    store_row(c, c00, c01, c02, acc, nr);
    if (mr > 1)
        store_row(c + ldc, c10, c11, c12, acc, nr);
    if (mr > 2)
        store_row(c + 2 * ldc, c20, c21, c22, acc, nr);
    if (mr > 3)
        store_row(c + 3 * ldc, c30, c31, c32, acc, nr);
}
