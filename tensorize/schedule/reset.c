/* SPDX-License-Identifier: Apache-2.0 */
/* The initialization of a reduction, as a stage of its own. */
#include <math.h>
#include "schedule.h"

struct uk_expr *uk_identity(struct uk_schedule *s, const struct uk_stage *st) {
    enum uk_reduce reduce = st->statement->reduce;
    enum uk_type type = st->operand[0].tensor->type;
    struct uk_expr *e = uk_alloc(s->arena, sizeof *e);
    bool real = uk_type_is_float(type);

    if (!e)
        return NULL;
    *e = (struct uk_expr){.op = UK_E_NUMBER, .type = type, .is_integer = true};
    if (reduce == UK_REDUCE_PROD)
        e->integer = 1;
    if (reduce == UK_REDUCE_MAX || reduce == UK_REDUCE_MIN) {
        e->is_integer = !real;
        /* All bits of the largest u64 are set. */
        e->integer = reduce == UK_REDUCE_MAX ? uk_integer_min(type)
                     : type == UK_U64        ? -1
                                             : uk_integer_max(type);
        e->number = reduce == UK_REDUCE_MAX ? -HUGE_VAL : HUGE_VAL;
    }
    return e;
}

/* Makes a stage that stores the identity wherever st stores its result: st's loops except those of the
 * reduction. */
struct uk_stage *uk_reset_stage(struct uk_schedule *s, const struct uk_stage *st) {
    struct uk_stage *r = uk_alloc(s->arena, sizeof *r);
    struct uk_statement *t = uk_alloc(s->arena, sizeof *t);

    if (!r || !t)
        return uk_out_of_memory(s->context), NULL;
    *t = *st->statement;
    t->next = NULL;
    t->reduce = UK_REDUCE_NONE;
    t->iterators = t->left_iterators;
    t->right = uk_identity(s, st);
    t->label = uk_format(s->arena, "%s_init", st->name);
    if (!t->right || !t->label)
        return uk_out_of_memory(s->context), NULL;
    *r = *st;
    r->next = NULL;
    r->match = NULL;
    r->name = t->label;
    r->statement = t;
    r->is_reset = true;
    r->is_filtered = false;
    r->previous = NULL;
    r->operands = 1;
    r->iterators = t->iterators;
    r->loops = r->tile = 0;
    for (int i = 0; i < st->loops; i++)
        if (!uk_is_reduced(st, st->loop[i])) {
            r->tile += i < st->tile;
            r->loop[r->loops++] = st->loop[i];
        }
    r->bounds = 0;
    for (int b = 0; b < st->bounds; b++) {
        bool of_sum = st->bound[b].is_guard;

        for (int i = 0; i < st->loops; i++)
            of_sum |= uk_is_reduced(st, st->loop[i]) && st->bound[b].form.coefficient[st->loop[i]->id];
        if (!of_sum)
            r->bound[r->bounds++] = st->bound[b];
    }
    return r;
}
