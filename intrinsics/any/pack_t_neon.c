/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packs m rows of length k into a panel of width UK_MR: blocks of 4 rows x 4 k of floats (UK_OP_spack_t), or
 * 2 rows x 2 k of doubles (UK_OP_dpack_t, aarch64 only), are transposed in registers; the last two rows of
 * floats of a width that is no multiple of 4 are a block of 2 x 4. For rows m and up row m - 1 is loaded
 * again, and they are zeroed in the block; the last block of a row ends at k and overlaps the one before it.
 *
 *     v0: a0 a1 a2 a3       trn: a0 b0 a2 b2     halves: a0 b0 c0 d0
 *     v1: b0 b1 b2 b3            a1 b1 a3 b3             a1 b1 c1 d1
 *     v2: c0 ...                 c0 d0 c2 d2             a2 b2 c2 d2
 *     v3: d0 ...                 c1 d1 c3 d3             a3 b3 c3 d3
 *
 * Bound: a block of 16 floats is 4 loads, 8 permutations and 4 stores; at two permutations and one store a
 * cycle (Cortex-A76, Neoverse N1) 4 cycles, 4 elements a cycle. One of 4 doubles is 2, 2, 2: 2 cycles.
 * In-order cores take one instruction of the three kinds a cycle or less. All as long as the source is in L1.
 */
#include <arm_neon.h>
#include "registry/kernel_contract.h"

#define INLINE static inline __attribute__((always_inline))

#ifdef UK_OP_dpack_t
typedef double element;
enum { V = 2, DEPTH = 2 };

/* Packs two elements of rows s + row[0] and s + row[1] to d; the first `left` rows exist, the others are 0.
 * */
INLINE void block(const double *s, const int64_t *row, int rows, int64_t left, double *d) {
    const float64x2_t x = vld1q_f64(s + row[0]), y = vld1q_f64(s + row[1]), zero = vdupq_n_f64(0);

    (void)rows;
    vst1q_f64(d, left < 1 ? zero : left < 2 ? vtrn1q_f64(x, zero) : vtrn1q_f64(x, y));
    vst1q_f64(d + UK_MR, left < 1 ? zero : left < 2 ? vtrn2q_f64(x, zero) : vtrn2q_f64(x, y));
}
#else
typedef float element;
enum { V = 4, DEPTH = 4 };

/* Packs four elements of rows s + row[0] .. row[rows - 1] to d; the first `left` rows exist, the others are
 * 0. */
INLINE void block(const float *s, const int64_t *row, int rows, int64_t left, float *d) {
    const float32x4_t zero = vdupq_n_f32(0);
    float32x4_t v[4];

    for (int r = 0; r < 4; r++)
        v[r] = r < rows && r < left ? vld1q_f32(s + row[r]) : zero;
    const float32x4x2_t ab = vtrnq_f32(v[0], v[1]), cd = vtrnq_f32(v[2], v[3]);

    if (rows == 2) {
        vst1_f32(d, vget_low_f32(ab.val[0]));
        vst1_f32(d + UK_MR, vget_low_f32(ab.val[1]));
        vst1_f32(d + 2 * UK_MR, vget_high_f32(ab.val[0]));
        vst1_f32(d + 3 * UK_MR, vget_high_f32(ab.val[1]));
        return;
    }
    vst1q_f32(d, vcombine_f32(vget_low_f32(ab.val[0]), vget_low_f32(cd.val[0])));
    vst1q_f32(d + UK_MR, vcombine_f32(vget_low_f32(ab.val[1]), vget_low_f32(cd.val[1])));
    vst1q_f32(d + 2 * UK_MR, vcombine_f32(vget_high_f32(ab.val[0]), vget_high_f32(cd.val[0])));
    vst1q_f32(d + 3 * UK_MR, vcombine_f32(vget_high_f32(ab.val[1]), vget_high_f32(cd.val[1])));
}
#endif
_Static_assert(UK_MR % 2 == 0, "a block has 4 rows or 2");

/* m is a constant if all rows exist, so that the blocks have no branches. */
INLINE void pack(int64_t k, const element *s, const int64_t *row, element *d, int64_t m) {
#pragma GCC unroll 1
    for (int64_t p = 0; p < k; p += DEPTH) {
        const int64_t q = p < k - DEPTH ? p : k - DEPTH;

#pragma GCC unroll 8
        for (int i = 0; i < UK_MR; i += V)
            block(s + q, row + i, UK_MR - i < V ? UK_MR - i : V, m - i, d + q * UK_MR + i);
    }
}

void UK_SYMBOL(int64_t k, const element *s, int64_t lds, element *d, int64_t m) {
    int64_t row[UK_MR];

    if (k < DEPTH) {
#pragma GCC unroll 1
        for (int p = 0; p < (int)k; p++)
#pragma GCC unroll 1
            for (int i = 0; i < UK_MR; i++)
                d[p * UK_MR + i] = i < m ? s[i * lds + p] : 0;
        return;
    }
    for (int i = 0; i < UK_MR; i++)
        row[i] = (i < m ? i : m - 1) * lds;
    if (m == UK_MR)
        pack(k, s, row, d, UK_MR);
    else
        pack(k, s, row, d, m);
}
