/* SPDX-License-Identifier: Apache-2.0 */
/* Which stages read what others write. */
#include "stage.h"

bool uk_is_elementwise(const struct uk_stage *st) {
    return !st->is_copy && st->statement->reduce == UK_REDUCE_NONE && st->statement->assign == UK_ASSIGN &&
           !uk_is_gathered(&st->operand[0]);
}

struct uk_stage *uk_only_reader(const struct uk_schedule *s, const struct uk_stage *st) {
    const struct uk_tensor *t = st->operand[0].tensor;
    struct uk_stage *reader = NULL;

    for (struct uk_stage *o = s->stages; o && t->kind == UK_TENSOR_TEMP; o = o->next) {
        if (o != st && o->operand[0].tensor == t)
            return NULL;
        if (!uk_reads(o, t))
            continue;
        if (reader)
            return NULL;
        reader = o;
    }
    return reader;
}
