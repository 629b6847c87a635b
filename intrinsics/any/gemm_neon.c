/* SPDX-License-Identifier: Apache-2.0 */
/*
 * UK_MR rows x UK_NR columns of C, floats (UK_OP_sgemm) or doubles (UK_OP_dgemm): sum[i][j] is the j-th
 * vector of row i. 8 rows x 3 vectors and 6 x 4 are 24 accumulators, which leave eight registers for a and b.
 *
 * On ARMv7, 4 rows x 2 vectors are 8 of 16 registers, and vmla takes the place of fmla: see
 * asm/arm/gemm_4x2_armv7neon.c.
 *
 * The loop is unrolled by eight k iterations: 192 fmla, 40 to 56 vectors of a and b at fixed distances, which
 * compilers load by pairs, one addition to each pointer, and 2 instructions of the loop: 0.89 (6 rows 0.88,
 * doubles 0.86) of the instructions multiply.
 *
 * Bound: 24 fmla by lane per k iteration, of which Cortex-A76 and Neoverse N1 do two a cycle, Cortex-A53 one:
 * 12 or 24 cycles. 5 to 7 registers are loaded meanwhile, at two a cycle. Where the loads stand is the
 * compiler's choice: cores that issue in order wait for some of them.
 *
 * On ARMv7 the only intrinsic that loads two vectors without an alignment in LLVM 19 (vld1q_f32_x2 requires
 * 32 bytes) is vld2, which separates even and odd elements. For a this means another lane of another
 * register; for b the tile's even columns are in sum[i][0], and columns are put in order at the end. 64 vmla,
 * 12 loads, 2 of the loop: 0.82; clang adds three copies, 0.79. vld2 of four d registers takes a cycle more
 * than vld1.
 *
 * gcc 12 would hoist loads of more k iterations than there are registers for; IN_ORDER prevents that. It then
 * reaches 0.78 on AArch64 and 0.80 on ARMv7, and spills nothing.
 *
 * Edges: fewer rows or vectors take a loop of their own, by halves of the rows and by vectors, unrolled by
 * two. The last vector of nr >= V columns begins at column nr - V, of B and of C; fewer are stored one by
 * one.
 */
#include <arm_neon.h>
#include "../../asm/any/gemm_neon.h"

enum { MR = UK_MR, NR = UK_NR, VECTORS = NR / V, UNROLL = 8 };
#define INLINE static inline __attribute__((always_inline))

#if UK_DOUBLE
typedef float64x2_t quad;
#define load(p) vld1q_f64(p)
#define zero() vdupq_n_f64(0)
INLINE quad add_product(quad sum, quad b, quad a, int lane) {
    return lane ? vfmaq_laneq_f64(sum, b, a, 1) : vfmaq_laneq_f64(sum, b, a, 0);
}
#else
typedef float32x4_t quad;
#define load(p) vld1q_f32(p)
#define zero() vdupq_n_f32(0)
#ifdef __arm__
/* ARMv7 has no fused multiply-add by lane. */
INLINE quad add_product(quad sum, quad b, quad a, int lane) {
    const float32x2_t half = lane < 2 ? vget_low_f32(a) : vget_high_f32(a);

    return lane % 2 ? vmlaq_lane_f32(sum, b, half, 1) : vmlaq_lane_f32(sum, b, half, 0);
}
#else
INLINE quad add_product(quad sum, quad b, quad a, int lane) {
    return lane == 0   ? vfmaq_laneq_f32(sum, b, a, 0)
           : lane == 1 ? vfmaq_laneq_f32(sum, b, a, 1)
           : lane == 2 ? vfmaq_laneq_f32(sum, b, a, 2)
                       : vfmaq_laneq_f32(sum, b, a, 3);
}
#endif
#endif

/* V elements of a from element x on; a has n. */
INLINE quad part(const real *a, int x, int n) {
#if !UK_DOUBLE
    if (x + V > n)
        return vcombine_f32(vld1_f32(a + x), vdup_n_f32(0));
#endif
    (void)n;
    return load(a + x);
}

/* Adds `iterations` k iterations of `rows` x `vectors`; the last vector of b begins at column `last`. */
INLINE void multiply(quad sum[MR][VECTORS], const real *a, const real *b, const int iterations,
                     const int rows, const int vectors, int64_t last) {
#pragma GCC unroll 8
    for (int p = 0; p < iterations; p++) {
#pragma GCC unroll 4
        for (int j = 0; j < vectors; j++) {
            const quad x = load(b + p * NR + (j + 1 < vectors ? j * V : last));

#pragma GCC unroll 8
            for (int i = 0; i < rows; i++) {
                const int at = p * MR + i;

                sum[i][j] = add_product(sum[i][j], x, part(a, at / V * V, iterations * MR), at % V);
            }
        }
    }
}

#ifdef __arm__
/* Keeps compilers from moving loads across: they would load for all k iterations first, and spill. */
#define IN_ORDER                                                                                            \
    __asm__ volatile(""                                                                                     \
                     : "+w"(sum[0][0]), "+w"(sum[1][0]), "+w"(sum[2][0]), "+w"(sum[3][0]), "+w"(sum[0][1]), \
                       "+w"(sum[1][1]), "+w"(sum[2][1]), "+w"(sum[3][1]), "+r"(a), "+r"(b))

/* A k iteration of the whole tile with elements 4 * p to 4 * p + 3 of the 8 in x; x.val[0] has the even
 * ones. */
#define K_ITERATION(p)                                                           \
    {                                                                            \
        const float32x4x2_t y = vld2q_f32(b);                                    \
                                                                                 \
        b += NR;                                                                 \
        _Pragma("GCC unroll 2") for (int j = 0; j < VECTORS; j++)                \
            _Pragma("GCC unroll 4") for (int i = 0; i < MR; i++) sum[i][j] =     \
                add_product(sum[i][j], y.val[j], x.val[i % 2], (p) * 2 + i / 2); \
        IN_ORDER;                                                                \
    }
INLINE void multiply_whole(quad sum[MR][VECTORS], const real *a, const real *b, intptr_t unrolled) {
#pragma GCC unroll 1
    for (; unrolled; unrolled--)
#pragma GCC unroll 4
        for (int two = 0; two < UNROLL; two += 2) {
            const float32x4x2_t x = vld2q_f32(a);

            a += 2 * MR;
            K_ITERATION(0)
            K_ITERATION(1)
        }
#pragma GCC unroll 4
    for (int i = 0; i < MR; i++) {
        const float32x4x2_t row = vzipq_f32(sum[i][0], sum[i][1]);

        sum[i][0] = row.val[0], sum[i][1] = row.val[1];
    }
}
#else
#ifdef __clang__
enum { AT_ONCE = UNROLL };
#define IN_ORDER
#else
/* For gcc, as on ARMv7: fences at some of the sums suffice. */
enum { AT_ONCE = 1 };
#define IN_ORDER                                                                                            \
    __asm__ volatile(""                                                                                     \
                     : "+w"(sum[1][0]), "+w"(sum[1][1]), "+w"(sum[1][2]), "+w"(sum[3][0]), "+w"(sum[3][1]), \
                       "+w"(sum[3][2]), "+w"(sum[5][0]), "+w"(sum[5][1]), "+w"(sum[5][2]), "+r"(a), "+r"(b))
#endif

INLINE void multiply_whole(quad sum[MR][VECTORS], const real *a, const real *b, intptr_t unrolled) {
#pragma GCC unroll 1
    for (; unrolled; unrolled--)
#pragma GCC unroll 8
        for (int p = 0; p < UNROLL; p += AT_ONCE, a += AT_ONCE * MR, b += AT_ONCE * NR) {
            multiply(sum, a, b, AT_ONCE, MR, VECTORS, NR - V);
            IN_ORDER;
        }
}
#endif

INLINE void tile(int64_t k, const real *a, const real *b, real *c, int64_t ldc, int64_t acc, int64_t mr,
                 int64_t nr, const int rows, const int vectors, const bool whole) {
    const int64_t last = whole ? NR - V : nr < V ? 0 : nr - V;
    intptr_t left = (intptr_t)k; /* fits: k elements lie in memory */
    quad sum[MR][VECTORS];
    vector t[MR][VECTORS];

#pragma GCC unroll 8
    for (int i = 0; i < rows; i++)
#pragma GCC unroll 4
        for (int j = 0; j < vectors; j++)
            sum[i][j] = zero();
    if (whole) {
        const intptr_t unrolled = left / UNROLL;

        multiply_whole(sum, a, b, unrolled);
        a += unrolled * UNROLL * MR, b += unrolled * UNROLL * NR;
        left %= UNROLL;
    } else {
#pragma GCC unroll 1
        for (; left >= 2; left -= 2, a += 2 * MR, b += 2 * NR)
            multiply(sum, a, b, 2, rows, vectors, last);
    }
#pragma GCC unroll 1
    for (; left > 0; left--, a += MR, b += NR)
        multiply(sum, a, b, 1, rows, vectors, last);
    if (whole) {
#pragma GCC unroll 8
        for (int i = 0; i < MR; i++)
#pragma GCC unroll 4
            for (int j = 0; j < VECTORS; j++) {
                vector *to = (vector *)(c + i * ldc + j * V);

                *to = acc ? (vector)(*to + (vector)sum[i][j]) : (vector)sum[i][j];
            }
        return;
    }
#pragma GCC unroll 8
    for (int i = 0; i < rows; i++)
#pragma GCC unroll 4
        for (int j = 0; j < vectors; j++)
            t[i][j] = (vector)sum[i][j];
    store_tile(c, ldc, acc, mr, nr, *t, VECTORS, vectors);
}

void UK_SYMBOL(int64_t k, const real *a, const real *b, real *c, int64_t ldc, int64_t acc, int64_t mr,
               int64_t nr) {
    const int64_t vectors = (nr + V - 1) / V;

    if (mr == MR && nr == NR) {
        tile(k, a, b, c, ldc, acc, mr, nr, MR, VECTORS, true);
    } else if (mr > MR / 2) {
        if (vectors == VECTORS)
            tile(k, a, b, c, ldc, acc, mr, nr, MR, VECTORS, false);
        else if (VECTORS > 3 && vectors == 3)
            tile(k, a, b, c, ldc, acc, mr, nr, MR, 3, false);
        else if (vectors == 2)
            tile(k, a, b, c, ldc, acc, mr, nr, MR, 2, false);
        else
            tile(k, a, b, c, ldc, acc, mr, nr, MR, 1, false);
    } else {
        if (vectors == VECTORS)
            tile(k, a, b, c, ldc, acc, mr, nr, MR / 2, VECTORS, false);
        else if (VECTORS > 3 && vectors == 3)
            tile(k, a, b, c, ldc, acc, mr, nr, MR / 2, 3, false);
        else if (vectors == 2)
            tile(k, a, b, c, ldc, acc, mr, nr, MR / 2, 2, false);
        else
            tile(k, a, b, c, ldc, acc, mr, nr, MR / 2, 1, false);
    }
}
