/* SPDX-License-Identifier: Apache-2.0 */
/* Checks tensors: shapes are affine in sizes. Fills in strides; computes the stored extents from layout
 * maps. */
#include "language.h"

bool uk_check_affine(struct uk_program *p, const struct uk_index *e, bool iterators) {
    switch (e->op) {
    case UK_I_INT:
        return true;
    case UK_I_VAR:
        if (e->var->kind == UK_VAR_SIZE || iterators)
            return true;
        return uk_program_fail(p, UK_REFUSED, e->at,
                               "%s is an iterator; only sizes and integers can stand here", e->var->name);
    case UK_I_NEG:
        return uk_check_affine(p, e->a, iterators);
    case UK_I_MUL:
        if (!uk_index_is_int(e->a, NULL) && !uk_index_is_int(e->b, NULL))
            return uk_program_fail(
                p, UK_REFUSED, e->at,
                "a product of two sizes or iterators is not affine; make one factor a constant");
        return uk_check_affine(p, e->a, iterators) && uk_check_affine(p, e->b, iterators);
    case UK_I_ADD:
    case UK_I_SUB:
    case UK_I_DIV:
    case UK_I_MOD:
        return uk_check_affine(p, e->a, iterators) && uk_check_affine(p, e->b, iterators);
    case UK_I_ELEMENT:
        return uk_program_fail(p, UK_REFUSED, e->at,
                               "an element of %s is part of an integer expression, but can only be a whole "
                               "subscript; compute the expression in a tensor first",
                               e->tensor->name);
    default:
        return uk_program_fail(p, UK_REFUSED, e->at, "this is not an affine expression; use + - * / %% only");
    }
}

void uk_mark_extents(const struct uk_index *e) {
    if (e->op == UK_I_VAR)
        e->var->is_extent = true;
    if (e->a)
        uk_mark_extents(e->a);
    if (e->b)
        uk_mark_extents(e->b);
}

/* Checks that a stride is a product of integers and sizes. */
static bool check_stride(struct uk_program *p, const struct uk_tensor *t, const struct uk_index *e) {
    if (e->op == UK_I_MUL)
        return check_stride(p, t, e->a) && check_stride(p, t, e->b);
    if (e->op == UK_I_VAR)
        return uk_check_affine(p, e, false);
    if (e->op == UK_I_INT && e->value >= 0)
        return true;
    return uk_program_fail(p, UK_REFUSED, t->at,
                           "a stride of %s is not a product of an integer and sizes; write it as one",
                           t->name);
}

/* True if extent_of handles e: sums, products with constants >= 0, quotients and remainders. */
static bool has_extent(const struct uk_index *e) {
    int64_t c;

    switch (e->op) {
    case UK_I_INT:
        return e->value >= 0;
    case UK_I_VAR:
        return true;
    case UK_I_ADD:
        return has_extent(e->a) && has_extent(e->b);
    case UK_I_MUL:
        return (uk_index_is_int(e->a, &c) || uk_index_is_int(e->b, &c)) && has_extent(e->a) &&
               has_extent(e->b);
    case UK_I_DIV:
    case UK_I_MOD:
        return has_extent(e->a) && uk_index_is_int(e->b, &c) && c > 0;
    default:
        return false;
    }
}

/*
 * Returns an upper bound of e, plus one, where each name of the map runs over its extent; NULL if memory runs
 * out. Quotients and remainders of single names, as layouts have them, are exact; a sum adds the ranges of
 * its terms.
 */
static struct uk_index *extent_of(struct uk_arena *a, const struct uk_map *m, struct uk_index *const box[],
                                  const struct uk_index *e) {
    struct uk_index *l, *one = uk_index_int(a, 1);

    switch (e->op) {
    case UK_I_VAR:
        for (int i = 0; i < m->from_count; i++)
            if (m->from[i] == e->var)
                return box[i];
        return NULL;
    case UK_I_ADD:
        l = uk_index_op(a, UK_I_ADD, extent_of(a, m, box, e->a), extent_of(a, m, box, e->b));
        return uk_index_op(a, UK_I_SUB, l, one);
    case UK_I_MUL:
        l = uk_index_op(a, UK_I_SUB, extent_of(a, m, box, e->a->op == UK_I_INT ? e->b : e->a), one);
        l = uk_index_op(a, UK_I_MUL, l, e->a->op == UK_I_INT ? e->a : e->b);
        return uk_index_op(a, UK_I_ADD, l, one);
    case UK_I_DIV:
        l = uk_index_op(a, UK_I_ADD, extent_of(a, m, box, e->a), uk_index_int(a, e->b->value - 1));
        return uk_index_op(a, UK_I_DIV, l, e->b);
    case UK_I_MOD:
        l = extent_of(a, m, box, e->a);
        return l && uk_index_is_int(l, NULL) ? uk_index_op(a, UK_I_MIN, l, e->b) : l ? e->b : NULL;
    default: /* INT */
        return uk_index_op(a, UK_I_ADD, uk_index_int(a, e->value), one);
    }
}

static bool check_layout(struct uk_program *p, struct uk_tensor *t) {
    struct uk_map *m = t->layout;

    if (m->from_count != t->dims)
        return uk_program_fail(p, UK_REFUSED, t->at, "the layout of %s maps %d of its %d indices; name each",
                               t->name, m->from_count, t->dims);
    for (int i = 0; i < m->to_count; i++) {
        if (!has_extent(m->to[i]))
            return uk_program_fail(
                p, UK_REFUSED, t->at,
                "stored dimension %d of the layout of %s has no known extent; use sums of a name, "
                "name * c, name / c and name %% c",
                i, t->name);
        t->stored[i] = extent_of(&p->arena, m, t->has_over ? t->over : t->shape, m->to[i]);
        if (!uk_program_check_memory(p, t->stored[i]))
            return false;
    }
    return true;
}

/* True also if the sizes decide (not both are constants): the function checks that at entry. */
static bool is_as_large(const struct uk_index *over, const struct uk_index *extent) {
    return over->op != UK_I_INT || extent->op != UK_I_INT || over->value >= extent->value;
}

bool uk_check_tensor(struct uk_program *p, struct uk_tensor *t) {
    struct uk_index *stride = t->has_strides ? NULL : uk_index_int(&p->arena, 1);

    if (t->is_constant && t->kind != UK_TENSOR_ARGUMENT)
        return uk_program_fail(p, UK_REFUSED, t->at,
                               "temp %s is constant, but a statement writes it; leave `constant` out, or "
                               "pass it as a tensor",
                               t->name);
    if (t->is_finite && (t->kind != UK_TENSOR_ARGUMENT || !uk_type_is_float(t->type)))
        return uk_program_fail(p, UK_REFUSED, t->at,
                               "%s is finite, which only passed tensors of floats can be; leave `finite` out",
                               t->name);
    for (int i = 0; i < t->dims; i++) {
        if (!uk_check_affine(p, t->shape[i], false) ||
            (t->has_over && !uk_check_affine(p, t->over[i], false)))
            return false;
        uk_mark_extents(t->shape[i]);
        if (t->shape[i]->op == UK_I_INT && t->shape[i]->value < 0)
            return uk_program_fail(p, UK_REFUSED, t->shape[i]->at,
                                   "extent %d of %s is negative; give one >= 0", i, t->name);
        if (t->has_over && !is_as_large(t->over[i], t->shape[i]))
            return uk_program_fail(
                p, UK_REFUSED, t->over[i]->at,
                "`over` of %s: extent %d is smaller than the shape's; give one that is not", t->name, i);
        t->stored[i] = t->has_over ? t->over[i] : t->shape[i];
    }
    if (t->layout && !check_layout(p, t))
        return false;
    for (int i = t->stored_dims - 1; i >= 0; i--) {
        if (t->has_strides) {
            if (!check_stride(p, t, t->stride[i]))
                return false;
            continue;
        }
        t->stride[i] = stride;
        stride = uk_index_op(&p->arena, UK_I_MUL, t->stored[i], stride);
        if (!uk_program_check_memory(p, stride))
            return false;
    }
    return true;
}
