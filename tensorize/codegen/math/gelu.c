/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gelu, gelu_tanh and swish: x F(x), where F grows from 0 to 1 like a distribution function. They have all
 * digits where F is small, and where it is subnormal but the product is not: the exponential's factor 2^n
 * comes last, and its argument is a pair.
 *
 * gelu(x) = max(x, 0) - w p(w) exp(-x^2 / 2) with w = |x| / (1 + |x| / 4), a pair, and a polynomial p.
 *
 * The others are x / (1 + exp(-z)) with z of x's sign (times that of swish's second argument): for z < 0 x
 * exp(z) / (1 + exp(z)).
 */
#include "numbers.h"

/* ---- gelu ---- */

/* a / d, d = 1 + a / 4, of a >= 0, by an estimate of 1 / d. */
static struct uk_math_pair compressed_by_reciprocal(const struct uk_math *m, LLVMValueRef a) {
    LLVMValueRef one = uk_math_number(m, 1), quarter = uk_math_number(m, 0.25);
    LLVMValueRef d = uk_math_multiply_add(m, a, quarter, one);
    LLVMValueRef low = uk_math_multiply_add(m, a, quarter, uk_math_subtract(m, one, d)),
                 reciprocal = uk_math_reciprocal(m, d), w = uk_math_multiply(m, a, reciprocal);
    LLVMValueRef rest = uk_math_multiply_add(m, uk_math_negate(m, w), d, a);

    w = uk_math_multiply_add(m, rest, reciprocal, w);
    rest = uk_math_multiply_add(m, uk_math_negate(m, w), d, a);
    rest = uk_math_multiply_add(m, uk_math_negate(m, w), low, rest);
    return (struct uk_math_pair){w, uk_math_multiply(m, rest, reciprocal)};
}

/* a / (1 + a / 4) of a >= 0. */
static struct uk_math_pair compressed(const struct uk_math *m, LLVMValueRef a) {
    LLVMValueRef one = uk_math_number(m, 1);

    if (m->avx512 && !m->is_double)
        return compressed_by_reciprocal(m, a);
    const struct uk_math_pair divisor = uk_math_one_and(m, uk_math_multiply(m, a, uk_math_number(m, 0.25)));
    LLVMValueRef w = uk_math_divide(m, a, divisor.high);
    const struct uk_math_pair back = uk_math_product(m, w, divisor.high);

    LLVMValueRef rest = uk_math_subtract(m, uk_math_subtract(m, a, back.high), back.low);

    rest = uk_math_subtract(m, rest, uk_math_multiply(m, w, divisor.low));
    /* 1 - w / 4 is the reciprocal of the divisor. */
    return (struct uk_math_pair){
        w, uk_math_multiply(m, rest, uk_math_multiply_add(m, w, uk_math_number(m, -0.25), one))};
}

/* (1 + a / 4) exp(a^2 / 2) times the normal distribution function of -a, of w. */
static struct uk_math_pair tail_factor(const struct uk_math *m, struct uk_math_pair w) {
    static const double single[] = {-0x1.9be96c0000000p-27, -0x1.ddfcc00000000p-24, 0x1.6365b80000000p-23,
                                    0x1.ae20780000000p-19,  -0x1.c961040000000p-17, -0x1.ee62720000000p-15,
                                    0x1.eec7300000000p-11,  -0x1.7dfefa0000000p-8,  0x1.8c6dbc0000000p-6},
                        twice[] = {-0x1.7e5842f11b38ap-56, -0x1.5173569018b00p-53, 0x1.fa780f92f1672p-53,
                                   0x1.4ce52b284bfd5p-48,  0x1.c9ebce7314e33p-48,  -0x1.6d312ade61777p-44,
                                   -0x1.4cb1827dd225dp-42, 0x1.237c379c38322p-40,  0x1.1232d6090149cp-37,
                                   -0x1.51f734a7fda1ep-37, -0x1.8d4ac7494c33dp-33, 0x1.80b8c29c57bb2p-35,
                                   0x1.26d096c7cd62dp-28,  -0x1.001ebdc8ceee4p-31, -0x1.e4a42550aa975p-24,
                                   0x1.17a4ae73bc4c9p-23,  0x1.ab825fc089e38p-19,  -0x1.c81719d5ac410p-17,
                                   -0x1.ee2761047d19ap-15, 0x1.eec4cc3e4d763p-11,  -0x1.7dff2bff683a3p-8,
                                   0x1.8c6dbf2cfc2b1p-6};
    const double middle = 2, first = m->is_double ? 0x1.82b4bb8c94dcep-3 : 0x1.82b4bc0000000p-3,
                 first_low = m->is_double ? -0x1.990ea270aca77p-58 : -0x1.cdac8c8cc8751p-29,
                 second = m->is_double ? -0x1.373e3a893c28ap-4 : -0x1.373e3a0000000p-4,
                 second_low = m->is_double ? -0x1.698434f6d9ebbp-60 : -0x1.b5c4c6f5a3d61p-29;
    LLVMValueRef y = uk_math_subtract(m, w.high, uk_math_number(m, middle));
    LLVMValueRef rest = uk_math_multiply(m, y, uk_math_polynomial(m, y, &UK_POLYNOMIAL(single, twice)));
    const struct uk_math_pair slope = uk_math_sum(m, uk_math_number(m, second), rest),
                              step = uk_math_product(m, y, slope.high);
    /* The step is at most twice as large: in f32 the rounded second part is exact enough. */
    LLVMValueRef start = uk_math_number(m, first);
    struct uk_math_pair p =
        m->is_double ? uk_math_sum_any(m, start, step.high) : uk_math_sum(m, start, step.high);

    p.low = uk_math_add(m, p.low, uk_math_add(m, step.low, uk_math_number(m, first_low)));
    p.low = uk_math_multiply_add(m, y, uk_math_add(m, slope.low, uk_math_number(m, second_low)), p.low);
    p.low = uk_math_multiply_add(m, w.low, slope.high, p.low);
    return p;
}

LLVMValueRef uk_math_gelu(const struct uk_math *m, LLVMValueRef x) {
    const double end = m->is_double ? 39 : 14.5; /* 0 from here on */
    LLVMValueRef size = uk_math_size(m, x), half = uk_math_number(m, -0.5);
    LLVMValueRef a = uk_math_where(m, LLVMRealOGT, size, end, uk_math_number(m, end), size);
    const struct uk_math_pair w = compressed(m, a), factor = uk_math_multiply_pairs(m, w, tail_factor(m, w));
    LLVMValueRef tail = uk_math_times_exp(m, factor, uk_math_product(m, a, uk_math_multiply(m, a, half)));
    /* -infinity becomes NaN, as it does in the definition. */
    LLVMValueRef whole = uk_math_where(m, LLVMRealOLT, x, 0, uk_math_multiply(m, x, uk_math_number(m, 0)), x);
    return uk_math_subtract(m, whole, tail);
}

/* ---- gelu_tanh and swish ---- */

/* x / (1 + exp(-z)) */
static LLVMValueRef logistic(const struct uk_math *m, LLVMValueRef x, struct uk_math_pair z) {
    const double end =
        m->is_double ? 1416 : 174; /* -exp(-z) is below the range of any product from here on */
    LLVMValueRef zero = uk_math_number(m, 0), one = uk_math_number(m, 1), size = uk_math_size(m, z.high);
    LLVMValueRef low = uk_math_where(m, LLVMRealOLT, z.high, 0, z.low, uk_math_negate(m, z.low));
    const struct uk_math_reduced e = uk_math_reduce(
        m, (struct uk_math_pair){
               uk_math_negate(m, uk_math_where(m, LLVMRealOGT, size, end, uk_math_number(m, end), size)),
               uk_math_where(m, LLVMRealOGT, size, end, zero, low)});
    const struct uk_math_pair growth = uk_math_growth(m, &e),
                              grown = uk_math_sum(m, one, uk_math_add(m, growth.high, growth.low));
    LLVMValueRef power[2];

    uk_math_powers(m, &e, power);
    LLVMValueRef exponential = uk_math_multiply(m, uk_math_multiply(m, grown.high, power[0]), power[1]);
    const struct uk_math_pair divisor = uk_math_sum(m, one, exponential);
    /* The second factor now: the product with `grown` might be infinite. */
    LLVMValueRef scaled = uk_math_multiply(m, x, power[1]);
    struct uk_math_pair above = uk_math_product(m, scaled, grown.high);

    above.low = uk_math_multiply_add(m, scaled, grown.low, above.low);
    above.high = uk_math_where(m, LLVMRealOLT, z.high, 0, above.high, x);
    above.low = uk_math_where(m, LLVMRealOLT, z.high, 0, above.low, zero);
    LLVMValueRef q = uk_math_divide(m, above.high, divisor.high);
    const struct uk_math_pair back = uk_math_product(m, q, divisor.high);
    LLVMValueRef rest = uk_math_subtract(m, uk_math_subtract(m, above.high, back.high), back.low);

    rest = uk_math_add(m, rest, uk_math_subtract(m, above.low, uk_math_multiply(m, q, divisor.low)));
    /* The reciprocal of the divisor, which is in [1, 2], within a tenth. */
    LLVMValueRef reciprocal =
        uk_math_multiply_add(m, divisor.high, uk_math_number(m, -0.5), uk_math_number(m, 1.457));
    LLVMValueRef exact = uk_math_with_sign(m, uk_math_multiply_add(m, rest, reciprocal, q), x); /* -0 too */
    /* q times the divisor may be infinite for the largest x. */
    q = uk_math_where(m, LLVMRealOLT, uk_math_size(m, x), m->is_double ? 0x1p1022 : 0x1p126, exact, q);
    /* -infinity becomes NaN, as it does in the definition. */
    LLVMValueRef far = uk_math_where(m, LLVMRealOLT, z.high, -end, uk_math_multiply(m, x, zero),
                                     uk_math_multiply(m, q, power[0]));
    return uk_math_where(m, LLVMRealOLT, z.high, 0, far, q);
}

/* 2 sqrt(2 / pi) (x + 0.044715 x^3) */
LLVMValueRef uk_math_gelu_tanh(const struct uk_math *m, LLVMValueRef x) {
    const struct uk_math_pair
        linear = {uk_math_number(m, m->is_double ? 0x1.9884533d43651p+0 : 0x1.9884540000000p+0),
                  uk_math_number(m, m->is_double ? -0x1.cbc0d30ebfd15p-54 : -0x1.857935ee5e06ap-25)},
        cubic = {uk_math_number(m, m->is_double ? 0x1.2444f2a4d8b4bp-4 : 0x1.2444f20000000p-4),
                 uk_math_number(m, m->is_double ? -0x1.6c843a29d1c70p-61 : 0x1.49b1695e937bcp-29)};
    const struct uk_math_pair cube = uk_math_multiply_pairs(m, cubic, uk_math_product(m, x, x));
    struct uk_math_pair v = uk_math_sum_any(m, linear.high, cube.high);

    v.low = uk_math_add(m, v.low, uk_math_add(m, linear.low, cube.low));
    return logistic(m, x, uk_math_multiply_pairs(m, v, (struct uk_math_pair){x, uk_math_number(m, 0)}));
}

LLVMValueRef uk_math_swish(const struct uk_math *m, LLVMValueRef x, LLVMValueRef factor) {
    return logistic(m, x, uk_math_product(m, x, factor));
}
