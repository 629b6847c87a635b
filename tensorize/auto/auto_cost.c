/* SPDX-License-Identifier: Apache-2.0 */
/* What a stage costs by a kernel, and what of it is known before its loops are blocked. */
#include <math.h>
#include "registry/operation.h"
#include "copies.h"
#include "tiling.h"

/* An element costs about 2 cycles, and a kernel computes 16 terms a cycle or more: up to a quarter of the
 * time. */
bool uk_is_cheap(const struct uk_schedule *s, const struct uk_stage *st, double copied) {
    double terms = 1;

    for (int i = 0; i < st->statement->iterators; i++)
        terms *= uk_size_estimate(s, st->statement->extent[i]);
    return copied * UK_CHEAP_REUSE < terms;
}

/* LLVM vectorizes plain loops where there are vectors; else a term of a sum is two loads, a product and a
 * sum. */
double uk_plain_cycles(const struct uk_schedule *s, const struct uk_stage *st) {
    double cycles = s->target->vectors.bytes >= 16 ? AUTO_PLAIN : 4 / s->target->machine.core.issue;

    for (int i = 0; i < st->loops; i++)
        cycles *= uk_values_estimate(s, st, st->loop[i]);
    return cycles;
}

/* Windows are read where they are: rows of A in panels would be copied once for each place in the window. */
bool uk_packs_windows(const struct uk_stage *st, const struct uk_fit *f) {
    const struct uk_loop *columns = NULL;

    for (int v = 0; v < f->axes; v++)
        if (!uk_is_reduced(st, f->axis[v]) && f->most[v])
            columns = f->axis[v];
    for (int o = 1; o < st->operands && columns && uk_is_window(st, f); o++)
        if (f->panel[o].width && !uk_depends(&st->operand[o], columns) && !st->operand[o].tensor->is_constant)
            return true;
    return false;
}

static bool has_channels(const struct uk_fit *f) {
    return f->intrinsic->row && uk_kernel_operation(f->intrinsic->row)->form == UK_OP_DEPTHWISE_CHANNELS;
}

int uk_channel_axis(const struct uk_stage *st, const struct uk_fit *f) {
    for (int v = 0; v < f->axes && has_channels(f); v++) {
        bool all = !uk_is_reduced(st, f->axis[v]);

        for (int o = 0; o < st->operands; o++)
            all = all && uk_depends(&st->operand[o], f->axis[v]);
        if (all)
            return v;
    }
    return -1;
}

bool uk_lacks_channels(const struct uk_stage *st, const struct uk_fit *f) {
    return has_channels(f) && uk_channel_axis(st, f) < 0;
}

/* How often the kernel is called if its sum is not split. */
static double calls(const struct uk_schedule *s, const struct uk_stage *st, const struct uk_fit *f) {
    double n = 1;

    for (int i = 0; i < st->loops; i++)
        n *= uk_is_axis(f, st->loop[i]) ? 1 : uk_values_estimate(s, st, st->loop[i]);
    for (int v = 0; v < f->axes; v++)
        n *= f->most[v] ? ceil(uk_values_estimate(s, st, f->axis[v]) / (double)f->most[v]) : 1;
    return n;
}

double uk_cycles_of_call(const struct uk_schedule *s, const struct uk_stage *st, const struct uk_fit *f) {
    const struct uk_vectors *v = &s->target->vectors;
    const double lanes = v->bytes / (double)uk_type_bytes(st->operand[0].tensor->type);
    double tile = 1;

    for (int i = 0; i < f->axes; i++)
        tile *= f->most[i] && !uk_is_reduced(st, f->axis[i]) ? (double)f->most[i] : 1;
    const double vectors = tile / (lanes > 1 ? lanes : 1);
    return GEMM_CALL + vectors / uk_ports_rate(&v->store) + vectors / uk_ports_rate(&v->load);
}

double uk_call_cycles(const struct uk_schedule *s, const struct uk_stage *st, const struct uk_fit *f) {
    return calls(s, st, f) * uk_cycles_of_call(s, st, f);
}

double uk_estimate(const struct uk_schedule *s, const struct uk_stage *st, const struct uk_fit *f,
                   bool by_first_tile) {
    struct uk_costing c;
    struct uk_blocks blocks;

    if (!f->intrinsic->row)
        return 0; /* what the user brought goes first */
    uk_costing_begin(&c, s, st, f, by_first_tile);
    return uk_is_window(st, f) ? uk_window_cycles(&c) : uk_find_blocks(&c, &blocks);
}

double uk_element_cycles(const struct uk_schedule *s) {
    const struct uk_counts n = {.load = 1, .other = 2};

    return uk_cost_cycles(&s->target->machine.core, &s->target->vectors, &n);
}
