/* SPDX-License-Identifier: Apache-2.0 */
/*
 * 8 rows x 3 vectors of C, 24 accumulators in 32 registers: 8 x 12 floats or 8 x 6 doubles (UK_OP_dgemm).
 *
 *                            b: v4 v5 v6 v7 alternating
 *                        column 0     column 1     column 2
 *     a: v0 v1   row 0     v8           v16          v24      floats: a of even k iterations in v0 v1,
 *        v2 v3   row 1     v9           v17          v25        of odd ones in v2 v3; doubles: a in v0 .. v3
 *                ...       ...          ...          ...
 *                row 7     v15          v23          v31
 *
 * fmla by lane multiplies a vector of b with one element of a, so that nothing is broadcast. A k iteration
 * loads 5 registers for 24 fmla (7 of doubles), the fewest among the tiles that leave registers for early
 * loads. 6 x 4 vectors (gemm_6x4_neon.c) loads 5.5 and suits widths of 16.
 *
 * Order. A k iteration goes column by column: 8 fmla share a vector of b, whose register is then free. What
 * is loaded into it is used 16 fmla later, and a of floats 24 later, so that cores that issue in order do not
 * wait either; a of doubles has no second set of registers and is used 4 fmla after its load. The loop is
 * unrolled by eight k iterations: 192 fmla, 20 loads of pairs (28), 4 prefetches (8), 2 instructions of the
 * loop: 0.88 of the instructions multiply (0.83: a register of doubles feeds half as many fmla, and 28 pairs
 * allow 0.865 at most. ld1 of four registers would take 14 loads, whose results would be used at once).
 *
 * Bound. Cortex-A76, Neoverse N1: two 128-bit FMAs a cycle, 12 cycles a k iteration; two loads and four
 * instructions a cycle are enough for 5 (7) and 27 (29). Neoverse V1: four FMAs, 6 cycles; 24 accumulators
 * hide its latency of 4 cycles, of which the accumulator's input sees 2. Cortex-A53, A55: one a cycle, 24
 * cycles a k iteration; a load of a 128-bit register takes both of their slots for two cycles, 10 (14) cycles
 * more: 0.71 of the peak (0.63). No load stands right before the use of its value.
 *
 * asm_a53, asm_a55: a register is loaded in three parts, by ldr d, ldr x and ins. Cortex-A55 issues each of
 * them together with an fmla: 24 cycles a k iteration. Cortex-A53 issues ldr x together with an fmla, but ldr
 * d only with an ins, which takes a cycle for both: 29 cycles, 0.83 of the peak. (ncnn's guide for these
 * cores states this, and ARM's Compute Library has a kernel for each; LLVM's models of both cores do not have
 * it.) Each part of an iteration's 5 registers goes with half a column of the iteration before. Other cores
 * would issue 40 instead of 27 instructions for an iteration.
 *
 * A: the micro-panel that the next row of tiles reads, which usually follows this one in memory, is
 * prefetched into L2. B is one stream, which the hardware prefetches. C's rows are prefetched at the
 * beginning.
 *
 * Edges. Tiles of up to 4 rows take half of the fmla. The last vector of nr >= V columns begins at column nr
 * - V, of B and of C: it computes some columns again, with the same sums, so that nothing outside the tile is
 * touched. Fewer than V columns are stored one by one.
 */
#include "../any/gemm_neon.h"

enum { MR = 8, NR = 3 * V };
#if defined UK_IMPL_asm_a53 || defined UK_IMPL_asm_a55
#define IN_ORDER 1
#endif
#if UK_DOUBLE
#define T "2d"
#define E "d"
#else
#define T "4s"
#define E "s"
#endif

/* clang-format off */
#define FMLA(c, b, a, lane) "fmla v" #c "." T ", v" #b "." T ", v" #a "." E "[" #lane "]\n\t"
#define LOAD(x, y, at) "ldp q" #x ", q" #y ", " at "\n\t"
#define FETCH(i) "prfm pldl2keep, [%[a], %[next" #i "]]\n\t"
#define NO

/* A column: a vector of B times 8 elements of A; the last arguments are loads to interleave. */
#if UK_DOUBLE
#define UPPER_HALF(b, a, a_, c0, c1, c2, c3) FMLA(c0, b, a, 0) FMLA(c1, b, a, 1) FMLA(c2, b, a_, 0) FMLA(c3, b, a_, 1)
#define COLUMN(b, odd, c0, c1, c2, c3, c4, c5, c6, c7, early, late)                                        \
    UPPER_HALF(b, 0, 1, c0, c1, c2, c3) early UPPER_HALF(b, 2, 3, c4, c5, c6, c7) late
#else
#define UPPER_HALF(b, a, a_, c0, c1, c2, c3) FMLA(c0, b, a, 0) FMLA(c1, b, a, 1) FMLA(c2, b, a, 2) FMLA(c3, b, a, 3)
#define COLUMN_even(b, c0, c1, c2, c3, c4, c5, c6, c7, early, late)                                        \
    UPPER_HALF(b, 0, 1, c0, c1, c2, c3) early UPPER_HALF(b, 1, 1, c4, c5, c6, c7) late
#define COLUMN_odd(b, c0, c1, c2, c3, c4, c5, c6, c7, early, late)                                         \
    UPPER_HALF(b, 2, 1, c0, c1, c2, c3) early UPPER_HALF(b, 3, 1, c4, c5, c6, c7) late
#define COLUMN(b, odd, ...) COLUMN_##odd(b, __VA_ARGS__)
#endif
#define COLUMN0(b, odd, early, late) COLUMN(b, odd, 8, 9, 10, 11, 12, 13, 14, 15, early, late)
#define COLUMN1(b, odd, early, late) COLUMN(b, odd, 16, 17, 18, 19, 20, 21, 22, 23, early, late)
#define COLUMN2(b, odd, early, late) COLUMN(b, odd, 24, 25, 26, 27, 28, 29, 30, 31, early, late)

#ifdef IN_ORDER
/* Half a column, and a part of a register's load for the next k iteration: LOWER_PART loads its lower half,
 * UPPER_PART its upper half into %[x], and MOVE puts %[x] into the register. MOVE belongs to the half column
 * of the next load. */
#define LOWER_PART(q, at) "ldr d" #q ", [" at "]\n\t"
#define UPPER_PART(at) "ldr %[x], [" at " + 8]\n\t"
#define A_AT "%[a], #"
#define B_AT "%[b], #"
#define MOVE(q) "ins v" #q ".d[1], %[x]\n\t"
#ifdef UK_IMPL_asm_a53
#define HALF(b, a, c0, c1, c2, c3, waiting, q, at)                                                   \
    FMLA(c0, b, a, 0) LOWER_PART(q, at) MOVE(waiting)                                                \
    FMLA(c1, b, a, 1) UPPER_PART(at) FMLA(c2, b, a, 2) FMLA(c3, b, a, 3)
#else
#define HALF(b, a, c0, c1, c2, c3, waiting, q, at)                                                   \
    FMLA(c0, b, a, 0) LOWER_PART(q, at) FMLA(c1, b, a, 1) MOVE(waiting)                              \
    FMLA(c2, b, a, 2) UPPER_PART(at) FMLA(c3, b, a, 3)
#endif
/* A k iteration with its columns of b in b0, b1, b2. For the next one it loads b into n0, n1, n2 and a into
 * m, m_. `waiting` is the register that lacks its upper half at the beginning, as n2 does at the end. */
#define K_ITERATION(b0, b1, b2, a, a_, waiting, n0, n1, n2, m, m_, at_a, at_b, then)                       \
    HALF(b0, a, 8, 9, 10, 11, waiting, n0, at_b) HALF(b0, a_, 12, 13, 14, 15, n0, m, at_a)           \
    HALF(b1, a, 16, 17, 18, 19, m, n1, at_b " + 16") HALF(b1, a_, 20, 21, 22, 23, n1, m_, at_a " + 16") \
    HALF(b2, a, 24, 25, 26, 27, m_, n2, at_b " + 32")                                                   \
    FMLA(28, b2, a_, 0) then FMLA(29, b2, a_, 1) FMLA(30, b2, a_, 2) FMLA(31, b2, a_, 3)
#define LAST_K_ITERATION                                                                                   \
    MOVE(7) COLUMN0(5, odd, NO, NO) COLUMN1(6, odd, NO, NO) COLUMN2(7, odd, NO, NO)
#define AHEAD_A "32"
#define AHEAD_B "48"
#define FIRST                                                                                              \
    LOAD(0, 1, "[%[a]], #32") LOAD(4, 5, "[%[b]], #48") LOWER_PART(6, B_AT "-16") UPPER_PART(B_AT "-16")
#define THREE                                                                                              \
    K_ITERATION(4, 5, 6, 0, 1, 6, 7, 4, 5, 2, 3, A_AT "0", B_AT "0", FETCH(0))                                       \
    K_ITERATION(7, 4, 5, 2, 3, 5, 6, 7, 4, 0, 1, A_AT "32", B_AT "48", NO)                                           \
    K_ITERATION(6, 7, 4, 0, 1, 4, 5, 6, 7, 2, 3, A_AT "64", B_AT "96", FETCH(1))
#define MOVE_ON "add %[a], %[a], #128\n\tadd %[b], %[b], #192\n\t"
#define FOUR THREE K_ITERATION(5, 6, 7, 2, 3, 7, 4, 5, 6, 0, 1, A_AT "96", B_AT "144", MOVE_ON)
#define LAST_FOUR THREE LAST_K_ITERATION MOVE_ON
#else
/* Four k iterations. The first load of each operand moves its pointer by four iterations; the pointers are 64
 * bytes ahead, which FIRST has loaded. The arguments load elements of the next four. */
#define FIRST                                                                                              \
    LOAD(0, 1, "[%[a]], #32") LOAD(4, 5, "[%[b]], #32") LOAD(6, 7, "[%[b]], #32") LOAD(2, 3, "[%[a]], #32")
#define AHEAD_A "64"
#define AHEAD_B "64"
#if UK_DOUBLE
#define QUARTET(b0, b1, a0, a1)                                                                            \
    COLUMN0(4, even, FETCH(0), NO)                                                                         \
    COLUMN1(5, even, NO, LOAD(4, 5, "[%[b]], #192"))                                                       \
    COLUMN2(6, even, LOAD(0, 1, "[%[a]], #256"), LOAD(2, 3, "[%[a], #-224]"))                              \
    COLUMN0(7, odd, FETCH(1), LOAD(6, 7, "[%[b], #-160]"))                                                 \
    COLUMN1(4, odd, NO, NO)                                                                                \
    COLUMN2(5, odd, LOAD(0, 1, "[%[a], #-192]"), LOAD(2, 3, "[%[a], #-160]") LOAD(4, 5, "[%[b], #-128]"))  \
    COLUMN0(6, even, FETCH(2), NO)                                                                         \
    COLUMN1(7, even, NO, LOAD(6, 7, "[%[b], #-96]"))                                                       \
    COLUMN2(4, even, LOAD(0, 1, "[%[a], #-128]"), LOAD(2, 3, "[%[a], #-96]"))                              \
    COLUMN0(5, odd, FETCH(3), b0)                                                                          \
    COLUMN1(6, odd, NO, NO)                                                                                \
    COLUMN2(7, odd, a0, a1 b1)
#else
#define QUARTET(b0, b1, a0, a1)                                                                            \
    COLUMN0(4, even, FETCH(0), NO)                                                                         \
    COLUMN1(5, even, NO, LOAD(4, 5, "[%[b]], #192"))                                                       \
    COLUMN2(6, even, NO, LOAD(0, 1, "[%[a]], #128"))                                                       \
    COLUMN0(7, odd, NO, LOAD(6, 7, "[%[b], #-160]"))                                                       \
    COLUMN1(4, odd, NO, NO)                                                                                \
    COLUMN2(5, odd, NO, LOAD(2, 3, "[%[a], #-96]") LOAD(4, 5, "[%[b], #-128]"))                            \
    COLUMN0(6, even, FETCH(1), NO)                                                                         \
    COLUMN1(7, even, NO, LOAD(6, 7, "[%[b], #-96]"))                                                       \
    COLUMN2(4, even, NO, a0)                                                                               \
    COLUMN0(5, odd, NO, b0)                                                                                \
    COLUMN1(6, odd, NO, NO)                                                                                \
    COLUMN2(7, odd, NO, a1 b1)
#endif
#define FOUR                                                                                               \
    QUARTET(LOAD(4, 5, "[%[b], #-64]"), LOAD(6, 7, "[%[b], #-32]"), LOAD(0, 1, "[%[a], #-64]"),            \
            LOAD(2, 3, "[%[a], #-32]"))
#define LAST_FOUR QUARTET(NO, NO, NO, NO)
#endif

/* One k iteration; the last vector of B is at `last`. */
#if UK_DOUBLE
#define A_8 LOAD(0, 1, "[%[a]], #64") LOAD(2, 3, "[%[a], #-32]")
#define A_4 LOAD(0, 1, "[%[a]], #64")
#else
#define A_8 LOAD(0, 1, "[%[a]], #32")
#define A_4 "ldr q0, [%[a]], #32\n\t"
#endif
#define LAST_B(x) "ldr q" #x ", [%[last]], #48\n\t"
#define B_3 LOAD(4, 5, "[%[b]], #48") LAST_B(6)
#define B_2 "ldr q4, [%[b]], #48\n\t" LAST_B(5)
#define K_ITERATION_8x1 A_8 LAST_B(4) COLUMN0(4, even, NO, NO)
#define K_ITERATION_8x2 A_8 B_2 COLUMN0(4, even, NO, NO) COLUMN1(5, even, NO, NO)
#define K_ITERATION_8x3 A_8 B_3 COLUMN0(4, even, NO, NO) COLUMN1(5, even, NO, NO) COLUMN2(6, even, NO, NO)
#define K_ITERATION_4x1 A_4 LAST_B(4) UPPER_HALF(4, 0, 1, 8, 9, 10, 11)
#define K_ITERATION_4x2 A_4 B_2 UPPER_HALF(4, 0, 1, 8, 9, 10, 11) UPPER_HALF(5, 0, 1, 16, 17, 18, 19)
#define K_ITERATION_4x3                                                                                    \
    A_4 B_3 UPPER_HALF(4, 0, 1, 8, 9, 10, 11) UPPER_HALF(5, 0, 1, 16, 17, 18, 19)                          \
    UPPER_HALF(6, 0, 1, 24, 25, 26, 27)
#define LOOP(label, k_iteration)                                                                           \
    #label ":\n\t" k_iteration                                                                             \
    "subs %[k], %[k], #1\n\t"                                                                              \
    "b.ne " #label "b\n\t"

#define EACH_ROW(F) F(8, 16, 24) F(9, 17, 25) F(10, 18, 26) F(11, 19, 27) F(12, 20, 28) F(13, 21, 29) F(14, 22, 30) F(15, 23, 31)
#define ZERO(x, y, z) "movi v" #x ".2d, #0\n\tmovi v" #y ".2d, #0\n\tmovi v" #z ".2d, #0\n\t"
#define FETCH_C(x, y, z)                                                                                   \
    "prfm pstl1keep, [%[t]]\n\t"                                                                           \
    "prfm pstl1keep, [%[t], #40]\n\t"                                                                      \
    "add %[t], %[t], %[ld]\n\t"
#define ADD(x, y, z)                                                                                       \
    "ldp q0, q1, [%[t]]\n\t"                                                                               \
    "ldr q2, [%[t], #32]\n\t"                                                                              \
    "fadd v" #x "." T ", v" #x "." T ", v0." T "\n\t"                                                      \
    "fadd v" #y "." T ", v" #y "." T ", v1." T "\n\t"                                                      \
    "fadd v" #z "." T ", v" #z "." T ", v2." T "\n\t"                                                      \
    "add %[t], %[t], %[ld]\n\t"
#define STORE(x, y, z)                                                                                     \
    "stp q" #x ", q" #y ", [%[c]]\n\t"                                                                     \
    "str q" #z ", [%[c], #32]\n\t"                                                                         \
    "add %[c], %[c], %[ld]\n\t"

/* The distance from `a` to the next micro-panel's lines at the time of the prefetch. */
#if UK_DOUBLE
#define FETCHES(panel)                                                                                     \
    [next0] "r"(panel - 64), [next1] "r"(panel - 256), [next2] "r"(panel - 192), [next3] "r"(panel - 128)
#elif defined IN_ORDER
#define FETCHES(panel) [next0] "r"(panel - 32), [next1] "r"(panel + 32)
#else
#define FETCHES(panel) [next0] "r"(panel - 64), [next1] "r"(panel - 128)
#endif
#ifdef IN_ORDER
#define SPARE , [x] "=&r"(spare)
#else
#define SPARE
#endif
#define CLOBBERS                                                                                           \
    "memory", "cc", "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v12",       \
    "v13", "v14", "v15", "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v24", "v25", "v26",      \
    "v27", "v28", "v29", "v30", "v31"

static inline __attribute__((always_inline)) void full_tile(int64_t k, const real *a, const real *b, real *c,
                                                            int64_t ldc, int64_t acc) {
    const int64_t panel = MR * size * k;
    const real *last = b + NR - V;
    int64_t unrolled = k >> 3;
    real *t = c;
#ifdef IN_ORDER
    int64_t spare;
#endif

    k &= 7;
    __asm__ volatile(EACH_ROW(FETCH_C)
                     EACH_ROW(ZERO)
                     "cbz %[unrolled], 3f\n\t"
                     FIRST
                     "subs %[unrolled], %[unrolled], #1\n\t"
                     "b.eq 2f\n\t"
                     ".p2align 4\n"
                     "1:\n\t" FOUR FOUR
                     "subs %[unrolled], %[unrolled], #1\n\t"
                     "b.ne 1b\n"
                     "2:\n\t" FOUR LAST_FOUR
                     "sub %[a], %[a], #" AHEAD_A "\n\t"
                     "sub %[b], %[b], #" AHEAD_B "\n\t"
                     "add %[last], %[b], #32\n"
                     "3:\n\t"
                     "cbz %[k], 5f\n\t"
                     LOOP(4, K_ITERATION_8x3)
                     "5:\n\t"
                     "cbz %[acc], 6f\n\t"
                     "mov %[t], %[c]\n\t"
                     EACH_ROW(ADD)
                     "6:\n\t" EACH_ROW(STORE)
                     : [k] "+&r"(k), [unrolled] "+&r"(unrolled), [a] "+&r"(a), [b] "+&r"(b), [last] "+&r"(last),
                       [c] "+&r"(c), [t] "+&r"(t) SPARE
                     : [ld] "r"(size * ldc), [acc] "r"(acc), FETCHES(panel)
                     : CLOBBERS);
}

/* A tile of up to `rows` x `vectors`; C goes through memory. */
#define EDGE_TILE(rows, vectors)                                                                           \
    do {                                                                                                   \
        __asm__ volatile(EACH_ROW(ZERO)                                                                    \
                         "cbz %[k], 2f\n\t"                                                                \
                         LOOP(1, K_ITERATION_##rows##x##vectors)                                           \
                         "2:\n\t" EACH_ROW(STORE)                                                          \
                         : [k] "+&r"(k), [a] "+&r"(a), [b] "+&r"(b), [last] "+&r"(last), [c] "+&r"(t)      \
                         : [ld] "r"((int64_t)sizeof *tile)                                                 \
                         : CLOBBERS);                                                                      \
        store_tile(c, ldc, acc, mr, nr, *tile, 3, vectors);                                                \
    } while (0)
/* clang-format on */

void UK_SYMBOL(int64_t k, const real *a, const real *b, real *c, int64_t ldc, int64_t acc, int64_t mr,
               int64_t nr) {
    vector tile[MR][3], *t = *tile;
    const real *last = nr < V ? b : b + nr - V;

    if (mr == MR && nr == NR)
        full_tile(k, a, b, c, ldc, acc);
    else if (mr > 4 && nr > 2 * V)
        EDGE_TILE(8, 3);
    else if (mr > 4 && nr > V)
        EDGE_TILE(8, 2);
    else if (mr > 4)
        EDGE_TILE(8, 1);
    else if (nr > 2 * V)
        EDGE_TILE(4, 3);
    else if (nr > V)
        EDGE_TILE(4, 2);
    else
        EDGE_TILE(4, 1);
}
