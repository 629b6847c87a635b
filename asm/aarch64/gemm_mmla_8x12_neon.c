/* SPDX-License-Identifier: Apache-2.0 */
/*
 * 8 rows x 12 columns of C from panels of groups that fill 8 bytes: matrix multiplications of 2 rows by 2
 * columns, smmla (UK_OP_i8gemm), ummla (UK_OP_u8gemm) and usmmla (UK_OP_igemm) over 8 bytes, in i32, bfmmla
 * (UK_OP_bgemm) over 4 bf16, in f32.
 *
 *     columns            0, 1   2, 3   4, 5   6, 7   8, 9   10, 11
 *                     b:  v4     v5     v6     v4     v5     v6
 *     a: v0 rows 0, 1    c00    c01    c02    c03    c04    c05      each: row 2i:     columns 2j, 2j + 1
 *        v1 rows 2, 3    c10    c11    c12    c13    c14    c15            row 2i + 1: columns 2j, 2j + 1
 *        v2 rows 4, 5    c20    c21    c22    c23    c24    c25
 *        v3 rows 6, 7    c30    c31    c32    c33    c34    c35
 *
 * At the end zip1 and zip2 of the halves of two neighbours put together vectors of rows.
 *
 * Bound: 24 multiplications, 10 loads, 38 instructions per group. Two multiplications a cycle (Neoverse N2)
 * take 12 cycles, 64 multiply-adds of bytes or 32 of bf16 a cycle; four (Neoverse V1) 6 cycles, twice as
 * many. 24 accumulators hide a latency of 4 cycles at four a cycle. Each load is at least 3 multiplications
 * before its use, for cores that issue in order. A register is loaded for the next group after its last use,
 * except in the last group, so that nothing after the panels is read.
 *
 * Edges cost as the whole tile; rows and columns that the tile does not have are not stored.
 */
#ifdef UK_OP_bgemm
#define TOTAL_IS_FLOAT
#endif
#include "rows_neon.h"

#if defined(UK_OP_bgemm)
typedef uint16_t left, right;
#define OP "bfmmla"
#define IN "8h"
enum { KR = 4 };
#else
#define IN "16b"
enum { KR = 8 };
#if defined(UK_OP_igemm)
typedef uint8_t left;
typedef int8_t right;
#define OP "usmmla"
#elif defined(UK_OP_u8gemm)
typedef uint8_t left, right;
#define OP "ummla"
#else
typedef int8_t left, right;
#define OP "smmla"
#endif
#endif

/* clang-format off */
#define MMLA(i, j, b) OP " %[c" #i #j "].4s, v" #i "." IN ", v" #b "." IN "\n\t"
#define LOAD(q, from, at) "ldr q" #q ", [%[" #from "], " #at "]\n\t"
#define ZERO(x) "movi %[" #x "].4s, 0\n\t"
/* Columns 2j and 2j + 1, whose b is in v<b>, with a load in between. */
#define COLUMNS(j, b, load) MMLA(0, j, b) load MMLA(1, j, b) MMLA(2, j, b) MMLA(3, j, b)
/* clang-format on */

/* Stores rows 2i and 2i + 1 from r, their six blocks of 2 x 2. */
static inline __attribute__((always_inline)) void store_rows(total *c, int64_t ldc, const vector r[6],
                                                             int64_t acc, int64_t rows, int64_t nr) {
    vector first[3], second[3];

    for (int t = 0; t < 3; t++) {
        first[t] = __builtin_shufflevector(r[2 * t], r[2 * t + 1], 0, 1, 4, 5);
        second[t] = __builtin_shufflevector(r[2 * t], r[2 * t + 1], 2, 3, 6, 7);
    }
    if (rows > 0)
        store_row(c, first, 3, acc, nr);
    if (rows > 1)
        store_row(c + ldc, second, 3, acc, nr);
}

void UK_SYMBOL(int64_t k, const left *a, const right *b, total *c, int64_t ldc, int64_t acc, int64_t mr,
               int64_t nr) {
    int64_t groups = k / KR;
    vector c00, c01, c02, c03, c04, c05, c10, c11, c12, c13, c14, c15, c20, c21, c22, c23, c24, c25, c30, c31,
        c32, c33, c34, c35;

    /* clang-format off */
    __asm__ volatile(
        ZERO(c00) ZERO(c01) ZERO(c02) ZERO(c03) ZERO(c04) ZERO(c05) ZERO(c10) ZERO(c11) ZERO(c12) ZERO(c13)
        ZERO(c14) ZERO(c15) ZERO(c20) ZERO(c21) ZERO(c22) ZERO(c23) ZERO(c24) ZERO(c25) ZERO(c30) ZERO(c31)
        ZERO(c32) ZERO(c33) ZERO(c34) ZERO(c35)
        "cbz %[n], 3f\n\t"
        LOAD(0, a, 0) LOAD(4, b, 0) LOAD(1, a, 16) LOAD(2, a, 32) LOAD(3, a, 48) LOAD(5, b, 16)
        "subs %[n], %[n], 1\n\t"
        "b.eq 2f\n\t"
        "1:\n\t"
        COLUMNS(0, 4, LOAD(6, b, 32)) COLUMNS(1, 5, LOAD(4, b, 48)) COLUMNS(2, 6, LOAD(5, b, 64))
        COLUMNS(3, 4, LOAD(6, b, 80)) COLUMNS(4, 5, LOAD(4, b, 96))
        MMLA(0, 5, 6) LOAD(0, a, 64) MMLA(1, 5, 6) LOAD(1, a, 80) MMLA(2, 5, 6) LOAD(2, a, 96) MMLA(3, 5, 6)
        LOAD(3, a, 112) LOAD(5, b, 112)
        "add %[a], %[a], 64\n\t"
        "add %[b], %[b], 96\n\t"
        "subs %[n], %[n], 1\n\t"
        "b.ne 1b\n\t"
        "2:\n\t"
        COLUMNS(0, 4, LOAD(6, b, 32)) COLUMNS(1, 5, LOAD(4, b, 48)) COLUMNS(2, 6, LOAD(5, b, 64))
        COLUMNS(3, 4, LOAD(6, b, 80)) COLUMNS(4, 5, ) COLUMNS(5, 6, )
        "3:"
        : [a] "+&r"(a), [b] "+&r"(b), [n] "+&r"(groups), [c00] "=&w"(c00), [c01] "=&w"(c01), [c02] "=&w"(c02),
          [c03] "=&w"(c03), [c04] "=&w"(c04), [c05] "=&w"(c05), [c10] "=&w"(c10), [c11] "=&w"(c11),
          [c12] "=&w"(c12), [c13] "=&w"(c13), [c14] "=&w"(c14), [c15] "=&w"(c15), [c20] "=&w"(c20),
          [c21] "=&w"(c21), [c22] "=&w"(c22), [c23] "=&w"(c23), [c24] "=&w"(c24), [c25] "=&w"(c25),
          [c30] "=&w"(c30), [c31] "=&w"(c31), [c32] "=&w"(c32), [c33] "=&w"(c33), [c34] "=&w"(c34),
          [c35] "=&w"(c35)
        :
        : "v0", "v1", "v2", "v3", "v4", "v5", "v6", "cc", "memory");
    /* clang-format on */
    store_rows(c, ldc, (const vector[]){c00, c01, c02, c03, c04, c05}, acc, mr, nr);
    if (mr > 2)
        store_rows(c + 2 * ldc, ldc, (const vector[]){c10, c11, c12, c13, c14, c15}, acc, mr - 2, nr);
    if (mr > 4)
        store_rows(c + 4 * ldc, ldc, (const vector[]){c20, c21, c22, c23, c24, c25}, acc, mr - 4, nr);
    if (mr > 6)
        store_rows(c + 6 * ldc, ldc, (const vector[]){c30, c31, c32, c33, c34, c35}, acc, mr - 6, nr);
}
