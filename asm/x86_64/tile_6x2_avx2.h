/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernels of 6 rows x 2 vectors of 8 floats or 4 doubles share. */
#include "element_avx2.h"

enum { NR = 2 * V };

/* Stores a row of the tile; low and high are the masks of its columns. */
static inline __attribute__((always_inline)) void store_row(element *c, vector x, vector y, int64_t acc,
                                                            int64_t nr, __m256i low, __m256i high) {
    if (nr == NR) {
        store(c, acc ? (vector)(load(c) + x) : x);
        store(c + V, acc ? (vector)(load(c + V) + y) : y);
        return;
    }
    if (acc) {
        x += load_part(c, low);
        y += load_part(c + V, high);
    }
    store_part(c, low, x);
    store_part(c + V, high, y);
}

/* Stores the tile's rows. */
static inline __attribute__((always_inline)) void store_tile(element *c, int64_t ldc, vector c00, vector c01,
                                                             vector c10, vector c11, vector c20, vector c21,
                                                             vector c30, vector c31, vector c40, vector c41,
                                                             vector c50, vector c51, int64_t acc, int64_t mr,
                                                             int64_t nr, __m256i low, __m256i high) {
    store_row(c, c00, c01, acc, nr, low, high);
    if (mr > 1)
        store_row(c + ldc, c10, c11, acc, nr, low, high);
    if (mr > 2)
        store_row(c + 2 * ldc, c20, c21, acc, nr, low, high);
    if (mr > 3)
        store_row(c + 3 * ldc, c30, c31, acc, nr, low, high);
    if (mr > 4)
        store_row(c + 4 * ldc, c40, c41, acc, nr, low, high);
    if (mr > 5)
        store_row(c + 5 * ldc, c50, c51, acc, nr, low, high);
}

/*
 * Loops over k with a row of B in ymm12 and ymm13. The kernel's file defines
 *     A(i, n)           the address of A's element of row i in the n-th k iteration of an unrolled one
 *     NEXT(iterations)  moves the pointers by so many k iterations, and jumps to label 1 unless k is reached
 *     BACK              moves the pointers back by a k iteration
 */
/* clang-format off */
/* Row i of the n-th k iteration, added to accumulators x and y by way of register t. */
#define ROW(i, n, t, x, y)                                     \
    "vbroadcast" S " " A(i, n) ", %%" t "\n\t"                 \
    "vfmadd231" P " %%ymm12, %%" t ", %[" #x "]\n\t"           \
    "vfmadd231" P " %%ymm13, %%" t ", %[" #y "]\n\t"
#define NARROW_ROW(i, n, t, x)                                 \
    "vbroadcast" S " " A(i, n) ", %%" t "\n\t"                 \
    "vfmadd231" P " %%ymm12, %%" t ", %[" #x "]\n\t"
#define K_ITERATION                                                                                       \
    ROW(0, 0, "ymm14", c00, c01) ROW(1, 0, "ymm15", c10, c11) ROW(2, 0, "ymm14", c20, c21)                \
    ROW(3, 0, "ymm15", c30, c31) ROW(4, 0, "ymm14", c40, c41) ROW(5, 0, "ymm15", c50, c51)
#define SHORT_EVEN                                                                                        \
    ROW(0, 0, "ymm14", c00, c01) ROW(1, 0, "ymm15", c10, c11) ROW(2, 0, "ymm14", c20, c21)
#define SHORT_ODD                                                                                         \
    ROW(0, 1, "ymm15", c00, c01) ROW(1, 1, "ymm14", c10, c11) ROW(2, 1, "ymm15", c20, c21)
#define NARROW_EVEN                                                                                       \
    NARROW_ROW(0, 0, "ymm14", c00) NARROW_ROW(1, 0, "ymm15", c10) NARROW_ROW(2, 0, "ymm14", c20)          \
    NARROW_ROW(3, 0, "ymm15", c30) NARROW_ROW(4, 0, "ymm14", c40) NARROW_ROW(5, 0, "ymm15", c50)
#define NARROW_ODD                                                                                        \
    NARROW_ROW(0, 1, "ymm14", c00) NARROW_ROW(1, 1, "ymm15", c10) NARROW_ROW(2, 1, "ymm14", c20)          \
    NARROW_ROW(3, 1, "ymm15", c30) NARROW_ROW(4, 1, "ymm14", c40) NARROW_ROW(5, 1, "ymm15", c50)

/* The sums begin with 0. They are set to 0 in the assembly and are outputs only: gcc counts an operand that is
 * also read twice, and allows 30. */
#define ZERO(x) "vxorps %[" #x "], %[" #x "], %[" #x "]\n\t"
#define ZEROS                                                                                             \
    ZERO(c00) ZERO(c01) ZERO(c10) ZERO(c11) ZERO(c20) ZERO(c21)                                           \
    ZERO(c30) ZERO(c31) ZERO(c40) ZERO(c41) ZERO(c50) ZERO(c51)
#define SUMS                                                                                              \
    [c00] "=&x"(c00), [c01] "=&x"(c01), [c10] "=&x"(c10), [c11] "=&x"(c11), [c20] "=&x"(c20),             \
    [c21] "=&x"(c21), [c30] "=&x"(c30), [c31] "=&x"(c31), [c40] "=&x"(c40), [c41] "=&x"(c41),             \
    [c50] "=&x"(c50), [c51] "=&x"(c51)

#define LOOP(body, iterations) "1:\n\t" body NEXT(iterations)
/* The loop over k, unrolled by two; an odd k enters in the middle. */
#define PAIRS(even, odd)                 \
    "test $1, %b[p]\n\t"                 \
    "jz 1f\n\t"                          \
    BACK                                 \
    "jmp 2f\n\t"                         \
    LOOP(even "2:\n\t" odd, 2)
/* clang-format on */
