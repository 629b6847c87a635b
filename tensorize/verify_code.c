/*
 * The machine code that `uk verify` calls: every form of every intrinsic as its source compiles it, not inlined,
 * and a function that loads the form's arguments from an array of words and calls it.
 *
 * That function keeps nothing across the call, so that what the kernel does to the caller's registers is still
 * there when it returns.
 */
#include <stdlib.h>
#include <string.h>
#include "verify.h"

static char *call_name(struct uk_arena *a, int intrinsic, int form) {
    return uk_format(a, "uk.verify.%d.%d", intrinsic, form);
}

/* The kernel as its declaration says; NULL after a failure. */
static LLVMValueRef declare(struct uk_build *b, const struct uk_intrinsic *i, const struct uk_form *form,
                            struct uk_arena *a) {
    LLVMTypeRef type = uk_llvm_prototype(b->llvm, form, a);
    LLVMValueRef f = LLVMGetNamedFunction(b->module, form->symbol);

    if (!type) {
        uk_out_of_memory(b->context);
        return NULL;
    }
    if (f && LLVMGlobalGetValueType(f) != type) {
        uk_fail(b->context, UK_LINK, form->at,
                "%s: %s has another prototype in another form or intrinsic; make them agree", i->name,
                form->symbol);
        return NULL;
    }
    return f ? f : LLVMAddFunction(b->module, form->symbol, type);
}

static enum uk_status add_call(struct uk_build *b, const struct uk_intrinsic *i, enum uk_form_kind form,
                               const char *name, struct uk_arena *a) {
    const struct uk_form *f = &i->form[form];
    LLVMTypeRef ptr = LLVMPointerTypeInContext(b->llvm, 0), word = LLVMInt64TypeInContext(b->llvm);
    LLVMValueRef kernel = declare(b, i, f, a), argument[UK_VERIFY_WORDS];

    if (!kernel)
        return uk_failure(b->context);
    LLVMValueRef call =
        LLVMAddFunction(b->module, name, LLVMFunctionType(LLVMVoidTypeInContext(b->llvm), &ptr, 1, false));
    LLVMBuilderRef at = LLVMCreateBuilderInContext(b->llvm);

    LLVMPositionBuilderAtEnd(at, LLVMAppendBasicBlockInContext(b->llvm, call, "entry"));
    for (int k = 0; k < f->arguments; k++) {
        LLVMValueRef n = LLVMConstInt(word, (unsigned)k, false);
        LLVMValueRef from = LLVMBuildInBoundsGEP2(at, word, LLVMGetParam(call, 0), &n, 1, "");

        argument[k] = LLVMBuildLoad2(at, uk_llvm_type(b->llvm, f->argument[k].ctype), from, "");
    }
    LLVMSetTailCall(
        LLVMBuildCall2(at, LLVMGlobalGetValueType(kernel), kernel, argument, (unsigned)f->arguments, ""),
        true);
    LLVMBuildRetVoid(at);
    LLVMDisposeBuilder(at);
    return UK_OK;
}

static enum uk_status add_calls(struct uk_build *b, struct uk_arena *a) {
    for (int i = 0; i < b->function->intrinsics; i++)
        for (int k = 0; k < UK_FORMS; k++) {
            const struct uk_intrinsic *in = b->function->intrinsic[i];
            char *name = call_name(a, i, k);
            enum uk_status s = UK_OK;

            if (!name)
                return uk_out_of_memory(b->context);
            if (in->form[k].given)
                s = add_call(b, in, (enum uk_form_kind)k, name, a);
            if (s)
                return s;
        }
    return UK_OK;
}

enum uk_status uk_verify_compile(struct uk_program *p, const struct uk_target *t,
                                 struct uk_intrinsic *const *list, int count, LLVMOrcLLJITRef *jit) {
    struct uk_function f = {
        .program = p, .name = "uk.verify", .intrinsics = count, .intrinsic = (struct uk_intrinsic **)list};
    struct uk_arena arena = {0};
    LLVMMemoryBufferRef object = NULL;
    struct uk_build b;
    enum uk_status s = uk_target_runnable(p->context, t);

    *jit = NULL;
    if (!s)
        s = uk_build_begin(&b, p->context, &f, t);
    if (s)
        return s;
    s = add_calls(&b, &arena);
    if (!s)
        s = uk_link(&b);
    if (!s)
        s = uk_build_assemble(&b, LLVMObjectFile, &object);
    uk_build_end(&b);
    uk_arena_free(&arena);
    return s ? s : uk_jit_load(p->context, "uk.verify", object, jit);
}

enum uk_status uk_verify_find(struct uk_context *c, LLVMOrcLLJITRef jit, int intrinsic,
                              enum uk_form_kind form, uk_form_call **call) {
    struct uk_arena arena = {0};
    char *name = call_name(&arena, intrinsic, (int)form);
    LLVMOrcExecutorAddress at = 0;
    enum uk_status s = name ? uk_jit_find(c, jit, name, &at) : uk_out_of_memory(c);

    memcpy(call, &at, sizeof *call);
    uk_arena_free(&arena);
    return s;
}
