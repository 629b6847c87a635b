/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What operands hold: values whose sums are exact in the declared type in whatever order they are added, so that results
 * can be compared exactly, and that a narrower type does not hold.
 *
 * Bounds of the magnitude and of the last bit of every intermediate value, and of the sum, say how many bits operands may
 * have. Where an operation rounds whatever its operands are (a quotient, say), all are small integers.
 */
#include <float.h>
#include <math.h>
#include "verify.h"

enum { SMALL_INTEGER_BITS = 10, SMALL_BITS = 3, LARGEST_EXPONENT = 3, TINY_EXPONENTS = 16, SCALAR_BITS = 53 };

/* Bits of a number, the last bit of the least subnormal and of the least normal number, the exponent of the largest. */
static const struct format {
    int digits, tiny, least, largest;
} formats[] = {[UK_F64] = {53, -1074, -1022, 1023},
               [UK_F32] = {24, -149, -126, 127},
               [UK_F16] = {11, -24, -14, 15},
               [UK_BF16] = {8, -133, -126, 127}};

static bool is_half(enum uk_type t) {
    return t == UK_F16 || t == UK_BF16;
}

static int integer_bits(enum uk_type t) {
    return 8 * (int)uk_type_bytes(t) - (t != UK_U8);
}

/* ---- bounds ---- */

struct range {
    long double bound, quantum; /* of the magnitude; a divisor of every value */
};

struct weighing {
    struct uk_verifier *v;
    bool exact, rounds; /* rounds: some operation does, whatever its operands are */
};

static struct range join(struct range a, struct range b) {
    return (struct range){fmaxl(a.bound, b.bound), fminl(a.quantum, b.quantum)};
}

/* The range as a value of this type. */
static struct range as_type(struct weighing *w, enum uk_type t, struct range r) {
    if (!uk_type_is_float(t)) /* wraps or saturates */
        return (struct range){fminl(r.bound, ldexpl(1, integer_bits(t))), 1};
    const struct format *f = &formats[t];
    const bool tiny = w->v->data == UK_TINY;

    if (r.bound > 0 && (r.bound > ldexpl(r.quantum, f->digits) ||
                        r.quantum < ldexpl(1, tiny ? f->tiny : f->least) || r.bound > ldexpl(1, f->largest)))
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

static struct range range_of(struct weighing *w, const struct uk_expr *e);

/* A copy holds what is copied. */
static struct range range_of_access(struct weighing *w, const struct uk_tensor *t) {
    const struct uk_intrinsic *i = w->v->intrinsic;

    for (const struct uk_statement *s = i->declaration->statements; s != i->computes; s = s->next)
        if (s->left.tensor == t)
            return range_of(w, s->right);
    return scaled(w->v->scale[tensor_number(w->v, t)]);
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

static struct range range_of_operator(struct weighing *w, const struct uk_expr *e, const struct range *a) {
    switch (e->op) {
    case UK_E_ADD:
    case UK_E_SUB:
        return (struct range){a[0].bound + a[1].bound, fminl(a[0].quantum, a[1].quantum)};
    case UK_E_MUL:
        if (a[0].bound == 0 || a[1].bound == 0)
            return (struct range){0, HUGE_VALL};
        return (struct range){a[0].bound * a[1].bound, a[0].quantum * a[1].quantum};
    case UK_E_MIN:
    case UK_E_MAX:
    case UK_E_PAD:
        return join(a[0], a[1]);
    case UK_E_SELECT:
        return join(a[1], a[2]);
    case UK_E_ROUND:
        return (struct range){a[0].bound + 1, fmaxl(a[0].quantum, 1)};
    case UK_E_NEG:
    case UK_E_ABS:
    case UK_E_CAST:
        return a[0];
    case UK_E_DIV:
    case UK_E_EXP:
    case UK_E_TANH:
    case UK_E_SQRT:
        w->rounds = true;
        return a[0];
    default: /* comparisons, shifts, indices */
        return (struct range){ldexpl(1, e->op == UK_E_SHL || e->op == UK_E_SHR ? 64 : 20), 1};
    }
}

static struct range range_of(struct weighing *w, const struct uk_expr *e) {
    struct range a[3] = {{0, 1}, {0, 1}, {0, 1}};
    const struct uk_verifier *v = w->v;

    if (e->op == UK_E_NUMBER)
        return range_of_number(e);
    if (e->op == UK_E_ACCESS)
        return range_of_access(w, e->access.tensor);
    if (e->op == UK_E_SCALAR)
        return scaled(v->scale[v->tensors + uk_scalar_number(v->intrinsic->declaration->scalars, e->scalar)]);
    for (int i = 0; i < 3 && e->arg[i]; i++)
        a[i] = range_of(w, e->arg[i]);
    return as_type(w, e->type, range_of_operator(w, e, a));
}

bool uk_verify_reads(const struct uk_verifier *v, const struct uk_tensor *t) {
    return t == v->intrinsic->computes->left.tensor &&
           (v->form == UK_FORM_UPDATE || (v->form == UK_FORM_COMPUTE && t->is_read));
}

/* Of sums of so many terms. */
static struct weighing weigh(struct uk_verifier *v, int64_t terms) {
    const struct uk_statement *s = v->intrinsic->computes;
    const struct uk_tensor *left = s->left.tensor;
    struct weighing w = {.v = v, .exact = true};
    struct range r = range_of(&w, s->right), old = scaled(v->scale[tensor_number(v, left)]);

    r = as_type(&w, left->type, r);
    if (s->reduce == UK_REDUCE_SUM)
        r.bound *= (long double)terms;
    if (uk_verify_reads(v, left) && (s->assign == UK_ASSIGN_MUL || s->reduce == UK_REDUCE_PROD))
        r = (struct range){r.bound * old.bound, r.quantum * old.quantum};
    else if (uk_verify_reads(v, left))
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

static bool has_bf16(const struct uk_verifier *v) {
    for (int i = 0; i < v->scales; i++)
        if (v->scale[i].type == UK_BF16)
            return true;
    return false;
}

/* A few classes more often than others; of floats, whether subnormal bf16 are kept is not said. */
static enum uk_data choose_data(struct uk_verifier *v) {
    static const enum uk_data often[] = {UK_SMALL, UK_LARGE,   UK_LARGE, UK_ONE_LARGE, UK_ONE_LARGE,
                                         UK_LARGE, UK_EXTREME, UK_TINY,  UK_SPECIAL,   UK_SPECIAL};
    enum uk_data data = often[uk_verify_random(v, sizeof often / sizeof *often)];

    return data == UK_TINY && has_bf16(v) ? UK_LARGE : data;
}

static int most_bits(struct uk_scale s, enum uk_data data) {
    if (!uk_type_is_float(s.type))
        return data != UK_SMALL || integer_bits(s.type) <= 8 ? integer_bits(s.type) : SMALL_INTEGER_BITS;
    if (data == UK_SMALL || data == UK_TINY || data == UK_SPECIAL)
        return is_half(s.type) ? 1 : SMALL_BITS;
    return formats[s.type].digits;
}

static void start(struct uk_verifier *v, bool with_exponents) {
    const int left = tensor_number(v, v->intrinsic->computes->left.tensor);
    int one = (int)uk_verify_random(v, (uint64_t)v->scales);

    if (one == left)
        one = (one + 1) % v->scales;
    for (int i = 0; i < v->scales; i++) {
        struct uk_scale *s = &v->scale[i];
        const bool real = uk_type_is_float(s->type);

        s->bits = most_bits(*s, v->data);
        if (i >= v->tensors && s->bits > SCALAR_BITS) /* it is kept as a double */
            s->bits = SCALAR_BITS;
        s->exponent = 0;
        if (real && v->data == UK_ONE_LARGE && i != one)
            s->bits = 1;
        if (real && with_exponents)
            s->exponent = (int)uk_verify_random(v, 2 * LARGEST_EXPONENT + 1) - LARGEST_EXPONENT;
        if (real && v->data == UK_TINY)
            s->exponent = i == one ? formats[s->type].tiny + (int)uk_verify_random(v, TINY_EXPONENTS) : 0;
    }
    if (v->data == UK_TINY && uk_type_is_float(v->scale[left].type))
        v->scale[left].exponent = v->scale[one].exponent;
}

/* Takes a bit from the largest; false: none has more than one. */
static bool shrink(struct uk_verifier *v) {
    const int first = (int)uk_verify_random(v, (uint64_t)v->scales);
    struct uk_scale *most = &v->scale[first];

    for (int i = 0; i < v->scales; i++) {
        struct uk_scale *s = &v->scale[(first + i) % v->scales];

        if (s->bits > most->bits)
            most = s;
    }
    return most->bits > 1 && most->bits--;
}

static bool fit(struct uk_verifier *v, int64_t terms) {
    while (!weigh(v, terms).exact)
        if (!shrink(v))
            return false;
    return true;
}

/* As many terms as a sum may have whose terms are rounded already. */
enum { ROUNDED_TERMS = 130 };

static void choose_scales(struct uk_verifier *v) {
    const struct uk_program *p = v->intrinsic->declaration;

    v->tensors = v->scales = 0;
    for (const struct uk_tensor *t = p->tensors; t; t = t->next, v->tensors++)
        v->scale[v->scales++] = (struct uk_scale){.type = t->type};
    for (const struct uk_scalar *s = p->scalars; s; s = s->next)
        v->scale[v->scales++] = (struct uk_scale){.type = s->type};
}

bool uk_verify_weigh(struct uk_verifier *v) {
    const int64_t terms = terms_of(v);
    bool rounds, good = true;

    choose_scales(v);
    v->data = UK_SMALL;
    start(v, false);
    rounds = v->intrinsic->computes->reduce == UK_REDUCE_PROD || weigh(v, 1).rounds || !fit(v, 1);
    v->data = choose_data(v);
    start(v, true);
    if (!rounds && !fit(v, terms)) {
        if (v->data == UK_TINY)
            v->data = UK_LARGE;
        start(v, false);
        good = fit(v, terms);
    } else if (rounds) {
        if (v->data != UK_SPECIAL && v->data != UK_EXTREME)
            v->data = UK_SMALL;
        start(v, false);
        for (int i = 0; i < v->scales; i++)
            v->scale[i].bits = most_bits(v->scale[i], UK_SMALL);
        good = terms <= ROUNDED_TERMS;
    }
    v->budget = uk_type_is_float(v->intrinsic->computes->left.tensor->type)
                    ? formats[v->intrinsic->computes->left.tensor->type].digits
                    : 0;
    v->special = (int)uk_verify_random(v, 4);
    v->one_in = (uint64_t[]){0, 0, 0, 0, 0, 2, 2, 1}[uk_verify_random(v, 8)];
    for (int i = 0; i < v->tensors; i++)
        v->extreme[i] = (int64_t)uk_verify_random(v, 2);
    for (int i = v->tensors; i < v->scales; i++) {
        union uk_value x = uk_verify_element(v, i);

        v->scalar[i - v->tensors] = uk_type_is_float(v->scale[i].type) ? x.d : (double)x.i;
    }
    return good;
}

/* ---- elements ---- */

/* Of one bit more than the scale's, the sign; of u8 none is negative. */
static int64_t integer(struct uk_verifier *v, int n) {
    const struct uk_scale s = v->scale[n];
    const int64_t most = s.bits >= 63 ? INT64_MAX : (INT64_C(1) << s.bits) - 1;
    const int64_t least = s.type == UK_U8 ? 0 : s.bits == integer_bits(s.type) ? -most - 1 : -most;
    const int64_t edge[] = {least, most, 0, s.type == UK_U8 ? 1 : -1};

    if (v->data == UK_EXTREME && n < v->tensors && uk_verify_random(v, 512))
        return edge[v->extreme[n]];
    if (!uk_verify_random(v, 4))
        return edge[uk_verify_random(v, 4)];
    if (s.bits >= 63)
        return (int64_t)(uk_verify_random(v, UINT64_MAX) + uk_verify_random(v, 2));
    return least + (int64_t)uk_verify_random(v, (uint64_t)(most - least) + 1);
}

/* A factor: a power of two, or one whose bits count among those that a product may have. Of integers odd, most often. */
static union uk_value factor(struct uk_verifier *v, int n) {
    const enum uk_type t = v->scale[n].type;
    const bool negative = uk_verify_random(v, 2);
    double d = is_half(t) || uk_verify_random(v, 32) ? 1 : 2;
    int most;

    if (!uk_type_is_float(t))
        return uk_wrap_to(t, (uint64_t)integer(v, n) | (uk_verify_random(v, 32) != 0));
    most = formats[t].digits < v->budget ? formats[t].digits : v->budget;
    if (most > 1 && !uk_verify_random(v, 4)) {
        const int bits = 1 + (int)uk_verify_random(v, (uint64_t)most);

        v->budget -= bits;
        d = (double)(uk_verify_random(v, UINT64_C(1) << bits) | 1);
    }
    return (union uk_value){.d = negative ? -d : d};
}

/* Of one kind in a case, or of all; where they are few, with zeros, whose products with them are NaN. */
static bool special(struct uk_verifier *v, int n, double *d) {
    static const double values[] = {INFINITY, -INFINITY, NAN};
    const int64_t elements = v->memory[n].elements;

    *d = values[v->special < 3 ? v->special : (int)uk_verify_random(v, 3)];
    if (v->one_in)
        return !uk_verify_random(v, v->one_in);
    if (!uk_verify_random(v, elements > 16 ? (uint64_t)elements / 2 : 8))
        return true;
    *d = 0;
    return !uk_verify_random(v, 4);
}

union uk_value uk_verify_element(struct uk_verifier *v, int n) {
    const struct uk_scale s = v->scale[n];
    double d;

    if (n < v->tensors && uk_type_is_float(s.type) && v->data == UK_SPECIAL && special(v, n, &d))
        return (union uk_value){.d = d};
    if (n < v->tensors && v->intrinsic->computes->reduce == UK_REDUCE_PROD)
        return factor(v, n);
    if (!uk_type_is_float(s.type))
        return (union uk_value){.i = integer(v, n)};
    d = ldexp((double)uk_verify_random(v, UINT64_C(1) << s.bits), s.exponent);
    return (union uk_value){.d = uk_verify_random(v, 2) ? -d : d};
}

/* ---- comparing ---- */

/* exp and tanh have no one right result. */
static bool is_inexact(const struct uk_expr *e) {
    if (e->op == UK_E_EXP || e->op == UK_E_TANH)
        return true;
    for (int i = 0; i < 3; i++)
        if (e->arg[i] && is_inexact(e->arg[i]))
            return true;
    return false;
}

/* Whether an element is moved as it is, with the sign of a zero. */
static bool is_copy(const struct uk_verifier *v, const struct uk_tensor *t) {
    const struct uk_intrinsic *i = v->intrinsic;
    const struct uk_statement *s = i->declaration->statements;

    while (s != i->computes && s->left.tensor != t)
        s = s->next;
    return s->left.tensor == t && !s->reduce && s->assign == UK_ASSIGN && v->form == UK_FORM_COMPUTE &&
           (s->right->op == UK_E_ACCESS || s->right->op == UK_E_PAD);
}

/* Equal; for declarations with exp or tanh within four units in the last place. */
bool uk_verify_same(const struct uk_verifier *v, const struct uk_tensor *t, union uk_value got,
                    union uk_value expected) {
    if (!uk_type_is_float(t->type))
        return got.i == expected.i;
    if (isnan(got.d) && isnan(expected.d))
        return true;
    if (got.d == expected.d)
        return got.d != 0 || signbit(got.d) == signbit(expected.d) || !is_copy(v, t);
    return is_inexact(v->intrinsic->computes->right) &&
           fabs(got.d - expected.d) <= ldexp(fabs(expected.d), 3 - formats[t->type].digits);
}
