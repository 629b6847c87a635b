/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nests as kernels of a wave. A nest that is the kernel as one lane sees it (lane.c) is the wave's if,
 * besides, the loops over thread.x are the digits of the lane's number, and each moves the operands by as
 * much as a lane's first element does.
 */
#include "attempt.h"

/* "i / 4 % 2" */
static const char *digit_text(const struct uk_attempt *t, const struct uk_lane_digit *digit) {
    const char *axis = t->k->wave->computes->iterator[digit->axis]->name;
    const char *text = digit->divisor > 1
                           ? uk_format(t->s->arena, "%s / %lld %% %lld", axis, (long long)digit->divisor,
                                       (long long)digit->extent)
                           : uk_format(t->s->arena, "%s %% %lld", axis, (long long)digit->extent);

    return text ? text : axis;
}

/* The loop over threads that is this digit of the lane's number; NULL, with the difference recorded: no loop
 * is. */
static const struct uk_loop *loop_of(struct uk_attempt *t, const struct uk_lane_digit *digit) {
    const struct uk_loop *other = NULL;

    for (int i = 0; i < t->tile; i++) {
        const struct uk_loop *l = t->st->loop[i];

        if (l->kind != UK_LOOP_THREAD || l->axis || uk_axis_weight(t->st, l) != digit->weight)
            continue;
        if (uk_constant_extent(t->st, l) == digit->extent)
            return l;
        other = l;
    }
    if (other)
        uk_record_difference(
            t,
            "lanes %lld apart differ in %s in the kernel, of %lld values, and in loop %s, of "
            "%lld threads, here; split the loop by %lld",
            (long long)digit->weight, digit_text(t, digit), (long long)digit->extent, other->var->name,
            (long long)uk_constant_extent(t->st, other), (long long)digit->extent);
    else
        uk_record_difference(
            t,
            "lanes %lld apart differ in %s, and no loop over thread.x does; split the loop for %s, and bind "
            "the one of %lld iterations to thread.x%s",
            (long long)digit->weight, digit_text(t, digit), t->k->wave->computes->iterator[digit->axis]->name,
            (long long)digit->extent,
            digit->weight == 1 ? ", inside of the others of that axis"
                               : uk_format(t->s->arena, ", around loops over %lld threads of that axis",
                                           (long long)digit->weight));
    return NULL;
}

static int64_t value_of(const struct uk_var *v, void *one) {
    return v == one;
}

/* True if the index contains a quotient or remainder of something with v. */
static bool divides(const struct uk_index *e, const struct uk_var *v) {
    if (!e)
        return false;
    return ((e->op == UK_I_DIV || e->op == UK_I_MOD) && uk_mentions(e, v)) || divides(e->a, v) ||
           divides(e->b, v);
}

/* The distance by which a step along the wave's axis moves the operand that e accesses. */
static struct uk_poly step_along(const struct uk_attempt *t, const struct uk_access *e, int axis) {
    const struct uk_var *v = t->k->wave->computes->iterator[axis];
    struct uk_poly sum = {0};

    for (int d = 0; d < e->tensor->stored_dims; d++) {
        const struct uk_index *x = uk_stored_index(t->s->arena, e, d);
        bool overflow = false;

        if (!x || divides(x, v))
            return (struct uk_poly){.terms = -1};
        struct uk_poly stride = uk_poly_of(e->tensor->stride[d]);
        if (uk_mentions(x, v))
            sum = uk_poly_add(sum, &stride,
                              uk_index_eval(x, value_of, (void *)v, &overflow) -
                                  uk_index_eval(x, value_of, NULL, &overflow));
    }
    return sum;
}

/* The wave's access number *n of those in e, in the order of a stage's operands. */
static const struct uk_access *access_of(const struct uk_expr *e, int *n) {
    const struct uk_access *found = NULL;

    if (e->op == UK_E_ACCESS)
        return --*n ? NULL : &e->access;
    for (int i = 0; i < 3 && !found; i++)
        found = e->arg[i] ? access_of(e->arg[i], n) : NULL;
    return found;
}

static bool check_digit(struct uk_attempt *t, const struct uk_lane_digit *digit) {
    const struct uk_loop *l = loop_of(t, digit);

    for (int i = 0; i < t->pairs && l; i++) {
        const struct uk_pair *p = &t->pair[i];
        int n = p->declared;

        if (!n)
            continue;
        struct uk_poly step = step_along(t, access_of(t->k->wave->computes->right, &n), digit->axis);
        struct uk_poly want = uk_poly_add((struct uk_poly){0}, &step, digit->divisor);
        const struct uk_poly have = uk_match_step(&t->view->operand[p->operand], l);

        want = uk_match_bound(t, &want);
        if (have.terms < 0 || want.terms < 0 || !uk_poly_equal(&want, &have))
            return uk_record_difference(t,
                                        "%s: the next lane of loop %s is %s elements on, but for %s of the "
                                        "kernel %s; let thread.x have "
                                        "the digits of the kernel's lanes, in their order",
                                        t->view->operand[p->operand].tensor->name, l->var->name,
                                        uk_poly_text(t, &have), digit_text(t, digit), uk_poly_text(t, &want));
    }
    return l;
}

bool uk_match_lanes(struct uk_attempt *t) {
    const int lanes = t->s->target->machine.core.device.lanes;
    int64_t threads = 1;

    if (!t->k->wave)
        return true;
    if (uk_match_lane_count(t->k) != lanes)
        return uk_record_difference(
            t, "%s is for waves of %lld lanes, and those of the target have %d; take a kernel for these",
            t->k->name, (long long)uk_match_lane_count(t->k), lanes);
    for (int i = 0; i < t->k->lane_digits; i++)
        if (!check_digit(t, &t->k->lane_digit[i]))
            return false;
    for (int i = 0; i < t->tile; i++)
        if (t->st->loop[i]->kind == UK_LOOP_THREAD && !t->st->loop[i]->axis)
            threads *= uk_constant_extent(t->st, t->st->loop[i]);
    return threads == lanes ||
           uk_record_difference(
               t,
               "thread.x has %lld threads, and has to be one wave, of %d lanes; bind the other "
               "loops to thread.y or thread.z",
               (long long)threads, lanes);
}
