/* SPDX-License-Identifier: Apache-2.0 */
/* Looks up the loops and stages that steps name, and checks that a step may change them. */
#include <string.h>
#include "schedule.h"

static enum uk_status no_loop(struct uk_schedule *s, const struct uk_loop_name *name,
                              const struct uk_stage *only) {
    struct uk_text t = {0};
    struct uk_closest_name near = {.word = name->loop};

    for (const struct uk_stage *st = s->stages; st; st = st->next)
        for (int i = st->prefix; i < st->loops && (!only || only == st); i++) {
            uk_consider_name(&near, st->loop[i]->var->name);
            uk_put(&t, "%s%s.%s", t.length ? ", " : "", st->name, st->loop[i]->var->name);
        }
    enum uk_status status =
        uk_fail(s->context, UK_REFUSED, name->at, "there is no loop %s%s%s%s%s; the loops are %s",
                name->stage ? name->stage : "", name->stage ? "." : "", name->loop,
                near.name ? "; did you mean " : "", near.name ? near.name : "", t.text ? t.text : "none");
    uk_text_free(t.text);
    return status;
}

const char *uk_closest_stage(const struct uk_schedule *s, const char *word) {
    struct uk_closest_name near = {.word = word};

    for (const struct uk_stage *st = s->stages; st; st = st->next)
        uk_consider_name(&near, st->name);
    return near.name;
}

static enum uk_status no_stage(struct uk_schedule *s, const struct uk_loop_name *name) {
    const char *near = uk_closest_stage(s, name->stage);

    return uk_fail(s->context, UK_REFUSED, name->at,
                   "there is no stage %s%s%s; name one of the statements or copies", name->stage,
                   near ? "; did you mean " : "", near ? near : "");
}

enum uk_status uk_find_loop(struct uk_schedule *s, const struct uk_loop_name *name, struct uk_stage **st,
                            int *position) {
    struct uk_stage *found = NULL;

    if (name->stage) {
        found = uk_stage_find(s, name->stage);
        if (!found)
            return no_stage(s, name);
        s->last = found;
        *position = uk_own_position(found, name->loop);
        *st = found;
        return *position < 0 ? no_loop(s, name, found) : UK_OK;
    }
    if (s->last && uk_own_position(s->last, name->loop) >= 0)
        found = s->last;
    for (struct uk_stage *o = found ? NULL : s->stages; o; o = o->next) {
        if (uk_own_position(o, name->loop) < 0)
            continue;
        if (found)
            return uk_fail(s->context, UK_REFUSED, name->at,
                           "loop %s is in the stages %s and %s; write %s.%s or %s.%s", name->loop,
                           found->name, o->name, found->name, name->loop, o->name, name->loop);
        found = o;
    }
    if (!found)
        return no_loop(s, name, NULL);
    *st = found;
    *position = uk_own_position(found, name->loop);
    return UK_OK;
}

enum uk_status uk_may_change(struct uk_schedule *s, const struct uk_stage *st, int position,
                             struct uk_position at, const char *step) {
    if (st->match)
        return uk_fail(s->context, UK_REFUSED, at,
                       "%s %s: stage %s is tensorized already; put the step before tensorize", step,
                       st->loop[position]->var->name, st->name);
    if (uk_is_prefix_of_copy(s, st, position))
        return uk_fail(s->context, UK_REFUSED, at,
                       "%s %s: a copy is attached inside this loop already; put the step before the pack",
                       step, st->loop[position]->var->name);
    return UK_OK;
}

enum uk_status uk_name_is_new(struct uk_schedule *s, const char *name, struct uk_position at) {
    for (const struct uk_stage *st = uk_is_name_known(s, name) ? s->stages : NULL; st; st = st->next) {
        if (!strcmp(st->name, name))
            return uk_fail(s->context, UK_REFUSED, at, "%s names a stage already; choose another name", name);
        if (uk_own_position(st, name) >= 0)
            return uk_fail(s->context, UK_REFUSED, at,
                           "there is a loop %s in stage %s already; choose another name", name, st->name);
    }
    return UK_OK;
}
