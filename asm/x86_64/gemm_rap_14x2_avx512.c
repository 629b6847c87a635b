/* SPDX-License-Identifier: Apache-2.0 */
/*
 * 14 rows x 2 vectors of C, 32 floats or 16 doubles (UK_OP_d...), in 28 zmm registers, rows of A and rows of B in place;
 * what is read of B is also stored, as the panel d that gemm_ra reads: the first tile of rows packs B for the others,
 * while it computes.
 *
 *                           b: zmm28 (vector 0)       zmm29 (vector 1)
 *     a: zmm30     row 0       zmm0                     zmm1
 *        zmm31     row 1       zmm2                     zmm3
 *        (by       ...         ...                      ...
 *        turns)    row 13      zmm26                    zmm27
 *
 * Four pointers (rows 0, 3, 5, 10) and the stride times 1, 2, 4, 8 reach all rows of A.
 *
 * Bound: 28 FMAs, 16 loads, 4 prefetches, 2 stores, 50 instructions per k. At two 512-bit FMAs, two loads and a
 * store a cycle the FMAs take 14 cycles, the loads 10: 64 flop per cycle (32 of doubles), the peak. It holds while a
 * cache line of each row of A stays in the first cache for the 16 k (8 of doubles) it has, and B comes at 128 bytes in 14
 * cycles.
 *
 * B: its rows lie ldb apart, too far for the hardware to see a stream. Step p prefetches the lines that the
 * halves of row p + 5 end in; what lies behind the last row is only fetched, never read. The distance is
 * small because rows 4 KB apart share their sets of the first cache, 8 or 12 ways: more would fall out unread.
 * Full tiles prefetch row p + FAR into the second cache: memory answers in the time of about so many steps. Of few steps, for
 * whose first rows that would be too late, the next tile's row p. Edge tiles ask for row p + 9 only.
 *
 * Edges: rows are coded last row first, and a tile of mr rows enters each step, by a jump, at its last row.
 * Columns that the tile lacks are masked out of the loads of B, which then cannot fault; what is stored of them
 * is 0. Where it lacks none the loads have no masks, as those take a multiply-add's unit on Intel.
 */
#include "registry/kernel_contract.h"
#include "tile_14_avx512.h"

enum { FAR = 32, SHORT = 4 * FAR };

/* clang-format off */
/* A row of B is in zmm28 and zmm29: on to the next one, and to the panel, n rows on. */
#define NEXT_B(n, ahead)                                                                                        \
    "add %[ldb], %[b]\n\t"                                                                                      \
    "prefetcht0 60(%[b], %[ldb], " ahead ")\n\t"                                                                \
    "prefetcht0 124(%[b], %[ldb], " ahead ")\n\t"                                                               \
    "vmovu" P " %%zmm28, 128*" #n "(%[d])\n\t"                                                                  \
    "vmovu" P " %%zmm29, 64 + 128*" #n "(%[d])\n\t"
#define K_ITERATION(n)                                                                                          \
    LOAD_B                                                                                                      \
    "prefetcht1 60(%[b], %[far])\n\t"                                                                           \
    "prefetcht1 124(%[b], %[far])\n\t"                                                                          \
    NEXT_B(n, "4")                                                                                              \
    ROWS_IN_PLACE(n)
#define ADVANCE(iterations)                                                                                     \
    ADVANCE_ROWS("$" BYTES "*" #iterations)                                                                     \
    "add $128*" #iterations ", %[d]\n\t"

#define FULL_TILE(OUT)                                                                                          \
    __asm__ volatile(EACH_ROW(ZERO)                                                                             \
                     "test %[k], %[k]\n\t"                                                                      \
                     "jle 3f\n\t"                                                                               \
                     UNROLL_2(K_ITERATION(0), K_ITERATION(1), ADVANCE(-1), ADVANCE(2))                          \
                     "3:\n\t" EACH_ROW(OUT)                                                                     \
                     : MOVING, [d] "+&r"(d)                                                                     \
                     : [lda] "r"(size * lda), [ldb] "r"(size * ldb), [ld] "r"(size * ldc), [far] "r"(far) \
                     : CLOBBERS)
#define SOME_ROWS(LOAD)                                                                                         \
    __asm__ volatile(EDGE_TILE(LOAD NEXT_B(0, "8") "jmp *%[t]\n\t" ROWS_IN_PLACE(0) ADVANCE(1))                 \
                     : MOVING, [d] "+&r"(d), [t] "=&r"(t), [skip] "=&r"(skip)                                   \
                     : [lda] "r"(size * lda), [ldb] "r"(size * ldb), [ld] "r"(size * ldc),                      \
                       [up] "r"(mr - 1), EDGE_MASKS                                                             \
                     : CLOBBERS)

static inline __attribute__((always_inline)) void edge_tile(int64_t k, const element *a, int64_t lda, const element *b,
                                                            int64_t ldb, element *d, element *c, int64_t ldc, int64_t acc,
                                                            int64_t mr, int64_t nr) {
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

void UK_SYMBOL(int64_t k, const element *a, int64_t lda, const element *b, int64_t ldb, element *d,
               element *c, int64_t ldc, int64_t acc, int64_t mr, int64_t nr) {
    if (mr == 14 && nr == UK_NR) {
        ROW_POINTERS;
        const int64_t far = k > SHORT ? size * FAR * ldb : size * UK_NR;

        if (acc)
            FULL_TILE(ADD_STORE);
        else
            FULL_TILE(STORE);
    } else {
        edge_tile(k, a, lda, b, ldb, d, c, ldc, acc, mr, nr);
    }
}
