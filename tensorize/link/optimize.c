/* SPDX-License-Identifier: Apache-2.0 */
/* Runs LLVM's passes over a linked module; afterwards no call of a kernel may be left. */
#include <string.h>
#include <llvm-c/Transforms/PassBuilder.h>
#include "link.h"

static bool has_store(const struct uk_node *n) {
    for (; n; n = n->next)
        if (n->op == UK_N_STORE || has_store(n->body) || has_store(n->other))
            return true;
    return false;
}

/* True if the function, or one of its versions, has code other than calls of kernels. */
static bool has_plain_loops(const struct uk_function *f) {
    const struct uk_function_version *v = f->versions;

    while (v && !has_plain_loops(v->function))
        v = v->next;
    return v || has_store(f->body);
}

/* Fails if a kernel's call was not inlined. */
static enum uk_status check_inlined(struct uk_build *b) {
    for (int i = 0; i < b->function->intrinsics; i++)
        for (int k = 0; k < UK_FORMS; k++) {
            const struct uk_form *form = &b->function->intrinsic[i]->form[k];

            if (form->is_declared && LLVMGetNamedFunction(b->module, form->symbol) &&
                !uk_objects_define(b, form->symbol))
                return uk_fail(
                    b->context, UK_LINK, form->at,
                    "kernel %s was not inlined: a call of %s is left; it must not call itself, take its own "
                    "address, or use variable arguments, setjmp or indirect branches",
                    b->function->intrinsic[i]->name, form->symbol);
        }
    return UK_OK;
}

/* Fails if a GPU's kernel has a local array left, which would be in scratch memory: an index into its
 * register operand is not a constant. */
static enum uk_status check_scratch(struct uk_build *b) {
    const struct uk_intrinsic *in = b->function->intrinsics ? b->function->intrinsic[0] : NULL;

    for (LLVMValueRef f = LLVMGetFirstFunction(b->module); f; f = LLVMGetNextFunction(f))
        for (LLVMBasicBlockRef bb = LLVMGetFirstBasicBlock(f); bb; bb = LLVMGetNextBasicBlock(bb))
            for (LLVMValueRef i = LLVMGetFirstInstruction(bb); i; i = LLVMGetNextInstruction(i))
                if (LLVMIsAAllocaInst(i)) {
                    uk_build_blames_loops(b);
                    return uk_fail(
                        b->context, UK_LINK, in ? in->at : (struct uk_position){0},
                        "%s: registers are indexed by a value that is not constant, and would be in memory; "
                        "in a kernel unroll the loops over its operands in registers (#pragma unroll)%s%s",
                        b->function->name, in ? ": see " : "", in ? in->name : "");
                }
    return UK_OK;
}

enum uk_status uk_run_passes(struct uk_build *b, const char *passes) {
    LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
    LLVMErrorRef error = LLVMRunPasses(b->module, passes, b->machine, options);
    enum uk_status s = UK_OK;

    LLVMDisposePassBuilderOptions(options);
    if (error || b->diagnostics.length)
        uk_build_blames_loops(b);
    if (error) {
        char *text = LLVMGetErrorMessage(error);

        s = uk_build_fail(b, UK_LINK, "optimization failed", text);
        LLVMDisposeErrorMessage(text);
    } else if (b->diagnostics.length) {
        s = uk_build_fail(b, UK_LINK, "optimization failed", NULL);
    }
    return s;
}

/* ---- kernels while the loops around them are optimized ---- */

static const char is_kernel[] = "uk-kernel";
/* Kernels are not inlined, and calls are neither duplicated nor merged: a merged full tile would lose its
 * constants. */
static const char *const apart[] = {"noinline", "noduplicate", "nomerge"};
enum { APART = sizeof apart / sizeof *apart };

static bool inlines(LLVMValueRef f) {
    unsigned kind = LLVMGetEnumAttributeKindForName("alwaysinline", strlen("alwaysinline"));

    return LLVMGetEnumAttributeAtIndex(f, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, kind);
}

static void add_attribute(LLVMValueRef f, LLVMAttributeRef a) {
    LLVMAddAttributeAtIndex(f, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, a);
}

static void remove_attribute(LLVMValueRef f, const char *name) {
    LLVMRemoveEnumAttributeAtIndex(f, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
                                   LLVMGetEnumAttributeKindForName(name, strlen(name)));
}

static void prevent_inlining(struct uk_build *b) {
    for (LLVMValueRef f = LLVMGetFirstFunction(b->module); f; f = LLVMGetNextFunction(f)) {
        if (!inlines(f))
            continue;
        remove_attribute(f, "alwaysinline");
        for (int i = 0; i < APART; i++)
            add_attribute(f, uk_enum_attribute(b->llvm, apart[i]));
        add_attribute(f, LLVMCreateStringAttribute(b->llvm, is_kernel, strlen(is_kernel), "", 0));
    }
}

static void allow_inlining(struct uk_build *b) {
    for (LLVMValueRef f = LLVMGetFirstFunction(b->module); f; f = LLVMGetNextFunction(f)) {
        if (!LLVMGetStringAttributeAtIndex(f, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, is_kernel,
                                           strlen(is_kernel)))
            continue;
        for (int i = 0; i < APART; i++)
            remove_attribute(f, apart[i]);
        add_attribute(f, uk_enum_attribute(b->llvm, "alwaysinline"));
    }
}

/* Makes the operations of codegen/operation.c internal functions to inline. Returns false if there are
 * none. */
static bool inline_operations(struct uk_build *b) {
    bool any = false;

    for (LLVMValueRef f = LLVMGetFirstFunction(b->module); f; f = LLVMGetNextFunction(f)) {
        if (!LLVMGetStringAttributeAtIndex(f, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, UK_OPERATION,
                                           strlen(UK_OPERATION)))
            continue;
        remove_attribute(f, "noinline");
        add_attribute(f, uk_enum_attribute(b->llvm, "alwaysinline"));
        LLVMSetLinkage(f, LLVMInternalLinkage);
        any = true;
    }
    return any;
}

static enum uk_status run_all(struct uk_build *b) {
    /* Kernels are optimized already; only the code around them needs cleaning. Plain `instcombine` ends the
     * process if one round does not reach a fixpoint. */
    static const char clean[] =
        "always-inline,function(sroa,early-cse,instcombine<no-verify-fixpoint>,simplifycfg,"
        "loop-mssa(licm)),globaldce";
    /* Unrolled loops leave an index per access. With the constant in the address instead, accesses share one
     * register. Loads after more stores than O3 scans are then recognized as equal. */
    static const char addresses[] =
        "function(separate-const-offset-from-gep,early-cse<memssa>,loop-mssa(licm))";
    static const char device[] = "always-inline,default<O3>";

    if (b->host)
        return uk_run_passes(b, device);
    if (!has_plain_loops(b->function))
        return uk_run_passes(b, clean);
    /* Plain loops are left. If all sizes are constants, O3 on everything is faster and optimizes kernels
     * further. */
    if (!uk_has_size_arguments(b->function->program)) {
        enum uk_status done = uk_run_passes(b, device);

        if (!done && inline_operations(b))
            done = uk_run_passes(b, clean);
        return done ? done : uk_run_passes(b, addresses);
    }
    /* A kernel's code can be many times larger and has a copy per call, so it is kept out of O3. */
    prevent_inlining(b);
    enum uk_status s = uk_run_passes(b, "default<O3>");

    allow_inlining(b);
    inline_operations(b);
    if (!s)
        s = uk_run_passes(b, clean);
    return s ? s : uk_run_passes(b, addresses);
}

enum uk_status uk_optimize(struct uk_build *b) {
    enum uk_status s = run_all(b);

    if (!s && b->has_scalar_loop) {
        uk_build_blames_loops(b);
        s = uk_fail(b->context, UK_UNSUPPORTED, (struct uk_position){0},
                    "function %s: a loop that the schedule vectorizes has no vector form on target %s; leave "
                    "`vectorize` out, or use another loop",
                    b->function->name, b->target->name);
    }
    if (!s)
        s = check_inlined(b);
    return s || !b->target->arch->is_device ? s : check_scratch(b);
}
