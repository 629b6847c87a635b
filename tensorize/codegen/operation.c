/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operations that LLVM's vectorizer does not know: instructions that only an intrinsic selects, or code that
 * branches on a whole vector. An operation is a function of numbers; the vectorizer finds its forms for
 * vectors by an attribute of the call (vector-function-abi-variant). The functions are kept apart and
 * external while loops are vectorized, so that neither is inlined or changed; then link/optimize.c inlines
 * all of them.
 */
#include <stdio.h>
#include <string.h>
#include "generator.h"

enum {
    VECTOR = 512,    /* bits of the widest vector; a form for wider ones computes it in parts */
    NARROWEST = 128, /* bits */
    WIDEST = 2048,   /* a vector of bytes is made from as many bits of f32 */
    NAME = 48
};

static unsigned bits_of(struct uk_codegen *g, LLVMTypeRef type) {
    return type == g->f64 ? 64 : 32;
}

LLVMValueRef uk_cg_splat(LLVMTypeRef vector, LLVMValueRef constant) {
    const unsigned n = LLVMGetVectorSize(vector);
    LLVMValueRef all[WIDEST / 32];

    for (unsigned i = 0; i < n; i++)
        all[i] = constant;
    return LLVMConstVector(all, n);
}

/* n elements of v from `from` on; after its last element the first follows. */
static LLVMValueRef part_of(struct uk_codegen *g, LLVMValueRef v, unsigned from, unsigned n) {
    const unsigned elements = LLVMGetVectorSize(LLVMTypeOf(v));
    LLVMValueRef index[WIDEST / 32];

    for (unsigned i = 0; i < n; i++)
        index[i] = LLVMConstInt(g->i32, (from + i) % elements, false);
    return LLVMBuildShuffleVector(g->b, v, LLVMGetPoison(LLVMTypeOf(v)), LLVMConstVector(index, n), "");
}

static LLVMValueRef joined(struct uk_codegen *g, LLVMValueRef low, LLVMValueRef high, unsigned n) {
    LLVMValueRef index[WIDEST / 32];

    for (unsigned i = 0; i < n; i++)
        index[i] = LLVMConstInt(g->i32, i, false);
    return LLVMBuildShuffleVector(g->b, low, high, LLVMConstVector(index, n), "");
}

/* The operation on vectors of n numbers: by halves if they are wider than the machine's; if they are narrower
 * numbers are repeated, so that no other number decides for another branch. */
static LLVMValueRef of_vectors(struct uk_codegen *g, const struct uk_vector_op *o, LLVMTypeRef type,
                               unsigned n, LLVMValueRef *arg) {
    const unsigned narrowest = NARROWEST / bits_of(g, type);
    LLVMValueRef part[2][UK_OPERANDS], half[2];

    if (n < narrowest) {
        for (int i = 0; i < o->operands; i++)
            part[0][i] = part_of(g, arg[i], 0, narrowest);
        return part_of(g, o->code(g, LLVMVectorType(type, narrowest), part[0]), 0, n);
    }
    if (n * bits_of(g, type) <= VECTOR)
        return o->code(g, LLVMVectorType(type, n), arg);
    for (unsigned h = 0; h < 2; h++) {
        for (int i = 0; i < o->operands; i++)
            part[h][i] = part_of(g, arg[i], h * n / 2, n / 2);
        half[h] = of_vectors(g, o, type, n / 2, part[h]);
    }
    return joined(g, half[0], half[1], n);
}

/* A single number is a vector of one. */
static LLVMValueRef of_number(struct uk_codegen *g, const struct uk_vector_op *o, LLVMTypeRef type,
                              LLVMValueRef *arg) {
    LLVMValueRef first = LLVMConstInt(g->i32, 0, false), vector[UK_OPERANDS];

    for (int i = 0; i < o->operands; i++)
        vector[i] = LLVMBuildInsertElement(g->b, LLVMGetPoison(LLVMVectorType(type, 1)), arg[i], first, "");
    return LLVMBuildExtractElement(g->b, of_vectors(g, o, type, 1, vector), first, "");
}

/* Defines the form for n numbers; 1: for one, without vectors. */
static LLVMValueRef define(struct uk_codegen *g, const struct uk_vector_op *o, LLVMTypeRef type, unsigned n,
                           const char *name) {
    static const char *const attribute[] = {"nounwind", "willreturn", "memory", "noinline"};
    LLVMBasicBlockRef here = LLVMGetInsertBlock(g->b);
    LLVMTypeRef t = n > 1 ? LLVMVectorType(type, n) : type, operand[UK_OPERANDS];
    LLVMValueRef outer = g->function, arg[UK_OPERANDS];

    for (int i = 0; i < o->operands; i++)
        operand[i] = t;
    g->function =
        LLVMAddFunction(g->module, name, LLVMFunctionType(t, operand, (unsigned)o->operands, false));
    for (size_t i = 0; i < sizeof attribute / sizeof *attribute; i++)
        uk_cg_attribute(g, g->function, (unsigned)LLVMAttributeFunctionIndex, attribute[i], 0);
    LLVMAddAttributeAtIndex(g->function, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
                            LLVMCreateStringAttribute(g->llvm, UK_OPERATION, sizeof UK_OPERATION - 1, "", 0));
    uk_cg_prefer_full_vectors(g, g->function);
    LLVMPositionBuilderAtEnd(g->b, uk_cg_block(g, "entry"));
    LLVMGetParams(g->function, arg);
    LLVMBuildRet(g->b, n > 1 ? of_vectors(g, o, type, n, arg) : of_number(g, o, type, arg));
    LLVMValueRef f = g->function;

    g->function = outer;
    LLVMPositionBuilderAtEnd(g->b, here);
    return f;
}

/* Defines all forms that are not defined, and writes the text that names those for vectors. */
static LLVMValueRef define_forms(struct uk_codegen *g, const struct uk_vector_op *o, LLVMTypeRef type,
                                 char *forms, size_t room) {
    const unsigned bits = bits_of(g, type);
    char name[NAME], form[NAME];
    size_t used = 0;

    snprintf(name, sizeof name, "uk.%s.f%u", o->name, bits);
    for (unsigned n = 2; n <= WIDEST / bits; n *= 2) {
        snprintf(form, sizeof form, "%s.%u", name, n);
        if (!LLVMGetNamedFunction(g->module, form))
            define(g, o, type, n, form);
        used += (size_t)snprintf(forms + used, room - used, "%s_ZGV_LLVM_N%u%.*s_%s(%s)", used ? "," : "", n,
                                 o->operands, "vvvv", name, form);
    }
    LLVMValueRef f = LLVMGetNamedFunction(g->module, name);

    return f ? f : define(g, o, type, 1, name);
}

LLVMValueRef uk_cg_operation(struct uk_codegen *g, const struct uk_vector_op *o, LLVMTypeRef type,
                             LLVMValueRef *arg) {
    static const char key[] = "vector-function-abi-variant";
    char forms[1024];
    LLVMValueRef f = define_forms(g, o, type, forms, sizeof forms);
    LLVMValueRef call = LLVMBuildCall2(g->b, LLVMGlobalGetValueType(f), f, arg, (unsigned)o->operands, "");

    LLVMAddCallSiteAttribute(
        call, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
        LLVMCreateStringAttribute(g->llvm, key, sizeof key - 1, forms, (unsigned)strlen(forms)));
    return call;
}
