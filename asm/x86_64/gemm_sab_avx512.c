/* SPDX-License-Identifier: Apache-2.0 */
/*
 * 14 rows x UK_NR columns of C, two vectors or one of floats or doubles (UK_OP_d...), in zmm registers; A in place by
 * two strides, one for rows and one for k: a transposed matrix, weights of a convolution, or a panel; rows of B in place.
 *
 *                           b: zmm28 (vector 0)       zmm29 (vector 1)
 *     a: zmm30     row 0       zmm0                     zmm1
 *        zmm31     row 1       zmm2                     zmm3
 *        (by       ...         ...                      ...
 *        turns)    row 13      zmm26                    zmm27
 *
 * With one vector only the first half is there, and its FMAs take A from memory, broadcast.
 * Four pointers (rows 0, 3, 5, 10) and the stride times 1, 2, 4, 8 reach all rows of A.
 *
 * Bound: two vectors take 28 FMAs, 16 loads, 2 prefetches, 54 instructions per k. At two 512-bit FMAs and two loads a
 * cycle the FMAs take 14 cycles, the loads 9: 64 flop per cycle (32 of doubles), the peak. One vector takes 14 FMAs and
 * 15 loads: 7.5 cycles, 60 (30) flop per cycle. Two or three prefetches more for A by columns take 1.5 cycles of loads, or
 * none where a third port takes them. It holds while what one k needs of A (14 elements in up to 14 lines, lda apart) comes
 * from the first cache.
 *
 * B: its rows lie ldb apart, too far for the hardware to see a stream. Step p prefetches the lines that the
 * halves of row p + AHEAD end in; what lies behind the last row is only fetched, never read. The third cache
 * answers after some 200 cycles, 16 steps; rows 2 KB apart by a multiple share their sets of the first cache, 12 ways: more
 * than 8 of them would fall out unread.
 *
 * A by columns (lda 1): the 14 elements of a step are side by side, in one line or two (three of doubles), and the next
 * step's csa away. If they are not in the first cache they hold up 14 loads at once, so step p asks for step p + 8's. Intel
 * Xeon (Granite Rapids): 1000x16x300 1.6 times as fast, 256 to 777 cubed 1.07 to 1.2. Rows of A are streams; to ask for them
 * would take 2 %.
 *
 * C: its rows lie ldc apart, too far for the hardware to see a stream, and come from memory once per block of k. The first
 * 14 steps ask for one row each, to be written.
 *
 * Edges: rows are coded last row first, and a tile of mr rows enters each step, by a jump, at its last row.
 * Columns that the tile lacks are masked out of the loads of B, which then cannot fault. Where it lacks none the loads have
 * no masks, as those take a multiply-add's unit on Intel.
 */
#include "registry/kernel_contract.h"
#include "tile_14_avx512.h"

/* How far on the steps ask, from row to row of B. */
static inline __attribute__((always_inline)) int64_t ahead_of(int64_t ldb) {
    return (ldb * size % 2048 == 0 ? 8 : 16) * size * ldb;
}

/* clang-format off */
#if UK_NR == 2 * V
#define FETCH_ROW                                                                                               \
    "prefetchw (%[f])\n\t"                                                                                      \
    "prefetchw 64(%[f])\n\t"                                                                                    \
    "prefetchw 127(%[f])\n\t"
#else
#define FETCH_ROW "prefetchw 63(%[f])\n\t"
#endif
#define NEXT_B(ahead)                                                                                           \
    "prefetcht0 60(%[b], " ahead ")\n\t"                                                                        \
    SECOND("prefetcht0 124(%[b], " ahead ")\n\t")                                                               \
    "add %[ldb], %[b]\n\t"
/* A by columns: the lines of step p + 8. */
#ifdef UK_OP_dgemm_sab
#define NEXT_A FETCH_A("") FETCH_A("52") FETCH_A("104")
#else
#define NEXT_A FETCH_A("") FETCH_A("52")
#endif
#define FETCH_A(bytes) "prefetcht0 " bytes "(%[a], %[csa], 8)\n\t"
#define ADVANCE ADVANCE_ROWS("%[csa]")

#define FULL_TILE(NEXT, OUT)                                                                                    \
    __asm__ volatile(EACH_ROW(ZERO)                                                                             \
                     "test %[k], %[k]\n\t"                                                                      \
                     "jle 3f\n\t"                                                                               \
                     FETCH_C(LOAD_B NEXT_B("%[ahead]") NEXT ROWS_IN_PLACE(0) FETCH_ROW, ADVANCE)                \
                     ".p2align 5\n"                                                                             \
                     "1:\n\t" LOAD_B NEXT_B("%[ahead]") NEXT ROWS_IN_PLACE(0)                                   \
                     ADVANCE                                                                                    \
                     "dec %[k]\n\t"                                                                             \
                     "jnz 1b\n"                                                                                 \
                     "3:\n\t" EACH_ROW(OUT)                                                                     \
                     : MOVING, [f] "=&r"(f), [rows] "=&r"(rows)                                                 \
                     : [lda] "r"(size * lda), [csa] "r"(size * csa), [ldb] "r"(size * ldb), [ld] "r"(size * ldc), \
                       [ahead] "r"(ahead_of(ldb))                                                               \
                     : CLOBBERS)
#define SOME_ROWS(LOAD, NEXT)                                                                                   \
    __asm__ volatile(EDGE_TILE_WITH("mov %[ahead], %[skip]\n\t", LOAD NEXT_B("%[skip]") NEXT "jmp *%[t]\n\t" ROWS_IN_PLACE(0) ADVANCE) \
                     : MOVING, [t] "=&r"(t), [skip] "=&r"(skip)                                                 \
                     : [lda] "r"(size * lda), [csa] "r"(size * csa), [ldb] "r"(size * ldb), [ld] "r"(size * ldc), \
                       [up] "m"(up), [ahead] "m"(ahead), EDGE_MASKS                                             \
                     : CLOBBERS)
/* clang-format on */

static inline __attribute__((always_inline)) void edge_tile(int64_t k, const element *a, int64_t lda,
                                                            int64_t csa, const element *b, int64_t ldb,
                                                            element *c, int64_t ldc, int64_t acc, int64_t mr,
                                                            int64_t nr) {
    ROW_POINTERS;
    const uint32_t columns = nr < UK_NR ? (1u << nr) - 1 : ~0u, old = acc ? columns : 0;
    const int64_t ahead = ahead_of(ldb), up = mr - 1; /* in memory: there are not registers enough */
    int64_t t, skip;

    c += (mr - 1) * ldc;
    if (lda == 1 && nr == UK_NR)
        SOME_ROWS(LOAD_B, NEXT_A);
    else if (lda == 1)
        SOME_ROWS(LOAD_SOME_B, NEXT_A);
    else if (nr == UK_NR)
        SOME_ROWS(LOAD_B, );
    else
        SOME_ROWS(LOAD_SOME_B, );
}

static inline __attribute__((always_inline)) void full_tile(int64_t k, const element *a, int64_t lda,
                                                            int64_t csa, const element *b, int64_t ldb,
                                                            element *c, int64_t ldc, int64_t acc) {
    ROW_POINTERS;
    int64_t f, rows;

    if (lda == 1 && acc)
        FULL_TILE(NEXT_A, ADD_STORE);
    else if (lda == 1)
        FULL_TILE(NEXT_A, STORE);
    else if (acc)
        FULL_TILE(, ADD_STORE);
    else
        FULL_TILE(, STORE);
}

void UK_SYMBOL(int64_t k, const element *a, int64_t lda, int64_t csa, const element *b, int64_t ldb,
               element *c, int64_t ldc, int64_t acc, int64_t mr, int64_t nr) {
    if (mr == 14 && nr == UK_NR)
        full_tile(k, a, lda, csa, b, ldb, c, ldc, acc);
    else
        edge_tile(k, a, lda, csa, b, ldb, c, ldc, acc, mr, nr);
}
