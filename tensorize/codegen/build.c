/* SPDX-License-Identifier: Apache-2.0 */
/* Building blocks of all files of the generator: failures, types, blocks, declarations, attributes. */
#include <string.h>
#include "generator.h"

void uk_cg_fail(struct uk_codegen *g, enum uk_status status, const char *what, const char *name) {
    struct uk_context *c = g->build->context;
    struct uk_position nowhere = {0, 0};

    if (g->status)
        return;
    if (status == UK_UNSUPPORTED)
        uk_build_blames_loops(g->build);
    if (status == UK_OUT_OF_MEMORY)
        g->status = uk_out_of_memory(c);
    else
        g->status = uk_fail(c, status, nowhere, "function %s: %s: %s%s", g->f->name, what, name,
                            status == UK_INTERNAL ? "; please report this" : "");
}

LLVMTypeRef uk_llvm_type(LLVMContextRef llvm, int ctype) {
    switch (ctype) {
    case UK_F64:
        return LLVMDoubleTypeInContext(llvm);
    case UK_F32:
        return LLVMFloatTypeInContext(llvm);
    case UK_F16:
        return LLVMHalfTypeInContext(llvm);
    case UK_BF16:
        return LLVMBFloatTypeInContext(llvm);
    case UK_CTYPE_PTR:
        return LLVMPointerTypeInContext(llvm, 0);
    case UK_CTYPE_VOID:
        return LLVMVoidTypeInContext(llvm);
    default:
        return LLVMIntTypeInContext(llvm, 8 * (unsigned)uk_type_bytes((enum uk_type)ctype));
    }
}

/* The address space of an operand: from the kernel's row, or from the scope of its tensor in the
 * declaration. */
static enum uk_space space_of(const struct uk_intrinsic *in, const struct uk_tensor *tensor) {
    int i = 0;

    for (const struct uk_tensor *t = in->declaration->tensors; t && t != tensor; t = t->next)
        i++;
    if (in->row && i < 3)
        return uk_kernel_space(in->row, i);
    return tensor->scope == UK_SCOPE_SHARED     ? UK_SPACE_SHARED
           : tensor->scope == UK_SCOPE_REGISTER ? UK_SPACE_PRIVATE
                                                : UK_SPACE_GENERIC;
}

LLVMTypeRef uk_llvm_prototype(const struct uk_build *b, const struct uk_intrinsic *in,
                              const struct uk_form *form, struct uk_arena *a) {
    LLVMTypeRef *type = uk_alloc(a, ((size_t)form->arguments + 1) * sizeof *type);

    if (!type)
        return NULL;
    for (int i = 0; i < form->arguments; i++) {
        const struct uk_tensor *t = form->argument[i].tensor;

        type[i] = t ? LLVMPointerTypeInContext(b->llvm, b->target->arch->spaces[space_of(in, t)])
                    : uk_llvm_type(b->llvm, form->argument[i].ctype);
    }
    return LLVMFunctionType(uk_llvm_type(b->llvm, form->result), type, (unsigned)form->arguments, false);
}

LLVMBasicBlockRef uk_cg_block(struct uk_codegen *g, const char *name) {
    return LLVMAppendBasicBlockInContext(g->llvm, g->function, name);
}

LLVMValueRef uk_cg_declare(struct uk_codegen *g, const char *name, LLVMTypeRef type) {
    LLVMValueRef f = LLVMGetNamedFunction(g->module, name);

    if (f && !LLVMIsDeclaration(f))
        uk_cg_fail(g, UK_INVALID_ARGUMENT,
                   "its code calls another function of this name; rename the program's file", name);
    return f ? f : LLVMAddFunction(g->module, name, type);
}

LLVMValueRef uk_cg_intrinsic(struct uk_codegen *g, const char *name, LLVMTypeRef type, LLVMValueRef *arg,
                             int n) {
    unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
    LLVMValueRef f = LLVMGetIntrinsicDeclaration(g->module, id, &type, 1);

    return LLVMBuildCall2(g->b, LLVMGlobalGetValueType(f), f, arg, (unsigned)n, "");
}

LLVMAttributeRef uk_cg_enum_attribute(struct uk_codegen *g, const char *name, uint64_t value) {
    return LLVMCreateEnumAttribute(g->llvm, LLVMGetEnumAttributeKindForName(name, strlen(name)), value);
}

void uk_cg_attribute(struct uk_codegen *g, LLVMValueRef f, unsigned at, const char *name, uint64_t value) {
    LLVMAddAttributeAtIndex(f, at, uk_cg_enum_attribute(g, name, value));
}

LLVMValueRef uk_cg_int(struct uk_codegen *g, int64_t v) {
    return LLVMConstInt(g->i64, (unsigned long long)v, true);
}

LLVMValueRef uk_cg_int_as(LLVMValueRef v, int64_t value) {
    return LLVMConstInt(LLVMTypeOf(v), (unsigned long long)value, true);
}

void uk_cg_place(struct uk_codegen *g, const struct uk_tensor *t, LLVMValueRef base, LLVMValueRef stride) {
    struct uk_place *n = uk_alloc(&g->arena, sizeof *n);

    if (!n) {
        uk_cg_fail(g, UK_OUT_OF_MEMORY, NULL, NULL);
        return;
    }
    *n = (struct uk_place){.tensor = t, .base = base, .thread_stride = stride, .next = g->places};
    g->places = n;
}

void uk_cg_leave_if(struct uk_codegen *g, LLVMValueRef bad, LLVMValueRef status, const char *name) {
    LLVMBasicBlockRef leave = uk_cg_block(g, "leave"), go_on = uk_cg_block(g, name);

    LLVMBuildCondBr(g->b, bad, leave, go_on);
    LLVMPositionBuilderAtEnd(g->b, leave);
    LLVMBuildRet(g->b, status);
    LLVMPositionBuilderAtEnd(g->b, go_on);
}

void uk_cg_branch_rarely(struct uk_codegen *g, LLVMValueRef condition, LLVMBasicBlockRef then,
                         LLVMBasicBlockRef other) {
    enum { ONCE_IN = 2000 };
    static const char text[] = "branch_weights", kind[] = "prof";
    LLVMMetadataRef weight[] = {LLVMMDStringInContext2(g->llvm, text, sizeof text - 1),
                                LLVMValueAsMetadata(LLVMConstInt(g->i32, 1, false)),
                                LLVMValueAsMetadata(LLVMConstInt(g->i32, ONCE_IN, false))};
    LLVMValueRef branch = LLVMBuildCondBr(g->b, condition, then, other);

    LLVMSetMetadata(branch, LLVMGetMDKindIDInContext(g->llvm, kind, sizeof kind - 1),
                    LLVMMetadataAsValue(g->llvm, LLVMMDNodeInContext2(g->llvm, weight, 3)));
}
