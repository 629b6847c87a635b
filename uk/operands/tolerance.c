/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tolerances of results relative to the interpreter's. Differences have these causes:
 *
 * - sums of floats may be computed in any order
 * - a product that is added may be rounded first or not
 * - approximate functions differ from the C library's within the ulps stated in functions.def
 *
 * The first two matter only where results round; sums of small integers do not round as long as the type
 * represents all integers of their magnitude. All other operations and conversions round identically
 * everywhere. An integer derived from a value that differs may be off by one, if that value is close to a tie
 * or a limit.
 */
#include <math.h>
#include <stdlib.h>
#include "data.h"
#include "shape.h"
#include "uk.h"

/* Operands are integers of at most this magnitude (uk_data_integers); the scalars are 2, 3, ... */
enum { LARGEST_INTEGER = 4 };

/* Facts about a value, or about all elements of a tensor. */
struct known {
    bool rounds;    /* may be a non-integer */
    bool differs;   /* may differ by rounding */
    double steps;   /* largest difference because integers were derived from values that differ */
    double largest; /* largest magnitude */
};

struct checking {
    const struct uk_program *p;
    const int64_t *sizes;
    struct known *tensor; /* per tensor of the program, in order */
};

static bool is_real(enum uk_type t) {
    return t == UK_F64 || t == UK_F32 || t == UK_F16 || t == UK_BF16;
}

/* The type represents all integers up to this magnitude. */
static double exact_to(enum uk_type t) {
    return t == UK_BF16 ? 0x1p8 : t == UK_F16 ? 0x1p11 : t == UK_F32 ? 0x1p24 : 0x1p53;
}

static struct known *known_of(struct checking *c, const struct uk_tensor *tensor) {
    struct known *k = c->tensor;

    for (const struct uk_tensor *t = c->p->tensors; t != tensor; t = t->next)
        k++;
    return k;
}

static double product(double a, double b) {
    return a == 0 || b == 0 ? 0 : a * b;
}

static struct known either(struct known a, struct known b) {
    return (struct known){a.rounds || b.rounds, a.differs || b.differs, fmax(a.steps, b.steps),
                          fmax(a.largest, b.largest)};
}

static struct known number(const struct uk_expr *e) {
    const double n = e->is_integer ? (double)e->integer : e->number;

    return (struct known){.rounds = isfinite(n) && n != rint(n), .largest = fabs(n)};
}

/* A conversion: what is rounded to an integer may be off by one; bytes are bounded by their type. */
static struct known converted(const struct uk_expr *e, struct known k) {
    const bool whole =
        uk_is_function_of_class(e->op, UK_FUNCTION_WHOLE) || (!is_real(e->type) && is_real(e->arg[0]->type));

    if (whole)
        k = (struct known){.steps = k.steps + k.differs, .largest = k.largest + 1};
    if (e->type == UK_U8 || e->type == UK_I8)
        k.largest = fmin(k.largest, 255);
    return k;
}

/* A rounded value of at most this magnitude, computed from k. If k is off by integer steps, nothing bounds
 * the difference. */
static struct known real_number(struct known k, double largest) {
    return (struct known){true, k.differs, k.steps > 0 ? HUGE_VAL : 0, largest};
}

static struct known known(struct checking *c, const struct uk_expr *e);

/* Facts about an operation's result. Conditions count as operands, because a value that differs may decide
 * them. */
static struct known operation(const struct uk_expr *e, const struct known *a) {
    struct known k = either(either(a[0], a[1]), a[2]);

    switch (e->op) {
    case UK_E_ADD:
    case UK_E_SUB:
        k.steps = a[0].steps + a[1].steps;
        k.largest = a[0].largest + a[1].largest;
        break;
    case UK_E_MUL:
        k.steps = product(a[0].steps, a[1].largest + a[1].steps) + product(a[1].steps, a[0].largest);
        k.largest = product(a[0].largest, a[1].largest);
        break;
    case UK_E_BIT_AND:
    case UK_E_BIT_XOR:
    case UK_E_BIT_OR:
        k.steps = k.steps > 0 ? HUGE_VAL : 0;
        k.largest = 2 * k.largest + 1; /* in magnitude: all bits of both */
        break;
    case UK_E_SHL:
        k.steps = k.steps > 0 ? HUGE_VAL : 0;
        k.largest = HUGE_VAL;
        break;
    case UK_E_DIV:
        if (!is_real(e->type)) {
            k.steps = k.steps > 0 ? HUGE_VAL : 0;
            k.largest = a[0].largest;
            break;
        }
        return real_number(k, HUGE_VAL);
    case UK_E_CAST:
        return converted(e, a[0]);
    default:
        if (uk_is_function_of_class(e->op, UK_FUNCTION_WHOLE))
            return converted(e, a[0]);
        if (uk_is_function_of_class(e->op, UK_FUNCTION_REAL)) {
            k.differs |= uk_ulps(e->op) > 0;
            return real_number(k, uk_function_of(e->op)->limit);
        }
        break;
    }
    return k;
}

static struct known known(struct checking *c, const struct uk_expr *e) {
    struct known a[3] = {{0}};

    switch (e->op) {
    case UK_E_NUMBER:
        return number(e);
    case UK_E_SCALAR:
        return (struct known){.largest = 1 + uk_program_scalars(c->p)};
    case UK_E_INDEX:
        return (struct known){.largest = HUGE_VAL};
    case UK_E_ACCESS:
        return *known_of(c, e->access.tensor);
    default:
        for (int i = 0; i < 3 && e->arg[i]; i++)
            a[i] = known(c, e->arg[i]);
        return operation(e, a);
    }
}

/* Ulps by which approximate functions may differ, beyond one rounding per operation. */
static double function_ulps(const struct uk_expr *e) {
    double n = 0;

    for (int i = 0; i < 3 && e->arg[i]; i++)
        n += function_ulps(e->arg[i]);
    return n + (uk_ulps(e->op) > 0 ? uk_ulps(e->op) - 1 : 0);
}

static double terms_of(const struct uk_statement *s, const int64_t *sizes) {
    double terms = 1;

    for (int i = s->left_iterators; i < s->iterators; i++)
        terms *= (double)uk_value(s->extent[i], sizes);
    for (int i = 0; i < s->left_iterators && s->scan; i++)
        terms *= (double)uk_value(s->extent[i], sizes);
    return terms;
}

static void add_statement(struct checking *c, const struct uk_statement *s, struct known *left) {
    const enum uk_type type = s->left.tensor->type;
    const bool real = is_real(type);
    const double terms = terms_of(s, c->sizes);
    struct known k = known(c, s->right);

    if (s->reduce == UK_REDUCE_SUM || s->reduce == UK_REDUCE_PROD) {
        k.steps = s->reduce == UK_REDUCE_PROD && k.steps > 0 ? HUGE_VAL : product(k.steps, terms);
        k.largest = s->reduce == UK_REDUCE_PROD ? pow(k.largest, terms) : product(k.largest, terms);
        k.differs |= real && terms > 1 && (k.rounds || k.largest > exact_to(type));
    }
    /* The last multiplication may be fused with the addition. */
    if (real && s->assign == UK_ASSIGN_ADD && (s->right->op == UK_E_MUL || s->reduce == UK_REDUCE_SUM))
        k.differs |= k.rounds || left->rounds || k.largest + left->largest > exact_to(type);
    if (s->assign == UK_ASSIGN_MULTIPLY)
        k.steps = k.steps > 0 || left->steps > 0 ? HUGE_VAL : 0;
    else if (s->assign == UK_ASSIGN_ADD)
        k.steps += left->steps;
    if (s->assign == UK_ASSIGN_MULTIPLY || s->assign == UK_ASSIGN_ADD)
        k.largest = s->assign == UK_ASSIGN_ADD ? k.largest + left->largest : HUGE_VAL;
    /* Other statements may have written other elements. */
    *left = either(k, *left);
}

struct uk_tolerance *uk_tolerances(const struct uk_program *p, const int64_t *sizes) {
    struct checking c = {.p = p, .sizes = sizes};
    struct uk_tolerance *each;
    double roundings = 0;
    int count = 0;

    for (const struct uk_tensor *t = p->tensors; t; t = t->next)
        count++;
    c.tensor = calloc((size_t)count + 1, sizeof *c.tensor);
    each = calloc((size_t)count + 1, sizeof *each);
    if (!c.tensor || !each) {
        free(c.tensor);
        free(each);
        return NULL;
    }
    for (int i = 0; i < count; i++)
        c.tensor[i].largest = LARGEST_INTEGER;
    for (const struct uk_statement *s = p->statements; s; s = s->next) {
        roundings += terms_of(s, sizes) + s->right->depth + function_ulps(s->right);
        add_statement(&c, s, known_of(&c, s->left.tensor));
    }
    int n = 0;
    for (const struct uk_tensor *t = p->tensors; t; t = t->next)
        if (t->kind == UK_TENSOR_ARGUMENT) {
            const struct known *k = known_of(&c, t);

            each[n++] = (struct uk_tolerance){k->differs ? roundings : 0, k->steps};
        }
    free(c.tensor);
    return each;
}
