/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hints: the elements that a kernel prefetches while it computes. They are those of an operand in the next
 * iteration of the innermost loop that moves it. The calls inside that loop share them: each step of a kernel
 * along its sum prefetches 64 bytes, and where a row of the operand's panel is longer, successive calls
 * prefetch different parts of it.
 */
#include <string.h>
#include "lower.h"

enum { STEP = 64 }; /* bytes prefetched for each term of a sum */

static const struct uk_tensor *hinted(const struct uk_form *f) {
    for (int i = 0; i < f->arguments; i++)
        if (f->argument[i].hint)
            return f->argument[i].hint;
    return NULL;
}

/* Calls that prefetch different parts: as many as a row of the declared panel has steps. */
static int64_t parts_of(const struct uk_tensor *t) {
    int64_t row = 1, stride;

    for (int d = 0; d < t->stored_dims; d++)
        if (uk_index_is_int(t->stride[d], &stride) && stride > row)
            row = stride;
    return (row * (int64_t)uk_type_bytes(t->type) + STEP - 1) / STEP;
}

/* Terms of the call's innermost sum. */
static struct uk_index *terms_of(const struct uk_node *call) {
    const struct uk_statement *computes = call->intrinsic->computes;
    struct uk_index *e = computes->extent[computes->iterators - 1];

    return e->op == UK_I_VAR ? call->bind[e->var->number] : e;
}

/* The position of the innermost loop outside of the tile that moves the operand; -1: none does. */
static int moving_loop(const struct uk_stage *st, const struct uk_operand *o) {
    int i = st->tile - 1;

    while (i >= 0 && !uk_depends(o, st->loop[i]))
        i--;
    return i;
}

/* Number of the call's part: the iterations of the loops inside of the moving one, counted together. */
static struct uk_index *part_number(struct uk_schedule *s, const struct uk_stage *st,
                                    struct uk_index *const *value, int moving, int64_t parts) {
    struct uk_index *sum = uk_index_int(s->arena, 0);

    for (int i = moving + 1; i < st->tile; i++)
        if (value[st->loop[i]->id])
            sum = uk_index_op(s->arena, UK_I_ADD, sum, value[st->loop[i]->id]);
    return uk_index_op(s->arena, UK_I_MOD, sum, uk_index_int(s->arena, parts));
}

bool uk_lower_hint(struct uk_schedule *s, const struct uk_stage *st, struct uk_index *const *value,
                   struct uk_node *call) {
    const struct uk_tensor *t = hinted(&call->intrinsic->form[call->form]);
    int number = t ? uk_tensor_number(call->intrinsic->declaration, t) : -1;
    struct uk_index *next[UK_MAX_LOOPS];

    if (number < 0 || (s->target->arch && s->target->arch->is_device))
        return true;
    const struct uk_operand *o =
        st->match->at ? &st->match->at[number] : &st->operand[st->match->operand[number]];
    const int moving = moving_loop(st, o);
    const int64_t parts = parts_of(t), step = STEP / (int64_t)uk_type_bytes(t->type);

    memcpy(next, value, sizeof next);
    if (moving >= 0) {
        struct uk_index **moved = &next[st->loop[moving]->id], *one = uk_index_int(s->arena, 1);

        *moved = *moved ? uk_index_op(s->arena, UK_I_ADD, *moved, one) : one;
    }
    struct uk_access *ahead = uk_alloc(s->arena, sizeof *ahead);
    if (!ahead)
        return uk_out_of_memory(s->context), false;
    *ahead = (struct uk_access){.tensor = o->tensor};
    for (int d = 0; d < o->tensor->stored_dims; d++)
        if (!(ahead->index[d] = uk_affine_value(s, st, &o->index[d], next)))
            return uk_out_of_memory(s->context), false;
    call->part = uk_index_op(s->arena, UK_I_MUL, part_number(s, st, value, moving, parts),
                             uk_index_op(s->arena, UK_I_MUL, terms_of(call), uk_index_int(s->arena, step)));
    call->ahead = ahead;
    return call->part || (uk_out_of_memory(s->context), false);
}
