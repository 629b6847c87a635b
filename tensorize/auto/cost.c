/* SPDX-License-Identifier: Apache-2.0 */
/* Estimated cycles of a stage, with a kernel or in plain loops, as far as they do not depend on blocks. */
#include <math.h>
#include "registry/operation.h"
#include "copies.h"
#include "minmax.h"
#include "tiling.h"

double uk_elements(const struct uk_schedule *s, const struct uk_tensor *x) {
    double n = 1;

    for (int d = 0; d < x->dims; d++)
        n *= uk_size_estimate(s, x->shape[d]);
    return n;
}

/* Copying an element takes about 2 cycles, and a kernel computes at least 16 terms per cycle: a copy that
 * passes takes less than the computation. */
bool uk_is_cheap(const struct uk_schedule *s, const struct uk_stage *st, double copied) {
    double terms = 1;

    for (int i = 0; i < st->statement->iterators; i++)
        terms *= uk_size_estimate(s, st->statement->extent[i]);
    return copied * UK_CHEAP_REUSE < terms;
}

/* With vectors, LLVM vectorizes plain loops; without, a term of a sum is two loads, a multiplication and an
 * addition. */
double uk_plain_cycles(const struct uk_schedule *s, const struct uk_stage *st) {
    double cycles = s->target->vectors.bytes >= 16 ? AUTO_PLAIN : 4 / s->target->machine.core.issue;

    for (int i = 0; i < st->loops; i++)
        cycles *= uk_values_estimate(s, st, st->loop[i]);
    return cycles;
}

/* True if rows of A, the windows, would be packed although they overlap: each element would be copied once
 * for each position in the window. */
bool uk_packs_windows(const struct uk_stage *st, const struct uk_fit *f) {
    const struct uk_loop *columns = NULL;

    for (int v = 0; v < f->axes; v++)
        if (!uk_is_reduced(st, f->axis[v]) && f->max_extent[v])
            columns = f->axis[v];
    for (int o = 1; o < st->operands && columns && uk_is_window(st, f); o++)
        if (f->panel[o].width && !uk_depends(&st->operand[o], columns) && !st->operand[o].tensor->is_constant)
            return true;
    return false;
}

/* True if the stage reads the operand once, from beyond L2: no loop but the kernel's is around it. */
static bool is_read_once(const struct uk_schedule *s, const struct uk_stage *st, const struct uk_fit *f,
                         const struct uk_tensor *x) {
    return st->loops == f->axes &&
           uk_elements(s, x) * (double)uk_type_bytes(x->type) > (double)s->target->machine.cache[UK_L2].size;
}

bool uk_wastes_stream(const struct uk_schedule *s, const struct uk_stage *st, const struct uk_fit *f) {
    const struct uk_kernel *row = f->intrinsic->row;
    double rows = 1;
    bool wastes = false;

    if (!row || uk_kernel_operation(row)->form != UK_OP_RAB ||
        uk_kernel_mr(row) * uk_kernel_nr(row) <= GEMM_TILE_MOST)
        return false;
    for (int v = 0; v < f->axes; v++) {
        if (f->max_extent[v] == uk_kernel_mr(row))
            rows = uk_values_estimate(s, st, f->axis[v]);
        for (int o = 1; o < st->operands && f->max_extent[v] == uk_kernel_nr(row); o++)
            wastes |=
                uk_depends(&st->operand[o], f->axis[v]) && !is_read_once(s, st, f, st->operand[o].tensor);
    }
    return wastes || rows < 2 || rows > uk_kernel_mr(row);
}

double uk_estimate(const struct uk_schedule *s, const struct uk_stage *st, const struct uk_fit *f,
                   bool by_first_tile) {
    struct uk_costing c;
    struct uk_blocks blocks;

    if (!f->intrinsic->row)
        return 0; /* the program's own kernels are preferred */
    uk_costing_begin(&c, s, st, f, by_first_tile);
    return uk_is_window(st, f) ? uk_window_cycles(&c) : uk_find_blocks(&c, &blocks);
}

double uk_element_cycles(const struct uk_schedule *s) {
    const struct uk_counts n = {.load = 1, .other = 2};

    return uk_cost_cycles(&s->target->machine.core, &s->target->vectors, &n);
}

double uk_border_cycles(const struct uk_schedule *s, const struct uk_stage *st) {
    /* Lines that are copied, or read again, per line of the image: copies of rows overlap, as windows do, and
     * have a border. */
    enum { TIMES = 4 };
    double all = 0;

    for (int o = 1; o < st->operands; o++) {
        const struct uk_tensor *x = st->operand[o].tensor;

        if (st->operand[o].pad == UK_PAD_GUARD)
            all += uk_elements(s, x) * (double)uk_type_bytes(x->type);
    }
    return TIMES * all / uk_max_real(s->target->vectors.bytes, 1) * uk_element_cycles(s);
}
