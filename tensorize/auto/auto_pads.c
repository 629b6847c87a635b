/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums that read another value than 0 outside of a tensor, as in a convolution of bytes whose zero point is not 0. Under a
 * pad with 0 the terms outside are left out, and kernels run on what is inside. Any other value has to be read: a copy of
 * each image holds it as a border, and kernels read the copy.
 */
#include "tiling.h"

static bool has_border(const struct uk_stage *st, int operand) {
    return st->statement->reduce == UK_REDUCE_SUM && st->operand[operand].pad == UK_PAD_VALUE;
}

bool uk_has_borders(const struct uk_stage *st) {
    for (int o = 1; o < st->operands; o++)
        if (has_border(st, o))
            return true;
    return false;
}

enum uk_status uk_copy_borders(struct uk_schedule *s, struct uk_stage *st, bool whole) {
    for (int o = 1; o < st->operands; o++) {
        if (!has_border(st, o))
            continue;
        const struct uk_tensor *x = st->operand[o].tensor;
        struct uk_loop *place = whole ? NULL : uk_image_loop(st, o, NULL);
        struct uk_step *step = uk_step_on(s, UK_STEP_CACHE_READ, st, &place, place ? 1 : 0);

        if (!step)
            return uk_out_of_memory(s->context);
        enum uk_status status = uk_copy_operand(s, st, o, place, step);
        if (status == UK_REFUSED) /* the value differs from element to element, for instance */
            return uk_context_forget(s->context), UK_OK;
        if (status)
            return status;
        if (s->report)
            uk_put(s->report, "%s is read outside with another value than 0: a copy holds it as a border\n",
                   x->name);
    }
    return UK_OK;
}
