/* SPDX-License-Identifier: Apache-2.0 */
/*
 * erf(x) = x + x p(x^2) for |x| < 1. For larger |x| it is 1 - erfc(|x|), with erfc(a) = exp(q(a - 1)) and a
 * polynomial q: erfc is small there, and so is the effect of q's and exp's errors. From `end` on erf is 1.
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
    t = uk_math_subtract(m, one, uk_math_exp(m, t));
    result = uk_math_where(m, LLVMRealOLT, size, 1, result, t);
    return uk_math_with_sign(m, result, x);
}
