/* SPDX-License-Identifier: Apache-2.0 */
/*
 * 6 rows x 2 vectors of C, 16 floats or 8 doubles (UK_OP_d...), in twelve ymm registers, rows of A in place.
 *
 *                        b: ymm12 (vector 0)      ymm13 (vector 1)
 *     a: ymm14   row 0      c00                      c01
 *        ymm15   row 1      c10                      c11
 *        (alter- ...        ...                      ...
 *        nating) row 5      c50                      c51
 *
 * Bound: 12 FMAs, 8 loads, 24 instructions per k iteration. At two 256-bit FMAs and two loads a cycle the
 * FMAs take 6 cycles, the loads 4: 32 flop per cycle (16 of doubles), the peak. Twelve accumulators hide an
 * FMA latency of 4 cycles at two FMAs a cycle, for which eight would do.
 *
 * One index is added to six row pointers; the pointers of rows that a tile does not have point to row 0.
 *
 * C: its rows lie ldc apart, too far for the hardware prefetcher to see a stream, and they come from memory
 * once per block of k. They are prefetched for writing FROM_END k iterations before the end: A and B bring 44
 * KB of floats in 512 iterations, 56 KB of doubles, which is about all that L1 holds. Tiles of few iterations
 * do not prefetch C: they would have two loops, each of whose ends is hard to predict.
 *
 * UK_OP_sgemm_runs: rows of A that are several runs. The index goes on from run to run up to the end of each,
 * and the sums stay in registers. Before the last run the rows of C are prefetched for writing. Each k
 * iteration prefetches a line from `next` on into L2: 9 loads, still below the FMAs.
 *
 * Edges: tiles of up to 3 rows, or of up to a vector of columns, have loops of their own of 4 cycles per k
 * iteration, since each sum waits for the latency of an FMA; two partial sums for an element would round
 * differently from other tiles.
 */
#include <immintrin.h>
#include <stddef.h>
#include "registry/kernel_contract.h"
#include "../any/runs.h"
#include "tile_6x2_avx2.h"

/* Offsets in struct runs. */
#define TERMS "8"
#define A_ON "16"
#define B_ON "24"
#define NEXT_ON "40"
_Static_assert(offsetof(struct runs, runs) == 0 && offsetof(struct runs, terms) == 8 &&
                   offsetof(struct runs, a_on) == 16 && offsetof(struct runs, b_on) == 24 &&
                   offsetof(struct runs, next_on) == 40,
               "the offsets in the code are those of the fields");

/* clang-format off */
enum { FROM_END = 96 };

#define A(i, n) BYTES "*" #n "(%[a" #i "], %[p], " BYTES ")"
#define B(n)                                                                                              \
    "vmovups 64*" #n "(%[b]), %%ymm12\n\t"                                                                \
    "vmovups 32 + 64*" #n "(%[b]), %%ymm13\n\t"
#define NARROW_B(n) "vmovups 64*" #n "(%[b]), %%ymm12\n\t"

#define NEXT(iterations)                                                                                  \
    "add $64*" #iterations ", %[b]\n\t"                                                                   \
    "add $" #iterations ", %[p]\n\t"                                                                      \
    "jl 1b\n\t"
#define BACK "sub $64, %[b]\n\tdec %[p]\n\t"

/* The loop over k, not unrolled: up to index -late, then a prefetch of the rows of C, then to the end. */
#define LATE_LOOP(body)                                                                                   \
    "8:\n\t"                                                                                              \
    "mov %[late], %[until]\n\t"                                                                           \
    ".p2align 4\n"                                                                                        \
    "1:\n\t" body                                                                                         \
    "add $64, %[b]\n\t"                                                                                   \
    "add $1, %[p]\n\t"                                                                                    \
    "cmp %[until], %[p]\n\t"                                                                              \
    "jl 1b\n\t"                                                                                           \
    "test %[until], %[until]\n\t"                                                                         \
    "jz 3f\n\t"                                                                                           \
    FETCH_ROW FETCH_ROW FETCH_ROW FETCH_ROW FETCH_ROW FETCH_ROW                                           \
    "movq $0, %[late]\n\t"                                                                                \
    "jmp 8b\n\t"
/* The loops over runs and over k: index `until` is the end of a run. r points to struct runs, since an asm
 * statement has 30 operands at most in GCC. */
#define RUNS_LOOP(body)                                                                                   \
    "8:\n\t"                                                                                              \
    "cmpq $1, (%[r])\n\t"                                                                                 \
    "jne 1f\n\t"                                                                                          \
    FETCH_ROW FETCH_ROW FETCH_ROW FETCH_ROW FETCH_ROW FETCH_ROW                                           \
    ".p2align 4\n"                                                                                        \
    "1:\n\t" body                                                                                         \
    "prefetcht1 (%[next])\n\t"                                                                            \
    "add $64, %[next]\n\t"                                                                                \
    "add $64, %[b]\n\t"                                                                                   \
    "add $1, %[p]\n\t"                                                                                    \
    "cmp %[until], %[p]\n\t"                                                                              \
    "jl 1b\n\t"                                                                                           \
    "add " A_ON "(%[r]), %[p]\n\t"                                                                        \
    "add " A_ON "(%[r]), %[until]\n\t"                                                                    \
    "add " TERMS "(%[r]), %[until]\n\t"                                                                   \
    "add " B_ON "(%[r]), %[b]\n\t"                                                                        \
    "add " NEXT_ON "(%[r]), %[next]\n\t"                                                                  \
    "decq (%[r])\n\t"                                                                                     \
    "jnz 8b\n\t"
#define FETCH_ROW                                                                                         \
    "prefetchw (%[f])\n\t"                                                                                \
    "add %[ld], %[f]\n\t"

/* Further operands: C_ROWS of loops that prefetch C, NO_ROWS of the others. */
#define C_ROWS                                                                                            \
    , [f] "+&r"(f), [late] "+m"(late), [until] "=&r"(until)                                               \
    : [ld] "r"((int64_t)sizeof(element) * ldc),
#define RUNS_ROWS                                                                                         \
    , [f] "+&r"(f), [until] "+&r"(until), [next] "+&r"(r.next)                                            \
    : [r] "r"(&r), [ld] "r"((int64_t)sizeof(element) * ldc),
#define NO_ROWS :
/* Compares the index with its end. */
#ifdef UK_OP_sgemm_runs
#define AT_END "cmp %[until], %[p]\n\t"
#else
#define AT_END "test %[p], %[p]\n\t"
#endif
#define RUN(loop, rows)                                                                                   \
    __asm__ volatile(ZEROS                                                                                \
                     AT_END                                                                               \
                     "jge 3f\n\t"                                                                         \
                     loop                                                                                 \
                     "3:"                                                                                 \
                     : [b] "+&r"(b), [p] "+&r"(p), SUMS rows                                              \
                       [a0] "r"(a), [a1] "r"(a1), [a2] "r"(a2), [a3] "r"(a3), [a4] "r"(a4), [a5] "r"(a5)  \
                     : "ymm12", "ymm13", "ymm14", "ymm15", "cc", "memory")
/* clang-format on */

#ifdef UK_OP_sgemm_runs
void UK_SYMBOL(int64_t runs, int64_t k, const element *a, int64_t lda, int64_t lds, const element *b,
               int64_t ldb, element *c, int64_t ldc, int64_t acc, int64_t mr, int64_t nr, int64_t next) {
    const __m256i low = MASK(nr), high = MASK(nr - V);
    const element *f = c + nr - 1;
    struct runs r = {runs,    k,
                     lds - k, (int64_t)sizeof(element) * (ldb - UK_NR * k),
                     next,    (int64_t)sizeof(element) * ldb - 64 * k};
    int64_t p = runs > 0 ? 0 : k, until = k;
    vector c00, c01, c10, c11, c20, c21, c30, c31, c40, c41, c50, c51;

    ROW_POINTERS;
    if (nr <= V) {
        RUN(RUNS_LOOP(NARROW_B(0) NARROW_EVEN), RUNS_ROWS);
    } else if (mr <= 3) {
        RUN(RUNS_LOOP(B(0) SHORT_EVEN), RUNS_ROWS);
    } else {
        RUN(RUNS_LOOP(B(0) K_ITERATION), RUNS_ROWS);
    }
    store_tile(c, ldc, c00, c01, c10, c11, c20, c21, c30, c31, c40, c41, c50, c51, acc, mr, nr, low, high);
}
#else
void UK_SYMBOL(int64_t k, const element *a, int64_t lda, const element *b, element *c, int64_t ldc,
               int64_t acc, int64_t mr, int64_t nr) {
    const __m256i low = MASK(nr), high = MASK(nr - V);
    int64_t p = -k; /* the row pointers point to the rows' ends, index 0 */
    vector c00, c01, c10, c11, c20, c21, c30, c31, c40, c41, c50, c51;

    a += k;
    ROW_POINTERS;
    if (nr <= V) {
        RUN(PAIRS(NARROW_B(0) NARROW_EVEN, NARROW_B(1) NARROW_ODD), NO_ROWS);
    } else if (mr <= 3) {
        RUN(PAIRS(B(0) SHORT_EVEN, B(1) SHORT_ODD), NO_ROWS);
    } else {
        const element *f = c + nr - 1;
        int64_t late = k < 2 * FROM_END ? 0 : -FROM_END, until;

        RUN(LATE_LOOP(B(0) K_ITERATION), C_ROWS);
    }
    store_tile(c, ldc, c00, c01, c10, c11, c20, c21, c30, c31, c40, c41, c50, c51, acc, mr, nr, low, high);
}
#endif
