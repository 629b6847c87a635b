/* SPDX-License-Identifier: Apache-2.0 */
/*
 * 8 rows x 12 columns of C, in i32, from panels of groups of 4 bytes: sdot (UK_OP_i8gemm) or udot
 * (UK_OP_u8gemm), each adding four products for 4 columns and one row, which is a lane of a. UK_OP_igemm, u8
 * by i8, uses sdot too: a - 128, which is a with its highest bit flipped, is an i8, and
 *
 *     sum of a * b = sum of (a - 128) * b - sum of (-128) * b
 *
 * One register of -128 flips a and, as a ninth row, gives the sums to subtract. All sums wrap at 2^32, as i32
 * does.
 *
 *                       b: v2 (columns 0-3)   v3 (4-7)     v2 (8-11)         of the next group v3, v2, v3
 *     a: v0.4b[0] row 0      c00                c01           c02
 *        ...      ...        ...                ...           ...
 *        v0.4b[3] row 3      c30                c31           c32
 *     a: v1.4b[0] row 4      c40                c41           c42
 *        ...      ...        ...                ...           ...
 *        v1.4b[3] row 7      c70                c71           c72
 *     v4: -128    (row 8)    v5                 v6            v7             UK_OP_igemm only
 *
 * Bound: 24 dot products per group, two a cycle (Cortex-A76, Neoverse N1): 12 cycles, 64 multiply-adds a
 * cycle; four (Neoverse V1): 6 cycles. 5 loads and half of the loop's 2 instructions make 30: 0.8 of the
 * instructions multiply. igemm has 3 more for its ninth row and 2 flips, which take vector units too: 14.5
 * cycles, 53 multiply-adds a cycle, 0.83 of i8 by i8. (usdot belongs to i8mm, where usmmla is better.) For
 * cores that issue in order (Cortex-A55: one dot product a cycle) b is loaded 8 dot products before its use
 * and a 4; a load of 128 bits takes both of their slots for two cycles.
 *
 * A register is loaded for the next group after its last use, except in the last group, so that nothing
 * beyond the panels is read. Edge tiles cost as much as the whole tile; rows and columns that the tile does
 * not have are not stored.
 */
#include "rows_neon.h"

#ifdef UK_OP_u8gemm
typedef uint8_t left, right;
#define OP "udot"
#else
#ifdef UK_OP_igemm
typedef uint8_t left;
#else
typedef int8_t left;
#endif
typedef int8_t right;
#define OP "sdot"
#endif
enum { KR = 4 };

/* clang-format off */
/* Row i, whose bytes are lane l of v<a>, times vector j of columns, in v<b>. */
#define DOT(i, j, b, a, l) OP " %[c" #i #j "].4s, v" #b ".16b, v" #a ".4b[" #l "]\n\t"
#define UPPER(j, b) DOT(0, j, b, 0, 0) DOT(1, j, b, 0, 1) DOT(2, j, b, 0, 2) DOT(3, j, b, 0, 3)
#define LOWER(j, b) DOT(4, j, b, 1, 0) DOT(5, j, b, 1, 1) DOT(6, j, b, 1, 2) DOT(7, j, b, 1, 3)
#define LOAD(q, at) "ldr q" #q ", " at "\n\t"
#define ZERO(x) "movi %[" #x "].4s, 0\n\t"
#define EACH_SUM(F)                                                                                        \
    F(c00) F(c10) F(c20) F(c30) F(c40) F(c50) F(c60) F(c70) F(c01) F(c11) F(c21) F(c31)                    \
    F(c41) F(c51) F(c61) F(c71) F(c02) F(c12) F(c22) F(c32) F(c42) F(c52) F(c62) F(c72)
#ifdef UK_OP_igemm
#define ZERO_NINTH "movi v4.16b, 128\n\tmovi v5.4s, 0\n\tmovi v6.4s, 0\n\tmovi v7.4s, 0\n\t"
#define FLIP "eor v0.16b, v0.16b, v4.16b\n\teor v1.16b, v1.16b, v4.16b\n\t"
#define NINTH(j, b) OP " v" #j ".4s, v" #b ".16b, v4.16b\n\t"
#define LESS(x, j) "sub %[" #x "].4s, %[" #x "].4s, v" #j ".4s\n\t"
#define CLOBBERS_OF_NINTH "v4", "v5", "v6", "v7",
#define LESS_NINTH                                                                                         \
    LESS(c00, 5) LESS(c10, 5) LESS(c20, 5) LESS(c30, 5) LESS(c40, 5) LESS(c50, 5) LESS(c60, 5) LESS(c70, 5) \
    LESS(c01, 6) LESS(c11, 6) LESS(c21, 6) LESS(c31, 6) LESS(c41, 6) LESS(c51, 6) LESS(c61, 6) LESS(c71, 6) \
    LESS(c02, 7) LESS(c12, 7) LESS(c22, 7) LESS(c32, 7) LESS(c42, 7) LESS(c52, 7) LESS(c62, 7) LESS(c72, 7)
#else
#define ZERO_NINTH
#define FLIP
#define NINTH(j, b)
#define LESS_NINTH
#define CLOBBERS_OF_NINTH
#endif
/* A group whose columns 0-3 and 4-7 are already in v<x> and v<y>; the other arguments load elements of
 * the next group. One load of each operand moves its pointer. */
#define GROUP_(x, y, next0, next1, upper, lower)                                                           \
    FLIP UPPER(0, x) LOWER(0, x) NINTH(5, x) LOAD(x, "[%[b]], #48") UPPER(1, y) LOWER(1, y) NINTH(6, y) next0          \
    UPPER(2, x) upper LOWER(2, x) NINTH(7, x) lower next1
#define FIRST_A LOAD(0, "[%[a]], #32")
#define SECOND_A LOAD(1, "[%[a], #-16]")
#define GROUP(x, y) GROUP_(x, y, LOAD(y, "[%[b], #-32]"), LOAD(x, "[%[b], #-16]"), FIRST_A, SECOND_A)
#define LAST_GROUP(x, y) GROUP_(x, y, , , , )

/* clang-format on */

void UK_SYMBOL(int64_t k, const left *a, const right *b, total *c, int64_t ldc, int64_t acc, int64_t mr,
               int64_t nr) {
    int64_t groups = k / KR;
    vector c00, c01, c02, c10, c11, c12, c20, c21, c22, c30, c31, c32, c40, c41, c42, c50, c51, c52, c60, c61,
        c62, c70, c71, c72;

    /* clang-format off */
    __asm__ volatile(
        EACH_SUM(ZERO) ZERO_NINTH
        "cbz %[n], 5f\n\t"
        FIRST_A LOAD(2, "[%[b]], #32") SECOND_A LOAD(3, "[%[b], #-16]")
        "subs %[n], %[n], 2\n\t"
        "b.ls 2f\n\t"
        "1:\n\t" GROUP(2, 3) GROUP(3, 2)
        "subs %[n], %[n], 2\n\t"
        "b.hi 1b\n"
        "2:\n\t"
        "b.lo 3f\n\t" GROUP(2, 3) LAST_GROUP(3, 2)
        "b 4f\n"
        "3:\n\t" LAST_GROUP(2, 3)
        "4:\n\t" LESS_NINTH
        "5:"
        : [a] "+&r"(a), [b] "+&r"(b), [n] "+&r"(groups), [c00] "=&w"(c00), [c01] "=&w"(c01), [c02] "=&w"(c02),
          [c10] "=&w"(c10), [c11] "=&w"(c11), [c12] "=&w"(c12), [c20] "=&w"(c20), [c21] "=&w"(c21),
          [c22] "=&w"(c22), [c30] "=&w"(c30), [c31] "=&w"(c31), [c32] "=&w"(c32), [c40] "=&w"(c40),
          [c41] "=&w"(c41), [c42] "=&w"(c42), [c50] "=&w"(c50), [c51] "=&w"(c51), [c52] "=&w"(c52),
          [c60] "=&w"(c60), [c61] "=&w"(c61), [c62] "=&w"(c62), [c70] "=&w"(c70), [c71] "=&w"(c71),
          [c72] "=&w"(c72)
        :
        : "v0", "v1", "v2", "v3", CLOBBERS_OF_NINTH "cc", "memory");
    /* clang-format on */
    store_row(c, (const vector[]){c00, c01, c02}, 3, acc, nr);
    if (mr > 1)
        store_row(c + ldc, (const vector[]){c10, c11, c12}, 3, acc, nr);
    if (mr > 2)
        store_row(c + 2 * ldc, (const vector[]){c20, c21, c22}, 3, acc, nr);
    if (mr > 3)
        store_row(c + 3 * ldc, (const vector[]){c30, c31, c32}, 3, acc, nr);
    if (mr > 4)
        store_row(c + 4 * ldc, (const vector[]){c40, c41, c42}, 3, acc, nr);
    if (mr > 5)
        store_row(c + 5 * ldc, (const vector[]){c50, c51, c52}, 3, acc, nr);
    if (mr > 6)
        store_row(c + 6 * ldc, (const vector[]){c60, c61, c62}, 3, acc, nr);
    if (mr > 7)
        store_row(c + 7 * ldc, (const vector[]){c70, c71, c72}, 3, acc, nr);
}
