/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Schedules a program for a GPU if it has no steps, or only steps for CPUs. Elementwise stages are inlined
 * into their only reader. Each other statement becomes a GPU kernel: products in tiles (product.c), or with
 * few rows (few_rows.c), sums over windows in tiles of pixels (depthwise.c), sums over contiguous elements by
 * several threads each (sum.c), others with a thread per element, or per few adjacent elements, a vector in
 * memory.
 */
#include "device.h"
#include "auto/stage.h"
#include "auto/steps.h"

enum {
    VECTOR_BYTES = 16,
    MOST_ELEMENTS = 4,
    /* blocks of a compute unit, from which the last ones leave few of the units idle */
    ROUNDS = 4,
    /* elements that a thread loads before it adds them: all of a sum, or a step of one of unknown length */
    MOST_LOADED = 32,
    STEP_LOADED = 8,
};

struct spreading {
    struct uk_schedule *s;
    struct uk_stage *st;
    /* x, y: the threads' loops; y, vector: may be NULL */
    struct uk_loop *blocks[UK_MAX_LOOPS], *x, *y, *vector;
    int axes;
    /* one thread per element, without fused rows or vectors */
    bool plain;
};

/* ---- elementwise: contiguous rows become one ---- */

static enum uk_status fuse_rows(struct uk_schedule *s, struct uk_stage *st) {
    for (int i = st->loops - 2; i >= 0; i--) {
        struct uk_loop *loop[] = {st->loop[i], st->loop[i + 1]};
        struct uk_step *step;

        if (!uk_fuse_is_view(s, st, i))
            continue;
        if (!(step = uk_step_on(s, UK_STEP_FUSE, st, loop, 2)) ||
            !(step->name = uk_alloc(s->arena, sizeof *step->name)))
            return uk_out_of_memory(s->context);
        step->names = 1;
        step->name[0] = uk_fresh_name(s, loop[0]->var->name, loop[1]->var->name);
        enum uk_status status = step->name[0] ? uk_apply_one(s, step) : uk_out_of_memory(s->context);
        if (status)
            return status;
    }
    return UK_OK;
}

/* ---- loops of threads and of blocks ---- */

/* The loop along which threads are adjacent: one that is contiguous in the output, else in an operand, else
 * the innermost. */
static struct uk_loop *lane_loop(const struct uk_stage *st) {
    struct uk_loop *last = NULL;

    for (int o = 0; o < st->operands; o++)
        for (int i = 0; i < st->loops; i++)
            if (uk_device_is_free(st, i) && uk_device_is_contiguous(&st->operand[o], st->loop[i]))
                return st->loop[i];
    for (int i = 0; i < st->loops; i++)
        last = uk_device_is_free(st, i) ? st->loop[i] : last;
    return last;
}

/* The innermost free loop besides `lane`. */
static struct uk_loop *next_loop(const struct uk_stage *st, const struct uk_loop *lane) {
    struct uk_loop *last = NULL;

    for (int i = 0; i < st->loops; i++)
        last = uk_device_is_free(st, i) && st->loop[i] != lane ? st->loop[i] : last;
    return last;
}

/* The number of adjacent elements along the loop that a thread computes: a vector of at most 16 bytes, if
 * every operand is accessed by vectors too, or at one element for all. */
static int64_t vector_of(const struct uk_stage *st, const struct uk_loop *l) {
    const int64_t bytes = (int64_t)uk_type_bytes(st->operand[0].tensor->type);

    if (st->statement->reduce != UK_REDUCE_NONE || st->previous ||
        !uk_device_is_contiguous(&st->operand[0], l))
        return 1;
    for (int o = 1; o < st->operands; o++)
        if (st->operand[o].pad != UK_PAD_NONE ||
            (uk_depends(&st->operand[o], l) && !uk_device_is_contiguous(&st->operand[o], l)))
            return 1;
    return bytes * MOST_ELEMENTS > VECTOR_BYTES ? VECTOR_BYTES / bytes : MOST_ELEMENTS;
}

/* Threads per block: one wave if sums are too few to occupy all compute units evenly with larger blocks. */
static int64_t threads_of(const struct uk_schedule *s, const struct uk_stage *st) {
    const struct uk_device *d = &s->target->machine.core.device;
    double elements = 1;

    for (int i = 0; i < st->loops; i++)
        elements *= uk_device_is_free(st, i) ? uk_values_estimate(s, st, st->loop[i]) : 1;
    return st->statement->reduce != UK_REDUCE_NONE &&
                   elements < (double)ROUNDS * d->units * AUTO_BLOCK_THREADS
               ? d->lanes
               : AUTO_BLOCK_THREADS;
}

/* ---- the steps ---- */

static enum uk_status split(struct spreading *w) {
    struct uk_loop *own[] = {lane_loop(w->st), NULL};
    const int64_t width = w->plain ? 1 : vector_of(w->st, own[0]);
    enum uk_status status = UK_OK;

    own[1] = next_loop(w->st, own[0]);
    for (int i = 0; i < w->st->loops; i++)
        if (uk_device_is_free(w->st, i) && w->st->loop[i] != own[0] && w->st->loop[i] != own[1])
            w->blocks[w->axes++] = w->st->loop[i];
    int64_t x = threads_of(w->s, w->st), all = x;
    const int64_t wanted = uk_power_of_two_above(uk_values_estimate(w->s, w->st, own[0]) / (double)width);
    x = own[1] && wanted < x ? wanted : x;
    w->x = own[0];
    if (own[1] && x < all)
        status = uk_device_split(w->s, w->st, &own[1], all / x, "b", "t", &w->blocks[w->axes]);
    else if (own[1])
        w->blocks[w->axes] = own[1];
    w->y = x < all ? own[1] : NULL;
    w->axes += own[1] != NULL;
    if (!status)
        status =
            uk_device_split(w->s, w->st, &w->x, x * width, "b", width > 1 ? "p" : "t", &w->blocks[w->axes++]);
    if (status || width == 1)
        return status;
    w->vector = w->x;
    return uk_device_split(w->s, w->st, &w->vector, width, "t", "i", &w->x);
}

/* Orders the loops: blocks, threads, the sum. */
static enum uk_status order(const struct spreading *w) {
    struct uk_loop *order[UK_MAX_LOOPS];
    const struct uk_stage *st = w->st;
    int n = 0;

    for (int i = 0; i < w->axes; i++)
        order[n++] = w->blocks[i];
    if (w->y)
        order[n++] = w->y;
    order[n++] = w->x;
    for (int i = 0; i < st->loops; i++)
        if (!uk_device_is_free(st, i))
            order[n++] = st->loop[i];
    if (w->vector)
        order[n++] = w->vector;
    return uk_device_order(w->s, w->st, order, n);
}

/* The loop of a sum of elements of a temp, such as the parts of a product's sum, if these are few or of
 * unknown number. Else NULL. */
static struct uk_loop *loop_of_parts(const struct uk_stage *st) {
    const struct uk_statement *t = st->statement;
    struct uk_loop *found = NULL;
    int reduced = 0;

    for (int i = 0; i < st->loops; i++)
        if (uk_is_reduced(st, st->loop[i]) && ++reduced)
            found = st->loop[i];
    return t->reduce == UK_REDUCE_SUM && t->right->op == UK_E_ACCESS && st->operands == 2 &&
                   !st->is_filtered && st->operand[1].tensor->kind == UK_TENSOR_TEMP && reduced == 1 &&
                   uk_constant_extent(st, found) <= MOST_LOADED
               ? found
               : NULL;
}

/* Loads the elements that a thread adds, or those of a step, together: one wait for memory, not one for each.
 */
static enum uk_status load_parts(struct uk_schedule *s, struct uk_stage *st, struct uk_loop *thread) {
    struct uk_loop *place = thread, *parts = loop_of_parts(st);
    enum uk_status status = UK_OK;
    bool done;

    if (!parts)
        return UK_OK;
    if (uk_constant_extent(st, parts) < 0)
        status = uk_device_split(s, st, &parts, STEP_LOADED, "s", "i", &place);
    if (status)
        return status;
    return uk_try_step(s, uk_device_copy(s, st, place, 1, UK_SCOPE_REGISTER, "_loaded"), &done);
}

enum uk_status uk_device_spread(struct uk_schedule *s, struct uk_stage *st) {
    const bool plain =
        uk_is_as_written(s, st->name) || uk_refusal(s, st->name, UK_DRAFT_SPREAD) || uk_is_empty(st);
    struct spreading w = {.s = s, .st = st, .plain = plain};
    const bool reduces = st->statement->reduce != UK_REDUCE_NONE;
    enum uk_status status = uk_begin_draft(s, st, plain ? UK_DRAFT_AS_WRITTEN : UK_DRAFT_SPREAD);

    if (!status && !plain && !reduces && !st->previous)
        status = fuse_rows(s, st);
    if (status || !lane_loop(st))
        return status;
    if ((status = split(&w)) || (status = order(&w)) ||
        (status = uk_device_bind_blocks(s, st, w.blocks, w.axes)) ||
        (w.y && (status = uk_device_bind(s, st, w.y, "thread", 1))) ||
        (status = uk_device_bind(s, st, w.x, "thread", 0)) || (!plain && (status = load_parts(s, st, w.x))))
        return status;
    if (w.vector)
        return uk_apply_one(s, uk_step_on(s, UK_STEP_VECTORIZE, st, &w.vector, 1));
    if (!reduces || st->previous || plain || (status = uk_device_attach_reader(s, st, w.x)))
        return status;
    return uk_device_keep_in_registers(s, st, w.x);
}

/* ---- the program ---- */

static bool is_scheduled(const struct uk_stage *st) {
    for (int i = 0; i < st->loops; i++)
        if (uk_is_bound(st->loop[i]))
            return true;
    return st->parent || st->match || uk_has_no_output(st);
}

/* The last draft: no loop is bound, so each statement is a GPU kernel of one thread. */
static enum uk_status leave_unbound(struct uk_schedule *s) {
    enum uk_status status = UK_OK;

    for (struct uk_stage *st = s->stages; st && !status; st = st->next) {
        const char *why = st->plain_loops_reason = uk_reason_as_written(s, st->name);

        status = uk_note(s->context, st->statement->at, "stage %s runs on one thread: %s", st->name,
                         why ? why : "another stage's schedule was refused");
    }
    return status;
}

enum uk_status uk_auto_device(struct uk_schedule *s) {
    s->is_automatic = true;
    if (s->as_written)
        return leave_unbound(s);
    enum uk_status status = uk_inline_stages(s);

    for (struct uk_stage *st = s->stages; st && !status; st = st->next) {
        bool done = is_scheduled(st), plain = uk_is_as_written(s, st->name) || uk_is_empty(st);

        s->at = st;
        if (!done && !plain)
            status = uk_device_product(s, st, &done);
        if (!done && !plain && !status)
            status = uk_device_few_rows(s, st, &done);
        if (!done && !plain && !status)
            status = uk_device_depthwise(s, st, &done);
        if (!done && !plain && !status)
            status = uk_device_rows(s, st, &done);
        if (!done && !status)
            status = uk_device_spread(s, st);
    }
    return status;
}
