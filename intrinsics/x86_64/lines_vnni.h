/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Groups of four lines of bytes for depthwise_tile_bytes.c. vpdpbusd multiplies u8 by i8.
 *
 * Bound, 3 x 3, for a column of two results and 64 channels: 24 products and 12 shuffles, 28 loads, 8 stores
 * of sums and 4 of interleaved lines. Where a port does both products and all shuffles, 18 cycles.
 */
#include <immintrin.h>

enum {
    V = 16,        /* channels of a register of sums */
    CHANNELS = 64, /* of a register of bytes */
    SETS = CHANNELS / V,
    LINES = 4, /* lines of a group: rows that a product sums */
    ROOM = 64, /* groups of a column in the buffer: 16 KB */
    FLIP = UK_X_IS_SIGNED == UK_WEIGHT_IS_SIGNED ? 0x80 : 0
};

typedef __m512i vector;
typedef vector set[SETS]; /* four bytes each of CHANNELS channels, or their sums */

INLINE vector zero(void) {
    return _mm512_setzero_si512();
}

INLINE vector all_bytes(int byte) {
    return _mm512_set1_epi8((char)byte);
}

INLINE vector subtract(vector a, vector b) {
    return _mm512_sub_epi32(a, b);
}

INLINE vector shift_left(vector v, int bits) {
    return _mm512_slli_epi32(v, (unsigned)bits);
}

INLINE vector shift_right(vector v, int bits) {
    return _mm512_srli_epi32(v, (unsigned)bits);
}

INLINE vector either(vector a, vector b) {
    return _mm512_or_si512(a, b);
}

/* 32-bit lanes of a line, such that interleaving within 128-bit lanes leaves channels in order. */
static const uint32_t order[V] = {0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15};

INLINE vector load_line(const void *p, bool is_whole, int64_t channels, int flip) {
    const __mmask64 mask = (__mmask64)(~(uint64_t)0 >> (CHANNELS - channels));
    const vector line = is_whole ? _mm512_loadu_si512(p) : _mm512_maskz_loadu_epi8(mask, p),
                 in_order = _mm512_permutexvar_epi32(_mm512_loadu_si512(order), line);

    return flip ? _mm512_xor_si512(in_order, all_bytes(flip)) : in_order;
}

/* Interleaves the lines of a group of x, or of weights. */
INLINE void interleave(const void *const line[LINES], bool is_whole, int64_t channels, bool is_x, set to) {
    vector l[LINES], low[2], high[2];

    UNROLL for (int b = 0; b < LINES; b++) l[b] = load_line(line[b], is_whole, channels, is_x ? FLIP : 0);
    UNROLL for (int b = 0; b < 2; b++) {
        low[b] = _mm512_unpacklo_epi8(l[2 * b], l[2 * b + 1]);
        high[b] = _mm512_unpackhi_epi8(l[2 * b], l[2 * b + 1]);
    }
    to[0] = _mm512_unpacklo_epi16(low[0], low[1]);
    to[1] = _mm512_unpackhi_epi16(low[0], low[1]);
    to[2] = _mm512_unpacklo_epi16(high[0], high[1]);
    to[3] = _mm512_unpackhi_epi16(high[0], high[1]);
}

INLINE vector multiply(vector sum, vector x, vector w) {
    return UK_WEIGHT_IS_SIGNED ? _mm512_dpbusd_epi32(sum, x, w) : _mm512_dpbusd_epi32(sum, w, x);
}

/* y[c] = (acc ? y[c] : 0) + sum for `n` channels. */
INLINE void store(int32_t *y, vector sum, int64_t n, int64_t acc) {
    const __mmask16 mask = (__mmask16)(n < V ? (1u << n) - 1 : 0xffff);

    if (acc)
        sum = _mm512_add_epi32(sum, _mm512_maskz_loadu_epi32(mask, y));
    if (n >= V)
        _mm512_storeu_si512(y, sum);
    else
        _mm512_mask_storeu_epi32(y, mask, sum);
}
