/* SPDX-License-Identifier: Apache-2.0 */
/* Affine forms (dependence of an index on the loops) and polynomials (address coefficients over the
 * sizes). */
#include <stdlib.h>
#include <string.h>
#include "stages.h"

struct uk_index *uk_sum(struct uk_schedule *s, struct uk_index *a, struct uk_index *b) {
    if (!a || !b)
        return a ? a : b;
    return uk_index_op(s->arena, UK_I_ADD, a, b);
}

struct uk_index *uk_substitute(struct uk_arena *a, const struct uk_index *e, const struct uk_var *v,
                               struct uk_index *by) {
    if (!e)
        return NULL;
    if (e->op == UK_I_VAR)
        return e->var == v ? by : (struct uk_index *)e;
    if (e->op == UK_I_INT)
        return (struct uk_index *)e;
    struct uk_index *l = uk_substitute(a, e->a, v, by), *r = uk_substitute(a, e->b, v, by);
    if (e->op == UK_I_SELECT)
        return uk_index_select(a, l, r, uk_substitute(a, e->c, v, by));
    return uk_index_with_operands(a, e, l, r);
}

/* ---- forms ---- */

static const struct uk_loop *loop_of(const struct uk_stage *st, const struct uk_var *v) {
    for (int i = 0; i < st->loops; i++)
        if (st->loop[i]->var == v)
            return st->loop[i];
    return NULL;
}

static bool has_no_loops(const struct uk_affine *f) {
    for (int l = 0; l < UK_MAX_LOOPS; l++)
        if (f->coefficient[l])
            return false;
    return !f->general;
}

/* The loops of the form in the order of their creation, because ids are reused. */
static int loops_of(const struct uk_stage *st, const struct uk_affine *f,
                    const struct uk_loop *found[UK_MAX_LOOPS]) {
    int n = 0;

    for (int i = 0; i < st->loops; i++) {
        int at = n;

        if (!f->coefficient[st->loop[i]->id])
            continue;
        for (; at > 0 && found[at - 1]->var->number > st->loop[i]->var->number; at--)
            found[at] = found[at - 1];
        found[at] = st->loop[i];
        n++;
    }
    return n;
}

struct uk_index *uk_affine_value(struct uk_schedule *s, const struct uk_stage *st, const struct uk_affine *f,
                                 struct uk_index *const *value) {
    struct uk_index *e = f->general;

    if (e) {
        for (int i = 0; i < st->loops; i++) {
            struct uk_index *v = value[st->loop[i]->id];

            e = uk_substitute(s->arena, e, st->loop[i]->var, v ? v : uk_index_int(s->arena, 0));
        }
        return e;
    }
    const struct uk_loop *loop[UK_MAX_LOOPS];
    int n = loops_of(st, f, loop);
    for (int i = 0; i < n; i++)
        if (value[loop[i]->id])
            e = uk_sum(s, e,
                       uk_index_op(s->arena, UK_I_MUL, uk_index_int(s->arena, f->coefficient[loop[i]->id]),
                                   value[loop[i]->id]));
    if (f->rest)
        e = uk_sum(s, e, f->rest);
    return e ? e : uk_index_int(s->arena, 0);
}

enum uk_status uk_affine_add(struct uk_schedule *s, struct uk_affine *a, const struct uk_affine *b,
                             int64_t times) {
    for (int l = 0; l < UK_MAX_LOOPS; l++) {
        int64_t t;

        if (__builtin_mul_overflow(b->coefficient[l], times, &t) ||
            __builtin_add_overflow(a->coefficient[l], t, &a->coefficient[l]))
            return uk_fail(s->context, UK_REFUSED, (struct uk_position){0},
                           "an index has a coefficient beyond 64 bits; use smaller constants");
    }
    if (b->rest && times) {
        a->rest = uk_sum(s, a->rest, uk_index_op(s->arena, UK_I_MUL, uk_index_int(s->arena, times), b->rest));
        if (!a->rest)
            return uk_out_of_memory(s->context);
    }
    return UK_OK;
}

/* The form as a general expression over loop variables. */
static struct uk_index *index_of_form(struct uk_schedule *s, const struct uk_stage *st,
                                      const struct uk_affine *f) {
    struct uk_index *value[UK_MAX_LOOPS] = {0};

    for (int i = 0; i < st->loops; i++)
        value[st->loop[i]->id] = uk_index_var(s->arena, st->loop[i]->var);
    return uk_affine_value(s, st, f, value);
}

/* Divides a form: floor(f / w) and f mod w are linear if f = w * q + r with 0 <= r < w for all instances,
 * which the constant ranges of the loops show. */
static bool divide_form(struct uk_schedule *s, const struct uk_stage *st, const struct uk_affine *f,
                        int64_t w, struct uk_affine *q, struct uk_affine *r) {
    int64_t top = 0, c = 0;

    memset(q, 0, sizeof *q);
    memset(r, 0, sizeof *r);
    if (f->general || w <= 0)
        return false;
    if (f->rest) {
        if (!uk_index_is_int(f->rest, &c) || c < 0)
            return false;
        q->rest = c / w ? uk_index_int(s->arena, c / w) : NULL;
        r->rest = c % w ? uk_index_int(s->arena, c % w) : NULL;
        top = c % w;
    }
    for (int i = 0; i < st->loops; i++) {
        int id = st->loop[i]->id;
        int64_t k = f->coefficient[id], n = 0, t;

        if (k % w == 0) {
            q->coefficient[id] = k / w;
            continue;
        }
        n = uk_constant_extent(st, st->loop[i]);
        if (k < 0 || n < 0 || (n > 0 && __builtin_mul_overflow(k, n - 1, &t)))
            return false;
        top += n > 0 ? t : 0;
        if (top >= w)
            return false;
        r->coefficient[id] = k;
    }
    return top < w;
}

static enum uk_status variable_form(struct uk_schedule *s, const struct uk_stage *st,
                                    const struct uk_index *e, struct uk_affine *out) {
    if (e->var->kind == UK_VAR_SIZE) {
        out->rest = (struct uk_index *)e;
        return UK_OK;
    }
    if (e->var->kind == UK_VAR_LOOP) {
        const struct uk_loop *loop = loop_of(st, e->var);

        if (!loop)
            return uk_fail(s->context, UK_INTERNAL, e->at, "loop %s is not of stage %s", e->var->name,
                           st->name);
        out->coefficient[loop->id] = 1;
        return UK_OK;
    }
    for (int i = 0; i < st->iterators; i++)
        if (st->statement->iterator[i] == e->var) {
            *out = st->iterator[i];
            return UK_OK;
        }
    return uk_fail(s->context, UK_INTERNAL, e->at, "iterator %s is not of stage %s", e->var->name, st->name);
}

/* Combines two linear forms; UK_NO_MATCH: the result is not linear. */
static enum uk_status combine(struct uk_schedule *s, const struct uk_stage *st, enum uk_index_op op,
                              const struct uk_affine *l, const struct uk_affine *r, struct uk_affine *out) {
    struct uk_affine q, m;
    int64_t c;

    switch (op) {
    case UK_I_ADD:
    case UK_I_SUB:
        *out = *l;
        return uk_affine_add(s, out, r, op == UK_I_ADD ? 1 : -1);
    case UK_I_NEG:
        return uk_affine_add(s, out, l, -1);
    case UK_I_MUL:
        if (has_no_loops(r) && (!r->rest || uk_index_is_int(r->rest, &c)))
            return uk_affine_add(s, out, l, r->rest ? c : 0);
        if (has_no_loops(l) && (!l->rest || uk_index_is_int(l->rest, &c)))
            return uk_affine_add(s, out, r, l->rest ? c : 0);
        return UK_NO_MATCH;
    case UK_I_DIV:
    case UK_I_MOD:
        if (!r->rest || !uk_index_is_int(r->rest, &c) || !has_no_loops(r) ||
            !divide_form(s, st, l, c, &q, &m))
            return UK_NO_MATCH;
        *out = op == UK_I_DIV ? q : m;
        return UK_OK;
    default:
        return UK_NO_MATCH;
    }
}

enum uk_status uk_affine_of(struct uk_schedule *s, const struct uk_stage *st, const struct uk_index *e,
                            struct uk_affine *out) {
    struct uk_affine l, r = {0};
    enum uk_status status;

    memset(out, 0, sizeof *out);
    if (!e)
        return uk_out_of_memory(s->context);
    if (e->op == UK_I_INT) {
        out->rest = e->value ? (struct uk_index *)e : NULL;
        return UK_OK;
    }
    if (e->op == UK_I_VAR)
        return variable_form(s, st, e, out);
    if ((status = uk_affine_of(s, st, e->a, &l)) || (e->b && (status = uk_affine_of(s, st, e->b, &r))))
        return status;
    if (!l.general && !r.general && (status = combine(s, st, e->op, &l, &r, out)) != UK_NO_MATCH)
        return status;
    if (has_no_loops(&l) && has_no_loops(&r) && e->op != UK_I_ELEMENT && e->op != UK_I_LIST) {
        out->rest = (struct uk_index *)e;
        return UK_OK;
    }
    struct uk_index *a = index_of_form(s, st, &l), *b = e->b ? index_of_form(s, st, &r) : NULL;
    out->general = uk_index_with_operands(s->arena, e, a, b);
    return out->general ? UK_OK : uk_out_of_memory(s->context);
}

bool uk_affine_split(struct uk_schedule *s, struct uk_affine *f, const struct uk_loop *l, int64_t factor,
                     const struct uk_loop *outer, const struct uk_loop *inner) {
    int64_t c = f->coefficient[l->id];

    if (f->general) {
        struct uk_arena *a = s->arena;
        struct uk_index *o = uk_index_op(a, UK_I_MUL, uk_index_int(a, factor), uk_index_var(a, outer->var));
        struct uk_index *by = uk_index_op(a, UK_I_ADD, o, uk_index_var(a, inner->var));
        struct uk_index *e = uk_substitute(a, f->general, l->var, by);

        return !uk_affine_of(s, inner->stage, e, f);
    }
    f->coefficient[l->id] = 0;
    f->coefficient[inner->id] = c;
    if (__builtin_mul_overflow(c, factor, &f->coefficient[outer->id])) {
        uk_fail(s->context, UK_REFUSED, l->stage->statement->at,
                "split of %s: a coefficient exceeds 64 bits; split by smaller factors", l->var->name);
        return false;
    }
    return true;
}

/* ---- polynomials ---- */

static int order(const struct uk_index *a, const struct uk_index *b) {
    if (uk_index_equal(a, b))
        return 0;
    if (a->op != b->op)
        return a->op < b->op ? -1 : 1;
    if (a->op == UK_I_VAR)
        return a->var->number != b->var->number ? (a->var->number < b->var->number ? -1 : 1)
                                                : strcmp(a->var->name, b->var->name);
    if (a->op == UK_I_INT)
        return a->value < b->value ? -1 : 1;
    const struct uk_index *x[] = {a->a, a->b, a->c}, *y[] = {b->a, b->b, b->c};
    for (int i = 0; i < 3; i++) {
        if (!x[i] || !y[i])
            return x[i] ? 1 : -1;
        int c = order(x[i], y[i]);
        if (c)
            return c;
    }
    return 0;
}

static bool same_atoms(const struct uk_term *a, const struct uk_term *b) {
    if (a->atoms != b->atoms)
        return false;
    for (int i = 0; i < a->atoms; i++)
        if (order(a->atom[i], b->atom[i]))
            return false;
    return true;
}

static void add_term(struct uk_poly *p, const struct uk_term *t) {
    if (p->terms < 0 || !t->factor)
        return;
    for (int i = 0; i < p->terms; i++)
        if (same_atoms(&p->term[i], t)) {
            if (__builtin_add_overflow(p->term[i].factor, t->factor, &p->term[i].factor))
                p->terms = -1;
            else if (!p->term[i].factor)
                p->term[i] = p->term[--p->terms];
            return;
        }
    if (p->terms == UK_MAX_TERMS)
        p->terms = -1;
    else
        p->term[p->terms++] = *t;
}

struct uk_poly uk_poly_add(struct uk_poly a, const struct uk_poly *b, int64_t times) {
    if (b->terms < 0)
        a.terms = -1;
    for (int i = 0; i < b->terms; i++) {
        struct uk_term t = b->term[i];

        if (__builtin_mul_overflow(t.factor, times, &t.factor))
            a.terms = -1;
        add_term(&a, &t);
    }
    return a;
}

static bool multiply_term(const struct uk_term *x, const struct uk_term *y, struct uk_term *out) {
    *out = *x;
    if (x->atoms + y->atoms > UK_MAX_FACTORS || __builtin_mul_overflow(x->factor, y->factor, &out->factor))
        return false;
    for (int i = 0; i < y->atoms; i++) {
        int at = out->atoms++;

        for (; at > 0 && order(out->atom[at - 1], y->atom[i]) > 0; at--)
            out->atom[at] = out->atom[at - 1];
        out->atom[at] = y->atom[i];
    }
    return true;
}

struct uk_poly uk_poly_multiply(const struct uk_poly *a, const struct uk_poly *b) {
    struct uk_poly p = {0};

    if (a->terms < 0 || b->terms < 0)
        return (struct uk_poly){.terms = -1};
    for (int i = 0; i < a->terms; i++)
        for (int j = 0; j < b->terms; j++) {
            struct uk_term t;

            if (!multiply_term(&a->term[i], &b->term[j], &t))
                return (struct uk_poly){.terms = -1};
            add_term(&p, &t);
        }
    return p;
}

struct uk_poly uk_poly_of(const struct uk_index *e) {
    struct uk_poly l, r, p = {0};
    struct uk_term t = {.factor = 1};

    if (!e)
        return (struct uk_poly){.terms = -1};
    if (uk_index_is_int(e, &t.factor)) {
        add_term(&p, &t);
        return p;
    }
    if (e->op == UK_I_VAR && e->var->definition)
        return uk_poly_of(e->var->definition);
    switch (e->op) {
    case UK_I_ADD:
    case UK_I_SUB:
        l = uk_poly_of(e->a);
        r = uk_poly_of(e->b);
        return uk_poly_add(l, &r, e->op == UK_I_ADD ? 1 : -1);
    case UK_I_NEG:
        r = uk_poly_of(e->a);
        return uk_poly_add(p, &r, -1);
    case UK_I_MUL:
        l = uk_poly_of(e->a);
        r = uk_poly_of(e->b);
        return uk_poly_multiply(&l, &r);
    default:
        t.atoms = 1;
        t.atom[0] = e;
        add_term(&p, &t);
        return p;
    }
}

bool uk_poly_equal(const struct uk_poly *a, const struct uk_poly *b) {
    struct uk_poly d = uk_poly_add(*a, b, -1);

    return d.terms == 0;
}

static struct uk_poly with_assumed(const struct uk_program *p, const struct uk_poly *a) {
    struct uk_poly sum = {0};

    for (int i = 0; i < a->terms; i++) {
        struct uk_poly t = {.terms = 1, .term = {{.factor = a->term[i].factor}}};

        for (int k = 0; k < a->term[i].atoms; k++) {
            const struct uk_index *by = a->term[i].atom[k];

            for (const struct uk_assume *s = p->assumes; s && by->op == UK_I_VAR; s = s->next)
                if (s->relation->op == UK_I_EQ && uk_index_equal(s->relation->a, a->term[i].atom[k]))
                    by = s->relation->b;
            struct uk_poly f = uk_poly_of(by);
            t = uk_poly_multiply(&t, &f);
        }
        sum = uk_poly_add(sum, &t, 1);
    }
    return sum;
}

bool uk_poly_same(const struct uk_program *p, const struct uk_poly *a, const struct uk_poly *b) {
    struct uk_poly x = with_assumed(p, a), y = with_assumed(p, b);

    return uk_poly_equal(a, b) || uk_poly_equal(&x, &y);
}

bool uk_poly_is_int(const struct uk_poly *p, int64_t *value) {
    if (p->terms == 0)
        *value = 0;
    else if (p->terms == 1 && p->term[0].atoms == 0)
        *value = p->term[0].factor;
    else
        return false;
    return true;
}

struct uk_index *uk_poly_index(struct uk_arena *a, const struct uk_poly *p) {
    struct uk_index *sum = uk_index_int(a, 0);

    for (int i = 0; i < p->terms; i++) {
        struct uk_index *t = uk_index_int(a, p->term[i].factor);

        for (int k = 0; k < p->term[i].atoms; k++)
            t = uk_index_op(a, UK_I_MUL, t, (struct uk_index *)p->term[i].atom[k]);
        sum = uk_index_op(a, UK_I_ADD, sum, t);
    }
    return sum;
}

struct uk_poly uk_coefficient(const struct uk_operand *o, int loop_id) {
    struct uk_poly sum = {0};

    for (int d = 0; d < o->tensor->stored_dims; d++) {
        if (o->index[d].general)
            return (struct uk_poly){.terms = -1};
        if (!o->index[d].coefficient[loop_id])
            continue;
        struct uk_poly stride = uk_poly_of(o->tensor->stride[d]);
        sum = uk_poly_add(sum, &stride, o->index[d].coefficient[loop_id]);
    }
    return sum;
}

bool uk_is_gathered(const struct uk_operand *o) {
    for (int d = 0; d < o->tensor->stored_dims; d++)
        if (uk_has_element(o->index[d].general))
            return true;
    return false;
}

struct uk_index *uk_stored_extent(const struct uk_tensor *t, int d) {
    return t->layout ? t->stored[d] : t->shape[d];
}

struct uk_index *uk_stored_index(struct uk_arena *arena, const struct uk_access *a, int d) {
    const struct uk_map *m = a->tensor->layout;
    struct uk_index *e = m ? m->to[d] : a->index[d];

    for (int i = 0; m && i < m->from_count; i++)
        e = uk_substitute(arena, e, m->from[i], a->index[i]);
    return e;
}
