/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The code that `uk verify` runs for a GPU's kernel: each form is inlined, as in programs, into a kernel of
 * one block. That kernel copies operands to shared memory, and each thread's own to its registers; calls the
 * form once; and copies all of them back. The places of tiles, and the initialized bytes, are arguments:
 *
 *     uk.verify.I.F(tiles, shared, defined, units, threads, operands..., numbers...)
 *
 *     tiles     for each tensor and thread: offset of the tile's origin in its memory, in bytes
 *     shared    the contents of shared memory before and after, in units (uk_verify_unit)
 *     defined   a byte for each unit; 0: it is not initialized
 *     operands  a buffer for each operand in registers or in global memory
 *     numbers   the form's arguments that are not tensors
 */
#include <stdlib.h>
#include <string.h>
#include <llvm-c/Linker.h>
#include "verify.h"

/* The text of LLVM IR for one form. */
struct wrapper {
    struct uk_build *b;
    const struct uk_intrinsic *intrinsic;
    const struct uk_form *form;
    LLVMTypeRef prototype, *parameter;
    const char *name;
    struct uk_text text;
};

size_t uk_verify_unit(const struct uk_intrinsic *i) {
    size_t unit = 4;

    for (const struct uk_tensor *t = i->declaration->tensors; t; t = t->next)
        if (t->scope == UK_SCOPE_SHARED && uk_type_bytes(t->type) < unit)
            unit = uk_type_bytes(t->type);
    return unit;
}

int64_t uk_verify_registers(const struct uk_intrinsic *i, const struct uk_tensor *t) {
    const struct uk_verifier v = {.intrinsic = (struct uk_intrinsic *)(uintptr_t)i};
    int64_t elements = 1;

    for (int d = 0; d < t->stored_dims; d++) {
        int64_t stride, min, max, extent;

        if (!uk_index_is_int(t->stride[d], &stride) || stride < 0)
            return 0;
        if (!uk_index_is_int(t->stored[d], &extent)) {
            if (t->stored[d]->op != UK_I_VAR)
                return 0;
            uk_verify_bounds(&v, t->stored[d]->var, &min, &max);
            extent = max;
        }
        if (extent > UK_VERIFY_REGISTERS || stride > UK_VERIFY_REGISTERS)
            return 0;
        elements += extent > 0 ? (extent - 1) * stride : 0;
    }
    return elements <= UK_VERIFY_REGISTERS ? elements : 0;
}

/* ---- the text ---- */

static void put_type(struct wrapper *a, LLVMTypeRef type) {
    char *text = LLVMPrintTypeToString(type);

    uk_put(&a->text, "%s", text);
    LLVMDisposeMessage(text);
}

static void put_element(struct wrapper *a, const struct uk_tensor *t) {
    put_type(a, uk_llvm_type(a->b->llvm, (int)t->type));
}

static void put_declarations(struct wrapper *a) {
    const struct uk_arch *arch = a->b->target->arch;

    uk_put(&a->text, "target datalayout = \"%s\"\n", LLVMGetDataLayoutStr(a->b->module));
    uk_put(&a->text,
           "@uk.verify.shared = external addrspace(3) global [0 x i8], align 16\n"
           "declare i32 @%s()\n%s%sdeclare ",
           arch->kernel.thread_id[0], arch->kernel.barrier_declarations,
           arch->kernel.matrix_wait ? arch->kernel.matrix_wait_declarations : "");
    put_type(a, LLVMGetReturnType(a->prototype));
    uk_put(&a->text, " @%s(", a->form->symbol);
    for (int i = 0; i < a->form->arguments; i++) {
        uk_put(&a->text, i ? ", " : "");
        put_type(a, a->parameter[i]);
    }
    uk_put(&a->text, ")\n");
}

static void put_head(struct wrapper *a) {
    const struct uk_kernel_code *code = &a->b->target->arch->kernel;
    int n = 0;

    uk_put(&a->text,
           "define protected amdgpu_kernel void @%s(ptr addrspace(1) %%tiles, ptr addrspace(1) %%shared, "
           "ptr addrspace(1) %%defined, i32 %%units, i32 %%threads",
           a->name);
    for (const struct uk_tensor *t = a->intrinsic->declaration->tensors; t; t = t->next, n++)
        if (t->scope != UK_SCOPE_SHARED)
            uk_put(&a->text, ", ptr addrspace(1) %%t%d", n);
    for (int i = 0; i < a->form->arguments; i++)
        if (!a->form->argument[i].tensor) {
            uk_put(&a->text, ", ");
            put_type(a, a->parameter[i]);
            uk_put(&a->text, " %%a%d", i);
        }
    uk_put(&a->text, ") \"amdgpu-flat-work-group-size\"=\"1,256\" \"uniform-work-group-size\"=\"true\" "
                     "\"amdgpu-no-implicitarg-ptr\" ");
    if (code->wave_attribute[0] && a->intrinsic->scope == UK_EXEC_WAVE)
        uk_put(&a->text, "\"%s\"=\"%s\" ", code->wave_attribute[0], code->wave_attribute[1]);
    uk_put(&a->text, "{\nentry:\n  %%id = call i32 @%s()\n", code->thread_id[0]);
}

/* Copies to shared memory or back; the threads take turns, a unit each. */
static void put_copy(struct wrapper *a, const char *name, const char *before, bool back) {
    const int bits = 8 * (int)uk_verify_unit(a->intrinsic);
    const char *from = back ? "there" : "here", *to = back ? "here" : "there";

    uk_put(&a->text,
           "  br label %%%s\n%s:\n"
           "  %%%s.i = phi i32 [ %%id, %%%s ], [ %%%s.next, %%%s.end ]\n"
           "  %%%s.more = icmp ult i32 %%%s.i, %%units\n"
           "  br i1 %%%s.more, label %%%s.body, label %%%s.done\n%s.body:\n",
           name, name, name, before, name, name, name, name, name, name, name, name);
    uk_put(&a->text,
           "  %%%s.at = getelementptr i8, ptr addrspace(1) %%defined, i32 %%%s.i\n"
           "  %%%s.defined = load i8, ptr addrspace(1) %%%s.at\n"
           "  %%%s.copies = icmp ne i8 %%%s.defined, 0\n"
           "  br i1 %%%s.copies, label %%%s.one, label %%%s.end\n%s.one:\n"
           "  %%%s.here = getelementptr i%d, ptr addrspace(1) %%shared, i32 %%%s.i\n"
           "  %%%s.there = getelementptr i%d, ptr addrspace(3) @uk.verify.shared, i32 %%%s.i\n",
           name, name, name, name, name, name, name, name, name, name, name, bits, name, name, bits, name);
    uk_put(&a->text,
           "  %%%s.x = load i%d, ptr addrspace(%d) %%%s.%s\n  store i%d %%%s.x, ptr addrspace(%d) %%%s.%s\n",
           name, bits, back ? 3 : 1, name, from, bits, name, back ? 1 : 3, name, to);
    uk_put(&a->text,
           "  br label %%%s.end\n%s.end:\n"
           "  %%%s.next = add i32 %%%s.i, %%threads\n  br label %%%s\n%s.done:\n",
           name, name, name, name, name, name);
}

/* Copies each thread's tile to its registers or back. */
static void put_tile(struct wrapper *a, const struct uk_tensor *t, int n, bool back) {
    const int64_t elements = uk_verify_registers(a->intrinsic, t);
    const char *way = back ? "out" : "in";

    for (int64_t i = 0; i < elements; i++) {
        uk_put(&a->text, "  %%t%d.%s.g%lld = getelementptr ", n, way, (long long)i);
        put_element(a, t);
        uk_put(&a->text, ", ptr addrspace(1) %%t%d.mine, i32 %lld\n  %%t%d.%s.p%lld = getelementptr ", n,
               (long long)i, n, way, (long long)i);
        put_element(a, t);
        uk_put(&a->text, ", ptr addrspace(5) %%t%d.tile, i32 %lld\n  %%t%d.%s.x%lld = load ", n, (long long)i,
               n, way, (long long)i);
        put_element(a, t);
        uk_put(&a->text, ", ptr addrspace(%d) %%t%d.%s.%c%lld\n  store ", back ? 5 : 1, n, way,
               back ? 'p' : 'g', (long long)i);
        put_element(a, t);
        uk_put(&a->text, " %%t%d.%s.x%lld, ptr addrspace(%d) %%t%d.%s.%c%lld\n", n, way, (long long)i,
               back ? 1 : 5, n, way, back ? 'g' : 'p', (long long)i);
    }
}

static void put_tiles(struct wrapper *a, bool back) {
    int n = 0;

    for (const struct uk_tensor *t = a->intrinsic->declaration->tensors; t; t = t->next, n++)
        if (t->scope == UK_SCOPE_REGISTER)
            put_tile(a, t, n, back);
}

/* The origin of this thread's tile of each operand. */
static void put_origins(struct wrapper *a) {
    int n = 0;

    for (const struct uk_tensor *t = a->intrinsic->declaration->tensors; t; t = t->next, n++) {
        uk_put(&a->text,
               "  %%t%d.first = mul i32 %%threads, %d\n  %%t%d.n = add i32 %%t%d.first, %%id\n"
               "  %%t%d.entry = getelementptr i32, ptr addrspace(1) %%tiles, i32 %%t%d.n\n"
               "  %%t%d.at = load i32, ptr addrspace(1) %%t%d.entry\n",
               n, n, n, n, n, n, n, n);
        if (t->scope == UK_SCOPE_SHARED)
            uk_put(&a->text,
                   "  %%t%d.origin = getelementptr i8, ptr addrspace(3) @uk.verify.shared, i32 %%t%d.at\n", n,
                   n);
        else
            uk_put(&a->text, "  %%t%d.mine = getelementptr i8, ptr addrspace(1) %%t%d, i32 %%t%d.at\n", n, n,
                   n);
        if (t->scope == UK_SCOPE_REGISTER) {
            uk_put(&a->text, "  %%t%d.tile = alloca [%lld x ", n,
                   (long long)uk_verify_registers(a->intrinsic, t));
            put_element(a, t);
            uk_put(&a->text, "], addrspace(5)\n");
        }
    }
}

static int number_of(const struct wrapper *a, const struct uk_tensor *tensor) {
    int n = 0;

    for (const struct uk_tensor *t = a->intrinsic->declaration->tensors; t != tensor; t = t->next)
        n++;
    return n;
}

/* Casts pointers to the address spaces that the form takes: generic for global memory. */
static void put_casts(struct wrapper *a) {
    for (int i = 0; i < a->form->arguments; i++) {
        const struct uk_tensor *t = a->form->argument[i].tensor;
        const unsigned space = t ? LLVMGetPointerAddressSpace(a->parameter[i]) : 0;

        if (!t)
            continue;
        const char *const source = t->scope == UK_SCOPE_SHARED     ? "origin"
                                   : t->scope == UK_SCOPE_REGISTER ? "tile"
                                                                   : "mine";
        const unsigned is = t->scope == UK_SCOPE_SHARED ? 3 : t->scope == UK_SCOPE_REGISTER ? 5 : 1;

        if (space != is)
            uk_put(&a->text, "  %%a%d = addrspacecast ptr addrspace(%u) %%t%d.%s to ptr addrspace(%u)\n", i,
                   is, number_of(a, t), source, space);
        else
            uk_put(&a->text, "  %%a%d = getelementptr i8, ptr addrspace(%u) %%t%d.%s, i32 0\n", i, is,
                   number_of(a, t), source);
    }
}

static void put_call(struct wrapper *a) {
    const struct uk_kernel_code *code = &a->b->target->arch->kernel;

    put_casts(a);
    if (LLVMGetTypeKind(LLVMGetReturnType(a->prototype)) != LLVMVoidTypeKind)
        uk_put(&a->text, "  %%result =");
    uk_put(&a->text, "  call ");
    put_type(a, LLVMGetReturnType(a->prototype));
    uk_put(&a->text, " @%s(", a->form->symbol);
    for (int i = 0; i < a->form->arguments; i++) {
        uk_put(&a->text, i ? ", " : "");
        put_type(a, a->parameter[i]);
        uk_put(&a->text, " %%a%d", i);
    }
    uk_put(&a->text, ")\n");
    if (code->matrix_wait && a->intrinsic->scope == UK_EXEC_WAVE)
        uk_put(&a->text, "%s", code->matrix_wait);
}

static enum uk_status put_all(struct wrapper *a) {
    const char *barrier = a->b->target->arch->kernel.barrier;
    struct uk_source s = {.name = a->name, .built_in = true};

    put_declarations(a);
    put_head(a);
    put_origins(a);
    put_tiles(a, false);
    put_copy(a, "in", "entry", false);
    /* The first barrier: all of shared memory is written. The second: no thread reads results before all are
     * done. */
    uk_put(&a->text, "%s", barrier);
    put_call(a);
    uk_put(&a->text, "%s", barrier);
    put_tiles(a, true);
    put_copy(a, "out", "in.done", true);
    uk_put(&a->text, "  ret void\n}\n");
    if (a->text.failed)
        return uk_out_of_memory(a->b->context);
    enum uk_status status = uk_parse_source(a->b, &s, a->text.text, a->text.length);

    if (status)
        return status;
    LLVMSetTarget(s.module, LLVMGetTarget(a->b->module));
    return LLVMLinkModules2(a->b->module, s.module) ? uk_build_fail(a->b, UK_LINK, a->name, "does not link")
                                                    : UK_OK;
}

/* ---- all forms ---- */

static enum uk_status check_registers(struct uk_build *b, const struct uk_intrinsic *i) {
    for (const struct uk_tensor *t = i->declaration->tensors; t; t = t->next)
        if (t->scope == UK_SCOPE_REGISTER && !uk_verify_registers(i, t))
            return uk_fail(
                b->context, UK_REFUSED, i->at,
                "%s: %s is in registers, so its size has to be constant: give it constant strides, and bound "
                "its extents to at most %d elements by assumptions",
                i->name, t->name, UK_VERIFY_REGISTERS);
    return UK_OK;
}

static enum uk_status add_form(struct uk_build *b, const struct uk_intrinsic *i, const struct uk_form *form,
                               const char *name, struct uk_arena *arena) {
    LLVMValueRef kernel = name ? uk_verify_declare(b, i, form, arena) : NULL;

    if (!kernel)
        return name ? uk_failure(b->context) : uk_out_of_memory(b->context);
    struct wrapper a = {.b = b,
                        .intrinsic = i,
                        .form = form,
                        .prototype = LLVMGlobalGetValueType(kernel),
                        .parameter = uk_alloc(arena, ((size_t)form->arguments + 1) * sizeof(LLVMTypeRef)),
                        .name = name};
    if (!a.parameter)
        return uk_out_of_memory(b->context);
    LLVMGetParamTypes(a.prototype, a.parameter);
    enum uk_status s = put_all(&a);

    uk_text_free(a.text.text);
    return s;
}

static enum uk_status add_forms(struct uk_build *b, struct uk_arena *arena) {
    enum uk_status s = UK_OK;

    for (int i = 0; i < b->function->intrinsics && !s; i++) {
        s = check_registers(b, b->function->intrinsic[i]);
        for (int k = 0; k < UK_FORMS && !s; k++)
            if (b->function->intrinsic[i]->form[k].is_declared)
                s = add_form(b, b->function->intrinsic[i], &b->function->intrinsic[i]->form[k],
                             uk_verify_call_name(arena, i, k), arena);
    }
    return s;
}

enum uk_status uk_verify_compile_device(struct uk_program *p, const struct uk_target *t,
                                        struct uk_intrinsic *const *list, int count, char **image,
                                        size_t *bytes, struct uk_text *asm_found) {
    struct uk_function f = {
        .program = p, .name = "uk.verify", .intrinsics = count, .intrinsic = (struct uk_intrinsic **)list};
    LLVMMemoryBufferRef object = NULL;
    struct uk_arena arena = {0};
    struct uk_build b;
    enum uk_status s = uk_build_begin(&b, p->context, &f, t);

    if (s)
        return s;
    s = add_forms(&b, &arena);
    if (!s)
        s = uk_link(&b);
    if (!s)
        s = uk_verify_check_asm(&b, asm_found);
    if (!s)
        s = uk_optimize(&b);
    if (!s)
        s = uk_build_assemble(&b, LLVMObjectFile, &object);
    if (!s) {
        s = uk_link_code_object(b.context, t, LLVMGetBufferStart(object), LLVMGetBufferSize(object), image,
                                bytes);
        LLVMDisposeMemoryBuffer(object);
    }
    uk_build_end(&b);
    uk_arena_free(&arena);
    return s;
}
