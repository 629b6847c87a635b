/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions for the expressions of opcodes.def. IEEE mode is on, as compilers for HSA set it: a signaling NaN
 * becomes the quiet result of minimum and maximum; a quiet NaN gives the other operand.
 */
#ifndef UK_AMDGPU_LANES_H
#define UK_AMDGPU_LANES_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static inline uint32_t uk_bits(float a) {
    uint32_t bits;

    memcpy(&bits, &a, 4);
    return bits;
}
static inline float uk_float(uint32_t bits) {
    float a;

    memcpy(&a, &bits, 4);
    return a;
}
static inline double uk_double(uint64_t bits) {
    double a;

    memcpy(&a, &bits, 8);
    return a;
}
/* The f16 in the lower 16 bits, as a float. */
static inline float uk_half(uint32_t bits) {
    const uint16_t low = (uint16_t)bits;
    _Float16 a;

    memcpy(&a, &low, 2);
    return (float)a;
}
static inline int uk_exponent(float a) {
    return uk_bits(a) >> 23 & 255;
}
static inline bool uk_subnormal(float a) {
    return a != 0 && fabsf(a) < 0x1p-126f;
}
static inline bool uk_signaling(float a) {
    return a != a && !(uk_bits(a) & 0x400000);
}
static inline float uk_quiet(float a) {
    return uk_float(uk_bits(a) | 0x400000);
}

static inline float uk_max_f32(float a, float b) {
    if (uk_signaling(a) || uk_signaling(b))
        return uk_quiet(uk_signaling(a) ? a : b);
    if (a != a || b != b)
        return a != a ? b : a;
    if (a == b)
        return signbit(a) ? b : a;
    return a > b ? a : b;
}
static inline float uk_min_f32(float a, float b) {
    if (uk_signaling(a) || uk_signaling(b))
        return uk_quiet(uk_signaling(a) ? a : b);
    if (a != a || b != b)
        return a != a ? b : a;
    if (a == b)
        return signbit(a) ? a : b;
    return a < b ? a : b;
}
static inline bool uk_signaling_f64(double a) {
    uint64_t bits;

    memcpy(&bits, &a, 8);
    return a != a && !(bits >> 51 & 1);
}
/* Adding to a signaling NaN makes it quiet. */
static inline double uk_max_f64(double a, double b) {
    if (uk_signaling_f64(a) || uk_signaling_f64(b))
        return a + b;
    if (a != a || b != b)
        return a != a ? b : a;
    if (a == b)
        return signbit(a) ? b : a;
    return a > b ? a : b;
}
static inline double uk_min_f64(double a, double b) {
    if (uk_signaling_f64(a) || uk_signaling_f64(b))
        return a + b;
    if (a != a || b != b)
        return a != a ? b : a;
    if (a == b)
        return signbit(a) ? a : b;
    return a < b ? a : b;
}
static inline float uk_med3(float a, float b, float c) {
    const float maximum = uk_max_f32(uk_max_f32(a, b), c);

    if (a != a || b != b || c != c)
        return uk_min_f32(uk_min_f32(a, b), c);
    return maximum == a ? uk_max_f32(b, c) : maximum == b ? uk_max_f32(a, c) : uk_max_f32(a, b);
}

static inline float uk_flush_subnormal(float a) {
    return uk_subnormal(a) ? copysignf(0, a) : a;
}
/* The product is rounded before the sum; volatile keeps compilers from fusing both into an FMA. */
static inline float uk_mad(float a, float b, float c) {
    const volatile float product = uk_flush_subnormal(uk_flush_subnormal(a) * uk_flush_subnormal(b));

    return uk_flush_subnormal(product + uk_flush_subnormal(c));
}
static inline float uk_fract(float a) {
    return a - floorf(a);
}
static inline float uk_frexp_mant(float a) {
    int exponent;

    return isfinite(a) ? frexpf(a, &exponent) : a != a ? uk_quiet(a) : a;
}
static inline int32_t uk_frexp_exp(float a) {
    int exponent = 0;

    if (isfinite(a))
        (void)frexpf(a, &exponent);
    return exponent;
}

/*
 * v_div_scale: returns a, which is den or num, scaled if the steps of the division would leave the range. The
 * manual's condition is that 1 / den is subnormal in f64, which it never is. A subnormal 1 / den in f32 would
 * lose precision in the steps, so both operands are then made smaller; but not if the quotient is subnormal
 * too, for which the manual's rule would make den infinite.
 */
static inline float uk_div_scale(float a, float den, float num, bool *scaled) {
    *scaled = false;
    if (num == 0 || den == 0)
        return NAN;
    if (uk_exponent(num) - uk_exponent(den) >= 96) {
        *scaled = true;
        return uk_bits(a) == uk_bits(den) ? ldexpf(a, 64) : a;
    }
    if (uk_subnormal(den))
        return ldexpf(a, 64);
    if (uk_subnormal((float)((double)num / den))) {
        *scaled = true;
        return uk_bits(a) == uk_bits(num) ? ldexpf(a, 64) : a;
    }
    if (uk_subnormal((float)(1 / (double)den)))
        return ldexpf(a, -64);
    return uk_exponent(num) <= 23 ? ldexpf(a, 64) : a;
}
/*
 * v_div_fmas. The manual of CDNA gives 2^32 as the factor, which undoes none of the scalings above; that of
 * RDNA gives these. The sum and the factor are rounded once, by a sum in f64 rounded to odd, as a subnormal
 * quotient needs.
 */
static inline float uk_div_fmas(float a, float b, float c, bool scaled) {
    const double product = (double)a * b, sum = product + c, other = sum - product,
                 rest = (product - (sum - other)) + (c - other);
    uint64_t bits;
    double odd = sum;

    if (!scaled || !isfinite(sum))
        return fmaf(a, b, c);
    memcpy(&bits, &sum, 8);
    if (rest != 0 && bits % 2 == 0)
        odd = nextafter(sum, rest > 0 ? INFINITY : -INFINITY);
    return (float)ldexp(odd, uk_exponent(c) > 127 ? 64 : -64);
}
static inline float uk_div_fixup(float a, float den, float num) {
    const bool negative = signbit(den) != signbit(num);

    if (num != num || den != den)
        return uk_quiet(num != num ? num : den);
    if ((den == 0 && num == 0) || (isinf(den) && isinf(num)))
        return uk_float(0xffc00000);
    if (den == 0 || isinf(num))
        return negative ? -INFINITY : INFINITY;
    if (isinf(den) || num == 0)
        return negative ? -0.0f : 0.0f;
    if (uk_exponent(num) - uk_exponent(den) < -150)
        return negative ? -0.0f : 0.0f;
    /* The division steps of a quotient that is too large end in infinity or NaN. The manual tests den's
     * exponent here, which cannot be that of infinity at this point. */
    if (uk_exponent(a) == 255)
        return negative ? -INFINITY : INFINITY;
    return copysignf(a, negative ? -1.0f : 1.0f);
}

/* f16 operations are computed in f32 or f64, which hold the exact intermediate result, and rounded once to
 * f16. */
static inline _Float16 uk_fma_f16(_Float16 a, _Float16 b, _Float16 c) {
    return (_Float16)fma((double)a, (double)b, (double)c);
}
static inline bool uk_signaling_f16(_Float16 a) {
    uint16_t bits;

    memcpy(&bits, &a, 2);
    return (bits & 0x7c00) == 0x7c00 && bits & 0x1ff && !(bits & 0x200);
}
static inline _Float16 uk_max_f16(_Float16 a, _Float16 b) {
    return uk_signaling_f16(a) || uk_signaling_f16(b) ? (_Float16)NAN
                                                      : (_Float16)uk_max_f32((float)a, (float)b);
}
static inline _Float16 uk_min_f16(_Float16 a, _Float16 b) {
    return uk_signaling_f16(a) || uk_signaling_f16(b) ? (_Float16)NAN
                                                      : (_Float16)uk_min_f32((float)a, (float)b);
}
static inline _Float16 uk_med3_f16(_Float16 a, _Float16 b, _Float16 c) {
    const float x = (float)a, y = (float)b, z = (float)c;

    return x != x || y != y || z != z ? uk_min_f16(uk_min_f16(a, b), c) : (_Float16)uk_med3(x, y, z);
}
static inline _Float16 uk_div_fixup_f16(_Float16 a, _Float16 den, _Float16 num) {
    const bool negative = signbit((float)den) != signbit((float)num);
    const float d = (float)den, n = (float)num;

    if (n != n || d != d)
        return n != n ? num : den;
    if ((d == 0 && n == 0) || (isinf(d) && isinf(n)))
        return (_Float16)-NAN;
    if (d == 0 || isinf(n))
        return negative ? (_Float16)-INFINITY : (_Float16)INFINITY;
    if (isinf(d) || n == 0)
        return negative ? (_Float16)-0.0f : (_Float16)0.0f;
    return (_Float16)copysignf((float)a, negative ? -1.0f : 1.0f);
}

/* The same steps in f64. */
static inline uint64_t uk_bits_f64(double a) {
    uint64_t bits;

    memcpy(&bits, &a, 8);
    return bits;
}
static inline int uk_exponent_f64(double a) {
    return uk_bits_f64(a) >> 52 & 2047;
}
static inline bool uk_subnormal_f64(double a) {
    return a != 0 && fabs(a) < 0x1p-1022;
}
static inline double uk_frexp_mant_f64(double a) {
    int exponent;

    return isfinite(a) ? frexp(a, &exponent) : a + a;
}
static inline int32_t uk_frexp_exp_f64(double a) {
    int exponent = 0;

    if (isfinite(a))
        (void)frexp(a, &exponent);
    return exponent;
}
static inline double uk_div_scale_f64(double a, double den, double num, bool *scaled) {
    const bool of_den = uk_bits_f64(a) == uk_bits_f64(den), of_num = uk_bits_f64(a) == uk_bits_f64(num);

    *scaled = false;
    if (num == 0 || den == 0)
        return NAN;
    if (uk_exponent_f64(num) - uk_exponent_f64(den) >= 768) {
        *scaled = true;
        return of_den ? ldexp(a, 128) : a;
    }
    if (uk_subnormal_f64(den))
        return ldexp(a, 128);
    if (uk_subnormal_f64(num / den)) {
        *scaled = true;
        return (uk_subnormal_f64(1 / den) ? of_den : of_num) ? ldexp(a, 128) : a;
    }
    if (uk_subnormal_f64(1 / den))
        return ldexp(a, -128);
    return uk_exponent_f64(num) <= 53 ? ldexp(a, 128) : a;
}
/* The sum and the factor are rounded once. If a subnormal quotient lies exactly between two numbers because
 * the sum was rounded, it is not a tie: the rest decides. */
static inline double uk_div_fmas_f64(double a, double b, double c, bool scaled) {
    const double sum = fma(a, b, c), product = a * b, low = fma(a, b, -product), top = product + c,
                 back = top - product, rest = ((product - (top - back)) + (c - back)) + low + (top - sum);
    const int power = uk_exponent_f64(c) > 1023 ? 128 : -128;
    const double quotient = ldexp(sum, power), lost = sum - ldexp(quotient, -power);

    if (!scaled || a - a + (b - b) + (c - c) != 0)
        return sum;
    if (isinf(sum) && power < 0)
        return fma(ldexp(a, power / 2), ldexp(b, power / 2), ldexp(c, power));
    if (lost != 0 && fabs(lost) == ldexp(0x1p-1074, -power) / 2 && rest != 0 && (rest > 0) == (lost > 0))
        return nextafter(quotient, lost > 0 ? INFINITY : -INFINITY);
    return quotient;
}
static inline double uk_div_fixup_f64(double a, double den, double num) {
    const bool negative = signbit(den) != signbit(num);

    if (num != num || den != den)
        return num != num ? num + num : den + den;
    if ((den == 0 && num == 0) || (isinf(den) && isinf(num)))
        return -NAN;
    if (den == 0 || isinf(num))
        return negative ? -INFINITY : INFINITY;
    if (isinf(den) || num == 0 || uk_exponent_f64(num) - uk_exponent_f64(den) < -1075)
        return negative ? -0.0 : 0.0;
    if (uk_exponent_f64(a) == 2047)
        return negative ? -INFINITY : INFINITY;
    return copysign(a, negative ? -1.0 : 1.0);
}

static inline int64_t uk_max_i64(int64_t a, int64_t b) {
    return a > b ? a : b;
}
static inline int64_t uk_min_i64(int64_t a, int64_t b) {
    return a < b ? a : b;
}
static inline int64_t uk_median_i64(int64_t a, int64_t b, int64_t c) {
    return uk_max_i64(uk_min_i64(a, b), uk_min_i64(uk_max_i64(a, b), c));
}

/* Conversion towards zero, saturated; NaN becomes 0. */
static inline int32_t uk_to_i32(float a) {
    return a != a ? 0 : a >= 0x1p31f ? INT32_MAX : a < -0x1p31f ? INT32_MIN : (int32_t)a;
}
static inline uint32_t uk_to_u32(float a) {
    return !(a > 0) ? 0 : a >= 0x1p32f ? UINT32_MAX : (uint32_t)a;
}

static inline int16_t uk_to_i16(float a) {
    return a != a ? 0 : a >= 0x1p15f ? INT16_MAX : a < -0x1p15f ? INT16_MIN : (int16_t)a;
}
static inline uint16_t uk_to_u16(float a) {
    return !(a > 0) ? 0 : a >= 0x1p16f ? UINT16_MAX : (uint16_t)a;
}

static inline int32_t uk_to_i32_f64(double a) {
    return a != a ? 0 : a >= 0x1p31 ? INT32_MAX : a <= -0x1p31 ? INT32_MIN : (int32_t)a;
}
static inline uint32_t uk_to_u32_f64(double a) {
    return !(a > 0) ? 0 : a >= 0x1p32 ? UINT32_MAX : (uint32_t)a;
}

static inline uint32_t uk_sign(uint32_t a, unsigned bits) {
    return bits ? (uint32_t)((int32_t)(a << (32 - bits)) >> (32 - bits)) : 0;
}
static inline uint64_t uk_low_bits(unsigned n) {
    return n >= 64 ? UINT64_MAX : ((uint64_t)1 << n) - 1;
}
static inline uint64_t uk_sign_64(uint64_t a, unsigned bits) {
    return bits >= 64 ? a : bits ? (uint64_t)((int64_t)(a << (64 - bits)) >> (64 - bits)) : 0;
}
/* The number of leading bits equal to the first one; UINT32_MAX if all are. */
static inline uint32_t uk_sign_bits(uint32_t a) {
    const uint32_t other = a >> 31 ? ~a : a;

    return other ? (uint32_t)__builtin_clz(other) : UINT32_MAX;
}
static inline uint32_t uk_sign_bits_64(uint64_t a) {
    const uint64_t other = a >> 63 ? ~a : a;

    return other ? (uint32_t)__builtin_clzll(other) : UINT32_MAX;
}
static inline uint32_t uk_reverse(uint32_t a) {
    uint32_t r = 0;

    for (int i = 0; i < 32; ++i)
        r |= (a >> i & 1) << (31 - i);
    return r;
}
static inline uint32_t uk_perm(uint32_t a, uint32_t b, uint32_t select) {
    const uint64_t bytes = (uint64_t)a << 32 | b;
    uint32_t r = 0;

    for (int i = 0; i < 4; ++i) {
        const uint32_t s = select >> 8 * i & 255;
        const uint64_t byte = s >= 13   ? 255
                              : s == 12 ? 0
                              : s >= 8  ? (bytes >> (16 * (s - 8) + 15) & 1) * 255
                                        : bytes >> 8 * s & 255;

        r |= (uint32_t)byte << 8 * i;
    }
    return r;
}
static inline uint32_t uk_dot4_i8(uint32_t a, uint32_t b, uint32_t c) {
    for (int i = 0; i < 32; i += 8)
        c += (uint32_t)((int8_t)(a >> i) * (int8_t)(b >> i));
    return c;
}
static inline uint32_t uk_dot4_u8(uint32_t a, uint32_t b, uint32_t c) {
    for (int i = 0; i < 32; i += 8)
        c += (a >> i & 255) * (b >> i & 255);
    return c;
}
/* Bit 64 of the sum of the product and c, both as signed numbers. */
static inline bool uk_mad_carry(int32_t a, int32_t b, uint64_t c) {
    return ((__int128)((int64_t)a * b) + (int64_t)c) >> 64 & 1;
}
/* True if the mask has the class of the number that the arguments describe. */
static inline bool uk_in_class(uint32_t mask, bool negative, bool signaling, bool nan, bool infinite,
                               bool subnormal, bool zero) {
    const int bit = signaling   ? 0
                    : nan       ? 1
                    : infinite  ? (negative ? 2 : 9)
                    : subnormal ? (negative ? 4 : 7)
                    : !zero     ? (negative ? 3 : 8)
                                : (negative ? 5 : 6);

    return mask >> bit & 1;
}
static inline bool uk_class(float a, uint32_t mask) {
    return uk_in_class(mask, signbit(a), uk_signaling(a), a != a, isinf(a), uk_subnormal(a), a == 0);
}
static inline bool uk_class_f64(double a, uint32_t mask) {
    return uk_in_class(mask, signbit(a), uk_signaling_f64(a), a != a, isinf(a), uk_subnormal_f64(a), a == 0);
}
static inline bool uk_class_f16(_Float16 a, uint32_t mask) {
    const float x = (float)a;

    return uk_in_class(mask, signbit(x), uk_signaling_f16(a), x != x, isinf(x), x != 0 && fabsf(x) < 0x1p-14f,
                       x == 0);
}

#endif
