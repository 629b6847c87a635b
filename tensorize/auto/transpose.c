/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Transposed tiles. A tile is computed in a buffer whose last dimension is another one than the output's, and
 * stored to the output once its sums are complete. Two cases, both of windows:
 *
 * - The output has adjacent pixels, as in a convolution in NCHW: the columns of the tile are pixels, and rows
 *   of 7 or 14 leave vectors partly empty. With channels as columns the whole tile is used.
 * - The output has a few adjacent channels, as the last layer of a network that makes images: they fill a
 * part of a vector. With pixels as columns vectors are full; the input is copied so that its pixels are
 * adjacent.
 */
#include <string.h>
#include "copies.h"
#include "steps.h"
#include "costing.h"

/* The only loop in the index, if its coefficient is 1; NULL otherwise. */
static const struct uk_loop *sole_loop_of(const struct uk_stage *st, const struct uk_affine *f) {
    const struct uk_loop *found = NULL;

    for (int i = 0; i < st->loops; i++) {
        int64_t c = f->coefficient[st->loop[i]->id];

        if (c && (c != 1 || found))
            return NULL;
        found = c ? st->loop[i] : found;
    }
    return f->general ? NULL : found;
}

bool uk_is_in_window(const struct uk_stage *st, const struct uk_loop *l) {
    for (int o = 1; o < st->operands; o++)
        for (int d = 0; d < st->operand[o].tensor->stored_dims; d++)
            for (int i = 0; i < st->loops && st->operand[o].index[d].coefficient[l->id]; i++)
                if (uk_is_reduced(st, st->loop[i]) && st->operand[o].index[d].coefficient[st->loop[i]->id])
                    return true;
    return false;
}

/* The dimension of the output that becomes the last one: channels, whose loop only the weights share; -1:
 * there is none. */
static int channels_of(const struct uk_stage *st) {
    const struct uk_operand *y = &st->operand[0];
    int last = y->tensor->stored_dims - 1;
    const struct uk_loop *pixels = last > 0 ? sole_loop_of(st, &y->index[last]) : NULL;

    if (!pixels || !uk_is_in_window(st, pixels) || st->statement->reduce != UK_REDUCE_SUM || st->parent ||
        y->tensor->layout || y->tensor->dims != last + 1)
        return -1;
    for (int d = last - 1; d >= 0; d--) {
        const struct uk_loop *l = sole_loop_of(st, &y->index[d]);
        int readers = 0;

        for (int o = 1; o < st->operands && l; o++)
            readers += uk_depends(&st->operand[o], l) ? 1 + uk_depends(&st->operand[o], pixels) : 0;
        if (readers == 1)
            return d;
    }
    return -1;
}

/* The new position of dimension i when d becomes the last one. */
static int place_of(int i, int dims, int d) {
    return i < d ? i : i > d ? i - 1 : dims - 1;
}

struct uk_map *uk_transposing_map(struct uk_schedule *s, int dims, int d) {
    struct uk_map *m = uk_alloc(s->arena, sizeof *m);
    struct uk_var *v = uk_alloc(s->arena, sizeof *v * UK_MAX_DIMS);

    if (!m || !v)
        return NULL;
    m->from_count = m->to_count = dims;
    for (int i = 0; i < dims; i++) {
        v[i] = (struct uk_var){.name = uk_format(s->arena, "d%d", i), .kind = UK_VAR_ITERATOR, .number = i};
        m->from[i] = &v[i];
        m->to[place_of(i, dims, d)] = uk_index_var(s->arena, &v[i]);
        if (!v[i].name)
            return NULL;
    }
    for (int i = 0; i < dims; i++)
        if (!m->to[i])
            return NULL;
    return m;
}

/* Moves the operand's dimension d to the end. */
static bool transpose_operand(struct uk_schedule *s, struct uk_operand *o, int d) {
    struct uk_tensor *t = uk_alloc(s->arena, sizeof *t);
    const struct uk_operand old = *o;
    int dims = old.tensor->dims;

    if (!t)
        return false;
    *t = *old.tensor;
    o->tensor = t;
    for (int i = 0; i < dims; i++) {
        int to = place_of(i, dims, d);

        t->shape[to] = t->stored[to] = old.tensor->stored[i];
        o->index[to] = old.index[i];
    }
    t->stride[dims - 1] = uk_index_int(s->arena, 1);
    for (int i = dims - 2; i >= 0; i--)
        t->stride[i] = uk_index_op(s->arena, UK_I_MUL, t->stride[i + 1], t->stored[i + 1]);
    return dims < 2 || t->stride[0];
}

/* Finds the weights' operand if channels are not adjacent in it, so that the kernel needs panels. 0: they are
 * adjacent; -1: transposing is impossible. */
static int find_weights(const struct uk_stage *st, const struct uk_loop *channels, int *dimension) {
    for (int o = 1; o < st->operands; o++) {
        const struct uk_operand *x = &st->operand[o];

        if (!uk_depends(x, channels))
            continue;
        if (x->tensor->layout || x->tensor->kind == UK_TENSOR_PACKED)
            return -1;
        for (int d = 0; d < x->tensor->dims; d++)
            if (sole_loop_of(st, &x->index[d]) == channels) {
                *dimension = d;
                return d == x->tensor->dims - 1 ? 0 : o;
            }
        return -1;
    }
    return -1;
}

enum uk_status uk_transpose_tiles(struct uk_schedule *s, const struct uk_stage *st,
                                  struct uk_transposing *transposing) {
    const struct uk_tensor *y = st->operand[0].tensor;
    int d = channels_of(st), dimension;

    *transposing = (struct uk_transposing){.cycles = uk_element_cycles(s)};
    if (d < 0)
        return UK_OK;
    transposing->weights = find_weights(st, sole_loop_of(st, &st->operand[0].index[d]), &dimension);
    if (transposing->weights < 0)
        return UK_OK;
    for (int i = 0; i < y->dims; i++)
        transposing->cycles *= uk_size_estimate(s, y->shape[i]);
    memcpy(transposing->operand, st->operand, sizeof transposing->operand);
    if (!(transposing->map = uk_transposing_map(s, y->dims, d)) ||
        !transpose_operand(s, &transposing->operand[0], d) ||
        (transposing->weights &&
         !transpose_operand(s, &transposing->operand[transposing->weights], dimension)))
        return uk_out_of_memory(s->context);
    return UK_OK;
}

/* ---- few channels: pixels become the columns ---- */

/* True if a loop of the output goes over so few channels that they fill at most half of a vector, and only
 * weights depend on it. */
static bool has_few_channels(const struct uk_schedule *s, const struct uk_stage *st) {
    const struct uk_operand *y = &st->operand[0];

    for (int d = 0; d < y->tensor->dims; d++) {
        const struct uk_loop *l = sole_loop_of(st, &y->index[d]);
        int readers = 0;

        for (int o = 1; o < st->operands && l; o++)
            readers += uk_depends(&st->operand[o], l);
        if (readers == 1 && !uk_is_in_window(st, l) &&
            2 * uk_values_estimate(s, st, l) * (double)uk_type_bytes(y->tensor->type) <=
                (double)s->target->vectors.bytes)
            return true;
    }
    return false;
}

/* Finds the operand that windows read along the loop of pixels, and its dimension. 0: there is none that can
 * be copied with this dimension as the last one, or its pixels are adjacent. */
static int find_input(const struct uk_stage *st, const struct uk_loop *pixels, int *dimension) {
    int found = 0;

    for (int o = 1; o < st->operands; o++) {
        const struct uk_operand *x = &st->operand[o];
        const struct uk_poly step = uk_coefficient(x, pixels->id);
        int64_t apart;

        if (!uk_depends(x, pixels))
            continue;
        if (found || (uk_poly_is_int(&step, &apart) && apart == 1) || x->tensor->layout ||
            x->tensor->kind == UK_TENSOR_PACKED || uk_is_gathered(x))
            return 0;
        *dimension = -1;
        for (int d = 0; d < x->tensor->dims; d++)
            if (x->index[d].general)
                return 0;
            else if (x->index[d].coefficient[pixels->id])
                *dimension = *dimension < 0 && x->index[d].coefficient[pixels->id] == 1 ? d : x->tensor->dims;
        if (*dimension < 0 || *dimension >= x->tensor->dims - 1)
            return 0;
        found = o;
    }
    return found;
}

/* Estimated cycles of a copy with other adjacent elements: each is loaded alone and shuffled into a vector.
 */
static double transposed_cycles(const struct uk_schedule *s, const struct uk_tensor *t) {
    const struct uk_counts element = {.load = 1, .shuffle = 1, .other = 2};
    double cycles = uk_cost_cycles(&s->target->machine.core, &s->target->vectors, &element);

    for (int d = 0; d < t->dims; d++)
        cycles *= uk_size_estimate(s, t->shape[d]);
    return cycles;
}

enum uk_status uk_transpose_pixels(struct uk_schedule *s, const struct uk_stage *st,
                                   struct uk_transposing *transposing) {
    const struct uk_operand *y = &st->operand[0];
    const int last = y->tensor->dims - 1;
    int d = last, dimension = 0, input = 0;

    *transposing = (struct uk_transposing){.cycles = 0};
    if (st->statement->reduce != UK_REDUCE_SUM || st->parent || y->tensor->layout ||
        !uk_type_is_float(y->tensor->type) || !has_few_channels(s, st))
        return UK_OK;
    for (; d >= 0 && !input; d -= !input) {
        const struct uk_loop *l = sole_loop_of(st, &y->index[d]);

        if (l && uk_is_in_window(st, l) && !(input = find_input(st, l, &dimension)))
            return UK_OK;
    }
    if (!input)
        return UK_OK;
    memcpy(transposing->operand, st->operand, sizeof transposing->operand);
    transposing->cycles = transposed_cycles(s, st->operand[input].tensor);
    if (!(transposing->input_map = uk_transposing_map(s, st->operand[input].tensor->dims, dimension)) ||
        !transpose_operand(s, &transposing->operand[input], dimension))
        return uk_out_of_memory(s->context);
    transposing->input = input;
    if (d == last)
        return UK_OK;
    transposing->cycles += transposed_cycles(s, y->tensor);
    if (!(transposing->map = uk_transposing_map(s, y->tensor->dims, d)) ||
        !transpose_operand(s, &transposing->operand[0], d))
        return uk_out_of_memory(s->context);
    return UK_OK;
}

enum uk_status uk_copy_transposed(struct uk_schedule *s, struct uk_stage *st,
                                  const struct uk_transposing *transposing) {
    struct uk_loop *place = uk_image_loop(st, transposing->input, NULL);
    struct uk_step *step = uk_step_on(s, UK_STEP_CACHE_READ, st, &place, place ? 1 : 0);

    if (!step)
        return uk_out_of_memory(s->context);
    step->layout = transposing->input_map;
    return uk_copy_operand(s, st, transposing->input, place, step);
}

/* Stores tiles through a transposed buffer. It holds all tiles whose sums are incomplete, so its place is
 * outside the first loop of the sum. */
enum uk_status uk_apply_transposing(struct uk_schedule *s, struct uk_stage *st, const struct uk_map *map,
                                    int tiles) {
    struct uk_loop *place = NULL;

    for (int i = 0; i < tiles && !uk_is_reduced(st, st->loop[i]); i++)
        place = st->loop[i];
    struct uk_step *step = uk_step_on(s, UK_STEP_CACHE_WRITE, st, &place, place ? 1 : 0);
    if (!step)
        return uk_out_of_memory(s->context);
    if (!place)
        step->loop[0] = (struct uk_loop_name){.loop = "root", .at = step->at};
    step->loops = 1;
    step->subject = st->operand[0].tensor->name;
    step->layout = (struct uk_map *)map;
    return uk_apply_one(s, step);
}
