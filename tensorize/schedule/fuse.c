/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuse a b -> f: two loops, one directly inside the other, become one. There are three ways:
 *
 * - Forms in which the coefficient of a is extent(b) times that of b stay linear in f. This undoes a split.
 * - Otherwise f / extent(b) and f % extent(b) replace a and b. The extent must be constant, and the loops
 *   stay plain loops.
 * - Otherwise the view changes (fuse_view.c).
 */
#include <string.h>
#include "fuse.h"

static enum uk_status refuse(const struct uk_fusion *u, const char *why) {
    return uk_fail(u->s->context, UK_REFUSED, u->step->at, "fuse %s %s: %s", u->a->var->name, u->b->var->name,
                   why);
}

/* a and b are loops p and q of the stage. Refuses; names the step that puts b directly inside a, or their
 * actual order. */
static enum uk_status refuse_place(const struct uk_fusion *u, int p, int q) {
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

static enum uk_status find(struct uk_fusion *u) {
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

static bool has_others(const struct uk_fusion *u, const struct uk_affine *form) {
    for (int l = 0; l < UK_MAX_LOOPS; l++)
        if (form->coefficient[l] && l != u->a->id && l != u->b->id)
            return true;
    return false;
}

/* True if n * c_b == c_a. */
static bool is_multiple(const struct uk_fusion *u, const struct uk_affine *form) {
    int64_t product;

    return u->n >= 0 && !__builtin_mul_overflow(form->coefficient[u->b->id], u->n, &product) &&
           product == form->coefficient[u->a->id];
}

bool uk_fusion_mentions(const struct uk_fusion *u, const struct uk_affine *f) {
    return f->coefficient[u->a->id] || f->coefficient[u->b->id] ||
           (f->general && (uk_mentions(f->general, u->a->var) || uk_mentions(f->general, u->b->var)));
}

/* ---- f = n * a + b ---- */

static bool all_linear(const struct uk_fusion *u) {
    const struct uk_stage *st = u->st;

    for (int i = 0; i < st->iterators; i++)
        if (uk_fusion_mentions(u, &st->iterator[i]) &&
            (st->iterator[i].general || !is_multiple(u, &st->iterator[i])))
            return false;
    for (int o = 0; o < st->operands; o++)
        for (int d = 0; d < st->operand[o].tensor->stored_dims; d++)
            if (uk_fusion_mentions(u, &st->operand[o].index[d]) && !st->operand[o].index[d].general &&
                !is_multiple(u, &st->operand[o].index[d]))
                return false;
    return true;
}

/* True if each bound can be expressed by f. A constant bound on b alone is not needed: all n values of b
 * satisfy it, or b would have fewer. */
static bool bounds_fit(const struct uk_fusion *u) {
    for (int i = 0; i < u->st->bounds; i++) {
        const struct uk_bound *b = &u->st->bound[i];
        int64_t a = b->form.coefficient[u->a->id], upper;

        if (!uk_fusion_mentions(u, &b->form) || is_multiple(u, &b->form))
            continue;
        if (has_others(u, &b->form) || b->is_guard || (a && b->form.coefficient[u->b->id]))
            return false;
        if (!a && !uk_index_is_int(b->upper, &upper))
            return false;
    }
    return true;
}

/* Rewrites bounds: c * a < u becomes a < ceil(u / c), then f < n * ceil(u / c). Returns false if memory runs
 * out. */
static bool fuse_bounds(struct uk_fusion *u) {
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

static enum uk_status fuse_form(struct uk_fusion *u, struct uk_affine *form) {
    struct uk_arena *a = u->s->arena;
    struct uk_index *f = uk_index_var(a, u->f->var), *n = uk_index_int(a, u->n), *e;

    if (!uk_fusion_mentions(u, form))
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
    /* The new form is over the loops after the fusion. */
    u->st->loop[u->position] = u->f;
    enum uk_status status = uk_affine_of(u->s, u->st, e, form);
    u->st->loop[u->position] = u->a;
    return status;
}

void uk_fusion_replace_loops(struct uk_fusion *u) {
    struct uk_stage *st = u->st;

    st->loop[u->position] = u->f;
    memmove(&st->loop[u->position + 1], &st->loop[u->position + 2],
            sizeof st->loop[0] * (size_t)(st->loops - u->position - 2));
    st->loops--;
    st->tile = st->loops;
}

/* True if a guard leaves out terms along one of the loops. */
static bool has_guard(const struct uk_fusion *u) {
    for (int b = 0; b < u->st->bounds; b++)
        if (u->st->bound[b].is_guard &&
            (u->st->bound[b].form.coefficient[u->a->id] || u->st->bound[b].form.coefficient[u->b->id]))
            return true;
    return false;
}

static enum uk_status fuse_constant(struct uk_fusion *u) {
    struct uk_stage *st = u->st;

    if (!bounds_fit(u) && has_guard(u))
        return refuse(u,
                      "a `where` or pad(.., 0) leaves out terms along one of them; if a copy of the padded "
                      "tensor is read, and the other factor is never infinite or NaN, declare that `finite`, "
                      "so that zeros replace these terms");
    if (!bounds_fit(u))
        return refuse(u, "the bound of one of them depends on another loop too; fuse before the split, or do "
                         "not fuse: `parallel` takes both");
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
    uk_fusion_replace_loops(u);
    return UK_OK;
}

enum uk_status uk_apply_fuse(struct uk_schedule *s, struct uk_step *step) {
    struct uk_fusion u = {.s = s, .step = step};
    enum uk_status status = find(&u);

    if (status)
        return status;
    u.n = uk_constant_extent(u.st, u.b);
    if (!u.n)
        u.n = 1; /* the nest is empty; avoids a division by 0 */
    bool linear = u.n >= 0 && all_linear(&u) && bounds_fit(&u), view = !linear && uk_view_fits(&u);
    if (!linear && !view && u.n < 0) {
        status = uk_fail(s->context, UK_REFUSED, step->at,
                         "fuse %s %s: the extent of %s is not a constant, and %s; --define the size, or do "
                         "not fuse: `parallel` takes both",
                         u.a->var->name, u.b->var->name, u.b->var->name, u.why.text ? u.why.text : "");
    } else {
        u.f = uk_loop_create(s, u.st, step->name[0], u.a->iterator);
        status = !u.f   ? (s->context->failed ? UK_REFUSED : uk_out_of_memory(s->context))
                 : view ? uk_fuse_view(&u)
                        : fuse_constant(&u);
    }
    uk_text_free(u.why.text);
    return status;
}
