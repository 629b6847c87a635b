/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order of loops for sums over more than the kernel sums itself, as in a convolution: rows of A are windows
 * of the input, read where they are.
 *
 * A panel of B, kc x nr, is used by all rows of an image before the next one is read, as long as the tiles of C
 * that wait for the rest of their sum stay near; else the whole sum is finished tile by tile.
 */
#include "tiling.h"

enum {
    WAITING_SHARE = 8, /* tiles of C that wait may take this part of the second-level cache */
    WINDOW_K = 512,
};

static const struct uk_operand *operand_of_columns(const struct uk_stage *st, const struct uk_fit *f) {
    const struct uk_loop *columns = NULL;

    for (int v = 0; v < f->axes; v++)
        if (!uk_is_reduced(st, f->axis[v]) && f->most[v])
            columns = f->axis[v];
    for (int o = 1; columns && o < st->operands; o++)
        if (uk_depends(&st->operand[o], columns))
            return &st->operand[o];
    return NULL;
}

bool uk_is_window(const struct uk_stage *st, const struct uk_fit *f) {
    const struct uk_operand *b = operand_of_columns(st, f);
    int axes = 0;

    for (int v = 0; v < f->axes; v++)
        axes += !uk_is_reduced(st, f->axis[v]) && f->most[v];
    for (int i = 0; i < st->loops && b && axes == 2; i++)
        if (!uk_is_axis(f, st->loop[i]) && (uk_is_reduced(st, st->loop[i]) || !uk_depends(b, st->loop[i])))
            return true;
    return false;
}

struct window {
    struct uk_loop *outer[UK_MAX_LOOPS], *sums[UK_MAX_LOOPS], *inside[UK_MAX_LOOPS];
    int outers, sum_count, insides;
    bool tiles_wait; /* all tiles of the loops inside wait for the sums */
};

/* The loops of no axis: those that go inside of the sums, from the innermost on, while C stays near. */
static void sort_loops(const struct tiling *t, struct window *w) {
    const struct uk_stage *st = t->st;
    const struct uk_operand *b = operand_of_columns(st, t->fit);
    double bytes = (double)t->fit->most[t->columns] * (double)uk_type_bytes(st->operand[0].tensor->type) *
                   uk_extent_estimate(t->s, st, t->axis[t->rows]);
    double limit = (double)uk_l2_share(t->s) / WAITING_SHARE;
    int first = t->outside;

    w->tiles_wait = bytes <= limit;
    /* Transposed tiles wait in a buffer, which stays in the first-level cache if it holds one row of the image. */
    for (int i = t->outside - 1; i >= 0 && w->tiles_wait && !t->fit->transposed; i--) {
        const struct uk_loop *l = t->order[i];

        if (uk_is_prefix_of_copy(t->s, st, uk_loop_position(st, l)))
            break;
        if (uk_is_reduced(st, l))
            continue;
        bytes *= uk_extent_estimate(t->s, st, l);
        if (uk_depends(b, l) || bytes > limit)
            break;
        first = i;
    }
    bool any = false;
    for (int i = 0; i < t->outside; i++) {
        if (uk_is_reduced(st, t->order[i]))
            w->sums[w->sum_count++] = t->order[i];
        else if (i >= first)
            w->inside[w->insides++] = t->order[i];
        else
            w->outer[w->outers++] = t->order[i];
        any |= !uk_is_reduced(st, t->order[i]);
    }
    /* Nothing but rows of one tile line would use a panel before the next comes: no gain in waiting. */
    w->tiles_wait = w->tiles_wait && (w->insides || !any || t->fit->transposed);
}

static void put(struct tiling *t, struct uk_loop *const *loops, int n) {
    for (int i = 0; i < n; i++)
        if (loops[i])
            t->order[t->loops++] = loops[i];
}

/* Terms of the sum between two visits to a tile of C. A flat tile reads a panel of B so fast that it has to come from the
 * first-level cache, of which it may take two thirds. */
static int64_t block_of_sum(const struct tiling *t, int axis) {
    const struct uk_operand *b = operand_of_columns(t->st, t->fit);
    int64_t most = WINDOW_K;

    if (t->fit->most[axis])
        return t->fit->most[axis];
    if (b && uk_is_flat(t->s, t->st, t->fit)) {
        int64_t term = t->fit->most[t->columns] * (int64_t)uk_type_bytes(b->tensor->type);
        int64_t near = t->s->target->core.l1.size * 2 / 3 / term;

        most = near < 8 ? 8 : near < most ? near : most;
    }
    return uk_even_blocks((int64_t)uk_extent_estimate(t->s, t->st, t->axis[axis]), most);
}

enum uk_status uk_order_window(struct tiling *t) {
    struct window w = {0};
    struct uk_loop *columns = NULL, *rows = NULL, *blocks[2 * UK_MAX_DIMS] = {0};
    enum uk_status status = UK_OK;

    sort_loops(t, &w);
    t->loops = 0;
    for (int v = 0; v < t->fit->axes && !status; v++)
        if (uk_is_reduced(t->st, t->axis[v]))
            status = uk_split_by(t->s, t->st, &t->axis[v], block_of_sum(t, v), "c", &blocks[v]);
    if (status ||
        (status = uk_split_by(t->s, t->st, &t->axis[t->columns], t->fit->most[t->columns], "o", &columns)) ||
        (status = uk_split_by(t->s, t->st, &t->axis[t->rows], t->fit->most[t->rows], "o", &rows)))
        return status;
    if (t->fit->transposed) /* so that a panel of the weights serves all images */
        put(t, &columns, 1);
    put(t, w.outer, w.outers);
    if (!t->fit->transposed)
        put(t, &columns, 1);
    t->outside = t->blocks = t->loops;
    for (int pass = 0; pass < 2; pass++) {
        if (w.tiles_wait == (pass == 0)) {
            put(t, w.sums, w.sum_count);
            put(t, blocks, t->fit->axes);
        } else {
            put(t, w.inside, w.insides);
            put(t, &rows, 1);
        }
    }
    return UK_OK;
}
