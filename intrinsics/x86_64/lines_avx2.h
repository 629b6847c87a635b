/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Groups of two lines of bytes for depthwise_tile_bytes.c, widened to 16 bits: vpmaddwd sums their products
 * exactly, of any types.
 *
 * Bound, 3 x 3, for a column of two results and 16 channels: 24 products and 20 additions, 4 instructions to
 * interleave and 4 to widen, 4 loads of lines and 12 of columns, 4 stores of sums and 4 of columns. Where
 * three ports do these, 17 cycles.
 */
#include <immintrin.h>
#include "../../asm/x86_64/store_first_avx2.h"

enum {
    V = 8,         /* channels of a register of sums */
    CHANNELS = 64, /* of a line of the cache */
    SETS = CHANNELS / V,
    LINES = 2, /* lines of a group: rows that a product sums */
    ROOM = 64, /* groups of a column in the buffer: 16 KB */
    FLIP = 0
};

typedef __m256i vector;
typedef vector set[SETS]; /* two words each of CHANNELS channels, or their sums */

INLINE vector zero(void) {
    return _mm256_setzero_si256();
}

INLINE vector all_bytes(int byte) {
    return _mm256_set1_epi8((char)byte);
}

INLINE vector subtract(vector a, vector b) {
    return _mm256_sub_epi32(a, b);
}

INLINE vector shift_left(vector v, int bits) {
    return _mm256_slli_epi32(v, bits);
}

INLINE vector shift_right(vector v, int bits) {
    return _mm256_srli_epi32(v, bits);
}

INLINE vector either(vector a, vector b) {
    return _mm256_or_si256(a, b);
}

/* The first n of sixteen bytes; the others are 0. */
INLINE __m128i load_part(const uint8_t *p, int64_t n) {
    return _mm_set_epi64x(n > 8 ? (int64_t)first_bytes(p + 8, n - 8) : 0, (int64_t)first_bytes(p, n));
}

INLINE vector widen(__m128i bytes, bool is_signed) {
    return is_signed ? _mm256_cvtepi8_epi16(bytes) : _mm256_cvtepu8_epi16(bytes);
}

/* Interleaves the lines of a group of x, or of weights. */
INLINE void interleave(const void *const line[LINES], bool is_whole, int64_t channels, bool is_x, set to) {
    const bool is_signed = is_x ? UK_X_IS_SIGNED : UK_WEIGHT_IS_SIGNED;

    UNROLL for (int k = 0; k < SETS; k += 2) {
        __m128i l[LINES];

        if (!is_whole && channels <= V * k)
            return;
        UNROLL for (int b = 0; b < LINES; b++) {
            const uint8_t *p = (const uint8_t *)line[b] + V * k;

            l[b] = is_whole || channels >= V * (k + 2) ? _mm_loadu_si128((const __m128i_u *)p)
                                                       : load_part(p, channels - V * k);
        }
        to[k] = widen(_mm_unpacklo_epi8(l[0], l[1]), is_signed);
        to[k + 1] = widen(_mm_unpackhi_epi8(l[0], l[1]), is_signed);
    }
}

INLINE vector multiply(vector sum, vector x, vector w) {
    return _mm256_add_epi32(sum, _mm256_madd_epi16(x, w));
}

/* y[c] = (acc ? y[c] : 0) + sum for `n` channels. */
INLINE void store(int32_t *y, vector sum, int64_t n, int64_t acc) {
    const vector lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7),
                 mask = _mm256_cmpgt_epi32(_mm256_set1_epi32((int)(n < V ? n : V)), lane);

    if (n >= V) {
        if (acc)
            sum = _mm256_add_epi32(sum, _mm256_loadu_si256((const __m256i_u *)y));
        _mm256_storeu_si256((__m256i_u *)y, sum);
        return;
    }
    if (acc)
        sum = _mm256_add_epi32(sum, _mm256_maskload_epi32(y, mask));
    store_first_ps((float *)y, n, _mm256_castsi256_ps(sum));
}
