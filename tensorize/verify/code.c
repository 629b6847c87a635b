/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The machine code that `uk verify` calls: every form of every intrinsic, compiled from its source, not
 * inlined, and a visible function of the same prototype for each that only jumps to it. So the registers and
 * the stack that the kernel sees and leaves are those of that function's caller.
 */
#include <stdlib.h>
#include <string.h>
#include "verify.h"

char *uk_verify_call_name(struct uk_arena *a, int intrinsic, int form) {
    return uk_format(a, "uk.verify.%d.%d", intrinsic, form);
}

LLVMValueRef uk_verify_declare(struct uk_build *b, const struct uk_intrinsic *i, const struct uk_form *form,
                               struct uk_arena *a) {
    LLVMTypeRef type = uk_llvm_prototype(b, i, form, a);
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

/* The caller extends values narrower than 32 bits. */
static void extend(struct uk_build *b, LLVMValueRef f, LLVMValueRef call, const struct uk_form *form) {
    for (int k = 0; k < form->arguments; k++) {
        const int type = form->argument[k].ctype;
        const char *name = uk_type_is_unsigned((enum uk_type)type) ? "zeroext" : "signext";
        unsigned kind = LLVMGetEnumAttributeKindForName(name, strlen(name));

        if (type < UK_I64 || type >= UK_TYPES || uk_type_bytes((enum uk_type)type) >= 4)
            continue;
        LLVMAddAttributeAtIndex(f, (unsigned)k + 1, LLVMCreateEnumAttribute(b->llvm, kind, 0));
        LLVMAddCallSiteAttribute(call, (unsigned)k + 1, LLVMCreateEnumAttribute(b->llvm, kind, 0));
    }
}

static enum uk_status add_call(struct uk_build *b, const struct uk_intrinsic *i, enum uk_form_kind form,
                               const char *name, struct uk_arena *a) {
    const struct uk_form *f = &i->form[form];
    LLVMValueRef kernel = uk_verify_declare(b, i, f, a), argument[UK_VERIFY_WORDS];

    if (!kernel)
        return uk_failure(b->context);
    LLVMTypeRef type = LLVMGlobalGetValueType(kernel);
    LLVMValueRef outside = LLVMAddFunction(b->module, name, type);
    LLVMBuilderRef at = LLVMCreateBuilderInContext(b->llvm);

    LLVMPositionBuilderAtEnd(at, LLVMAppendBasicBlockInContext(b->llvm, outside, "entry"));
    LLVMGetParams(outside, argument);
    LLVMValueRef call = LLVMBuildCall2(at, type, kernel, argument, (unsigned)f->arguments, "");

    /* LLVM aborts if it cannot do a musttail call, as on RISC-V with arguments on the stack. */
    LLVMSetTailCallKind(call,
                        b->target->arch == uk_own_arch() ? LLVMTailCallKindMustTail : LLVMTailCallKindTail);
    extend(b, outside, call, f);
    if (f->result == UK_CTYPE_VOID)
        LLVMBuildRetVoid(at);
    else
        LLVMBuildRet(at, call);
    LLVMDisposeBuilder(at);
    return UK_OK;
}

static enum uk_status add_calls(struct uk_build *b, struct uk_arena *a) {
    for (int i = 0; i < b->function->intrinsics; i++)
        for (int k = 0; k < UK_FORMS; k++) {
            const struct uk_intrinsic *in = b->function->intrinsic[i];
            char *name = uk_verify_call_name(a, i, k);
            enum uk_status s = UK_OK;

            if (!name)
                return uk_out_of_memory(b->context);
            if (in->form[k].is_declared)
                s = add_call(b, in, (enum uk_form_kind)k, name, a);
            if (s)
                return s;
        }
    return UK_OK;
}

enum uk_status uk_verify_check_asm(struct uk_build *b, struct uk_text *found) {
    for (int i = 0; i < b->function->intrinsics; i++)
        for (int k = 0; k < UK_FORMS; k++) {
            const struct uk_form *f = &b->function->intrinsic[i]->form[k];

            if (f->is_declared && uk_verify_asm(b->module, f->symbol, &found[i * UK_FORMS + k]))
                return uk_out_of_memory(b->context);
        }
    return UK_OK;
}

enum uk_status uk_verify_compile(struct uk_program *p, const struct uk_target *t,
                                 struct uk_intrinsic *const *list, int count, LLVMMemoryBufferRef *object,
                                 struct uk_text *asm_found) {
    struct uk_function f = {
        .program = p, .name = "uk.verify", .intrinsics = count, .intrinsic = (struct uk_intrinsic **)list};
    struct uk_arena arena = {0};
    struct uk_build b;
    enum uk_status s = uk_build_begin(&b, p->context, &f, t);

    *object = NULL;
    if (s)
        return s;
    s = add_calls(&b, &arena);
    if (!s)
        s = uk_link(&b);
    if (!s)
        s = uk_verify_check_asm(&b, asm_found);
    if (!s)
        s = uk_build_assemble(&b, LLVMObjectFile, object);
    uk_build_end(&b);
    uk_arena_free(&arena);
    return s;
}

enum uk_status uk_verify_find(struct uk_context *c, LLVMOrcLLJITRef jit, int intrinsic,
                              enum uk_form_kind form, void (**call)(void)) {
    struct uk_arena arena = {0};
    char *name = uk_verify_call_name(&arena, intrinsic, (int)form);
    LLVMOrcExecutorAddress at = 0;
    enum uk_status s = name ? uk_jit_find(c, jit, name, &at) : uk_out_of_memory(c);

    memcpy(call, &at, sizeof *call);
    uk_arena_free(&arena);
    return s;
}
