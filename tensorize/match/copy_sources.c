/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sources of copies, which are read under pad: the number of indices inside the source along an axis, or
 * along a sum of axes by which a declaration indexes it, as in s[i, 8*g + p]. A bound on that sum does not
 * keep the tile from being a box, because the kernel stores the pad's value beyond it.
 */
#include <string.h>
#include "attempt.h"

static int64_t factor_of(const struct uk_affine *f, const struct uk_loop *l) {
    return l ? f->coefficient[l->id] : 0;
}

/* True if the form of a bound is the sum of axes that the size bounds, or a positive multiple of it. */
static bool bounds_sum(const struct uk_match *m, const struct uk_size_binding *size,
                       const struct uk_affine *bound) {
    const int64_t f = factor_of(bound, m->axis[size->axis]);
    bool same = size->sum && f > 0;

    for (int a = 0; a < m->axes && same; a++)
        same = !m->axis[a] || factor_of(bound, m->axis[a]) == f * size->sum->coefficient[a];
    return same;
}

bool uk_match_ends_sum(const struct uk_attempt *t, int operand, const struct uk_affine *bound) {
    for (int i = 0; i < t->m.sizes; i++)
        if (t->m.size[i].role == UK_SIZE_VALID && t->m.size[i].operand == operand &&
            bounds_sum(&t->m, &t->m.size[i], bound))
            return true;
    return false;
}

/* The number of values of the sum in the tile: 1 + the sum of coefficient * (extent - 1). */
static struct uk_index *extent_of_sum(struct uk_schedule *s, const struct uk_stage *st,
                                      const struct uk_match *m, const struct uk_affine *sum,
                                      struct uk_index *const *value) {
    struct uk_index *n = uk_index_int(s->arena, 1);

    for (int a = 0; a < m->axes && n; a++) {
        struct uk_index *steps =
            m->axis[a] ? uk_loop_end(s, st, m->axis[a], value) : uk_index_int(s->arena, 1);

        steps = uk_index_op(s->arena, UK_I_SUB, steps, uk_index_int(s->arena, 1));
        steps = uk_index_op(s->arena, UK_I_MUL, uk_index_int(s->arena, sum->coefficient[a]), steps);
        n = uk_index_op(s->arena, UK_I_ADD, n, steps);
    }
    return n;
}

struct uk_index *uk_match_valid_size(struct uk_schedule *s, const struct uk_stage *st,
                                     const struct uk_match *m, const struct uk_size_binding *size,
                                     struct uk_index *const *value) {
    const struct uk_operand *o = &st->operand[size->operand];
    const struct uk_loop *l = m->axis[size->axis];
    struct uk_index *all, *valid = NULL;

    if (!size->sum) {
        all = uk_loop_end(s, st, l, value);
        valid = uk_loop_end_within(s, st, o->within, o->valid, l, value);
        return valid && all ? uk_index_op(s->arena, UK_I_MIN, all, valid) : all;
    }
    /* The value may exceed the tile's last index; the kernel stops at its extents. */
    for (int b = 0; b < o->valid; b++)
        if (bounds_sum(m, size, &o->within[b].form)) {
            struct uk_index *x = uk_loop_end_within(s, st, &o->within[b], 1, l, value);

            valid = valid && x ? uk_index_op(s->arena, UK_I_MIN, valid, x) : x;
        }
    return valid ? valid : extent_of_sum(s, st, m, size->sum, value);
}

bool uk_match_keep_sum(struct uk_attempt *t, const struct uk_var *v, const int64_t *coefficient) {
    struct uk_affine *sum;
    int axes = 0;

    for (int a = 0; a < t->ks->iterators; a++)
        axes += coefficient[a] && t->m.axis[a];
    if (axes < 2)
        return true;
    if (!(sum = uk_alloc(t->s->arena, sizeof *sum)))
        return uk_out_of_memory(t->s->context), false;
    memcpy(sum->coefficient, coefficient, sizeof sum->coefficient);
    t->m.size[v->number].sum = sum;
    return true;
}

bool uk_match_check_copy_source(struct uk_attempt *t, int operand) {
    const struct uk_operand *o = &t->st->operand[operand];
    struct uk_index *value[UK_MAX_LOOPS] = {0};

    for (int i = 0; i < t->st->loops; i++)
        value[t->st->loop[i]->id] = uk_index_var(t->s->arena, t->st->loop[i]->var);
    for (int b = 0; b < o->valid; b++) {
        bool stored = false;

        for (int i = 0; i < t->m.sizes; i++)
            stored |=
                t->m.size[i].role == UK_SIZE_VALID && t->m.size[i].operand == operand &&
                (t->m.size[i].sum ? bounds_sum(&t->m, &t->m.size[i], &o->within[b].form)
                                  : o->within[b].form.coefficient[t->m.axis[t->m.size[i].axis]->id] > 0);
        if (stored)
            continue;
        struct uk_index *x = uk_affine_value(t->s, t->st, &o->within[b].form, value);
        if (!uk_proves(t->s, t->st, t->st->loops, uk_index_op(t->s->arena, UK_I_LT, x, o->within[b].upper)))
            return uk_record_difference(
                t, "%s is read outside of its shape, and %s does not store the value that is read there",
                o->tensor->name, t->k->name);
    }
    return true;
}
