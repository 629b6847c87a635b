/* SPDX-License-Identifier: Apache-2.0 */
/* The path of plain loops, which computes every shape on every architecture: the sums of a pixel's channels
 * of a panel are on the stack while all terms are added. */
#include "conv.h"

enum { WIDTH = 64 }; /* channels of a panel */

static double cycles(struct conv_plan *plan) {
    const struct conv_shape *v = &plan->shape;
    const int lanes = 4; /* of the vectors that compilers use where nothing else is asked for */

    plan->packing = CONV_PANELS;
    plan->width = (int)uk_max(uk_min(v->go, WIDTH), 1);
    plan->tile = 1;
    uk_conv_set_block(plan, false);
    /* A term is added to sums in memory, which the next term waits for. */
    return uk_max_real(AUTO_PLAIN * (double)(uk_ceil_div(v->go, lanes) * lanes),
                       2 * plan->type->fma_latency) *
           (double)conv_rows(v) * (double)v->q * (double)conv_terms(v) * (double)v->groups;
}

/* Adds the terms of one pixel. Rows and columns of the window outside of the image are left out. */
static void add_pixel(const struct conv_block *b, const struct conv_row *row, int64_t q, float *sums) {
    const struct conv_shape *v = &b->plan->shape;
    const struct conv_source *from = &row->source;
    const int width = b->plan->width;

    for (int64_t r = row->r0; r < row->r1; r++)
        for (int64_t s = 0; s < v->s; s++) {
            const int64_t iw = q * v->stride_w - v->left + s * v->dilation_w;

            if (iw < from->begin || iw >= from->end)
                continue;
            const float *x =
                            conv_at(from, row->ih + r * v->dilation_h, iw) + b->group * v->gc * from->channel,
                        *f = b->weights + (r * v->s + s) * v->gc * width;

            for (int64_t c = 0; c < v->gc; c++, x += from->channel, f += width)
                for (int64_t o = 0; o < b->channels; o++)
                    sums[o] += *x * f[o];
        }
}

static void panel(const struct conv_block *b) {
    struct conv_row row = uk_conv_first_row(b);

    for (int64_t i = 0; i < b->rows; i++, uk_conv_next_row(b, &row)) {
        for (int64_t q = 0; q < row.q; q++) {
            float sums[WIDTH] = {0};

            add_pixel(b, &row, q, sums);
            for (int64_t o = 0; o < b->channels; o++)
                row.sums[q * row.pixel + o * row.channel] = sums[o];
        }
        uk_conv_finish(b, &row, 0, row.q);
    }
}

const struct conv_path uk_conv_any = {"any", cycles, panel, "plain loops"};
