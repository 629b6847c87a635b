/*
 * Packs m rows of length k into a panel of width UK_MR, transposed in registers: squares of 16 x 16 floats
 * (UK_OP_spack_t), or, of fewer k, blocks of 16 rows x 4 k; blocks of 8 rows x 2 k of doubles (UK_OP_dpack_t). Rows m and
 * up read row m - 1 again and are zeroed in the block; the last block of a row ends at k, over elements that are already
 * packed.
 *
 *     blocks of floats     v0: rows 0 4 8 12   v1: rows 1 5 9 13   v2: rows 2 6 10 14   v3: rows 3 7 11 15   (4 k in each lane)
 *                          unpack by floats, then by pairs: lane q of the p-th result is rows 4q .. 4q + 3 at k = p.
 *     blocks of doubles    v0: rows 0 2 4 6    v1: rows 1 3 5 7                                              (2 k in each lane)
 *                          unpack: lane q of the p-th result is rows 2q, 2q + 1 at k = p.
 *     squares              unpack rows 4r .. 4r + 3: lane q of the p-th result is these rows at k = 4q + p; the lanes of the
 *                          four p-th results change places as a 4 x 4 matrix.
 *
 * A square loads each line of the source once: rows that lie a multiple of 4 KB apart share a set of the first cache, which
 * would lose the line before its next part is loaded.
 *
 * Bound: a square is 16 loads, 64 shuffles and 16 stores; with two ports for shuffles 32 cycles, 8 elements per cycle.
 * A block of floats is 16 loads, 12 of them merged under a mask, 8 shuffles and 4 stores: 10 cycles, 6.4 elements per
 * cycle. One of doubles is 8 loads, 6 of them merged, 2 shuffles and 2 stores: 4 cycles, 4 elements per cycle. All as long
 * as the source is in the first cache.
 */
#include <immintrin.h>
#include "ukernels.h"

#ifdef UK_OP_dpack_t
typedef double element;
enum { V = 8, STEP = 2 };

/* v with 2 doubles at s in the lane that the mask says. */
static inline __attribute__((always_inline)) __m512d lane(__m512d v, __mmask8 mask, const double *s) {
    return _mm512_mask_broadcast_f64x2(v, mask, _mm_loadu_pd(s));
}

/* Rows row[0] .. row[rows - 1] from s, k by k, to d. Of each k's rows those in keep are data, the others 0. */
static inline __attribute__((always_inline)) void block(const double *s, const int64_t *row, int rows,
                                                        uint32_t keep, double *d) {
    const __mmask8 width = (__mmask8)((1u << rows) - 1), data = (__mmask8)keep;
    __m512d v[2];

    for (int r = 0; r < 2; r++) {
        v[r] = _mm512_broadcast_f64x2(_mm_loadu_pd(s + row[r]));
        v[r] = 2 + r < rows ? lane(v[r], 0x0c, s + row[2 + r]) : v[r];
        v[r] = 4 + r < rows ? lane(v[r], 0x30, s + row[4 + r]) : v[r];
        v[r] = 6 + r < rows ? lane(v[r], 0xc0, s + row[6 + r]) : v[r];
    }
    const __m512d first = _mm512_unpacklo_pd(v[0], v[1]), second = _mm512_unpackhi_pd(v[0], v[1]);

    _mm512_mask_storeu_pd(d, width, data == width ? first : _mm512_maskz_mov_pd(data, first));
    _mm512_mask_storeu_pd(d + UK_MR, width, data == width ? second : _mm512_maskz_mov_pd(data, second));
}
#else
typedef float element;
enum { V = 16, STEP = 4 };

static inline __attribute__((always_inline)) void unpack(const __m512 *row, __m512 *v) {
    const __m512d even01 = _mm512_castps_pd(_mm512_unpacklo_ps(row[0], row[1]));
    const __m512d even23 = _mm512_castps_pd(_mm512_unpacklo_ps(row[2], row[3]));
    const __m512d odd01 = _mm512_castps_pd(_mm512_unpackhi_ps(row[0], row[1]));
    const __m512d odd23 = _mm512_castps_pd(_mm512_unpackhi_ps(row[2], row[3]));

    v[0] = _mm512_castpd_ps(_mm512_unpacklo_pd(even01, even23));
    v[1] = _mm512_castpd_ps(_mm512_unpackhi_pd(even01, even23));
    v[2] = _mm512_castpd_ps(_mm512_unpacklo_pd(odd01, odd23));
    v[3] = _mm512_castpd_ps(_mm512_unpackhi_pd(odd01, odd23));
}

static inline __attribute__((always_inline)) void store(float *d, __mmask16 width, __mmask16 data, __m512 v) {
    _mm512_mask_storeu_ps(d, width, data == width ? v : _mm512_maskz_mov_ps(data, v));
}

/* v with 4 floats at s in the lane that the mask says. */
static inline __attribute__((always_inline)) __m512 lane(__m512 v, __mmask16 mask, const float *s) {
    return _mm512_mask_broadcast_f32x4(v, mask, _mm_loadu_ps(s));
}

/* Rows row[0] .. row[rows - 1] from s, k by k, to d. Of each k's rows those in keep are data, the others 0.
 */
static inline __attribute__((always_inline)) void block(const float *s, const int64_t *row, int rows,
                                                        uint32_t keep, float *d) {
    const __mmask16 width = (__mmask16)((1u << rows) - 1), data = (__mmask16)keep;
    __m512 v[4];

    for (int r = 0; r < 4; r++) {
        v[r] = _mm512_broadcast_f32x4(_mm_loadu_ps(s + row[r]));
        v[r] = 4 + r < rows ? lane(v[r], 0x00f0, s + row[4 + r]) : v[r];
        v[r] = 8 + r < rows ? lane(v[r], 0x0f00, s + row[8 + r]) : v[r];
        v[r] = 12 + r < rows ? lane(v[r], 0xf000, s + row[12 + r]) : v[r];
    }
    unpack(v, v);
    for (int p = 0; p < 4; p++)
        store(d + p * UK_MR, width, data, v[p]);
}

/* The same of 16 k. */
static inline __attribute__((always_inline)) void square(const float *s, const int64_t *row, int rows,
                                                         uint32_t keep, float *d) {
    const __mmask16 width = (__mmask16)((1u << rows) - 1), data = (__mmask16)keep;
    __m512 v[V];

    for (int r = 0; r < V; r++)
        v[r] = _mm512_loadu_ps(s + row[r < rows ? r : rows - 1]);
    for (int r = 0; r < V; r += STEP)
        unpack(v + r, v + r);
    for (int p = 0; p < STEP; p++) {
        const __m512 *q = v + p;
        const __m512 even01 = _mm512_shuffle_f32x4(q[0], q[STEP], 0x88),
                     odd01 = _mm512_shuffle_f32x4(q[0], q[STEP], 0xdd);
        const __m512 even23 = _mm512_shuffle_f32x4(q[2 * STEP], q[3 * STEP], 0x88);
        const __m512 odd23 = _mm512_shuffle_f32x4(q[2 * STEP], q[3 * STEP], 0xdd);

        store(d + p * UK_MR, width, data, _mm512_shuffle_f32x4(even01, even23, 0x88));
        store(d + (STEP + p) * UK_MR, width, data, _mm512_shuffle_f32x4(odd01, odd23, 0x88));
        store(d + (2 * STEP + p) * UK_MR, width, data, _mm512_shuffle_f32x4(even01, even23, 0xdd));
        store(d + (3 * STEP + p) * UK_MR, width, data, _mm512_shuffle_f32x4(odd01, odd23, 0xdd));
    }
}
#endif
enum { BLOCKS = (UK_MR + V - 1) / V, LEFT = UK_MR - V * (BLOCKS - 1) };

void UK_SYMBOL(int64_t k, const element *s, int64_t lds, element *d, int64_t m) {
    const uint32_t keep = m < 32 ? (1u << m) - 1 : ~0u;
    int64_t row[UK_MR];

    if (k < STEP) {
#pragma GCC unroll 1
        for (int64_t i = 0; i < k * UK_MR; i++)
            d[i] = i % UK_MR < m ? s[i % UK_MR * lds + i / UK_MR] : 0;
        return;
    }
    for (int i = 0; i < UK_MR; i++)
        row[i] = (i < m ? i : m - 1) * lds;
#ifdef UK_OP_spack_t
    if (k >= V) {
        for (int64_t p = 0; p < k; p += V) {
            const int64_t q = p < k - V ? p : k - V;
            element *to = d + q * UK_MR;

            for (int b = 0; b < BLOCKS - 1; b++)
                square(s + q, row + V * b, V, keep >> V * b & ((1u << V) - 1), to + V * b);
            square(s + q, row + V * (BLOCKS - 1), LEFT, keep >> V * (BLOCKS - 1), to + V * (BLOCKS - 1));
        }
        return;
    }
#endif
    for (int64_t p = 0; p < k; p += STEP) {
        const int64_t q = p < k - STEP ? p : k - STEP;
        element *to = d + q * UK_MR;

        for (int b = 0; b < BLOCKS - 1; b++)
            block(s + q, row + V * b, V, keep >> V * b & ((1u << V) - 1), to + V * b);
        block(s + q, row + V * (BLOCKS - 1), LEFT, keep >> V * (BLOCKS - 1), to + V * (BLOCKS - 1));
    }
}
