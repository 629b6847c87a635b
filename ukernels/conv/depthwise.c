/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The path of one input and one output channel a group: channels are columns of a tile, and are not added up.
 * A call of the kernel sums a row of the window, for pixels for which the same columns of it are inside.
 */
#include "conv.h"
#include "kernels.h"

/* ---- the estimate ---- */

/* The kernel with the fewest cycles an element and term; NULL: none. */
static const struct uk_kernel *find_kernel(const struct gemm_type *type, double *least) {
    const struct uk_kernel *best = NULL;

    for (int i = 0; i < uk_kernel_count(); i++) {
        const struct uk_kernel *k = uk_kernel_at(i);

        if (k->operation->form != UK_OP_DEPTHWISE || k->operation->element != UK_ELEMENT_F32 || k->cores ||
            k->edges != UK_EDGES_ANY || k->a_over ||
            !(type->machine == uk_machine() ? uk_kernel_runs_here(k)
                                            : uk_core_has(&type->machine->core, k->isa)))
            continue;
        const int lanes = (int)(k->mr * k->nr / k->fma);
        const struct uk_counts n = {.fma = k->fma, .load = k->loads, .other = k->other};
        const double cycles =
            uk_cost_cycles(&type->machine->core,
                           uk_core_vectors(&type->machine->core, lanes * (int)sizeof(float)), &n) /
            (k->mr * k->nr);

        if (!best || cycles < *least) {
            best = k;
            *least = cycles;
        }
    }
    return best;
}

static double cycles(struct conv_plan *plan) {
    const struct conv_shape *v = &plan->shape;
    double element = 0;

    if (v->gc != 1 || v->go != 1 || !(plan->kernel = find_kernel(plan->type, &element)))
        return HUGE_VAL;
    plan->packing = CONV_WINDOWS;
    plan->copies = v->x.channel == 1 ? CONV_IN_PLACE : CONV_PIXELS;
    plan->stores = v->y.channel != 1;
    plan->width = (int)uk_min(plan->kernel->nr, v->o);
    plan->tile = plan->kernel->mr;
    uk_conv_set_block(plan, true);
    const double pixels = (double)conv_rows(v) * (double)v->q;

    return pixels * (double)v->o * (double)v->r * (double)v->s * element +
           pixels / (double)plan->tile * (double)conv_panels(plan) * (double)v->r * GEMM_CALL +
           uk_conv_copy_cycles(plan) + uk_conv_stream_cycles(plan);
}

/* ---- the sums ---- */

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
            v->stride_w * from->column, v->dilation_w * from->column, b->weights + (r * v->s + s0) * v->o,
            v->o, y, row->pixel, r > row->r0, m, b->channels);
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

const struct conv_path uk_conv_depthwise = {"depthwise", cycles, panel,
                                            "pixels by channels, which are not added up"};
