/* SPDX-License-Identifier: Apache-2.0 */
/* Stages and the primitives that change their loops: each checks, then changes. */
#include <string.h>
#include "nearest.h"
#include "schedule.h"

/* ---- looking up ---- */

int uk_loop_position(const struct uk_stage *st, const struct uk_loop *l) {
    for (int i = 0; i < st->loops; i++)
        if (st->loop[i] == l)
            return i;
    return -1;
}

bool uk_is_reduced(const struct uk_stage *st, const struct uk_loop *l) {
    return l->stage == st && st->reduced[l->iterator];
}

static int position_of(const struct uk_stage *st, const char *name) {
    for (int i = st->prefix; i < st->loops; i++)
        if (!strcmp(st->loop[i]->var->name, name))
            return i;
    return -1;
}

static enum uk_status no_loop(struct uk_schedule *s, const struct uk_loop_name *name,
                              const struct uk_stage *only) {
    struct uk_text t = {0};
    struct uk_near near = {.word = name->loop};

    for (const struct uk_stage *st = s->stages; st; st = st->next)
        for (int i = st->prefix; i < st->loops && (!only || only == st); i++) {
            uk_nearer(&near, st->loop[i]->var->name);
            uk_put(&t, "%s%s.%s", t.length ? ", " : "", st->name, st->loop[i]->var->name);
        }
    enum uk_status status =
        uk_fail(s->context, UK_REFUSED, name->at, "there is no loop %s%s%s%s%s; the loops are %s",
                name->stage ? name->stage : "", name->stage ? "." : "", name->loop,
                near.name ? "; did you mean " : "", near.name ? near.name : "", t.text ? t.text : "none");
    uk_text_free(t.text);
    return status;
}

const char *uk_near_stage(const struct uk_schedule *s, const char *word) {
    struct uk_near near = {.word = word};

    for (const struct uk_stage *st = s->stages; st; st = st->next)
        uk_nearer(&near, st->name);
    return near.name;
}

static enum uk_status no_stage(struct uk_schedule *s, const struct uk_loop_name *name) {
    const char *near = uk_near_stage(s, name->stage);

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
        *position = position_of(found, name->loop);
        *st = found;
        return *position < 0 ? no_loop(s, name, found) : UK_OK;
    }
    if (s->last && position_of(s->last, name->loop) >= 0)
        found = s->last;
    for (struct uk_stage *o = found ? NULL : s->stages; o; o = o->next) {
        if (position_of(o, name->loop) < 0)
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
    *position = position_of(found, name->loop);
    return UK_OK;
}

bool uk_is_prefix_of_copy(const struct uk_schedule *s, const struct uk_stage *st, int position) {
    for (const struct uk_stage *c = st->attached ? s->stages : NULL; c; c = c->next)
        if (c->parent == st && position < c->prefix)
            return true;
    return false;
}

/* ---- bounds and extents ---- */

enum uk_status uk_add_bound(struct uk_schedule *s, struct uk_stage *st, const struct uk_affine *f,
                            struct uk_index *upper) {
    if (st->bounds == UK_MAX_BOUNDS)
        return uk_fail(s->context, UK_REFUSED, st->statement->at,
                       "stage %s has more than %d loop bounds; split less", st->name, UK_MAX_BOUNDS);
    struct uk_bound *b = &st->bound[st->bounds++];
    *b = (struct uk_bound){.form = *f};
    b->upper = f->rest ? uk_index_op(s->arena, UK_I_SUB, upper, f->rest) : upper;
    b->form.rest = NULL;
    return b->upper ? UK_OK : uk_out_of_memory(s->context);
}

/* ceil(e / a) */
static struct uk_index *ceil_div(struct uk_arena *arena, struct uk_index *e, int64_t a) {
    if (a == 1)
        return e;
    e = uk_index_op(arena, UK_I_ADD, e, uk_index_int(arena, a - 1));
    return uk_index_op(arena, UK_I_DIV, e, uk_index_int(arena, a));
}

/* Does a loop other than l, without a value, lower the form? */
static bool is_left_to_inner(const struct uk_stage *st, const struct uk_bound *b, const struct uk_loop *l,
                             struct uk_index *const *value) {
    for (int i = 0; i < st->loops && b->is_guard; i++)
        if (st->loop[i] != l && b->form.coefficient[st->loop[i]->id] < 0 && !value[st->loop[i]->id])
            return true;
    return false;
}

bool uk_starts_late(const struct uk_stage *st, const struct uk_loop *l) {
    for (int i = 0; i < st->bounds; i++)
        if (st->bound[i].form.coefficient[l->id] < 0)
            return true;
    return false;
}

struct uk_index *uk_first(struct uk_schedule *s, const struct uk_stage *st, const struct uk_loop *l,
                          struct uk_index *const *value) {
    struct uk_index *first = uk_index_int(s->arena, 0);

    for (int i = 0; i < st->bounds; i++) {
        const struct uk_bound *b = &st->bound[i];
        int64_t a = -b->form.coefficient[l->id];

        if (a <= 0 || is_left_to_inner(st, b, l, value))
            continue;
        /* others - a*l < upper: l > (others - upper) / a */
        struct uk_index *others = uk_affine_value(s, st, &b->form, value);
        struct uk_index *e = uk_index_op(s->arena, UK_I_SUB, others, b->upper);

        e = uk_index_op(s->arena, UK_I_DIV, e, uk_index_int(s->arena, a));
        e = uk_index_op(s->arena, UK_I_ADD, e, uk_index_int(s->arena, 1));
        first = uk_index_op(s->arena, UK_I_MAX, first, e);
    }
    return first;
}

struct uk_index *uk_extent_within(struct uk_schedule *s, const struct uk_stage *st, const struct uk_bound *b,
                                  int bounds, const struct uk_loop *l, struct uk_index *const *value) {
    struct uk_index *least = NULL;

    for (int i = 0; i < bounds; i++) {
        int64_t a = b[i].form.coefficient[l->id];

        if (a <= 0 || is_left_to_inner(st, &b[i], l, value))
            continue;
        struct uk_index *others = uk_affine_value(s, st, &b[i].form, value);
        struct uk_index *e = ceil_div(s->arena, uk_index_op(s->arena, UK_I_SUB, b[i].upper, others), a);

        if (!e)
            return NULL;
        least = least ? uk_index_op(s->arena, UK_I_MIN, least, e) : e;
    }
    return least;
}

struct uk_index *uk_extent(struct uk_schedule *s, const struct uk_stage *st, const struct uk_loop *l,
                           struct uk_index *const *value) {
    return uk_extent_within(s, st, st->bound, st->bounds, l, value);
}

int64_t uk_constant_extent(const struct uk_stage *st, const struct uk_loop *l) {
    int64_t least = -1, n;

    for (int i = 0; i < st->bounds; i++) {
        int64_t a = st->bound[i].form.coefficient[l->id];

        for (int j = 0; j < st->loops; j++) /* where another loop lowers the form, it says nothing */
            a = st->bound[i].form.coefficient[st->loop[j]->id] < 0 ? 0 : a;
        if (a <= 0 || !uk_index_is_int(st->bound[i].upper, &n))
            continue;
        n = n <= 0 ? 0 : (n - 1) / a + 1;
        if (least < 0 || n < least)
            least = n;
    }
    return least;
}

bool uk_is_empty(const struct uk_stage *st) {
    int64_t c;

    for (int i = 0; i < st->iterators; i++)
        if (uk_index_is_int(st->statement->extent[i], &c) && c <= 0)
            return true;
    return false;
}

/* ---- split, tile, reorder ---- */

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
    for (const struct uk_stage *st = uk_name_is_known(s, name) ? s->stages : NULL; st; st = st->next) {
        if (!strcmp(st->name, name))
            return uk_fail(s->context, UK_REFUSED, at, "%s names a stage already; choose another name", name);
        if (position_of(st, name) >= 0)
            return uk_fail(s->context, UK_REFUSED, at,
                           "there is a loop %s in stage %s already; choose another name", name, st->name);
    }
    return UK_OK;
}

/* In bounds on l alone that are a multiple of the factor: l < q * factor becomes outer < q. */
static bool split_bound(struct uk_schedule *s, struct uk_bound *b, const struct uk_loop *l, int64_t factor,
                        const struct uk_loop *outer, const struct uk_loop *inner) {
    int64_t n, a = b->form.coefficient[l->id];

    if (!a)
        return true;
    if (!uk_affine_split(s, &b->form, l, factor, outer, inner))
        return false;
    if (a < 0 || !uk_index_is_int(b->upper, &n) || n % (a * factor))
        return true;
    for (int i = 0; i < UK_MAX_LOOPS; i++)
        if (b->form.coefficient[i] && i != outer->id && i != inner->id)
            return true;
    memset(&b->form, 0, sizeof b->form);
    b->form.coefficient[outer->id] = 1;
    b->upper = uk_index_int(s->arena, n / (a * factor));
    return b->upper;
}

enum uk_status uk_split_loop(struct uk_schedule *s, struct uk_stage *st, int position, int64_t factor,
                             const char *outer_name, const char *inner_name, struct uk_position at) {
    struct uk_loop *l = st->loop[position];
    struct uk_affine f = {0};
    enum uk_status status = uk_may_change(s, st, position, at, "split");

    if (status || (status = uk_check_plain(s, l, at, "split")) ||
        (status = uk_name_is_new(s, outer_name, at)) || (status = uk_name_is_new(s, inner_name, at)))
        return status;
    if (factor < 1)
        return uk_fail(s->context, UK_REFUSED, at, "split %s: the factor is %lld; it must be at least 1",
                       l->var->name, (long long)factor);
    if (!strcmp(outer_name, inner_name))
        return uk_fail(s->context, UK_REFUSED, at, "split %s: both loops are called %s", l->var->name,
                       outer_name);
    if (!uk_loop_divide(s, st, position, outer_name, inner_name))
        return uk_failure(s->context);
    struct uk_loop *outer = st->loop[position], *inner = st->loop[position + 1];
    outer->kind = l->kind;
    outer->at = l->at;
    st->tile = st->loops;
    for (int i = 0; i < st->bounds; i++)
        if (!split_bound(s, &st->bound[i], l, factor, outer, inner))
            return uk_out_of_memory(s->context);
    f.coefficient[inner->id] = 1;
    if ((status = uk_add_bound(s, st, &f, uk_index_int(s->arena, factor))))
        return status;
    for (int i = 0; i < st->iterators; i++)
        if (!uk_affine_split(s, &st->iterator[i], l, factor, outer, inner))
            return uk_out_of_memory(s->context);
    for (int o = 0; o < st->operands; o++) {
        for (int d = 0; d < st->operand[o].tensor->stored_dims; d++)
            if (!uk_affine_split(s, &st->operand[o].index[d], l, factor, outer, inner))
                return uk_out_of_memory(s->context);
        for (int i = 0; i < st->operand[o].valid; i++)
            if (!split_bound(s, &st->operand[o].within[i], l, factor, outer, inner))
                return uk_out_of_memory(s->context);
    }
    return UK_OK;
}

static enum uk_status split(struct uk_schedule *s, const struct uk_step *step) {
    struct uk_stage *st;
    int position;
    int64_t factor = step->number[0];
    enum uk_status status = uk_find_loop(s, &step->loop[0], &st, &position);

    if (status)
        return status;
    if (step->parts) {
        int64_t n = uk_constant_extent(st, st->loop[position]);

        if (n < 0)
            return uk_fail(
                s->context, UK_REFUSED, step->at,
                "split %s parts: its extent is not a constant; split by a factor, or --define the size",
                step->loop[0].loop);
        if (factor < 1)
            return uk_fail(s->context, UK_REFUSED, step->at, "split %s parts %lld: at least 1 part",
                           step->loop[0].loop, (long long)factor);
        factor = n <= factor ? 1 : (n - 1) / factor + 1;
    }
    return uk_split_loop(s, st, position, factor, step->name[0], step->name[1], step->at);
}

static enum uk_status reorder_loops(struct uk_schedule *s, struct uk_stage *st, struct uk_loop **want, int n,
                                    struct uk_position at) {
    struct uk_loop *old[UK_MAX_LOOPS];
    int k = 0;

    memcpy(old, st->loop, sizeof old);
    for (int i = 0; i < st->loops; i++)
        for (int j = 0; j < n; j++)
            if (old[i] == want[j]) {
                st->loop[i] = want[k++];
                break;
            }
    for (int i = 0; i < st->loops; i++)
        if (st->loop[i] != old[i]) {
            enum uk_status status = uk_may_change(s, st, i, at, "reorder");

            if (!status)
                status = uk_check_order(s, st, at, "reorder");
            if (!status)
                status = uk_check_kinds(s, st, at);
            if (status)
                memcpy(st->loop, old, sizeof old);
            return status;
        }
    return UK_OK;
}

static enum uk_status reorder(struct uk_schedule *s, const struct uk_step *step) {
    struct uk_stage *st = NULL, *first = NULL;
    struct uk_loop *want[UK_MAX_LOOPS];

    for (int i = 0; i < step->loops; i++) {
        struct uk_loop_name name = step->loop[i];
        int position;

        if (first && !name.stage)
            name.stage = first->name;
        enum uk_status status = uk_find_loop(s, &name, &st, &position);

        if (status)
            return status;
        if (first && st != first)
            return uk_fail(
                s->context, UK_REFUSED, name.at,
                "reorder: %s is a loop of stage %s, the others are of %s; reorder one stage at a time",
                name.loop, st->name, first->name);
        first = st;
        for (int j = 0; j < i; j++)
            if (want[j] == st->loop[position])
                return uk_fail(s->context, UK_REFUSED, name.at,
                               "reorder names loop %s twice; name each loop once", name.loop);
        want[i] = st->loop[position];
    }
    return reorder_loops(s, first, want, step->loops, step->at);
}

/* tile x y a b -> xo yo xi yi: both splits, and xo yo xi yi where x and y stood. */
static enum uk_status tile(struct uk_schedule *s, const struct uk_step *step) {
    struct uk_stage *x, *y;
    int px, py;
    enum uk_status status;

    if ((status = uk_find_loop(s, &step->loop[0], &x, &px)) ||
        (status = uk_find_loop(s, &step->loop[1], &y, &py)))
        return status;
    if (x != y || px == py)
        return uk_fail(s->context, UK_REFUSED, step->at,
                       "tile: %s and %s must be two loops of one stage; name both with that stage",
                       step->loop[0].loop, step->loop[1].loop);
    struct uk_loop *ly = y->loop[py];
    if ((status = uk_split_loop(s, x, px, step->number[0], step->name[0], step->name[2], step->at)))
        return status;
    py = uk_loop_position(x, ly);
    if ((status = uk_split_loop(s, x, py, step->number[1], step->name[1], step->name[3], step->at)))
        return status;
    struct uk_loop *want[4];
    for (int i = 0; i < 4; i++)
        want[i] = x->loop[position_of(x, step->name[i])];
    return reorder_loops(s, x, want, 4, step->at);
}

/* ---- steps ---- */

static enum uk_status tensorize(struct uk_schedule *s, const struct uk_step *step) {
    struct uk_stage *st;
    int position;
    enum uk_status status = uk_find_loop(s, &step->loop[0], &st, &position);

    if (status)
        return status;
    if (st->match)
        return uk_fail(s->context, UK_REFUSED, step->at,
                       "tensorize %s: stage %s is tensorized already; tensorize a stage once",
                       step->loop[0].loop, st->name);
    return uk_apply_tensorize(s, st, position, step->subject, step->at);
}

static enum uk_status apply(struct uk_schedule *s, struct uk_step *step) {
    switch (step->kind) {
    case UK_STEP_SPLIT:
        return split(s, step);
    case UK_STEP_TILE:
        return tile(s, step);
    case UK_STEP_REORDER:
        return reorder(s, step);
    case UK_STEP_PARALLEL:
        return uk_apply_kind(s, step, UK_LOOP_PARALLEL);
    case UK_STEP_UNROLL:
        return uk_apply_kind(s, step, UK_LOOP_UNROLLED);
    case UK_STEP_VECTORIZE:
        return uk_apply_kind(s, step, UK_LOOP_VECTOR);
    case UK_STEP_PACK:
    case UK_STEP_CACHE_READ:
        return uk_apply_pack(s, step);
    case UK_STEP_FUSE:
        return uk_apply_fuse(s, step);
    case UK_STEP_COMPUTE_INLINE:
        return uk_apply_inline(s, step);
    case UK_STEP_RFACTOR:
        return uk_apply_rfactor(s, step);
    case UK_STEP_CACHE_WRITE:
        return uk_apply_cache_write(s, step);
    case UK_STEP_COMPUTE_AT:
    case UK_STEP_REVERSE_COMPUTE_AT:
        return uk_apply_attach(s, step);
    case UK_STEP_TENSORIZE:
        return tensorize(s, step);
    case UK_STEP_IMPORT:
        return UK_OK; /* the linker takes imports from the program, wherever they stand */
    case UK_STEP_BIND:
        break;
    }
    return uk_fail(s->context, UK_UNSUPPORTED, step->at,
                   "bind %s: the target %s has no blocks and threads, only GPUs have; make the loop parallel",
                   step->loop[0].loop, s->target->name);
}

enum uk_status uk_apply_steps(struct uk_schedule *s, struct uk_step *steps) {
    for (struct uk_step *step = steps; step; step = step->next) {
        struct uk_step *copy = uk_alloc(s->arena, sizeof *copy);
        enum uk_status status = apply(s, step);

        if (status)
            return status;
        if (!copy)
            return uk_out_of_memory(s->context);
        for (int i = 0; i < step->names; i++)
            if ((status = uk_name_add(s, step->name[i])))
                return status;
        *copy = *step;
        copy->next = NULL;
        *s->applied_end = copy;
        s->applied_end = &copy->next;
    }
    return UK_OK;
}
