/* SPDX-License-Identifier: Apache-2.0 */
/* Random changes of a schedule's splits, for tuning: another factor, one split less, one more. */
#include <string.h>
#include "space.h"

/* ---- factors ---- */

static bool has_factor(const struct uk_step *step) {
    return uk_step_arguments(step->kind, UK_STEP_ARGUMENT_factor) ||
           (uk_step_arguments(step->kind, UK_STEP_ARGUMENT_factor_or_parts) && !step->parts);
}

/* The iterator that a loop of step k descends from, traced back through earlier splits. */
static const char *source(const struct uk_draft *d, int k, int which) {
    const char *stage = d->step[k]->loop[which].stage, *loop = d->step[k]->loop[which].loop;

    for (int j = k - 1; j >= 0; j--)
        for (int n = 0;
             uk_step_splits(d->step[j]) && uk_is_on_stage(d->step[j], stage) && n < d->step[j]->names; n++)
            if (uk_same_name(d->step[j]->name[n], loop))
                loop = d->step[j]->loop[n % d->step[j]->loops].loop;
    return loop;
}

/* The granule of a factor: the largest smaller factor along the same iterator, of which it should be a
 * multiple. */
static int64_t granule(const struct uk_draft *d, int k, int which) {
    const char *from = source(d, k, which);
    int64_t largest = 1;

    for (int j = 0; j < d->steps; j++)
        for (int w = 0; has_factor(d->step[j]) && w < d->step[j]->loops; w++)
            if (uk_is_on_stage(d->step[j], d->step[k]->loop[which].stage) &&
                uk_same_name(source(d, j, w), from) && d->step[j]->number[w] < d->step[k]->number[which] &&
                d->step[j]->number[w] > largest)
                largest = d->step[j]->number[w];
    return largest;
}

/* The factor that gives as many parts as `factor`, but of about equal size. */
static int64_t balanced(const struct uk_draft *d, int k, int which, int64_t factor) {
    const struct uk_stage *st = uk_stage_find(d->s, d->step[k]->loop[which].stage);
    const char *from = source(d, k, which);

    for (int i = 0; st && i < st->statement->iterators; i++) {
        double extent = uk_size_estimate(d->s, st->statement->extent[i]);

        if (uk_same_name(st->statement->iterator[i]->name, from) && extent > (double)factor &&
            extent < (double)INT64_MAX) {
            int64_t n = (int64_t)extent, parts = (n - 1) / factor + 1;

            return (n - 1) / parts + 1;
        }
    }
    return factor;
}

enum uk_status uk_change_factor(struct uk_draft *d, uint64_t *random) {
    int k = uk_draft_pick_step(d, random, has_factor);

    if (k < 0)
        return UK_REFUSED;
    int which = d->step[k]->loops > 1 ? (int)uk_draw(random, (uint64_t)d->step[k]->loops) : 0;
    int64_t old = d->step[k]->number[which], g = granule(d, k, which);
    int64_t far = balanced(d, k, which, old), fair = (far + g - 1) / g * g;
    const int64_t choice[] = {old * 2, old / 2, old + old / 2, old * 2 / 3, old + g,
                              old - g, old * 4, old / 4,       fair};
    int64_t new = choice[uk_draw(random, sizeof choice / sizeof *choice)];

    new = new < g ? g : (new + g / 2) / g *g;
    if (old > INT32_MAX || new == old)
        return UK_REFUSED;
    struct uk_step *step = uk_draft_copy_step(d, k);
    if (!step)
        return UK_OUT_OF_MEMORY;
    step->number[which] = new;
    return UK_OK;
}

/* ---- one split less or more ---- */

static bool is_split(const struct uk_step *step) {
    return step->kind == UK_STEP_SPLIT;
}

/* The loop around `name` in the stage, or "root". */
static struct uk_loop_name surrounding_loop(const struct uk_stage *st, const char *name) {
    for (int i = st->prefix + 1; i < st->loops; i++)
        if (uk_same_name(st->loop[i]->var->name, name))
            return (struct uk_loop_name){.stage = st->name, .loop = st->loop[i - 1]->var->name};
    return (struct uk_loop_name){.loop = "root"};
}

/* Removes loop i of step k, the outer one of a removed split: from a list of loops, or by moving the place
 * outside. False: the step needs it. */
static bool forget_loop(struct uk_draft *d, int k, int i, struct uk_loop_name outside) {
    struct uk_step *step = d->step[k];

    if (uk_step_lists_loops(step)) {
        uk_step_remove_loop(step, i);
        return true;
    }
    if (!uk_step_copies(step) && !(uk_step_attaches(step) && outside.stage))
        return false;
    step->loop[i] = outside;
    return true;
}

enum uk_status uk_change_unsplit(struct uk_draft *d, uint64_t *random) {
    int k = uk_draft_pick_step(d, random, is_split);

    if (k < 0)
        return UK_REFUSED;
    const struct uk_step *gone = d->step[k];
    const char *stage = gone->loop[0].stage;
    const struct uk_stage *st = uk_stage_find(d->s, stage);
    if (!st)
        return UK_REFUSED;
    struct uk_loop_name outside = surrounding_loop(st, gone->name[0]);
    uk_draft_remove_step(d, k);
    for (int j = d->steps - 1; j >= k; j--) {
        if (!uk_draft_copy_step(d, j))
            return UK_OUT_OF_MEMORY;
        for (int i = d->step[j]->loops - 1; i >= 0; i--) {
            struct uk_loop_name *l = &d->step[j]->loop[i];

            if (!uk_same_name(l->stage, stage))
                continue;
            if (uk_same_name(l->loop, gone->name[1]))
                l->loop = gone->loop[0].loop;
            else if (uk_same_name(l->loop, gone->name[0]) && !forget_loop(d, j, i, outside))
                return UK_REFUSED;
        }
        if (uk_step_lists_loops(d->step[j]) && d->step[j]->loops < uk_step_min_loops(d->step[j]))
            uk_draft_remove_step(d, j);
    }
    return UK_OK;
}

double uk_loop_values(const struct uk_draft *d, const struct uk_stage *st, const struct uk_loop *l) {
    int64_t n = uk_constant_extent(st, l), c = st->iterator[l->iterator].coefficient[l->id];
    double estimate = uk_size_estimate(d->s, st->statement->extent[l->iterator]) / (double)(c > 0 ? c : 1);

    return n >= 0 && (double)n < estimate ? (double)n : estimate;
}

/* Renames the split loop in later steps to the inner loop; a reorder also gets the outer one, at a random
 * position outside it. */
static enum uk_status rename_after(struct uk_draft *d, int k, const char *loop, uint64_t *random) {
    const struct uk_step *split = d->step[k];

    for (int j = k + 1; j < d->steps; j++)
        for (int i = 0; i < d->step[j]->loops; i++) {
            if (!uk_same_name(d->step[j]->loop[i].stage, split->loop[0].stage) ||
                !uk_same_name(d->step[j]->loop[i].loop, loop))
                continue;
            struct uk_step *step = uk_draft_copy_step(d, j);
            if (!step)
                return UK_OUT_OF_MEMORY;
            struct uk_loop_name *l = step->loop, outer = l[i];
            l[i].loop = split->name[1];
            if (step->kind != UK_STEP_REORDER)
                continue;
            int at = (int)uk_draw(random, (uint64_t)i + 1);
            outer.loop = split->name[0];
            memmove(&l[at + 1], &l[at], sizeof *l * (size_t)(step->loops - at));
            l[at] = outer;
            step->loops++;
            i++;
        }
    return UK_OK;
}

enum uk_status uk_draft_split(struct uk_draft *d, const struct uk_stage *st, const struct uk_loop *l,
                              int64_t factor, uint64_t *random, struct uk_step **out) {
    const char *loop = l->var->name, *base = st->statement->iterator[l->iterator]->name;
    int at = uk_draft_after_splits(d, st);

    if (uk_draft_is_full(d))
        return UK_REFUSED;
    struct uk_step *step = uk_draft_insert(d, at, UK_STEP_SPLIT, st, &loop, 1);
    const char **name = uk_alloc(d->s->arena, 2 * sizeof *name);
    if (!step || !name || !(name[0] = uk_fresh_name(d->s, base, "s")) ||
        !(name[1] = uk_fresh_name(d->s, base, "t")))
        return UK_OUT_OF_MEMORY;
    step->number[0] = factor;
    step->names = 2;
    step->name = name;
    *out = step;
    return rename_after(d, at, loop, random);
}

enum uk_status uk_change_split(struct uk_draft *d, uint64_t *random) {
    const struct uk_stage *st = uk_draft_pick_stage(d, random, uk_is_any_stage);
    struct uk_step *step;

    if (!st)
        return UK_REFUSED;
    const struct uk_loop *l = st->loop[st->prefix + (int)uk_draw(random, (uint64_t)(st->loops - st->prefix))];
    double n = uk_loop_values(d, st, l);
    int64_t factor = (uk_draw(random, 3) ? 2 : 3) << uk_draw(random, 11);
    return (double)factor < n ? uk_draft_split(d, st, l, factor, random, &step) : UK_REFUSED;
}
