/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts the terms that a statement computes: points of its iterators for which `where` holds and which are
 * inside those pads whose outside terms are zero. Only iterators that occur in such conditions are
 * enumerated; those that share conditions are enumerated together. The longest of them is counted in closed
 * form if its factors are numbers.
 */
#include <string.h>
#include "shape.h"
#include "uk.h"
#include "base/base.h"
#include "language/language.h"

enum { MOST_ITERATORS = 2 * UK_MAX_DIMS, MOST_CONDITIONS = 256 };

/* A condition such as low < high or low <= high: `op` compares a and b. */
struct condition {
    enum uk_index_op op;
    const struct uk_index *a, *b; /* b: NULL means 0 */
    unsigned iterators;           /* bit i: iterator i occurs in it */
};

struct counting {
    const struct uk_statement *s;
    const int64_t *sizes;
    int64_t extent[MOST_ITERATORS], value[MOST_ITERATORS];
    int conditions;
    struct condition condition[MOST_CONDITIONS];
};

static int64_t value_of(const struct uk_var *v, void *user) {
    const struct counting *c = user;
    int i = v->kind == UK_VAR_ITERATOR ? uk_iterator_number(c->s, v) : -1;

    return i >= 0 ? c->value[i] : v->defined ? v->value : c->sizes[v->number];
}

static int64_t evaluate(struct counting *c, const struct uk_index *e) {
    bool overflow = false;

    return e ? uk_index_eval(e, value_of, c, &overflow) : 0;
}

static unsigned iterators_in(const struct uk_statement *s, const struct uk_index *e) {
    if (!e)
        return 0;
    int i = e->op == UK_I_VAR ? uk_iterator_number(s, e->var) : -1;
    return (i >= 0 ? 1u << i : 0) | iterators_in(s, e->a) | iterators_in(s, e->b) | iterators_in(s, e->c);
}

/* ---- the conditions ---- */

static void add(struct counting *c, enum uk_index_op op, const struct uk_index *a, const struct uk_index *b) {
    if (c->conditions < MOST_CONDITIONS)
        c->condition[c->conditions++] =
            (struct condition){op, a, b, iterators_in(c->s, a) | iterators_in(c->s, b)};
}

static void add_where(struct counting *c, const struct uk_index *e) {
    if (!e)
        return;
    if (e->op == UK_I_AND) {
        add_where(c, e->a);
        add_where(c, e->b);
    } else {
        add(c, e->op, e->a, e->b);
    }
}

/* Adds the conditions of pads that are 0 outside, in a product that is summed. */
static void add_pads(struct counting *c, const struct uk_expr *e) {
    if (e->op == UK_E_MUL) {
        add_pads(c, e->arg[0]);
        add_pads(c, e->arg[1]);
    } else if (e->op == UK_E_CAST) {
        add_pads(c, e->arg[0]);
    } else if (e->op == UK_E_PAD && uk_is_zero(e->arg[1])) {
        const struct uk_access *a = &e->arg[0]->access;

        for (int d = 0; d < a->tensor->dims; d++) {
            add(c, UK_I_GE, a->index[d], NULL);
            add(c, UK_I_LT, a->index[d], a->tensor->shape[d]);
        }
    }
}

static bool compares(enum uk_index_op op, int64_t a, int64_t b) {
    switch (op) {
    case UK_I_EQ:
        return a == b;
    case UK_I_NE:
        return a != b;
    case UK_I_LT:
        return a < b;
    case UK_I_LE:
        return a <= b;
    case UK_I_GT:
        return a > b;
    default:
        return a >= b;
    }
}

static bool all_hold(struct counting *c, unsigned among) {
    for (int i = 0; i < c->conditions; i++) {
        const struct condition *k = &c->condition[i];

        if ((k->iterators & among || (!k->iterators && !among)) &&
            !compares(k->op, evaluate(c, k->a), evaluate(c, k->b)))
            return false;
    }
    return true;
}

/* ---- counting ---- */

/* True if e is linear in the iterator, with a number as factor. */
static bool is_linear(const struct counting *c, const struct uk_index *e, unsigned iterator) {
    if (!e || !(iterators_in(c->s, e) & iterator) || e->op == UK_I_VAR)
        return true;
    if (e->op == UK_I_ADD || e->op == UK_I_SUB || e->op == UK_I_NEG)
        return is_linear(c, e->a, iterator) && is_linear(c, e->b, iterator);
    return e->op == UK_I_MUL && is_linear(c, e->a, iterator) && is_linear(c, e->b, iterator) &&
           !(iterators_in(c->s, e->a) & iterators_in(c->s, e->b) & iterator);
}

static bool all_linear(const struct counting *c, unsigned iterator) {
    for (int i = 0; i < c->conditions; i++) {
        const struct condition *k = &c->condition[i];

        if (k->iterators & iterator &&
            (k->op == UK_I_NE || !is_linear(c, k->a, iterator) || !is_linear(c, k->b, iterator)))
            return false;
    }
    return true;
}

/* Restricts [*low, *high) to the x with first + step * x >= 0. */
static void cut(int64_t first, int64_t step, int64_t *low, int64_t *high) {
    if (step == 0) {
        *high = first >= 0 ? *high : *low;
    } else if (step > 0) {
        int64_t from = -uk_floor_quotient(first, step);

        *low = from > *low ? from : *low;
    } else {
        int64_t to = uk_floor_quotient(first, -step) + 1;

        *high = to < *high ? to : *high;
    }
}

/* Number of values of iterator i that satisfy all conditions in which it occurs, for the current values of
 * the others. */
static double count_line(struct counting *c, int i) {
    int64_t low = 0, high = c->extent[i];

    for (int j = 0; j < c->conditions; j++) {
        const struct condition *k = &c->condition[j];
        int64_t difference[2]; /* values of a - b at 0 and 1 */

        if (!(k->iterators & 1u << i))
            continue;
        for (int x = 0; x < 2; x++) {
            c->value[i] = x;
            difference[x] = evaluate(c, k->a) - evaluate(c, k->b);
        }
        int64_t first = difference[0], step = difference[1] - difference[0];
        if (k->op == UK_I_GE || k->op == UK_I_GT || k->op == UK_I_EQ)
            cut(first - (k->op == UK_I_GT), step, &low, &high);
        if (k->op == UK_I_LE || k->op == UK_I_LT || k->op == UK_I_EQ)
            cut(-first - (k->op == UK_I_LT), -step, &low, &high);
    }
    return high > low ? (double)(high - low) : 0;
}

/* Enumerates the iterators of the set from the i-th on; `last`, unless negative, is counted in closed
 * form. */
static double count_points(struct counting *c, unsigned set, int last, int i) {
    double n = 0;

    while (i < c->s->iterators && (!(set & 1u << i) || i == last))
        i++;
    if (i == c->s->iterators) {
        if (last >= 0) { /* conditions without `last` must hold */
            for (int j = 0; j < c->conditions; j++) {
                const struct condition *k = &c->condition[j];

                if (k->iterators & set && !(k->iterators & 1u << last) &&
                    !compares(k->op, evaluate(c, k->a), evaluate(c, k->b)))
                    return 0;
            }
            return count_line(c, last);
        }
        return all_hold(c, set) ? 1 : 0;
    }
    for (c->value[i] = 0; c->value[i] < c->extent[i]; c->value[i]++)
        n += count_points(c, set, last, i + 1);
    return n;
}

/* The iterators connected to the set by shared conditions, transitively. */
static unsigned connected(const struct counting *c, unsigned set) {
    for (unsigned before = 0; before != set;) {
        before = set;
        for (int i = 0; i < c->conditions; i++)
            if (c->condition[i].iterators & set)
                set |= c->condition[i].iterators;
    }
    return set;
}

static double count_set(struct counting *c, unsigned set) {
    int last = -1;

    for (int i = 0; i < c->s->iterators; i++)
        if (set & 1u << i && all_linear(c, 1u << i) && (last < 0 || c->extent[i] > c->extent[last]))
            last = i;
    return count_points(c, set, last, 0);
}

double uk_terms(const struct uk_statement *s, const int64_t *sizes) {
    struct counting c = {.s = s, .sizes = sizes};
    double n = 1;

    for (int i = 0; i < s->iterators; i++)
        c.extent[i] = uk_value(s->extent[i], sizes);
    add_where(&c, s->where);
    if (s->reduce == UK_REDUCE_SUM)
        add_pads(&c, s->right);
    if (!all_hold(&c, 0))
        return 0;
    for (unsigned done = 0, i = 0; i < (unsigned)s->iterators; i++) {
        if (done & 1u << i)
            continue;
        unsigned set = connected(&c, 1u << i);

        n *= set == 1u << i && !all_linear(&c, set) ? count_points(&c, set, -1, 0) : count_set(&c, set);
        done |= set;
    }
    return n;
}
