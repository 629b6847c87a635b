/* SPDX-License-Identifier: Apache-2.0 */
/*
 * 4 rows x 2 vectors of C, 4 x 8 floats, in eight q registers of ARMv7; A in panels (sgemm) or its rows in
 * place (sgemm_ra).
 *
 *                        b: q4 (q6)      q5 (q7)            even k iterations (odd ones)
 *     a: d0 d1   row 0      q8             q9
 *        or      row 1      q10            q11
 *        d2 d3   row 2      q12            q13
 *        ...     row 3      q14            q15
 *
 *     in panels: a of four k iterations in d0 d1, d2 d3, d4 d5, d6 d7        in place: four elements of row i
 *                                                                            in q<i>
 *
 * vmla by lane takes its element from d0 to d15. ARMv7 has no vfma by lane, so products are rounded before
 * they are added. The 8 accumulators leave registers for two k iterations of b and four of a, so that a load
 * is used 8 vmla later at the earliest: these cores issue vector instructions in order. 6 x 2 vectors would
 * load a quarter less per vmla, but each load would be used at once.
 *
 * The loop is unrolled by eight k iterations. In panels: 64 vmla, 12 loads of four d registers, 2
 * instructions of the loop: 0.82 of the instructions multiply. In place: 8 loads of four elements of a row of
 * A and 6 loads of b, two of which bring four vectors that are used at once: 64 vmla, 14 loads, 2 of the
 * loop, 0.80. Cores that issue in order wait for each of those two loads, some 4 cycles in 64 (Cortex-A8) or
 * 128 (A7).
 *
 * Bound. Cortex-A15: one vmla of a q register a cycle, 8 cycles a k iteration, 8 flop a cycle. Cortex-A9, A8:
 * half a register a cycle, 16 cycles; Cortex-A7: a float a cycle, 32. A load brings 64 bits a cycle, so the 6
 * d registers of a k iteration take 6 cycles, which are hidden on cores that issue a load together with a
 * vmla (A15, A7 in part) and come on top on others. 8 accumulators hide the latency of 9 cycles of a
 * Cortex-A9 at one vmla in two cycles.
 *
 * The streams A and B are left to the hardware prefetcher, and C's rows are prefetched at the beginning: on
 * cores that issue one instruction a cycle, a prefetch for each line would cost a tenth of the vmla.
 *
 * Edges: tiles of up to 2 rows take half of the vmla. The last vector of nr >= 4 columns begins at column nr
 * - 4, of B and of C: it computes some columns again, with the same sums, so that nothing outside the tile is
 * touched. Fewer than 4 columns are stored one by one. Row 0 is read for rows of A that the tile does not
 * have.
 */
#include "../any/gemm_neon.h"

enum { MR = 4, NR = 2 * V, UNROLL = 8 };

/* clang-format off */
#define VMLA(c, b, a) "vmla.f32 q" #c ", q" #b ", " a "\n\t"
#define COLUMNS(b, b_, a0, a1, a2, a3)                                                                     \
    VMLA(8, b, a0) VMLA(10, b, a1) VMLA(12, b, a2) VMLA(14, b, a3)                                         \
    VMLA(9, b_, a0) VMLA(11, b_, a1) VMLA(13, b_, a2) VMLA(15, b_, a3)
#define EVEN_B "vld1.32 {d8-d11}, [%[b]]!\n\t"
#define ODD_B "vld1.32 {d12-d15}, [%[b]]!\n\t"
#define NO

/* Four k iterations; the arguments are the loads for the next four. */
#ifdef UK_OP_sgemm
#define A_01 "vld1.32 {d0-d3}, [%[a]]!\n\t"
#define A_23 "vld1.32 {d4-d7}, [%[a]]!\n\t"
#define FIRST A_01 EVEN_B ODD_B A_23
#define FOUR_(a01, a23, even, odd)                                                                         \
    COLUMNS(4, 5, "d0[0]", "d0[1]", "d1[0]", "d1[1]") EVEN_B                                               \
    COLUMNS(6, 7, "d2[0]", "d2[1]", "d3[0]", "d3[1]") ODD_B a01                                            \
    COLUMNS(4, 5, "d4[0]", "d4[1]", "d5[0]", "d5[1]") even                                                 \
    COLUMNS(6, 7, "d6[0]", "d6[1]", "d7[0]", "d7[1]") odd a23
#define FOUR FOUR_(A_01, A_23, EVEN_B, ODD_B)
#define LAST_FOUR FOUR_(NO, NO, NO, NO)
#define A_1 "vld1.32 {d0-d1}, [%[a]]!\n\t"
#define A_LANES "d0[0]", "d0[1]", "d1[0]", "d1[1]"
#define A_IN_OUT [a] "+&r"(a)
#else
#define ROW_0 "vld1.32 {d0-d1}, [%[a0]]!\n\t"
#define ROW_1 "vld1.32 {d2-d3}, [%[a1]]!\n\t"
#define ROW_2 "vld1.32 {d4-d5}, [%[a2]]!\n\t"
#define ROW_3 "vld1.32 {d6-d7}, [%[a3]]!\n\t"
#define BOTH_B "vldmia %[b]!, {d8-d15}\n\t"
#define FIRST ROW_0 EVEN_B ODD_B ROW_1 ROW_2 ROW_3
#define FOUR_(row0, row1, row2, row3, even, odd)                                                           \
    COLUMNS(4, 5, "d0[0]", "d2[0]", "d4[0]", "d6[0]")                                                      \
    COLUMNS(6, 7, "d0[1]", "d2[1]", "d4[1]", "d6[1]") BOTH_B                                               \
    COLUMNS(4, 5, "d1[0]", "d3[0]", "d5[0]", "d7[0]") even                                                 \
    VMLA(8, 6, "d1[1]") VMLA(9, 7, "d1[1]") row0 VMLA(10, 6, "d3[1]") VMLA(11, 7, "d3[1]") row1            \
    VMLA(12, 6, "d5[1]") VMLA(13, 7, "d5[1]") row2 VMLA(14, 6, "d7[1]") VMLA(15, 7, "d7[1]") odd row3
#define FOUR FOUR_(ROW_0, ROW_1, ROW_2, ROW_3, EVEN_B, ODD_B)
#define LAST_FOUR FOUR_(NO, NO, NO, NO, NO, NO)
#define A_1                                                                                                \
    "vld1.32 {d0[]}, [%[a0]]!\n\tvld1.32 {d1[]}, [%[a1]]!\n\tvld1.32 {d2[]}, [%[a2]]!\n\t"                 \
    "vld1.32 {d3[]}, [%[a3]]!\n\t"
#define A_LANES "d0[0]", "d1[0]", "d2[0]", "d3[0]"
#define A_IN_OUT [a0] "+&r"(a), [a1] "+&r"(a1), [a2] "+&r"(a2), [a3] "+&r"(a3)
#endif

/* One k iteration of up to `rows` x `vectors`; the last vector of b is at `last`, %[row] bytes before the
 * next row's. */
#define COLUMNS_(...) COLUMNS(__VA_ARGS__)
#define HALF(b, c0, c1, a0, a1, a2, a3) VMLA(c0, b, a0) VMLA(c1, b, a1)
#define HALF_(...) HALF(__VA_ARGS__)
#define WHOLE(b, c0, c1, c2, c3, a0, a1, a2, a3) VMLA(c0, b, a0) VMLA(c1, b, a1) VMLA(c2, b, a2) VMLA(c3, b, a3)
#define WHOLE_(...) WHOLE(__VA_ARGS__)
#define K_ITERATION A_1 EVEN_B COLUMNS_(4, 5, A_LANES)
#define LAST_B(first, second) "vld1.32 {d" #first ", d" #second "}, [%[last]], %[row]\n\t"
#define K_ITERATION_4x1 A_1 LAST_B(8, 9) WHOLE_(4, 8, 10, 12, 14, A_LANES)
#define K_ITERATION_4x2 A_1 "vld1.32 {d8, d9}, [%[b]], %[row]\n\t" LAST_B(10, 11) COLUMNS_(4, 5, A_LANES)
#define K_ITERATION_2x1 A_1 LAST_B(8, 9) HALF_(4, 8, 10, A_LANES)
#define K_ITERATION_2x2                                                                                    \
    A_1 "vld1.32 {d8, d9}, [%[b]], %[row]\n\t" LAST_B(10, 11) HALF_(4, 8, 10, A_LANES) HALF_(5, 9, 11, A_LANES)
#define LOOP(label, k_iteration)                                                                           \
    #label ":\n\t" k_iteration                                                                             \
    "subs %[k], %[k], #1\n\t"                                                                              \
    "bne " #label "b\n\t"

#define ZERO                                                                                               \
    "vmov.i32 q8, #0\n\tvmov.i32 q9, #0\n\tvmov.i32 q10, #0\n\tvmov.i32 q11, #0\n\t"                       \
    "vmov.i32 q12, #0\n\tvmov.i32 q13, #0\n\tvmov.i32 q14, #0\n\tvmov.i32 q15, #0\n\t"
#define EACH_ROW(F) F(8, 9, "d16-d19") F(10, 11, "d20-d23") F(12, 13, "d24-d27") F(14, 15, "d28-d31")
#define FETCH_C(x, y, row)                                                                                 \
    "pld [%[c]]\n\t"                                                                                       \
    "pld [%[c], #28]\n\t"                                                                                  \
    "add %[c], %[c], %[ld]\n\t"
#define ADD(x, y, row)                                                                                     \
    "vld1.32 {d0-d3}, [%[c]], %[ld]\n\t"                                                                   \
    "vadd.f32 q" #x ", q" #x ", q0\n\t"                                                                    \
    "vadd.f32 q" #y ", q" #y ", q1\n\t"
#define STORE(x, y, row) "vst1.32 {" row "}, [%[c]], %[ld]\n\t"
#define BACK_TO_ROW_0 "sub %[c], %[c], %[ld], lsl #2\n\t"
#define CLOBBERS                                                                                           \
    "memory", "cc", "q0", "q1", "q2", "q3", "q4", "q5", "q6", "q7", "q8", "q9", "q10", "q11", "q12", "q13", "q14", "q15"

#define FULL_TILE(OUT)                                                                                     \
    __asm__ volatile(EACH_ROW(FETCH_C) BACK_TO_ROW_0 ZERO                                                  \
                     "cmp %[unrolled], #0\n\t"                                                             \
                     "beq 3f\n\t"                                                                          \
                     FIRST                                                                                 \
                     "subs %[unrolled], %[unrolled], #1\n\t"                                               \
                     "beq 2f\n\t"                                                                          \
                     ".p2align 3\n"                                                                        \
                     "1:\n\t" FOUR FOUR                                                                    \
                     "subs %[unrolled], %[unrolled], #1\n\t"                                               \
                     "bne 1b\n"                                                                            \
                     "2:\n\t" FOUR LAST_FOUR                                                               \
                     "3:\n\t"                                                                              \
                     "cmp %[k], #0\n\t"                                                                    \
                     "beq 5f\n\t"                                                                          \
                     LOOP(4, K_ITERATION)                                                                  \
                     "5:\n\t" OUT EACH_ROW(STORE)                                                          \
                     : A_IN_OUT, [k] "+&r"(left), [unrolled] "+&r"(unrolled), [b] "+&r"(b), [c] "+&r"(c)   \
                     : [ld] "r"(ld)                                                                        \
                     : CLOBBERS)
/* A tile of up to `rows` x `vectors`; C goes through memory. */
#define EDGE_TILE(rows, vectors)                                                                           \
    do {                                                                                                   \
        __asm__ volatile(ZERO                                                                              \
                         "cmp %[k], #0\n\t"                                                                \
                         "beq 2f\n\t"                                                                      \
                         LOOP(1, K_ITERATION_##rows##x##vectors)                                           \
                         "2:\n\t" EACH_ROW(STORE)                                                          \
                         : A_IN_OUT, [k] "+&r"(left), [b] "+&r"(b), [last] "+&r"(last), [c] "+&r"(t)       \
                         : [row] "r"(32), [ld] "r"(32)                                                     \
                         : CLOBBERS);                                                                      \
        store_tile(c, ldc, acc, mr, nr, *tile, 2, vectors);                                                \
    } while (0)
/* clang-format on */

#ifdef UK_OP_sgemm
void UK_SYMBOL(int64_t k, const real *a, const real *b, real *c, int64_t ldc, int64_t acc, int64_t mr,
               int64_t nr) {
#else
void UK_SYMBOL(int64_t k, const real *a, int64_t lda, const real *b, real *c, int64_t ldc, int64_t acc,
               int64_t mr, int64_t nr) {
    const real *a1 = mr > 1 ? a + lda : a, *a2 = mr > 2 ? a + 2 * lda : a, *a3 = mr > 3 ? a + 3 * lda : a;
#endif
    vector tile[MR][2], *t = *tile;
    const real *last = nr < V ? b : b + nr - V;
    const int32_t ld = (int32_t)(size * ldc);
    int32_t left = (int32_t)k, unrolled;

    if (mr == MR && nr == NR) {
        unrolled = left / UNROLL;
        left %= UNROLL;
        if (acc)
            FULL_TILE(EACH_ROW(ADD) BACK_TO_ROW_0);
        else
            FULL_TILE("");
    } else if (mr > 2 && nr > V) {
        EDGE_TILE(4, 2);
    } else if (mr > 2) {
        EDGE_TILE(4, 1);
    } else if (nr > V) {
        EDGE_TILE(2, 2);
    } else {
        EDGE_TILE(2, 1);
    }
}
