/* SPDX-License-Identifier: Apache-2.0 */
/* Schedules a stage automatically: makes copies that kernels need, chooses the cheapest kernel (choose.c),
 * for the stage as written or transposed, then tiles for it (tiling.c). */
#include <math.h>
#include <string.h>
#include "registry/operation.h"
#include "stage.h"
#include "copies.h"
#include "tiling.h"
#include "costing.h"

/* Adds the cycles of a copy, in proportion at the least sizes. */
static void add_cycles(struct uk_kernel_plan *p, double cycles) {
    p->at_least *= p->cycles > 0 ? 1 + cycles / p->cycles : 1;
    p->cycles += cycles;
}

/* Chooses a plan for the transposed stage, if there is one. */
static enum uk_status choose_for(struct uk_schedule *s, struct uk_stage *st,
                                 const struct uk_transposing *transposing, struct uk_kernel_plan *p) {
    struct uk_operand kept[UK_MAX_OPERANDS];

    memcpy(kept, st->operand, sizeof kept);
    memcpy(st->operand, transposing->operand, sizeof kept);
    enum uk_status status = uk_choose_kernel(s, st, true, p);
    memcpy(st->operand, kept, sizeof kept);
    if (status == UK_NO_MATCH)
        return uk_context_forget(s->context), UK_OK;
    add_cycles(p, transposing->cycles);
    p->fit.transposed = transposing->map;
    return status;
}

/* Chooses a plan with transposed output tiles, if there is one. */
static enum uk_status choose_transposed(struct uk_schedule *s, struct uk_stage *st,
                                        struct uk_kernel_plan *p) {
    struct uk_transposing transposing;
    bool packs = true;
    enum uk_status status = uk_transpose_tiles(s, st, &transposing);

    if (status || !transposing.map)
        return status;
    status = choose_for(s, st, &transposing, p);
    if (status || !p->fit.intrinsic)
        return status;
    if (transposing.weights) {
        status = uk_pack_by_map(s, st, &p->fit, transposing.weights, &packs);
        add_cycles(p, uk_map_cycles(s, st, transposing.weights));
        p->constants = uk_packed_constants(st, &p->fit);
    }
    if (!packs)
        p->fit.intrinsic = NULL;
    return status;
}

/* True if the plan takes fewer cycles than the other, or than plain loops if the other has no kernel. */
static bool is_faster(const struct uk_schedule *s, const struct uk_stage *st, const struct uk_kernel_plan *p,
                      const struct uk_kernel_plan *than) {
    return than->fit.intrinsic ? uk_is_better_plan(p, than)
                               : !uk_can_use_plain_loops(s) || p->cycles < uk_plain_cycles(s, st);
}

/* Chooses the best plan, or none, as if operands with this pad were in memory beyond their bounds; reports
 * nothing. Transposed tiles have loops outside the images' loop, which leaves no place for a copy per
 * image. */
static enum uk_status choose_quietly(struct uk_schedule *s, struct uk_stage *st, enum uk_pad pad,
                                     struct uk_kernel_plan *p) {
    struct uk_bound *bound = uk_alloc(s->arena, sizeof st->bound);
    enum uk_pad kept[UK_MAX_OPERANDS];
    struct uk_kernel_plan transposed = {0};
    struct uk_text *report = s->report;
    const int bounds = st->bounds;

    if (!bound)
        return uk_out_of_memory(s->context);
    memcpy(bound, st->bound, sizeof st->bound);
    st->border_cycles = pad == UK_PAD_GUARD ? uk_border_cycles(s, st) : 0;
    for (int o = 0; o < st->operands; o++) {
        kept[o] = st->operand[o].pad;
        st->operand[o].pad = kept[o] == pad ? UK_PAD_NONE : kept[o];
    }
    st->bounds = 0;
    for (int b = 0; b < bounds; b++)
        if (pad != UK_PAD_GUARD || !bound[b].is_guard)
            st->bound[st->bounds++] = bound[b];
    s->report = NULL;
    enum uk_status status = choose_transposed(s, st, &transposed);
    if (!status)
        status = uk_choose_kernel(s, st, false, p);
    if (transposed.fit.intrinsic && (!status || status == UK_NO_MATCH) &&
        (status || is_faster(s, st, &transposed, p))) {
        *p = transposed;
        if (status)
            uk_context_forget(s->context);
        status = UK_OK;
    }
    s->report = report;
    st->plain_loops_reason = NULL;
    st->border_cycles = 0;
    st->bounds = bounds;
    memcpy(st->bound, bound, sizeof st->bound);
    for (int o = 0; o < st->operands; o++)
        st->operand[o].pad = kept[o];
    return status == UK_NO_MATCH ? uk_context_forget(s->context), UK_OK : status;
}

enum uk_status uk_is_computed_by_kernel(struct uk_schedule *s, struct uk_stage *st, bool *fits) {
    struct uk_kernel_plan p = {0}, q = {0};
    enum uk_status status = choose_quietly(s, st, UK_PAD_VALUE, &p);

    if (!status && !p.fit.intrinsic && uk_may_take_zeros(st))
        status = choose_quietly(s, st, UK_PAD_GUARD, &q);
    *fits = p.fit.intrinsic || uk_takes_windows(&q);
    return status;
}

enum uk_status uk_best_plan(struct uk_schedule *s, struct uk_stage *st, struct uk_kernel_plan *p) {
    return choose_quietly(s, st, UK_PAD_VALUE, p);
}

/* True if rows and columns of the window are axes of the kernel: both loops have to stay. */
static bool takes_rows_of_window(const struct uk_kernel_plan *p) {
    return uk_takes_windows(p) || (p->fit.intrinsic && uk_is_depthwise_tile(&p->fit));
}

/* Copies operands that a kernel should read from a copy: borders, and strided windows. Kernels with
 * transposed tiles read pixels one by one at any distance, and need no copy of strided windows. */
static enum uk_status copy_windows(struct uk_schedule *s, struct uk_stage *st,
                                   struct uk_kernel_plan *transposed) {
    const bool copies = !uk_refusal(s, st->name, UK_DRAFT_COPIES);
    /* no kernel copies with a border */
    bool borders = copies && uk_has_borders(s, st),
         windows = copies && uk_can_use_plain_loops(s) && uk_may_take_zeros(st);
    struct uk_kernel_plan p = {0}, q = {0};
    enum uk_status status = uk_begin_draft(s, st, UK_DRAFT_COPIES);

    if (status || (borders && (status = choose_quietly(s, st, UK_PAD_VALUE, &p))))
        return status;
    const bool fits = p.fit.intrinsic, groups = borders && uk_has_incomplete_groups(s, st);
    const enum uk_zeros zeros =
        fits ? uk_has_cheaper_zeros(s, st, &p.fit, p.cycles) ? UK_ZEROS_FOR_SUMS : UK_ZEROS_LEFT
             : UK_ZEROS_FOR_SUMS;
    if (((fits || groups) && (status = uk_copy_borders(s, st, p.fit.transposed, zeros))) ||
        (windows && (status = choose_quietly(s, st, UK_PAD_GUARD, &q))) ||
        (uk_takes_windows(&q) && (status = uk_copy_borders(s, st, false, UK_ZEROS_FOR_WINDOWS))) ||
        (copies && !takes_rows_of_window(&q) && (status = uk_fuse_sums(s, st))))
        return status;
    status = choose_transposed(s, st, transposed);
    return status || transposed->fit.intrinsic || !copies ? status : uk_part_windows(s, st);
}

/* Limits the channels of a tile, which otherwise is a row of pixels with all channels, if an elementwise
 * stage follows: the values that this stage has per channel then stay in registers for all pixels. Not if a
 * tile would end in a partly empty vector. */
static void narrow_tile(const struct uk_schedule *s, const struct uk_stage *st, struct uk_fit *f) {
    const struct uk_stage *reader = uk_only_reader(s, st);
    const int v = uk_channel_axis(st, f);

    if (!reader || !uk_is_elementwise(reader))
        return;
    uk_narrow_depthwise_tile(s, st, f);
    if (v < 0)
        return;
    const int64_t channels = uk_constant_extent(st, f->axis[v]), most = uk_kernel_nr(f->intrinsic->row);
    if (s->target->vectors.bytes < 16 || (channels > 0 && channels % most == 0))
        f->max_extent[v] = most;
}

/* Chooses a plan with pixels as columns for a stage with few channels, and copies its input for them, if that
 * takes fewer cycles than the stage as written. */
static enum uk_status take_pixels(struct uk_schedule *s, struct uk_stage *st, struct uk_kernel_plan *best) {
    struct uk_transposing transposing = {0};
    struct uk_kernel_plan pixels = {0}, written = {0};
    enum uk_status status =
        uk_refusal(s, st->name, UK_DRAFT_COPIES) ? UK_OK : uk_transpose_pixels(s, st, &transposing);

    if (status || !transposing.input)
        return status;
    status = choose_for(s, st, &transposing, &pixels);
    st->plain_loops_reason = NULL;
    if (status || !pixels.fit.intrinsic || (status = choose_quietly(s, st, UK_PAD_VALUE, &written)))
        return status;
    if (s->report)
        uk_put(s->report, "  with pixels as columns: about %.3g cycles in all\n", pixels.cycles);
    if (!is_faster(s, st, &pixels, &written) ||
        (written.fit.intrinsic && pixels.cycles > written.cycles * (1 - AUTO_PIXELS)))
        return UK_OK;
    *best = pixels;
    status = uk_begin_draft(s, st, UK_DRAFT_COPIES);
    return status ? status : uk_copy_transposed(s, st, &transposing);
}

/* Applies the plan; without a kernel the stage stays as written. */
static enum uk_status apply_plan(struct uk_schedule *s, struct uk_stage *st, struct uk_kernel_plan *p) {
    if (!p->fit.intrinsic)
        return uk_begin_draft(s, st, UK_DRAFT_AS_WRITTEN);
    enum uk_status status = uk_begin_draft(s, st, uk_draft_by(s, p->fit.intrinsic, p->fit.transposed));

    narrow_tile(s, st, &p->fit);
    return status ? status : uk_schedule_stage(s, st, &p->fit);
}

enum uk_status uk_auto_stage(struct uk_schedule *s, struct uk_stage *st) {
    struct uk_kernel_plan p = {0}, transposed = {0};

    /* the loops that set the output to 0 are all that runs */
    if (uk_is_empty(st))
        return uk_begin_draft(s, st, UK_DRAFT_AS_WRITTEN);
    enum uk_status status = take_pixels(s, st, &p);
    if (status || p.fit.intrinsic)
        return status ? status : apply_plan(s, st, &p);
    if ((status = copy_windows(s, st, &transposed)))
        return status;
    status = uk_choose_kernel(s, st, false, &p);
    if (transposed.fit.intrinsic && (!status || status == UK_NO_MATCH)) {
        if (s->report)
            uk_put(s->report, "  with its tiles transposed: about %.3g cycles in all\n", transposed.cycles);
        if (status || is_faster(s, st, &transposed, &p)) {
            p = transposed;
            st->plain_loops_reason = NULL;
        }
        if (status)
            uk_context_forget(s->context);
        status = UK_OK;
    }
    s->is_final = status == UK_NO_MATCH;
    return status ? status : apply_plan(s, st, &p);
}
