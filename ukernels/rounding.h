/* SPDX-License-Identifier: Apache-2.0 */
/* Rounds to the nearest whole number, ties to even, without a call of the C library: adding a number whose
 * unit in the last place is 1 rounds, and leaves the whole number in the low bits. */
#ifndef UK_ROUNDING_H
#define UK_ROUNDING_H

#include <stdint.h>
#include <string.h>

/* |x| is at most 2^22. */
static inline int32_t uk_round_f32(float x) {
    const float large = 0x1.8p23f, sum = x + large;
    int32_t bits, bits_of_large;

    memcpy(&bits, &sum, sizeof bits);
    memcpy(&bits_of_large, &large, sizeof bits_of_large);
    return bits - bits_of_large;
}

/* |x| is at most 2^51. */
static inline int64_t uk_round_f64(double x) {
    const double large = 0x1.8p52, sum = x + large;
    int64_t bits, bits_of_large;

    memcpy(&bits, &sum, sizeof bits);
    memcpy(&bits_of_large, &large, sizeof bits_of_large);
    return bits - bits_of_large;
}

#endif
