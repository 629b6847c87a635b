/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Small products of two to four vectors of columns, any number of rows in one call: rows of A and of B in
 * place, UK_NR = NV vectors of columns or fewer. One text for floats (UK_OP_sgemm_small) and doubles
 * (UK_OP_dgemm_small), and for a column-major A (UK_OP_sgemm_small_ta, UK_OP_dgemm_small_ta): the elements of a
 * k iteration are then contiguous, and one pointer goes from column to column. One vector of columns:
 * gemm_small_avx512.c.
 *
 *     vectors   rows at a time   accumulators                      b               a
 *        2            14         row i: zmm<2i>, <2i + 1>          zmm28, 29       zmm31
 *        3             9         row i: zmm<3i> .. <3i + 2>        zmm28 .. 30     zmm31
 *        4             6         row i: zmm<4i> .. <4i + 3>        zmm27 .. 30     zmm31
 *
 * No masks: the last vector is the last V columns and may overlap the one before it. Both compute the same, and
 * a C that is added to is loaded before it is stored. A load under a zeroing mask is two operations on Intel's
 * cores, one of which takes an FMA port: 4 for 24 FMAs with four vectors. On AMD's cores it takes none, and an
 * overlapping load may cross a cache line where the masked one would not: one access more, for which load slots
 * are free. Stores under masks take longer on both. Calls with so few columns that a kernel of fewer vectors
 * would do have a loop in C (gemm_small_few_avx512.h), which the choice of kernels never takes.
 *
 * The m rows are divided evenly into as few groups as possible (23 rows of two vectors are 12 + 11), so that no
 * group is short. Rows of a group lie 0 to 6 times lda behind one of up to two pointers; three registers hold
 * lda, 3 lda and 5 lda, and the same multiples of ldc after the loop.
 *
 * The loop over k is unrolled by four, and its first iteration is entered in the middle if k is no multiple of
 * four: a product's code has one loop and no remainder. Calls of the same size take the same few branches, so
 * that a processor begins the next call while the last FMAs of this one are in flight; it waits for C only
 * where it is added to.
 *
 * Rows of A that come from the LLC or memory have code of their own (s->ahead): each unrolled iteration
 * prefetches lines of two rows of the next group, which are too many streams, and too short ones, for the
 * hardware prefetcher. With two vectors it prefetches 128 bytes of each row of the next group in the 28 k
 * iterations in which a group of 14 rows reads 112 bytes of each of its own.
 *
 * So has a C that is not in L1 (s->prefetching): each unrolled iteration prefetches for writing the lines of
 * one of the group's rows, or of two or four if there are few unrolled iterations. Stores retire in order, and
 * the lines that they request at the end of a group leave no line fill buffers for A and B; prefetches spread
 * over the iterations do. Kernels of two vectors, whose calls go along rows of C, also prefetch from L2 what
 * the next call reads of B.
 *
 * Bound: the FMAs, rows * vectors per k iteration, two a cycle. Beside them the vectors of b and one element
 * for each row are loaded: 16 loads for 28 FMAs with two vectors, 12 for 27 with three, 10 for 24 with four. n
 * columns reach n / (V * vectors) of the peak at most.
 */
#include "registry/kernel_contract.h"
#include "registry/small_call.h"
#include "element_avx512.h"

#if defined UK_OP_sgemm_small_ta || defined UK_OP_dgemm_small_ta
#define A_COLUMNS 1
#else
#define A_COLUMNS 0
#endif
#define NV (UK_NR / V)
#include "gemm_small_few_avx512.h"
#include "gemm_small_sizes.h"

/* clang-format off */
/* The address of row i of a group, of A or of C, and that of its last vector of C. */
#define ROW_0(a0, a7) "(%[" a0 "])"
#define ROW_1(a0, a7) "(%[" a0 "], %[ld])"
#define ROW_2(a0, a7) "(%[" a0 "], %[ld], 2)"
#define ROW_3(a0, a7) "(%[" a0 "], %[ld3])"
#define ROW_4(a0, a7) "(%[" a0 "], %[ld], 4)"
#define ROW_5(a0, a7) "(%[" a0 "], %[ld5])"
#define ROW_6(a0, a7) "(%[" a0 "], %[ld3], 2)"
#define ROW_7(a0, a7) ROW_0(a7, )
#define ROW_8(a0, a7) ROW_1(a7, )
#define ROW_9(a0, a7) ROW_2(a7, )
#define ROW_10(a0, a7) ROW_3(a7, )
#define ROW_11(a0, a7) ROW_4(a7, )
#define ROW_12(a0, a7) ROW_5(a7, )
#define ROW_13(a0, a7) ROW_6(a7, )
#define AT_ROW(i) ROW_##i("a0", "a7")
#define LAST_OF_ROW(i) ROW_##i("b", "unrolled")

/* F(u, row, its accumulators) for the first rows. */
#if NV == 2
#define NVS "2"
#define ROWS_1(F, u) F(u, 0, 0, 1)
#define ROWS_2(F, u) ROWS_1(F, u) F(u, 1, 2, 3)
#define ROWS_3(F, u) ROWS_2(F, u) F(u, 2, 4, 5)
#define ROWS_4(F, u) ROWS_3(F, u) F(u, 3, 6, 7)
#define ROWS_5(F, u) ROWS_4(F, u) F(u, 4, 8, 9)
#define ROWS_6(F, u) ROWS_5(F, u) F(u, 5, 10, 11)
#define ROWS_7(F, u) ROWS_6(F, u) F(u, 6, 12, 13)
#define ROWS_8(F, u) ROWS_7(F, u) F(u, 7, 14, 15)
#define ROWS_9(F, u) ROWS_8(F, u) F(u, 8, 16, 17)
#define ROWS_10(F, u) ROWS_9(F, u) F(u, 9, 18, 19)
#define ROWS_11(F, u) ROWS_10(F, u) F(u, 10, 20, 21)
#define ROWS_12(F, u) ROWS_11(F, u) F(u, 11, 22, 23)
#define ROWS_13(F, u) ROWS_12(F, u) F(u, 12, 24, 25)
#define ROWS_14(F, u) ROWS_13(F, u) F(u, 13, 26, 27)
#elif NV == 3
#define NVS "3"
#define ROWS_1(F, u) F(u, 0, 0, 1, 2)
#define ROWS_2(F, u) ROWS_1(F, u) F(u, 1, 3, 4, 5)
#define ROWS_3(F, u) ROWS_2(F, u) F(u, 2, 6, 7, 8)
#define ROWS_4(F, u) ROWS_3(F, u) F(u, 3, 9, 10, 11)
#define ROWS_5(F, u) ROWS_4(F, u) F(u, 4, 12, 13, 14)
#define ROWS_6(F, u) ROWS_5(F, u) F(u, 5, 15, 16, 17)
#define ROWS_7(F, u) ROWS_6(F, u) F(u, 6, 18, 19, 20)
#define ROWS_8(F, u) ROWS_7(F, u) F(u, 7, 21, 22, 23)
#define ROWS_9(F, u) ROWS_8(F, u) F(u, 8, 24, 25, 26)
#elif NV == 4
#define NVS "4"
#define ROWS_1(F, u) F(u, 0, 0, 1, 2, 3)
#define ROWS_2(F, u) ROWS_1(F, u) F(u, 1, 4, 5, 6, 7)
#define ROWS_3(F, u) ROWS_2(F, u) F(u, 2, 8, 9, 10, 11)
#define ROWS_4(F, u) ROWS_3(F, u) F(u, 3, 12, 13, 14, 15)
#define ROWS_5(F, u) ROWS_4(F, u) F(u, 4, 16, 17, 18, 19)
#define ROWS_6(F, u) ROWS_5(F, u) F(u, 5, 20, 21, 22, 23)
#endif

/* Registers below 16 have a shorter zeroing instruction, which takes no execution unit. */
#define Z(x)                                                                                                \
    ".if " #x " < 16\n\tvpxor %%xmm" #x ", %%xmm" #x ", %%xmm" #x "\n\t"                                     \
    ".else\n\tvpxord %%xmm" #x ", %%xmm" #x ", %%xmm" #x "\n\t.endif\n\t"
/* The address of a row's element of A in k iteration u; x is the row's first accumulator. */
#if A_COLUMNS
#define A_AT(u, i) BYTES "*" #i "(%[a0])"
#define A_ON "add %[ld], %[a0]\n\t"
#else
#define A_AT(u, i) BYTES "*" #u AT_ROW(i)
#define A_ON
#endif
#define BROADCAST(u, i) "vbroadcast" S " " A_AT(u, i) ", %%zmm31\n\t"
#define FMA(b, x) "vfmadd231" P " %%zmm" #b ", %%zmm31, %%zmm" #x "\n\t"
#define LOAD(at, b) "vmovu" P " " at ", %%zmm" #b "\n\t"
#define LOAD_LAST(b) LOAD("(%[b], %[last])", b)
#define ADD(at, x) "vadd" P " " at ", %%zmm" #x ", %%zmm" #x "\n\t"
#define STORE(at, x) "vmovu" P " %%zmm" #x ", " at "\n\t"
#if NV == 2
#define ZERO_ROW(u, i, x, y) Z(x) Z(y)
#define FMA_ROW(u, i, x, y) BROADCAST(u, i) FMA(28, x) FMA(29, y)
#define EACH_OF_ROW(F, i, x, y) F(AT_ROW(i), x) F(LAST_OF_ROW(i), y)
#define LOAD_B LOAD("(%[b])", 28) LOAD_LAST(29)
#elif NV == 3
#define ZERO_ROW(u, i, x, y, z) Z(x) Z(y) Z(z)
#define FMA_ROW(u, i, x, y, z) BROADCAST(u, i) FMA(28, x) FMA(29, y) FMA(30, z)
#define EACH_OF_ROW(F, i, x, y, z) F(AT_ROW(i), x) F("64" AT_ROW(i), y) F(LAST_OF_ROW(i), z)
#define LOAD_B LOAD("(%[b])", 28) LOAD("64(%[b])", 29) LOAD_LAST(30)
#elif NV == 4
#define ZERO_ROW(u, i, x, y, z, w) Z(x) Z(y) Z(z) Z(w)
#define FMA_ROW(u, i, x, y, z, w) BROADCAST(u, i) FMA(27, x) FMA(28, y) FMA(29, z) FMA(30, w)
#define EACH_OF_ROW(F, i, x, y, z, w)                                                                       \
    F(AT_ROW(i), x) F("64" AT_ROW(i), y) F("128" AT_ROW(i), z) F(LAST_OF_ROW(i), w)
#define LOAD_B LOAD("(%[b])", 27) LOAD("64(%[b])", 28) LOAD("128(%[b])", 29) LOAD_LAST(30)
#endif
#define ADD_ROW(u, ...) EACH_OF_ROW(ADD, __VA_ARGS__)
#define STORE_ROW(u, ...) EACH_OF_ROW(STORE, __VA_ARGS__)

#define K_ITERATION(u, n) LOAD_B "add %[ldb], %[b]\n\t" ROWS_##n(FMA_ROW, u) A_ON
/* Sets the pointers of a group from the first one; moves them by four elements; and sets those of the last
 * vectors of C, each for as many rows as the group has. */
#define TO_0
#define TO_7 "lea (%[a0], %[ld3], 2), %[a7]\n\tadd %[ld], %[a7]\n\t"
#define ON_0 "add $4*" BYTES ", %[a0]\n\t"
#define ON_7 ON_0 "add $4*" BYTES ", %[a7]\n\t"
#define TO_LAST_0 "lea (%[a0], %[last]), %[b]\n\t"
#define TO_LAST_7 TO_LAST_0 "lea (%[a7], %[last]), %[unrolled]\n\t"
#if A_COLUMNS
#define A_ON_0
#define A_ON_7
#else
#define A_ON_0 ON_0
#define A_ON_7 ON_7
#endif

#define AT(field) [field] "i"(offsetof(struct uk_small_call, field))
#define ALL_UNROLLED [all_unrolled] "i"(offsetof(struct uk_small_call, unrolled))
/* Operand: the pointer of further rows. */
#define FAR_0
#define FAR_7 , [a7] "=&r"(a7)
/* A group of n rows, whose last pointer is `far`; `prefetch` is what each k iteration prefetches, `fetch` what
 * each unrolled iteration does, with further operands. */
#define GROUP(n, far, prefetch, fetch, ...)                                                                 \
    __asm__ volatile(ROWS_##n(ZERO_ROW, 0)                                                                  \
                     "test %[unrolled], %[unrolled]\n\t"                                                    \
                     "jle 5f\n\t"                                                                           \
                     "lea (%[ld], %[ld], 2), %[ld3]\n\t"                                                    \
                     "lea (%[ld], %[ld], 4), %[ld5]\n\t"                                                    \
                     TO_##far                                                                               \
                     "cmpl $2, %c[enter](%[s])\n\t"                                                         \
                     "jg 4f\n\t"                                                                            \
                     "je 3f\n\t"                                                                            \
                     "jp 2f\n\t" /* 1 - 2 has 8 bits, 0 - 2 has 7 */                                        \
                     "jmp 1f\n\t"                                                                           \
                     ".p2align 5\n"                                                                         \
                     "1:\n\t" prefetch K_ITERATION(0, n)                                                    \
                     "2:\n\t" prefetch K_ITERATION(1, n)                                                    \
                     "3:\n\t" prefetch K_ITERATION(2, n)                                                    \
                     "4:\n\t" prefetch K_ITERATION(3, n)                                                    \
                     A_ON_##far                                                                             \
                     fetch                                                                                  \
                     "dec %[unrolled]\n\t"                                                                  \
                     "jnz 1b\n"                                                                             \
                     "5:\n\t"                                                                               \
                     "mov %[c], %[a0]\n\t"                                                                  \
                     "mov %c[ldc](%[s]), %[ld]\n\t"                                                         \
                     "lea (%[ld], %[ld], 2), %[ld3]\n\t"                                                    \
                     "lea (%[ld], %[ld], 4), %[ld5]\n\t"                                                    \
                     TO_##far                                                                               \
                     TO_LAST_##far                                                                          \
                     "test %[acc], %[acc]\n\t"                                                              \
                     "je 6f\n\t"                                                                            \
                     ROWS_##n(ADD_ROW, 0)                                                                   \
                     "6:\n\t"                                                                               \
                     ROWS_##n(STORE_ROW, 0)                                                                 \
                     : [unrolled] "+&r"(unrolled), [a0] "+&r"(a0), [ld] "+&r"(ld), [ld3] "=&r"(ld3), [ld5] "=&r"(ld5), \
                       [b] "+&r"(b) FAR_##far __VA_ARGS__                                                   \
                     : [s] "r"(s), [c] "r"(c), [acc] "r"(acc), [ldb] "r"(s->ldb), [last] "r"(s->c_last), AT(enter), AT(ldc), ALL_UNROLLED \
                     : "memory", "cc", "zmm0", "zmm1", "zmm2", "zmm3", "zmm4", "zmm5",                      \
                       "zmm6", "zmm7", "zmm8", "zmm9", "zmm10", "zmm11", "zmm12", "zmm13", "zmm14", "zmm15", \
                       "zmm16", "zmm17", "zmm18", "zmm19", "zmm20", "zmm21", "zmm22", "zmm23", "zmm24",     \
                       "zmm25", "zmm26", "zmm27", "zmm28", "zmm29", "zmm30", "zmm31")
/* F(rows, their last pointer) for groups of each number of rows. */
#define GROUPS_6(F) F(1, 0) F(2, 0) F(3, 0) F(4, 0) F(5, 0) F(6, 0)
#define GROUPS_9(F) GROUPS_6(F) F(7, 0) F(8, 7) F(9, 7)
#define GROUPS_14(F) GROUPS_9(F) F(10, 7) F(11, 7) F(12, 7) F(13, 7) F(14, 7)
#if UK_MR == 14
#define GROUPS GROUPS_14
#elif UK_MR == 9
#define GROUPS GROUPS_9
#elif UK_MR == 6
#define GROUPS GROUPS_6
#endif
#define CASE(n, far) case n: GROUP(n, far, , ); break;
/* clang-format on */

/* Computes `rows` rows. Where A is row-major, a0 lies in front of the first row by the k iterations that the
 * first unrolled iteration skips. */
static inline __attribute__((always_inline)) void group(const struct uk_small_call *s, int64_t rows,
                                                        const char *a0, const element *b, char *c, int acc) {
    const char *a7 __attribute__((unused));
    int64_t unrolled = s->unrolled, ld = s->lda, ld3, ld5;

#ifndef UK_RESOLVED
    if (s->half) {
        few_columns(s, rows, a0, (const char *)b, c, acc);
        return;
    }
#endif
    switch (rows) { GROUPS(CASE) }
}

static inline __attribute__((always_inline)) void prepare(struct uk_small_call *s, int64_t k, int64_t lda,
                                                          int64_t ldb, int64_t ldc, int64_t m, int64_t n) {
    prepare_sizes(s, k, lda, ldb, ldc, m);
    s->c_last = size * (n - V);
    s->a1 = m > UK_MR ? (m + UK_MR - 1) / UK_MR - s->longer : 1; /* the number of shorter groups */
    s->half = 0;
    if (n <= UK_NR - V)
        prepare_few(s, k, n);
}

#if defined UK_RESOLVED && !A_COLUMNS
/* clang-format off */
/* Prefetches LINES lines of two rows of the next group, then of the next two; after the last rows it goes on
 * with the next lines of the first two. */
#define FETCH_LINE(bytes) "prefetcht0 " bytes "(%[f])\n\tprefetcht0 " bytes "(%[f], %[ld])\n\t"
#define FETCH_1 FETCH_LINE("")
#define FETCH_2 FETCH_1 FETCH_LINE("64")
#define FETCH_3 FETCH_2 FETCH_LINE("128")
#define FETCH_4 FETCH_3 FETCH_LINE("192")
#if NV == 2 && V == 8
#define LINES 4
#elif NV == 3 && V == 8
#define LINES 3
#elif NV == 4 && V == 16
#define LINES 1
#else
#define LINES 2
#endif
#define FETCH_(lines) FETCH_##lines
#define FETCH_LINES(lines) FETCH_(lines)
#define FETCH(n)                                                                                            \
    FETCH_LINES(LINES)                                                                                      \
    "lea (%[f], %[ld], 2), %[f]\n\t"                                                                        \
    "dec %[pairs]\n\t"                                                                                      \
    "jnz 7f\n\t"                                                                                            \
    "imul $(" #n " + 1) / 2 * 2, %[ld], %[pairs]\n\t"                                                       \
    "sub %[pairs], %[f]\n\t"                                                                                \
    "add $64 * " TEXT(LINES) ", %[f]\n\t"                                                                   \
    "mov $(" #n " + 1) / 2, %[pairs]\n"                                                                     \
    "7:\n\t"
#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)
#define AHEAD_CASE(n, far) case n: GROUP(n, far, , FETCH(n), , [f] "+&r"(f), [pairs] "+&r"(pairs)); break;
/* clang-format on */
#if UK_MR == 14
#define TALL_GROUPS(F) F(13, 7) F(14, 7)
#elif UK_MR == 9
#define TALL_GROUPS(F) F(8, 7) F(9, 7)
#elif UK_MR == 6
#define TALL_GROUPS(F) F(5, 0) F(6, 0)
#endif

static inline __attribute__((always_inline)) void
ahead_group(const struct uk_small_call *s, int64_t rows, const char *a0, const element *b, char *c, int acc) {
    const char *a7 __attribute__((unused)), *f = a0 + s->before + rows * s->lda;
    int64_t unrolled = s->unrolled, ld = s->lda, ld3, ld5, pairs = (rows + 1) / 2;

    switch (rows) { TALL_GROUPS(AHEAD_CASE) }
}
#endif

#if defined UK_RESOLVED && NV != 3
/* clang-format off */
/* The groups that prefetch C. Groups of fewer rows occur only in products of few rows. */
#if NV == 2
#define PREFETCHING_LEAST 8
#define PREFETCHING_GROUPS(F) F(8, 7) F(9, 7) F(10, 7) F(11, 7) F(12, 7) F(13, 7) F(14, 7)
#define PREFETCH_B "prefetcht0 128 + 60(%[b])\n\tprefetcht0 128 + 124(%[b])\n\t"
#define PREFETCH_LINES "prefetchw 60(%[f])\n\tprefetchw 124(%[f])\n\t"
#else
#define PREFETCHING_LEAST 4
#define PREFETCHING_GROUPS(F) F(4, 0) F(5, 0) F(6, 0)
#define PREFETCH_B
#define PREFETCH_LINES "prefetchw 60(%[f])\n\tprefetchw 124(%[f])\n\tprefetchw 188(%[f])\n\tprefetchw 252(%[f])\n\t"
#endif
/* Prefetches the lines in which a row's vectors end, if a row is left. */
#define PREFETCH_ROW "dec %[left]\n\tjs 7f\n\t" PREFETCH_LINES "add %c[ldc](%[s]), %[f]\n\t"
#define PREFETCH(n)                                                                                         \
    PREFETCH_ROW "cmpq $" #n ", %c[all_unrolled](%[s])\n\tjge 7f\n\t"                                   \
    PREFETCH_ROW "cmpq $(" #n " + 1) / 2, %c[all_unrolled](%[s])\n\tjge 7f\n\t"                         \
    PREFETCH_ROW PREFETCH_ROW "7:\n\t"
#define PREFETCHING_CASE(n, far) case n: GROUP(n, far, PREFETCH_B, PREFETCH(n), , [f] "+&r"(f), [left] "+&r"(left)); break;
/* clang-format on */

static inline __attribute__((always_inline)) void prefetching_group(const struct uk_small_call *s,
                                                                    int64_t rows, const char *a0,
                                                                    const element *b, char *c, int acc) {
    const char *a7 __attribute__((unused)), *f = c;
    int64_t unrolled = s->unrolled, ld = s->lda, ld3, ld5, left = rows;

    switch (rows) { PREFETCHING_GROUPS(PREFETCHING_CASE) }
}
#endif

#ifdef UK_RESOLVED
/* Functions for all groups of n rows of a call, with whole vectors and with fewer columns. They call no other
 * functions, which would take a dozen cycles each. */
#define RUN_BY(name, code, n)                                                                              \
    static int name##_##n(const struct uk_small_call *s, const void *a, const void *b, void *c, int acc) { \
        const char *from = (const char *)a - s->before;                                                    \
        char *to = c;                                                                                      \
                                                                                                           \
        for (int64_t left = n > s->rows ? s->longer : s->a1;;) {                                           \
            code(s, n, from, b, to, acc);                                                                  \
            if (!--left)                                                                                   \
                return 0;                                                                                  \
            from += n * (A_COLUMNS ? size : s->lda);                                                       \
            to += n * s->ldc;                                                                              \
        }                                                                                                  \
    }
#define RUN(n, far) RUN_BY(run, group, n) RUN_BY(run_few, few_columns, n)
#define RUN_OF(n, far) {run_##n, run_few_##n},
GROUPS(RUN)

static int (*const run_group[][2])(const struct uk_small_call *s, const void *a, const void *b, void *c,
                                   int acc) = {GROUPS(RUN_OF)};

#if !A_COLUMNS
#define RUN_AHEAD(n, far) RUN_BY(run_ahead, ahead_group, n)
#define RUN_AHEAD_OF(n, far) run_ahead_##n,
TALL_GROUPS(RUN_AHEAD)

/* For groups of one row less than the most, and of the most. */
static int (*const run_tall_group[])(const struct uk_small_call *s, const void *a, const void *b, void *c,
                                     int acc) = {TALL_GROUPS(RUN_AHEAD_OF)};

static int run_tall_groups(const struct uk_small_call *s, const void *a, const void *b, void *c, int acc) {
    const int64_t rows = s->longer * UK_MR;

    run_tall_group[1](s, a, b, c, acc);
    return run_tall_group[0](s, (const char *)a + rows * s->lda, b, (char *)c + rows * s->ldc, acc);
}
#endif

#if NV != 3
#define RUN_PREFETCHING(n, far) RUN_BY(run_prefetching, prefetching_group, n)
#define RUN_PREFETCHING_OF(n, far) run_prefetching_##n,
PREFETCHING_GROUPS(RUN_PREFETCHING)

static int (*const run_prefetching_group[])(const struct uk_small_call *s, const void *a, const void *b,
                                            void *c, int acc) = {PREFETCHING_GROUPS(RUN_PREFETCHING_OF)};

static int run_prefetching_groups(const struct uk_small_call *s, const void *a, const void *b, void *c,
                                  int acc) {
    const int64_t rows = s->longer * (s->rows + 1);

    run_prefetching_group[s->rows + 1 - PREFETCHING_LEAST](s, a, b, c, acc);
    return run_prefetching_group[s->rows - PREFETCHING_LEAST](
        s, (const char *)a + rows * (A_COLUMNS ? size : s->lda), b, (char *)c + rows * s->ldc, acc);
}
#endif

/* The longer groups, then the shorter ones. */
static int run_groups(const struct uk_small_call *s, const void *a, const void *b, void *c, int acc) {
    const int64_t rows = s->longer * (s->rows + 1);

    run_group[s->rows][s->half != 0](s, a, b, c, acc);
    return run_group[s->rows - 1][s->half != 0](s, (const char *)a + rows * (A_COLUMNS ? size : s->lda), b,
                                                (char *)c + rows * s->ldc, acc);
}

#define PASTE_(a, b) a##b
#define PASTE(a, b) PASTE_(a, b)

void PASTE(UK_SYMBOL, _resolved)(struct uk_small_call *s, int64_t k, int64_t lda, int64_t ldb, int64_t ldc,
                                 int64_t m, int64_t n);
void PASTE(UK_SYMBOL, _resolved)(struct uk_small_call *s, int64_t k, int64_t lda, int64_t ldb, int64_t ldc,
                                 int64_t m, int64_t n) {
    prepare(s, k, lda, ldb, ldc, m, n);
    s->run = s->longer ? run_groups : run_group[s->rows - 1][s->half != 0];
#if NV != 3
    if (s->rows >= PREFETCHING_LEAST && !s->half)
        s->prefetching =
            s->longer ? run_prefetching_groups : run_prefetching_group[s->rows - PREFETCHING_LEAST];
#endif
#if !A_COLUMNS
    if (s->rows >= UK_MR - 1 && !s->half)
        s->ahead = s->rows == UK_MR ? run_tall_group[1] : s->longer ? run_tall_groups : run_tall_group[0];
#endif
}
#else
enum { STEP_OF_ROWS = 1 };
#define BEGINS_GROUPS 0
#include "gemm_small.h"
#endif
