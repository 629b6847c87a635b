/*
 * UK_MR rows x UK_NR columns of C, floats (UK_OP_sgemm) or doubles (UK_OP_dgemm): sum[i][j] is the j-th vector of row i.
 * 8 rows x 3 vectors and 6 x 4 are 24 accumulators, which leave eight registers for a and b.
 *
 * On ARMv7, 4 rows x 2 vectors are 8 of 16 registers, and vmla takes the place of fmla: see asm/gemm_4x2_armv7neon.c.
 *
 * Bound: 24 fmla by lane per k, of which Cortex-A76 and Neoverse N1 do two a cycle, Cortex-A53 one: 12 or 24 cycles. 5 to
 * 7 registers are loaded meanwhile, at two a cycle. Where the loads stand is the compiler's choice: cores that issue in
 * order wait for some of them.
 *
 * Edges: fewer rows or vectors take a loop of their own, by halves of the rows and by vectors. The last vector of nr >= V
 * columns begins at column nr - V, of B and of C; fewer are stored one by one.
 */
#include <arm_neon.h>
#include "../asm/gemm_neon.h"

enum { MR = UK_MR, NR = UK_NR, VECTORS = NR / V, STEPS = MR * VECTORS > 8 ? 4 : 2 };
#define INLINE static inline __attribute__((always_inline))

#if UK_DOUBLE
typedef float64x2_t quad;
#define load(p) vld1q_f64(p)
#define zero() vdupq_n_f64(0)
INLINE quad fma(quad sum, quad b, quad a, int lane) {
    return lane ? vfmaq_laneq_f64(sum, b, a, 1) : vfmaq_laneq_f64(sum, b, a, 0);
}
#else
typedef float32x4_t quad;
#define load(p) vld1q_f32(p)
#define zero() vdupq_n_f32(0)
#ifdef __arm__
/* ARMv7 has no fused multiply-add by lane. */
INLINE quad fma(quad sum, quad b, quad a, int lane) {
    const float32x2_t half = lane < 2 ? vget_low_f32(a) : vget_high_f32(a);

    return lane % 2 ? vmlaq_lane_f32(sum, b, half, 1) : vmlaq_lane_f32(sum, b, half, 0);
}
#else
INLINE quad fma(quad sum, quad b, quad a, int lane) {
    return lane == 0   ? vfmaq_laneq_f32(sum, b, a, 0)
           : lane == 1 ? vfmaq_laneq_f32(sum, b, a, 1)
           : lane == 2 ? vfmaq_laneq_f32(sum, b, a, 2)
                       : vfmaq_laneq_f32(sum, b, a, 3);
}
#endif
#endif

/* Elements x and up of a, of which there are n. */
INLINE quad part(const real *a, int x, int n) {
#if !UK_DOUBLE
    if (x + V > n)
        return vcombine_f32(vld1_f32(a + x), vdup_n_f32(0));
#endif
    (void)n;
    return load(a + x);
}

/* `steps` steps of `rows` x `vectors`; the last vector of b begins at column `last`. */
INLINE void multiply(quad sum[MR][VECTORS], const real *a, const real *b, const int steps, const int rows,
                     const int vectors, int64_t last) {
#pragma GCC unroll 4
    for (int p = 0; p < steps; p++) {
#pragma GCC unroll 4
        for (int j = 0; j < vectors; j++) {
            const quad x = load(b + p * NR + (j + 1 < vectors ? j * V : last));

#pragma GCC unroll 8
            for (int i = 0; i < rows; i++) {
                const int at = p * MR + i;

                sum[i][j] = fma(sum[i][j], x, part(a, at / V * V, steps * MR), at % V);
            }
        }
    }
}

INLINE void tile(int64_t k, const real *a, const real *b, real *c, int64_t ldc, int64_t acc, int64_t mr,
                 int64_t nr, const int rows, const int vectors, const bool whole) {
    const int64_t last = whole ? NR - V : nr < V ? 0 : nr - V;
    intptr_t left = (intptr_t)k; /* no more than memory has */
    quad sum[MR][VECTORS];
    vector t[MR][VECTORS];

#pragma GCC unroll 8
    for (int i = 0; i < rows; i++)
#pragma GCC unroll 4
        for (int j = 0; j < vectors; j++)
            sum[i][j] = zero();
#pragma GCC unroll 1
    for (; left >= STEPS; left -= STEPS, a += STEPS * MR, b += STEPS * NR)
        multiply(sum, a, b, STEPS, rows, vectors, last);
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
