/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Changes of one choice in a schedule: the factor of a split, a split more or less, the order of two loops,
 * the place of a copy or of a stage, the kind of a loop (parallel, vector, unrolled), the kernel among those
 * of one shape. A change only rewrites steps and the names in later ones; applying them shows whether it is
 * legal.
 */
#include <string.h>
#include "space.h"

/* ---- stages and loops ---- */

static bool of_statement(const struct uk_stage *st) {
    return !st->is_copy && !st->is_reset;
}

static bool of_plain_loops(const struct uk_stage *st) {
    return of_statement(st) && !st->match;
}

/* A random loop of the stage's own outside its tile; NULL: there is none. */
static const struct uk_loop *pick_loop(const struct uk_stage *st, uint64_t *random) {
    return st->tile > st->prefix
               ? st->loop[st->prefix + (int)uk_draw(random, (uint64_t)(st->tile - st->prefix))]
               : NULL;
}

static const struct uk_loop *loop_named(const struct uk_stage *st, const char *name) {
    for (int i = st->prefix; i < st->loops; i++)
        if (uk_same_name(st->loop[i]->var->name, name))
            return st->loop[i];
    return NULL;
}

static int before_tensorize(const struct uk_draft *d, const struct uk_stage *st) {
    for (int k = 0; k < d->steps; k++)
        if (d->step[k]->kind == UK_STEP_TENSORIZE && uk_is_on_stage(d->step[k], st->name))
            return k;
    return d->steps;
}

/* ---- order ---- */

/* A reorder of all loops of the stage in their present order, inserted after its splits. */
static struct uk_step *reorder_all(struct uk_draft *d, const struct uk_stage *st) {
    const char *loop[UK_MAX_LOOPS];
    int n = 0;

    for (int i = st->prefix; i < st->loops; i++)
        loop[n++] = st->loop[i]->var->name;
    return uk_draft_insert(d, uk_draft_after_splits(d, st), UK_STEP_REORDER, st, loop, n);
}

/* The number of leading loops of a reorder that are outside the stage's tile. */
static int movable(const struct uk_step *step, const struct uk_stage *st) {
    int n = 0;

    while (n < step->loops) {
        const struct uk_loop *l = loop_named(st, step->loop[n].loop);

        if (st->match && l && uk_loop_position(st, l) >= st->tile)
            break;
        n++;
    }
    return n;
}

static void move(struct uk_step *step, int from, int to) {
    struct uk_loop_name l = step->loop[from];

    uk_step_remove_loop(step, from);
    memmove(&step->loop[to + 1], &step->loop[to], sizeof l * (size_t)(step->loops - to));
    step->loop[to] = l;
    step->loops++;
}

static enum uk_status reorder(struct uk_draft *d, uint64_t *random) {
    const struct uk_stage *st = uk_draft_pick_stage(d, random, uk_is_any_stage);
    struct uk_step *step = NULL;

    if (!st || uk_draft_is_full(d))
        return UK_REFUSED;
    for (int k = d->steps - 1; k >= 0 && !step; k--)
        if (d->step[k]->kind == UK_STEP_REORDER && uk_is_on_stage(d->step[k], st->name) &&
            !(step = uk_draft_copy_step(d, k)))
            return UK_OUT_OF_MEMORY;
    if (!step && !(step = reorder_all(d, st)))
        return UK_OUT_OF_MEMORY;
    int n = movable(step, st);
    if (n < 2)
        return UK_REFUSED;
    int from = (int)uk_draw(random, (uint64_t)n), to = (int)uk_draw(random, (uint64_t)n - 1);
    move(step, from, to >= from ? to + 1 : to);
    return UK_OK;
}

/* ---- places ---- */

static bool has_place(const struct uk_step *step) {
    return (uk_step_copies(step) || uk_step_attaches(step)) && step->loops;
}

/* The stage that has the loop at which the step places a copy or stage. */
static const struct uk_stage *place_stage(const struct uk_draft *d, const struct uk_step *step) {
    if (step->loop[0].stage)
        return uk_stage_find(d->s, step->loop[0].stage);
    for (const struct uk_stage *st = d->s->stages; st; st = st->next)
        if (st->is_copy && uk_same_name(st->operand[1].tensor->name, step->subject))
            return st->parent;
    return NULL;
}

static enum uk_status replace(struct uk_draft *d, uint64_t *random) {
    int k = uk_draft_pick_step(d, random, has_place);
    const struct uk_stage *st = k < 0 ? NULL : place_stage(d, d->step[k]);

    if (!st)
        return UK_REFUSED;
    struct uk_loop_name place = {.loop = "root"};
    int at = (int)uk_draw(random, (uint64_t)(st->tile - st->prefix) + 1);
    if (at)
        place = (struct uk_loop_name){.stage = st->name, .loop = st->loop[st->prefix + at - 1]->var->name};
    if (uk_same_name(place.loop, d->step[k]->loop[0].loop) || (uk_step_attaches(d->step[k]) && !at))
        return UK_REFUSED;
    struct uk_step *step = uk_draft_copy_step(d, k);
    if (!step)
        return UK_OUT_OF_MEMORY;
    step->loop[0] = place;
    return UK_OK;
}

/* Attaches a statement's stage to a random loop of another one, or detaches it. */
static enum uk_status attach(struct uk_draft *d, uint64_t *random) {
    int k = uk_draft_pick_step(d, random, uk_step_attaches);

    if (k >= 0 && !uk_draw(random, 2)) {
        uk_draft_remove_step(d, k);
        return UK_OK;
    }
    const struct uk_stage *what = uk_draft_pick_stage(d, random, of_statement),
                          *to = uk_draft_pick_stage(d, random, of_statement);
    const struct uk_loop *l = what && to && to != what ? pick_loop(to, random) : NULL;
    if (!l || uk_draft_is_full(d))
        return UK_REFUSED;
    enum uk_step_kind kind = uk_draw(random, 2) ? UK_STEP_REVERSE_COMPUTE_AT : UK_STEP_COMPUTE_AT;
    struct uk_step *step = uk_draft_insert(d, before_tensorize(d, to), kind, to, &l->var->name, 1);
    if (!step)
        return UK_OUT_OF_MEMORY;
    step->subject = what->name;
    return UK_OK;
}

/* ---- kinds of loops ---- */

static bool is_parallel(const struct uk_step *step) {
    return step->kind == UK_STEP_PARALLEL;
}

static enum uk_status parallel(struct uk_draft *d, uint64_t *random) {
    int k = uk_draft_pick_step(d, random, is_parallel);
    const struct uk_stage *st = uk_draft_pick_stage(d, random, of_statement);
    const struct uk_loop *l = st ? pick_loop(st, random) : NULL;

    if (d->s->options->threads < 2 || uk_draft_is_full(d) || (k < 0 && !l))
        return UK_REFUSED;
    if (k >= 0)
        uk_draft_remove_step(d, k);
    if (!l || (k >= 0 && !uk_draw(random, 8)))
        return UK_OK;
    return uk_draft_insert(d, before_tensorize(d, st), UK_STEP_PARALLEL, st, &l->var->name, 1)
               ? UK_OK
               : UK_OUT_OF_MEMORY;
}

static bool is_hint(const struct uk_step *step) {
    return step->kind == UK_STEP_VECTORIZE || step->kind == UK_STEP_UNROLL;
}

static enum uk_status unroll(struct uk_draft *d, uint64_t *random) {
    int k = uk_draft_pick_step(d, random, is_hint);

    if (k >= 0 && !uk_draw(random, 3)) {
        uk_draft_remove_step(d, k);
        return UK_OK;
    }
    const struct uk_stage *st = uk_draft_pick_stage(d, random, of_plain_loops);
    const struct uk_loop *l = st ? pick_loop(st, random) : NULL;
    if (!l || uk_draft_is_full(d))
        return UK_REFUSED;
    /* refuses a loop that is unrolled or vectorized already */
    for (int i = 0; i < d->steps; i++)
        if (is_hint(d->step[i]) && uk_is_on_stage(d->step[i], st->name) &&
            uk_same_name(d->step[i]->loop[0].loop, l->var->name))
            return UK_REFUSED;
    enum uk_step_kind kind = uk_draw(random, 2) ? UK_STEP_UNROLL : UK_STEP_VECTORIZE;
    return uk_draft_insert(d, d->steps, kind, st, &l->var->name, 1) ? UK_OK : UK_OUT_OF_MEMORY;
}

/* Splits a loop of a stage that no kernel computes, and vectorizes the inner loop as the innermost one. */
static enum uk_status vectorize(struct uk_draft *d, uint64_t *random) {
    const struct uk_stage *st = uk_draft_pick_stage(d, random, of_plain_loops);
    const struct uk_loop *l = st ? pick_loop(st, random) : NULL;
    const char *loop[UK_MAX_LOOPS];
    struct uk_step *split;
    int n = 0;

    if (!l || uk_loop_values(d, st, l) < 4 || uk_draft_is_full(d))
        return UK_REFUSED;
    enum uk_status status = uk_draft_split(d, st, l, (int64_t)4 << uk_draw(random, 5), random, &split);
    if (status)
        return status;
    for (int i = st->prefix; i < st->loops; i++)
        loop[n++] = st->loop[i] == l ? split->name[0] : st->loop[i]->var->name;
    loop[n++] = split->name[1];
    if (!uk_draft_insert(d, uk_draft_after_splits(d, st), UK_STEP_REORDER, st, loop, n) ||
        !uk_draft_insert(d, d->steps, UK_STEP_VECTORIZE, st, &split->name[1], 1))
        return UK_OUT_OF_MEMORY;
    return UK_OK;
}

/* ---- kernels ---- */

static bool is_tensorize(const struct uk_step *step) {
    return step->kind == UK_STEP_TENSORIZE;
}

/* True if kernel k computes the same operation in a tile of the same size as `now`. */
static bool is_alike(const struct uk_draft *d, const struct uk_kernel *k, const struct uk_kernel *now) {
    return k != now && uk_target_takes(d->s->target, k) && uk_same_name(uk_kernel_op(k), uk_kernel_op(now)) &&
           uk_kernel_mr(k) == uk_kernel_mr(now) && uk_kernel_nr(k) == uk_kernel_nr(now);
}

static enum uk_status other_kernel(struct uk_draft *d, uint64_t *random) {
    int k = uk_draft_pick_step(d, random, is_tensorize), alike = 0;
    const struct uk_kernel *now = k < 0 ? NULL : uk_kernel_find(d->step[k]->subject);

    for (int i = 0; now && i < uk_kernel_count(); i++)
        alike += is_alike(d, uk_kernel_at(i), now);
    if (!alike)
        return UK_REFUSED;
    int i = 0;
    for (int left = (int)uk_draw(random, (uint64_t)alike);; i++)
        if (is_alike(d, uk_kernel_at(i), now) && !left--)
            break;
    struct uk_step *step = uk_draft_copy_step(d, k);
    if (!step)
        return UK_OUT_OF_MEMORY;
    step->subject = uk_kernel_symbol(uk_kernel_at(i));
    return UK_OK;
}

enum uk_status uk_change(struct uk_draft *d, uint64_t *random) {
    static enum uk_status (*const changes[])(struct uk_draft *, uint64_t *) = {
        uk_change_factor, uk_change_factor, uk_change_factor, uk_change_unsplit, uk_change_split, reorder,
        reorder,          replace,          attach,           parallel,          unroll,          vectorize,
        other_kernel,
    };

    return changes[uk_draw(random, sizeof changes / sizeof *changes)](d, random);
}
