/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The path whose tiles have pixels of a row as rows and output channels as columns. Row i of a tile reads the
 * image in place, stride_w pixels after row i - 1; weights are in panels. Also the path of 1x1 convolutions,
 * all of whose pixels are rows of one product.
 *
 *     for boxes of terms, whose panel of weights stays in L1
 *         for rows of the block, for tiles of the row
 *             sums += the box's terms
 *
 * The terms of a row of the window and all its channels are contiguous in the image if pixels are dense. Near
 * the left and right border a tile adds one element of the window at a time, to those of its pixels for which
 * that is inside.
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

/* Sets the box of terms: whole rows of the window, else whole elements of a row, else about equal numbers of
 * channels. */
static void set_box(struct conv_plan *plan) {
    const struct conv_shape *v = &plan->shape;
    const int64_t room = terms_at_a_time(plan), line = v->s * v->gc;

    plan->box_r = 1;
    plan->box_s = 1;
    plan->box_c = v->gc;
    if (line <= room) {
        plan->box_r = uk_ceil_div(v->r, uk_ceil_div(v->r, uk_max(room / line, 1)));
        plan->box_s = v->s;
    } else if (v->gc <= room) {
        plan->box_s = uk_ceil_div(v->s, uk_ceil_div(v->s, room / v->gc));
    } else {
        plan->box_c = uk_ceil_div(uk_ceil_div(v->gc, uk_ceil_div(v->gc, room)), 4) * 4;
    }
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

/* The nest of tiles, as cost/ reads it. */
static double nest_cycles(const struct conv_plan *plan, double instructions, double loads) {
    const struct conv_shape *v = &plan->shape;
    const bool copies = plan->copies == CONV_PIXELS;
    const int64_t size = sizeof(float), count = boxes(plan), rows = uk_min(plan->block, conv_rows(v));
    const double column = (double)v->stride_w * (double)(copies ? v->gc : v->x.column),
                 row = (double)v->stride_h *
                       (copies ? (double)conv_copied_columns(plan) * (double)v->c : (double)v->x.row),
                 terms = (double)uk_ceil_div(conv_terms(v), count), weight = (double)conv_weight_step(plan),
                 panel = plan->reads_weights ? plan->width : (double)conv_terms(v) * plan->width,
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
                    {.bytes = (int)size, .runs = 1, .length = plan->width * size},
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

/* The form of the tile's kernel that reads rows of A in place, by the fewest strides; GEMM_FORMS: none. */
static enum gemm_form form_of(const struct gemm_tile *t) {
    static const enum gemm_form forms[] = {GEMM_RA, GEMM_RAB, GEMM_SAB};

    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        if (t->kernel[forms[i]])
            return forms[i];
    return GEMM_FORMS;
}

/* Sets the kernel and its tile. */
static void set_tile(struct conv_plan *plan, const struct gemm_tile *t, enum gemm_form form, bool is_whole) {
    const struct uk_kernel *k = t->kernel[form];

    plan->kernel = k;
    plan->form = form;
    plan->width = k->nr;
    if (plan->copies == CONV_IN_PLACE && !plan->stores)
        uk_conv_join_pixels(&plan->shape, k->mr);
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
                 lines = (double)v->r * (double)uk_ceil_div(v->gc, plan->box_c),
                 calls = edges * lines * (double)v->s +
                         (tiles - edges) * lines *
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

/* Reads weights in place if they are not packed beforehand and that is faster than to pack them: by the form
 * of the same tile, which adds the same terms in the same order. Copies ask whether weights are finite, which
 * packing finds. */
static void read_weights(struct conv_plan *plan) {
    const struct conv_shape *v = &plan->shape;
    const struct gemm_tile *t = plan->type->tile;
    struct conv_plan one = *plan;

    if (plan->weights_packed || v->is_oihw || plan->copies != CONV_IN_PLACE)
        return;
    while (t->kernel[plan->form] != plan->kernel)
        t++;
    one.form = t->kernel[GEMM_RAB] ? GEMM_RAB : GEMM_SAB;
    one.kernel = t->kernel[one.form];
    if (!one.kernel)
        return;
    one.reads_weights = true;
    /* The estimate by which the path is chosen stays: it must not depend on whether weights are packed. */
    if (tile_cycles(&one, t) < plan->cycles + uk_conv_pack_cycles(plan))
        *plan = one;
}

static double cycles(struct conv_plan *plan) {
    const struct gemm_type *type = plan->type;
    const struct conv_plan before = *plan;
    struct conv_plan best = {.cycles = HUGE_VAL};

    for (int i = 0; i < type->tiles * 4; i++) {
        const struct gemm_tile *t = &type->tile[i / 4];
        const enum gemm_form form = form_of(t);
        struct conv_plan one = before;

        one.packing = CONV_PANELS;
        one.copies = i % 2 ? CONV_PIXELS : CONV_IN_PLACE;
        one.stores = before.shape.y.channel != 1;
        if (form == GEMM_FORMS || (one.copies == CONV_IN_PLACE && before.shape.x.channel != 1))
            continue;
        set_tile(&one, t, form, i / 2 % 2);
        one.cycles = tile_cycles(&one, t) + uk_conv_copy_cycles(&one);
        if (one.cycles < best.cycles)
            best = one;
    }
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
};

/* Elements from a group's first channel to the next group's. */
static int64_t group_step(const struct conv_plan *plan) {
    return plan->copies == CONV_PIXELS ? conv_copied_columns(plan) * plan->shape.gc : plan->shape.gc;
}

/* sums (+)= the products of k contiguous terms, from element (r, s, c) of the window on, for pixels [i, i +
 * m) of the tile. */
static void add_run(const struct tile *t, int64_t i, int64_t m, int64_t r, int64_t s, int64_t c, int64_t k,
                    bool adds) {
    const struct conv_plan *plan = t->b->plan;
    const struct conv_shape *v = &plan->shape;
    const struct conv_row *row = t->row;
    const float *x = conv_at(&row->source, row->ih + r * v->dilation_h,
                             (t->q + i) * v->stride_w - v->left + s * v->dilation_w);
    const float *f = t->b->weights + ((r * v->s + s) * v->gc + c) * conv_weight_step(plan);

    const float *a = x + t->b->group * group_step(plan) + c;
    float *sums = row->sums + (t->q + i) * row->pixel;
    const int64_t lda = v->stride_w * row->source.column, n = t->b->channels;
    void (*kernel)(void) = plan->kernel->function;

    if (plan->form == GEMM_RA)
        ((uk_sgemm_ra_function *)kernel)(k, a, lda, f, sums, row->pixel, adds, m, n);
    else if (plan->form == GEMM_RAB)
        ((uk_sgemm_rab_function *)kernel)(k, a, lda, f, conv_weight_step(plan), sums, row->pixel, adds, m, n);
    else
        ((uk_sgemm_sab_function *)kernel)(k, a, lda, 1, f, conv_weight_step(plan), sums, row->pixel, adds, m,
                                          n);
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
    for (int64_t r = x->r0; r < x->r1; r++)
        for (int64_t s = x->s0; s < x->s1; s++) {
            int64_t begin, end;

            pixels_inside(t, s, &begin, &end);
            if (begin < end)
                add_run(t, begin, end - begin, r, s, x->c0, x->c1 - x->c0, true);
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
    const int64_t k = x->c1 - x->c0;

    for (int64_t r = x->r0; r < x->r1; r++)
        if (is_contiguous && k == v->gc) {
            add_run(t, 0, t->m, r, x->s0, 0, (x->s1 - x->s0) * k, adds);
            adds = true;
        } else
            for (int64_t s = x->s0; s < x->s1; s++) {
                add_run(t, 0, t->m, r, s, x->c0, k, adds);
                adds = true;
            }
}

/* Adds a box to all tiles of the block. */
static void add_to_block(const struct conv_block *b, const struct box *x, bool adds, bool is_last) {
    const struct conv_plan *plan = b->plan;
    const bool contiguous = is_contiguous(plan);
    struct conv_row row = uk_conv_first_row(b);

    for (int64_t i = 0; i < b->rows; i++, uk_conv_next_row(b, &row)) {
        struct box inside = *x;

        inside.r0 = uk_max(x->r0, row.r0);
        inside.r1 = uk_min(x->r1, row.r1);
        for (int64_t q = 0; q < row.q; q += plan->tile) {
            const struct tile t = {b, &row, q, uk_min(plan->tile, row.q - q)};

            if (inside.r0 < inside.r1)
                add_box(&t, &inside, contiguous, adds);
            else if (!adds)
                clear(&t);
            if (is_last && !plan->stores)
                uk_conv_finish(b, &row, q, t.m);
        }
    }
}

static void panel(const struct conv_block *b) {
    const struct conv_plan *plan = b->plan;
    const struct conv_shape *v = &plan->shape;

    for (int64_t r = 0; r < v->r; r += plan->box_r)
        for (int64_t s = 0; s < v->s; s += plan->box_s)
            for (int64_t c = 0; c < v->gc; c += plan->box_c) {
                const struct box x = {r, uk_min(r + plan->box_r, v->r), s, uk_min(s + plan->box_s, v->s),
                                      c, uk_min(c + plan->box_c, v->gc)};

                add_to_block(b, &x, r || s || c, x.r1 == v->r && x.s1 == v->s && x.c1 == v->gc);
            }
}

const struct conv_path uk_conv_windows = {"windows", cycles, panel, "tiles of pixels by output channels"};
