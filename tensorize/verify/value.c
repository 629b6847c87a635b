/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chooses the magnitudes of operands so that there is one right result, which is compared exactly.
 *
 * In most cases sums are exact in the declared type in any order, and would not be in a narrower type. Bounds
 * of the magnitude and of the last bit of every intermediate value, and of the sum, determine the number of
 * bits of operands. If an operation rounds for any operands (such as a quotient), all are small integers. If
 * a sum is too long to be exact, all but a few of its terms are 0.
 *
 * In the other cases every operation rounds (UK_ROUNDED). A statement that is not a sum of floats then has
 * one right result. Of a sum of floats, all terms are 0 except so few that it rounds once in any order. A
 * product that is added may be rounded before the addition or not, so it has few enough bits to be exact.
 */
#include <float.h>
#include <math.h>
#include "verify.h"

enum { SMALL_INTEGER_BITS = 10, SMALL_BITS = 3, LARGEST_EXPONENT = 3, TINY_EXPONENTS = 16, SCALAR_BITS = 53 };

const struct uk_format uk_formats[] = {[UK_F64] = {53, -1074, -1022, 1023},
                                       [UK_F32] = {24, -149, -126, 127},
                                       [UK_F16] = {11, -24, -14, 15},
                                       [UK_BF16] = {8, -133, -126, 127}};

bool uk_verify_is_half(enum uk_type t) {
    return t == UK_F16 || t == UK_BF16;
}

/* ---- bounds ---- */

struct range {
    long double bound, quantum; /* maximum magnitude; a divisor of all values */
};

struct weighing {
    struct uk_verifier *v;
    bool exact, rounds; /* rounds: some operation rounds for any operands */
};

static struct range join(struct range a, struct range b) {
    return (struct range){fmaxl(a.bound, b.bound), fminl(a.quantum, b.quantum)};
}

/* The range after conversion to the type; clears w->exact if the type cannot hold all these values. */
static struct range as_type(struct weighing *w, enum uk_type t, struct range r) {
    if (!uk_type_is_float(t)) /* wraps or saturates */
        return (struct range){fminl(r.bound, ldexpl(1, uk_integer_bits(t))), 1};
    const struct uk_format *f = &uk_formats[t];
    const bool tiny = w->v->data == UK_TINY;

    if (r.bound > 0 && (r.bound > ldexpl(r.quantum, f->digits) ||
                        r.quantum < ldexpl(1, tiny ? f->min_subnormal : f->min_normal) ||
                        r.bound > ldexpl(1, f->max_exponent)))
        w->exact = false;
    return r;
}

static struct range scaled(struct uk_scale s) {
    return (struct range){ldexpl(1, s.bits + s.exponent), ldexpl(1, s.exponent)};
}

static int tensor_number(const struct uk_verifier *v, const struct uk_tensor *t) {
    int n = 0;

    for (const struct uk_tensor *i = v->intrinsic->declaration->tensors; i != t; i = i->next)
        n++;
    return n;
}

static struct range range_of_number(const struct uk_expr *e) {
    long double n = e->is_integer ? (long double)e->integer : (long double)e->number;
    int exponent;

    if (n == 0 || isinf(n))
        return (struct range){0, HUGE_VALL};
    long double digits = frexpl(fabsl(n), &exponent);

    while (digits != floorl(digits)) {
        digits *= 2;
        exponent--;
    }
    return (struct range){fabsl(n), ldexpl(1, exponent)};
}

static struct range range_of_function(struct weighing *w, enum uk_expr_op op, const struct range *a) {
    switch (uk_function_of(op)->class) {
    case UK_FUNCTION_CHOICE:
        return join(a[0], a[1]);
    case UK_FUNCTION_WHOLE:
        return (struct range){a[0].bound + 1, fmaxl(a[0].quantum, 1)};
    case UK_FUNCTION_REAL:
        w->rounds = true;
        break;
    case UK_FUNCTION_SIZE:
        break;
    }
    return a[0];
}

static struct range range_of_operator(struct weighing *w, const struct uk_expr *e, const struct range *a) {
    if (uk_is_function(e->op))
        return range_of_function(w, e->op, a);
    switch (e->op) {
    case UK_E_ADD:
    case UK_E_SUB:
        return (struct range){a[0].bound + a[1].bound, fminl(a[0].quantum, a[1].quantum)};
    case UK_E_MUL:
        if (a[0].bound == 0 || a[1].bound == 0)
            return (struct range){0, HUGE_VALL};
        return (struct range){a[0].bound * a[1].bound, a[0].quantum * a[1].quantum};
    case UK_E_PAD:
        return join(a[0], a[1]);
    case UK_E_SELECT:
        return join(a[1], a[2]);
    case UK_E_NEG:
    case UK_E_CAST:
        return a[0];
    case UK_E_DIV:
        w->rounds |= uk_type_is_float(e->type);
        return (struct range){a[0].bound, uk_type_is_float(e->type) ? a[0].quantum : 1};
    case UK_E_SHL:
    case UK_E_SHR:
    case UK_E_BIT_AND:
    case UK_E_BIT_XOR:
    case UK_E_BIT_OR:
        return (struct range){0x1p64L, 1};
    default: /* comparisons, indices */
        return (struct range){0x1p20L, 1};
    }
}

static struct range range_of(struct weighing *w, const struct uk_expr *e) {
    struct range a[3] = {{0, 1}, {0, 1}, {0, 1}};
    const struct uk_verifier *v = w->v;

    if (e->op == UK_E_NUMBER)
        return range_of_number(e);
    if (e->op == UK_E_ACCESS)
        return scaled(v->scale[tensor_number(v, e->access.tensor)]);
    if (e->op == UK_E_SCALAR)
        return scaled(v->scale[v->tensors + uk_scalar_number(v->intrinsic->declaration->scalars, e->scalar)]);
    for (int i = 0; i < 3 && e->arg[i]; i++)
        a[i] = range_of(w, e->arg[i]);
    return as_type(w, e->type, range_of_operator(w, e, a));
}

bool uk_verify_reads_output(const struct uk_verifier *v, const struct uk_tensor *t) {
    return t == v->intrinsic->computes->left.tensor &&
           (v->form == UK_FORM_UPDATE || (v->form == UK_FORM_COMPUTE && t->is_read));
}

/* The statement with the current scales, and sums of `terms` terms. */
static struct weighing weigh(struct uk_verifier *v, int64_t terms) {
    const struct uk_statement *s = v->intrinsic->computes;
    const struct uk_tensor *left = s->left.tensor;
    struct weighing w = {.v = v, .exact = true};
    struct range r = range_of(&w, s->right), old = scaled(v->scale[tensor_number(v, left)]);

    r = as_type(&w, left->type, r);
    if (s->reduce == UK_REDUCE_SUM)
        r.bound *= (long double)terms;
    if (uk_verify_reads_output(v, left) && (s->assign == UK_ASSIGN_MULTIPLY || s->reduce == UK_REDUCE_PROD))
        r = (struct range){r.bound * old.bound, r.quantum * old.quantum};
    else if (uk_verify_reads_output(v, left))
        r = (struct range){r.bound + old.bound, fminl(r.quantum, old.quantum)};
    as_type(&w, left->type, r);
    return w;
}

static int64_t terms_of(struct uk_verifier *v) {
    const struct uk_statement *s = v->intrinsic->computes;
    int64_t terms = 1;

    for (int i = s->left_iterators; i < s->iterators; i++)
        terms *= uk_verify_value(v, s->extent[i]);
    for (int i = 0; s->scan && i < s->left_iterators; i++)
        if (s->iterator[i] == s->reduced_iterator[0])
            terms = uk_verify_value(v, s->extent[i]);
    return terms > 0 ? terms : 1;
}

/* ---- scales ---- */

static bool has_type(const struct uk_verifier *v, enum uk_type t) {
    for (int i = 0; i < v->scales; i++)
        if (v->scale[i].type == t)
            return true;
    return false;
}

/* True if the kernel may take subnormal numbers as 0. For bf16 it is not specified whether they are kept;
 * matrix instructions of some GPUs flush those of f16, too. */
static bool may_flush(const struct uk_verifier *v) {
    const struct uk_statement *s = v->intrinsic->computes;

    return has_type(v, UK_BF16) ||
           (v->device && v->device->target->machine.core.device.matrix_flush && has_type(v, UK_F16) &&
            s->reduce == UK_REDUCE_SUM && s->left.tensor->type == UK_F32);
}

/* Some kinds are drawn more often than others. */
static enum uk_data_kind choose_data(struct uk_verifier *v) {
    enum { FINITE = 6 };
    static const enum uk_data_kind kinds_drawn[] = {
        UK_SMALL,   UK_LARGE,   UK_LARGE,   UK_LARGE,   UK_ONE_LARGE, UK_ONE_LARGE, UK_EXTREME, UK_TINY,
        UK_SPECIAL, UK_SPECIAL, UK_SPECIAL, UK_ROUNDED, UK_ROUNDED,   UK_ROUNDED,   UK_ROUNDED};
    /* The sums of a large case are long and have to be exact: only the first kinds. */
    const size_t kinds = v->is_large ? FINITE : sizeof kinds_drawn / sizeof *kinds_drawn;
    enum uk_data_kind data = kinds_drawn[uk_verify_random(v, kinds)];

    return data == UK_TINY && may_flush(v) ? UK_LARGE : data;
}

static int max_bits(struct uk_scale s, enum uk_data_kind data) {
    if (!uk_type_is_float(s.type))
        return data != UK_SMALL || uk_integer_bits(s.type) <= 8 ? uk_integer_bits(s.type)
                                                                : SMALL_INTEGER_BITS;
    if (data == UK_SMALL || data == UK_TINY || data == UK_SPECIAL)
        return uk_verify_is_half(s.type) ? 1 : SMALL_BITS;
    return uk_formats[s.type].digits;
}

static void start(struct uk_verifier *v, bool with_exponents) {
    const int left = tensor_number(v, v->intrinsic->computes->left.tensor);
    int one = (int)uk_verify_random(v, (uint64_t)v->scales);

    if (one == left)
        one = (one + 1) % v->scales;
    for (int i = 0; i < v->scales; i++) {
        struct uk_scale *s = &v->scale[i];
        const bool real = uk_type_is_float(s->type);

        s->bits = max_bits(*s, v->data);
        if (i >= v->tensors && s->bits > SCALAR_BITS) /* scalars are stored as doubles */
            s->bits = SCALAR_BITS;
        s->exponent = 0;
        if (real && v->data == UK_ONE_LARGE && i != one)
            s->bits = 1;
        if (real && with_exponents)
            s->exponent = (int)uk_verify_random(v, 2 * LARGEST_EXPONENT + 1) - LARGEST_EXPONENT;
        if (real && v->data == UK_TINY)
            s->exponent =
                i == one ? uk_formats[s->type].min_subnormal + (int)uk_verify_random(v, TINY_EXPONENTS) : 0;
    }
    if (v->data == UK_TINY && uk_type_is_float(v->scale[left].type))
        v->scale[left].exponent = v->scale[one].exponent;
}

/* Takes a bit from the scale with the most bits; false: none has more than one. */
static bool shrink(struct uk_verifier *v) {
    const int first = (int)uk_verify_random(v, (uint64_t)v->scales);
    struct uk_scale *largest = &v->scale[first];

    for (int i = 0; i < v->scales; i++) {
        struct uk_scale *s = &v->scale[(first + i) % v->scales];

        if (s->bits > largest->bits)
            largest = s;
    }
    return largest->bits > 1 && largest->bits--;
}

static bool fit(struct uk_verifier *v, int64_t terms) {
    while (!weigh(v, terms).exact)
        if (!shrink(v))
            return false;
    return true;
}

/* Maximum number of terms of a sum whose terms are rounded. */
enum { ROUNDED_TERMS = 130 };

static void choose_scales(struct uk_verifier *v) {
    const struct uk_program *p = v->intrinsic->declaration;

    v->tensors = v->scales = 0;
    for (const struct uk_tensor *t = p->tensors; t; t = t->next, v->tensors++)
        v->scale[v->scales++] = (struct uk_scale){.type = t->type};
    for (const struct uk_scalar *s = p->scalars; s; s = s->next)
        v->scale[v->scales++] = (struct uk_scale){.type = s->type};
}

/* ---- values that round ---- */

/* An upper bound of the significant bits of the expression's values: bits of factors add up; other results
 * may have all bits of their type. */
static int significant(const struct uk_verifier *v, const struct uk_expr *e) {
    const int all = uk_type_is_float(e->type) ? uk_formats[e->type].digits : uk_integer_bits(e->type);
    int exponent, n = all;

    switch (e->op) {
    case UK_E_ACCESS:
        n = v->scale[tensor_number(v, e->access.tensor)].bits;
        break;
    case UK_E_SCALAR:
        n = v->scale[v->tensors + uk_scalar_number(v->intrinsic->declaration->scalars, e->scalar)].bits;
        break;
    case UK_E_NUMBER:
        n = 0;
        for (double d = frexp(fabs(e->is_integer ? (double)e->integer : e->number), &exponent);
             d > 0 && d < HUGE_VAL && n < all; d = 2 * d - floor(2 * d))
            n++;
        break;
    case UK_E_MUL:
        return significant(v, e->arg[0]) + significant(v, e->arg[1]);
    case UK_E_NEG:
    case UK_E_CAST:
    case UK_E_PAD:
        n = significant(v, e->arg[0]);
        break;
    default:
        if (uk_is_function_of_class(e->op, UK_FUNCTION_SIZE))
            n = significant(v, e->arg[0]);
        break;
    }
    return n < all ? n : all;
}

/* False if the expression is a product of floats, possibly negated, padded or selected, that may need
 * rounding before it is added. */
static bool added_is_exact(const struct uk_verifier *v, const struct uk_expr *e) {
    if (e->op == UK_E_MUL)
        return !uk_type_is_float(e->type) || significant(v, e) <= uk_formats[e->type].digits;
    const bool passes = e->op == UK_E_NEG || e->op == UK_E_PAD || e->op == UK_E_SELECT;

    for (int i = e->op == UK_E_SELECT; i < 3 && passes && e->arg[i]; i++)
        if (!added_is_exact(v, e->arg[i]))
            return false;
    return true;
}

static bool has_floats(const struct uk_verifier *v) {
    for (int i = 0; i < v->scales; i++)
        if (uk_type_is_float(v->scale[i].type))
            return true;
    return false;
}

/* Finds the float type of the expression with the smallest range of exponents. */
static void find_narrowest(struct uk_verifier *v, const struct uk_expr *e) {
    if (uk_type_is_float(e->type) &&
        (!uk_type_is_float(v->narrowest) ||
         uk_formats[e->type].max_exponent < uk_formats[v->narrowest].max_exponent))
        v->narrowest = e->type;
    for (int i = 0; i < 3; i++)
        if (e->arg[i])
            find_narrowest(v, e->arg[i]);
}

/* False: more than one result would be right. */
static bool start_rounded(struct uk_verifier *v, int64_t terms) {
    const struct uk_statement *s = v->intrinsic->computes;
    const enum uk_type type = s->left.tensor->type;
    const bool sums = s->reduce == UK_REDUCE_SUM && uk_type_is_float(type);
    const bool reads = uk_verify_reads_output(v, s->left.tensor);
    bool added = s->assign == UK_ASSIGN_ADD;

    if (s->reduce == UK_REDUCE_PROD || uk_verify_is_inexact(s->right) || !has_floats(v))
        return false;
    v->narrowest = type;
    find_narrowest(v, s->right);
    v->keeps_normal = may_flush(v) || v->narrowest == UK_BF16;
    start(v, false);
    if (sums && uk_verify_random(v, 2)) { /* two addends, one of which may be in the output */
        added = true;
        if (terms > (reads ? 1 : 2) && !uk_verify_keep_terms(v, reads ? 1 : 2))
            return false;
    } else if (sums) { /* one, and 0 */
        v->left_is_zero = true;
        added = false;
        if (terms > 1 && !uk_verify_keep_terms(v, 1))
            return false;
    }
    v->has_small_exponents = added;
    while (added && !added_is_exact(v, s->right)) {
        v->has_small_exponents = true;
        if (!shrink(v))
            return false;
    }
    return true;
}

/* ---- all kinds ---- */

/* For operations that round, and sums in any order: all values are small integers, and a sum of floats has
 * one term that is not 0, if possible. */
static bool start_small(struct uk_verifier *v, int64_t terms) {
    const struct uk_statement *s = v->intrinsic->computes;

    if (v->data != UK_SPECIAL && v->data != UK_EXTREME)
        v->data = UK_SMALL;
    start(v, false);
    for (int i = 0; i < v->scales; i++)
        v->scale[i].bits = max_bits(v->scale[i], UK_SMALL);
    v->is_long = terms > ROUNDED_TERMS;
    return s->reduce == UK_REDUCE_PROD || terms == 1 || !uk_type_is_float(s->left.tensor->type) ||
           (v->data != UK_SPECIAL && uk_verify_keep_terms(v, 1)) || !v->is_long;
}

static bool start_exact(struct uk_verifier *v, int64_t terms) {
    start(v, true);
    if (fit(v, terms))
        return true;
    if (v->data == UK_TINY)
        v->data = UK_LARGE;
    start(v, false);
    if (fit(v, terms))
        return true;
    if (v->data == UK_SPECIAL) /* infinity times 0 is NaN */
        v->data = UK_LARGE;
    start(v, false);
    return uk_verify_keep_terms(v, UK_VERIFY_NONZERO_TERMS) && fit(v, UK_VERIFY_NONZERO_TERMS);
}

static bool choose_values(struct uk_verifier *v, int64_t terms) {
    v->data = UK_SMALL;
    start(v, false);
    const bool rounds = v->intrinsic->computes->reduce == UK_REDUCE_PROD || weigh(v, 1).rounds || !fit(v, 1);

    v->data = choose_data(v);
    if (v->data == UK_ROUNDED) {
        if (start_rounded(v, terms))
            return true;
        v->nonzero_terms = 0;
        v->left_is_zero = false;
        v->data = UK_LARGE;
    }
    return rounds ? start_small(v, terms) : start_exact(v, terms);
}

bool uk_verify_choose_magnitudes(struct uk_verifier *v) {
    choose_scales(v);
    v->nonzero_terms = 0;
    v->left_is_zero = v->has_small_exponents = v->is_long = v->keeps_normal = false;
    const bool good = choose_values(v, terms_of(v));

    v->budget = uk_type_is_float(v->intrinsic->computes->left.tensor->type)
                    ? uk_formats[v->intrinsic->computes->left.tensor->type].digits
                    : 0;
    v->special = (int)uk_verify_random(v, 4);
    v->one_in = (uint64_t[]){0, 0, 0, 0, 2, 2, 1, 1}[uk_verify_random(v, 8)];
    for (int i = 0; i < v->tensors; i++)
        v->extreme[i] = (int64_t)uk_verify_random(v, 2);
    for (int i = v->tensors; i < v->scales; i++) {
        union uk_value x = uk_verify_element(v, i, NULL);

        v->scalar[i - v->tensors] = uk_type_is_float(v->scale[i].type) ? x.d : (double)x.i;
    }
    return good;
}
