/* SPDX-License-Identifier: Apache-2.0 */
/*
 * 7 rows x 4 vectors of C, 64 floats or 32 doubles, in 28 zmm registers, for products of few rows. One text,
 * eight kernels: A and B in panels (UK_OP_sgemm, UK_OP_dgemm), rows of A in place (..._ra), rows of A and of
 * B in place (..._rab), rows of A in place that are several runs (UK_OP_sgemm_runs, ..._runs_rab).
 *
 *                          vector 0       1         2          3
 *                           b: zmm28      zmm29     zmm28      zmm29
 *     a: zmm30     row 0       zmm0       zmm1       zmm2       zmm3
 *        zmm31     row 1       zmm4       zmm5       zmm6       zmm7
 *        (alter-   ...         ...        ...        ...        ...
 *        nating)   row 6       zmm24      zmm25      zmm26      zmm27
 *
 * A k iteration multiplies the left half of the columns, then the right half: 28 accumulators leave no
 * registers for four vectors of b. The rows of A lie 1 to 6 times lda after one pointer; three registers
 * hold lda, 3 lda and 5 lda.
 *
 * Bound: 28 FMAs, 18 loads, 50 instructions per k iteration. At two 512-bit FMAs and two loads a cycle the
 * FMAs take 14 cycles, the loads 9 (11 with the prefetches): 64 flop per cycle (32 of doubles), the peak.
 * Each row of B is used for 7 rows of A only, so B is read at 18 bytes a cycle, as in any tile of 7 rows, but
 * in contiguous runs of 256 bytes, where a tile of 32 columns has runs of 128.
 *
 * B in place: its rows lie too far apart for the hardware prefetcher to see a stream. K iteration p
 * prefetches the lines in which the vectors of row p + AHEAD end; lines beyond the last row are prefetched
 * but never read. AHEAD is small because rows 4 KB apart share their sets of L1, 12 ways: more would be
 * evicted before they are read.
 *
 * Runs: the sums stay in registers from one run to the next. What moves the pointers there is in memory,
 * because a run is long enough to hide the loads. With B in panels each k iteration prefetches a line
 * into L2, which with the rows of A and B makes 19 loads.
 *
 * Edges: each number of rows has its own loop, of 2 cycles per row and k iteration, and of 4 at least, the
 * latency of an FMA. Up to two vectors of columns take the left half alone, at half the cost. Columns that
 * the tile does not have are masked out of the loads of B, which then cannot fault.
 */
#include "registry/kernel_contract.h"
#include "../any/runs.h"
#include "element_avx512.h"

enum { AHEAD = 4 };

/* clang-format off */
#define AT_0 "(%[a])"
#define AT_1 "(%[a], %[lda])"
#define AT_2 "(%[a], %[lda], 2)"
#define AT_3 "(%[a], %[x3])"
#define AT_4 "(%[a], %[lda], 4)"
#define AT_5 "(%[a], %[x5])"
#define AT_6 "(%[a], %[x3], 2)"
/* Row i: adds its products to accumulators x and y; register t holds the element of A. */
#define ROW(i, x, y, t)                                                                                     \
    "vbroadcast" S " " AT_##i ", %%zmm" #t "\n\t"                                                           \
    "vfmadd231" P " %%zmm28, %%zmm" #t ", %%zmm" #x "\n\t"                                                  \
    "vfmadd231" P " %%zmm29, %%zmm" #t ", %%zmm" #y "\n\t"
#define LEFT_1 ROW(0, 0, 1, 30)
#define LEFT_2 LEFT_1 ROW(1, 4, 5, 31)
#define LEFT_3 LEFT_2 ROW(2, 8, 9, 30)
#define LEFT_4 LEFT_3 ROW(3, 12, 13, 31)
#define LEFT_5 LEFT_4 ROW(4, 16, 17, 30)
#define LEFT_6 LEFT_5 ROW(5, 20, 21, 31)
#define LEFT_7 LEFT_6 ROW(6, 24, 25, 30)
#define RIGHT_1 ROW(0, 2, 3, 30)
#define RIGHT_2 RIGHT_1 ROW(1, 6, 7, 31)
#define RIGHT_3 RIGHT_2 ROW(2, 10, 11, 30)
#define RIGHT_4 RIGHT_3 ROW(3, 14, 15, 31)
#define RIGHT_5 RIGHT_4 ROW(4, 18, 19, 30)
#define RIGHT_6 RIGHT_5 ROW(5, 22, 23, 31)
#define RIGHT_7 RIGHT_6 ROW(6, 26, 27, 30)

/* F(accumulators of a row, address of that row of C) for n rows. */
#define EACH_ROW(F, n) EACH_ROW_##n(F)
#define EACH_ROW_1(F) F(0, 1, 2, 3, "(%[c])")
#define EACH_ROW_2(F) EACH_ROW_1(F) F(4, 5, 6, 7, "(%[c], %[ldc])")
#define EACH_ROW_3(F) EACH_ROW_2(F) F(8, 9, 10, 11, "(%[c], %[ldc], 2)")
#define EACH_ROW_4(F) EACH_ROW_3(F) F(12, 13, 14, 15, "(%[c], %[x3])")
#define EACH_ROW_5(F) EACH_ROW_4(F) F(16, 17, 18, 19, "(%[c], %[ldc], 4)")
#define EACH_ROW_6(F) EACH_ROW_5(F) F(20, 21, 22, 23, "(%[c], %[x5])")
#define EACH_ROW_7(F) EACH_ROW_6(F) F(24, 25, 26, 27, "(%[c], %[x3], 2)")

#define ZERO_2(x, y)                                                                                        \
    "vpxord %%zmm" #x ", %%zmm" #x ", %%zmm" #x "\n\t"                                                      \
    "vpxord %%zmm" #y ", %%zmm" #y ", %%zmm" #y "\n\t"
#define ADD_2(x, y, at, r, m, n)                                                                            \
    "vadd" P " " #at r ", %%zmm" #x ", %%zmm" #x m "\n\t"                                                   \
    "vadd" P " 64 + " #at r ", %%zmm" #y ", %%zmm" #y n "\n\t"
#define STORE_2(x, y, at, r, m, n)                                                                          \
    "vmovu" P " %%zmm" #x ", " #at r m "\n\t"                                                               \
    "vmovu" P " %%zmm" #y ", 64 + " #at r n "\n\t"

#define MASK(i) "%{%[m" #i "]%}"
#define LEFT_ZERO(x, y, z, w, r) ZERO_2(x, y)
#define LEFT_ADD(x, y, z, w, r) ADD_2(x, y, 0, r, MASK(0), MASK(1))
#define LEFT_STORE(x, y, z, w, r) STORE_2(x, y, 0, r, MASK(0), MASK(1))
#define WIDE_ZERO(x, y, z, w, r) ZERO_2(x, y) ZERO_2(z, w)
#define WIDE_ADD(x, y, z, w, r) ADD_2(x, y, 0, r, "", "") ADD_2(z, w, 128, r, MASK(2), MASK(3))
#define WIDE_STORE(x, y, z, w, r) STORE_2(x, y, 0, r, "", "") STORE_2(z, w, 128, r, MASK(2), MASK(3))
#define FULL_ZERO(x, y, z, w, r) WIDE_ZERO(x, y, z, w, r)
#define FULL_ADD(x, y, z, w, r) ADD_2(x, y, 0, r, "", "") ADD_2(z, w, 128, r, "", "")
#define FULL_STORE(x, y, z, w, r) STORE_2(x, y, 0, r, "", "") STORE_2(z, w, 128, r, "", "")

#if defined UK_OP_sgemm_rab || defined UK_OP_dgemm_rab || defined UK_OP_sgemm_runs_rab
#define PREFETCH_LEFT                                                                                       \
    "prefetcht0 60(%[b], %[ahead])\n\t"                                                                     \
    "prefetcht0 124(%[b], %[ahead])\n\t"
#define PREFETCH_RIGHT                                                                                      \
    "prefetcht0 188(%[b], %[ahead])\n\t"                                                                    \
    "prefetcht0 252(%[b], %[ahead])\n\t"
#else
#define PREFETCH_LEFT
#define PREFETCH_RIGHT
#endif
#ifdef UK_OP_sgemm_runs
#define PREFETCH_NEXT                                                                                       \
    "prefetcht1 (%[next])\n\t"                                                                              \
    "add $64, %[next]\n\t"
#define ADVANCE_NEXT "add %[next_on], %[next]\n\t"
#define NEXT_OUTPUTS [next] "+&r"(r.next),
#define FURTHER_INPUTS [next_on] "m"(r.next_on),
#else
#define PREFETCH_NEXT
#define ADVANCE_NEXT
#define NEXT_OUTPUTS
#define FURTHER_INPUTS [ahead] "r"(ahead),
#endif
#if defined UK_OP_sgemm_runs || defined UK_OP_sgemm_runs_rab
#define RUN_BEGIN "4:\n\t"
#define RUN_END                                                                                             \
    "add %[a_on], %[a]\n\t"                                                                                 \
    "add %[b_on], %[b]\n\t"                                                                                 \
    ADVANCE_NEXT                                                                                            \
    "mov %[terms], %[k]\n\t"                                                                                \
    "dec %[runs]\n\t"                                                                                       \
    "jnz 4b\n"
#define RUN_OUTPUTS [runs] "+&r"(r.runs), NEXT_OUTPUTS
#define RUN_INPUTS [terms] "m"(r.terms), [a_on] "m"(r.a_on), [b_on] "m"(r.b_on), FURTHER_INPUTS
#else
#define RUN_BEGIN
#define RUN_END
#define RUN_OUTPUTS
#define RUN_INPUTS FURTHER_INPUTS
#endif
#define B_LEFT(m, n)                                                                                        \
    "vmovu" P " (%[b]), %%zmm28" m "\n\t"                                                                   \
    "vmovu" P " 64(%[b]), %%zmm29" n "\n\t"
#define B_RIGHT(m, n)                                                                                       \
    "vmovu" P " 128(%[b]), %%zmm28" m "\n\t"                                                                \
    "vmovu" P " 192(%[b]), %%zmm29" n "\n\t"
#define LEFT_K_ITERATION(n) B_LEFT(MASK(0) "%{z%}", MASK(1) "%{z%}") PREFETCH_LEFT LEFT_##n
#define WIDE_K_ITERATION(n)                                                                                 \
    B_LEFT("", "") PREFETCH_LEFT LEFT_##n B_RIGHT(MASK(2) "%{z%}", MASK(3) "%{z%}") PREFETCH_RIGHT RIGHT_##n
#define FULL_K_ITERATION(n) B_LEFT("", "") PREFETCH_LEFT LEFT_##n B_RIGHT("", "") PREFETCH_RIGHT RIGHT_##n

/* A tile of n rows; F is FULL, WIDE (more than two vectors) or LEFT (up to two). Loads have masks only where
 * columns may be missing, because a masked load takes an FMA port on Intel's cores. x3 and x5 are 3 and 5
 * times lda in the loop, and 3 and 5 times ldc after it. */
#define TILE(F, n)                                                                                          \
    __asm__ volatile(EACH_ROW(F##_ZERO, n)                                                                  \
                     "test %[k], %[k]\n\t"                                                                  \
                     "jle 2f\n\t"                                                                           \
                     "lea (%[lda], %[lda], 2), %[x3]\n\t"                                                   \
                     "lea (%[lda], %[lda], 4), %[x5]\n\t"                                                   \
                     RUN_BEGIN                                                                              \
                     ".p2align 5\n"                                                                         \
                     "1:\n\t" PREFETCH_NEXT F##_K_ITERATION(n)                                              \
                     "add %[a_step], %[a]\n\t"                                                              \
                     "add %[b_step], %[b]\n\t"                                                              \
                     "dec %[k]\n\t"                                                                         \
                     "jnz 1b\n\t"                                                                           \
                     RUN_END                                                                                \
                     "2:\n\t"                                                                               \
                     "lea (%[ldc], %[ldc], 2), %[x3]\n\t"                                                   \
                     "lea (%[ldc], %[ldc], 4), %[x5]\n\t"                                                   \
                     "test %[acc], %[acc]\n\t"                                                              \
                     "jz 3f\n\t"                                                                            \
                     EACH_ROW(F##_ADD, n)                                                                   \
                     "3:\n\t"                                                                               \
                     EACH_ROW(F##_STORE, n)                                                                 \
                     : RUN_OUTPUTS                                                                          \
                       [k] "+&r"(k), [a] "+&r"(a), [b] "+&r"(b), [x3] "=&r"(three), [x5] "=&r"(five)        \
                     : RUN_INPUTS                                                                           \
                       [lda] "r"(lda), [a_step] "re"(a_step), [b_step] "re"(b_step),                        \
                       [c] "r"(c), [ldc] "r"(ldc), [acc] "r"(acc),                                          \
                       [m0] "Yk"(m0), [m1] "Yk"(m1), [m2] "Yk"(m2), [m3] "Yk"(m3)                           \
                     : "memory", "cc", "zmm0", "zmm1", "zmm2", "zmm3", "zmm4", "zmm5", "zmm6", "zmm7",      \
                       "zmm8", "zmm9", "zmm10", "zmm11", "zmm12", "zmm13", "zmm14", "zmm15", "zmm16",       \
                       "zmm17", "zmm18", "zmm19", "zmm20", "zmm21", "zmm22", "zmm23", "zmm24", "zmm25",     \
                       "zmm26", "zmm27", "zmm28", "zmm29", "zmm30", "zmm31")

#define ROWS(F)                                                                                             \
    switch (mr) {                                                                                           \
    case 1: TILE(F, 1); break;                                                                              \
    case 2: TILE(F, 2); break;                                                                              \
    case 3: TILE(F, 3); break;                                                                              \
    case 4: TILE(F, 4); break;                                                                              \
    case 5: TILE(F, 5); break;                                                                              \
    case 6: TILE(F, 6); break;                                                                              \
    default: TILE(F, 7); break;                                                                             \
    }
/* clang-format on */

/* lda, ldc and the strides along k are in bytes; k is that of a run, or 0 without runs. */
static inline __attribute__((always_inline)) void tile(int64_t k, const element *a, int64_t lda,
                                                       int64_t a_step, const element *b, int64_t b_step,
                                                       element *c, int64_t ldc, int64_t acc, int64_t mr,
                                                       int64_t nr, struct runs r) {
    const uint64_t columns = nr < 64 ? ((uint64_t)1 << nr) - 1 : ~(uint64_t)0;
    const uint16_t m0 = (uint16_t)columns, m1 = (uint16_t)(columns >> V), m2 = (uint16_t)(columns >> 2 * V),
                   m3 = (uint16_t)(columns >> 3 * V);
    const int64_t ahead = AHEAD * b_step;
    int64_t three, five;

    (void)ahead;
    (void)r;
    if (nr == 4 * V)
        ROWS(FULL)
    else if (nr > 2 * V)
        ROWS(WIDE)
    else
        ROWS(LEFT)
}

#if defined UK_OP_sgemm || defined UK_OP_dgemm
void UK_SYMBOL(int64_t k, const element *a, const element *b, element *c, int64_t ldc, int64_t acc,
               int64_t mr, int64_t nr) {
    tile(k, a, size, 7 * size, b, 256, c, size * ldc, acc, mr, nr, (struct runs){0});
}
#elif defined UK_OP_sgemm_ra || defined UK_OP_dgemm_ra
void UK_SYMBOL(int64_t k, const element *a, int64_t lda, const element *b, element *c, int64_t ldc,
               int64_t acc, int64_t mr, int64_t nr) {
    tile(k, a, size * lda, size, b, 256, c, size * ldc, acc, mr, nr, (struct runs){0});
}
#elif defined UK_OP_sgemm_runs
void UK_SYMBOL(int64_t runs, int64_t k, const element *a, int64_t lda, int64_t lds, const element *b,
               int64_t ldb, element *c, int64_t ldc, int64_t acc, int64_t mr, int64_t nr, int64_t next) {
    const struct runs r = {runs, k, size * (lds - k), size * ldb - 256 * k, next, size * ldb - 64 * k};

    tile(runs > 0 ? k : 0, a, size * lda, size, b, 256, c, size * ldc, acc, mr, nr, r);
}
#elif defined UK_OP_sgemm_runs_rab
void UK_SYMBOL(int64_t runs, int64_t k, const element *a, int64_t lda, int64_t lds, const element *b,
               int64_t ldb, int64_t ldt, element *c, int64_t ldc, int64_t acc, int64_t mr, int64_t nr) {
    const struct runs r = {runs, k, size * (lds - k), size * (ldt - k * ldb), 0, 0};

    tile(runs > 0 ? k : 0, a, size * lda, size, b, size * ldb, c, size * ldc, acc, mr, nr, r);
}
#elif defined UK_OP_sgemm_rab || defined UK_OP_dgemm_rab
void UK_SYMBOL(int64_t k, const element *a, int64_t lda, const element *b, int64_t ldb, element *c,
               int64_t ldc, int64_t acc, int64_t mr, int64_t nr) {
    tile(k, a, size * lda, size, b, size * ldb, c, size * ldc, acc, mr, nr, (struct runs){0});
}
#endif
