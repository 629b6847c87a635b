/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Code for value expressions and stores.
 *
 * f16 and bf16 are 16 bits in memory and floats in registers: each operation is computed in f32 and its
 * result rounded, as in the interpreter.
 */
#include <math.h>
#include <string.h>
#include "generator.h"
#include "interpret/interpret.h"
#include "lower/lower.h"
#include "math/numbers.h"

/* As it is in memory. */
static LLVMValueRef load_bits(struct uk_codegen *g, const struct uk_access *a) {
    LLVMValueRef v =
        LLVMBuildLoad2(g->b, uk_cg_memory_type(g, a->tensor->type), uk_cg_address(g, a, true), "");

    LLVMSetAlignment(v, (unsigned)uk_type_bytes(a->tensor->type));
    uk_cg_mark_access(g, v, a->tensor);
    return v;
}

static LLVMValueRef load(struct uk_codegen *g, const struct uk_access *a) {
    return uk_cg_from_memory(g, a->tensor->type, load_bits(g, a));
}

/* Rounded once, by the interpreter's rule. */
static LLVMValueRef constant(struct uk_codegen *g, const struct uk_expr *e) {
    LLVMTypeRef type = uk_cg_register_type(g, e->type);

    if (!uk_type_is_float(e->type))
        return LLVMConstInt(type, (unsigned long long)e->integer, true);
    if (e->is_integer)
        return LLVMConstReal(type, uk_convert(UK_I64, e->type, (union uk_value){.i = e->integer}).d);
    return LLVMConstReal(type, uk_round_to(e->type, e->number));
}

/* Integer min and max. */
static LLVMValueRef minimum_or_maximum(struct uk_codegen *g, bool min, enum uk_type type, LLVMValueRef l,
                                       LLVMValueRef r) {
    const LLVMIntPredicate is =
        uk_type_is_unsigned(type) ? (min ? LLVMIntULT : LLVMIntUGT) : (min ? LLVMIntSLT : LLVMIntSGT);

    return LLVMBuildSelect(g->b, LLVMBuildICmp(g->b, is, l, r, ""), l, r, "");
}

static LLVMValueRef function_of_two(const struct uk_math *m, enum uk_expr_op op, LLVMValueRef x,
                                    LLVMValueRef y) {
    switch (op) {
#define UK_FUNCTION2(id, name, class, ulps, limit, zero, real, code) \
    case UK_E_##id:                                                  \
        return code(m, x, y);
#include "language/functions.def"
    default:
        return NULL;
    }
}

static LLVMValueRef function_of_one(const struct uk_math *m, enum uk_expr_op op, LLVMValueRef x) {
    switch (op) {
#define UK_FUNCTION1(id, name, class, ulps, limit, zero, real, code) \
    case UK_E_##id:                                                  \
        return code(m, x);
#include "language/functions.def"
    default:
        return NULL;
    }
}

/* Counts outside the type's bits shift all bits out, as if one bit were shifted at a time. */
static LLVMValueRef shift(struct uk_codegen *g, const struct uk_expr *e, LLVMValueRef l, LLVMValueRef r) {
    const bool left = e->op == UK_E_SHL;
    const enum uk_type type = e->type;
    unsigned bits = 8 * (unsigned)uk_type_bytes(type);
    LLVMTypeRef t = LLVMTypeOf(l);

    if (uk_has_range(e->arg[1], 0, bits - 1))
        return left                        ? LLVMBuildShl(g->b, l, r, "")
               : uk_type_is_unsigned(type) ? LLVMBuildLShr(g->b, l, r, "")
                                           : LLVMBuildAShr(g->b, l, r, "");
    LLVMValueRef last = LLVMConstInt(t, bits - 1, false), zero = LLVMConstInt(t, 0, false);
    LLVMValueRef beyond = LLVMBuildICmp(g->b, LLVMIntUGT, r, last, "");

    if (!left && !uk_type_is_unsigned(type))
        return LLVMBuildAShr(g->b, l, LLVMBuildSelect(g->b, beyond, last, r, ""), "");
    LLVMValueRef count = LLVMBuildSelect(g->b, beyond, zero, r, "");
    LLVMValueRef v = left ? LLVMBuildShl(g->b, l, count, "") : LLVMBuildLShr(g->b, l, count, "");

    return LLVMBuildSelect(g->b, beyond, zero, v, "");
}

/* A quotient of integers. The machine's instruction may trap, or is undefined, for a divisor of 0, and for
 * the minimum divided by -1: the quotient is 0, and the minimum itself. */
static LLVMValueRef quotient(struct uk_codegen *g, enum uk_type type, LLVMValueRef l, LLVMValueRef r) {
    LLVMTypeRef t = LLVMTypeOf(l);
    LLVMValueRef zero = LLVMConstInt(t, 0, false), one = LLVMConstInt(t, 1, false);
    LLVMValueRef by_zero = LLVMBuildICmp(g->b, LLVMIntEQ, r, zero, ""), v;

    if (uk_type_is_unsigned(type)) {
        v = LLVMBuildUDiv(g->b, l, LLVMBuildSelect(g->b, by_zero, one, r, ""), "");
    } else {
        LLVMValueRef negates = LLVMBuildICmp(g->b, LLVMIntEQ, r, LLVMConstAllOnes(t), "");
        LLVMValueRef is_safe = LLVMBuildOr(g->b, by_zero, negates, "");
        v = LLVMBuildSDiv(g->b, l, LLVMBuildSelect(g->b, is_safe, one, r, ""), "");
        v = LLVMBuildSelect(g->b, negates, LLVMBuildNeg(g->b, l, ""), v, "");
    }
    return LLVMBuildSelect(g->b, by_zero, zero, v, "");
}

static LLVMValueRef arithmetic(struct uk_codegen *g, enum uk_expr_op op, enum uk_type type, LLVMValueRef l,
                               LLVMValueRef r) {
    bool real = uk_type_is_float(type);
    const struct uk_math m = uk_math_of(g, LLVMTypeOf(l));
    LLVMValueRef v;

    switch (op) {
    case UK_E_ADD:
        v = real ? LLVMBuildFAdd(g->b, l, r, "") : LLVMBuildAdd(g->b, l, r, "");
        break;
    case UK_E_SUB:
        v = real ? LLVMBuildFSub(g->b, l, r, "") : LLVMBuildSub(g->b, l, r, "");
        break;
    case UK_E_MUL:
        v = real ? LLVMBuildFMul(g->b, l, r, "") : LLVMBuildMul(g->b, l, r, "");
        break;
    case UK_E_DIV:
        v = real ? LLVMBuildFDiv(g->b, l, r, "") : quotient(g, type, l, r);
        break;
    case UK_E_BIT_AND:
        return LLVMBuildAnd(g->b, l, r, "");
    case UK_E_BIT_XOR:
        return LLVMBuildXor(g->b, l, r, "");
    case UK_E_BIT_OR:
        return LLVMBuildOr(g->b, l, r, "");
    default:
        if (!real)
            return minimum_or_maximum(g, op == UK_E_MIN, type, l, r);
        v = function_of_two(&m, op, l, r);
        if (uk_function_of(op)->class == UK_FUNCTION_CHOICE)
            return v;
    }
    return uk_cg_rounded(g, type, v);
}

static LLVMValueRef unary(struct uk_codegen *g, enum uk_expr_op op, enum uk_type type, LLVMValueRef v) {
    LLVMTypeRef t = LLVMTypeOf(v);

    if (!uk_type_is_float(type)) {
        LLVMValueRef minus = LLVMBuildNeg(g->b, v, ""), zero = LLVMConstInt(t, 0, false);

        if (op == UK_E_NEG)
            return minus;
        if (op == UK_E_ABS && !uk_type_is_unsigned(type))
            return LLVMBuildSelect(g->b, LLVMBuildICmp(g->b, LLVMIntSLT, v, zero, ""), minus, v, "");
        return v;
    }
    if (op == UK_E_NEG)
        return LLVMBuildFNeg(g->b, v, "");
    const struct uk_math m = uk_math_of(g, t);

    v = function_of_one(&m, op, v);
    return uk_function_of(op)->class == UK_FUNCTION_REAL ? uk_cg_rounded(g, type, v) : v;
}

/* ---- conditions, and selections that compute one side only ---- */

static LLVMValueRef truth_value(struct uk_codegen *g, const struct uk_expr *e) {
    static const LLVMIntPredicate is_signed[] = {LLVMIntEQ,  LLVMIntNE,  LLVMIntSLT,
                                                 LLVMIntSLE, LLVMIntSGT, LLVMIntSGE};
    static const LLVMIntPredicate is_unsigned[] = {LLVMIntEQ,  LLVMIntNE,  LLVMIntULT,
                                                   LLVMIntULE, LLVMIntUGT, LLVMIntUGE};
    static const LLVMRealPredicate real[] = {LLVMRealOEQ, LLVMRealUNE, LLVMRealOLT,
                                             LLVMRealOLE, LLVMRealOGT, LLVMRealOGE};
    LLVMValueRef l, r;

    switch (e->op) {
    case UK_E_AND:
        l = truth_value(g, e->arg[0]);
        return LLVMBuildAnd(g->b, l, truth_value(g, e->arg[1]), "");
    case UK_E_OR:
        l = truth_value(g, e->arg[0]);
        return LLVMBuildOr(g->b, l, truth_value(g, e->arg[1]), "");
    case UK_E_NOT:
        return LLVMBuildNot(g->b, truth_value(g, e->arg[0]), "");
    default:
        break;
    }
    enum uk_type type = e->arg[0]->type;
    int which = (int)e->op - UK_E_EQ;

    l = uk_cg_expr(g, e->arg[0]);
    r = uk_cg_expr(g, e->arg[1]);
    if (uk_type_is_float(type))
        return LLVMBuildFCmp(g->b, real[which], l, r, "");
    return LLVMBuildICmp(g->b, uk_type_is_unsigned(type) ? is_unsigned[which] : is_signed[which], l, r, "");
}

static bool reads_memory(const struct uk_expr *e) {
    if (e->op == UK_E_ACCESS)
        return true;
    for (int i = 0; i < 3; i++)
        if (e->arg[i] && reads_memory(e->arg[i]))
            return true;
    return false;
}

/* c ? yes : no. An element may exist only if its side is chosen, so memory is read under a branch. */
static LLVMValueRef choose(struct uk_codegen *g, LLVMValueRef c, const struct uk_expr *yes,
                           const struct uk_expr *no) {
    if (!reads_memory(yes) && !reads_memory(no)) {
        LLVMValueRef l = uk_cg_expr(g, yes);

        return LLVMBuildSelect(g->b, c, l, uk_cg_expr(g, no), "");
    }
    LLVMBasicBlockRef block[2] = {uk_cg_block(g, "yes"), uk_cg_block(g, "no")},
                      join = uk_cg_block(g, "chosen");
    LLVMValueRef value[2];

    g->chooses = true;
    LLVMBuildCondBr(g->b, c, block[0], block[1]);
    for (int i = 0; i < 2; i++) {
        LLVMPositionBuilderAtEnd(g->b, block[i]);
        value[i] = uk_cg_expr(g, i ? no : yes);
        block[i] = LLVMGetInsertBlock(g->b);
        LLVMBuildBr(g->b, join);
    }
    LLVMPositionBuilderAtEnd(g->b, join);
    LLVMValueRef phi = LLVMBuildPhi(g->b, LLVMTypeOf(value[0]), "");

    LLVMAddIncoming(phi, value, block, 2);
    return phi;
}

LLVMValueRef uk_cg_exists(struct uk_codegen *g, const struct uk_access *a) {
    LLVMValueRef inside = LLVMConstInt(g->i1, 1, false);

    for (int d = 0; d < a->tensor->dims; d++) {
        const struct uk_interval of = uk_cg_range(g, a->index[d]);

        if (of.low >= 0 && of.high < uk_cg_range(g, a->tensor->shape[d]).low)
            continue;
        LLVMValueRef i, n;

        uk_cg_compared(g, a->index[d], a->tensor->shape[d], &i, &n);
        /* Unsigned: a negative index exceeds every extent. */
        inside = LLVMBuildAnd(g->b, inside, LLVMBuildICmp(g->b, LLVMIntULT, i, n, ""), "");
    }
    return inside;
}

static LLVMValueRef pad(struct uk_codegen *g, const struct uk_expr *e) {
    const struct uk_access *a = &e->arg[0]->access;

    if (a->tensor->layout) {
        uk_cg_fail(g, UK_UNSUPPORTED, "pad of a tensor with a layout in plain loops; pack it first",
                   a->tensor->name);
        return LLVMGetPoison(uk_cg_register_type(g, e->type));
    }
    return choose(g, uk_cg_exists(g, a), e->arg[0], e->arg[1]);
}

static LLVMValueRef divided_by_fixed(struct uk_codegen *g, const struct uk_expr *e, LLVMValueRef l) {
    const struct uk_math m = uk_math_of(g, LLVMTypeOf(l));

    return uk_cg_rounded(g, e->type, uk_math_divide_by_fixed(&m, l, uk_cg_expr(g, e->arg[1])));
}

static LLVMValueRef scalar(struct uk_codegen *g, const struct uk_expr *e) {
    for (const struct uk_scalar_binding *s = g->scalars; s; s = s->next)
        if (s->scalar == e->scalar)
            return uk_cg_local(g, s->value);
    uk_cg_fail(g, UK_INTERNAL, "the loops use a scalar that is no argument", e->scalar->name);
    return LLVMGetPoison(uk_cg_register_type(g, e->type));
}

/* True if all iterations of the innermost loop have the same value. */
static bool is_fixed(const struct uk_codegen *g, const struct uk_expr *e) {
    if (!g->innermost || uk_expr_mentions(e, g->innermost->var))
        return false;
    if (e->op == UK_E_ACCESS)
        return e->access.tensor != g->innermost->body->target.tensor;
    for (int i = 0; i < 3; i++)
        if (e->arg[i] && !is_fixed(g, e->arg[i]))
            return false;
    return true;
}

LLVMValueRef uk_cg_expr(struct uk_codegen *g, const struct uk_expr *e) {
    LLVMValueRef l = uk_cg_fused(g, e);

    if (l)
        return l;
    switch (e->op) {
    case UK_E_NUMBER:
        return constant(g, e);
    case UK_E_SCALAR:
        return scalar(g, e);
    case UK_E_ACCESS:
        return load(g, &e->access);
    case UK_E_INDEX:
        return uk_cg_cast(g, UK_I64, e->type, uk_cg_index(g, e->index));
    case UK_E_CAST:
        return uk_cg_cast(g, e->arg[0]->type, e->type, uk_cg_expr(g, e->arg[0]));
    case UK_E_PAD:
        return pad(g, e);
    case UK_E_SELECT:
        l = truth_value(g, e->arg[0]);
        return choose(g, l, e->arg[1], e->arg[2]);
    case UK_E_ADD:
    case UK_E_SUB:
    case UK_E_MUL:
    case UK_E_DIV:
    case UK_E_BIT_AND:
    case UK_E_BIT_XOR:
    case UK_E_BIT_OR:
        l = uk_cg_expr(g, e->arg[0]);
        if (e->op == UK_E_DIV && uk_type_is_float(e->type) && is_fixed(g, e->arg[1]))
            return divided_by_fixed(g, e, l);
        return arithmetic(g, e->op, e->type, l, uk_cg_expr(g, e->arg[1]));
    case UK_E_SHL:
    case UK_E_SHR:
        l = uk_cg_expr(g, e->arg[0]);
        return shift(g, e, l, uk_cg_expr(g, e->arg[1]));
    case UK_E_NEG:
        return unary(g, e->op, e->type, uk_cg_expr(g, e->arg[0]));
    default:
        if (!uk_is_function(e->op))
            return LLVMBuildZExt(g->b, truth_value(g, e), uk_cg_register_type(g, e->type), "");
        l = uk_cg_expr(g, e->arg[0]);
        return e->arg[1] ? arithmetic(g, e->op, e->type, l, uk_cg_expr(g, e->arg[1]))
                         : unary(g, e->op, e->type, l);
    }
}

/* llvm.minimum and llvm.maximum: NaN if either is NaN, and -0 is less than 0. LLVM 19 has no f64 code for
 * them if integers have 32 bits: then the sign is set from both operands if they are equal, which matters
 * only for zeros. */
static LLVMValueRef extreme(struct uk_codegen *g, bool min, LLVMValueRef l, LLVMValueRef r) {
    LLVMValueRef both[] = {l, r};

    if (g->target->arch->bits == 64 || LLVMTypeOf(l) != g->f64)
        return uk_cg_intrinsic(g, min ? "llvm.minimum" : "llvm.maximum", LLVMTypeOf(l), both, 2);
    LLVMValueRef a = LLVMBuildBitCast(g->b, l, g->i64, ""), b = LLVMBuildBitCast(g->b, r, g->i64, "");
    LLVMValueRef sign = min ? LLVMBuildOr(g->b, a, b, "") : LLVMBuildAnd(g->b, a, b, "");
    LLVMValueRef equal = LLVMBuildFCmp(g->b, LLVMRealOEQ, l, r, "");
    const struct uk_math m = uk_math_of(g, g->f64);
    LLVMValueRef v = min ? uk_math_min(&m, l, r) : uk_math_max(&m, l, r);

    v = LLVMBuildSelect(g->b, equal, LLVMBuildBitCast(g->b, sign, g->f64, ""), v, "");
    return LLVMBuildSelect(g->b, LLVMBuildFCmp(g->b, LLVMRealUNO, l, r, ""), LLVMBuildFAdd(g->b, l, r, ""), v,
                           "");
}

static bool is_operation(LLVMValueRef v, LLVMOpcode opcode) {
    return LLVMIsAInstruction(v) && LLVMGetInstructionOpcode(v) == opcode;
}

/* True if the iterations of the innermost loop update different elements. */
static bool varies(const struct uk_codegen *g, const struct uk_access *a) {
    bool found = false;

    for (int d = 0; g->innermost && d < a->tensor->stored_dims; d++)
        found |= uk_mentions(a->index[d], g->innermost->var);
    return found;
}

/* Adds one more term to an element, like uk_reduced. varies: the innermost loop updates several elements. A
 * reduction has no order, so the vectorizer may split it; llvm.maximum it can split too. A product that is
 * added need not be rounded before; every other operation is rounded. */
static LLVMValueRef combined(struct uk_codegen *g, enum uk_assign assign, bool any_order, bool varies,
                             enum uk_type type, LLVMValueRef old, LLVMValueRef v) {
    static const enum uk_expr_op ops[] = {[UK_ASSIGN_ADD] = UK_E_ADD,
                                          [UK_ASSIGN_MULTIPLY] = UK_E_MUL,
                                          [UK_ASSIGN_MAX] = UK_E_MAX,
                                          [UK_ASSIGN_MIN] = UK_E_MIN};
    const enum uk_expr_op op = ops[assign];

    if (uk_type_is_float(type) && (op == UK_E_MIN || op == UK_E_MAX)) {
        const struct uk_math m = uk_math_of(g, LLVMTypeOf(v));
        LLVMValueRef r = varies ? uk_math_extreme(&m, op == UK_E_MIN, old, v) : NULL;

        return r ? r : extreme(g, op == UK_E_MIN, old, v);
    }
    LLVMValueRef r = arithmetic(g, op, type, old, v);
    const LLVMFastMathFlags order = any_order ? LLVMFastMathAllowReassoc : LLVMFastMathNone;
    if (is_operation(r, LLVMFAdd)) {
        LLVMSetFastMathFlags(r, LLVMFastMathAllowContract | order);
        if (is_operation(v, LLVMFMul))
            LLVMSetFastMathFlags(v, LLVMFastMathAllowContract);
    } else if (is_operation(r, LLVMFMul)) {
        LLVMSetFastMathFlags(r, order);
    }
    return r;
}

LLVMValueRef uk_cg_combined(struct uk_codegen *g, enum uk_assign assign, bool any_order, enum uk_type type,
                            LLVMValueRef old, LLVMValueRef v) {
    return combined(g, assign, any_order, false, type, old, v);
}

/* True if the node copies an element. LLVM does not see that a bf16, converted and rounded, is itself. */
static bool copies_bits(const struct uk_codegen *g, const struct uk_node *n) {
    return g->launch && n->assign == UK_ASSIGN && n->expr->op == UK_E_ACCESS &&
           n->expr->access.tensor->type == n->target.tensor->type;
}

static void store(struct uk_codegen *g, const struct uk_node *n, LLVMValueRef at, LLVMValueRef bits) {
    LLVMValueRef store = LLVMBuildStore(g->b, bits, at);

    LLVMSetAlignment(store, (unsigned)uk_type_bytes(n->target.tensor->type));
    uk_cg_mark_access(g, store, n->target.tensor);
}

void uk_cg_store_term(struct uk_codegen *g, const struct uk_node *n, LLVMValueRef term) {
    enum uk_type type = n->target.tensor->type;
    LLVMValueRef at = uk_cg_address(g, &n->target, true);
    LLVMValueRef old = LLVMBuildLoad2(g->b, uk_cg_memory_type(g, type), at, "");

    LLVMSetAlignment(old, (unsigned)uk_type_bytes(type));
    uk_cg_mark_access(g, old, n->target.tensor);
    LLVMValueRef was = uk_cg_from_memory(g, type, old);
    LLVMValueRef v = combined(g, n->assign, n->any_order, varies(g, &n->target), type, was, term);

    store(g, n, at, uk_cg_to_memory(g, type, v));
}

void uk_cg_store(struct uk_codegen *g, const struct uk_node *n) {
    const bool copies = copies_bits(g, n);
    LLVMValueRef v = copies ? load_bits(g, &n->expr->access) : uk_cg_expr(g, n->expr);

    if (n->assign != UK_ASSIGN) {
        uk_cg_store_term(g, n, v);
        return;
    }
    LLVMValueRef at = uk_cg_address(g, &n->target, true);

    store(g, n, at, copies ? v : uk_cg_to_memory(g, n->target.tensor->type, v));
}
