/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides which products of an imported kernel may be added without rounding. Clang allows it everywhere
 * (import.c); the language only if a product is a term of a sum (uk.5, Arithmetic). For a declaration that
 * computes more, such as a requantization, each operation must round by itself, as in the interpreter and `uk
 * run --check`. A declaration that calls a function without correct rounding has no single right result, so
 * nothing is forbidden there.
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

/* True if e may consume a product that must be rounded: it adds, subtracts, or makes an integer of its
 * operand. */
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

/* Replaces an addition that may be contracted by one that may not: LLVM's C API can add flags to an
 * instruction but not remove them. */
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

/* Applies this to the function and to the functions of its module that it calls, once each. The attribute
 * marks visited functions; uk_link drops it later. */
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

void uk_forbid_contraction(struct uk_build *b, const struct uk_source *s, const struct uk_called_symbol *w,
                           int count) {
    LLVMBuilderRef at = LLVMCreateBuilderInContext(b->llvm);

    for (int i = 0; i < count; i++)
        if (w[i].source == s && !may_contract(w[i].intrinsic))
            forbid(b->llvm, at, LLVMGetNamedFunction(s->module, w[i].symbol));
    LLVMDisposeBuilder(at);
}
