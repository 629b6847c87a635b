/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compute_at P L and reverse_compute_at E L: a stage moves into the loops of another one, before or after the
 * loops inside L. This file has the shared part: finding the place, and the stage's loops there.
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

/* ---- positions of stages ---- */

bool uk_is_within(const struct uk_stage *st, const struct uk_stage *at, int prefix) {
    while (st && st != at && st->parent != at)
        st = st->parent;
    return st && (st == at || st->prefix >= prefix);
}

bool uk_stage_reads(const struct uk_stage *st, const struct uk_tensor *t) {
    for (int o = 1; o < st->operands; o++)
        if (uk_memory_of(&st->operand[o]) == t || st->operand[o].tensor == t)
            return true;
    return false;
}

bool uk_stage_writes(const struct uk_stage *st, const struct uk_tensor *t) {
    return st->operand[0].tensor == t;
}

/* Returns a tensor that both stages touch and at least one writes; NULL if there is none. */
static const struct uk_tensor *conflict(const struct uk_stage *a, const struct uk_stage *b) {
    if (uk_stage_writes(a, b->operand[0].tensor) || uk_stage_reads(a, b->operand[0].tensor))
        return b->operand[0].tensor;
    return uk_stage_reads(b, a->operand[0].tensor) ? a->operand[0].tensor : NULL;
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

/* True if an iterator is not a sum of loops, or accesses differ from the statement's: a fused stage. */
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
        const char *near = uk_closest_stage(a->s, a->step->subject);

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
    if (uk_is_gathered(&st->operand[0]))
        return uk_refuse_attach(a,
                                "the stage writes %s at elements of a tensor, in the order of its own loops; "
                                "leave it where it is",
                                st->operand[0].tensor->name);
    for (const struct uk_stage *c = a->s->stages; c; c = c->next)
        if (c->parent == st)
            return uk_refuse_attach(a, "%s is attached to the stage; put this step before that one", c->name);
    if (is_fused(st))
        return uk_refuse_attach(a, "loops of the stage are fused already; put this step before fuse");
    if (st->loops + a->prefix > UK_MAX_LOOPS)
        return uk_refuse_attach(a, "together the stages would have more than %d loops; split fewer",
                                UK_MAX_LOOPS);
    return UK_OK;
}

/* Checks that statements between the stage's place and its new one do not change its tensors. */
enum uk_status uk_check_between(struct uk_attaching *a, const struct uk_stage *from,
                                const struct uk_stage *to) {
    bool between = false;

    for (const struct uk_stage *st = a->s->stages; st; st = st->next) {
        if (uk_root_of(st) == to)
            between = false;
        const struct uk_tensor *t = between && st != a->st ? conflict(a->st, st) : NULL;
        if (t)
            return uk_refuse_attach(a, "stage %s runs in between and %s %s, which %s %s", st->name,
                                    uk_stage_writes(st, t) ? "writes" : "reads", t->name, a->st->name,
                                    uk_stage_writes(a->st, t) ? "writes" : "reads");
        if (st == from)
            between = true;
    }
    return UK_OK;
}

enum uk_status uk_check_follows(const struct uk_attaching *a, const struct uk_stage *first,
                                const struct uk_stage *second) {
    for (const struct uk_stage *st = first; st; st = st->next)
        if (st == second)
            return UK_OK;
    return uk_refuse_attach(a, "stage %s runs before %s", second->name, first->name);
}

/* ---- iterators ---- */

/* The subscript of the access that is iterator k alone, or -1. */
int uk_plain_dimension(const struct uk_statement *t, const struct uk_access *x, int k) {
    for (int d = 0; d < x->tensor->dims; d++)
        if (x->index[d]->op == UK_I_VAR && x->index[d]->var == t->iterator[k])
            return d;
    return -1;
}

/* True if the iterator's extent is the product of the extents of dimensions [from, d], all of which it runs
 * over. A change of view has set the subscripts of all but the last to 0. */
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

/* As declared in attach.h. A dimension at 0 belongs to the next dimension's iterator, which runs over both (a
 * change of view): iterator[d] is -1. */
bool uk_covers(const struct uk_attaching *a, const struct uk_statement *t, const struct uk_access *x,
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

static bool is_only_loop(const struct uk_bound *b, const struct uk_loop *l) {
    for (int i = 0; i < UK_MAX_LOOPS; i++)
        if ((b->form.coefficient[i] != 0) != (i == l->id))
            return false;
    return b->form.coefficient[l->id] == 1;
}

/* How often the form contains x, the sum of an iterator's loops; 0: it contains none, or not all of them in
 * proportion. *others: it contains other loops of the stage, too. */
static int64_t times_in(const struct uk_attaching *a, const struct uk_affine *x, const struct uk_affine *form,
                        bool *others) {
    int64_t times = 0;

    *others = false;
    for (int i = a->prefix; i < a->st->loops; i++) {
        const int id = a->st->loop[i]->id;

        *others |= !x->coefficient[id] && form->coefficient[id];
        if (x->coefficient[id] && !times)
            times = form->coefficient[id] / x->coefficient[id];
        if (x->coefficient[id] && form->coefficient[id] != times * x->coefficient[id])
            return 0;
    }
    return times;
}

/* Moves other iterators and their bounds by the offset of iterator k, as often as they contain its loops: a
 * loop that rfactor made an iterator is also part of the sum's iterator. */
static enum uk_status move_others(struct uk_attaching *a, int k, const struct uk_affine *offset) {
    struct uk_stage *st = a->st;
    const struct uk_affine x = st->iterator[k];
    enum uk_status status = UK_OK;
    bool others;

    for (int i = 0; i < st->iterators && !status; i++)
        if (i != k)
            status =
                uk_affine_add(a->s, &st->iterator[i], offset, times_in(a, &x, &st->iterator[i], &others));
    for (int b = 0; b < st->bounds && !status; b++) {
        const int64_t times = times_in(a, &x, &st->bound[b].form, &others);

        status = others ? uk_affine_add(a->s, &st->bound[b].form, offset, times) : UK_OK;
    }
    return status;
}

/* Sets iterator k = offset + x, where x is the previous sum of its loops. A single loop is bounded by the
 * part alone; loops from a split keep the ranges that the split gave them. */
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
        if (loops != 1 || !is_only_loop(&st->bound[b], only))
            st->bound[kept++] = st->bound[b];
    st->bounds = kept;
    enum uk_status status = move_others(a, k, &part->offset);
    if (status)
        return status;
    for (int b = 0; b < part->bounds; b++) {
        struct uk_affine f = part->bound[b].form;

        for (int l = 0; l < UK_MAX_LOOPS; l++)
            f.coefficient[l] += x.coefficient[l];
        status = uk_add_bound(a->s, st, &f, part->bound[b].upper);
        if (status)
            return status;
    }
    for (int l = 0; l < UK_MAX_LOOPS; l++)
        st->iterator[k].coefficient[l] += part->offset.coefficient[l];
    st->iterator[k].rest = uk_sum(a->s, st->iterator[k].rest, part->offset.rest);
    return part->offset.rest && !st->iterator[k].rest ? uk_out_of_memory(a->s->context) : UK_OK;
}

/* Gives the stage the loops of the place, then its own; iterators with a part become relative to it. */
enum uk_status uk_attach_loops(struct uk_attaching *a) {
    struct uk_stage *st = a->st;
    int own = st->loops;
    enum uk_status status;

    uk_separate_loop_ids(st, a->at->loop, a->prefix);
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

void uk_unlink_stage(struct uk_schedule *s, const struct uk_stage *st) {
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

static bool is_written_in(const struct uk_attaching *a, const struct uk_tensor *t) {
    for (const struct uk_stage *st = a->s->stages; st; st = st->next)
        if ((st == a->st || uk_root_of(st) == uk_root_of(a->at)) && uk_stage_writes(st, t))
            return true;
    return false;
}

/* Checks that the nest does not write elements that serve as subscripts: these are tested before it
 * begins. */
static enum uk_status check_subscripts(const struct uk_attaching *a) {
    for (const struct uk_stage *st = a->s->stages; st; st = st->next) {
        if (st != a->st && uk_root_of(st) != uk_root_of(a->at))
            continue;
        for (int o = 1; o < st->operands; o++)
            if (st->operand[o].is_subscript && is_written_in(a, st->operand[o].tensor))
                return uk_refuse_attach(
                    a,
                    "elements of %s are subscripts in stage %s, which are tested before its nest "
                    "begins, and one nest would write and read them; leave it where it is",
                    st->operand[o].tensor->name, st->name);
    }
    return UK_OK;
}

enum uk_status uk_apply_attach(struct uk_schedule *s, struct uk_step *step) {
    bool after = step->kind == UK_STEP_REVERSE_COMPUTE_AT;
    struct uk_attaching a = {.s = s, .step = step, .what = after ? "reverse_compute_at" : "compute_at"};
    enum uk_status status;

    if ((status = find_place(&a, after)) || (status = find_stage(&a)) || (status = check_subscripts(&a)))
        return status;
    return after ? uk_attach_consumer(&a) : uk_attach_producer(&a);
}
