/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A parallel loop becomes a function task(context, index, thread); the context is an array on the caller's
 * stack with every value that the body uses, eight bytes each. Two perfectly nested parallel loops become one grid.
 * In a long program every nest is a function of its own as well: what LLVM takes for a function grows faster than it.
 */
#include <string.h>
#include "generator.h"

/* A value of the outer function that the inner one reads from its context. */
struct capture {
    LLVMValueRef outer, inner;
    unsigned field;
    struct capture *next;
};

/* The function that is written, inside of another one. */
struct uk_cg_frame {
    struct uk_cg_frame *outer;
    LLVMBasicBlockRef entry; /* reads the context; ends when the function does */
    unsigned fields;
    struct capture *captures;
    /* the outer function's state */
    LLVMValueRef function, thread;
    LLVMBasicBlockRef here;
    bool in_parallel;
};

struct grid {
    const struct uk_node *loop[2]; /* loop[1] is NULL or directly inside loop[0] */
    LLVMValueRef lower[2], count[2];
};

static LLVMValueRef trip_count(struct uk_codegen *g, const struct uk_node *n, LLVMValueRef lower) {
    LLVMValueRef span = uk_cg_arithmetic(g, UK_I_SUB, uk_cg_index(g, n->upper), lower);

    span = uk_cg_intrinsic(g, "llvm.smax", g->i64, (LLVMValueRef[]){span, uk_cg_int(g, 0)}, 2);
    span = uk_cg_arithmetic(g, UK_I_ADD, span, uk_cg_int(g, n->step - 1));
    return LLVMBuildUDiv(g->b, span, uk_cg_int(g, n->step), "tasks");
}

static struct grid make_grid(struct uk_codegen *g, const struct uk_node *n) {
    const struct uk_node *in = n->body;
    struct grid grid = {.loop = {n, NULL}};

    if (in && !in->next && in->op == UK_N_FOR && in->loop == UK_LOOP_PARALLEL &&
        !uk_mentions(in->lower, n->var) && !uk_mentions(in->upper, n->var))
        grid.loop[1] = in;
    for (int i = 0; i < 2 && grid.loop[i]; i++) {
        grid.lower[i] = uk_cg_index(g, grid.loop[i]->lower);
        grid.count[i] = trip_count(g, grid.loop[i], grid.lower[i]);
    }
    return grid;
}

/* ---- a function inside another one ---- */

static LLVMValueRef owner(LLVMValueRef v) {
    if (LLVMIsAInstruction(v))
        return LLVMGetBasicBlockParent(LLVMGetInstructionParent(v));
    return LLVMIsAArgument(v) ? LLVMGetParamParent(v) : NULL;
}

static LLVMValueRef field_at(struct uk_codegen *g, LLVMValueRef context, unsigned field) {
    LLVMValueRef at = uk_cg_int(g, field);

    return LLVMBuildInBoundsGEP2(g->b, g->i64, context, &at, 1, "");
}

/* The value in `function`, which frame f writes: its own, a constant, or one that its context brings. Only what is
 * used is brought, so that a function costs what is in it, and not what is in the program. */
static LLVMValueRef local(struct uk_codegen *g, struct uk_cg_frame *f, LLVMValueRef function,
                          LLVMValueRef v) {
    LLVMValueRef of = v ? owner(v) : NULL;
    size_t length;

    if (!of || of == function || !f)
        return v;
    for (const struct capture *c = f->captures; c; c = c->next)
        if (c->outer == v)
            return c->inner;
    struct capture *c = uk_alloc(&g->arena, sizeof *c);
    if (!c) {
        uk_cg_fail(g, UK_OUT_OF_MEMORY, NULL, NULL);
        return LLVMGetPoison(LLVMTypeOf(v));
    }
    LLVMBasicBlockRef here = LLVMGetInsertBlock(g->b);
    LLVMPositionBuilderAtEnd(g->b, f->entry);
    *c = (struct capture){v, NULL, f->fields++, f->captures};
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

/* Binds the loop variables of one task. */
static void bind_grid(struct uk_codegen *g, const struct grid *grid, LLVMValueRef index) {
    for (int i = 0; i < 2 && grid->loop[i]; i++) {
        const struct uk_node *n = grid->loop[i];
        LLVMValueRef at = index;

        if (grid->loop[1]) {
            LLVMValueRef count = uk_cg_local(g, grid->count[1]);

            at = i ? LLVMBuildURem(g->b, index, count, "") : LLVMBuildUDiv(g->b, index, count, "");
        }
        at = uk_cg_arithmetic(g, UK_I_MUL, at, uk_cg_int(g, n->step));
        at = uk_cg_arithmetic(g, UK_I_ADD, at, uk_cg_local(g, grid->lower[i]));
        if (LLVMIsAInstruction(at))
            LLVMSetValueName2(at, n->var->name, strlen(n->var->name));
        uk_cg_bind(g, n->var, at, uk_cg_not_negative(g, n->lower));
    }
}

/* Begins NAME.LABELn(context, ...), a function of the module's own. */
static LLVMValueRef enter(struct uk_codegen *g, struct uk_cg_frame *f, LLVMTypeRef type, const char *label) {
    char *name = uk_format(&g->arena, "%s.%s%d", g->f->name, label, g->tasks++);

    *f = (struct uk_cg_frame){.outer = g->frame,
                              .function = g->function,
                              .thread = g->thread,
                              .here = LLVMGetInsertBlock(g->b),
                              .in_parallel = g->in_parallel};
    g->function = LLVMAddFunction(g->module, name ? name : "", type);
    g->frame = f;
    LLVMSetLinkage(g->function, LLVMInternalLinkage);
    uk_cg_attribute(g, g->function, (unsigned)LLVMAttributeFunctionIndex, "nounwind", 0);
    uk_cg_whole_vectors(g, g->function);
    f->entry = uk_cg_block(g, "entry");
    LLVMPositionBuilderAtEnd(g->b, uk_cg_block(g, "body"));
    return g->function;
}

/* Ends it. Returns the context, which is written where the outer function goes on. */
static LLVMValueRef leave(struct uk_codegen *g, struct uk_cg_frame *f) {
    LLVMValueRef inner = g->function, context;

    LLVMBuildRetVoid(g->b);
    LLVMPositionBuilderAtEnd(g->b, f->entry);
    LLVMBuildBr(g->b, LLVMGetNextBasicBlock(LLVMGetEntryBasicBlock(inner)));
    g->function = f->function;
    g->thread = f->thread;
    g->in_parallel = f->in_parallel;
    g->frame = f->outer;
    LLVMPositionBuilderAtEnd(g->b, f->here);
    context = uk_cg_variable(g, LLVMArrayType2(g->i64, f->fields), "context");
    for (const struct capture *c = f->captures; c; c = c->next)
        LLVMBuildStore(g->b, uk_cg_local(g, c->outer), field_at(g, context, c->field));
    return context;
}

void uk_cg_parallel(struct uk_codegen *g, const struct uk_node *n) {
    struct grid grid = make_grid(g, n);
    LLVMValueRef total =
        grid.loop[1] ? uk_cg_arithmetic(g, UK_I_MUL, grid.count[0], grid.count[1]) : grid.count[0];
    LLVMTypeRef nothing = LLVMVoidTypeInContext(g->llvm), parameter[] = {g->ptr, g->i64, g->i64};
    LLVMTypeRef run_type = LLVMFunctionType(nothing, (LLVMTypeRef[]){g->ptr, g->ptr, g->i64}, 3, false);
    struct uk_binding *outside = g->bindings;
    struct uk_cg_frame f;
    LLVMValueRef task = enter(g, &f, LLVMFunctionType(nothing, parameter, 3, false), grid.loop[0]->var->name);

    g->in_parallel = true;
    g->thread = LLVMGetParam(task, 2);
    LLVMSetValueName2(g->thread, "thread", 6);
    bind_grid(g, &grid, LLVMGetParam(task, 1));
    uk_cg_nodes(g, (grid.loop[1] ? grid.loop[1] : grid.loop[0])->body);
    g->bindings = outside;
    LLVMValueRef context = leave(g, &f);
    LLVMBuildCall2(g->b, run_type, uk_cg_declare(g, "uk_parallel_for", run_type),
                   (LLVMValueRef[]){task, context, total}, 3, "");
}

void uk_cg_nest(struct uk_codegen *g, const struct uk_node *n) {
    LLVMTypeRef type = LLVMFunctionType(LLVMVoidTypeInContext(g->llvm), &g->ptr, 1, false);
    struct uk_cg_frame f;
    LLVMValueRef nest = enter(g, &f, type, "nest");

    uk_cg_attribute(g, nest, (unsigned)LLVMAttributeFunctionIndex, "noinline", 0);
    uk_cg_node(g, n);
    LLVMValueRef context = leave(g, &f);
    LLVMBuildCall2(g->b, type, nest, &context, 1, "");
}
