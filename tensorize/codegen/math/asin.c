/* SPDX-License-Identifier: Apache-2.0 */
/*
 * asin(x) = x + x^3 p(x^2) for |x| <= 1/2. For larger |x| it is pi / 2 - 2 asin(s) with s^2 = (1 - |x|) / 2,
 * s a pair; acos is pi / 2 - asin(x), and where this would cancel 2 asin(s).
 *
 * atan(x) = b + atan(t) with |t| <= tan(pi / 8): b = 0 and t = x; b = pi / 4 and t = (x - 1) / (x + 1); or b
 * = pi / 2 and t = -1 / x. t and b are pairs.
 */
#include "numbers.h"

/* (asin(x) - x) / x^3, of x^2 up to 1/4 */
static LLVMValueRef asin_series(const struct uk_math *m, LLVMValueRef z) {
    static const double single[] = {0x1.59da993bbafe1p-5, 0x1.8ba29434b311ap-6, 0x1.748c5daed534ep-5,
                                    0x1.33014eb2e97d4p-4, 0x1.5555ca72fbcf1p-3},
                        twice[] = {0x1.05ce705e7a570p-5, -0x1.0af52c2fb03e6p-6, 0x1.40b229a476bb3p-6,
                                   0x1.aab3247a2295fp-8, 0x1.8ee4ba8da38fap-7,  0x1.c6f879df855bap-7,
                                   0x1.1c6c27fdb5b6ap-6, 0x1.6e89ef7488d63p-6,  0x1.f1c72c6d97247p-6,
                                   0x1.6db6db41d2b7bp-5, 0x1.333333336f8aep-4,  0x1.5555555555387p-3};

    return uk_math_polynomial(m, z, &UK_POLYNOMIAL(single, twice));
}

/* asin(|x|) if |x| <= 1/2, else asin(sqrt((1 - |x|) / 2)), which is NaN if |x| > 1. */
struct small_angle {
    LLVMValueRef is_large; /* |x| > 1/2 */
    struct uk_math_pair a;
};

static struct small_angle small_angle(const struct uk_math *m, LLVMValueRef size) {
    LLVMBuilderRef b = m->g->b;
    LLVMValueRef is_large = LLVMBuildFCmp(b, LLVMRealOGT, size, uk_math_number(m, 0.5), "");
    LLVMValueRef rest =
        uk_math_subtract(m, uk_math_number(m, 0.5), uk_math_multiply(m, size, uk_math_number(m, 0.5)));
    const struct uk_math_pair root = uk_math_root(m, (struct uk_math_pair){rest, NULL});
    LLVMValueRef z = LLVMBuildSelect(b, is_large, rest, uk_math_multiply(m, size, size), "");
    LLVMValueRef high = LLVMBuildSelect(b, is_large, root.high, size, ""),
                 low = LLVMBuildSelect(b, is_large, root.low, uk_math_number(m, 0), "");

    low = uk_math_multiply_add(m, uk_math_multiply(m, high, z), asin_series(m, z), low);
    return (struct small_angle){is_large, {high, low}};
}

/* times * (pi / 2) + factor * a, whose magnitude is the smaller one. */
static LLVMValueRef from_half_pi(const struct uk_math *m, double times, double factor,
                                 struct uk_math_pair a) {
    const struct uk_math_pair turn = uk_math_half_pi(m);
    LLVMValueRef n = uk_math_number(m, times), f = uk_math_number(m, factor);
    const struct uk_math_pair sum =
        uk_math_sum(m, uk_math_multiply(m, turn.high, n), uk_math_multiply(m, a.high, f));
    LLVMValueRef low = uk_math_multiply_add(m, a.low, f, uk_math_multiply(m, turn.low, n));

    return uk_math_add(m, sum.high, uk_math_add(m, sum.low, low));
}

LLVMValueRef uk_math_asin(const struct uk_math *m, LLVMValueRef x) {
    const struct small_angle s = small_angle(m, uk_math_size(m, x));
    LLVMValueRef r = LLVMBuildSelect(m->g->b, s.is_large, from_half_pi(m, 1, -2, s.a),
                                     uk_math_add(m, s.a.high, s.a.low), "");

    return uk_math_with_sign(m, r, x); /* -0 too */
}

LLVMValueRef uk_math_acos(const struct uk_math *m, LLVMValueRef x) {
    const struct small_angle s = small_angle(m, uk_math_size(m, x));
    const struct uk_math_pair a = {uk_math_with_sign(m, s.a.high, x), uk_math_with_sign(m, s.a.low, x)};
    LLVMValueRef right = uk_math_multiply(m, uk_math_add(m, s.a.high, s.a.low), uk_math_number(m, 2));
    LLVMValueRef large = uk_math_where(m, LLVMRealOLT, x, 0, from_half_pi(m, 2, -2, s.a), right);

    return LLVMBuildSelect(m->g->b, s.is_large, large, from_half_pi(m, 1, -1, a), "");
}

/* (atan(t) - t) / t^3, of t^2 up to tan(pi / 8)^2 */
static LLVMValueRef atan_series(const struct uk_math *m, LLVMValueRef z) {
    static const double single[] = {-0x1.f253dd17aa8bdp-5, 0x1.b201bfc4b6320p-4, -0x1.23b6b3cae67fbp-3,
                                    0x1.9991ad105e835p-3, -0x1.5555495c70498p-2},
                        twice[] = {-0x1.2599ed3a8601bp-6, 0x1.37ebc370c98e9p-5,  -0x1.9cdb95f8e51d7p-5,
                                   0x1.df11488a81acap-5,  -0x1.10ebdb94d7967p-4, 0x1.3b111c38e6fbdp-4,
                                   -0x1.745cf908cb148p-4, 0x1.c71c70e78f300p-4,  -0x1.24924922b0f44p-3,
                                   0x1.99999999958e5p-3,  -0x1.555555555553dp-2};

    return uk_math_polynomial(m, z, &UK_POLYNOMIAL(single, twice));
}

LLVMValueRef uk_math_atan(const struct uk_math *m, LLVMValueRef x) {
    /* From `end` on the result is pi / 2. */
    const double first = 0.41421356237309503, second = 2.4142135623730949, end = 0x1p60;
    LLVMBuilderRef b = m->g->b;
    LLVMValueRef one = uk_math_number(m, 1), zero = uk_math_number(m, 0), size = uk_math_size(m, x);

    size = uk_math_where(m, LLVMRealOGT, size, end, uk_math_number(m, end), size);
    LLVMValueRef is_second = LLVMBuildFCmp(b, LLVMRealOGT, size, uk_math_number(m, first), ""),
                 is_third = LLVMBuildFCmp(b, LLVMRealOGT, size, uk_math_number(m, second), "");
    LLVMValueRef above = LLVMBuildFCmp(b, LLVMRealOGT, size, one, "");
    LLVMValueRef larger = LLVMBuildSelect(b, above, size, one, ""),
                 smaller = LLVMBuildSelect(b, above, one, size, "");
    struct uk_math_pair apart = uk_math_sum(m, larger, uk_math_negate(m, smaller));
    const struct uk_math_pair inverse = {uk_math_negate(m, apart.high), uk_math_negate(m, apart.low)},
                              none = {zero, zero};

    apart = uk_math_select_pair(m, above, apart, inverse);
    apart = uk_math_select_pair(m, is_second, apart, (struct uk_math_pair){size, zero});
    apart = uk_math_select_pair(m, is_third, (struct uk_math_pair){uk_math_number(m, -1), zero}, apart);
    struct uk_math_pair by =
        uk_math_select_pair(m, is_second, uk_math_sum(m, larger, smaller), (struct uk_math_pair){one, zero});

    by = uk_math_select_pair(m, is_third, (struct uk_math_pair){size, zero}, by);
    const struct uk_math_pair t = uk_math_quotient(m, apart, by), turn = uk_math_half_pi(m);
    LLVMValueRef z = uk_math_multiply(m, t.high, t.high), half = uk_math_number(m, 0.5);
    const struct uk_math_pair half_turn = {uk_math_multiply(m, turn.high, half),
                                           uk_math_multiply(m, turn.low, half)};
    const struct uk_math_pair base =
        uk_math_select_pair(m, is_third, turn, uk_math_select_pair(m, is_second, half_turn, none));
    const struct uk_math_pair sum = uk_math_sum(m, base.high, t.high);
    LLVMValueRef low = uk_math_multiply_add(m, uk_math_multiply(m, t.high, z), atan_series(m, z), t.low);

    low = uk_math_add(m, uk_math_add(m, low, base.low), sum.low);
    return uk_math_with_sign(m, uk_math_add(m, sum.high, low), x); /* -0 too */
}
