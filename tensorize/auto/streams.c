/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Constants that are read in several streams at once. A product of one row reads each panel of its constant
 * once, from memory. A prefetcher runs at most `ahead` bytes before the loads of a stream, so that a single
 * stream gets no more than these in the time that memory takes to answer. Therefore the panels are divided
 * into parts, one a stream, and tiles with a short block of the sum are computed from each part in turn:
 * while one stream is read, the lines ahead in the others arrive.
 */
#include "copies.h"
#include "minmax.h"
#include "registry/operation.h"
#include "steps.h"
#include "tiling.h"

enum { LEAST_TERMS = 8 };

/* Twice the number of streams that fetch as many bytes as memory gives, as one that has begun anew is not
 * prefetched at first; 0: one is enough, or nothing is known of the prefetcher. */
static int64_t streams_of(const struct uk_machine *m) {
    const double bytes = m->uncore.latency * m->uncore.bytes, ahead = (double)m->core.prefetch.ahead;
    const int64_t needed = ahead > 0 ? (int64_t)((bytes + ahead - 1) / ahead) : 0;

    return needed < 2 || 2 * needed > m->core.prefetch.streams ? 0 : 2 * needed;
}

/* True if the product has one row, and the loops of the stage are those of it, columns and the sum. With more
 * rows a tile computes for so long that one stream is enough, and streams would only make it load and store
 * its sums more often. */
static bool has_one_row(const struct tiling *t) {
    const struct uk_kernel *row = t->fit->intrinsic->row;

    return row && uk_kernel_operation(row)->form == UK_OP_PANELS && uk_kernel_kr(row) == 1 &&
           t->columns >= 0 && !t->outside &&
           (t->rows < 0 || uk_constant_extent(t->st, t->axis[t->rows]) == 1);
}

/* True if the operand that depends on the columns is a constant in panels, of so many bytes that L2 does not
 * hold it. */
static bool reads_large_constant(const struct tiling *t, int64_t columns, int64_t terms) {
    for (int o = 1; o < t->st->operands; o++) {
        const struct uk_operand *x = &t->st->operand[o];
        if (uk_depends(x, t->axis[t->columns]))
            return x->tensor->is_constant && t->fit->panel[o].width &&
                   (double)columns * (double)terms * (double)uk_type_bytes(x->tensor->type) >
                       (double)t->s->target->machine.core.l2.size;
    }
    return false;
}

bool uk_find_streams(struct tiling *t) {
    const struct uk_machine *m = &t->s->target->machine;
    const int64_t streams = streams_of(m);

    if (!streams || t->s->options->threads > 1 || t->window || !has_one_row(t))
        return false;
    t->sum = -1;
    for (int v = 0; v < t->fit->axes; v++)
        if (uk_is_reduced(t->st, t->axis[v]))
            t->sum = t->sum < 0 && !t->fit->max_extent[v] ? v : t->fit->axes;
    if (t->sum < 0 || t->sum == t->fit->axes)
        return false;
    const int64_t columns = uk_constant_extent(t->st, t->axis[t->columns]),
                  terms = uk_constant_extent(t->st, t->axis[t->sum]), width = t->fit->max_extent[t->columns],
                  bytes = width * (int64_t)uk_type_bytes(t->st->operand[1].tensor->type);
    if (columns < 2 * streams * width || terms <= 0 || !reads_large_constant(t, columns, terms))
        return false;
    t->terms_of_block = uk_max(m->core.prefetch.ahead / bytes / LEAST_TERMS * LEAST_TERMS, LEAST_TERMS);
    if (terms <= t->terms_of_block)
        return false;
    t->panels_of_stream = uk_ceil_div(uk_ceil_div(columns, width), streams);
    return true;
}

enum uk_status uk_split_streams(struct tiling *t) {
    struct uk_loop *panel, *stream, *block;
    enum uk_status status =
        uk_split_by(t->s, t->st, &t->axis[t->columns], t->fit->max_extent[t->columns], "o", &panel);

    if (!status)
        status = uk_split_by(t->s, t->st, &panel, t->panels_of_stream, "p", &stream);
    if (!status)
        status = uk_split_by(t->s, t->st, &t->axis[t->sum], t->terms_of_block, "c", &block);
    if (status)
        return status;
    t->order[t->loops++] = panel;
    t->order[t->loops++] = block;
    t->order[t->loops++] = stream;
    return UK_OK;
}
