/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The entry checks as a separate function: NAME.check takes the arguments of NAME and returns a status.
 *
 * It is straight-line code: every condition becomes a bit, the bits of one status are or-ed, and one chain of
 * selects picks the result. Optimizing it is not worth the compile time, so it is marked optnone.
 */
#include <string.h>
#include "generator.h"

/* The memory of an argument: [begin, end), both 0 if it has no elements. */
struct range {
    bool is_written;
    LLVMValueRef begin, end;
    struct range *next;
};

struct checks {
    LLVMValueRef size, argument, overlap; /* i1: refused for this reason */
    struct range *ranges;
};

static LLVMValueRef compare(struct uk_codegen *g, LLVMIntPredicate p, LLVMValueRef l, int64_t r) {
    return LLVMBuildICmp(g->b, p, l, uk_cg_int(g, r), "");
}

static bool is_false(LLVMValueRef v) {
    return LLVMIsAConstantInt(v) && !LLVMConstIntGetZExtValue(v);
}

static void or_into_flag(struct uk_codegen *g, LLVMValueRef *flag, LLVMValueRef bad) {
    if (is_false(*flag))
        *flag = bad;
    else if (!is_false(bad))
        *flag = LLVMBuildOr(g->b, *flag, bad, "");
}

LLVMValueRef uk_cg_exceeds_object(struct uk_codegen *g, LLVMValueRef bytes) {
    return g->target->arch->bits == 32 ? compare(g, LLVMIntUGT, bytes, INT32_MAX)
                                       : LLVMConstInt(g->i1, 0, false);
}

LLVMValueRef uk_cg_ends_outside_object(struct uk_codegen *g, LLVMValueRef end) {
    return g->target->arch->bits == 32 ? compare(g, LLVMIntUGT, end, UINT32_MAX)
                                       : LLVMConstInt(g->i1, 0, false);
}

/* The maximum (is_maximum) or minimum of a layout's subscript over the box, which begins at 0. */
static LLVMValueRef bound(struct uk_codegen *g, const struct uk_tensor *t, const struct uk_index *e,
                          bool is_maximum) {
    bool swap = e->op == UK_I_SUB;

    switch (e->op) {
    case UK_I_VAR:
        for (int i = 0; i < t->layout->from_count; i++)
            if (t->layout->from[i] == e->var)
                return is_maximum
                           ? uk_cg_arithmetic(g, UK_I_SUB, uk_cg_index(g, t->shape[i]), uk_cg_int(g, 1))
                           : uk_cg_int(g, 0);
        return uk_cg_index(g, e);
    case UK_I_NEG:
        return uk_cg_arithmetic(g, UK_I_SUB, uk_cg_int(g, 0), bound(g, t, e->a, !is_maximum));
    case UK_I_ADD:
    case UK_I_SUB: {
        LLVMValueRef l = bound(g, t, e->a, is_maximum);

        return uk_cg_arithmetic(g, e->op, l, bound(g, t, e->b, swap ? !is_maximum : is_maximum));
    }
    case UK_I_MUL: {
        LLVMValueRef l = bound(g, t, e->a, is_maximum);

        return uk_cg_arithmetic(g, UK_I_MUL, l, bound(g, t, e->b, is_maximum));
    }
    case UK_I_DIV: /* the dividend is not negative: rounding down is truncation */
        return LLVMBuildSDiv(g->b, bound(g, t, e->a, is_maximum), uk_cg_index(g, e->b), "");
    case UK_I_MOD: {
        LLVMValueRef last = uk_cg_arithmetic(g, UK_I_SUB, uk_cg_index(g, e->b), uk_cg_int(g, 1));
        LLVMValueRef pair[] = {bound(g, t, e->a, true), last};

        return is_maximum ? uk_cg_intrinsic(g, "llvm.smin", g->i64, pair, 2) : uk_cg_int(g, 0);
    }
    default:
        return uk_cg_index(g, e);
    }
}

/* The extent of a stored dimension. */
static LLVMValueRef extent(struct uk_codegen *g, const struct uk_tensor *t, int d) {
    if (!t->layout)
        return uk_cg_index(g, t->shape[d]);
    return uk_cg_arithmetic(g, UK_I_ADD, bound(g, t, t->layout->to[d], true), uk_cg_int(g, 1));
}

/* The number of elements from the origin to the last one; sets *bad if strides let two elements overlap. */
static LLVMValueRef elements(struct uk_codegen *g, const struct uk_tensor *t, LLVMValueRef empty,
                             LLVMValueRef *bad) {
    LLVMValueRef need = uk_cg_int(g, 1), short_stride = LLVMConstInt(g->i1, 0, false);
    int order[UK_MAX_DIMS];

    uk_order_by_stride(t, order);
    for (int i = 0; i < t->stored_dims; i++) {
        int d = order[i];
        LLVMValueRef n = extent(g, t, d), stride = uk_cg_index(g, t->stride[d]);

        LLVMValueRef meets = LLVMBuildICmp(g->b, LLVMIntSLT, stride, need, "");

        if (t->has_strides && !is_false(meets))
            or_into_flag(g, &short_stride, LLVMBuildAnd(g->b, meets, compare(g, LLVMIntSGT, n, 1), ""));
        LLVMValueRef last = uk_cg_arithmetic(g, UK_I_SUB, n, uk_cg_int(g, 1));
        need = uk_cg_arithmetic(g, UK_I_ADD, need, uk_cg_arithmetic(g, UK_I_MUL, last, stride));
    }
    if (t->has_strides)
        or_into_flag(g, bad, LLVMBuildAnd(g->b, short_stride, LLVMBuildNot(g->b, empty, ""), ""));
    return need;
}

/* With an extent of 0 the last element would precede the first, so strides and addresses do not matter. */
struct extents {
    LLVMValueRef empty, overflow, wrong_shape, bytes;
};

static void find_extents(struct uk_codegen *g, struct checks *c, const struct uk_tensor *t,
                         struct extents *e) {
    const LLVMValueRef no = LLVMConstInt(g->i1, 0, false);

    *e = (struct extents){no, no, no, NULL};
    g->overflow = &e->wrong_shape;
    for (int d = 0; d < t->dims; d++) {
        LLVMValueRef n = uk_cg_index(g, t->shape[d]);

        or_into_flag(g, &e->empty, compare(g, LLVMIntEQ, n, 0));
        if (t->shape[d]->op != UK_I_VAR)
            or_into_flag(g, &e->wrong_shape, compare(g, LLVMIntSLT, n, 0));
    }
    g->overflow = &e->overflow;
    e->bytes = uk_cg_arithmetic(g, UK_I_MUL, elements(g, t, e->empty, &c->size),
                                uk_cg_int(g, (int64_t)uk_type_bytes(t->type)));
}

static void check_tensor(struct uk_codegen *g, struct checks *c, const struct uk_tensor *t,
                         LLVMValueRef pointer) {
    struct range *r = uk_alloc(&g->arena, sizeof *r);
    int64_t bytes = (int64_t)uk_type_bytes(t->type), align = t->align > bytes ? t->align : bytes;
    LLVMValueRef zero = uk_cg_int(g, 0), begin, end;
    struct extents e;

    find_extents(g, c, t, &e);
    LLVMValueRef size = e.bytes, empty = e.empty, overflow = e.overflow, wrong_shape = e.wrong_shape;
    begin = LLVMBuildPtrToInt(g->b, pointer, g->i64, t->name);
    end = uk_cg_intrinsic(g, "llvm.uadd.with.overflow", g->i64, (LLVMValueRef[]){begin, size}, 2);
    g->overflow = NULL;
    or_into_flag(g, &overflow, LLVMBuildExtractValue(g->b, end, 1, ""));
    or_into_flag(g, &overflow, uk_cg_exceeds_object(g, size));
    or_into_flag(g, &overflow, uk_cg_ends_outside_object(g, LLVMBuildExtractValue(g->b, end, 0, "")));
    LLVMValueRef unusable =
        LLVMBuildOr(g->b, compare(g, LLVMIntEQ, begin, 0),
                    compare(g, LLVMIntNE, LLVMBuildAnd(g->b, begin, uk_cg_int(g, align - 1), ""), 0), "");
    LLVMValueRef used = LLVMBuildNot(g->b, empty, "");
    or_into_flag(g, &c->size, wrong_shape);
    or_into_flag(g, &c->size, LLVMBuildAnd(g->b, overflow, used, ""));
    or_into_flag(g, &c->argument, LLVMBuildAnd(g->b, unusable, used, ""));
    if (!r) {
        uk_cg_fail(g, UK_OUT_OF_MEMORY, NULL, NULL);
        return;
    }
    *r = (struct range){t->is_written, LLVMBuildSelect(g->b, empty, zero, begin, ""),
                        LLVMBuildSelect(g->b, empty, zero, LLVMBuildExtractValue(g->b, end, 0, ""), ""),
                        c->ranges};
    c->ranges = r;
}

/* Checks explicit strides of a temp, which has no pointer. */
static void check_temp(struct uk_codegen *g, struct checks *c, const struct uk_tensor *t) {
    LLVMValueRef empty = LLVMConstInt(g->i1, 0, false), overflow = empty;

    g->overflow = &overflow;
    for (int d = 0; d < t->dims; d++)
        or_into_flag(g, &empty, compare(g, LLVMIntEQ, uk_cg_index(g, t->shape[d]), 0));
    elements(g, t, empty, &c->size);
    g->overflow = NULL;
    or_into_flag(g, &c->size, LLVMBuildAnd(g->b, overflow, LLVMBuildNot(g->b, empty, ""), ""));
}

/* Checks a constant tensor that is replaced by its packed form. */
static void check_packed(struct uk_codegen *g, struct checks *c, const struct uk_tensor *t) {
    struct extents e;

    find_extents(g, c, t, &e);
    g->overflow = NULL;
    or_into_flag(g, &c->size, e.wrong_shape);
    or_into_flag(g, &c->size, LLVMBuildAnd(g->b, e.overflow, LLVMBuildNot(g->b, e.empty, ""), ""));
}

/* Checks the workspace that the caller passes, which counts as an output. `bytes` is NAME_workspace. */
static void check_work(struct uk_codegen *g, struct checks *c, LLVMValueRef bytes) {
    unsigned n = LLVMCountParams(bytes);
    LLVMValueRef *arg = uk_alloc(&g->arena, (n + 1) * sizeof *arg), zero = uk_cg_int(g, 0);
    struct range *r = uk_alloc(&g->arena, sizeof *r);

    if (!arg || !r) {
        uk_cg_fail(g, UK_OUT_OF_MEMORY, NULL, NULL);
        return;
    }
    for (unsigned i = 0; i < n; i++)
        arg[i] = LLVMGetParam(g->function, i + g->first);
    LLVMValueRef size = LLVMBuildCall2(g->b, LLVMGlobalGetValueType(bytes), bytes, arg, n, "bytes");
    LLVMValueRef work = LLVMGetParam(g->function, LLVMCountParams(g->function) - 1);
    LLVMValueRef begin = LLVMBuildPtrToInt(g->b, work, g->i64, "work"),
                 used = compare(g, LLVMIntSGT, size, 0);
    LLVMValueRef end =
        uk_cg_intrinsic(g, "llvm.uadd.with.overflow", g->i64, (LLVMValueRef[]){begin, size}, 2);
    LLVMValueRef unusable = LLVMBuildOr(
        g->b, compare(g, LLVMIntEQ, begin, 0),
        compare(g, LLVMIntNE, LLVMBuildAnd(g->b, begin, uk_cg_int(g, UK_WORK_ALIGN - 1), ""), 0), "");

    unusable = LLVMBuildOr(g->b, unusable, LLVMBuildExtractValue(g->b, end, 1, ""), "");
    or_into_flag(g, &unusable, uk_cg_ends_outside_object(g, LLVMBuildExtractValue(g->b, end, 0, "")));
    or_into_flag(g, &c->size, compare(g, LLVMIntSLT, size, 0));
    or_into_flag(g, &c->argument, LLVMBuildAnd(g->b, unusable, used, ""));
    *r = (struct range){true, LLVMBuildSelect(g->b, used, begin, zero, ""),
                        LLVMBuildSelect(g->b, used, LLVMBuildExtractValue(g->b, end, 0, ""), zero, ""),
                        c->ranges};
    c->ranges = r;
}

/* Checks every pair that includes an output, once. */
static void check_overlaps(struct uk_codegen *g, struct checks *c) {
    for (const struct range *a = c->ranges; a; a = a->next)
        for (const struct range *b = a->next; b; b = b->next)
            if (a->is_written || b->is_written)
                or_into_flag(g, &c->overlap,
                             LLVMBuildAnd(g->b, LLVMBuildICmp(g->b, LLVMIntULT, a->begin, b->end, ""),
                                          LLVMBuildICmp(g->b, LLVMIntULT, b->begin, a->end, ""), ""));
}

static LLVMValueRef status(struct uk_codegen *g, LLVMValueRef bad, enum uk_status s, LLVMValueRef otherwise) {
    return LLVMBuildSelect(g->b, bad, LLVMConstInt(g->i32, s, false), otherwise, "");
}

/* Refuses grids that no device takes before anything is launched; those that depend on a loop of the host are
 * refused at their launch. */
static void check_grids(struct uk_codegen *g, struct checks *c, const struct uk_node *n,
                        LLVMValueRef reached) {
    static const int64_t max_blocks[UK_AXES] = UK_MAX_BLOCKS;

    for (; n; n = n->next) {
        if (n->op == UK_N_IF && uk_cg_is_known(g, n->condition)) {
            LLVMValueRef then = uk_cg_condition(g, n->condition);

            check_grids(g, c, n->body, LLVMBuildAnd(g->b, reached, then, ""));
            check_grids(g, c, n->other, LLVMBuildAnd(g->b, reached, LLVMBuildNot(g->b, then, ""), ""));
        }
        if (n->op == UK_N_FOR && uk_cg_is_known(g, n->lower) && uk_cg_is_known(g, n->upper)) {
            LLVMValueRef any =
                LLVMBuildICmp(g->b, LLVMIntSLT, uk_cg_index(g, n->lower), uk_cg_index(g, n->upper), "");

            check_grids(g, c, n->body, LLVMBuildAnd(g->b, reached, any, ""));
        }
        for (int a = 0; a < UK_AXES && n->op == UK_N_LAUNCH; a++)
            if (uk_cg_is_known(g, n->grid[a]))
                or_into_flag(g, &c->size,
                             LLVMBuildAnd(g->b, reached,
                                          compare(g, LLVMIntSGT, uk_cg_index(g, n->grid[a]), max_blocks[a]),
                                          ""));
    }
}

static LLVMValueRef check_body(struct uk_codegen *g, LLVMValueRef work_bytes) {
    const struct uk_function *f = g->f;
    const struct uk_program *p = f->program;
    LLVMValueRef no = LLVMConstInt(g->i1, 0, false), overflow = no;
    struct checks c = {no, no, no, NULL};
    unsigned n = g->first;

    if (g->device)
        c.argument = LLVMBuildIsNull(g->b, LLVMGetParam(g->function, 0), "");

    for (const struct uk_var *v = p->sizes; v; v = v->next) {
        LLVMValueRef value = v->defined ? uk_cg_int(g, v->value) : LLVMGetParam(g->function, n++);

        if (!v->defined)
            LLVMSetValueName2(value, v->name, strlen(v->name));
        uk_cg_bind(g, v, value, uk_cg_any);
        if (v->is_extent)
            or_into_flag(g, &c.size, compare(g, LLVMIntSLT, value, 0));
    }
    for (const struct uk_scalar *s = f->scalars; s; s = s->next)
        n++;
    for (int i = 0; i < f->tensors; i++)
        if (f->tensor[i]->kind == UK_TENSOR_ARGUMENT)
            check_tensor(g, &c, f->tensor[i], LLVMGetParam(g->function, n++));
        else if (f->tensor[i]->kind == UK_TENSOR_TEMP && f->tensor[i]->has_strides)
            check_temp(g, &c, f->tensor[i]);
    for (const struct uk_packed *k = f->packed; k; k = k->next)
        check_packed(g, &c, k->tensor);
    if (work_bytes)
        check_work(g, &c, work_bytes);
    g->overflow = &overflow;
    for (const struct uk_entry_check *k = g->f->checks; k; k = k->next)
        or_into_flag(g, &c.size, LLVMBuildNot(g->b, uk_cg_condition(g, k->condition), ""));
    if (g->device)
        check_grids(g, &c, g->f->body, LLVMConstInt(g->i1, 1, false));
    g->overflow = NULL;
    or_into_flag(g, &c.size, overflow);
    check_overlaps(g, &c);
    LLVMValueRef s = status(g, c.overlap, UK_OVERLAP, LLVMConstInt(g->i32, UK_OK, false));
    s = status(g, c.argument, UK_INVALID_ARGUMENT, s);
    return status(g, c.size, UK_INVALID_SIZE, s);
}

LLVMValueRef uk_cg_entry_checks(struct uk_codegen *g, LLVMTypeRef type, LLVMValueRef work_bytes) {
    static const char *const mark[] = {"noinline", "optnone", "nounwind", "willreturn"};
    char *name = uk_format(&g->arena, "%s.check", g->f->name);
    struct uk_binding *outside = g->bindings;

    if (!name) {
        uk_cg_fail(g, UK_OUT_OF_MEMORY, NULL, NULL);
        return NULL;
    }
    LLVMValueRef f = g->function = LLVMAddFunction(g->module, name, type);

    LLVMSetLinkage(f, LLVMInternalLinkage);
    for (size_t i = 0; i < sizeof mark / sizeof *mark; i++)
        uk_cg_attribute(g, f, (unsigned)LLVMAttributeFunctionIndex, mark[i], 0);
    LLVMPositionBuilderAtEnd(g->b, uk_cg_block(g, "entry"));
    LLVMBuildRet(g->b, check_body(g, work_bytes));
    g->bindings = outside;
    return f;
}
