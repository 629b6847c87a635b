/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels of depthwise convolutions whose neighbours in memory are channels: their axes and their blocks. Two
 * forms: rows of pixels, and tiles of rows and columns (UK_OP_DEPTHWISE_TILE), which the kernel computes in
 * blocks of pixels and one vector of channels.
 */
#include <math.h>
#include "registry/operation.h"
#include "costing.h"

static bool has_form(const struct uk_fit *f, enum uk_op_form form) {
    return f->intrinsic->row && uk_kernel_operation(f->intrinsic->row)->form == form;
}

/* The output's axis along which all operands change, or -1. */
static int axis_of_channels(const struct uk_stage *st, const struct uk_fit *f) {
    for (int v = 0; v < f->axes; v++) {
        bool all = !uk_is_reduced(st, f->axis[v]);

        for (int o = 0; o < st->operands; o++)
            all = all && uk_depends(&st->operand[o], f->axis[v]);
        if (all)
            return v;
    }
    return -1;
}

int64_t uk_depthwise_block(const struct uk_stage *st, const struct uk_fit *f, int v) {
    const struct uk_kernel *row = f->intrinsic->row;

    if (!has_form(f, UK_OP_DEPTHWISE_TILE) || uk_is_reduced(st, f->axis[v]))
        return 0;
    if (v == axis_of_channels(st, f))
        return uk_kernel_column_step(row);
    return f->max_extent[v] == uk_kernel_mr(row) ? 0 : uk_kernel_nr(row);
}

bool uk_is_depthwise_tile(const struct uk_fit *f) {
    return has_form(f, UK_OP_DEPTHWISE_TILE);
}

int uk_channel_axis_of_tile(const struct uk_stage *st, const struct uk_fit *f) {
    return has_form(f, UK_OP_DEPTHWISE_TILE) ? axis_of_channels(st, f) : -1;
}

int uk_channel_axis(const struct uk_stage *st, const struct uk_fit *f) {
    return has_form(f, UK_OP_DEPTHWISE_CHANNELS) ? axis_of_channels(st, f) : -1;
}

bool uk_lacks_channels(const struct uk_stage *st, const struct uk_fit *f) {
    return (has_form(f, UK_OP_DEPTHWISE_CHANNELS) || has_form(f, UK_OP_DEPTHWISE_TILE)) &&
           axis_of_channels(st, f) < 0;
}

/* Factor by which n iterations in groups take longer because the last group counts as a full one. */
static double waste_of(double n, double group) {
    return n > 0 ? ceil(n / group) * group / n : 1;
}

/* Factor by which a tile's kernel that walks along rows (NR is 1) takes longer because each call prepares the
 * weights, in about the time of a column. */
static double preparation(const struct uk_schedule *s, const struct uk_stage *st, const struct uk_fit *f) {
    const int channels = axis_of_channels(st, f);
    double columns = 1;

    if (!has_form(f, UK_OP_DEPTHWISE_TILE) || uk_kernel_nr(f->intrinsic->row) > 1)
        return 1;
    for (int v = 0; v < f->axes; v++) {
        const double n = uk_values_estimate(s, st, f->axis[v]);

        if (v != channels && uk_depthwise_block(st, f, v))
            columns = f->max_extent[v] ? fmin(n, (double)f->max_extent[v]) : n;
    }
    return 1 + 1 / fmax(columns, 1);
}

double uk_depthwise_waste(const struct uk_schedule *s, const struct uk_stage *st, const struct uk_fit *f) {
    const bool is_tile = has_form(f, UK_OP_DEPTHWISE_TILE);
    const int channels = uk_channel_axis(st, f);
    double waste = preparation(s, st, f);

    for (int v = 0; v < f->axes; v++) {
        const double n = uk_values_estimate(s, st, f->axis[v]);

        if (is_tile && uk_depthwise_block(st, f, v))
            waste *= waste_of(n, (double)uk_depthwise_block(st, f, v));
        else if (v == channels)
            waste *= waste_of(n, uk_kernel_nr(f->intrinsic->row));
    }
    return waste;
}
