/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels of GPUs. The body of a launch becomes a function PROGRAM_STAGE_NUMBER of the device's module. Its
 * parameters are all values of the host's function at that point: sizes, scalars, addresses of arguments and
 * of buffers in device memory, variables of loops around the launch; an unused one costs only its place in
 * the argument list. The host computes the grid, stores the arguments in the kernel's layout, each at a
 * multiple of its size, and calls uk_gpu_launch.
 */
#include <string.h>
#include "generator.h"

/* A kernel parameter: an address of device memory, or a number. */
struct parameter {
    LLVMValueRef value; /* on the host */
    const struct uk_binding *binding;
    const struct uk_scalar_binding *scalar;
    const struct uk_place *place;
};

struct uk_parameters {
    unsigned count;
    struct parameter *list;
    LLVMTypeRef *type;
};

static void add(struct uk_parameters *p, struct parameter one) {
    p->list[p->count++] = one;
}

/* The generator's lists are in reverse order; a variable's value is that of its innermost loop. */
static bool list_parameters(struct uk_codegen *g, struct uk_parameters *p) {
    size_t capacity = 1;

    for (const struct uk_binding *b = g->bindings; b; b = b->next)
        capacity++;
    for (const struct uk_scalar_binding *s = g->scalars; s; s = s->next)
        capacity++;
    for (const struct uk_place *t = g->places; t; t = t->next)
        capacity++;
    *p = (struct uk_parameters){.list = uk_alloc(&g->arena, capacity * sizeof *p->list),
                                .type = uk_alloc(&g->arena, capacity * sizeof(LLVMTypeRef))};
    if (!p->list || !p->type)
        return false;
    for (const struct uk_place *t = g->places; t; t = t->next)
        add(p, (struct parameter){.value = t->base, .place = t});
    for (const struct uk_scalar_binding *s = g->scalars; s; s = s->next)
        add(p, (struct parameter){.value = s->value, .scalar = s});
    for (const struct uk_binding *b = g->bindings; b; b = b->next)
        add(p, (struct parameter){.value = b->value, .binding = b});
    for (unsigned i = 0; i < p->count / 2; i++) {
        const struct parameter swapped = p->list[i];

        p->list[i] = p->list[p->count - 1 - i];
        p->list[p->count - 1 - i] = swapped;
    }
    return true;
}

static LLVMTypeRef parameter_type(struct uk_codegen *d, const struct parameter *p) {
    if (p->binding && d->is_short && p->binding->range.low >= INT32_MIN &&
        p->binding->range.high <= INT32_MAX)
        return d->i32;
    return p->place ? LLVMPointerTypeInContext(d->llvm, d->target->arch->spaces[UK_SPACE_GLOBAL])
                    : LLVMTypeOf(p->value);
}

static void string_attribute(struct uk_codegen *d, const char *key, const char *value) {
    LLVMAddAttributeAtIndex(
        d->function, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
        LLVMCreateStringAttribute(d->llvm, key, (unsigned)strlen(key), value, (unsigned)strlen(value)));
}

static void annotate(struct uk_codegen *d, const char *key, int64_t value) {
    LLVMMetadataRef entry[] = {LLVMValueAsMetadata(d->function),
                               LLVMMDStringInContext2(d->llvm, key, strlen(key)),
                               LLVMValueAsMetadata(LLVMConstInt(d->i32, (unsigned long long)value, false))};

    LLVMAddNamedMetadataOperand(d->module, "nvvm.annotations",
                                LLVMMetadataAsValue(d->llvm, LLVMMDNodeInContext2(d->llvm, entry, 3)));
}

/* Tells LLVM the block's shape, and that no function is called that needs hidden arguments. */
static void mark_kernel(struct uk_codegen *d, const struct uk_node *n) {
    const struct uk_kernel_code *code = &d->target->arch->kernel;
    const int64_t *block = n->block;
    char *threads = uk_format(&d->arena, "%lld,%lld", (long long)(block[0] * block[1] * block[2]),
                              (long long)(block[0] * block[1] * block[2]));

    LLVMSetFunctionCallConv(d->function, code->convention);
    LLVMSetVisibility(d->function, LLVMProtectedVisibility);
    uk_cg_attribute(d, d->function, (unsigned)LLVMAttributeFunctionIndex, "nounwind", 0);
    for (const char *const *a = code->attributes; *a; a += 2)
        string_attribute(d, a[0], a[1]);
    if (!threads) {
        uk_cg_fail(d, UK_OUT_OF_MEMORY, NULL, NULL);
        return;
    }
    if (code->block_attribute)
        string_attribute(d, code->block_attribute, threads);
    if (code->wave_attribute[0] && uk_cg_calls_wave(n->body, true))
        string_attribute(d, code->wave_attribute[0], code->wave_attribute[1]);
    for (int a = 0; a < UK_AXES; a++)
        if (code->block_annotations[a])
            annotate(d, code->block_annotations[a], block[a]);
    LLVMMetadataRef shape[UK_AXES];
    for (int a = 0; a < UK_AXES; a++)
        shape[a] = LLVMValueAsMetadata(LLVMConstInt(d->i32, (unsigned long long)block[a], false));
    LLVMGlobalSetMetadata(d->function, LLVMGetMDKindIDInContext(d->llvm, "reqd_work_group_size", 20),
                          LLVMMDNodeInContext2(d->llvm, shape, UK_AXES));
}

static void bind_parameters(struct uk_codegen *d, const struct uk_parameters *p) {
    for (unsigned i = 0; i < p->count; i++) {
        const struct parameter *one = &p->list[i];
        LLVMValueRef v = LLVMIsConstant(one->value) ? one->value : LLVMGetParam(d->function, i);
        const char *name = one->binding  ? one->binding->var->name
                           : one->scalar ? one->scalar->scalar->name
                                         : one->place->tensor->name;

        LLVMSetValueName2(LLVMGetParam(d->function, i), name, strlen(name));
        if (one->binding) {
            uk_cg_bind(d, one->binding->var, v, one->binding->range);
        } else if (one->scalar) {
            struct uk_scalar_binding *given = uk_alloc(&d->arena, sizeof *given);

            if (!given) {
                uk_cg_fail(d, UK_OUT_OF_MEMORY, NULL, NULL);
                return;
            }
            *given = (struct uk_scalar_binding){
                one->scalar->scalar, uk_cg_from_memory(d, one->scalar->scalar->type, v), d->scalars};
            d->scalars = given;
        } else {
            uk_cg_attribute(d, d->function, i + 1, "noalias", 0);
            uk_cg_place(d, one->place->tensor, v, NULL);
        }
    }
}

/* Shared memory and registers are uninitialized when a kernel begins; the optimizer removes unused ones. */
static void make_buffers(struct uk_codegen *d) {
    enum { ALIGN = 16 };

    for (const struct uk_buffer *b = d->f->buffers; b; b = b->next) {
        const enum uk_scope scope = b->tensor->scope;
        LLVMTypeRef element = uk_llvm_type(d->llvm, b->tensor->type), type;
        LLVMValueRef at;
        int64_t n;

        if (scope == UK_SCOPE_GLOBAL)
            continue;
        if (!uk_index_is_int(b->elements, &n)) {
            uk_cg_fail(d, UK_INTERNAL, "the extent of a buffer is not constant", b->tensor->name);
            return;
        }
        /* LLVM may load the aligned word around the last byte of shared memory. */
        while (scope == UK_SCOPE_SHARED && (uint64_t)n * uk_type_bytes(b->tensor->type) % sizeof(int32_t))
            n++;
        type = LLVMArrayType2(element, (uint64_t)n);
        if (scope == UK_SCOPE_REGISTER) {
            at = uk_cg_variable(d, type, b->tensor->name);
        } else {
            at = LLVMAddGlobalInAddressSpace(d->module, type, b->tensor->name,
                                             d->target->arch->spaces[UK_SPACE_SHARED]);
            LLVMSetInitializer(at, LLVMGetUndef(type));
            LLVMSetLinkage(at, LLVMInternalLinkage);
        }
        LLVMSetAlignment(at, ALIGN);
        uk_cg_place(d, b->tensor, at, NULL);
    }
}

static LLVMValueRef number(struct uk_codegen *d, const char *intrinsic) {
    LLVMTypeRef type = LLVMFunctionType(d->i32, NULL, 0, false);
    LLVMValueRef n = LLVMBuildCall2(d->b, type, uk_cg_declare(d, intrinsic, type), NULL, 0, "");

    return d->is_short ? n : LLVMBuildZExt(d->b, n, d->i64, "");
}

void uk_cg_reload_parameters(struct uk_codegen *d) {
    const struct uk_kernel_code *code = &d->target->arch->kernel;
    const struct uk_parameters *p = d->parameters;

    if (!code->arguments)
        return;
    LLVMTypeRef at = LLVMPointerTypeInContext(d->llvm, code->arguments_space),
                of = LLVMFunctionType(at, NULL, 0, false), same = LLVMFunctionType(at, &at, 1, false),
                all = LLVMStructTypeInContext(d->llvm, p->type, p->count, false);
    LLVMValueRef hide = LLVMGetInlineAsm(same, "", 0, code->shared_value, strlen(code->shared_value), true,
                                         false, LLVMInlineAsmDialectATT, false),
                 arguments = LLVMBuildCall2(d->b, of, uk_cg_declare(d, code->arguments, of), NULL, 0, "");

    arguments = LLVMBuildCall2(d->b, same, hide, &arguments, 1, "arguments");
    for (unsigned i = 0; i < p->count; i++) {
        const struct parameter *one = &p->list[i];

        if (one->scalar || LLVMIsConstant(one->value))
            continue;
        LLVMValueRef v =
            LLVMBuildLoad2(d->b, p->type[i], LLVMBuildStructGEP2(d->b, all, arguments, i, ""), "");

        if (one->binding)
            uk_cg_bind(d, one->binding->var, v, one->binding->range);
        else
            uk_cg_place(d, one->place->tensor, v, NULL);
    }
}

/* True if scalar registers do not hold the parameters and all that LLVM would move out of the kernel's loops.
 * To load and compute them again, and to compare in each iteration, takes a few percent of the time. */
static bool has_many_values(struct uk_codegen *d, const struct uk_node *body, const struct uk_parameters *p) {
    enum { REGISTERS_OF_VALUE = 2 };
    int64_t values = uk_cg_count_scalars(d, body);

    for (unsigned i = 0; i < p->count; i++)
        values += !LLVMIsConstant(p->list[i].value);
    const int registers = d->target->arch->kernel.scalar_registers;

    return registers && REGISTERS_OF_VALUE * values > registers;
}

/* Generates the kernel; returns its name. */
static const char *write_kernel(struct uk_codegen *d, const struct uk_node *n,
                                const struct uk_parameters *p) {
    const struct uk_kernel_code *code = &d->target->arch->kernel;
    const char *name =
        uk_format(&d->arena, "%s_%s_%d", d->f->program->name, n->stage ? n->stage : "kernel", d->tasks++);

    d->function = LLVMAddFunction(d->module, name ? name : "",
                                  LLVMFunctionType(LLVMVoidTypeInContext(d->llvm), p->type, p->count, false));
    d->launch = n;
    d->parameters = p;
    d->calls_wave = uk_cg_calls_wave(n->body, true);
    d->bindings = NULL;
    d->scalars = NULL;
    d->places = NULL;
    d->spread = NULL;
    mark_kernel(d, n);
    LLVMPositionBuilderAtEnd(d->b, uk_cg_block(d, "entry"));
    bind_parameters(d, p);
    make_buffers(d);
    d->spares_registers = d->calls_wave || has_many_values(d, n->body, p);
    LLVMValueRef zero = LLVMConstInt(d->is_short ? d->i32 : d->i64, 0, false);
    for (int a = 0; a < UK_AXES; a++) {
        d->thread_id[a] = n->block[a] > 1 ? number(d, code->thread_id[a]) : zero;
        d->block_id[a] = number(d, code->block_id[a]);
    }
    uk_cg_alias_scopes(d);
    uk_cg_nodes(d, n->body);
    LLVMBuildRetVoid(d->b);
    return name;
}

/* ---- the host ---- */

/* Stores the arguments like a struct. */
static LLVMValueRef store_arguments(struct uk_codegen *g, const struct uk_parameters *p, unsigned *bytes) {
    LLVMTypeRef type = LLVMStructTypeInContext(g->llvm, p->type, p->count, false);
    LLVMTargetDataRef layout = LLVMGetModuleDataLayout(g->module);
    LLVMValueRef at = uk_cg_variable(g, type, "arguments");

    *bytes = (unsigned)LLVMABISizeOfType(layout, type);
    for (unsigned i = 0; i < p->count; i++) {
        LLVMValueRef v = p->list[i].value;

        if (p->list[i].binding)
            v = LLVMBuildIntCast2(g->b, v, p->type[i], true, "");
        LLVMBuildStore(g->b, v, LLVMBuildStructGEP2(g->b, type, at, i, ""));
    }
    return at;
}

static void leave_unless_ok(struct uk_codegen *g, LLVMValueRef status, const char *name) {
    uk_cg_leave_if(g, LLVMBuildICmp(g->b, LLVMIntNE, status, LLVMConstInt(g->i32, UK_OK, false), ""), status,
                   name);
}

static LLVMValueRef extents(struct uk_codegen *g, LLVMValueRef const n[UK_AXES], const char *name) {
    LLVMTypeRef type = LLVMArrayType2(g->i64, UK_AXES);
    LLVMValueRef at = uk_cg_variable(g, type, name);

    for (int a = 0; a < UK_AXES; a++) {
        LLVMValueRef i = uk_cg_int(g, a);

        LLVMBuildStore(g->b, n[a], LLVMBuildInBoundsGEP2(g->b, g->i64, at, &i, 1, ""));
    }
    return at;
}

/* uk_gpu_use(gpu, image, bytes, name, &kernel) */
static LLVMValueRef find_kernel(struct uk_codegen *g, const char *name) {
    LLVMTypeRef type =
        LLVMFunctionType(g->i32, (LLVMTypeRef[]){g->ptr, g->ptr, g->size, g->ptr, g->ptr}, 5, false);
    LLVMValueRef image = LLVMGetNamedGlobal(g->module, UK_IMAGE);
    LLVMValueRef bytes = LLVMGetNamedGlobal(g->module, UK_IMAGE_BYTES),
                 kernel = uk_cg_variable(g, g->ptr, "kernel");

    if (!image)
        image = LLVMAddGlobal(g->module, g->i8, UK_IMAGE);
    if (!bytes)
        bytes = LLVMAddGlobal(g->module, g->size, UK_IMAGE_BYTES);
    LLVMValueRef argument[] = {LLVMGetParam(g->function, 0), image, LLVMBuildLoad2(g->b, g->size, bytes, ""),
                               LLVMBuildGlobalStringPtr(g->b, name, ""), kernel};

    leave_unless_ok(
        g, LLVMBuildCall2(g->b, type, uk_cg_declare(g, "uk_gpu_use", type), argument, 5, "status"), "found");
    return LLVMBuildLoad2(g->b, g->ptr, kernel, "");
}

/* uk_gpu_launch(gpu, kernel, grid, block, 0, arguments, bytes) */
static void call_launch(struct uk_codegen *g, const struct uk_node *n, const char *name,
                        const struct uk_parameters *p) {
    LLVMTypeRef type = LLVMFunctionType(
        g->i32, (LLVMTypeRef[]){g->ptr, g->ptr, g->ptr, g->ptr, g->size, g->ptr, g->size}, 7, false);
    LLVMValueRef grid[UK_AXES], block[UK_AXES], kernel = find_kernel(g, name);
    unsigned bytes;

    for (int a = 0; a < UK_AXES; a++) {
        grid[a] = uk_cg_index(g, n->grid[a]);
        block[a] = uk_cg_int(g, n->block[a]);
    }
    LLVMValueRef arguments = store_arguments(g, p, &bytes);
    LLVMValueRef argument[] = {LLVMGetParam(g->function, 0),       kernel,
                               extents(g, grid, "grid"),           extents(g, block, "block"),
                               LLVMConstInt(g->size, 0, false),    arguments,
                               LLVMConstInt(g->size, bytes, false)};

    leave_unless_ok(
        g, LLVMBuildCall2(g->b, type, uk_cg_declare(g, "uk_gpu_launch", type), argument, 7, "status"),
        "launched");
}

void uk_cg_launch(struct uk_codegen *g, const struct uk_node *n) {
    struct uk_codegen *d = g->device;
    struct uk_parameters p;

    if (!list_parameters(g, &p)) {
        uk_cg_fail(g, UK_OUT_OF_MEMORY, NULL, NULL);
        return;
    }
    for (unsigned i = 0; i < p.count; i++)
        p.type[i] = parameter_type(d, &p.list[i]);
    const char *name = write_kernel(d, n, &p);
    g->status = g->status ? g->status : d->status;
    if (g->status || !name)
        return;
    for (unsigned i = 0; i < p.count; i++)
        if (p.list[i].place)
            p.type[i] = g->ptr;
    call_launch(g, n, name, &p);
}
