/* SPDX-License-Identifier: Apache-2.0 */
/* Conditions on every tile of a match: it is a box with extents that the kernel takes. */
#include <string.h>
#include "attempt.h"

/* Checks that no bound has two of the tile's loops. operand: the operand to which the bounds belong; 0: they
 * are those of the nest. */
static bool is_box(struct uk_attempt *t, const struct uk_bound *bound, int bounds, int operand) {
    for (int b = 0; b < bounds; b++) {
        const struct uk_loop *first = NULL;

        if (bound[b].in_kernel || (operand && uk_match_ends_sum(t, operand, &bound[b].form)))
            continue;
        for (int i = t->tile; i < t->st->loops; i++) {
            if (!bound[b].form.coefficient[t->st->loop[i]->id])
                continue;
            if (first)
                return uk_record_difference(
                    t, "the tile is not rectangular: the extent of %s depends on %s; split further",
                    t->st->loop[i]->var->name, first->var->name);
            first = t->st->loop[i];
        }
    }
    return true;
}

/* Gives the loops outside the tile their variables as values. */
static void outer_values(const struct uk_attempt *t, struct uk_index **value) {
    for (int i = 0; i < t->tile; i++)
        value[t->st->loop[i]->id] = uk_index_var(t->s->arena, t->st->loop[i]->var);
}

struct uk_index *uk_tile_extent(struct uk_schedule *s, const struct uk_stage *st, const struct uk_loop *l,
                                struct uk_index *const *value) {
    struct uk_index *end = uk_loop_end(s, st, l, value);

    return end && uk_may_begin_above_zero(st, l)
               ? uk_index_op(s->arena, UK_I_SUB, end, uk_loop_begin(s, st, l, value))
               : end;
}

bool uk_match_origin(struct uk_schedule *s, const struct uk_stage *st, const struct uk_match *m,
                     struct uk_index **origin) {
    for (int v = 0; v < m->axes; v++)
        if (m->axis[v] && uk_may_begin_above_zero(st, m->axis[v]) &&
            !(origin[m->axis[v]->id] = uk_loop_begin(s, st, m->axis[v], origin)))
            return uk_out_of_memory(s->context), false;
    return true;
}

static struct uk_index *bind_sizes(struct uk_schedule *s, const struct uk_stage *st, const struct uk_match *m,
                                   const struct uk_index *e, struct uk_index *const *value) {
    struct uk_index *r = (struct uk_index *)e;

    for (const struct uk_var *v = m->intrinsic->declaration->sizes; v && r; v = v->next)
        if (uk_mentions(r, v)) {
            struct uk_index *x = uk_match_size(s, st, m, v->number, value);

            r = x ? uk_substitute(s->arena, r, v, x) : NULL;
        }
    return r;
}

static struct uk_index *extent_at(struct uk_schedule *s, const struct uk_stage *st, const struct uk_match *m,
                                  int axis, struct uk_index *const *value) {
    if (!m->axis[axis])
        return uk_index_int(s->arena, 1);
    struct uk_index *e = uk_tile_extent(s, st, m->axis[axis], value);
    int64_t f = m->multiple[axis];

    if (!f || !e)
        return e;
    struct uk_index *n = uk_index_int(s->arena, f);
    e = uk_index_op(s->arena, UK_I_ADD, e, uk_index_int(s->arena, f - 1));
    return uk_index_op(s->arena, UK_I_MUL, uk_index_op(s->arena, UK_I_DIV, e, n), n);
}

/* The value for a stride along which the nest makes no step: that of contiguous rows. */
static struct uk_index *contiguous(struct uk_schedule *s, const struct uk_stage *st, const struct uk_match *m,
                                   int tensor, int dim, struct uk_index *const *value) {
    const struct uk_tensor *t = m->intrinsic->declaration->tensors;

    while (tensor--)
        t = t->next;
    if (dim + 1 >= t->stored_dims)
        return uk_index_int(s->arena, 1);
    struct uk_index *n = bind_sizes(s, st, m, uk_stored_extent(t, dim + 1), value);
    return uk_index_op(s->arena, UK_I_MUL, n, bind_sizes(s, st, m, t->stride[dim + 1], value));
}

struct uk_index *uk_match_size(struct uk_schedule *s, const struct uk_stage *st, const struct uk_match *m,
                               int size, struct uk_index *const *value) {
    int axis = m->size[size].axis;

    switch (m->size[size].role) {
    case UK_SIZE_STRIDE:
        return uk_poly_index(s->arena, &m->size[size].value);
    case UK_SIZE_ANY_STRIDE:
        return contiguous(s, st, m, m->size[size].operand, axis, value);
    case UK_SIZE_EXTENT:
        return extent_at(s, st, m, axis, value);
    case UK_SIZE_BEFORE:
    case UK_SIZE_INSIDE:
        return uk_match_border_size(s, st, m, &m->size[size], value);
    default:
        return uk_match_valid_size(s, st, m, &m->size[size], value);
    }
}

/* Binds a size that is the extent of an axis, or of a dimension that is read under pad. False: it is
 * neither. */
static bool find_extent(struct uk_attempt *t, const struct uk_var *v) {
    for (int a = 0; a < t->ks->iterators; a++)
        if (t->ks->extent[a]->op == UK_I_VAR && t->ks->extent[a]->var == v) {
            t->m.size[v->number].role = UK_SIZE_EXTENT;
            t->m.size[v->number].axis = a;
            return true;
        }
    for (int i = 0; i < t->pairs; i++) {
        const struct uk_tensor *x = t->declared->operand[t->pair[i].declared].tensor;

        for (int d = 0; t->padded[t->pair[i].tensor] && d < x->stored_dims; d++) {
            const int64_t *c = t->declared->operand[t->pair[i].declared].index[d].coefficient;

            if (x->shape[d]->op != UK_I_VAR || x->shape[d]->var != v)
                continue;
            for (int a = 0; a < t->ks->iterators; a++)
                if (c[a] == 1 && t->m.axis[a]) {
                    t->m.size[v->number].role = UK_SIZE_VALID;
                    t->m.size[v->number].axis = a;
                    t->m.size[v->number].operand = t->pair[i].operand;
                    return uk_match_keep_sum(t, v, c);
                }
        }
    }
    return false;
}

/* True if the axis, divided by the layout into groups, is one group: its quotient is 0. */
static bool is_one_group(const struct uk_attempt *t, int axis) {
    const int64_t most = uk_match_max_extent(t, axis);

    return t->divisor[axis] && most && most <= t->divisor[axis];
}

/* Binds a size that is a stride along which the nest makes no step. False: it is not. */
static bool is_any_stride(struct uk_attempt *t, const struct uk_var *v) {
    for (int i = 0; i < t->pairs; i++) {
        const struct uk_operand *o = &t->declared->operand[t->pair[i].declared];

        for (int d = 0; d < o->tensor->stored_dims; d++) {
            bool steps = false;

            if (o->tensor->stride[d]->op != UK_I_VAR || o->tensor->stride[d]->var != v)
                continue;
            for (int a = 0; a < t->ks->iterators; a++)
                steps |= t->m.axis[a] && ((o->index[d].coefficient[a] && !is_one_group(t, a)) ||
                                          o->index[d].coefficient[t->ks->iterators + a]);
            if (steps)
                continue;
            t->m.size[v->number].role = UK_SIZE_ANY_STRIDE;
            t->m.size[v->number].operand = t->pair[i].tensor;
            t->m.size[v->number].axis = d;
            return true;
        }
    }
    return false;
}

bool uk_match_roles(struct uk_attempt *t) {
    for (const struct uk_var *v = t->k->declaration->sizes; v; v = v->next) {
        t->m.size[v->number].role = UK_SIZE_STRIDE;
        if (find_extent(t, v) || uk_match_find_border(t, v) || t->m.size[v->number].bound ||
            is_any_stride(t, v))
            continue;
        t->m.size[v->number].role = UK_SIZE_UNUSED;
        if (t->k->declaration->statements == t->k->computes)
            return uk_record_difference(t, "the kernel's size %s cannot be determined from this nest",
                                        v->name);
    }
    return true;
}

/* True if the loop was split by n: it has n values, except where the program's extents end earlier. */
static bool is_split_by(const struct uk_attempt *t, const struct uk_loop *l, int64_t n) {
    for (int b = 0; b < t->st->bounds; b++) {
        const struct uk_bound *of = &t->st->bound[b];
        int64_t upper;
        bool alone = of->form.coefficient[l->id] == 1 && !of->is_guard;

        for (int i = 0; i < t->st->loops; i++)
            alone &= t->st->loop[i] == l || !of->form.coefficient[t->st->loop[i]->id];
        if (alone && uk_index_is_int(of->upper, &upper) && upper == n)
            return true;
    }
    return false;
}

static bool check_extents(struct uk_attempt *t) {
    struct uk_index *value[UK_MAX_LOOPS] = {0};
    struct uk_arena *a = t->s->arena;

    outer_values(t, value);
    for (int v = 0; v < t->ks->iterators; v++) {
        const struct uk_loop *l = t->m.axis[v];
        struct uk_index *e = l ? uk_tile_extent(t->s, t->st, l, value) : uk_index_int(a, 1);
        int64_t c;

        if (!e)
            return uk_record_difference(t, "loop %s has no known bound", l->var->name);
        if (!uk_index_is_int(t->ks->extent[v], &t->m.fixed_extent[v]))
            continue;
        t->m.has_fixed_extent[v] =
            uk_index_is_int(e, &c)
                ? c == t->m.fixed_extent[v]
                : uk_proves(t->s, t->st, t->tile, uk_index_op(a, UK_I_EQ, e, t->ks->extent[v]));
        if (!l && !t->m.has_fixed_extent[v])
            return uk_record_difference(
                t, "%s takes exactly %lld along %s, and no loop of the nest is it; split one by %lld",
                t->k->name, (long long)t->m.fixed_extent[v], t->ks->iterator[v]->name,
                (long long)t->m.fixed_extent[v]);
        const int64_t most = l ? uk_constant_extent(t->st, l) : 1;
        if (!t->m.has_fixed_extent[v] && most != t->m.fixed_extent[v] &&
            !is_split_by(t, l, t->m.fixed_extent[v]))
            return uk_record_difference(
                t, "%s takes exactly %lld along %s, the loop %s has %s%.0lld; split it by %lld", t->k->name,
                (long long)t->m.fixed_extent[v], t->ks->iterator[v]->name, l->var->name,
                most < 0 ? "no constant extent" : "at most ", most < 0 ? 0LL : (long long)most,
                (long long)t->m.fixed_extent[v]);
        t->m.has_partial_tiles |= !t->m.has_fixed_extent[v];
    }
    return true;
}

/* True if e <= c because e is a number at most c, or a minimum with such an operand, less a maximum with a
 * number >= 0; without asking isl. */
static bool least_is_at_most(const struct uk_index *e, int64_t c) {
    int64_t n;

    if (uk_index_is_int(e, &n))
        return n <= c;
    if (e->op == UK_I_SUB && e->b->op == UK_I_MAX && uk_index_is_int(e->b->a, &n) && n >= 0)
        return least_is_at_most(e->a, c);
    return e->op == UK_I_MIN && (least_is_at_most(e->a, c) || least_is_at_most(e->b, c));
}

/* True if the relation is `1 <= I` or `I >= 1` for the extent I of an axis, which holds because every tile
 * has an instance. *of_sum: the axis is summed. */
static bool is_trivial(const struct uk_attempt *t, const struct uk_index *r, bool *of_sum) {
    const struct uk_index *v = r->op == UK_I_LE ? r->b : r->op == UK_I_GE ? r->a : NULL;
    const struct uk_index *one = r->op == UK_I_LE ? r->a : r->b;
    int64_t c;

    if (!v || v->op != UK_I_VAR || !uk_index_is_int(one, &c) || c > 1 ||
        t->m.size[v->var->number].role != UK_SIZE_EXTENT)
        return false;
    *of_sum = t->m.size[v->var->number].axis >= t->ks->left_iterators;
    return true;
}

int uk_match_divisible_axis(const struct uk_attempt *t, const struct uk_index *r, int64_t *c) {
    int64_t zero;

    if (r->op != UK_I_EQ || r->a->op != UK_I_MOD || r->a->a->op != UK_I_VAR || !uk_index_is_int(r->a->b, c) ||
        !uk_index_is_int(r->b, &zero) || zero || t->m.size[r->a->a->var->number].role != UK_SIZE_EXTENT)
        return -1;
    int axis = t->m.size[r->a->a->var->number].axis;
    return axis >= t->ks->left_iterators ? axis : -1;
}

/* Fulfils such a relation by rounding the extent up, if the terms that this adds are 0. */
static bool extend(struct uk_attempt *t, const struct uk_index *r) {
    int64_t c;
    int axis = uk_match_divisible_axis(t, r, &c);

    if (axis < 0 || !uk_match_may_extend(t, axis, c))
        return false;
    t->m.multiple[axis] = c;
    return true;
}

/* Puts the relation with the nest's values in it; or, if that is only a number, the value of each size in
 * it. */
static void put_sizes(struct uk_attempt *t, const struct uk_index *want, const struct uk_index *have,
                      struct uk_index *const *value, struct uk_text *text) {
    const char *before = "";

    if (!uk_index_is_int(have, NULL)) {
        uk_print_index(text, have);
        return;
    }
    for (const struct uk_var *v = t->k->declaration->sizes; v; v = v->next) {
        const struct uk_index *x =
            uk_mentions(want, v) ? uk_match_size(t->s, t->st, &t->m, v->number, value) : NULL;

        if (!x)
            continue;
        uk_put(text, "%s%s is ", before, v->name);
        uk_print_index(text, x);
        before = ", ";
    }
}

static bool broken_assumption(struct uk_attempt *t, const struct uk_index *want, const struct uk_index *have,
                              struct uk_index *const *value) {
    struct uk_text w = {0}, h = {0};
    int64_t c;
    int axis = uk_match_divisible_axis(t, want, &c);
    const struct uk_index *most =
        (want->op == UK_I_LE || want->op == UK_I_EQ) && want->a->op == UK_I_VAR ? want->a : NULL;
    const struct uk_loop *l = NULL;

    uk_print_index(&w, want);
    put_sizes(t, want, have, value, &h);
    if (most && t->m.size[most->var->number].role == UK_SIZE_EXTENT && uk_index_is_int(want->b, &c))
        l = t->m.axis[t->m.size[most->var->number].axis];
    if (l)
        uk_record_difference(
            t, "the kernel assumes %s, which does not hold for every tile: %s; split %s by %lld",
            w.text ? w.text : "?", h.text ? h.text : "?", l->var->name, (long long)c);
    else
        uk_record_difference(t, "the kernel assumes %s, which does not hold for every tile: %s%s",
                             w.text ? w.text : "?", h.text ? h.text : "?",
                             axis < 0 ? ""
                             : (!t->m.axis[axis] || uk_constant_extent(t->st, t->m.axis[axis]) >= 0)
                                 ? "; pack the factors, which pads them with 0"
                                 : "; `assume` it of the size, or pack the factors, which pads them with 0");
    uk_text_free(w.text);
    uk_text_free(h.text);
    return false;
}

static bool check_assumptions(struct uk_attempt *t) {
    struct uk_index *value[UK_MAX_LOOPS] = {0};

    outer_values(t, value);
    for (const struct uk_assume *a = t->k->declaration->assumes; a; a = a->next) {
        bool of_sum = false, elsewhere = false;
        int64_t c;

        for (const struct uk_var *v = t->k->declaration->sizes; v; v = v->next)
            elsewhere |= t->m.size[v->number].role == UK_SIZE_UNUSED && uk_mentions(a->relation, v);
        if (elsewhere)
            continue;
        if (is_trivial(t, a->relation, &of_sum)) {
            t->m.begins_sums &= !of_sum; /* the kernel cannot initialize an empty sum, a call with 0 */
            continue;
        }
        struct uk_index *r = bind_sizes(t->s, t->st, &t->m, a->relation, value);
        if (!r)
            return false;
        if (r->op == UK_I_LE && uk_index_is_int(r->b, &c) && least_is_at_most(r->a, c))
            continue;
        if (uk_proves(t->s, t->st, t->tile, r) || extend(t, a->relation))
            continue;
        return broken_assumption(t, a->relation, r, value);
    }
    return true;
}

bool uk_match_tiles(struct uk_attempt *t) {
    if (!is_box(t, t->st->bound, t->st->bounds, 0))
        return false;
    for (int o = 0; o < t->st->operands; o++)
        if (!is_box(t, t->st->operand[o].within, t->st->operand[o].valid, o) ||
            !uk_match_check_copy_source(t, o))
            return false;
    if (!uk_match_pads(t) || !check_extents(t) || !check_assumptions(t))
        return false;
    for (int i = 0; i < t->pairs; i++)
        if (!uk_match_check_over(t, &t->pair[i]))
            return false;
    for (int n = 0; n < t->m.tensors; n++)
        if (t->first[n] >= 0 && !uk_match_check_alignment(t, n))
            return false;
    return true;
}
