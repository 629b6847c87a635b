/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes for depthwise_tile.c: V channels of x, or of weights, widened to 16 bits, in a `vector`; sums of
 * their products in a `total`. Parts are of the first n channels, 0 < n < V; the others of a load are 0. */
#include <arm_neon.h>
#include "depthwise_bytes.h"

#define INLINE static inline __attribute__((always_inline, unused))

enum { V = 8 };
typedef int32_t result;
typedef int16x8_t vector;
typedef struct {
    int32x4_t low, high;
} total;

INLINE vector widen(uint8x8_t bytes, bool is_signed) {
    return is_signed ? vmovl_s8(vreinterpret_s8_u8(bytes)) : vreinterpretq_s16_u16(vmovl_u8(bytes));
}

INLINE vector load_x(const element *p) {
    return widen(vld1_u8((const uint8_t *)p), UK_X_IS_SIGNED);
}

INLINE vector load_x_part(const element *p, int64_t n) {
    return widen(vcreate_u8(first_bytes(p, n)), UK_X_IS_SIGNED);
}

INLINE vector load_weight(const weight *p) {
    return widen(vld1_u8((const uint8_t *)p), UK_WEIGHT_IS_SIGNED);
}

INLINE vector load_weight_part(const weight *p, int64_t n) {
    return widen(vcreate_u8(first_bytes(p, n)), UK_WEIGHT_IS_SIGNED);
}

INLINE total no_terms(void) {
    return (total){vdupq_n_s32(0), vdupq_n_s32(0)};
}

INLINE total add_term(vector x, vector w, total t) {
    return (total){vmlal_s16(t.low, vget_low_s16(x), vget_low_s16(w)),
                   vmlal_s16(t.high, vget_high_s16(x), vget_high_s16(w))};
}

INLINE void store_total(result *y, total t, bool acc) {
    vst1q_s32(y, acc ? vaddq_s32(vld1q_s32(y), t.low) : t.low);
    vst1q_s32(y + 4, acc ? vaddq_s32(vld1q_s32(y + 4), t.high) : t.high);
}

INLINE void store_total_part(result *y, int64_t n, total t, bool acc) {
    uint32_t sum[V];

    vst1q_u32(sum, vreinterpretq_u32_s32(t.low));
    vst1q_u32(sum + 4, vreinterpretq_u32_s32(t.high));
#pragma GCC unroll 1
    for (int64_t i = 0; i < n; i++)
        y[i] = (result)(sum[i] + (acc ? (uint32_t)y[i] : 0));
}
