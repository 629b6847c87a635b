/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Assigns loops of the nest to the axes of the declaration: for every operand, one step along either has to
 * move the address by the same amount. Strides that the declaration names are bound to those of the nest; an
 * axis without a loop has the extent 1.
 */
#include <string.h>
#include "attempt.h"

enum { MOST_TRIES = 4096 };

/* ---- what the declaration says ---- */

struct uk_poly uk_match_bound(const struct uk_attempt *t, const struct uk_poly *p) {
    struct uk_poly sum = {0};

    for (int i = 0; i < p->terms; i++) {
        struct uk_poly term = {.terms = 1, .term[0].factor = p->term[i].factor};

        for (int k = 0; k < p->term[i].atoms; k++) {
            const struct uk_index *a = p->term[i].atom[k];
            struct uk_poly atom = a->op == UK_I_VAR && t->m.size[a->var->number].bound
                                      ? t->m.size[a->var->number].value
                                      : uk_poly_of(a);

            term = uk_poly_multiply(&term, &atom);
        }
        sum = uk_poly_add(sum, &term, 1);
    }
    if (p->terms < 0)
        sum.terms = -1;
    return sum;
}

/* If p, over the declaration's sizes, is a multiple of a single size, a stride that is not bound yet: that
 * size; else NULL. */
static const struct uk_var *free_stride(const struct uk_attempt *t, const struct uk_poly *p) {
    if (p->terms != 1 || p->term[0].factor < 1 || p->term[0].atoms != 1)
        return NULL;
    const struct uk_index *a = p->term[0].atom[0];

    return a->op == UK_I_VAR && a->var->kind == UK_VAR_SIZE && !t->m.size[a->var->number].bound ? a->var
                                                                                                : NULL;
}

int64_t uk_match_max_extent(const struct uk_attempt *t, int axis) {
    const struct uk_index *e = t->ks->extent[axis];
    int64_t c, least = 0;

    if (uk_index_is_int(e, &c))
        return c;
    for (const struct uk_assume *a = t->k->declaration->assumes; a; a = a->next)
        if ((a->relation->op == UK_I_LE || a->relation->op == UK_I_EQ) && a->relation->a->op == UK_I_VAR &&
            a->relation->a->var == e->var && uk_index_is_int(a->relation->b, &c))
            least = least && least < c ? least : c;
    return least;
}

/* The constant coefficient of one of the declaration's loops; -1: it is not constant. */
static int64_t declared_step(const struct uk_attempt *t, int tensor, int loop) {
    struct uk_poly p = uk_coefficient(uk_match_declared_operand(t, tensor), loop);
    int64_t c;

    return uk_poly_is_int(&p, &c) ? c : -1;
}

/* True if the declaration allows any coefficient of its loop: it is a size. */
static bool takes_any_step(const struct uk_attempt *t, int tensor, int loop) {
    struct uk_poly p = uk_coefficient(uk_match_declared_operand(t, tensor), loop);

    return p.terms == 1 && p.term[0].factor == 1 && p.term[0].atoms == 1 &&
           p.term[0].atom[0]->op == UK_I_VAR && p.term[0].atom[0]->var->kind == UK_VAR_SIZE;
}

/* The panel that the declaration reads, if the step pack can make it; else width is 0. The coefficients of
 * its axes are
 * - 1 (lanes) and w, for panels of width w
 * - 1 (lanes) and any size, for rows that follow one another along a sum: panels as wide as a call's lanes
 * - f (lanes), and w * f and 1 for quotient and remainder of a divided axis, for panels in groups of f
 * and any size for an axis over the panels. */
static struct uk_panel declared_panel(const struct uk_attempt *t, int tensor) {
    struct uk_panel p = {.lane = -1, .of = -1};
    int64_t most = 0;
    bool has_rows = false;

    for (int v = 0; v < t->ks->iterators; v++)
        if (t->divisor[v] && declared_step(t, tensor, t->ks->iterators + v) == 1) {
            p.group = t->divisor[v];
            p.of = v;
        }
    for (int v = 0; v < t->ks->iterators; v++) {
        int64_t c = declared_step(t, tensor, v);

        if (c < 0 && takes_any_step(t, tensor, v)) {
            has_rows |= v >= t->ks->left_iterators;
            continue;
        }
        if (c < 0 || (t->divisor[v] && c && v != p.of))
            return (struct uk_panel){0};
        if (c == (p.group ? p.group : 1) && v != p.of)
            p.lane = v;
        most = c > most ? c : most;
    }
    p.width = p.group ? most / p.group : most;
    if (p.width == 1 && has_rows && p.lane >= 0 && p.lane < t->ks->left_iterators)
        p.width = uk_match_max_extent(t, p.lane);
    return p.lane >= 0 && p.width > 1 && t->m.operand[tensor] != 0 ? p : (struct uk_panel){0};
}

/* True if a copy of the operand in panels would have the declared coefficients; records that panel in the
 * fit. */
static bool may_be_packed(struct uk_attempt *t, const struct uk_pair *p, const struct uk_poly *want,
                          const struct uk_poly *have) {
    bool packed = t->view->operand[p->operand].tensor->kind == UK_TENSOR_PACKED;

    if (!t->fit || (packed && !t->is_for_advice) || (!packed && have->terms < 0) ||
        (have->terms >= 0 && (want->terms == 0) != (have->terms == 0)))
        return false;
    t->fit->panel[p->operand] = declared_panel(t, p->tensor);
    if (packed && p->operand && !t->fit->panel[p->operand].width && !uk_match_is_divided(t))
        t->fit->panel[p->operand].width = UK_UNPACK;
    return t->fit->panel[p->operand].width;
}

struct uk_poly uk_match_step(const struct uk_operand *o, const struct uk_loop *l) {
    struct uk_poly sum = {0};

    for (int d = 0; d < o->tensor->stored_dims; d++) {
        if (o->index[d].general && uk_mentions(o->index[d].general, l->var))
            return (struct uk_poly){.terms = -1};
        if (o->index[d].general || !o->index[d].coefficient[l->id])
            continue;
        struct uk_poly stride = uk_poly_of(o->tensor->stride[d]);
        sum = uk_poly_add(sum, &stride, o->index[d].coefficient[l->id]);
    }
    return sum;
}

/* Divides p by n; false if the quotient is not whole. */
static bool divide(struct uk_poly *p, int64_t n) {
    for (int i = 0; i < p->terms; i++) {
        if (p->term[i].factor % n)
            return false;
        p->term[i].factor /= n;
    }
    return true;
}

/* Compares one step along the declaration's loop `declared` with one along loop l of the view; binds the
 * stride if it is free. */
static bool same_step(struct uk_attempt *t, const struct uk_pair *p, int declared, const struct uk_loop *l) {
    const struct uk_operand *o = &t->view->operand[p->operand];
    struct uk_poly want = uk_coefficient(&t->declared->operand[p->declared], declared);
    struct uk_poly have = uk_match_step(o, l);

    const struct uk_var *v = have.terms >= 0 ? free_stride(t, &want) : NULL;
    struct uk_poly value = have;
    want = uk_match_bound(t, &want);
    if (v && divide(&value, want.term[0].factor)) {
        t->m.size[v->number].bound = true;
        t->m.size[v->number].value = value;
    } else if (have.terms < 0 || !uk_poly_equal(&want, &have)) {
        return may_be_packed(t, p, &want, &have) ||
               uk_match_differ_in_step(t, p, declared % t->ks->iterators, l, &want, &have, "");
    }
    t->score += 2;
    return true;
}

/* True if the sum has at most one group, so that the step between groups does not matter. */
static bool has_one_group(const struct uk_attempt *t, int axis) {
    return t->divisor[axis] && !t->fit && uk_constant_extent(t->view, t->quotient[axis]) == 1;
}

static bool same_steps(struct uk_attempt *t, int axis, const struct uk_loop *l) {
    bool divided = t->divisor[axis] > 0;

    if (divided && !uk_match_divide(t, axis, l))
        return false;
    if (uk_match_scalars_depend(t, l))
        return uk_record_difference(t, "a scalar of the kernel would change with loop %s", l->var->name);
    for (int i = 0; divided && i < t->pairs; i++)
        if (!same_step(t, &t->pair[i], t->ks->iterators + axis, t->remainder[axis]))
            return false;
    for (int i = 0; i < t->pairs && !has_one_group(t, axis); i++)
        if (!same_step(t, &t->pair[i], axis, divided ? t->quotient[axis] : l))
            return false;
    return true;
}

/* ---- all axes ---- */

static bool is_used(const struct uk_attempt *t, const struct uk_loop *l, int axes) {
    for (int v = 0; v < axes; v++)
        if (t->m.axis[v] == l)
            return true;
    return false;
}

static int units(const struct uk_attempt *t, int axes) {
    int n = 0;

    for (int v = 0; v < axes; v++)
        n += !t->m.axis[v];
    return n;
}

/* True if a sum of one loop may leave the kernel's outer sums without one. Only for kernels with a hint: of
 * others there is a form with one sum. */
static bool may_sum_once(const struct uk_attempt *t, int axis) {
    const struct uk_form *f = &t->k->form[UK_FORM_UPDATE];
    bool hinted = false;

    for (int i = 0; i < f->arguments; i++)
        hinted |= f->argument[i].hint != NULL;
    return hinted && axis < t->ks->iterators - 1;
}

/* True if the axis may be without a loop: its extent is an argument of the kernel or the constant 1, and it
 * is one of the output, or an outer one of several sums. */
static bool may_be_one(const struct uk_attempt *t, int axis) {
    const struct uk_index *e = t->ks->extent[axis];
    int inner = t->st->loops - t->tile;
    int64_t c;

    if ((axis >= t->ks->left_iterators && !may_sum_once(t, axis)) ||
        (!t->is_whole_stage && units(t, axis) >= t->ks->iterators - inner))
        return false;
    return uk_index_is_int(e, &c) ? c == 1 : e->op == UK_I_VAR;
}

static bool no_loop(struct uk_attempt *t, int axis, bool reduced) {
    const struct uk_loop *l = NULL;
    int i = t->tile;

    if (t->tile == t->st->loops)
        return uk_record_difference(t, "stage %s has no loops, the kernel has axis %s", t->st->name,
                                    t->ks->iterator[axis]->name);
    while (!l && --i >= 0)
        l = uk_is_reduced(t->st, t->st->loop[i]) == reduced ? t->st->loop[i] : NULL;
    return uk_record_difference(
        t, "the kernel's axis %s is %s; no loop from %s on is%s%s", t->ks->iterator[axis]->name,
        reduced ? "summed over" : "an axis of the output", t->st->loop[t->tile]->var->name,
        !l                 ? ""
        : i == t->tile - 1 ? "; begin at loop "
                           : "; reorder inside of it loop ",
        l ? l->var->name : "");
}

/* ---- which axes are best ---- */

struct uk_chosen_axes {
    struct uk_match m;
    struct uk_fit fit;
    struct uk_stage *view;
    int score, all_loops;
    struct uk_rank rank;
};

/* Called when all axes are assigned. True: the search ends. If the best assignment is wanted, keeps this one
 * if it is the best so far, and lets the search continue. */
static bool complete(struct uk_attempt *t) {
    if (!t->chosen)
        return true;
    struct uk_rank rank = uk_match_rank(t);
    if (!t->chosen->view || uk_match_is_better(rank, t->chosen->rank))
        *t->chosen = (struct uk_chosen_axes){.m = t->m,
                                             .fit = *t->fit,
                                             .view = t->view,
                                             .score = t->score,
                                             .all_loops = t->s->all_loops,
                                             .rank = rank};
    return false;
}

/* False, recorded: the stage's loop is shorter than the constant extent of the axis, so that no split gives a
 * full tile. */
static bool has_full_extent(struct uk_attempt *t, int axis, const struct uk_loop *l) {
    int64_t exact, n = uk_constant_extent(t->st, l);

    if (!t->is_whole_stage || n < 0 || !uk_index_is_int(t->ks->extent[axis], &exact) || n >= exact)
        return true;
    return uk_record_difference(t, "%s takes exactly %lld along %s, and the loop %s has %lld", t->k->name,
                                (long long)exact, t->ks->iterator[axis]->name, l->var->name, (long long)n);
}

/* True if the loop of a tile may have more iterations than the kernel takes along the axis. */
static bool is_too_long(const struct uk_attempt *t, int axis, const struct uk_loop *l) {
    const int64_t most = uk_match_max_extent(t, axis), n = uk_constant_extent(t->st, l);

    return !t->is_whole_stage && most && (n < 0 || n > most);
}

static bool assign_axes(struct uk_attempt *t, int axis);

/* Tries loop l (NULL: none) as the axis, and the loops left for the next axes. */
static bool try_loop(struct uk_attempt *t, int axis, struct uk_loop *l) {
    struct uk_match saved = t->m;
    struct uk_fit fit = t->fit ? *t->fit : (struct uk_fit){0};
    struct uk_stage *view = t->view;
    int score = t->score, all_loops = t->s->all_loops;

    if (t->tried_loops++ > MOST_TRIES)
        return uk_record_difference(t, "too many loops could be the kernel's axes; tensorize fewer loops");
    bool same = !l || (has_full_extent(t, axis, l) && same_steps(t, axis, l));
    t->m.axis[axis] = l;
    if (same && assign_axes(t, axis + 1))
        return true;
    t->m = saved;
    t->view = view;
    t->score = score;
    t->s->all_loops = all_loops;
    if (t->fit)
        *t->fit = fit;
    return false;
}

/* True if the loop at that position may be the axis. */
static bool is_free(const struct uk_attempt *t, int axis, int position) {
    struct uk_loop *l = t->st->loop[position];

    return !is_used(t, l, axis) && uk_is_reduced(t->st, l) == (axis >= t->ks->left_iterators) &&
           !(t->is_whole_stage &&
             uk_is_prefix_of_copy(t->s, t->st, position)); /* such a loop cannot be split */
}

/* Assigns the axes from `axis` on, each to a loop whose steps agree, by backtracking: loops that are short
 * enough first; innermost ones first, since unassigned loops stay outside the tile. */
static bool assign_axes(struct uk_attempt *t, int axis) {
    if (axis == t->ks->iterators)
        return complete(t);
    bool found = false;

    for (int too_long = 0; too_long < 2; too_long++)
        for (int i = t->st->loops - 1; i >= t->tile; i--) {
            if (!is_free(t, axis, i) || is_too_long(t, axis, t->st->loop[i]) != too_long)
                continue;
            found = true;
            if (try_loop(t, axis, t->st->loop[i]))
                return true;
        }
    if (may_be_one(t, axis))
        return try_loop(t, axis, NULL);
    return found ? false : no_loop(t, axis, axis >= t->ks->left_iterators);
}

/* Assigns the first axes that agree; for a whole stage, which a tiling follows, those of the best rank. */
static bool choose_axes(struct uk_attempt *t) {
    struct uk_chosen_axes chosen = {0};

    t->chosen = t->is_whole_stage ? &chosen : NULL;
    bool done = assign_axes(t, 0);
    t->chosen = NULL;
    if (!chosen.view)
        return done;
    t->m = chosen.m;
    *t->fit = chosen.fit;
    t->view = chosen.view;
    t->score = chosen.score;
    t->s->all_loops = chosen.all_loops;
    return true;
}

/* ---- accesses of one tensor ---- */

/* The constant part of the operand's address: that at which all loops are 0. */
static struct uk_poly offset_of(const struct uk_operand *o) {
    struct uk_poly sum = {0};

    for (int d = 0; d < o->tensor->stored_dims; d++) {
        struct uk_poly stride = uk_poly_of(o->tensor->stride[d]);
        struct uk_poly rest = o->index[d].rest ? uk_poly_of(o->index[d].rest) : (struct uk_poly){0};

        rest = uk_poly_multiply(&rest, &stride);
        sum = uk_poly_add(sum, &rest, 1);
    }
    return sum;
}

/* Binds a stride that only the distance between two accesses of a declared tensor shows. */
static void bind_distance(struct uk_attempt *t, const struct uk_pair *p, const struct uk_poly *have) {
    struct uk_poly declared = offset_of(&t->declared->operand[p->declared]), value = *have;
    const struct uk_var *v = free_stride(t, &declared);

    if (v && divide(&value, declared.term[0].factor)) {
        t->m.size[v->number].bound = true;
        t->m.size[v->number].value = value;
    }
}

/* Sets t->first to pairs whose access is at the declared tensor's origin, and checks that the other accesses
 * of a tensor have the declared distance from it. */
static bool check_offsets(struct uk_attempt *t) {
    for (int i = 0; i < t->pairs; i++) {
        int n = t->pair[i].tensor;

        if (offset_of(uk_match_declared_operand(t, n)).terms &&
            !offset_of(&t->declared->operand[t->pair[i].declared]).terms)
            t->first[n] = i;
    }
    for (int i = 0; i < t->pairs; i++) {
        const struct uk_pair *p = &t->pair[i], *q = &t->pair[t->first[p->tensor]];
        const struct uk_operand *o = &t->view->operand[p->operand], *origin = &t->view->operand[q->operand];
        struct uk_poly want = offset_of(&t->declared->operand[p->declared]), have = offset_of(o);
        struct uk_poly base = offset_of(origin);
        bool same;

        if (q == p && t->has_border[p->tensor]) { /* the offset is where the image begins in the tile */
            t->m.operand[p->tensor] = q->operand;
            continue;
        }

        want = uk_match_bound(t, &want);
        if (q == p && want.terms)
            return uk_record_difference(t,
                                        "no access of %s in the declaration is at its origin; shift it there",
                                        t->declared->operand[p->declared].tensor->name);
        t->m.operand[p->tensor] = q->operand;
        if (q == p)
            continue;
        have = uk_poly_add(have, &base, -1);
        bind_distance(t, p, &have);
        want = uk_match_bound(t, &want);
        same = uk_poly_equal(&want, &have) && (want.terms == 0 || p->tensor != t->pair[0].tensor);
        for (int l = 0; l < t->tile && same; l++) {
            struct uk_poly x = uk_coefficient(o, t->st->loop[l]->id),
                           y = uk_coefficient(origin, t->st->loop[l]->id);

            same = x.terms >= 0 && uk_poly_equal(&x, &y);
        }
        if (!same)
            return uk_record_difference(
                t, "%s is accessed twice in the kernel, %s elements apart, but %s elements apart here",
                t->declared->operand[p->declared].tensor->name, uk_poly_text(t, &want),
                uk_poly_text(t, &have));
    }
    return true;
}

/* An operand whose constant strides happen to be those of panels is read in place if whole panels are in
 * memory, else packed. False: guards let tiles begin inside a panel, so neither works. */
static bool check_in_place(struct uk_attempt *t) {
    for (int i = 0; i < t->pairs && t->is_whole_stage; i++) {
        const struct uk_pair *p = &t->pair[i];
        const struct uk_tensor *x = t->view->operand[p->operand].tensor;
        struct uk_panel panel = declared_panel(t, p->tensor);

        if (!panel.width || t->fit->panel[p->operand].width || x->layout || x->kind == UK_TENSOR_PACKED ||
            uk_match_check_over(t, p))
            continue;
        if (t->m.axis[panel.lane] && uk_may_begin_above_zero(t->st, t->m.axis[panel.lane]))
            return false;
        t->fit->panel[p->operand] = panel;
    }
    return true;
}

bool uk_match_axes(struct uk_attempt *t) {
    return choose_axes(t) && check_in_place(t) && check_offsets(t);
}
