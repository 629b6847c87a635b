/* SPDX-License-Identifier: Apache-2.0 */
/*
 * 14 rows x UK_NR columns of C, two vectors or one of floats or doubles (UK_OP_d...), in zmm registers; A in
 * place by two strides, one for rows and one for k: a transposed matrix, weights of a convolution, or a
 * panel; rows of B in place.
 *
 *                           b: zmm28 (vector 0)       zmm29 (vector 1)
 *     a: zmm30     row 0       zmm0                     zmm1
 *        zmm31     row 1       zmm2                     zmm3
 *        (alter-   ...         ...                      ...
 *        nating)   row 13      zmm26                    zmm27
 *
 * With one vector only the first half of the tile exists, and its FMAs broadcast A from memory. Four pointers
 * (rows 0, 3, 5, 10) and the stride times 1, 2, 4, 8 reach all rows of A.
 *
 * Bound: two vectors take 28 FMAs, 16 loads, 2 prefetches, 54 instructions per k iteration. At two 512-bit
 * FMAs and two loads a cycle the FMAs take 14 cycles, the loads 9: 64 flop per cycle (32 of doubles), the
 * peak. One vector takes 14 FMAs and 15 loads: 7.5 cycles, 60 (30) flop per cycle. Two or three prefetches
 * more for a column-major A take 1.5 cycles of the load ports, or none where a third port takes them. The
 * bound holds while the elements of A of one k iteration (14 in up to 14 lines, lda apart) come from L1.
 *
 * B: its rows lie ldb apart, too far for the hardware prefetcher to see a stream. K iteration p prefetches
 * the lines in which the two vectors of row p + AHEAD end; lines beyond the last row are prefetched but never
 * read. L3 answers after some 200 cycles, 16 k iterations. Rows that lie a multiple of 2 KB apart share sets
 * of L1, which have 12 ways: more than 8 rows ahead would be evicted before they are read.
 *
 * A column-major (lda 1): the 14 elements of a k iteration are contiguous, in one line or two (three of
 * doubles), and those of the next iteration lie csa away. If they are not in L1 they hold up 14 loads at
 * once, so k iteration p prefetches those of p + 8. Rows of A are streams, which the hardware prefetches.
 *
 * C: its rows lie ldc apart, too far for the hardware prefetcher to see a stream, and they come from memory
 * once per block of k. The first 14 k iterations prefetch one row each for writing.
 *
 * Edges: the code of a k iteration begins with the last row, and a tile of mr rows jumps into each k
 * iteration at its last row. Columns that the tile does not have are masked out of the loads of B, which then
 * cannot fault. Where it has all columns the loads have no masks, as a load under a mask takes an FMA port on
 * Intel's cores.
 */
#include "registry/kernel_contract.h"
#include "tile_14_avx512.h"

/* The prefetch distance in rows of B, which depends on their stride. */
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
/* A column-major: prefetches the lines of k iteration p + 8. */
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
    __asm__ volatile(EDGE_TILE_WITH("mov %[ahead], %[skip]\n\t", LOAD NEXT_B("%[skip]") NEXT "jmp *%[t]\n\t" ROWS_IN_PLACE(0) ADVANCE, ) \
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
    const int64_t ahead = ahead_of(ldb), up = mr - 1; /* in memory, because no registers are left */
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
