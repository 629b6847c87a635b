/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Orders the loops of sums of which the kernel computes only some loops, as in a convolution: rows of A are
 * windows of the input, read in place.
 *
 * Either a panel of B, kc x nr, is used by all rows of an image before the next one is read, while the tiles
 * of C, whose sums are incomplete, stay in a cache; or the whole sum is completed tile by tile. The order
 * with the least cost by the cache lines that it moves is taken.
 */
#include <float.h>
#include "steps.h"
#include "copies.h"
#include "tiling.h"

/* Number of candidates for kc besides all terms: GEMM_KC (also used if the number of terms is unknown) and
 * its halves, quarters, .. */
enum { LENGTHS = 5 };

static const struct uk_operand *operand_of_columns(const struct uk_stage *st, const struct uk_fit *f) {
    const struct uk_loop *columns = NULL;

    for (int v = 0; v < f->axes; v++)
        if (!uk_is_reduced(st, f->axis[v]) && f->max_extent[v])
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
        axes += !uk_is_reduced(st, f->axis[v]) && f->max_extent[v];
    for (int i = 0; i < st->loops && b && axes == 2; i++)
        if (!uk_is_axis(f, st->loop[i]) && (uk_is_reduced(st, st->loop[i]) || !uk_depends(b, st->loop[i])))
            return true;
    return false;
}

/* Order of the loops that are not axes of the kernel: outer loops of the output, loops of the sum, inner
 * loops of the output. */
struct window {
    struct uk_loop *outer[UK_MAX_LOOPS], *sums[UK_MAX_LOOPS], *inside[UK_MAX_LOOPS];
    int outers, sum_count, insides;
    /* tiles of all loops in `inside` have incomplete sums at once */
    bool tiles_wait;
    int64_t kc; /* terms between two visits to a tile; 0: all */
};

/* Lists the loops that are no axes of the kernel. */
static int loops_outside(const struct uk_stage *st, const struct uk_fit *f, struct uk_loop **loop) {
    int n = 0;

    for (int i = 0; i < st->loops; i++)
        if (!uk_is_axis(f, st->loop[i]))
            loop[n++] = st->loop[i];
    return n;
}

/* The first loop that may be inside the sums. Not those that copies are made in, nor those that select
 * another panel of B. Transposed tiles wait in a buffer, which should fit in the first-level cache if it
 * holds one row of the image. */
static int first_inside(const struct uk_costing *c, struct uk_loop *const *loop, int count) {
    const struct uk_operand *b = operand_of_columns(c->st, c->fit);
    int first = count;

    for (int i = count - 1; i >= 0 && !c->fit->transposed; i--) {
        if (uk_is_prefix_of_copy(c->s, c->st, uk_loop_position(c->st, loop[i])))
            break;
        if (uk_is_reduced(c->st, loop[i]))
            continue;
        if (uk_depends(b, loop[i]))
            break;
        first = i;
    }
    return first;
}

static void sort_loops(const struct uk_stage *st, struct uk_loop *const *loop, int count, int first,
                       struct window *w) {
    w->outers = w->sum_count = w->insides = 0;
    for (int i = 0; i < count; i++)
        if (uk_is_reduced(st, loop[i]))
            w->sums[w->sum_count++] = loop[i];
        else if (i >= first)
            w->inside[w->insides++] = loop[i];
        else
            w->outer[w->outers++] = loop[i];
}

static int64_t block_of(const struct window *w, const struct uk_costing *c, int axis) {
    const struct uk_fit *f = c->fit;
    const int64_t all = (int64_t)uk_extent_estimate(c->s, c->st, f->axis[axis]);
    const bool is_known = uk_constant_extent(c->st, f->axis[axis]) >= 0;

    return f->max_extent[axis] ? f->max_extent[axis]
                               : uk_even_block_length(all, w->kc      ? w->kc
                                                           : is_known ? all
                                                                      : GEMM_KC);
}

static void add_level(const struct uk_costing *c, struct uk_levels *l, const struct uk_loop *loop,
                      int64_t step) {
    const int64_t all = (int64_t)uk_values_estimate(c->s, c->st, loop);

    if (step < all)
        l->level[l->levels++] = (struct uk_nest_level){loop, (all - 1) / step + 1, step};
}

static void add_all(const struct uk_costing *c, struct uk_levels *l, struct uk_loop *const *loop, int n) {
    for (int i = 0; i < n; i++)
        add_level(c, l, loop[i], 1);
}

/* True if the loop over panels of columns is outside all others: a panel of weights then serves all images.
 * Only for columns that are channels of transposed tiles. */
static bool are_columns_outermost(const struct uk_stage *st, const struct uk_fit *f,
                                  const struct uk_loop *columns) {
    return f->transposed && !uk_is_in_window(st, columns);
}

static double cycles_of(const struct uk_costing *c, const struct window *w) {
    const struct uk_fit *f = c->fit;
    struct uk_levels l = {0};
    int rows, columns;

    uk_tile_axes(c->st, f, &rows, &columns);
    const bool outermost = are_columns_outermost(c->st, f, f->axis[columns]);
    if (outermost)
        add_level(c, &l, f->axis[columns], f->max_extent[columns]);
    add_all(c, &l, w->outer, w->outers);
    if (!outermost)
        add_level(c, &l, f->axis[columns], f->max_extent[columns]);
    for (int o = 1; o < c->operands; o++)
        for (int i = 0; i < l.levels && !c->st->operand[o].tensor->is_constant; i++)
            if (uk_depends(&c->st->operand[o], l.level[i].loop))
                l.copied[o] = i + 1;
    for (int pass = 0; pass < 2; pass++) {
        if (w->tiles_wait == (pass == 0)) {
            add_all(c, &l, w->sums, w->sum_count);
            for (int v = 0; v < f->axes; v++)
                if (uk_is_reduced(c->st, f->axis[v]))
                    add_level(c, &l, f->axis[v], block_of(w, c, v));
        } else {
            add_all(c, &l, w->inside, w->insides);
            add_level(c, &l, f->axis[rows], f->max_extent[rows]);
        }
    }
    return uk_costing_cycles(c, &l);
}

static double find_order(const struct uk_costing *c, struct window *best) {
    struct uk_loop *loop[UK_MAX_LOOPS];
    const int count = loops_outside(c->st, c->fit, loop), least_first = first_inside(c, loop, count);
    double least = DBL_MAX;

    for (int first = count; first >= least_first; first--)
        for (int i = 0; i < 2 * (LENGTHS + 1); i++) {
            struct window w = {.tiles_wait = i % 2, .kc = i < 2 ? 0 : GEMM_KC >> (i / 2 - 1)};

            sort_loops(c->st, loop, count, first, &w);
            const double cycles = cycles_of(c, &w);
            if (cycles < least * (1 - AUTO_MARGIN)) {
                least = cycles;
                *best = w;
            }
        }
    return least;
}

double uk_window_cycles(const struct uk_costing *c) {
    struct window w;

    return find_order(c, &w);
}

static void put(struct tiling *t, struct uk_loop *const *loops, int n) {
    for (int i = 0; i < n; i++)
        if (loops[i])
            t->order[t->loops++] = loops[i];
}

enum uk_status uk_order_window(struct tiling *t, const struct uk_costing *c) {
    struct window w;
    struct uk_loop *columns = NULL, *rows = NULL, *blocks[2 * UK_MAX_DIMS] = {0};
    enum uk_status status = UK_OK;

    find_order(c, &w);
    t->loops = 0;
    const bool outermost = are_columns_outermost(t->st, t->fit, t->axis[t->columns]);
    for (int v = 0; v < t->fit->axes && !status; v++)
        if (uk_is_reduced(t->st, t->axis[v]))
            status = uk_split_by(t->s, t->st, &t->axis[v], block_of(&w, c, v), "c", &blocks[v]);
    if (status ||
        (status =
             uk_split_by(t->s, t->st, &t->axis[t->columns], t->fit->max_extent[t->columns], "o", &columns)) ||
        (status = uk_split_by(t->s, t->st, &t->axis[t->rows], t->fit->max_extent[t->rows], "o", &rows)))
        return status;
    if (outermost)
        put(t, &columns, 1);
    put(t, w.outer, w.outers);
    if (!outermost)
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
