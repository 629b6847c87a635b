/* SPDX-License-Identifier: Apache-2.0 */
/* The choice at entry between the versions of a program, by their conditions on the sizes. */
#include <string.h>
#include "generator.h"

/* The function NAME.N followed by the suffix. */
static LLVMValueRef function_of(struct uk_codegen *g, const struct uk_function_version *v,
                                const char *suffix) {
    const char *name = uk_format(&g->arena, "%s%s", v->function->name, suffix);

    return name ? LLVMGetNamedFunction(g->module, name) : NULL;
}

/* Binds the sizes to the function's parameters. */
static void bind_sizes(struct uk_codegen *g, unsigned first) {
    for (const struct uk_var *v = g->f->program->sizes; v; v = v->next) {
        LLVMValueRef value = v->defined ? uk_cg_int(g, v->value) : LLVMGetParam(g->function, first++);

        if (!v->defined)
            LLVMSetValueName2(value, v->name, strlen(v->name));
        uk_cg_bind(g, v, value, uk_cg_any);
    }
}

LLVMValueRef uk_cg_holds(struct uk_codegen *g, const struct uk_index *condition) {
    LLVMValueRef overflow = LLVMConstInt(g->i1, 0, false);

    g->overflow = &overflow;
    LLVMValueRef value = uk_cg_condition(g, condition);
    g->overflow = NULL;
    return LLVMBuildAnd(g->b, value, LLVMBuildNot(g->b, overflow, ""), "holds");
}

/* True if the version's condition holds, and its kernels' indices suffice. */
static LLVMValueRef takes(struct uk_codegen *g, const struct uk_function_version *v) {
    LLVMValueRef value = uk_cg_holds(g, v->condition);

    return v->function->is_short ? LLVMBuildAnd(g->b, value, uk_cg_holds(g, v->function->fits), "") : value;
}

/* Calls the version's function with all parameters, and returns its result. */
static void call(struct uk_codegen *g, LLVMValueRef f, LLVMValueRef *arg, unsigned n) {
    LLVMBuildRet(g->b, LLVMBuildCall2(g->b, LLVMGlobalGetValueType(f), f, arg, n, ""));
}

void uk_cg_choose_version(struct uk_codegen *g, const char *suffix) {
    const struct uk_function_version *v = g->f->versions;
    struct uk_binding *outside = g->bindings;
    const char *name = uk_format(&g->arena, "%s%s", g->f->name, suffix);
    LLVMValueRef f = function_of(g, v, suffix);
    const unsigned n = f ? LLVMCountParams(f) : 0;
    LLVMValueRef *arg = uk_alloc(&g->arena, (n + 1) * sizeof *arg);

    if (!name || !f || !arg) {
        uk_cg_fail(g, UK_OUT_OF_MEMORY, NULL, NULL);
        return;
    }
    g->function = LLVMAddFunction(g->module, name, LLVMGlobalGetValueType(f));
    uk_cg_attribute(g, g->function, (unsigned)LLVMAttributeFunctionIndex, "nounwind", 0);
    LLVMPositionBuilderAtEnd(g->b, uk_cg_block(g, "entry"));
    LLVMGetParams(g->function, arg);
    bind_sizes(g, *suffix ? 0 : g->first);
    for (; v->condition; v = v->next) {
        LLVMBasicBlockRef taken = uk_cg_block(g, "taken"), other = uk_cg_block(g, "other");

        if ((f = function_of(g, v, suffix))) {
            LLVMBuildCondBr(g->b, takes(g, v), taken, other);
            LLVMPositionBuilderAtEnd(g->b, taken);
            call(g, f, arg, n);
        }
        LLVMPositionBuilderAtEnd(g->b, other);
    }
    if ((f = function_of(g, v, suffix)))
        call(g, f, arg, n);
    else
        uk_cg_fail(g, UK_OUT_OF_MEMORY, NULL, NULL);
    g->bindings = outside;
}
