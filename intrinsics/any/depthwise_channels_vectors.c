/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Depthwise convolution: windows of r x s weights over bytes whose neighbours are channels, for m pixels and
 * n channels. A vector has UK_NR channels. Taps are taken in pairs, whose weights are in a table, for UK_MR
 * pixels at a time: each sum stays in a register for all taps of a table.
 *
 * Bound, per pixel and pair of taps: on AVX2, for 16 channels, 2 loads, 2 instructions to interleave bytes
 * and 2 (i8: 4) to extend them, 2 multiply-adds of pairs of i16, 2 adds; with NEON, for 8 channels, 2 loads,
 * 2 to extend, 4 multiply-adds.
 *
 * Edges: remaining pixels go one by one. The last vector of channels overlaps the one before it; if it adds
 * to y, the weights of channels that were added already are 0. If there are fewer channels than a vector has,
 * they are loaded and stored in parts.
 */
#include "registry/kernel_contract.h"
#include "depthwise_bytes.h"

enum { CHANNELS = UK_NR, ROWS = UK_MR, PAIRS = 16 };
#define INLINE static inline __attribute__((always_inline))

/* wide: a vector of channels of the weights, taps: of x; the weights of a pair of taps; the sums of a
 * vector. */
#if defined UK_ISA_neon || defined UK_ISA_armv7neon
#include <arm_neon.h>
typedef int16x8_t wide, taps;
struct weights {
    wide first, second;
};
struct sums {
    int32x4_t low, high;
};

INLINE int16x8_t extend(const void *p, int is_signed) {
    return is_signed ? vmovl_s8(vld1_s8(p)) : vreinterpretq_s16_u16(vmovl_u8(vld1_u8(p)));
}

INLINE taps load(const element *p) {
    return extend(p, UK_X_IS_SIGNED);
}

INLINE wide load_weights(const weight *f) {
    return extend(f, UK_WEIGHT_IS_SIGNED);
}

/* Sets the first `none` channels to 0. */
INLINE wide without(wide w, int64_t none) {
    static const int16_t lane[] = {0, 1, 2, 3, 4, 5, 6, 7};

    return vbicq_s16(w, vreinterpretq_s16_u16(vcltq_s16(vld1q_s16(lane), vdupq_n_s16((int16_t)none))));
}

INLINE struct weights pair_of(wide first, wide second) {
    return (struct weights){first, second};
}

INLINE struct sums zero(void) {
    return (struct sums){vdupq_n_s32(0), vdupq_n_s32(0)};
}

INLINE struct sums add_pair(struct sums s, taps a, taps b, struct weights w) {
    s.low = vmlal_s16(s.low, vget_low_s16(a), vget_low_s16(w.first));
    s.high = vmlal_s16(s.high, vget_high_s16(a), vget_high_s16(w.first));
    s.low = vmlal_s16(s.low, vget_low_s16(b), vget_low_s16(w.second));
    s.high = vmlal_s16(s.high, vget_high_s16(b), vget_high_s16(w.second));
    return s;
}

INLINE void store(struct sums s, int32_t *y, int64_t acc) {
    vst1q_s32(y, acc ? vaddq_s32(vld1q_s32(y), s.low) : s.low);
    vst1q_s32(y + 4, acc ? vaddq_s32(vld1q_s32(y + 4), s.high) : s.high);
}
#else
#include <immintrin.h>
typedef __m128i wide; /* still bytes; pairs of them are extended later */
typedef __m256i taps; /* bytes, in both halves */
struct weights {
    __m256i low, high;
};
struct sums {
    __m256i low, high;
};

INLINE taps load(const element *p) {
    return _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i_u *)p));
}

INLINE wide load_weights(const weight *f) {
    return _mm_loadu_si128((const __m128i_u *)f);
}

/* Sets the first `none` channels to 0. */
INLINE wide without(wide w, int64_t none) {
    const wide lane = _mm_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);

    return _mm_andnot_si128(_mm_cmpgt_epi8(_mm_set1_epi8((char)none), lane), w);
}

INLINE __m256i of_weights(__m128i bytes) {
    return UK_WEIGHT_IS_SIGNED ? _mm256_cvtepi8_epi16(bytes) : _mm256_cvtepu8_epi16(bytes);
}

INLINE struct weights pair_of(wide first, wide second) {
    return (struct weights){of_weights(_mm_unpacklo_epi8(first, second)),
                            of_weights(_mm_unpackhi_epi8(first, second))};
}

/* Extends eight bytes of each half to 16 bits: the first eight of the lower half, the last eight of the
 * upper. The instruction that extends across halves takes longer than a shuffle and a shift together. */
INLINE __m256i extend(__m256i v) {
    /* An index of 0x80 selects 0. */
#if !UK_X_IS_SIGNED
    return _mm256_shuffle_epi8(v, _mm256_setr_epi64x(0x8003800280018000, 0x8007800680058004,
                                                     0x800b800a80098008, 0x800f800e800d800c));
#else
    const __m256i upper = _mm256_shuffle_epi8(v, _mm256_setr_epi64x(0x0380028001800080, 0x0780068005800480,
                                                                    0x0b800a8009800880, 0x0f800e800d800c80));

    return _mm256_srai_epi16(upper, 8);
#endif
}

INLINE struct sums zero(void) {
    return (struct sums){_mm256_setzero_si256(), _mm256_setzero_si256()};
}

INLINE struct sums add_pair(struct sums s, taps a, taps b, struct weights w) {
    s.low = _mm256_add_epi32(s.low, _mm256_madd_epi16(extend(_mm256_unpacklo_epi8(a, b)), w.low));
    s.high = _mm256_add_epi32(s.high, _mm256_madd_epi16(extend(_mm256_unpackhi_epi8(a, b)), w.high));
    return s;
}

INLINE void store(struct sums s, int32_t *y, int64_t acc) {
    __m256i_u *to = (__m256i_u *)y;

    _mm256_storeu_si256(to, acc ? _mm256_add_epi32(_mm256_loadu_si256(to), s.low) : s.low);
    _mm256_storeu_si256(to + 1, acc ? _mm256_add_epi32(_mm256_loadu_si256(to + 1), s.high) : s.high);
}
#endif

/* Taps of the window, and the pixels to apply them to: m pixels of a vector of channels, or of n channels. */
struct table {
    int64_t offset[2 * PAIRS];
    struct weights weight[PAIRS];
    int pairs;
    int64_t ldi, ldy, m, n;
};

/* Loads the first n elements of a vector; the others are 0. */
INLINE void take(uint64_t to[CHANNELS / 8], const void *from, int64_t n) {
    for (int i = 0; i < CHANNELS / 8; i++)
        to[i] = n > 8 * i ? first_bytes((const uint8_t *)from + 8 * i, n - 8 * i) : 0;
}

INLINE taps load_some(const element *p, int64_t n) {
    uint64_t all[CHANNELS / 8];

    take(all, p, n);
    return load((const element *)all);
}

INLINE wide load_some_weights(const weight *f, int64_t n) {
    uint64_t all[CHANNELS / 8];

    take(all, f, n);
    return load_weights((const weight *)all);
}

INLINE void store_some(struct sums s, int32_t *y, int64_t acc, int64_t n) {
    int32_t all[CHANNELS];

    store(s, all, 0);
#pragma GCC unroll 1
    for (int64_t j = 0; j < n; j++)
        y[j] = (int32_t)((uint32_t)all[j] + (acc ? (uint32_t)y[j] : 0));
}

/* `rows` pixels, a constant. */
INLINE void block(const struct table *t, const element *x, int32_t *y, int64_t acc, int rows, int in_part) {
    struct sums sum[ROWS];

    for (int i = 0; i < rows; i++)
        sum[i] = zero();
#pragma GCC unroll 1
    for (int p = 0; p < t->pairs; p++) {
        const struct weights w = t->weight[p];
        const element *a = x + t->offset[2 * p], *b = x + t->offset[2 * p + 1];

        for (int i = 0; i < rows; i++, a += t->ldi, b += t->ldi)
            sum[i] = add_pair(sum[i], in_part ? load_some(a, t->n) : load(a),
                              in_part ? load_some(b, t->n) : load(b), w);
    }
    for (int i = 0; i < rows; i++, y += t->ldy)
        if (in_part)
            store_some(sum[i], y, acc, t->n);
        else
            store(sum[i], y, acc);
}

INLINE void pixels(const struct table *t, const element *x, int32_t *y, int64_t acc) {
    int64_t i = 0;

    if (t->n >= CHANNELS) {
#pragma GCC unroll 1
        for (; i + ROWS <= t->m; i += ROWS)
            block(t, x + i * t->ldi, y + i * t->ldy, acc, ROWS, 0);
#pragma GCC unroll 1
        for (; i < t->m; i++)
            block(t, x + i * t->ldi, y + i * t->ldy, acc, 1, 0);
        return;
    }
#pragma GCC unroll 1
    for (; i < t->m; i++)
        block(t, x + i * t->ldi, y + i * t->ldy, acc, 1, 1);
}

struct window {
    int64_t r, s, ldr, lds, ldfr, ldfs;
};

/* The window for the channels from f on; the weights of the first `none` of them are 0. An odd last tap is
 * paired with itself, with weights of 0. */
INLINE void channels(const struct window *w, struct table *t, const element *x, const weight *f, int64_t none,
                     int32_t *y, int64_t acc) {
    int64_t r = 0, s = 0, left = w->r * w->s;

    do {
        wide first = {0}, second;

        t->pairs = (int)(left < 2 * PAIRS ? (left + 1) / 2 : PAIRS);
#pragma GCC unroll 1
        for (int p = 0; p < 2 * t->pairs; p++) {
            const weight *by = f + r * w->ldfr + s * w->ldfs;

            t->offset[p] = r * w->ldr + s * w->lds;
            second = without(t->n < CHANNELS ? load_some_weights(by, t->n) : load_weights(by), none);
            if (left == 1 && p % 2 == 0) {
                t->offset[p + 1] = t->offset[p];
                t->weight[p / 2] = pair_of(second, without(second, CHANNELS));
                p++;
            } else if (p % 2) {
                t->weight[p / 2] = pair_of(first, second);
            }
            first = second;
            left--;
            if (++s == w->s) {
                s = 0;
                r++;
            }
        }
        pixels(t, x, y, acc);
        acc = 1;
    } while (left > 0);
}

void UK_SYMBOL(int64_t r, int64_t s, const element *x, int64_t ldi, int64_t ldr, int64_t lds, const weight *f,
               int64_t ldfr, int64_t ldfs, int32_t *y, int64_t ldy, int64_t acc, int64_t m, int64_t n) {
    const struct window w = {r, s, ldr, lds, ldfr, ldfs};
    struct table t; /* the other fields stay uninitialized: setting them would call memset */

    t.ldi = ldi;
    t.ldy = ldy;
    t.m = m;
    t.n = n;
#pragma GCC unroll 1
    for (int64_t j = 0; j < n; j += CHANNELS) {
        const int64_t begin = n < CHANNELS || j + CHANNELS <= n ? j : n - CHANNELS;

        channels(&w, &t, x + begin, f + begin, acc ? j - begin : 0, y + begin, acc);
    }
}
