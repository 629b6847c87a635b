/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuse a b -> f: two loops, one directly inside the other, as one.
 *
 * Where the coefficient of a is extent(b) times that of b, a form stays linear in f. That undoes a split. It
 * is also what addresses often are though the indices are not: rows of a matrix that lie one after the other
 * are one long row. Then a change of view does: the operand's index of b's dimension runs on beyond that, a
 * and b become one iterator, and if both extents are sizes, so is the product, which has a name of its own
 * for isl. Else f / extent(b) and f % extent(b) stand for a and b, which needs a constant, and leaves plain
 * loops.
 */
#include <string.h>
#include "schedule.h"

struct fusion {
    struct uk_schedule *s;
    const struct uk_step *step;
    struct uk_stage *st;
    int position; /* of a */
    struct uk_loop *a, *b, *f;
    int64_t n; /* constant extent of b, or -1 */
    struct uk_index *extent[2];
    struct uk_text why; /* no change of view */
};

static enum uk_status refuse(const struct fusion *u, const char *why) {
    return uk_fail(u->s->context, UK_REFUSED, u->step->at, "fuse %s %s: %s", u->a->var->name, u->b->var->name,
                   why);
}

/* a and b are loops p and q of the stage: says which step puts b directly inside a, or has them in their
 * order. */
static enum uk_status refuse_place(const struct fusion *u, int p, int q) {
    const char *stage = u->st->name, *a = u->a->var->name, *b = u->b->var->name;
    struct uk_text t = {0};

    if (q < p)
        return uk_fail(
            u->s->context, UK_REFUSED, u->step->at,
            "fuse %s %s: the second loop is outside of the first one; write `fuse %s.%s %s.%s -> %s` "
            "in its place",
            a, b, stage, b, stage, a, u->step->name[0]);
    for (int i = p + 1; i < q; i++)
        uk_put(&t, "%s.%s ", stage, u->st->loop[i]->var->name);
    if (!t.text)
        return uk_out_of_memory(u->s->context);
    enum uk_status status = uk_fail(u->s->context, UK_REFUSED, u->step->at,
                                    "fuse %s %s: the second loop must be directly inside the first one; put "
                                    "`reorder %s%s.%s %s.%s` before it",
                                    a, b, t.text, stage, a, stage, b);

    uk_text_free(t.text);
    return status;
}

static enum uk_status find(struct fusion *u) {
    const struct uk_step *step = u->step;
    struct uk_loop_name second = step->loop[1];
    struct uk_stage *other;
    int q;
    enum uk_status status = uk_find_loop(u->s, &step->loop[0], &u->st, &u->position);

    if (!second.stage && !status)
        second.stage = u->st->name;
    if (status || (status = uk_find_loop(u->s, &second, &other, &q)))
        return status;
    u->a = u->st->loop[u->position];
    u->b = other->loop[q];
    if (other != u->st)
        return uk_fail(
            u->s->context, UK_REFUSED, step->at,
            "fuse %s %s: %s is a loop of stage %s, the other one is of %s; fuse loops of one stage",
            u->a->var->name, u->b->var->name, u->b->var->name, other->name, u->st->name);
    if (q == u->position)
        return refuse(u, "that is one loop; name two");
    for (int i = 0; i < 2; i++)
        if ((status = uk_may_change(u->s, u->st, i ? u->position : q, step->at, "fuse")))
            return status;
    if (u->a->kind != UK_LOOP_SERIAL || u->b->kind != UK_LOOP_SERIAL)
        return refuse(u, "a loop is parallel, unrolled or vectorized already; put the step before that");
    if (u->st->is_copy)
        return refuse(u, "they are loops of a copy; `parallel` takes both as they are");
    if (uk_is_reduced(u->st, u->a) != uk_is_reduced(u->st, u->b))
        return refuse(u, "one is of an output axis, the other one is reduced over; fuse loops of one sort");
    if (q != u->position + 1)
        return refuse_place(u, u->position, q);
    return uk_name_is_new(u->s, step->name[0], step->at);
}

static bool has_others(const struct fusion *u, const struct uk_affine *form) {
    for (int l = 0; l < UK_MAX_LOOPS; l++)
        if (form->coefficient[l] && l != u->a->id && l != u->b->id)
            return true;
    return false;
}

/* n * c_b == c_a */
static bool is_multiple(const struct fusion *u, const struct uk_affine *form) {
    int64_t product;

    return u->n >= 0 && !__builtin_mul_overflow(form->coefficient[u->b->id], u->n, &product) &&
           product == form->coefficient[u->a->id];
}

static bool mentions(const struct fusion *u, const struct uk_affine *f) {
    return f->coefficient[u->a->id] || f->coefficient[u->b->id] ||
           (f->general && (uk_mentions(f->general, u->a->var) || uk_mentions(f->general, u->b->var)));
}

/* ---- f for n * a + b ---- */

static bool all_linear(const struct fusion *u) {
    const struct uk_stage *st = u->st;

    for (int i = 0; i < st->iterators; i++)
        if (mentions(u, &st->iterator[i]) && (st->iterator[i].general || !is_multiple(u, &st->iterator[i])))
            return false;
    for (int o = 0; o < st->operands; o++)
        for (int d = 0; d < st->operand[o].tensor->stored_dims; d++)
            if (mentions(u, &st->operand[o].index[d]) && !st->operand[o].index[d].general &&
                !is_multiple(u, &st->operand[o].index[d]))
                return false;
    return true;
}

/* Can each bound be one of f? Those of b alone hold for all of its n values, or b would have fewer. */
static bool bounds_fit(const struct fusion *u) {
    for (int i = 0; i < u->st->bounds; i++) {
        const struct uk_bound *b = &u->st->bound[i];
        int64_t a = b->form.coefficient[u->a->id], upper;

        if (!mentions(u, &b->form) || is_multiple(u, &b->form))
            continue;
        if (has_others(u, &b->form) || b->is_guard || (a && b->form.coefficient[u->b->id]))
            return false;
        if (!a && !uk_index_is_int(b->upper, &upper))
            return false;
    }
    return true;
}

/* c * a < u: a < ceil(u / c), f < n * ceil(u / c). False: no memory. */
static bool fuse_bounds(struct fusion *u) {
    struct uk_stage *st = u->st;
    struct uk_arena *arena = u->s->arena;
    int kept = 0;

    for (int i = 0; i < st->bounds; i++) {
        struct uk_bound b = st->bound[i];
        int64_t a = b.form.coefficient[u->a->id], of_b = b.form.coefficient[u->b->id];

        if (!a && of_b)
            continue;
        if (a && !of_b) {
            struct uk_index *up = uk_index_op(arena, UK_I_ADD, b.upper, uk_index_int(arena, a - 1));

            up = a == 1 ? b.upper : uk_index_op(arena, UK_I_DIV, up, uk_index_int(arena, a));
            b.upper = uk_index_op(arena, UK_I_MUL, up, uk_index_int(arena, u->n));
            of_b = 1;
        }
        b.form.coefficient[u->a->id] = b.form.coefficient[u->b->id] = 0;
        b.form.coefficient[u->f->id] = of_b;
        if (!b.upper)
            return false;
        st->bound[kept++] = b;
    }
    st->bounds = kept;
    return true;
}

static enum uk_status fuse_form(struct fusion *u, struct uk_affine *form) {
    struct uk_arena *a = u->s->arena;
    struct uk_index *f = uk_index_var(a, u->f->var), *n = uk_index_int(a, u->n), *e;

    if (!mentions(u, form))
        return UK_OK;
    if (!form->general && is_multiple(u, form)) {
        form->coefficient[u->f->id] = form->coefficient[u->b->id];
        form->coefficient[u->a->id] = form->coefficient[u->b->id] = 0;
        return UK_OK;
    }
    struct uk_index *value[UK_MAX_LOOPS] = {0};
    for (int i = 0; i < u->st->loops; i++)
        value[u->st->loop[i]->id] = uk_index_var(a, u->st->loop[i]->var);
    value[u->a->id] = uk_index_op(a, UK_I_DIV, f, n);
    value[u->b->id] = uk_index_op(a, UK_I_MOD, f, n);
    e = uk_affine_value(u->s, u->st, form, value);
    if (!e)
        return uk_out_of_memory(u->s->context);
    /* Spelled over the loops as they will be. */
    u->st->loop[u->position] = u->f;
    enum uk_status status = uk_affine_of(u->s, u->st, e, form);
    u->st->loop[u->position] = u->a;
    return status;
}

static void replace_loops(struct fusion *u) {
    struct uk_stage *st = u->st;

    st->loop[u->position] = u->f;
    memmove(&st->loop[u->position + 1], &st->loop[u->position + 2],
            sizeof st->loop[0] * (size_t)(st->loops - u->position - 2));
    st->loops--;
    st->tile = st->loops;
}

static enum uk_status fuse_constant(struct fusion *u) {
    struct uk_stage *st = u->st;

    if (!bounds_fit(u))
        return refuse(u, "another loop bounds one of them, too; fuse before the split, or leave them apart: "
                         "`parallel` takes both");
    for (int o = 0; o < st->operands; o++)
        for (int d = 0; d < st->operand[o].tensor->stored_dims; d++) {
            enum uk_status status = fuse_form(u, &st->operand[o].index[d]);

            if (status)
                return status;
        }
    for (int i = 0; i < st->iterators; i++) {
        enum uk_status status = fuse_form(u, &st->iterator[i]);

        if (status)
            return status;
    }
    if (!fuse_bounds(u))
        return uk_out_of_memory(u->s->context);
    replace_loops(u);
    return UK_OK;
}

/* ---- a change of view ---- */

/* The loop is all of an iterator, and one bound says how far it goes. */
static bool is_whole(const struct fusion *u, const struct uk_loop *l, struct uk_index **extent) {
    const struct uk_stage *st = u->st;
    int bounds = 0;

    for (int i = 0; i < st->iterators; i++)
        for (int k = 0; k < UK_MAX_LOOPS; k++)
            if (st->iterator[i].coefficient[k] != (i == l->iterator && k == l->id) &&
                (i == l->iterator || k == l->id))
                return false;
    for (int i = 0; i < st->bounds; i++)
        for (int k = 0; st->bound[i].form.coefficient[l->id] && k < UK_MAX_LOOPS; k++) {
            if (st->bound[i].form.coefficient[k] != (k == l->id) || st->bound[i].is_guard)
                return false;
            bounds += k == l->id;
            *extent = st->bound[i].upper;
        }
    return bounds == 1 && !st->iterator[l->iterator].general && !st->iterator[l->iterator].rest;
}

/* pad(x[..], v) of an operand that is read from a copy, which holds the border. */
static bool is_in_border(const struct fusion *u, const struct uk_expr *e) {
    for (int o = 1; e->op == UK_E_PAD && o < u->st->operands; o++)
        if (u->st->operand[o].expr == e->arg[0])
            return u->st->operand[o].pad == UK_PAD_NONE;
    return false;
}

static bool uses_value(const struct fusion *u, const struct uk_expr *e) {
    const struct uk_statement *t = u->st->statement;
    const struct uk_var *a = t->iterator[u->a->iterator], *b = t->iterator[u->b->iterator];

    if (!e)
        return false;
    if (e->op == UK_E_INDEX)
        return uk_mentions(e->index, a) || uk_mentions(e->index, b);
    for (int d = 0; e->op == UK_E_PAD && !is_in_border(u, e) && d < e->arg[0]->access.tensor->dims; d++)
        if (uk_mentions(e->arg[0]->access.index[d], a) || uk_mentions(e->arg[0]->access.index[d], b))
            return true;
    for (int i = 0; i < 3; i++)
        if (uses_value(u, e->arg[i]))
            return true;
    return false;
}

static bool operand_fits(struct fusion *u, const struct uk_operand *o) {
    struct uk_poly of_a = uk_coefficient(o, u->a->id), of_b = uk_coefficient(o, u->b->id);
    struct uk_poly n = uk_poly_of(u->extent[1]), want = uk_poly_multiply(&n, &of_b);
    struct uk_text stride = {0}, wanted = {0};
    bool fits = of_a.terms >= 0 && want.terms >= 0 && uk_poly_same(u->s->program, &of_a, &want);

    if (!fits && of_a.terms >= 0 && want.terms >= 0) {
        uk_print_index(&stride, uk_poly_index(u->s->arena, &of_a));
        uk_print_index(&wanted, uk_poly_index(u->s->arena, &want));
    }
    if (!fits)
        uk_put(&u->why, "the stride of %s in %s is %s, and the extent times the stride of %s is %s",
               u->a->var->name, o->tensor->name, stride.text ? stride.text : "no number", u->b->var->name,
               wanted.text ? wanted.text : "no number");
    uk_text_free(stride.text);
    uk_text_free(wanted.text);
    return fits;
}

static bool view_fits(struct fusion *u) {
    const struct uk_stage *st = u->st;
    const struct uk_index *where = st->statement->where;

    if (!is_whole(u, u->a, &u->extent[0]) || !is_whole(u, u->b, &u->extent[1])) {
        uk_put(&u->why, "a split or a condition has made one of them a part of its axis");
        return false;
    }
    const struct uk_var *a = st->statement->iterator[u->a->iterator],
                        *b = st->statement->iterator[u->b->iterator];
    if (st->previous || uses_value(u, st->statement->right) || uk_mentions(where, a) ||
        uk_mentions(where, b)) {
        uk_put(&u->why, "a scan, `index`, `pad` or `where` needs the value of one of them");
        return false;
    }
    for (int o = 0; o < st->operands; o++) {
        if (o && st->operand[o].tensor == st->operand[0].tensor) {
            uk_put(&u->why, "the stage reads %s, which it writes", st->operand[o].tensor->name);
            return false;
        }
        if (!operand_fits(u, &st->operand[o]))
            return false;
    }
    return true;
}

/* The product of the extents: an expression, or where isl knows no products, a size that stands for it. */
static struct uk_index *product(struct fusion *u) {
    struct uk_arena *arena = u->s->arena;
    struct uk_index *p = uk_index_op(arena, UK_I_MUL, u->extent[0], u->extent[1]);
    struct uk_var *v;

    if (!p || uk_index_is_int(u->extent[0], NULL) || uk_index_is_int(u->extent[1], NULL))
        return p;
    for (v = u->s->products; v; v = v->next)
        if (uk_index_equal(v->definition, p))
            return uk_index_var(arena, v);
    v = uk_alloc(arena, sizeof *v);
    if (!v)
        return NULL;
    *v = (struct uk_var){.name = uk_format(arena, "extent of %s", u->step->name[0]),
                         .kind = UK_VAR_SIZE,
                         .is_extent = true,
                         .number = -1,
                         .definition = p,
                         .next = u->s->products};
    u->s->products = v;
    return v->name ? uk_index_var(arena, v) : NULL;
}

/* a is 0 and b is f in the subscripts: what the view of the operands' forms says. */
static bool view_access(const struct fusion *u, struct uk_access *x, struct uk_var *f) {
    const struct uk_statement *t = u->st->statement;
    struct uk_arena *arena = u->s->arena;

    for (int d = 0; d < x->tensor->dims; d++) {
        x->index[d] = uk_substitute(arena, x->index[d], t->iterator[u->a->iterator], uk_index_int(arena, 0));
        x->index[d] = uk_substitute(arena, x->index[d], t->iterator[u->b->iterator], uk_index_var(arena, f));
        if (!x->index[d])
            return false;
    }
    return true;
}

/* A copy of the right side with such subscripts; operands follow their nodes. */
static struct uk_expr *view_expression(struct fusion *u, const struct uk_expr *e, struct uk_var *f) {
    if (is_in_border(u, e))
        return view_expression(u, e->arg[0], f);
    struct uk_expr *r = uk_alloc(u->s->arena, sizeof *r);
    if (!r)
        return NULL;
    *r = *e;
    if (e->op == UK_E_ACCESS && !view_access(u, &r->access, f))
        return NULL;
    for (int o = 1; o < u->st->operands; o++)
        if (u->st->operand[o].expr == e)
            u->st->operand[o].expr = r;
    for (int i = 0; i < 3; i++)
        if (e->arg[i] && !(r->arg[i] = view_expression(u, e->arg[i], f)))
            return NULL;
    return r;
}

/* The two iterators become one, where the first of them was. */
static enum uk_status fuse_iterators(struct fusion *u, struct uk_index *extent) {
    struct uk_stage *st = u->st;
    struct uk_statement *t = uk_alloc(u->s->arena, sizeof *t);
    struct uk_var *v = uk_alloc(u->s->arena, sizeof *v);
    int keep = u->a->iterator < u->b->iterator ? u->a->iterator : u->b->iterator;
    int drop = u->a->iterator + u->b->iterator - keep;

    if (!t || !v)
        return uk_out_of_memory(u->s->context);
    *v = (struct uk_var){.name = u->step->name[0], .kind = UK_VAR_ITERATOR, .at = u->step->at};
    *t = *st->statement;
    if (!view_access(u, &t->left, v) || !(t->right = view_expression(u, t->right, v)))
        return uk_out_of_memory(u->s->context);
    t->iterator[keep] = v;
    t->extent[keep] = extent;
    t->iterators = --st->iterators;
    t->left_iterators -= drop < t->left_iterators;
    memset(&st->iterator[keep], 0, sizeof st->iterator[keep]);
    st->iterator[keep].coefficient[u->f->id] = 1;
    for (int i = drop; i < st->iterators; i++) {
        t->iterator[i] = t->iterator[i + 1];
        t->extent[i] = t->extent[i + 1];
        st->iterator[i] = st->iterator[i + 1];
        st->reduced[i] = st->reduced[i + 1];
    }
    t->reduced = 0;
    for (int i = t->left_iterators; i < t->iterators && t->reduced < UK_MAX_DIMS; i++)
        t->reduced_iterator[t->reduced++] = t->iterator[i];
    for (int i = 0; i < st->loops; i++)
        if (st->loop[i]->stage == st && st->loop[i]->iterator > drop)
            st->loop[i]->iterator--;
    u->f->iterator = keep;
    st->statement = t;
    return UK_OK;
}

static enum uk_status fuse_view(struct fusion *u) {
    struct uk_stage *st = u->st;
    struct uk_affine only = {0};
    struct uk_index *extent = product(u);
    enum uk_status status = extent ? UK_OK : uk_out_of_memory(u->s->context);
    int kept = 0;

    /* Before a change of view, while subscripts are as in the program. */
    if (!status && !st->inside)
        status = uk_inside_condition(u->s, st, &st->inside);
    if (status)
        return status;
    for (int o = 0; o < st->operands; o++)
        for (int d = 0; d < st->operand[o].tensor->stored_dims; d++) {
            int64_t *c = st->operand[o].index[d].coefficient;

            c[u->f->id] = c[u->b->id];
            c[u->a->id] = c[u->b->id] = 0;
        }
    for (int i = 0; i < st->bounds; i++)
        if (!mentions(u, &st->bound[i].form))
            st->bound[kept++] = st->bound[i];
    st->bounds = kept;
    only.coefficient[u->f->id] = 1;
    if ((status = uk_add_bound(u->s, st, &only, extent)) || (status = fuse_iterators(u, extent)))
        return status;
    replace_loops(u);
    return UK_OK;
}

bool uk_fuse_is_view(struct uk_schedule *s, struct uk_stage *st, int position) {
    struct fusion u = {
        .s = s, .st = st, .position = position, .a = st->loop[position], .b = st->loop[position + 1]};
    bool view = view_fits(&u);

    uk_text_free(u.why.text);
    return view;
}

enum uk_status uk_apply_fuse(struct uk_schedule *s, struct uk_step *step) {
    struct fusion u = {.s = s, .step = step};
    enum uk_status status = find(&u);

    if (status)
        return status;
    u.n = uk_constant_extent(u.st, u.b);
    if (!u.n)
        u.n = 1; /* nothing is computed then, and nothing must be divided by 0 */
    bool linear = u.n >= 0 && all_linear(&u) && bounds_fit(&u), view = !linear && view_fits(&u);
    if (!linear && !view && u.n < 0) {
        status =
            uk_fail(s->context, UK_REFUSED, step->at,
                    "fuse %s %s: the extent of %s is not a constant, and %s; --define the size, or leave "
                    "them apart: `parallel` takes both",
                    u.a->var->name, u.b->var->name, u.b->var->name, u.why.text ? u.why.text : "");
    } else {
        u.f = uk_loop_create(s, u.st, step->name[0], u.a->iterator);
        status = !u.f   ? (s->context->failed ? UK_REFUSED : uk_out_of_memory(s->context))
                 : view ? fuse_view(&u)
                        : fuse_constant(&u);
    }
    uk_text_free(u.why.text);
    return status;
}
