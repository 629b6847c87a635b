/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requantization of sums to bytes: recognizes the forms in which programs write it, and the instructions that
 * compute the same. On RISC-V, whose conversions have the rounding mode as an operand: u8(round(x) + zero).
 * With P: its shift that rounds up, the doubled product's upper half, and min and max. On other architectures
 * LLVM generates code that is as short.
 */
#include <float.h>
#include <math.h>
#include <string.h>
#include "lower.h"
#include "minmax.h"

/* ---- ranges of integers ---- */

struct range {
    int64_t low, high;
};

static struct range of_type(enum uk_type t) {
    if (t == UK_U64 || uk_type_is_float(t)) /* the bits of a u64 */
        return (struct range){INT64_MIN, INT64_MAX};
    return (struct range){uk_integer_min(t), uk_integer_max(t)};
}

/* One end of the range of l op r; false: beyond 64 bits. */
static bool end_of(enum uk_expr_op op, int64_t l, int64_t r, int64_t *out) {
    switch (op) {
    case UK_E_ADD:
        return !__builtin_add_overflow(l, r, out);
    case UK_E_SUB:
        return !__builtin_sub_overflow(l, r, out);
    case UK_E_MUL:
        return !__builtin_mul_overflow(l, r, out);
    case UK_E_SHL:
        return r >= 0 && r < 63 && !__builtin_mul_overflow(l, INT64_C(1) << r, out);
    default:
        *out = r < 0 ? 0 : l >> (r > 63 ? 63 : r);
        return r >= 0;
    }
}

static struct range range_of(const struct uk_expr *e) {
    enum { MAX_DEPTH = 64 };
    const struct range all = of_type(e->type);
    struct range l, r, v = {INT64_MAX, INT64_MIN};

    if (e->op == UK_E_NUMBER && e->is_integer)
        return (struct range){e->integer, e->integer};
    if (e->depth > MAX_DEPTH || !e->arg[0] || uk_type_is_float(e->arg[0]->type))
        return all;
    if (e->type == UK_U64 && e->op != UK_E_CAST && e->op != UK_E_BIT_AND)
        return all; /* the operators below are those of signed numbers */
    l = range_of(e->arg[0]);
    switch (e->op) {
    case UK_E_CAST:
        return l.low < all.low || l.high > all.high ? all : l;
    case UK_E_MIN:
    case UK_E_MAX:
        r = range_of(e->arg[1]);
        return e->op == UK_E_MIN ? (struct range){uk_min(l.low, r.low), uk_min(l.high, r.high)}
                                 : (struct range){uk_max(l.low, r.low), uk_max(l.high, r.high)};
    case UK_E_BIT_AND: /* at most either operand that is not negative */
        r = range_of(e->arg[1]);
        return l.low < 0 && r.low < 0 ? all
                                      : (struct range){0, l.low < 0   ? r.high
                                                          : r.low < 0 ? l.high
                                                                      : uk_min(l.high, r.high)};
    case UK_E_ADD:
    case UK_E_SUB:
    case UK_E_MUL:
    case UK_E_SHL:
    case UK_E_SHR:
        r = range_of(e->arg[1]);
        break;
    default:
        return all;
    }
    for (int i = 0; i < 4; i++) {
        int64_t end;

        if (!end_of(e->op, i & 1 ? l.high : l.low, i & 2 ? r.high : r.low, &end))
            return all;
        v = (struct range){uk_min(v.low, end), uk_max(v.high, end)};
    }
    return v.low < all.low || v.high > all.high ? all : v;
}

bool uk_has_range(const struct uk_expr *e, int64_t low, int64_t high) {
    struct range r;

    if (uk_type_is_float(e->type))
        return false;
    r = range_of(e);
    return r.low >= low && r.high <= high;
}

/* An upper bound of the magnitude for all inputs: HUGE_VAL if it may be infinite, NAN if it may be NaN. */
static double magnitude(const struct uk_expr *e) {
    enum { MAX_DEPTH = 64 };
    const double min_infinite = 1e38; /* in f32, with a margin for rounding */
    double l, r;

    if (e->op == UK_E_NUMBER) {
        l = e->is_integer ? fabs((double)e->integer) : fabs(e->number);
        return l > min_infinite ? HUGE_VAL : l;
    }
    if (!uk_type_is_float(e->type)) {
        const struct range v = range_of(e);

        if (e->type == UK_U64 && v.low < 0)
            return 0x1p64;
        return fmax(fabs((double)v.low), fabs((double)v.high));
    }
    if (e->op == UK_E_ACCESS)
        return e->type == UK_F32 && e->access.tensor->is_finite ? (double)FLT_MAX : NAN;
    if (e->type != UK_F32 || e->depth > MAX_DEPTH || !e->arg[0])
        return NAN;
    l = magnitude(e->arg[0]);
    r = e->arg[1] ? magnitude(e->arg[1]) : 0;
    switch (e->op) {
    case UK_E_CAST:
    case UK_E_ROUND:
    case UK_E_NEG:
        return l;
    case UK_E_ADD:
    case UK_E_SUB:
        r = isinf(l) && isinf(r) ? NAN : l + r;
        break;
    case UK_E_MUL:
        r = isinf(l) || isinf(r) ? NAN : l * r; /* infinity times 0 */
        break;
    case UK_E_DIV:
        if (e->arg[1]->op != UK_E_NUMBER || isinf(r) || r < FLT_MIN)
            return NAN;
        r = l / r;
        break;
    default:
        return NAN;
    }
    return r > min_infinite ? HUGE_VAL : r;
}

bool uk_is_no_nan(const struct uk_expr *e) {
    return !isnan(magnitude(e));
}

static bool is_number(const struct uk_expr *e, int64_t value) {
    return e->op == UK_E_NUMBER && uk_has_range(e, value, value);
}

/* ---- the forms ---- */

static bool same(const struct uk_expr *a, const struct uk_expr *b) {
    if (a->op != b->op || a->type != b->type || a->is_integer != b->is_integer || a->integer != b->integer ||
        a->number < b->number || a->number > b->number || a->scalar != b->scalar ||
        a->access.tensor != b->access.tensor || !a->index != !b->index ||
        (a->index && !uk_index_equal(a->index, b->index)))
        return false;
    for (int d = 0; a->op == UK_E_ACCESS && d < a->access.tensor->dims; d++)
        if (!uk_index_equal(a->access.index[d], b->access.index[d]))
            return false;
    for (int i = 0; i < 3; i++)
        if (!a->arg[i] != !b->arg[i] || (a->arg[i] && !same(a->arg[i], b->arg[i])))
            return false;
    return true;
}

/* True if e is half of 2^shift: 1 << shift - 1, or a number. */
static bool is_half(const struct uk_expr *e, const struct uk_expr *shift) {
    const struct range s = range_of(shift);

    if (s.low == s.high)
        return s.low > 0 && s.low < 64 &&
               uk_has_range(e, INT64_C(1) << (s.low - 1), INT64_C(1) << (s.low - 1));
    return e->op == UK_E_SHL && is_number(e->arg[0], 1) && e->arg[1]->op == UK_E_SUB &&
           same(e->arg[1]->arg[0], shift) && is_number(e->arg[1]->arg[1], 1);
}

/* (x + half) >> s equals the instruction if the sum does not wrap and s is less than 64. */
static struct uk_fused rounding_shift(const struct uk_expr *e) {
    const struct uk_fused none = {UK_FUSED_NONE, {NULL}};
    const struct uk_expr *sum = e->arg[0], *shift = e->arg[1];

    if (e->op != UK_E_SHR || e->type != UK_I64 || sum->op != UK_E_ADD || !uk_has_range(shift, 0, 62))
        return none;
    for (int i = 0; i < 2; i++)
        if (is_half(sum->arg[i], shift)) {
            const int64_t half = INT64_C(1) << range_of(shift).high >> 1;

            return uk_has_range(sum->arg[!i], INT64_MIN, INT64_MAX - half)
                       ? (struct uk_fused){UK_FUSED_SHIFT, {sum->arg[!i], shift}}
                       : none;
        }
    return none;
}

/* min((a * b + 2^30) >> 31, 2^31 - 1) for 32-bit factors. */
static struct uk_fused doubled_half(const struct uk_expr *e) {
    for (int i = 0; i < 2; i++) {
        const struct uk_expr *shift = e->arg[i], *a, *b;
        struct uk_fused f;

        if (!is_number(e->arg[!i], INT32_MAX) || shift->op != UK_E_SHR)
            continue;
        f = rounding_shift(shift);
        if (f.form != UK_FUSED_SHIFT || !uk_has_range(f.arg[1], 31, 31) || f.arg[0]->op != UK_E_MUL)
            continue;
        a = f.arg[0]->arg[0];
        b = f.arg[0]->arg[1];
        if (uk_has_range(a, INT32_MIN, INT32_MAX) && uk_has_range(b, INT32_MIN, INT32_MAX))
            return (struct uk_fused){UK_FUSED_HALF, {a, b}};
    }
    return (struct uk_fused){UK_FUSED_NONE, {NULL}};
}

/* The integer added to a rounded f32: a number, or the narrow value that it was cast from. */
static const struct uk_expr *zero_point(const struct uk_expr *e) {
    enum { MAX_ZERO_POINT = 1 << 15 }; /* f32 sums below 2^23 are then exact; larger ones saturate */

    if (e->op == UK_E_NUMBER)
        return e->is_integer && e->integer >= -MAX_ZERO_POINT && e->integer <= MAX_ZERO_POINT ? e : NULL;
    return e->op == UK_E_CAST && uk_has_range(e->arg[0], -MAX_ZERO_POINT, MAX_ZERO_POINT) ? e->arg[0] : NULL;
}

static struct uk_fused rounded_byte(const struct uk_expr *e) {
    const struct uk_expr *v = e->arg[0], *zero = NULL;

    if (e->op != UK_E_CAST || (e->type != UK_U8 && e->type != UK_I8) || v->type != UK_F32)
        return (struct uk_fused){UK_FUSED_NONE, {NULL}};
    if (v->op == UK_E_ADD) {
        const int first = v->arg[0]->op != UK_E_ROUND;

        zero = zero_point(v->arg[!first]);
        v = zero ? v->arg[first] : v;
    }
    return v->op == UK_E_ROUND ? (struct uk_fused){UK_FUSED_BYTE, {v->arg[0], zero}}
                               : (struct uk_fused){UK_FUSED_NONE, {NULL}};
}

struct uk_fused uk_fuse_value(const struct uk_target *t, const struct uk_expr *e) {
    const bool is_min = e->op == UK_E_MIN;
    struct uk_fused f = {UK_FUSED_NONE, {NULL}};

    if (t->interpreted || strcmp(t->arch->name, "riscv64") || !e->arg[0])
        return f;
    if (e->op == UK_E_CAST)
        return rounded_byte(e);
    if (!uk_target_has(t, "rvp"))
        return f;
    if (e->op == UK_E_SHR)
        return rounding_shift(e);
    /* The instructions compare signed registers; narrower unsigned numbers are positive in them. */
    if ((!is_min && e->op != UK_E_MAX) || uk_type_is_float(e->type) || e->type == UK_U64)
        return f;
    if (is_min && e->type == UK_I64)
        f = doubled_half(e);
    return f.form ? f : (struct uk_fused){is_min ? UK_FUSED_MIN : UK_FUSED_MAX, {e->arg[0], e->arg[1]}};
}

/* ---- the report ---- */

/* The forms in e as bits; UK_FUSED_NONE represents a right shift that has no instruction. */
static unsigned forms_in(const struct uk_target *t, const struct uk_expr *e) {
    const struct uk_fused f = uk_fuse_value(t, e);
    unsigned forms = f.form || (e->op == UK_E_SHR && e->type == UK_I64) ? 1u << f.form : 0;

    for (int i = 0; i < (f.form ? 2 : 3); i++) {
        const struct uk_expr *arg = f.form ? f.arg[i] : e->arg[i];

        forms |= arg ? forms_in(t, arg) : 0;
    }
    return forms;
}

void uk_report_fused(const struct uk_target *t, const struct uk_expr *e, struct uk_text *report) {
    static const char *const said[] = {
        [UK_FUSED_NONE] =
            "a right shift of 64 bits: as written; sra.u is (x + (1 << s - 1)) >> s with 0 <= s <= 62",
        [UK_FUSED_BYTE] =
            "a byte of a rounded f32: rounded by fcvt.w.s, clamped by fmin.s and fmax.s or uclip32",
        [UK_FUSED_HALF] = "min(a * b + (1 << 30) >> 31, 2147483647): kwmmul.u",
        [UK_FUSED_SHIFT] = "a right shift that rounds up: sra.u",
        [UK_FUSED_MIN] = "min of integers: min",
        [UK_FUSED_MAX] = "max of integers: max",
    };
    const unsigned forms = forms_in(t, e);

    for (unsigned i = uk_target_has(t, "rvp") ? 0 : UK_FUSED_BYTE; i < sizeof said / sizeof *said; i++)
        if (forms & 1u << i)
            uk_put(report, "  %s\n", said[i]);
}
