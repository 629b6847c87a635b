/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the kernels of 6 rows x 2 vectors of 8 floats or 4 doubles. */
#include "store_6x2_avx2.h"

/*
 * Loops over k with a row of B in ymm12 and ymm13. The kernel's file defines
 *
 *     A(i, n)           the address of A's element of row i in the n-th k iteration of an unrolled one
 *     NEXT(iterations)  moves the pointers by `iterations` k iterations; jumps to label 1 unless k is
 *                       reached
 *     BACK              moves the pointers back by a k iteration
 */
/* clang-format off */
/* Row i of the n-th k iteration: adds its products to accumulators x and y; register t holds the element of
 * A. */
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

/* The sums begin with 0. They are set to 0 in the assembly and are outputs only: gcc counts an operand that
 * is also read twice, and allows 30. */
#define ZERO(x) "vxorps %[" #x "], %[" #x "], %[" #x "]\n\t"
#define ZEROS                                                                                             \
    ZERO(c00) ZERO(c01) ZERO(c10) ZERO(c11) ZERO(c20) ZERO(c21)                                           \
    ZERO(c30) ZERO(c31) ZERO(c40) ZERO(c41) ZERO(c50) ZERO(c51)
#define SUMS                                                                                              \
    [c00] "=&x"(c00), [c01] "=&x"(c01), [c10] "=&x"(c10), [c11] "=&x"(c11), [c20] "=&x"(c20),             \
    [c21] "=&x"(c21), [c30] "=&x"(c30), [c31] "=&x"(c31), [c40] "=&x"(c40), [c41] "=&x"(c41),             \
    [c50] "=&x"(c50), [c51] "=&x"(c51)

/* Pointers to the rows of A in place; a row that the tile does not have is read as row 0. */
#define ROW_POINTERS                                                                                      \
    const element *const a1 = mr > 1 ? a + lda : a, *const a2 = mr > 2 ? a + 2 * lda : a,                 \
                         *const a3 = mr > 3 ? a + 3 * lda : a, *const a4 = mr > 4 ? a + 4 * lda : a,      \
                         *const a5 = mr > 5 ? a + 5 * lda : a
#define LOOP(body, iterations) "1:\n\t" body NEXT(iterations)
/* The loop over k, unrolled by two; an odd k enters in the middle. */
#define PAIRS(even, odd)                 \
    "test $1, %b[p]\n\t"                 \
    "jz 1f\n\t"                          \
    BACK                                 \
    "jmp 2f\n\t"                         \
    LOOP(even "2:\n\t" odd, 2)
/* clang-format on */
