/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Small products of few columns, any number of rows in one call: UK_NR columns are half or a quarter of a
 * vector, so that R = 2 or 4 rows of C share one. The same text makes the kernels for floats
 * (UK_OP_sgemm_small) and doubles (UK_OP_dgemm_small), and for a column-major A (UK_OP_sgemm_small_ta,
 * UK_OP_dgemm_small_ta): a k iteration then loads R contiguous elements, and a shuffle spreads them.
 *
 *     sums    zmm<2v>      | c[i][0..NR) | c[i + 1][0..NR) | ...    R rows; a group has 12 vectors at most
 *     A       zmm<2v + 1>  | a[i][p ..)  | a[i + 1][p ..)  | ...    128-bit lanes: UNROLL k of a row
 *     b       zmm24        | b[p][0..NR) | b[p][0..NR)     | ...
 *     spread  zmm25        | a[i][p] ... | a[i + 1][p] ... | ...
 *
 * If the number of rows is no multiple of R, the last vector overlaps the one before it: both compute the
 * same, and a C that is added to is loaded before anything is stored. If there are fewer rows than R, the
 * first row is repeated for the others.
 *
 * The loop over k is unrolled by UNROLL = 4 (doubles: 2). If k is no multiple of that, the first iteration is
 * entered in the middle, with masks for the elements in front of the rows. The m rows are divided evenly into
 * as few groups as possible.
 *
 * Bound: per k iteration and R rows one multiply-add, one shuffle, and R / UNROLL loads; a masked vector for
 * each row would take R multiply-adds and R loads. If 512-bit multiply-adds and shuffles share two ports, two
 * rows in a vector save nothing, and four save half of the time. If shuffles have a port of their own, two
 * rows save half of the time, and four save three quarters.
 */
#include "registry/kernel_contract.h"
#include "registry/small_call.h"
#include "element_avx512.h"
#include "gemm_small_rows.h"

#if defined UK_OP_sgemm_small_ta || defined UK_OP_dgemm_small_ta
#define A_COLUMNS 1
#else
#define A_COLUMNS 0
#endif
#ifdef UK_DOUBLE
#define UNROLL 2
#define LANE "64x2"
#define HALF "64x4"
#else
#define UNROLL 4
#define LANE "32x4"
#define HALF "32x8"
#endif
#define R (V / UK_NR)

#if A_COLUMNS
/* For 1 to R rows: the source row of each element of a vector. Missing rows repeat the first one. */
#if V == 16 && R == 4
#define FEW "32x4"
#define SPREAD "vpermilps %[spread], %%zmm25, %%zmm25\n\t"
#define NEIGHBOURS "broadcastf32x4"
#define ROWS_BYTES "16"
static const int32_t spreads[R][V] = {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0},
                                      {0, 0, 0, 0, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0},
                                      {0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 0, 0, 0, 0},
                                      {0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3}};
#elif V == 16
#define FEW "32x4"
#define SPREAD "vpermilps %[spread], %%zmm25, %%zmm25\n\t"
#define NEIGHBOURS "broadcastsd"
#define ROWS_BYTES "8"
static const int32_t spreads[R][V] = {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0},
                                      {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1}};
#elif R == 4
#define FEW "64x4"
#define SPREAD "vpermpd %%zmm25, %[spread], %%zmm25\n\t"
#define NEIGHBOURS "broadcastf64x4"
#define ROWS_BYTES "32"
static const int64_t spreads[R][V] = {
    {0, 0, 0, 0, 0, 0, 0, 0}, {0, 0, 1, 1, 0, 0, 0, 0}, {0, 0, 1, 1, 2, 2, 0, 0}, {0, 0, 1, 1, 2, 2, 3, 3}};
#else
#define FEW "64x2"
#define SPREAD "vpermpd %%zmm25, %[spread], %%zmm25\n\t"
#define NEIGHBOURS "broadcastf64x2"
#define ROWS_BYTES "16"
static const int64_t spreads[R][V] = {{0, 0, 0, 0, 0, 0, 0, 0}, {0, 0, 0, 0, 1, 1, 1, 1}};
#endif
typedef int64_t indices __attribute__((vector_size(64), aligned(4), may_alias));
#define SPREAD_OPERAND [spread] "v"(spread),
#define LDA_OPERAND , AT(lda)
#define A_MASK "kmovw %c[rows_of_a](%[s]), %%k2\n\t"
#else
#define SPREAD_OPERAND
#define LDA_OPERAND
#define A_MASK
#endif

/* clang-format off */
/* LOAD_A loads the rows of A at p into register x, MASKED those of the first unrolled iteration under a mask;
 * MASKED_C adds the rows of C to c, STORE_C stores them from c. */
#if R == 4
#define LOAD_A(c, x, p)                                                                                     \
    "vmovu" P " (" p "), %%xmm" #x "\n\t"                                                                   \
    "vinsertf" LANE " $1, (" p ", %[o1]), %%zmm" #x ", %%zmm" #x "\n\t"                                     \
    "vinsertf" LANE " $2, (" p ", %[o2]), %%zmm" #x ", %%zmm" #x "\n\t"                                     \
    "vinsertf" LANE " $3, (" p ", %[o3]), %%zmm" #x ", %%zmm" #x "\n\t"
#define MASKED(c, x, p)                                                                                     \
    "vbroadcastf" LANE " (" p "), %%zmm" #x "%{%%k2%}%{z%}\n\t"                                             \
    "vbroadcastf" LANE " (" p ", %[o1]), %%zmm" #x "%{%%k3%}\n\t"                                           \
    "vbroadcastf" LANE " (" p ", %[o2]), %%zmm" #x "%{%%k4%}\n\t"                                           \
    "vbroadcastf" LANE " (" p ", %[o3]), %%zmm" #x "%{%%k5%}\n\t"
#define MASKED_C(c, x, p) MASKED(c, 25, p) "vadd" P " %%zmm25, %%zmm" #c ", %%zmm" #c "\n\t"
/* The lane goes through a register: an extraction to memory under a mask may fault at elements that the mask
 * leaves out. */
#define STORE_LANE(i, c, at)                                                                                \
    "vextractf" LANE " $" #i ", %%zmm" #c ", %%xmm25\n\tvmovu" P " %%xmm25, (" at ")%{%%k1%}\n\t"
#define STORE_C(c, x, p)                                                                                    \
    "vmovu" P " %%xmm" #c ", (" p ")%{%%k1%}\n\t"                                                           \
    STORE_LANE(1, c, p ", %[o1]") STORE_LANE(2, c, p ", %[o2]") STORE_LANE(3, c, p ", %[o3]")
#define ON "lea (%[t], %[o2], 2), %[t]\n\t"
#define LOAD_B "vbroadcastf" LANE " (%[b]), %%zmm24%{%%k1%}%{z%}\n\tadd %c[ldb](%[s]), %[b]\n\t"
#define MASKS(at)                                                                                           \
    "kmovw %c[" #at "](%[s]), %%k2\n\tkmovw %c[" #at "] + 4(%[s]), %%k3\n\t"                                \
    "kmovw %c[" #at "] + 8(%[s]), %%k4\n\tkmovw %c[" #at "] + 12(%[s]), %%k5\n\t"
#define O2_AND_O3 , [o2] "+&r"(o2), [o3] "+&r"(o3)
#define C2_AND_C3 "mov %c[c1] + 8(%[s]), %[o2]\n\tmov %c[c1] + 16(%[s]), %[o3]\n\t"
#define HALF_MASK
#else
#define O2_AND_O3
#define C2_AND_C3
#define HALF_MASK "kmovw %c[half](%[s]), %%k6\n\t"
#define LOAD_A(c, x, p)                                                                                     \
    "vbroadcastf" LANE " (" p "), %%zmm" #x "\n\t"                                                          \
    "vbroadcastf" LANE " (" p ", %[o1]), %%zmm" #x "%{%%k6%}\n\t"
#define MASKED(c, x, p)                                                                                     \
    "vbroadcastf" LANE " (" p "), %%zmm" #x "%{%%k2%}%{z%}\n\t"                                             \
    "vbroadcastf" LANE " (" p ", %[o1]), %%zmm" #x "%{%%k3%}\n\t"
#define MASKED_C(c, x, p)                                                                                   \
    "vbroadcastf" HALF " (" p "), %%zmm25%{%%k2%}%{z%}\n\t"                                                 \
    "vbroadcastf" HALF " (" p ", %[o1]), %%zmm25%{%%k3%}\n\t"                                               \
    "vadd" P " %%zmm25, %%zmm" #c ", %%zmm" #c "\n\t"
#define STORE_C(c, x, p)                                                                                    \
    "vmovu" P " %%ymm" #c ", (" p ")%{%%k1%}\n\t"                                                           \
    "vextractf" HALF " $1, %%zmm" #c ", %%ymm25\n\tvmovu" P " %%ymm25, (" p ", %[o1])%{%%k1%}\n\t"
#define ON "lea (%[t], %[o1], 2), %[t]\n\t"
#define LOAD_B "vbroadcastf" HALF " (%[b]), %%zmm24%{%%k1%}%{z%}\n\tadd %c[ldb](%[s]), %[b]\n\t"
#define MASKS(at) "kmovw %c[" #at "](%[s]), %%k2\n\tkmovw %c[" #at "] + 4(%[s]), %%k3\n\t"
#endif
#define ZERO_ROW(u, n, i, c, x) Z(c)
#if A_COLUMNS
/* Multiplies the rows at `at`, whose elements are spread over the rows' lanes. */
#define FMA_AT(at, c)                                                                                       \
    "v" NEIGHBOURS " " at ", %%zmm25\n\t" SPREAD                                                            \
    "vfmadd231" P " %%zmm24, %%zmm25, %%zmm" #c "\n\t"
/* The same for a last vector, which may have fewer rows. */
#define FMA_FEW(at, c)                                                                                      \
    "vbroadcastf" FEW " " at ", %%zmm25%{%%k2%}%{z%}\n\t" SPREAD                                            \
    "vfmadd231" P " %%zmm24, %%zmm25, %%zmm" #c "\n\t"
#define FMA_ROW(u, n, i, c, x) FMA_AT(ROWS_BYTES "*" #i "(%[a])", c)
#else
#define FMA_ROW(u, n, i, c, x)                                                                              \
    "vpermil" P " $" u ", %%zmm" #x ", %%zmm25\n\t"                                                         \
    "vfmadd231" P " %%zmm24, %%zmm25, %%zmm" #c "\n\t"
#endif
/* Text for groups of several vectors only. */
#define ONE(...)
#define MANY(...) __VA_ARGS__
#define A_AND_T , [a] "+&r"(a), [t] "=&r"(t)
/* F(sum, A, address) for all vectors: consecutive ones from t on, and the last one. */
#define ROWS_2_0(F, u, n)
#define FROM_T(F, n, i, c, x) F(c, x, "%[t]") ON
#define EACH(F, but, c, x) ROWS_2_##but(FROM_T, F, ) F(c, x, "%[last]")

#if A_COLUMNS
#define FMA_ONE FMA_FEW
#define FMA_MANY FMA_AT
#define K_ITERATION(u, n, but, c, x, many)                                                                  \
    LOAD_B ROWS_2_##but(FMA_ROW, u, ) FMA_##many("(%[last])", c)                                            \
    many("add %c[lda](%[s]), %[a]\n\t") "add %c[lda](%[s]), %[last]\n\t"
#define LOAD_FIRST(but, c, x, many)
#define LOAD_NEXT(but, c, x, many)
#define ADVANCE_UNROLLED(many)
#else
#define K_ITERATION(u, n, but, c, x, many) LOAD_B ROWS_2_##n(FMA_ROW, u, )
#define LOAD_FIRST(but, c, x, many) many("mov %[a], %[t]\n\t") MASKS(first) EACH(MASKED, but, c, x)
#define LOAD_NEXT(but, c, x, many) many("mov %[a], %[t]\n\t") EACH(LOAD_A, but, c, x)
#define ADVANCE_UNROLLED(many) many("add $16, %[a]\n\t") "add $16, %[last]\n\t"
#endif
#if UNROLL == 4
#define ENTER "cmpl $2, %c[enter](%[s])\n\tjl 2f\n\tje 3f\n\tjmp 4f\n\t"
#define UNROLLED(...)                                                                                       \
    K_ITERATION("0x00", __VA_ARGS__) "2:\n\t" K_ITERATION("0x55", __VA_ARGS__)                              \
    "3:\n\t" K_ITERATION("0xaa", __VA_ARGS__) "4:\n\t" K_ITERATION("0xff", __VA_ARGS__)
#else
#define ENTER "jmp 2f\n\t"
#define UNROLLED(...) K_ITERATION("0x00", __VA_ARGS__) "2:\n\t" K_ITERATION("0xff", __VA_ARGS__)
#endif

#define AT(field) [field] "i"(offsetof(struct uk_small_call, field))
/* A group of n vectors: `but` is n - 1, x and y are the registers of the last one's sum and of its A, and
 * `many` is ONE if n = 1, else MANY. */
#define GROUP(n, but, x, y, many)                                                                                      \
    __asm__ volatile("kmovw %c[all](%[s]), %%k1\n\t"                                                  \
                     HALF_MASK                                                                              \
                     A_MASK                                                                                 \
                     ROWS_2_##n(ZERO_ROW, , )                                                                        \
                     "test %[unrolled], %[unrolled]\n\t"                                                    \
                     "jle 6f\n\t"                                                                           \
                     "cmpl $0, %c[enter](%[s])\n\t"                                                         \
                     "je 1f\n\t"                                                                            \
                     LOAD_FIRST(but, x, y, many)                                                                          \
                     ENTER                                                                                  \
                     ".p2align 5\n"                                                                         \
                     "1:\n\t"                                                                               \
                     LOAD_NEXT(but, x, y, many)                                                                           \
                     UNROLLED(n, but, x, y, many)                                                                            \
                     ADVANCE_UNROLLED(many)                                                                    \
                     "dec %[unrolled]\n\t"                                                                  \
                     "jnz 1b\n"                                                                             \
                     "6:\n\t"                                                                               \
                     "mov %[c], %[last]\n\t"                                                                \
                     "add %c[c_last](%[s]), %[last]\n\t"                                                    \
                     "mov %c[c1](%[s]), %[o1]\n\t"                                                          \
                     C2_AND_C3                                                                              \
                     "test %[acc], %[acc]\n\t"                                                              \
                     "je 7f\n\t"                                                                            \
                     MASKS(mask)                                                                              \
                     many("mov %[c], %[t]\n\t")                                                         \
                     EACH(MASKED_C, but, x, y)                                                                     \
                     "7:\n\t"                                                                               \
                     many("mov %[c], %[t]\n\t")                                                         \
                     EACH(STORE_C, but, x, y)                                                                      \
                     : [unrolled] "+&r"(unrolled), [last] "+&r"(last), [o1] "+&r"(o1), [b] "+&r"(b)         \
                       O2_AND_O3 many(A_AND_T)                                                          \
                     : [s] "r"(s), [c] "r"(c), [acc] "r"(acc), SPREAD_OPERAND AT(enter), AT(ldb), AT(c1), AT(c_last), \
                       AT(all), AT(half), AT(rows_of_a), AT(first), AT(mask) LDA_OPERAND \
                     : "memory", "cc", "k1", "k2", "k3", "k4", "k5", "k6", "zmm0", "zmm1", "zmm2", "zmm3", "zmm4", "zmm5", \
                       "zmm6", "zmm7", "zmm8", "zmm9", "zmm10", "zmm11", "zmm12", "zmm13", "zmm14", "zmm15", \
                       "zmm16", "zmm17", "zmm18", "zmm19", "zmm20", "zmm21", "zmm22", "zmm23", "zmm24", "zmm25")
#define CASE(n, ...) case n: GROUP(n, __VA_ARGS__); break;
#define GROUPS(F)                                                                                           \
    F(1, 0, 0, 1, ONE) F(2, 1, 2, 3, MANY) F(3, 2, 4, 5, MANY) F(4, 3, 6, 7, MANY) F(5, 4, 8, 9, MANY)      \
    F(6, 5, 10, 11, MANY) F(7, 6, 12, 13, MANY) F(8, 7, 14, 15, MANY) F(9, 8, 16, 17, MANY)                 \
    F(10, 9, 18, 19, MANY) F(11, 10, 20, 21, MANY) F(12, 11, 22, 23, MANY)
/* clang-format on */

/* Computes `rows` rows, rounded up to R; columns are of one kind. If A is row-major, a points before the
 * first row by the k iterations that the first unrolled iteration skips. */
static inline __attribute__((always_inline)) void group(const struct uk_small_call *s,
                                                        int64_t kind __attribute__((unused)), int64_t rows,
                                                        const char *a, const element *b, char *c, int acc) {
    const char *last = a + s->a_last, *t __attribute__((unused));
    int64_t unrolled = s->unrolled, o1 = s->a1;
#if R == 4
    int64_t o2 = s->a2, o3 = s->a3;
#endif
#if A_COLUMNS
    const indices spread = *(const indices *)spreads[(s->m < R ? s->m : R) - 1];
#endif

    switch ((uint64_t)(rows + R - 1) / R) { GROUPS(CASE) }
}

/* Sets the offsets of the last vector of a group. */
static inline __attribute__((always_inline)) void begin_group(struct uk_small_call *s, int64_t rows) {
    const int64_t back = rows > R ? rows - R : 0;

    s->a_last = back * (A_COLUMNS ? size : s->lda);
    s->c_last = back * s->ldc;
}

static inline __attribute__((always_inline)) void prepare(struct uk_small_call *s, int64_t k, int64_t lda,
                                                          int64_t ldb, int64_t ldc, int64_t m, int64_t n) {
    const uint64_t iterations = (uint64_t)k + UNROLL - 1;
    const uint32_t all = V == 16 ? 0xffff : 0xff, row = (1u << UK_NR) - 1, lane = (1u << UNROLL) - 1;
    const uint32_t columns = (1u << n) - 1;

    s->unrolled = (int64_t)(iterations / UNROLL);
    s->enter = (int32_t)(UNROLL - 1 - iterations % UNROLL);
    s->lda = size * lda;
    s->ldb = size * ldb;
    s->ldc = size * ldc;
    s->m = s->rows = m;
    s->longer = 0;
    s->before = A_COLUMNS ? 0 : size * s->enter;
    begin_group(s, m);
    /* Missing rows of a vector repeat the first row. */
    s->a1 = m > 1 ? s->lda : 0;
    s->c1 = m > 1 ? s->ldc : 0;
    if (R == 4) {
        s->a2 = m > 2 ? 2 * s->lda : 0;
        s->a3 = m > 3 ? 3 * s->lda : 0;
        s->c2 = m > 2 ? 2 * s->ldc : 0;
        s->c3 = m > 3 ? 3 * s->ldc : 0;
    }
    /* The multiplication repeats the mask of a row for each row of a vector, or for each lane. */
    s->all = columns * (all / row);
    s->half = all & all << V / 2;
    /* A vector of a column-major A repeats its R elements. */
    if (A_COLUMNS)
        s->rows_of_a = ((1u << (m < R ? m : R)) - 1) * (all / ((1u << (V == 16 ? 4 : R)) - 1));
    for (int r = 0; r < R; r++)
        s->mask[r] = columns << r * UK_NR;
    for (int r = 0; r < R && s->enter && !A_COLUMNS; r++)
        s->first[r] = ((lane << s->enter & lane) * (all / lane) & row) << r * UK_NR;
    if (m > UK_MR) {
        const uint64_t vectors = (uint64_t)(m + R - 1) / R, groups = (uint64_t)(m + UK_MR - 1) / UK_MR;

        s->rows = (int64_t)(vectors / groups) * R;
        s->longer = (int64_t)(vectors % groups);
    }
}

#ifdef UK_RESOLVED
/* A function for groups of n vectors. */
#define RUN(n, ...)                                                                                     \
    static int run_##n(const struct uk_small_call *s, const void *a, const void *b, void *c, int acc) { \
        group(s, 0, n *R, (const char *)a - s->before, b, c, acc);                                      \
        return 0;                                                                                       \
    }
GROUPS(RUN)

#define FUNCTION(n, ...) run_##n,
static uk_small_run *const run_group[] = {GROUPS(FUNCTION)};
#define RUN_OF_ROWS(s, rows) run_group[(uint64_t)((rows) - 1) / R]
#if R == 4 && V == 16 && !A_COLUMNS
#include "gemm_fours_avx512.h"
#define PREPARE_WHOLE prepare_fours
#endif
#endif
enum { STEP_OF_ROWS = R };
#define BEGINS_GROUPS 1
#include "gemm_small_calls.h"
