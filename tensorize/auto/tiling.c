/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tiles, blocks and packs one statement for one kernel, by steps that are applied as if they had been
 * written. blocks.c finds the blocks.
 */
#include <string.h>
#include "copies.h"
#include "steps.h"
#include "tiling.h"

/* Rows of an operand that a copy into narrow panels moves per pass over all panels: they are on few pages. */
enum { PACK_ROWS = 32 };

/* ---- a stage's tiling, built step by step ---- */

static void begin(struct tiling *t) {
    const struct uk_stage *st = t->st;

    memcpy(t->axis, t->fit->axis, sizeof t->axis);
    uk_tile_axes(st, t->fit, &t->rows, &t->columns);
    for (int i = 0; i < st->loops; i++)
        if (!uk_is_axis(t->fit, st->loop[i]))
            t->order[t->loops++] = st->loop[i];
    t->outside = t->loops;
}

static enum uk_status block(struct tiling *t, int axis, int64_t size) {
    struct uk_loop *outer;
    enum uk_status status = uk_split_by(t->s, t->st, &t->axis[axis], size, "c", &outer);

    if (!status && outer)
        t->order[t->loops++] = outer;
    return status;
}

/* Splits columns and rows into blocks. */
static enum uk_status split_output(struct tiling *t) {
    const bool shares = uk_shares_columns(t->s, t->st, t->fit, t->columns);
    int before = t->loops;
    enum uk_status status = t->blocked.nc ? block(t, t->columns, t->blocked.nc) : UK_OK;

    if (status)
        return status;
    if (t->loops > before && shares)
        t->shared = t->order[before];
    before = t->loops;
    status = t->blocked.mc ? block(t, t->rows, t->blocked.mc) : UK_OK;
    if (!status && t->loops > before && !t->shared)
        t->shared = t->order[before];
    return status;
}

/* Creates the loops around the tile. */
static enum uk_status split_blocks(struct tiling *t) {
    struct uk_costing c;
    bool by_first_tile;
    enum uk_status status = uk_has_packing(t->s, t->fit, &by_first_tile);

    if (status)
        return status;
    uk_costing_begin(&c, t->s, t->st, t->fit, by_first_tile);
    if (t->window)
        return uk_order_window(t, &c);
    if (uk_find_streams(t))
        return uk_split_streams(t);
    uk_find_blocks(&c, &t->blocked);
    for (int v = 0; v < t->fit->axes && t->blocked.kc && !status; v++)
        if (uk_is_reduced(t->st, t->axis[v]) && !t->fit->max_extent[v])
            status = block(t, v, t->blocked.kc);
    if (!status && t->rows >= 0)
        status = split_output(t);
    t->blocks = t->loops;
    return status;
}

/* Puts the tile's own loops last. */
static enum uk_status order_tile(struct tiling *t) {
    t->tiles = t->loops;
    for (int v = 0; v < t->fit->axes; v++)
        t->order[t->loops++] = t->axis[v];
    for (int i = 0; i < t->loops; i++)
        if (t->order[i] != t->st->loop[i])
            return uk_apply_one(t->s, uk_step_on(t->s, UK_STEP_REORDER, t->st, t->order, t->loops));
    return UK_OK;
}

/* True if another stage reads the output in place. */
static bool is_followed(const struct tiling *t) {
    for (const struct uk_stage *e = t->s->stages; e; e = e->next)
        for (int o = 1; o < e->operands && e != t->st; o++)
            if (e->operand[o].tensor == t->st->operand[0].tensor)
                return true;
    return false;
}

static bool has_loops(const struct tiling *t) {
    for (int i = 0; i < t->loops; i++)
        if (uk_constant_extent(t->st, t->order[i]) != 1)
            return true;
    return false;
}

/* Splits so that a loop remains outside the tile, where stages after it can run. None would remain if the
 * extents are constants that one tile holds, or if the kernel takes any number of rows and columns. The loop
 * is over single rows, if the kernel takes any number of these. */
static enum uk_status split_one_tile(struct tiling *t) {
    struct uk_loop *outer;
    int first = t->fit->axes, v = first;

    for (int i = t->fit->axes - 1; i >= 0; i--)
        if (!uk_is_reduced(t->st, t->axis[i])) {
            first = i;
            v = t->fit->max_extent[i] ? i : v;
        }
    v = v == t->fit->axes ? first : v;
    if (has_loops(t) || v == t->fit->axes || !is_followed(t))
        return UK_OK;
    enum uk_status status = uk_split_unconditionally(
        t->s, t->st, &t->axis[v], t->fit->max_extent[v] ? t->fit->max_extent[v] : 1, "o", &outer);
    if (!status)
        t->order[t->loops++] = outer;
    return status;
}

/* Adds a loop over tiles inside all loops, or outside. */
static void add_tiles(struct tiling *t, struct uk_loop *tiles, bool outermost) {
    if (outermost) {
        memmove(t->order + 1, t->order, sizeof t->order[0] * (size_t)t->loops);
        t->outside++;
        t->blocks++;
        t->shared = tiles;
    }
    t->order[outermost ? 0 : t->loops] = tiles;
    t->loops++;
}

static enum uk_status split_tiles(struct tiling *t) {
    for (int i = 0; i < t->fit->axes; i++) {
        struct uk_loop *outer = NULL;
        int v = t->blocked.is_column_loop_outer ? t->fit->axes - 1 - i : i;
        enum uk_status status =
            t->fit->max_extent[v] ? uk_split_by(t->s, t->st, &t->axis[v], t->fit->max_extent[v], "o", &outer)
                                  : UK_OK;

        if (status)
            return status;
        if (outer)
            add_tiles(t, outer, v == t->rows && t->blocked.are_rows_outermost);
    }
    return split_one_tile(t);
}

/* Reorders a copy: all panels for PACK_ROWS rows, instead of all rows for one panel after the other. */
static enum uk_status reorder_copy(struct tiling *t, struct uk_stage *copy) {
    struct uk_loop *panel = copy->loop[copy->prefix], *rows = copy->loop[copy->prefix + 1], *outer;
    struct uk_loop *lane = copy->loop[copy->loops - 1];
    struct uk_poly c = uk_coefficient(&copy->operand[1], lane->id);
    int64_t stride;

    if (copy->loops - copy->prefix != 3 || !uk_poly_is_int(&c, &stride) || stride != 1)
        return UK_OK;
    enum uk_status status = uk_split_by(t->s, copy, &rows, PACK_ROWS, "o", &outer);
    if (status || !outer)
        return status;
    return uk_apply_one(
        t->s, uk_step_on(t->s, UK_STEP_REORDER, copy, (struct uk_loop *[]){outer, panel, rows, lane}, 4));
}

static bool has_terms_as_lanes(const struct tiling *t, int o) {
    return uk_is_reduced(t->st, t->fit->axis[t->fit->panel[o].lane]);
}

/* Packs an operand: constants once for the whole program, others inside the innermost loop over blocks that
 * they depend on, or panel by panel just before their use. */
static enum uk_status pack_operand(struct tiling *t, int o) {
    const struct uk_operand *operand = &t->st->operand[o];
    bool of_columns = t->columns >= 0 && uk_depends(operand, t->axis[t->columns]);
    struct uk_loop *place = NULL;
    int last = t->blocks;

    /* packed already, for an operand with the same subscripts */
    if (operand->tensor->kind == UK_TENSOR_PACKED)
        return UK_OK;
    if (of_columns ? t->blocked.packs_each_column_panel : t->blocked.packs_each_row_panel)
        last = t->tiles;
    for (int i = 0; i < last && !operand->tensor->is_constant; i++) {
        if (uk_depends(operand, t->order[i]))
            place = t->order[i];
        else if (t->fit->transposed)
            break; /* the panels of one image serve the next ones */
    }
    struct uk_step *step = uk_step_on(t->s, UK_STEP_PACK, t->st, &place, place ? 1 : 0);
    if (!step)
        return uk_out_of_memory(t->s->context);
    step->has_panel = step->has_along = !t->fit->panel[o].layout;
    step->number[0] = t->fit->panel[o].width;
    step->along = t->fit->panel[o].along;
    step->layout = t->fit->panel[o].layout;
    /* the kernel reads terms of several accesses from one panel */
    enum uk_status status = has_terms_as_lanes(t, o) ? uk_copy_tensor(t->s, t->st, o, place, step)
                                                     : uk_copy_operand(t->s, t->st, o, place, step);
    /* packing replaced the operand's tensor by the copy */
    return status || !step->layout || t->fit->panel[o].group
               ? status
               : uk_order_map_copy(t->s, uk_stage_find(t->s, operand->tensor->name));
}

/* Reorders copies into panels of columns or terms, unless a kernel packs them while it computes. */
static enum uk_status reorder_copies(struct tiling *t) {
    for (int o = 1; o < t->st->operands; o++) {
        const struct uk_operand *operand = &t->st->operand[o];
        struct uk_packing *packing;
        struct uk_stage *reader, *copy;

        if (!t->fit->panel[o].width || t->columns < 0 ||
            (!uk_depends(operand, t->axis[t->columns]) && !has_terms_as_lanes(t, o)))
            continue;
        copy = uk_stage_find(t->s, operand->tensor->name);
        enum uk_status status = uk_find_packing(t->s, copy, &reader, &packing);
        if (!status && !packing)
            status = reorder_copy(t, copy);
        if (status)
            return status;
    }
    return UK_OK;
}

/* Lists up to `most` loops of the output in order[from..to) that have no loop of the sum before them. */
static int find_parallel(const struct tiling *t, int from, int to, int most, struct uk_loop **loop) {
    int n = 0;

    for (int i = from; i < to && n < most; i++) {
        if (!uk_is_reduced(t->st, t->order[i]))
            loop[n++] = t->order[i];
        else if (n)
            break;
    }
    return n;
}

static bool packs_inside(const struct tiling *t, const struct uk_loop *l) {
    for (const struct uk_stage *c = t->s->stages; c; c = c->next)
        if (c->parent == t->st && c->prefix == uk_loop_position(t->st, l) + 1)
            return true;
    return false;
}

bool uk_has_loops_for_threads(const struct uk_schedule *s, const struct uk_stage *st,
                              const struct uk_fit *f) {
    double calls = 1;

    for (int i = 0; i < st->loops; i++)
        if (!uk_is_axis(f, st->loop[i]) && !uk_is_reduced(st, st->loop[i]))
            calls *= uk_values_estimate(s, st, st->loop[i]);
    return calls >= (double)UK_MIN_TILES_PER_THREAD * s->options->threads;
}

/* Makes loops outside the kernel's parallel, or blocks, or rows of tiles, or, if these are too few for the
 * threads and nothing is packed in between, all tiles. */
static enum uk_status parallelize(struct tiling *t) {
    const double enough = (double)UK_MIN_TILES_PER_THREAD * t->s->options->threads;
    const struct uk_kernel *row = t->fit->intrinsic->row;
    struct uk_loop *loop[2];
    int n = 0;

    if (t->window || uk_channel_axis(t->st, t->fit) >= 0 ||
        (row && uk_computes_all_rows(row) && uk_has_loops_for_threads(t->s, t->st, t->fit))) {
        n = find_parallel(t, 0, t->outside, 2, loop);
        /* a copy in each image leaves only images to the threads: if they are few, rows of pixels */
        if (n == 2 && packs_inside(t, loop[0]) &&
            (!t->window || uk_values_estimate(t->s, t->st, loop[0]) < enough))
            loop[0] = loop[--n];
        return n ? uk_apply_one(t->s, uk_step_on(t->s, UK_STEP_PARALLEL, t->st, loop, n)) : UK_OK;
    }
    if (t->shared)
        return uk_apply_one(t->s, uk_step_on(t->s, UK_STEP_PARALLEL, t->st, &t->shared, 1));
    if (!(n = find_parallel(t, t->blocks, t->tiles, 2, loop)) &&
        !(n = find_parallel(t, 0, t->outside, 1, loop)))
        return UK_OK;
    if (n == 2 && packs_inside(t, loop[0]))
        n = 1;
    if (n == 2 &&
        uk_extent_estimate(t->s, t->st, loop[0]) /
                (double)t->fit->max_extent[t->blocked.is_column_loop_outer ? t->columns : t->rows] >=
            enough)
        n = 1;
    return uk_apply_one(t->s, uk_step_on(t->s, UK_STEP_PARALLEL, t->st, loop, n));
}

enum uk_status uk_schedule_stage(struct uk_schedule *s, struct uk_stage *st, const struct uk_fit *fit) {
    struct tiling t = {.s = s, .st = st, .fit = fit};
    enum uk_status status;

    begin(&t);
    t.window = uk_is_window(st, fit);
    status = split_blocks(&t);
    if (status || (!t.window && !t.panels_of_stream && (status = split_tiles(&t))) ||
        (status = order_tile(&t)))
        return status;
    for (int o = st->operands - 1; o >= 1; o--)
        if (fit->panel[o].width && (status = pack_operand(&t, o)))
            return status;
    if ((status = uk_spread_weights(s, st, fit)))
        return status;
    if (fit->transposed && (status = uk_apply_transposing(s, st, fit->transposed, t.tiles)))
        return status;
    if (s->options->threads > 1 && (status = parallelize(&t)))
        return status;
    struct uk_step *step = uk_step_on(s, UK_STEP_TENSORIZE, st, &t.order[t.tiles], 1);
    if (!step)
        return uk_out_of_memory(s->context);
    step->subject = fit->intrinsic->name;
    status = uk_apply_one(s, step);
    return status ? status : reorder_copies(&t);
}
