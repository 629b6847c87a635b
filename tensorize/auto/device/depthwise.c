/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Depthwise convolutions on GPUs, and other sums over windows of an image in which each loop of the output
 * moves the image. A block copies its part of the image, with the pixels around it, to shared memory, and
 * the weights of its channels. Each thread has some rows of pixels in registers. Adjacent threads have
 * adjacent elements in memory: channels, or pixels of a row.
 */
#include "depthwise.h"
#include "auto/steps.h"

enum {
    /* terms of a sum, whose code is written out */
    MAX_TERMS = 64,
    /* pixels of a window along an axis, those between taps included, and planes of windows */
    MAX_WINDOW = 64 * 64,
};

/* ---- detection ---- */

/* The operand that a factor reads, possibly converted or padded; 0: the factor is another expression. */
static int factor(const struct uk_stage *st, const struct uk_expr *e) {
    while (e->op == UK_E_CAST || e->op == UK_E_PAD)
        e = e->arg[0];
    for (int o = 1; o < st->operands; o++)
        if (st->operand[o].expr == e)
            return o;
    return 0;
}

/* Adds the windows of dimension d of the image, if it has some, as the innermost axis. False: it is moved by
 * loops in another way than a convolution's. */
static bool add_axis(struct uk_depthwise *w, int d) {
    const struct uk_operand *x = &w->st->operand[w->image];
    const struct uk_affine *f = &x->index[d];
    struct uk_pixels here = {.window = 1, .extent = uk_size_estimate(w->s, x->tensor->shape[d])};
    double taps = 1;
    int64_t first = 0;
    int free = 0;

    if (f->general || (f->rest && !uk_index_is_int(f->rest, &first)))
        return false;
    here.before = -first;
    for (int i = 0; i < w->st->loops; i++) {
        struct uk_loop *l = w->st->loop[i];
        const int64_t step = f->coefficient[l->id], n = uk_constant_extent(w->st, l);

        if (!step)
            continue;
        if (!uk_is_reduced(w->st, l)) {
            free++;
            here.loop = l;
            here.stride = step;
            continue;
        }
        if (step < 0 || n < 1 || n > MAX_TERMS || step > MAX_WINDOW)
            return false;
        here.window += step * (n - 1);
        taps *= (double)n;
    }
    if (free > 1 || (!free && taps > 1))
        return false;
    if (taps == 1)
        return true;
    if (here.stride < 1 || here.stride > MAX_TERMS || uk_depends(&w->st->operand[w->weights], here.loop))
        return false;
    here.values = uk_values_estimate(w->s, w->st, here.loop);
    if (here.window > MAX_WINDOW || w->axis[UK_PIXEL_ROWS].window > MAX_WINDOW / w->planes)
        return false;
    w->planes *= w->axis[UK_PIXEL_ROWS].window;
    w->axis[UK_PIXEL_ROWS] = w->axis[UK_PIXEL_COLUMNS];
    w->taps[UK_PIXEL_ROWS] = w->taps[UK_PIXEL_COLUMNS];
    w->axis[UK_PIXEL_COLUMNS] = here;
    w->taps[UK_PIXEL_COLUMNS] = taps;
    w->terms *= taps;
    return w->terms <= MAX_TERMS;
}

/* Finds the loop along which adjacent elements of the output and of the image are adjacent: that of the
 * channels. False: neither channels nor a row's pixels are adjacent. */
static bool find_channels(struct uk_depthwise *w) {
    const struct uk_stage *st = w->st;

    for (int i = 0; i < st->loops; i++) {
        if (!uk_device_is_free(st, i) || !uk_device_is_contiguous(&st->operand[0], st->loop[i]))
            continue;
        if (st->loop[i] == w->axis[UK_PIXEL_COLUMNS].loop)
            return true;
        if (!uk_device_is_contiguous(&st->operand[w->image], st->loop[i]))
            return false;
        w->channels = st->loop[i];
        w->channel_values = uk_values_estimate(w->s, st, w->channels);
        return w->channel_values >= UK_CHANNEL_VECTOR;
    }
    return false;
}

static bool is_depthwise(struct uk_depthwise *w) {
    const struct uk_stage *st = w->st;
    const struct uk_statement *t = st->statement;
    const struct uk_expr *e = t->right;

    if (t->reduce != UK_REDUCE_SUM || st->previous || st->is_filtered || t->where || st->parent ||
        st->inside || e->op != UK_E_MUL || st->operands != 3)
        return false;
    const int a = factor(st, e->arg[0]), b = factor(st, e->arg[1]);
    if (!a || !b || a == b)
        return false;
    w->image = st->operand[a].pad != UK_PAD_NONE ? a : b;
    for (int i = 0; i < st->loops && st->operand[a].pad == st->operand[b].pad; i++)
        if (uk_device_is_free(st, i) && !uk_depends(&st->operand[b], st->loop[i]))
            w->image = a;
    w->weights = a + b - w->image;
    for (int i = 0; i < st->loops; i++)
        if (!uk_depends(&st->operand[w->image], st->loop[i]))
            return false;
    w->terms = w->channel_values = w->others = 1;
    w->planes = 1;
    w->taps[UK_PIXEL_ROWS] = w->taps[UK_PIXEL_COLUMNS] = 1;
    w->axis[UK_PIXEL_ROWS] = w->axis[UK_PIXEL_COLUMNS] =
        (struct uk_pixels){.stride = 1, .window = 1, .values = 1, .extent = 1};
    for (int d = 0; d < st->operand[w->image].tensor->dims; d++)
        if (!add_axis(w, d))
            return false;
    if (!w->axis[UK_PIXEL_COLUMNS].loop || !find_channels(w))
        return false;
    for (int i = 0; i < st->loops; i++)
        if (uk_device_is_free(st, i) && st->loop[i] != w->channels &&
            st->loop[i] != w->axis[UK_PIXEL_ROWS].loop && st->loop[i] != w->axis[UK_PIXEL_COLUMNS].loop)
            w->others *= uk_values_estimate(w->s, st, st->loop[i]);
    return true;
}

/* ---- the steps ---- */

/* The loops of the schedule; `inner` is a thread's. */
struct nest {
    struct uk_loop *blocks[UK_MAX_LOOPS], *threads[UK_AXES], *inner[2];
    int axes, levels, parts;
};

/* Splits a tiled loop into blocks, and these into threads that have `each` values. */
static enum uk_status split(struct uk_depthwise *w, struct nest *n, struct uk_loop *l, int values, int each) {
    struct uk_loop *inner = l;
    enum uk_status status = uk_device_split(w->s, w->st, &inner, values, "b", "p", &n->blocks[n->axes++]);

    n->threads[n->levels] = inner;
    if (!status && each > 1) {
        status = uk_device_split(w->s, w->st, &inner, each, "t", "i", &n->threads[n->levels]);
        n->inner[n->parts++] = inner;
    }
    n->levels++;
    return status;
}

/* Orders and binds the loops: blocks, threads, the sum, a thread's rows and channels. Then a thread reads
 * each weight for all its rows at once, which needs fewer registers than all weights for a row. */
static enum uk_status order(struct uk_depthwise *w, const struct uk_depthwise_tile *t, struct nest *n) {
    const struct uk_loop *rows = w->axis[UK_PIXEL_ROWS].loop;
    struct uk_loop *columns = w->axis[UK_PIXEL_COLUMNS].loop, *order[UK_MAX_LOOPS];
    struct uk_stage *st = w->st;
    enum uk_status status = UK_OK;
    int all = 0;

    for (int i = 0; i < st->loops; i++)
        if (uk_device_is_free(st, i) && st->loop[i] != rows && st->loop[i] != columns &&
            st->loop[i] != w->channels)
            n->blocks[n->axes++] = st->loop[i];
    if (rows)
        status = split(w, n, w->axis[UK_PIXEL_ROWS].loop, t->rows, t->of_thread);
    if (status || (status = split(w, n, columns, t->columns, 1)) ||
        (w->channels && (status = split(w, n, w->channels, t->channels, t->vector))))
        return status;
    for (int i = 0; i < n->axes; i++)
        order[all++] = n->blocks[i];
    for (int i = 0; i < n->levels; i++)
        order[all++] = n->threads[i];
    for (int i = 0; i < st->loops; i++)
        if (uk_is_reduced(st, st->loop[i]))
            order[all++] = st->loop[i];
    for (int i = 0; i < n->parts; i++)
        order[all++] = n->inner[i];
    if ((status = uk_device_order(w->s, st, order, all)) ||
        (status = uk_device_bind_blocks(w->s, st, n->blocks, n->axes)))
        return status;
    for (int i = 0; i < n->levels && !status; i++)
        status = uk_device_bind(w->s, st, n->threads[i], "thread", n->levels - 1 - i);
    return status;
}

static enum uk_status copy_to_shared(struct uk_depthwise *w, int o, struct uk_loop *place) {
    return uk_apply_one(w->s, uk_device_copy(w->s, w->st, place, o, UK_SCOPE_SHARED, "_shared"));
}

enum uk_status uk_device_depthwise(struct uk_schedule *s, struct uk_stage *st, bool *done) {
    struct uk_depthwise w = {.s = s, .st = st};
    struct uk_depthwise_tile t;
    struct nest n = {0};
    enum uk_status status;

    *done = !uk_refusal(s, st->name, UK_DRAFT_DEPTHWISE) && is_depthwise(&w);
    if (!*done || (status = uk_depthwise_choose(&w, &t, done)) || !*done)
        return *done ? status : UK_OK;
    if ((status = uk_begin_draft(s, st, UK_DRAFT_DEPTHWISE)) || (status = order(&w, &t, &n)))
        return status;
    struct uk_loop *place = n.threads[n.levels - 1], *block = n.blocks[n.axes - 1];
    if ((status = uk_device_attach_reader(s, st, place)) ||
        (status = uk_device_keep_in_registers(s, st, place)) ||
        (status = copy_to_shared(&w, w.weights, block)))
        return status;
    return copy_to_shared(&w, w.image, block);
}
