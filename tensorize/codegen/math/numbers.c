/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers of one type: operations, exact sums and products, and rounding to integers. */
#include "numbers.h"

struct uk_math uk_math_of(struct uk_codegen *g, LLVMTypeRef type) {
    const struct uk_arch *arch = g->target->arch;
    const bool is_double = type == g->f64;

    return (struct uk_math){.g = g,
                            .type = type,
                            .integer = is_double ? g->i64 : g->i32,
                            .is_double = is_double,
                            .fused = !arch->fused || uk_target_has(g->target, arch->fused),
                            .rounds = !arch->rounds || uk_target_has(g->target, arch->rounds),
                            .avx512 = !g->device && uk_target_has(g->target, "avx512f") &&
                                      uk_target_has(g->target, "avx512vl") &&
                                      uk_target_has(g->target, "avx512dq")};
}

LLVMValueRef uk_math_number(const struct uk_math *m, double v) {
    return LLVMConstReal(m->type, v);
}

LLVMValueRef uk_math_add(const struct uk_math *m, LLVMValueRef a, LLVMValueRef b) {
    return LLVMBuildFAdd(m->g->b, a, b, "");
}

LLVMValueRef uk_math_subtract(const struct uk_math *m, LLVMValueRef a, LLVMValueRef b) {
    return LLVMBuildFSub(m->g->b, a, b, "");
}

LLVMValueRef uk_math_multiply(const struct uk_math *m, LLVMValueRef a, LLVMValueRef b) {
    return LLVMBuildFMul(m->g->b, a, b, "");
}

LLVMValueRef uk_math_divide(const struct uk_math *m, LLVMValueRef a, LLVMValueRef b) {
    return LLVMBuildFDiv(m->g->b, a, b, "");
}

LLVMValueRef uk_math_multiply_add(const struct uk_math *m, LLVMValueRef a, LLVMValueRef b, LLVMValueRef c) {
    if (m->fused)
        return uk_cg_intrinsic(m->g, "llvm.fma", m->type, (LLVMValueRef[]){a, b, c}, 3);
    return uk_math_add(m, uk_math_multiply(m, a, b), c);
}

LLVMValueRef uk_math_negate(const struct uk_math *m, LLVMValueRef a) {
    return LLVMBuildFNeg(m->g->b, a, "");
}

LLVMValueRef uk_math_size(const struct uk_math *m, LLVMValueRef a) {
    return uk_cg_intrinsic(m->g, "llvm.fabs", m->type, &a, 1);
}

LLVMValueRef uk_math_sqrt(const struct uk_math *m, LLVMValueRef a) {
    return uk_cg_intrinsic(m->g, "llvm.sqrt", m->type, &a, 1);
}

/* As C writes them, l < r ? l : r, which is also what the vector instructions do with NaN. */
LLVMValueRef uk_math_min(const struct uk_math *m, LLVMValueRef l, LLVMValueRef r) {
    return LLVMBuildSelect(m->g->b, LLVMBuildFCmp(m->g->b, LLVMRealOLT, l, r, ""), l, r, "");
}

LLVMValueRef uk_math_max(const struct uk_math *m, LLVMValueRef l, LLVMValueRef r) {
    return LLVMBuildSelect(m->g->b, LLVMBuildFCmp(m->g->b, LLVMRealOGT, l, r, ""), l, r, "");
}

LLVMValueRef uk_math_with_sign(const struct uk_math *m, LLVMValueRef a, LLVMValueRef sign) {
    return uk_cg_intrinsic(m->g, "llvm.copysign", m->type, (LLVMValueRef[]){a, sign}, 2);
}

LLVMValueRef uk_math_where(const struct uk_math *m, LLVMRealPredicate is, LLVMValueRef a, double b,
                           LLVMValueRef then, LLVMValueRef other) {
    LLVMValueRef c = LLVMBuildFCmp(m->g->b, is, a, uk_math_number(m, b), "");

    return LLVMBuildSelect(m->g->b, c, then, other, "");
}

LLVMValueRef uk_math_bits(const struct uk_math *m, LLVMValueRef a) {
    return LLVMBuildBitCast(m->g->b, a, m->integer, "");
}

LLVMValueRef uk_math_from_bits(const struct uk_math *m, LLVMValueRef bits) {
    return LLVMBuildBitCast(m->g->b, bits, m->type, "");
}

LLVMValueRef uk_math_integer(const struct uk_math *m, uint64_t v) {
    return LLVMConstInt(m->integer, v, false);
}

LLVMValueRef uk_math_polynomial(const struct uk_math *m, LLVMValueRef x, const struct uk_polynomial *p) {
    const double *coefficient = m->is_double ? p->twice : p->single;
    const int n = m->is_double ? p->doubles : p->singles;
    LLVMValueRef sum = uk_math_number(m, coefficient[0]);

    for (int i = 1; i < n; i++)
        sum = uk_math_multiply_add(m, sum, x, uk_math_number(m, coefficient[i]));
    return sum;
}

struct uk_math_pair uk_math_sum(const struct uk_math *m, LLVMValueRef a, LLVMValueRef b) {
    LLVMValueRef high = uk_math_add(m, a, b);

    return (struct uk_math_pair){high, uk_math_subtract(m, b, uk_math_subtract(m, high, a))};
}

struct uk_math_pair uk_math_sum_any(const struct uk_math *m, LLVMValueRef a, LLVMValueRef b) {
    LLVMValueRef high = uk_math_add(m, a, b), rest = uk_math_subtract(m, high, a);
    LLVMValueRef low = uk_math_subtract(m, a, uk_math_subtract(m, high, rest));

    return (struct uk_math_pair){high, uk_math_add(m, low, uk_math_subtract(m, b, rest))};
}

struct uk_math_pair uk_math_one_and(const struct uk_math *m, LLVMValueRef b) {
    LLVMValueRef one = uk_math_number(m, 1), high = uk_math_add(m, one, b);

    /* The difference is exact: it is below `high`, and a multiple of its last place. */
    return (struct uk_math_pair){high, uk_math_add(m, b, uk_math_subtract(m, one, high))};
}

/* Splits a number into the first half of its bits and the rest: products of halves are exact. (The product
 * of two second halves of f64 may be rounded by one part in 2^53 of itself, far below the precision of a
 * pair.) */
static struct uk_math_pair halves(const struct uk_math *m, LLVMValueRef a) {
    LLVMValueRef mask = uk_math_integer(m, m->is_double ? ~UINT64_C(0x7ffffff) : ~UINT32_C(0xfff));
    LLVMValueRef high = uk_math_from_bits(m, LLVMBuildAnd(m->g->b, uk_math_bits(m, a), mask, ""));

    return (struct uk_math_pair){high, uk_math_subtract(m, a, high)};
}

struct uk_math_pair uk_math_product(const struct uk_math *m, LLVMValueRef a, LLVMValueRef b) {
    LLVMValueRef high = uk_math_multiply(m, a, b);

    if (m->fused)
        return (struct uk_math_pair){high, uk_math_multiply_add(m, a, b, uk_math_negate(m, high))};
    const struct uk_math_pair x = halves(m, a), y = halves(m, b);
    LLVMValueRef low = uk_math_subtract(m, uk_math_multiply(m, x.high, y.high), high);

    low = uk_math_add(m, low, uk_math_multiply(m, x.high, y.low));
    low = uk_math_add(m, low, uk_math_multiply(m, x.low, y.high));
    return (struct uk_math_pair){high, uk_math_add(m, low, uk_math_multiply(m, x.low, y.low))};
}

struct uk_math_pair uk_math_multiply_pairs(const struct uk_math *m, struct uk_math_pair a,
                                           struct uk_math_pair b) {
    struct uk_math_pair p = uk_math_product(m, a.high, b.high);

    p.low = uk_math_multiply_add(m, a.high, b.low, p.low);
    p.low = uk_math_multiply_add(m, a.low, b.high, p.low);
    return p;
}

struct uk_math_pair uk_math_quotient(const struct uk_math *m, struct uk_math_pair a, struct uk_math_pair b) {
    LLVMValueRef q = uk_math_divide(m, a.high, b.high);
    const struct uk_math_pair back = uk_math_product(m, q, b.high);
    LLVMValueRef rest = uk_math_subtract(m, uk_math_subtract(m, a.high, back.high), back.low);

    rest = uk_math_subtract(m, rest, uk_math_multiply(m, q, b.low));
    if (a.low)
        rest = uk_math_add(m, rest, a.low);
    return (struct uk_math_pair){q, uk_math_divide(m, rest, b.high)};
}

struct uk_math_pair uk_math_root(const struct uk_math *m, struct uk_math_pair a) {
    LLVMValueRef root = uk_math_sqrt(m, a.high), zero = uk_math_number(m, 0);
    const struct uk_math_pair back = uk_math_product(m, root, root);
    LLVMValueRef rest = uk_math_subtract(m, uk_math_subtract(m, a.high, back.high), back.low);

    if (a.low)
        rest = uk_math_add(m, rest, a.low);
    rest = uk_math_divide(m, rest, uk_math_add(m, root, root));
    return (struct uk_math_pair){root, uk_math_where(m, LLVMRealOEQ, root, 0, zero, rest)};
}

struct uk_math_pair uk_math_select_pair(const struct uk_math *m, LLVMValueRef condition,
                                        struct uk_math_pair then, struct uk_math_pair other) {
    return (struct uk_math_pair){LLVMBuildSelect(m->g->b, condition, then.high, other.high, ""),
                                 LLVMBuildSelect(m->g->b, condition, then.low, other.low, "")};
}

struct uk_math_pair uk_math_half_pi(const struct uk_math *m) {
    const double high = m->is_double ? 0x1.921fb54442d18p+0 : 0x1.921fb6p+0,
                 low = m->is_double ? 0x1.1a62633145c07p-54 : -0x1.777a5cf72cecep-25;

    return (struct uk_math_pair){uk_math_number(m, high), uk_math_number(m, low)};
}

/* A number whose last bit is 1: adding and subtracting it rounds to an integer. */
static double first_integer(const struct uk_math *m) {
    return m->is_double ? 0x1p52 : 0x1p23;
}

static LLVMValueRef round_by_adding(const struct uk_math *m, LLVMValueRef x) {
    LLVMValueRef large = uk_math_number(m, first_integer(m));
    LLVMValueRef whole = uk_math_add(m, uk_math_size(m, x), large);

    return uk_math_with_sign(m, uk_math_subtract(m, whole, large), x);
}

static LLVMValueRef keep_integers(const struct uk_math *m, LLVMValueRef x, LLVMValueRef rounded) {
    return uk_math_where(m, LLVMRealOLT, uk_math_size(m, x), first_integer(m), rounded, x);
}

LLVMValueRef uk_math_round(const struct uk_math *m, LLVMValueRef x) {
    if (m->rounds)
        return uk_cg_intrinsic(m->g, "llvm.roundeven", m->type, &x, 1);
    return keep_integers(m, x, round_by_adding(m, x));
}

LLVMValueRef uk_math_floor(const struct uk_math *m, LLVMValueRef x) {
    if (m->rounds)
        return uk_cg_intrinsic(m->g, "llvm.floor", m->type, &x, 1);
    LLVMValueRef rounded = round_by_adding(m, x);
    LLVMValueRef above = LLVMBuildFCmp(m->g->b, LLVMRealOGT, rounded, x, "");

    rounded =
        LLVMBuildSelect(m->g->b, above, uk_math_subtract(m, rounded, uk_math_number(m, 1)), rounded, "");
    return keep_integers(m, x, rounded);
}

LLVMValueRef uk_math_ceil(const struct uk_math *m, LLVMValueRef x) {
    if (m->rounds)
        return uk_cg_intrinsic(m->g, "llvm.ceil", m->type, &x, 1);
    return uk_math_negate(m, uk_math_floor(m, uk_math_negate(m, x)));
}
