/* SPDX-License-Identifier: Apache-2.0 */
/*
 * 6 rows x 4 vectors of C, 24 accumulators in 32 registers: 6 x 16 floats or 6 x 8 doubles (UK_OP_d...), with
 * the rows of A in place (gemm_ra), those of B too (gemm_rab), or with A at any two strides (gemm_sab), or
 * with rows of A that are several runs (gemm_runs): the sums stay in registers from one run to the next, and
 * each of eight unrolled k iterations prefetches a line from `next` on into L2.
 *
 *                       b: v6           v7           v6           v7
 *                        column 0     column 1     column 2     column 3
 *     a: v0   row 0        v8           v14          v20          v26
 *        v1   row 1        v9           v15          v21          v27
 *        ...  ...          ...          ...          ...          ...
 *        v5   row 5        v13          v19          v25          v31
 *
 * A register of a holds 4 elements of its row (2 doubles), for as many k iterations, and is loaded again
 * after its last use; fmla takes the iteration's lane. With 8 rows no register would be left for b.
 *
 * Order. A k iteration goes column by column: 6 fmla share a vector of b, and each pair of vectors is loaded
 * by one instruction after the last use of the pair before it. Cores that issue out of order rename the
 * registers and load ahead; those that issue in order wait for a load twice an iteration. The loop is
 * unrolled by eight k iterations.
 *
 * Bound of the instructions. 24 + 6 registers leave two for b, so that a load of b brings what 12 fmla use; a
 * load of a brings what 16 use (8 of doubles). That is 1/12 + 1/16 loads for an fmla; with the loop's two
 * instructions 192 of 222 multiply, 0.865 (0.821). With B in place ld1 moves the pointer, and there is a
 * prefetch for each k iteration: 192 of 230, 0.835 (0.793).
 *
 * Bound. Cortex-A76, Neoverse N1: two 128-bit FMAs a cycle, 12 cycles a k iteration; two loads and four
 * instructions a cycle are enough for 5.5 (7) vectors and 28 to 31 instructions. Neoverse V1: four FMAs, 6
 * cycles. Cortex-A53, A55: one a cycle, 24 cycles a k iteration, and a 128-bit load takes both of their slots
 * for two cycles: 11 (14) cycles more.
 *
 * Edge tiles, and a column-major A, have a loop that is not unrolled and loads one element of A for each row:
 * with 10 loads for 24 fmla it is still bound by the fmla. Row 0 is read for rows that the tile does not
 * have. Tiles of up to 3 rows take half of the fmla. The last vector of nr >= V columns begins at column nr -
 * V, of B and of C: it computes some columns again, with the same sums, so that nothing outside the tile is
 * touched. Fewer than V columns of B in place are loaded one by one into a register.
 */
#include "../any/gemm_neon.h"
#include "../any/runs.h"

enum { MR = 6, NR = 4 * V };
#if UK_DOUBLE
#define T "2d"
#define E "d"
#else
#define T "4s"
#define E "s"
#endif
#if defined UK_OP_sgemm_ra || defined UK_OP_dgemm_ra || defined UK_OP_sgemm_runs
#define B_IN_PLACE 0
#else
#define B_IN_PLACE 1
#endif

struct operands {
    int64_t k;
    const real *a;
    int64_t lda, csa;
    const real *b;
    int64_t ldb;
    real *c;
    int64_t ldc, acc, mr, nr;
    struct runs runs;
};

/* clang-format off */
#define FMLA(c, b, a, lane) "fmla v" #c "." T ", v" #b "." T ", v" #a "." E "[" #lane "]\n\t"
#define LOAD_A(i, at) "ldr q" #i ", [%[a" #i "]" at "\n\t"
#define LOAD_B(x, at) "ldr q" #x ", [%[b], #" at "]\n\t"
#define NO(i, at)

#define COLUMN(b, lane, c0, c1, c2, c3, c4, c5, then, at)                                                  \
    FMLA(c0, b, 0, lane) then(0, at) FMLA(c1, b, 1, lane) then(1, at) FMLA(c2, b, 2, lane) then(2, at)     \
    FMLA(c3, b, 3, lane) then(3, at) FMLA(c4, b, 4, lane) then(4, at) FMLA(c5, b, 5, lane) then(5, at)

/* A pair of vectors of b: the first two or the last two of a k iteration. The first pair of an unrolled
 * iteration moves the pointer. */
#if B_IN_PLACE
#define PAIR_0(at) "prfm pldl1keep, [%[b], %[ahead]]\n\tld1 {v6." T ", v7." T "}, [%[b]], #32\n\t"
#define PAIR_2(at) "ld1 {v6." T ", v7." T "}, [%[b]], %[next]\n\t"
#define FIRST_PAIR PAIR_0("")
#else
#define PAIR(at) "ldp q6, q7, [%[b], #" at "]\n\t"
#define PAIR_0(at) PAIR(at " - 512") PREFETCH_SOON(at)
#define PAIR_2(at) PAIR(at " - 480")
#define FIRST_PAIR "ldp q6, q7, [%[b]], #512\n\t" PREFETCH_SOON("0")
#endif
#ifdef UK_OP_sgemm_runs
#define PREFETCH_SOON(at) "prfm pldl2keep, [%[soon], #" at "]\n\t"
#define ADVANCE_SOON "add %[soon], %[soon], #512\n\t"
#else
#define PREFETCH_SOON(at)
#define ADVANCE_SOON
#endif
/* `then(row, at)` follows the last use of each row of a. */
#define K_ITERATION(lane, pair0, pair2, then, at)                                                          \
    pair0 COLUMN(6, lane, 8, 9, 10, 11, 12, 13, NO, ) COLUMN(7, lane, 14, 15, 16, 17, 18, 19, NO, )        \
    pair2 COLUMN(6, lane, 20, 21, 22, 23, 24, 25, NO, ) COLUMN(7, lane, 26, 27, 28, 29, 30, 31, then, at)
#define NTH_K_ITERATION(lane, b, then, at) K_ITERATION(lane, PAIR_0(b), PAIR_2(b), then, at)

/* Eight k iterations. The first load of a row moves its pointer; FIRST_A has the loads before the first
 * unrolled iteration. */
#if UK_DOUBLE
#define NEXT_A "], #64"
#define UNROLLED_(then)                                                                                    \
    K_ITERATION(0, FIRST_PAIR, PAIR_2("0"), NO, ) NTH_K_ITERATION(1, "64", LOAD_A, ", #-48]")              \
    NTH_K_ITERATION(0, "128", NO, ) NTH_K_ITERATION(1, "192", LOAD_A, ", #-32]")                           \
    NTH_K_ITERATION(0, "256", NO, ) NTH_K_ITERATION(1, "320", LOAD_A, ", #-16]")                           \
    NTH_K_ITERATION(0, "384", NO, ) NTH_K_ITERATION(1, "448", then, NEXT_A)
#else
#define NEXT_A "], #32"
#define UNROLLED_(then)                                                                                    \
    K_ITERATION(0, FIRST_PAIR, PAIR_2("0"), NO, ) NTH_K_ITERATION(1, "64", NO, )                           \
    NTH_K_ITERATION(2, "128", NO, ) NTH_K_ITERATION(3, "192", LOAD_A, ", #-16]")                           \
    NTH_K_ITERATION(0, "256", NO, ) NTH_K_ITERATION(1, "320", NO, )                                        \
    NTH_K_ITERATION(2, "384", NO, ) NTH_K_ITERATION(3, "448", then, NEXT_A)
#endif
#define UNROLLED UNROLLED_(LOAD_A) ADVANCE_SOON
#define LAST_UNROLLED UNROLLED_(NO) ADVANCE_SOON
#define FIRST_A                                                                                            \
    LOAD_A(0, NEXT_A) LOAD_A(1, NEXT_A) LOAD_A(2, NEXT_A) LOAD_A(3, NEXT_A) LOAD_A(4, NEXT_A) LOAD_A(5, NEXT_A)

/* K iterations that are not unrolled, of up to 6 or 3 rows; the last vector of b is at `last`. */
#define ONE_A(i) "ldr " E #i ", [%[a" #i "], %[p]]\n\t"
#define A_6 ONE_A(0) ONE_A(1) ONE_A(2) ONE_A(3) ONE_A(4) ONE_A(5)
#define A_3 ONE_A(0) ONE_A(1) ONE_A(2)
#define ROWS_6(b, c0, c1, c2, c3, c4, c5) COLUMN(b, 0, c0, c1, c2, c3, c4, c5, NO, )
#define ROWS_3(b, c0, c1, c2, c3, c4, c5) FMLA(c0, b, 0, 0) FMLA(c1, b, 1, 0) FMLA(c2, b, 2, 0)
#define LAST_B(x) "ldr q" #x ", [%[last]]\n\t"
#define VECTORS_1(rows) LAST_B(6) ROWS_##rows(6, 8, 9, 10, 11, 12, 13)
#define VECTORS_2(rows)                                                                                    \
    LOAD_B(6, "0") LAST_B(7) ROWS_##rows(6, 8, 9, 10, 11, 12, 13) ROWS_##rows(7, 14, 15, 16, 17, 18, 19)
#define VECTORS_3(rows)                                                                                    \
    LOAD_B(6, "0") LOAD_B(7, "16") ROWS_##rows(6, 8, 9, 10, 11, 12, 13) LAST_B(6)                          \
    ROWS_##rows(7, 14, 15, 16, 17, 18, 19) ROWS_##rows(6, 20, 21, 22, 23, 24, 25)
#define VECTORS_4(rows)                                                                                    \
    LOAD_B(6, "0") LOAD_B(7, "16") ROWS_##rows(6, 8, 9, 10, 11, 12, 13) LOAD_B(6, "32")                    \
    ROWS_##rows(7, 14, 15, 16, 17, 18, 19) LAST_B(7)                                                       \
    ROWS_##rows(6, 20, 21, 22, 23, 24, 25) ROWS_##rows(7, 26, 27, 28, 29, 30, 31)
#define LOOP(label, rows, vectors)                                                                         \
    #label ":\n\t" A_##rows VECTORS_##vectors(rows)                                                        \
    "add %[p], %[p], %[csa]\n\t"                                                                           \
    "add %[b], %[b], %[ldb]\n\t"                                                                           \
    "add %[last], %[last], %[ldb]\n\t"                                                                     \
    "subs %[k], %[k], #1\n\t"                                                                              \
    "b.ne " #label "b\n\t"

/* The loop over runs. Unrolled iterations move the pointers to the rows; others do not, and use %[p]. */
#ifdef UK_OP_sgemm_runs
#define RUN_BEGIN "9:\n\t"
#define RUN_END                                                                                            \
    "add %[b], %[b], %[b_on]\n\t"                                                                          \
    "subs %[runs], %[runs], #1\n\t"                                                                        \
    "b.ne 9b\n\t"
#define FULL_RUN_END                                                                                       \
    "add %[a0], %[a0], %[a_on]\n\tadd %[a1], %[a1], %[a_on]\n\tadd %[a2], %[a2], %[a_on]\n\t"              \
    "add %[a3], %[a3], %[a_on]\n\tadd %[a4], %[a4], %[a_on]\n\tadd %[a5], %[a5], %[a_on]\n\t"              \
    "add %[soon], %[soon], %[soon_on]\n\t"                                                                 \
    "and %[k], %[terms], #7\n\t"                                                                           \
    "lsr %[unrolled], %[terms], #3\n\t"                                                                    \
    RUN_END
#define EDGE_RUN_END                                                                                       \
    "add %[p], %[p], %[a_on]\n\t"                                                                          \
    "add %[last], %[last], %[b_on]\n\t"                                                                    \
    "mov %[k], %[terms]\n\t"                                                                               \
    RUN_END
#define RUN_OUTPUTS [runs] "+&r"(runs),
#define SOON_OUTPUTS [soon] "+&r"(soon),
#define FULL_RUN_INPUTS                                                                                    \
    [terms] "r"(o->runs.terms), [a_on] "r"(o->runs.a_on + size * k), [b_on] "r"(o->runs.b_on),             \
    [soon_on] "r"(o->runs.next_on + 64 * k),
#define EDGE_RUN_INPUTS [terms] "r"(o->runs.terms), [a_on] "r"(o->runs.a_on), [b_on] "r"(o->runs.b_on),
#else
#define RUN_BEGIN
#define FULL_RUN_END
#define EDGE_RUN_END
#define RUN_OUTPUTS
#define SOON_OUTPUTS
#define FULL_RUN_INPUTS
#define EDGE_RUN_INPUTS
#endif
#if B_IN_PLACE
#define IN_PLACE_INPUTS [next] "r"(size * o->ldb - 32), [ahead] "r"(8 * size * o->ldb),
#else
#define IN_PLACE_INPUTS
#endif

#define EACH_ROW(F)                                                                                        \
    F(8, 14, 20, 26) F(9, 15, 21, 27) F(10, 16, 22, 28) F(11, 17, 23, 29) F(12, 18, 24, 30) F(13, 19, 25, 31)
#define ZERO(x, y, z, w)                                                                                   \
    "movi v" #x ".2d, #0\n\tmovi v" #y ".2d, #0\n\tmovi v" #z ".2d, #0\n\tmovi v" #w ".2d, #0\n\t"
#define FETCH_C(x, y, z, w)                                                                                \
    "prfm pstl1keep, [%[t]]\n\t"                                                                           \
    "prfm pstl1keep, [%[t], #56]\n\t"                                                                      \
    "add %[t], %[t], %[ld]\n\t"
#define ADD(x, y, z, w)                                                                                    \
    "ldp q0, q1, [%[t]]\n\t"                                                                               \
    "ldp q2, q3, [%[t], #32]\n\t"                                                                          \
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
#define ROWS_OF_A(use)                                                                                     \
    [a0] use(row[0]), [a1] use(row[1]), [a2] use(row[2]), [a3] use(row[3]), [a4] use(row[4]), [a5] use(row[5])

/* A full tile of a row-major A. */
static inline __attribute__((always_inline)) void full_tile(const struct operands *o, const real *row[MR]) {
    const real *b = o->b, *last;
    int64_t p, k = o->k % 8, unrolled = o->k / 8, runs = o->runs.runs, soon = o->runs.next;
    real *c = o->c, *t;

    (void)runs;
    (void)soon;
    __asm__ volatile("mov %[t], %[c]\n\t"
                     EACH_ROW(FETCH_C)
                     EACH_ROW(ZERO)
                     RUN_BEGIN
                     "cbz %[unrolled], 3f\n\t"
                     FIRST_A
                     "subs %[unrolled], %[unrolled], #1\n\t"
                     "b.eq 2f\n\t"
                     ".p2align 4\n"
                     "1:\n\t" UNROLLED
                     "subs %[unrolled], %[unrolled], #1\n\t"
                     "b.ne 1b\n"
                     "2:\n\t" LAST_UNROLLED
                     "3:\n\t"
                     "cbz %[k], 5f\n\t"
                     "mov %[p], #0\n\t"
                     "add %[last], %[b], #48\n"
                     LOOP(4, 6, 4)
                     "5:\n\t"
                     FULL_RUN_END
                     "cbz %[acc], 6f\n\t"
                     "mov %[t], %[c]\n\t"
                     EACH_ROW(ADD)
                     "6:\n\t" EACH_ROW(STORE)
                     : RUN_OUTPUTS SOON_OUTPUTS ROWS_OF_A("+&r"),
                       [k] "+&r"(k), [unrolled] "+&r"(unrolled), [b] "+&r"(b), [c] "+&r"(c),
                       [t] "=&r"(t), [p] "=&r"(p), [last] "=&r"(last)
                     : FULL_RUN_INPUTS IN_PLACE_INPUTS
                       [csa] "r"(size), [ldb] "r"(size * o->ldb), [ld] "r"(size * o->ldc), [acc] "r"(o->acc)
                     : CLOBBERS);
}

/* A tile of up to `rows` x `vectors`; C goes through memory. */
#define EDGE_TILE(rows, vectors)                                                                           \
    do {                                                                                                   \
        __asm__ volatile(EACH_ROW(ZERO)                                                                    \
                         "cbz %[k], 2f\n\t"                                                                \
                         RUN_BEGIN                                                                         \
                         LOOP(1, rows, vectors)                                                            \
                         EDGE_RUN_END                                                                      \
                         "2:\n\t" EACH_ROW(STORE)                                                          \
                         : RUN_OUTPUTS                                                                     \
                           [k] "+&r"(k), [p] "+&r"(p), [b] "+&r"(b), [last] "+&r"(last), [c] "+&r"(t)      \
                         : EDGE_RUN_INPUTS ROWS_OF_A("r"),                                                 \
                           [csa] "r"(size * o->csa), [ldb] "r"(size * o->ldb),                             \
                           [ld] "r"((int64_t)sizeof *tile)                                                 \
                         : CLOBBERS);                                                                      \
        store_tile(o->c, o->ldc, o->acc, o->mr, o->nr, *tile, 4, vectors);                                 \
    } while (0)
/* clang-format on */

static inline __attribute__((always_inline)) void edge_tile(const struct operands *o, const real *row[MR]) {
    vector tile[MR][4], *t = *tile;
    const real *b = o->b, *last = o->nr < V ? b : b + o->nr - V;
    int64_t k = o->k, p = 0, runs = o->runs.runs;

    (void)runs;
    if (o->mr > 3 && o->nr > 3 * V)
        EDGE_TILE(6, 4);
    else if (o->mr > 3 && o->nr > 2 * V)
        EDGE_TILE(6, 3);
    else if (o->mr > 3 && o->nr > V)
        EDGE_TILE(6, 2);
    else if (o->mr > 3)
        EDGE_TILE(6, 1);
    else if (o->nr > 3 * V)
        EDGE_TILE(3, 4);
    else if (o->nr > 2 * V)
        EDGE_TILE(3, 3);
    else if (o->nr > V)
        EDGE_TILE(3, 2);
    else
        EDGE_TILE(3, 1);
}

/* A tile of nr < V columns of B in place: the first nr lanes of a vector. */
static inline __attribute__((always_inline, unused)) void narrow_tile(const struct operands *o,
                                                                      const real *row[MR], const int nr) {
    vector tile[MR] = {{0}};

#pragma GCC unroll 1
    for (int64_t p = 0; p < o->k; p++) {
        const real *b = o->b + p * o->ldb;
        vector x = {b[0]};

        if (nr > 1)
            x[1] = b[1];
        if (nr > 2)
            x[V - 2] = b[2];
#pragma GCC unroll 6
        for (int i = 0; i < MR; i++)
            tile[i] += row[i][p * o->csa] * x;
    }
    store_tile(o->c, o->ldc, o->acc, o->mr, nr, tile, 1, 1);
}

static inline __attribute__((always_inline)) void tile(const struct operands *o) {
    const real *row[MR];

    for (int i = 0; i < MR; i++)
        row[i] = o->a + (i < o->mr ? i * o->lda : 0);
    if (o->mr == MR && o->nr == NR && o->csa == 1)
        full_tile(o, row);
    else if (!B_IN_PLACE || o->nr >= V)
        edge_tile(o, row);
    else if (o->nr == 1)
        narrow_tile(o, row, 1);
    else if (o->nr == 2)
        narrow_tile(o, row, 2);
    else
        narrow_tile(o, row, 3);
}

#ifdef UK_OP_sgemm_runs
void UK_SYMBOL(int64_t runs, int64_t k, const real *a, int64_t lda, int64_t lds, const real *b, int64_t ldb,
               real *c, int64_t ldc, int64_t acc, int64_t mr, int64_t nr, int64_t next) {
    const int64_t terms = runs > 0 ? k : 0; /* without terms: one empty run */
    const struct runs r = {terms ? runs : 1,      terms, size * (lds - k),
                           size * (ldb - NR * k), next,  size * ldb - 64 * k};

    tile(&(struct operands){terms, a, lda, 1, b, NR, c, ldc, acc, mr, nr, r});
}
#elif !B_IN_PLACE
void UK_SYMBOL(int64_t k, const real *a, int64_t lda, const real *b, real *c, int64_t ldc, int64_t acc,
               int64_t mr, int64_t nr) {
    tile(&(struct operands){k, a, lda, 1, b, NR, c, ldc, acc, mr, nr, {0}});
}
#elif defined UK_OP_sgemm_rab || defined UK_OP_dgemm_rab
void UK_SYMBOL(int64_t k, const real *a, int64_t lda, const real *b, int64_t ldb, real *c, int64_t ldc,
               int64_t acc, int64_t mr, int64_t nr) {
    tile(&(struct operands){k, a, lda, 1, b, ldb, c, ldc, acc, mr, nr, {0}});
}
#else
void UK_SYMBOL(int64_t k, const real *a, int64_t lda, int64_t csa, const real *b, int64_t ldb, real *c,
               int64_t ldc, int64_t acc, int64_t mr, int64_t nr) {
    tile(&(struct operands){k, a, lda, csa, b, ldb, c, ldc, acc, mr, nr, {0}});
}
#endif
