/* SPDX-License-Identifier: Apache-2.0 */
/* split: one loop becomes two. */
#include <string.h>
#include "schedule.h"

/* Returns the bound's upper limit / divisor if that is exact for all sizes, else NULL; and of sums only if it
 * is a number: a tile of a sum that is empty for some sizes initializes the result with an extent of 0. */
static struct uk_index *quotient(struct uk_schedule *s, const struct uk_bound *b, int64_t divisor,
                                 bool is_sum) {
    struct uk_poly p = uk_poly_of(b->upper);

    if (is_sum && !uk_index_is_int(b->upper, NULL))
        return NULL;
    for (int i = 0; i < p.terms; i++) {
        if (p.term[i].factor % divisor)
            return NULL;
        p.term[i].factor /= divisor;
    }
    return p.terms < 0 ? NULL : uk_poly_index(s->arena, &p);
}

/* In bounds on l alone that are a multiple of the factor, replaces l < q * factor by outer < q. */
static bool split_bound(struct uk_schedule *s, struct uk_bound *b, const struct uk_loop *l, int64_t factor,
                        bool is_sum, const struct uk_loop *outer, const struct uk_loop *inner) {
    const int64_t a = b->form.coefficient[l->id];
    struct uk_index *q;

    if (!a)
        return true;
    if (!uk_affine_split(s, &b->form, l, factor, outer, inner))
        return false;
    if (a < 0 || !(q = quotient(s, b, a * factor, is_sum)))
        return true;
    for (int i = 0; i < UK_MAX_LOOPS; i++)
        if (b->form.coefficient[i] && i != outer->id && i != inner->id)
            return true;
    memset(&b->form, 0, sizeof b->form);
    b->form.coefficient[outer->id] = 1;
    b->upper = q;
    return true;
}

enum uk_status uk_split_loop(struct uk_schedule *s, struct uk_stage *st, int position, int64_t factor,
                             const char *outer_name, const char *inner_name, struct uk_position at) {
    struct uk_loop *l = st->loop[position];
    const bool is_sum = uk_is_reduced(st, l);
    struct uk_affine f = {0};
    enum uk_status status = uk_may_change(s, st, position, at, "split");

    if (status || (status = uk_check_plain(s, l, at, "split")) ||
        (status = uk_name_is_new(s, outer_name, at)) || (status = uk_name_is_new(s, inner_name, at)))
        return status;
    if (factor < 1)
        return uk_fail(s->context, UK_REFUSED, at, "split %s: the factor is %lld; it must be at least 1",
                       l->var->name, (long long)factor);
    if (!strcmp(outer_name, inner_name))
        return uk_fail(s->context, UK_REFUSED, at, "split %s: both loops are called %s", l->var->name,
                       outer_name);
    if (!uk_loop_divide(s, st, position, outer_name, inner_name))
        return uk_failure(s->context);
    struct uk_loop *outer = st->loop[position], *inner = st->loop[position + 1];
    outer->kind = l->kind;
    outer->at = l->at;
    st->tile = st->loops;
    for (int i = 0; i < st->bounds; i++)
        if (!split_bound(s, &st->bound[i], l, factor, is_sum, outer, inner))
            return uk_out_of_memory(s->context);
    f.coefficient[inner->id] = 1;
    if ((status = uk_add_bound(s, st, &f, uk_index_int(s->arena, factor))))
        return status;
    for (int i = 0; i < st->iterators; i++)
        if (!uk_affine_split(s, &st->iterator[i], l, factor, outer, inner))
            return uk_out_of_memory(s->context);
    for (int o = 0; o < st->operands; o++) {
        for (int d = 0; d < st->operand[o].tensor->stored_dims; d++)
            if (!uk_affine_split(s, &st->operand[o].index[d], l, factor, outer, inner))
                return uk_out_of_memory(s->context);
        for (int i = 0; i < st->operand[o].valid; i++)
            if (!split_bound(s, &st->operand[o].within[i], l, factor, is_sum, outer, inner))
                return uk_out_of_memory(s->context);
    }
    return UK_OK;
}

enum uk_status uk_apply_split(struct uk_schedule *s, struct uk_step *step) {
    struct uk_stage *st;
    int position;
    int64_t factor = step->number[0];
    enum uk_status status = uk_find_loop(s, &step->loop[0], &st, &position);

    if (status)
        return status;
    if (step->parts) {
        int64_t n = uk_constant_extent(st, st->loop[position]);

        if (n < 0)
            return uk_fail(
                s->context, UK_REFUSED, step->at,
                "split %s parts: its extent is not a constant; split by a factor, or --define the size",
                step->loop[0].loop);
        if (factor < 1)
            return uk_fail(s->context, UK_REFUSED, step->at, "split %s parts %lld: at least 1 part",
                           step->loop[0].loop, (long long)factor);
        factor = n <= factor ? 1 : (n - 1) / factor + 1;
    }
    return uk_split_loop(s, st, position, factor, step->name[0], step->name[1], step->at);
}
