/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pipeline L n: buffers in shared memory that each iteration of L fills get n slots. Iteration L fills and
 * reads slot L % n, so that lowering may fill slots of later iterations ahead.
 */
#include "schedule.h"

enum { MOST_SLOTS = 4 };

static bool is_filled_at(const struct uk_stage *c, const struct uk_stage *st, int position) {
    return c->is_copy && c->parent == st && c->prefix == position + 1 &&
           c->operand[0].tensor->scope == UK_SCOPE_SHARED;
}

static enum uk_status refuse(struct uk_schedule *s, const struct uk_step *step, const char *why) {
    return uk_fail(s->context, UK_REFUSED, step->at, "pipeline %s: %s", step->loop[0].loop, why);
}

static enum uk_status check(struct uk_schedule *s, const struct uk_step *step, const struct uk_stage *st,
                            int position) {
    const struct uk_loop *l = st->loop[position];
    int copies = 0;

    if (position >= st->tile)
        return refuse(s, step, "the loop is inside a kernel; take one outside of the tensorized loops");
    if (l->kind != UK_LOOP_SERIAL)
        return refuse(s, step,
                      "the loop is bound, unrolled or vectorized; take a serial loop, around the threads");
    if (l->slots)
        return refuse(s, step, "the loop is a pipeline already; leave the step out");
    if (step->number[0] < 2 || step->number[0] > MOST_SLOTS)
        return refuse(s, step, "a pipeline has 2 to 4 slots");
    for (const struct uk_stage *c = s->stages; c; c = c->next)
        copies += is_filled_at(c, st, position);
    if (!copies)
        return refuse(s, step,
                      "no buffer in shared is filled in each iteration of the loop; put the step after "
                      "`cache_read TENSOR at` this loop `in shared`");
    return UK_OK;
}

/* Adds the slot as the first dimension. */
static enum uk_status add_slots(struct uk_schedule *s, struct uk_tensor *t, const struct uk_loop *l,
                                int64_t n) {
    struct uk_arena *a = s->arena;
    struct uk_index *size = uk_index_int(a, n),
                    *slot = uk_index_op(a, UK_I_MOD, uk_index_var(a, l->var), size);

    for (int d = t->dims; d > 0; d--) {
        t->shape[d] = t->shape[d - 1];
        t->stored[d] = t->stored[d - 1];
        t->stride[d] = t->stride[d - 1];
    }
    t->dims = ++t->stored_dims;
    t->shape[0] = t->stored[0] = size;
    for (struct uk_buffer *b = s->buffers; b; b = b->next)
        if (b->tensor == t) {
            t->stride[0] = b->elements;
            b->slots = l->var;
            b->elements = uk_index_op(a, UK_I_MUL, b->elements, size);
        }
    for (struct uk_stage *st = s->stages; st; st = st->next)
        for (int o = 0; o < st->operands; o++) {
            struct uk_operand *x = &st->operand[o];

            if (x->tensor != t)
                continue;
            for (int d = t->dims; d-- > 1;)
                x->index[d] = x->index[d - 1];
            x->index[0] = (struct uk_affine){.general = slot};
        }
    return slot ? UK_OK : uk_out_of_memory(s->context);
}

enum uk_status uk_apply_pipeline(struct uk_schedule *s, struct uk_step *step) {
    struct uk_stage *st;
    int position;

    if (!s->target->machine.core.device.threads)
        return uk_fail(s->context, UK_UNSUPPORTED, step->at,
                       "pipeline %s: the target %s has no shared memory, only GPUs have; leave the step out",
                       step->loop[0].loop, s->target->name);
    enum uk_status status = uk_find_loop(s, &step->loop[0], &st, &position);
    if (status || (status = check(s, step, st, position)))
        return status;
    struct uk_loop *l = st->loop[position];
    for (struct uk_stage *c = s->stages; c && !status; c = c->next) {
        if (!is_filled_at(c, st, position))
            continue;
        if (c->operand[0].tensor->dims == UK_MAX_DIMS)
            return refuse(
                s, step,
                "a buffer has the maximum number of dimensions already, and the slots need one more");
        status = add_slots(s, c->operand[0].tensor, l, step->number[0]);
    }
    l->slots = (int)step->number[0];
    l->at = step->at;
    return status;
}
