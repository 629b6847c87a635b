/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Small products, any number of rows in one call: rows of A and of B in place, 1 to 3 vectors of columns. One
 * text for floats (UK_OP_sgemm_small) and doubles (UK_OP_dgemm_small), and for a column-major A
 * (UK_OP_sgemm_small_ta, UK_OP_dgemm_small_ta): the elements of a k iteration are then contiguous, and one
 * pointer goes from column to column.
 *
 *     vectors   rows at a time   accumulators                      b               a
 *        1            12         row i: ymm<i>                     ymm12           ymm13, spread from ymm15, 11 .. 9
 *        2             6         row i: ymm<2i>, <2i + 1>          ymm12, 13       ymm14, spread from ymm15, 11
 *        3             4         row i: ymm<3i> .. <3i + 2>        ymm12 .. 14     ymm15
 *
 * Where the columns are no multiple of a vector, the last vector overlaps the one before it: both compute the
 * same, and a C that is added to is loaded before anything is stored. So no masks are needed, whose stores take
 * AMD's cores twenty instructions. Fewer columns than a vector has are loaded under a mask, and stored as two
 * overlapping parts of 16 or 8 bytes, or as one of 4. Four floats are stored as they are, and two rows of them
 * share a vector if the number of rows is even. A kernel of several vectors that is called for too few columns
 * uses fewer vectors.
 *
 * The m rows are divided evenly into as few groups as possible. Rows of a group lie 0 to 3 times lda behind one
 * of up to three pointers. The loop over k is unrolled by four, and its first iteration is entered in the
 * middle if k is no multiple of four.
 *
 * Bound: the FMAs, 12 per k iteration, two a cycle: 32 flop per cycle (16 of doubles). Beside them there are
 * 12.25 loads with one vector (as many as FMAs, where a core has two load ports), 7.25 with two, 7 with three.
 * With fewer rows loads and stores decide: 8 rows of a vector take 9 loads and a store for 8 FMAs. So the first
 * rows' elements of four k iterations are loaded at once, where registers are left for that, and a shuffle
 * spreads each of them; with two vectors for no more than two rows, as a shuffle may take an FMA port.
 */
#include "registry/kernel_contract.h"
#include "registry/small_call.h"

#if defined UK_OP_sgemm_small_ta || defined UK_OP_dgemm_small_ta
#define A_COLUMNS 1
#else
#define A_COLUMNS 0
#endif
#if defined UK_OP_dgemm_small || defined UK_OP_dgemm_small_ta
typedef double element;
#define V 4
#define BYTES "8"
#define P "pd"
#define S "sd"
#else
typedef float element;
#define V 8
#define BYTES "4"
#define P "ps"
#define S "ss"
#endif
#define NV (UK_NR / V)
static const int64_t size = sizeof(element);
#include "gemm_small_sizes.h"

/* clang-format off */
/* The address of row i of a group, of A or of C. */
#define AT_0 "(%[a0])"
#define AT_1 "(%[a0], %[ld])"
#define AT_2 "(%[a0], %[ld], 2)"
#define AT_3 "(%[a0], %[ld3])"
#define AT_4 "(%[a4])"
#define AT_5 "(%[a4], %[ld])"
#define AT_6 "(%[a4], %[ld], 2)"
#define AT_7 "(%[a4], %[ld3])"
#define AT_8 "(%[a8])"
#define AT_9 "(%[a8], %[ld])"
#define AT_10 "(%[a8], %[ld], 2)"
#define AT_11 "(%[a8], %[ld3])"

/* F(u, address of a row, its number, its accumulators) for the first rows, of nv vectors. */
#define ROWS_1_1(F, u) F(u, AT_0, 0, 0)
#define ROWS_1_2(F, u) ROWS_1_1(F, u) F(u, AT_1, 1, 1)
#define ROWS_1_3(F, u) ROWS_1_2(F, u) F(u, AT_2, 2, 2)
#define ROWS_1_4(F, u) ROWS_1_3(F, u) F(u, AT_3, 3, 3)
#define ROWS_1_5(F, u) ROWS_1_4(F, u) F(u, AT_4, 4, 4)
#define ROWS_1_6(F, u) ROWS_1_5(F, u) F(u, AT_5, 5, 5)
#define ROWS_1_7(F, u) ROWS_1_6(F, u) F(u, AT_6, 6, 6)
#define ROWS_1_8(F, u) ROWS_1_7(F, u) F(u, AT_7, 7, 7)
#define ROWS_1_9(F, u) ROWS_1_8(F, u) F(u, AT_8, 8, 8)
#define ROWS_1_10(F, u) ROWS_1_9(F, u) F(u, AT_9, 9, 9)
#define ROWS_1_11(F, u) ROWS_1_10(F, u) F(u, AT_10, 10, 10)
#define ROWS_1_12(F, u) ROWS_1_11(F, u) F(u, AT_11, 11, 11)
#define ROWS_2_1(F, u) F(u, AT_0, 0, 0, 1)
#define ROWS_2_2(F, u) ROWS_2_1(F, u) F(u, AT_1, 1, 2, 3)
#define ROWS_2_3(F, u) ROWS_2_2(F, u) F(u, AT_2, 2, 4, 5)
#define ROWS_2_4(F, u) ROWS_2_3(F, u) F(u, AT_3, 3, 6, 7)
#define ROWS_2_5(F, u) ROWS_2_4(F, u) F(u, AT_4, 4, 8, 9)
#define ROWS_2_6(F, u) ROWS_2_5(F, u) F(u, AT_5, 5, 10, 11)
#define ROWS_3_1(F, u) F(u, AT_0, 0, 0, 1, 2)
#define ROWS_3_2(F, u) ROWS_3_1(F, u) F(u, AT_1, 1, 3, 4, 5)
#define ROWS_3_3(F, u) ROWS_3_2(F, u) F(u, AT_2, 2, 6, 7, 8)
#define ROWS_3_4(F, u) ROWS_3_3(F, u) F(u, AT_3, 3, 9, 10, 11)

/* Two rows of 16 bytes in a vector: F(u, their addresses, the first one's number, the accumulator, the register
 * of four k iterations' elements). */
#define ROWS_PAIRS_2(F, u) F(u, AT_0, AT_1, 0, 0, 6)
#define ROWS_PAIRS_4(F, u) ROWS_PAIRS_2(F, u) F(u, AT_2, AT_3, 2, 1, 7)
#define ROWS_PAIRS_6(F, u) ROWS_PAIRS_4(F, u) F(u, AT_4, AT_5, 4, 2, 8)
#define ROWS_PAIRS_8(F, u) ROWS_PAIRS_6(F, u) F(u, AT_6, AT_7, 6, 3, 9)
#define ROWS_PAIRS_10(F, u) ROWS_PAIRS_8(F, u) F(u, AT_8, AT_9, 8, 4, 10)
#define ROWS_PAIRS_12(F, u) ROWS_PAIRS_10(F, u) F(u, AT_10, AT_11, 10, 5, 11)

#define Z(x) "vpxor %%xmm" #x ", %%xmm" #x ", %%xmm" #x "\n\t"
#if A_COLUMNS
#define A_AT(u, at, i) BYTES "*" #i "(%[a0])"
#define A_ON "add %[ld], %[a0]\n\t"
#else
#define A_AT(u, at, i) BYTES "*" #u at
#define A_ON
#endif
#define BROADCAST(u, at, i, t) "vbroadcast" S " " A_AT(u, at, i) ", %%ymm" #t "\n\t"
/* The first S rows' elements of four k iterations are loaded at once, and a shuffle spreads each to register t.
 * The first unrolled iteration does not do so, as it may skip some of them. */
#if V == 8
#define LOAD_FOUR(at, r) "vbroadcastf128 " at ", %%ymm" #r "\n\t"
#define SPREAD(u, r, t) "vpermilps $0x55*" #u ", %%ymm" #r ", %%ymm" #t "\n\t"
#else
#define LOAD_FOUR(at, r) "vmovupd " at ", %%ymm" #r "\n\t"
#define SPREAD(u, r, t) "vpermpd $0x55*" #u ", %%ymm" #r ", %%ymm" #t "\n\t"
#endif
#define OF_ROW(S, i, f0, f1, f2, f3, other)                                                                 \
    ".if " #i " >= " #S "\n\t" other ".elseif " #i " == 0\n\t" f0 ".elseif " #i " == 1\n\t" f1            \
    ".elseif " #i " == 2\n\t" f2 ".else\n\t" f3 ".endif\n\t"
#define TAKE(S, u, at, i, t)                                                                                \
    OF_ROW(S, i, SPREAD(u, 15, t), SPREAD(u, 11, t), SPREAD(u, 10, t), SPREAD(u, 9, t), BROADCAST(u, at, i, t))
#define FOUR(S, at, i) OF_ROW(S, i, LOAD_FOUR(at, 15), LOAD_FOUR(at, 11), LOAD_FOUR(at, 10), LOAD_FOUR(at, 9), )
#define FMA(b, t, x) "vfmadd231" P " %%ymm" #b ", %%ymm" #t ", %%ymm" #x "\n\t"
#define LOAD(at, b) "vmovu" P " " at ", %%ymm" #b "\n\t"
#define ADD(at, x) "vadd" P " " at ", %%ymm" #x ", %%ymm" #x "\n\t"
#define STORE(x, at) "vmovu" P " %%ymm" #x ", " at "\n\t"
/* Operations on a row of nv vectors; the last vector begins `last` bytes behind the first. */
#define ZERO_1(u, at, i, x) Z(x)
#define ZERO_2(u, at, i, x, y) Z(x) Z(y)
#define ZERO_3(u, at, i, x, y, z) Z(x) Z(y) Z(z)
#define FMA_1(S, u, at, i, x) TAKE(S, u, at, i, 13) FMA(12, 13, x)
#define FMA_2(S, u, at, i, x, y) TAKE(S, u, at, i, 14) FMA(12, 14, x) FMA(13, 14, y)
#define FMA_3(S, u, at, i, x, y, z) BROADCAST(u, at, i, 15) FMA(12, 15, x) FMA(13, 15, y) FMA(14, 15, z)
#define ADD_2(u, at, i, x, y) ADD(at, x)
#define ADD_3(u, at, i, x, y, z) ADD(at, x) ADD("32" at, y)
#define STORE_2(u, at, i, x, y) STORE(x, at)
#define STORE_3(u, at, i, x, y, z) STORE(x, at) STORE(y, "32" at)
#define ADD_WHOLE(u, at, i, x) ADD(at, x)
#define ADD_LAST_2(u, at, i, x, y) ADD(at, y)
#define ADD_LAST_3(u, at, i, x, y, z) ADD(at, z)
#define STORE_WHOLE(u, at, i, x) STORE(x, at)
#define STORE_LAST_2(u, at, i, x, y) STORE(y, at)
#define STORE_LAST_3(u, at, i, x, y, z) STORE(z, at)
#define LOAD_B_1 LOAD("(%[b])", 12)
#define LOAD_B_2 LOAD("(%[b])", 12) LOAD("(%[b], %[last])", 13)
#define LOAD_B_3 LOAD("(%[b])", 12) LOAD("32(%[b])", 13) LOAD("(%[b], %[last])", 14)
/* Fewer columns than a vector: loads of B and of C under a mask; and stores of a first part and a last part
 * that may overlap, named by their bytes. */
#define LOAD_B_0 "vmaskmov" P " (%[b]), %[mask], %%ymm12\n\t"
#define ADD_PART(u, at, i, x) "vmaskmov" P " " at ", %[mask], %%ymm12\n\tvadd" P " %%ymm12, %%ymm" #x ", %%ymm" #x "\n\t"
#define END(x) "vpermps %%ymm" #x ", %%ymm13, %%ymm12\n\t"
#define STORE_16(u, at, i, x) "vmovups %%xmm" #x ", " at "\n\t"
#define STORE_END_16(u, at, i, x) END(x) "vmovups %%xmm12, " at "\n\t"
#define STORE_8(u, at, i, x) "vmovlps %%xmm" #x ", " at "\n\t"
#define STORE_END_8(u, at, i, x) END(x) "vmovlps %%xmm12, " at "\n\t"
#define STORE_4(u, at, i, x) "vmovss %%xmm" #x ", " at "\n\t"
/* Rows of 16 bytes need no mask. */
#define LOAD_B_16 "vmovups (%[b]), %%xmm12\n\t"
#define ADD_16(u, at, i, x) "vadd" P " " at ", %%xmm" #x ", %%xmm" #x "\n\t"

/* How many rows' elements are loaded for four k iterations at once, by vectors and rows: as many as registers
 * are left for, up to 4 or 2; and what ROWS_... do with them. */
#if A_COLUMNS
#define SPREADS(F, nv, n) F##_##nv##_0
#define LOADS(nv, n)
#else
#define SPREADS(F, nv, n) FOR_##nv##_##n(F)
#define LOADS(nv, n) ROWS_##nv##_##n(SPREADS(FOUR, nv, n), )
#endif
#define FMA_1_0(u, at, i, x) FMA_1(0, u, at, i, x)
#define FMA_1_1(u, at, i, x) FMA_1(1, u, at, i, x)
#define FMA_1_2(u, at, i, x) FMA_1(2, u, at, i, x)
#define FMA_1_3(u, at, i, x) FMA_1(3, u, at, i, x)
#define FMA_1_4(u, at, i, x) FMA_1(4, u, at, i, x)
#define FMA_2_0(u, at, i, x, y) FMA_2(0, u, at, i, x, y)
#define FMA_2_1(u, at, i, x, y) FMA_2(1, u, at, i, x, y)
#define FMA_2_2(u, at, i, x, y) FMA_2(2, u, at, i, x, y)
#define FMA_3_0(u, at, i, x, y, z) FMA_3(0, u, at, i, x, y, z)
#define FOUR_1_1(u, at, i, x) FOUR(1, at, i)
#define FOUR_1_2(u, at, i, x) FOUR(2, at, i)
#define FOUR_1_3(u, at, i, x) FOUR(3, at, i)
#define FOUR_1_4(u, at, i, x) FOUR(4, at, i)
#define FOUR_2_1(u, at, i, x, y) FOUR(1, at, i)
#define FOUR_2_2(u, at, i, x, y) FOUR(2, at, i)
#define FOUR_3_0(u, at, i, x, y, z)
#define FOR_1_1(F) F##_1_1
#define FOR_1_2(F) F##_1_2
#define FOR_1_3(F) F##_1_3
#define FOR_1_4(F) F##_1_4
#define FOR_1_5(F) F##_1_4
#define FOR_1_6(F) F##_1_4
#define FOR_1_7(F) F##_1_4
#define FOR_1_8(F) F##_1_4
#define FOR_1_9(F) F##_1_4
#define FOR_1_10(F) F##_1_3
#define FOR_1_11(F) F##_1_2
#define FOR_1_12(F) F##_1_1
#define FOR_2_1(F) F##_2_1
#define FOR_2_2(F) F##_2_2
#define FOR_2_3(F) F##_2_2
#define FOR_2_4(F) F##_2_2
#define FOR_2_5(F) F##_2_2
#define FOR_2_6(F) F##_2_1
#define FOR_3_1(F) F##_3_0
#define FOR_3_2(F) F##_3_0
#define FOR_3_3(F) F##_3_0
#define FOR_3_4(F) F##_3_0

/* Two rows in one vector. */
#define BOTH(at0, at1, x)                                                                                   \
    "vmovups " at0 ", %%xmm" #x "\n\tvinsertf128 $1, " at1 ", %%ymm" #x ", %%ymm" #x "\n\t"
#define ZERO_PAIRS(u, at0, at1, i, x, y) Z(x)
#define FMA_PAIRS_0(u, at0, at1, i, x, y)                                                                       \
    "vbroadcastss " A_AT(u, at0, i) ", %%xmm13\n\tvbroadcastss " A_AT(u, at1, (i + 1)) ", %%xmm15\n\t"         \
    "vinsertf128 $1, %%xmm15, %%ymm13, %%ymm13\n\t" FMA(12, 13, x)
#define FMA_PAIRS_1(u, at0, at1, i, x, y) SPREAD(u, y, 13) FMA(12, 13, x)
#define FOUR_PAIRS_1(u, at0, at1, i, x, y) BOTH(at0, at1, y)
#define FOR_PAIRS_2(F) F##_PAIRS_1
#define FOR_PAIRS_4(F) F##_PAIRS_1
#define FOR_PAIRS_6(F) F##_PAIRS_1
#define FOR_PAIRS_8(F) F##_PAIRS_1
#define FOR_PAIRS_10(F) F##_PAIRS_1
#define FOR_PAIRS_12(F) F##_PAIRS_1
#define LOAD_B_PAIRS "vbroadcastf128 (%[b]), %%ymm12\n\t"
/* Register y takes the second row's sum. */
#define ADD_PAIRS(u, at0, at1, i, x, y)                                                                     \
    "vextractf128 $1, %%ymm" #x ", %%xmm" #y "\n\t" ADD_16(u, at0, i, x) ADD_16(u, at1, i, y)
#define STORE_ADDED_PAIRS(u, at0, at1, i, x, y) STORE_16(u, at0, i, x) STORE_16(u, at1, i, y)
#define STORE_PAIRS(u, at0, at1, i, x, y) STORE_16(u, at0, i, x) "vextractf128 $1, %%ymm" #x ", " at1 "\n\t"

#define K_ITERATION(u, nv, load, n, fma) load "add %[ldb], %[b]\n\t" ROWS_##nv##_##n(fma, u) A_ON
/* Sets the other pointers of a group from the first one; and moves all pointers by four elements. */
#define TO_0
#define TO_4 "lea (%[a0], %[ld], 4), %[a4]\n\t"
#define TO_8 TO_4 "lea (%[a4], %[ld], 4), %[a8]\n\t"
#define ON_0(bytes) "add " bytes ", %[a0]\n\t"
#define ON_4(bytes) ON_0(bytes) "add " bytes ", %[a4]\n\t"
#define ON_8(bytes) ON_4(bytes) "add " bytes ", %[a8]\n\t"
#define BACK_0(bytes) "sub " bytes ", %[a0]\n\t"
#define BACK_4(bytes) BACK_0(bytes) "sub " bytes ", %[a4]\n\t"
#if A_COLUMNS
#define A_ON_0
#define A_ON_4
#define A_ON_8
#else
#define A_ON_0 ON_0("$4*" BYTES)
#define A_ON_4 ON_4("$4*" BYTES)
#define A_ON_8 ON_8("$4*" BYTES)
#endif

#define AT(field) [field] "i"(offsetof(struct uk_small_call, field))
#define FAR_0
#define FAR_4 , [a4] "=&r"(a4)
#define FAR_8 FAR_4, [a8] "=&r"(a8)
#define PLAIN
#define LAST , [last] "r"(s->c_last)
#define PARTS , [mask] "x"(*(const indices *)((const char *)ones + 32 - s->all)), AT(all), AT(c_last), \
              [end] "m"(*(const indices *)((const char *)parts + s->c_last))
#define LEADING "lea (%[ld], %[ld], 2), %[ld3]\n\t"
/* A group of n rows, whose last pointer is `far`, and of nv vectors of B, which `load` loads; `out` writes C. */
#define GROUP(n, far, nv, load, out, inputs)                                                                \
    __asm__ volatile(ROWS_##nv##_##n(ZERO_##nv, 0)                                                          \
                     "test %[unrolled], %[unrolled]\n\t"                                                    \
                     "jle 5f\n\t"                                                                           \
                     LEADING                                                                                \
                     TO_##far                                                                               \
                     "cmpl $2, %c[enter](%[s])\n\t"                                                         \
                     "jg 4f\n\t"                                                                            \
                     "je 3f\n\t"                                                                            \
                     "jnp 1f\n\t" /* 0 - 2 has 7 bits, 1 - 2 has 8 */                                        \
                     K_ITERATION(1, nv, load, n, FMA_##nv##_0)                                              \
                     "3:\n\t" K_ITERATION(2, nv, load, n, FMA_##nv##_0)                                     \
                     "4:\n\t" K_ITERATION(3, nv, load, n, FMA_##nv##_0)                                     \
                     A_ON_##far                                                                             \
                     "dec %[unrolled]\n\t"                                                                  \
                     "jz 5f\n\t"                                                                            \
                     ".p2align 6\n"                                                                         \
                     "1:\n\t" LOADS(nv, n)                                                                  \
                     K_ITERATION(0, nv, load, n, SPREADS(FMA, nv, n)) K_ITERATION(1, nv, load, n, SPREADS(FMA, nv, n)) \
                     K_ITERATION(2, nv, load, n, SPREADS(FMA, nv, n)) K_ITERATION(3, nv, load, n, SPREADS(FMA, nv, n)) \
                     A_ON_##far                                                                             \
                     "dec %[unrolled]\n\t"                                                                  \
                     "jnz 1b\n"                                                                             \
                     "5:\n\t"                                                                               \
                     "mov %[c], %[a0]\n\t"                                                                  \
                     "mov %c[ldc](%[s]), %[ld]\n\t"                                                         \
                     LEADING                                                                                \
                     TO_##far                                                                               \
                     out(n, far, nv)                                                                        \
                     : [unrolled] "+&r"(unrolled), [a0] "+&r"(a0), [ld] "+&r"(ld), [ld3] "=&r"(ld3),        \
                       [b] "+&r"(b) FAR_##far                                                               \
                     : [s] "r"(s), [c] "r"(c), [acc] "r"(acc), [ldb] "r"(s->ldb), AT(enter), AT(ldc)  inputs \
                     : "memory", "cc", "ymm0", "ymm1", "ymm2", "ymm3", "ymm4", "ymm5", "ymm6", "ymm7", "ymm8", \
                       "ymm9", "ymm10", "ymm11", "ymm12", "ymm13", "ymm15" CLOBBERS_##nv)
#define CLOBBERS_1
#define CLOBBERS_PAIRS
#define CLOBBERS_2 , "ymm14"
#define CLOBBERS_3 , "ymm14"
#define OUT_WHOLE(n, far, nv) OUT_ONE(n, ADD_WHOLE, STORE_WHOLE)
#define OUT_16(n, far, nv) OUT_ONE(n, ADD_16, STORE_16)
#define OUT_PAIRS(n, far, nv)                                                                                   \
    "test %[acc], %[acc]\n\t"                                                                               \
    "je 6f\n\t"                                                                                             \
    ROWS_PAIRS_##n(ADD_PAIRS, 0)                                                                            \
    ROWS_PAIRS_##n(STORE_ADDED_PAIRS, 0)                                                                    \
    "jmp 9f\n"                                                                                              \
    "6:\n\t"                                                                                                \
    ROWS_PAIRS_##n(STORE_PAIRS, 0)                                                                          \
    "9:\n\t"
#define OUT_ONE(n, ADD_ROW, STORE_ROW)                                                                      \
    "test %[acc], %[acc]\n\t"                                                                               \
    "je 6f\n\t"                                                                                             \
    ROWS_1_##n(ADD_ROW, 0)                                                                                  \
    "6:\n\t"                                                                                                \
    ROWS_1_##n(STORE_ROW, 0)
#define OUT(n, far, nv)                                                                                     \
    "test %[acc], %[acc]\n\t"                                                                               \
    "je 6f\n\t"                                                                                             \
    ROWS_##nv##_##n(ADD_##nv, 0)                                                                            \
    ON_##far("%[last]")                                                                                     \
    ROWS_##nv##_##n(ADD_LAST_##nv, 0)                                                                       \
    BACK_##far("%[last]")                                                                                   \
    "6:\n\t"                                                                                                \
    ROWS_##nv##_##n(STORE_##nv, 0)                                                                          \
    ON_##far("%[last]")                                                                                     \
    ROWS_##nv##_##n(STORE_LAST_##nv, 0)
#define OUT_PARTS(n, far, nv)                                                                               \
    "test %[acc], %[acc]\n\t"                                                                               \
    "je 6f\n\t"                                                                                             \
    ROWS_1_##n(ADD_PART, 0)                                                                                 \
    "6:\n\t"                                                                                                \
    "cmpl $8, %c[all](%[s])\n\t"                                                                                  \
    "jl 8f\n\t"                                                                                             \
    "cmpl $16, %c[all](%[s])\n\t"                                                                                 \
    "jl 7f\n\t"                                                                                             \
    ROWS_1_##n(STORE_16, 0)                                                                                 \
    ON_##far("%c[c_last](%[s])")                                                                                     \
    "vmovups %[end], %%ymm13\n\t" ROWS_1_##n(STORE_END_16, 0)                                                                             \
    "jmp 9f\n"                                                                                              \
    "7:\n\t"                                                                                                \
    ROWS_1_##n(STORE_8, 0)                                                                                  \
    ON_##far("%c[c_last](%[s])")                                                                                     \
    "vmovups %[end], %%ymm13\n\t" ROWS_1_##n(STORE_END_8, 0)                                                                              \
    "jmp 9f\n"                                                                                              \
    "8:\n\t"                                                                                                \
    ROWS_1_##n(STORE_4, 0)                                                                                  \
    "9:\n\t"
/* F(rows, their last pointer) for groups of each number of rows. */
#define GROUPS_4(F) F(1, 0) F(2, 0) F(3, 0) F(4, 0)
#define GROUPS_6(F) GROUPS_4(F) F(5, 4) F(6, 4)
#define GROUPS_12(F) GROUPS_6(F) F(7, 4) F(8, 4) F(9, 8) F(10, 8) F(11, 8) F(12, 8)
/* What the columns take: part of a vector, 16 bytes, or so many vectors; and F(kind) for all kinds that a
 * kernel has. */
enum kind { PART, ONE, TWO, THREE, SIXTEEN, KINDS };
#if UK_MR == 12
#define GROUPS GROUPS_12
#define SEVERAL(n, far)
#elif UK_MR == 6
#define GROUPS GROUPS_6
#define SEVERAL(n, far) else GROUP(n, far, 2, LOAD_B_2, OUT, LAST);
#elif UK_MR == 4
#define GROUPS GROUPS_4
#define SEVERAL(n, far)                                                                                     \
    else if (kind == TWO) GROUP(n, far, 2, LOAD_B_2, OUT, LAST);                                            \
    else GROUP(n, far, 3, LOAD_B_3, OUT, LAST);
#endif
#define GROUP_16(n, far) GROUP(n, far, 1, LOAD_B_16, OUT_16, PLAIN)
#if V == 8
#define GROUP_PAIRS(n, far) GROUP(n, far, PAIRS, LOAD_B_PAIRS, OUT_PAIRS, PLAIN)
#else
#define GROUP_PAIRS GROUP_16
#endif
#define GROUP_16_1 GROUP_16
#define GROUP_16_2 GROUP_PAIRS
#define GROUP_16_3 GROUP_16
#define GROUP_16_4 GROUP_PAIRS
#define GROUP_16_5 GROUP_16
#define GROUP_16_6 GROUP_PAIRS
#define GROUP_16_7 GROUP_16
#define GROUP_16_8 GROUP_PAIRS
#define GROUP_16_9 GROUP_16
#define GROUP_16_10 GROUP_PAIRS
#define GROUP_16_11 GROUP_16
#define GROUP_16_12 GROUP_PAIRS
#define CASE(n, far)                                                                                        \
    case n:                                                                                                 \
        if (kind == PART)                                                                                   \
            GROUP(n, far, 1, LOAD_B_0, OUT_PARTS, PARTS);                                                   \
        else if (kind == SIXTEEN)                                                                           \
            GROUP_16_##n(n, far);                                                   \
        else if (kind == ONE)                                                                               \
            GROUP(n, far, 1, LOAD_B_1, OUT_WHOLE, PLAIN);                                                   \
        SEVERAL(n, far)                                                                                     \
        break;
/* clang-format on */

/* 4-byte parts of masks: the mask of a vector's first n parts begins 8 - n parts behind the begin. */
static const int32_t ones[16] = {-1, -1, -1, -1, -1, -1, -1, -1};
static const int32_t parts[16] = {0, 1, 2, 3, 4, 5, 6, 7, 0, 0, 0, 0, 0, 0, 0, 0};
typedef int32_t indices __attribute__((vector_size(32), aligned(4), may_alias));

/* Computes `rows` rows. Where A is row-major, a0 lies in front of the first row by the k iterations that the
 * first unrolled iteration skips. all: the bytes of a part of a vector; c_last: where the part's end, or the
 * last vector, begins. */
static inline __attribute__((always_inline)) void of_kind(enum kind kind, const struct uk_small_call *s,
                                                          int64_t rows, const char *a0, const element *b,
                                                          char *c, int acc) {
    const char *a4 __attribute__((unused)), *a8 __attribute__((unused));
    int64_t unrolled = s->unrolled, ld = s->lda, ld3;

    switch (rows) { GROUPS(CASE) }
}

static inline __attribute__((always_inline)) void prepare(struct uk_small_call *s, int64_t k, int64_t lda,
                                                          int64_t ldb, int64_t ldc, int64_t m, int64_t n) {
    prepare_sizes(s, k, lda, ldb, ldc, m);
    s->all = (uint32_t)(size * n);
    s->half = s->all == 16 ? SIXTEEN : n < V ? PART : (uint32_t)((n + V - 1) / V);
    s->c_last = n >= V ? size * (n - V) : s->all >= 16 ? s->all - 16 : s->all >= 8 ? s->all - 8 : 0;
}

#ifdef UK_RESOLVED
/* A function for groups of n rows and each kind, so that no kind pays for the needs of another. */
#define RUN_KIND(n, kind)                                                                             \
    static int run_##kind##_##n(const struct uk_small_call *s, const void *a, const void *b, void *c, \
                                int acc) {                                                            \
        of_kind(kind, s, n, (const char *)a - s->before, b, c, acc);                                  \
        return 0;                                                                                     \
    }
#define PART_OF(n, far) run_PART_##n,
#define SIXTEEN_OF(n, far) run_SIXTEEN_##n,
#define ONE_OF(n, far) run_ONE_##n,
#define TWO_OF(n, far) run_TWO_##n,
#define THREE_OF(n, far) run_THREE_##n,
#if UK_MR == 12
#define RUN(n, far) RUN_KIND(n, PART) RUN_KIND(n, SIXTEEN) RUN_KIND(n, ONE)
#elif UK_MR == 6
#define RUN(n, far) RUN_KIND(n, PART) RUN_KIND(n, SIXTEEN) RUN_KIND(n, ONE) RUN_KIND(n, TWO)
#else
#define RUN(n, far) \
    RUN_KIND(n, PART) RUN_KIND(n, SIXTEEN) RUN_KIND(n, ONE) RUN_KIND(n, TWO) RUN_KIND(n, THREE)
#endif
GROUPS(RUN)

static int (*const run_kind[KINDS][UK_MR])(const struct uk_small_call *s, const void *a, const void *b,
                                           void *c, int acc) = {
    [PART] = {GROUPS(PART_OF)},   [SIXTEEN] = {GROUPS(SIXTEEN_OF)}, [ONE] = {GROUPS(ONE_OF)},
#if UK_MR < 12
    [TWO] = {GROUPS(TWO_OF)},
#endif
#if UK_MR < 6
    [THREE] = {GROUPS(THREE_OF)},
#endif
};
#define RUN_OF_ROWS(s, rows) run_kind[(s)->half][(rows) - 1]
#else
/* s->half is the kind. */
static inline __attribute__((always_inline)) void group(const struct uk_small_call *s, int64_t rows,
                                                        const char *a0, const element *b, char *c, int acc) {
    of_kind((enum kind)s->half, s, rows, a0, b, c, acc);
}
#endif
enum { STEP_OF_ROWS = 1 };
#define BEGINS_GROUPS 0
#include "gemm_small.h"
