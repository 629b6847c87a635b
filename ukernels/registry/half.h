/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Converts f16 and bf16 to float and back, by integer and float arithmetic only, because kernels in plain C
 * may not call helper functions of the compiler's library. Rounds to nearest, ties to even.
 */
#ifndef UK_HALF_H
#define UK_HALF_H

#include <stdint.h>

#define UK_HALF static inline __attribute__((always_inline))

UK_HALF float uk_float_of_bits(uint32_t bits) {
    float v;

    __builtin_memcpy(&v, &bits, sizeof v);
    return v;
}

UK_HALF uint32_t uk_bits_of_float(float v) {
    uint32_t bits;

    __builtin_memcpy(&bits, &v, sizeof bits);
    return bits;
}

/* The exponent is adjusted by a multiplication, which is right for subnormals too; infinity and NaN keep all
 * bits of the exponent. */
UK_HALF float uk_from_f16(uint16_t h) {
    const float v = uk_float_of_bits((uint32_t)(h & 0x7fff) << 13) * 0x1p112f;
    const uint32_t special = (h & 0x7c00) == 0x7c00 ? 0x7f800000 : 0;

    return uk_float_of_bits(uk_bits_of_float(v) | special | (uint32_t)(h & 0x8000) << 16);
}

/* Rounds v to a value of f16, still as a float. Adding and subtracting a number 2^13 times as large rounds
 * away the bits of v that f16 does not have: 13 of its 24, more if v is subnormal as an f16. 65520 is halfway
 * between 65504, the largest f16, and 65536: from there on v becomes infinite. */
UK_HALF float uk_round_f16(float v) {
    const uint32_t bits = uk_bits_of_float(v), exponent = bits & 0x7f800000, sign = bits & 0x80000000;
    const float size = uk_float_of_bits(bits ^ sign);
    const float large = uk_float_of_bits((exponent < 0x38800000 ? 0x38800000 : exponent) + (13u << 23));
    const float rounded = (size + large) - large;

    return uk_float_of_bits(uk_bits_of_float(size < 65520.0f ? rounded : size * __builtin_inff()) | sign);
}

/* The bits of v, which must be a value of f16 (uk_round_f16). */
UK_HALF uint16_t uk_to_f16(float v) {
    const uint32_t bits = uk_bits_of_float(v), sign = bits >> 16 & 0x8000;
    const uint32_t size = uk_bits_of_float(uk_float_of_bits(bits & 0x7fffffff) * 0x1p-112f) >> 13;

    return (uint16_t)(sign | ((bits & 0x7f800000) == 0x7f800000 ? 0x7c00 | (bits >> 13 & 0x3ff) : size));
}

UK_HALF float uk_from_bf16(uint16_t b) {
    return uk_float_of_bits((uint32_t)b << 16);
}

UK_HALF uint16_t uk_to_bf16(float v) {
    const uint32_t bits = uk_bits_of_float(v);

    return (uint16_t)(v != v ? bits >> 16 | 0x40 : (bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

#undef UK_HALF

#endif
