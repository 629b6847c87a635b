/* SPDX-License-Identifier: Apache-2.0 */
/* pow(x, y) = exp(y log|x|), with the logarithm and its product with y as pairs, because exp multiplies their
 * error by up to 745. */
#include <math.h>
#include "numbers.h"

static LLVMValueRef is(const struct uk_math *m, LLVMRealPredicate relation, LLVMValueRef a, double b) {
    return LLVMBuildFCmp(m->g->b, relation, a, uk_math_number(m, b), "");
}

static LLVMValueRef is_integer(const struct uk_math *m, LLVMValueRef y) {
    return LLVMBuildFCmp(m->g->b, LLVMRealOEQ, uk_math_floor(m, y), y, "");
}

/* For x > 0. Exponents larger than `limit` change nothing: the logarithm closest to 0 is 2^-24 (f64:
 * 2^-53). */
static LLVMValueRef magnitude(const struct uk_math *m, LLVMValueRef x, LLVMValueRef y) {
    const double limit = m->is_double ? 0x1p63 : 0x1p31;
    const struct uk_math_pair log = uk_math_log_pair(m, x);

    y = uk_math_where(m, LLVMRealOGT, y, limit, uk_math_number(m, limit), y);
    y = uk_math_where(m, LLVMRealOLT, y, -limit, uk_math_number(m, -limit), y);
    struct uk_math_pair p = uk_math_product(m, y, log.high);

    p.low = uk_math_multiply_add(m, y, log.low, p.low);
    return uk_math_exp_pair(m, uk_math_sum(m, p.high, p.low));
}

/* The special cases are those of C (Annex F); later ones override earlier ones. */
LLVMValueRef uk_math_pow(const struct uk_math *m, LLVMValueRef x, LLVMValueRef y) {
    LLVMBuilderRef b = m->g->b;
    LLVMValueRef size = uk_math_size(m, x), zero = uk_math_number(m, 0),
                 infinite = uk_math_number(m, INFINITY), nan = uk_math_number(m, NAN);
    LLVMValueRef at_infinity = is(m, LLVMRealOEQ, size, INFINITY);
    LLVMValueRef at_end = LLVMBuildOr(b, is(m, LLVMRealOEQ, x, 0), at_infinity, "");
    LLVMValueRef grows = LLVMBuildXor(b, at_infinity, is(m, LLVMRealOLT, y, 0), "");
    LLVMValueRef integer = is_integer(m, y), part = LLVMBuildNot(b, integer, "");
    LLVMValueRef odd = LLVMBuildAnd(
        b, integer, LLVMBuildNot(b, is_integer(m, uk_math_multiply(m, y, uk_math_number(m, 0.5))), ""), "");
    LLVMValueRef has_root = LLVMBuildNot(b, LLVMBuildAnd(b, is(m, LLVMRealOLT, x, 0), part, ""), "");
    LLVMValueRef is_one = LLVMBuildOr(b, is(m, LLVMRealOEQ, x, 1), is(m, LLVMRealOEQ, y, 0), "");
    LLVMValueRef r = magnitude(m, size, y);

    r = LLVMBuildSelect(b, has_root, r, nan, "");
    r = LLVMBuildSelect(b, at_end, LLVMBuildSelect(b, grows, infinite, zero, ""), r, "");
    r = LLVMBuildSelect(b, odd, uk_math_with_sign(m, r, x), r, "");
    r = LLVMBuildSelect(b, LLVMBuildFCmp(b, LLVMRealUNO, x, y, ""), nan, r, "");
    return LLVMBuildSelect(b, is_one, uk_math_number(m, 1), r, "");
}
