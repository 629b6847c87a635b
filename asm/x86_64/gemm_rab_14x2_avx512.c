/* SPDX-License-Identifier: Apache-2.0 */
/*
 * 14 rows x 2 vectors of C, 32 floats or 16 doubles (UK_OP_d...), in 28 zmm registers, rows of A and rows of B in place.
 *
 *                           b: zmm28 (vector 0)       zmm29 (vector 1)
 *     a: zmm30     row 0       zmm0                     zmm1
 *        zmm31     row 1       zmm2                     zmm3
 *        (alter-   ...         ...                      ...
 *        nating)   row 13      zmm26                    zmm27
 *
 * Four pointers (rows 0, 3, 5, 10) and the stride times 1, 2, 4, 8 reach all rows of A.
 *
 * Bound: 28 FMAs, 16 loads, 2 prefetches, 46 instructions per k iteration. At two 512-bit FMAs and two loads a
 * cycle the FMAs take 14 cycles, the loads 9: 64 flop per cycle (32 of doubles), the peak. This holds while a
 * cache line of each row of A stays in L1 for the 16 k iterations (8 of doubles) that read it.
 *
 * B: its rows lie ldb apart, too far for the hardware prefetcher to see a stream. K iteration p prefetches the
 * lines in which the two vectors of row p + AHEAD end; lines beyond the last row are prefetched but never read.
 * L3 answers after some 200 cycles, in which a tile of few rows of A reads 16 to 48 rows of B. Rows of B that
 * lie a multiple of 2 KB apart share sets of L1, which have 12 ways: more than 8 rows ahead would be evicted
 * before they are read.
 *
 * Edges: the code of a k iteration begins with the last row, and a tile of mr rows jumps into each k iteration
 * at its last row. Columns that the tile does not have are masked out of the loads of B, which then cannot
 * fault; where it has all columns the loads have no masks, as a load under a mask takes an FMA port on Intel's
 * cores.
 *
 * UK_PREFETCHING: a second form, for a B that is usually in L2, for which a prefetch distance of 8 rows is
 * enough; it also prefetches other columns of B, a line of each row, into L2. That leaves 9 of 28 load slots
 * free, in tiles of 7 rows 2 of 14.
 */
#include "registry/kernel_contract.h"
#include "tile_14_avx512.h"

#ifndef UK_PREFETCHING
/* What the first k iteration prefetches: the prefetch distance in rows. */
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
