/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels that leave out the terms outside of an image. The declaration reads the image under pad(.., 0), as
 * a factor of its sum, at subscripts such as 2*i + r - U: rows i of the result, r of the window, and the
 * number U of rows of the tile before the image's first one. The call gets the address of the tile's first
 * row that is in the image, U, and the number of the image's rows from there on. The guards of the nest for
 * these subscripts need not make the tile a box: the kernel applies them.
 */
#include <string.h>
#include "attempt.h"

bool uk_match_is_border(struct uk_attempt *t, const struct uk_expr *pad) {
    double zero;

    if (t->ks->reduce != UK_REDUCE_SUM || pad->arg[0]->op != UK_E_ACCESS || pad->arg[1]->op != UK_E_NUMBER)
        return false;
    zero = pad->arg[1]->is_integer ? (double)pad->arg[1]->integer : pad->arg[1]->number;
    return zero == 0 && uk_match_is_factor(t->ks->right, pad);
}

/* True if the subscript is `.. - v`. */
static bool subtracts(const struct uk_affine *index, const struct uk_var *v) {
    const struct uk_poly p = index->rest ? uk_poly_of(index->rest) : (struct uk_poly){0};

    return p.terms == 1 && p.term[0].factor == -1 && p.term[0].atoms == 1 &&
           p.term[0].atom[0]->op == UK_I_VAR && p.term[0].atom[0]->var == v;
}

/* True if the operand's subscript `index` moves along the tile as the declared one does. */
static bool moves_as(const struct uk_attempt *t, const struct uk_affine *index,
                     const struct uk_affine *declared) {
    bool same = !index->general;

    for (int a = 0; a < t->ks->iterators && same; a++)
        same = !t->m.axis[a] || index->coefficient[t->m.axis[a]->id] == declared->coefficient[a];
    return same;
}

/* The stored dimension of the pair's operand that the declared tensor's dimension d is, or -1. Each dimension
 * is that of one declared dimension at most: rows and columns of an image may have changed places. */
static int dimension_of(const struct uk_attempt *t, const struct uk_pair *p, int d) {
    const struct uk_operand *have = &t->st->operand[p->operand], *want = &t->declared->operand[p->declared];
    const int dims = have->tensor->stored_dims;
    bool used[UK_MAX_DIMS] = {false};
    int at = 0;

    for (int n = 0; n <= d && at < dims; n++) {
        for (at = 0; at < dims && (used[at] || !moves_as(t, &have->index[at], &want->index[n])); at++)
            ;
        if (at < dims)
            used[at] = true;
    }
    return at < dims ? at : -1;
}

bool uk_match_find_border(struct uk_attempt *t, const struct uk_var *v) {
    struct uk_size_binding *size = &t->m.size[v->number];

    for (int i = 0; i < t->pairs; i++) {
        const struct uk_operand *o = &t->declared->operand[t->pair[i].declared];

        for (int d = 0; t->has_border[t->pair[i].tensor] && d < o->tensor->stored_dims; d++) {
            const bool before = subtracts(&o->index[d], v),
                       inside = o->tensor->shape[d]->op == UK_I_VAR && o->tensor->shape[d]->var == v;
            const int dimension = before || inside ? dimension_of(t, &t->pair[i], d) : -1;

            if (dimension < 0)
                continue;
            size->role = before ? UK_SIZE_BEFORE : UK_SIZE_INSIDE;
            size->operand = t->pair[i].operand;
            size->axis = dimension;
            return true;
        }
    }
    return false;
}

/* True if the guard is one of the subscript: 0 <= index or index < extent. */
static bool is_guard_of(const struct uk_stage *st, const struct uk_bound *b, const struct uk_affine *index) {
    bool upper = true, lower = true;

    for (int i = 0; i < st->loops; i++) {
        const int64_t c = b->form.coefficient[st->loop[i]->id], have = index->coefficient[st->loop[i]->id];

        upper &= c == have;
        lower &= c == -have;
    }
    return b->is_guard && (upper || lower);
}

bool uk_match_take_borders(struct uk_attempt *t) {
    struct uk_stage *st = NULL;

    t->m.guards = 0;
    for (int i = 0; i < t->m.sizes; i++)
        for (int b = 0; t->m.size[i].role == UK_SIZE_INSIDE && b < t->st->bounds; b++)
            if (t->st->bound[b].operand == t->m.size[i].operand &&
                is_guard_of(t->st, &t->st->bound[b],
                            &t->st->operand[t->m.size[i].operand].index[t->m.size[i].axis]))
                t->m.guards |= (uint64_t)1 << b;
    if (t->m.guards) {
        if (!(st = uk_alloc(t->s->arena, sizeof *st)))
            return uk_out_of_memory(t->s->context), false;
        *st = *t->st;
        uk_mark_guards(st, t->m.guards);
        t->view = t->view == t->st ? st : t->view;
        t->st = st;
    }
    for (int b = 0; b < t->st->bounds; b++)
        t->m.begins_sums &= !t->st->bound[b].is_guard || t->st->bound[b].in_kernel;
    return true;
}

void uk_set_match(struct uk_stage *st, struct uk_match *m) {
    st->match = m;
    uk_mark_guards(st, m->guards);
}

/* True if the subscript in the dimension that the size is about may be outside of the tensor. */
static bool may_be_outside(const struct uk_stage *st, const struct uk_size_binding *size) {
    for (int b = 0; b < st->bounds; b++)
        if (st->bound[b].in_kernel && st->bound[b].operand == size->operand &&
            is_guard_of(st, &st->bound[b], &st->operand[size->operand].index[size->axis]))
            return true;
    return false;
}

/* That subscript at the tile's origin. */
static struct uk_index *subscript(struct uk_schedule *s, const struct uk_stage *st, const struct uk_match *m,
                                  const struct uk_size_binding *size, struct uk_index *const *value) {
    struct uk_index *origin[UK_MAX_LOOPS];

    memcpy(origin, value, sizeof origin);
    return uk_match_origin(s, st, m, origin)
               ? uk_affine_value(s, st, &st->operand[size->operand].index[size->axis], origin)
               : NULL;
}

static bool has_loops(const struct uk_affine *index) {
    bool any = index->general;

    for (int i = 0; i < UK_MAX_LOOPS; i++)
        any |= index->coefficient[i] != 0;
    return any;
}

/* The extent of the dimension that the size is about. A loop that is fused by a change of view runs over the
 * dimensions before it, too, whose subscripts then have no loop. */
static struct uk_index *extent_of(struct uk_schedule *s, const struct uk_stage *st,
                                  const struct uk_size_binding *size) {
    const struct uk_operand *o = &st->operand[size->operand];
    struct uk_index *extent = o->tensor->stored[size->axis];

    for (int d = size->axis - 1; st->inside && d >= 0 && !has_loops(&o->index[d]); d--)
        extent = uk_index_op(s->arena, UK_I_MUL, o->tensor->stored[d], extent);
    return extent;
}

struct uk_index *uk_match_border_size(struct uk_schedule *s, const struct uk_stage *st,
                                      const struct uk_match *m, const struct uk_size_binding *size,
                                      struct uk_index *const *value) {
    struct uk_arena *a = s->arena;
    const bool outside = may_be_outside(st, size);
    struct uk_index *at = subscript(s, st, m, size, value), *zero = uk_index_int(a, 0);

    if (size->role == UK_SIZE_BEFORE)
        return outside ? uk_index_op(a, UK_I_MAX, uk_index_op(a, UK_I_SUB, zero, at), zero) : zero;
    struct uk_index *from = outside ? uk_index_op(a, UK_I_MAX, at, zero) : at,
                    *end = outside ? st->operand[size->operand].tensor->stored[size->axis]
                                   : extent_of(s, st, size),
                    *left = uk_index_op(a, UK_I_SUB, end, from);
    return outside ? uk_index_op(a, UK_I_MAX, left, zero) : left;
}

bool uk_match_enter_image(struct uk_schedule *s, const struct uk_stage *st, int operand,
                          struct uk_access *place) {
    const struct uk_match *m = st->match;
    struct uk_arena *a = s->arena;

    for (int i = 0; i < m->sizes; i++) {
        const int d = m->size[i].axis;

        if (m->size[i].role != UK_SIZE_INSIDE || m->size[i].operand != operand ||
            !may_be_outside(st, &m->size[i]))
            continue;
        struct uk_index *last = uk_index_op(a, UK_I_SUB, place->tensor->stored[d], uk_index_int(a, 1)),
                        *at = uk_index_op(a, UK_I_MIN, place->index[d], last);

        if (!(place->index[d] = uk_index_op(a, UK_I_MAX, at, uk_index_int(a, 0))))
            return uk_out_of_memory(s->context), false;
    }
    return true;
}
