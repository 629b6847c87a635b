/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Conversions between types, and the types that values have in registers and in memory.
 *
 * f16 and bf16 are 16 bits in memory and floats in registers.
 */
#include <math.h>
#include <string.h>
#include "generator.h"

static bool is_small_float(enum uk_type t) {
    return t == UK_F16 || t == UK_BF16;
}

LLVMTypeRef uk_cg_register_type(struct uk_codegen *g, enum uk_type t) {
    return is_small_float(t) ? g->f32 : uk_llvm_type(g->llvm, t);
}

LLVMTypeRef uk_cg_memory_type(struct uk_codegen *g, enum uk_type t) {
    return is_small_float(t) ? g->i16 : uk_llvm_type(g->llvm, t);
}

/* Rounds to bf16 by AVX-512's instruction, which takes subnormal numbers as 0. With an exponent of 1 instead
 * of 0 the fraction is rounded the same way; then the 1 is subtracted again. */
static LLVMValueRef bf16_by_instruction(struct uk_codegen *g, LLVMTypeRef vector, LLVMValueRef *arg) {
    const unsigned n = LLVMGetVectorSize(vector);
    LLVMTypeRef words = LLVMVectorType(g->i32, n), halves = LLVMVectorType(g->i16, n);
    LLVMValueRef exponent = uk_cg_splat(words, LLVMConstInt(g->i32, 0x7f800000, false)),
                 one = uk_cg_splat(words, LLVMConstInt(g->i32, 0x800000, false)),
                 half_one = uk_cg_splat(halves, LLVMConstInt(g->i16, 0x80, false)),
                 places = uk_cg_splat(words, LLVMConstInt(g->i32, 16, false));
    LLVMValueRef bits = LLVMBuildBitCast(g->b, arg[0], words, "");
    LLVMValueRef is_small =
        LLVMBuildICmp(g->b, LLVMIntEQ, LLVMBuildAnd(g->b, bits, exponent, ""), LLVMConstNull(words), "");
    LLVMValueRef v = LLVMBuildSelect(g->b, is_small, LLVMBuildOr(g->b, bits, one, ""), bits, "");

    v = LLVMBuildFPTrunc(g->b, LLVMBuildBitCast(g->b, v, vector, ""),
                         LLVMVectorType(LLVMBFloatTypeInContext(g->llvm), n), "");
    v = LLVMBuildBitCast(g->b, v, halves, "");
    v = LLVMBuildSelect(g->b, is_small, LLVMBuildSub(g->b, v, half_one, ""), v, "");
    v = LLVMBuildShl(g->b, LLVMBuildZExt(g->b, v, words, ""), places, "");
    return LLVMBuildBitCast(g->b, v, vector, "");
}

/* Rounds by integer arithmetic: for bf16 LLVM would call a compiler-rt function on most CPUs. */
static LLVMValueRef float_to_bf16_bits(struct uk_codegen *g, LLVMValueRef v) {
    LLVMValueRef bits = LLVMBuildBitCast(g->b, v, g->i32, "");
    LLVMValueRef high = LLVMBuildLShr(g->b, bits, LLVMConstInt(g->i32, 16, false), "");
    LLVMValueRef odd = LLVMBuildAnd(g->b, high, LLVMConstInt(g->i32, 1, false), "");
    LLVMValueRef bias = LLVMBuildAdd(g->b, odd, LLVMConstInt(g->i32, 0x7fff, false), "");
    LLVMValueRef rounded =
        LLVMBuildLShr(g->b, LLVMBuildAdd(g->b, bits, bias, ""), LLVMConstInt(g->i32, 16, false), "");
    LLVMValueRef nan = LLVMBuildOr(g->b, high, LLVMConstInt(g->i32, 0x40, false), "");
    LLVMValueRef is_nan = LLVMBuildFCmp(g->b, LLVMRealUNO, v, v, "");

    return LLVMBuildTrunc(g->b, LLVMBuildSelect(g->b, is_nan, nan, rounded, ""), g->i16, "");
}

static LLVMValueRef where(struct uk_codegen *g, LLVMIntPredicate is, LLVMValueRef x, uint32_t bound,
                          LLVMValueRef then, LLVMValueRef other) {
    return LLVMBuildSelect(g->b, LLVMBuildICmp(g->b, is, x, LLVMConstInt(g->i32, bound, false), ""), then,
                           other, "");
}

/* The same for f16. Below 2^-14 its last bit is worth 2^-24, like that of floats from 0.5 to 1: adding 0.5
 * rounds. */
static LLVMValueRef float_to_f16_bits(struct uk_codegen *g, LLVMValueRef v) {
    LLVMValueRef bits = LLVMBuildBitCast(g->b, v, g->i32, ""), half = LLVMConstReal(g->f32, 0.5);
    LLVMValueRef sign = LLVMBuildAnd(g->b, LLVMBuildLShr(g->b, bits, LLVMConstInt(g->i32, 16, false), ""),
                                     LLVMConstInt(g->i32, 0x8000, false), "");
    LLVMValueRef size = LLVMBuildAnd(g->b, bits, LLVMConstInt(g->i32, 0x7fffffff, false), "");
    LLVMValueRef kept = LLVMBuildLShr(g->b, size, LLVMConstInt(g->i32, 13, false), "");
    LLVMValueRef odd = LLVMBuildAnd(g->b, kept, LLVMConstInt(g->i32, 1, false), "");
    /* Exponent bias 15 instead of 127. */
    LLVMValueRef normal = LLVMBuildAdd(g->b, LLVMBuildAdd(g->b, size, odd, ""),
                                       LLVMConstInt(g->i32, 0xfffu - (112u << 23), false), "");
    normal = LLVMBuildLShr(g->b, normal, LLVMConstInt(g->i32, 13, false), "");
    LLVMValueRef small = LLVMBuildFAdd(g->b, LLVMBuildBitCast(g->b, size, g->f32, ""), half, "");
    small = LLVMBuildSub(g->b, LLVMBuildBitCast(g->b, small, g->i32, ""), LLVMConstBitCast(half, g->i32), "");
    LLVMValueRef nan = LLVMBuildOr(g->b, LLVMBuildAnd(g->b, kept, LLVMConstInt(g->i32, 0x3ff, false), ""),
                                   LLVMConstInt(g->i32, 0x7e00, false), "");

    v = where(g, LLVMIntULT, size, 0x38800000, small, normal);
    v = where(g, LLVMIntUGE, size, 0x47800000, LLVMConstInt(g->i32, 0x7c00, false), v);
    v = where(g, LLVMIntUGT, size, 0x7f800000, nan, v);
    return LLVMBuildTrunc(g->b, LLVMBuildOr(g->b, sign, v, ""), g->i16, "");
}

/* An f32 whose exponent and fraction are those of the f16 is 2^-112 of its value. */
static LLVMValueRef float_of_f16_bits(struct uk_codegen *g, LLVMValueRef v) {
    const uint32_t infinity = 0x7c00u << 13, exponent = 0x7f800000;
    LLVMValueRef bits = LLVMBuildZExt(g->b, v, g->i32, "");
    LLVMValueRef sign = LLVMBuildAnd(g->b, LLVMBuildShl(g->b, bits, LLVMConstInt(g->i32, 16, false), ""),
                                     LLVMConstInt(g->i32, 0x80000000, false), "");
    LLVMValueRef size = LLVMBuildShl(g->b, LLVMBuildAnd(g->b, bits, LLVMConstInt(g->i32, 0x7fff, false), ""),
                                     LLVMConstInt(g->i32, 13, false), "");
    LLVMValueRef finite =
        LLVMBuildFMul(g->b, LLVMBuildBitCast(g->b, size, g->f32, ""), LLVMConstReal(g->f32, 0x1p112), "");

    v = where(g, LLVMIntUGE, size, infinity,
              LLVMBuildOr(g->b, size, LLVMConstInt(g->i32, exponent, false), ""),
              LLVMBuildBitCast(g->b, finite, g->i32, ""));
    return LLVMBuildBitCast(g->b, LLVMBuildOr(g->b, sign, v, ""), g->f32, "");
}

/* Without an instruction LLVM would call a function that neither libc nor libm has. */
static bool has_half(const struct uk_codegen *g) {
    return uk_target_has(g->target, g->target->arch->half);
}

/* The bits of a value; for a CPU, of one that is rounded to the type if that is bf16. */
LLVMValueRef uk_cg_to_memory(struct uk_codegen *g, enum uk_type type, LLVMValueRef v) {
    if (type == UK_BF16 && !g->target->arch->is_device) {
        v = LLVMBuildLShr(g->b, LLVMBuildBitCast(g->b, v, g->i32, ""), LLVMConstInt(g->i32, 16, false), "");
        return LLVMBuildTrunc(g->b, v, g->i16, "");
    }
    if (type == UK_BF16)
        return float_to_bf16_bits(g, v);
    if (type == UK_F16 && (g->device || !has_half(g))) /* a device's host may lack the instruction, too */
        return float_to_f16_bits(g, v);
    if (type == UK_F16)
        return LLVMBuildBitCast(g->b, LLVMBuildFPTrunc(g->b, v, LLVMHalfTypeInContext(g->llvm), ""), g->i16,
                                "");
    return v;
}

LLVMValueRef uk_cg_from_memory(struct uk_codegen *g, enum uk_type type, LLVMValueRef v) {
    if (g->device) /* the host passes the bits on unchanged */
        return v;
    /* Of LLVM's type bfloat: for AMD's GPUs LLVM 19 moves a select in front of the shift that makes a float
     * of the integer, and loses the sign of a negated operand. */
    if (type == UK_BF16 && g->target->arch->is_device)
        return LLVMBuildFPExt(g->b, LLVMBuildBitCast(g->b, v, LLVMBFloatTypeInContext(g->llvm), ""), g->f32,
                              "");
    if (type == UK_BF16) {
        v = LLVMBuildShl(g->b, LLVMBuildZExt(g->b, v, g->i32, ""), LLVMConstInt(g->i32, 16, false), "");
        return LLVMBuildBitCast(g->b, v, g->f32, "");
    }
    if (type == UK_F16 && !has_half(g))
        return float_of_f16_bits(g, v);
    if (type == UK_F16)
        return LLVMBuildFPExt(g->b, LLVMBuildBitCast(g->b, v, LLVMHalfTypeInContext(g->llvm), ""), g->f32,
                              "");
    return v;
}

LLVMValueRef uk_cg_rounded(struct uk_codegen *g, enum uk_type type, LLVMValueRef v) {
    static const struct uk_vector_op bf16 = {"bf16", 1, bf16_by_instruction};

    if (type == UK_BF16 && !g->device && uk_target_has(g->target, "avx512bf16") &&
        uk_target_has(g->target, "avx512vl"))
        return uk_cg_operation(g, &bf16, g->f32, &v);
    if (type == UK_BF16)
        return uk_cg_from_memory(g, type, float_to_bf16_bits(g, v));
    return is_small_float(type) ? uk_cg_from_memory(g, type, uk_cg_to_memory(g, type, v)) : v;
}

/* Converts f64 to f32 with rounding to odd: if inexact, to the neighbour whose last bit is 1. Rounding the
 * result to f16 or bf16 equals rounding the f64; rounding the nearest f32 would not. */
static LLVMValueRef to_odd_float(struct uk_codegen *g, LLVMValueRef v) {
    LLVMValueRef nearest = LLVMBuildFPTrunc(g->b, v, g->f32, "");
    LLVMValueRef back = LLVMBuildFPExt(g->b, nearest, g->f64, "");
    LLVMValueRef bits = LLVMBuildBitCast(g->b, nearest, g->i32, "");
    LLVMValueRef size[] = {uk_cg_intrinsic(g, "llvm.fabs", g->f64, &back, 1),
                           uk_cg_intrinsic(g, "llvm.fabs", g->f64, &v, 1)};
    LLVMValueRef beyond = LLVMBuildFCmp(g->b, LLVMRealOGT, size[0], size[1], "");
    LLVMValueRef inward = LLVMBuildSub(g->b, bits, LLVMBuildZExt(g->b, beyond, g->i32, ""), "");
    LLVMValueRef odd = LLVMBuildOr(g->b, inward, LLVMConstInt(g->i32, 1, false), "");
    LLVMValueRef inexact = LLVMBuildFCmp(g->b, LLVMRealONE, back, v, "");

    return LLVMBuildBitCast(g->b, LLVMBuildSelect(g->b, inexact, odd, bits, ""), g->f32, "");
}

/* The same from i64, or u64, to f64: beyond 2^53 the 11 bits that may not fit are replaced by a 1 above
 * them. */
static LLVMValueRef to_odd_double(struct uk_codegen *g, bool is_unsigned, LLVMValueRef v) {
    LLVMValueRef low = LLVMConstInt(g->i64, 0x7ff, false), zero = LLVMConstInt(g->i64, 0, false);
    LLVMValueRef rest = LLVMBuildAnd(g->b, v, low, "");
    LLVMValueRef any = LLVMBuildZExt(g->b, LLVMBuildICmp(g->b, LLVMIntNE, rest, zero, ""), g->i64, "");
    LLVMValueRef sticky = LLVMBuildShl(g->b, any, LLVMConstInt(g->i64, 11, false), "");
    LLVMValueRef odd = LLVMBuildOr(g->b, LLVMBuildSub(g->b, v, rest, ""), sticky, "");
    const uint64_t exact = UINT64_C(1) << 53;
    LLVMValueRef up = is_unsigned ? v : LLVMBuildAdd(g->b, v, LLVMConstInt(g->i64, exact, false), "");
    LLVMValueRef wide =
        LLVMBuildICmp(g->b, LLVMIntUGT, up, LLVMConstInt(g->i64, is_unsigned ? exact : 2 * exact, false), "");

    v = LLVMBuildSelect(g->b, wide, odd, v, "");
    return is_unsigned ? LLVMBuildUIToFP(g->b, v, g->f64, "") : LLVMBuildSIToFP(g->b, v, g->f64, "");
}

static LLVMValueRef integer_to_float(struct uk_codegen *g, enum uk_type from, enum uk_type to,
                                     LLVMValueRef v) {
    const bool is_unsigned = uk_type_is_unsigned(from);
    LLVMTypeRef type = is_small_float(to) && uk_type_bytes(from) >= 4 ? g->f64 : uk_cg_register_type(g, to);

    if (type == g->f64 && is_small_float(to) && uk_type_bytes(from) == 8)
        v = to_odd_double(g, is_unsigned, v);
    else
        v = is_unsigned ? LLVMBuildUIToFP(g->b, v, type, "") : LLVMBuildSIToFP(g->b, v, type, "");
    if (type == g->f64 && is_small_float(to))
        v = to_odd_float(g, v);
    return uk_cg_rounded(g, to, v);
}

/* Without a saturating conversion instruction LLVM splits vectors of saturating conversions; clamped values
 * keep them whole. The maximum of NaN and a bound is the bound. If the float has fewer digits than the
 * largest integer, the value is clamped to the float below, and the integer chosen afterwards. */
static LLVMValueRef clamped(struct uk_codegen *g, enum uk_type from, enum uk_type to, LLVMValueRef v) {
    const bool is_small = uk_type_bytes(to) < 4, is_unsigned = uk_type_is_unsigned(to);
    const int bits = 8 * (int)uk_type_bytes(to) - !is_unsigned, digits = from == UK_F64 ? 53 : 24;
    const double end = ldexp(1, bits), max = bits > digits ? end - ldexp(1, bits - digits) : end - 1;
    LLVMTypeRef type = uk_llvm_type(g->llvm, from), integer = uk_llvm_type(g->llvm, to);
    LLVMValueRef lower = LLVMConstReal(type, is_unsigned ? 0 : -end), upper = LLVMConstReal(type, max);
    LLVMValueRef beyond = LLVMBuildFCmp(g->b, LLVMRealOGE, v, LLVMConstReal(type, end), "");

    if (!is_unsigned)
        v = LLVMBuildSelect(g->b, LLVMBuildFCmp(g->b, LLVMRealORD, v, v, ""), v, LLVMConstReal(type, 0), "");
    v = LLVMBuildSelect(g->b, LLVMBuildFCmp(g->b, LLVMRealOGT, v, lower, ""), v, lower, "");
    v = LLVMBuildSelect(g->b, LLVMBuildFCmp(g->b, LLVMRealOLT, v, upper, ""), v, upper, "");
    if (is_small)
        return LLVMBuildTrunc(g->b, LLVMBuildFPToSI(g->b, v, g->i32, ""), integer, "");
    v = is_unsigned ? LLVMBuildFPToUI(g->b, v, integer, "") : LLVMBuildFPToSI(g->b, v, integer, "");
    return bits > digits
               ? LLVMBuildSelect(g->b, beyond, LLVMConstInt(integer, UINT64_MAX >> (64 - bits), false), v, "")
               : v;
}

/* Vectors of 64-bit integers are converted by instructions of AVX-512 DQ. */
static bool clamps(const struct uk_codegen *g, enum uk_type to) {
    return g->target->arch->clamps && (uk_type_bytes(to) < 8 || uk_target_has(g->target, "avx512dq"));
}

static LLVMValueRef float_to_integer(struct uk_codegen *g, enum uk_type from, enum uk_type to,
                                     LLVMValueRef v) {
    const char *name = uk_type_is_unsigned(to) ? "llvm.fptoui.sat" : "llvm.fptosi.sat";
    LLVMTypeRef overload[] = {uk_llvm_type(g->llvm, to), uk_llvm_type(g->llvm, from)};

    if (clamps(g, to))
        return clamped(g, from, to, v);
    LLVMValueRef f =
        LLVMGetIntrinsicDeclaration(g->module, LLVMLookupIntrinsicID(name, strlen(name)), overload, 2);

    return LLVMBuildCall2(g->b, LLVMGlobalGetValueType(f), f, &v, 1, "");
}

/* A cast between integers wraps; from float to integer it truncates and saturates (NaN gives 0). */
LLVMValueRef uk_cg_cast(struct uk_codegen *g, enum uk_type from, enum uk_type to, LLVMValueRef v) {
    LLVMTypeRef type = uk_cg_register_type(g, to);
    bool small = is_small_float(from);

    if (uk_type_is_float(from) && uk_type_is_float(to)) {
        if (from == UK_F64 && is_small_float(to))
            v = to_odd_float(g, v);
        else if (LLVMTypeOf(v) != type)
            v = from == UK_F64 ? LLVMBuildFPTrunc(g->b, v, type, "") : LLVMBuildFPExt(g->b, v, type, "");
        return uk_cg_rounded(g, to, v);
    }
    if (uk_type_is_float(from))
        return float_to_integer(g, small ? UK_F32 : from, to, v);
    if (uk_type_is_float(to))
        return integer_to_float(g, from, to, v);
    return LLVMBuildIntCast2(g->b, v, type, !uk_type_is_unsigned(from), "");
}

LLVMValueRef uk_cg_from_double(struct uk_codegen *g, enum uk_type type, LLVMValueRef v) {
    if (!is_small_float(type))
        return uk_cg_cast(g, UK_F64, type, v);
    v = to_odd_float(g, v);
    return type == UK_BF16 ? float_to_bf16_bits(g, v) : uk_cg_to_memory(g, type, v);
}
