/* SPDX-License-Identifier: Apache-2.0 */
/* unroll, vectorize and parallel: conditions for a loop to run in these kinds. */
#include "schedule.h"

/* Copies of a body that unrolling may make: for one loop, and with all unrolled loops around it. */
enum { MAX_UNROLLED = 64, MAX_COPIES = 1024 };
/* Longer loops gain nothing from a full version: partly filled vectors at the edge no longer matter. */
enum { MAX_FULL = 256 };

static const char *const done[] = {"serial",     "parallel",        "unrolled",
                                   "vectorized", "bound to blocks", "bound to threads"};

static enum uk_status check_unrolled(struct uk_schedule *s, const struct uk_stage *st, int position,
                                     struct uk_position at, const char *step) {
    const struct uk_loop *l = st->loop[position];
    int64_t n = uk_constant_extent(st, l), copies = 1;

    if (n < 0)
        return uk_fail(s->context, UK_REFUSED, at,
                       "%s %s: its extent is not a constant; split it by a factor and unroll the inner loop, "
                       "or --define the size",
                       step, l->var->name);
    if (n > MAX_UNROLLED)
        return uk_fail(s->context, UK_REFUSED, at,
                       "%s %s: it would make %lld copies of its body, and at most %d are made; split it and "
                       "unroll the inner loop",
                       step, l->var->name, (long long)n, MAX_UNROLLED);
    for (int i = 0; i < st->loops; i++)
        if (st->loop[i] == l || st->loop[i]->kind == UK_LOOP_UNROLLED)
            copies *= uk_constant_extent(st, st->loop[i]);
    if (copies > MAX_COPIES)
        return uk_fail(
            s->context, UK_REFUSED, at,
            "%s %s: the unrolled loops of stage %s would make %lld copies of its body, and at most "
            "%d are made; unroll fewer loops",
            step, l->var->name, st->name, (long long)copies, MAX_COPIES);
    return UK_OK;
}

/* Refuses if anything except the statement runs inside a vector loop. */
static enum uk_status check_innermost(struct uk_schedule *s, const struct uk_stage *st, int position,
                                      struct uk_position at, const char *step) {
    const struct uk_loop *l = st->loop[position];

    if (position < st->loops - 1)
        return uk_fail(s->context, UK_REFUSED, at,
                       "%s %s: loop %s runs inside it; reorder so that %s is the innermost loop of stage %s",
                       step, l->var->name, st->loop[st->loops - 1]->var->name, l->var->name, st->name);
    for (const struct uk_stage *c = s->stages; c; c = c->next)
        if (c->parent == st && c->prefix > position)
            return uk_fail(s->context, UK_REFUSED, at,
                           "%s %s: stage %s runs inside it; attach that to a loop further out", step,
                           l->var->name, c->name);
    return UK_OK;
}

/* Checks a vector loop. It may carry a reduction, which has no order, but it must not read what it writes
 * through another access. */
static enum uk_status check_vector(struct uk_schedule *s, struct uk_stage *st, int position,
                                   struct uk_position at, const char *step) {
    const struct uk_loop *l = st->loop[position];
    enum uk_type type = st->operand[0].tensor->type;
    enum uk_status status = check_innermost(s, st, position, at, step);

    if (status)
        return status;
    if (!uk_is_reduced(st, l))
        return uk_check_parallel(s, st, position, false, at, step);
    if (type == UK_F16 || type == UK_BF16)
        return uk_fail(s->context, UK_REFUSED, at,
                       "%s %s: it carries a reduction into %s, and %s is rounded after each operation; "
                       "vectorize a loop of an output axis, or reduce in f32",
                       step, l->var->name, st->operand[0].tensor->name, uk_type_name(type));
    return uk_check_parallel(s, st, position, true, at, step);
}

static enum uk_status check_kind(struct uk_schedule *s, struct uk_stage *st, int position,
                                 enum uk_loop_kind kind, struct uk_position at, const char *step) {
    switch (kind) {
    case UK_LOOP_UNROLLED:
        return check_unrolled(s, st, position, at, step);
    case UK_LOOP_VECTOR:
        return check_vector(s, st, position, at, step);
    case UK_LOOP_PARALLEL:
    case UK_LOOP_BLOCK:
    case UK_LOOP_THREAD:
        return uk_check_parallel(s, st, position, false, at, step);
    default:
        return UK_OK;
    }
}

enum uk_status uk_check_kinds(struct uk_schedule *s, struct uk_stage *st, struct uk_position at) {
    static const char *const step[] = {"",
                                       "reorder, then parallel",
                                       "reorder, then unroll",
                                       "reorder, then vectorize",
                                       "reorder, then bind",
                                       "reorder, then bind"};

    for (int i = st->prefix; i < st->loops; i++) {
        enum uk_loop_kind kind = st->loop[i]->kind;
        enum uk_status status = check_kind(s, st, i, kind, at, step[kind]);

        if (status)
            return status;
    }
    return UK_OK;
}

enum uk_status uk_check_vectors(struct uk_schedule *s, struct uk_stage *st) {
    const struct uk_loop *l = st->loops ? st->loop[st->loops - 1] : NULL;

    return l && l->stage == st && l->kind == UK_LOOP_VECTOR
               ? check_innermost(s, st, st->loops - 1, l->at, "vectorize")
               : UK_OK;
}

enum uk_status uk_check_plain(struct uk_schedule *s, const struct uk_loop *l, struct uk_position at,
                              const char *step) {
    if (l->kind == UK_LOOP_SERIAL || l->kind == UK_LOOP_PARALLEL)
        return UK_OK;
    return uk_fail(s->context, UK_REFUSED, at, "%s %s: the loop is %s already; put the step before that",
                   step, l->var->name, done[l->kind]);
}

static enum uk_status apply_kind(struct uk_schedule *s, const struct uk_step *step, enum uk_loop_kind kind) {
    const char *name = uk_steps[step->kind].word;

    for (int i = 0; i < step->loops; i++) {
        struct uk_stage *st;
        int position;
        struct uk_position at = step->loop[i].at;
        enum uk_status status = uk_find_loop(s, &step->loop[i], &st, &position);

        if (status)
            return status;
        struct uk_loop *l = st->loop[position];
        if (position >= st->tile)
            return uk_fail(s->context, UK_REFUSED, at,
                           "%s %s: the loop is inside a kernel; take one outside of it, or put the step "
                           "before tensorize",
                           name, l->var->name);
        if (l->kind != UK_LOOP_SERIAL && l->kind != kind)
            return uk_fail(s->context, UK_REFUSED, at,
                           "%s %s: the loop is %s already; split it and take one of the two loops", name,
                           l->var->name, done[l->kind]);
        if ((status = check_kind(s, st, position, kind, at, name)))
            return status;
        l->kind = kind;
        l->at = at;
    }
    return UK_OK;
}

enum uk_status uk_apply_parallel(struct uk_schedule *s, struct uk_step *step) {
    return apply_kind(s, step, UK_LOOP_PARALLEL);
}

enum uk_status uk_apply_unroll(struct uk_schedule *s, struct uk_step *step) {
    return apply_kind(s, step, UK_LOOP_UNROLLED);
}

enum uk_status uk_apply_vectorize(struct uk_schedule *s, struct uk_step *step) {
    return apply_kind(s, step, UK_LOOP_VECTOR);
}

/* The loop's constant extent, if it gets a version of its own for full tiles: an unrolled loop, a vector
 * loop, or the innermost loop of a stage that is no copy. At most 0 for other loops. */
static int64_t full_extent(const struct uk_loop *l) {
    const struct uk_stage *st = l->stage;
    int64_t n = uk_constant_extent(st, l);
    bool innermost = st->loop[st->loops - 1] == l && !st->is_copy;

    return (l->kind == UK_LOOP_UNROLLED || l->kind == UK_LOOP_VECTOR || innermost) && n <= MAX_FULL ? n : 0;
}

void uk_set_kind(struct uk_node *n, const struct uk_loop *l) {
    n->loop = l->kind;
    n->axis = l->axis;
    n->weight = l->weight;
    n->threads = l->threads;
    n->slots = l->slots;
    n->at = l->at;
    for (int a = 0; a < UK_AXES && l->block; a++)
        n->block[a] = l->block[a];
    n->full = full_extent(l);
    n->independent = l->kind == UK_LOOP_VECTOR && !uk_is_reduced(l->stage, l);
}
