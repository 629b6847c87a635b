/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The path whose tiles have output channels as rows and pixels of a row as columns: of images whose channels
 * are planes, which it reads in place, and of a few output channels, for which the other tile would be mostly
 * empty. An element of the window is a product of weights [o][c] and a row of the image [c][column].
 *
 * In a copy, rows of the image follow one another, with all channels of each: the rows of the window are then
 * one product, [o][r][c] times [r][c][column]. With a stride, the columns that an element of the window reads
 * are adjacent in the copy.
 */
#include "conv.h"
#include "kernels.h"

/* ---- the estimate ---- */

/* True if the terms of all rows of the window are one product. */
static bool joins_rows(const struct conv_plan *plan) {
    return plan->copies == CONV_CHANNELS && plan->shape.dilation_h == 1 && plan->shape.groups == 1;
}

/* Cycles by a tile's kernel, whose fields of the plan it sets. The pixels that a tile reads for one column of
 * the window come from L2, and most vectors of them are not aligned. */
static double tile_cycles(struct conv_plan *plan, const struct gemm_tile *t) {
    const struct uk_kernel *k = t->kernel[GEMM_RAB];
    const struct uk_product_kernel kernel = uk_product_kernel(k);
    const struct uk_machine *m = plan->type->machine;

    plan->kernel = k;
    plan->width = (int)uk_max(uk_min(uk_product_rows(plan->shape.go, k->mr, k->row_step), k->mr), 1);
    if (plan->copies == CONV_IN_PLACE)
        uk_conv_join_pixels(&plan->shape, 0);
    plan->tile = k->nr;
    uk_conv_set_block(plan, true);
    const struct conv_shape *v = &plan->shape;
    const double rows = (double)conv_rows(v) * (double)v->groups, terms = (double)conv_terms(v),
                 vectors =
                     (double)(v->q / t->nr) * kernel.vectors + (double)uk_ceil_div(v->q % t->nr, t->lanes),
                 read = rows * (double)conv_group_panels(plan) * vectors * terms,
                 calls = rows * (double)conv_group_panels(plan) * (double)uk_ceil_div(v->q, t->nr) *
                         (double)v->s * (double)(joins_rows(plan) ? 1 : v->r);

    return rows * uk_product_iteration(t->core, t->vectors, &kernel, plan->width, v->go, v->q) * terms +
           read * t->core->split + read * (double)(t->lanes * (int)sizeof(float)) / m->cache[UK_L2].bytes +
           calls * GEMM_CALL + uk_conv_stream_cycles(plan);
}

static double cycles(struct conv_plan *plan) {
    const struct gemm_type *type = plan->type;
    const struct conv_plan before = *plan;
    struct conv_plan best = {.cycles = HUGE_VAL};

    for (int i = 0; i < type->tiles; i++)
        for (int copies = 0; copies < 2 && type->tile[i].kernel[GEMM_RAB]; copies++) {
            struct conv_plan one = before;

            if (!copies && (before.shape.x.column != 1 || before.shape.stride_w != 1))
                continue;
            one.packing = CONV_LINES;
            one.copies = copies ? CONV_CHANNELS : CONV_IN_PLACE;
            one.stores = before.shape.y.column != 1;
            one.cycles = tile_cycles(&one, &type->tile[i]);
            one.cycles += uk_conv_copy_cycles(&one);
            if (one.cycles < best.cycles)
                best = one;
        }
    if (best.cycles < HUGE_VAL)
        *plan = best;
    return best.cycles;
}

/* ---- the sums ---- */

/* sums (+)= the products of terms (r, c), r in [r0, r1), of column s of the window, for pixels [q, q + n). */
static void add_terms(const struct conv_block *b, const struct conv_row *row, int64_t q, int64_t n, int64_t s,
                      int64_t r0, int64_t r1, bool adds) {
    const struct conv_plan *plan = b->plan;
    const struct conv_shape *v = &plan->shape;
    const int64_t first = s * v->dilation_w,
                  column = plan->copies == CONV_IN_PLACE
                               ? first - v->left
                               : first % v->stride_w * (conv_copied_columns(plan) / v->stride_w) +
                                     first / v->stride_w;
    const float *x =
        row->source.x + (row->ih + r0 * v->dilation_h - row->source.first_row) * row->source.row + column + q;
    const float *f = b->weights + ((s * v->go + b->channel) * v->r + r0) * v->gc;

    ((uk_sgemm_rab_function *)(void (*)(void))plan->kernel->function)(
        (r1 - r0) * v->gc, f, v->r * v->gc, x + b->group * v->gc * row->source.channel, row->source.channel,
        row->sums + q * row->pixel, row->channel, adds, b->channels, n);
}

static void clear(const struct conv_block *b, const struct conv_row *row, int64_t q, int64_t n) {
    for (int64_t o = 0; o < b->channels; o++)
        for (int64_t j = 0; j < n; j++)
            row->sums[o * row->channel + (q + j) * row->pixel] = 0;
}

/* Computes n pixels of a row, from pixel q on. */
static void compute_tile(const struct conv_block *b, const struct conv_row *row, int64_t q, int64_t n) {
    const struct conv_shape *v = &b->plan->shape;
    const bool joined = joins_rows(b->plan);
    const int64_t step = joined ? row->r1 - row->r0 : 1;
    const bool is_inside =
        q * v->stride_w - v->left >= row->source.begin &&
        (q + n - 1) * v->stride_w - v->left + (v->s - 1) * v->dilation_w < row->source.end &&
        row->r0 < row->r1;
    bool adds = !is_inside;

    if (!is_inside)
        clear(b, row, q, n);
    for (int64_t s = 0; s < v->s; s++) {
        const int64_t first = q * v->stride_w - v->left + s * v->dilation_w,
                      begin = uk_ceil_div(uk_max(row->source.begin - first, 0), v->stride_w),
                      end = uk_min(uk_ceil_div(uk_max(row->source.end - first, 0), v->stride_w), n);

        for (int64_t r = row->r0; r < row->r1 && begin < end; r += step) {
            add_terms(b, row, q + begin, end - begin, s, r, r + step, adds);
            adds = true;
        }
    }
}

static void panel(const struct conv_block *b) {
    const struct conv_plan *plan = b->plan;
    struct conv_row row = uk_conv_first_row(b);

    for (int64_t i = 0; i < b->rows; i++, uk_conv_next_row(b, &row))
        for (int64_t q = 0; q < row.q; q += plan->tile) {
            const int64_t n = uk_min(plan->tile, row.q - q);

            compute_tile(b, &row, q, n);
            if (!plan->stores)
                uk_conv_finish(b, &row, q, n);
        }
}

const struct conv_path uk_conv_columns = {"columns", cycles, panel, "tiles of output channels by pixels"};
