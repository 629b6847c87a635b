/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks of channels, and the place of the weights, for kernels that compute tiles of depthwise convolutions.
 */
#include "copies.h"
#include "minmax.h"
#include "steps.h"
#include "tiling.h"

enum { LINE = 64 }; /* bytes of a cache line */

static double bytes_of_operands(const struct uk_schedule *s, const struct uk_stage *st) {
    double all = 0;

    for (int o = 0; o < st->operands; o++) {
        const struct uk_tensor *t = st->operand[o].tensor;
        double bytes = (double)uk_type_bytes(t->type);

        for (int d = 0; d < t->stored_dims; d++)
            bytes *= uk_size_estimate(s, t->stored[d]);
        all += bytes;
    }
    return all;
}

bool uk_take_channel_blocks(const struct uk_schedule *s, const struct uk_stage *st, struct uk_fit *f,
                            double *cycles) {
    enum {
        SHORTEST = 4,
        LONGEST = 32
    }; /* vectors: a line and its next ones follow one another; a page of f32 */
    const int v = uk_channel_axis_of_tile(st, f);
    /* Lines from beyond L2 come faster if they follow one another, which the estimate does not know. */
    const double margin = bytes_of_operands(s, st) > (double)uk_l2_share(s) ? 3 * AUTO_MARGIN : AUTO_MARGIN;
    struct uk_fit best = *f;

    if (v < 0)
        return false;
    for (int vectors = LONGEST; vectors >= SHORTEST; vectors /= 2) {
        struct uk_fit tried = *f;

        tried.max_extent[v] = vectors * uk_depthwise_block(st, f, v);
        if ((double)tried.max_extent[v] >= uk_values_estimate(s, st, f->axis[v]))
            continue;
        const double needs = uk_estimate(s, st, &tried, false);
        if (needs >= *cycles * (1 - (best.max_extent[v] != f->max_extent[v] ? AUTO_MARGIN : margin)))
            continue;
        *cycles = needs;
        best = tried;
    }
    const bool any = best.max_extent[v] != f->max_extent[v];
    *f = best;
    return any;
}

/* The length of about equal parts of n: a multiple of `step`, at most `most` if that is at least `step`. */
static int64_t even_part(int64_t n, int64_t most, int64_t step) {
    const int64_t parts = uk_ceil_div(n, uk_max(most / step * step, step));

    return uk_ceil_div(uk_ceil_div(n, parts), step) * step;
}

void uk_narrow_depthwise_tile(const struct uk_schedule *s, const struct uk_stage *st, struct uk_fit *f) {
    const int channels = uk_channel_axis_of_tile(st, f);
    int columns = -1;

    for (int v = 0; v < f->axes; v++)
        if (v != channels && uk_depthwise_block(st, f, v))
            columns = v;
    if (channels < 0 || columns < 0 || f->max_extent[channels])
        return;
    const int64_t bytes =
                      (int64_t)uk_type_bytes(st->operand[0].tensor->type) * uk_kernel_mr(f->intrinsic->row),
                  room = s->target->machine.cache[UK_L1].size / 2 / bytes,
                  c = (int64_t)uk_values_estimate(s, st, f->axis[channels]),
                  q = (int64_t)uk_values_estimate(s, st, f->axis[columns]),
                  block = uk_depthwise_block(st, f, columns), vector = uk_depthwise_block(st, f, channels);
    /* A kernel that walks along rows (NR is 1) prepares weights per call: its rows stay as long as lines of
     * channels let them. */
    const bool walks = block == 1;
    const int64_t step = walks ? uk_max(vector, LINE) : vector,
                  q_part = even_part(q, room / uk_max(walks ? uk_min(c, step) : c, 1), block),
                  c_part = even_part(c, room / uk_min(q_part, q), step);

    if (q_part < q)
        f->max_extent[columns] = q_part;
    if (c_part < c)
        f->max_extent[channels] = c_part;
}

/* True if operand o is the weights: it does not change along the tile's rows. */
static bool is_weights(const struct uk_stage *st, const struct uk_fit *f, int o) {
    for (int v = 0; v < f->axes; v++)
        if (!uk_is_reduced(st, f->axis[v]) && !uk_depthwise_block(st, f, v) &&
            uk_depends(&st->operand[o], f->axis[v]))
            return false;
    return true;
}

/* (d0, d1, ..) -> [d0, d1, ..] */
static struct uk_map *same_order(struct uk_schedule *s, int dims) {
    return uk_transposing_map(s, dims, dims - 1);
}

/* The pitch of rows of n elements for which they begin at cache lines in different sets of a cache: an odd
 * number of lines. */
static int64_t spread_pitch(int64_t n, int64_t bytes) {
    return (uk_ceil_div(n * bytes, LINE) | 1) * LINE / bytes;
}

enum uk_status uk_spread_weights(struct uk_schedule *s, struct uk_stage *st, const struct uk_fit *f) {
    for (int o = 1; o < st->operands && uk_is_depthwise_tile(f); o++) {
        const struct uk_tensor *t = st->operand[o].tensor;
        const int64_t bytes = (int64_t)uk_type_bytes(t->type);
        struct uk_step *step = uk_step_on(s, UK_STEP_CACHE_READ, st, NULL, 0);
        int64_t n, pitch = 1;

        if (!step || !(step->layout = same_order(s, t->dims)))
            return uk_out_of_memory(s->context);
        if (!t->is_constant || t->layout || t->kind == UK_TENSOR_PACKED || !is_weights(st, f, o) ||
            !uk_index_is_int(t->shape[t->dims - 1], &n) || spread_pitch(n, bytes) == n)
            continue;
        step->strides = t->dims;
        for (int d = t->dims - 1; d >= 0; d--) {
            step->stride[d] = pitch;
            if (!uk_index_is_int(t->shape[d], &n))
                return UK_OK;
            pitch = d == t->dims - 1 ? spread_pitch(n, bytes) : pitch * n;
        }
        return uk_copy_operand(s, st, o, NULL, step);
    }
    return UK_OK;
}
