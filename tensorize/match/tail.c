/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels for the last columns of a product. A kernel that computes all rows in one call takes as long for a
 * few columns as for NR of them; kernels of the same operation with a smaller NR hold several rows in a
 * vector. If the number of columns is a constant and no multiple of the tiles' columns, the kernel that takes
 * the least time computes the last ones. uk_sgemm does the same (ukernels/gemm). Each element is one sum in
 * the order of the terms, whichever kernel computes it.
 */
#include <string.h>
#include "base/base.h"
#include "cost/cost.h"
#include "match.h"
#include "minmax.h"
#include "registry/operation.h"

/* True if the operation's kernels compute all rows in one call, so that their declarations differ only in the
 * number of columns. */
static bool has_all_rows(const struct uk_kernel *row) {
    const enum uk_op_form form = uk_kernel_operation(row)->form;

    return form == UK_OP_SMALL || form == UK_OP_SMALL_TA;
}

/* Cycles that the kernel takes for one k iteration of all rows, without the overhead of calls. */
static double cycles_of(const struct uk_schedule *s, const struct uk_kernel *row, int64_t rows,
                        int64_t columns) {
    const struct uk_product_kernel k = uk_product_kernel(row);

    return uk_product_iteration(&s->target->machine.core, &s->target->vectors, &k, 0, rows, columns);
}

/* True if the target can run the kernel, and the kernel is not made for particular cores. */
static bool is_candidate(const struct uk_schedule *s, const struct uk_kernel *k) {
    char lacks[64];

    return uk_target_takes(s->target, k) && !uk_target_lacks_for(s->target, k, lacks, sizeof lacks) &&
           !uk_kernel_cores(k);
}

const struct uk_kernel *uk_tail_kernel(const struct uk_schedule *s, const struct uk_kernel *row, int64_t rows,
                                       int64_t columns, double *cycles) {
    const struct uk_kernel *best = NULL, *k;

    *cycles = cycles_of(s, row, rows, columns);
    if (!has_all_rows(row) || columns >= uk_kernel_nr(row))
        return NULL;
    for (int i = 0; (k = uk_kernel_at(i)); i++) {
        if (strcmp(uk_kernel_op(k), uk_kernel_op(row)) || uk_kernel_nr(k) >= uk_kernel_nr(row) ||
            uk_kernel_nr(k) < columns || !is_candidate(s, k))
            continue;
        const double other = cycles_of(s, k, rows, columns);

        if (other < *cycles * (1 - AUTO_MARGIN)) {
            *cycles = other;
            best = k;
        }
    }
    return best;
}

/* The axis of the match whose extent is at most the kernel's columns; -1: it has no loop. */
static int column_axis(const struct uk_stage *st) {
    const struct uk_match *m = st->match;

    for (int v = 0; v < m->axes; v++)
        if (m->axis[v] && !uk_is_reduced(st, m->axis[v]) &&
            m->max_extent[v] == uk_kernel_nr(m->intrinsic->row))
            return v;
    return -1;
}

enum uk_status uk_set_tail(struct uk_schedule *s, struct uk_stage *st) {
    const struct uk_match *m = st->match;
    const struct uk_kernel *row = m ? m->intrinsic->row : NULL;
    struct uk_intrinsic *intrinsic;
    int64_t columns;
    double rows = 1, cycles;

    st->tail = NULL;
    if (!row || !has_all_rows(row))
        return UK_OK;
    const int v = column_axis(st);
    if (v < 0 || !uk_index_is_int(st->statement->extent[m->axis[v]->iterator], &columns) ||
        columns <= m->max_extent[v] || columns % m->max_extent[v] == 0)
        return UK_OK;
    for (int w = 0; w < m->axes; w++)
        if (w != v && m->axis[w] && !uk_is_reduced(st, m->axis[w]))
            rows *= uk_values_estimate(s, st, m->axis[w]);
    const struct uk_kernel *kernel =
        uk_tail_kernel(s, row, (int64_t)uk_max_real(rows, 1), columns % m->max_extent[v], &cycles);

    if (!kernel)
        return UK_OK;
    enum uk_status status = uk_context_intrinsic(s->context, kernel, &intrinsic);
    if (status)
        return status;
    if (!(st->tail = uk_alloc(s->arena, sizeof *st->tail)))
        return uk_out_of_memory(s->context);
    *st->tail = (struct uk_tail){intrinsic, v, uk_kernel_nr(kernel)};
    if (s->report)
        uk_put(s->report, "stage %s: its last columns, %lld, are computed by %s\n", st->name,
               (long long)(columns % m->max_extent[v]), intrinsic->name);
    return UK_OK;
}
