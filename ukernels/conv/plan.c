/* SPDX-License-Identifier: Apache-2.0 */
/* Makes plans: chooses the path, tasks and workspace. */
#include "conv.h"
#include <string.h>

/* ---- the choice ---- */

/* The path with the fewest cycles, or the one that is wanted; false: it does not apply. */
static bool choose(struct conv_plan *plan, const char *wanted) {
    const struct conv_plan before = *plan;

    plan->cycles = HUGE_VAL;
    for (const struct conv_path *const *path = uk_conv_paths; *path && plan->cycles > 0; path++) {
        struct conv_plan one = before;

        if (wanted && *path != &uk_conv_none && strcmp((*path)->name, wanted))
            continue;
        one.path = *path;
        one.cycles = (*path)->cycles(&one);
        if (one.cycles < plan->cycles)
            *plan = one;
    }
    if (!plan->path || (wanted && strcmp(plan->path->name, wanted)))
        return false;
    return true;
}

/* Sets the grid of tasks: the one whose largest task has the least work. Each further task of a row of the
 * grid copies X again. */
static void split(struct conv_plan *plan) {
    const int64_t rows = conv_rows(&plan->shape), panels = conv_panels(plan);
    const double worth = plan->cycles / GEMM_TASK, again = plan->copies == CONV_IN_PLACE
                                                               ? GEMM_AGAIN
                                                               : uk_conv_copy_cycles(plan) / plan->cycles;
    const int64_t threads = worth < 1 ? 1 : worth < plan->threads ? (int64_t)worth : plan->threads;
    double best = 1;

    plan->row_tasks = plan->panel_tasks = 1;
    for (int64_t r = 1; r <= threads && r <= rows && panels; r++) {
        const int64_t c = uk_min(threads / r, panels);
        const double work =
            (double)uk_ceil_div(rows, r) * (double)uk_ceil_div(panels, c) / ((double)rows * (double)panels) +
            again * (double)(c - 1) / (double)r;

        if (work < best) {
            best = work;
            plan->row_tasks = r;
            plan->panel_tasks = c;
        }
    }
}

static void set_workspace(struct conv_plan *plan) {
    const struct conv_shape *v = &plan->shape;
    const int64_t tasks = plan->row_tasks * plan->panel_tasks;

    plan->packed_bytes = uk_conv_packed_bytes(plan);
    if (plan->copies != CONV_IN_PLACE)
        plan->copy_bytes =
            uk_conv_whole_lines(uk_conv_copied_rows(plan, plan->block), conv_copied_columns(plan), v->c);
    if (plan->stores)
        plan->sums_bytes = uk_conv_whole_lines(plan->block, v->q, plan->width);
    /* A panel for the task's only block is packed when it is used: it then is in L2. Borders of
     * copies ask before whether all weights are finite. */
    const bool packs = !plan->weights_packed && !plan->reads_weights && plan->path != &uk_conv_none,
               packs_panels = packs && plan->packing == CONV_PANELS && !conv_copies_border(plan) &&
                              uk_ceil_div(conv_rows(v), plan->row_tasks) <= plan->block;
    const size_t packed = packs && !packs_panels ? plan->packed_bytes : 0;
    size_t of_task;

    if (packs_panels)
        plan->panel_bytes = uk_conv_whole_lines(uk_conv_panel_elements(plan), 1, 1);
    if (__builtin_add_overflow(plan->copy_bytes, plan->sums_bytes, &of_task) ||
        __builtin_add_overflow(of_task, plan->panel_bytes, &of_task) ||
        __builtin_mul_overflow(of_task, (size_t)tasks, &of_task) ||
        __builtin_add_overflow(packed, GEMM_LINE - 1, &plan->workspace) ||
        __builtin_add_overflow(plan->workspace / GEMM_LINE * GEMM_LINE, of_task, &plan->workspace))
        plan->workspace = SIZE_MAX;
}

enum uk_status uk_conv_plan(const struct uk_conv2d *shape, const struct uk_conv2d_options *options,
                            const char *wanted, struct conv_plan *plan) {
    static const struct uk_conv2d_options defaults = {0};
    const struct uk_conv2d_options *o = options ? options : &defaults;
    struct conv_shape v;
    enum uk_status status = uk_conv_check(shape, &v);

    if (status)
        return status;
    if (o->threads < 0)
        return uk_gemm_refuse(UK_INVALID_ARGUMENT, "options.threads = %d is negative", o->threads);
    const struct gemm_type *type = uk_gemm_look_up(&uk_gemm_f32);

    if (o->machine && (status = uk_gemm_type_on(o->machine, type, &type)))
        return uk_gemm_refuse(status,
                              status == UK_INVALID_ARGUMENT ? "options.machine: no CPU's core is named \"%s\""
                                                            : "options.machine: no memory for \"%s\"",
                              o->machine);
    *plan = (struct conv_plan){.shape = v,
                               .type = type,
                               .threads = (int)uk_gemm_threads(o->threads, o->pool),
                               .pool = o->pool,
                               .weights_packed = o->weights_packed,
                               .x_elements = uk_conv_span(&v.x, v.n, v.h, v.w, v.c),
                               .y_elements = uk_conv_span(&v.y, v.n, v.p, v.q, v.o)};
    if (!choose(plan, wanted))
        return UK_NO_MATCH;
    split(plan);
    set_workspace(plan);
    return UK_OK;
}
