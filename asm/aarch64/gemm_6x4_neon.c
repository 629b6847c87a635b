/* SPDX-License-Identifier: Apache-2.0 */
/*
 * 6 rows x 4 vectors of C, 24 accumulators in 32 registers: 6 x 16 floats or 6 x 8 doubles (UK_OP_dgemm).
 *
 *                       b: v4           v5           v6           v7
 *                        column 0     column 1     column 2     column 3
 *     a: v0 v1   row 0     v8           v14          v20          v26     floats: a of two k iterations in
 *        v2 v3   row 1     v9           v15          v21          v27     three registers; doubles: of one,
 *        alter-  ...       ...          ...          ...          ...     each loaded after its last use
 *        nating  row 5     v13          v19          v25          v31
 *
 * fmla by lane multiplies a vector of b with one element of a, so that nothing is broadcast. A k iteration
 * loads 5.5 registers for 24 fmla (7 of doubles), a tenth more than 8 x 3 vectors (gemm_8x3_neon.c), which
 * leaves narrow tiles where the width is a multiple of 16 (8).
 *
 * Order. A k iteration goes column by column: 6 fmla share a vector of b. After two columns both vectors of a
 * pair are free, and what is then loaded into them is used 12 fmla later; a of floats is used 8 fmla after
 * its load, a of doubles 4. So cores that issue in order do not wait with floats. The loop is unrolled by
 * eight k iterations: 192 fmla, 22 loads of pairs (28), 2 instructions of the loop: 0.89 of the instructions
 * multiply (0.86).
 *
 * Bound. Cortex-A76, Neoverse N1: two 128-bit FMAs a cycle, 12 cycles a k iteration; two loads and four
 * instructions a cycle are enough for 5.5 (7) and 27 (28). Neoverse V1: four FMAs, 6 cycles; 24 accumulators
 * hide its latency of 4 cycles, of which the accumulator's input sees 2. Cortex-A53, A55: one a cycle, 24
 * cycles a k iteration; a load of a 128-bit register takes both of their slots for two cycles, 11 cycles
 * more.
 *
 * A and B are streams, which the hardware prefetches. C's rows are prefetched at the beginning.
 *
 * Edges. Tiles of up to 3 rows take half of the fmla. The last vector of nr >= V columns begins at column nr
 * - V, of B and of C: it computes some columns again, with the same sums, so that nothing outside the tile is
 * touched. Fewer than V columns are stored one by one.
 */
#include "../any/gemm_neon.h"

enum { MR = 6, NR = 4 * V };
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
#define NO

/* Two of a k iteration's six elements of A, by register and lanes. A k iteration names three such pairs. */
#define PAIR(c, c_, b, a, lane, lane_) FMLA(c, b, a, lane) FMLA(c_, b, a, lane_)
#define COLUMN(b, p, q, r, c0, c1, c2, c3, c4, c5, after2, after4, after6)                                 \
    PAIR_(c0, c1, b, p) after2 PAIR_(c2, c3, b, q) after4 PAIR_(c4, c5, b, r) after6
#define PAIR_(...) PAIR(__VA_ARGS__)
#define LOW(a) a, 0, 1
#define HIGH(a) a, 2, 3
#define PAIR__(c, c_, b, half, a) PAIR_(c, c_, b, half(a))

/* A k iteration; b0 and b1 load the next iteration's vectors of b, the others load registers of a after the
 * given number of rows of the last column. */
#define K_ITERATION(h0, a0, h1, a1, h2, a2, b0, b1, after2, after4, after6)                                \
    PAIR__(8, 9, 4, h0, a0) PAIR__(10, 11, 4, h1, a1) PAIR__(12, 13, 4, h2, a2)                            \
    PAIR__(14, 15, 5, h0, a0) PAIR__(16, 17, 5, h1, a1) PAIR__(18, 19, 5, h2, a2) b0                       \
    PAIR__(20, 21, 6, h0, a0) PAIR__(22, 23, 6, h1, a1) PAIR__(24, 25, 6, h2, a2)                          \
    PAIR__(26, 27, 7, h0, a0) after2 PAIR__(28, 29, 7, h1, a1) after4 PAIR__(30, 31, 7, h2, a2) after6 b1

#define FIRST                                                                                              \
    LOAD(0, 1, "[%[a]], #32") LOAD(4, 5, "[%[b]], #32") LOAD(6, 7, "[%[b]], #32") LOAD(2, 3, "[%[a]], #32")
/* The pointers are 64 bytes ahead, which FIRST has loaded. The first load of each four k iterations of b, and
 * of each 192 bytes of a, moves the pointer. The arguments load elements of the next k iterations. */
#define B1 LOAD(4, 5, "[%[b]], #256"), LOAD(6, 7, "[%[b], #-224]")
#define B2 LOAD(4, 5, "[%[b], #-192]"), LOAD(6, 7, "[%[b], #-160]")
#define B3 LOAD(4, 5, "[%[b], #-128]"), LOAD(6, 7, "[%[b], #-96]")
#define B4 LOAD(4, 5, "[%[b], #-64]"), LOAD(6, 7, "[%[b], #-32]")
#define NONE NO, NO
#define K_ITERATION_(...) K_ITERATION(__VA_ARGS__)
#if UK_DOUBLE
#define FOUR_(b4, a0, a2)                                                                                  \
    K_ITERATION_(LOW, 0, LOW, 1, LOW, 2, B1, NO, LOAD(0, 1, "[%[a]], #192"), NO)                           \
    K_ITERATION_(LOW, 3, LOW, 0, LOW, 1, B2, LOAD(2, 3, "[%[a], #-160]"), NO, LOAD(0, 1, "[%[a], #-128]")) \
    K_ITERATION_(LOW, 2, LOW, 3, LOW, 0, B3, NO, LOAD(2, 3, "[%[a], #-96]"), NO)                           \
    K_ITERATION_(LOW, 1, LOW, 2, LOW, 3, b4, a0, NO, a2)
#define FOUR FOUR_(B4, LOAD(0, 1, "[%[a], #-64]"), LOAD(2, 3, "[%[a], #-32]"))
#define EIGHT FOUR FOUR
#define LAST_EIGHT FOUR FOUR_(NONE, NO, NO)
#else
#define EIGHT_(b4, a0, a2)                                                                                 \
    K_ITERATION_(LOW, 0, HIGH, 0, LOW, 1, B1, NO, NO, NO)                                                  \
    K_ITERATION_(HIGH, 1, LOW, 2, HIGH, 2, B2, LOAD(0, 1, "[%[a]], #192"), NO, NO)                         \
    K_ITERATION_(LOW, 3, HIGH, 3, LOW, 0, B3, NO, LOAD(2, 3, "[%[a], #-160]"), NO)                         \
    K_ITERATION_(HIGH, 0, LOW, 1, HIGH, 1, B4, NO, NO, LOAD(0, 1, "[%[a], #-128]"))                        \
    K_ITERATION_(LOW, 2, HIGH, 2, LOW, 3, B1, NO, NO, NO)                                                  \
    K_ITERATION_(HIGH, 3, LOW, 0, HIGH, 0, B2, LOAD(2, 3, "[%[a], #-96]"), NO, NO)                         \
    K_ITERATION_(LOW, 1, HIGH, 1, LOW, 2, B3, NO, a0, NO)                                                  \
    K_ITERATION_(HIGH, 2, LOW, 3, HIGH, 3, b4, NO, NO, a2)
#define EIGHT EIGHT_(B4, LOAD(0, 1, "[%[a], #-64]"), LOAD(2, 3, "[%[a], #-32]"))
#define LAST_EIGHT EIGHT_(NONE, NO, NO)
#endif

/* One k iteration of up to 6 or 3 rows; the last vector of B is at `last`. */
#if UK_DOUBLE
#define A_6 LOAD(0, 1, "[%[a]], #48") "ldr q2, [%[a], #-16]\n\t"
#define A_3 LOAD(0, 1, "[%[a]], #48")
#define ROWS_6(b, c0, c1, c2, c3, c4, c5)                                                                  \
    FMLA(c0, b, 0, 0) FMLA(c1, b, 0, 1) FMLA(c2, b, 1, 0) FMLA(c3, b, 1, 1) FMLA(c4, b, 2, 0) FMLA(c5, b, 2, 1)
#define ROWS_3(b, c0, c1, c2, c3, c4, c5) FMLA(c0, b, 0, 0) FMLA(c1, b, 0, 1) FMLA(c2, b, 1, 0)
#else
#define A_6 "ldr q0, [%[a]], #24\n\tldr d1, [%[a], #-8]\n\t"
#define A_3 "ldr q0, [%[a]], #24\n\t"
#define ROWS_6(b, c0, c1, c2, c3, c4, c5)                                                                  \
    FMLA(c0, b, 0, 0) FMLA(c1, b, 0, 1) FMLA(c2, b, 0, 2) FMLA(c3, b, 0, 3) FMLA(c4, b, 1, 0) FMLA(c5, b, 1, 1)
#define ROWS_3(b, c0, c1, c2, c3, c4, c5) FMLA(c0, b, 0, 0) FMLA(c1, b, 0, 1) FMLA(c2, b, 0, 2)
#endif
#define LAST_B(x) "ldr q" #x ", [%[last]], #64\n\t"
#define K_ITERATION_ROWS_1(rows) LAST_B(4) COLUMN_0(rows, 4)
#define K_ITERATION_ROWS_2(rows) "ldr q4, [%[b]], #64\n\t" LAST_B(5) COLUMN_0(rows, 4) COLUMN_1(rows, 5)
#define K_ITERATION_ROWS_3(rows)                                                                           \
    LOAD(4, 5, "[%[b]], #64") LAST_B(6) COLUMN_0(rows, 4) COLUMN_1(rows, 5) COLUMN_2(rows, 6)
#define K_ITERATION_ROWS_4(rows)                                                                           \
    LOAD(4, 5, "[%[b]], #64") "ldr q6, [%[b], #-32]\n\t" LAST_B(7)                                         \
    COLUMN_0(rows, 4) COLUMN_1(rows, 5) COLUMN_2(rows, 6) COLUMN_3(rows, 7)
#define COLUMN_0(rows, b) ROWS_##rows(b, 8, 9, 10, 11, 12, 13)
#define COLUMN_1(rows, b) ROWS_##rows(b, 14, 15, 16, 17, 18, 19)
#define COLUMN_2(rows, b) ROWS_##rows(b, 20, 21, 22, 23, 24, 25)
#define COLUMN_3(rows, b) ROWS_##rows(b, 26, 27, 28, 29, 30, 31)
#define LOOP(label, k_iteration)                                                                           \
    #label ":\n\t" k_iteration                                                                             \
    "subs %[k], %[k], #1\n\t"                                                                              \
    "b.ne " #label "b\n\t"

#define EACH_ROW(F)                                                                                        \
    F(8, 14, 20, 26) F(9, 15, 21, 27) F(10, 16, 22, 28) F(11, 17, 23, 29) F(12, 18, 24, 30) F(13, 19, 25, 31)
#define ZERO(x, y, z, w)                                                                                   \
    "movi v" #x ".2d, #0\n\tmovi v" #y ".2d, #0\n\tmovi v" #z ".2d, #0\n\tmovi v" #w ".2d, #0\n\t"
#define FETCH_C(x, y, z, w)                                                                                \
    "prfm pstl1keep, [%[t]]\n\t"                                                                           \
    "prfm pstl1keep, [%[t], #56]\n\t"                                                                      \
    "add %[t], %[t], %[ld]\n\t"
#define ADD(x, y, z, w)                                                                                    \
    LOAD(0, 1, "[%[t]]") LOAD(2, 3, "[%[t], #32]")                                                         \
    "fadd v" #x "." T ", v" #x "." T ", v0." T "\n\t"                                                      \
    "fadd v" #y "." T ", v" #y "." T ", v1." T "\n\t"                                                      \
    "fadd v" #z "." T ", v" #z "." T ", v2." T "\n\t"                                                      \
    "fadd v" #w "." T ", v" #w "." T ", v3." T "\n\t"                                                      \
    "add %[t], %[t], %[ld]\n\t"
#define STORE(x, y, z, w)                                                                                  \
    "stp q" #x ", q" #y ", [%[c]]\n\t"                                                                     \
    "stp q" #z ", q" #w ", [%[c], #32]\n\t"                                                                \
    "add %[c], %[c], %[ld]\n\t"
#define CLOBBERS                                                                                           \
    "memory", "cc", "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v12",       \
    "v13", "v14", "v15", "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v24", "v25", "v26",      \
    "v27", "v28", "v29", "v30", "v31"

static inline __attribute__((always_inline)) void full_tile(int64_t k, const real *a, const real *b, real *c,
                                                            int64_t ldc, int64_t acc) {
    const real *last = b + NR - V;
    int64_t unrolled = k >> 3;
    real *t = c;

    k &= 7;
    __asm__ volatile(EACH_ROW(FETCH_C)
                     EACH_ROW(ZERO)
                     "cbz %[unrolled], 3f\n\t"
                     FIRST
                     "subs %[unrolled], %[unrolled], #1\n\t"
                     "b.eq 2f\n\t"
                     ".p2align 4\n"
                     "1:\n\t" EIGHT
                     "subs %[unrolled], %[unrolled], #1\n\t"
                     "b.ne 1b\n"
                     "2:\n\t" LAST_EIGHT
                     "sub %[a], %[a], #64\n\t"
                     "sub %[b], %[b], #64\n\t"
                     "add %[last], %[b], #48\n"
                     "3:\n\t"
                     "cbz %[k], 5f\n\t"
                     LOOP(4, A_6 K_ITERATION_ROWS_4(6))
                     "5:\n\t"
                     "cbz %[acc], 6f\n\t"
                     "mov %[t], %[c]\n\t"
                     EACH_ROW(ADD)
                     "6:\n\t" EACH_ROW(STORE)
                     : [k] "+&r"(k), [unrolled] "+&r"(unrolled), [a] "+&r"(a), [b] "+&r"(b), [last] "+&r"(last),
                       [c] "+&r"(c), [t] "+&r"(t)
                     : [ld] "r"(size * ldc), [acc] "r"(acc)
                     : CLOBBERS);
}

/* A tile of up to `rows` x `vectors`; C goes through memory. */
#define EDGE_TILE(rows, vectors)                                                                           \
    do {                                                                                                   \
        __asm__ volatile(EACH_ROW(ZERO)                                                                    \
                         "cbz %[k], 2f\n\t"                                                                \
                         LOOP(1, A_##rows K_ITERATION_ROWS_##vectors(rows))                                \
                         "2:\n\t" EACH_ROW(STORE)                                                          \
                         : [k] "+&r"(k), [a] "+&r"(a), [b] "+&r"(b), [last] "+&r"(last), [c] "+&r"(t)      \
                         : [ld] "r"((int64_t)sizeof *tile)                                                 \
                         : CLOBBERS);                                                                      \
        store_tile(c, ldc, acc, mr, nr, *tile, 4, vectors);                                                \
    } while (0)
/* clang-format on */

void UK_SYMBOL(int64_t k, const real *a, const real *b, real *c, int64_t ldc, int64_t acc, int64_t mr,
               int64_t nr) {
    vector tile[MR][4], *t = *tile;
    const real *last = nr < V ? b : b + nr - V;

    if (mr == MR && nr == NR)
        full_tile(k, a, b, c, ldc, acc);
    else if (mr > 3 && nr > 3 * V)
        EDGE_TILE(6, 4);
    else if (mr > 3 && nr > 2 * V)
        EDGE_TILE(6, 3);
    else if (mr > 3 && nr > V)
        EDGE_TILE(6, 2);
    else if (mr > 3)
        EDGE_TILE(6, 1);
    else if (nr > 3 * V)
        EDGE_TILE(3, 4);
    else if (nr > 2 * V)
        EDGE_TILE(3, 3);
    else if (nr > V)
        EDGE_TILE(3, 2);
    else
        EDGE_TILE(3, 1);
}
