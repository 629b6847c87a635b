/* SPDX-License-Identifier: Apache-2.0 */
/*
 * 6 rows x 16 columns of C in twelve ymm registers; A in place by two strides, one for rows and one for k; rows of B
 * in place.
 *
 *                        b: ymm12 (columns 0-7)   ymm13 (columns 8-15)
 *     a: ymm14   row 0      c00                      c01
 *        ymm15   row 1      c10                      c11
 *        (alter- ...        ...                      ...
 *        nating) row 5      c50                      c51
 *
 * Bound: 12 FMAs, 8 loads, a prefetch, 26 instructions per k iteration. At two 256-bit FMAs and two loads a
 * cycle the FMAs take 6 cycles, the loads 4.5: 32 flop per cycle, the peak. Twelve accumulators hide an FMA
 * latency of 4 cycles at two FMAs a cycle, for which eight would do.
 *
 * One index, which grows by csa, is added to six row pointers; the pointers of rows that a tile does not have
 * point to row 0.
 *
 * B: its rows lie ldb apart, too far for the hardware prefetcher to see a stream. K iteration p prefetches the
 * line in which row p + 4 ends; lines beyond the last row are prefetched but never read. Rows 4 KB apart share
 * their sets of L1, 12 ways: more would be evicted before they are read.
 *
 * Edges: tiles of up to 3 rows, or of up to 8 columns, have loops of their own of 4 cycles per k iteration,
 * since each sum waits for the latency of an FMA; two partial sums for an element would round differently from
 * other tiles. Tiles with less than 16 columns load B under masks.
 */
#include <immintrin.h>
#include "registry/kernel_contract.h"
#include "store_6x2_avx2.h"

/* clang-format off */
/* Row i of a k iteration, added to accumulators x and y by way of register t. */
#define ROW(i, t, x, y)                                     \
    "vbroadcastss (%[a" #i "], %[p]), %%" t "\n\t"  \
    "vfmadd231ps %%ymm12, %%" t ", %[" #x "]\n\t"              \
    "vfmadd231ps %%ymm13, %%" t ", %[" #y "]\n\t"
#define NARROW_ROW(i, t, x)                                 \
    "vbroadcastss (%[a" #i "], %[p]), %%" t "\n\t"  \
    "vfmadd231ps %%ymm12, %%" t ", %[" #x "]\n\t"
/* Loads a row of B, and goes on to the next. */
#define NEXT_B                                                 \
    "prefetcht0 60(%[b], %[ldb], 4)\n\t"                       \
    "add %[ldb], %[b]\n\t"
#define B                                                      \
    "vmovups (%[b]), %%ymm12\n\t"                              \
    "vmovups 32(%[b]), %%ymm13\n\t" NEXT_B
#define EDGE_B                                                 \
    "vmovups %[high], %%ymm13\n\t"                             \
    "vmovups (%[b]), %%ymm12\n\t"                              \
    "vmaskmovps 32(%[b]), %%ymm13, %%ymm13\n\t" NEXT_B
#define NARROW_B                                               \
    "vmovups %[low], %%ymm12\n\t"                              \
    "vmaskmovps (%[b]), %%ymm12, %%ymm12\n\t" NEXT_B

#define K_ITERATION                                                                                       \
    ROW(0, "ymm14", c00, c01) ROW(1, "ymm15", c10, c11) ROW(2, "ymm14", c20, c21)                \
    ROW(3, "ymm15", c30, c31) ROW(4, "ymm14", c40, c41) ROW(5, "ymm15", c50, c51)
#define SHORT_EVEN                                                                                        \
    ROW(0, "ymm14", c00, c01) ROW(1, "ymm15", c10, c11) ROW(2, "ymm14", c20, c21)
#define SHORT_ODD                                                                                         \
    ROW(0, "ymm15", c00, c01) ROW(1, "ymm14", c10, c11) ROW(2, "ymm15", c20, c21)
#define NARROW_EVEN                                                                                       \
    NARROW_ROW(0, "ymm14", c00) NARROW_ROW(1, "ymm15", c10) NARROW_ROW(2, "ymm14", c20)          \
    NARROW_ROW(3, "ymm15", c30) NARROW_ROW(4, "ymm14", c40) NARROW_ROW(5, "ymm15", c50)
#define NARROW_ODD                                                                                        \
    NARROW_ROW(0, "ymm14", c00) NARROW_ROW(1, "ymm15", c10) NARROW_ROW(2, "ymm14", c20)          \
    NARROW_ROW(3, "ymm15", c30) NARROW_ROW(4, "ymm14", c40) NARROW_ROW(5, "ymm15", c50)

#define NEXT_A "add %[csa], %[p]\n\t"
#define LOOP(body)                       \
    "1:\n\t" body NEXT_A                 \
    "dec %[k]\n\t"                       \
    "jnz 1b\n\t"
/* The loop over k, unrolled by two; an odd k enters in the middle. */
#define PAIRS(even, odd)                 \
    "test $1, %b[k]\n\t"                 \
    "jz 1f\n\t"                          \
    "inc %[k]\n\t"                       \
    "jmp 2f\n\t"                         \
    "1:\n\t" even NEXT_A                 \
    "2:\n\t" odd NEXT_A                  \
    "sub $2, %[k]\n\t"                   \
    "jnz 1b\n\t"

#define ZERO(x) "vxorps %[" #x "], %[" #x "], %[" #x "]\n\t"
#define RUN(loop)                                                                                         \
    __asm__ volatile(ZERO(c00) ZERO(c01) ZERO(c10) ZERO(c11) ZERO(c20) ZERO(c21)                          \
                     ZERO(c30) ZERO(c31) ZERO(c40) ZERO(c41) ZERO(c50) ZERO(c51)                          \
                     "test %[k], %[k]\n\t"                                                                \
                     "jle 3f\n\t"                                                                         \
                     loop                                                                                 \
                     "3:"                                                                                 \
                     : [k] "+&r"(k), [b] "+&r"(b), [p] "+&r"(p), [c00] "=&x"(c00), [c01] "=&x"(c01), \
                       [c10] "=&x"(c10), [c11] "=&x"(c11), [c20] "=&x"(c20), [c21] "=&x"(c21),            \
                       [c30] "=&x"(c30), [c31] "=&x"(c31), [c40] "=&x"(c40), [c41] "=&x"(c41),            \
                       [c50] "=&x"(c50), [c51] "=&x"(c51)                                                 \
                     : [a0] "r"(a), [a1] "r"(a1), [a2] "r"(a2), [a3] "r"(a3), [a4] "r"(a4), [a5] "r"(a5), \
                       [csa] "r"(4 * csa), [ldb] "r"(4 * ldb), [low] "m"(low), [high] "m"(high)                               \
                     : "ymm12", "ymm13", "ymm14", "ymm15", "cc", "memory")
/* clang-format on */

void uk_sgemm_sab_6x16_avx2_asm(int64_t k, const float *a, int64_t lda, int64_t csa, const float *b,
                                int64_t ldb, float *c, int64_t ldc, int64_t acc, int64_t mr, int64_t nr) {
    const __m256i low = MASK(nr), high = MASK(nr - V);
    const float *a1, *a2, *a3, *a4, *a5;
    int64_t p = 0;
    vector c00, c01, c10, c11, c20, c21, c30, c31, c40, c41, c50, c51;

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
        RUN(LOOP(B K_ITERATION));
    } else {
        RUN(LOOP(EDGE_B K_ITERATION));
    }
    store_tile(c, ldc, c00, c01, c10, c11, c20, c21, c30, c31, c40, c41, c50, c51, acc, mr, nr, low, high);
}
