/* SPDX-License-Identifier: Apache-2.0 */
/* Copies rows of an image, in the order and with the border that a path reads; stores sums that a path has
 * made in another order than Y's. */
#include "conv.h"
#include <string.h>

int64_t uk_conv_copied_rows(const struct conv_plan *plan, int64_t rows) {
    const struct conv_shape *v = &plan->shape;

    return uk_min((rows - 1) * v->stride_h + (v->r - 1) * v->dilation_h + 1, v->h);
}

/* Sets n floats to 0. */
static void clear(float *to, int64_t n) {
    memset(to, 0, (size_t)n * sizeof *to);
}

/* Copies a row of the image to [group][column][channel]. */
static void copy_pixels(const struct conv_plan *plan, const float *from, float *to) {
    const struct conv_shape *v = &plan->shape;
    const int64_t columns = conv_copied_columns(plan), channels = conv_copied_channels(plan),
                  before = uk_min(v->left, columns), n = uk_min(columns - before, v->w),
                  after = columns - before - n;
    const bool is_dense = v->x.channel == 1 && v->x.column == channels;

    for (int64_t c = 0; c < v->c; c += channels, to += columns * channels) {
        clear(to, before * channels);
        clear(to + (before + n) * channels, after * channels);
        plan->type->copy_rows(plan->type, is_dense ? 1 : n, is_dense ? n * channels : channels,
                              from + c * v->x.channel, v->x.column, v->x.channel, to + before * channels,
                              channels);
    }
}

/* True if a window reads columns whose remainder by stride_w is this. */
static bool is_read(const struct conv_shape *v, int64_t remainder) {
    for (int64_t s = 0; s < v->s && s < v->stride_w; s++)
        if (s * v->dilation_w % v->stride_w == remainder)
            return true;
    return false;
}

/* Copies a row of the image to [channel][column % stride_w][column / stride_w]. */
static void copy_channels(const struct conv_plan *plan, const float *from, float *to) {
    const struct conv_shape *v = &plan->shape;
    const int64_t columns = conv_copied_columns(plan), length = columns / v->stride_w;

    for (int64_t i = 0; i < v->stride_w; i++, to += length) {
        const int64_t before = uk_min(uk_ceil_div(uk_max(v->left - i, 0), v->stride_w), length),
                      end = uk_min(uk_ceil_div(uk_max(v->w + v->left - i, 0), v->stride_w), length),
                      n = uk_max(end - before, 0);

        if (!is_read(v, i))
            continue;
        for (int64_t c = 0; c < v->c && n < length; c++) {
            clear(to + c * columns, before);
            clear(to + c * columns + before + n, length - before - n);
        }
        if (n)
            plan->type->copy_rows(plan->type, v->c, n,
                                  from + (before * v->stride_w + i - v->left) * v->x.column, v->x.channel,
                                  v->x.column * v->stride_w, to + before, columns);
    }
}

/* Moves rows [first, last) of the copy to its beginning, as far as they are there; returns the end of these.
 */
static int64_t keep_rows(const struct conv_source *source, bool is_same_image, int64_t first, int64_t last) {
    const int64_t kept = uk_min(source->last_row, last);

    if (!is_same_image || first < source->first_row || kept <= first)
        return first;
    memmove(source->copy, source->copy + (first - source->first_row) * source->row,
            (size_t)((kept - first) * source->row) * sizeof *source->copy);
    return kept;
}

void uk_conv_copy(const struct conv_plan *plan, const struct conv_operands *o, int64_t row, int64_t rows,
                  struct conv_source *source) {
    const struct conv_shape *v = &plan->shape;
    const int64_t above = row % v->p * v->stride_h - v->top, columns = conv_copied_columns(plan),
                  first = uk_max(above, 0),
                  last = uk_min(above + (rows - 1) * v->stride_h + (v->r - 1) * v->dilation_h + 1, v->h);
    const float *x = o->x + row / v->p * v->x.image;
    const bool by_channels = plan->copies == CONV_CHANNELS;

    for (int64_t ih = keep_rows(source, row % v->p, first, last); ih < last; ih++)
        (by_channels ? copy_channels : copy_pixels)(plan, x + ih * v->x.row,
                                                    source->copy + (ih - first) * columns * v->c);
    *source = (struct conv_source){.x = source->copy,
                                   .copy = source->copy,
                                   .first_row = first,
                                   .last_row = last,
                                   .first_column = -v->left,
                                   .row = columns * v->c,
                                   .column = by_channels ? 1 : conv_copied_channels(plan),
                                   .channel = by_channels ? columns : 1,
                                   .begin = o->is_finite ? -v->left : 0,
                                   .end = o->is_finite ? columns - v->left : uk_min(v->w, columns - v->left)};
}

void uk_conv_store(const struct conv_block *b) {
    const struct gemm_type *type = b->plan->type;
    const struct uk_image_strides *y = &b->plan->shape.y;
    struct conv_row row = uk_conv_first_row(b);

    for (int64_t i = 0; i < b->rows; i++, uk_conv_next_row(b, &row)) {
        if (y->channel == 1)
            type->copy_rows(type, row.q, b->channels, row.sums, row.pixel, row.channel, row.y, y->column);
        else
            type->copy_rows(type, b->channels, row.q, row.sums, row.channel, row.pixel, row.y, y->channel);
        uk_conv_finish(b, &row, 0, row.q);
    }
}
