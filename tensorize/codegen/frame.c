/* SPDX-License-Identifier: Apache-2.0 */
/* Functions inside other functions, and the values that they capture. */
#include "generator.h"

/* A value of the outer function that the inner one reads from its context. */
struct uk_cg_capture {
    LLVMValueRef outer, inner;
    unsigned field;
    struct uk_cg_capture *next;
};

static LLVMValueRef owner(LLVMValueRef v) {
    if (LLVMIsAInstruction(v))
        return LLVMGetBasicBlockParent(LLVMGetInstructionParent(v));
    return LLVMIsAArgument(v) ? LLVMGetParamParent(v) : NULL;
}

static LLVMValueRef field_at(struct uk_codegen *g, LLVMValueRef context, unsigned field) {
    LLVMValueRef at = uk_cg_int(g, field);

    return LLVMBuildInBoundsGEP2(g->b, g->i64, context, &at, 1, "");
}

/* The value in `function`, which frame f generates: its own, a constant, or one that its context passes. Only
 * used values are passed, so the cost of a function depends on its own size and not on the program's. */
static LLVMValueRef local(struct uk_codegen *g, struct uk_cg_frame *f, LLVMValueRef function,
                          LLVMValueRef v) {
    LLVMValueRef of = v ? owner(v) : NULL;
    size_t length;

    if (!of || of == function || !f)
        return v;
    for (const struct uk_cg_capture *c = f->captures; c; c = c->next)
        if (c->outer == v)
            return c->inner;
    struct uk_cg_capture *c = uk_alloc(&g->arena, sizeof *c);
    if (!c) {
        uk_cg_fail(g, UK_OUT_OF_MEMORY, NULL, NULL);
        return LLVMGetPoison(LLVMTypeOf(v));
    }
    LLVMBasicBlockRef here = LLVMGetInsertBlock(g->b);
    LLVMPositionBuilderAtEnd(g->b, f->entry);
    *c = (struct uk_cg_capture){v, NULL, f->fields++, f->captures};
    c->inner = LLVMBuildLoad2(g->b, LLVMTypeOf(v), field_at(g, LLVMGetParam(function, 0), c->field),
                              LLVMGetValueName2(v, &length));
    f->captures = c;
    LLVMPositionBuilderAtEnd(g->b, here);
    return c->inner;
}

LLVMValueRef uk_cg_local(struct uk_codegen *g, LLVMValueRef v) {
    return local(g, g->frame, g->function, v);
}

LLVMValueRef uk_cg_variable(struct uk_codegen *g, LLVMTypeRef type, const char *name) {
    LLVMBasicBlockRef here = LLVMGetInsertBlock(g->b), entry = LLVMGetEntryBasicBlock(g->function);
    LLVMValueRef first = LLVMGetFirstInstruction(entry);

    if (first)
        LLVMPositionBuilderBefore(g->b, first);
    else
        LLVMPositionBuilderAtEnd(g->b, entry);
    LLVMValueRef at = LLVMBuildAlloca(g->b, type, name);

    LLVMPositionBuilderAtEnd(g->b, here);
    return at;
}

LLVMValueRef uk_cg_enter(struct uk_codegen *g, struct uk_cg_frame *f, LLVMTypeRef type, const char *label) {
    char *name = uk_format(&g->arena, "%s.%s%d", g->f->name, label, g->tasks++);

    *f = (struct uk_cg_frame){.outer = g->frame,
                              .function = g->function,
                              .thread = g->thread,
                              .insert_block = LLVMGetInsertBlock(g->b),
                              .in_parallel = g->in_parallel};
    g->function = LLVMAddFunction(g->module, name ? name : "", type);
    g->frame = f;
    LLVMSetLinkage(g->function, LLVMInternalLinkage);
    uk_cg_attribute(g, g->function, (unsigned)LLVMAttributeFunctionIndex, "nounwind", 0);
    uk_cg_prefer_full_vectors(g, g->function);
    f->entry = uk_cg_block(g, "entry");
    LLVMPositionBuilderAtEnd(g->b, uk_cg_block(g, "body"));
    return g->function;
}

LLVMValueRef uk_cg_leave(struct uk_codegen *g, struct uk_cg_frame *f) {
    LLVMValueRef inner = g->function, context;

    LLVMBuildRetVoid(g->b);
    LLVMPositionBuilderAtEnd(g->b, f->entry);
    LLVMBuildBr(g->b, LLVMGetNextBasicBlock(LLVMGetEntryBasicBlock(inner)));
    g->function = f->function;
    g->thread = f->thread;
    g->in_parallel = f->in_parallel;
    g->frame = f->outer;
    LLVMPositionBuilderAtEnd(g->b, f->insert_block);
    context = uk_cg_variable(g, LLVMArrayType2(g->i64, f->fields), "context");
    for (const struct uk_cg_capture *c = f->captures; c; c = c->next)
        LLVMBuildStore(g->b, uk_cg_local(g, c->outer), field_at(g, context, c->field));
    return context;
}
