/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Changes of a schedule by one choice: a split's factor, a split more or less, the order of two loops, where
 * something is packed or computed, which loop is parallel, vector or unrolled, which kernel of one shape is called.
 * A change only rewrites steps and the names in the later ones; whoever applies them finds out whether it is legal.
 */
#include <string.h>
#include "space.h"

uint64_t uk_draw(uint64_t *random, uint64_t below) {
    uint64_t z = *random += 0x9e3779b97f4a7c15u;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    z ^= z >> 31;
    return below ? z % below : 0;
}

/* ---- steps ---- */

static bool same(const char *a, const char *b) {
    return a == b || (a && b && !strcmp(a, b));
}

static bool on_stage(const struct uk_step *step, const char *stage) {
    return step->loops && same(step->loop[0].stage, stage);
}

static bool splits(const struct uk_step *step) {
    return step->kind == UK_STEP_SPLIT || step->kind == UK_STEP_TILE || step->kind == UK_STEP_FUSE ||
           step->kind == UK_STEP_RFACTOR;
}

static bool copies(const struct uk_step *step) {
    return step->kind == UK_STEP_PACK || step->kind == UK_STEP_CACHE_READ ||
           step->kind == UK_STEP_CACHE_WRITE;
}

static bool attaches(const struct uk_step *step) {
    return step->kind == UK_STEP_COMPUTE_AT || step->kind == UK_STEP_REVERSE_COMPUTE_AT;
}

/* Step k as one that may be written to, with room for one more loop; NULL: no memory. */
static struct uk_step *own(struct uk_draft *d, int k) {
    const struct uk_step *old = d->step[k];
    struct uk_step *step = uk_alloc(d->s->arena, sizeof *step);
    struct uk_loop_name *loop = uk_alloc(d->s->arena, sizeof *loop * (size_t)(old->loops + 1));

    if (!step || !loop)
        return NULL;
    *step = *old;
    if (old->loops)
        memcpy(loop, old->loop, sizeof *loop * (size_t)old->loops);
    step->loop = loop;
    return d->step[k] = step;
}

static void remove_step(struct uk_draft *d, int k) {
    memmove(&d->step[k], &d->step[k + 1], sizeof d->step[0] * (size_t)(d->steps - k - 1));
    d->steps--;
}

static void remove_loop(struct uk_step *step, int i) {
    memmove(&step->loop[i], &step->loop[i + 1], sizeof step->loop[0] * (size_t)(step->loops - i - 1));
    step->loops--;
}

/* A new step on n loops of the stage before step k. */
static struct uk_step *insert_step(struct uk_draft *d, int k, enum uk_step_kind kind,
                                   const struct uk_stage *st, const char *const *loops, int n) {
    struct uk_step *step = uk_alloc(d->s->arena, sizeof *step);
    struct uk_loop_name *loop = uk_alloc(d->s->arena, sizeof *loop * (size_t)(n + 1));

    if (!step || !loop)
        return NULL;
    for (int i = 0; i < n; i++)
        loop[i] = (struct uk_loop_name){.stage = st->name, .loop = loops[i]};
    *step = (struct uk_step){.kind = kind, .loops = n, .loop = loop};
    memmove(&d->step[k + 1], &d->step[k], sizeof d->step[0] * (size_t)(d->steps - k));
    d->steps++;
    return d->step[k] = step;
}

static bool is_full(const struct uk_draft *d) {
    return d->steps + 3 > UK_MAX_STEPS;
}

typedef bool step_test(const struct uk_step *step);

/* One of the steps that the test holds for, or -1. */
static int pick_step(const struct uk_draft *d, uint64_t *random, step_test *test) {
    int count = 0, k = 0;

    for (int i = 0; i < d->steps; i++)
        count += test(d->step[i]);
    if (!count)
        return -1;
    for (int left = (int)uk_draw(random, (uint64_t)count);; k++)
        if (test(d->step[k]) && !left--)
            return k;
}

typedef bool stage_test(const struct uk_stage *st);

static bool any_stage(const struct uk_stage *st) {
    return !st->is_reset;
}

static bool of_statement(const struct uk_stage *st) {
    return !st->is_copy && !st->is_reset;
}

static bool of_plain_loops(const struct uk_stage *st) {
    return of_statement(st) && !st->match;
}

static struct uk_stage *pick_stage(const struct uk_draft *d, uint64_t *random, stage_test *test) {
    int count = 0;

    for (const struct uk_stage *st = d->s->stages; st; st = st->next)
        count += test(st) && st->loops > st->prefix;
    int left = count ? (int)uk_draw(random, (uint64_t)count) : 0;
    for (struct uk_stage *st = count ? d->s->stages : NULL; st; st = st->next)
        if (test(st) && st->loops > st->prefix && !left--)
            return st;
    return NULL;
}

/* One of the stage's own loops before its tile, or NULL. */
static const struct uk_loop *pick_loop(const struct uk_stage *st, uint64_t *random) {
    return st->tile > st->prefix
               ? st->loop[st->prefix + (int)uk_draw(random, (uint64_t)(st->tile - st->prefix))]
               : NULL;
}

static const struct uk_loop *loop_named(const struct uk_stage *st, const char *name) {
    for (int i = st->prefix; i < st->loops; i++)
        if (same(st->loop[i]->var->name, name))
            return st->loop[i];
    return NULL;
}

/* After the last step that makes loops of the stage, or the stage itself. */
static int after_splits(const struct uk_draft *d, const struct uk_stage *st) {
    int at = 0;

    for (int k = 0; k < d->steps; k++) {
        bool makes = copies(d->step[k]) && st->is_copy && st->parent &&
                     same(d->step[k]->subject, st->operand[1].tensor->name);

        if ((splits(d->step[k]) && on_stage(d->step[k], st->name)) || makes)
            at = k + 1;
    }
    return at;
}

static int before_tensorize(const struct uk_draft *d, const struct uk_stage *st) {
    for (int k = 0; k < d->steps; k++)
        if (d->step[k]->kind == UK_STEP_TENSORIZE && on_stage(d->step[k], st->name))
            return k;
    return d->steps;
}

/* ---- factors ---- */

static bool has_factor(const struct uk_step *step) {
    return (step->kind == UK_STEP_SPLIT && !step->parts) || step->kind == UK_STEP_TILE;
}

/* The iterator that the loop of step k comes from, through the splits before it. */
static const char *source(const struct uk_draft *d, int k, int which) {
    const char *stage = d->step[k]->loop[which].stage, *loop = d->step[k]->loop[which].loop;

    for (int j = k - 1; j >= 0; j--)
        for (int n = 0; splits(d->step[j]) && on_stage(d->step[j], stage) && n < d->step[j]->names; n++)
            if (same(d->step[j]->name[n], loop))
                loop = d->step[j]->loop[d->step[j]->kind == UK_STEP_TILE ? n % 2 : 0].loop;
    return loop;
}

/* What a factor should be a multiple of: the largest of the smaller factors along the same iterator. */
static int64_t granule(const struct uk_draft *d, int k, int which) {
    const char *from = source(d, k, which);
    int64_t largest = 1;

    for (int j = 0; j < d->steps; j++)
        for (int w = 0; has_factor(d->step[j]) && w < d->step[j]->loops; w++)
            if (on_stage(d->step[j], d->step[k]->loop[which].stage) && same(source(d, j, w), from) &&
                d->step[j]->number[w] < d->step[k]->number[which] && d->step[j]->number[w] > largest)
                largest = d->step[j]->number[w];
    return largest;
}

/* The factor that cuts the iterator into as many pieces, all of about one size. */
static int64_t balanced(const struct uk_draft *d, int k, int which, int64_t factor) {
    const struct uk_stage *st = uk_stage_find(d->s, d->step[k]->loop[which].stage);
    const char *from = source(d, k, which);

    for (int i = 0; st && i < st->statement->iterators; i++) {
        double extent = uk_size_told(d->s, st->statement->extent[i]);

        if (same(st->statement->iterator[i]->name, from) && extent > (double)factor && extent < 1e15) {
            int64_t n = (int64_t)extent, pieces = (n - 1) / factor + 1;

            return (n - 1) / pieces + 1;
        }
    }
    return factor;
}

static enum uk_status resize(struct uk_draft *d, uint64_t *random) {
    int k = pick_step(d, random, has_factor);

    if (k < 0)
        return UK_REFUSED;
    int which = d->step[k]->kind == UK_STEP_TILE ? (int)uk_draw(random, 2) : 0;
    int64_t old = d->step[k]->number[which], g = granule(d, k, which);
    int64_t far = balanced(d, k, which, old), fair = (far + g - 1) / g * g;
    const int64_t choice[] = {old * 2, old / 2, old + old / 2, old * 2 / 3, old + g,
                              old - g, old * 4, old / 4,       fair};
    int64_t new = choice[uk_draw(random, sizeof choice / sizeof *choice)];

    new = new < g ? g : (new + g / 2) / g *g;
    if (old > INT32_MAX || new == old)
        return UK_REFUSED;
    struct uk_step *step = own(d, k);
    if (!step)
        return UK_OUT_OF_MEMORY;
    step->number[which] = new;
    return UK_OK;
}

/* ---- splits less and more ---- */

static bool is_split(const struct uk_step *step) {
    return step->kind == UK_STEP_SPLIT;
}

/* The loop around `name` in the stage, or "root". */
static struct uk_loop_name around(const struct uk_stage *st, const char *name) {
    for (int i = st->prefix + 1; i < st->loops; i++)
        if (same(st->loop[i]->var->name, name))
            return (struct uk_loop_name){.stage = st->name, .loop = st->loop[i - 1]->var->name};
    return (struct uk_loop_name){.loop = "root"};
}

/* Loop i of step k was the outer one of a split that is gone. */
static bool forget_loop(struct uk_draft *d, int k, int i, struct uk_loop_name outside) {
    struct uk_step *step = d->step[k];

    if (step->kind == UK_STEP_REORDER || step->kind == UK_STEP_PARALLEL) {
        remove_loop(step, i);
        return true;
    }
    if (!copies(step) && !(attaches(step) && outside.stage))
        return false;
    step->loop[i] = outside;
    return true;
}

static enum uk_status unsplit(struct uk_draft *d, uint64_t *random) {
    int k = pick_step(d, random, is_split);

    if (k < 0)
        return UK_REFUSED;
    const struct uk_step *gone = d->step[k];
    const char *stage = gone->loop[0].stage;
    const struct uk_stage *st = uk_stage_find(d->s, stage);
    if (!st)
        return UK_REFUSED;
    struct uk_loop_name outside = around(st, gone->name[0]);
    remove_step(d, k);
    for (int j = d->steps - 1; j >= k; j--) {
        if (!own(d, j))
            return UK_OUT_OF_MEMORY;
        for (int i = d->step[j]->loops - 1; i >= 0; i--) {
            struct uk_loop_name *l = &d->step[j]->loop[i];

            if (!same(l->stage, stage))
                continue;
            if (same(l->loop, gone->name[1]))
                l->loop = gone->loop[0].loop;
            else if (same(l->loop, gone->name[0]) && !forget_loop(d, j, i, outside))
                return UK_REFUSED;
        }
        bool idle = (d->step[j]->kind == UK_STEP_REORDER && d->step[j]->loops < 2) ||
                    (d->step[j]->kind == UK_STEP_PARALLEL && !d->step[j]->loops);
        if (idle)
            remove_step(d, j);
    }
    return UK_OK;
}

/* How many values the loop has, as far as the sizes are told. */
static double values(const struct uk_draft *d, const struct uk_stage *st, const struct uk_loop *l) {
    int64_t n = uk_constant_extent(st, l), c = st->iterator[l->iterator].coefficient[l->id];
    double told = uk_size_told(d->s, st->statement->extent[l->iterator]) / (double)(c > 0 ? c : 1);

    return n >= 0 && (double)n < told ? (double)n : told;
}

/* Later steps mean the inner loop; where they are put in order, the outer one stands somewhere outside of it. */
static enum uk_status rename_after(struct uk_draft *d, int k, const char *loop, uint64_t *random) {
    const struct uk_step *split = d->step[k];

    for (int j = k + 1; j < d->steps; j++)
        for (int i = 0; i < d->step[j]->loops; i++) {
            if (!same(d->step[j]->loop[i].stage, split->loop[0].stage) ||
                !same(d->step[j]->loop[i].loop, loop))
                continue;
            struct uk_step *step = own(d, j);
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

static enum uk_status split_loop(struct uk_draft *d, const struct uk_stage *st, const struct uk_loop *l,
                                 int64_t factor, uint64_t *random, struct uk_step **out) {
    const char *loop = l->var->name, *base = st->statement->iterator[l->iterator]->name;
    int at = after_splits(d, st);

    if (is_full(d))
        return UK_REFUSED;
    struct uk_step *step = insert_step(d, at, UK_STEP_SPLIT, st, &loop, 1);
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

static enum uk_status split_more(struct uk_draft *d, uint64_t *random) {
    const struct uk_stage *st = pick_stage(d, random, any_stage);
    struct uk_step *step;

    if (!st)
        return UK_REFUSED;
    const struct uk_loop *l = st->loop[st->prefix + (int)uk_draw(random, (uint64_t)(st->loops - st->prefix))];
    double n = values(d, st, l);
    int64_t factor = (uk_draw(random, 3) ? 2 : 3) << uk_draw(random, 11);
    return (double)factor < n ? split_loop(d, st, l, factor, random, &step) : UK_REFUSED;
}

/* ---- order ---- */

/* All loops of the stage in their order, as a step that follows its splits. */
static struct uk_step *reorder_all(struct uk_draft *d, const struct uk_stage *st) {
    const char *loop[UK_MAX_LOOPS];
    int n = 0;

    for (int i = st->prefix; i < st->loops; i++)
        loop[n++] = st->loop[i]->var->name;
    return insert_step(d, after_splits(d, st), UK_STEP_REORDER, st, loop, n);
}

/* Leading loops of a reorder that are not in the stage's tile. */
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

    remove_loop(step, from);
    memmove(&step->loop[to + 1], &step->loop[to], sizeof l * (size_t)(step->loops - to));
    step->loop[to] = l;
    step->loops++;
}

static enum uk_status reorder(struct uk_draft *d, uint64_t *random) {
    const struct uk_stage *st = pick_stage(d, random, any_stage);
    struct uk_step *step = NULL;

    if (!st || is_full(d))
        return UK_REFUSED;
    for (int k = d->steps - 1; k >= 0 && !step; k--)
        if (d->step[k]->kind == UK_STEP_REORDER && on_stage(d->step[k], st->name) && !(step = own(d, k)))
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
    return (copies(step) || attaches(step)) && step->loops;
}

/* The stage whose loops a step's place is one of. */
static const struct uk_stage *place_stage(const struct uk_draft *d, const struct uk_step *step) {
    if (step->loop[0].stage)
        return uk_stage_find(d->s, step->loop[0].stage);
    for (const struct uk_stage *st = d->s->stages; st; st = st->next)
        if (st->is_copy && same(st->operand[1].tensor->name, step->subject))
            return st->parent;
    return NULL;
}

static enum uk_status replace(struct uk_draft *d, uint64_t *random) {
    int k = pick_step(d, random, has_place);
    const struct uk_stage *st = k < 0 ? NULL : place_stage(d, d->step[k]);

    if (!st)
        return UK_REFUSED;
    struct uk_loop_name place = {.loop = "root"};
    int at = (int)uk_draw(random, (uint64_t)(st->tile - st->prefix) + 1);
    if (at)
        place = (struct uk_loop_name){.stage = st->name, .loop = st->loop[st->prefix + at - 1]->var->name};
    if (same(place.loop, d->step[k]->loop[0].loop) || (attaches(d->step[k]) && !at))
        return UK_REFUSED;
    struct uk_step *step = own(d, k);
    if (!step)
        return UK_OUT_OF_MEMORY;
    step->loop[0] = place;
    return UK_OK;
}

/* One statement inside another's loops, or no longer. */
static enum uk_status attach(struct uk_draft *d, uint64_t *random) {
    int k = pick_step(d, random, attaches);

    if (k >= 0 && !uk_draw(random, 2)) {
        remove_step(d, k);
        return UK_OK;
    }
    const struct uk_stage *what = pick_stage(d, random, of_statement),
                          *to = pick_stage(d, random, of_statement);
    const struct uk_loop *l = what && to && to != what ? pick_loop(to, random) : NULL;
    if (!l || is_full(d))
        return UK_REFUSED;
    enum uk_step_kind kind = uk_draw(random, 2) ? UK_STEP_REVERSE_COMPUTE_AT : UK_STEP_COMPUTE_AT;
    struct uk_step *step = insert_step(d, before_tensorize(d, to), kind, to, &l->var->name, 1);
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
    int k = pick_step(d, random, is_parallel);
    const struct uk_stage *st = pick_stage(d, random, of_statement);
    const struct uk_loop *l = st ? pick_loop(st, random) : NULL;

    if (d->s->options->threads < 2 || is_full(d) || (k < 0 && !l))
        return UK_REFUSED;
    if (k >= 0)
        remove_step(d, k);
    if (!l || (k >= 0 && !uk_draw(random, 8)))
        return UK_OK;
    return insert_step(d, before_tensorize(d, st), UK_STEP_PARALLEL, st, &l->var->name, 1) ? UK_OK
                                                                                           : UK_OUT_OF_MEMORY;
}

static bool is_hint(const struct uk_step *step) {
    return step->kind == UK_STEP_VECTORIZE || step->kind == UK_STEP_UNROLL;
}

static enum uk_status unroll(struct uk_draft *d, uint64_t *random) {
    int k = pick_step(d, random, is_hint);

    if (k >= 0 && !uk_draw(random, 3)) {
        remove_step(d, k);
        return UK_OK;
    }
    const struct uk_stage *st = pick_stage(d, random, of_plain_loops);
    const struct uk_loop *l = st ? pick_loop(st, random) : NULL;
    if (!l || is_full(d))
        return UK_REFUSED;
    for (int i = 0; i < d->steps; i++)
        if (is_hint(d->step[i]) && on_stage(d->step[i], st->name) &&
            same(d->step[i]->loop[0].loop, l->var->name))
            return UK_REFUSED; /* it is one already */
    enum uk_step_kind kind = uk_draw(random, 2) ? UK_STEP_UNROLL : UK_STEP_VECTORIZE;
    return insert_step(d, d->steps, kind, st, &l->var->name, 1) ? UK_OK : UK_OUT_OF_MEMORY;
}

/* Pieces of a loop as the innermost one, as vectors: of a stage that no kernel computes. */
static enum uk_status vectorize(struct uk_draft *d, uint64_t *random) {
    const struct uk_stage *st = pick_stage(d, random, of_plain_loops);
    const struct uk_loop *l = st ? pick_loop(st, random) : NULL;
    const char *loop[UK_MAX_LOOPS];
    struct uk_step *split;
    int n = 0;

    if (!l || values(d, st, l) < 4 || is_full(d))
        return UK_REFUSED;
    enum uk_status status = split_loop(d, st, l, (int64_t)4 << uk_draw(random, 5), random, &split);
    if (status)
        return status;
    for (int i = st->prefix; i < st->loops; i++)
        loop[n++] = st->loop[i] == l ? split->name[0] : st->loop[i]->var->name;
    loop[n++] = split->name[1];
    if (!insert_step(d, after_splits(d, st), UK_STEP_REORDER, st, loop, n) ||
        !insert_step(d, d->steps, UK_STEP_VECTORIZE, st, &split->name[1], 1))
        return UK_OUT_OF_MEMORY;
    return UK_OK;
}

/* ---- kernels ---- */

static bool is_tensorize(const struct uk_step *step) {
    return step->kind == UK_STEP_TENSORIZE;
}

/* Another implementation of the same tile. */
static bool is_alike(const struct uk_draft *d, const struct uk_kernel *k, const struct uk_kernel *now) {
    return k != now && uk_target_takes(d->s->target, k) && same(k->op, now->op) && k->mr == now->mr &&
           k->nr == now->nr;
}

static enum uk_status other_kernel(struct uk_draft *d, uint64_t *random) {
    int k = pick_step(d, random, is_tensorize), count, alike = 0;
    const struct uk_kernel *rows = uk_kernels(&count),
                           *now = k < 0 ? NULL : uk_kernel_find(d->step[k]->subject);

    for (int i = 0; now && i < count; i++)
        alike += is_alike(d, &rows[i], now);
    if (!alike)
        return UK_REFUSED;
    int i = 0;
    for (int left = (int)uk_draw(random, (uint64_t)alike);; i++)
        if (is_alike(d, &rows[i], now) && !left--)
            break;
    struct uk_step *step = own(d, k);
    if (!step)
        return UK_OUT_OF_MEMORY;
    step->subject = rows[i].symbol;
    return UK_OK;
}

enum uk_status uk_change(struct uk_draft *d, uint64_t *random) {
    static enum uk_status (*const changes[])(struct uk_draft *, uint64_t *) = {
        resize,  resize, resize,   unsplit, split_more, reorder,      reorder,
        replace, attach, parallel, unroll,  vectorize,  other_kernel,
    };

    return changes[uk_draw(random, sizeof changes / sizeof *changes)](d, random);
}
