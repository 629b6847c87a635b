/*
 * A parallel loop becomes a function task(context, index, thread); the context is a struct on the caller's
 * stack with every value that the body may use. Two perfectly nested parallel loops become one grid.
 */
#include <string.h>
#include "codegen.h"

/* A value of the outer function that the task reads from its context, and where the task keeps its own copy.
 */
struct capture {
    LLVMValueRef *slot;
    LLVMValueRef outer;
    struct capture *next;
};

struct grid {
    const struct uk_node *loop[2]; /* loop[1] is NULL or directly inside loop[0] */
    LLVMValueRef lower[2], count[2];
};

static bool uses(const struct uk_index *e, const struct uk_var *v) {
    return e && ((e->op == UK_I_VAR && e->var == v) || uses(e->a, v) || uses(e->b, v) || uses(e->c, v));
}

static LLVMValueRef trip_count(struct uk_codegen *g, const struct uk_node *n, LLVMValueRef lower) {
    LLVMValueRef span = uk_cg_arithmetic(g, UK_I_SUB, uk_cg_index(g, n->upper), lower);

    span = uk_cg_intrinsic(g, "llvm.smax", g->i64, (LLVMValueRef[]){span, uk_cg_int(g, 0)}, 2);
    span = uk_cg_arithmetic(g, UK_I_ADD, span, uk_cg_int(g, n->step - 1));
    return LLVMBuildUDiv(g->b, span, uk_cg_int(g, n->step), "tasks");
}

static struct grid make_grid(struct uk_codegen *g, const struct uk_node *n) {
    const struct uk_node *in = n->body;
    struct grid grid = {.loop = {n, NULL}};

    if (in && !in->next && in->op == UK_N_FOR && in->loop == UK_LOOP_PARALLEL && !uses(in->lower, n->var) &&
        !uses(in->upper, n->var))
        grid.loop[1] = in;
    for (int i = 0; i < 2 && grid.loop[i]; i++) {
        grid.lower[i] = uk_cg_index(g, grid.loop[i]->lower);
        grid.count[i] = trip_count(g, grid.loop[i], grid.lower[i]);
    }
    return grid;
}

static struct capture *capture(struct uk_codegen *g, LLVMValueRef *slot, struct capture *list) {
    if (!*slot || LLVMIsConstant(*slot))
        return list;
    struct capture *c = uk_alloc(&g->arena, sizeof *c);

    if (!c) {
        uk_cg_fail(g, UK_OUT_OF_MEMORY, NULL, NULL);
        return list;
    }
    *c = (struct capture){slot, *slot, list};
    return c;
}

static struct capture *capture_all(struct uk_codegen *g, struct grid *grid) {
    struct capture *list = NULL;

    for (struct uk_binding *b = g->bindings; b; b = b->next)
        list = capture(g, &b->value, list);
    for (struct uk_given_scalar *s = g->scalars; s; s = s->next)
        list = capture(g, &s->value, list);
    for (struct uk_place *p = g->places; p; p = p->next) {
        list = capture(g, &p->base, list);
        list = capture(g, &p->thread_stride, list);
    }
    for (int i = 0; i < 2; i++) {
        list = capture(g, &grid->lower[i], list);
        list = capture(g, &grid->count[i], list);
    }
    return list;
}

static LLVMTypeRef context_type(struct uk_codegen *g, const struct capture *list) {
    unsigned n = 0;

    for (const struct capture *c = list; c; c = c->next)
        n++;
    LLVMTypeRef *field = uk_alloc(&g->arena, (n + 1) * sizeof *field);
    if (!field) {
        uk_cg_fail(g, UK_OUT_OF_MEMORY, NULL, NULL);
        return g->i64;
    }
    n = 0;
    for (const struct capture *c = list; c; c = c->next)
        field[n++] = LLVMTypeOf(c->outer);
    return LLVMStructTypeInContext(g->llvm, field, n, false);
}

/* In the entry block, so that a parallel loop inside a serial one does not grow the stack. */
static LLVMValueRef entry_alloca(struct uk_codegen *g, LLVMTypeRef type) {
    LLVMBasicBlockRef here = LLVMGetInsertBlock(g->b), entry = LLVMGetEntryBasicBlock(g->function);
    LLVMValueRef first = LLVMGetFirstInstruction(entry);

    if (first)
        LLVMPositionBuilderBefore(g->b, first);
    else
        LLVMPositionBuilderAtEnd(g->b, entry);
    LLVMValueRef at = LLVMBuildAlloca(g->b, type, "context");

    LLVMPositionBuilderAtEnd(g->b, here);
    return at;
}

/* Binds the loop variables of one task. */
static void bind_grid(struct uk_codegen *g, const struct grid *grid, LLVMValueRef index) {
    for (int i = 0; i < 2 && grid->loop[i]; i++) {
        const struct uk_node *n = grid->loop[i];
        LLVMValueRef at = index;

        if (grid->loop[1])
            at = i ? LLVMBuildURem(g->b, index, grid->count[1], "")
                   : LLVMBuildUDiv(g->b, index, grid->count[1], "");
        at = uk_cg_arithmetic(g, UK_I_MUL, at, uk_cg_int(g, n->step));
        at = uk_cg_arithmetic(g, UK_I_ADD, at, grid->lower[i]);
        if (LLVMIsAInstruction(at))
            LLVMSetValueName2(at, n->var->name, strlen(n->var->name));
        uk_cg_bind(g, n->var, at, uk_cg_not_negative(g, n->lower));
    }
}

static LLVMValueRef task_function(struct uk_codegen *g, LLVMTypeRef context, struct capture *list,
                                  struct grid *grid) {
    LLVMTypeRef parameter[] = {g->ptr, g->i64, g->i64};
    LLVMTypeRef type = LLVMFunctionType(LLVMVoidTypeInContext(g->llvm), parameter, 3, false);
    char *name = uk_format(&g->arena, "%s.%s%d", g->f->name, grid->loop[0]->var->name, g->tasks++);
    LLVMValueRef f = LLVMAddFunction(g->module, name ? name : "", type);
    struct uk_binding *outside = g->bindings;
    unsigned n = 0;

    LLVMSetLinkage(f, LLVMInternalLinkage);
    uk_cg_attribute(g, f, (unsigned)LLVMAttributeFunctionIndex, "nounwind", 0);
    uk_cg_whole_vectors(g, f);
    g->function = f;
    g->in_parallel = true;
    g->thread = LLVMGetParam(f, 2);
    LLVMSetValueName2(g->thread, "thread", 6);
    LLVMPositionBuilderAtEnd(g->b, uk_cg_block(g, "entry"));
    for (struct capture *c = list; c; c = c->next, n++) {
        LLVMValueRef at = LLVMBuildStructGEP2(g->b, context, LLVMGetParam(f, 0), n, "");
        size_t length;
        const char *label = LLVMGetValueName2(c->outer, &length);

        *c->slot = LLVMBuildLoad2(g->b, LLVMTypeOf(c->outer), at, label);
    }
    bind_grid(g, grid, LLVMGetParam(f, 1));
    uk_cg_nodes(g, (grid->loop[1] ? grid->loop[1] : grid->loop[0])->body);
    LLVMBuildRetVoid(g->b);
    for (struct capture *c = list; c; c = c->next)
        *c->slot = c->outer;
    g->bindings = outside;
    return f;
}

void uk_cg_parallel(struct uk_codegen *g, const struct uk_node *n) {
    struct grid grid = make_grid(g, n);
    LLVMValueRef total =
        grid.loop[1] ? uk_cg_arithmetic(g, UK_I_MUL, grid.count[0], grid.count[1]) : grid.count[0];
    struct capture *list = capture_all(g, &grid);
    LLVMTypeRef type = context_type(g, list), parameter[] = {g->ptr, g->ptr, g->i64};
    LLVMTypeRef run_type = LLVMFunctionType(LLVMVoidTypeInContext(g->llvm), parameter, 3, false);
    LLVMValueRef context = entry_alloca(g, type), outer = g->function, thread = g->thread;
    LLVMBasicBlockRef here = LLVMGetInsertBlock(g->b);
    unsigned i = 0;

    for (struct capture *c = list; c; c = c->next, i++)
        LLVMBuildStore(g->b, c->outer, LLVMBuildStructGEP2(g->b, type, context, i, ""));
    LLVMValueRef task = task_function(g, type, list, &grid);

    g->function = outer;
    g->thread = thread;
    g->in_parallel = false;
    LLVMPositionBuilderAtEnd(g->b, here);
    LLVMBuildCall2(g->b, run_type, uk_cg_declare(g, "uk_parallel_for", run_type),
                   (LLVMValueRef[]){task, context, total}, 3, "");
}
