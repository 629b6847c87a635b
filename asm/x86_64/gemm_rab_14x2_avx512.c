/* SPDX-License-Identifier: Apache-2.0 */
/*
 * 14 rows x 2 vectors of C, 32 floats or 16 doubles (UK_OP_d...), in 28 zmm registers, rows of A and rows of B in place.
 *
 *                           b: zmm28 (vector 0)       zmm29 (vector 1)
 *     a: zmm30     row 0       zmm0                     zmm1
 *        zmm31     row 1       zmm2                     zmm3
 *        (by       ...         ...                      ...
 *        turns)    row 13      zmm26                    zmm27
 *
 * Four pointers (rows 0, 3, 5, 10) and the stride times 1, 2, 4, 8 reach all rows of A.
 *
 * Bound: 28 FMAs, 16 loads, 2 prefetches, 46 instructions per k. At two 512-bit FMAs and two loads a cycle
 * the FMAs take 14 cycles, the loads 9: 64 flop per cycle (32 of doubles), the peak. It holds while a cache line of each row
 * of A stays in the first cache for the 16 k (8 of doubles) it has.
 *
 * B: its rows lie ldb apart, too far for the hardware to see a stream. Step p prefetches the lines that the
 * halves of row p + AHEAD end in; what lies behind the last row is only fetched, never read. The
 * third cache answers after some 200 cycles, in which few rows of A go through 16 to 48 rows of B; rows 2 KB apart by a
 * multiple share their sets of the first cache, 12 ways: more than 8 of them would fall out unread.
 *
 * Edges: rows are coded last row first, and a tile of mr rows enters each step, by a jump, at its last row.
 * Columns that the tile lacks are masked out of the loads of B, which then cannot fault; where it lacks none the loads have
 * no masks, as those take a multiply-add's unit on Intel.
 *
 * UK_PREFETCHING: a second form for a B that is in the second cache as a rule, of which row p + 8 is near enough to ask for; it
 * also asks for other columns, a line of each row, into the second cache. That leaves 9 of 28 loads free, of tiles of 7 rows
 * 2 of 14.
 */
#include "registry/kernel_contract.h"
#include "tile_14_avx512.h"

#ifndef UK_PREFETCHING
/* Where the first step asks: some rows on. */
static inline __attribute__((always_inline)) const element *row_ahead(const element *b, int64_t ldb,
                                                                      int64_t mr) {
    return b + (ldb * size % 2048 == 0 ? 8 : mr < 8 ? 48 : 16) * ldb;
}
#endif

/* clang-format off */
#ifdef UK_PREFETCHING
#define PREFETCH                                                                                                \
    "prefetcht1 (%[ahead])\n\t"                                                                                 \
    "prefetcht0 60(%[b], %[ldb], 8)\n\t"                                                                        \
    "prefetcht0 124(%[b], %[ldb], 8)\n\t"
#else
#define PREFETCH                                                                                                \
    "prefetcht0 60(%[ahead])\n\t"                                                                               \
    "prefetcht0 124(%[ahead])\n\t"
#endif
#define NEXT_B                                                                                                  \
    "add %[ldb], %[b]\n\t"                                                                                      \
    PREFETCH                                                                                                    \
    "add %[ldb], %[ahead]\n\t"
#define K_ITERATION(n) LOAD_B NEXT_B ROWS_IN_PLACE(n)
#define ADVANCE(iterations) ADVANCE_ROWS("$" BYTES "*" #iterations)

#define FULL_TILE(OUT)                                                                                          \
    __asm__ volatile(EACH_ROW(ZERO)                                                                             \
                     "test %[k], %[k]\n\t"                                                                      \
                     "jle 3f\n\t"                                                                               \
                     UNROLL_2(K_ITERATION(0), K_ITERATION(1), ADVANCE(-1), ADVANCE(2))                          \
                     "3:\n\t" EACH_ROW(OUT)                                                                     \
                     : MOVING, [ahead] "+&r"(ahead)                                                             \
                     : [lda] "r"(size * lda), [ldb] "r"(size * ldb), [ld] "r"(size * ldc)                       \
                     : CLOBBERS)
#define SOME_ROWS(LOAD)                                                                                         \
    __asm__ volatile(EDGE_TILE(LOAD NEXT_B "jmp *%[t]\n\t" ROWS_IN_PLACE(0) ADVANCE(1))                         \
                     : MOVING, [ahead] "+&r"(ahead), [t] "=&r"(t), [skip] "=&r"(skip)                           \
                     : [lda] "r"(size * lda), [ldb] "r"(size * ldb), [ld] "r"(size * ldc),                      \
                       [up] "r"(mr - 1), EDGE_MASKS                                                             \
                     : CLOBBERS)

static inline __attribute__((always_inline)) void edge_tile(int64_t k, const element *a, int64_t lda, const element *b,
                                                            int64_t ldb, element *c, int64_t ldc, int64_t acc,
                                                            int64_t mr, int64_t nr, const element *ahead) {
    ROW_POINTERS;
    const uint32_t columns = nr < UK_NR ? (1u << nr) - 1 : ~0u, old = acc ? columns : 0;
    int64_t t, skip;

    c += (mr - 1) * ldc;
    if (nr == UK_NR)
        SOME_ROWS(LOAD_B);
    else
        SOME_ROWS(LOAD_SOME_B);
}
/* clang-format on */

static inline __attribute__((always_inline)) void tile(int64_t k, const element *a, int64_t lda,
                                                       const element *b, int64_t ldb, element *c, int64_t ldc,
                                                       int64_t acc, int64_t mr, int64_t nr,
                                                       const element *ahead) {
    if (mr == 14 && nr == UK_NR) {
        ROW_POINTERS;

        if (acc)
            FULL_TILE(ADD_STORE);
        else
            FULL_TILE(STORE);
    } else {
        edge_tile(k, a, lda, b, ldb, c, ldc, acc, mr, nr, ahead);
    }
}

#ifdef UK_PREFETCHING
#define NAME(symbol) NAME_OF(symbol)
#define NAME_OF(symbol) symbol##_prefetching
void NAME(UK_SYMBOL)(int64_t k, const element *a, int64_t lda, const element *b, int64_t ldb, element *c,
                     int64_t ldc, int64_t acc, int64_t mr, int64_t nr, const element *s);
void NAME(UK_SYMBOL)(int64_t k, const element *a, int64_t lda, const element *b, int64_t ldb, element *c,
                     int64_t ldc, int64_t acc, int64_t mr, int64_t nr, const element *s) {
    tile(k, a, lda, b, ldb, c, ldc, acc, mr, nr, s);
}
#else
void UK_SYMBOL(int64_t k, const element *a, int64_t lda, const element *b, int64_t ldb, element *c,
               int64_t ldc, int64_t acc, int64_t mr, int64_t nr) {
    tile(k, a, lda, b, ldb, c, ldc, acc, mr, nr, row_ahead(b, ldb, mr));
}
#endif
