/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Small products, any number of rows in one call: rows of A and of B in place, up to UK_NR columns, which are
 * one to four vectors, or a part of one. One text for AVX-512 and AVX2, for floats (UK_OP_sgemm_small) and
 * doubles (UK_OP_dgemm_small), and for a column-major A (UK_OP_sgemm_small_ta, UK_OP_dgemm_small_ta): the
 * elements of a k iteration are then contiguous, and one pointer goes from column to column.
 *
 *              vectors  rows at a time  sums of row i        b            a
 *     AVX-512  1        28              zmm<i>               zmm28        within the FMA, or zmm31
 *              1        26              zmm<i>               zmm27        within the FMA, or zmm26
 *              2        14              zmm<2i>, <2i + 1>    zmm28, 29    zmm31
 *              3        9               zmm<3i> .. <3i + 2>  zmm28 .. 30  zmm31
 *              4        6               zmm<4i> .. <4i + 3>  zmm27 .. 30  zmm31
 *     AVX2     1        12              ymm<i>               ymm12        ymm13, spread from ymm15, 11 .. 9
 *              2        6               ymm<2i>, <2i + 1>    ymm12, 13    ymm14, spread from ymm15, 11
 *              3        4               ymm<3i> .. <3i + 2>  ymm12 .. 14  ymm15
 *
 * An a outside of the FMA is broadcast within a register, from a vector in zmm28 .. 31 with 26 rows.
 *
 * Kernels of half or a quarter of a vector (AVX-512) take the low part of the same registers.
 *
 * The last of several vectors is the last V columns and may overlap the one before it. Both compute the same,
 * and a C that is added to is loaded before anything is stored. A load under a zeroing mask is two operations
 * on Intel's cores, one of which takes an FMA port; on AMD's an overlapping load may cross a cache line where
 * the masked one would not: one access more, for which load slots are free. Stores under masks take longer on
 * both. How fewer columns than a vector are loaded and stored depends on the instruction set
 * (gemm_small_avx512.h, gemm_small_avx2.h).
 *
 * The m rows are divided evenly into as few groups as possible (of 30 rows, 28 at a time, 15 + 15), so that
 * no group is short. Groups of few rows use few registers, so that callee-saved ones need not be saved.
 *
 * The loop over k is unrolled by four, and its first iteration is entered in the middle if k is no multiple
 * of four: a product's code has one loop and no remainder. Calls of the same size take the same few branches,
 * so that a processor begins the next call while the last FMAs of this one are in flight; it waits for C only
 * where it is added to. Where elements of four k iterations are loaded at once, the partial first unrolled
 * iteration stands before the loop, as such a load would read in front of a row.
 *
 * Bound: the FMAs, rows * vectors per k iteration, two a cycle. In addition, the vectors of b and one element
 * for each row are loaded: 29 loads for 28 FMAs with one vector, 16 for 28 with two, 12 for 27 with three, 10
 * for 24 with four; with AVX2 13, 8 and 7 for 12. n columns reach n / UK_NR of the peak at most.
 *
 * So with one vector the loads are the bound, the more so with few rows: with nine rows one load in ten is
 * the vector of b. Where the cache moves only two vectors a cycle in all, stores of C and rows of B across
 * two lines count too, about one each per k iteration. Therefore kernels of 26 rows, and AVX2's of one and
 * two vectors, load some rows' elements of four k iterations at once, and a shuffle spreads each: 3 loads
 * less per k iteration for four rows. The kernels of 26 rows are for cores on which shuffles and FMAs have
 * two ports each and share one of them: half as many shuffles as FMAs are then free, 4 with 8 rows. With
 * fewer rows the bound is the latency of an FMA, 4 cycles, not the ports. Where shuffles are free, rows share
 * a vector (gemm_merged_avx512.c).
 */
#include "registry/kernel_contract.h"
#include "registry/small_call.h"

#if defined UK_OP_sgemm_small_ta || defined UK_OP_dgemm_small_ta
#define A_COLUMNS 1
#else
#define A_COLUMNS 0
#endif
#ifdef UK_ISA_avx512
#include "element_avx512.h"
#else
#include "element_avx2.h"
#endif
/* NV: vectors of columns. The code of a group depends on the kind of columns (KINDS); kernels of several
 * vectors have only whole ones. */
#if UK_NR <= V
#define NV 1
#elif UK_NR == 2 * V
#define NV 2
#elif UK_NR == 3 * V
#define NV 3
#else
#define NV 4
#endif
#if NV > 1
#define KINDS(F) F(WHOLE)
enum kind { WHOLE };
#define KIND(n) WHOLE
#endif
#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)
#ifdef UK_ISA_avx512
#include "gemm_small_avx512.h"
#else
#include "gemm_small_avx2.h"
#endif
#include "gemm_small_rows.h"

/* clang-format off */
/* ROWS: F(u, r, row, registers of its sums) for the first r rows. */
#define ROWS(r, F, u) ROWS_OF(NV, r, F, u)
#define ROWS_OF(v, r, F, u) ROWS_BY(v, r, F, u)
#define ROWS_BY(v, r, F, u) ROWS_##v##_##r(F, u, r)
#define REG(x) REG_(x)
#define REG_(x) "%%" W "mm" #x
#define LOAD(at, x) "vmovu" P " " at ", " REG(x) "\n\t"
#define ADD(at, x) "vadd" P " " at ", " REG(x) ", " REG(x) "\n\t"
#define STORE(at, x) "vmovu" P " " REG(x) ", " at "\n\t"
#define FMA(b, x) "vfmadd231" P " " REG(b) ", " REG(T) ", " REG(x) "\n\t"
/* EACH_SUM: F(a vector of B, a row's sum) for the row's sums. EACH_AT: F(address in C, sum). LOAD_B: the row
 * of B. The last of several vectors begins `last` bytes after the first. */
#if NV == 1
#define EACH_SUM(F, x) F(B0, x)
#define EACH_AT(F, i, x) F(AT_ROW(i), x)
#define LOAD_B LOAD("(%[b])", B0)
#define TO_LAST(far)
#define LAST_INPUT
#elif NV == 2
#define EACH_SUM(F, x, y) F(B0, x) F(B1, y)
#define EACH_AT(F, i, x, y) F(AT_ROW(i), x) F(LAST_OF_ROW(i), y)
#define LOAD_B LOAD("(%[b])", B0) LOAD_LAST(B1)
#elif NV == 3
#define EACH_SUM(F, x, y, z) F(B0, x) F(B1, y) F(B2, z)
#define EACH_AT(F, i, x, y, z) F(AT_ROW(i), x) F(VECTOR_BYTES AT_ROW(i), y) F(LAST_OF_ROW(i), z)
#define LOAD_B LOAD("(%[b])", B0) LOAD(VECTOR_BYTES "(%[b])", B1) LOAD_LAST(B2)
#else
#define EACH_SUM(F, x, y, z, w) F(B0, x) F(B1, y) F(B2, z) F(B3, w)
#define EACH_AT(F, i, x, y, z, w)                                                                           \
    F(AT_ROW(i), x) F(VECTOR_BYTES AT_ROW(i), y) F("2*" VECTOR_BYTES AT_ROW(i), z) F(LAST_OF_ROW(i), w)
#define LOAD_B                                                                                              \
    LOAD("(%[b])", B0) LOAD(VECTOR_BYTES "(%[b])", B1) LOAD("2*" VECTOR_BYTES "(%[b])", B2) LOAD_LAST(B3)
#endif
#if NV > 1
#define LOAD_LAST(b) LOAD("(%[b], %[last])", b)
#define TO_LAST(far) TO_LAST_##far
#define LAST_INPUT , [last] "r"(s->c_last)
#endif
#define ZERO(b, x) Z(x)
#define ZERO_ROW(u, n, i, ...) EACH_SUM(ZERO, __VA_ARGS__)
#define ADD_ROW(u, n, ...) EACH_AT(ADD, __VA_ARGS__)
#define STORE_ROW(u, n, ...) EACH_AT(STORE, __VA_ARGS__)

/* The address of a row's element of A in k iteration u. */
#if A_COLUMNS
#define A_AT(u, i) BYTES "*" #i "(%[a0])"
#define A_NEXT "add %[ld], %[a0]\n\t"
#define TO_A(far)
#define A_ON(far)
#else
#define A_AT(u, i) BYTES "*" #u AT_ROW(i)
#define A_NEXT
#define TO_A(far) TO_##far
#define A_ON(far) ON_##far("$4*" BYTES)
#endif
/* The FMAs of a row, with an element of A that is either broadcast, a memory operand of the FMA, or spread
 * from four that were loaded at once. */
#define BROADCAST_FMA(u, i, ...) BROADCAST_ONE A_AT(u, i) ", " REG(T) "\n\t" EACH_SUM(FMA, __VA_ARGS__)
#if ALL_WITHIN
#define PLAIN_ROW(u, n, i, x) FMA_WITHIN(u, i, x)
#elif defined IS_WITHIN
#define PLAIN_ROW(u, n, i, x)                                                                               \
    ".if " IS_WITHIN(i) "\n\t" FMA_WITHIN(u, i, x) ".else\n\t" BROADCAST_FMA(u, i, x) ".endif\n\t"
#else
#define PLAIN_ROW(u, n, ...) BROADCAST_FMA(u, __VA_ARGS__)
#endif
#if SPREADS
#define FMA_ROW(u, n, i, ...)                                                                               \
    ".if " IS_SPREAD(n, i) "\n\t" SPREAD(u, i) EACH_SUM(FMA, __VA_ARGS__)                                   \
    ".else\n\t" PLAIN_ROW(u, n, i, __VA_ARGS__) ".endif\n\t"
#define LOAD_ROW(u, n, i, ...) ".if " IS_SPREAD(n, i) "\n\t" LOAD_FOUR(AT_ROW(i), FOUR_##i) "\n\t.endif\n\t"
#else
#define FMA_ROW PLAIN_ROW
#endif

/* A kind of columns M defines
 *
 *     M_ALL(r, F, u)     F for all r rows
 *     M_SET              text before the loop
 *     M_B                the load of a row of B
 *     M_INPUTS           further operands
 *     M_END(r, far)      adds to C and stores
 *
 * WHOLE: all vectors are whole. The headers of the instruction sets have the kinds of fewer columns than a
 * vector. */
#define WHOLE_ALL ROWS
#define WHOLE_SET
#define WHOLE_B LOAD_B
#define WHOLE_INPUTS LAST_INPUT
#define WHOLE_END(r, far) TO_LAST(far) END(r, ADD_ROW, STORE_ROW)
/* Adds C to the sums if acc, and stores them. */
#define END(r, ADDING, STORING)                                                                             \
    "test %[acc], %[acc]\n\t"                                                                               \
    "je 6f\n\t"                                                                                             \
    ROWS(r, ADDING, 0)                                                                                      \
    "6:\n\t"                                                                                                \
    ROWS(r, STORING, 0)

#define K_ITERATION(M, u, r, ROW) M##_B K_LOADS "add %[ldb], %[b]\n\t" M##_ALL(r, ROW, u) A_NEXT
#define NEXT_UNROLLED(far) A_ON(far) "dec %[unrolled]\n\t"
/* The k iterations. If the elements of four of them are loaded at once, a first unrolled iteration that
 * skips some is separate and loads one element at a time. jp and jnp test the parity of the comparison's
 * low byte. */
#if SPREADS && !A_COLUMNS
#define LOOP(M, r, far, prefetch, fetch)                                                                    \
    "jnp 1f\n\t" /* 0 - 2 has 7 bits set, 1 - 2 has 8 */                                                        \
    K_ITERATION(M, 1, r, PLAIN_ROW)                                                                         \
    "3:\n\t" K_ITERATION(M, 2, r, PLAIN_ROW)                                                                \
    "4:\n\t" K_ITERATION(M, 3, r, PLAIN_ROW)                                                                \
    NEXT_UNROLLED(far)                                                                                      \
    "jz 5f\n\t"                                                                                             \
    ".p2align 6\n"                                                                                          \
    "1:\n\t" M##_ALL(r, LOAD_ROW, 0)                                                                        \
    K_ITERATION(M, 0, r, FMA_ROW) K_ITERATION(M, 1, r, FMA_ROW)                                             \
    K_ITERATION(M, 2, r, FMA_ROW) K_ITERATION(M, 3, r, FMA_ROW)                                             \
    NEXT_UNROLLED(far)
#else
#define LOOP(M, r, far, prefetch, fetch)                                                                    \
    "jp 2f\n\t" /* 1 - 2 has 8 bits set, 0 - 2 has 7 */                                                         \
    "jmp 1f\n\t"                                                                                            \
    ".p2align 5\n"                                                                                          \
    "1:\n\t" prefetch K_ITERATION(M, 0, r, FMA_ROW)                                                         \
    "2:\n\t" prefetch K_ITERATION(M, 1, r, FMA_ROW)                                                         \
    "3:\n\t" prefetch K_ITERATION(M, 2, r, FMA_ROW)                                                         \
    "4:\n\t" prefetch K_ITERATION(M, 3, r, FMA_ROW)                                                         \
    fetch                                                                                                   \
    NEXT_UNROLLED(far)
#endif
/* Resolved calls have k > 0. */
#ifdef UK_RESOLVED
#define IF_ANY
#else
#define IF_ANY "test %[unrolled], %[unrolled]\n\tjle 5f\n\t"
#endif
#define AT(field) [field] "i"(offsetof(struct uk_small_call, field))
#define ALL_UNROLLED [all_unrolled] "i"(offsetof(struct uk_small_call, unrolled))
/* A group of r rows and columns of kind M. `prefetch` is in each k iteration, `fetch` in each unrolled
 * iteration; further operands follow. */
#define GROUP(r, far, M, prefetch, fetch, ...)                                                              \
    __asm__ volatile(M##_ALL(r, ZERO_ROW, 0)                                                                \
                     M##_SET SET_FOURS                                                                       \
                     IF_ANY                                                                                 \
                     TO_A(far)                                                                              \
                     "cmpl $2, %c[enter](%[s])\n\t"                                                         \
                     "jg 4f\n\t"                                                                            \
                     "je 3f\n\t"                                                                            \
                     LOOP(M, r, far, prefetch, fetch)                                                       \
                     "jnz 1b\n"                                                                             \
                     "5:\n\t"                                                                               \
                     "mov %[c], %[a0]\n\t"                                                                  \
                     "mov %c[ldc](%[s]), %[ld]\n\t"                                                         \
                     TO_##far                                                                               \
                     M##_END(r, far)                                                                        \
                     : [unrolled] "+&r"(unrolled), [a0] "+&r"(a0), [ld] "+&r"(ld), [b] "+&r"(b) FAR_##far __VA_ARGS__ \
                     : [s] "r"(s), [c] "r"(c), [acc] "r"(acc), [ldb] "r"(s->ldb), AT(enter), AT(ldc), AT(mask), \
                       AT(first), ALL_UNROLLED M##_INPUTS                                                   \
                     : "memory", "cc", CLOBBERS)
#define GROUPS PASTE(UP_TO_, UK_MR)

/* group_M computes `rows` rows; the further arguments declare variables of its cases. If A is row-major, a0
 * points before the first row by the k iterations that the first unrolled iteration skips. */
#define GROUP_BY(M, LIST, CASE, ...)                                                                        \
    static inline __attribute__((always_inline)) void group_##M(const struct uk_small_call *s, int64_t rows, \
                                                                const char *a0, const element *b, char *c, int acc) { \
        const char *a7 __attribute__((unused)), *a14 __attribute__((unused)), *a21 __attribute__((unused)); \
        int64_t unrolled = s->unrolled, ld = s->lda, ld3 __attribute__((unused)), ld5 __attribute__((unused)); \
        __VA_ARGS__                                                                                         \
                                                                                                            \
        switch (rows) { LIST(CASE, M) }                                                                     \
    }
#define CASE(r, far, M) case r: GROUP(r, far, M, , , ); break;
#define GROUP_OF(M) GROUP_BY(M, GROUPS, CASE, )
KINDS(GROUP_OF)
/* clang-format on */

/* IS_FEW: a kernel of fewer vectors would do, and the choice of kernels takes that one. A loop over columns
 * still calls this kernel with its last columns: they are computed a row and a vector at a time, the last
 * vector in part. */
#if NV > 1
#define IS_FEW(n) ((n) <= UK_NR - V)
static int run_few(const struct uk_small_call *s, const void *a, const void *b, void *c, int acc) {
    const int64_t row = A_COLUMNS ? size : s->lda, next = A_COLUMNS ? s->lda : size, n = s->bytes / size;

    for (int64_t j = 0; j < n; j += V)
        for (int64_t i = 0; i < s->m; i++) {
            const int64_t columns = n - j < V ? n - j : V;
            element *to = (element *)((char *)c + i * s->ldc) + j;
            vector sum = WHOLE_OF(setzero)();

            for (int64_t p = 0; p < s->iterations; p++)
                sum = WHOLE_OF(fmadd)(
                    WHOLE_OF(set1)(*(const element *)((const char *)a + i * row + p * next)),
                    load_columns((const element *)((const char *)b + p * s->ldb) + j, columns), sum);
            if (acc)
                sum = WHOLE_OF(add)(sum, load_columns(to, columns));
            store_columns(to, columns, sum);
        }
    return 0;
}
#endif

/* The loop is unrolled by four, and rows are divided evenly into groups. */
static inline __attribute__((always_inline)) void prepare(struct uk_small_call *s, int64_t k, int64_t lda,
                                                          int64_t ldb, int64_t ldc, int64_t m, int64_t n) {
    const uint64_t iterations = (uint64_t)k + 3;

    s->unrolled = (int64_t)(iterations / 4);
    s->enter = (int32_t)(3 - iterations % 4);
    s->iterations = k;
    s->lda = size * lda;
    s->ldb = size * ldb;
    s->ldc = size * ldc;
    s->bytes = size * n;
    s->m = s->rows = m;
    s->longer = 0;
    s->before = A_COLUMNS ? 0 : size * s->enter;
    if (m > UK_MR) {
        const int64_t groups = (m + UK_MR - 1) / UK_MR;

        s->rows = m / groups;
        s->longer = m % groups;
    }
    prepare_columns(s, m, n);
}

#ifndef UK_RESOLVED
static inline __attribute__((always_inline)) void group(const struct uk_small_call *s, int64_t kind,
                                                        int64_t rows, const char *a, const element *b,
                                                        char *c, int acc) {
#define OF_KIND(M)                        \
    case M:                               \
        group_##M(s, rows, a, b, c, acc); \
        break;
    switch ((enum kind)kind) { KINDS(OF_KIND) }
}
#elif defined UK_ISA_avx512 && NV > 1
#include "gemm_small_wide_avx512.h"
#define PREPARE_RUNS prepare_runs
#else
/* A function for each kind and number of rows, so that each has only the instructions and registers that it
 * needs. */
#define RUN(r, far, M)                                                                             \
    static int run_##M##_##r(const struct uk_small_call *s, const void *a, const void *b, void *c, \
                             int acc) {                                                            \
        group_##M(s, r, (const char *)a - s->before, b, c, acc);                                   \
        return 0;                                                                                  \
    }
#define RUNS(M) GROUPS(RUN, M)
KINDS(RUNS)

#define FUNCTION(r, far, M) run_##M##_##r,
#define FUNCTIONS(M) [M] = {GROUPS(FUNCTION, M)},
static uk_small_run *const run_group[][UK_MR] = {KINDS(FUNCTIONS)};
#define RUN_OF_ROWS(s, rows) run_group[(s)->kind][(rows) - 1]
#if defined UK_ISA_avx512 && !A_COLUMNS && !SPREADS
#if UK_NR == 4 && V == 16
#include "gemm_fours_avx512.h"
#define PREPARE_FOURS prepare_fours
#endif
#if UK_NR <= 8
#include "gemm_small_straight_avx512.h"
#define PREPARE_STRAIGHT prepare_straight
#endif
#endif
#endif

#if defined UK_RESOLVED && (defined IS_FEW || defined PREPARE_STRAIGHT)
/* True if the product has special code, and then prepared. */
static inline bool prepare_whole(struct uk_small_call *s, int64_t k, int64_t lda, int64_t ldb, int64_t ldc,
                                 int64_t m, int64_t n) {
#ifdef PREPARE_FOURS
    if (PREPARE_FOURS(s, k, lda, ldb, ldc, m, n))
        return true;
#endif
#ifdef PREPARE_STRAIGHT
    if (PREPARE_STRAIGHT(s, k, lda, ldb, ldc, m, n))
        return true;
#endif
#ifdef IS_FEW
    if (IS_FEW(n)) {
        prepare(s, k, lda, ldb, ldc, m, n);
        s->run = run_few;
        return true;
    }
#endif
    return false;
}
#define PREPARE_WHOLE prepare_whole
#endif
enum { STEP_OF_ROWS = 1 };
#define BEGINS_GROUPS 0
#include "gemm_small_calls.h"
