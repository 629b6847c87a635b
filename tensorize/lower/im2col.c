/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Accesses to matrices of step `im2col`: each becomes one to the tensor in memory. An iterator of that access
 * is a digit, index / divisor % modulus, of one of the matrix's indices, a sum of loops times constants.
 * Where the extents of the loops show that some do not reach the digit, or do not go beyond it, they are left
 * out of the divisions.
 */
#include "lower.h"

/* The sum of coefficient * value, with 0 <= value <= most, plus a constant. */
struct linear {
    int terms;
    int64_t coefficient[UK_MAX_LOOPS + 1], most[UK_MAX_LOOPS + 1], constant;
    struct uk_index *value[UK_MAX_LOOPS + 1];
};

static void add_term(struct linear *f, int64_t coefficient, struct uk_index *value, int64_t most) {
    if (!most || !coefficient)
        return;
    f->coefficient[f->terms] = coefficient;
    f->value[f->terms] = value;
    f->most[f->terms++] = most;
}

/* Converts an index of the matrix; false: it has terms of other forms. */
static bool linear_of(const struct uk_stage *st, const struct uk_affine *x, struct uk_index *const *value,
                      struct linear *out) {
    *out = (struct linear){0};
    if (x->general || (x->rest && (!uk_index_is_int(x->rest, &out->constant) || out->constant < 0)))
        return false;
    for (int i = 0; i < st->loops; i++) {
        const int id = st->loop[i]->id;
        const int64_t c = x->coefficient[id], n = uk_constant_extent(st, st->loop[i]);

        if (!c)
            continue;
        if (c < 0 || n < 1 || c > INT32_MAX || n > INT32_MAX)
            return false;
        if (value[id])
            add_term(out, c, value[id], n - 1);
    }
    return true;
}

static struct uk_index *index_of(struct uk_arena *a, const struct linear *f) {
    struct uk_index *sum = uk_index_int(a, f->constant);

    for (int i = 0; i < f->terms; i++)
        sum = uk_index_op(a, UK_I_ADD, sum,
                          uk_index_op(a, UK_I_MUL, uk_index_int(a, f->coefficient[i]), f->value[i]));
    return sum;
}

static int64_t most_of(const struct linear *f) {
    int64_t most = f->constant;

    for (int i = 0; i < f->terms; i++)
        most += f->coefficient[i] * f->most[i];
    return most;
}

/* Splits f into multiples of the largest divisor of n below which the rest stays: f = unit * high + low. */
static int64_t split(const struct linear *f, int64_t n, struct linear *high, struct linear *low) {
    for (int64_t unit = n;; unit--) {
        if (n % unit)
            continue;
        *high = (struct linear){.constant = f->constant / unit};
        *low = (struct linear){.constant = f->constant % unit};
        for (int i = 0; i < f->terms; i++) {
            const bool is_multiple = f->coefficient[i] % unit == 0;

            add_term(is_multiple ? high : low, f->coefficient[i] / (is_multiple ? unit : 1), f->value[i],
                     f->most[i]);
        }
        if (most_of(low) < unit)
            return unit;
    }
}

/* f / n */
static struct linear quotient(struct uk_arena *a, const struct linear *f, int64_t n) {
    struct linear high, low, rest = {0}, out = {0};
    const int64_t by = n / split(f, n, &high, &low);

    out.constant = high.constant / by;
    rest.constant = high.constant % by;
    for (int i = 0; i < high.terms; i++) {
        const bool is_multiple = high.coefficient[i] % by == 0;

        add_term(is_multiple ? &out : &rest, high.coefficient[i] / (is_multiple ? by : 1), high.value[i],
                 high.most[i]);
    }
    add_term(&out, 1, uk_index_op(a, UK_I_DIV, index_of(a, &rest), uk_index_int(a, by)), most_of(&rest) / by);
    return out;
}

/* f % n */
static struct linear remainder_of(struct uk_arena *a, const struct linear *f, int64_t n) {
    struct linear part = {.constant = f->constant % n}, high, low;

    for (int i = 0; i < f->terms; i++)
        if (f->coefficient[i] % n)
            add_term(&part, f->coefficient[i], f->value[i], f->most[i]);
    if (most_of(&part) < n)
        return part;
    const int64_t unit = split(&part, n, &high, &low);
    add_term(&low, unit, uk_index_op(a, UK_I_MOD, index_of(a, &high), uk_index_int(a, n / unit)),
             n / unit - 1);
    return low;
}

/* The iterator's value, from the operand's index. */
static struct uk_index *iterator_at(struct uk_schedule *s, const struct uk_stage *st,
                                    const struct uk_affine *x, const struct uk_digit *digit,
                                    struct uk_index *const *value) {
    struct uk_arena *a = s->arena;
    struct linear f;

    if (!linear_of(st, x, value, &f)) {
        struct uk_index *e = uk_affine_value(s, st, x, value);

        e = digit->divisor > 1 ? uk_index_op(a, UK_I_DIV, e, uk_index_int(a, digit->divisor)) : e;
        return digit->modulus ? uk_index_op(a, UK_I_MOD, e, uk_index_int(a, digit->modulus)) : e;
    }
    if (digit->divisor > 1)
        f = quotient(a, &f, digit->divisor);
    if (digit->modulus)
        f = remainder_of(a, &f, digit->modulus);
    return index_of(a, &f);
}

struct uk_expr *uk_lower_im2col(struct uk_schedule *s, const struct uk_stage *st, const struct uk_operand *o,
                                struct uk_index *const *value) {
    const struct uk_im2col *m = o->tensor->im2col;
    const bool is_padded = m->element->op == UK_E_PAD;
    struct uk_expr *pad = uk_alloc(s->arena, sizeof *pad), *read = uk_alloc(s->arena, sizeof *read);

    if (!pad || !read)
        return uk_out_of_memory(s->context), NULL;
    *pad = *m->element;
    *read = is_padded ? *m->element->arg[0] : *m->element;
    for (int i = 0; i < m->iterators; i++) {
        struct uk_index *at = iterator_at(s, st, &o->index[m->digit[i].dim], &m->digit[i], value);

        for (int d = 0; d < read->access.tensor->dims && at; d++)
            if (!(read->access.index[d] = uk_substitute(s->arena, read->access.index[d], m->iterator[i], at)))
                at = NULL;
        if (!at)
            return uk_out_of_memory(s->context), NULL;
    }
    pad->arg[0] = read;
    return is_padded ? pad : read;
}
