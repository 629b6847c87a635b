/* SPDX-License-Identifier: Apache-2.0 */
/* Operations that AVX-512 has instructions for, and LLVM only intrinsics: scaling by a power of two,
 * estimates of reciprocals, extremes; and division by a number that a loop does not change. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "numbers.h"

/* Calls llvm.x86.avx512.NAME for the vector type with `operands` vectors and, unless negative, a number;
 * under a mask of all elements. `rounds`: the form of 512 bits has an argument for the rounding mode. */
static LLVMValueRef masked(struct uk_codegen *g, const char *name, LLVMTypeRef vector, LLVMValueRef *operand,
                           int operands, int number, bool rounds) {
    enum { CURRENT_MODE = 4 };
    const unsigned n = LLVMGetVectorSize(vector), bits = LLVMGetElementType(vector) == g->f64 ? 64 : 32;
    LLVMValueRef all[6];
    char text[64];
    int k = 0;

    for (; k < operands; k++)
        all[k] = operand[k];
    if (number >= 0)
        all[k++] = LLVMConstInt(g->i32, (unsigned long long)number, false);
    all[k++] = LLVMGetUndef(vector);
    all[k++] = LLVMConstAllOnes(n > 8 ? g->i16 : g->i8);
    if (rounds && n * bits == 512)
        all[k++] = LLVMConstInt(g->i32, CURRENT_MODE, false);
    snprintf(text, sizeof text, "llvm.x86.avx512.%s.p%c.%u", name, bits == 64 ? 'd' : 's', n * bits);
    const unsigned id = LLVMLookupIntrinsicID(text, strlen(text));
    LLVMValueRef f = LLVMGetIntrinsicDeclaration(g->module, id, NULL, 0);

    return LLVMBuildCall2(g->b, LLVMGlobalGetValueType(f), f, all, (unsigned)k, "");
}

static LLVMValueRef scaled(struct uk_codegen *g, LLVMTypeRef vector, LLVMValueRef *arg) {
    return masked(g, "mask.scalef", vector, arg, 2, -1, true);
}

LLVMValueRef uk_math_scale(const struct uk_math *m, LLVMValueRef v, LLVMValueRef n) {
    static const struct uk_vector_op scale = {"scale", 2, scaled};

    return uk_cg_operation(m->g, &scale, m->type, (LLVMValueRef[]){v, n});
}

/* Elements of a table in one register, by vpermps, whose forms for shorter vectors hold fewer. */
static LLVMValueRef sixteenths(struct uk_codegen *g, LLVMTypeRef vector, LLVMValueRef *arg) {
    enum { TABLE = 16 };
    static const double power[TABLE] = {0x1.00000p+0,  0x1.0b5586p+0, 0x1.172b84p+0, 0x1.2387a6p+0,
                                        0x1.306fep+0,  0x1.3dea64p+0, 0x1.4bfdaep+0, 0x1.5ab07ep+0,
                                        0x1.6a09e6p+0, 0x1.7a1148p+0, 0x1.8ace54p+0, 0x1.9c4918p+0,
                                        0x1.ae89fap+0, 0x1.c199bep+0, 0x1.d5818ep+0, 0x1.ea4afap+0};
    static const char name[] = "llvm.x86.avx512.permvar.sf.512";
    const unsigned n = LLVMGetVectorSize(vector);
    LLVMValueRef table[TABLE], lane[TABLE], wide = arg[0];

    for (unsigned i = 0; i < TABLE; i++) {
        table[i] = LLVMConstReal(g->f32, power[i]);
        lane[i] = LLVMConstInt(g->i32, i % n, false);
    }
    if (n < TABLE)
        wide = LLVMBuildShuffleVector(g->b, wide, LLVMGetPoison(vector), LLVMConstVector(lane, TABLE), "");
    wide = LLVMBuildBitCast(g->b, wide, LLVMVectorType(g->i32, TABLE), "");
    LLVMValueRef f =
        LLVMGetIntrinsicDeclaration(g->module, LLVMLookupIntrinsicID(name, sizeof name - 1), NULL, 0);
    LLVMValueRef both[] = {LLVMConstVector(table, TABLE), wide};
    wide = LLVMBuildCall2(g->b, LLVMGlobalGetValueType(f), f, both, 2, "");
    return n < TABLE ? LLVMBuildShuffleVector(g->b, wide, LLVMGetPoison(LLVMTypeOf(wide)),
                                              LLVMConstVector(lane, n), "")
                     : wide;
}

LLVMValueRef uk_math_sixteenth(const struct uk_math *m, LLVMValueRef v) {
    static const struct uk_vector_op sixteenth = {"sixteenth", 1, sixteenths};

    return uk_cg_operation(m->g, &sixteenth, m->type, &v);
}

static LLVMValueRef estimated(struct uk_codegen *g, LLVMTypeRef vector, LLVMValueRef *arg) {
    return masked(g, "rcp14", vector, arg, 1, -1, false);
}

LLVMValueRef uk_math_reciprocal(const struct uk_math *m, LLVMValueRef a) {
    static const struct uk_vector_op reciprocal = {"reciprocal", 1, estimated};

    return m->avx512 && !m->is_double ? uk_cg_operation(m->g, &reciprocal, m->type, &a) : NULL;
}

LLVMValueRef uk_math_ratio(const struct uk_math *m, LLVMValueRef a, LLVMValueRef b) {
    LLVMValueRef reciprocal = uk_math_reciprocal(m, b);

    if (!reciprocal)
        return uk_math_divide(m, a, b);
    LLVMValueRef q = uk_math_multiply(m, a, reciprocal);
    LLVMValueRef rest = uk_math_multiply_add(m, uk_math_negate(m, q), b, a);

    return uk_math_multiply_add(m, rest, reciprocal, q);
}

/* vrangeps orders zeros, but ignores a NaN if the other operand is a number. */
static LLVMValueRef extreme(struct uk_codegen *g, LLVMTypeRef vector, LLVMValueRef *arg, bool min) {
    enum { MIN, MAX, SIGN_OF_RESULT = 1 << 2 };
    const int which = SIGN_OF_RESULT | (min ? MIN : MAX);
    LLVMValueRef v = masked(g, "mask.range", vector, arg, 2, which, true),
                 is_nan = LLVMBuildFCmp(g->b, LLVMRealUNO, arg[0], arg[1], ""),
                 nan = LLVMConstReal(LLVMGetElementType(vector), NAN);

    return LLVMBuildSelect(g->b, is_nan, uk_cg_splat(vector, nan), v, "");
}

static LLVMValueRef least(struct uk_codegen *g, LLVMTypeRef vector, LLVMValueRef *arg) {
    return extreme(g, vector, arg, true);
}

static LLVMValueRef greatest(struct uk_codegen *g, LLVMTypeRef vector, LLVMValueRef *arg) {
    return extreme(g, vector, arg, false);
}

LLVMValueRef uk_math_extreme(const struct uk_math *m, bool min, LLVMValueRef a, LLVMValueRef b) {
    static const struct uk_vector_op minimum = {"minimum", 2, least}, maximum = {"maximum", 2, greatest};

    return m->avx512 ? uk_cg_operation(m->g, min ? &minimum : &maximum, m->type, (LLVMValueRef[]){a, b})
                     : NULL;
}

/* Bounds of the numbers a and b whose quotient needs no division: the quotient is a normal number then, and
 * the remainder is exact. */
struct bounds {
    int a, b; /* exponents: magnitudes from 2^-a to 2^a */
};

static struct bounds bounds_of(const struct uk_math *m) {
    return m->is_double ? (struct bounds){900, 100} : (struct bounds){100, 24};
}

/* Numbers, each an i1, whose magnitude is not from 2^-exponent to 2^exponent. */
static LLVMValueRef outside(const struct uk_math *m, LLVMTypeRef integers, LLVMValueRef v, int exponent) {
    LLVMBuilderRef b = m->g->b;
    const int places = m->is_double ? 52 : 23, bias = m->is_double ? 1023 : 127;
    const uint64_t low = (uint64_t)(bias - exponent) << places, width = (uint64_t)(2 * exponent) << places;
    LLVMValueRef sizes = uk_cg_splat(integers, uk_math_integer(m, UINT64_MAX >> (m->is_double ? 1 : 33))),
                 first = uk_cg_splat(integers, uk_math_integer(m, low)),
                 range = uk_cg_splat(integers, uk_math_integer(m, width));

    v = LLVMBuildAnd(b, LLVMBuildBitCast(b, v, integers, ""), sizes, "");
    return LLVMBuildICmp(b, LLVMIntUGT, LLVMBuildSub(b, v, first, ""), range, "");
}

static LLVMValueRef any_of(struct uk_codegen *g, LLVMValueRef conditions) {
    return uk_cg_intrinsic(g, "llvm.vector.reduce.or", LLVMTypeOf(conditions), &conditions, 1);
}

/*
 * With y = 1 / b and q = a y, each rounded, q + (a - q b) y rounded once is the quotient rounded correctly
 * (Markstein, 1990), within the bounds. Zeros are frequent after activations: their quotient is q, which has
 * the sign. If one other element of the vectors is out of bounds, all are divided.
 */
static LLVMValueRef quotient(struct uk_codegen *g, LLVMTypeRef vector, LLVMValueRef *arg) {
    const struct uk_math m = uk_math_of(g, LLVMGetElementType(vector));
    LLVMTypeRef integers = LLVMVectorType(m.integer, LLVMGetVectorSize(vector));
    LLVMBasicBlockRef block[2] = {uk_cg_block(g, "division"), uk_cg_block(g, "product")},
                      join = uk_cg_block(g, "quotient");
    LLVMValueRef a = arg[0], b = arg[1], value[2];
    LLVMValueRef y = LLVMBuildFDiv(g->b, uk_cg_splat(vector, uk_math_number(&m, 1)), b, "");
    LLVMValueRef is_other = LLVMBuildFCmp(g->b, LLVMRealUNE, a, LLVMConstNull(vector), "");
    LLVMValueRef bad = LLVMBuildAnd(g->b, outside(&m, integers, a, bounds_of(&m).a), is_other, "");
    bad = LLVMBuildOr(g->b, any_of(g, bad), any_of(g, outside(&m, integers, b, bounds_of(&m).b)), "");
    uk_cg_branch_rarely(g, bad, block[0], block[1]);
    LLVMPositionBuilderAtEnd(g->b, block[0]);
    value[0] = LLVMBuildFDiv(g->b, a, b, "");
    LLVMBuildBr(g->b, join);
    LLVMPositionBuilderAtEnd(g->b, block[1]);
    LLVMValueRef q = LLVMBuildFMul(g->b, a, y, "");
    LLVMValueRef back[] = {LLVMBuildFNeg(g->b, q, ""), b, a};
    LLVMValueRef step[] = {uk_cg_intrinsic(g, "llvm.fma", vector, back, 3), y, q};
    value[1] = LLVMBuildSelect(g->b, is_other, uk_cg_intrinsic(g, "llvm.fma", vector, step, 3), q, "");
    LLVMBuildBr(g->b, join);
    LLVMPositionBuilderAtEnd(g->b, join);
    LLVMValueRef phi = LLVMBuildPhi(g->b, vector, "");
    LLVMAddIncoming(phi, value, block, 2);
    return phi;
}

/* True for a constant whose reciprocal LLVM takes. */
static bool has_exact_reciprocal(LLVMValueRef v) {
    LLVMBool is_rounded;
    int exponent;

    return LLVMIsAConstantFP(v) && fabs(frexp(LLVMConstRealGetDouble(v, &is_rounded), &exponent)) == 0.5;
}

LLVMValueRef uk_math_divide_by_fixed(const struct uk_math *m, LLVMValueRef a, LLVMValueRef b) {
    static const struct uk_vector_op divide = {"quotient", 2, quotient};

    if (!m->avx512 || has_exact_reciprocal(b))
        return uk_math_divide(m, a, b);
    return uk_cg_operation(m->g, &divide, m->type, (LLVMValueRef[]){a, b});
}
