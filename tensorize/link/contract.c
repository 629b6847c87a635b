/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which products of an imported kernel may be added without being rounded before. Clang allows it everywhere
 * (import.c); the language only where a product is a term of a sum (uk.5, Arithmetic). What is compiled for a
 * declaration that computes more than that, a requantize say, has each operation round by itself, as the
 * interpreter and `uk run --check` have it. Where the declaration calls a function that is not correctly
 * rounded there is no one right result, and nothing is taken away.
 */
#include <llvm-c/Core.h>
#include "link.h"

static bool has(const struct uk_expr *e, bool (*is)(const struct uk_expr *)) {
    if (is(e))
        return true;
    for (int i = 0; i < 3; i++)
        if (e->arg[i] && has(e->arg[i], is))
            return true;
    return false;
}

static bool has_no_one_result(const struct uk_expr *e) {
    return uk_ulps(e->op) > 0;
}

/* Rounds a product by itself: what adds it, or makes an integer of it. */
static bool needs_rounded(const struct uk_expr *e) {
    if (e->op == UK_E_CAST)
        return !uk_type_is_float(e->type) && uk_type_is_float(e->arg[0]->type);
    return uk_is_function_of_class(e->op, UK_FUNCTION_WHOLE) ||
           ((e->op == UK_E_ADD || e->op == UK_E_SUB) && uk_type_is_float(e->type));
}

static bool may_contract(const struct uk_intrinsic *in) {
    const struct uk_statement *s = in->computes;

    if (has(s->right, has_no_one_result))
        return true;
    return uk_type_is_float(s->left.tensor->type) &&
           (s->reduce == UK_REDUCE_SUM || s->assign == UK_ASSIGN_ADD) && !has(s->right, needs_rounded);
}

/* An addition in place of one that may be contracted: LLVM's C API adds flags to an instruction, and takes
 * none away. */
static void round_before(LLVMBuilderRef at, LLVMValueRef old) {
    const LLVMFastMathFlags flags = LLVMGetFastMathFlags(old) & ~(LLVMFastMathFlags)LLVMFastMathAllowContract;
    LLVMValueRef l = LLVMGetOperand(old, 0), r = LLVMGetOperand(old, 1);

    LLVMPositionBuilderBefore(at, old);
    LLVMValueRef added =
        LLVMGetInstructionOpcode(old) == LLVMFAdd ? LLVMBuildFAdd(at, l, r, "") : LLVMBuildFSub(at, l, r, "");
    if (LLVMCanValueUseFastMathFlags(added))
        LLVMSetFastMathFlags(added, flags);
    LLVMReplaceAllUsesWith(old, added);
    LLVMInstructionEraseFromParent(old);
}

static void forbid_in_block(LLVMBuilderRef at, LLVMBasicBlockRef bb) {
    for (LLVMValueRef i = LLVMGetFirstInstruction(bb), next; i; i = next) {
        const LLVMOpcode op = LLVMGetInstructionOpcode(i);

        next = LLVMGetNextInstruction(i);
        if ((op == LLVMFAdd || op == LLVMFSub) && LLVMGetFastMathFlags(i) & LLVMFastMathAllowContract)
            round_before(at, i);
    }
}

/* In the function, and in those of its module that it calls, each once: uk_link drops such attributes later.
 * */
static void forbid(LLVMContextRef llvm, LLVMBuilderRef at, LLVMValueRef f) {
    static const char visited[] = "uk-rounds-products";
    const LLVMAttributeIndex whole = (LLVMAttributeIndex)LLVMAttributeFunctionIndex;

    if (LLVMGetStringAttributeAtIndex(f, whole, visited, sizeof visited - 1))
        return;
    LLVMAddAttributeAtIndex(f, whole, LLVMCreateStringAttribute(llvm, visited, sizeof visited - 1, "", 0));
    for (LLVMBasicBlockRef bb = LLVMGetFirstBasicBlock(f); bb; bb = LLVMGetNextBasicBlock(bb)) {
        forbid_in_block(at, bb);
        for (LLVMValueRef i = LLVMGetFirstInstruction(bb); i; i = LLVMGetNextInstruction(i)) {
            LLVMValueRef callee = LLVMIsACallInst(i) ? LLVMIsAFunction(LLVMGetCalledValue(i)) : NULL;

            if (callee && !LLVMIsDeclaration(callee))
                forbid(llvm, at, callee);
        }
    }
}

void uk_forbid_contraction(struct uk_build *b, const struct uk_source *s, const struct uk_wanted *w,
                           int count) {
    LLVMBuilderRef at = LLVMCreateBuilderInContext(b->llvm);

    for (int i = 0; i < count; i++)
        if (w[i].source == s && !may_contract(w[i].intrinsic))
            forbid(b->llvm, at, LLVMGetNamedFunction(s->module, w[i].symbol));
    LLVMDisposeBuilder(at);
}
