/* SPDX-License-Identifier: Apache-2.0 */
/*
 * 6 rows x 2 vectors of C, 16 floats or 8 doubles (UK_OP_d...), in twelve ymm registers, rows of A and rows of
 * B in place. What is read of B is also stored to the micro-panel d, which gemm_ra reads: the first row of
 * tiles packs B for the others while it computes (fused packing).
 *
 *                        b: ymm12 (vector 0)      ymm13 (vector 1)
 *     a: ymm14   row 0      c00                      c01
 *        ymm15   row 1      c10                      c11
 *        (alter- ...        ...                      ...
 *        nating) row 5      c50                      c51
 *
 * Bound: 12 FMAs, 8 loads, a prefetch, 2 stores, 27 instructions per k iteration. At two 256-bit FMAs, two
 * loads and a store a cycle the FMAs take 6 cycles, the loads 4.5: 32 flop per cycle (16 of doubles), the peak.
 * Twelve accumulators hide an FMA latency of 4 cycles at two FMAs a cycle, for which eight would do.
 *
 * One index is added to six row pointers; the pointers of rows that a tile does not have point to row 0.
 *
 * B: its rows lie ldb apart, too far for the hardware prefetcher to see a stream. K iteration p prefetches the
 * line in which row p + 9 ends; lines beyond the last row are prefetched but never read.
 *
 * Edges: tiles of up to 3 rows, or of up to a vector of columns, have loops of their own of 4 cycles per k
 * iteration, since each sum waits for the latency of an FMA; two partial sums for an element would round
 * differently from other tiles. Tiles with less than two vectors of columns load B under masks, and store 0
 * beyond them.
 */
#include <immintrin.h>
#include "registry/kernel_contract.h"
#include "tile_6x2_avx2.h"

static const int64_t size = sizeof(element);

/* clang-format off */
#define A(i, n) BYTES "*" #n "(%[a" #i "], %[p], " BYTES ")"
/* Stores the row of B in ymm12 and ymm13 to the packed panel, and goes on to the next row of B. */
#define NEXT_B                                                 \
    "add %[ldb], %[b]\n\t"                                     \
    "prefetcht0 60(%[b], %[ldb], 8)\n\t"                       \
    "vmovu" P " %%ymm12, (%[d])\n\t"                              \
    "vmovu" P " %%ymm13, 32(%[d])\n\t"                            \
    "add $64, %[d]\n\t"
#define B                                                      \
    "vmovu" P " (%[b]), %%ymm12\n\t"                              \
    "vmovu" P " 32(%[b]), %%ymm13\n\t" NEXT_B
#define EDGE_B                                                 \
    "vmovu" P " %[high], %%ymm13\n\t"                             \
    "vmovu" P " (%[b]), %%ymm12\n\t"                              \
    "vmaskmov" P " 32(%[b]), %%ymm13, %%ymm13\n\t" NEXT_B
#define NARROW_B                                               \
    "vmovu" P " %[low], %%ymm12\n\t"                              \
    "vmaskmov" P " (%[b]), %%ymm12, %%ymm12\n\t"                  \
    "vxor" P " %%ymm13, %%ymm13, %%ymm13\n\t" NEXT_B

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
                     : [b] "+&r"(b), [d] "+&r"(d), [p] "+&r"(p), SUMS                                     \
                     : [a0] "r"(a), [a1] "r"(a1), [a2] "r"(a2), [a3] "r"(a3), [a4] "r"(a4), [a5] "r"(a5), \
                       [ldb] "r"(size * ldb), [low] "m"(low), [high] "m"(high)                            \
                     : "ymm12", "ymm13", "ymm14", "ymm15", "cc", "memory")
/* clang-format on */

void UK_SYMBOL(int64_t k, const element *a, int64_t lda, const element *b, int64_t ldb, element *d,
               element *c, int64_t ldc, int64_t acc, int64_t mr, int64_t nr) {
    const __m256i low = MASK(nr), high = MASK(nr - V);
    const element *a1, *a2, *a3, *a4, *a5;
    int64_t p = -k; /* the row pointers point to the rows' ends, index 0 */
    vector c00, c01, c10, c11, c20, c21, c30, c31, c40, c41, c50, c51;

    a += k;
    a1 = mr > 1 ? a + lda : a;
    a2 = mr > 2 ? a + 2 * lda : a;
    a3 = mr > 3 ? a + 3 * lda : a;
    a4 = mr > 4 ? a + 4 * lda : a;
    a5 = mr > 5 ? a + 5 * lda : a;
    if (nr <= V) {
        RUN(PAIRS(NARROW_B NARROW_EVEN, NARROW_B NARROW_ODD));
    } else if (mr <= 3) {
        if (nr == NR)
            RUN(PAIRS(B SHORT_EVEN, B SHORT_ODD));
        else
            RUN(PAIRS(EDGE_B SHORT_EVEN, EDGE_B SHORT_ODD));
    } else if (nr == NR) {
        RUN(LOOP(B K_ITERATION, 1));
    } else {
        RUN(LOOP(EDGE_B K_ITERATION, 1));
    }
    store_tile(c, ldc, c00, c01, c10, c11, c20, c21, c30, c31, c40, c41, c50, c51, acc, mr, nr, low, high);
}
