/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks of rows, and what copies of them cost: what the estimates of all paths ask. */
#include "conv.h"

size_t uk_conv_whole_lines(int64_t a, int64_t b, int64_t c) {
    int64_t elements;
    size_t bytes;

    return __builtin_mul_overflow(a, b, &elements) || __builtin_mul_overflow(elements, c, &elements) ||
                   __builtin_mul_overflow(elements, (int64_t)sizeof(float), &bytes) ||
                   __builtin_add_overflow(bytes, GEMM_LINE - 1, &bytes)
               ? SIZE_MAX
               : bytes / GEMM_LINE * GEMM_LINE;
}

/* The rows of X that a block reads, without those that strides leave out, and those of Y that it writes, take
 * at most half of L2; the other half is for weights. A block that is copied lies within an image. */
void uk_conv_set_block(struct conv_plan *plan, bool is_whole) {
    const struct conv_shape *v = &plan->shape;
    const bool copies = plan->copies != CONV_IN_PLACE;
    const int64_t room = plan->type->machine->cache[UK_L2].size / 2 / (int)sizeof(float),
                  all = uk_max(copies ? v->p : conv_rows(v), 1);
    const double columns = copies ? (double)conv_copied_columns(plan)
                                  : (double)v->w * uk_min_real((double)v->s / (double)v->stride_w, 1),
                 row = (double)uk_min(uk_min(v->stride_h, v->h), copies ? v->h : v->r) * columns *
                           (double)v->c +
                       (double)v->q * (double)(is_whole ? v->o : plan->width);
    const int64_t rows = row < (double)room ? uk_min((int64_t)((double)room / uk_max_real(row, 1)), all) : 1;

    plan->block = uk_ceil_div(all, uk_ceil_div(all, uk_max(rows, 1)));
}

/* Cycles of copying `elements` floats from L2 to L2. */
static double moved_cycles(const struct gemm_type *type, double elements, bool transposes) {
    const struct uk_vectors *vectors = type->vectors;
    const int lanes = (int)uk_max(vectors->bytes / (int)sizeof(float), 1);
    double loads;

    return uk_copy_cycles(&type->machine->core, vectors, elements / lanes, lanes, transposes, &loads) +
           2 * elements * sizeof(float) / type->machine->cache[UK_L2].bytes;
}

double uk_conv_copy_cycles(const struct conv_plan *plan) {
    const struct conv_shape *v = &plan->shape;
    double cycles = 0;

    if (plan->copies != CONV_IN_PLACE) {
        if (uk_conv_whole_lines(uk_conv_copied_rows(plan, plan->block), conv_copied_columns(plan), v->c) ==
            SIZE_MAX)
            return HUGE_VAL;
        const double blocks = (double)v->n * (double)uk_ceil_div(v->p, plan->block),
                     rows = blocks * (double)uk_conv_copied_rows(plan, plan->block);

        cycles += moved_cycles(plan->type, rows * (double)conv_copied_columns(plan) * (double)v->c,
                               (plan->copies == CONV_PIXELS ? v->x.channel : v->x.column) != 1);
    }
    if (plan->stores)
        cycles += moved_cycles(plan->type, (double)conv_rows(v) * (double)v->q * (double)v->o, true);
    return cycles;
}

/* Cycles of moving `elements` floats once from the cache that holds them, or from memory. */
static double stream_cycles(const struct uk_machine *m, double elements) {
    const double bytes = elements * sizeof(float);

    return bytes / (bytes <= (double)m->cache[UK_L2].size    ? m->cache[UK_L2].bytes
                    : bytes <= (double)m->cache[UK_LLC].size ? m->cache[UK_LLC].bytes
                                                             : m->uncore.bytes);
}

double uk_conv_stream_cycles(const struct conv_plan *plan) {
    return stream_cycles(plan->type->machine, (double)plan->x_elements) +
           stream_cycles(plan->type->machine, (double)plan->y_elements);
}
