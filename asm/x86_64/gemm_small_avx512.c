/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Small products of few columns, any number of rows in one call: rows of A and of B in place, up to UK_NR
 * columns, which are a vector or half or a quarter of one, under masks. One text for floats (UK_OP_sgemm_small)
 * and doubles (UK_OP_dgemm_small), and for a column-major A (UK_OP_sgemm_small_ta, UK_OP_dgemm_small_ta): the
 * elements of a k iteration are then contiguous, and one pointer goes from column to column. More columns:
 * gemm_small_wide_avx512.c.
 *
 *     columns      rows at a time   accumulators    b               a
 *     V                 28          row i: zmm<i>   zmm28           within the FMA, or zmm29
 *     V                 26          row i: zmm<i>   zmm27           within the FMA, or zmm28 .. 31, spread to zmm26
 *     V / 2, V / 4      28          row i: ymm<i>   ymm28, or xmm   the same
 *
 * The m rows are divided evenly into as few groups as possible (30 rows are 15 + 15), so that no group is
 * short. Rows of a group lie 0 to 3 times lda behind one of up to seven pointers; two registers hold lda and 3
 * lda, and ldc and 3 ldc after the loop. Groups of few rows use few registers, so that callee-saved ones need
 * not be saved.
 *
 * The loop over k is unrolled by four, and its first iteration is entered in the middle if k is no multiple of
 * four: a product's code has one loop and no remainder. Calls of the same size take the same few branches, so
 * that a processor begins the next call while the last FMAs of this one are in flight; it waits for C only
 * where it is added to.
 *
 * With fewer columns each row of b is loaded under their mask, as what lies between two rows of B need not
 * exist. Kernels of 28 rows have their last k iteration after the loop. Where the address of an element of A
 * has an index, a separate load broadcasts it: an FMA with an indexed operand is three of the six operations
 * that Intel's cores issue in a cycle.
 *
 * Bound: the FMAs, one for each row and k iteration, two a cycle. Beside them the vector of b and one element
 * for each row are loaded, 29 loads for 28 FMAs. n columns reach n / V of the peak at most. Vectors of 256 bits
 * and less have the same FMA ports on Intel's cores, and more load ports. Where shuffles cost nothing, rows
 * share a vector: gemm_merged_avx512.c.
 *
 * So the loads decide, with few rows even more: of nine rows one load in ten is the vector of b, and where only
 * two vectors a cycle go to or from the cache, stores of C and rows of B across two lines count too, about one
 * each per k iteration. Kernels of 26 rows load four rows' elements of four k iterations at once, and a shuffle
 * spreads each: 3 loads less per iteration. They are for cores on which shuffles and FMAs have two ports each
 * and share one of them: FMAs / 2 shuffles then cost nothing, 4 with 8 rows; fewer rows wait for the latency of
 * an FMA, 4 cycles, rather than for ports.
 */
#include "registry/kernel_contract.h"
#include "registry/small_call.h"
#include "element_avx512.h"

#if defined UK_OP_sgemm_small_ta || defined UK_OP_dgemm_small_ta
#define A_COLUMNS 1
#else
#define A_COLUMNS 0
#endif
/* Fewer columns than a vector has take registers of half or a quarter of its size. */
#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)
#if UK_NR >= V
#define W "z"
#define LANES VECTOR
#else
#define LANES TEXT(UK_NR)
#if UK_NR == V / 2
#define W "y"
#else
#define W "x"
#endif
#endif
#if V == 8 && UK_NR == 2
#define SPREAD_ONE "vmovddup "
#else
#define SPREAD_ONE "vbroadcast" S " "
#endif
#define SPREADS (UK_MR == 26)
/* Whether the last k iteration comes after the loop. */
#define LAST_APART !SPREADS
#include "gemm_small_sizes.h"

/* clang-format off */
/* The address of row i of a group, of A or of C: each pointer reaches four rows. */
#define AT_0 "(%[a0])"
#define AT_1 "(%[a0], %[ld])"
#define AT_2 "(%[a0], %[ld], 2)"
#define AT_3 "(%[a0], %[ld3])"
#define AT_4 "(%[a1])"
#define AT_5 "(%[a1], %[ld])"
#define AT_6 "(%[a1], %[ld], 2)"
#define AT_7 "(%[a1], %[ld3])"
#define AT_8 "(%[a2])"
#define AT_9 "(%[a2], %[ld])"
#define AT_10 "(%[a2], %[ld], 2)"
#define AT_11 "(%[a2], %[ld3])"
#define AT_12 "(%[a3])"
#define AT_13 "(%[a3], %[ld])"
#define AT_14 "(%[a3], %[ld], 2)"
#define AT_15 "(%[a3], %[ld3])"
#define AT_16 "(%[a4])"
#define AT_17 "(%[a4], %[ld])"
#define AT_18 "(%[a4], %[ld], 2)"
#define AT_19 "(%[a4], %[ld3])"
#define AT_20 "(%[a5])"
#define AT_21 "(%[a5], %[ld])"
#define AT_22 "(%[a5], %[ld], 2)"
#define AT_23 "(%[a5], %[ld3])"
#define AT_24 "(%[a6])"
#define AT_25 "(%[a6], %[ld])"
#define AT_26 "(%[a6], %[ld], 2)"
#define AT_27 "(%[a6], %[ld3])"

/* F(u, address of a row, its accumulator) for the first rows. */
#define ROWS_1(F, u) F(u, AT_0, 0)
#define ROWS_2(F, u) ROWS_1(F, u) F(u, AT_1, 1)
#define ROWS_3(F, u) ROWS_2(F, u) F(u, AT_2, 2)
#define ROWS_4(F, u) ROWS_3(F, u) F(u, AT_3, 3)
#define ROWS_5(F, u) ROWS_4(F, u) F(u, AT_4, 4)
#define ROWS_6(F, u) ROWS_5(F, u) F(u, AT_5, 5)
#define ROWS_7(F, u) ROWS_6(F, u) F(u, AT_6, 6)
#define ROWS_8(F, u) ROWS_7(F, u) F(u, AT_7, 7)
#define ROWS_9(F, u) ROWS_8(F, u) F(u, AT_8, 8)
#define ROWS_10(F, u) ROWS_9(F, u) F(u, AT_9, 9)
#define ROWS_11(F, u) ROWS_10(F, u) F(u, AT_10, 10)
#define ROWS_12(F, u) ROWS_11(F, u) F(u, AT_11, 11)
#define ROWS_13(F, u) ROWS_12(F, u) F(u, AT_12, 12)
#define ROWS_14(F, u) ROWS_13(F, u) F(u, AT_13, 13)
#define ROWS_15(F, u) ROWS_14(F, u) F(u, AT_14, 14)
#define ROWS_16(F, u) ROWS_15(F, u) F(u, AT_15, 15)
#define ROWS_17(F, u) ROWS_16(F, u) F(u, AT_16, 16)
#define ROWS_18(F, u) ROWS_17(F, u) F(u, AT_17, 17)
#define ROWS_19(F, u) ROWS_18(F, u) F(u, AT_18, 18)
#define ROWS_20(F, u) ROWS_19(F, u) F(u, AT_19, 19)
#define ROWS_21(F, u) ROWS_20(F, u) F(u, AT_20, 20)
#define ROWS_22(F, u) ROWS_21(F, u) F(u, AT_21, 21)
#define ROWS_23(F, u) ROWS_22(F, u) F(u, AT_22, 22)
#define ROWS_24(F, u) ROWS_23(F, u) F(u, AT_23, 23)
#define ROWS_25(F, u) ROWS_24(F, u) F(u, AT_24, 24)
#define ROWS_26(F, u) ROWS_25(F, u) F(u, AT_25, 25)
#define ROWS_27(F, u) ROWS_26(F, u) F(u, AT_26, 26)
#define ROWS_28(F, u) ROWS_27(F, u) F(u, AT_27, 27)

/* Registers below 16 have a shorter zeroing instruction, which takes no execution unit. */
#define Z(x)                                                                                                \
    ".if " #x " < 16\n\tvpxor %%xmm" #x ", %%xmm" #x ", %%xmm" #x "\n\t"                                     \
    ".else\n\tvpxord %%xmm" #x ", %%xmm" #x ", %%xmm" #x "\n\t.endif\n\t"
/* The address of a row's element of A in k iteration u; x is the row's first accumulator. */
#if A_COLUMNS
#define A_AT(u, at, x) BYTES "*" #x "(%[a0])"
#define A_ON "add %[ld], %[a0]\n\t"
#else
#define A_AT(u, at, x) BYTES "*" #u at
#define A_ON
#endif
#define LOAD(at, b, mask) "vmovu" P " " at ", %%" W "mm" #b mask "\n\t"
#define ADD(at, x, mask) "vadd" P " " at ", %%" W "mm" #x ", %%" W "mm" #x mask "\n\t"
#define STORE(x, at, mask) "vmovu" P " %%" W "mm" #x ", " at mask "\n\t"
/* Masks for fewer columns, and none for all: a store under any mask takes longer, and a load under one may take
 * an FMA port. */
#define WHOLE_MASK
#define SOME_MASK "%{%%k1%}"
/* Four contiguous elements of A, repeated in all lanes: four k iterations of a row, in the first unrolled
 * iteration only those that are not skipped; of a column-major A four rows, if there are so many. And one of
 * them spread to all lanes, for row x. */
#if V == 16
#define LOAD_FOUR(at, a) "vbroadcastf32x4 " at ", %%" W "mm" #a
#define SPREAD(i, a) "vpermilps $0x55*" #i ", %%" W "mm" #a ", %%" W "mm26\n\t"
#else
#define LOAD_FOUR(at, a) "vbroadcastf64x4 " at ", %%" W "mm" #a
#define SPREAD(i, a) "vpermpd $0x55*" #i ", %%" W "mm" #a ", %%" W "mm26\n\t"
#endif
#define SPREAD_FMA(i, a, x) SPREAD(i, a) "vfmadd231" P " %%" W "mm26, %%" W "mm27, %%" W "mm" #x "\n\t"
#define FOURS "%{%%k5%}%{z%}\n\t"
#if SPREADS && !A_COLUMNS
#define IF_SPREAD(x, a, F) ".if " #x " + 28 == " #a "\n\t" F ".endif\n\t"
#define LOAD_ROW(mask, at, x)                                                                               \
    IF_SPREAD(x, 28, LOAD_FOUR(at, 28) mask)                                                                \
    IF_SPREAD(x, 29, LOAD_FOUR(at, 29) mask)                                                                \
    IF_SPREAD(x, 30, LOAD_FOUR(at, 30) mask)                                                                \
    IF_SPREAD(x, 31, LOAD_FOUR(at, 31) mask)
#define FIRST_LOADS(n)                                                                                   \
    "kmovw %c[first](%[s]), %%k5\n\t" ROWS_##n(LOAD_ROW, FOURS)
#define LOADS(n) ROWS_##n(LOAD_ROW, "\n\t")
#define K_ITERATION_LOADS
#define SPREAD_ROW(u, x)                                                                                    \
    IF_SPREAD(x, 28, SPREAD_FMA(u, 28, x)) IF_SPREAD(x, 29, SPREAD_FMA(u, 29, x))                           \
    IF_SPREAD(x, 30, SPREAD_FMA(u, 30, x)) IF_SPREAD(x, 31, SPREAD_FMA(u, 31, x))                           \
    ".if " #x " > 3\n\t"
#elif SPREADS
#define FIRST_LOADS(n) "kmovw %c[first](%[s]), %%k5\n\t"
#define LOADS(n)
#define K_ITERATION_LOADS LOAD_FOUR("(%[a0])", 28) FOURS
#define SPREAD_ROW(u, x) ".if " #x " < 4\n\t" SPREAD_FMA(x, 28, x) ".else\n\t"
#else
#define FIRST_LOADS(n)
#define LOADS(n)
#define K_ITERATION_LOADS
#endif
#define ZERO_ROW(u, at, x) Z(x)
#define FMA_BROADCAST(b, u, at, x)                                                                          \
    "vfmadd231" P " " A_AT(u, at, x) "%{1to" LANES "%}, %%" W "mm" #b ", %%" W "mm" #x "\n\t"
#if SPREADS
#define FMA_ROW(u, at, x) SPREAD_ROW(u, x) FMA_BROADCAST(27, u, at, x) ".endif\n\t"
#else
#if A_COLUMNS
#define FMA_ROW(u, at, x) FMA_BROADCAST(28, u, at, x)
#else
#define FMA_ROW(u, at, x)                                                                                   \
    ".if " #x " & 3\n\t" SPREAD_ONE A_AT(u, at, x) ", %%" W "mm29\n\t"                                 \
    "vfmadd231" P " %%" W "mm29, %%" W "mm28, %%" W "mm" #x "\n\t.else\n\t" FMA_BROADCAST(28, u, at, x) ".endif\n\t"
#endif
#endif
#define ADD_ROW(u, at, x) ADD(at, x, u##_MASK)
#define STORE_ROW(u, at, x) STORE(x, at, u##_MASK)
#if SPREADS
#define B_AT "27"
#else
#define B_AT "28"
#endif
/* Loads the row of b; the pointer moves by two rows every second time. */
#define LOAD_B(at, mask) "vmovu" P " " at ", %%" W "mm" B_AT mask "\n\t"
#define B_0(mask) LOAD_B("(%[b])", mask)
#define B_1(mask) LOAD_B("(%[b], %[ldb])", mask) "lea (%[b], %[ldb], 2), %[b]\n\t"
#define B_2 B_0
#define B_3 B_1
#define WHOLE_SET
#define WHOLE_B(u) B_##u("")
#define SOME_SET "kmovw %c[mask](%[s]), %%k1\n\t"
#define SOME_B(u) B_##u("%{%%k1%}%{z%}")
/* The last k iteration, after the loop. */
#define WHOLE_LAST LOAD_B("(%[b])", "")
#define SOME_LAST LOAD_B("(%[b])", "%{%%k1%}%{z%}")
#if LAST_APART
#define LAST(n, M) "6:\n\t" M##_LAST ROWS_##n(FMA_ROW, 0) "5:\n\t"
#define IF_ANY_UNROLLED "test %[unrolled], %[unrolled]\n\tjle 6f\n\t"
#else
#define LAST(n, M) "5:\n\t"
#define IF_ANY_UNROLLED
#endif

#define K_ITERATION(u, n, M) M##_B(u) K_ITERATION_LOADS ROWS_##n(FMA_ROW, u) A_ON
/* Sets the pointers of a group up to this one from the first; and moves them by four elements. */
#define NEXT(a, b) "lea (%[" #a "], %[ld], 4), %[" #b "]\n\t"
#define TO_0 "lea (%[ld], %[ld], 2), %[ld3]\n\t"
#define TO_1 TO_0 NEXT(a0, a1)
#define TO_2 TO_1 NEXT(a1, a2)
#define TO_3 TO_2 NEXT(a2, a3)
#define TO_4 TO_3 NEXT(a3, a4)
#define TO_5 TO_4 NEXT(a4, a5)
#define TO_6 TO_5 NEXT(a5, a6)
#define ON(a) "add $4*" BYTES ", %[" #a "]\n\t"
#define ON_0 ON(a0)
#define ON_1 ON_0 ON(a1)
#define ON_2 ON_1 ON(a2)
#define ON_3 ON_2 ON(a3)
#define ON_4 ON_3 ON(a4)
#define ON_5 ON_4 ON(a5)
#define ON_6 ON_5 ON(a6)
#if A_COLUMNS
#define TO_A(last)
#define ON_A(last)
#else
#define TO_A(last) TO_##last
#define ON_A(last) ON_##last
#endif

/* Stores C, or adds to it. */
#define END(n, M)                                                                                         \
    "cmpl $0, %[acc]\n\t"                                                                                   \
    "je 6f\n\t"                                                                                             \
    ROWS_##n(ADD_ROW, M)                                                                                   \
    "6:\n\t"                                                                                                \
    ROWS_##n(STORE_ROW, M)
/* The same, for all columns or under masks. */
#define ANY_END(n) \
    "cmpl $0, %c[all](%[s])\n\t"                                                                            \
    "je 8f\n\t"                                                                                             \
    END(n, WHOLE)                                                                                        \
    "jmp 9f\n"                                                                                              \
    "8:\n\t"                                                                                                \
    END(n, SOME)                                                                                        \
    "9:\n\t"

#define AT(field) [field] "i"(offsetof(struct uk_small_call, field))
/* Operands: the pointers of further rows. */
#define FAR_0
#define FAR_1 , [a1] "=&r"(a1)
#define FAR_2 FAR_1, [a2] "=&r"(a2)
#define FAR_3 FAR_2, [a3] "=&r"(a3)
#define FAR_4 FAR_3, [a4] "=&r"(a4)
#define FAR_5 FAR_4, [a5] "=&r"(a5)
#define FAR_6 FAR_5, [a6] "=&r"(a6)
/* Resolved calls have k > 0, and clobber only those parts of registers that they use: who clobbers the upper
 * parts has to execute vzeroupper, four instructions. */
#ifdef UK_RESOLVED
#define IF_ANY_K_ITERATION
#define U W
#else
#define IF_ANY_K_ITERATION "cmpq $0, %c[iterations](%[s])\n\tjle 5f\n\t"
#define U "z"
#endif
/* How a first unrolled iteration of four k iterations is entered. */
#if SPREADS && !A_COLUMNS
#define INTO_LOOP "jmp 7f\n\t.p2align 5\n"
#else
#define INTO_LOOP ".p2align 4\n"
#endif
/* A group of n rows, whose last pointer is `far`; M: WHOLE (all columns) or SOME (under masks). */
#define GROUP(n, far, M, end)                                                                          \
    __asm__ volatile("mov %c[unrolled_of](%[s]), %[unrolled]\n\t"                                           \
                     ROWS_##n(ZERO_ROW, 0)                                                               \
                     M##_SET                                                                                \
                     IF_ANY_K_ITERATION                                                                     \
                     "mov %c[lda](%[s]), %[ld]\n\t"                                                         \
                     "mov %c[ldb_of](%[s]), %[ldb]\n\t"                                                     \
                     TO_A(far)                                                                           \
                     IF_ANY_UNROLLED                                                                        \
                     FIRST_LOADS(n)                                                                      \
                     "cmpl $2, %c[enter](%[s])\n\t"                                                         \
                     "jg 4f\n\t"                                                                            \
                     "je 3f\n\t"                                                                            \
                     "jp 2f\n\t" /* 1 - 2 has 8 bits, 0 - 2 has 7 */                                        \
                     INTO_LOOP                                                                              \
                     "1:\n\t" LOADS(n)                                                                   \
                     "7:\n\t" K_ITERATION(0, n, M)                                                       \
                     "2:\n\t" K_ITERATION(1, n, M)                                                       \
                     "3:\n\t" K_ITERATION(2, n, M)                                                       \
                     "4:\n\t" K_ITERATION(3, n, M)                                                       \
                     ON_A(far)                                                                              \
                     "dec %[unrolled]\n\t"                                                                  \
                     "jnz 1b\n"                                                                             \
                     LAST(n, M)                                                                          \
                     "mov %[c], %[a0]\n\t"                                                                  \
                     "mov %c[ldc](%[s]), %[ld]\n\t"                                                         \
                     TO_##far                                                                         \
                     end                                                                                    \
                     : [unrolled] "=&r"(unrolled), [a0] "+&r"(a0), [ld] "=&r"(ld), [b] "+&r"(b), \
                       [ldb] "=&r"(ldb), [ld3] "=&r"(ld3) FAR_##far \
                     : [s] "r"(s), [c] "r"(c), [acc] "m"(acc), [unrolled_of] "i"(offsetof(struct uk_small_call, unrolled)), \
                       [ldb_of] "i"(offsetof(struct uk_small_call, ldb)), AT(lda), AT(enter), AT(ldc), AT(mask), AT(first), AT(all), AT(iterations) \
                     : "memory", "cc", "k1", "k2", "k3", "k4", "k5", \
                       U "mm0", U "mm1", U "mm2", U "mm3", U "mm4", U "mm5", U "mm6", U "mm7", \
                       U "mm8", U "mm9", U "mm10", U "mm11", U "mm12", U "mm13", U "mm14", U "mm15", \
                       U "mm16", U "mm17", U "mm18", U "mm19", U "mm20", U "mm21", U "mm22", U "mm23", \
                       U "mm24", U "mm25", U "mm26", U "mm27", U "mm28", U "mm29", U "mm30", U "mm31")
/* F(rows, their last pointer) for groups of each number of rows. */
#define GROUPS_26(F) \
    F(1, 0) F(2, 0) F(3, 0) F(4, 0) F(5, 1) F(6, 1) F(7, 1) F(8, 1) F(9, 2) \
    F(10, 2) F(11, 2) F(12, 2) F(13, 3) F(14, 3) F(15, 3) F(16, 3) F(17, 4) F(18, 4) \
    F(19, 4) F(20, 4) F(21, 5) F(22, 5) F(23, 5) F(24, 5) F(25, 6) F(26, 6)
#if SPREADS
#define GROUPS GROUPS_26
#else
#define GROUPS(F) GROUPS_26(F) F(27, 6) F(28, 6)
#endif
#define CASE(n, far) case n: GROUP(n, far, SOME, ANY_END(n)); break;
#define WHOLE_CASE(n, far) case n: GROUP(n, far, WHOLE, END(n, WHOLE)); break;
#define SOME_CASE(n, far) case n: GROUP(n, far, SOME, END(n, SOME)); break;

/* Computes `rows` rows. Where A is row-major, a0 lies in front of the first row by the k iterations that the
 * first unrolled iteration skips. */
#define GROUP_BY(name, CASE)                                                                                \
    static inline __attribute__((always_inline)) void name(const struct uk_small_call *s, int64_t rows,     \
                                                           const char *a0, const element *b, char *c, int acc) { \
        const char *a1 __attribute__((unused)), *a2 __attribute__((unused)), *a3 __attribute__((unused)),   \
            *a4 __attribute__((unused)), *a5 __attribute__((unused)), *a6 __attribute__((unused));          \
        int64_t unrolled, ld, ld3, ldb;                                                 \
                                                                                                            \
        b = (const element *)((const char *)b - s->b_before);                                               \
        switch (rows) { GROUPS(CASE) }                                                                      \
    }
#ifdef UK_RESOLVED
GROUP_BY(whole_group, WHOLE_CASE)
GROUP_BY(some_group, SOME_CASE)
#else
GROUP_BY(group, CASE)
#endif
/* clang-format on */

static inline __attribute__((always_inline)) void prepare(struct uk_small_call *s, int64_t k, int64_t lda,
                                                          int64_t ldb, int64_t ldc, int64_t m, int64_t n) {
    prepare_sizes(s, k - LAST_APART, lda, ldb, ldc, m);
    if (SPREADS) {
        const unsigned part = A_COLUMNS ? (m < 4 ? (1u << m) - 1 : 15) : 15u << s->enter & 15;

        s->first[0] = part * (V == 16 ? 0x1111 : 0x11);
    }
    s->all = n == UK_NR;
    s->mask[0] = (1u << n) - 1;
    s->b_before = s->enter & 1 ? s->ldb : 0;
    s->iterations = k;
    s->half = 0;
}

#ifdef UK_RESOLVED
/* The functions for groups of n rows, with all columns and with fewer. */
#define RUN_BY(group, n)                                                                               \
    static int run_##group##_##n(const struct uk_small_call *s, const void *a, const void *b, void *c, \
                                 int acc) {                                                            \
        group(s, n, (const char *)a - s->before, b, c, acc);                                           \
        return 0;                                                                                      \
    }
#define RUN(n, far) RUN_BY(whole_group, n) RUN_BY(some_group, n)
GROUPS(RUN)

#define WHOLE_OF(n, far) run_whole_group_##n,
#define SOME_OF(n, far) run_some_group_##n,
static int (*const run_group[2][UK_MR])(const struct uk_small_call *s, const void *a, const void *b, void *c,
                                        int acc) = {{GROUPS(SOME_OF)}, {GROUPS(WHOLE_OF)}};
#define RUN_OF_ROWS(s, rows) run_group[(s)->all][(rows) - 1]
#define HAS_STRAIGHT (UK_NR <= 8 && !A_COLUMNS && !SPREADS)
#define HAS_FOURS (UK_NR == 4 && V == 16 && !A_COLUMNS)
#if HAS_STRAIGHT
#include "gemm_small_straight_avx512.h"
#endif
#if HAS_FOURS
#include "gemm_fours_avx512.h"
#endif

#if HAS_STRAIGHT
/* Whether the product has code of its own; if so, it is prepared. */
static inline bool prepare_whole(struct uk_small_call *s, int64_t k, int64_t lda, int64_t ldb, int64_t ldc,
                                 int64_t m, int64_t n) {
#if HAS_FOURS
    if (prepare_fours(s, k, lda, ldb, ldc, m, n))
        return true;
#endif
    return prepare_straight(s, k, lda, ldb, ldc, m, n);
}
#define PREPARE_WHOLE prepare_whole
#endif
#endif
enum { STEP_OF_ROWS = 1 };
#define BEGINS_GROUPS 0
#include "gemm_small.h"
