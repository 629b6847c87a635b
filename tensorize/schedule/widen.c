/* SPDX-License-Identifier: Apache-2.0 */
/*
 * widen S: converts f16 and bf16 to f32 before they are multiplied,
 *
 *     S_left[m, k] = f32(A[m, k]),  S_right[k, n] = f32(B[k, n]),  S = sum(k) S_left[m, k] * S_right[k, n]
 *
 * in the order of the tensors' dimensions, so that kernels of f32 compute the sum. Conversions are exact, and
 * each is made once, where a kernel of halves converts B again for each group of rows. Those of a constant
 * tensor are made when it is packed (lower/conversions.c).
 */
#include "minmax.h"
#include "schedule.h"

struct widening {
    struct uk_schedule *s;
    const struct uk_stage *stage;
    struct uk_statement *statement;
    struct uk_position at;
};

static enum uk_status refuse(const struct widening *w, const char *what) {
    return uk_fail(w->s->context, UK_REFUSED, w->at, "widen %s: %s", w->stage->name, what);
}

static bool is_half(enum uk_type t) {
    return t == UK_F16 || t == UK_BF16;
}

/* Number of the statement's iterator that is the subscript, or -1 if the subscript is another expression. */
static int iterator_of(const struct uk_statement *t, const struct uk_index *index) {
    for (int i = 0; index->op == UK_I_VAR && i < t->iterators; i++)
        if (index->var == t->iterator[i])
            return i;
    return -1;
}

/* True if the factor converts elements of a tensor whose subscripts are different iterators. */
static bool is_converted(const struct uk_statement *t, const struct uk_expr *e) {
    const struct uk_expr *x = e->arg[0];

    if (e->op != UK_E_CAST || e->type != UK_F32 || x->op != UK_E_ACCESS || !is_half(x->type))
        return false;
    for (int d = 0; d < x->access.tensor->dims; d++) {
        const int i = iterator_of(t, x->access.index[d]);

        for (int other = 0; other < d; other++)
            if (iterator_of(t, x->access.index[other]) == i)
                return false;
        if (i < 0)
            return false;
    }
    return x->access.tensor->dims > 0;
}

static enum uk_status check(const struct widening *w) {
    const struct uk_stage *st = w->stage;
    const struct uk_statement *t = w->statement;

    if (st->is_copy || st->is_reset || t->reduce != UK_REDUCE_SUM || t->scan)
        return refuse(w, "the stage is no sum");
    if (t->left.tensor->type != UK_F32 || t->right->op != UK_E_MUL || !is_converted(t, t->right->arg[0]) ||
        !is_converted(t, t->right->arg[1]))
        return refuse(w, "the terms are no products, in f32, of two elements of f16 or bf16 whose subscripts "
                         "are iterators");
    if (t->where)
        return refuse(w, "a `where` selects the terms");
    return uk_check_parts(w->s, st, w->at, "widen");
}

/* Adds the stage that converts a factor, and sets *read to an access to what it stores. */
static enum uk_status add_conversion(const struct widening *w, struct uk_expr *factor, const char *suffix,
                                     struct uk_expr **read, struct uk_parts *out) {
    const struct uk_statement *from = w->statement;
    const struct uk_access *x = &factor->arg[0]->access;
    struct uk_statement *t = uk_alloc(w->s->arena, sizeof *t);
    struct uk_tensor *buffer;
    const char *name;

    if (!t)
        return uk_out_of_memory(w->s->context);
    const enum uk_status status = uk_part_name(w->s, w->stage, w->at, "widen", suffix, &name);
    if (status)
        return status;
    *t = *from;
    t->label = name;
    t->assign = UK_ASSIGN;
    t->reduce = UK_REDUCE_NONE;
    t->reduced = 0;
    t->right = factor;
    t->iterators = t->left_iterators = x->tensor->dims;
    for (int d = 0; d < x->tensor->dims; d++) {
        const int i = iterator_of(from, x->index[d]);

        t->iterator[d] = from->iterator[i];
        t->extent[d] = from->extent[i];
    }
    if (!(buffer = uk_statement_buffer(w->s, t, name)) || !uk_statement_element(w->s, t, buffer, &t->left) ||
        !(*read = uk_element_of(w->s, t, w->at)))
        return uk_out_of_memory(w->s->context);
    buffer->is_constant = x->tensor->is_constant;
    return uk_add_part(w->s, t, out);
}

static enum uk_status add_sum(const struct widening *w, struct uk_expr *left, struct uk_expr *right,
                              struct uk_parts *out) {
    struct uk_statement *t = uk_alloc(w->s->arena, sizeof *t);
    struct uk_expr *product = uk_alloc(w->s->arena, sizeof *product);

    if (!t || !product)
        return uk_out_of_memory(w->s->context);
    *t = *w->statement;
    *product = *t->right;
    product->arg[0] = left;
    product->arg[1] = right;
    product->depth = 1 + uk_max(left->depth, right->depth);
    t->right = product;
    const enum uk_status status = uk_add_part(w->s, t, out);
    if (!status)
        out->part[out->count - 1]->needs = w->stage->needs;
    return status;
}

enum uk_status uk_widen_factors(struct uk_schedule *s, const struct uk_stage *st, struct uk_position at,
                                struct uk_parts *out) {
    const struct widening w = {.s = s, .stage = st, .statement = st->statement, .at = at};
    struct uk_buffer *const buffers = s->buffers;
    struct uk_expr *left = NULL, *right = NULL;

    *out = (struct uk_parts){0};
    enum uk_status status = check(&w);
    if (!status)
        status = add_conversion(&w, st->statement->right->arg[0], "_left", &left, out);
    if (!status)
        status = add_conversion(&w, st->statement->right->arg[1], "_right", &right, out);
    if (!status)
        status = add_sum(&w, left, right, out);
    for (int i = 0; i < out->count - 1; i++)
        out->part[i]->is_conversion = true;
    if (status)
        uk_forget_parts(s, out, buffers);
    return status;
}
