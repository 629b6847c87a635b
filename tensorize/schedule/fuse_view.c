/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuse by a change of view. Addresses are often linear in f even if indices are not: contiguous rows of a
 * matrix form one long row. The index of b's dimension may then exceed its extent, and a and b become one
 * iterator. If both extents are sizes, their product gets a name of its own for isl.
 */
#include <string.h>
#include "fuse.h"

/* True if the loop is the whole of an iterator and one bound alone limits it. */
static bool is_whole(const struct uk_fusion *u, const struct uk_loop *l, struct uk_index **extent) {
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

/* True if e is pad(x[..], v) of an operand that is read from a copy, which contains the border. */
static bool is_in_border(const struct uk_fusion *u, const struct uk_expr *e) {
    for (int o = 1; e->op == UK_E_PAD && o < u->st->operands; o++)
        if (u->st->operand[o].expr == e->arg[0])
            return u->st->operand[o].pad == UK_PAD_NONE;
    return false;
}

static bool uses_value(const struct uk_fusion *u, const struct uk_expr *e) {
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

static bool operand_fits(struct uk_fusion *u, const struct uk_operand *o) {
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

/* The dimension of a matrix of `im2col` that the outer loop indexes; -1: the operand is no such matrix, or
 * does not depend on the loop. */
static int dimension_of(const struct uk_fusion *u, const struct uk_operand *o) {
    const struct uk_var *a = u->st->statement->iterator[u->a->iterator];

    for (int d = 0; o->tensor->im2col && d < o->tensor->dims; d++)
        if (uk_mentions(o->expr->access.index[d], a))
            return d;
    return -1;
}

/* Elements of a matrix of `im2col` are found by division by the inner loop's extent. */
static bool matrix_fits(struct uk_fusion *u, const struct uk_operand *o) {
    const struct uk_var *b = u->st->statement->iterator[u->b->iterator];
    const int d = dimension_of(u, o);
    int64_t n;

    if (d < 0)
        return true;
    if (d + 1 == o->tensor->dims || !uk_mentions(o->expr->access.index[d + 1], b)) {
        uk_put(&u->why,
               "the dimensions of %s that they index are not adjacent, reorder the loops before im2col",
               o->tensor->name);
        return false;
    }
    if (!uk_index_is_int(u->extent[1], &n) || n < 1) {
        uk_put(&u->why, "to find an element of %s, the extent of the second one has to be a constant",
               o->tensor->name);
        return false;
    }
    return true;
}

bool uk_view_fits(struct uk_fusion *u) {
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
        if (!operand_fits(u, &st->operand[o]) || !matrix_fits(u, &st->operand[o]))
            return false;
    }
    return true;
}

/* The product of the extents: an expression, or a size that represents it where isl allows no products. */
static struct uk_index *product(struct uk_fusion *u) {
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

/* Rewrites subscripts for the new view: a becomes 0, b becomes f. */
static bool view_access(const struct uk_fusion *u, struct uk_access *x, struct uk_var *f) {
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

/* Copies the right side, with its subscripts rewritten for the new view, and makes the operands refer to the
 * copied accesses. */
static struct uk_expr *view_expression(struct uk_fusion *u, const struct uk_expr *e, struct uk_var *f) {
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

/* Merges the two iterators, at the position of the first. */
static enum uk_status fuse_iterators(struct uk_fusion *u, struct uk_index *extent) {
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

/* Makes the dimensions d and d + 1 of a matrix of `im2col` one. False: no memory. */
static bool fuse_dimensions(const struct uk_fusion *u, struct uk_operand *o, int d) {
    struct uk_access *x = (struct uk_access *)&o->expr->access;

    if (!uk_im2col_fuse(u->s->arena, o->tensor, d))
        return false;
    for (int i = d; i < o->tensor->dims; i++) {
        o->index[i] = o->index[i + 1];
        x->index[i] = x->index[i + 1];
    }
    return true;
}

enum uk_status uk_fuse_view(struct uk_fusion *u) {
    struct uk_stage *st = u->st;
    struct uk_affine only = {0};
    struct uk_index *extent = product(u);
    int dimension[UK_MAX_OPERANDS];
    enum uk_status status = extent ? UK_OK : uk_out_of_memory(u->s->context);
    int kept = 0;

    /* Must precede the change of view: subscripts are still the program's. */
    if (!status && !st->inside)
        status = uk_inside_condition(u->s, st, &st->inside);
    if (status)
        return status;
    for (int o = 0; o < st->operands; o++)
        dimension[o] = dimension_of(u, &st->operand[o]);
    for (int o = 0; o < st->operands; o++)
        for (int d = 0; d < st->operand[o].tensor->stored_dims; d++) {
            int64_t *c = st->operand[o].index[d].coefficient;

            c[u->f->id] = c[u->b->id];
            c[u->a->id] = c[u->b->id] = 0;
        }
    for (int i = 0; i < st->bounds; i++)
        if (!uk_fusion_mentions(u, &st->bound[i].form))
            st->bound[kept++] = st->bound[i];
    st->bounds = kept;
    only.coefficient[u->f->id] = 1;
    if ((status = uk_add_bound(u->s, st, &only, extent)) || (status = fuse_iterators(u, extent)))
        return status;
    for (int o = 0; o < st->operands; o++)
        if (dimension[o] >= 0 && !fuse_dimensions(u, &st->operand[o], dimension[o]))
            return uk_out_of_memory(u->s->context);
    uk_fusion_replace_loops(u);
    return UK_OK;
}

bool uk_fuse_is_view(struct uk_schedule *s, struct uk_stage *st, int position) {
    struct uk_fusion u = {
        .s = s, .st = st, .position = position, .a = st->loop[position], .b = st->loop[position + 1]};
    bool view = uk_view_fits(&u);

    uk_text_free(u.why.text);
    return view;
}
