/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loop IR to LLVM IR: the function, its workspace, and the nodes.
 *
 * int NAME(sizes..., scalars..., tensors...) checks its arguments, has one workspace, and runs the
 * loops. A failure is recorded in the generator and generation goes on; the caller discards the module.
 */
#include <string.h>
#include <llvm-c/Analysis.h>
#include "generator.h"
#include "stages/stages.h"

void uk_cg_fail(struct uk_codegen *g, enum uk_status status, const char *what, const char *name) {
    struct uk_context *c = g->build->context;
    struct uk_position nowhere = {0, 0};

    if (g->status)
        return;
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

/* Of an operand: as the row says, or by where the declaration puts its tensor. */
static enum uk_space space_of(const struct uk_intrinsic *in, const struct uk_tensor *tensor) {
    int i = 0;

    for (const struct uk_tensor *t = in->declaration->tensors; t && t != tensor; t = t->next)
        i++;
    if (in->row && i < 3)
        return (enum uk_space[]){in->row->a_space, in->row->b_space, in->row->c_space}[i];
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

/* ---- nodes ---- */

/* A guarded loop with its test at the end, which is the form that LLVM's loop passes want. */
static void serial_loop(struct uk_codegen *g, const struct uk_node *n, LLVMValueRef lower,
                        LLVMValueRef upper) {
    LLVMBasicBlockRef before = LLVMGetInsertBlock(g->b), body = uk_cg_block(g, n->var->name);
    LLVMBasicBlockRef done = uk_cg_block(g, "done");
    struct uk_binding *outside = g->bindings;

    LLVMBuildCondBr(g->b, LLVMBuildICmp(g->b, LLVMIntSLT, lower, upper, ""), body, done);
    LLVMPositionBuilderAtEnd(g->b, body);
    LLVMValueRef i = LLVMBuildPhi(g->b, g->i64, n->var->name);
    LLVMAddIncoming(i, &lower, &before, 1);
    uk_cg_bind(g, n->var, i, uk_cg_not_negative(g, n->lower));
    LLVMMetadataRef outer = uk_cg_enter_loop(g, n);
    uk_cg_nodes(g, n->body);
    g->bindings = outside;
    LLVMValueRef next = LLVMBuildNSWAdd(g->b, i, uk_cg_int(g, n->step), "");
    LLVMBasicBlockRef end = LLVMGetInsertBlock(g->b);
    LLVMAddIncoming(i, &next, &end, 1);
    LLVMValueRef again = LLVMBuildICmp(g->b, LLVMIntSLT, next, upper, "");
    uk_cg_leave_loop(g, n, LLVMBuildCondBr(g->b, again, body, done), outer);
    LLVMPositionBuilderAtEnd(g->b, done);
}

static bool indexes_variable(const struct uk_codegen *g, const struct uk_access *a, const struct uk_var *v) {
    bool found = false;

    for (int d = 0; d < a->tensor->stored_dims; d++)
        found |= uk_mentions(a->index[d], v);
    return found && uk_cg_is_variable(g, a->tensor);
}

static bool reads_variable(const struct uk_codegen *g, const struct uk_expr *e, const struct uk_var *v) {
    bool found = e->op == UK_E_ACCESS && indexes_variable(g, &e->access, v);

    for (int i = 0; i < 3 && !found; i++)
        found = e->arg[i] && reads_variable(g, e->arg[i], v);
    return found;
}

/* Which element of a variable is used must be known, or it has to lie in memory. */
static bool selects_variable(const struct uk_codegen *g, const struct uk_node *n, const struct uk_var *v) {
    for (; n; n = n->next)
        if (n->op == UK_N_STORE
                ? indexes_variable(g, &n->target, v) || reads_variable(g, n->expr, v)
                : n->op != UK_N_CALL && (selects_variable(g, n->body, v) || selects_variable(g, n->other, v)))
            return true;
    return false;
}

/* Unrolling is done here: kernels must not depend on what LLVM thinks of copies of an asm statement. */
static void constant_loop(struct uk_codegen *g, const struct uk_node *n, int64_t lower, int64_t upper) {
    struct uk_binding *outside = g->bindings;

    if (uk_cg_fused_row(g, n, lower, upper) || uk_cg_move_vector(g, n, lower, upper))
        return;
    if (n->loop != UK_LOOP_UNROLLED && !(g->launch && n->loop == UK_LOOP_VECTOR) &&
        !(n->loop == UK_LOOP_SERIAL && selects_variable(g, n->body, n->var))) {
        serial_loop(g, n, uk_cg_int(g, lower), uk_cg_int(g, upper));
        return;
    }
    for (int64_t i = lower; i < upper && !g->status; i += n->step) {
        uk_cg_bind(g, n->var, uk_cg_int(g, i), i >= 0);
        uk_cg_nodes(g, n->body);
        g->bindings = outside;
    }
}

/* Its full extent as a constant, and the edges, inside which no loop is doubled again. */
static void two_versions(struct uk_codegen *g, const struct uk_node *n, LLVMValueRef lower,
                         LLVMValueRef upper) {
    LLVMBasicBlockRef full = uk_cg_block(g, "full"), edge = uk_cg_block(g, "edge");
    LLVMBasicBlockRef after = uk_cg_block(g, "after");

    LLVMBuildCondBr(g->b, LLVMBuildICmp(g->b, LLVMIntEQ, upper, uk_cg_int(g, n->full), ""), full, edge);
    LLVMPositionBuilderAtEnd(g->b, full);
    constant_loop(g, n, 0, n->full);
    LLVMBuildBr(g->b, after);
    LLVMPositionBuilderAtEnd(g->b, edge);
    g->in_edge = true;
    serial_loop(g, n, lower, upper);
    g->in_edge = false;
    LLVMBuildBr(g->b, after);
    LLVMPositionBuilderAtEnd(g->b, after);
}

/* Of registers, whose elements are chosen by constants alone: all iterations that there can be, each under its condition. */
static void conditional_loop(struct uk_codegen *g, const struct uk_node *n, LLVMValueRef upper) {
    const int64_t most = uk_cg_most(n->upper);
    struct uk_binding *outside = g->bindings;
    LLVMBasicBlockRef done = uk_cg_block(g, "done");

    if (n->lower->op != UK_I_INT || most == INT64_MAX)
        uk_cg_fail(g, UK_UNSUPPORTED, "a loop over elements of a buffer in register has no constant bound",
                   n->var->name);
    for (int64_t i = n->lower->value; i < most && !g->status; i += n->step) {
        LLVMBasicBlockRef next = uk_cg_block(g, n->var->name);

        LLVMBuildCondBr(g->b, LLVMBuildICmp(g->b, LLVMIntSLT, uk_cg_int(g, i), upper, ""), next, done);
        LLVMPositionBuilderAtEnd(g->b, next);
        uk_cg_bind(g, n->var, uk_cg_int(g, i), i >= 0);
        uk_cg_nodes(g, n->body);
        g->bindings = outside;
    }
    LLVMBuildBr(g->b, done);
    LLVMPositionBuilderAtEnd(g->b, done);
}

static void loop(struct uk_codegen *g, const struct uk_node *n) {
    LLVMValueRef lower = uk_cg_index(g, n->lower), upper = uk_cg_index(g, n->upper);
    bool starts = LLVMIsAConstantInt(lower), ends = LLVMIsAConstantInt(upper);

    if (g->launch && !(starts && ends) && selects_variable(g, n->body, n->var))
        conditional_loop(g, n, upper);
    else if (uk_cg_copies_words(g, n))
        serial_loop(g, n, uk_cg_copy_words(g, n, lower, upper), upper);
    else if (starts && ends)
        constant_loop(g, n, LLVMConstIntGetSExtValue(lower), LLVMConstIntGetSExtValue(upper));
    else if (n->full > 1 && n->step == 1 && starts && !LLVMConstIntGetSExtValue(lower) && !g->in_edge)
        two_versions(g, n, lower, upper);
    else
        serial_loop(g, n, lower, upper);
}

static void condition(struct uk_codegen *g, const struct uk_node *n) {
    LLVMValueRef c = uk_cg_condition(g, n->condition);

    if (LLVMIsAConstantInt(c)) {
        uk_cg_nodes(g, LLVMConstIntGetZExtValue(c) ? n->body : n->other);
        return;
    }
    LLVMBasicBlockRef then = uk_cg_block(g, "then"), other = n->other ? uk_cg_block(g, "else") : NULL;
    LLVMBasicBlockRef after = uk_cg_block(g, "endif");

    LLVMBuildCondBr(g->b, c, then, other ? other : after);
    LLVMPositionBuilderAtEnd(g->b, then);
    uk_cg_nodes(g, n->body);
    LLVMBuildBr(g->b, after);
    if (other) {
        LLVMPositionBuilderAtEnd(g->b, other);
        uk_cg_nodes(g, n->other);
        LLVMBuildBr(g->b, after);
    }
    LLVMPositionBuilderAtEnd(g->b, after);
}

static LLVMValueRef kernel_argument(struct uk_codegen *g, const struct uk_node *n,
                                    const struct uk_argument *a) {
    LLVMTypeRef type = uk_llvm_type(g->llvm, a->ctype);
    int i = 0;

    if (a->tensor) {
        for (const struct uk_tensor *t = n->intrinsic->declaration->tensors; t && t != a->tensor; t = t->next)
            i++;
        return uk_cg_address(g, &n->operand[i], false);
    }
    if (a->scalar) {
        const struct uk_expr *e = n->scalar[uk_scalar_number(n->intrinsic->declaration->scalars, a->scalar)];

        /* Small floats are 16 bits in memory; as arguments they have a type of their own. */
        return LLVMBuildBitCast(g->b, uk_cg_to_memory(g, e->type, uk_cg_expr(g, e)), type, "");
    }
    if (a->ctype <= UK_BF16)
        return LLVMConstReal(type, a->size ? 0 : a->real);
    LLVMValueRef v = a->size ? uk_cg_index(g, n->bind[a->size->number]) : uk_cg_int(g, a->number);

    return LLVMBuildIntCast2(g->b, v, type, a->ctype != UK_U8, a->size ? a->size->name : "");
}

/* Small integers are widened by the caller, where the ABI leaves that to anyone: Arm's to it, x86-64's by what compilers do;
 * RISC-V's has it widen an int too. */
static void widen(struct uk_codegen *g, LLVMValueRef call, const struct uk_form *form) {
    for (int i = 0; i < form->arguments; i++) {
        int type = form->argument[i].ctype;
        const char *name = type == UK_U8 ? "zeroext" : "signext";

        if (type == UK_U8 || type == UK_I8 || type == UK_I16 ||
            (type == UK_I32 && g->target->arch->extends_int))
            LLVMAddCallSiteAttribute(
                call, (LLVMAttributeIndex)(i + 1),
                LLVMCreateEnumAttribute(g->llvm, LLVMGetEnumAttributeKindForName(name, strlen(name)), 0));
    }
}

static void call(struct uk_codegen *g, const struct uk_node *n) {
    const struct uk_form *form = &n->intrinsic->form[n->form];
    LLVMTypeRef type = uk_llvm_prototype(g->build, n->intrinsic, form, &g->arena);
    LLVMValueRef *arg = uk_alloc(&g->arena, ((size_t)form->arguments + 1) * sizeof *arg);

    if (!type || !arg) {
        uk_cg_fail(g, UK_OUT_OF_MEMORY, NULL, NULL);
        return;
    }
    LLVMTypeRef *wanted = uk_alloc(&g->arena, ((size_t)form->arguments + 1) * sizeof *wanted);

    if (!wanted) {
        uk_cg_fail(g, UK_OUT_OF_MEMORY, NULL, NULL);
        return;
    }
    LLVMGetParamTypes(type, wanted);
    for (int i = 0; i < form->arguments; i++) {
        arg[i] = kernel_argument(g, n, &form->argument[i]);
        if (form->argument[i].tensor && LLVMTypeOf(arg[i]) != wanted[i])
            arg[i] = LLVMBuildAddrSpaceCast(g->b, arg[i], wanted[i], "");
    }
    LLVMValueRef f = uk_cg_declare(g, form->symbol, type);

    if (LLVMGlobalGetValueType(f) != type)
        uk_cg_fail(g, UK_LINK, "two intrinsics give this kernel different prototypes; make them agree",
                   form->symbol);
    else
        widen(g, LLVMBuildCall2(g->b, type, f, arg, (unsigned)form->arguments, ""), form);
}

/* What the host of a GPU runs itself: loops around launches. */
static bool is_for_host(struct uk_codegen *g, const struct uk_node *n) {
    if (n->op != UK_N_STORE && n->op != UK_N_CALL)
        return true;
    uk_cg_fail(g, UK_UNSUPPORTED, "its loops are not bound to blocks of a kernel; bind one to block.x, stage",
               n->stage ? n->stage : "");
    return false;
}

void uk_cg_node(struct uk_codegen *g, const struct uk_node *n) {
    struct uk_binding *outside = g->bindings;

    if (g->device && !is_for_host(g, n))
        return;
    switch (n->op) {
    case UK_N_FOR:
        if (n->loop == UK_LOOP_BLOCK || n->loop == UK_LOOP_THREAD)
            uk_cg_spread(g, n);
        else if (n->loop == UK_LOOP_PARALLEL && !g->in_parallel)
            uk_cg_parallel(g, n);
        else
            loop(g, n);
        break;
    case UK_N_IF:
        condition(g, n);
        break;
    case UK_N_LET:
        uk_cg_bind(g, n->var, uk_cg_index(g, n->value), uk_cg_not_negative(g, n->value));
        uk_cg_nodes(g, n->body);
        break;
    case UK_N_CALL:
        call(g, n);
        break;
    case UK_N_STORE:
        uk_cg_store(g, n);
        break;
    case UK_N_BARRIER:
        uk_cg_barrier(g);
        break;
    case UK_N_LAUNCH:
        uk_cg_launch(g, n);
        break;
    }
    g->bindings = outside;
}

void uk_cg_nodes(struct uk_codegen *g, const struct uk_node *n) {
    for (; n && !g->status; n = n->next)
        if (uk_cg_is_for_some(g, n))
            uk_cg_kernel_node(g, n);
        else
            uk_cg_node(g, n);
}

/* Up to so many nests are optimized as one function. */
enum { MOST_TOGETHER = 12 };

static void body(struct uk_codegen *g) {
    int nests = 0;

    for (const struct uk_node *n = g->f->body; n; n = n->next)
        nests++;
    const bool together = nests <= MOST_TOGETHER || g->device;

    if (together)
        uk_cg_nodes(g, g->f->body);
    for (const struct uk_node *n = g->f->body; n && !together && !g->status; n = n->next)
        uk_cg_nest(g, n);
}

/* ---- the function ---- */

/* For a GPU the device comes first. */
static LLVMTypeRef function_type(struct uk_codegen *g) {
    const struct uk_program *p = g->f->program;
    size_t n = 0, most = 3;

    for (const struct uk_var *v = p->sizes; v; v = v->next)
        most++;
    for (const struct uk_scalar *s = p->scalars; s; s = s->next)
        most++;
    for (const struct uk_tensor *t = p->tensors; t; t = t->next)
        most++;
    LLVMTypeRef *type = uk_alloc(&g->arena, most * sizeof *type);
    if (!type)
        return NULL;
    if (g->device)
        type[n++] = g->ptr;
    for (const struct uk_var *v = p->sizes; v; v = v->next)
        if (!v->defined)
            type[n++] = g->i64;
    for (const struct uk_scalar *s = p->scalars; s; s = s->next)
        type[n++] = s->type == UK_F16 || s->type == UK_BF16 ? g->i16 : uk_llvm_type(g->llvm, s->type);
    for (const struct uk_tensor *t = p->tensors; t; t = t->next)
        if (t->kind == UK_TENSOR_ARGUMENT)
            type[n++] = g->ptr;
    if (g->f->work_argument)
        type[n++] = g->ptr;
    return LLVMFunctionType(g->i32, type, (unsigned)n, false);
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

/* Names the parameters of g->function and binds them; noalias holds because the entry checks refuse overlaps.
 */
static void bind_arguments(struct uk_codegen *g) {
    const struct uk_program *p = g->f->program;
    unsigned n = g->first;

    for (const struct uk_var *v = p->sizes; v; v = v->next) {
        LLVMValueRef value = v->defined ? uk_cg_int(g, v->value) : LLVMGetParam(g->function, n++);

        if (!v->defined)
            LLVMSetValueName2(value, v->name, strlen(v->name));
        uk_cg_bind(g, v, value, v->defined ? v->value >= 0 : v->is_extent);
    }
    for (const struct uk_scalar *s = p->scalars; s; s = s->next) {
        struct uk_given_scalar *given = uk_alloc(&g->arena, sizeof *given);
        LLVMValueRef value = LLVMGetParam(g->function, n++);

        LLVMSetValueName2(value, s->name, strlen(s->name));
        if (!given) {
            uk_cg_fail(g, UK_OUT_OF_MEMORY, NULL, NULL);
            return;
        }
        *given = (struct uk_given_scalar){s, uk_cg_from_memory(g, s->type, value), g->scalars};
        g->scalars = given;
    }
    for (const struct uk_tensor *t = p->tensors; t; t = t->next) {
        if (t->kind != UK_TENSOR_ARGUMENT)
            continue;
        LLVMValueRef value = LLVMGetParam(g->function, n++);

        LLVMSetValueName2(value, t->name, strlen(t->name));
        uk_cg_attribute(g, g->function, n, "noalias", 0);
        if (!t->is_written)
            uk_cg_attribute(g, g->function, n, "readonly", 0);
        uk_cg_place(g, t, value, NULL);
    }
    if (!g->f->work_argument)
        return;
    LLVMSetValueName2(LLVMGetParam(g->function, n), "work", 4);
    uk_cg_attribute(g, g->function, n + 1, "noalias", 0);
}

void uk_cg_leave_if(struct uk_codegen *g, LLVMValueRef bad, LLVMValueRef status, const char *name) {
    LLVMBasicBlockRef leave = uk_cg_block(g, "leave"), go_on = uk_cg_block(g, name);

    LLVMBuildCondBr(g->b, bad, leave, go_on);
    LLVMPositionBuilderAtEnd(g->b, leave);
    LLVMBuildRet(g->b, status);
    LLVMPositionBuilderAtEnd(g->b, go_on);
}

/* g->function's status, as C's callers take it. */
static void return_int(struct uk_codegen *g) {
    if (g->target->arch->extends_int)
        uk_cg_attribute(g, g->function, (unsigned)LLVMAttributeReturnIndex, "signext", 0);
}

static void function(struct uk_codegen *g, LLVMTypeRef type) {
    unsigned n = LLVMCountParamTypes(type);
    LLVMValueRef *arg = uk_alloc(&g->arena, (n + 1) * sizeof *arg);
    LLVMValueRef bytes = g->f->work_argument ? uk_cg_work_bytes(g) : NULL;
    LLVMValueRef check = uk_cg_entry_checks(g, type, bytes), status, work;

    g->function = LLVMAddFunction(g->module, g->f->name, type);
    return_int(g);
    uk_cg_attribute(g, g->function, (unsigned)LLVMAttributeFunctionIndex, "nounwind", 0);
    uk_cg_whole_vectors(g, g->function);
    LLVMPositionBuilderAtEnd(g->b, uk_cg_block(g, "entry"));
    bind_arguments(g);
    if (!arg) {
        uk_cg_fail(g, UK_OUT_OF_MEMORY, NULL, NULL);
        return;
    }
    if (check) {
        LLVMGetParams(g->function, arg);
        status = LLVMBuildCall2(g->b, type, check, arg, n, "status");
        uk_cg_leave_if(g, LLVMBuildICmp(g->b, LLVMIntNE, status, LLVMConstInt(g->i32, UK_OK, false), ""),
                       status, "checked");
    }
    work = uk_cg_workspace(g);
    uk_cg_alias_scopes(g);
    body(g);
    if (work && !g->f->work_argument && !g->device) {
        LLVMTypeRef free_type = LLVMFunctionType(LLVMVoidTypeInContext(g->llvm), &g->ptr, 1, false);

        LLVMBuildCall2(g->b, free_type, uk_cg_declare(g, "free", free_type), &work, 1, "");
    }
    LLVMBuildRet(g->b, LLVMConstInt(g->i32, UK_OK, false));
}

/* int NAME.call(const int64_t *sizes, const double *scalars, void *const *tensors); the first of these is the GPU, if there is
 * one. */
static void trampoline(struct uk_codegen *g, LLVMTypeRef type) {
    const struct uk_program *p = g->f->program;
    LLVMValueRef target = g->function,
                 *arg = uk_alloc(&g->arena, (LLVMCountParamTypes(type) + 1) * sizeof *arg);
    LLVMTypeRef pointers[] = {g->ptr, g->ptr, g->ptr};
    char *name = uk_format(&g->arena, "%s.call", g->f->name);
    unsigned n = g->first;

    if (!arg || !name) {
        uk_cg_fail(g, UK_OUT_OF_MEMORY, NULL, NULL);
        return;
    }
    g->function = LLVMAddFunction(g->module, name, LLVMFunctionType(g->i32, pointers, 3, false));
    return_int(g);
    uk_cg_attribute(g, g->function, (unsigned)LLVMAttributeFunctionIndex, "nounwind", 0);
    LLVMPositionBuilderAtEnd(g->b, uk_cg_block(g, "entry"));
    LLVMValueRef list[] = {LLVMGetParam(g->function, 0), LLVMGetParam(g->function, 1),
                           LLVMGetParam(g->function, 2)};
    LLVMTypeRef element[] = {g->i64, g->f64, g->ptr};
    unsigned count[3] = {0, 0, 0};

    for (const struct uk_var *v = p->sizes; v; v = v->next)
        count[0] += !v->defined;
    for (const struct uk_scalar *s = p->scalars; s; s = s->next)
        count[1]++;
    for (const struct uk_tensor *t = p->tensors; t; t = t->next)
        count[2] += t->kind == UK_TENSOR_ARGUMENT;
    count[2] += g->f->work_argument;
    const struct uk_scalar *s = p->scalars;
    if (g->first)
        arg[0] = LLVMBuildLoad2(g->b, g->ptr, list[2], "");
    for (int kind = 0; kind < 3; kind++)
        for (unsigned i = 0; i < count[kind]; i++) {
            LLVMValueRef at = LLVMConstInt(g->i64, kind == 2 ? i + g->first : i, false);
            LLVMValueRef v = LLVMBuildLoad2(
                g->b, element[kind], LLVMBuildInBoundsGEP2(g->b, element[kind], list[kind], &at, 1, ""), "");

            if (kind == 1) {
                v = uk_cg_from_double(g, s->type, v);
                s = s->next;
            }
            arg[n++] = v;
        }
    LLVMBuildRet(g->b, LLVMBuildCall2(g->b, type, target, arg, n, ""));
}

struct uk_codegen uk_cg_begin(struct uk_build *build, const struct uk_target *target, LLVMModuleRef module) {
    LLVMContextRef llvm = build->llvm;

    return (struct uk_codegen){
        .build = build,
        .target = target,
        .f = build->function,
        .llvm = llvm,
        .module = module,
        .b = LLVMCreateBuilderInContext(llvm),
        .i1 = LLVMInt1TypeInContext(llvm),
        .i8 = LLVMInt8TypeInContext(llvm),
        .i16 = LLVMInt16TypeInContext(llvm),
        .i32 = LLVMInt32TypeInContext(llvm),
        .i64 = LLVMInt64TypeInContext(llvm),
        .f32 = LLVMFloatTypeInContext(llvm),
        .f64 = LLVMDoubleTypeInContext(llvm),
        .ptr = LLVMPointerTypeInContext(llvm, 0),
        .size = LLVMIntTypeInContext(llvm, (unsigned)target->arch->bits),
    };
}

static void verify(struct uk_codegen *g) {
    char *wrong = NULL;

    if (!g->status && LLVMVerifyModule(g->module, LLVMReturnStatusAction, &wrong))
        uk_cg_fail(g, UK_INTERNAL, "invalid LLVM IR", wrong);
    LLVMDisposeMessage(wrong);
}

static void end(struct uk_codegen *g) {
    LLVMDisposeBuilder(g->b);
    uk_arena_free(&g->arena);
}

enum uk_status uk_codegen(struct uk_build *build) {
    const bool on_device = build->host;
    struct uk_codegen device, g = uk_cg_begin(build, on_device ? build->host : build->target,
                                              on_device ? build->host_module : build->module);

    if (on_device) {
        device = uk_cg_begin(build, build->target, build->module);
        device.thread = uk_cg_int(&device, 0);
        g.device = &device;
        g.first = 1;
    }
    LLVMTypeRef type = function_type(&g);

    g.thread = uk_cg_int(&g, 0);
    if (type) {
        function(&g, type);
        if (build->trampoline && !g.status)
            trampoline(&g, type);
    } else {
        uk_cg_fail(&g, UK_OUT_OF_MEMORY, NULL, NULL);
    }
    verify(&g);
    if (on_device) {
        device.status = g.status;
        verify(&device);
        g.status = device.status;
        end(&device);
    }
    end(&g);
    return g.status;
}
