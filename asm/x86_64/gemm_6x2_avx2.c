/* SPDX-License-Identifier: Apache-2.0 */
/*
 * 6 rows x 2 vectors of C, 16 floats or 8 doubles (UK_OP_d...), in twelve ymm registers.
 *
 *                        b: ymm12 (vector 0)      ymm13 (vector 1)
 *     a: ymm14   row 0      c00                      c01
 *        ymm15   row 1      c10                      c11
 *        (alter- ...        ...                      ...
 *        nating) row 5      c50                      c51
 *
 * Bound: 12 FMAs, 8 loads, a prefetch, 25 instructions per k iteration. At two 256-bit FMAs and two loads a
 * cycle the FMAs take 6 cycles, the loads 4.5: 32 flop per cycle (16 of doubles), the peak. Twelve
 * accumulators hide an FMA latency of 4 cycles at two FMAs a cycle, for which eight would do.
 *
 * A: the micro-panel that the next row of tiles reads usually follows this one in memory, and is prefetched
 * into L2 by the first tile of a row: the hardware prefetcher would stop at the end of each page. Where
 * another one follows, or none, the prefetch has no effect on the result.
 *
 * Edges: tiles of up to 3 rows, or of up to a vector of columns, have loops of their own of 4 cycles per k
 * iteration, since each sum waits for the latency of an FMA; two partial sums for an element would round
 * differently from other tiles.
 */
#include <immintrin.h>
#include "registry/kernel_contract.h"
#include "tile_6x2_avx2.h"

/* clang-format off */
#define A(i, n) BYTES "*(" #i " + 6*" #n ")(%[a])"
#define B(n)                                                   \
    "vmovups 64*" #n "(%[b]), %%ymm12\n\t"                     \
    "vmovups 32 + 64*" #n "(%[b]), %%ymm13\n\t"
#define NARROW_B(n) "vmovups 64*" #n "(%[b]), %%ymm12\n\t"

#define FETCH_A "prefetcht1 (%[a], %[next])\n\t"

#define NEXT(iterations)                         \
    "add $" BYTES "*6*" #iterations ", %[a]\n\t" \
    "add $64*" #iterations ", %[b]\n\t"          \
    "sub $" #iterations ", %[p]\n\t"             \
    "jg 1b\n\t"
#define BACK "sub $" BYTES "*6, %[a]\n\tsub $64, %[b]\n\tinc %[p]\n\t"

#define RUN(loop)                                                                                         \
    __asm__ volatile(ZEROS                                                                                \
                     "test %[p], %[p]\n\t"                                                                \
                     "jle 3f\n\t"                                                                         \
                     loop                                                                                 \
                     "3:"                                                                                 \
                     : [a] "+&r"(a), [b] "+&r"(b), [p] "+&r"(k), SUMS                                     \
                     : [next] "r"(6 * (int64_t)sizeof(element) * k)                                       \
                     : "ymm12", "ymm13", "ymm14", "ymm15", "cc", "memory")
/* clang-format on */

void UK_SYMBOL(int64_t k, const element *a, const element *b, element *c, int64_t ldc, int64_t acc,
               int64_t mr, int64_t nr) {
    const __m256i low = MASK(nr), high = MASK(nr - V);
    vector c00, c01, c10, c11, c20, c21, c30, c31, c40, c41, c50, c51;

    if (nr <= V) {
        RUN(PAIRS(NARROW_B(0) NARROW_EVEN, NARROW_B(1) NARROW_ODD));
    } else if (mr <= 3) {
        RUN(PAIRS(B(0) SHORT_EVEN, B(1) SHORT_ODD));
    } else {
        RUN(LOOP(FETCH_A B(0) K_ITERATION, 1));
    }
    store_tile(c, ldc, c00, c01, c10, c11, c20, c21, c30, c31, c40, c41, c50, c51, acc, mr, nr, low, high);
}
