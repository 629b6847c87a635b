/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Proves that a nest of loops computes what an intrinsic declares, or finds the first difference.
 *
 * The operands are paired by comparing the expression trees, up to commutativity. A loop of the nest can be
 * an axis of the declaration if, for every operand, one step along either moves the address by the same
 * amount; strides that the declaration names are bound to those of the nest. Coefficients are polynomials
 * over the sizes, compared exactly. Conditions on all tiles remain (extents, alignment, memory read past the
 * box): those that follow directly from a split are recognized, the others are proved by isl.
 */
#include <limits.h>
#include <string.h>
#include "attempt.h"

enum { MOST_SWAPS = 8 };

static bool pair_with(struct uk_attempt *t, const struct uk_match *empty, unsigned swap) {
    t->m = *empty;
    t->view = t->st;
    t->swap = swap;
    t->tried_loops = 0;
    if (t->fit)
        *t->fit = (struct uk_fit){.intrinsic = t->fit->intrinsic};
    return uk_match_expression(t) && uk_match_axes(t);
}

/* Tries all ways to swap the operands of commutative nodes. Keeps the first one with which axes are found;
 * for a fit, the one of the best rank. */
static bool unify(struct uk_attempt *t) {
    struct uk_match empty = t->m;
    struct uk_rank best = {0};
    int commutative = 0;
    unsigned swap = 0, chosen = 0;
    bool any = false;

    do {
        bool same = pair_with(t, &empty, swap);

        if (same && (!t->fit || !uk_match_rank(t).effort))
            return true;
        if (same && (!any || uk_match_is_better(uk_match_rank(t), best))) {
            any = true;
            best = uk_match_rank(t);
            chosen = swap;
        }
        commutative = t->node > commutative ? t->node : commutative;
    } while (!t->s->context->failed && commutative <= MOST_SWAPS && ++swap < 1u << commutative);
    return any && pair_with(t, &empty, chosen);
}

/* If packing would be enough to make the nest the kernel's, records that as advice. Always returns false. */
static bool advise(struct uk_attempt *t, const struct uk_match *empty) {
    struct uk_fit fit = {.intrinsic = (struct uk_intrinsic *)t->k};
    int best = t->best;

    if (t->s->context->failed)
        return false;
    t->fit = &fit;
    t->is_for_advice = true;
    t->best = INT_MAX;
    t->m = *empty;
    bool could = unify(t);
    t->best = could ? -1 : best;
    if (could)
        uk_match_advise(t);
    t->fit = NULL;
    t->is_for_advice = false;
    return false;
}

/* Records that the nest has more loops than the kernel has axes. Suggests a loop to begin at if as many inner
 * loops have the right kinds (output, reduced), else loops to reorder. */
static bool too_many_loops(struct uk_attempt *t) {
    const int axes = t->ks->iterators, first = t->st->loops - axes;
    int reduced = 0;

    for (int i = first; i < t->st->loops; i++)
        reduced += uk_is_reduced(t->st, t->st->loop[i]);
    const bool same = reduced == axes - t->ks->left_iterators;
    const struct uk_loop *l = t->st->loop[same && axes ? first : t->tile];
    return uk_record_difference(t, "%d loops from %s inwards, but the kernel has %d %s; %s loop %s",
                                t->st->loops - t->tile, t->st->loop[t->tile]->var->name, axes,
                                axes == 1 ? "axis" : "axes",
                                same && axes ? "begin at" : "reorder the others outside of", l->var->name);
}

/* False, with the reason: an operand has no address. */
static bool is_in_memory(struct uk_attempt *t) {
    for (int o = 1; o < t->st->operands; o++)
        if (t->st->operand[o].tensor->im2col)
            return uk_record_difference(
                t, "%s, which im2col made, is not in memory; put `cache_read` of it before the step",
                t->st->operand[o].tensor->name);
    return true;
}

static bool prove(struct uk_attempt *t) {
    const int inner = t->st->loops - t->tile;
    struct uk_match empty;

    if (!is_in_memory(t) || !uk_match_forms(t) || !uk_match_declare(t))
        return false;
    empty = t->m;
    if (inner > t->ks->iterators)
        return too_many_loops(t);
    if (!unify(t))
        return advise(t, &empty);
    t->score = 1 << 20; /* from here on, every difference is the one to report */
    return uk_match_roles(t) && uk_match_take_borders(t) && uk_match_tiles(t) && uk_match_lanes(t);
}

/* Marks the arena, to release what a failed attempt allocates. The declaration's stage, which all attempts
 * share, is allocated before the mark. */
static struct uk_mark mark_scratch(struct uk_schedule *s) {
    if (!s->declared)
        s->declared = uk_alloc(s->arena, sizeof *s->declared);
    return uk_arena_mark(s->arena);
}

static enum uk_status begin(struct uk_schedule *s, struct uk_stage *st, int tile, struct uk_intrinsic *i,
                            struct uk_statement *ks, struct uk_text *why, struct uk_attempt **out) {
    struct uk_attempt *t = *out = uk_alloc(s->arena, sizeof *t);

    if (!t || !s->declared)
        return uk_out_of_memory(s->context);
    *t = (struct uk_attempt){.s = s,
                             .st = st,
                             .view = st,
                             .declared = s->declared,
                             .tile = tile,
                             .k = i,
                             .ks = ks,
                             .best = -1,
                             .why = why};
    t->m.intrinsic = i;
    t->m.axes = t->ks->iterators;
    for (int n = 0; n < UK_MAX_OPERANDS; n++)
        t->m.operand[n] = -1;
    for (const struct uk_tensor *x = i->declaration->tensors; x; x = x->next)
        t->m.tensors++;
    for (const struct uk_scalar *x = i->declaration->scalars; x; x = x->next)
        t->m.scalars++;
    t->m.sizes = i->declaration->size_count;
    if (t->m.tensors > UK_MAX_OPERANDS || t->m.sizes > UK_MAX_SIZES || t->m.scalars > UK_MAX_SCALARS) {
        s->match_score = -1;
        uk_put(why, "the declaration has more than %d tensors, %d sizes or %d scalars", UK_MAX_OPERANDS,
               UK_MAX_SIZES, UK_MAX_SCALARS);
        return UK_NO_MATCH;
    }
    return UK_OK;
}

/* Sets m.at if loops were divided: the operands of the view, without the parts of divided loops, which begin
 * at 0 in every tile. The tile's other loops stay in the forms, since guards may let them begin later. */
static enum uk_status keep_operands(struct uk_attempt *t) {
    if (t->view == t->st)
        return UK_OK;
    if (!(t->m.at = uk_alloc(t->s->arena, sizeof *t->m.at * (size_t)(t->m.tensors + 1))))
        return uk_out_of_memory(t->s->context);
    for (int n = 0; n < t->m.tensors; n++) {
        if (t->first[n] < 0)
            continue;
        t->m.at[n] = *uk_match_operand(t, n);
        for (int d = 0; d < t->m.at[n].tensor->stored_dims; d++)
            for (int l = t->tile; l < t->view->loops; l++)
                if (uk_loop_position(t->st, t->view->loop[l]) < 0)
                    t->m.at[n].index[d].coefficient[t->view->loop[l]->id] = 0;
    }
    return UK_OK;
}

/* Releases what a failed match has used. */
static enum uk_status give_up(struct uk_schedule *s, struct uk_mark mark, const struct uk_attempt *t,
                              int all_loops) {
    s->all_loops = all_loops;
    s->match_score = t->best;
    if (s->context->failed)
        return uk_failure(s->context);
    uk_arena_release(s->arena, mark);
    return UK_NO_MATCH;
}

/* False, with the reason: the kernel cannot compute a single stage, because it has several statements; or it
 * is a wave's, and the lanes are not told apart. */
static bool can_compute(struct uk_schedule *s, const struct uk_intrinsic *i, struct uk_text *why) {
    const bool has_lanes = i->scope != UK_EXEC_WAVE || i->wave;

    if (has_lanes && i->declaration->statements == i->computes)
        return true;
    s->match_score = -1;
    if (!has_lanes)
        uk_put(why, "runs on a whole wave, and its output is not spread over the lanes; declare that `in "
                    "register` with "
                    "`layout .. -> lane`");
    else
        uk_put(why, "stores the copy of %s too, so that it computes only the first tile that reads that copy",
               i->declaration->statements->left.tensor->name);
    return false;
}

enum uk_status uk_match(struct uk_schedule *s, struct uk_stage *st, int tile, struct uk_intrinsic *i,
                        struct uk_match **out, struct uk_text *why) {
    enum uk_status status = uk_kernel_of_lane(s, i, &i);

    *out = NULL;
    if (status)
        return status;
    return can_compute(s, i, why) ? uk_match_statement(s, st, tile, i, i->computes, out, why) : UK_NO_MATCH;
}

static enum uk_status match_statement(struct uk_schedule *s, struct uk_stage *st, int tile,
                                      struct uk_intrinsic *i, struct uk_statement *ks, struct uk_match **out,
                                      struct uk_text *why) {
    struct uk_mark mark = mark_scratch(s);
    int all_loops = s->all_loops;
    struct uk_attempt *t;
    enum uk_status status = begin(s, st, tile, i, ks, why, &t);

    *out = NULL;
    if (status)
        return status;
    if (!prove(t))
        return give_up(s, mark, t, all_loops);
    for (int v = 0; v < t->m.axes; v++)
        t->m.max_extent[v] = uk_match_max_extent(t, v);
    s->all_loops = all_loops;
    *out = &t->m;
    return keep_operands(t);
}

enum uk_status uk_match_statement(struct uk_schedule *s, struct uk_stage *st, int tile,
                                  struct uk_intrinsic *i, struct uk_statement *ks, struct uk_match **out,
                                  struct uk_text *why) {
    struct uk_stage *kept;
    enum uk_status status = uk_match_as_thread(s, st, &kept);

    if (!status)
        status = match_statement(s, st, tile, i, ks, out, why);
    if (kept)
        *st = *kept;
    return status;
}

/* The dimension whose index has this loop alone, with coefficient 1; -1: there is none. */
static int panel_dimension(const struct uk_attempt *t, const struct uk_operand *o, const struct uk_loop *l) {
    int found = -1;

    for (int d = 0; d < o->tensor->stored_dims; d++) {
        const int64_t *c = o->index[d].coefficient;

        if (!c[l->id])
            continue;
        if (c[l->id] != 1 || found >= 0)
            return -1;
        for (int i = 0; i < t->st->loops; i++)
            if (t->st->loop[i] != l && c[t->st->loop[i]->id])
                return -1;
        found = d;
    }
    return found;
}

/* Completes the operand's panel: its dimension, the numbers of its axes in the fit, and the layout. */
static bool describe_panel(struct uk_attempt *t, int operand, const int *axis) {
    const struct uk_operand *o = &t->st->operand[operand];
    struct uk_panel *p = &t->fit->panel[operand];

    if (axis[p->lane] < 0 || (p->group && axis[p->of] < 0))
        return uk_record_difference(t, "%s would have to be packed along an axis that has no loop here",
                                    o->tensor->name);
    if (o->tensor->layout || (p->group && !uk_may_group(t, o, p)))
        return uk_record_difference(t,
                                    "%s is not stored in the order in which the kernel reads it, and packing "
                                    "cannot give it that order",
                                    o->tensor->name);
    if (p->group && !(p->layout = uk_group_layout(t, operand, p)))
        return uk_out_of_memory(t->s->context), false;
    if ((p->along = panel_dimension(t, o, t->m.axis[p->lane])) < 0)
        return uk_record_difference(
            t, "%s is read in windows or with a stride along loop %s; panels allow neither", o->tensor->name,
            t->m.axis[p->lane]->var->name);
    p->lane = axis[p->lane];
    return true;
}

/* True if the declaration assumes that the axis has whole groups: its extent P is in `P % n == 0`. Without
 * that the kernel reads only the terms that exist of operands that it does not read in groups. */
static bool assumes_groups(const struct uk_attempt *t, int axis) {
    int64_t multiple;

    for (const struct uk_assume *a = t->k->declaration->assumes; a; a = a->next)
        if (uk_match_divisible_axis(t, a->relation, &multiple) == axis)
            return true;
    return false;
}

/* True if the declaration reads the pair's operand in groups. */
static bool is_grouped(const struct uk_attempt *t, const struct uk_pair *p) {
    return t->declared->operand[p->declared].tensor->layout;
}

/* A kernel that reads groups along a summed axis needs whole groups. Checks that the extent is a multiple of
 * the group; or that each operand there is packed, which adds zeros, or in a buffer past whose end the kernel
 * may read. */
static bool check_multiples(struct uk_attempt *t) {
    struct uk_arena *a = t->s->arena;

    for (int v = t->ks->left_iterators; v < t->ks->iterators; v++) {
        bool packed = true;

        if (!t->divisor[v] || !t->m.axis[v])
            continue;
        const bool whole = assumes_groups(t, v);
        struct uk_index *n = t->st->statement->extent[t->m.axis[v]->iterator];
        struct uk_index *rest = uk_index_op(a, UK_I_MOD, n, uk_index_int(a, t->divisor[v]));
        for (int i = 0; i < t->pairs; i++)
            packed &= !uk_depends(&t->view->operand[t->pair[i].operand], t->quotient[v]) ||
                      t->fit->panel[t->pair[i].operand].group || (!whole && !is_grouped(t, &t->pair[i])) ||
                      uk_match_may_read_on(t, &t->view->operand[t->pair[i].operand], t->remainder[v]);
        int64_t count;
        if (!packed && uk_index_is_int(n, &count) && count % t->divisor[v])
            return uk_record_difference(
                t,
                "the kernel reads groups of %lld along %s, and %s has %lld iterations; pack the operands "
                "that are read in groups, which pads them with 0",
                (long long)t->divisor[v], t->ks->iterator[v]->name, t->m.axis[v]->var->name,
                (long long)count);
        if (!packed && !uk_proves(t->s, t->st, 0, uk_index_op(a, UK_I_EQ, rest, uk_index_int(a, 0))))
            return uk_record_difference(t,
                                        "the kernel reads groups of %lld along %s, and %s need not be a "
                                        "multiple; `assume` that it is",
                                        (long long)t->divisor[v], t->ks->iterator[v]->name,
                                        t->m.axis[v]->var->name);
    }
    return true;
}

/* True if the kernel takes the operand, of two dimensions or more, with any stride in each of them. */
static bool takes_any_strides(const struct uk_attempt *t, int operand) {
    bool any = false;

    for (int i = 0; i < t->pairs; i++) {
        const struct uk_tensor *x = t->declared->operand[t->pair[i].declared].tensor;

        if (t->pair[i].operand != operand)
            continue;
        any = x->stored_dims > 1 && !x->layout;
        for (int d = 0; d < x->stored_dims; d++)
            any &= x->stride[d]->op == UK_I_VAR;
    }
    return any;
}

/* Fills the fit: axes with and without a loop, and the panels. */
static bool describe_fit(struct uk_attempt *t) {
    struct uk_fit *f = t->fit;
    int axis[UK_MAX_AXES];

    for (int v = 0; v < t->ks->iterators; v++) {
        axis[v] = t->m.axis[v] ? f->axes : -1;
        if (!t->m.axis[v] && v >= t->ks->left_iterators)
            continue;
        if (!t->m.axis[v]) {
            f->unit[f->units++] = uk_match_max_extent(t, v);
            continue;
        }
        f->axis[f->axes] = t->m.axis[v];
        f->max_extent[f->axes++] = uk_match_max_extent(t, v);
    }
    for (int o = 1; o < t->st->operands; o++) {
        f->any_strides[o] = takes_any_strides(t, o);
        if (f->panel[o].width && !describe_panel(t, o, axis))
            return false;
    }
    return check_multiples(t);
}

enum uk_status uk_fits(struct uk_schedule *s, struct uk_stage *st, struct uk_intrinsic *i, struct uk_fit *out,
                       struct uk_text *why) {
    struct uk_mark mark = mark_scratch(s);
    int all_loops = s->all_loops;
    struct uk_attempt *t;
    bool fits;

    enum uk_status status = uk_kernel_of_lane(s, i, &i);
    *out = (struct uk_fit){.intrinsic = i};
    if (status)
        return status;
    if (!can_compute(s, i, why))
        return UK_NO_MATCH;
    status = begin(s, st, 0, i, i->computes, why, &t);
    if (status)
        return status;
    t->fit = out;
    t->is_whole_stage = true;
    fits = is_in_memory(t) && uk_match_forms(t) && uk_match_declare(t) && unify(t) && uk_match_roles(t) &&
           uk_match_pads(t) && describe_fit(t);
    if (fits && st->statement->reduce != UK_REDUCE_NONE && !i->form[UK_FORM_UPDATE].is_declared)
        fits = uk_record_difference(t, "the sum has to be split, and the kernel has no `update`");
    if (!fits)
        return give_up(s, mark, t, all_loops);
    s->all_loops = all_loops;
    if (!uk_match_is_divided(t)) /* the fit refers to maps of divided axes */
        uk_arena_release(s->arena, mark);
    return UK_OK;
}

bool uk_is_axis(const struct uk_fit *f, const struct uk_loop *l) {
    for (int v = 0; v < f->axes; v++)
        if (f->axis[v] == l)
            return true;
    return false;
}
