/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loops that take the maximum or minimum of floats. The result is NaN if a term is NaN, and of zeros 0 is the
 * greater one (uk.5, Arithmetic). A target whose instruction does neither takes six instructions per vector
 * for llvm.maximum. Here the loop collects three values that need four: the maximum as the instruction takes
 * it, whether a term is NaN, and the sign that the result has if it is a zero. A maximum is 0 if all terms
 * are at most 0: then only a 0 has no sign, so it is the bitwise and of all signs; for a minimum, the or.
 */
#include <math.h>
#include "generator.h"
#include "lower/lower.h"
#include "math/numbers.h"

/* The values of one iteration. IS_NAN: with masks an i1, else the largest magnitude as an integer. */
enum { EXTREME, IS_NAN, SIGN, VALUES };

struct collector {
    struct uk_math m;
    bool min, no_nan, has_masks; /* has_masks: comparisons of vectors have one bit per element */
};

static void start(const struct collector *c, LLVMValueRef *v) {
    v[EXTREME] = uk_math_number(&c->m, c->min ? INFINITY : -INFINITY);
    v[IS_NAN] = LLVMConstNull(c->has_masks ? c->m.g->i1 : c->m.integer);
    v[SIGN] = c->min ? LLVMConstNull(c->m.integer) : LLVMConstAllOnes(c->m.integer);
}

static LLVMValueRef add_nan(const struct collector *c, LLVMValueRef term, LLVMValueRef old) {
    LLVMBuilderRef b = c->m.g->b;

    if (c->has_masks)
        return LLVMBuildOr(b, old, LLVMBuildFCmp(b, LLVMRealUNO, term, term, ""), "");
    LLVMValueRef both[] = {old, uk_math_bits(&c->m, uk_math_size(&c->m, term))};
    return uk_cg_intrinsic(c->m.g, "llvm.smax", c->m.integer, both, 2);
}

static LLVMValueRef is_nan(const struct collector *c, LLVMValueRef v) {
    const uint64_t infinity = c->m.is_double ? UINT64_C(0x7ff) << 52 : 0x7f800000;

    return c->has_masks ? v : LLVMBuildICmp(c->m.g->b, LLVMIntSGT, v, uk_math_integer(&c->m, infinity), "");
}

/* The flags make LLVM select the instruction. If the term or the collected value is NaN the result is
 * arbitrary, and not used. */
static LLVMValueRef without_nan(LLVMValueRef v) {
    LLVMSetFastMathFlags(v, LLVMFastMathNoNaNs | LLVMFastMathNoSignedZeros);
    return v;
}

static void add_term(const struct collector *c, LLVMValueRef term, LLVMValueRef *v) {
    LLVMBuilderRef b = c->m.g->b;
    LLVMValueRef is = LLVMBuildFCmp(b, c->min ? LLVMRealOLT : LLVMRealOGT, term, v[EXTREME], ""),
                 bits = uk_math_bits(&c->m, term);

    v[EXTREME] = without_nan(LLVMBuildSelect(b, without_nan(is), term, v[EXTREME], ""));
    v[SIGN] = c->min ? LLVMBuildOr(b, v[SIGN], bits, "") : LLVMBuildAnd(b, v[SIGN], bits, "");
    if (!c->no_nan)
        v[IS_NAN] = add_nan(c, term, v[IS_NAN]);
}

static LLVMValueRef result(const struct collector *c, LLVMValueRef *v) {
    LLVMBuilderRef b = c->m.g->b;
    LLVMValueRef zero = uk_math_number(&c->m, 0);
    LLVMValueRef signed_zero = uk_math_with_sign(&c->m, zero, uk_math_from_bits(&c->m, v[SIGN]));
    LLVMValueRef r = uk_math_where(&c->m, LLVMRealOEQ, v[EXTREME], 0, signed_zero, v[EXTREME]);

    return LLVMBuildSelect(b, is_nan(c, v[IS_NAN]), uk_math_number(&c->m, NAN), r, "");
}

bool uk_cg_is_extreme(const struct uk_codegen *g, const struct uk_node *n) {
    enum { VECTORS = 2 }; /* LLVM unrolls shorter loops, and vectorizes the one around them */
    const struct uk_node *s = n->body;

    if (g->launch || !uk_target_has(g->target, "sse2") || s->op != UK_N_STORE || s->next || !s->any_order ||
        (s->assign != UK_ASSIGN_MAX && s->assign != UK_ASSIGN_MIN) ||
        !uk_type_is_float(s->target.tensor->type) || uk_cg_reads(s->expr, s->target.tensor))
        return false;
    for (int d = 0; d < s->target.tensor->stored_dims; d++)
        if (uk_mentions(s->target.index[d], n->var))
            return false;
    return n->lower->op != UK_I_INT || n->upper->op != UK_I_INT ||
           n->upper->value - n->lower->value >= VECTORS * (g->target->vectors.bytes / (int)sizeof(float));
}

void uk_cg_extreme(struct uk_codegen *g, const struct uk_node *n, LLVMValueRef lower, LLVMValueRef upper) {
    LLVMBasicBlockRef before = LLVMGetInsertBlock(g->b), body = uk_cg_block(g, n->var->name);
    LLVMBasicBlockRef done = uk_cg_block(g, "done");
    struct uk_binding *outside = g->bindings;
    const struct uk_node *store = n->body;
    const struct collector c = {.m = uk_math_of(g, uk_cg_register_type(g, store->target.tensor->type)),
                                .min = store->assign == UK_ASSIGN_MIN,
                                .no_nan = uk_is_no_nan(store->expr),
                                .has_masks = uk_target_has(g->target, "avx512f")};
    LLVMValueRef first[VALUES], phi[VALUES], v[VALUES], all[VALUES];

    start(&c, first);
    LLVMBuildCondBr(g->b, LLVMBuildICmp(g->b, LLVMIntSLT, lower, upper, ""), body, done);
    LLVMPositionBuilderAtEnd(g->b, body);
    LLVMValueRef i = LLVMBuildPhi(g->b, LLVMTypeOf(upper), n->var->name);
    for (int k = 0; k < VALUES; k++)
        v[k] = phi[k] = LLVMBuildPhi(g->b, LLVMTypeOf(first[k]), "");
    LLVMMetadataRef outer = uk_cg_enter_loop(g, n);
    uk_cg_bind(g, n->var, i, uk_cg_loop_range(g, n));
    add_term(&c, uk_cg_expr(g, store->expr), v);
    g->bindings = outside;
    LLVMValueRef next = LLVMBuildNSWAdd(g->b, i, uk_cg_int_as(upper, n->step), "");
    LLVMBasicBlockRef end = LLVMGetInsertBlock(g->b), from[] = {before, end};
    LLVMAddIncoming(i, (LLVMValueRef[]){lower, next}, from, 2);
    for (int k = 0; k < VALUES; k++)
        LLVMAddIncoming(phi[k], (LLVMValueRef[]){first[k], v[k]}, from, 2);
    LLVMValueRef again = LLVMBuildICmp(g->b, LLVMIntSLT, next, upper, "");
    uk_cg_leave_loop(g, n, LLVMBuildCondBr(g->b, again, body, done), outer);
    LLVMPositionBuilderAtEnd(g->b, done);
    for (int k = 0; k < VALUES; k++) {
        all[k] = LLVMBuildPhi(g->b, LLVMTypeOf(first[k]), "");
        LLVMAddIncoming(all[k], (LLVMValueRef[]){first[k], v[k]}, from, 2);
    }
    uk_cg_store_term(g, store, result(&c, all));
}
