/* SPDX-License-Identifier: Apache-2.0 */
/*
 * erf(x) = x + x p(x^2) for |x| < 1. For larger |x| it is 1 - erfc(|x|), with erfc(a) = exp(q(a - 1)) and a
 * polynomial q: erfc is small there, and so is the effect of q's and exp's errors. From `end` on erf is 1.
 *
 * The function erfc has all digits where it is small: erfc(a) = t p(t) exp(-a^2), t = 1 / (1 + a / 2), with
 * a^2, t and p(t) as pairs.
 */
#include "numbers.h"

/* erf(x) / x - 1, of x^2 */
static LLVMValueRef erf_series(const struct uk_math *m, LLVMValueRef z) {
    static const double single[] = {0x1.4ae4c59dcdbf3p-14, -0x1.a485f7f7ff144p-11, 0x1.5419f962ab742p-8,
                                    -0x1.b7fbb56196242p-6, 0x1.ce2d1fae8ac4ep-4,   -0x1.81273ecb64b3ap-2,
                                    0x1.06eba7f8bac62p-3},
                        twice[] = {-0x1.acdff90b8ebd9p-31, 0x1.d784936618cc2p-27,  -0x1.5c16e30fb0d45p-23,
                                   0x1.b9827b1885f9bp-20,  -0x1.f4ca94990cb86p-17, 0x1.f9a2bf73f0c68p-14,
                                   -0x1.c02db072f3fe0p-11, 0x1.565bccfa9a825p-8,   -0x1.b82ce312062bcp-6,
                                   0x1.ce2f21a041018p-4,   -0x1.812746b0379c2p-2,  0x1.06eba8214db68p-3};

    return uk_math_polynomial(m, z, &UK_POLYNOMIAL(single, twice));
}

/* log(erfc(1 + t)) */
static LLVMValueRef erfc_series(const struct uk_math *m, LLVMValueRef t) {
    static const double single[] = {0x1.852b6cd9c7243p-13, -0x1.deb6e4a11282dp-10, 0x1.441aaf2cc6db6p-7,
                                    -0x1.53f93c553c493p-5, -0x1.afad34ec6cbe8p-1,  -0x1.51c9aa24de8d6p+1,
                                    -0x1.d97fbf43c6fa2p+0},
                        twice[] = {-0x1.5653d72f2abffp-38, 0x1.06638698e5b5cp-33,  -0x1.6a942df9f47fcp-30,
                                   0x1.24b1944903055p-27,  -0x1.1ed2151d491b6p-25, 0x1.f24bc467ab80fp-25,
                                   0x1.b7d6c39047427p-23,  -0x1.1e2511e5c10cdp-19, 0x1.448489658f54cp-17,
                                   -0x1.c852b6791fb19p-16, 0x1.b92ddf49de6f6p-16,  0x1.f1b04a5471948p-13,
                                   -0x1.033f5a123f810p-9,  0x1.48c9d37fbc922p-7,   -0x1.5477f099b6b59p-5,
                                   -0x1.afabc11a2afd9p-1,  -0x1.51c9b0006c21ap+1,  -0x1.d97fbf27aa2a1p+0};

    return uk_math_polynomial(m, t, &UK_POLYNOMIAL(single, twice));
}

LLVMValueRef uk_math_erf(const struct uk_math *m, LLVMValueRef x) {
    const double end = m->is_double ? 6 : 4;
    LLVMValueRef size = uk_math_size(m, x), one = uk_math_number(m, 1);
    LLVMValueRef result = uk_math_multiply_add(m, x, erf_series(m, uk_math_multiply(m, x, x)), x);
    LLVMValueRef t = uk_math_where(m, LLVMRealOGT, size, end, uk_math_number(m, end), size);

    t = erfc_series(m, uk_math_subtract(m, t, one));
    t = uk_math_subtract(m, one, uk_math_exp_near(m, t));
    result = uk_math_where(m, LLVMRealOLT, size, 1, result, t);
    return uk_math_with_sign(m, result, x);
}

/* erfc(a) exp(a^2) / t for t = 1 / (1 + a / 2), as a pair: a polynomial of t - 9 / 16. */
static struct uk_math_pair tail_series(const struct uk_math *m, struct uk_math_pair t) {
    static const double single[] = {0x1.0dfb2f9b12b8fp-5,  0x1.549e09efaeb86p-7, -0x1.33fed2800c47bp-4,
                                    0x1.df5430994aed1p-7,  0x1.cd966b5fa82c2p-4, -0x1.04440fbec0007p-4,
                                    -0x1.961d65686c901p-3, 0x1.965e5124815e6p-4, 0x1.29fd91bc7adc2p-1},
                        twice[] = {0x1.06eaace55406dp-5,  -0x1.9b337fab16194p-6, -0x1.7be3090d37f75p-5,
                                   0x1.e1fde98caa1e8p-5,  0x1.883d6aef3ae93p-8,  -0x1.9e0bd40f808b7p-5,
                                   0x1.3ee3c8fb722fdp-5,  0x1.5c7f042d52554p-10, -0x1.2ab2719d0a4f2p-5,
                                   0x1.3f53daccfff4dp-5,  -0x1.16e989d5e33fap-8, -0x1.2f96499815458p-5,
                                   0x1.57a78ee70ec84p-5,  0x1.1610e5d4e0dd4p-10, -0x1.995d88bcf744cp-5,
                                   0x1.5ea25ea634012p-5,  0x1.ce5aed98f1e61p-6,  -0x1.417b316290c44p-4,
                                   0x1.852e3c09af424p-7,  0x1.cf41ebc0e257bp-4,  -0x1.03756c79a9242p-4,
                                   -0x1.96286880037c8p-3, 0x1.96581463bce67p-4,  0x1.29fd9e72667bep-1};
    LLVMValueRef y = uk_math_subtract(m, t.high, uk_math_number(m, 0.5625));
    LLVMValueRef rest = uk_math_polynomial(m, y, &UK_POLYNOMIAL(single, twice));
    struct uk_math_pair slope =
        uk_math_sum(m, uk_math_number(m, m->is_double ? 0x1.84622e56cd40fp-1 : 0x1.84622cp-1),
                    uk_math_multiply(m, y, rest));

    slope.low = uk_math_add(m, slope.low,
                            uk_math_number(m, m->is_double ? -0x1.a08b819e8dd15p-55 : 0x1.39d446040861ep-26));
    const struct uk_math_pair product = uk_math_product(m, y, slope.high);
    struct uk_math_pair q =
        uk_math_sum(m, uk_math_number(m, m->is_double ? 0x1.1ca626f62100ap-1 : 0x1.1ca626p-1), product.high);
    LLVMValueRef low = uk_math_multiply_add(m, y, slope.low, product.low);

    low = uk_math_multiply_add(m, t.low, slope.high, low);
    low =
        uk_math_add(m, low, uk_math_number(m, m->is_double ? 0x1.5349af078d461p-58 : 0x1.fecb3f4e5af69p-26));
    q.low = uk_math_add(m, q.low, low);
    return q;
}

LLVMValueRef uk_math_erfc(const struct uk_math *m, LLVMValueRef x) {
    const double end = m->is_double ? 27.25 : 10.25; /* 0 from here on */
    LLVMValueRef size = uk_math_size(m, x), one = uk_math_number(m, 1);
    LLVMValueRef a = uk_math_where(m, LLVMRealOGT, size, end, uk_math_number(m, end), size);
    const struct uk_math_pair square = uk_math_product(m, a, a),
                              d = uk_math_one_and(m, uk_math_multiply(m, a, uk_math_number(m, 0.5)));
    const struct uk_math_pair t = uk_math_quotient(m, (struct uk_math_pair){one, NULL}, d);
    const struct uk_math_pair factor = uk_math_multiply_pairs(m, t, tail_series(m, t));
    LLVMValueRef r = uk_math_times_exp(
        m, factor, (struct uk_math_pair){uk_math_negate(m, square.high), uk_math_negate(m, square.low)});

    return uk_math_where(m, LLVMRealOLT, x, 0, uk_math_subtract(m, uk_math_number(m, 2), r), r);
}
