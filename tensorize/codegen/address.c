/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses of elements. */
#include <string.h>
#include "generator.h"

static bool is_constant(LLVMValueRef v, int64_t value) {
    return LLVMIsAConstantInt(v) && LLVMConstIntGetSExtValue(v) == value;
}

static const struct uk_place *find_place(struct uk_codegen *g, const struct uk_tensor *t) {
    for (const struct uk_place *p = g->places; p; p = p->next)
        if (p->tensor == t)
            return p;
    uk_cg_fail(g, UK_INTERNAL, "the loops use a tensor that is no argument and no buffer", t->name);
    return NULL;
}

/* True if e depends on a variable of an unrolled loop, in one of its later iterations. */
static bool is_of_later_copy(const struct uk_codegen *g, const struct uk_index *e) {
    const struct uk_binding *b = e && e->op == UK_I_VAR ? uk_cg_binding(g, e->var) : NULL;

    if (b)
        return LLVMIsAConstantInt(b->value) && !is_constant(b->value, 0);
    return e && (is_of_later_copy(g, e->a) || is_of_later_copy(g, e->b) || is_of_later_copy(g, e->c));
}

/* The stride that e is multiplied by. LLVM would keep its multiple that leads to each row of a copy in scalar
 * registers. */
static LLVMValueRef stride_of_copy(struct uk_codegen *g, const struct uk_index *e, LLVMValueRef stride) {
    const bool hides = g->in_main_loop && !g->calls_wave && !uk_cg_varies(g, e) && is_of_later_copy(g, e);

    return hides ? uk_cg_hide_shared(g, stride) : stride;
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
    times = stride_of_copy(g, e, times);
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
    LLVMValueRef stride = g->is_short ? uk_cg_low_index(g, t->stride[d]) : uk_cg_index(g, t->stride[d]);

    return g->calls_wave && g->serial_loops && t->scope == UK_SCOPE_GLOBAL ? uk_cg_hide_shared(g, stride)
                                                                           : stride;
}

/* ---- short indices ----
 *
 * Offsets are computed modulo 2^32. The offset of an element that exists is at least 0 and below 2^31 bytes
 * (uk_function.fits), so 32 bits determine it, even if intermediate sums wrap. Its parts may be extended to
 * 64 bits one by one only if no term is negative: then none exceeds the whole offset. Accesses to elements
 * that do not exist are not executed, so their wrong addresses do not matter. */

/* An offset in elements; sum: as in struct parts. */
struct short_parts {
    LLVMValueRef sum[2];
    int64_t constant;  /* the terms that are constants */
    bool has_negative; /* some term may be negative */
};

/* Adds the constant product e * times. False: it is not constant, or not small. */
static bool add_constant(struct uk_codegen *g, const struct uk_index *e, LLVMValueRef times, bool minus,
                         struct short_parts *p) {
    const struct uk_interval of = uk_cg_range(g, e);
    int32_t product;

    if (of.low != of.high || !LLVMIsAConstantInt(times) ||
        __builtin_mul_overflow(of.low, (int64_t)LLVMConstIntGetSExtValue(times), &product))
        return false;
    p->constant += minus ? -(int64_t)product : product;
    return true;
}

/* Adds e * times, or subtracts it. */
static void add_short_parts(struct uk_codegen *g, const struct uk_index *e, LLVMValueRef times, bool minus,
                            struct short_parts *p) {
    const bool own = uk_cg_varies(g, e), splits = own || LLVMIsAConstantInt(times);

    if (add_constant(g, e, times, minus, p))
        return;
    if (splits && (e->op == UK_I_ADD || e->op == UK_I_SUB)) {
        add_short_parts(g, e->a, times, minus, p);
        add_short_parts(g, e->b, times, minus != (e->op == UK_I_SUB), p);
        return;
    }
    if (splits && e->op == UK_I_NEG) {
        add_short_parts(g, e->a, times, !minus, p);
        return;
    }
    if (own && e->op == UK_I_MUL && e->a->op == UK_I_INT && e->a->value >= 0) {
        add_short_parts(g, e->b, uk_cg_arithmetic(g, UK_I_MUL, uk_cg_low_index(g, e->a), times), minus, p);
        return;
    }
    times = stride_of_copy(g, e, times);
    p->has_negative |= minus ? uk_cg_range(g, e).high > 0 : uk_cg_range(g, e).low < 0;
    p->sum[own] = uk_cg_arithmetic(g, minus ? UK_I_SUB : UK_I_ADD, p->sum[own],
                                   uk_cg_arithmetic(g, UK_I_MUL, uk_cg_low_index(g, e), times));
}

/* base plus an offset of that many elements; `hides`: as for scalar_base. */
static LLVMValueRef at_short_offset(struct uk_codegen *g, const struct uk_tensor *t, LLVMValueRef base,
                                    LLVMValueRef elements, bool hides) {
    LLVMValueRef size = LLVMConstInt(g->i32, uk_type_bytes(t->type), false), bytes;

    if (is_constant(elements, 0))
        return base;
    bytes = LLVMBuildNUWMul(g->b, elements, size, "");
    bytes = LLVMBuildZExt(g->b, hides ? uk_cg_hide_own(g, bytes) : bytes, g->i64, "");
    return LLVMBuildGEP2(g->b, g->i8, base, &bytes, 1, t->name);
}

static LLVMValueRef short_address(struct uk_codegen *g, const struct uk_access *a, LLVMTypeRef type,
                                  LLVMValueRef base) {
    const struct uk_tensor *t = a->tensor;
    LLVMValueRef zero = LLVMConstInt(g->i32, 0, false);
    struct short_parts p = {.sum = {zero, zero}};

    for (int d = 0; d < t->stored_dims; d++) {
        p.has_negative |= uk_cg_range(g, t->stride[d]).low < 0;
        add_short_parts(g, a->index[d], stride_for_threads(g, t, d), false, &p);
    }
    if (p.has_negative || p.constant < 0) {
        p.sum[1] = uk_cg_arithmetic(g, UK_I_ADD, p.sum[0], p.sum[1]);
        p.sum[1] = uk_cg_arithmetic(g, UK_I_ADD, p.sum[1],
                                    LLVMConstInt(g->i32, (unsigned long long)p.constant, true));
        p.sum[0] = zero;
        p.constant = 0;
    }
    const bool hides = g->moves && t->scope == UK_SCOPE_GLOBAL && !is_constant(p.sum[0], 0);
    LLVMValueRef constant = uk_cg_int(g, p.constant);

    base = at_short_offset(g, t, base, p.sum[0], false);
    base = at_short_offset(g, t, base, p.sum[1], hides);
    return p.constant ? LLVMBuildGEP2(g->b, type, base, &constant, 1, t->name) : base;
}

/* Addresses in global and shared memory of a GPU: the part that all threads share is added first, by scalar
 * instructions; the rest is often the same in all iterations. The intermediate address may be outside the
 * tensor. */
static LLVMValueRef address_in_parts(struct uk_codegen *g, const struct uk_access *a, LLVMTypeRef type,
                                     LLVMValueRef base) {
    const struct uk_tensor *t = a->tensor;
    struct parts p = {.sum = {uk_cg_int(g, 0), uk_cg_int(g, 0)}};

    if (g->is_short)
        return short_address(g, a, type, base);
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

/* i, or a sum of i and a term that does not depend on it. */
static bool counts_by_one(const struct uk_index *e, const struct uk_var *i) {
    return (e->op == UK_I_VAR && e->var == i) ||
           (e->op == UK_I_ADD && ((counts_by_one(e->a, i) && !uk_mentions(e->b, i)) ||
                                  (counts_by_one(e->b, i) && !uk_mentions(e->a, i)))) ||
           (e->op == UK_I_SUB && counts_by_one(e->a, i) && !uk_mentions(e->b, i));
}

bool uk_cg_is_adjacent(const struct uk_access *a, const struct uk_var *v) {
    const int last = a->tensor->stored_dims - 1;
    int64_t stride;

    for (int d = 0; d < last; d++)
        if (uk_mentions(a->index[d], v))
            return false;
    return last >= 0 && uk_index_is_int(a->tensor->stride[last], &stride) && stride == 1 &&
           counts_by_one(a->index[last], v);
}
