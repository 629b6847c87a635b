/* SPDX-License-Identifier: Apache-2.0 */
/* Values of a program's sizes, its amount of work, and its equivalence to a BLAS call. */
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include "file.h"
#include "shape.h"
#include "uk.h"

static int64_t size_value(const struct uk_var *v, void *sizes) {
    return v->defined ? v->value : ((const int64_t *)sizes)[v->number];
}

int64_t uk_value(const struct uk_index *e, const int64_t *sizes) {
    bool overflow = false;
    int64_t v = uk_index_eval(e, size_value, (void *)(uintptr_t)sizes, &overflow);
    return overflow ? -1 : v;
}

/* True if every size in e has a value; unknown ones are -1. */
static bool is_known(const struct uk_index *e, const int64_t *sizes) {
    if (!e)
        return true;
    if (e->op == UK_I_VAR && !e->var->defined && sizes[e->var->number] < 0)
        return false;
    return is_known(e->a, sizes) && is_known(e->b, sizes) && is_known(e->c, sizes);
}

/* The smallest distance between rows of t without overlap: beyond the last element of the dimensions with
 * known strides. */
static int64_t row_length(const struct uk_tensor *t, const int64_t *sizes) {
    int64_t last = 0;
    for (int d = 0; d < t->stored_dims; d++) {
        if (!is_known(t->stride[d], sizes))
            continue;
        int64_t extent = uk_value(t->stored[d], sizes), stride = uk_value(t->stride[d], sizes), step;
        if (extent < 1)
            extent = 1;
        if (__builtin_mul_overflow(extent - 1, stride, &step) || __builtin_add_overflow(last, step, &last))
            return -1;
    }
    return last < INT64_MAX ? last + 1 : -1;
}

/* Gives sizes that are only strides their smallest value, innermost unknown dimension first. */
static void choose_strides(const struct uk_program *p, int64_t *sizes) {
    for (const struct uk_tensor *t = p->tensors; t; t = t->next)
        for (int d = t->stored_dims - 1; t->has_strides && d >= 0; d--) {
            const struct uk_index *e = t->stride[d];
            bool shape_known = true;
            for (int i = 0; i < t->stored_dims; i++)
                shape_known &= is_known(t->stored[i], sizes);
            if (shape_known && e->op == UK_I_VAR && !is_known(e, sizes))
                sizes[e->var->number] = row_length(t, sizes);
        }
}

/* Raises strides shared by several tensors until they suit all. */
static void raise_strides(const struct uk_program *p, int64_t *sizes) {
    for (const struct uk_tensor *t = p->tensors; t; t = t->next) {
        int64_t length = 1;
        for (int d = t->stored_dims - 1; t->has_strides && d >= 0; d--) {
            const struct uk_index *e = t->stride[d];
            bool given = e->op != UK_I_VAR || e->var->defined || e->var->has_default || e->var->is_extent;
            if (!given && sizes[e->var->number] < length)
                sizes[e->var->number] = length;
            if (__builtin_mul_overflow(uk_value(e, sizes), uk_value(t->stored[d], sizes), &length))
                return;
        }
    }
}

/* The unknown size that the relation determines, as `P == (H + 1) / 2` does if H is known; NULL: none. */
static const struct uk_var *size_by(const struct uk_index *relation, const int64_t *sizes, int64_t *value) {
    const struct uk_index *x = relation->a, *y = relation->b;

    if (relation->op != UK_I_EQ)
        return NULL;
    if (is_known(x, sizes)) {
        x = y;
        y = relation->a;
    }
    if (x->op != UK_I_VAR || is_known(x, sizes) || !is_known(y, sizes))
        return NULL;
    *value = uk_value(y, sizes);
    return x->var;
}

/* Derives sizes from assumptions about known ones. */
static void take_assumed(const struct uk_program *p, int64_t *sizes) {
    int64_t value;

    for (const struct uk_assume *a = p->assumes; a; a = a->next) {
        const struct uk_var *v = size_by(a->relation, sizes, &value);

        if (v)
            sizes[v->number] = value;
    }
}

bool uk_derive_sizes(const struct uk_program *p, const struct uk_var *kept, int64_t *sizes) {
    bool is_complete = true;

    for (const struct uk_var *v = p->sizes; v; v = v->next)
        if (!v->defined && !v->has_default && v != kept)
            sizes[v->number] = -1;
    take_assumed(p, sizes);
    choose_strides(p, sizes);
    raise_strides(p, sizes);
    for (const struct uk_var *v = p->sizes; v; v = v->next)
        is_complete &= sizes[v->number] >= 0;
    return is_complete;
}

/* Reports a size without a value, or one that an assumption makes negative. Exit status. */
static int complain_of_size(const struct uk_program *p, const struct uk_var *v, const char *file,
                            const int64_t *sizes) {
    int64_t value;

    for (const struct uk_assume *a = p->assumes; a; a = a->next)
        if (size_by(a->relation, sizes, &value) == v)
            return uk_complain(UK_EXIT_USAGE,
                               "size '%s' of %s is %" PRId64 " by the `assume` in line %d; give other sizes, "
                               "for which it is 0 or more",
                               v->name, file, value, a->at.line);
    return uk_complain(UK_EXIT_USAGE, "size '%s' of %s has no value; give --size %s=... or --define %s=...",
                       v->name, file, v->name, v->name);
}

int uk_choose_sizes(const struct uk_program *p, const struct uk_arguments *a, int64_t *sizes) {
    for (const struct uk_var *v = p->sizes; v; v = v->next)
        sizes[v->number] = v->defined ? v->value : v->has_default ? v->default_value : -1;
    if (uk_derive_sizes(p, NULL, sizes))
        return UK_EXIT_OK;
    for (const struct uk_var *v = p->sizes; v; v = v->next)
        if (sizes[v->number] < 0)
            return complain_of_size(p, v, uk_file_text(a->positional[0]), sizes);
    return UK_EXIT_OK;
}

static double operations_in(const struct uk_expr *e) {
    if (!e)
        return 0;
    double below = operations_in(e->arg[0]) + operations_in(e->arg[1]) + operations_in(e->arg[2]);
    switch (e->op) {
    case UK_E_NUMBER:
    case UK_E_SCALAR:
    case UK_E_ACCESS:
    case UK_E_INDEX:
    case UK_E_CAST:
    case UK_E_PAD:
        return below;
    default:
        return below + 1;
    }
}

double uk_operations(const struct uk_program *p, const int64_t *sizes) {
    double sum = 0;
    for (const struct uk_statement *s = p->statements; s; s = s->next) {
        bool combines = s->reduce != UK_REDUCE_NONE || s->assign != UK_ASSIGN;
        sum += uk_terms(s, sizes) * (operations_in(s->right) + combines);
    }
    return sum;
}

static double bytes_in(const struct uk_expr *e) {
    if (!e)
        return 0;
    double here = e->op == UK_E_ACCESS ? (double)uk_type_bytes(e->access.tensor->type) : 0;
    return here + bytes_in(e->arg[0]) + bytes_in(e->arg[1]) + bytes_in(e->arg[2]);
}

double uk_traffic(const struct uk_program *p, const int64_t *sizes) {
    double sum = 0;
    for (const struct uk_statement *s = p->statements; s; s = s->next) {
        if (s->reduce != UK_REDUCE_NONE)
            return 0;
        double written = (double)uk_type_bytes(s->left.tensor->type) * (s->assign == UK_ASSIGN ? 1 : 2);
        sum += uk_terms(s, sizes) * (bytes_in(s->right) + written);
    }
    return sum;
}

/* Index of the dimension that v alone indexes; -1: none. */
static int dimension_of(const struct uk_access *a, const struct uk_var *v) {
    for (int d = 0; d < a->tensor->dims; d++)
        if (a->index[d]->op == UK_I_VAR && a->index[d]->var == v)
            return d;
    return -1;
}

static void *origin_of(const struct uk_program *p, const struct uk_tensor *wanted, void *const *tensors) {
    int i = 0;
    for (const struct uk_tensor *t = p->tensors; t && t != wanted; t = t->next)
        i += t->kind == UK_TENSOR_ARGUMENT;
    return tensors[i];
}

/* Describes an operand for BLAS. `row` and `column` are its iterators; *transposed: its columns are
 * contiguous. False: BLAS has no such operand. */
static bool blas_operand(const struct uk_access *a, const struct uk_var *row, const struct uk_var *column,
                         const int64_t *sizes, bool *transposed, int64_t *ld) {
    const struct uk_tensor *t = a->tensor;
    int r = dimension_of(a, row), c = dimension_of(a, column);
    if (t->type != UK_F32 || t->dims != 2 || t->layout || r < 0 || c < 0)
        return false;
    int64_t row_stride = uk_value(t->stride[r], sizes), column_stride = uk_value(t->stride[c], sizes);
    *transposed = column_stride != 1;
    *ld = *transposed ? column_stride : row_stride;
    return (*transposed ? row_stride : column_stride) == 1 && *ld >= 1 && *ld <= INT32_MAX;
}

bool uk_is_gemm(const struct uk_program *p, const int64_t *sizes, void *const *tensors,
                struct bench_gemm *g) {
    const struct uk_statement *s = p->statements;
    if (!s || s->next || s->reduce != UK_REDUCE_SUM || s->where || s->scan || s->left_iterators != 2 ||
        s->iterators != 3 || s->right->op != UK_E_MUL || s->right->arg[0]->op != UK_E_ACCESS ||
        s->right->arg[1]->op != UK_E_ACCESS || (s->assign != UK_ASSIGN && s->assign != UK_ASSIGN_ADD))
        return false;
    int row = 0;
    const struct uk_access *a = &s->right->arg[0]->access, *b = &s->right->arg[1]->access;
    bool transposed;
    if (!blas_operand(&s->left, s->iterator[0], s->iterator[1], sizes, &transposed, &g->ldc))
        return false;
    if (transposed) /* C is column-major, so the transposed product is computed */
        row = 1;
    if (dimension_of(a, s->iterator[row]) < 0) {
        const struct uk_access *other = a;
        a = b;
        b = other;
    }
    const struct uk_var *m = s->iterator[row], *n = s->iterator[1 - row], *k = s->iterator[2];
    if (!blas_operand(a, m, k, sizes, &g->a_transposed, &g->lda) ||
        !blas_operand(b, k, n, sizes, &g->b_transposed, &g->ldb))
        return false;
    g->m = uk_value(s->extent[row], sizes);
    g->n = uk_value(s->extent[1 - row], sizes);
    g->k = uk_value(s->extent[2], sizes);
    g->accumulate = s->assign == UK_ASSIGN_ADD;
    g->a = origin_of(p, a->tensor, tensors);
    g->b = origin_of(p, b->tensor, tensors);
    g->c = origin_of(p, s->left.tensor, tensors);
    return g->m > 0 && g->n > 0 && g->k > 0 && g->m <= INT32_MAX && g->n <= INT32_MAX && g->k <= INT32_MAX;
}
