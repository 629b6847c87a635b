/* SPDX-License-Identifier: Apache-2.0 */
/* The AVX-512 part of the kernels of small products (gemm_small.c): elements of A as memory operands of FMAs,
 * and masks. */
#include <immintrin.h>

#define VECTOR_BYTES "64"
#if V == 16
#define WHOLE_OF(name) _mm512_##name##_ps
typedef __m512 vector;
typedef __mmask16 mask;
#else
#define WHOLE_OF(name) _mm512_##name##_pd
typedef __m512d vector;
typedef __mmask8 mask;
#endif
/* The first n elements of a vector in memory, n <= V; no others are read or written. */
#define load_columns(p, n) WHOLE_OF(maskz_loadu)((mask)((1u << (n)) - 1), p)
#define store_columns(p, n, v) WHOLE_OF(mask_storeu)(p, (mask)((1u << (n)) - 1), v)
/* Kernels of fewer columns than a vector use registers of half or a quarter of its size. */
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
#define BROADCAST_ONE "vmovddup "
#else
#define BROADCAST_ONE "vbroadcast" S " "
#endif

/* Registers of B's vectors and of an element of A. */
#define B0 28
#define B1 29
#define B2 30
#define B3 27
#if UK_MR == 26
#define SPREADS 4
#undef B0
#define B0 27
#define T 26
#else
#define SPREADS 0
#define T 31
#endif

/* clang-format off */
/* LOAD_FOUR: four contiguous elements of A, repeated in all lanes. Of a row-major A they are four k
 * iterations of a row; of a column-major A, the elements of up to four rows in one k iteration. SPREAD_FROM:
 * one of them in all lanes of T. */
#define IS_SPREAD(n, i) #i " < 4"
#if V == 16
#define LOAD_FOUR(at, r) "vbroadcastf32x4 " at ", " REG(r)
#define SPREAD_FROM(e, r) "vpermilps $0x55*" #e ", " REG(r) ", " REG(T) "\n\t"
#else
#define LOAD_FOUR(at, r) "vbroadcastf64x4 " at ", " REG(r)
#define SPREAD_FROM(e, r) "vpermpd $0x55*" #e ", " REG(r) ", " REG(T) "\n\t"
#endif
#define FOUR_0 28
#define FOUR_1 29
#define FOUR_2 30
#define FOUR_3 31
#if A_COLUMNS
#define SPREAD(u, i) SPREAD_FROM(i, 28)
#else
#define SPREAD(u, i) SPREAD_FROM(u, FOUR_##i)
#endif
#if SPREADS && A_COLUMNS
#define K_LOADS LOAD_FOUR("(%[a0])", 28) "%{%%k5%}%{z%}\n\t"
#define SET_FOURS "kmovw %c[first](%[s]), %%k5\n\t"
#else
#define K_LOADS
#define SET_FOURS
#endif

#if NV == 1
/* IS_WITHIN: true if the element of row i is a memory operand of its FMA. If its address has an index,
 * Intel's cores issue the load and the FMA as separate operations, which saves nothing over a broadcast; the
 * addresses of rows 0, 7, 14 and 21 have none. ALL_WITHIN: true of all rows in kernels of 26 rows, which are
 * for cores that issue both as one operation, and for a column-major A, whose addresses have no index. */
#define ALL_WITHIN (SPREADS || A_COLUMNS)
#define IS_WITHIN(i) #i " %% 7 == 0"
#define FMA_WITHIN(u, i, x)                                                                                 \
    "vfmadd231" P " " A_AT(u, i) "%{1to" LANES "%}, " REG(B0) ", " REG(x) "\n\t"

/* Fewer columns than UK_NR: loads and stores under a mask. */
#define SOME_ALL ROWS
#define SOME_SET "kmovw %c[mask](%[s]), %%k1\n\t"
#define SOME_B "vmovu" P " (%[b]), " REG(B0) "%{%%k1%}%{z%}\n\t"
#define SOME_ADD(u, n, i, x) "vadd" P " " AT_ROW(i) ", " REG(x) ", " REG(x) "%{%%k1%}\n\t"
#define SOME_STORE(u, n, i, x) "vmovu" P " " REG(x) ", " AT_ROW(i) "%{%%k1%}\n\t"
#define SOME_END(r, far) END(r, SOME_ADD, SOME_STORE)
#define SOME_INPUTS
#define KINDS(F) F(WHOLE) F(SOME)
enum kind { WHOLE, SOME };
#define KIND(n) ((n) == UK_NR ? WHOLE : SOME)
#endif

static inline __attribute__((always_inline)) void prepare_columns(struct uk_small_call *s, int64_t m, int64_t n) {
    if (NV > 1)
        s->c_last = size * (n - V);
    else
        s->mask[0] = (1u << n) - 1;
    s->kind = KIND(n);
    if (SPREADS && A_COLUMNS)
        s->first[0] = (m < 4 ? (1u << m) - 1 : 15) * (V == 16 ? 0x1111 : 0x11);
}

/* Resolved calls clobber only the parts of registers that they use: after clobbering upper parts the compiler
 * would have to execute vzeroupper, four operations. */
#ifdef UK_RESOLVED
#define U W
#else
#define U "z"
#endif
#define CLOBBERS                                                                                            \
    "k1", "k5", U "mm0", U "mm1", U "mm2", U "mm3", U "mm4", U "mm5", U "mm6", U "mm7", U "mm8", U "mm9", U "mm10", \
        U "mm11", U "mm12", U "mm13", U "mm14", U "mm15", U "mm16", U "mm17", U "mm18", U "mm19", U "mm20", \
        U "mm21", U "mm22", U "mm23", U "mm24", U "mm25", U "mm26", U "mm27", U "mm28", U "mm29", U "mm30", U "mm31"
/* clang-format on */
