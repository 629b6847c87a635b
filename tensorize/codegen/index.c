/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Code for integer expressions. Values have 64 bits. In a kernel of a GPU with short indices
 * (uk_codegen.is_short) a value has 32 bits if its bounds show that it fits. Sums, products and selections
 * need only the low 32 bits of their operands, even if these are larger; comparisons, quotients, minima and
 * maxima need the exact operands, and take 64 bits if one of them may be larger.
 */
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

static bool has_32_bits(const struct uk_codegen *g, const struct uk_index *e) {
    const struct uk_interval of = uk_cg_range(g, e);

    return of.low >= INT32_MIN && of.high <= INT32_MAX;
}

/* The 64-bit value of 32 bits that e has. */
static LLVMValueRef extend(struct uk_codegen *g, const struct uk_index *e, LLVMValueRef value) {
    return uk_cg_range(g, e).low >= 0 ? LLVMBuildZExt(g->b, value, g->i64, "")
                                      : LLVMBuildSExt(g->b, value, g->i64, "");
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
        return uk_cg_int_as(l, 0);
    if (LLVMTypeOf(l) == g->i32)
        return op == UK_I_ADD   ? LLVMBuildAdd(g->b, l, r, "")
               : op == UK_I_SUB ? LLVMBuildSub(g->b, l, r, "")
                                : LLVMBuildMul(g->b, l, r, "");
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

/* Sets *l and *r to the values of e's operands. True: they have 32 bits, with short indices. */
static bool both_short(struct uk_codegen *g, const struct uk_index *e, LLVMValueRef *l, LLVMValueRef *r) {
    const bool is_short = g->is_short && has_32_bits(g, e->a) && has_32_bits(g, e->b);

    *l = is_short ? uk_cg_low_index(g, e->a) : uk_cg_index(g, e->a);
    *r = is_short ? uk_cg_low_index(g, e->b) : uk_cg_index(g, e->b);
    return is_short;
}

/* Floor division: unsigned if the dividend cannot be negative, else corrected by the sign of the
 * remainder. */
static LLVMValueRef divide(struct uk_codegen *g, const struct uk_index *e) {
    const struct uk_interval of = uk_cg_range(g, e->a), by = uk_cg_range(g, e->b);
    LLVMValueRef l, r;

    /* GPUs divide 64-bit integers by many instructions. */
    if (g->launch && of.low >= 0 && of.high <= UINT32_MAX && by.low >= 1 && by.high <= UINT32_MAX) {
        l = uk_cg_low_index(g, e->a);
        r = uk_cg_low_index(g, e->b);
        l = e->op == UK_I_DIV ? LLVMBuildUDiv(g->b, l, r, "") : LLVMBuildURem(g->b, l, r, "");
        return LLVMBuildZExt(g->b, l, g->i64, "");
    }
    if (of.low >= 0) {
        l = uk_cg_index(g, e->a);
        r = uk_cg_index(g, e->b);
        return e->op == UK_I_DIV ? LLVMBuildUDiv(g->b, l, r, "") : LLVMBuildURem(g->b, l, r, "");
    }
    const bool is_short = both_short(g, e, &l, &r);
    LLVMValueRef rest = LLVMBuildSRem(g->b, l, r, "");
    LLVMValueRef below = LLVMBuildICmp(g->b, LLVMIntSLT, rest, uk_cg_int_as(rest, 0), ""), v;

    if (e->op == UK_I_MOD)
        v = LLVMBuildSelect(g->b, below, LLVMBuildAdd(g->b, rest, r, ""), rest, "");
    else
        v = LLVMBuildAdd(g->b, LLVMBuildSDiv(g->b, l, r, ""), LLVMBuildSExt(g->b, below, LLVMTypeOf(l), ""),
                         "");
    return is_short ? extend(g, e, v) : v;
}

static LLVMValueRef variable(struct uk_codegen *g, const struct uk_var *v) {
    const struct uk_binding *b = uk_cg_binding(g, v);

    if (b && LLVMTypeOf(b->value) == g->i32)
        return b->range.low >= 0 ? LLVMBuildZExt(g->b, b->value, g->i64, "")
                                 : LLVMBuildSExt(g->b, b->value, g->i64, "");
    if (b)
        return uk_cg_local(g, b->value);
    if (v->definition)
        return uk_cg_index(g, v->definition);
    uk_cg_fail(g, UK_INTERNAL, "the loops use a variable outside the loop that makes it", v->name);
    return LLVMGetPoison(g->i64);
}

static LLVMValueRef minimum_or_maximum(struct uk_codegen *g, const struct uk_index *e) {
    LLVMValueRef both[2];
    const bool is_short = both_short(g, e, &both[0], &both[1]);
    LLVMValueRef v = uk_cg_intrinsic(g, e->op == UK_I_MIN ? "llvm.smin" : "llvm.smax",
                                     is_short ? g->i32 : g->i64, both, 2);

    return is_short ? extend(g, e, v) : v;
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

/* The low 32 bits of a variable. */
static LLVMValueRef low_variable(struct uk_codegen *g, const struct uk_index *e) {
    const struct uk_binding *b = uk_cg_binding(g, e->var);

    if (b && LLVMTypeOf(b->value) == g->i32)
        return b->value;
    return b || !e->var->definition ? LLVMBuildTrunc(g->b, variable(g, e->var), g->i32, "")
                                    : uk_cg_low_index(g, e->var->definition);
}

LLVMValueRef uk_cg_low_index(struct uk_codegen *g, const struct uk_index *e) {
    LLVMValueRef l;

    if (!g->is_short)
        return LLVMBuildTrunc(g->b, uk_cg_index(g, e), g->i32, "");
    switch (e->op) {
    case UK_I_VAR:
        return low_variable(g, e);
    case UK_I_NEG:
        return uk_cg_arithmetic(g, UK_I_SUB, LLVMConstInt(g->i32, 0, false), uk_cg_low_index(g, e->a));
    case UK_I_ADD:
    case UK_I_SUB:
    case UK_I_MUL:
        l = uk_cg_low_index(g, e->a);
        return uk_cg_arithmetic(g, e->op, l, uk_cg_low_index(g, e->b));
    case UK_I_SELECT: {
        LLVMValueRef c = uk_cg_condition(g, e->a);

        l = uk_cg_low_index(g, e->b);
        return LLVMBuildSelect(g->b, c, l, uk_cg_low_index(g, e->c), "");
    }
    default:
        return LLVMBuildTrunc(g->b, uk_cg_index(g, e), g->i32, "");
    }
}

LLVMValueRef uk_cg_short_index(struct uk_codegen *g, const struct uk_index *e) {
    return g->is_short && has_32_bits(g, e) ? uk_cg_low_index(g, e) : uk_cg_index(g, e);
}

/* True if the value in 64 bits is best computed in 32 bits. */
static bool is_short_value(const struct uk_codegen *g, const struct uk_index *e) {
    const bool is_modular = e->op == UK_I_NEG || e->op == UK_I_ADD || e->op == UK_I_SUB ||
                            e->op == UK_I_MUL || e->op == UK_I_SELECT;

    return g->is_short && is_modular && has_32_bits(g, e);
}

LLVMValueRef uk_cg_index(struct uk_codegen *g, const struct uk_index *e) {
    if (is_short_value(g, e))
        return extend(g, e, uk_cg_low_index(g, e));
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

void uk_cg_compared(struct uk_codegen *g, const struct uk_index *a, const struct uk_index *b, LLVMValueRef *l,
                    LLVMValueRef *r) {
    const bool is_short = g->launch && has_32_bits(g, a) && has_32_bits(g, b);

    *l = is_short ? uk_cg_low_index(g, a) : uk_cg_index(g, a);
    *r = is_short ? uk_cg_low_index(g, b) : uk_cg_index(g, b);
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
        uk_cg_compared(g, e->a, e->b, &l, &r);
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
