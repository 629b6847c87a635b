/* SPDX-License-Identifier: Apache-2.0 */
/* Estimates the values of sizes by constants, assumptions and the defaults of `size` items, and those of
 * strides by extents. */
#include "minmax.h"
#include "stages.h"

enum { GUESS = 1024 }; /* value of unknown sizes */

struct evaluation {
    const struct uk_program *program;
    bool ignores_defined; /* sizes that --define makes constants have their defaults */
    bool at_least;        /* sizes have their lower bounds instead of larger defaults */
    bool known;           /* cleared by a size without a value */
};

static int64_t value_of(const struct uk_var *v, void *user);

/* The value of a size that occurs only as a stride: the largest that it would have in dense tensors. 0: the
 * size is an extent, or inner extents are unknown. */
static int64_t dense_stride(const struct uk_var *v, const struct evaluation *e) {
    int64_t most = 0;

    for (const struct uk_tensor *t = e->program->tensors; t && !v->is_extent; t = t->next) {
        struct evaluation inner = *e;
        int order[UK_MAX_DIMS];
        int64_t elements = 1;
        bool overflow = false;

        uk_order_by_stride(t, order);
        inner.known = true;
        for (int i = 0; i < t->stored_dims && inner.known && !overflow; i++) {
            const struct uk_index *stride = t->stride[order[i]];

            if (stride->op == UK_I_VAR && stride->var == v)
                most = uk_max(most, elements);
            overflow = __builtin_mul_overflow(
                elements, uk_index_eval(t->stored[order[i]], value_of, &inner, &overflow), &elements);
        }
    }
    return most;
}

/* The default of the size, or the lower bound, at least 1, that the program assumes for it if that is less.
 */
static int64_t least_of(const struct uk_var *v, const struct uk_program *p) {
    int64_t least = 0;

    for (const struct uk_assume *a = p->assumes; a; a = a->next) {
        const struct uk_index *r = a->relation, *low = r->op == UK_I_GE ? r->b : r->a,
                              *high = r->op == UK_I_GE ? r->a : r->b;
        int64_t n;

        if ((r->op == UK_I_LE || r->op == UK_I_GE) && high->op == UK_I_VAR && high->var == v &&
            uk_index_is_int(low, &n))
            least = uk_max(least, uk_max(n, 1));
    }
    return least ? uk_min(least, v->default_value) : v->default_value;
}

/* The size's value by --define, by its definition, or by a `size` item; else, for a stride, that of dense
 * tensors. If there is none, clears `known`. */
static int64_t value_of(const struct uk_var *v, void *user) {
    struct evaluation *e = user;

    if (v->defined && !e->ignores_defined)
        return v->value;
    if (v->definition) {
        bool overflow = false;
        int64_t n = uk_index_eval(v->definition, value_of, user, &overflow);

        e->known = e->known && !overflow;
        return n;
    }
    if (v->has_default)
        return e->at_least ? least_of(v, e->program) : v->default_value;
    const int64_t stride = dense_stride(v, e);

    e->known = e->known && stride;
    return stride;
}

/* The value of e, or 0 if it is unknown. */
static int64_t evaluate(const struct uk_schedule *s, const struct uk_index *e, bool ignores_defined) {
    struct evaluation v = {s->program, ignores_defined, s->at_least, true};
    bool overflow = false;
    int64_t n = uk_index_eval(e, value_of, &v, &overflow);

    for (const struct uk_assume *a = s->program->assumes; a && !v.known; a = a->next) {
        if (a->relation->op != UK_I_EQ || !uk_index_equal(a->relation->a, e))
            continue;
        v.known = true;
        n = uk_index_eval(a->relation->b, value_of, &v, &overflow);
    }
    return v.known && !overflow && n > 0 ? n : 0;
}

int64_t uk_known_size(const struct uk_schedule *s, const struct uk_index *e) {
    return evaluate(s, e, false);
}

double uk_size_estimate(const struct uk_schedule *s, const struct uk_index *e) {
    int64_t n = uk_known_size(s, e);

    return n ? (double)n : GUESS;
}

double uk_size_of_argument(const struct uk_schedule *s, const struct uk_index *e) {
    int64_t n = evaluate(s, e, true);

    return n ? (double)n : GUESS;
}

double uk_extent_estimate(const struct uk_schedule *s, const struct uk_stage *st, const struct uk_loop *l) {
    return uk_size_estimate(s, st->statement->extent[l->iterator]);
}

double uk_values_estimate(const struct uk_schedule *s, const struct uk_stage *st, const struct uk_loop *l) {
    double estimate = uk_extent_estimate(s, st, l);
    int64_t extent = uk_constant_extent(st, l); /* the extent if the loop is a part of its iterator */

    return extent >= 0 && (double)extent < estimate ? (double)extent : estimate;
}
