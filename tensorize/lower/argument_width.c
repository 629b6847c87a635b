/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that take sizes as integers narrower than 64 bits: checks at entry, or at compile time, that the
 * sizes fit. */
#include "lower.h"

/* The maximum number of values of a loop with coefficient c in the bound: (upper - rest + c - 1) / c. */
static struct uk_index *count(struct uk_arena *a, const struct uk_bound *b, int64_t c) {
    struct uk_index *n = b->upper;

    if (b->form.rest)
        n = uk_index_op(a, UK_I_SUB, n, b->form.rest);
    n = uk_index_op(a, UK_I_ADD, n, uk_index_int(a, c - 1));
    return uk_index_op(a, UK_I_DIV, n, uk_index_int(a, c));
}

/* The maximum extent of the loop; a constant within the limit is preferred. */
static struct uk_index *max_extent(struct uk_schedule *s, const struct uk_stage *st, const struct uk_loop *l,
                                   int64_t limit) {
    struct uk_index *minimum = NULL, *constant = NULL;
    int64_t c;

    for (int b = 0; b < st->bounds; b++) {
        int64_t times = st->bound[b].form.coefficient[l->id];
        struct uk_index *n =
            times > 0 && !st->bound[b].is_guard ? count(s->arena, &st->bound[b], times) : NULL;

        if (!n)
            continue;
        if (!uk_index_is_int(n, &c))
            minimum = minimum ? uk_index_op(s->arena, UK_I_MIN, minimum, n) : n;
        else if (c <= limit)
            return n;
        else
            constant = n;
    }
    return minimum ? minimum : constant;
}

static struct uk_index *max_value(struct uk_schedule *s, const struct uk_stage *st, int size, int64_t limit);

/* The largest value of a stride of adjacent rows: the extent of the dimensions inside it. */
static struct uk_index *max_stride(struct uk_schedule *s, const struct uk_stage *st, int size) {
    const struct uk_match *m = st->match;
    const struct uk_program *d = m->intrinsic->declaration;
    const struct uk_tensor *t = d->tensors;
    const int dim = m->size[size].axis + 1;

    for (int n = 0; n < m->size[size].operand; n++)
        t = t->next;
    if (dim >= t->stored_dims)
        return uk_index_int(s->arena, 1);
    struct uk_index *e = uk_index_op(s->arena, UK_I_MUL, uk_stored_extent(t, dim), t->stride[dim]);
    for (const struct uk_var *v = d->sizes; v && e; v = v->next)
        if (uk_mentions(e, v))
            e = uk_substitute(s->arena, e, v, max_value(s, st, v->number, INT64_MAX));
    return e;
}

/* The maximum of the size, over sizes of the program only; NULL: no memory. */
static struct uk_index *max_value(struct uk_schedule *s, const struct uk_stage *st, int size, int64_t limit) {
    const struct uk_match *m = st->match;
    const int axis = m->size[size].axis;
    struct uk_arena *a = s->arena;

    if (m->size[size].role == UK_SIZE_STRIDE)
        return uk_poly_index(a, &m->size[size].value);
    if (m->size[size].role == UK_SIZE_ANY_STRIDE)
        return max_stride(s, st, size);
    if (!m->axis[axis])
        return uk_index_int(a, 1);
    struct uk_index *n = max_extent(s, st, m->axis[axis], limit), *f = uk_index_int(a, m->multiple[axis]);
    if (!m->multiple[axis])
        return n;
    n = uk_index_op(a, UK_I_ADD, n, uk_index_int(a, m->multiple[axis] - 1));
    return uk_index_op(a, UK_I_MUL, uk_index_op(a, UK_I_DIV, n, f), f);
}

/* The condition under which the argument can hold its size; *condition is NULL if it always can. */
static enum uk_status condition_of(struct uk_schedule *s, const struct uk_stage *st, const struct uk_form *f,
                                   const struct uk_argument *a, struct uk_index **condition) {
    const int64_t limit = uk_integer_max((enum uk_type)a->ctype);
    struct uk_index *n = max_value(s, st, a->size->number, limit);
    int64_t c;

    *condition = NULL;
    if (n && uk_index_is_int(n, &c) && c <= limit)
        return UK_OK;
    if (n && uk_index_is_int(n, &c))
        return uk_fail(
            s->context, UK_REFUSED, st->statement->at,
            "stage %s: %s is called with %s = %lld, but takes it as %s, which ends at %lld; declare a wider "
            "argument, or split the loop",
            st->name, f->symbol, a->size->name, (long long)c, uk_type_name(a->ctype), (long long)limit);
    *condition = uk_index_op(s->arena, UK_I_LE, n, uk_index_int(s->arena, limit));
    return *condition ? UK_OK : uk_out_of_memory(s->context);
}

static bool is_repeated(const struct uk_function *f, const struct uk_index *condition) {
    for (const struct uk_entry_check *c = f->checks; c; c = c->next)
        if (uk_index_equal(c->condition, condition))
            return true;
    return false;
}

enum uk_status uk_check_arguments(struct uk_schedule *s, const struct uk_stage *st, struct uk_function *f) {
    for (int k = 0; st->match && k < UK_FORMS; k++) {
        const struct uk_form *form = &st->match->intrinsic->form[k];

        for (int i = 0; form->is_declared && i < form->arguments; i++) {
            struct uk_index *condition = NULL;
            enum uk_status status = UK_OK;

            if (form->argument[i].size && form->argument[i].ctype != UK_I64)
                status = condition_of(s, st, form, &form->argument[i], &condition);
            if (!status && condition && !is_repeated(f, condition))
                status = uk_add_check(s, f, condition);
            if (status)
                return status;
        }
    }
    return UK_OK;
}
