/* SPDX-License-Identifier: Apache-2.0 */
/*
 * multiply_out S: computes a sum of products of differences without the differences,
 *
 *     sum(k) (a - u) * (b - v) = sum(k) a * b - u * sum(k) b - v * (sum(k) a - K * u)
 *
 * where u and v do not depend on k, and K is the number of terms. Kernels multiply a and b as they are in
 * memory, for instance bytes with zero points; each other sum has one factor and fewer indices. Integers
 * wrap, so that both sides are equal for all operands; floats are refused, because they round.
 */
#include "minmax.h"
#include "schedule.h"

/* A factor of the terms: base - zero, or base + zero if `is_added`; zero is NULL if there is only a base. */
struct factor {
    struct uk_expr *base, *zero;
    bool is_added;
    struct uk_statement *sum; /* of the bases; NULL: not needed */
};

struct multiplying {
    struct uk_schedule *s;
    const struct uk_stage *stage;
    const struct uk_statement *statement;
    struct uk_position at;
    struct factor factor[2];
    struct uk_statement *product;
};

static enum uk_status refuse(const struct multiplying *m, const char *what) {
    return uk_fail(m->s->context, UK_REFUSED, m->at, "multiply_out %s: %s", m->stage->name, what);
}

/* ---- recognition ---- */

/* True if the value is not the same in all terms of the sum. */
static bool varies(const struct uk_statement *t, const struct uk_expr *e) {
    bool found = false;

    for (int i = 0; i < t->reduced && !found; i++)
        found = uk_expr_mentions(e, t->reduced_iterator[i]);
    return found;
}

static struct factor factor_of(const struct uk_statement *t, struct uk_expr *e) {
    if ((e->op == UK_E_SUB || e->op == UK_E_ADD) && !varies(t, e->arg[1]))
        return (struct factor){.base = e->arg[0], .zero = e->arg[1], .is_added = e->op == UK_E_ADD};
    if (e->op == UK_E_ADD && !varies(t, e->arg[0]))
        return (struct factor){.base = e->arg[1], .zero = e->arg[0], .is_added = true};
    return (struct factor){.base = e};
}

static enum uk_status check(struct multiplying *m) {
    const struct uk_stage *st = m->stage;
    const struct uk_statement *t = m->statement;

    if (st->is_copy || st->is_reset || t->reduce != UK_REDUCE_SUM || t->scan)
        return refuse(m, "the stage is no sum");
    if (uk_type_is_float(t->left.tensor->type))
        return refuse(m,
                      "the sum is of floats, whose differences round; only integers can be multiplied out");
    if (t->right->op != UK_E_MUL)
        return refuse(m, "the terms are no products of two factors");
    for (int i = 0; i < 2; i++)
        m->factor[i] = factor_of(t, t->right->arg[i]);
    if (!m->factor[0].zero && !m->factor[1].zero)
        return refuse(m, "no factor is a difference from a value that is the same in all terms");
    if (t->where)
        return refuse(m, "a `where` selects the terms, so that their number is not known");
    return uk_check_parts(m->s, st, m->at, "multiply_out");
}

/* ---- expressions ---- */

/* NULL: no memory, also if an operand is NULL. */
static struct uk_expr *binary(const struct multiplying *m, enum uk_expr_op op, struct uk_expr *l,
                              struct uk_expr *r) {
    struct uk_expr *e = uk_alloc(m->s->arena, sizeof *e);

    if (!e || !l || !r)
        return NULL;
    *e = (struct uk_expr){
        .op = op, .type = l->type, .arg = {l, r}, .depth = 1 + uk_max(l->depth, r->depth), .at = m->at};
    return e;
}

/* A copy: each occurrence of an access is an operand of its own, which its node identifies. */
static struct uk_expr *copy(const struct multiplying *m, const struct uk_expr *e) {
    struct uk_expr *c = uk_alloc(m->s->arena, sizeof *c);

    if (!c)
        return NULL;
    *c = *e;
    for (int i = 0; i < 3; i++)
        if (e->arg[i] && !(c->arg[i] = copy(m, e->arg[i])))
            return NULL;
    return c;
}

/* The number of terms, in the type of the sum. */
static struct uk_expr *number_of_terms(const struct multiplying *m) {
    const struct uk_statement *t = m->statement;
    struct uk_arena *a = m->s->arena;
    struct uk_expr *n = uk_alloc(a, sizeof *n), *cast = uk_alloc(a, sizeof *cast);
    struct uk_index *count = uk_index_int(a, 1);

    for (int i = t->left_iterators; i < t->iterators; i++)
        count = uk_index_op(a, UK_I_MUL, count, t->extent[i]);
    if (!n || !cast || !count)
        return NULL;
    *n = (struct uk_expr){.op = UK_E_INDEX, .type = UK_I64, .index = count, .depth = 1, .at = m->at};
    *cast =
        (struct uk_expr){.op = UK_E_CAST, .type = t->left.tensor->type, .arg = {n}, .depth = 2, .at = m->at};
    return cast;
}

/* value - zero * by, or value + zero * by. */
static struct uk_expr *less(const struct multiplying *m, struct uk_expr *value, const struct factor *f,
                            struct uk_expr *by) {
    return binary(m, f->is_added ? UK_E_ADD : UK_E_SUB, value, binary(m, UK_E_MUL, copy(m, f->zero), by));
}

static struct uk_expr *combined(const struct multiplying *m) {
    const struct factor *a = &m->factor[0], *b = &m->factor[1];
    struct uk_expr *e = uk_element_of(m->s, m->product, m->at), *row;

    if (a->zero)
        e = less(m, e, a, uk_element_of(m->s, b->sum, m->at));
    if (!b->zero)
        return e;
    row = uk_element_of(m->s, a->sum, m->at);
    if (a->zero)
        row = less(m, row, a, number_of_terms(m));
    return less(m, e, b, row);
}

/* ---- stages ---- */

/* Adds the sum of `term` over the statement's terms, into a buffer over the left iterators that occur in
 * `term`. */
static enum uk_status add_sum(struct multiplying *m, struct uk_expr *term, const char *suffix,
                              struct uk_statement **made, struct uk_parts *out) {
    const struct uk_statement *from = m->statement;
    struct uk_statement *t = *made = uk_alloc(m->s->arena, sizeof *t);
    struct uk_tensor *x;
    const char *name;
    int kept = 0, left = 0;

    if (!t || !term)
        return uk_out_of_memory(m->s->context);
    const enum uk_status status = uk_part_name(m->s, m->stage, m->at, "multiply_out", suffix, &name);
    if (status)
        return status;
    *t = *from;
    t->label = name;
    t->assign = UK_ASSIGN;
    t->right = term;
    for (int i = 0; i < from->iterators; i++) {
        if (i < from->left_iterators && !uk_expr_mentions(term, from->iterator[i]))
            continue;
        left += i < from->left_iterators;
        t->iterator[kept] = from->iterator[i];
        t->extent[kept++] = from->extent[i];
    }
    t->iterators = kept;
    t->left_iterators = left;
    if (!left)
        return refuse(m, "a factor is the same for all elements of the output");
    if (!(x = uk_statement_buffer(m->s, t, name)) || !uk_statement_element(m->s, t, x, &t->left))
        return uk_out_of_memory(m->s->context);
    return uk_add_part(m->s, t, out);
}

static enum uk_status add_final(struct multiplying *m, struct uk_parts *out) {
    struct uk_statement *t = uk_alloc(m->s->arena, sizeof *t);

    if (!t)
        return uk_out_of_memory(m->s->context);
    *t = *m->statement;
    t->reduce = UK_REDUCE_NONE;
    t->reduced = 0;
    t->iterators = t->left_iterators;
    if (!(t->right = combined(m)))
        return uk_out_of_memory(m->s->context);
    const enum uk_status status = uk_add_part(m->s, t, out);
    if (!status)
        out->part[out->count - 1]->needs = m->stage->needs;
    return status;
}

static enum uk_status make_parts(struct multiplying *m, struct uk_parts *out) {
    struct factor *a = &m->factor[0], *b = &m->factor[1];
    enum uk_status status = check(m);

    if (!status && b->zero)
        status = add_sum(m, a->base, "_left_sum", &a->sum, out);
    if (!status && a->zero)
        status = add_sum(m, b->base, "_right_sum", &b->sum, out);
    if (!status)
        status = add_sum(m, binary(m, UK_E_MUL, a->base, b->base), "_product", &m->product, out);
    for (int i = 0; i < out->count - 1; i++)
        out->part[i]->is_factor_sum = true;
    return status ? status : add_final(m, out);
}

enum uk_status uk_multiply_out(struct uk_schedule *s, const struct uk_stage *st, struct uk_position at,
                               struct uk_parts *out) {
    struct multiplying m = {.s = s, .stage = st, .statement = st->statement, .at = at};
    struct uk_buffer *const buffers = s->buffers;

    *out = (struct uk_parts){0};
    const enum uk_status status = make_parts(&m, out);
    if (status)
        uk_forget_parts(s, out, buffers);
    return status;
}
