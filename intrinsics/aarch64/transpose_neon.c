/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Transposes a matrix of elements of 1, 2, 4 or 8 bytes: any/transpose.h, with vectors of one lane.
 *
 * Bound: a tile of SIDE x SIDE elements is SIDE loads, SIDE log2(SIDE) shuffles and SIDE stores of 16 bytes.
 */
#include <arm_neon.h>
#include "registry/kernel_contract.h"

#ifdef UK_OP_u8transpose
typedef uint8_t element;
#define UK_VECTOR uint8x16_t
#define WIDE_NAME(name) name##_u8
#elif defined UK_OP_i16transpose
typedef int16_t element;
#define UK_VECTOR int16x8_t
#define WIDE_NAME(name) name##_s16
#elif defined UK_OP_i32transpose
typedef int32_t element;
#define UK_VECTOR int32x4_t
#define WIDE_NAME(name) name##_s32
#else
typedef int64_t element;
#define UK_VECTOR int64x2_t
#define WIDE_NAME(name) name##_s64
#endif
#define UK_LOAD(s, lds) WIDE_NAME(vld1q)(s)
#define UK_STORE(d, v) WIDE_NAME(vst1q)(d, v)
#define UK_LOW WIDE_NAME(vzip1q)
#define UK_HIGH WIDE_NAME(vzip2q)

#include "../any/transpose.h"

void UK_SYMBOL(int64_t k, const element *s, int64_t lds, element *d, int64_t ldd, int64_t m) {
    transpose(k, s, lds, d, ldd, m);
}
