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

/* Copies a row of the image between its borders to a row of `columns` columns. */
static void copy_row(const struct conv_plan *plan, const float *from, int64_t columns, float *to) {
    const struct conv_shape *v = &plan->shape;
    const int64_t before = uk_min(v->left, columns), n = uk_min(columns - before, v->w),
                  after = columns - before - n;

    if (plan->copies == CONV_CHANNELS) {
        for (int64_t c = 0; c < v->c && n < columns; c++) {
            clear(to + c * columns, before);
            clear(to + c * columns + before + n, after);
        }
        plan->type->copy_rows(plan->type, v->c, n, from, v->x.channel, v->x.column, to + before, columns);
        return;
    }
    const bool is_dense = v->x.channel == 1 && v->x.column == v->c;

    clear(to, before * v->c);
    clear(to + (before + n) * v->c, after * v->c);
    plan->type->copy_rows(plan->type, is_dense ? 1 : n, is_dense ? n * v->c : v->c, from, v->x.column,
                          v->x.channel, to + before * v->c, v->c);
}

struct conv_source uk_conv_copy(const struct conv_plan *plan, const struct conv_operands *o, int64_t row,
                                int64_t rows, float *copy) {
    const struct conv_shape *v = &plan->shape;
    const int64_t above = row % v->p * v->stride_h - v->top, columns = conv_copied_columns(v),
                  first = uk_max(above, 0),
                  last = uk_min(above + (rows - 1) * v->stride_h + (v->r - 1) * v->dilation_h + 1, v->h);
    const float *x = o->x + row / v->p * v->x.image;
    const bool by_channels = plan->copies == CONV_CHANNELS;

    for (int64_t ih = first; ih < last; ih++)
        copy_row(plan, x + ih * v->x.row, columns, copy + (ih - first) * columns * v->c);
    return (struct conv_source){.x = copy,
                                .first_row = first,
                                .first_column = -v->left,
                                .row = columns * v->c,
                                .column = by_channels ? 1 : v->c,
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
