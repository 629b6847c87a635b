/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuses loops of sums of products. If everything that a stage reads along two of them is addressed as by one
 * loop (the pixels of a window's row, with channels innermost), a kernel computes both as one long sum, and
 * stores its tile once.
 */
#include "steps.h"
#include "sums.h"

enum uk_status uk_fuse_loop_pair(struct uk_schedule *s, struct uk_stage *st, int position) {
    struct uk_loop *loop[] = {st->loop[position], st->loop[position + 1]};
    struct uk_step *step = uk_step_on(s, UK_STEP_FUSE, st, loop, 2);

    if (!step || !(step->name = uk_alloc(s->arena, sizeof *step->name)))
        return uk_out_of_memory(s->context);
    step->names = 1;
    step->name[0] = uk_fresh_name(s, loop[0]->var->name, loop[1]->var->name);
    return step->name[0] ? uk_apply_one(s, step) : uk_out_of_memory(s->context);
}

bool uk_is_long_sum(const struct uk_stage *st, int position) {
    bool contiguous = false;

    for (int o = 1; o < st->operands; o++) {
        struct uk_poly c = uk_coefficient(&st->operand[o], st->loop[position + 1]->id);
        int64_t step;

        contiguous |= uk_poly_is_int(&c, &step) && step == 1;
    }
    /* Stages after the sum run where the sum ends, which lowering finds only if the extent is a constant. */
    return st->operands > 2 && contiguous && uk_constant_extent(st, st->loop[position]) >= 0 &&
           uk_is_reduced(st, st->loop[position]) && uk_is_reduced(st, st->loop[position + 1]);
}

/* Begins with the innermost pair, since a fused loop may be fused with the next outer one. */
enum uk_status uk_fuse_sums(struct uk_schedule *s, struct uk_stage *st) {
    if (st->statement->reduce != UK_REDUCE_SUM)
        return UK_OK;
    for (int i = st->loops - 2; i >= 0; i--) {
        if (!uk_is_long_sum(st, i) || !uk_fuse_is_view(s, st, i))
            continue;
        enum uk_status status = uk_fuse_loop_pair(s, st, i);

        if (status)
            return status;
    }
    return UK_OK;
}
