/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a plan: tasks, blocks of rows, panels of channels. */
#include "conv.h"

void uk_conv_parallel(const struct conv_plan *plan,
                      void (*task)(void *context, int64_t index, int64_t thread), void *context,
                      int64_t count) {
    if (plan->threads == 1 || count == 1)
        for (int64_t i = 0; i < count; i++)
            task(context, i, 0);
    else if (plan->pool)
        uk_pool_for(plan->pool, task, context, count);
    else
        uk_parallel_for(task, context, count);
}

/* ---- rows ---- */

/* Sets what depends on the row of the image. */
static void place(const struct conv_block *b, struct conv_row *row) {
    const struct conv_shape *v = &b->plan->shape;
    const int64_t above = row->p * v->stride_h - v->top, inside = v->h - above;

    row->ih = above;
    row->r0 = above < 0 ? uk_min(v->dilation_h == 1 ? -above : uk_ceil_div(-above, v->dilation_h), v->r) : 0;
    row->r1 = inside <= 0          ? 0
              : v->dilation_h == 1 ? uk_min(inside, v->r)
                                   : uk_min(uk_ceil_div(inside, v->dilation_h), v->r);
    row->r1 = uk_max(row->r1, row->r0);
    row->q = row->index + 1 == conv_rows(v) ? v->last_q : v->q;
}

static void set_image(const struct conv_block *b, struct conv_row *row, int64_t image) {
    const struct conv_shape *v = &b->plan->shape;

    row->source = b->plan->copies != CONV_IN_PLACE
                      ? b->copy
                      : (struct conv_source){.x = b->o->x ? b->o->x + image * v->x.image : NULL,
                                             .row = v->x.row,
                                             .column = v->x.column,
                                             .channel = v->x.channel,
                                             .end = v->w};
    row->y =
        b->o->y + image * v->y.image + row->p * v->y.row + (b->group * v->go + b->channel) * v->y.channel;
}

struct conv_row uk_conv_first_row(const struct conv_block *b) {
    const struct conv_shape *v = &b->plan->shape;
    const bool is_line = b->plan->packing == CONV_LINES;
    struct conv_row row = {.index = b->row,
                           .p = b->row % v->p,
                           .pixel = !b->sums  ? v->y.column
                                    : is_line ? 1
                                              : b->plan->width,
                           .channel = !b->sums  ? v->y.channel
                                      : is_line ? v->q
                                                : 1};

    set_image(b, &row, b->row / v->p);
    place(b, &row);
    row.sums = b->sums ? b->sums : row.y;
    return row;
}

void uk_conv_next_row(const struct conv_block *b, struct conv_row *row) {
    const struct conv_shape *v = &b->plan->shape;

    row->index++;
    if (row->index == b->row + b->rows) /* pointers stay inside of their arrays */
        return;
    if (++row->p == v->p) {
        row->p = 0;
        set_image(b, row, row->index / v->p);
    } else {
        row->y += v->y.row;
    }
    place(b, row);
    row->sums = b->sums ? row->sums + v->q * b->plan->width : row->y;
}

/* ---- tasks ---- */

struct run {
    const struct conv_plan *plan;
    const struct conv_operands *o;
    char *work;
};

/* Computes panels [panel, last) of a block. packed: memory for a panel's weights, if these are packed here.
 */
static void run_panels(struct conv_block *b, int64_t first, int64_t last, float *packed) {
    const struct conv_plan *plan = b->plan;
    const bool is_depthwise = plan->packing == CONV_WINDOWS;
    const int64_t panels = conv_group_panels(plan), all = is_depthwise ? plan->shape.o : plan->shape.go;

    for (int64_t panel = first; panel < last; panel++) {
        b->group = is_depthwise ? 0 : panel / panels;
        b->channel = (is_depthwise ? panel : panel % panels) * plan->width;
        b->channels = uk_min(all - b->channel, plan->width);
        if (plan->panel_bytes)
            uk_conv_pack_panel(plan, b->o->weights, panel, packed);
        b->weights = plan->panel_bytes ? packed
                     : b->o->weights   ? uk_conv_panel_weights(plan, b->o->weights, panel)
                                       : NULL;
        b->next = plan->panel_bytes || !b->o->weights
                      ? NULL
                      : uk_conv_panel_weights(plan, b->o->weights, panel + 1 < last ? panel + 1 : first);
        plan->path->panel(b);
        if (plan->stores)
            uk_conv_store(b);
    }
}

static void run_task(void *context, int64_t index, int64_t thread) {
    const struct run *t = context;
    const struct conv_plan *plan = t->plan;
    const struct conv_shape *v = &plan->shape;
    const size_t bytes = plan->copy_bytes + plan->sums_bytes + plan->panel_bytes;
    char *work = bytes ? t->work + (size_t)index * bytes : NULL;
    float *packed = plan->panel_bytes ? (float *)(void *)(work + plan->copy_bytes + plan->sums_bytes) : NULL;
    struct conv_block b = {.plan = plan,
                           .o = t->o,
                           .copy.copy = (float *)(void *)work,
                           .sums = plan->stores ? (float *)(void *)(work + plan->copy_bytes) : NULL};
    int64_t row, last_row, panel, last_panel;

    (void)thread;
    gemm_share(index / plan->panel_tasks, plan->row_tasks, conv_rows(v), 1, &row, &last_row);
    gemm_share(index % plan->panel_tasks, plan->panel_tasks, conv_panels(plan), 1, &panel, &last_panel);
    for (; row < last_row; row += b.rows) {
        b.row = row;
        b.rows = uk_min(plan->block, last_row - row);
        if (plan->copies != CONV_IN_PLACE) {
            b.rows = uk_min(b.rows, v->p - row % v->p);
            uk_conv_copy(plan, t->o, row, b.rows, &b.copy);
        }
        run_panels(&b, panel, last_panel, packed);
    }
}

void uk_conv_run(const struct conv_plan *plan, const struct conv_operands *o, char *workspace) {
    struct run t = {plan, o, workspace};

    uk_conv_parallel(plan, run_task, &t, plan->row_tasks * plan->panel_tasks);
}
