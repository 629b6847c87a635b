/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Groups of four lines of bytes for depthwise_tile_bytes.c. udot and sdot multiply bytes of one type, to
 * which x is flipped if the weights have the other; usdot (i8mm) multiplies bytes of both.
 *
 * Bound, 3 x 3, for a column of two results and 16 channels: 24 products, 8 instructions to interleave, 16
 * loads, 8 stores of sums and 4 of columns.
 */
#include <arm_neon.h>

enum {
    V = 4,         /* channels of a register of sums */
    CHANNELS = 16, /* of a register of bytes */
    SETS = CHANNELS / V,
    LINES = 4, /* lines of a group: rows that a product sums */
    ROOM = 64, /* groups of a column in the buffer: 4 KB */
#ifdef UK_ISA_i8mm
    FLIP = 0
#else
    FLIP = UK_X_IS_SIGNED != UK_WEIGHT_IS_SIGNED ? 0x80 : 0
#endif
};

typedef uint32x4_t vector;
typedef vector set[SETS]; /* four bytes each of CHANNELS channels, or their sums */

INLINE vector zero(void) {
    return vdupq_n_u32(0);
}

INLINE vector all_bytes(int byte) {
    return vreinterpretq_u32_u8(vdupq_n_u8((uint8_t)byte));
}

INLINE vector subtract(vector a, vector b) {
    return vsubq_u32(a, b);
}

INLINE vector shift_left(vector v, int bits) {
    return v << (unsigned)bits;
}

INLINE vector shift_right(vector v, int bits) {
    return v >> (unsigned)bits;
}

INLINE vector either(vector a, vector b) {
    return vorrq_u32(a, b);
}

INLINE uint8x16_t load_line(const uint8_t *p, bool is_whole, int64_t channels, int flip) {
    const uint8x16_t line =
        is_whole ? vld1q_u8(p)
                 : vcombine_u8(vcreate_u8(first_bytes(p, channels)),
                               vcreate_u8(channels > 8 ? first_bytes(p + 8, channels - 8) : 0));

    return flip ? veorq_u8(line, vdupq_n_u8((uint8_t)flip)) : line;
}

/* Interleaves the lines of a group of x, or of weights. */
INLINE void interleave(const void *const line[LINES], bool is_whole, int64_t channels, bool is_x, set to) {
    uint8x16_t l[LINES];
    uint16x8_t low[2], high[2];

    UNROLL for (int b = 0; b < LINES; b++) l[b] = load_line(line[b], is_whole, channels, is_x ? FLIP : 0);
    UNROLL for (int b = 0; b < 2; b++) {
        low[b] = vreinterpretq_u16_u8(vzip1q_u8(l[2 * b], l[2 * b + 1]));
        high[b] = vreinterpretq_u16_u8(vzip2q_u8(l[2 * b], l[2 * b + 1]));
    }
    to[0] = vreinterpretq_u32_u16(vzip1q_u16(low[0], low[1]));
    to[1] = vreinterpretq_u32_u16(vzip2q_u16(low[0], low[1]));
    to[2] = vreinterpretq_u32_u16(vzip1q_u16(high[0], high[1]));
    to[3] = vreinterpretq_u32_u16(vzip2q_u16(high[0], high[1]));
}

INLINE vector multiply(vector sum, vector x, vector w) {
#ifdef UK_ISA_i8mm
    const vector u = UK_WEIGHT_IS_SIGNED ? x : w, i = UK_WEIGHT_IS_SIGNED ? w : x;

    return vreinterpretq_u32_s32(
        vusdotq_s32(vreinterpretq_s32_u32(sum), vreinterpretq_u8_u32(u), vreinterpretq_s8_u32(i)));
#elif UK_WEIGHT_IS_SIGNED
    return vreinterpretq_u32_s32(
        vdotq_s32(vreinterpretq_s32_u32(sum), vreinterpretq_s8_u32(x), vreinterpretq_s8_u32(w)));
#else
    return vdotq_u32(sum, vreinterpretq_u8_u32(x), vreinterpretq_u8_u32(w));
#endif
}

/* y[c] = (acc ? y[c] : 0) + sum for `n` channels. */
INLINE void store(int32_t *y, vector sum, int64_t n, int64_t acc) {
    uint32_t *to = (uint32_t *)y;

    if (n >= V) {
        vst1q_u32(to, acc ? vaddq_u32(sum, vld1q_u32(to)) : sum);
        return;
    }
    UNROLL for (int i = 0; i < V - 1; i++) {
        if (i < n)
            to[i] = sum[0] + (acc ? to[i] : 0);
        sum = vextq_u32(sum, sum, 1);
    }
}
