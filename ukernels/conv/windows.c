/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The path whose tiles have pixels of a row as rows and output channels as columns. Row i of a tile reads the
 * image in place, stride_w pixels after row i - 1; weights are in panels. Also the path of 1x1 convolutions,
 * all of whose pixels are rows of one product.
 *
 *     for boxes of terms, whose panel of weights stays in L1 or L2
 *         for rows of the block, for tiles of the row
 *             sums += the box's terms, and a part of the next box's weights is prefetched
 *
 * The terms of a row of the window and all its channels are contiguous in the image if pixels are dense: a
 * run. A call adds the runs of all rows of the box. Near the left and right border a call adds the terms of
 * one column of the window, to those of the tile's pixels for which that is inside.
 *
 * Weights that are not packed are read in place by another form of the tile's kernel, or packed a panel at a
 * time. The terms and their order are the same, so that not a bit of the results differs.
 */
#include "conv.h"
#include "kernels.h"

/* ---- the estimate ---- */

/* True if columns of the window and their channels are contiguous in a row of X. */
static bool is_contiguous(const struct conv_plan *plan) {
    const struct conv_shape *v = &plan->shape;

    return v->dilation_w == 1 && (plan->copies == CONV_PIXELS || v->x.column == v->gc);
}

/* The number of terms that a tile adds at a time. Their panel stays in L1, next to rows of the image. Where
 * lines from L2 arrive while L1 is read it stays in L2: more terms at a time read and write the sums less
 * often. */
static int64_t terms_at_a_time(const struct conv_plan *plan) {
    const struct uk_machine *m = plan->type->machine;
    const int64_t bytes = m->core.serial_transfers ? m->cache[UK_L1].size * 2 / 3 : m->cache[UK_L2].size / 4;

    return uk_max(bytes / plan->width / (int)sizeof(float), 4);
}

/* Tiles of a row that are near the left or right border: some of their pixels read outside. */
static int64_t edge_tiles(const struct conv_plan *plan) {
    const struct conv_shape *v = &plan->shape;
    const int64_t before = uk_ceil_div(v->left, v->stride_w),
                  after = (v->q - 1) * v->stride_w + (v->s - 1) * v->dilation_w - v->left - (v->w - 1);

    if (plan->copies != CONV_IN_PLACE)
        return 0;
    return uk_min(uk_ceil_div(before, plan->tile) +
                      (after > 0 ? uk_ceil_div(uk_ceil_div(after, v->stride_w), plan->tile) : 0),
                  uk_ceil_div(v->q, plan->tile));
}

/* The extent of about equal parts of `all`, each of at most `most`. */
static int64_t even_part(int64_t all, int64_t most) {
    return uk_ceil_div(all, uk_ceil_div(all, uk_max(most, 1)));
}

/* Sets the box of terms. A call adds whole rows of the window, or, at a border or if columns are not
 * contiguous, a column. Boxes are whole rows or whole columns, whichever most calls add, if these fit; else
 * some channels of a column. */
static void set_box(struct conv_plan *plan) {
    enum { LEAST = 64 }; /* channels: fewer do not pay for a call */
    const struct conv_shape *v = &plan->shape;
    const int64_t room = terms_at_a_time(plan), line = v->s * v->gc, tiles = uk_ceil_div(v->q, plan->tile);

    plan->box_r = v->r;
    plan->box_s = v->s;
    plan->box_c = v->gc;
    if (line <= room && is_contiguous(plan) && 2 * edge_tiles(plan) < tiles) {
        plan->box_r = even_part(v->r, room / line);
        return;
    }
    if (v->r * uk_min(v->gc, LEAST) > room)
        plan->box_r = even_part(v->r, room / uk_min(v->gc, LEAST));
    plan->box_s = even_part(v->s, room / (plan->box_r * v->gc));
    if (plan->box_r * v->gc > room)
        plan->box_c = uk_min(uk_ceil_div(even_part(v->gc, room / plan->box_r), 4) * 4, v->gc);
}

static int64_t boxes(const struct conv_plan *plan) {
    const struct conv_shape *v = &plan->shape;

    return uk_ceil_div(v->r, plan->box_r) * uk_ceil_div(v->s, plan->box_s) * uk_ceil_div(v->gc, plan->box_c);
}

/* A number of elements, bounded so that bytes and sums over loops do not overflow: what is farther away
 * shares nothing in any cache. */
static int64_t bounded(double elements) {
    const int bits = 32;

    return (int64_t)uk_min_real(elements, (double)(INT64_C(1) << bits));
}

/* The part of packed weights' transfers that overlaps nothing: all lines of a box arrive in the first of its
 * uses, unless calls before have prefetched them, each a line for each term. */
static double exposed_part(const struct conv_plan *plan, double calls) {
    const double lines = plan->width * (double)sizeof(float) / GEMM_LINE;

    return plan->form == GEMM_RUNS ? 1 - plan->type->machine->core.hint_hides * uk_min_real(calls / lines, 1)
                                   : 1;
}

/* The nest of tiles, as cost/ reads it. */
static double nest_cycles(const struct conv_plan *plan, double instructions, double loads) {
    const struct conv_shape *v = &plan->shape;
    const bool copies = plan->copies == CONV_PIXELS;
    const int64_t size = sizeof(float), count = boxes(plan), rows = uk_min(plan->block, conv_rows(v));
    const double column = (double)v->stride_w * (double)(copies ? v->gc : v->x.column),
                 row = (double)v->stride_h *
                       (copies ? (double)conv_copied_columns(plan) * (double)v->c : (double)v->x.row),
                 terms = (double)uk_ceil_div(conv_terms(v), count), weight = plan->width,
                 panel = (double)conv_terms(v) * weight,
                 y_column = plan->stores ? plan->width : (double)v->y.column,
                 y_row = plan->stores ? (double)v->q * plan->width : (double)v->y.row,
                 tile = (double)plan->tile, block = (double)rows;
    const struct {
        int64_t extent;
        double x, weights, y;
    } loop[] = {{uk_ceil_div(conv_rows(v), rows), block * row, 0, block * y_row},
                {conv_panels(plan), 0, panel, plan->stores ? 0 : plan->width},
                {count, terms, terms * weight, 0},
                {rows, row, 0, y_row},
                {uk_ceil_div(v->q, plan->tile), tile * column, 0, tile * y_column},
                {(int64_t)terms, 1, weight, 0}};
    struct uk_loop_nest n = {
        .operands = 3,
        .operand = {{.bytes = (int)size, .runs = plan->tile, .length = size, .pitch = bounded(column) * size},
                    {.bytes = (int)size,
                     .runs = 1,
                     .length = plan->width * size,
                     .exposed = exposed_part(plan, block * (double)uk_ceil_div(v->q, plan->tile))},
                    {.bytes = (int)size,
                     .runs = plan->tile,
                     .length = uk_min(plan->width, v->go) * size,
                     .pitch = bounded(y_column) * size,
                     .is_written = true,
                     .register_loops = terms > 1}},
        .instructions = instructions,
        .loads = loads};

    const int most_bits = 28;

    for (size_t i = 0; i < sizeof loop / sizeof *loop; i++)
        if (loop[i].extent > 1) {
            n.extent[n.loops] = uk_min(loop[i].extent, INT64_C(1) << most_bits);
            n.operand[0].stride[n.loops] = bounded(loop[i].x) * size;
            n.operand[1].stride[n.loops] = bounded(loop[i].weights) * size;
            n.operand[2].stride[n.loops++] = bounded(loop[i].y) * size;
        }
    return uk_cost_nest(plan->type->machine, &n);
}

/* The part of the window's columns that are inside, over all pixels of a row: the others are not computed. */
static double inside(const struct conv_plan *plan) {
    const struct conv_shape *v = &plan->shape;
    int64_t sum = 0;

    if (plan->copies != CONV_IN_PLACE || v->s >= GEMM_WIDTHS)
        return 1;
    for (int64_t s = 0; s < v->s; s++) {
        const int64_t first = s * v->dilation_w - v->left;

        sum += uk_max(uk_min(uk_ceil_div(uk_max(v->w - first, 0), v->stride_w), v->q) -
                          uk_ceil_div(uk_max(-first, 0), v->stride_w),
                      0);
    }
    return (double)sum / ((double)v->q * (double)v->s);
}

/* The form of the tile's kernel that reads rows of A in place, with the fewest calls and strides; GEMM_FORMS:
 * none. */
static enum gemm_form form_of(const struct gemm_tile *t, bool takes_runs) {
    static const enum gemm_form forms[] = {GEMM_RUNS, GEMM_RA, GEMM_RAB, GEMM_SAB};

    for (size_t i = takes_runs ? 0 : 1; i < sizeof forms / sizeof *forms; i++)
        if (t->kernel[forms[i]])
            return forms[i];
    return GEMM_FORMS;
}

/* Pixels of a row that is a part of all pixels: several tiles, so that rows cost little, but enough rows for
 * threads to share. */
static int64_t row_length(const struct conv_shape *v, int64_t tile) {
    const double rows = 32, most = 16,
                 tiles = (double)v->n * (double)v->h * (double)v->w / (double)tile / rows;

    return tile * (int64_t)uk_max_real(uk_min_real(tiles, most), 1);
}

/* Sets the kernel and its tile. */
static void set_tile(struct conv_plan *plan, const struct gemm_tile *t, enum gemm_form form, bool is_whole) {
    const struct uk_kernel *k = t->kernel[form];

    plan->kernel = k;
    plan->form = form;
    plan->width = k->nr;
    if (plan->copies == CONV_IN_PLACE && !plan->stores)
        uk_conv_join_pixels(&plan->shape, row_length(&plan->shape, k->mr));
    plan->tile = uk_product_rows(plan->shape.q, k->mr, k->row_step);
    set_box(plan);
    uk_conv_set_block(plan, is_whole);
}

/* Cycles by a tile. Near a border each element of the window is a call. */
static double tile_cycles(const struct conv_plan *plan, const struct gemm_tile *t) {
    const struct conv_shape *v = &plan->shape;
    const struct uk_product_kernel kernel = uk_product_kernel(plan->kernel);
    const double rows = (double)conv_rows(v) * (double)v->groups, terms = (double)conv_terms(v),
                 panels = (double)uk_ceil_div(v->go, plan->width),
                 vectors = (double)uk_ceil_div(v->go, t->lanes),
                 tiles = (double)uk_ceil_div(v->q, plan->tile), edges = (double)edge_tiles(plan),
                 parts = (double)uk_ceil_div(v->r, plan->box_r) * (double)uk_ceil_div(v->gc, plan->box_c) *
                         (plan->form == GEMM_RUNS ? 1 : (double)plan->box_r),
                 calls = edges * parts * (double)v->s +
                         (tiles - edges) * parts *
                             (double)(is_contiguous(plan) ? uk_ceil_div(v->s, plan->box_s) : v->s),
                 iteration = uk_product_iteration(t->core, t->vectors, &kernel, plan->tile, v->q, v->go),
                 moved = rows * vectors * calls * (double)v->q / tiles,
                 loads = (rows * panels * terms * ((double)v->q + tiles * kernel.vectors) + moved) /
                         uk_ports_rate(&t->vectors->load);

    return nest_cycles(
        plan,
        uk_max_real(rows * iteration * terms * inside(plan) + rows * panels * calls * GEMM_CALL +
                        moved / uk_ports_rate(&t->vectors->load) + moved / uk_ports_rate(&t->vectors->store),
                    loads),
        loads);
}

/* Reads weights that are not packed beforehand in place, by a form of the same tile that adds the same terms
 * in the same order. That takes less time than to pack them if rows of a panel have several cache lines; rows
 * of one line each are in pages of their own. The estimate stays that of packed weights, because the path
 * must not depend on whether they are packed. Borders of copies ask whether weights are finite, which packing
 * finds. */
static void read_weights(struct conv_plan *plan) {
    const struct gemm_tile *t = plan->type->tile;

    while (t->kernel[plan->form] != plan->kernel)
        t++;
    const enum gemm_form form = plan->form == GEMM_RUNS ? GEMM_RUNS_RAB
                                : t->kernel[GEMM_RAB]   ? GEMM_RAB
                                                        : GEMM_SAB;

    if (plan->weights_packed || plan->shape.is_oihw || conv_copies_border(plan) || !t->kernel[form] ||
        plan->width * (int)sizeof(float) <= GEMM_LINE)
        return;
    plan->form = form;
    plan->kernel = t->kernel[form];
    plan->reads_weights = true;
}

/* Ways to use a tile; a window of one row is one run, for which forms of one run prefetch other operands. */
enum { COPIES = 1, WHOLE = 2, ONE_RUN = 4, WAYS = 8 };

static void try_tile(const struct conv_plan *plan, const struct gemm_tile *t, int way,
                     struct conv_plan *best) {
    const enum gemm_form form = form_of(t, !(way & ONE_RUN));
    struct conv_plan one = *plan;

    one.packing = CONV_PANELS;
    one.copies = way & COPIES ? CONV_PIXELS : CONV_IN_PLACE;
    one.stores = plan->shape.y.channel != 1;
    if (form == GEMM_FORMS || (!(way & COPIES) && plan->shape.x.channel != 1) ||
        (way & ONE_RUN && (plan->shape.r > 1 || !t->kernel[GEMM_RUNS])))
        return;
    set_tile(&one, t, form, way & WHOLE);
    one.cycles = tile_cycles(&one, t) + uk_conv_copy_cycles(&one);
    /* Ties: calls with all rows of a tile, for which kernels have the faster loop; and kernels of one run,
     * which prefetch rows of A. */
    const double margin = !best->kernel                                        ? 0
                          : one.tile == t->mr && best->tile < best->kernel->mr ? AUTO_MARGIN
                          : form == GEMM_RUNS && best->form == GEMM_RA         ? -AUTO_MARGIN
                                                                               : 0;

    if (one.cycles < best->cycles * (1 + margin))
        *best = one;
}

static double cycles(struct conv_plan *plan) {
    struct conv_plan best = {.cycles = HUGE_VAL};

    for (const struct gemm_tile *t = plan->type->tile; t < plan->type->tile + plan->type->all_tiles; t++)
        for (int way = WAYS; way-- > 0;)
            try_tile(plan, t, way, &best);
    if (best.cycles == HUGE_VAL)
        return HUGE_VAL;
    *plan = best;
    read_weights(plan);
    return plan->cycles;
}

/* ---- the sums ---- */

/* Terms of the window: rows [r0, r1), columns [s0, s1), channels [c0, c1). */
struct box {
    int64_t r0, r1, s0, s1, c0, c1;
};

/* A tile: m pixels of a row, from pixel q on. */
struct tile {
    const struct conv_block *b;
    const struct conv_row *row;
    int64_t q, m;
    int64_t part;    /* of the next box's weights, which the tile prefetches */
    uint64_t onward; /* bytes from the weights of a term to those of the same term of the next box */
};

/* Runs of k adjacent terms: the first of each is in the next row of the window, or in the next column. The
 * first run begins with element (r, s, c). */
struct runs {
    int64_t r, s, c, k, count;
    bool is_along_row;
};

/* Elements from a group's first channel to the next group's. */
static int64_t group_step(const struct conv_plan *plan) {
    return plan->copies == CONV_PIXELS ? conv_copied_columns(plan) * plan->shape.gc : plan->shape.gc;
}

/* sums (+)= the products of the runs, for pixels [i, i + m) of the tile. */
static void add_runs(const struct tile *t, int64_t i, int64_t m, const struct runs *x, bool adds) {
    const struct conv_plan *plan = t->b->plan;
    const struct conv_shape *v = &plan->shape;
    const struct conv_row *row = t->row;
    const int64_t step = conv_weight_step(plan), lda = v->stride_w * row->source.column, n = t->b->channels,
                  lds =
                      x->is_along_row ? v->dilation_w * row->source.column : v->dilation_h * row->source.row,
                  ldf = (x->is_along_row ? v->gc : v->s * v->gc) * step;
    const float *f = t->b->weights + ((x->r * v->s + x->s) * v->gc + x->c) * step,
                *a = conv_at(&row->source, row->ih + x->r * v->dilation_h,
                             (t->q + i) * v->stride_w - v->left + x->s * v->dilation_w) +
                     t->b->group * group_step(plan) + x->c;
    float *sums = row->sums + (t->q + i) * row->pixel;
    void (*kernel)(void) = plan->kernel->function;

    if (plan->form == GEMM_RUNS) {
        ((uk_sgemm_runs_function *)kernel)(
            x->count, x->k, a, lda, lds, f, ldf, sums, row->pixel, adds, m, n,
            (int64_t)((uintptr_t)f + t->onward + (uint64_t)(t->part * x->k * GEMM_LINE)));
        return;
    }
    if (plan->form == GEMM_RUNS_RAB) {
        ((uk_sgemm_runs_rab_function *)kernel)(x->count, x->k, a, lda, lds, f, step, ldf, sums, row->pixel,
                                               adds, m, n);
        return;
    }
    for (int64_t run = 0; run < x->count; run++, a += lds, f += ldf, adds = true)
        if (plan->form == GEMM_RA)
            ((uk_sgemm_ra_function *)kernel)(x->k, a, lda, f, sums, row->pixel, adds, m, n);
        else if (plan->form == GEMM_RAB)
            ((uk_sgemm_rab_function *)kernel)(x->k, a, lda, f, step, sums, row->pixel, adds, m, n);
        else
            ((uk_sgemm_sab_function *)kernel)(x->k, a, lda, 1, f, step, sums, row->pixel, adds, m, n);
}

/* The pixels of the tile for which column s of the window is inside. */
static void pixels_inside(const struct tile *t, int64_t s, int64_t *begin, int64_t *end) {
    const struct conv_shape *v = &t->b->plan->shape;
    const int64_t first = t->q * v->stride_w - v->left + s * v->dilation_w,
                  before = t->row->source.begin - first, inside = t->row->source.end - first;

    *begin = before > 0 ? uk_min(uk_ceil_div(before, v->stride_w), t->m) : 0;
    *end = inside > 0 ? uk_min(uk_ceil_div(inside, v->stride_w), t->m) : 0;
}

static void clear(const struct tile *t) {
    for (int64_t i = 0; i < t->m; i++)
        for (int64_t j = 0; j < t->b->channels; j++)
            t->row->sums[(t->q + i) * t->row->pixel + j] = 0;
}

/* Adds a box to a tile near the border. */
static void add_edge(const struct tile *t, const struct box *x, bool adds) {
    if (!adds)
        clear(t);
    for (int64_t s = x->s0; s < x->s1; s++) {
        int64_t begin, end;

        pixels_inside(t, s, &begin, &end);
        if (begin < end)
            add_runs(t, begin, end - begin,
                     &(struct runs){x->r0, s, x->c0, x->c1 - x->c0, x->r1 - x->r0, false}, true);
    }
}

/* Adds the box's terms in rows of the window that are inside; x has at least one such row. */
static void add_box(const struct tile *t, const struct box *x, bool is_contiguous, bool adds) {
    const struct conv_shape *v = &t->b->plan->shape;
    const int64_t first = t->q * v->stride_w - v->left + x->s0 * v->dilation_w,
                  last = (t->q + t->m - 1) * v->stride_w - v->left + (x->s1 - 1) * v->dilation_w;

    if (first < t->row->source.begin || last >= t->row->source.end) {
        add_edge(t, x, adds);
        return;
    }
    struct runs runs = {x->r0, x->s0, x->c0, x->c1 - x->c0, x->r1 - x->r0, false};

    if (is_contiguous && runs.k == v->gc) {
        runs.k *= x->s1 - x->s0;
        add_runs(t, 0, t->m, &runs, adds);
    } else if (runs.count == 1) {
        runs.count = x->s1 - x->s0;
        runs.is_along_row = true;
        add_runs(t, 0, t->m, &runs, adds);
    } else {
        for (; runs.s < x->s1; runs.s++) {
            add_runs(t, 0, t->m, &runs, adds);
            adds = true;
        }
    }
}

/* Adds a box to all tiles of the block. onward: struct tile. */
static void add_to_block(const struct conv_block *b, const struct box *x, bool adds, bool is_last,
                         uint64_t onward) {
    const struct conv_plan *plan = b->plan;
    const bool contiguous = is_contiguous(plan);
    const int64_t lines = uk_ceil_div(plan->width, GEMM_LINE / (int)sizeof(float));
    struct conv_row row = uk_conv_first_row(b);
    int64_t part = 0;

    for (int64_t i = 0; i < b->rows; i++, uk_conv_next_row(b, &row)) {
        struct box inside = *x;

        inside.r0 = uk_max(x->r0, row.r0);
        inside.r1 = uk_min(x->r1, row.r1);
        for (int64_t q = 0; q < row.q; q += plan->tile, part++) {
            const struct tile t = {b, &row, q, uk_min(plan->tile, row.q - q), part % lines, onward};

            if (inside.r0 < inside.r1)
                add_box(&t, &inside, contiguous, adds);
            else if (!adds)
                clear(&t);
            if (is_last && !plan->stores)
                uk_conv_finish(b, &row, q, t.m);
        }
    }
}

/* The i-th box. */
static struct box box_at(const struct conv_plan *plan, int64_t i) {
    const struct conv_shape *v = &plan->shape;
    const int64_t in_c = uk_ceil_div(v->gc, plan->box_c), in_s = uk_ceil_div(v->s, plan->box_s),
                  r = i / in_c / in_s * plan->box_r, s = i / in_c % in_s * plan->box_s,
                  c = i % in_c * plan->box_c;

    return (struct box){r, uk_min(r + plan->box_r, v->r), s, uk_min(s + plan->box_s, v->s),
                        c, uk_min(c + plan->box_c, v->gc)};
}

/* The address of the box's weights in a panel. */
static uintptr_t weights_at(const struct conv_plan *plan, const float *panel, const struct box *x) {
    const struct conv_shape *v = &plan->shape;

    return (uintptr_t)(panel + ((x->r0 * v->s + x->s0) * v->gc + x->c0) * conv_weight_step(plan));
}

static void panel(const struct conv_block *b) {
    const int64_t count = boxes(b->plan);
    struct box x = box_at(b->plan, 0);

    for (int64_t i = 0; i < count; i++) {
        const bool is_last = i + 1 == count;
        const struct box next = box_at(b->plan, is_last ? 0 : i + 1);
        const float *from = is_last && b->next ? b->next : b->weights;

        add_to_block(b, &x, i > 0, is_last,
                     weights_at(b->plan, from, &next) - weights_at(b->plan, b->weights, &x));
        x = next;
    }
}

const struct conv_path uk_conv_windows = {"windows", cycles, panel, "tiles of pixels by output channels"};
