/*
 * Packs m rows of length k into a panel of width UK_MR: blocks of 16 rows x 4 k are transposed in registers,
 * four blocks for the 16 k of a cache line. Rows m and up read row m - 1 again and are zeroed in the block;
 * the last block of a row ends at k, over elements that are already packed.
 *
 *     v0: rows 0 4 8 12   v1: rows 1 5 9 13   v2: rows 2 6 10 14   v3: rows 3 7 11 15     (4 k in each lane)
 *     unpack by floats, then by pairs: lane q of the p-th result is rows 4q .. 4q + 3 at k = p.
 *
 * Bound: a block is 16 loads, 12 of them merged under a mask, 8 shuffles and 4 stores; with two ports for
 * merges and shuffles 10 cycles, 6.4 elements per cycle, as long as the source is in the first cache.
 */
#include <immintrin.h>
#include "ukernels.h"

enum { BLOCKS = (UK_MR + 15) / 16, LEFT = UK_MR - 16 * (BLOCKS - 1) };

/* v with 4 floats at s in the lane that the mask says. */
static inline __attribute__((always_inline)) __m512 lane(__m512 v, __mmask16 mask, const float *s) {
    return _mm512_mask_broadcast_f32x4(v, mask, _mm_loadu_ps(s));
}

/* Rows row[0] .. row[rows - 1] from s, k by k, to d. Of each k's rows those in keep are data, the others 0.
 */
static inline __attribute__((always_inline)) void block(const float *s, const int64_t *row, int rows,
                                                        __mmask16 keep, float *d) {
    const __mmask16 width = (__mmask16)((1u << rows) - 1);
    __m512 v[4];

    for (int r = 0; r < 4; r++) {
        v[r] = _mm512_broadcast_f32x4(_mm_loadu_ps(s + row[r]));
        v[r] = 4 + r < rows ? lane(v[r], 0x00f0, s + row[4 + r]) : v[r];
        v[r] = 8 + r < rows ? lane(v[r], 0x0f00, s + row[8 + r]) : v[r];
        v[r] = 12 + r < rows ? lane(v[r], 0xf000, s + row[12 + r]) : v[r];
    }
    const __m512d even01 = _mm512_castps_pd(_mm512_unpacklo_ps(v[0], v[1]));
    const __m512d even23 = _mm512_castps_pd(_mm512_unpacklo_ps(v[2], v[3]));
    const __m512d odd01 = _mm512_castps_pd(_mm512_unpackhi_ps(v[0], v[1]));
    const __m512d odd23 = _mm512_castps_pd(_mm512_unpackhi_ps(v[2], v[3]));

    v[0] = _mm512_castpd_ps(_mm512_unpacklo_pd(even01, even23));
    v[1] = _mm512_castpd_ps(_mm512_unpackhi_pd(even01, even23));
    v[2] = _mm512_castpd_ps(_mm512_unpacklo_pd(odd01, odd23));
    v[3] = _mm512_castpd_ps(_mm512_unpackhi_pd(odd01, odd23));
    for (int p = 0; p < 4; p++)
        _mm512_mask_storeu_ps(d + p * UK_MR, width, keep == width ? v[p] : _mm512_maskz_mov_ps(keep, v[p]));
}

void UK_SYMBOL(int64_t k, const float *s, int64_t lds, float *d, int64_t m) {
    const uint32_t keep = m < 32 ? (1u << m) - 1 : ~0u;
    int64_t row[UK_MR];

    if (k < 4) {
#pragma GCC unroll 1
        for (int64_t i = 0; i < k * UK_MR; i++)
            d[i] = i % UK_MR < m ? s[i % UK_MR * lds + i / UK_MR] : 0.0f;
        return;
    }
    for (int i = 0; i < UK_MR; i++)
        row[i] = (i < m ? i : m - 1) * lds;
    for (int64_t p = 0; p < k; p += 4) {
        const int64_t q = p < k - 4 ? p : k - 4;
        float *to = d + q * UK_MR;

        for (int b = 0; b < BLOCKS - 1; b++)
            block(s + q, row + 16 * b, 16, (__mmask16)(keep >> 16 * b), to + 16 * b);
        block(s + q, row + 16 * (BLOCKS - 1), LEFT, (__mmask16)(keep >> 16 * (BLOCKS - 1)),
              to + 16 * (BLOCKS - 1));
    }
}
