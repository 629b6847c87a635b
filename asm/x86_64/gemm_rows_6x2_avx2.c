/* SPDX-License-Identifier: Apache-2.0 */
/*
 * 6 rows x 2 vectors of C, 16 floats or 8 doubles (UK_DOUBLE), in twelve ymm registers, rows of B in place.
 * UK_OP_..._rab: rows of A in place. UK_OP_..._rap: the elements read of B are also stored to the micro-panel
 * d, which gemm_ra reads, so that the first row of tiles packs B for the others while it computes (fused
 * packing). UK_OP_..._sab: A in place by two strides, one for rows and one for k.
 *
 *                        b: ymm12 (vector 0)      ymm13 (vector 1)
 *     a: ymm14   row 0      c00                      c01
 *        ymm15   row 1      c10                      c11
 *        (alter- ...        ...                      ...
 *        nating) row 5      c50                      c51
 *
 * Bound: 12 FMAs, 8 loads, a prefetch, 24 instructions per k iteration (sab: 25; rap: 27, 2 of them stores).
 * At two 256-bit FMAs, two loads and a store a cycle the FMAs take 6 cycles, the loads 4.5: 32 flop per cycle
 * (16 of doubles), the peak. Twelve accumulators hide an FMA latency of 4 cycles at two FMAs a cycle, for
 * which eight would do.
 *
 * One index is added to six row pointers; the pointers of rows that a tile does not have point to row 0.
 *
 * B: its rows lie ldb apart, too far for the hardware prefetcher to see a stream. K iteration p prefetches
 * the line in which row p + 4 ends, or, of rap, p + 9; lines beyond the last row are prefetched but never
 * read. The prefetch distance is small because rows 4 KB apart share their sets of L1, 12 ways: more would be
 * evicted before they are read.
 *
 * Edges: tiles of up to 3 rows, or of up to a vector of columns, have loops of their own of 4 cycles per k
 * iteration, since each sum waits for the latency of an FMA; two partial sums for an element would round
 * differently from other tiles. Tiles with less than two vectors of columns load B under masks, and store 0
 * beyond them to a micro-panel.
 */
#include <immintrin.h>
#include "registry/kernel_contract.h"
#include "tile_6x2_avx2.h"

static const int64_t size = sizeof(element);

/* clang-format off */
#if defined UK_OP_sgemm_sab || defined UK_OP_dgemm_sab
#define A(i, n) "(%[a" #i "], %[at])"
#define NEXT_A "add %[csa], %[at]\n\t"
#define MOVING , [at] "+&r"(at)
#define STRIDE_OF_K [csa] "r"(size * csa),
#define FURTHER_STRIDE int64_t csa,
#define FIRST_INDEX 0
#else
#define A(i, n) BYTES "*" #n "(%[a" #i "], %[p], " BYTES ")"
#define NEXT_A
#define STRIDE_OF_K
#define FURTHER_STRIDE
#define FIRST_INDEX k /* the row pointers point to the rows' ends, index 0 */
#endif

/* Advances to the next row of B, and stores the one in ymm12 and ymm13 to a micro-panel. */
#if defined UK_OP_sgemm_rap || defined UK_OP_dgemm_rap
#define MOVING , [d] "+&r"(d)
#define PANEL element *d,
#define NEXT_B                                                 \
    "add %[ldb], %[b]\n\t"                                     \
    "prefetcht0 60(%[b], %[ldb], 8)\n\t"                       \
    "vmovu" P " %%ymm12, (%[d])\n\t"                           \
    "vmovu" P " %%ymm13, 32(%[d])\n\t"                         \
    "add $64, %[d]\n\t"
#define NO_SECOND "vxor" P " %%ymm13, %%ymm13, %%ymm13\n\t"
#else
#define PANEL
#define NEXT_B                                                 \
    "prefetcht0 60(%[b], %[ldb], 4)\n\t"                       \
    "add %[ldb], %[b]\n\t"
#define NO_SECOND
#endif
#ifndef MOVING
#define MOVING
#endif
#define B                                                      \
    "vmovu" P " (%[b]), %%ymm12\n\t"                           \
    "vmovu" P " 32(%[b]), %%ymm13\n\t" NEXT_B
#define EDGE_B                                                 \
    "vmovu" P " %[high], %%ymm13\n\t"                          \
    "vmovu" P " (%[b]), %%ymm12\n\t"                           \
    "vmaskmov" P " 32(%[b]), %%ymm13, %%ymm13\n\t" NEXT_B
#define NARROW_B                                               \
    "vmovu" P " %[low], %%ymm12\n\t"                           \
    "vmaskmov" P " (%[b]), %%ymm12, %%ymm12\n\t" NO_SECOND NEXT_B

#define NEXT(iterations)                 \
    "add $" #iterations ", %[p]\n\t"     \
    "jl 1b\n\t"
#define BACK "dec %[p]\n\t"
#define RUN(loop)                                                                                         \
    __asm__ volatile(ZEROS                                                                                \
                     "test %[p], %[p]\n\t"                                                                \
                     "jge 3f\n\t"                                                                         \
                     loop                                                                                 \
                     "3:"                                                                                 \
                     : [b] "+&r"(b), [p] "+&r"(p), SUMS MOVING                                            \
                     : [a0] "r"(a), [a1] "r"(a1), [a2] "r"(a2), [a3] "r"(a3), [a4] "r"(a4), [a5] "r"(a5), \
                       STRIDE_OF_K [ldb] "r"(size * ldb), [low] "m"(low), [high] "m"(high)                \
                     : "ymm12", "ymm13", "ymm14", "ymm15", "cc", "memory")
#define TWO(b, even, odd) RUN(PAIRS(b even NEXT_A, b odd NEXT_A))
/* clang-format on */

void UK_SYMBOL(int64_t k, const element *a, int64_t lda, FURTHER_STRIDE const element *b, int64_t ldb,
               PANEL element *c, int64_t ldc, int64_t acc, int64_t mr, int64_t nr) {
    const __m256i low = MASK(nr), high = MASK(nr - V);
    int64_t p = -k, at = 0;
    vector c00, c01, c10, c11, c20, c21, c30, c31, c40, c41, c50, c51;

    (void)at;
    a += FIRST_INDEX;
    ROW_POINTERS;
    if (nr <= V) {
        TWO(NARROW_B, NARROW_EVEN, NARROW_ODD);
    } else if (mr <= 3) {
        if (nr == NR)
            TWO(B, SHORT_EVEN, SHORT_ODD);
        else
            TWO(EDGE_B, SHORT_EVEN, SHORT_ODD);
    } else if (nr == NR) {
        RUN(LOOP(B K_ITERATION NEXT_A, 1));
    } else {
        RUN(LOOP(EDGE_B K_ITERATION NEXT_A, 1));
    }
    store_tile(c, ldc, c00, c01, c10, c11, c20, c21, c30, c31, c40, c41, c50, c51, acc, mr, nr, low, high);
}
