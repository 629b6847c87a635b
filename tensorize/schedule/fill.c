/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Full tiles: buffers of a block are filled with zeros beyond the end of the tensor, so that loops of a stage
 * that reads only such buffers and writes another one can run to constants. Values computed beyond the end
 * are not stored.
 */
#include "schedule.h"

static bool is_local(const struct uk_tensor *t) {
    return t->scope != UK_SCOPE_GLOBAL;
}

/* The copy that fills the tensor with zeros beyond the end, or NULL. */
static const struct uk_stage *filling(const struct uk_schedule *s, const struct uk_tensor *t) {
    for (const struct uk_stage *c = s->stages; c; c = c->next)
        if (c->is_copy && c->operand[0].tensor == t && is_local(t) && !c->copied->outside)
            return c;
    return NULL;
}

/* True if the operand, beyond the end of loop l's range, is a zero from such a copy. */
static bool is_zero_beyond(const struct uk_schedule *s, const struct uk_operand *o, const struct uk_loop *l) {
    const struct uk_stage *c = filling(s, o->tensor);

    return c && (uk_depends(o, l) || is_zero_beyond(s, &c->operand[1], l));
}

/* The operand that the expression is, possibly under casts; or NULL. */
static const struct uk_operand *operand_of(const struct uk_stage *st, const struct uk_expr *e) {
    while (e->op == UK_E_CAST)
        e = e->arg[0];
    for (int o = 1; o < st->operands; o++)
        if (st->operand[o].expr == e)
            return &st->operand[o];
    return NULL;
}

/* True if terms beyond the end of l add 0: each is a zero, or a product of two zeros. One zero factor is not
 * enough: the other could be infinite. */
static bool adds_zero(const struct uk_schedule *s, const struct uk_stage *st, const struct uk_loop *l) {
    const struct uk_expr *e = st->statement->right;
    const int n = e->op == UK_E_MUL ? 2 : 1;

    if (st->statement->reduce != UK_REDUCE_SUM)
        return false;
    for (int i = 0; i < n; i++) {
        const struct uk_operand *o = operand_of(st, n > 1 ? e->arg[i] : e);

        if (!o || !is_zero_beyond(s, o, l))
            return false;
    }
    return true;
}

/* Numbers of a stage's loops outside its buffers: outside the first copy, and outside the last one from
 * global memory, which runs only in iterations that the bounds of these loops allow. */
struct inside {
    int first, last;
};

/* True if the buffers have room beyond a constant bound: the bounded index restarts in each block or, if l is
 * a loop of a sum, in each copy, and a buffer is as large as one such range. */
static bool has_room(const struct uk_stage *st, const struct uk_bound *b, const struct uk_loop *l,
                     const struct inside *in) {
    if (!uk_index_is_int(b->upper, NULL))
        return true;
    for (int i = 0; i < st->loops; i++)
        if (b->form.coefficient[st->loop[i]->id] > 0 &&
            (st->loop[i]->kind == UK_LOOP_BLOCK || (uk_is_reduced(st, l) && i < in->first)))
            return true;
    return false;
}

/* True if `extent` iterations of the loop leave a dimension of a buffer. With fewer iterations an index as p
 * % 8 has been simplified to p, which does not hold beyond them: a sum would have other terms. */
static bool leaves_buffer(const struct uk_stage *st, const struct uk_loop *l, int64_t extent) {
    int64_t n;

    for (int o = 0; o < st->operands; o++)
        for (int d = 0; d < st->operand[o].tensor->stored_dims; d++)
            if (st->operand[o].tensor->scope == UK_SCOPE_SHARED &&
                uk_index_is_int(st->operand[o].tensor->stored[d], &n) &&
                st->operand[o].index[d].coefficient[l->id] * (extent - 1) >= n)
                return true;
    return false;
}

/* Lets the stage's own loops from `last` on run to their constant extents. */
static void raise_bound(const struct uk_schedule *s, const struct uk_stage *st, struct uk_bound *b,
                        const struct inside *in) {
    for (int i = in->last; i < st->loops && !b->is_guard; i++) {
        const struct uk_loop *l = st->loop[i];
        const int64_t c = b->form.coefficient[l->id];

        if (c <= 0 || !has_room(st, b, l, in) || (uk_is_reduced(st, l) && !adds_zero(s, st, l)))
            continue;
        b->form.coefficient[l->id] = 0;
        const int64_t extent = uk_constant_extent(st, l);
        if (extent < 0 || (uk_is_reduced(st, l) && leaves_buffer(st, l, extent)))
            b->form.coefficient[l->id] = c;
    }
}

/* Numbers of loops outside the buffers that are filled inside the stage. */
static struct inside filled_inside(const struct uk_schedule *s, const struct uk_stage *st) {
    struct inside in = {.first = st->loops, .last = st->is_copy ? 0 : st->prefix};

    for (const struct uk_stage *c = s->stages; c; c = c->next)
        for (const struct uk_stage *at = st; at && c->is_copy && is_local(c->operand[0].tensor);
             at = at->parent) {
            if (c->parent != at || c == st || c->prefix > st->loops)
                continue;
            in.first = c->prefix < in.first ? c->prefix : in.first;
            if (!is_local(c->operand[1].tensor))
                in.last = c->prefix > in.last ? c->prefix : in.last;
        }
    return in;
}

/* Removes the conditions on the tensor's end: a copy of a filled buffer copies everything in it. */
static void drop_edges(struct uk_operand *o) {
    int kept = 0;

    for (int b = 0; b < o->valid; b++)
        if (uk_index_is_int(o->within[b].upper, NULL))
            o->within[kept++] = o->within[b];
    o->valid = kept;
}

/* True if all that the stage touches is memory of a block. */
static bool is_all_local(const struct uk_stage *st) {
    bool local = st->operands > 1 && !st->is_filtered && !st->previous;

    for (int o = 0; o < st->operands; o++)
        local &= is_local(st->operand[o].tensor);
    return local;
}

void uk_fill_stage(const struct uk_schedule *s, struct uk_stage *st) {
    const struct inside in = filled_inside(s, st);
    const bool local = is_all_local(st);

    for (int b = 0; b < st->bounds && local; b++)
        raise_bound(s, st, &st->bound[b], &in);
    if (local && st->is_copy)
        drop_edges(&st->operand[1]);
}

/* Raises the bounds of all stages. Conditions on sizes are derived first, from the bounds as written. */
enum uk_status uk_fill_tiles(struct uk_schedule *s) {
    for (struct uk_stage *st = s->stages; st; st = st->next) {
        enum uk_status status = UK_OK;

        if (is_all_local(st) && !st->is_copy && !st->inside)
            status = uk_inside_condition(s, st, &st->inside);
        if (status)
            return status;
        uk_fill_stage(s, st);
    }
    return UK_OK;
}
