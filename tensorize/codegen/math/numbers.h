/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions that no target has an instruction for, in f32 and f64, as code in place: no calls, no branches
 * and no tables, so that loops around them can be vectorized. Polynomials were fitted by Remez's algorithm,
 * in 60 digits; their coefficients are rounded to the type. The errors that files name are in units in the
 * last place, with and without fused multiply-adds, and hold where subnormal numbers are kept; targets that
 * take them for zeros do so with operands and results here, too.
 */
#ifndef UK_MATH_H
#define UK_MATH_H

#include "codegen/generator.h"

/* How the numbers of one type are computed with on one target. */
struct uk_math {
    struct uk_codegen *g;
    LLVMTypeRef type, integer; /* of as many bits */
    bool is_double;
    bool fused;  /* multiply-adds by one instruction: elsewhere LLVM would call fma */
    bool rounds; /* floor and the like, likewise */
};

/* An unevaluated sum, the second part of which is below the first one's last place. */
struct uk_math_pair {
    LLVMValueRef high, low;
};

/* numbers.c */
struct uk_math uk_math_of(struct uk_codegen *g, LLVMTypeRef type);
LLVMValueRef uk_math_number(const struct uk_math *m, double v);
LLVMValueRef uk_math_add(const struct uk_math *m, LLVMValueRef a, LLVMValueRef b);
LLVMValueRef uk_math_subtract(const struct uk_math *m, LLVMValueRef a, LLVMValueRef b);
LLVMValueRef uk_math_multiply(const struct uk_math *m, LLVMValueRef a, LLVMValueRef b);
LLVMValueRef uk_math_divide(const struct uk_math *m, LLVMValueRef a, LLVMValueRef b);
/* a * b + c, rounded once or twice. */
LLVMValueRef uk_math_multiply_add(const struct uk_math *m, LLVMValueRef a, LLVMValueRef b, LLVMValueRef c);
LLVMValueRef uk_math_negate(const struct uk_math *m, LLVMValueRef a);
LLVMValueRef uk_math_with_sign(const struct uk_math *m, LLVMValueRef a, LLVMValueRef sign);
LLVMValueRef uk_math_where(const struct uk_math *m, LLVMRealPredicate is, LLVMValueRef a, double b,
                           LLVMValueRef then, LLVMValueRef other);
LLVMValueRef uk_math_bits(const struct uk_math *m, LLVMValueRef a);
LLVMValueRef uk_math_from_bits(const struct uk_math *m, LLVMValueRef bits);
LLVMValueRef uk_math_integer(const struct uk_math *m, uint64_t v);
/* By Horner's rule: the single coefficients in f32, the twice as precise ones in f64; the highest first. */
struct uk_polynomial {
    int singles, doubles;
    const double *single, *twice;
};
#define UK_POLYNOMIAL(single, twice)                                                                      \
    ((struct uk_polynomial){sizeof(single) / sizeof *(single), sizeof(twice) / sizeof *(twice), (single), \
                            (twice)})
LLVMValueRef uk_math_polynomial(const struct uk_math *m, LLVMValueRef x, const struct uk_polynomial *p);
/* Exact: of |a| >= |b|, or a = 0; and of products that do not leave the range of normal numbers. */
struct uk_math_pair uk_math_sum(const struct uk_math *m, LLVMValueRef a, LLVMValueRef b);
struct uk_math_pair uk_math_product(const struct uk_math *m, LLVMValueRef a, LLVMValueRef b);
/* exp.c: of a pair, whose second part may be NULL. */
LLVMValueRef uk_math_exp_pair(const struct uk_math *m, struct uk_math_pair x);
/* log.c: log as a pair, of finite numbers above 0. */
struct uk_math_pair uk_math_log_pair(const struct uk_math *m, LLVMValueRef x);

/* The language's functions. */
#define UK_FUNCTION1(id, name, class, ulps, limit, zero, real, code) \
    LLVMValueRef code(const struct uk_math *m, LLVMValueRef x);
#define UK_FUNCTION2(id, name, class, ulps, limit, zero, real, code) \
    LLVMValueRef code(const struct uk_math *m, LLVMValueRef x, LLVMValueRef y);
#include "language/functions.def"

#endif
