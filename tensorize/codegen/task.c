/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A parallel loop becomes a function task(context, index, thread); the context is an array on the caller's
 * stack with every value that the body uses, eight bytes each. Two perfectly nested parallel loops become one
 * grid. In a long program every nest is a separate function as well, because LLVM's time grows faster than
 * the size of a function.
 */
#include <string.h>
#include "generator.h"

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
        uk_cg_bind(g, n->var, at, uk_cg_loop_range(g, n));
    }
}

void uk_cg_parallel(struct uk_codegen *g, const struct uk_node *n) {
    struct grid grid = make_grid(g, n);
    LLVMValueRef total =
        grid.loop[1] ? uk_cg_arithmetic(g, UK_I_MUL, grid.count[0], grid.count[1]) : grid.count[0];
    LLVMTypeRef nothing = LLVMVoidTypeInContext(g->llvm), parameter[] = {g->ptr, g->i64, g->i64};
    LLVMTypeRef run_type = LLVMFunctionType(nothing, (LLVMTypeRef[]){g->ptr, g->ptr, g->i64}, 3, false);
    struct uk_binding *outside = g->bindings;
    const bool needs_state = uk_cg_task_needs_state(n->body);
    struct uk_cg_frame f;
    LLVMValueRef task =
        uk_cg_enter(g, &f, LLVMFunctionType(nothing, parameter, 3, false), grid.loop[0]->var->name);

    g->in_parallel = true;
    g->thread = LLVMGetParam(task, 2);
    LLVMSetValueName2(g->thread, "thread", 6);
    bind_grid(g, &grid, LLVMGetParam(task, 1));
    if (needs_state)
        uk_cg_load_state(g);
    uk_cg_nodes(g, (grid.loop[1] ? grid.loop[1] : grid.loop[0])->body);
    if (needs_state)
        uk_cg_release_state(g);
    g->bindings = outside;
    LLVMValueRef context = uk_cg_leave(g, &f);
    LLVMBuildCall2(g->b, run_type, uk_cg_declare(g, "uk_parallel_for", run_type),
                   (LLVMValueRef[]){task, context, total}, 3, "");
    if (needs_state && g->holds_state)
        uk_cg_load_state(g); /* a task on this thread has released it */
}

void uk_cg_nest(struct uk_codegen *g, const struct uk_node *n) {
    LLVMTypeRef type = LLVMFunctionType(LLVMVoidTypeInContext(g->llvm), &g->ptr, 1, false);
    struct uk_cg_frame f;
    LLVMValueRef nest = uk_cg_enter(g, &f, type, "nest");

    uk_cg_attribute(g, nest, (unsigned)LLVMAttributeFunctionIndex, "noinline", 0);
    uk_cg_node(g, n);
    LLVMValueRef context = uk_cg_leave(g, &f);
    LLVMBuildCall2(g->b, type, nest, &context, 1, "");
}
