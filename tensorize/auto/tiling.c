/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tiles, blocks and packs of one statement for one kernel, as steps that are applied as if they had been
 * written.
 *
 * Two orders for a product. Rows outside: a block of B, kc x nc, in the second-level cache, from which tiles
 * stream it; long kc, so that C is stored once and rarely read again. Columns outside: a panel of B, kc x nr,
 * in the first-level cache, used by all rows of a block of A. The first wins where a tile is tall enough to
 * stream B slowly; the second on flat tiles, and for few rows, where B is packed, or read in place, panel by
 * panel.
 */
#include <math.h>
#include <string.h>
#include "tiling.h"

enum {
    /* rows outside */
    LONG_K = 1024,    /* panels of A of this length still stream from the second-level cache */
    BIG_L2 = 2 << 20, /* ... of this size; on smaller ones three quarters are for B, in shorter panels */
    MEDIUM_K = 384,
    LEAST_COLUMNS = 224, /* of a block: 7 tiles of 32 */
    PANELS_K = 512,      /* ... or, with A in panels too, one half in longer ones */
    FEW_COLUMNS = 768,   /* up to here, a panel of A is packed anew for each block of B and stays near */
    /* columns outside, for few rows: B panel by panel, each just before its use */
    FEW_ROWS = 256,
    SHORT_K = 256,
    /* columns outside, for flat tiles */
    FLAT_K = 512,          /* a panel of B is two thirds of the first-level cache, */
    FLAT_K_FEW_ROWS = 384, /* or half, where few rows use it */
    FLAT_COLUMNS = 512,
    FLAT_ROWS = 96,        /* of A in place */
    FLAT_PACKED_ROWS = 24, /* of A packed: what is left of the first-level cache */
    PACK_ROWS =
        32, /* narrow panels are packed by so many rows of B at a time: a page holds a row's part of all */
    FAST_STREAM =
        10, /* bytes per cycle of B above which its stream from the second-level cache shows: flat */
    /* threads */
    /* of each thread, from which on the threads take blocks of B, and the least of a block */
    SHARED_COLUMNS = 128,
    /* with A in panels: long and narrow blocks, so that threads meet seldom and wait little for a slower core */
    SHARED_K_BYTES = 4096,
    /* A and B in place */
    MOST_K_IN_PLACE = 512,
    FAR_K = 128, /* rows of B whose lines share few cache sets, for few rows of A and wide B */
    FAR_ROWS = 64,
    FAR_COLUMNS = 2048,
    WIDE_COLUMNS = 256, /* bytes of a row of B in a tile */
    STREAM_ROWS = 4,    /* up to so many rows, B is streamed once, in blocks of STREAM_K whole rows */
    STREAM_K = 32,
};

/* ---- a stage's tiling, built step by step ---- */

bool uk_has_big_l2(const struct uk_schedule *s) {
    return uk_l2_share(s) >= BIG_L2;
}

bool uk_is_flat(const struct uk_schedule *s, const struct uk_stage *st, const struct uk_fit *f) {
    const struct uk_kernel *row = f->intrinsic->row;
    double bytes = 0;

    for (int v = 0; v < f->axes; v++)
        for (int o = 1; o < st->operands && !uk_is_reduced(st, f->axis[v]) && f->most[v]; o++)
            if (uk_depends(&st->operand[o], f->axis[v]))
                bytes = (double)f->most[v] * (double)uk_type_bytes(st->operand[o].tensor->type);
    return row && bytes > FAST_STREAM * uk_kernel_cycles(s->target, row);
}

static double longest_sum(const struct tiling *t) {
    double most = 0;

    for (int v = 0; v < t->fit->axes; v++) {
        double n = uk_extent_estimate(t->s, t->st, t->axis[v]);

        if (uk_is_reduced(t->st, t->axis[v]) && n > most)
            most = n;
    }
    return most;
}

/* Rows of B in place: half of the second-level cache for kc x N of them; where B is far larger, short blocks.
 */
static void choose_in_place(struct tiling *t, double m, double n, bool flat) {
    double bytes = (double)uk_type_bytes(t->st->operand[0].tensor->type);
    double l2 = (double)uk_l2_share(t->s);
    int64_t fits = (int64_t)(l2 / 2 / (n * bytes)) / 64 * 64;

    t->columns_outside = flat || (m < FAR_ROWS && n >= FAR_COLUMNS);
    t->kc = t->columns_outside ? FAR_K : fits < 64 ? 64 : fits > MOST_K_IN_PLACE ? MOST_K_IN_PLACE : fits;
    /* One row of tiles uses B once, column by column, if those are wide. */
    bool wide = (double)t->fit->most[t->columns] * bytes >= WIDE_COLUMNS;
    if (wide && m <= (double)t->fit->most[t->rows] && (int64_t)(n * bytes) % UK_PAGE) {
        t->columns_outside = true;
        t->kc = 0;
    } else if (m <= STREAM_ROWS && n * longest_sum(t) * bytes > l2) {
        t->columns_outside = false;
        t->kc = STREAM_K;
    }
}

int64_t uk_even_blocks(int64_t n, int64_t most) {
    int64_t blocks = (n - 1) / most + 1;

    return n <= most ? most : ((n - 1) / blocks + 8) / 8 * 8;
}

/* Each thread packs its own blocks of B into its own second-level cache, if there are columns enough for all:
 * then the threads meet only once per block of k. */
static bool shares_columns(const struct tiling *t) {
    int threads = t->s->options->threads;

    return threads > 1 &&
           uk_extent_estimate(t->s, t->st, t->axis[t->columns]) >= (double)SHARED_COLUMNS * threads;
}

static int64_t bytes_of_columns(const struct tiling *t) {
    int64_t bytes = 1;

    for (int o = 1; o < t->st->operands; o++)
        if (uk_depends(&t->st->operand[o], t->axis[t->columns]))
            bytes = (int64_t)uk_type_bytes(t->st->operand[o].tensor->type);
    return bytes;
}

static int64_t panels_k(const struct tiling *t) {
    int64_t bytes = (int64_t)uk_type_bytes(t->st->operand[0].tensor->type);

    return shares_columns(t) ? SHARED_K_BYTES / bytes : PANELS_K;
}

static int64_t least_columns(const struct tiling *t) {
    return shares_columns(t) && t->packs > 1 ? SHARED_COLUMNS : LEAST_COLUMNS;
}

/* Few rows; of elements smaller than f32 a panel of B may take half of the first-level cache. */
static int64_t short_k(const struct tiling *t) {
    const int64_t bytes = bytes_of_columns(t), half = t->s->target->core.l1.size / 2;
    const int64_t fits = half / (t->fit->most[t->columns] * bytes) / 64 * 64; /* of whole groups */

    return uk_even_blocks((int64_t)longest_sum(t), bytes < 4 && fits > SHORT_K ? fits : SHORT_K);
}

/* What a block of B may take of the second-level cache, in its elements. */
static int64_t room_of_block(const struct tiling *t) {
    return uk_l2_share(t->s) / 8 * 7 / bytes_of_columns(t);
}

/* Rows outside: kc, or less where a block of it with the least columns does not stay in the second-level cache. A block of
 * kc x nc costs A once for each nc columns, and C, read and written, for each kc terms: for its size the least at kc = 2 nc. */
static int64_t fitting_k(const struct tiling *t, int64_t kc) {
    int64_t room = room_of_block(t);

    return least_columns(t) * kc <= room ? kc : (int64_t)sqrt(2.0 * (double)room) / 8 * 8;
}

static void choose_order(struct tiling *t) {
    double m = uk_extent_estimate(t->s, t->st, t->axis[t->rows]),
           n = uk_extent_estimate(t->s, t->st, t->axis[t->columns]);

    t->flat = uk_is_flat(t->s, t->st, t->fit);
    if (!t->packs) {
        choose_in_place(t, m, n, t->flat);
        return;
    }
    t->few_rows = m <= FEW_ROWS && !t->flat;
    t->columns_outside = t->few_rows || t->flat;
    t->kc = t->flat               ? m <= FEW_ROWS ? FLAT_K_FEW_ROWS : FLAT_K
            : t->few_rows         ? short_k(t)
            : uk_has_big_l2(t->s) ? LONG_K
            : t->packs > 1        ? uk_even_blocks((int64_t)longest_sum(t), fitting_k(t, panels_k(t)))
                                  : fitting_k(t, MEDIUM_K);
}

static void begin(struct tiling *t) {
    const struct uk_stage *st = t->st;

    memcpy(t->axis, t->fit->axis, sizeof t->axis);
    t->rows = t->columns = -1;
    for (int o = 1; o < st->operands; o++)
        t->packs += t->fit->panel[o].width > 0;
    for (int v = 0; v < t->fit->axes; v++)
        if (!uk_is_reduced(st, t->axis[v]) && t->fit->most[v]) {
            t->rows = t->columns;
            t->columns = v;
        }
    for (int i = 0; i < st->loops; i++) {
        bool used = false;

        for (int v = 0; v < t->fit->axes; v++)
            used |= t->axis[v] == st->loop[i];
        if (!used)
            t->order[t->loops++] = st->loop[i];
    }
    t->outside = t->loops;
    if (t->rows >= 0 && st->statement->reduce != UK_REDUCE_NONE)
        choose_order(t);
}

/* Rows outside: so much of the second-level cache for kc x nc, but at least LEAST_COLUMNS if they fit, or going through all
 * rows of A once more shows. */
static int64_t block_columns(const struct tiling *t) {
    int64_t bytes = (int64_t)uk_type_bytes(t->st->operand[0].tensor->type), tile = t->fit->most[t->columns];
    int64_t l2 = uk_l2_share(t->s), all = (int64_t)uk_extent_estimate(t->s, t->st, t->axis[t->columns]);
    bool half = uk_has_big_l2(t->s) || t->packs > 1;
    int64_t least = least_columns(t), most = room_of_block(t) / t->kc / tile * tile;
    int64_t n = (half ? l2 / 2 : l2 / 4 * 3) / (t->kc * bytes);

    least = least < most ? least : most > tile ? most : tile;
    n = t->columns_outside ? FLAT_COLUMNS : n < least ? least : n;
    if (shares_columns(t)) {
        int64_t threads = t->s->options->threads, blocks = ((all - 1) / n / threads + 1) * threads;

        n = (all - 1) / blocks + 1;
    } else if (t->packs > 1 && !uk_has_big_l2(t->s)) {
        n = uk_even_blocks(all, n / tile * tile);
    }
    return (n + tile - 1) / tile * tile;
}

static enum uk_status block(struct tiling *t, int axis, int64_t size) {
    struct uk_loop *outer;
    enum uk_status status = uk_split_by(t->s, t->st, &t->axis[axis], size, "c", &outer);

    if (!status && outer)
        t->order[t->loops++] = outer;
    return status;
}

/* Blocks of columns, and of rows where the columns are outside; few rows have neither. */
static enum uk_status split_output(struct tiling *t) {
    int before = t->loops;
    enum uk_status status = block(t, t->columns, block_columns(t));

    if (status)
        return status;
    if (t->loops > before && shares_columns(t))
        t->shared = t->order[before];
    if (!t->columns_outside)
        return UK_OK;
    int64_t tile = t->fit->most[t->rows], most = t->packs > 1 ? FLAT_PACKED_ROWS : FLAT_ROWS;
    before = t->loops;
    status = block(t, t->rows, (most + tile - 1) / tile * tile);
    if (!status && t->loops > before && !t->shared)
        t->shared = t->order[before];
    return status;
}

static enum uk_status split_blocks(struct tiling *t) {
    enum uk_status status = UK_OK;

    for (int v = 0; v < t->fit->axes && t->kc; v++) {
        if (!uk_is_reduced(t->st, t->axis[v]) || t->fit->most[v])
            continue;
        status = block(t, v, t->kc);
        if (status)
            return status;
        int64_t all = uk_constant_extent(t->st, t->axis[v]);
        t->kc = all > 0 && all < t->kc ? all : t->kc;
    }
    if (t->packs && t->kc && !t->few_rows)
        status = split_output(t);
    t->blocks = t->loops;
    return status;
}

/* The tile's own loops come last. */
static enum uk_status order_tile(struct tiling *t) {
    t->tiles = t->loops;
    for (int v = 0; v < t->fit->axes; v++)
        t->order[t->loops++] = t->axis[v];
    for (int i = 0; i < t->loops; i++)
        if (t->order[i] != t->st->loop[i])
            return uk_apply_one(t->s, uk_step_on(t->s, UK_STEP_REORDER, t->st, t->order, t->loops));
    return UK_OK;
}

/* Does another stage read the output where it is? */
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

/* Constant extents that one tile holds, and kernels of any number of rows and columns, leave no loop outside of the tile after which what
 * follows it could run: then there is one, over rows one at a time if the kernel takes any number. */
static enum uk_status split_one_tile(struct tiling *t) {
    struct uk_loop *outer;
    int first = t->fit->axes, v = first;

    for (int i = t->fit->axes - 1; i >= 0; i--)
        if (!uk_is_reduced(t->st, t->axis[i])) {
            first = i;
            v = t->fit->most[i] ? i : v;
        }
    v = v == t->fit->axes ? first : v;
    if (has_loops(t) || v == t->fit->axes || !is_followed(t))
        return UK_OK;
    enum uk_status status =
        uk_split_always(t->s, t->st, &t->axis[v], t->fit->most[v] ? t->fit->most[v] : 1, "o", &outer);
    if (!status)
        t->order[t->loops++] = outer;
    return status;
}

static enum uk_status split_tiles(struct tiling *t) {
    for (int i = 0; i < t->fit->axes; i++) {
        struct uk_loop *outer = NULL;
        int v = t->columns_outside ? t->fit->axes - 1 - i : i;
        enum uk_status status =
            t->fit->most[v] ? uk_split_by(t->s, t->st, &t->axis[v], t->fit->most[v], "o", &outer) : UK_OK;

        if (status)
            return status;
        if (outer)
            t->order[t->loops++] = outer;
    }
    return split_one_tile(t);
}

/* Rows of B by PACK_ROWS, and in them all panels, instead of one panel after the other through all rows. */
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

/* A constant is packed for the whole program; another operand inside the innermost block loop that it depends on. For few rows, B goes panel by
 * panel; panels of A do where there are few blocks of B: a panel then never leaves the first-level cache. */
static enum uk_status pack_operand(struct tiling *t, int o) {
    const struct uk_operand *operand = &t->st->operand[o];
    bool of_columns = t->columns >= 0 && uk_depends(operand, t->axis[t->columns]);
    struct uk_loop *place = NULL;
    int last = t->blocks;

    if (operand->tensor->kind == UK_TENSOR_PACKED) /* with another operand at the same subscripts */
        return UK_OK;
    if (of_columns ? t->few_rows
                   : t->columns >= 0 && !t->columns_outside && !t->window &&
                         uk_extent_estimate(t->s, t->st, t->axis[t->columns]) <= FEW_COLUMNS)
        last = t->tiles;
    for (int i = 0; i < last && !operand->tensor->is_constant; i++) {
        if (uk_depends(operand, t->order[i]))
            place = t->order[i];
        else if (t->fit->transposed) /* the next image uses what was packed for this one */
            break;
    }
    struct uk_step *step = uk_step_on(t->s, UK_STEP_PACK, t->st, &place, place ? 1 : 0);
    if (!step)
        return uk_out_of_memory(t->s->context);
    step->has_panel = step->has_along = !t->fit->panel[o].layout;
    step->number[0] = t->fit->panel[o].width;
    step->along = t->fit->panel[o].along;
    step->layout = t->fit->panel[o].layout;
    enum uk_status status = uk_copy_operand(t->s, t->st, o, place, step);
    /* the operand is the copy's tensor now */
    return status || !step->layout || t->fit->panel[o].group
               ? status
               : uk_order_map_copy(t->s, uk_stage_find(t->s, operand->tensor->name));
}

/* Panels of columns that no kernel makes while it computes are copied several at a time. */
static enum uk_status reorder_copies(struct tiling *t) {
    for (int o = 1; o < t->st->operands && t->flat; o++) {
        const struct uk_operand *operand = &t->st->operand[o];
        struct uk_packing *packing;
        struct uk_stage *reader, *copy;

        if (!t->fit->panel[o].width || t->columns < 0 || !uk_depends(operand, t->axis[t->columns]))
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

/* The first loops of the output in order[from..to), without a loop of the sum between them: up to `most`. */
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

/* Blocks in parallel, else rows of tiles; where there are too few for the threads and nothing is packed
 * between, all tiles. */
static enum uk_status parallelize(struct tiling *t) {
    struct uk_loop *loop[2];
    int n = 0;

    if (t->window || uk_channel_axis(t->st, t->fit) >= 0) {
        n = find_parallel(t, 0, t->outside, 2, loop);
        if (n == 2 && !t->window && packs_inside(t, loop[0])) /* an image's copy: rows of pixels */
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
    if (n == 2 && uk_extent_estimate(t->s, t->st, loop[0]) /
                          (double)t->fit->most[t->columns_outside ? t->columns : t->rows] >=
                      4.0 * t->s->options->threads)
        n = 1;
    return uk_apply_one(t->s, uk_step_on(t->s, UK_STEP_PARALLEL, t->st, loop, n));
}

enum uk_status uk_schedule_stage(struct uk_schedule *s, struct uk_stage *st, const struct uk_fit *fit) {
    struct tiling t = {.s = s, .st = st, .fit = fit};
    enum uk_status status;

    begin(&t);
    t.window = uk_is_window(st, fit);
    status = t.window ? uk_order_window(&t) : split_blocks(&t);
    if (status || (!t.window && (status = split_tiles(&t))) || (status = order_tile(&t)))
        return status;
    for (int o = st->operands - 1; o >= 1; o--)
        if (fit->panel[o].width && (status = pack_operand(&t, o)))
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
