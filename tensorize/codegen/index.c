/* SPDX-License-Identifier: Apache-2.0 */
/* Code for integer expressions and addresses. */
#include <string.h>
#include "generator.h"

void uk_cg_bind(struct uk_codegen *g, const struct uk_var *v, LLVMValueRef value, struct uk_interval range) {
    struct uk_binding *n = uk_alloc(&g->arena, sizeof *n);

    if (!n) {
        uk_cg_fail(g, UK_OUT_OF_MEMORY, NULL, NULL);
        return;
    }
    *n = (struct uk_binding){.var = v, .value = value, .range = range, .next = g->bindings};
    g->bindings = n;
}

const struct uk_binding *uk_cg_binding(const struct uk_codegen *g, const struct uk_var *v) {
    for (const struct uk_binding *b = g->bindings; b; b = b->next)
        if (b->var == v)
            return b;
    return NULL;
}

bool uk_cg_is_known(const struct uk_codegen *g, const struct uk_index *e) {
    if (!e)
        return true;
    if (e->op == UK_I_VAR && !uk_cg_binding(g, e->var))
        return e->var->definition && uk_cg_is_known(g, e->var->definition);
    return uk_cg_is_known(g, e->a) && uk_cg_is_known(g, e->b) && uk_cg_is_known(g, e->c);
}

bool uk_cg_not_negative(const struct uk_codegen *g, const struct uk_index *e) {
    return uk_cg_range(g, e).low >= 0;
}

static bool is_constant(LLVMValueRef v, int64_t value) {
    return LLVMIsAConstantInt(v) && LLVMConstIntGetSExtValue(v) == value;
}

static LLVMValueRef build_checked(struct uk_codegen *g, const char *intrinsic, LLVMValueRef l,
                                  LLVMValueRef r) {
    LLVMValueRef both = uk_cg_intrinsic(g, intrinsic, g->i64, (LLVMValueRef[]){l, r}, 2);
    LLVMValueRef flag = LLVMBuildExtractValue(g->b, both, 1, "");

    *g->overflow = is_constant(*g->overflow, 0) ? flag : LLVMBuildOr(g->b, *g->overflow, flag, "");
    return LLVMBuildExtractValue(g->b, both, 0, "");
}

LLVMValueRef uk_cg_arithmetic(struct uk_codegen *g, enum uk_index_op op, LLVMValueRef l, LLVMValueRef r) {
    bool constant = LLVMIsAConstantInt(l) && LLVMIsAConstantInt(r);

    if (op == UK_I_MUL && is_constant(r, 1))
        return l;
    if (op == UK_I_MUL && is_constant(l, 1))
        return r;
    if (op != UK_I_MUL && is_constant(r, 0))
        return l;
    if (op == UK_I_ADD && is_constant(l, 0))
        return r;
    if (op == UK_I_MUL && (is_constant(l, 0) || is_constant(r, 0)))
        return uk_cg_int(g, 0);
    if (g->overflow && !constant)
        return build_checked(g,
                             op == UK_I_ADD   ? "llvm.sadd.with.overflow"
                             : op == UK_I_SUB ? "llvm.ssub.with.overflow"
                                              : "llvm.smul.with.overflow",
                             l, r);
    return op == UK_I_ADD   ? LLVMBuildNSWAdd(g->b, l, r, "")
           : op == UK_I_SUB ? LLVMBuildNSWSub(g->b, l, r, "")
                            : LLVMBuildNSWMul(g->b, l, r, "");
}

/* Floor division: unsigned if the dividend cannot be negative, else corrected by the sign of the
 * remainder. */
static LLVMValueRef divide(struct uk_codegen *g, const struct uk_index *e) {
    LLVMValueRef l = uk_cg_index(g, e->a), r = uk_cg_index(g, e->b);

    const struct uk_interval of = uk_cg_range(g, e->a), by = uk_cg_range(g, e->b);

    /* GPUs divide 64-bit integers by many instructions. */
    if (g->launch && of.low >= 0 && of.high <= UINT32_MAX && by.low >= 1 && by.high <= UINT32_MAX) {
        l = LLVMBuildTrunc(g->b, l, g->i32, "");
        r = LLVMBuildTrunc(g->b, r, g->i32, "");
        l = e->op == UK_I_DIV ? LLVMBuildUDiv(g->b, l, r, "") : LLVMBuildURem(g->b, l, r, "");
        return LLVMBuildZExt(g->b, l, g->i64, "");
    }
    if (of.low >= 0)
        return e->op == UK_I_DIV ? LLVMBuildUDiv(g->b, l, r, "") : LLVMBuildURem(g->b, l, r, "");
    LLVMValueRef rest = LLVMBuildSRem(g->b, l, r, "");
    LLVMValueRef below = LLVMBuildICmp(g->b, LLVMIntSLT, rest, uk_cg_int(g, 0), "");

    if (e->op == UK_I_MOD)
        return LLVMBuildSelect(g->b, below, LLVMBuildAdd(g->b, rest, r, ""), rest, "");
    return LLVMBuildAdd(g->b, LLVMBuildSDiv(g->b, l, r, ""), LLVMBuildSExt(g->b, below, g->i64, ""), "");
}

static LLVMValueRef variable(struct uk_codegen *g, const struct uk_var *v) {
    const struct uk_binding *b = uk_cg_binding(g, v);

    if (b)
        return uk_cg_local(g, b->value);
    if (v->definition)
        return uk_cg_index(g, v->definition);
    uk_cg_fail(g, UK_INTERNAL, "the loops use a variable outside the loop that makes it", v->name);
    return LLVMGetPoison(g->i64);
}

static LLVMValueRef minimum_or_maximum(struct uk_codegen *g, const struct uk_index *e) {
    LLVMValueRef l = uk_cg_index(g, e->a), r = uk_cg_index(g, e->b);

    return uk_cg_intrinsic(g, e->op == UK_I_MIN ? "llvm.smin" : "llvm.smax", g->i64, (LLVMValueRef[]){l, r},
                           2);
}

/* An element used as a subscript; if it is negative and wraps, plus the extent. */
static LLVMValueRef element(struct uk_codegen *g, const struct uk_index *e) {
    const struct uk_access a = uk_element_access(e);
    const enum uk_type type = a.tensor->type;
    LLVMValueRef v = LLVMBuildLoad2(g->b, uk_llvm_type(g->llvm, type), uk_cg_address(g, &a, true), "");

    LLVMSetAlignment(v, (unsigned)uk_type_bytes(type));
    uk_cg_mark_access(g, v, a.tensor);
    v = LLVMBuildIntCast2(g->b, v, g->i64, !uk_type_is_unsigned(type), "");
    if (!e->b || uk_type_is_unsigned(type))
        return v;
    LLVMValueRef extent = uk_cg_index(g, e->b),
                 below = LLVMBuildICmp(g->b, LLVMIntSLT, v, uk_cg_int(g, 0), "");

    return LLVMBuildSelect(g->b, below, LLVMBuildAdd(g->b, v, extent, ""), v, "");
}

LLVMValueRef uk_cg_index(struct uk_codegen *g, const struct uk_index *e) {
    switch (e->op) {
    case UK_I_ELEMENT:
        return element(g, e);
    case UK_I_INT:
        return uk_cg_int(g, e->value);
    case UK_I_VAR:
        return variable(g, e->var);
    case UK_I_NEG:
        return uk_cg_arithmetic(g, UK_I_SUB, uk_cg_int(g, 0), uk_cg_index(g, e->a));
    case UK_I_ADD:
    case UK_I_SUB:
    case UK_I_MUL: {
        LLVMValueRef l = uk_cg_index(g, e->a);

        return uk_cg_arithmetic(g, e->op, l, uk_cg_index(g, e->b));
    }
    case UK_I_DIV:
    case UK_I_MOD:
        return divide(g, e);
    case UK_I_MIN:
    case UK_I_MAX:
        return minimum_or_maximum(g, e);
    case UK_I_SELECT: {
        LLVMValueRef c = uk_cg_condition(g, e->a), l = uk_cg_index(g, e->b);

        return LLVMBuildSelect(g->b, c, l, uk_cg_index(g, e->c), "");
    }
    default:
        return LLVMBuildZExt(g->b, uk_cg_condition(g, e), g->i64, "");
    }
}

static bool has_32_bits(const struct uk_codegen *g, const struct uk_index *e) {
    const struct uk_interval of = uk_cg_range(g, e);

    return of.low >= INT32_MIN && of.high <= INT32_MAX;
}

void uk_cg_narrow(struct uk_codegen *g, const struct uk_index *a, const struct uk_index *b, LLVMValueRef *l,
                  LLVMValueRef *r) {
    if (!g->launch || !has_32_bits(g, a) || !has_32_bits(g, b))
        return;
    *l = LLVMBuildTrunc(g->b, *l, g->i32, "");
    *r = LLVMBuildTrunc(g->b, *r, g->i32, "");
}

/* Keeps LLVM from moving the comparison out of loops, where its result takes a pair of SGPRs. */
static void hide_compared(struct uk_codegen *g, const struct uk_index *e, LLVMValueRef *l, LLVMValueRef *r) {
    if (!g->launch || !g->spares_registers || uk_index_is_int(e->b, NULL))
        return;
    if (uk_cg_varies(g, e->a) || (g->calls_wave && g->serial_loops))
        *l = uk_cg_hide_own(g, *l);
    else if (g->in_main_loop && LLVMIsConstant(*l) && !uk_cg_varies(g, e->b))
        *r = uk_cg_hide_shared(g, *r);
}

LLVMValueRef uk_cg_condition(struct uk_codegen *g, const struct uk_index *e) {
    static const LLVMIntPredicate predicate[] = {
        [UK_I_EQ] = LLVMIntEQ,  [UK_I_NE] = LLVMIntNE,  [UK_I_LT] = LLVMIntSLT,
        [UK_I_LE] = LLVMIntSLE, [UK_I_GT] = LLVMIntSGT, [UK_I_GE] = LLVMIntSGE,
    };
    LLVMValueRef l, r;

    switch (e->op) {
    case UK_I_EQ:
    case UK_I_NE:
    case UK_I_LT:
    case UK_I_LE:
    case UK_I_GT:
    case UK_I_GE:
        l = uk_cg_index(g, e->a);
        r = uk_cg_index(g, e->b);
        uk_cg_narrow(g, e->a, e->b, &l, &r);
        hide_compared(g, e, &l, &r);
        return LLVMBuildICmp(g->b, predicate[e->op], l, r, "");
    case UK_I_AND:
        l = uk_cg_condition(g, e->a);
        return LLVMBuildAnd(g->b, l, uk_cg_condition(g, e->b), "");
    case UK_I_OR:
        l = uk_cg_condition(g, e->a);
        return LLVMBuildOr(g->b, l, uk_cg_condition(g, e->b), "");
    case UK_I_NOT:
        return LLVMBuildNot(g->b, uk_cg_condition(g, e->a), "");
    default:
        return LLVMBuildICmp(g->b, LLVMIntNE, uk_cg_index(g, e), uk_cg_int(g, 0), "");
    }
}

static const struct uk_place *find_place(struct uk_codegen *g, const struct uk_tensor *t) {
    for (const struct uk_place *p = g->places; p; p = p->next)
        if (p->tensor == t)
            return p;
    uk_cg_fail(g, UK_INTERNAL, "the loops use a tensor that is no argument and no buffer", t->name);
    return NULL;
}

bool uk_cg_varies(const struct uk_codegen *g, const struct uk_index *e) {
    const struct uk_binding *b = e && e->op == UK_I_VAR ? uk_cg_binding(g, e->var) : NULL;

    return b ? b->varies : e && (uk_cg_varies(g, e->a) || uk_cg_varies(g, e->b) || uk_cg_varies(g, e->c));
}

void uk_cg_hide(struct uk_codegen *g, LLVMValueRef *v, unsigned n) {
    enum { MAX_VALUES = 16 };
    LLVMTypeRef type[MAX_VALUES], result;
    struct uk_text constraints = {0};

    if (!g->target->arch->kernel.own_value)
        return;
    for (unsigned i = 0; i < n; i++)
        type[i] = LLVMTypeOf(v[i]);
    for (unsigned i = 0; i < n; i++)
        uk_put(&constraints, "%s=%s", i ? "," : "", g->target->arch->kernel.own_value);
    for (unsigned i = 0; i < n; i++)
        uk_put(&constraints, ",%u", i);
    result = n == 1 ? type[0] : LLVMStructTypeInContext(g->llvm, type, n, false);
    if (constraints.failed) {
        uk_cg_fail(g, UK_OUT_OF_MEMORY, NULL, NULL);
        return;
    }
    LLVMTypeRef same = LLVMFunctionType(result, type, n, false);
    LLVMValueRef all = LLVMBuildCall2(g->b, same,
                                      LLVMGetInlineAsm(same, "", 0, constraints.text, constraints.length,
                                                       true, false, LLVMInlineAsmDialectATT, false),
                                      v, n, "");
    for (unsigned i = 0; i < n; i++)
        v[i] = n == 1 ? all : LLVMBuildExtractValue(g->b, all, i, "");
    uk_text_free(constraints.text);
}

LLVMValueRef uk_cg_hide_own(struct uk_codegen *g, LLVMValueRef value) {
    if (!LLVMIsConstant(value))
        uk_cg_hide(g, &value, 1);
    return value;
}

LLVMValueRef uk_cg_hide_shared(struct uk_codegen *g, LLVMValueRef value) {
    const char *constraints = g->target->arch->kernel.shared_value;
    LLVMTypeRef type = LLVMTypeOf(value), same = LLVMFunctionType(type, &type, 1, false);

    if (!constraints || LLVMIsConstant(value))
        return value;
    return LLVMBuildCall2(g->b, same,
                          LLVMGetInlineAsm(same, "", 0, constraints, strlen(constraints), true, false,
                                           LLVMInlineAsmDialectATT, false),
                          &value, 1, "");
}

/* True if e depends on a variable of an unrolled loop, in one of its later iterations. */
static bool is_of_later_copy(const struct uk_codegen *g, const struct uk_index *e) {
    const struct uk_binding *b = e && e->op == UK_I_VAR ? uk_cg_binding(g, e->var) : NULL;

    if (b)
        return LLVMIsAConstantInt(b->value) && !is_constant(b->value, 0);
    return e && (is_of_later_copy(g, e->a) || is_of_later_copy(g, e->b) || is_of_later_copy(g, e->c));
}

/* An offset in two parts: sum[0] is the same in all threads of a block, sum[1], in this range, is not. */
struct parts {
    LLVMValueRef sum[2];
    struct uk_interval range;
};

/* Adds e * times. */
static void add_parts(struct uk_codegen *g, const struct uk_index *e, LLVMValueRef times, struct parts *p) {
    const bool own = uk_cg_varies(g, e);

    if (own && (e->op == UK_I_ADD || e->op == UK_I_SUB)) {
        add_parts(g, e->a, times, p);
        if (e->op == UK_I_SUB)
            times = uk_cg_arithmetic(g, UK_I_SUB, uk_cg_int(g, 0), times);
        add_parts(g, e->b, times, p);
        return;
    }
    if (own && e->op == UK_I_NEG) {
        add_parts(g, e->a, uk_cg_arithmetic(g, UK_I_SUB, uk_cg_int(g, 0), times), p);
        return;
    }
    if (own && e->op == UK_I_MUL && e->a->op == UK_I_INT) {
        add_parts(g, e->b, uk_cg_arithmetic(g, UK_I_MUL, uk_cg_index(g, e->a), times), p);
        return;
    }
    /* LLVM would keep the multiple of the stride that leads to each row of a copy in scalar registers. */
    if (!own && g->in_main_loop && !g->calls_wave && is_of_later_copy(g, e))
        times = uk_cg_hide_shared(g, times);
    p->sum[own] =
        uk_cg_arithmetic(g, UK_I_ADD, p->sum[own], uk_cg_arithmetic(g, UK_I_MUL, uk_cg_index(g, e), times));
    if (own)
        p->range = uk_cg_add_product(p->range, uk_cg_range(g, e),
                                     LLVMIsAConstantInt(times) ? LLVMConstIntGetSExtValue(times) : INT64_MAX);
}

/* The base and the scalar offset, and a thread's own offset in 32 bits: a form that loads and stores have.
 * LLVM takes it only if it sees the conversion to 64 bits next to the access, so an empty asm statement,
 * executed in each iteration, hides the own offset. NULL: the offset may need more bits; or no vector is
 * moved, and LLVM would not load several elements before it waits for the first one. */
static LLVMValueRef scalar_base(struct uk_codegen *g, const struct uk_tensor *t, LLVMValueRef base,
                                const struct parts *p, LLVMTypeRef type) {
    const int64_t bytes = (int64_t)uk_type_bytes(t->type);
    LLVMValueRef shared = p->sum[0];

    if (!g->moves || !g->target->arch->kernel.own_value || t->scope != UK_SCOPE_GLOBAL ||
        LLVMIsConstant(shared) || p->range.low < 0 || p->range.high > INT32_MAX / bytes)
        return NULL;
    LLVMValueRef own = LLVMBuildNUWMul(g->b, LLVMBuildTrunc(g->b, p->sum[1], g->i32, ""),
                                       LLVMConstInt(g->i32, (unsigned long long)bytes, false), "");

    own = LLVMBuildZExt(g->b, uk_cg_hide_own(g, own), g->i64, "");
    base = LLVMBuildGEP2(g->b, type, base, &shared, 1, t->name);
    return LLVMBuildGEP2(g->b, g->i8, base, &own, 1, t->name);
}

/* base plus a thread's own offset in 32 bits; NULL: the offset may need more. */
static LLVMValueRef short_offset(struct uk_codegen *g, const struct uk_tensor *t, LLVMValueRef base,
                                 const struct parts *p, LLVMTypeRef type) {
    const int64_t bytes = (int64_t)uk_type_bytes(t->type);
    LLVMValueRef own = LLVMBuildTrunc(g->b, p->sum[1], g->i32, ""), shared = p->sum[0],
                 size = LLVMConstInt(g->i32, (unsigned long long)bytes, false);

    if (t->scope != UK_SCOPE_GLOBAL || is_constant(p->sum[1], 0) || p->range.low < 0 ||
        p->range.high > INT32_MAX / bytes)
        return NULL;
    own = LLVMBuildZExt(g->b, LLVMBuildNUWMul(g->b, own, size, ""), g->i64, "");
    if (!is_constant(shared, 0))
        base = LLVMBuildGEP2(g->b, type, base, &shared, 1, t->name);
    return LLVMBuildGEP2(g->b, g->i8, base, &own, 1, t->name);
}

/* The stride in an address. Copies for a wave's kernel load many rows, and LLVM would keep the multiples of
 * the stride that lead to them in scalar registers, so that it is computed anew for each access. */
static LLVMValueRef stride_for_threads(struct uk_codegen *g, const struct uk_tensor *t, int d) {
    LLVMValueRef stride = uk_cg_index(g, t->stride[d]);

    return g->calls_wave && g->serial_loops && t->scope == UK_SCOPE_GLOBAL ? uk_cg_hide_shared(g, stride)
                                                                           : stride;
}

/* Addresses in global and shared memory of a GPU: the part that all threads share is added first, by scalar
 * instructions; the rest is often the same in all iterations. The intermediate address may be outside the
 * tensor. */
static LLVMValueRef address_in_parts(struct uk_codegen *g, const struct uk_access *a, LLVMTypeRef type,
                                     LLVMValueRef base) {
    const struct uk_tensor *t = a->tensor;
    struct parts p = {.sum = {uk_cg_int(g, 0), uk_cg_int(g, 0)}};

    for (int d = 0; d < t->stored_dims; d++)
        add_parts(g, a->index[d], stride_for_threads(g, t, d), &p);
    LLVMValueRef address = scalar_base(g, t, base, &p, type);

    address = address ? address : short_offset(g, t, base, &p, type);
    for (int own = 0; own < 2 && !address; own++)
        if (!is_constant(p.sum[own], 0))
            base = LLVMBuildGEP2(g->b, type, base, &p.sum[own], 1, t->name);
    return address ? address : base;
}

/* LLVM compiles a loop whose accesses are a variable stride apart for a stride of 1, with vectors, and for
 * all others without, even where only the latter occur. A sum it takes for a stride as it is. */
static LLVMValueRef stride_in_address(struct uk_codegen *g, const struct uk_tensor *t, int d) {
    LLVMValueRef stride = uk_cg_index(g, t->stride[d]);

    if (t->has_strides || !g->hidden_zero || LLVMIsConstant(stride))
        return stride;
    return uk_cg_arithmetic(g, UK_I_ADD, stride, uk_cg_local(g, g->hidden_zero));
}

LLVMValueRef uk_cg_address(struct uk_codegen *g, const struct uk_access *a, bool inside) {
    const struct uk_tensor *t = a->tensor;
    const struct uk_place *p = find_place(g, t);
    LLVMTypeRef type = uk_llvm_type(g->llvm, t->type);
    LLVMValueRef offset = uk_cg_int(g, 0), base;

    if (!p)
        return LLVMGetPoison(g->ptr);
    base = uk_cg_local(g, p->base);
    if (p->thread_stride) {
        LLVMValueRef skip = uk_cg_arithmetic(g, UK_I_MUL, g->thread, uk_cg_local(g, p->thread_stride));

        base = LLVMBuildInBoundsGEP2(g->b, g->i8, base, &skip, 1, t->name);
    }
    if (g->launch && t->scope != UK_SCOPE_REGISTER)
        return address_in_parts(g, a, type, base);
    for (int d = 0; d < t->stored_dims; d++) {
        LLVMValueRef i = uk_cg_index(g, a->index[d]);

        i = uk_cg_arithmetic(g, UK_I_MUL, i, stride_in_address(g, t, d));
        offset = uk_cg_arithmetic(g, UK_I_ADD, offset, i);
    }
    if (is_constant(offset, 0))
        return base;
    return inside ? LLVMBuildInBoundsGEP2(g->b, type, base, &offset, 1, t->name)
                  : LLVMBuildGEP2(g->b, type, base, &offset, 1, t->name);
}

LLVMValueRef uk_cg_hint(struct uk_codegen *g, const struct uk_node *call) {
    if (!call->ahead)
        return uk_cg_int(g, 0);
    const struct uk_tensor *t = call->ahead->tensor;
    struct uk_index *zero = uk_index_int(&g->arena, 0);
    struct uk_access origin = {.tensor = call->ahead->tensor};

    if (!zero) {
        uk_cg_fail(g, UK_OUT_OF_MEMORY, NULL, NULL);
        return uk_cg_int(g, 0);
    }
    LLVMValueRef elements = uk_cg_index(g, call->part);

    for (int d = 0; d < t->stored_dims; d++) {
        origin.index[d] = zero;
        elements = uk_cg_arithmetic(g, UK_I_ADD, elements,
                                    uk_cg_arithmetic(g, UK_I_MUL, uk_cg_index(g, call->ahead->index[d]),
                                                     uk_cg_index(g, t->stride[d])));
    }
    LLVMValueRef base = LLVMBuildPtrToInt(g->b, uk_cg_address(g, &origin, false), g->i64, "hint"),
                 bytes = uk_cg_int(g, (int64_t)uk_type_bytes(t->type));

    return LLVMBuildAdd(g->b, base, LLVMBuildMul(g->b, elements, bytes, ""), "hint");
}
