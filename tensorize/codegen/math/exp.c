/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exp(x) = 2^n exp(r), where n is x / ln 2 rounded and r = x - n ln 2 is at most ln 2 / 2 in magnitude,
 * subtracted in two parts (Cody and Waite); exp(r) = 1 + r + r^2 p(r). tanh(x) = 1 - 2 / (exp(2x) + 1), and
 * for |x| < 0.625, where that would cancel, x + x^3 p(x^2).
 *
 * Where exp(x) and exp(-x), or 1, partly cancel (expm1, sinh, cosh), exp(r) - 1 is a pair.
 */
#include <math.h>
#include "numbers.h"

/* 2^n. The bits of 1.5 * 2^23 + n (f64: 1.5 * 2^52 + n) have n in the lowest places, and the bits above are
 * shifted out when n becomes the exponent; the same holds for n itself. */
static LLVMValueRef power_of_two(const struct uk_math *m, LLVMValueRef bits) {
    LLVMValueRef bias = uk_math_integer(m, m->is_double ? 1023 : 127),
                 places = uk_math_integer(m, m->is_double ? 52 : 23);

    return uk_math_from_bits(m, LLVMBuildShl(m->g->b, LLVMBuildAdd(m->g->b, bits, bias, ""), places, ""));
}

/* (exp(r) - 1 - r) / r^2; doubled: (exp(2r) - 1 - 2r) / 2r^2 */
static LLVMValueRef series_of(const struct uk_math *m, LLVMValueRef r, bool doubled) {
    static const double single[] = {0x1.6db47304cddf4p-10, 0x1.123b91da37cb5p-7, 0x1.55545d90ec147p-5,
                                    0x1.55548e9bd0ca7p-3, 0x1.00000051efb9ap-1},
                        twice[] = {0x1.af8565f16803fp-26, 0x1.28b06e60d9971p-22, 0x1.71dddfdd4966cp-19,
                                   0x1.a019966e969a7p-16, 0x1.a01a01badd998p-13, 0x1.6c16c185b3a77p-10,
                                   0x1.111111110d63ap-7,  0x1.555555554fffep-5,  0x1.5555555555561p-3,
                                   0x1.000000000000cp-1};
    struct uk_polynomial p = UK_POLYNOMIAL(single, twice);
    double scaled[sizeof twice / sizeof *twice];

    if (doubled) {
        const int n = m->is_double ? p.doubles : p.singles;

        for (int i = 0; i < n; i++)
            scaled[i] = ldexp((m->is_double ? twice : single)[i], n - i);
        p.single = p.twice = scaled;
    }
    return uk_math_polynomial(m, r, &p);
}

static LLVMValueRef exp_series(const struct uk_math *m, LLVMValueRef r) {
    return series_of(m, r, false);
}

/* exp(r) */
static LLVMValueRef exp_of_rest(const struct uk_math *m, LLVMValueRef r) {
    LLVMValueRef one = uk_math_number(m, 1), growth = uk_math_multiply_add(m, exp_series(m, r), r, one);

    return uk_math_multiply_add(m, growth, r, one);
}

/* A number whose last bit is 1: adding it leaves the nearest integer in the lowest bits. */
static LLVMValueRef shifter(const struct uk_math *m) {
    return uk_math_number(m, m->is_double ? 0x1.8p52 : 0x1.8p23);
}

/* -ln 2 in two parts: the first has few enough bits that its product with n is exact. */
static double first_part(const struct uk_math *m) {
    return m->is_double ? -0x1.62e42fee00000p-1 : -0x1.62e400p-1;
}

static double second_part(const struct uk_math *m) {
    return m->is_double ? -0x1.a39ef35793c76p-33 : -0x1.7f7d1cp-20;
}

/* n, and x - n times the first part of ln 2, exact. */
static struct uk_math_reduced begin_reduction(const struct uk_math *m, LLVMValueRef x) {
    LLVMValueRef large = shifter(m);
    LLVMValueRef shifted = uk_math_multiply_add(m, x, uk_math_number(m, 0x1.71547652b82fep+0), large);
    LLVMValueRef n = uk_math_subtract(m, shifted, large);

    return (struct uk_math_reduced){shifted, n,
                                    uk_math_multiply_add(m, n, uk_math_number(m, first_part(m)), x), NULL};
}

static LLVMValueRef rest_of_ln2(const struct uk_math *m) {
    return uk_math_number(m, second_part(m));
}

static struct uk_math_reduced reduce(const struct uk_math *m, LLVMValueRef x) {
    struct uk_math_reduced a = begin_reduction(m, x);
    LLVMValueRef first = a.r;

    a.r = uk_math_multiply_add(m, a.n, rest_of_ln2(m), first);
    a.low = uk_math_multiply_add(m, a.n, rest_of_ln2(m), uk_math_subtract(m, first, a.r));
    return a;
}

struct uk_math_reduced uk_math_reduce(const struct uk_math *m, struct uk_math_pair x) {
    struct uk_math_reduced a = begin_reduction(m, x.high);
    const struct uk_math_pair r = uk_math_sum(m, a.r, uk_math_multiply_add(m, a.n, rest_of_ln2(m), x.low));

    a.r = r.high;
    a.low = r.low;
    return a;
}

void uk_math_powers(const struct uk_math *m, const struct uk_math_reduced *x, LLVMValueRef factor[2]) {
    LLVMValueRef half = uk_math_multiply_add(m, x->n, uk_math_number(m, 0.5), shifter(m));
    LLVMValueRef rest = LLVMBuildSub(m->g->b, uk_math_bits(m, x->shifted), uk_math_bits(m, half), "");

    factor[0] = power_of_two(m, uk_math_bits(m, half));
    factor[1] = power_of_two(m, rest);
}

/* v * 2^n */
static LLVMValueRef scale(const struct uk_math *m, LLVMValueRef v, const struct uk_math_reduced *x) {
    LLVMValueRef factor[2];

    if (m->avx512)
        return uk_math_scale(m, v, x->n);
    uk_math_powers(m, x, factor);
    return uk_math_multiply(m, uk_math_multiply(m, v, factor[0]), factor[1]);
}

/* exp(x + low) of f32. n is a multiple of 1/16, so that r is at most ln 2 / 32 in magnitude and a cubic
 * polynomial suffices. The power of two of n's fraction comes from a table in a register. low may be NULL. */
static LLVMValueRef exp_by_sixteenths(const struct uk_math *m, LLVMValueRef x, LLVMValueRef low) {
    const double sixth = 0x1.555556p-3,
                 half = 0x1.000148p-1; /* half: 1/2 + (ln 2 / 32)^2 / 24, for r^4 / 24 */
    LLVMValueRef large = uk_math_number(m, 0x1.8p19), one = uk_math_number(m, 1);
    LLVMValueRef shifted = uk_math_multiply_add(m, x, uk_math_number(m, 0x1.71547652b82fep+0), large);
    LLVMValueRef n = uk_math_subtract(m, shifted, large), root = uk_math_sixteenth(m, shifted);
    LLVMValueRef r = uk_math_multiply_add(m, n, uk_math_number(m, first_part(m)), x);

    r = uk_math_multiply_add(m, n, rest_of_ln2(m), r);
    r = low ? uk_math_add(m, r, low) : r;
    LLVMValueRef growth = uk_math_multiply_add(m, r, uk_math_number(m, sixth), uk_math_number(m, half));
    growth = uk_math_multiply(m, r, uk_math_multiply_add(m, growth, r, one));
    return uk_math_scale(m, uk_math_multiply_add(m, root, growth, root), n);
}

static LLVMValueRef at_most(const struct uk_math *m, LLVMValueRef a, double max) {
    return uk_math_where(m, LLVMRealOGT, a, max, uk_math_number(m, max), a);
}

static LLVMValueRef at_least(const struct uk_math *m, LLVMValueRef a, double min) {
    return uk_math_where(m, LLVMRealOLT, a, min, uk_math_number(m, min), a);
}

LLVMValueRef uk_math_exp_pair(const struct uk_math *m, struct uk_math_pair x) {
    /* Beyond these limits the result is infinite or 0, as it is at the limits by the same arithmetic. */
    const double max = m->is_double ? 710 : 89, min = m->is_double ? -746 : -104;
    /* vscalefps calls microcode for a result slightly below the least number, as from masked terms of a
     * softmax, but not for one far below. */
    const double far = m->is_double ? -7200 : -720;
    LLVMValueRef zero = uk_math_number(m, 0), low = x.low;

    if (low) {
        low = uk_math_where(m, LLVMRealOGT, x.high, max, zero, low);
        low = uk_math_where(m, LLVMRealOLT, x.high, min, zero, low);
    }
    LLVMValueRef limited = at_most(m, x.high, max);

    limited = uk_math_where(m, LLVMRealOLT, x.high, min, uk_math_number(m, m->avx512 ? far : min), limited);

    if (m->avx512 && !m->is_double)
        return exp_by_sixteenths(m, limited, low);
    const struct uk_math_reduced a = reduce(m, limited);
    LLVMValueRef r = low ? uk_math_add(m, a.r, low) : a.r;
    return scale(m, exp_of_rest(m, r), &a);
}

LLVMValueRef uk_math_exp(const struct uk_math *m, LLVMValueRef x) {
    return uk_math_exp_pair(m, (struct uk_math_pair){x, NULL});
}

/* tanh is 1 from here on. */
static double end_of_tanh(const struct uk_math *m) {
    return m->is_double ? 20 : 10;
}

/* n and r of times * x, where n is at most 40 in magnitude and the error of n ln 2 in one part does not
 * matter. Without fused multiply-adds the product with the whole of ln 2 would be rounded. */
static struct uk_math_reduced reduce_near(const struct uk_math *m, LLVMValueRef x, double times) {
    struct uk_math_reduced a;
    const bool is_whole = m->fused && !m->is_double;

    a.shifted = uk_math_multiply_add(m, x, uk_math_number(m, times * 0x1.71547652b82fep+0), shifter(m));
    a.n = uk_math_subtract(m, a.shifted, shifter(m));
    a.r = uk_math_multiply_add(m, a.n, uk_math_number(m, (is_whole ? -0x1.62e430p-1 : first_part(m)) / times),
                               x);
    a.low = uk_math_number(m, 0);
    if (!is_whole)
        a.r = uk_math_multiply_add(m, a.n, uk_math_number(m, second_part(m) / times), a.r);
    return a;
}

LLVMValueRef uk_math_exp_near(const struct uk_math *m, LLVMValueRef x) {
    if (m->avx512 && !m->is_double)
        return exp_by_sixteenths(m, x, NULL);
    const struct uk_math_reduced a = reduce_near(m, x, 1);

    return uk_math_multiply(m, exp_of_rest(m, a.r), power_of_two(m, uk_math_bits(m, a.shifted)));
}

/* (tanh(x) - x) / x^3, of x^2 */
static LLVMValueRef tanh_series(const struct uk_math *m, LLVMValueRef s) {
    static const double single[] = {-0x1.76af7cfb7a136p-8, 0x1.52580abd1aac8p-6, -0x1.b8448ed72b497p-5,
                                    0x1.11076baf5db12p-3, -0x1.5555343fa535ap-2},
                        twice[] = {-0x1.0e3dad9ed82c7p-16, 0x1.43e1a0013d218p-14,  -0x1.df7a9d3dfc43cp-13,
                                   0x1.336ae89f03a38p-11,  -0x1.7d696ae4ff6b7p-10, 0x1.d6cf3cb233dfdp-9,
                                   -0x1.226e16da7a687p-7,  0x1.664f4781fc25cp-6,   -0x1.ba1ba1b531269p-5,
                                   0x1.111111110b0cap-3,   -0x1.5555555555503p-2};

    return uk_math_polynomial(m, s, &UK_POLYNOMIAL(single, twice));
}

/* tanh(x) of x >= 0 without a division: g / (1 + g) for g = (exp(2x) - 1) / 2 = 2^n (exp(2r) - 1) / 2 + (2^n
 * - 1) / 2, where nothing cancels. */
static LLVMValueRef tanh_by_reciprocal(const struct uk_math *m, LLVMValueRef x) {
    const struct uk_math_reduced a = reduce_near(m, at_most(m, x, end_of_tanh(m)), 2);
    LLVMValueRef power = power_of_two(m, uk_math_bits(m, a.shifted)), square = uk_math_multiply(m, a.r, a.r);
    LLVMValueRef growth = uk_math_multiply_add(m, square, series_of(m, a.r, true), a.r);
    LLVMValueRef g = uk_math_multiply_add(m, power, uk_math_number(m, 0.5), uk_math_number(m, -0.5));

    g = uk_math_multiply_add(m, growth, power, g);
    LLVMValueRef reciprocal = uk_math_reciprocal(m, uk_math_add(m, g, uk_math_number(m, 1)));
    LLVMValueRef q = uk_math_multiply(m, g, reciprocal);
    /* g - q (1 + g), without the error of a rounded 1 + g */
    LLVMValueRef rest = uk_math_multiply_add(m, uk_math_negate(m, q), g, uk_math_subtract(m, g, q));
    return uk_math_multiply_add(m, rest, reciprocal, q);
}

LLVMValueRef uk_math_tanh(const struct uk_math *m, LLVMValueRef x) {
    LLVMValueRef size = uk_math_size(m, x), s = uk_math_multiply(m, x, x), one = uk_math_number(m, 1);

    if (m->avx512 && !m->is_double)
        return uk_math_with_sign(m, tanh_by_reciprocal(m, size), x);
    LLVMValueRef small = uk_math_multiply_add(m, x, uk_math_multiply(m, s, tanh_series(m, s)), x);
    LLVMValueRef limited = at_most(m, size, end_of_tanh(m));
    LLVMValueRef large = uk_math_exp_near(m, uk_math_add(m, limited, limited));

    large = uk_math_divide(m, uk_math_number(m, 2), uk_math_add(m, large, one));
    large = uk_math_subtract(m, one, large);
    small = uk_math_where(m, LLVMRealOLT, size, 0.625, small, large);
    return uk_math_with_sign(m, small, x); /* -0 too */
}

struct uk_math_pair uk_math_growth(const struct uk_math *m, const struct uk_math_reduced *x) {
    LLVMValueRef square = uk_math_multiply(m, x->r, x->r);

    return (struct uk_math_pair){x->r, uk_math_multiply_add(m, square, exp_series(m, x->r), x->low)};
}

LLVMValueRef uk_math_times_exp(const struct uk_math *m, struct uk_math_pair factor, struct uk_math_pair x) {
    const struct uk_math_reduced a = uk_math_reduce(m, x);
    const struct uk_math_pair e = uk_math_growth(m, &a);
    LLVMValueRef low = uk_math_multiply_add(m, factor.high, e.low, factor.low);
    /* 2^n may not be a normal number, 2^(n + raised) is. */
    const int raised = m->is_double ? 512 : 64;

    low = uk_math_multiply_add(m, factor.low, e.high, low);
    low = uk_math_multiply_add(m, factor.high, e.high, low);
    low = uk_math_add(m, factor.high, low);
    if (m->avx512)
        return uk_math_scale(m, low, a.n);
    LLVMValueRef bits =
        LLVMBuildAdd(m->g->b, uk_math_bits(m, a.shifted), uk_math_integer(m, (uint64_t)raised), "");

    low = uk_math_multiply(m, low, power_of_two(m, bits));
    return uk_math_multiply(m, low, uk_math_number(m, ldexp(1, -raised)));
}

/* 2^(-n * times) for n >= -40. Below 2^-100 it is too small to matter, and is replaced by that: another
 * exponent might leave the range of normal numbers. */
static LLVMValueRef inverse_power(const struct uk_math *m, const struct uk_math_reduced *x, int times) {
    LLVMValueRef n = at_least(m, uk_math_multiply(m, x->n, uk_math_number(m, -times)), -100);

    return power_of_two(m, uk_math_bits(m, uk_math_add(m, n, shifter(m))));
}

/* 2^n ((1 - 2^-n) + (exp(r) - 1)): the sum is exact except for the pair's second part. */
LLVMValueRef uk_math_expm1(const struct uk_math *m, LLVMValueRef x) {
    /* Below `min` the result is -1 within less than half a unit in the last place. */
    const double max = m->is_double ? 710 : 89, min = m->is_double ? -40 : -20;
    const struct uk_math_reduced a = reduce(m, at_least(m, at_most(m, x, max), min));
    const struct uk_math_pair e = uk_math_growth(m, &a);
    LLVMValueRef rest = uk_math_subtract(m, uk_math_number(m, 1), inverse_power(m, &a, 1));
    const struct uk_math_pair sum = uk_math_sum(m, rest, e.high);
    LLVMValueRef r = scale(m, uk_math_add(m, sum.high, uk_math_add(m, sum.low, e.low)), &a);

    return uk_math_where(m, LLVMRealOEQ, x, 0, x, r); /* -0 too */
}

/* (exp(a) + sign exp(-a)) / 2 for a >= 0 where nothing cancels: a >= 1 if sign is -1. */
static LLVMValueRef half_of_both(const struct uk_math *m, LLVMValueRef a, double sign) {
    const struct uk_math_reduced x = reduce(m, at_most(m, a, m->is_double ? 712 : 91));
    const struct uk_math_pair e = uk_math_growth(m, &x),
                              one = uk_math_sum(m, uk_math_number(m, 1), e.high); /* exp(r), with e.low */
    LLVMValueRef whole = uk_math_add(m, one.high, e.low);
    LLVMValueRef other =
        uk_math_divide(m, uk_math_multiply(m, uk_math_number(m, sign), inverse_power(m, &x, 2)), whole);
    const struct uk_math_pair sum = uk_math_sum(m, one.high, other);
    LLVMValueRef low = uk_math_add(m, one.low, uk_math_add(m, e.low, sum.low));

    /* Half of it: the whole may be infinite where the half is not. */
    return scale(m, uk_math_multiply(m, uk_math_add(m, sum.high, low), uk_math_number(m, 0.5)), &x);
}

LLVMValueRef uk_math_cosh(const struct uk_math *m, LLVMValueRef x) {
    return half_of_both(m, uk_math_size(m, x), 1);
}

/* (sinh(x) - x) / x^3, of x^2 */
static LLVMValueRef sinh_series(const struct uk_math *m, LLVMValueRef s) {
    static const double single[] = {0x1.7a267ba9d9a8ap-19, 0x1.9ffe11e8bf3bep-13, 0x1.11113624543fap-7,
                                    0x1.5555551831308p-3},
                        twice[] = {0x1.b4cf78b78c435p-41, 0x1.611a3a201b12fp-33, 0x1.ae6467668b09ap-26,
                                   0x1.71de3a45f721ep-19, 0x1.a01a01a0291fbp-13, 0x1.11111111110a1p-7,
                                   0x1.5555555555556p-3};

    return uk_math_polynomial(m, s, &UK_POLYNOMIAL(single, twice));
}

LLVMValueRef uk_math_sinh(const struct uk_math *m, LLVMValueRef x) {
    LLVMValueRef size = uk_math_size(m, x), s = uk_math_multiply(m, x, x);
    LLVMValueRef small = uk_math_multiply_add(m, size, uk_math_multiply(m, s, sinh_series(m, s)), size);

    small = uk_math_where(m, LLVMRealOLT, size, 1, small, half_of_both(m, size, -1));
    return uk_math_with_sign(m, small, x); /* -0 too */
}
