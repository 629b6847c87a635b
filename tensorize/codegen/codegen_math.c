/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exp and tanh for devices, which have no library to call, in f32 and f64.
 *
 * exp(x) = 2^n exp(r), where n is x / ln 2 rounded and r = x - n ln 2 is at most ln 2 / 2, subtracted in two parts (Cody and Waite);
 * exp(r) is its Taylor series, whose first term left out is below a quarter of the last place. tanh(x) = 1 - 2 / (exp(2x) + 1), and
 * for |x| < 0.625, where that cancels, an approximation from Cephes. Errors: below two units in the last place.
 */
#include "generator.h"

static LLVMValueRef real(LLVMValueRef like, double v) {
    return LLVMConstReal(LLVMTypeOf(like), v);
}

static LLVMValueRef fma3(struct uk_codegen *g, LLVMValueRef a, LLVMValueRef b, LLVMValueRef c) {
    return uk_cg_intrinsic(g, "llvm.fma", LLVMTypeOf(a), (LLVMValueRef[]){a, b, c}, 3);
}

/* By Horner's rule, the highest coefficient first. */
static LLVMValueRef polynomial(struct uk_codegen *g, LLVMValueRef x, const double *coefficient, int n) {
    LLVMValueRef sum = real(x, coefficient[0]);

    for (int i = 1; i < n; i++)
        sum = fma3(g, sum, x, real(x, coefficient[i]));
    return sum;
}

/* 2^n by its bits, for a normal number. */
static LLVMValueRef power(struct uk_codegen *g, LLVMValueRef n, LLVMTypeRef type) {
    const bool is_double = type == g->f64;
    LLVMTypeRef integer = is_double ? g->i64 : g->i32;
    LLVMValueRef biased = LLVMBuildAdd(g->b, n, LLVMConstInt(g->i32, is_double ? 1023 : 127, false), "");

    biased = LLVMBuildIntCast2(g->b, biased, integer, true, "");
    return LLVMBuildBitCast(
        g->b, LLVMBuildShl(g->b, biased, LLVMConstInt(integer, is_double ? 52 : 23, false), ""), type, "");
}

/* n as an integer; 0 for NaN. */
static LLVMValueRef to_integer(struct uk_codegen *g, LLVMValueRef n) {
    static const char name[] = "llvm.fptosi.sat";
    LLVMTypeRef overload[] = {g->i32, LLVMTypeOf(n)};
    LLVMValueRef f =
        LLVMGetIntrinsicDeclaration(g->module, LLVMLookupIntrinsicID(name, sizeof name - 1), overload, 2);

    return LLVMBuildCall2(g->b, LLVMGlobalGetValueType(f), f, &n, 1, "");
}

LLVMValueRef uk_cg_exp(struct uk_codegen *g, LLVMValueRef x) {
    enum { MOST = 14 };
    const bool is_double = LLVMTypeOf(x) == g->f64;
    /* Beyond these the result is infinite, or 0. */
    LLVMValueRef most = real(x, is_double ? 710 : 89), least = real(x, is_double ? -746 : -104), n, k, r,
                 half;
    const int terms = is_double ? MOST : 8;
    double coefficient[MOST] = {1};

    for (int i = terms - 1; i >= 0; i--) { /* 1 / i! */
        coefficient[terms - 1 - i] = 1;
        for (int f = 2; f <= i; f++)
            coefficient[terms - 1 - i] /= f;
    }
    x = LLVMBuildSelect(g->b, LLVMBuildFCmp(g->b, LLVMRealOGT, x, most, ""), most, x, "");
    x = LLVMBuildSelect(g->b, LLVMBuildFCmp(g->b, LLVMRealOLT, x, least, ""), least, x, "");
    n = LLVMBuildFMul(g->b, x, real(x, 0x1.71547652b82fep+0), "");
    n = uk_cg_intrinsic(g, "llvm.rint", LLVMTypeOf(n), &n, 1);
    /* The first part of ln 2 has so few bits that its product with n is exact. */
    r = fma3(g, n, real(x, is_double ? -0x1.62e42fee00000p-1 : -0x1.62e400p-1), x);
    r = fma3(g, n, real(x, is_double ? -0x1.a39ef35793c76p-33 : -0x1.7f7d1cp-20), r);
    k = to_integer(g, n);
    half = LLVMBuildAShr(g->b, k, LLVMConstInt(g->i32, 1, false), "");
    r = LLVMBuildFMul(g->b, polynomial(g, r, coefficient, terms), power(g, half, LLVMTypeOf(x)), "");
    return LLVMBuildFMul(g->b, r, power(g, LLVMBuildSub(g->b, k, half, ""), LLVMTypeOf(x)), "");
}

/* (tanh(x) - x) / x of s = x * x, where |x| < 0.625. */
static LLVMValueRef tanh_series(struct uk_codegen *g, LLVMValueRef s) {
    static const double single[] = {-5.70498872745e-3, 2.06390887954e-2, -5.37397155531e-2, 1.33314422036e-1,
                                    -3.33332819422e-1},
                        above[] = {-9.64399179425052238628e-1, -9.92877231001918586564e1,
                                   -1.61468768441708447952e3},
                        below[] = {1, 1.12811678491632931402e2, 2.23548839060100448583e3,
                                   4.84406305325125486048e3};

    if (LLVMTypeOf(s) == g->f64)
        return LLVMBuildFMul(
            g->b, s, LLVMBuildFDiv(g->b, polynomial(g, s, above, 3), polynomial(g, s, below, 4), ""), "");
    return LLVMBuildFMul(g->b, s, polynomial(g, s, single, 5), "");
}

LLVMValueRef uk_cg_tanh(struct uk_codegen *g, LLVMValueRef x) {
    LLVMTypeRef t = LLVMTypeOf(x);
    LLVMValueRef size = uk_cg_intrinsic(g, "llvm.fabs", t, &x, 1), one = real(x, 1), large;
    LLVMValueRef small = fma3(g, x, tanh_series(g, LLVMBuildFMul(g->b, x, x, "")), x);

    large = uk_cg_exp(g, LLVMBuildFAdd(g->b, size, size, ""));
    large = LLVMBuildFDiv(g->b, real(x, 2), LLVMBuildFAdd(g->b, large, one, ""), "");
    large = LLVMBuildFSub(g->b, one, large, "");
    small =
        LLVMBuildSelect(g->b, LLVMBuildFCmp(g->b, LLVMRealOLT, size, real(x, 0.625), ""), small, large, "");
    return uk_cg_intrinsic(g, "llvm.copysign", t, (LLVMValueRef[]){small, x}, 2); /* -0 too */
}
