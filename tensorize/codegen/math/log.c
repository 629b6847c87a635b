/* SPDX-License-Identifier: Apache-2.0 */
/*
 * log(x) = n ln 2 + log(1 + f), where x = 2^n (1 + f) and 1 + f is between sqrt(1/2) and sqrt(2). With s = f
 * / (2 + f), log(1 + f) = log((1 + s) / (1 - s)), an odd function of s.
 *
 * log1p and the inverse hyperbolic functions are logarithms of pairs: what rounding the argument would lose
 * matters where the logarithm is close to 0.
 */
#include <math.h>
#include "numbers.h"

struct parts {
    LLVMValueRef f, n;
};

/* Splits a positive finite number; subnormal ones are made normal first. For other numbers the result is
 * arbitrary. */
static struct parts split_number(const struct uk_math *m, LLVMValueRef x) {
    LLVMBuilderRef b = m->g->b;
    const uint64_t root = m->is_double ? UINT64_C(0x3fe6a09e667f3bcd) : 0x3f3504f3; /* sqrt(1/2) */
    const uint64_t unit = m->is_double ? UINT64_C(1023) << 52 : 127u << 23;         /* 1 */
    /* From this number on all numbers are integers. */
    const uint64_t whole = m->is_double ? UINT64_C(1075) << 52 : 150u << 23;
    const double first_integer = m->is_double ? 0x1p52 : 0x1p23, bias = m->is_double ? 1023 : 127,
                 more = m->is_double ? 54 : 24, tiny = m->is_double ? 0x1p-1022 : 0x1p-126;
    LLVMValueRef scaled = uk_math_multiply(m, x, uk_math_number(m, ldexp(1, (int)more)));
    LLVMValueRef offset =
        uk_math_where(m, LLVMRealOLT, x, tiny, uk_math_number(m, first_integer + bias + more),
                      uk_math_number(m, first_integer + bias));
    LLVMValueRef bits = uk_math_bits(m, uk_math_where(m, LLVMRealOLT, x, tiny, scaled, x));

    /* Makes exponents change at sqrt(1/2) instead of at 1. */
    bits = LLVMBuildAdd(b, bits, uk_math_integer(m, unit - root), "");
    LLVMValueRef exponent = LLVMBuildLShr(b, bits, uk_math_integer(m, m->is_double ? 52 : 23), "");
    LLVMValueRef n = uk_math_from_bits(m, LLVMBuildOr(b, exponent, uk_math_integer(m, whole), ""));
    LLVMValueRef mask = uk_math_integer(m, m->is_double ? (UINT64_C(1) << 52) - 1 : (1u << 23) - 1);

    bits = LLVMBuildAdd(b, LLVMBuildAnd(b, bits, mask, ""), uk_math_integer(m, root), "");
    return (struct parts){uk_math_subtract(m, uk_math_from_bits(m, bits), uk_math_number(m, 1)),
                          uk_math_subtract(m, n, offset)};
}

/* n ln 2 in two parts: the first part of ln 2 has few enough bits that its product with n is exact. */
static LLVMValueRef ln2_high(const struct uk_math *m) {
    return uk_math_number(m, m->is_double ? 0x1.62e42fee00000p-1 : 0x1.62e400p-1);
}

static LLVMValueRef ln2_low(const struct uk_math *m) {
    return uk_math_number(m, m->is_double ? 0x1.a39ef35793c76p-33 : 0x1.7f7d1cp-20);
}

/* (log((1 + s) / (1 - s)) - 2s) / s^3, of s^2 */
static LLVMValueRef log_series(const struct uk_math *m, LLVMValueRef z) {
    static const double single[] = {0x1.31e34c765f824p-2, 0x1.995eb7a8a72f7p-2, 0x1.55557a25fe3eep-1},
                        twice[] = {0x1.2f05fd79ebfaap-3, 0x1.39a1accb56044p-3, 0x1.74663f63c7ab7p-3,
                                   0x1.c71c52075504ap-3, 0x1.24924941f32fap-2, 0x1.999999997fd9dp-2,
                                   0x1.5555555555592p-1};

    return uk_math_polynomial(m, z, &UK_POLYNOMIAL(single, twice));
}

/* log(x * 2^more). x.low and `more` may be NULL: 0. */
static LLVMValueRef log_of(const struct uk_math *m, struct uk_math_pair x, LLVMValueRef more) {
    const struct parts p = split_number(m, x.high);
    LLVMValueRef n = more ? uk_math_add(m, p.n, more) : p.n;
    LLVMValueRef s = uk_math_ratio(m, p.f, uk_math_add(m, uk_math_number(m, 2), p.f));
    LLVMValueRef z = uk_math_multiply(m, s, s);
    LLVMValueRef half = uk_math_multiply(m, uk_math_multiply(m, uk_math_number(m, 0.5), p.f), p.f);
    LLVMValueRef r = uk_math_add(m, half, uk_math_multiply(m, z, log_series(m, z)));

    /* 2s + s r = f - (f^2/2 - s (f^2/2 + r)): f is exact, and all other terms are small compared with it. */
    r = uk_math_multiply_add(m, s, r, uk_math_multiply(m, n, ln2_low(m)));
    if (x.low) { /* log(high + low) = log(high) + log(1 + c) */
        LLVMValueRef c = uk_math_divide(m, x.low, x.high);

        c = uk_math_multiply_add(m, uk_math_multiply(m, c, uk_math_number(m, -0.5)), c, c);
        r = uk_math_add(m, r, c);
    }
    r = uk_math_subtract(m, p.f, uk_math_subtract(m, half, r));
    r = uk_math_multiply_add(m, n, ln2_high(m), r);
    r = uk_math_where(m, LLVMRealOEQ, x.high, INFINITY, x.high, r);
    r = uk_math_where(m, LLVMRealOGT, x.high, 0, r, uk_math_number(m, NAN));
    return uk_math_where(m, LLVMRealOEQ, x.high, 0, uk_math_number(m, -INFINITY), r);
}

LLVMValueRef uk_math_log(const struct uk_math *m, LLVMValueRef x) {
    return log_of(m, (struct uk_math_pair){x, NULL}, NULL);
}

/* a + b for a, b >= 0 in any order, or a >= -1 and b = 1. */
static struct uk_math_pair sum_of_two(const struct uk_math *m, LLVMValueRef a, LLVMValueRef b) {
    LLVMValueRef is_first = LLVMBuildFCmp(m->g->b, LLVMRealOGT, a, b, "");

    return uk_math_sum(m, LLVMBuildSelect(m->g->b, is_first, a, b, ""),
                       LLVMBuildSelect(m->g->b, is_first, b, a, ""));
}

LLVMValueRef uk_math_log1p(const struct uk_math *m, LLVMValueRef x) {
    LLVMValueRef r = log_of(m, sum_of_two(m, x, uk_math_number(m, 1)), NULL);

    return uk_math_where(m, LLVMRealOEQ, x, 0, x, r); /* -0 too */
}

/* Beyond this number sqrt(x^2 + 1) and sqrt(x^2 - 1) are x. */
static double end_of_roots(const struct uk_math *m) {
    return m->is_double ? 0x1p60 : 0x1p30;
}

/* log(x + root) for x <= end_of_roots(), else log(2 x). */
static LLVMValueRef log_of_both(const struct uk_math *m, LLVMValueRef x, struct uk_math_pair both) {
    LLVMBuilderRef b = m->g->b;
    LLVMValueRef zero = uk_math_number(m, 0), one = uk_math_number(m, 1);
    LLVMValueRef more = uk_math_where(m, LLVMRealOGT, x, end_of_roots(m), one, zero);
    LLVMValueRef large = LLVMBuildFCmp(b, LLVMRealOGT, x, uk_math_number(m, end_of_roots(m)), "");

    both.high = LLVMBuildSelect(b, large, x, both.high, "");
    both.low = LLVMBuildSelect(b, large, zero, both.low, "");
    return log_of(m, both, more);
}

static LLVMValueRef at_most(const struct uk_math *m, LLVMValueRef x, double max) {
    return uk_math_where(m, LLVMRealOGT, x, max, uk_math_number(m, max), x);
}

/* log(x + sqrt(x^2 + 1)); x - x^3 / 6 where it is close to 0. */
LLVMValueRef uk_math_asinh(const struct uk_math *m, LLVMValueRef x) {
    LLVMValueRef size = uk_math_size(m, x), a = at_most(m, size, end_of_roots(m));
    const struct uk_math_pair square = uk_math_product(m, a, a);
    struct uk_math_pair s = sum_of_two(m, square.high, uk_math_number(m, 1));

    s.low = uk_math_add(m, s.low, square.low);
    s = uk_math_root(m, s);
    struct uk_math_pair both = uk_math_sum(m, s.high, a);

    both.low = uk_math_add(m, both.low, s.low);
    LLVMValueRef r = log_of_both(m, size, both);
    LLVMValueRef cube =
        uk_math_multiply(m, a, uk_math_multiply(m, a, uk_math_multiply(m, a, uk_math_number(m, -1.0 / 6))));

    r = uk_math_where(m, LLVMRealOLT, size, m->is_double ? 0x1p-13 : 0x1p-6, uk_math_add(m, size, cube), r);
    return uk_math_with_sign(m, r, x); /* -0 too */
}

/* log(x + sqrt((x - 1) (x + 1))) */
LLVMValueRef uk_math_acosh(const struct uk_math *m, LLVMValueRef x) {
    LLVMValueRef a = at_most(m, x, end_of_roots(m));
    const struct uk_math_pair below = uk_math_sum(m, a, uk_math_number(m, -1)),
                              above = uk_math_sum(m, a, uk_math_number(m, 1));
    const struct uk_math_pair root = uk_math_root(m, uk_math_multiply_pairs(m, below, above));
    struct uk_math_pair both = uk_math_sum(m, a, root.high);

    both.low = uk_math_add(m, both.low, root.low);
    return uk_math_where(m, LLVMRealOGE, x, 1, log_of_both(m, x, both), uk_math_number(m, NAN));
}

/* log((1 + x) / (1 - x)) / 2; the series itself where it is close to 0. */
LLVMValueRef uk_math_atanh(const struct uk_math *m, LLVMValueRef x) {
    LLVMValueRef size = uk_math_size(m, x), z = uk_math_multiply(m, x, x), one = uk_math_number(m, 1),
                 half = uk_math_number(m, 0.5);
    const struct uk_math_pair ratio =
        uk_math_quotient(m, uk_math_sum(m, one, size), uk_math_sum(m, one, uk_math_negate(m, size)));
    LLVMValueRef large = uk_math_multiply(m, log_of(m, ratio, NULL), half);
    LLVMValueRef small = uk_math_multiply(m, uk_math_multiply(m, size, half), z);

    small = uk_math_multiply_add(m, small, log_series(m, z), size);
    small = uk_math_where(m, LLVMRealOLT, size, 0.17, small, large);
    return uk_math_with_sign(m, small, x); /* -0 too */
}

/* (log((1 + s) / (1 - s)) / 2s - 1 - s^2/3) / s^4, of s^2 */
static LLVMValueRef pair_series(const struct uk_math *m, LLVMValueRef z) {
    static const double single[] = {0x1.df9d800345077p-4, 0x1.2452969d0c550p-3, 0x1.9999ffb9c1e80p-3},
                        twice[] = {0x1.0e3f0bbd8257cp-4, 0x1.0f80570f50366p-4, 0x1.3b1ee6da0ad13p-4,
                                   0x1.745cea039bde2p-4, 0x1.c71c722cfb296p-4, 0x1.24924924582f3p-3,
                                   0x1.9999999999b2cp-3};

    return uk_math_polynomial(m, z, &UK_POLYNOMIAL(single, twice));
}

struct uk_math_pair uk_math_log_pair(const struct uk_math *m, LLVMValueRef x) {
    const struct parts p = split_number(m, x);
    const struct uk_math_pair s = uk_math_quotient(m, (struct uk_math_pair){p.f, NULL},
                                                   uk_math_sum(m, uk_math_number(m, 2), p.f)),
                              z = uk_math_multiply_pairs(m, s, s);
    const double third = m->is_double ? 1.0 / 3 : (double)(float)(1.0 / 3),
                 rest = m->is_double ? 0x1.5555555555555p-56 : 1.0 / 3 - third;
    LLVMValueRef two = uk_math_number(m, 2);
    /* log(1 + f) = 2 (s + s v) with v = z (1/3 + z p(z)) below 0.01, so v's second part may be less exact. */
    struct uk_math_pair v =
        uk_math_sum(m, uk_math_number(m, third), uk_math_multiply(m, z.high, pair_series(m, z.high)));

    v.low = uk_math_add(m, v.low, uk_math_number(m, rest));
    v = uk_math_multiply_pairs(m, s, uk_math_multiply_pairs(m, z, v));
    const struct uk_math_pair first = uk_math_sum(m, uk_math_multiply(m, p.n, ln2_high(m)),
                                                  uk_math_multiply(m, two, s.high)),
                              both = uk_math_sum(m, first.high, uk_math_multiply(m, two, v.high));
    LLVMValueRef low = uk_math_multiply_add(m, two, uk_math_add(m, s.low, v.low), both.low);

    low = uk_math_add(m, low, uk_math_multiply_add(m, p.n, ln2_low(m), first.low));
    return uk_math_sum(m, both.high, low);
}
