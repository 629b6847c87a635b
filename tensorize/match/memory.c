/* SPDX-License-Identifier: Apache-2.0 */
/* Conditions on the memory that a kernel reads, for every tile of a match: it exists, also beyond the tile,
 * and is aligned. */
#include "attempt.h"

/* True if the elements [0, over) along the axis are in memory, as the lanes of a packed panel are. */
static bool has_room(const struct uk_attempt *t, const struct uk_operand *o, int axis, int64_t over) {
    int64_t room;

    if (!t->m.axis[axis] || t->divisor[axis])
        return over <= 1;
    for (int q = 0; q < o->tensor->stored_dims; q++) {
        const struct uk_affine *f = &o->index[q];
        int64_t c = f->coefficient[t->m.axis[axis]->id];
        bool alone = !f->rest;

        for (int i = 0; i < t->view->loops; i++)
            alone &= t->view->loop[i] == t->m.axis[axis] || !f->coefficient[t->view->loop[i]->id];
        if (c &&
            (!alone || !uk_index_is_int(uk_stored_extent(o->tensor, q), &room) || c * (over - 1) >= room))
            return false;
    }
    return true;
}

bool uk_match_check_over(struct uk_attempt *t, const struct uk_pair *p) {
    const struct uk_operand *k = &t->declared->operand[p->declared], *o = &t->view->operand[p->operand];
    const struct uk_access *a = k->expr ? &k->expr->access : &t->ks->left;

    for (int d = 0; a->tensor->has_over && d < a->tensor->dims; d++) {
        int64_t over;
        int axis = 0;

        if (uk_index_equal(a->tensor->over[d], a->tensor->shape[d]) || a->index[d]->op != UK_I_VAR)
            continue;
        while (axis < t->ks->iterators && t->ks->iterator[axis] != a->index[d]->var)
            axis++;
        if (axis < t->ks->iterators && t->m.axis[axis] && uk_may_begin_above_zero(t->st, t->m.axis[axis]))
            return uk_record_difference(
                t, "%s: `where` or pad lets tiles begin inside a panel of it, and %s reads whole panels",
                o->tensor->name, t->k->name);
        if (axis == t->ks->iterators || !uk_index_is_int(a->tensor->over[d], &over))
            return uk_record_difference(t, "%s: `over` of the kernel is not a constant", o->tensor->name);
        if (has_room(t, o, axis, over))
            continue;
        const char *step = uk_pack_step(t, p->operand, &(struct uk_panel){.width = over, .lane = axis});
        return uk_record_difference(
            t, "%s: %s always reads %lld elements along %s, even for a smaller tile%s%s", o->tensor->name,
            t->k->name, (long long)over, t->ks->iterator[axis]->name, *step ? "; " : "", step);
    }
    return true;
}

static int64_t common_divisor(int64_t a, int64_t b) {
    return b ? common_divisor(b, a % b) : a;
}

/* True if p * bytes is a multiple of `of` for all sizes. In each term the constant factor is, or an atom that
 * assumptions make a multiple of what is missing. */
static bool is_multiple(struct uk_attempt *t, const struct uk_poly *p, int64_t bytes, int64_t of) {
    struct uk_arena *a = t->s->arena;

    for (int i = 0; i < p->terms; i++) {
        int64_t rest = p->term[i].factor % of * bytes % of;
        bool multiple = rest == 0;
        struct uk_index *need = uk_index_int(a, of / common_divisor(of, rest < 0 ? -rest : rest));

        for (int k = 0; k < p->term[i].atoms && !multiple; k++)
            multiple = uk_proves(
                t->s, t->st, t->tile,
                uk_index_op(a, UK_I_EQ, uk_index_op(a, UK_I_MOD, (struct uk_index *)p->term[i].atom[k], need),
                            uk_index_int(a, 0)));
        if (!multiple)
            return false;
    }
    return p->terms >= 0;
}

/* True if steps along the loop keep the alignment. An index that is not affine may have any value; its stride
 * is checked by is_aligned_at_zero. */
static bool is_aligned_along(struct uk_attempt *t, const struct uk_operand *o, const struct uk_loop *l,
                             int64_t bytes, int64_t want) {
    struct uk_poly sum = {0};

    for (int d = 0; d < o->tensor->stored_dims; d++) {
        struct uk_poly stride = uk_poly_of(o->tensor->stride[d]);

        if (!o->index[d].general)
            sum = uk_poly_add(sum, &stride, o->index[d].coefficient[l->id]);
    }
    return is_multiple(t, &sum, bytes, want);
}

static bool is_aligned_at_zero(struct uk_attempt *t, const struct uk_operand *o, int64_t bytes,
                               int64_t want) {
    for (int d = 0; d < o->tensor->stored_dims; d++) {
        struct uk_poly rest = o->index[d].rest ? uk_poly_of(o->index[d].rest) : (struct uk_poly){0};
        struct uk_poly stride = uk_poly_of(o->tensor->stride[d]);

        rest = uk_poly_multiply(&rest, &stride);
        if (!is_multiple(t, o->index[d].general ? &stride : &rest, bytes, want))
            return false;
    }
    return true;
}

bool uk_match_check_alignment(struct uk_attempt *t, int tensor) {
    const struct uk_operand *o = uk_match_operand(t, tensor);
    const int64_t want = uk_match_declared_operand(t, tensor)->tensor->align,
                  bytes = (int64_t)uk_type_bytes(o->tensor->type);
    bool aligned = o->tensor->align && o->tensor->align % (want ? want : 1) == 0;

    if (want <= bytes)
        return true;
    for (int i = 0; i < t->tile && aligned; i++)
        aligned = is_aligned_along(t, o, t->st->loop[i], bytes, want);
    for (int v = 0; v < t->m.axes && aligned; v++)
        if (t->m.axis[v] && uk_may_begin_above_zero(t->st, t->m.axis[v]))
            aligned = is_aligned_along(t, o, t->m.axis[v], bytes, want);
    if (aligned && is_aligned_at_zero(t, o, bytes, want))
        return true;
    if (o->tensor->scope != UK_SCOPE_GLOBAL)
        return uk_record_difference(
            t,
            "%s: cannot prove that every tile is aligned to %lld bytes; keep groups of %lld elements "
            "together in its layout, with strides that are multiples of them",
            o->tensor->name, (long long)want, (long long)(want / bytes));
    return uk_record_difference(
        t,
        "%s: cannot prove that every tile is aligned to %lld bytes; state `align %lld` and strides "
        "that keep it, or pack it",
        o->tensor->name, (long long)want, (long long)want);
}

/* A pad of the program, unlike that of a copy, has no bounds that a kernel could take as sizes, so it must be
 * inside everywhere. */
static bool check_pad(struct uk_attempt *t, const struct uk_operand *o) {
    struct uk_arena *a = t->s->arena;
    struct uk_index *value[UK_MAX_LOOPS] = {0};

    for (int i = 0; i < t->st->loops; i++)
        value[t->st->loop[i]->id] = uk_index_var(a, t->st->loop[i]->var);
    for (int d = 0; d < o->tensor->stored_dims && o->pad == UK_PAD_VALUE && !t->st->is_copy; d++) {
        struct uk_index *x = uk_affine_value(t->s, t->st, &o->index[d], value);
        struct uk_index *inside = uk_index_op(a, UK_I_AND, uk_index_op(a, UK_I_GE, x, uk_index_int(a, 0)),
                                              uk_index_op(a, UK_I_LT, x, o->tensor->stored[d]));

        if (!uk_proves(t->s, t->st, t->st->loops, inside))
            return uk_record_difference(
                t, "%s may be read outside of its shape, and %s does not store the value that is read there",
                o->tensor->name, t->k->name);
    }
    return true;
}

bool uk_match_pads(struct uk_attempt *t) {
    for (int o = 1; o < t->st->operands; o++)
        if (!check_pad(t, &t->st->operand[o]))
            return false;
    return true;
}
