/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The paths of one input and one output channel a group: channels are columns of a tile, and are not added
 * up.
 *
 * depthwise-tiles: a call of the kernel computes rows of pixels with all terms, and leaves out the border.
 *
 * depthwise: a call sums a row of the window, for pixels for which the same columns of it are inside.
 */
#include "conv.h"
#include "kernels.h"

/* ---- the estimate ---- */

static int lanes_of(const struct uk_kernel *k) {
    return (int)(k->mr * k->nr / k->fma);
}

/* Factor by which n in groups takes longer because the last group counts as a full one. */
static double waste_of(int64_t n, int group) {
    return n ? (double)uk_ceil_div(n, group) * group / (double)n : 1;
}

/* The kernel of that form with the fewest cycles an element and term; NULL: none. */
static const struct uk_kernel *find_kernel(const struct conv_plan *plan, enum uk_op_form form,
                                           double *least) {
    const struct gemm_type *type = plan->type;
    const struct conv_shape *v = &plan->shape;
    const bool is_tile = form == UK_OP_DEPTHWISE_TILE;
    const struct uk_kernel *best = NULL;

    for (int i = 0; i < uk_kernel_count(); i++) {
        const struct uk_kernel *k = uk_kernel_at(i);

        if (k->operation->form != form || k->operation->element != UK_ELEMENT_F32 || k->cores ||
            k->edges != UK_EDGES_ANY || k->a_over ||
            (is_tile && (k->operation->stride != v->stride_h || v->r * v->s < k->least_terms)) ||
            !(type->machine == uk_machine() ? uk_kernel_runs_here(k)
                                            : uk_core_has(&type->machine->core, k->isa)))
            continue;
        const int lanes = lanes_of(k);
        const struct uk_counts n = {.fma = k->fma, .load = k->loads, .other = k->other};
        const double cycles =
            uk_cost_cycles(&type->machine->core,
                           uk_core_vectors(&type->machine->core, lanes * (int)sizeof(float)), &n) /
            (k->mr * k->nr) * waste_of(v->o, lanes) * (is_tile ? waste_of(v->q, k->nr) : 1);

        if (!best || cycles < *least) {
            best = k;
            *least = cycles;
        }
    }
    return best;
}

/* Channels of a panel for which the pixels of a kernel's rows stay in L1 until the epilogue; all of them if
 * the operands exceed L2, where lines should follow one another. */
static int64_t channels_of_panel(const struct conv_plan *plan) {
    enum { LEAST = 4 }; /* vectors */
    const struct conv_shape *v = &plan->shape;
    const struct uk_machine *m = plan->type->machine;
    const int64_t step = LEAST * lanes_of(plan->kernel), row = plan->kernel->mr * v->q * (int)sizeof(float),
                  most = m->cache[UK_L1].size / 2 / uk_max(row, 1) / step * step,
                  panels = uk_ceil_div(v->o, uk_max(most, step));

    if ((double)(plan->x_elements + plan->y_elements) * sizeof(float) > (double)m->cache[UK_L2].size)
        return v->o;
    return uk_min(uk_ceil_div(uk_ceil_div(v->o, panels), step) * step, v->o);
}

static double cycles_of_tiles(struct conv_plan *plan) {
    const struct conv_shape *v = &plan->shape;
    double element = 0;

    if (v->gc != 1 || v->go != 1 || v->dilation_h != 1 || v->dilation_w != 1 || v->stride_h != v->stride_w ||
        v->x.channel != 1 || v->y.channel != 1 || !v->q ||
        !(plan->kernel = find_kernel(plan, UK_OP_DEPTHWISE_TILE, &element)))
        return HUGE_VAL;
    plan->packing = CONV_WINDOWS;
    plan->copies = CONV_IN_PLACE;
    plan->width = (int)uk_min(channels_of_panel(plan), INT32_MAX);
    plan->tile = v->q;
    uk_conv_set_block(plan, true);
    /* A block of whole calls; with one panel no other reads the rows again. */
    plan->block = conv_panels(plan) == 1 ? uk_max(conv_rows(v), 1)
                                         : uk_ceil_div(plan->block, plan->kernel->mr) * plan->kernel->mr;
    return (double)conv_rows(v) * (double)v->q * (double)v->o * (double)v->r * (double)v->s * element +
           (double)conv_rows(v) / plan->kernel->mr * (double)conv_panels(plan) * GEMM_CALL +
           uk_conv_stream_cycles(plan);
}

static double cycles(struct conv_plan *plan) {
    const struct conv_shape *v = &plan->shape;
    double element = 0;

    if (v->gc != 1 || v->go != 1 || !(plan->kernel = find_kernel(plan, UK_OP_DEPTHWISE, &element)))
        return HUGE_VAL;
    plan->packing = CONV_WINDOWS;
    plan->copies = v->x.channel == 1 ? CONV_IN_PLACE : CONV_PIXELS;
    plan->stores = v->y.channel != 1;
    plan->width = (int)uk_min(plan->kernel->nr, v->o);
    plan->tile = plan->kernel->mr;
    uk_conv_set_block(plan, true);
    const struct uk_vectors *vectors = plan->type->vectors;
    const double pixels = (double)conv_rows(v) * (double)v->q,
                 sums = pixels * (double)uk_ceil_div(v->o, lanes_of(plan->kernel)) * (double)v->r;

    /* Each row of the window reads and writes the sums. */
    return pixels * (double)v->o * (double)v->r * (double)v->s * element +
           sums / uk_ports_rate(&vectors->load) + sums / uk_ports_rate(&vectors->store) +
           pixels / (double)plan->tile * (double)conv_panels(plan) * (double)v->r * GEMM_CALL +
           uk_conv_copy_cycles(plan) + uk_conv_stream_cycles(plan);
}

/* ---- tiles with all terms ---- */

/* Computes `rows` rows of an image from `row` on; `next` is the second of them. */
static void compute_rows(const struct conv_block *b, const struct conv_row *row, const struct conv_row *next,
                         int rows) {
    const struct conv_shape *v = &b->plan->shape;
    const int64_t first = uk_max(uk_min(row->ih, v->h - 1), 0), pitch = conv_window_pitch(v);

    ((uk_sdwc_function *)(void (*)(void))b->plan->kernel->function)(
        v->r, v->s, conv_at(&row->source, first, 0) + b->channel, row->source.row, row->source.column,
        row->ih < v->h ? v->h - first : 0, v->w, uk_max(-row->ih, 0), v->left, b->weights, v->s * pitch,
        pitch, row->sums, rows > 1 ? next->sums - row->sums : 0, row->pixel, 0, rows, row->q, b->channels);
}

static void panel_of_tiles(const struct conv_block *b) {
    struct conv_row row = uk_conv_first_row(b);

    for (int64_t i = 0, rows; i < b->rows; i += rows) {
        struct conv_row next = row;

        rows = 1;
        uk_conv_next_row(b, &next);
        if (i + 1 < b->rows && next.p > row.p && b->plan->kernel->mr > 1)
            rows = 2;
        compute_rows(b, &row, &next, (int)rows);
        uk_conv_finish(b, &row, 0, row.q);
        if (rows == 2) {
            uk_conv_finish(b, &next, 0, next.q);
            uk_conv_next_row(b, &next);
        }
        row = next;
    }
}

/* ---- rows of the window ---- */

/* Computes m pixels of a row, from pixel q on, for which columns [s0, s1) of the window are inside. */
static void compute_tile(const struct conv_block *b, const struct conv_row *row, int64_t q, int64_t m,
                         int64_t s0, int64_t s1) {
    const struct conv_shape *v = &b->plan->shape;
    const struct conv_source *from = &row->source;
    float *y = row->sums + q * row->pixel;

    if (s0 >= s1 || row->r0 == row->r1)
        for (int64_t i = 0; i < m; i++)
            for (int64_t j = 0; j < b->channels; j++)
                y[i * row->pixel + j] = 0;
    for (int64_t r = row->r0; r < row->r1 && s0 < s1; r++)
        ((uk_sdw_function *)(void (*)(void))b->plan->kernel->function)(
            s1 - s0,
            conv_at(from, row->ih + r * v->dilation_h, q * v->stride_w - v->left + s0 * v->dilation_w) +
                b->channel,
            v->stride_w * from->column, v->dilation_w * from->column,
            b->weights + (r * v->s + s0) * conv_window_pitch(v), conv_window_pitch(v), y, row->pixel,
            r > row->r0, m, b->channels);
}

/* The columns of the window that are inside for pixel q. */
static void columns_inside(const struct conv_shape *v, const struct conv_source *from, int64_t q, int64_t *s0,
                           int64_t *s1) {
    const int64_t first = q * v->stride_w - v->left, before = from->begin - first, inside = from->end - first;

    *s0 = before > 0 ? uk_min(uk_ceil_div(before, v->dilation_w), v->s) : 0;
    *s1 = inside > 0 ? uk_min(uk_ceil_div(inside, v->dilation_w), v->s) : 0;
}

static void panel(const struct conv_block *b) {
    const struct conv_plan *plan = b->plan;
    const struct conv_shape *v = &plan->shape;
    struct conv_row row = uk_conv_first_row(b);

    for (int64_t i = 0; i < b->rows; i++, uk_conv_next_row(b, &row)) {
        /* Pixels before `whole` have the last column of the window inside, if they have the first. */
        const int64_t last = row.source.end + v->left - (v->s - 1) * v->dilation_w,
                      whole = last > 0 ? uk_ceil_div(last, v->stride_w) : 0;

        for (int64_t q = 0, m; q < row.q; q += m) {
            int64_t s0, s1;

            columns_inside(v, &row.source, q, &s0, &s1);
            m = s0 == 0 && q < whole ? uk_min(uk_min(plan->tile, whole - q), row.q - q) : 1;
            compute_tile(b, &row, q, m, s0, s1);
            if (!plan->stores)
                uk_conv_finish(b, &row, q, m);
        }
    }
}

const struct conv_path uk_conv_depthwise_tiles = {
    "depthwise-tiles", cycles_of_tiles, panel_of_tiles,
    "rows of pixels by channels, which are not added up; all terms at once"};
const struct conv_path uk_conv_depthwise = {"depthwise", cycles, panel,
                                            "pixels by channels, which are not added up"};
