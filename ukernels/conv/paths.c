/* SPDX-License-Identifier: Apache-2.0 */
/* The table of paths; the path of sums without terms. */
#include "conv.h"

static double cycles_of_none(struct conv_plan *plan) {
    const struct conv_shape *v = &plan->shape;

    plan->packing = CONV_PANELS;
    plan->width = (int)uk_max(uk_min(v->go, GEMM_WIDTHS - 1), 1);
    plan->tile = 1;
    uk_conv_set_block(plan, true);
    return conv_terms(v) && plan->x_elements && plan->y_elements ? HUGE_VAL : 0;
}

static void clear_panel(const struct conv_block *b) {
    struct conv_row row = uk_conv_first_row(b);

    for (int64_t i = 0; i < b->rows; i++, uk_conv_next_row(b, &row)) {
        for (int64_t q = 0; q < row.q; q++)
            for (int64_t o = 0; o < b->channels; o++)
                row.sums[q * row.pixel + o * row.channel] = 0;
        uk_conv_finish(b, &row, 0, row.q);
    }
}

const struct conv_path uk_conv_none = {"none", cycles_of_none, clear_panel,
                                       "no terms, neither X nor weights are read"};

const struct conv_path *const uk_conv_paths[] = {&uk_conv_none,
                                                 &uk_conv_windows,
                                                 &uk_conv_columns,
                                                 &uk_conv_depthwise_tiles,
                                                 &uk_conv_depthwise,
                                                 &uk_conv_any,
                                                 NULL};
