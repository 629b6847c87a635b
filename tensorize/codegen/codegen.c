/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loop IR to LLVM IR: the function and everything around its body.
 *
 * int NAME(sizes..., scalars..., tensors...) checks its arguments, has one workspace, and runs the loops. If
 * the program has several schedules, each is such a function, NAME.1 and so on, and NAME calls one of them. A
 * failure is recorded in the generator and generation continues; the caller discards the module.
 */
#include <string.h>
#include <llvm-c/Analysis.h>
#include "generator.h"

/* ---- the body ---- */

/* Maximum number of nests that are optimized as one function. */
enum { MAX_NESTS_TOGETHER = 12 };

/* Before each return of a function that has begun its body: releases the state of the core, and frees the
 * workspace if the function has allocated one. */
static void release(struct uk_codegen *g, LLVMValueRef work) {
    LLVMTypeRef type = LLVMFunctionType(LLVMVoidTypeInContext(g->llvm), &g->ptr, 1, false);

    if (g->holds_state)
        uk_cg_release_state(g);
    if (work && !g->f->work_argument && !g->device)
        LLVMBuildCall2(g->b, type, uk_cg_declare(g, "free", type), &work, 1, "");
}

/* Generates the checks before a nest; if one fails, the function returns. Returns the next nest. */
static const struct uk_node *checks(struct uk_codegen *g, const struct uk_node *n, LLVMValueRef work) {
    LLVMValueRef no = LLVMConstInt(g->i1, 0, false);

    g->bad_index = g->bad_index ? g->bad_index : uk_cg_variable(g, g->i1, "bad_index");
    LLVMBuildStore(g->b, no, g->bad_index);
    for (; n && uk_check_in(n) && !g->status; n = n->next)
        uk_cg_node(g, n);
    LLVMBasicBlockRef leave = uk_cg_block(g, "outside"), go_on = uk_cg_block(g, "inside");

    LLVMBuildCondBr(g->b, LLVMBuildLoad2(g->b, g->i1, g->bad_index, ""), leave, go_on);
    LLVMPositionBuilderAtEnd(g->b, leave);
    release(g, work);
    LLVMBuildRet(g->b, LLVMConstInt(g->i32, UK_INVALID_INDEX, false));
    LLVMPositionBuilderAtEnd(g->b, go_on);
    return n;
}

static struct uk_interval range_of_size(const struct uk_var *v) {
    return v->defined ? (struct uk_interval){v->value, v->value} : v->is_extent ? uk_cg_from_zero : uk_cg_any;
}

static void generate_nests(struct uk_codegen *g, LLVMValueRef work) {
    int nests = 0;

    for (const struct uk_node *n = g->f->body; n; n = n->next)
        nests++;
    const bool together = nests <= MAX_NESTS_TOGETHER || g->device;

    for (const struct uk_node *n = g->f->body; n && !g->status;) {
        if (uk_check_in(n)) {
            n = checks(g, n, work);
            continue;
        }
        if (together)
            uk_cg_node(g, n);
        else
            uk_cg_nest(g, n);
        n = n->next;
    }
}

/* Generates the loops with kernels whose indices have 32 bits. Sizes that are not defined then have bounds.
 */
static void short_nests(struct uk_codegen *g, LLVMValueRef work) {
    for (struct uk_binding *b = g->bindings; b; b = b->next)
        if (!b->var->defined)
            b->range = (struct uk_interval){0, UK_SHORT_SIZE - 1};
    g->device->is_short = true;
    generate_nests(g, work);
    g->device->is_short = false;
    for (struct uk_binding *b = g->bindings; b; b = b->next)
        if (!b->var->defined)
            b->range = range_of_size(b->var);
}

/* On a GPU with sizes that are not defined: one of two sets of kernels. If this is a version that entry takes
 * only if indices of 32 bits suffice, there is one set. */
static void body(struct uk_codegen *g, LLVMValueRef work) {
    if (!g->f->fits) {
        generate_nests(g, work);
        return;
    }
    if (g->f->is_short) {
        short_nests(g, work);
        return;
    }
    LLVMBasicBlockRef of[] = {uk_cg_block(g, "short"), uk_cg_block(g, "wide")},
                      after = uk_cg_block(g, "after");

    LLVMBuildCondBr(g->b, uk_cg_holds(g, g->f->fits), of[0], of[1]);
    for (int i = 0; i < 2; i++) {
        LLVMPositionBuilderAtEnd(g->b, of[i]);
        if (i)
            generate_nests(g, work);
        else
            short_nests(g, work);
        LLVMBuildBr(g->b, after);
    }
    LLVMPositionBuilderAtEnd(g->b, after);
}

/* ---- the function ---- */

/* The first parameter is the device if there is a GPU. */
static LLVMTypeRef function_type(struct uk_codegen *g) {
    const struct uk_program *p = g->f->program;
    size_t n = 0, capacity = 3;

    for (const struct uk_var *v = p->sizes; v; v = v->next)
        capacity++;
    for (const struct uk_scalar *s = g->f->scalars; s; s = s->next)
        capacity++;
    capacity += (size_t)g->f->tensors;
    LLVMTypeRef *type = uk_alloc(&g->arena, capacity * sizeof *type);
    if (!type)
        return NULL;
    if (g->device)
        type[n++] = g->ptr;
    for (const struct uk_var *v = p->sizes; v; v = v->next)
        if (!v->defined)
            type[n++] = g->i64;
    for (const struct uk_scalar *s = g->f->scalars; s; s = s->next)
        type[n++] = s->type == UK_F16 || s->type == UK_BF16 ? g->i16 : uk_llvm_type(g->llvm, s->type);
    for (int i = 0; i < g->f->tensors; i++)
        if (g->f->tensor[i]->kind == UK_TENSOR_ARGUMENT)
            type[n++] = g->ptr;
    if (g->f->work_argument)
        type[n++] = g->ptr;
    return LLVMFunctionType(g->i32, type, (unsigned)n, false);
}

/* Names the parameters of g->function and binds them; noalias holds because the entry checks refuse
 * overlaps. */
static void bind_arguments(struct uk_codegen *g) {
    const struct uk_program *p = g->f->program;
    unsigned n = g->first;

    for (const struct uk_var *v = p->sizes; v; v = v->next) {
        LLVMValueRef value = v->defined ? uk_cg_int(g, v->value) : LLVMGetParam(g->function, n++);

        if (!v->defined)
            LLVMSetValueName2(value, v->name, strlen(v->name));
        uk_cg_bind(g, v, value, range_of_size(v));
    }
    for (const struct uk_scalar *s = g->f->scalars; s; s = s->next) {
        struct uk_scalar_binding *given = uk_alloc(&g->arena, sizeof *given);
        LLVMValueRef value = LLVMGetParam(g->function, n++);

        LLVMSetValueName2(value, s->name, strlen(s->name));
        if (!given) {
            uk_cg_fail(g, UK_OUT_OF_MEMORY, NULL, NULL);
            return;
        }
        *given = (struct uk_scalar_binding){s, uk_cg_from_memory(g, s->type, value), g->scalars};
        g->scalars = given;
    }
    for (int i = 0; i < g->f->tensors; i++) {
        const struct uk_tensor *t = g->f->tensor[i];

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

/* Marks the returned status as C callers expect it. */
static void return_int(struct uk_codegen *g) {
    if (g->target->arch->extends_int)
        uk_cg_attribute(g, g->function, (unsigned)LLVMAttributeReturnIndex, "signext", 0);
}

/* The 0 added to strides that depend on sizes (stride_in_address in index.c), or NULL if there are none. */
static LLVMValueRef hidden_zero(struct uk_codegen *g) {
    LLVMTypeRef type = LLVMFunctionType(g->size, &g->size, 1, false);
    LLVMValueRef zero = LLVMConstInt(g->size, 0, false), copy;
    bool any = false;
    int64_t value;

    for (int i = 0; i < g->f->tensors; i++)
        for (int d = 0; d < g->f->tensor[i]->stored_dims && !g->f->tensor[i]->has_strides; d++)
            any |= !uk_index_is_int(g->f->tensor[i]->stride[d], &value);
    if (!any || g->target->arch->is_device || g->device)
        return NULL;
    copy = LLVMGetInlineAsm(type, "", 0, "=r,0", 4, false, false, LLVMInlineAsmDialectATT, false);
    return LLVMBuildIntCast2(g->b, LLVMBuildCall2(g->b, type, copy, &zero, 1, "zero"), g->i64, true, "");
}

/* Makes a function of a version internal. It stays apart from the others, as it is optimized best alone. */
static void hide(struct uk_codegen *g, LLVMValueRef f) {
    if (!f || !g->is_version)
        return;
    LLVMSetLinkage(f, LLVMInternalLinkage);
    uk_cg_attribute(g, f, (unsigned)LLVMAttributeFunctionIndex, "noinline", 0);
}

static void function(struct uk_codegen *g, LLVMTypeRef type) {
    unsigned n = LLVMCountParamTypes(type);
    LLVMValueRef *arg = uk_alloc(&g->arena, (n + 1) * sizeof *arg);
    LLVMValueRef bytes = g->f->work_argument ? uk_cg_work_bytes(g) : NULL;
    LLVMValueRef check = uk_cg_entry_checks(g, type, bytes), status, work;

    hide(g, bytes);
    g->function = LLVMAddFunction(g->module, g->f->name, type);
    hide(g, g->function);
    return_int(g);
    uk_cg_attribute(g, g->function, (unsigned)LLVMAttributeFunctionIndex, "nounwind", 0);
    uk_cg_prefer_full_vectors(g, g->function);
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
    uk_cg_ask_for_state(g);
    g->hidden_zero = hidden_zero(g);
    work = uk_cg_workspace(g);
    uk_cg_sections(g);
    uk_cg_alias_scopes(g);
    if (g->holds_state)
        uk_cg_load_state(g);
    body(g, work);
    release(g, work);
    LLVMBuildRet(g->b, LLVMConstInt(g->i32, UK_OK, false));
}

/* The function of a program with several schedules, after those of its versions. */
static void choose(struct uk_codegen *g) {
    if (g->f->work_argument)
        uk_cg_choose_version(g, "_workspace");
    uk_cg_choose_version(g, "");
    return_int(g);
}

/* Generates int NAME.call(const int64_t *sizes, const double *scalars, void *const *tensors), which calls
 * NAME; NAME may have only the first of these arguments. The first of the tensors is the GPU, if there is
 * one. */
static void trampoline(struct uk_codegen *g, LLVMValueRef target) {
    const struct uk_program *p = g->f->program;
    LLVMTypeRef type = LLVMGlobalGetValueType(target), pointers[] = {g->ptr, g->ptr, g->ptr},
                returned = LLVMGetReturnType(type);
    const unsigned arguments = LLVMCountParamTypes(type);
    LLVMValueRef *arg = uk_alloc(&g->arena, (arguments + 1) * sizeof *arg);
    size_t length;
    char *name = uk_format(&g->arena, "%s.call", LLVMGetValueName2(target, &length));
    unsigned n = g->first;

    if (!arg || !name) {
        uk_cg_fail(g, UK_OUT_OF_MEMORY, NULL, NULL);
        return;
    }
    g->function = LLVMAddFunction(g->module, name, LLVMFunctionType(returned, pointers, 3, false));
    if (returned == g->i32)
        return_int(g);
    uk_cg_attribute(g, g->function, (unsigned)LLVMAttributeFunctionIndex, "nounwind", 0);
    LLVMPositionBuilderAtEnd(g->b, uk_cg_block(g, "entry"));
    LLVMValueRef list[] = {LLVMGetParam(g->function, 0), LLVMGetParam(g->function, 1),
                           LLVMGetParam(g->function, 2)};
    LLVMTypeRef element[] = {g->i64, g->f64, g->ptr};
    unsigned count[3] = {0, 0, 0};

    for (const struct uk_var *v = p->sizes; v; v = v->next)
        count[0] += !v->defined;
    for (const struct uk_scalar *s = g->f->scalars; s; s = s->next)
        count[1]++;
    for (int i = 0; i < g->f->tensors; i++)
        count[2] += g->f->tensor[i]->kind == UK_TENSOR_ARGUMENT;
    count[2] += g->f->work_argument;
    const struct uk_scalar *s = g->f->scalars;
    if (g->first)
        arg[0] = LLVMBuildLoad2(g->b, g->ptr, list[2], "");
    for (int kind = 0; kind < 3; kind++)
        for (unsigned i = 0; i < count[kind] && n < arguments; i++) {
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

/* The function that makes the packed form of a constant tensor, and the one that returns its size. */
static enum uk_status packing(struct uk_build *build, const struct uk_packed *k) {
    struct uk_codegen g = uk_cg_begin(build, build->target, build->module);

    g.f = k->pack;
    uk_cg_find_state(&g);
    LLVMTypeRef type = function_type(&g);
    LLVMValueRef bytes = type ? uk_cg_form_bytes(&g, k->size_name) : NULL;

    g.thread = uk_cg_int(&g, 0);
    if (bytes && !g.status) {
        function(&g, type);
        LLVMValueRef pack = g.function;

        for (int i = 0; i < 2 && build->trampoline && !g.status; i++)
            trampoline(&g, i ? bytes : pack);
    } else {
        uk_cg_fail(&g, UK_OUT_OF_MEMORY, NULL, NULL);
    }
    end(&g);
    return g.status;
}

/* Generates f, the program's function or one of its versions. *kernels: number of GPU kernels of the module.
 */
static enum uk_status generate(struct uk_build *build, const struct uk_function *f, int *kernels) {
    const bool on_device = build->host;
    struct uk_codegen device, g = uk_cg_begin(build, on_device ? build->host : build->target,
                                              on_device ? build->host_module : build->module);

    g.f = f;
    uk_cg_find_state(&g);
    g.is_version = f != build->function;
    if (on_device) {
        device = uk_cg_begin(build, build->target, build->module);
        device.f = f;
        device.tasks = *kernels;
        device.thread = uk_cg_int(&device, 0);
        g.device = &device;
        g.first = 1;
    }
    LLVMTypeRef type = function_type(&g);

    g.thread = uk_cg_int(&g, 0);
    if (type) {
        if (f->versions)
            choose(&g);
        else
            function(&g, type);
        if (build->trampoline && !g.is_version && !g.status)
            trampoline(&g, g.function);
    } else {
        uk_cg_fail(&g, UK_OUT_OF_MEMORY, NULL, NULL);
    }
    for (const struct uk_packed *k = f->packed; k && !g.status; k = k->next)
        g.status = packing(build, k);
    verify(&g);
    if (on_device) {
        device.status = g.status;
        verify(&device);
        g.status = device.status;
        *kernels = device.tasks;
        end(&device);
    }
    end(&g);
    return g.status;
}

enum uk_status uk_codegen(struct uk_build *build) {
    enum uk_status status = UK_OK;
    int kernels = 0;

    for (const struct uk_function_version *v = build->function->versions; v && !status; v = v->next)
        status = generate(build, v->function, &kernels);
    return status ? status : generate(build, build->function, &kernels);
}
