/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The elements of operands, one by one; the terms of a sum that are not 0; the comparison of results.
 */
#include <math.h>
#include <string.h>
#include "verify.h"

enum { ROUNDED_SPREAD = 6, ONE_IN_ZERO = 16 };

/* ---- terms that are not 0 ---- */

/* True if the value is 0 wherever the tensor's element is 0, whatever the other operands hold. */
static bool vanishes(const struct uk_expr *e, const struct uk_tensor *t) {
    switch (e->op) {
    case UK_E_ACCESS:
        return e->access.tensor == t;
    case UK_E_MUL:
        return vanishes(e->arg[0], t) || vanishes(e->arg[1], t);
    case UK_E_NEG:
    case UK_E_CAST:
        return vanishes(e->arg[0], t);
    default:
        return uk_is_function(e->op) && uk_function_of(e->op)->zero_at_zero && vanishes(e->arg[0], t);
    }
}

/* The number of times the expression reads the tensor; *access is the last access. */
static int accesses(const struct uk_expr *e, const struct uk_tensor *t, const struct uk_access **access) {
    int n = 0;

    if (e->op == UK_E_ACCESS && e->access.tensor == t) {
        *access = &e->access;
        return 1;
    }
    for (int i = 0; i < 3; i++)
        n += e->arg[i] ? accesses(e->arg[i], t, access) : 0;
    return n;
}

/* Finds the dimensions of v->nonzero_dim; false unless each reduced iterator by itself is a subscript. */
static bool finds_dims(struct uk_verifier *v, const struct uk_access *a) {
    const struct uk_statement *s = v->intrinsic->computes;

    for (int k = s->left_iterators; k < s->iterators; k++) {
        int d = 0;

        while (d < a->tensor->dims && !(a->index[d]->op == UK_I_VAR && a->index[d]->var == s->iterator[k]))
            d++;
        if (d == a->tensor->dims)
            return false;
        v->nonzero_dim[k - s->left_iterators] = d;
    }
    return true;
}

/* The first point is mostly the last term. */
static void draw_points(struct uk_verifier *v, int count) {
    const struct uk_statement *s = v->intrinsic->computes;

    for (int i = 0; i < count; i++)
        for (int k = s->left_iterators; k < s->iterators; k++) {
            const int64_t extent = uk_verify_value(v, s->extent[k]);

            v->nonzero_at[i][k - s->left_iterators] =
                !i && uk_verify_random(v, 4)
                    ? extent - 1
                    : (int64_t)uk_verify_random(v, (uint64_t)(extent > 0 ? extent : 1));
        }
    v->nonzero_terms = count;
}

/* Takes only a tensor whose elements do not overlap in memory. */
bool uk_verify_keep_terms(struct uk_verifier *v, int count) {
    const struct uk_statement *s = v->intrinsic->computes;
    int n = 0;

    if (s->scan || s->iterators - s->left_iterators > UK_VERIFY_REDUCED)
        return false;
    for (const struct uk_tensor *t = v->intrinsic->declaration->tensors; t; t = t->next, n++) {
        const struct uk_access *a = NULL;

        if (t == s->left.tensor || !uk_verify_rows_disjoint(v, t) || !vanishes(s->right, t) ||
            accesses(s->right, t, &a) != 1 || !finds_dims(v, a))
            continue;
        v->nonzero_tensor = n;
        draw_points(v, count);
        return true;
    }
    return false;
}

static bool is_kept(const struct uk_verifier *v, const int64_t *index) {
    const struct uk_statement *s = v->intrinsic->computes;
    const int reduced = s->iterators - s->left_iterators;

    for (int i = 0; i < v->nonzero_terms; i++) {
        int k = 0;

        while (k < reduced && index[v->nonzero_dim[k]] == v->nonzero_at[i][k])
            k++;
        if (k == reduced)
            return true;
    }
    return false;
}

/* ---- elements ---- */

/* A number of the scale's bits and a sign (u8: none); the ends of that range, 0 and 1 or -1 are frequent. */
static int64_t integer(struct uk_verifier *v, int n) {
    const struct uk_scale s = v->scale[n];
    const int64_t max = s.bits >= 63 ? INT64_MAX : (INT64_C(1) << s.bits) - 1;
    const int64_t min = uk_type_is_unsigned(s.type) ? 0 : s.bits == uk_integer_bits(s.type) ? -max - 1 : -max;
    const int64_t edge[] = {min, max, 0, uk_type_is_unsigned(s.type) ? 1 : -1};

    if (v->data == UK_EXTREME && n < v->tensors && uk_verify_random(v, 512))
        return edge[v->extreme[n]];
    if (!uk_verify_random(v, 4))
        return edge[uk_verify_random(v, 4)];
    if (s.bits >= 63)
        return (int64_t)(uk_verify_random(v, UINT64_MAX) + uk_verify_random(v, 2));
    return min + (int64_t)uk_verify_random(v, (uint64_t)(max - min) + 1);
}

/* A factor of a product: mostly ±1 or ±2; sometimes a number whose bits are taken from v->budget. Integers
 * are mostly odd. */
static union uk_value factor(struct uk_verifier *v, int n) {
    const enum uk_type t = v->scale[n].type;
    const bool negative = uk_verify_random(v, 2);
    double d = uk_verify_is_half(t) || v->is_long || uk_verify_random(v, 32) ? 1 : 2;
    int max_bits;

    if (!uk_type_is_float(t))
        return uk_wrap_to(t, (uint64_t)integer(v, n) | (uk_verify_random(v, 32) != 0));
    max_bits = uk_formats[t].digits < v->budget ? uk_formats[t].digits : v->budget;
    if (max_bits > 1 && !uk_verify_random(v, 4)) {
        const int bits = 1 + (int)uk_verify_random(v, (uint64_t)max_bits);

        v->budget -= bits;
        d = (double)(uk_verify_random(v, UINT64_C(1) << bits) | 1);
    }
    return (union uk_value){.d = negative ? -d : d};
}

/* A quiet NaN of random sign, with the usual payload, with all bits set, or with random bits, equally
 * often. */
static double any_nan(struct uk_verifier *v) {
    const uint64_t quiet = UINT64_C(0x7ff8) << 48, payload = (UINT64_C(1) << 51) - 1;
    const uint64_t payloads[] = {0, payload, uk_verify_random(v, payload)};
    const uint64_t bits = quiet | payloads[uk_verify_random(v, 3)] | uk_verify_random(v, 2) << 63;
    double d;

    memcpy(&d, &bits, sizeof d);
    return d;
}

/* Draws inf, -inf or NaN, in each case one kind or all. If few elements are special, others are 0, since 0
 * times inf is NaN. Scalars are special in half of these cases. */
static bool special(struct uk_verifier *v, int n, double *d) {
    const double values[] = {INFINITY, -INFINITY, any_nan(v)};

    *d = values[v->special < 3 ? v->special : (int)uk_verify_random(v, 3)];
    if (n >= v->tensors)
        return uk_verify_random(v, 2);
    const int64_t elements = v->memory[n].elements;

    if (v->one_in)
        return !uk_verify_random(v, v->one_in);
    if (!uk_verify_random(v, elements > 16 ? (uint64_t)elements / 2 : 8))
        return true;
    *d = 0;
    return !uk_verify_random(v, 4);
}

/* ---- values that round ---- */

/* A significand of at most `bits` bits, with *length significant ones. Half of them have a random length, so
 * that results end at any bit; the others are halfway between two numbers of a narrower format, next to
 * halfway, or next to a power of two. */
static uint64_t digits_that_round(struct uk_verifier *v, int bits, int *length) {
    static const unsigned char narrower[] = {8, 11, 24, 53};
    const int kept = narrower[uk_verify_random(v, 4)], rest = bits - kept;

    if (rest < 2 || uk_verify_random(v, 2)) {
        *length = 1 + (int)uk_verify_random(v, (uint64_t)bits);
        return (UINT64_C(1) << (*length - 1)) | uk_verify_random(v, UINT64_C(1) << (*length - 1)) | 1;
    }
    const uint64_t first = UINT64_C(1) << (kept - 1), middle = UINT64_C(1) << (rest - 1);
    const uint64_t offset[] = {0, 0, 1, -(uint64_t)1, UINT64_C(1) << uk_verify_random(v, (uint64_t)rest - 1)};
    const uint64_t top = uk_verify_random(v, 8) ? first | uk_verify_random(v, first) : 2 * first - 1;

    *length = bits;
    return (top << rest) + middle + offset[uk_verify_random(v, 5)];
}

/* The exponent of the first bit: near 0 or, unless v->has_small_exponents because products could overflow,
 * anywhere in the range of the narrowest format and slightly outside; not among the subnormal numbers if
 * v->keeps_normal. */
static int first_exponent(struct uk_verifier *v, const struct uk_format *f) {
    const struct uk_format *narrow = &uk_formats[v->narrowest];
    const int spread = v->has_small_exponents && f->digits > 11 ? f->digits / 2 : ROUNDED_SPREAD;
    const int min = v->keeps_normal ? narrow->min_normal / 4 : narrow->min_subnormal - 2;

    if (v->has_small_exponents || uk_verify_random(v, 4))
        return (int)uk_verify_random(v, 2 * (uint64_t)spread + 1) - spread;
    return min + (int)uk_verify_random(v, (uint64_t)(narrow->max_exponent + 2 - min));
}

static union uk_value rounded(struct uk_verifier *v, int n) {
    const struct uk_scale s = v->scale[n];
    const bool negative = uk_verify_random(v, 2);
    int length;

    if (!uk_verify_random(v, ONE_IN_ZERO))
        return uk_type_is_float(s.type) ? (union uk_value){.d = negative ? -0.0 : 0}
                                        : (union uk_value){.i = 0};
    uint64_t m = digits_that_round(v, s.bits, &length);

    if (!uk_type_is_float(s.type)) {
        m <<= uk_verify_random(v, (uint64_t)(s.bits - length) + 1);
        return uk_wrap_to(s.type, negative && !uk_type_is_unsigned(s.type) ? -m : m);
    }
    const double d = ldexp((double)m, first_exponent(v, &uk_formats[s.type]) - length + 1);
    const double r = uk_round_to(s.type, negative ? -d : d);

    return (union uk_value){.d = isinf(r) ? (negative ? -1 : 1) : r};
}

union uk_value uk_verify_element(struct uk_verifier *v, int n, const int64_t *index) {
    const struct uk_scale s = v->scale[n];
    const struct uk_statement *computes = v->intrinsic->computes;
    double d;

    if (n < v->tensors && index &&
        ((v->nonzero_terms && n == v->nonzero_tensor && !is_kept(v, index)) ||
         (v->left_is_zero && v->memory[n].tensor == computes->left.tensor)))
        return uk_type_is_float(s.type) ? (union uk_value){.d = 0} : (union uk_value){.i = 0};
    if (uk_type_is_float(s.type) && v->data == UK_SPECIAL && special(v, n, &d))
        return (union uk_value){.d = d};
    if (n < v->tensors && computes->reduce == UK_REDUCE_PROD)
        return factor(v, n);
    if (v->data == UK_ROUNDED && (uk_type_is_float(s.type) || (s.bits > 8 && uk_verify_random(v, 2))))
        return rounded(v, n);
    if (!uk_type_is_float(s.type))
        return (union uk_value){.i = integer(v, n)};
    d = ldexp((double)uk_verify_random(v, UINT64_C(1) << s.bits), s.exponent);
    return (union uk_value){.d = uk_verify_random(v, 2) ? -d : d};
}

/* ---- comparison ---- */

bool uk_verify_is_inexact(const struct uk_expr *e) {
    if (uk_ulps(e->op) > 0)
        return true;
    for (int i = 0; i < 3; i++)
        if (e->arg[i] && uk_verify_is_inexact(e->arg[i]))
            return true;
    return false;
}

/* True if a result of 0 may have either sign: a sum may begin with 0 or with its first term, and then ends as
 * 0 or, if all terms are -0, as -0. All other results have a specified sign. */
static bool has_free_zeros(const struct uk_verifier *v, const struct uk_tensor *t) {
    const struct uk_statement *s = v->intrinsic->computes;

    return t == s->left.tensor && s->reduce == UK_REDUCE_SUM && v->form != UK_FORM_RESET;
}

/* Equal; or, if the declaration uses an approximate function, within at least four units in the last
 * place, or an adjacent integer. */
bool uk_verify_is_acceptable(const struct uk_verifier *v, const struct uk_tensor *t, union uk_value got,
                             union uk_value expected) {
    const bool inexact =
        t == v->intrinsic->computes->left.tensor && uk_verify_is_inexact(v->intrinsic->computes->right);

    if (!uk_type_is_float(t->type))
        return got.i == expected.i ||
               (inexact && (got.i > expected.i ? (uint64_t)got.i - (uint64_t)expected.i
                                               : (uint64_t)expected.i - (uint64_t)got.i) == 1);
    if (isnan(got.d) && isnan(expected.d))
        return true;
    if (got.d == expected.d)
        return got.d != 0 || signbit(got.d) == signbit(expected.d) || has_free_zeros(v, t);
    return inexact && fabs(got.d - expected.d) <= ldexp(fabs(expected.d), 3 - uk_formats[t->type].digits);
}
