/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compute_at P L and reverse_compute_at E L: a stage moves into the loops of another, before or after the
 * loops inside L. A producer computes there what those read; a consumer takes what they have written, once
 * its sum is complete.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "attach.h"

enum uk_status uk_refuse_attach(const struct uk_attaching *a, const char *format, ...) {
    char what[400];
    va_list ap;

    va_start(ap, format);
    vsnprintf(what, sizeof what, format, ap);
    va_end(ap);
    return uk_fail(a->s->context, UK_REFUSED, a->step->at, "%s %s at %s: %s", a->what, a->step->subject,
                   a->step->loop[0].loop, what);
}

/* ---- where stages are ---- */

bool uk_is_within(const struct uk_stage *st, const struct uk_stage *at, int prefix) {
    while (st && st != at && st->parent != at)
        st = st->parent;
    return st && (st == at || st->prefix >= prefix);
}

static bool reads(const struct uk_stage *st, const struct uk_tensor *t) {
    for (int o = 1; o < st->operands; o++)
        if (st->operand[o].tensor == t)
            return true;
    return false;
}

static bool writes(const struct uk_stage *st, const struct uk_tensor *t) {
    return st->operand[0].tensor == t;
}

/* Do the two stages touch one tensor, and one of them as a writer? */
static const struct uk_tensor *conflict(const struct uk_stage *a, const struct uk_stage *b) {
    if (writes(a, b->operand[0].tensor) || reads(a, b->operand[0].tensor))
        return b->operand[0].tensor;
    return reads(b, a->operand[0].tensor) ? a->operand[0].tensor : NULL;
}

/* ---- the stage and the place ---- */

static enum uk_status find_place(struct uk_attaching *a, bool after) {
    struct uk_stage *at;
    int position;
    enum uk_status status = uk_find_loop(a->s, &a->step->loop[0], &at, &position);

    if (status)
        return status;
    a->at = at;
    a->prefix = position + 1;
    if (at->match && position >= at->tile)
        return uk_refuse_attach(a, "the loop is inside the kernel of stage %s; take one outside of it",
                                at->name);
    if (at->is_copy)
        return uk_refuse_attach(a, "stage %s is a copy; take a loop of a statement", at->name);
    for (const struct uk_stage *st = at; after && st->parent; st = st->parent)
        if (!st->after)
            return uk_refuse_attach(
                a, "stage %s is computed inside %s itself, some of it several times; take a loop of %s",
                st->name, st->parent->name, st->parent->name);
    return UK_OK;
}

/* Iterators that are no sums of loops, or accesses that are no longer those of the statement. */
static bool is_fused(const struct uk_stage *st) {
    bool fused = false;

    for (int k = 0; k < st->iterators; k++)
        fused |= st->iterator[k].general != NULL;
    for (int o = 0; o < st->operands; o++) {
        const struct uk_expr *e = st->operand[o].expr;

        fused |= st->operand[o].tensor != (e ? e->access.tensor : st->statement->left.tensor);
    }
    return fused;
}

static enum uk_status find_stage(struct uk_attaching *a) {
    struct uk_stage *st = a->st = uk_stage_find(a->s, a->step->subject);

    if (!st) {
        const char *near = uk_near_stage(a->s, a->step->subject);

        return uk_refuse_attach(a, "there is no stage of that name%s%s; name one of the statements",
                                near ? "; did you mean " : "", near ? near : "");
    }
    if (st == a->at)
        return uk_refuse_attach(a, "the loop is the stage's own; name a loop of the stage to attach it to");
    if (st->is_copy)
        return uk_refuse_attach(a, "the stage is a copy, which has its place already");
    if (st->parent)
        return uk_refuse_attach(a, "the stage is attached to %s already", st->parent->name);
    if (st->match)
        return uk_refuse_attach(a, "the stage is tensorized already; put the step before tensorize");
    if (st->previous)
        return uk_refuse_attach(a, "the stage is a scan, which goes on from element to element");
    for (const struct uk_stage *c = a->s->stages; c; c = c->next)
        if (c->parent == st)
            return uk_refuse_attach(a, "%s is attached to the stage; put this step before that one", c->name);
    if (is_fused(st))
        return uk_refuse_attach(a, "loops of the stage are fused already; put this step before fuse");
    if (st->loops + a->prefix > UK_MAX_LOOPS)
        return uk_refuse_attach(a, "together that is more than %d loops; split less", UK_MAX_LOOPS);
    return UK_OK;
}

/* The statements that run between the stage's place and its new one see none of its tensors change. */
static enum uk_status check_between(struct uk_attaching *a, const struct uk_stage *from,
                                    const struct uk_stage *to) {
    bool between = false;

    for (const struct uk_stage *st = a->s->stages; st; st = st->next) {
        if (uk_root_of(st) == to)
            between = false;
        const struct uk_tensor *t = between && st != a->st ? conflict(a->st, st) : NULL;
        if (t)
            return uk_refuse_attach(a, "stage %s runs in between and %s %s, which %s %s", st->name,
                                    writes(st, t) ? "writes" : "reads", t->name, a->st->name,
                                    writes(a->st, t) ? "writes" : "reads");
        if (st == from)
            between = true;
    }
    return UK_OK;
}

static enum uk_status check_follows(const struct uk_attaching *a, const struct uk_stage *first,
                                    const struct uk_stage *second) {
    for (const struct uk_stage *st = first; st; st = st->next)
        if (st == second)
            return UK_OK;
    return uk_refuse_attach(a, "stage %s runs before %s", second->name, first->name);
}

/* ---- iterators ---- */

/* The position of iterator k among the subscripts of the access, where it stands alone; -1: nowhere. */
int uk_plain_dimension(const struct uk_statement *t, const struct uk_access *x, int k) {
    for (int d = 0; d < x->tensor->dims; d++)
        if (x->index[d]->op == UK_I_VAR && x->index[d]->var == t->iterator[k])
            return d;
    return -1;
}

/* Does the iterator run over all of dimensions [from, d] together, of which a change of view has put all but
 * the last at 0? */
static bool runs_over(const struct uk_attaching *a, const struct uk_index *extent, const struct uk_access *x,
                      int from, int d) {
    struct uk_poly have = uk_poly_of(extent), all = uk_poly_of(x->tensor->shape[d]);

    if (from == d)
        return uk_same_extent(a->s->program, extent, x->tensor->shape[d]);
    for (int z = from; z < d; z++) {
        struct uk_poly n = uk_poly_of(x->tensor->shape[z]);

        all = uk_poly_multiply(&n, &all);
    }
    return have.terms >= 0 && all.terms >= 0 && uk_poly_same(a->s->program, &have, &all);
}

/* Every dimension is an iterator that runs over all of it, or at 0 and part of what the next one's runs over:
 * iterator[d] is -1. */
static bool covers(const struct uk_attaching *a, const struct uk_statement *t, const struct uk_access *x,
                   int iterator[UK_MAX_DIMS]) {
    int from = 0;
    int64_t zero;

    for (int d = 0; d < x->tensor->dims; d++) {
        iterator[d] = -1;
        for (int k = 0; k < t->iterators; k++)
            if (uk_plain_dimension(t, x, k) == d)
                iterator[d] = k;
        if (iterator[d] < 0 && (!uk_index_is_int(x->index[d], &zero) || zero))
            return false;
        if (iterator[d] < 0)
            continue;
        if (!runs_over(a, t->extent[iterator[d]], x, from, d))
            return false;
        from = d + 1;
    }
    return from == x->tensor->dims;
}

static bool is_alone(const struct uk_bound *b, const struct uk_loop *l) {
    for (int i = 0; i < UK_MAX_LOOPS; i++)
        if ((b->form.coefficient[i] != 0) != (i == l->id))
            return false;
    return b->form.coefficient[l->id] == 1;
}

/* Iterator k = offset + x, x being what its loops made up so far. A single loop is bounded by the part alone;
 * of loops that were split, the ranges that the split gave them are kept. */
static enum uk_status place_iterator(struct uk_attaching *a, int k, const struct uk_part *part) {
    struct uk_stage *st = a->st;
    struct uk_affine x = st->iterator[k];
    const struct uk_loop *only = NULL;
    int loops = 0, kept = 0;

    for (int i = a->prefix; i < st->loops; i++)
        if (x.coefficient[st->loop[i]->id]) {
            only = st->loop[i];
            loops++;
        }
    for (int b = 0; b < st->bounds; b++)
        if (loops != 1 || !is_alone(&st->bound[b], only))
            st->bound[kept++] = st->bound[b];
    st->bounds = kept;
    for (int b = 0; b < part->bounds; b++) {
        struct uk_affine f = part->bound[b].form;

        for (int l = 0; l < UK_MAX_LOOPS; l++)
            f.coefficient[l] += x.coefficient[l];
        enum uk_status status = uk_add_bound(a->s, st, &f, part->bound[b].upper);
        if (status)
            return status;
    }
    for (int l = 0; l < UK_MAX_LOOPS; l++)
        st->iterator[k].coefficient[l] += part->offset.coefficient[l];
    st->iterator[k].rest = uk_sum(a->s, st->iterator[k].rest, part->offset.rest);
    return part->offset.rest && !st->iterator[k].rest ? uk_out_of_memory(a->s->context) : UK_OK;
}

/* Loops of the place, then its own; iterators with a part are relative to that. */
enum uk_status uk_attach_loops(struct uk_attaching *a) {
    struct uk_stage *st = a->st;
    int own = st->loops;
    enum uk_status status;

    uk_loops_apart(st, a->at->loop, a->prefix);
    memmove(&st->loop[a->prefix], &st->loop[0], sizeof st->loop[0] * (size_t)own);
    memcpy(&st->loop[0], a->at->loop, sizeof st->loop[0] * (size_t)a->prefix);
    st->loops = st->tile = own + a->prefix;
    st->parent = a->at;
    a->at->attached++;
    st->prefix = a->prefix;
    for (int i = 0; i < a->prefix; i++)
        for (int l = a->prefix; l < st->loops && a->at->loop[i]->kind == UK_LOOP_PARALLEL; l++)
            if (st->loop[l]->kind == UK_LOOP_PARALLEL)
                st->loop[l]->kind = UK_LOOP_SERIAL;
    for (int k = 0; k < st->iterators; k++)
        if (a->part[k] && (status = place_iterator(a, k, a->part[k])))
            return status;
    return uk_inherit_bounds(a->s, a->at, a->prefix, st);
}

static void unlink_stage(struct uk_schedule *s, const struct uk_stage *st) {
    struct uk_stage **at = &s->stages;

    while (*at != st)
        at = &(*at)->next;
    *at = st->next;
}

void uk_link_before(struct uk_schedule *s, struct uk_stage *st, const struct uk_stage *next) {
    struct uk_stage **at = &s->stages;

    while (*at && *at != next)
        at = &(*at)->next;
    st->next = *at;
    *at = st;
}

/* ---- after: a consumer ---- */

/* Once the sum of `at` is complete: its loops in the prefix are in their last iteration, which is where
 * sum c * loop >= extent - step. */
enum uk_status uk_wait_for_sums(struct uk_attaching *a) {
    const struct uk_stage *at = a->at;

    for (int k = 0; k < at->iterators; k++) {
        struct uk_affine minus = {0};
        int64_t step = INT64_MAX;

        for (int i = 0; i < at->loops; i++) {
            int id = at->loop[i]->id;
            int64_t c = at->iterator[k].coefficient[id];

            if (!at->reduced[k] || at->loop[i]->stage != at || !c)
                continue;
            if (c >= step)
                return uk_refuse_attach(
                    a,
                    "the loops of %s over %s are not in the order from coarse to fine, so "
                    "that no iteration is the last one; reorder them",
                    at->name, at->statement->iterator[k]->name);
            if (i < a->prefix) {
                step = c;
                minus.coefficient[id] = -c;
            }
        }
        if (step == INT64_MAX)
            continue;
        struct uk_index *upper =
            uk_index_op(a->s->arena, UK_I_SUB, uk_index_int(a->s->arena, step + 1), at->statement->extent[k]);
        enum uk_status status =
            upper ? uk_add_bound(a->s, a->st, &minus, upper) : uk_out_of_memory(a->s->context);
        if (status)
            return status;
    }
    return UK_OK;
}

/* The access of the stage takes, iterator by iterator, what `w` touches inside the place. */
static enum uk_status map_access(struct uk_attaching *a, const struct uk_access *x, bool padded,
                                 const struct uk_stage *w, const struct uk_operand *o) {
    struct uk_region *r = uk_alloc(a->s->arena, sizeof *r);
    const struct uk_statement *t = a->st->statement;
    int iterator[UK_MAX_DIMS], theirs[UK_MAX_DIMS];
    const char *why = NULL;

    if (!r)
        return uk_out_of_memory(a->s->context);
    if (padded || !covers(a, t, x, iterator))
        return uk_refuse_attach(a, "the stage accesses %s, which %s touches inside, not at plain iterators",
                                x->tensor->name, w->name);
    if (!covers(a, w->statement, o->expr ? &o->expr->access : &w->statement->left, theirs))
        return uk_refuse_attach(a, "stage %s does not go over all of %s at plain iterators", w->name,
                                x->tensor->name);
    for (int d = 0; d < x->tensor->dims; d++)
        if ((iterator[d] < 0) != (theirs[d] < 0))
            return uk_refuse_attach(a, "loops over %s are fused in one of %s and %s only; fuse them in both",
                                    x->tensor->name, a->st->name, w->name);
    enum uk_status status = uk_region_of(a->s, w, o, a->prefix, r, &why);
    if (status)
        return status == UK_NO_MATCH
                   ? uk_refuse_attach(a, "%s in stage %s: %s", x->tensor->name, w->name, why)
                   : status;
    for (int d = 0; d < x->tensor->dims; d++) {
        int k = iterator[d];

        if (k < 0)
            continue;
        if (r->part[d].is_whole)
            return uk_refuse_attach(a, "%s in stage %s: an index is not a sum of loops", x->tensor->name,
                                    w->name);
        if (a->part[k] && !uk_part_equal(a->part[k], &r->part[d]))
            return uk_refuse_attach(
                a,
                "inside the loop, %s of %s is not the same range in all accesses of other "
                "stages to its tensors",
                t->iterator[k]->name, a->st->name);
        a->part[k] = &r->part[d];
    }
    return UK_OK;
}

/* Is `at` attached, directly or not, after the inner loops of `w`? */
static bool is_followed(const struct uk_stage *at, const struct uk_stage *w) {
    while (at->parent && at->parent != w)
        at = at->parent;
    return at->parent == w && at->after;
}

/* One tensor of the stage against one stage of the nest. */
static enum uk_status map_operand(struct uk_attaching *a, int operand, const struct uk_stage *w, int theirs) {
    const struct uk_operand *mine = &a->st->operand[operand], *o = &w->operand[theirs];
    const struct uk_access *x = mine->expr ? &mine->expr->access : &a->st->statement->left;

    if (mine->tensor != o->tensor || (operand > 0 && theirs > 0))
        return UK_OK;
    if (is_followed(a->at, w)) /* what `at` takes of it is complete */
        for (int i = 0; i < a->at->operands; i++)
            if (a->at->operand[i].tensor == o->tensor)
                return map_access(a, x, mine->pad != UK_PAD_NONE, a->at, &a->at->operand[i]);
    if (!uk_is_within(w, a->at, a->prefix))
        return uk_refuse_attach(a, "stage %s %s %s outside of this loop", w->name,
                                theirs ? "reads" : "writes", o->tensor->name);
    if (w->is_copy)
        return uk_refuse_attach(a, "the copy %s of %s would be out of date", w->name, o->tensor->name);
    if (operand > 0 || a->st->statement->assign != UK_ASSIGN)
        a->reads_inside = true;
    return map_access(a, x, mine->pad != UK_PAD_NONE, w, o);
}

static enum uk_status map_iterators(struct uk_attaching *a) {
    for (const struct uk_stage *w = a->s->stages; w; w = w->next)
        for (int theirs = 0; uk_root_of(w) == uk_root_of(a->at) && theirs < w->operands; theirs++)
            for (int operand = 0; operand < a->st->operands; operand++) {
                enum uk_status status = map_operand(a, operand, w, theirs);

                if (status)
                    return status;
            }
    if (!a->reads_inside)
        return uk_refuse_attach(a, "nothing that the stage reads is written inside this loop");
    for (int k = 0; k < a->st->iterators; k++)
        for (int l = 0; l < UK_MAX_LOOPS; l++)
            if (a->st->reduced[k] && a->part[k] && a->part[k]->offset.coefficient[l])
                return uk_refuse_attach(
                    a,
                    "the stage sums over %s, and the loops outside have a part of its range each; take a "
                    "loop outside of those",
                    a->st->statement->iterator[k]->name);
    return UK_OK;
}

/* A loop outside of which none of its iterators has a part, and which is no sum's: the stage runs again for each of its
 * iterations. */
static const struct uk_loop *repeating_loop(const struct uk_attaching *a) {
    for (int i = 0; i < a->prefix; i++) {
        const struct uk_loop *l = a->at->loop[i];
        bool repeats = !uk_is_reduced(l->stage, l);

        for (int k = 0; k < a->st->iterators; k++)
            repeats &= !a->part[k] || !a->part[k]->offset.coefficient[l->id];
        if (repeats)
            return l;
    }
    return NULL;
}

/* Again is as good as once if neither the stage itself nor another one in the nest needs what was there before. */
static enum uk_status check_repeats(const struct uk_attaching *a) {
    const struct uk_tensor *t = a->st->operand[0].tensor;
    const struct uk_loop *l = repeating_loop(a);

    if (!l)
        return UK_OK;
    if (a->st->statement->assign != UK_ASSIGN || reads(a->st, t))
        return uk_refuse_attach(
            a, "the stage would update %s again in each iteration of %s; take a loop outside of it", t->name,
            l->var->name);
    for (const struct uk_stage *w = a->s->stages; w; w = w->next)
        if (uk_root_of(w) == uk_root_of(a->at) && (reads(w, t) || writes(w, t)))
            return uk_refuse_attach(
                a,
                "the stage would write %s, which %s %s, in each iteration of %s; take a loop outside of it",
                t->name, w->name, writes(w, t) ? "writes" : "reads", l->var->name);
    return UK_OK;
}

static enum uk_status reverse_compute_at(struct uk_attaching *a) {
    const struct uk_stage *root = uk_root_of(a->at), *last = root;
    enum uk_status status;

    for (const struct uk_stage *st = a->s->stages; st; st = st->next)
        if (uk_root_of(st) == root)
            last = st;
    if ((status = check_follows(a, last, a->st)) || (status = check_between(a, last, a->st)) ||
        (status = map_iterators(a)) || (status = check_repeats(a)))
        return status;
    unlink_stage(a->s, a->st);
    a->st->after = true;
    uk_link_before(a->s, a->st, last->next);
    if ((status = uk_attach_loops(a)) || (status = uk_wait_for_sums(a)))
        return status;
    return uk_stage_operands(a->s, a->st);
}

/* ---- before: a producer ---- */

/* Could the stage, which reads what is to be computed at the place, be computed there itself? */
static bool may_come_too(const struct uk_attaching *a, const struct uk_stage *reader) {
    const struct uk_tensor *t = reader->operand[0].tensor;
    bool may = t->kind == UK_TENSOR_TEMP && !reader->inside && !reader->parent && !reader->match &&
               reader->statement->assign == UK_ASSIGN && !reads(reader, t);

    for (const struct uk_stage *st = a->s->stages; st && may; st = st->next)
        may = (st == reader || !writes(st, t)) && (!reads(st, t) || uk_is_within(st, a->at, a->prefix));
    return may;
}

static enum uk_status refuse_outside(const struct uk_attaching *a, const struct uk_stage *reader,
                                     const struct uk_tensor *t) {
    if (may_come_too(a, reader))
        return uk_refuse_attach(a,
                                "stage %s reads %s outside of this loop; put `compute_at %s %s.%s` before it",
                                reader->name, t->name, reader->name, a->at->name, a->step->loop[0].loop);
    return uk_refuse_attach(a,
                            "stage %s reads %s outside of this loop, and cannot be computed inside it; leave "
                            "%s where it is",
                            reader->name, t->name, a->st->name);
}

static enum uk_status check_producer(struct uk_attaching *a, int iterator[UK_MAX_DIMS]) {
    const struct uk_stage *p = a->st;
    const struct uk_tensor *t = p->operand[0].tensor;

    if (t->kind != UK_TENSOR_TEMP)
        return uk_refuse_attach(a, "%s is not a temp; only temps may be computed in parts", t->name);
    if (p->inside)
        return uk_refuse_attach(a, "loops of the stage are fused; put the step before that");
    if (p->statement->assign != UK_ASSIGN || reads(p, t))
        return uk_refuse_attach(a, "the stage updates %s, so that it cannot be computed again", t->name);
    if (!covers(a, p->statement, &p->statement->left, iterator))
        return uk_refuse_attach(a, "the stage does not write all of %s at plain iterators", t->name);
    for (const struct uk_stage *st = a->s->stages; st; st = st->next) {
        if (st != p && writes(st, t))
            return uk_refuse_attach(a, "stage %s writes %s too", st->name, t->name);
        if (reads(st, t) && !uk_is_within(st, a->at, a->prefix))
            return refuse_outside(a, st, t);
        const struct uk_tensor *x = uk_root_of(st) == uk_root_of(a->at) && reads(p, st->operand[0].tensor)
                                        ? st->operand[0].tensor
                                        : NULL;
        if (x)
            return uk_refuse_attach(a, "the stage reads %s, which %s writes in this nest", x->name, st->name);
    }
    return UK_OK;
}

static bool has_guards(const struct uk_stage *st) {
    bool any = st->is_filtered;

    for (int b = 0; b < st->bounds; b++)
        any |= st->bound[b].is_guard;
    return any;
}

/* What all stages inside the place read of the tensor. */
static enum uk_status find_read(struct uk_attaching *a, struct uk_region **out) {
    const struct uk_tensor *t = a->st->operand[0].tensor;
    const char *why = NULL;

    *out = NULL;
    for (const struct uk_stage *st = a->s->stages; st; st = st->next)
        for (int o = 1; o < st->operands; o++) {
            struct uk_region *r;

            if (st->operand[o].tensor != t)
                continue;
            /* A view has the addresses, not the ranges of the dimensions. */
            for (const struct uk_stage *c = st; c; c = c->parent)
                if (c->inside)
                    return uk_refuse_attach(
                        a, "loops of stage %s, which reads %s, are fused; put the step before that", c->name,
                        t->name);
            if (st->operand[o].pad == UK_PAD_VALUE && !st->is_copy)
                return uk_refuse_attach(
                    a,
                    "stage %s reads %s under a pad that is no factor of a sum; put `cache_read %s at %s.%s` "
                    "before it",
                    st->name, t->name, t->name, a->at->name, a->step->loop[0].loop);
            a->clipped |= st->operand[o].pad != UK_PAD_NONE || has_guards(st);
            if (!(r = uk_alloc(a->s->arena, sizeof *r)))
                return uk_out_of_memory(a->s->context);
            enum uk_status status = uk_region_of(a->s, st, &st->operand[o], a->prefix, r, &why);
            if (!status && *out)
                status = uk_region_join(a->s, *out, r, a->clipped ? NULL : (void *)t->shape, &why);
            if (status)
                return status == UK_NO_MATCH
                           ? uk_refuse_attach(a, "%s in stage %s: %s", t->name, st->name, why)
                           : status;
            *out = *out ? *out : r;
        }
    return *out ? UK_OK : uk_refuse_attach(a, "no stage inside this loop reads %s", t->name);
}

/* Where readers ask themselves what is inside of the tensor, their region may reach beyond it: of iterator k,
 * only 0 <= k < extent is computed. */
static enum uk_status clip(struct uk_attaching *a, int k) {
    struct uk_affine f = a->st->iterator[k], minus = {0};
    struct uk_index *one = uk_index_int(a->s->arena, 1);
    enum uk_status status = uk_add_bound(a->s, a->st, &f, a->st->statement->extent[k]);

    for (int l = 0; l < UK_MAX_LOOPS; l++)
        minus.coefficient[l] = -f.coefficient[l];
    if (f.rest)
        minus.rest = uk_index_op(a->s->arena, UK_I_NEG, f.rest, NULL);
    a->st->bound[a->st->bounds - 1].is_guard = true;
    if (!status && !(status = uk_add_bound(a->s, a->st, &minus, one)))
        a->st->bound[a->st->bounds - 1].is_guard = true;
    return status;
}

/* The stage of the place's nest, in the list, before which the producer must come. */
static const struct uk_stage *first_reader(const struct uk_attaching *a) {
    const struct uk_tensor *t = a->st->operand[0].tensor;

    for (const struct uk_stage *first = a->s->stages; first; first = first->next)
        for (const struct uk_stage *st = a->s->stages; st; st = st->next) {
            const struct uk_stage *c = st;

            while (c != a->at && c->parent != a->at && c->parent)
                c = c->parent;
            if (st != a->st && reads(st, t) && (first == c || (c != a->at && uk_is_within(first, c, 0))))
                return first;
        }
    return a->at;
}

static enum uk_status compute_at(struct uk_attaching *a) {
    int iterator[UK_MAX_DIMS];
    struct uk_region *r;
    enum uk_status status;

    if ((status = check_producer(a, iterator)) || (status = check_follows(a, a->st, uk_root_of(a->at))) ||
        (status = check_between(a, a->st, uk_root_of(a->at))) || (status = find_read(a, &r)))
        return status;
    for (int d = 0; d < r->dims; d++)
        a->part[iterator[d]] = &r->part[d];
    const struct uk_stage *next = first_reader(a);
    unlink_stage(a->s, a->st);
    uk_link_before(a->s, a->st, next);
    if ((status = uk_attach_loops(a)) || (status = uk_stage_operands(a->s, a->st)))
        return status;
    for (int d = 0; d < r->dims && a->clipped && !status; d++)
        status = clip(a, iterator[d]);
    return status;
}

enum uk_status uk_apply_attach(struct uk_schedule *s, struct uk_step *step) {
    bool after = step->kind == UK_STEP_REVERSE_COMPUTE_AT;
    struct uk_attaching a = {.s = s, .step = step, .what = after ? "reverse_compute_at" : "compute_at"};
    enum uk_status status;

    if ((status = find_place(&a, after)) || (status = find_stage(&a)))
        return status;
    return after ? reverse_compute_at(&a) : compute_at(&a);
}
