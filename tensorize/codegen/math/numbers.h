/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions for which no target has an instruction, in f32 and f64, generated as inline code: no calls, no
 * branches and no tables, so that loops around them can be vectorized. Polynomials were fitted by Remez's
 * algorithm in 60 digits; their coefficients are rounded to the type. The errors stated in the files are in
 * units in the last place, with and without fused multiply-adds, and hold where subnormal numbers are kept; a
 * target that flushes them to zero does so for operands and results here, too.
 */
#ifndef UK_MATH_H
#define UK_MATH_H

#include "codegen/generator.h"

/* The arithmetic of one type on one target. */
struct uk_math {
    struct uk_codegen *g;
    LLVMTypeRef type, integer; /* integer: with the same number of bits */
    bool is_double;
    bool fused;  /* multiply-adds are one instruction; on other targets LLVM would call fma */
    bool rounds; /* floor, ceil and rint are instructions; on other targets LLVM would call functions */
    bool avx512; /* the operations of avx512.c are instructions */
};

/* An unevaluated sum: the magnitude of `low` is below the last place of `high`. */
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
/* Evaluated by Horner's rule, highest coefficient first: `single` in f32, `twice` in f64. */
struct uk_polynomial {
    int singles, doubles;
    const double *single, *twice;
};
#define UK_POLYNOMIAL(single, twice)                                                                      \
    ((struct uk_polynomial){sizeof(single) / sizeof *(single), sizeof(twice) / sizeof *(twice), (single), \
                            (twice)})
LLVMValueRef uk_math_polynomial(const struct uk_math *m, LLVMValueRef x, const struct uk_polynomial *p);
/* Exact: uk_math_sum if |a| >= |b| or a = 0, uk_math_sum_any of any two numbers, the product if no part
 * leaves the range of normal numbers. */
struct uk_math_pair uk_math_sum(const struct uk_math *m, LLVMValueRef a, LLVMValueRef b);
struct uk_math_pair uk_math_sum_any(const struct uk_math *m, LLVMValueRef a, LLVMValueRef b);
/* 1 + b of b >= 0, exact. */
struct uk_math_pair uk_math_one_and(const struct uk_math *m, LLVMValueRef b);
struct uk_math_pair uk_math_product(const struct uk_math *m, LLVMValueRef a, LLVMValueRef b);
/* Without the product of the two second parts, which is below the last place of a pair. */
struct uk_math_pair uk_math_multiply_pairs(const struct uk_math *m, struct uk_math_pair a,
                                           struct uk_math_pair b);
/* a / b; a.low may be NULL: 0. */
struct uk_math_pair uk_math_quotient(const struct uk_math *m, struct uk_math_pair a, struct uk_math_pair b);
/* The square root of a >= 0; a.low may be NULL: 0. */
struct uk_math_pair uk_math_root(const struct uk_math *m, struct uk_math_pair a);
struct uk_math_pair uk_math_select_pair(const struct uk_math *m, LLVMValueRef condition,
                                        struct uk_math_pair then, struct uk_math_pair other);
struct uk_math_pair uk_math_half_pi(const struct uk_math *m);
/* avx512.c, if m->avx512: v * 2^n for n of any size, rounded down to an integer; the product is rounded
 * once. */
LLVMValueRef uk_math_scale(const struct uk_math *m, LLVMValueRef v, LLVMValueRef n);
/* avx512.c, of f32 if m->avx512: 2^(k / 16), where k are the lowest 4 bits of v. */
LLVMValueRef uk_math_sixteenth(const struct uk_math *m, LLVMValueRef v);
/* avx512.c: the minimum or maximum like llvm.minimum and llvm.maximum, or NULL without the instruction. Not
 * for a loop that reduces all terms to one element, which LLVM would not vectorize. */
LLVMValueRef uk_math_extreme(const struct uk_math *m, bool min, LLVMValueRef a, LLVMValueRef b);
/* avx512.c: 1 / a within 2^-14 of it for |a| from 2^-125 to 2^125, or NULL if no instruction estimates it. */
LLVMValueRef uk_math_reciprocal(const struct uk_math *m, LLVMValueRef a);
/* a / b for |b| from 2^-100 to 2^100, a unit in the last place wrong at most. */
LLVMValueRef uk_math_ratio(const struct uk_math *m, LLVMValueRef a, LLVMValueRef b);
/* a / b, correctly rounded. Fast if b has the same value in all iterations of a loop. */
LLVMValueRef uk_math_divide_by_fixed(const struct uk_math *m, LLVMValueRef a, LLVMValueRef b);
/* exp.c: exp(x) for x from -25 to 25, within 2^-22 (f64: 2^-51) of it. */
LLVMValueRef uk_math_exp_near(const struct uk_math *m, LLVMValueRef x);
/* exp.c: the exponential of a pair, whose second part may be NULL. */
LLVMValueRef uk_math_exp_pair(const struct uk_math *m, struct uk_math_pair x);
/* x = n ln 2 + r + low, so that exp(x) is 2^n (1 + growth). */
struct uk_math_reduced {
    LLVMValueRef shifted, n; /* the number whose lowest bits are n; n itself */
    LLVMValueRef r, low;
};
struct uk_math_reduced uk_math_reduce(const struct uk_math *m, struct uk_math_pair x);
/* exp(r + low) - 1, as a pair whose first part is r. */
struct uk_math_pair uk_math_growth(const struct uk_math *m, const struct uk_math_reduced *x);
/* Two factors of 2^n, as it may not be a normal number, for n of at least -252 (f64: -2044). The second is at
 * most 1/2 if n is negative. */
void uk_math_powers(const struct uk_math *m, const struct uk_math_reduced *x, LLVMValueRef factor[2]);
/* factor exp(x), with all digits where exp(x) is subnormal but the product is not; n as for uk_math_powers.
 */
LLVMValueRef uk_math_times_exp(const struct uk_math *m, struct uk_math_pair factor, struct uk_math_pair x);
/* log.c: the logarithm of a finite number above 0, as a pair. */
struct uk_math_pair uk_math_log_pair(const struct uk_math *m, LLVMValueRef x);

/* The language's functions. */
#define UK_FUNCTION1(id, name, class, ulps, limit, zero, real, code) \
    LLVMValueRef code(const struct uk_math *m, LLVMValueRef x);
#define UK_FUNCTION2(id, name, class, ulps, limit, zero, real, code) \
    LLVMValueRef code(const struct uk_math *m, LLVMValueRef x, LLVMValueRef y);
#include "language/functions.def"

#endif
