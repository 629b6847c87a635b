/* SPDX-License-Identifier: Apache-2.0 */
/* Values of the forms that lower/requantize.c finds, in the target's instructions. */
#include <string.h>
#include "generator.h"
#include "lower/lower.h"

/* Fields of the words of RISC-V P, and of min and max as its subset of B has them. */
enum {
#define UK_RVP(name, form, funct3, funct7, ...) FUNCT3_##name = funct3, FUNCT7_##name = funct7,
#include "registry/rvp.def"
#undef UK_RVP
    OP_P = 0x77,
    OP = 0x33,
    FUNCT7_MIN_MAX = 5,
    FUNCT3_MIN = 4,
    FUNCT3_MAX = 6
};

/* An instruction of two registers that LLVM has no name for; it is pure arithmetic. */
static LLVMValueRef instruction(struct uk_codegen *g, unsigned opcode, unsigned funct3, unsigned funct7,
                                LLVMValueRef l, LLVMValueRef r) {
    static const char constraints[] = "=r,r,r";
    static const char *const pure[] = {"memory", "nounwind", "willreturn"};
    LLVMTypeRef types[] = {g->i64, g->i64}, type = LLVMFunctionType(g->i64, types, 2, false);
    char *text = uk_format(&g->arena, ".balign 4\n\t.insn r %u, %u, %u, $0, $1, $2", opcode, funct3, funct7);

    if (!text) {
        uk_cg_fail(g, UK_OUT_OF_MEMORY, NULL, NULL);
        return LLVMGetPoison(g->i64);
    }
    LLVMValueRef code = LLVMGetInlineAsm(type, text, strlen(text), constraints, sizeof constraints - 1, false,
                                         false, LLVMInlineAsmDialectATT, false);

    LLVMValueRef v = LLVMBuildCall2(g->b, type, code, (LLVMValueRef[]){l, r}, 2, "");

    for (size_t i = 0; i < sizeof pure / sizeof *pure; i++)
        LLVMAddCallSiteAttribute(v, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
                                 uk_cg_enum_attribute(g, pure[i], 0));
    return v;
}

static LLVMValueRef wide(struct uk_codegen *g, enum uk_type from, LLVMValueRef v) {
    return LLVMBuildIntCast2(g->b, v, g->i64, from != UK_U8, "");
}

/*
 * Clamping to the integers low - zero and high - zero before rounding gives what saturating the sum gives, and what is left is
 * in the range of every conversion. maxnum makes a NaN low - zero, which is right where low is 0.
 */
static LLVMValueRef byte_of(struct uk_codegen *g, enum uk_type to, const struct uk_fused *f) {
    LLVMValueRef x = uk_cg_expr(g, f->arg[0]), zero = LLVMConstInt(g->i32, 0, false), limit[2], v = x;

    if (f->arg[1])
        zero = f->arg[1]->op == UK_E_NUMBER
                   ? LLVMConstInt(g->i32, (unsigned long long)f->arg[1]->integer, true)
                   : LLVMBuildIntCast2(g->b, uk_cg_expr(g, f->arg[1]), g->i32, f->arg[1]->type != UK_U8, "");
    for (int i = 0; i < 2; i++) {
        const int end = (to == UK_U8 ? 0 : INT8_MIN) + i * UINT8_MAX;
        LLVMValueRef distance =
            LLVMBuildNSWSub(g->b, LLVMConstInt(g->i32, (unsigned long long)end, true), zero, "");

        limit[i] = LLVMBuildSIToFP(g->b, distance, g->f32, "");
        v = uk_cg_intrinsic(g, i ? "llvm.minnum" : "llvm.maxnum", g->f32, (LLVMValueRef[]){v, limit[i]}, 2);
    }
    v = LLVMBuildFPToSI(g->b, uk_cg_intrinsic(g, "llvm.roundeven", g->f32, &v, 1), g->i32, "");
    v = LLVMBuildAdd(g->b, v, zero, "");
    if (to == UK_I8)
        v = LLVMBuildSelect(g->b, LLVMBuildFCmp(g->b, LLVMRealORD, x, x, ""), v,
                            LLVMConstInt(g->i32, 0, false), "");
    return LLVMBuildTrunc(g->b, v, g->i8, "");
}

LLVMValueRef uk_cg_fused(struct uk_codegen *g, const struct uk_expr *e) {
    const struct uk_fused f = uk_fuse_value(g->build->target, e);

    if (!f.form)
        return NULL;
    if (f.form == UK_FUSED_BYTE)
        return byte_of(g, e->type, &f);
    LLVMValueRef l = wide(g, f.arg[0]->type, uk_cg_expr(g, f.arg[0])),
                 r = wide(g, f.arg[1]->type, uk_cg_expr(g, f.arg[1]));

    switch (f.form) {
    case UK_FUSED_HALF: /* a word, whose upper half in the register is none */
        l = LLVMBuildTrunc(g->b, instruction(g, OP_P, FUNCT3_kwmmul_u, FUNCT7_kwmmul_u, l, r), g->i32, "");
        return LLVMBuildSExt(g->b, l, g->i64, "");
    case UK_FUSED_SHIFT:
        return instruction(g, OP_P, FUNCT3_sra_u, FUNCT7_sra_u, l, r);
    default:
        l = instruction(g, OP, f.form == UK_FUSED_LEAST ? FUNCT3_MIN : FUNCT3_MAX, FUNCT7_MIN_MAX, l, r);
        return LLVMBuildIntCast2(g->b, l, uk_llvm_type(g->llvm, e->type), true, "");
    }
}
