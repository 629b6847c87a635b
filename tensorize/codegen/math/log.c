/* SPDX-License-Identifier: Apache-2.0 */
/*
 * log(x) = n ln 2 + log(1 + f), where x = 2^n (1 + f) and 1 + f is between sqrt(1/2) and sqrt(2). With s = f
 * / (2 + f), log(1 + f) = log((1 + s) / (1 - s)), an odd function of s.
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

LLVMValueRef uk_math_log(const struct uk_math *m, LLVMValueRef x) {
    const struct parts p = split_number(m, x);
    LLVMValueRef s = uk_math_divide(m, p.f, uk_math_add(m, uk_math_number(m, 2), p.f));
    LLVMValueRef z = uk_math_multiply(m, s, s);
    LLVMValueRef half = uk_math_multiply(m, uk_math_multiply(m, uk_math_number(m, 0.5), p.f), p.f);
    LLVMValueRef r = uk_math_add(m, half, uk_math_multiply(m, z, log_series(m, z)));

    /* 2s + s r = f - (f^2/2 - s (f^2/2 + r)): f is exact, and all other terms are small compared with it. */
    r = uk_math_multiply_add(m, s, r, uk_math_multiply(m, p.n, ln2_low(m)));
    r = uk_math_subtract(m, p.f, uk_math_subtract(m, half, r));
    r = uk_math_multiply_add(m, p.n, ln2_high(m), r);
    r = uk_math_where(m, LLVMRealOEQ, x, INFINITY, x, r);
    r = uk_math_where(m, LLVMRealOGT, x, 0, r, uk_math_number(m, NAN));
    return uk_math_where(m, LLVMRealOEQ, x, 0, uk_math_number(m, -INFINITY), r);
}

/* (log((1 + s) / (1 - s)) / 2s - 1 - s^2/3) / s^4, of s^2 */
static LLVMValueRef pair_series(const struct uk_math *m, LLVMValueRef z) {
    static const double single[] = {0x1.df9d800345077p-4, 0x1.2452969d0c550p-3, 0x1.9999ffb9c1e80p-3},
                        twice[] = {0x1.0e3f0bbd8257cp-4, 0x1.0f80570f50366p-4, 0x1.3b1ee6da0ad13p-4,
                                   0x1.745cea039bde2p-4, 0x1.c71c722cfb296p-4, 0x1.24924924582f3p-3,
                                   0x1.9999999999b2cp-3};

    return uk_math_polynomial(m, z, &UK_POLYNOMIAL(single, twice));
}

/* f / (2 + f) */
static struct uk_math_pair quotient(const struct uk_math *m, LLVMValueRef f) {
    const struct uk_math_pair divisor = uk_math_sum(m, uk_math_number(m, 2), f);
    LLVMValueRef s = uk_math_divide(m, f, divisor.high);
    const struct uk_math_pair back = uk_math_product(m, s, divisor.high);
    LLVMValueRef rest = uk_math_subtract(m, uk_math_subtract(m, f, back.high), back.low);

    rest = uk_math_subtract(m, rest, uk_math_multiply(m, s, divisor.low));
    return (struct uk_math_pair){s, uk_math_divide(m, rest, divisor.high)};
}

/* The product of two pairs without that of their second parts. */
static struct uk_math_pair multiply(const struct uk_math *m, struct uk_math_pair a, struct uk_math_pair b) {
    struct uk_math_pair p = uk_math_product(m, a.high, b.high);

    p.low = uk_math_multiply_add(m, a.high, b.low, p.low);
    p.low = uk_math_multiply_add(m, a.low, b.high, p.low);
    return p;
}

struct uk_math_pair uk_math_log_pair(const struct uk_math *m, LLVMValueRef x) {
    const struct parts p = split_number(m, x);
    const struct uk_math_pair s = quotient(m, p.f), z = multiply(m, s, s);
    const double third = m->is_double ? 1.0 / 3 : (double)(float)(1.0 / 3),
                 rest = m->is_double ? 0x1.5555555555555p-56 : 1.0 / 3 - third;
    LLVMValueRef two = uk_math_number(m, 2);
    /* log(1 + f) = 2 (s + s v) with v = z (1/3 + z p(z)) below 0.01, so v's second part may be less exact. */
    struct uk_math_pair v =
        uk_math_sum(m, uk_math_number(m, third), uk_math_multiply(m, z.high, pair_series(m, z.high)));

    v.low = uk_math_add(m, v.low, uk_math_number(m, rest));
    v = multiply(m, s, multiply(m, z, v));
    const struct uk_math_pair first = uk_math_sum(m, uk_math_multiply(m, p.n, ln2_high(m)),
                                                  uk_math_multiply(m, two, s.high)),
                              both = uk_math_sum(m, first.high, uk_math_multiply(m, two, v.high));
    LLVMValueRef low = uk_math_multiply_add(m, two, uk_math_add(m, s.low, v.low), both.low);

    low = uk_math_add(m, low, uk_math_multiply_add(m, p.n, ln2_low(m), first.low));
    return uk_math_sum(m, both.high, low);
}
