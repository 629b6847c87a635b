/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gives both sides of a match the same loops. The declaration becomes a stage whose loops are its axes. An
 * axis that a layout divides (p / 4, p % 4) becomes two loops, and the nest's loop for it is split in the
 * same way, so that addresses are sums of loops on both sides.
 */
#include <string.h>
#include "attempt.h"

/* ---- the declaration as a stage ---- */

static int axis_of(const struct uk_statement *s, const struct uk_index *e) {
    for (int a = 0; e->op == UK_I_VAR && a < s->iterators; a++)
        if (s->iterator[a] == e->var)
            return a;
    return -1;
}

/* Sets t->divisor of the axes that e divides. */
static bool find_divisors(struct uk_attempt *t, const struct uk_index *e) {
    int64_t f;

    if (!e)
        return true;
    if (e->op == UK_I_DIV || e->op == UK_I_MOD) {
        int a = axis_of(t->ks, e->a);

        if (a < 0 || !uk_index_is_int(e->b, &f) || f < 2)
            return uk_record_difference(
                t, "the declaration divides an expression that is not an iterator, or by a number below 2");
        if (t->divisor[a] && t->divisor[a] != f)
            return uk_record_difference(
                t, "the declaration divides %s by %lld and by %lld; one number is matched",
                t->ks->iterator[a]->name, (long long)t->divisor[a], (long long)f);
        t->divisor[a] = f;
        return true;
    }
    return find_divisors(t, e->a) && find_divisors(t, e->b);
}

static bool add_access(struct uk_attempt *t, const struct uk_access *a, const struct uk_expr *e) {
    struct uk_stage *d = t->declared;

    if (d->operands == UK_MAX_OPERANDS)
        return uk_record_difference(t, "the declaration has more than %d accesses", UK_MAX_OPERANDS);
    struct uk_operand *o = &d->operand[d->operands++];
    *o = (struct uk_operand){.tensor = a->tensor, .expr = e};
    if (a->tensor->layout && a->tensor->layout->lane)
        return uk_record_difference(
            t,
            "%s is spread over the lanes of a wave; only the output of a kernel with `scope "
            "wave` can be",
            a->tensor->name);
    for (int i = 0; i < a->tensor->stored_dims; i++)
        if (!find_divisors(t, uk_stored_index(t->s->arena, a, i)))
            return false;
    return true;
}

static bool add_accesses(struct uk_attempt *t, const struct uk_expr *e) {
    if (e->op == UK_E_ACCESS)
        return add_access(t, &e->access, e);
    for (int i = 0; i < 3; i++)
        if (e->arg[i] && !add_accesses(t, e->arg[i]))
            return false;
    return true;
}

static void add_loop(struct uk_stage *d, struct uk_loop *l, int id, struct uk_var *v, int iterator) {
    *l = (struct uk_loop){.id = id, .var = v, .iterator = iterator, .stage = d};
    d->loop[d->loops++] = l;
}

static bool add_axes(struct uk_attempt *t) {
    struct uk_stage *d = t->declared;
    struct uk_loop *loop = uk_alloc(t->s->arena, 2 * sizeof *loop * (size_t)(t->ks->iterators + 1));
    int n = t->ks->iterators;

    if (!loop)
        return uk_out_of_memory(t->s->context), false;
    for (int a = 0; a < n; a++) {
        int64_t f = t->divisor[a];

        add_loop(d, &loop[a], a, t->ks->iterator[a], a);
        d->iterator[a].coefficient[a] = f ? f : 1;
        if (!f)
            continue;
        add_loop(d, &loop[n + a], n + a, t->ks->iterator[a], a);
        d->iterator[a].coefficient[n + a] = 1;
        d->bound[d->bounds].form.coefficient[n + a] = 1;
        if (!(d->bound[d->bounds++].upper = uk_index_int(t->s->arena, f)))
            return uk_out_of_memory(t->s->context), false;
    }
    d->iterators = n;
    d->tile = d->loops;
    return true;
}

static bool index_operands(struct uk_attempt *t) {
    struct uk_stage *d = t->declared;

    for (int o = 0; o < d->operands; o++) {
        const struct uk_access *a = o ? &d->operand[o].expr->access : &t->ks->left;

        for (int i = 0; i < a->tensor->stored_dims; i++) {
            struct uk_affine *f = &d->operand[o].index[i];

            if (uk_affine_of(t->s, d, uk_stored_index(t->s->arena, a, i), f))
                return false;
            if (f->general)
                return uk_record_difference(
                    t, "%s: an index of the declaration is not a sum of its iterators", a->tensor->name);
        }
    }
    return true;
}

bool uk_match_declare(struct uk_attempt *t) {
    struct uk_stage *d = t->declared;

    memset(d, 0, sizeof *d);
    d->name = t->k->name;
    d->statement = (struct uk_statement *)t->ks;
    return add_access(t, &t->ks->left, NULL) && add_accesses(t, t->ks->right) && add_axes(t) &&
           index_operands(t);
}

/* ---- the nest ---- */

bool uk_match_divide(struct uk_attempt *t, int axis, const struct uk_loop *l) {
    struct uk_schedule *s = t->s;
    int64_t f = t->divisor[axis];
    int at = uk_loop_position(t->view, l);
    struct uk_stage *v;

    if (__builtin_popcountll(t->view->kept_ids) + t->view->loops + 2 > UK_MAX_LOOPS ||
        s->all_loops + 2 > UK_MAX_ALL_LOOPS)
        return uk_record_difference(t, "the schedule has too many loops to divide %s by %lld", l->var->name,
                                    (long long)f);
    if (uk_may_begin_above_zero(t->st, l))
        return uk_record_difference(
            t, "`where` or pad lets tiles begin inside a group of %lld iterations of loop %s", (long long)f,
            l->var->name);
    if (!(v = uk_alloc(s->arena, sizeof *v)))
        return uk_out_of_memory(s->context), false;
    *v = *t->view;
    v->kept_ids |= (uint64_t)1 << l->id; /* forms of the original stage still use it */
    if (!uk_loop_divide(s, v, at, l->var->name, l->var->name))
        return false;
    struct uk_loop *outer = v->loop[at], *inner = v->loop[at + 1];
    for (int i = 0; i < v->bounds; i++)
        if (!uk_affine_split(s, &v->bound[i].form, l, f, outer, inner))
            return false;
    struct uk_affine rest = {0};
    rest.coefficient[inner->id] = 1;
    if (uk_add_bound(s, v, &rest, uk_index_int(s->arena, f)))
        return false;
    for (int i = 0; i < v->iterators; i++)
        if (!uk_affine_split(s, &v->iterator[i], l, f, outer, inner))
            return false;
    for (int o = 0; o < v->operands; o++)
        for (int d = 0; d < v->operand[o].tensor->stored_dims; d++)
            if (!uk_affine_split(s, &v->operand[o].index[d], l, f, outer, inner))
                return false;
    /* A loop with the single value 0 does not change addresses. */
    for (int o = 0; o < v->operands && !t->fit && uk_constant_extent(v, outer) == 1; o++)
        for (int d = 0; d < v->operand[o].tensor->stored_dims; d++)
            v->operand[o].index[d].coefficient[outer->id] = 0;
    t->view = v;
    t->quotient[axis] = outer;
    t->remainder[axis] = inner;
    return true;
}

bool uk_match_is_divided(const struct uk_attempt *t) {
    bool any = false;

    for (int a = 0; a < t->ks->iterators; a++)
        any |= t->divisor[a] > 0;
    return any;
}

/* ---- zero extension ---- */

/* True if some stored dimension holds all remainders of the axis, so that whole groups are in memory. */
static bool has_whole_groups(const struct uk_operand *o, const struct uk_loop *remainder, int64_t f) {
    for (int d = 0; d < o->tensor->stored_dims; d++) {
        bool alone = !o->index[d].rest && o->index[d].coefficient[remainder->id] == 1;
        int64_t n;

        for (int l = 0; l < UK_MAX_LOOPS; l++)
            alone &= l == remainder->id || !o->index[d].coefficient[l];
        if (alone && uk_index_is_int(uk_stored_extent(o->tensor, d), &n) && n >= f)
            return true;
    }
    return false;
}

static struct uk_buffer *buffer_of(const struct uk_attempt *t, const struct uk_tensor *x) {
    struct uk_buffer *b = t->s->buffers;

    while (b && b->tensor != x)
        b = b->next;
    return b;
}

bool uk_match_may_read_on(const struct uk_attempt *t, const struct uk_operand *o, const struct uk_loop *l) {
    struct uk_poly step = uk_match_step(o, l);
    int64_t c;

    return o->tensor->kind == UK_TENSOR_PACKED && o->tensor->scope == UK_SCOPE_GLOBAL &&
           uk_poly_is_int(&step, &c) && c == 1 && buffer_of(t, o->tensor);
}

bool uk_match_read_on(const struct uk_attempt *t, const struct uk_operand *o, int64_t elements) {
    struct uk_buffer *b = buffer_of(t, o->tensor);
    struct uk_arena *a = t->s->arena;

    if (b->over >= elements)
        return true;
    struct uk_index *more = uk_index_op(a, UK_I_ADD, b->elements, uk_index_int(a, elements - b->over));
    if (!more)
        return false;
    b->elements = more;
    b->over = elements;
    return true;
}

/* True if the loop's bound is also one of the copy's source, beyond which the copy holds the pad's value. */
static bool copy_ends_with(const struct uk_stage *copy, const struct uk_bound *b) {
    for (int i = 0; i < copy->operand[1].valid; i++)
        if (uk_index_equal(copy->operand[1].within[i].upper, b->upper))
            return true;
    return false;
}

/* True if the operand is a copy that holds 0 for the values of loop l from its end up to the next multiple of
 * f. */
static bool is_zero_beyond(const struct uk_attempt *t, const struct uk_operand *o, const struct uk_loop *l,
                           int64_t f) {
    const struct uk_stage *c = t->s->stages;
    const struct uk_expr *pad;
    int64_t n;

    while (c && !(c->is_copy && c->operand[0].tensor == o->tensor))
        c = c->next;
    pad = c ? c->statement->right : NULL;
    if (!pad || pad->op != UK_E_PAD || pad->arg[1]->op != UK_E_NUMBER || pad->arg[1]->integer ||
        pad->arg[1]->number != 0)
        return false;
    for (int i = 0; i < t->st->bounds; i++) {
        const struct uk_bound *b = &t->st->bound[i];

        if (!b->form.coefficient[l->id])
            continue;
        if (b->is_guard ||
            (!(uk_index_is_int(b->upper, &n) && n % f == 0 && b->form.coefficient[l->id] == 1) &&
             !copy_ends_with(c, b)))
            return false;
    }
    return true;
}

bool uk_match_is_factor(const struct uk_expr *e, const struct uk_expr *part) {
    if (e == part)
        return true;
    if (e->op == UK_E_CAST || e->op == UK_E_NEG)
        return uk_match_is_factor(e->arg[0], part);
    return e->op == UK_E_MUL && (uk_match_is_factor(e->arg[0], part) || uk_match_is_factor(e->arg[1], part));
}

bool uk_match_may_extend(struct uk_attempt *t, int axis, int64_t multiple) {
    const struct uk_statement *p = t->st->statement;
    bool any = false, all = true;

    if (t->divisor[axis] != multiple || p->reduce != UK_REDUCE_SUM)
        return false;
    for (int i = 0; i < t->pairs; i++) {
        const struct uk_operand *o = &t->view->operand[t->pair[i].operand];

        if (!uk_steps_along(o, t->quotient[axis]) && !uk_steps_along(o, t->remainder[axis]))
            continue;
        if (!has_whole_groups(o, t->remainder[axis], multiple) &&
            !(uk_match_may_read_on(t, o, t->remainder[axis]) && uk_match_read_on(t, o, multiple - 1)))
            return false;
        bool zero = is_zero_beyond(t, o, t->m.axis[axis], multiple) && uk_match_is_factor(p->right, o->expr);
        any |= zero;
        all &= zero;
    }
    return uk_type_is_float(p->right->type) ? any && all : any;
}
