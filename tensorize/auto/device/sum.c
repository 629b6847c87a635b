/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums over contiguous elements on GPUs. The threads of a row, a wave or a block, take its terms in turn, so
 * that adjacent threads read adjacent elements, and put their partial sums into shared memory. About the
 * square root of the number of threads add these up, and one thread adds their results. These are three
 * stages, made by two rfactor steps, in one GPU kernel.
 */
#include "device.h"
#include "auto/steps.h"

enum {
    /* terms of a row from which a block's threads share it, not only a wave's; */
    LONG_ROW = 4 * AUTO_BLOCK_THREADS,
    /* with at most this many rows per compute unit, AUTO_BLOCK_THREADS terms suffice */
    FEW_ROWS = 4
};

struct summing {
    struct uk_schedule *s;
    /* the loop whose iterations a row's threads share */
    struct uk_loop *terms;
    int64_t threads, adders;
    /* the partial sums of all threads; their sums by `adders` threads; the result, by one */
    struct uk_stage *partial, *combined, *result;
    /* the innermost loop of `result` around all work of the row's threads */
    struct uk_loop *place;
    /* the loop of `result` over the rows of a block */
    struct uk_loop *row;
};

static double footprint(const struct uk_schedule *s, const struct uk_stage *st, const struct uk_operand *o) {
    double n = 1;

    for (int i = 0; i < st->loops; i++)
        n *= uk_depends(o, st->loop[i]) ? uk_values_estimate(s, st, st->loop[i]) : 1;
    return n;
}

/* The loop of the sum along which the largest operand is contiguous; NULL: that operand is contiguous along
 * another loop, or the loop is short. */
static struct uk_loop *find_terms(const struct uk_schedule *s, const struct uk_stage *st) {
    const struct uk_operand *most = NULL;
    struct uk_loop *found = NULL;

    for (int o = 1; o < st->operands; o++)
        if (!most || footprint(s, st, &st->operand[o]) > footprint(s, st, most))
            most = &st->operand[o];
    for (int i = 0; i < st->loops && most; i++)
        if (uk_device_is_contiguous(most, st->loop[i]) && uk_is_reduced(st, st->loop[i]))
            found = st->loop[i];
    return found && uk_values_estimate(s, st, found) >= s->target->machine.core.device.lanes ? found : NULL;
}

static bool can_divide(const struct uk_stage *st) {
    bool can = st->statement->reduce != UK_REDUCE_NONE && !st->previous && !st->inside &&
               st->statement->left_iterators + 2 <= UK_MAX_DIMS && st->statement->left_iterators;

    for (int o = 1; o < st->operands; o++)
        can &= st->operand[o].tensor != st->operand[0].tensor;
    return can;
}

/* Splits the sum by rfactor along l. The new stage is named after the output, with the suffix; *rest is the
 * stage that adds its results. */
static enum uk_status factor(struct summing *w, struct uk_stage *st, struct uk_loop *l, const char *suffix,
                             struct uk_stage **rest) {
    enum uk_status status =
        uk_device_rfactor(w->s, st, l, uk_fresh_name(w->s, st->operand[0].tensor->name, suffix));

    *rest = st->next;
    return status;
}

static enum uk_status divide(struct summing *w) {
    struct uk_loop *inner = w->terms, *outer;
    enum uk_status status = uk_device_split(w->s, w->partial, &inner, w->threads, "o", "t", &outer);

    if (status || (status = factor(w, w->partial, inner, "_partial", &w->combined)))
        return status;
    inner = w->combined->loop[w->combined->loops - 1];
    if ((status = uk_device_split(w->s, w->combined, &inner, w->threads / w->adders, "o", "t", &outer)))
        return status;
    return factor(w, w->combined, outer, "_combined", &w->result);
}

/* ---- the last stage, by one thread per row ---- */

static enum uk_status bind_rows(struct summing *w) {
    struct uk_stage *st = w->result;
    struct uk_loop *order[UK_MAX_LOOPS], *most = NULL;
    int n = 0, blocks;

    for (int i = 0; i < st->loops; i++)
        if (uk_device_is_free(st, i) &&
            (!most || uk_values_estimate(w->s, st, st->loop[i]) > uk_values_estimate(w->s, st, most)))
            most = st->loop[i];
    w->row = most;
    enum uk_status status =
        uk_device_split(w->s, st, &w->row, AUTO_BLOCK_THREADS / w->threads, "b", "t", &order[n++]);
    for (int i = 0; i < st->loops; i++)
        if (uk_device_is_free(st, i) && st->loop[i] != order[0] && st->loop[i] != w->row)
            order[n++] = st->loop[i];
    blocks = n < UK_AXES ? n : UK_AXES;
    w->place = order[n - 1];
    order[n++] = w->row;
    for (int i = 0; i < st->loops; i++)
        if (!uk_device_is_free(st, i))
            order[n++] = st->loop[i];
    if (status || (status = uk_device_order(w->s, st, order, n)) ||
        (status = uk_device_bind_blocks(w->s, st, order, blocks)) ||
        (status = uk_device_bind(w->s, st, w->row, "thread", 1)))
        return status;
    return uk_device_keep_in_registers(w->s, st, w->row);
}

/* ---- the stages of partial sums, before it ---- */

/* Orders the loops of a stage that rfactor made: the loop over its partial sums outside of their terms. Sets
 * *part to it. */
static enum uk_status order_parts(struct summing *w, struct uk_stage *st, struct uk_loop **part) {
    struct uk_loop *order[UK_MAX_LOOPS];
    int n = 0;

    for (int reduced = 0; reduced < 2; reduced++)
        for (int i = 0; i < st->loops; i++)
            if (uk_is_reduced(st, st->loop[i]) == reduced)
                order[n++] = st->loop[i];
    for (int i = 0; i < st->loops; i++)
        if (st->loop[i]->iterator == st->statement->left_iterators - 1)
            *part = st->loop[i];
    return uk_device_order(w->s, st, order, n);
}

static enum uk_status attach(struct summing *w, struct uk_stage *st) {
    struct uk_loop *part = NULL, *row = NULL;
    enum uk_status status = order_parts(w, st, &part);
    struct uk_step *step = uk_step_on(w->s, UK_STEP_COMPUTE_AT, w->result, &w->place, 1);

    if (status || !step)
        return status ? status : uk_out_of_memory(w->s->context);
    step->subject = st->name;
    if ((status = uk_apply_one(w->s, step)))
        return status;
    for (int i = st->prefix; i < st->loops; i++) {
        if (st->loop[i]->iterator == w->row->iterator)
            row = st->loop[i];
        if (st->loop[i]->iterator == st->statement->left_iterators - 1 && !uk_is_reduced(st, st->loop[i]))
            part = st->loop[i];
    }
    status = row && uk_constant_extent(st, row) > 1 ? uk_device_bind(w->s, st, row, "thread", 1) : UK_OK;
    return status ? status : uk_device_bind(w->s, st, part, "thread", 0);
}

static int64_t threads_of(const struct summing *w) {
    const struct uk_device *d = &w->s->target->machine.core.device;
    const double terms = uk_values_estimate(w->s, w->partial, w->terms);
    double rows = 1;

    for (int i = 0; i < w->partial->loops; i++)
        rows *= uk_is_reduced(w->partial, w->partial->loop[i])
                    ? 1
                    : uk_values_estimate(w->s, w->partial, w->partial->loop[i]);
    return terms >= LONG_ROW || (terms >= AUTO_BLOCK_THREADS && rows <= (double)FEW_ROWS * d->units)
               ? AUTO_BLOCK_THREADS
               : d->lanes;
}

enum uk_status uk_device_rows(struct uk_schedule *s, struct uk_stage *st, bool *done) {
    struct summing w = {.s = s, .partial = st, .terms = can_divide(st) ? find_terms(s, st) : NULL};
    enum uk_status status;

    *done = false;
    if (!w.terms || uk_refusal(s, st->name, UK_DRAFT_SHARED_SUMS))
        return UK_OK;
    if ((status = uk_begin_draft(s, st, UK_DRAFT_SHARED_SUMS)))
        return status;
    w.threads = threads_of(&w);
    while (w.adders * w.adders < w.threads)
        w.adders = w.adders ? 2 * w.adders : 1;
    *done = true;
    const struct uk_draft_name *draft = st->draft;
    if ((status = divide(&w)))
        return status;
    w.result->draft = draft;
    if ((status = bind_rows(&w)) || (status = attach(&w, w.combined)))
        return status;
    return attach(&w, w.partial);
}
