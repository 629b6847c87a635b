/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The workspace: all buffers of a function one after the other, in one allocation or in memory from the
 * caller. For the latter NAME_workspace(sizes...) returns its size; the entry checks call it too.
 *
 * On a target without vectors a tile that fits into registers is a variable instead: if LLVM sees the stores
 * of the inlined kernel, and the loops after it are unrolled, its elements never go to memory.
 */
#include <string.h>
#include "generator.h"

static LLVMValueRef thread_count(struct uk_codegen *g) {
    LLVMTypeRef type = LLVMFunctionType(g->i32, NULL, 0, false);
    LLVMValueRef n = LLVMBuildCall2(g->b, type, uk_cg_declare(g, "uk_num_threads", type), NULL, 0, "");

    return LLVMBuildZExt(g->b, n, g->i64, "threads");
}

/* Bytes of a buffer for one thread, rounded up so that the next one is aligned. */
static LLVMValueRef buffer_bytes(struct uk_codegen *g, const struct uk_buffer *b) {
    LLVMValueRef bytes = uk_cg_arithmetic(g, UK_I_MUL, uk_cg_index(g, b->elements),
                                          uk_cg_int(g, (int64_t)uk_type_bytes(b->tensor->type)));

    bytes = uk_cg_arithmetic(g, UK_I_ADD, bytes, uk_cg_int(g, UK_WORK_ALIGN - 1));
    return LLVMBuildAnd(g->b, bytes, uk_cg_int(g, -UK_WORK_ALIGN), b->tensor->name);
}

static bool is_variable(const struct uk_codegen *g, const struct uk_buffer *b) {
    int64_t elements;

    return b->inside && !g->f->is_parallel && g->target->vectors.bytes < 16 &&
           uk_index_is_int(b->elements, &elements) &&
           elements * (int64_t)uk_type_bytes(b->tensor->type) <= UK_VARIABLE_BYTES;
}

bool uk_cg_is_variable(const struct uk_codegen *g, const struct uk_tensor *t) {
    const struct uk_buffer *b = g->f->buffers;

    while (b && b->tensor != t)
        b = b->next;
    return b && (is_variable(g, b) || t->scope == UK_SCOPE_REGISTER);
}

/* True unless the buffer is a variable, or a block's or thread's. */
static bool is_in_workspace(const struct uk_codegen *g, const struct uk_buffer *b) {
    return b->tensor->scope == UK_SCOPE_GLOBAL && !is_variable(g, b);
}

static void make_variables(struct uk_codegen *g) {
    for (const struct uk_buffer *b = g->f->buffers; b; b = b->next) {
        if (!is_variable(g, b))
            continue;
        LLVMValueRef v = uk_cg_variable(g, LLVMArrayType2(g->i8, UK_VARIABLE_BYTES), b->tensor->name);

        LLVMSetAlignment(v, 8);
        uk_cg_place(g, b->tensor, v, NULL);
    }
}

/* The bytes of all buffers in the workspace. Each becomes a place whose base is its offset. */
static LLVMValueRef lay_out(struct uk_codegen *g) {
    LLVMValueRef total = uk_cg_int(g, 0), threads = NULL;

    for (const struct uk_buffer *b = g->f->buffers; b; b = b->next) {
        if (!is_in_workspace(g, b))
            continue;
        LLVMValueRef bytes = buffer_bytes(g, b), all = bytes;

        if (b->per_thread && g->f->is_parallel) {
            if (!threads)
                threads = thread_count(g);
            all = uk_cg_arithmetic(g, UK_I_MUL, bytes, threads);
        }
        uk_cg_place(g, b->tensor, total, all == bytes ? NULL : bytes);
        total = uk_cg_arithmetic(g, UK_I_ADD, total, all);
    }
    if (g->overflow && g->target->arch->bits == 32)
        *g->overflow = LLVMBuildOr(g->b, *g->overflow, uk_cg_exceeds_object(g, total), "");
    return total;
}

/* Generates a call of uk_gpu_workspace(): device memory that all programs on the device share. */
static LLVMValueRef device_workspace(struct uk_codegen *g, LLVMValueRef bytes) {
    LLVMTypeRef type = LLVMFunctionType(g->i32, (LLVMTypeRef[]){g->ptr, g->size, g->ptr}, 3, false);
    LLVMValueRef at = uk_cg_variable(g, g->ptr, "address");
    LLVMValueRef arg[] = {LLVMGetParam(g->function, 0), LLVMBuildIntCast2(g->b, bytes, g->size, false, ""),
                          at};
    LLVMValueRef status =
        LLVMBuildCall2(g->b, type, uk_cg_declare(g, "uk_gpu_workspace", type), arg, 3, "status");

    uk_cg_leave_if(g, LLVMBuildICmp(g->b, LLVMIntNE, status, LLVMConstInt(g->i32, UK_OK, false), ""), status,
                   "run");
    return LLVMBuildLoad2(g->b, g->ptr, at, "workspace");
}

/* One allocation, which the caller frees. */
static LLVMValueRef allocate(struct uk_codegen *g, LLVMValueRef total, LLVMValueRef overflow) {
    LLVMTypeRef type = LLVMFunctionType(g->ptr, (LLVMTypeRef[]){g->size, g->size}, 2, false);

    if (!LLVMIsAConstantInt(overflow))
        uk_cg_leave_if(g, overflow, LLVMConstInt(g->i32, UK_INVALID_SIZE, false), "allocate");
    LLVMValueRef bytes =
        uk_cg_intrinsic(g, "llvm.umax", g->i64, (LLVMValueRef[]){total, uk_cg_int(g, UK_WORK_ALIGN)}, 2);
    if (g->device)
        return device_workspace(g, bytes);
    LLVMValueRef arg[] = {LLVMConstInt(g->size, UK_WORK_ALIGN, false),
                          LLVMBuildIntCast2(g->b, bytes, g->size, false, "")};
    LLVMValueRef work =
        LLVMBuildCall2(g->b, type, uk_cg_declare(g, "aligned_alloc", type), arg, 2, "workspace");

    uk_cg_leave_if(g, LLVMBuildIsNull(g->b, work, ""), LLVMConstInt(g->i32, UK_OUT_OF_MEMORY, false), "run");
    return work;
}

LLVMValueRef uk_cg_workspace(struct uk_codegen *g) {
    LLVMValueRef overflow = LLVMConstInt(g->i1, 0, false), total, work;
    struct uk_place *outer = g->places;

    const struct uk_buffer *b = g->f->buffers;
    while (b && b->tensor->scope != UK_SCOPE_GLOBAL)
        b = b->next;
    if (!b)
        return NULL;
    g->overflow =
        g->f->work_argument ? NULL : &overflow; /* the entry checks have verified an argument's size */
    total = lay_out(g);
    g->overflow = NULL;
    work = g->f->work_argument ? LLVMGetParam(g->function, LLVMCountParams(g->function) - 1)
                               : allocate(g, total, overflow);
    for (struct uk_place *p = g->places; p != outer; p = p->next)
        p->base = LLVMBuildInBoundsGEP2(g->b, g->i8, work, &p->base, 1, p->tensor->name);
    make_variables(g);
    return work;
}

void uk_cg_sections(struct uk_codegen *g) {
    for (const struct uk_section *c = g->f->sections; c; c = c->next) {
        const struct uk_place *home = g->places;
        LLVMValueRef offset = uk_cg_index(g, c->offset);

        while (home && home->tensor != c->home)
            home = home->next;
        if (home)
            uk_cg_place(g, c->tensor,
                        LLVMBuildInBoundsGEP2(g->b, g->i8, home->base, &offset, 1, c->tensor->name), NULL);
    }
}

/* A function of the sizes that are not constants. It returns the result of `bytes`, or -1 if an integer
 * overflows or an extent is negative. */
static LLVMValueRef bytes_function(struct uk_codegen *g, const char *name,
                                   LLVMValueRef (*bytes)(struct uk_codegen *)) {
    LLVMTypeRef *type = uk_alloc(&g->arena, ((size_t)g->f->program->size_count + 1) * sizeof *type);
    LLVMValueRef bad = LLVMConstInt(g->i1, 0, false), zero = uk_cg_int(g, 0);
    struct uk_binding *outside = g->bindings;
    struct uk_place *places = g->places;
    unsigned n = 0;

    if (!type || !name) {
        uk_cg_fail(g, UK_OUT_OF_MEMORY, NULL, NULL);
        return NULL;
    }
    for (const struct uk_var *v = g->f->program->sizes; v; v = v->next)
        if (!v->defined)
            type[n++] = g->i64;
    LLVMValueRef f = g->function = LLVMAddFunction(g->module, name, LLVMFunctionType(g->i64, type, n, false));

    uk_cg_attribute(g, f, (unsigned)LLVMAttributeFunctionIndex, "nounwind", 0);
    LLVMPositionBuilderAtEnd(g->b, uk_cg_block(g, "entry"));
    n = 0;
    for (const struct uk_var *v = g->f->program->sizes; v; v = v->next) {
        LLVMValueRef value = v->defined ? uk_cg_int(g, v->value) : LLVMGetParam(f, n++);

        if (!v->defined)
            LLVMSetValueName2(value, v->name, strlen(v->name));
        uk_cg_bind(g, v, value, uk_cg_any);
        if (v->is_extent)
            bad = LLVMBuildOr(g->b, bad, LLVMBuildICmp(g->b, LLVMIntSLT, value, zero, ""), "");
    }
    g->overflow = &bad;
    LLVMValueRef total = bytes(g);
    g->overflow = NULL;
    bad = LLVMBuildOr(g->b, bad, LLVMBuildICmp(g->b, LLVMIntSLT, total, zero, ""), "");
    LLVMBuildRet(g->b, LLVMBuildSelect(g->b, bad, uk_cg_int(g, -1), total, ""));
    g->bindings = outside;
    g->places = places;
    return f;
}

LLVMValueRef uk_cg_work_bytes(struct uk_codegen *g) {
    return bytes_function(g, uk_format(&g->arena, "%s_workspace", g->f->name), lay_out);
}

/* The size of the packed form that g->f makes of a constant tensor. */
static LLVMValueRef form_bytes(struct uk_codegen *g) {
    const struct uk_tensor *from = g->f->tensor[0], *form = g->f->tensor[1];
    LLVMValueRef total = uk_cg_index(g, form->shape[0]), zero = uk_cg_int(g, 0);

    for (int d = 0; d < from->dims; d++)
        *g->overflow =
            LLVMBuildOr(g->b, *g->overflow,
                        LLVMBuildICmp(g->b, LLVMIntSLT, uk_cg_index(g, from->shape[d]), zero, ""), "");
    if (g->target->arch->bits == 32)
        *g->overflow = LLVMBuildOr(g->b, *g->overflow, uk_cg_exceeds_object(g, total), "");
    return total;
}

LLVMValueRef uk_cg_form_bytes(struct uk_codegen *g, const char *name) {
    return bytes_function(g, name, form_bytes);
}
