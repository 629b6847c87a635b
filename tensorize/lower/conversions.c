/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Conversions of constant tensors, which `widen` makes. Copies of what they store are made once for the whole
 * program, from the constant itself: they convert its elements. A conversion whose elements nothing else
 * reads is left out.
 */
#include "lower.h"

/* The subscripts of the converted tensor are those of the constant. */
static bool convert_in_copy(struct uk_schedule *s, const struct uk_stage *conversion, struct uk_stage *copy) {
    struct uk_tensor *constant = conversion->operand[1].tensor;
    struct uk_expr *read = copy->statement->right->arg[0], *cast = uk_alloc(s->arena, sizeof *cast);

    if (!cast)
        return false;
    *cast = *conversion->statement->right;
    cast->arg[0] = read;
    read->type = constant->type;
    read->access.tensor = copy->operand[1].tensor = constant;
    copy->statement->right->arg[0] = cast;
    copy->statement->right->depth = cast->depth + 1;
    return true;
}

static bool is_read(const struct uk_schedule *s, const struct uk_tensor *t) {
    const struct uk_stage *st = s->stages;

    while (st && !uk_reads(st, t))
        st = st->next;
    return st;
}

static void leave_out(struct uk_schedule *s, struct uk_stage **at) {
    struct uk_stage *st = *at;

    uk_take_buffer(s, st->operand[0].tensor);
    if (st->parent)
        st->parent->attached--;
    st->is_gone = true;
    *at = st->next;
}

enum uk_status uk_convert_constants(struct uk_schedule *s) {
    for (struct uk_stage **at = &s->stages, *st; (st = *at);) {
        bool is_copied = false;

        for (struct uk_stage *c = s->stages; c && uk_is_constant_conversion(st); c = c->next) {
            if (!uk_is_constant_pack(c) || c->operand[1].tensor != st->operand[0].tensor)
                continue;
            if (!convert_in_copy(s, st, c))
                return uk_out_of_memory(s->context);
            is_copied = true;
        }
        if (is_copied && !is_read(s, st->operand[0].tensor))
            leave_out(s, at);
        else
            at = &st->next;
    }
    return UK_OK;
}
