/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of a draft: found, drawn, added and removed. */
#include <string.h>
#include "space.h"

uint64_t uk_draw(uint64_t *random, uint64_t below) {
    uint64_t z = *random += 0x9e3779b97f4a7c15u;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    z ^= z >> 31;
    return below ? z % below : 0;
}

bool uk_same_name(const char *a, const char *b) {
    return a == b || (a && b && !strcmp(a, b));
}

bool uk_is_on_stage(const struct uk_step *step, const char *stage) {
    return step->loops && uk_same_name(step->loop[0].stage, stage);
}

bool uk_step_splits(const struct uk_step *step) {
    return uk_steps[step->kind].role == UK_STEP_ROLE_LOOPS;
}

bool uk_step_copies(const struct uk_step *step) {
    return uk_steps[step->kind].role == UK_STEP_ROLE_COPY;
}

bool uk_step_attaches(const struct uk_step *step) {
    return uk_steps[step->kind].role == UK_STEP_ROLE_ATTACH;
}

bool uk_step_lists_loops(const struct uk_step *step) {
    return uk_step_arguments(step->kind, UK_STEP_ARGUMENT_more_loops);
}

int uk_step_min_loops(const struct uk_step *step) {
    return uk_step_arguments(step->kind, UK_STEP_ARGUMENT_loop);
}

struct uk_step *uk_draft_copy_step(struct uk_draft *d, int k) {
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

void uk_draft_remove_step(struct uk_draft *d, int k) {
    memmove(&d->step[k], &d->step[k + 1], sizeof d->step[0] * (size_t)(d->steps - k - 1));
    d->steps--;
}

void uk_step_remove_loop(struct uk_step *step, int i) {
    memmove(&step->loop[i], &step->loop[i + 1], sizeof step->loop[0] * (size_t)(step->loops - i - 1));
    step->loops--;
}

struct uk_step *uk_draft_insert(struct uk_draft *d, int k, enum uk_step_kind kind, const struct uk_stage *st,
                                const char *const *loops, int n) {
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

bool uk_draft_is_full(const struct uk_draft *d) {
    return d->steps + 3 > AUTO_STEPS;
}

int uk_draft_pick_step(const struct uk_draft *d, uint64_t *random, uk_step_test *test) {
    int count = 0, k = 0;

    for (int i = 0; i < d->steps; i++)
        count += test(d->step[i]);
    if (!count)
        return -1;
    for (int left = (int)uk_draw(random, (uint64_t)count);; k++)
        if (test(d->step[k]) && !left--)
            return k;
}

bool uk_is_any_stage(const struct uk_stage *st) {
    return !st->is_reset;
}

struct uk_stage *uk_draft_pick_stage(const struct uk_draft *d, uint64_t *random, uk_stage_test *test) {
    int count = 0;

    for (const struct uk_stage *st = d->s->stages; st; st = st->next)
        count += test(st) && st->loops > st->prefix;
    int left = count ? (int)uk_draw(random, (uint64_t)count) : 0;
    for (struct uk_stage *st = count ? d->s->stages : NULL; st; st = st->next)
        if (test(st) && st->loops > st->prefix && !left--)
            return st;
    return NULL;
}

int uk_draft_after_splits(const struct uk_draft *d, const struct uk_stage *st) {
    int at = 0;

    for (int k = 0; k < d->steps; k++) {
        bool makes = uk_step_copies(d->step[k]) && st->is_copy && st->parent &&
                     uk_same_name(d->step[k]->subject, st->operand[1].tensor->name);

        if ((uk_step_splits(d->step[k]) && uk_is_on_stage(d->step[k], st->name)) || makes)
            at = k + 1;
    }
    return at;
}
