/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Allowed deviations from the interpreter's values. A single operation rounds once, identically everywhere.
 * Deviations come from
 *
 * - sums of floats, whose order is free and whose products may be added unrounded,
 * - approximate functions,
 * - a subnormal f32, which ARMv7 flushes to 0,
 * - subnormal numbers in products of f16 and bf16 with sums in f32, where the GPU's matrix instructions flush
 *   them (uk_device.matrix_flush).
 *
 * They propagate: an operation on operands in intervals lies between its results at the corners, since it is
 * monotone in each operand, and is then rounded. sin, cos, tan, gelu, gelu_tanh and swish are not; they add
 * what lies between.
 */
#include <math.h>
#include "interpret.h"

/* unit: the unit roundoff, the maximum relative error of a rounding. smallest_positive: the smallest positive
 * number. */
static double unit(enum uk_type t) {
    return t == UK_F64 ? 0x1p-53 : t == UK_F32 ? 0x1p-24 : t == UK_F16 ? 0x1p-11 : 0x1p-8;
}

static double smallest_positive(enum uk_type t) {
    return t == UK_F64 ? 0x1p-1074 : t == UK_F32 ? 0x1p-149 : t == UK_F16 ? 0x1p-24 : 0x1p-133;
}

/* Maximum deviation of an approximate function: twice its row's units in the last place, as the result may
 * round to another number of the type on either side. */
static double approximate(enum uk_expr_op op, enum uk_type t, double magnitude) {
    return 2 * 2 * uk_ulps(op) * unit(t) * magnitude;
}

/* The deviation after rounding both the value and a value that is `by` away. */
static double rounded(enum uk_type t, double value, double by) {
    return by + 2 * unit(t) * (fabs(value) + by) + smallest_positive(t);
}

static double real(enum uk_type t, union uk_value v) {
    return uk_type_is_float(t) ? v.d : t == UK_U64 ? (double)(uint64_t)v.i : (double)v.i;
}

static struct uk_bounded_value exact(union uk_value v) {
    return (struct uk_bounded_value){.value = v};
}

/* A target may flush subnormal operands and results of the type to 0 (uk.5, Arithmetic). */
static bool may_flush(const struct uk_frame *f, enum uk_type t) {
    return t == UK_F32 ? f->flushes : f->matrix_flushes && (t == UK_F16 || t == UK_BF16);
}

static struct uk_bounded_value flushed(const struct uk_frame *f, enum uk_type t, struct uk_bounded_value w) {
    const double normal = t == UK_F16 ? 0x1p-14 : 0x1p-126;

    if (may_flush(f, t) && w.value.d != 0 && fabs(w.value.d) - w.deviation < normal)
        w.deviation += fmin(fabs(w.value.d) + w.deviation, normal);
    return w;
}

/* Infinite if the result may be NaN, or an integer that wraps. */
static double bounded_or_infinite(enum uk_type t, double value, double by) {
    static const double limit[] = {0x1p63, 0x1p31, 0x1p15, 0x1p7, 0x1p8, 0x1p16, 0x1p32, 0x1p64};

    if (isnan(by) || (!uk_type_is_float(t) && fabs(value) + by >= limit[t - UK_I64]))
        return HUGE_VAL;
    return by;
}

/* ---- operations ---- */

static double value_at(enum uk_expr_op op, enum uk_type t, double a, double b) {
    if (op == UK_E_SHL)
        return a * exp2(b);
    if (op == UK_E_SHR)
        return floor(a * exp2(-b));
    (void)t;
    return uk_binary(op, UK_F64, (union uk_value){.d = a}, (union uk_value){.d = b}).d;
}

/* Largest difference from swish(x, y) inside a rectangle, if that may be larger than at its corners: the
 * minimum for a fixed y is -0.27846 / y, at x y = -1.2785. */
static double between_corners(double x, double x_by, double y, double y_by) {
    const double corner[] = {(x - x_by) * (y - y_by), (x - x_by) * (y + y_by), (x + x_by) * (y - y_by),
                             (x + x_by) * (y + y_by)};
    const double lowest = fmin(fmin(corner[0], corner[1]), fmin(corner[2], corner[3])),
                 highest = fmax(fmax(corner[0], corner[1]), fmax(corner[2], corner[3]));

    if (highest < -1.279 || lowest > -1.278)
        return 0;
    return y_by < fabs(y) ? fabs(uk_real_swish(x, y)) + 0.2785 / (fabs(y) - y_by) : HUGE_VAL;
}

static struct uk_bounded_value binary(enum uk_expr_op op, enum uk_type t, struct uk_bounded_value a,
                                      struct uk_bounded_value b) {
    const union uk_value v = uk_binary(op, t, a.value, b.value);
    const double x = real(t, a.value), y = real(t, b.value), value = real(t, v);
    double by = 0;

    if (a.deviation == 0 && b.deviation == 0)
        return (struct uk_bounded_value){
            v, uk_ulps(op) > 0 ? approximate(op, t, fabs(value)) + smallest_positive(t) : 0};
    if ((op == UK_E_DIV && fabs(y) <= b.deviation) || (op == UK_E_POW && x <= a.deviation && b.deviation > 0))
        return (struct uk_bounded_value){v, HUGE_VAL};
    if (uk_is_bitwise(op)) /* another bit may change the result by any amount */
        return (struct uk_bounded_value){v, HUGE_VAL};
    for (int i = 0; i < 4; i++) {
        const double at = value_at(op, t, i & 1 ? x + a.deviation : x - a.deviation,
                                   i & 2 ? y + b.deviation : y - b.deviation);
        by = isnan(at) ? HUGE_VAL : fmax(by, fabs(at - value));
    }
    if (op == UK_E_SWISH)
        by = fmax(by, between_corners(x, a.deviation, y, b.deviation));
    if (op == UK_E_DIV && !uk_type_is_float(t)) /* rounded toward 0 */
        by += 1;
    if (op == UK_E_POW) /* not monotone around a base of 0 */
        by = rounded(t, value, fmax(by, fabs(x) <= a.deviation ? fabs(value_at(op, t, 0, y) - value) : 0)) +
             approximate(op, t, fabs(value) + by);
    else if (uk_type_is_float(t) && !uk_is_function_of_class(op, UK_FUNCTION_CHOICE))
        by = rounded(t, value, by);
    return (struct uk_bounded_value){v, bounded_or_infinite(t, value, by)};
}

/* Largest difference from the function's value at x within `by` of it, if that may be larger than at both
 * ends: 0 for monotone functions. */
static double between_ends(enum uk_expr_op op, double x, double by) {
    const double quarter = 1.5; /* up to a quarter of the period one end is farther off than an extreme */

    if (op == UK_E_SIN || op == UK_E_COS)
        return by >= quarter ? 2 : 0;
    /* A pole is between the ends, or may be. */
    if (op == UK_E_TAN && (by >= quarter || (cos(x - by) > 0) != (cos(x + by) > 0)))
        return HUGE_VAL;
    /* The minimum, somewhere in [-0.76, -0.75]. */
    if ((op == UK_E_GELU || op == UK_E_GELU_TANH) && x - by < -0.75 && x + by > -0.76)
        return (op == UK_E_GELU ? uk_real_gelu(x) : uk_real_gelu_tanh(x)) + 0.1701;
    return 0;
}

/* Applies a conversion or a function of one operand. */
static union uk_value apply(const struct uk_code *c, union uk_value v) {
    return c->op == UK_E_CAST ? uk_convert(c->from, c->type, v) : uk_unary(c->op, c->type, v);
}

static struct uk_bounded_value unary(const struct uk_code *c, struct uk_bounded_value a) {
    const enum uk_type t = c->type, from = c->op == UK_E_CAST ? c->from : c->type;
    const union uk_value v = apply(c, a.value);
    const double value = real(t, v);
    double by = a.deviation;

    if (a.deviation > 0 && !uk_is_function_of_class(c->op, UK_FUNCTION_SIZE) && c->op != UK_E_NEG &&
        isfinite(a.deviation)) {
        by = between_ends(c->op, real(from, a.value), a.deviation);
        for (int i = -1; i <= 1; i += 2) {
            const double x = real(from, a.value) + i * a.deviation;
            const union uk_value end = uk_type_is_float(from)
                                           ? (union uk_value){.d = x}
                                           : uk_convert(UK_F64, from, (union uk_value){.d = x});
            const double at = real(t, apply(c, end));
            by = isnan(at) ? HUGE_VAL : fmax(by, fabs(at - value));
        }
        if (uk_type_is_float(t) && !uk_is_function_of_class(c->op, UK_FUNCTION_WHOLE))
            by = rounded(t, value, by);
        if (!uk_type_is_float(t) && !uk_type_is_float(from))
            by = bounded_or_infinite(t, real(from, a.value), a.deviation); /* exact, or it wraps */
    }
    if (uk_ulps(c->op) > 0 && isfinite(value))
        by += approximate(c->op, t, fabs(value) + by) + smallest_positive(t);
    return (struct uk_bounded_value){v, by};
}

/* ---- conditions ---- */

/* The condition's value, 1 or 0; its deviation is 0 if no deviation of the operands can change it. */
static struct uk_bounded_value condition(struct uk_frame *f, const struct uk_code *c) {
    struct uk_bounded_value a, b;

    if (c->op == UK_E_NOT) {
        a = condition(f, c->arg[0]);
        a.value.i = !a.value.i;
        return a;
    }
    if (c->op == UK_E_AND || c->op == UK_E_OR) {
        const int64_t decides = c->op == UK_E_OR;
        a = condition(f, c->arg[0]);
        if (a.deviation == 0 && a.value.i == decides)
            return a;
        b = condition(f, c->arg[1]);
        if (b.deviation == 0 && b.value.i == decides)
            return b;
        return (struct uk_bounded_value){{.i = decides ? a.value.i || b.value.i : a.value.i && b.value.i},
                                         fmax(a.deviation, b.deviation)};
    }
    a = uk_bounded_value_of(f, c->arg[0]);
    b = uk_bounded_value_of(f, c->arg[1]);
    const bool certain = (a.deviation == 0 && b.deviation == 0) ||
                         fabs(real(c->from, a.value) - real(c->from, b.value)) > a.deviation + b.deviation;
    return (struct uk_bounded_value){{.i = uk_compare_values(c->op, c->from, a.value, b.value)},
                                     certain ? 0 : 1};
}

static struct uk_bounded_value chosen(struct uk_frame *f, const struct uk_code *c) {
    const struct uk_bounded_value which = condition(f, c->arg[0]);
    struct uk_bounded_value v = uk_bounded_value_of(f, c->arg[which.value.i ? 1 : 2]);

    if (which.deviation > 0) {
        const struct uk_bounded_value other = uk_bounded_value_of(f, c->arg[which.value.i ? 2 : 1]);
        const double apart = fabs(real(c->type, other.value) - real(c->type, v.value)) + other.deviation;
        v.deviation = isnan(apart) ? HUGE_VAL : fmax(v.deviation, apart);
    }
    return v;
}

/* ---- expressions ---- */

struct uk_bounded_value uk_bounded_value_of(struct uk_frame *f, const struct uk_code *c) {
    struct uk_bounded_value a;

    switch (c->op) {
    case UK_E_NUMBER:
    case UK_E_SCALAR:
    case UK_E_INDEX:
        return flushed(f, c->type, exact(uk_run_value(f, c)));
    case UK_E_ACCESS:
        a = exact(uk_run_value(f, c));
        if (c->storage->by && !f->status)
            a.deviation = c->storage->by[uk_flat_value(f, &c->address)];
        return flushed(f, c->type, a);
    case UK_E_PAD:
        return uk_bounded_value_of(f, c->arg[uk_inside(f, c) ? 0 : 1]);
    case UK_E_SELECT:
        return chosen(f, c);
    default:
        a = uk_bounded_value_of(f, c->arg[0]);
        a = c->arg[1] ? binary(c->op, c->type, a, uk_bounded_value_of(f, c->arg[1])) : unary(c, a);
        return flushed(f, c->type, a);
    }
}

/* ---- reductions ---- */

void uk_bounded_sum_begin(struct uk_bounded_sum *s, union uk_value initial) {
    *s = (struct uk_bounded_sum){.partial = exact(initial), .is_integer = true};
}

void uk_bounded_sum_add(struct uk_bounded_sum *s, enum uk_expr_op op, enum uk_type t,
                        struct uk_bounded_value term) {
    const union uk_value v = uk_reduced(op, t, s->partial.value, term.value);

    if (op == UK_E_ADD && uk_type_is_float(t)) {
        s->partial.deviation += term.deviation;
        s->magnitude += fabs(term.value.d) + term.deviation;
        s->is_integer = s->is_integer && term.value.d == rint(term.value.d);
    } else if (s->partial.deviation > 0 || term.deviation > 0) {
        s->partial.deviation = binary(op, t, s->partial, term).deviation;
    }
    s->partial.value = v;
    s->terms++;
}

/*
 * Each of n terms (products, perhaps) and of their n - 1 sums may be rounded or not: both results are within
 * n roundings, relative to the sum of the terms' magnitudes, of the exact sum. Integers that the type
 * represents exactly are never rounded. The order of a product's factors is free as well.
 */
struct uk_bounded_value uk_bounded_sum_end(const struct uk_frame *f, const struct uk_bounded_sum *s,
                                           enum uk_expr_op op, enum uk_type t) {
    struct uk_bounded_value w = s->partial;

    if (!uk_type_is_float(t) || s->terms == 0 || (op != UK_E_ADD && op != UK_E_MUL))
        return w;
    if (op == UK_E_MUL) {
        w.deviation += s->terms > 2 ? 2 * (double)s->terms * unit(t) * (fabs(w.value.d) + w.deviation) : 0;
    } else if (s->magnitude * unit(t) > 1 || !s->is_integer || w.deviation > 0) {
        const double n = (double)s->terms * unit(t);
        w.deviation += n < 1 ? 2 * n / (1 - n) * s->magnitude + smallest_positive(t) : HUGE_VAL;
        if (t == UK_F32 && (f->flushes || f->matrix_flushes)) /* partial sums may be flushed */
            w.deviation += (double)s->terms * 0x1p-126;
    }
    if (isnan(w.deviation))
        w.deviation = HUGE_VAL;
    return w;
}
