/* SPDX-License-Identifier: Apache-2.0 */
/*
 * 14 rows x 2 vectors of C, 32 floats or 16 doubles (UK_OP_d...), in 28 zmm registers, rows of A and rows of B
 * in place. What is read of B is also stored to the micro-panel d, which gemm_ra reads: the first row of tiles
 * packs B for the others while it computes (fused packing).
 *
 *                           b: zmm28 (vector 0)       zmm29 (vector 1)
 *     a: zmm30     row 0       zmm0                     zmm1
 *        zmm31     row 1       zmm2                     zmm3
 *        (alter-   ...         ...                      ...
 *        nating)   row 13      zmm26                    zmm27
 *
 * Four pointers (rows 0, 3, 5, 10) and the stride times 1, 2, 4, 8 reach all rows of A.
 *
 * Bound: 28 FMAs, 16 loads, 4 prefetches, 2 stores, 50 instructions per k iteration. At two 512-bit FMAs, two
 * loads and a store a cycle the FMAs take 14 cycles, the loads 10: 64 flop per cycle (32 of doubles), the peak.
 * This holds while a cache line of each row of A stays in L1 for the 16 k iterations (8 of doubles) that read
 * it, and B comes at 128 bytes in 14 cycles.
 *
 * B: its rows lie ldb apart, too far for the hardware prefetcher to see a stream. K iteration p prefetches the
 * lines in which the two vectors of row p + 5 end; lines beyond the last row are prefetched but never read. The
 * prefetch distance is small because rows 4 KB apart share sets of L1, which have 8 or 12 ways: more rows would
 * be evicted before they are read. Full tiles also prefetch row p + FAR into L2: memory answers in about the
 * time of so many k iterations. Tiles of few iterations prefetch row p of the next tile instead, as row p + FAR
 * would come too late for the first rows. Edge tiles prefetch row p + 9 only.
 *
 * Edges: the code of a k iteration begins with the last row, and a tile of mr rows jumps into each k iteration
 * at its last row. Columns that the tile does not have are masked out of the loads of B, which then cannot
 * fault; what is stored of them is 0. Where it has all columns the loads have no masks, as a load under a mask
 * takes an FMA port on Intel's cores.
 */
#include "registry/kernel_contract.h"
#include "tile_14_avx512.h"

enum { FAR = 32, SHORT = 4 * FAR };

/* clang-format off */
/* Stores the row of B in zmm28 and zmm29 to row n of the packed panel, and goes on to the next row of B. */
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
