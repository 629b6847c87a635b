/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matrices of step `im2col`. Each iterator of the access that the matrix replaces is a digit of one of the
 * matrix's indices: at first the whole index, after fusions a part of it.
 */
#include <string.h>
#include "stages.h"

static const struct uk_access *access_of(const struct uk_im2col *m) {
    const struct uk_expr *e = m->element->op == UK_E_PAD ? m->element->arg[0] : m->element;

    return &e->access;
}

const struct uk_tensor *uk_memory_of(const struct uk_operand *o) {
    return o->tensor->im2col ? access_of(o->tensor->im2col)->tensor : o->tensor;
}

bool uk_reads(const struct uk_stage *st, const struct uk_tensor *t) {
    for (int o = 1; o < st->operands; o++)
        if (uk_memory_of(&st->operand[o]) == t)
            return true;
    return false;
}

bool uk_im2col_fuse(struct uk_arena *a, struct uk_tensor *t, int d) {
    struct uk_im2col *m = uk_alloc(a, sizeof *m);
    int64_t n;

    if (!m || !uk_index_is_int(t->shape[d + 1], &n))
        return false;
    *m = *t->im2col;
    for (int i = 0; i < m->iterators; i++) {
        struct uk_digit *digit = &m->digit[i];

        if (digit->dim == d + 1 && !digit->modulus)
            digit->modulus = n / digit->divisor;
        else if (digit->dim == d)
            digit->divisor *= n;
        digit->dim -= digit->dim > d;
    }
    t->im2col = m;
    t->shape[d] = uk_index_op(a, UK_I_MUL, t->shape[d], t->shape[d + 1]);
    t->stored[d] = t->shape[d];
    t->stride[d] = t->stride[d + 1];
    for (int i = d + 1; i + 1 < t->dims; i++) {
        t->shape[i] = t->shape[i + 1];
        t->stored[i] = t->stored[i + 1];
        t->stride[i] = t->stride[i + 1];
    }
    t->stored_dims = --t->dims;
    return t->shape[d] != NULL;
}

/* The change of e, a sum of iterators times numbers, per step of v; 0: it is no constant. */
static int64_t coefficient_of(const struct uk_index *e, const struct uk_var *v) {
    int64_t c;

    switch (e->op) {
    case UK_I_VAR:
        return e->var == v;
    case UK_I_ADD:
        return coefficient_of(e->a, v) + coefficient_of(e->b, v);
    case UK_I_SUB:
        return coefficient_of(e->a, v) - coefficient_of(e->b, v);
    case UK_I_MUL:
        if (uk_index_is_int(e->a, &c))
            return c * coefficient_of(e->b, v);
        return uk_index_is_int(e->b, &c) ? c * coefficient_of(e->a, v) : 0;
    default:
        return 0;
    }
}

/* The number of adjacent indices of dimension d that are values of one iterator; INT64_MAX: all. */
static int64_t run_of(const struct uk_tensor *t, int d) {
    const struct uk_im2col *m = t->im2col;
    int64_t n = INT64_MAX;

    for (int i = 0; i < m->iterators; i++)
        if (m->digit[i].dim == d && m->digit[i].divisor == 1 && !(n = m->digit[i].modulus) &&
            !uk_index_is_int(t->shape[d], &n))
            n = INT64_MAX;
    return n;
}

/* The distance of the elements read in memory for adjacent indices of dimension d in such a run; 0: it is no
 * constant. */
static int64_t step_of(const struct uk_tensor *t, int d) {
    const struct uk_im2col *m = t->im2col;
    const struct uk_access *x = access_of(m);
    int64_t step = 0, stride;

    for (int i = 0; i < m->iterators; i++)
        for (int k = 0; m->digit[i].dim == d && m->digit[i].divisor == 1 && k < x->tensor->dims; k++) {
            const int64_t c = coefficient_of(x->index[k], m->iterator[i]);

            if (c && !uk_index_is_int(x->tensor->stride[k], &stride))
                return 0;
            step += c ? c * stride : 0;
        }
    return step;
}

bool uk_im2col_is_contiguous(const struct uk_tensor *t, int d) {
    for (int i = 0; i < t->dims; i++)
        if (i != d && step_of(t, i) == 1 && run_of(t, i) > run_of(t, d))
            return false;
    return step_of(t, d) == 1;
}

bool uk_im2col_has_vectors(const struct uk_tensor *t, int d, int64_t n) {
    return step_of(t, d) == 1 && run_of(t, d) % n == 0;
}
