/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies for sums that read outside a tensor, as in a convolution with a border. If the value outside is 0,
 * the terms outside can be left out, and kernels run on the others. Any other value has to be in memory: a
 * copy holds it as a border, and kernels read the copy. If no other factor can be infinite or NaN, zeros are
 * copied as a border, too,
 *
 * - if two loops of the sum can be fused in the copy, so that a kernel call has more terms;
 * - if the kernel computes windows of many pixels per call: windows at the border have fewer terms, and each
 *   would be a call of its own.
 *
 * The copy holds an image or, so that it stays in the cache, only the rows of the image that a row of windows
 * reads (or a few rows of windows). Rows are used if it is cheap to copy each one for every window row that
 * reads it, and if the sum's other operands stay in the second-level cache, because each row of windows reads
 * them again. Depthwise convolutions, whose few terms make copies expensive, use rows too: a second image
 * would dominate the memory of a network. If the other operand is not constant, it may have to be packed
 * outside the loops over rows and images: then only a copy that the value requires is made, of each image.
 */
#include <math.h>
#include <string.h>
#include "registry/operation.h"
#include "copies.h"
#include "steps.h"
#include "stage.h"
#include "costing.h"

/* The outer one of two loops of the sum that could be fused if the operand were read from a copy with a
 * border of zeros, in which the pixels of a window are adjacent; NULL: there are none. */
static const struct uk_loop *fusable_loop(struct uk_schedule *s, const struct uk_stage *st, int operand) {
    struct uk_stage *trial = uk_alloc(s->arena, sizeof *trial);
    int kept = 0;

    if (!trial)
        return NULL;
    *trial = *st;
    const struct uk_spread_window w = uk_spread_window_of(st, operand);
    trial->operand[operand].pad = UK_PAD_NONE;
    if (w.loop && !uk_as_gathered(s, &trial->operand[operand], &w))
        return NULL;
    for (int b = 0; b < st->bounds; b++)
        if (!st->bound[b].is_guard || st->bound[b].operand != operand)
            trial->bound[kept++] = st->bound[b];
    trial->bounds = kept;
    for (int i = 0; i < st->loops - 1; i++)
        if (uk_is_long_sum(st, i) && uk_fuse_is_view(s, trial, i))
            return st->loop[i];
    return NULL;
}

static bool others_are_constant(const struct uk_stage *st, int operand) {
    bool all = true;

    for (int o = 1; o < st->operands; o++)
        all &= o == operand || st->operand[o].tensor->is_constant;
    return all;
}

static bool multiplies(const struct uk_stage *st, enum uk_element e) {
    const enum uk_type a = st->operand[1].tensor->type,
                       b = st->operands > 2 ? st->operand[2].tensor->type : a;

    return e == UK_ELEMENT_I8   ? a == UK_I8 && b == UK_I8
           : e == UK_ELEMENT_U8 ? a == UK_U8 && b == UK_U8
                                : (e == UK_ELEMENT_U8_I8 || e == UK_ELEMENT_I8_U8) && a != b &&
                                      (a == UK_U8 || b == UK_U8) && (a == UK_I8 || b == UK_I8);
}

/* True if the kernel takes sums of a multiple of some number of terms only. */
static bool needs_groups(const struct uk_intrinsic *k) {
    for (const struct uk_assume *a = k->declaration->assumes; a; a = a->next)
        if (a->relation->op == UK_I_EQ && a->relation->a->op == UK_I_MOD)
            return true;
    return false;
}

/* The smallest group of terms among this architecture's kernels that read rows in place; 0: there are no such
 * kernels, or some that take sums of any length. */
static int64_t least_group(struct uk_schedule *s, const struct uk_stage *st) {
    struct uk_candidate c = {0};
    int64_t least = 0;

    while (!uk_next_candidate(s, NULL, &c) && c.intrinsic) {
        const struct uk_kernel *row = c.intrinsic->row;

        if (!row || uk_kernel_operation(row)->form != UK_OP_RA || !strcmp(uk_kernel_arch(row), "any") ||
            !multiplies(st, uk_kernel_operation(row)->element))
            continue;
        if (!needs_groups(c.intrinsic))
            return 0;
        least = least && least < uk_kernel_kr(row) ? least : uk_kernel_kr(row);
    }
    return least;
}

/* True if the operand is contiguous along the loop, and no other loop indexes that dimension: channels, not
 * pixels of a window. */
static bool is_line(const struct uk_stage *st, int operand, const struct uk_loop *l) {
    const struct uk_operand *x = &st->operand[operand];
    struct uk_poly c = uk_coefficient(x, l->id);
    int64_t step;

    for (int d = 0; d < x->tensor->stored_dims; d++)
        for (int i = 0; i < st->loops && x->index[d].coefficient[l->id]; i++)
            if (st->loop[i] != l && x->index[d].coefficient[st->loop[i]->id])
                return false;
    return uk_poly_is_int(&c, &step) && step == 1;
}

/* True if the loop's extent times `more` is a multiple of the group for all sizes. */
static bool is_whole(struct uk_schedule *s, const struct uk_stage *st, const struct uk_loop *l, int64_t more,
                     int64_t group) {
    struct uk_arena *a = s->arena;
    struct uk_index *n = st->statement->extent[l->iterator];

    n = uk_index_op(a, UK_I_MOD, uk_index_op(a, UK_I_MUL, uk_index_int(a, more), n), uk_index_int(a, group));
    return n && uk_proves(s, st, 0, uk_index_op(a, UK_I_EQ, n, uk_index_int(a, 0)));
}

/* True if the operand is indexed by windows or with strides, so that it cannot be packed in panels. */
static bool has_windows(const struct uk_stage *st, int operand) {
    const struct uk_operand *x = &st->operand[operand];

    for (int d = 0; d < x->tensor->dims; d++) {
        int loops = 0;

        for (int i = 0; i < st->loops; i++) {
            const int64_t c = x->index[d].coefficient[st->loop[i]->id];

            if (c > 1)
                return true;
            loops += c != 0;
        }
        if (loops > 1)
            return true;
    }
    return false;
}

/* True if no kernel takes the sum in place because its length is not known to be a multiple of a group; in a
 * copy a kernel may read past the end. `is_before_fusion`: before two loops of the sum are fused. */
static bool lacks_groups(struct uk_schedule *s, const struct uk_stage *st, int operand,
                         bool is_before_fusion) {
    const struct uk_loop *outer = is_before_fusion ? NULL : fusable_loop(s, st, operand), *last = NULL;
    int64_t group, of_outer = outer ? uk_constant_extent(st, outer) : 1;
    int sums = 0;

    for (int i = 0; i < st->loops; i++)
        if (uk_is_reduced(st, st->loop[i])) {
            last = st->loop[i];
            sums++;
        }
    if ((sums < 2 && !has_windows(st, operand)) || st->operands != 3 || !is_line(st, operand, last) ||
        of_outer < 0)
        return false;
    group = least_group(s, st);
    return group > 1 && !is_whole(s, st, last, of_outer, group);
}

/* Cycles per element of a copy by rows too short for vectors: a load, a store and the loop's counter. */
enum { SHORT_ROWS = 3 };

/* True if a copy with a border of zeros lets the sum compute the terms that the operand's pad leaves out. */
static bool may_add_zeros(const struct uk_stage *st, int operand) {
    return st->operand[operand].pad == UK_PAD_GUARD && uk_may_store_zeros(st, operand);
}

/* True if a copy makes sums longer, or a multiple of a group. Rows of a window need no copy, as kernels add
 * several runs; but between runs those that take bytes in groups lose the time of a group. Without a multiple
 * no kernel takes windows, so a copy then also counts as cheap if it takes less than half the time of plain
 * loops. */
static bool helps_sums(struct uk_schedule *s, const struct uk_stage *st, int operand, bool is_before_fusion) {
    const struct uk_operand *x = &st->operand[operand];
    const double copied = uk_elements(s, x->tensor);
    const bool is_cheap = uk_is_cheap(s, st, copied);

    if (x->tensor->is_constant || !others_are_constant(st, operand) ||
        (x->pad == UK_PAD_GUARD && !may_add_zeros(st, operand)) ||
        (!is_cheap && (!has_windows(st, operand) || copied * SHORT_ROWS * 2 > uk_plain_cycles(s, st))))
        return false;
    const struct uk_spread_window w = uk_spread_window_of(st, operand);
    const bool in_groups = uk_type_bytes(x->tensor->type) == 1 && !least_group(s, st);
    return (is_cheap && (w.loop ? !w.by_rows || in_groups : x->pad == UK_PAD_GUARD) &&
            fusable_loop(s, st, operand)) ||
           lacks_groups(s, st, operand, is_before_fusion);
}

static bool wants_copy(struct uk_schedule *s, const struct uk_stage *st, int operand, enum uk_zeros zeros) {
    const enum uk_pad pad = st->operand[operand].pad;

    return st->statement->reduce == UK_REDUCE_SUM &&
           (pad == UK_PAD_VALUE || (may_add_zeros(st, operand) && zeros == UK_ZEROS_FOR_WINDOWS) ||
            ((pad == UK_PAD_NONE || zeros == UK_ZEROS_FOR_SUMS) && helps_sums(s, st, operand, false)));
}

/* The fraction of terms inside the tensor along dimension d, over all positions i of a window and its
 * elements r. */
static double part_inside(const struct uk_schedule *s, const struct uk_stage *st, const struct uk_operand *x,
                          int d) {
    const struct uk_affine *f = &x->index[d];
    const struct uk_loop *i = NULL, *r = NULL;
    int64_t offset = 0;
    double inside = 0;

    for (int l = 0; l < st->loops; l++)
        if (f->coefficient[st->loop[l]->id])
            *(uk_is_reduced(st, st->loop[l]) ? &r : &i) = st->loop[l];
    if (!i || !r || (f->rest && !uk_index_is_int(f->rest, &offset)))
        return 1;
    const double n = uk_values_estimate(s, st, i), places = uk_values_estimate(s, st, r),
                 extent = uk_size_estimate(s, x->tensor->shape[d]), step = (double)f->coefficient[i->id];
    for (double p = 0; p < places; p++) {
        const double at = (double)offset + p * (double)f->coefficient[r->id];
        const double first = at < 0 ? ceil(-at / step) : 0, end = ceil((extent - at) / step);

        inside += fmax(0, fmin(end, n) - first);
    }
    return inside / (n * places);
}

/* True if the calls that longer sums save, and the loops that set the output to 0 before sums of which terms
 * are left out, cost more cycles than the additional products with zeros. */
static bool is_saving_larger(struct uk_schedule *s, const struct uk_stage *st, int operand, double calls,
                             double cycles) {
    const struct uk_operand *x = &st->operand[operand];
    const struct uk_tensor *y = st->operand[0].tensor;
    const double to_zero = uk_elements(s, y) * (double)uk_type_bytes(y->type) / s->target->vectors.bytes /
                           uk_ports_rate(&s->target->vectors.store);
    const struct uk_loop *l = fusable_loop(s, st, operand);
    double inside = 1;

    for (int d = 0; d < x->tensor->dims; d++)
        inside *= part_inside(s, st, x, d);
    return l && calls * (1 - 1 / uk_values_estimate(s, st, l)) + to_zero > cycles * (1 - inside);
}

bool uk_has_cheaper_zeros(struct uk_schedule *s, const struct uk_stage *st, const struct uk_fit *f,
                          double cycles) {
    const double calls = uk_call_cycles(s, st, f);

    for (int o = 1; o < st->operands; o++)
        if (st->operand[o].pad == UK_PAD_GUARD && wants_copy(s, st, o, UK_ZEROS_FOR_SUMS) &&
            !lacks_groups(s, st, o, false) && !is_saving_larger(s, st, o, calls, cycles))
            return false;
    return true;
}

bool uk_has_incomplete_groups(struct uk_schedule *s, const struct uk_stage *st) {
    for (int o = 1; o < st->operands && st->statement->reduce == UK_REDUCE_SUM; o++) {
        /* a border of another value hides that loops could be fused */
        const bool is_before_fusion = st->operand[o].pad == UK_PAD_VALUE;

        if (helps_sums(s, st, o, is_before_fusion) && lacks_groups(s, st, o, is_before_fusion))
            return true;
    }
    return false;
}

bool uk_has_borders(struct uk_schedule *s, const struct uk_stage *st) {
    for (int o = 1; o < st->operands; o++)
        if (wants_copy(s, st, o, UK_ZEROS_FOR_SUMS))
            return true;
    return false;
}

/* True if a loop of the output is contiguous in all operands, such as the channels of a depthwise convolution
 * or the pixels of a pool. */
static bool has_common_neighbours(const struct uk_stage *st, int operand) {
    const struct uk_operand *x = &st->operand[operand];

    for (int i = 0; i < st->loops; i++) {
        bool all = !uk_is_reduced(st, st->loop[i]) &&
                   x->index[x->tensor->stored_dims - 1].coefficient[st->loop[i]->id] == 1;

        for (int o = 0; o < st->operands; o++)
            all = all && uk_depends(&st->operand[o], st->loop[i]);
        if (all)
            return true;
    }
    return false;
}

bool uk_may_take_zeros(const struct uk_stage *st) {
    for (int o = 1; o < st->operands; o++)
        if (st->statement->reduce == UK_REDUCE_SUM && may_add_zeros(st, o) &&
            st->operand[o].tensor->stored_dims && has_common_neighbours(st, o))
            return true;
    return false;
}

/* True if the sum's other operands fit in this stage's share of the second-level cache. */
static bool are_others_in_l2(const struct uk_schedule *s, const struct uk_stage *st, int operand) {
    double bytes = 0;

    for (int o = 1; o < st->operands; o++)
        if (o != operand)
            bytes +=
                uk_elements(s, st->operand[o].tensor) * (double)uk_type_bytes(st->operand[o].tensor->type);
    return bytes <= (double)uk_l2_share(s);
}

/* True if a loop of the output inside the one at `position` can be the rows of a kernel's tile; in a
 * depthwise convolution these are channels, too. */
static bool has_rows_inside(const struct uk_stage *st, int operand, int position) {
    const bool channels = has_common_neighbours(st, operand);

    for (int i = position + 1; i < st->loops; i++)
        if (!uk_is_reduced(st, st->loop[i]) && (channels ? uk_depends(&st->operand[operand], st->loop[i])
                                                         : uk_moves_alone(st, operand, st->loop[i])))
            return true;
    return false;
}

/* The innermost loop that selects an image and has a loop over rows inside it, for the kernel; NULL: there is
 * none. */
static struct uk_loop *image_of_rows(const struct uk_stage *st, int operand) {
    struct uk_loop *image = uk_image_loop(st, operand, NULL);
    int position = image ? uk_loop_position(st, image) : -1;

    while (position >= 0 && !has_rows_inside(st, operand, position))
        position--;
    return position < 0 ? NULL : st->loop[position];
}

/* The loop over rows of windows: the first one inside `image`, if another one goes along the row; NULL: there
 * is none, or copying rows does not pay. */
static struct uk_loop *rows_of_windows(const struct uk_schedule *s, const struct uk_stage *st, int operand,
                                       const struct uk_loop *image) {
    const struct uk_operand *x = &st->operand[operand];
    const int first = image ? uk_loop_position(st, image) + 1 : 0;
    struct uk_loop *rows = first < st->loops ? st->loop[first] : NULL;
    double copied = 1;

    if (!rows || uk_is_reduced(st, rows) || !uk_depends(x, rows) || !has_rows_inside(st, operand, first))
        return NULL;
    for (int d = 0; d < x->tensor->dims; d++) {
        if (!x->index[d].coefficient[rows->id]) {
            copied *= uk_size_estimate(s, x->tensor->shape[d]);
            continue;
        }
        copied *= uk_values_estimate(s, st, rows);
        for (int i = 0; i < st->loops; i++)
            copied *= st->loop[i] != rows && x->index[d].coefficient[st->loop[i]->id]
                          ? uk_values_estimate(s, st, st->loop[i])
                          : 1;
    }
    return (uk_is_cheap(s, st, copied) || has_common_neighbours(st, operand)) &&
                   others_are_constant(st, operand) && are_others_in_l2(s, st, operand)
               ? rows
               : NULL;
}

/*
 * Splits the loop over rows of windows, so that ROWS of them share a copy: a row of 3x3 windows reads 3 rows,
 * 4 rows of windows read 6. Only for operands contiguous in a loop that all operands have (depthwise
 * convolutions, pools), whose copies are a larger part of the time. The copy has to fit in the second-level
 * cache. Tensors with short rows are left alone: the copy would be a large part of their memory. Sets *place
 * to the outer loop.
 */
static enum uk_status part_rows(struct uk_schedule *s, struct uk_stage *st, int operand,
                                struct uk_loop **place) {
    enum { ROWS = 4 };
    const struct uk_operand *x = &st->operand[operand];
    struct uk_loop *rows = *place, *outer;
    double bytes = uk_elements(s, x->tensor) * (double)uk_type_bytes(x->tensor->type);

    for (int d = 0; d < x->tensor->dims; d++)
        if (x->index[d].coefficient[rows->id])
            bytes *= (double)(2 * ROWS) * (double)x->index[d].coefficient[rows->id] /
                     uk_size_estimate(s, x->tensor->shape[d]);
    if (uk_values_estimate(s, st, rows) <= ROWS || !has_common_neighbours(st, operand) ||
        bytes > (double)uk_l2_share(s) || bytes < COST_PAGE)
        return UK_OK;
    enum uk_status status = uk_split_unconditionally(s, st, &rows, ROWS, "o", &outer);
    *place = outer ? outer : *place;
    return status;
}

static void report_copy(const struct uk_schedule *s, const struct uk_tensor *x, enum uk_pad pad, bool rows) {
    const char *what = rows ? "a copy of the rows of a window" : "a copy";

    if (pad == UK_PAD_NONE)
        uk_put(s->report, "%s: sums are not whole groups; kernels read %s, and past its end\n", x->name,
               what);
    else
        uk_put(s->report, "%s is read out of bounds%s: %s has a border of %s\n", x->name,
               pad == UK_PAD_GUARD ? "" : " with a value other than 0", what,
               pad == UK_PAD_GUARD ? "zeros" : "that value");
}

enum uk_status uk_copy_borders(struct uk_schedule *s, struct uk_stage *st, bool whole, enum uk_zeros zeros) {
    for (int o = 1; o < st->operands; o++) {
        const enum uk_pad pad = st->operand[o].pad;

        if (!wants_copy(s, st, o, zeros))
            continue;
        const struct uk_tensor *x = st->operand[o].tensor;
        struct uk_loop *image = whole ? NULL : image_of_rows(st, o);
        struct uk_loop *rows = whole ? NULL : rows_of_windows(s, st, o, image), *place = rows ? rows : image;
        enum uk_status status = rows ? part_rows(s, st, o, &place) : UK_OK;
        if (status)
            return status;
        struct uk_step *step = uk_step_on(s, UK_STEP_CACHE_READ, st, &place, place ? 1 : 0);
        const struct uk_spread_window w = uk_spread_window_of(st, o);

        if (!step)
            return uk_out_of_memory(s->context);
        if (w.loop && fusable_loop(s, st, o) && (status = uk_gather_window(s, st, o, &w, step)))
            return status;
        status = uk_copy_operand(s, st, o, place, step);
        /* for example, the value outside differs between elements */
        if (status == UK_REFUSED)
            return uk_context_forget(s->context), UK_OK;
        if (status)
            return status;
        if (s->report)
            report_copy(s, x, pad, rows != NULL);
    }
    return UK_OK;
}
