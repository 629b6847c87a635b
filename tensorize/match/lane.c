/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels of a wave whose output is spread over its lanes, as one lane sees them. With the layout
 *
 *     c [32, 64] layout (i, j) -> lane i / 4 % 2 * 32 + j % 32, [i / 8, i % 4, j / 32]
 *
 * a lane has in registers the elements of one value of i / 4 % 2 and of j % 32. So its kernel has the axes i
 * / 8, i % 4 and j / 32; it accesses a[i, p] at i = 8 (i / 8) + i % 4, from the first element of the lane on.
 */
#include <string.h>
#include "attempt.h"

struct maker {
    struct uk_schedule *s;
    struct uk_arena *a;
    const struct uk_intrinsic *wave;
    struct uk_intrinsic *out;
    /* By dimension of the output: the axis that indexes it, and what replaces that axis. */
    int axis[UK_MAX_DIMS];
    struct uk_index *lane_value[UK_MAX_DIMS];
};

static enum uk_status refuse(const struct maker *m, const char *why) {
    const struct uk_tensor *c = m->wave->computes->left.tensor;

    return uk_fail(m->s->context, UK_REFUSED, c->at.line ? c->at : m->wave->at, "%s: %s %s", m->wave->name,
                   c->name, why);
}

static enum uk_status find_axes(struct maker *m) {
    const struct uk_statement *s = m->wave->computes;

    if (s->where || s->left.tensor->scope != UK_SCOPE_REGISTER)
        return refuse(
            m, "is spread over the lanes of a wave, which have registers only; put it `in register`, and "
               "compute it without `where`");
    for (int d = 0; d < s->left.tensor->dims; d++) {
        const struct uk_index *e = s->left.index[d];

        m->axis[d] = -1;
        for (int i = 0; e->op == UK_I_VAR && i < s->left_iterators; i++)
            m->axis[d] = s->iterator[i] == e->var ? i : m->axis[d];
        if (m->axis[d] < 0 || !uk_index_is_int(s->extent[m->axis[d]], NULL))
            return refuse(m, "is spread over the lanes of a wave; index it by iterators of constant extents");
    }
    return UK_OK;
}

/* Sets the extent of a digit: what its quotient leaves of the axis, or its modulus. */
static int64_t extent_of(const struct maker *m, const struct uk_digit *digit) {
    int64_t n = 0;

    uk_index_is_int(m->wave->computes->extent[m->axis[digit->dim]], &n);
    n /= digit->divisor;
    return digit->modulus && digit->modulus < n ? digit->modulus : n;
}

/* Adds the terms of the lane's number, each a digit times a constant. */
static bool add_lane_digits(struct maker *m, const struct uk_map *map, const struct uk_index *e,
                            int64_t weight, struct uk_map *all) {
    struct uk_lane_digit *l = &m->out->lane_digit[m->out->lane_digits];
    struct uk_digit digit;
    int64_t c;

    if (e->op == UK_I_ADD)
        return add_lane_digits(m, map, e->a, weight, all) && add_lane_digits(m, map, e->b, weight, all);
    if (e->op == UK_I_MUL && uk_index_is_int(e->b, &c))
        return add_lane_digits(m, map, e->a, weight * c, all);
    if (e->op == UK_I_MUL && uk_index_is_int(e->a, &c))
        return add_lane_digits(m, map, e->b, weight * c, all);
    if (all->to_count == UK_MAX_DIMS || !uk_digit_of(map, e, &digit))
        return false;
    *l = (struct uk_lane_digit){m->axis[digit.dim], digit.divisor, extent_of(m, &digit), weight};
    all->to[all->to_count++] = (struct uk_index *)e;
    m->out->lane_digits++;
    return true;
}

int64_t uk_match_lane_count(const struct uk_intrinsic *k) {
    int64_t n = 1;

    for (int i = 0; i < k->lane_digits; i++)
        n *= k->lane_digit[i].extent;
    return n;
}

/* True if the digits number the lanes from 0 on, each once. */
static bool has_each_lane(const struct uk_intrinsic *k) {
    int64_t next = 1;

    for (int n = 0; n < k->lane_digits; n++) {
        const struct uk_lane_digit *found = NULL;

        for (int i = 0; i < k->lane_digits && !found; i++)
            found = k->lane_digit[i].weight == next ? &k->lane_digit[i] : NULL;
        if (!found)
            return false;
        next *= found->extent;
    }
    return next == uk_match_lane_count(k);
}

/* Checks that dimension d is given once by the quotients and remainders of lane and layout: the product of
 * the extents of those with smaller divisors is each one's divisor. Digits of one value do not matter. */
static enum uk_status check_dimension(const struct maker *m, const struct uk_map *all, int d) {
    const struct uk_statement *s = m->wave->computes;
    int64_t next = 1, extent = 0;
    struct uk_text list = {0};
    int digits = 0, used = 0;
    bool found = true;

    uk_index_is_int(s->extent[m->axis[d]], &extent);
    for (bool is_first = true; found; is_first = false) {
        found = false;
        for (int k = 0; k < all->to_count; k++) {
            struct uk_digit digit;

            if (!uk_digit_of(all, all->to[k], &digit) || digit.dim != d || extent_of(m, &digit) < 2)
                continue;
            if (is_first) {
                uk_put(&list, "%s", digits++ ? ", " : "");
                uk_print_index(&list, all->to[k]);
            }
            if (digit.divisor == next && !found) {
                next *= extent_of(m, &digit);
                found = ++used;
            }
        }
    }
    enum uk_status status =
        list.failed ? uk_out_of_memory(m->s->context)
        : next == extent && used == digits
            ? UK_OK
            : uk_fail(
                  m->s->context, UK_REFUSED, s->left.tensor->at,
                  "%s: of %s, which has %lld values, the lanes and registers of %s have %s; together these "
                  "have to give each value once, as the digits of a number do",
                  m->wave->name, s->iterator[m->axis[d]]->name, (long long)extent, s->left.tensor->name,
                  digits ? list.text : "nothing");
    uk_text_free(list.text);
    return status;
}

static enum uk_status find_lanes(struct maker *m) {
    const struct uk_map *map = m->wave->computes->left.tensor->layout;
    enum uk_status status = UK_OK;
    struct uk_map all = *map;

    if (!add_lane_digits(m, map, map->lane, 1, &all))
        return refuse(m,
                      "has a `lane` that is more than a sum of quotients and remainders of its dimensions by "
                      "constants, each times a constant; write it as in i / 4 % 2 * 32 + j % 32");
    for (int k = 0; k < map->to_count; k++) {
        struct uk_digit digit;

        if (!uk_digit_of(map, map->to[k], &digit))
            return refuse(
                m, "is spread over lanes, and an index in its registers is not one dimension, its quotient "
                   "or its remainder by a constant; write it as in [i / 8, i % 4]");
    }
    for (int d = 0; d < map->from_count && !status; d++)
        status = check_dimension(m, &all, d);
    return status || has_each_lane(m->out) ? status
                                           : refuse(m, "has no element in some lanes; let `lane` take each "
                                                       "value from 0 on, as i / 4 % 2 * 32 + "
                                                       "j % 32 does for 32 values of j");
}

static struct uk_var *add_axis(struct maker *m, struct uk_statement *s, const struct uk_index *digit,
                               int64_t extent) {
    struct uk_var *v = uk_alloc(m->a, sizeof *v);
    struct uk_text name = {0};

    uk_print_index(&name, digit);
    if (v)
        *v = (struct uk_var){.name = name.text ? uk_strdup(m->a, name.text) : NULL,
                             .kind = UK_VAR_ITERATOR,
                             .number = s->iterators};
    uk_text_free(name.text);
    if (!v || !v->name || !(s->extent[s->iterators] = uk_index_int(m->a, extent)))
        return NULL;
    s->iterator[s->iterators++] = v;
    return v;
}

/* Makes the lane's output, whose dimensions are the digits in registers, and the axes of its statement. */
static enum uk_status add_axes(struct maker *m, struct uk_statement *s, struct uk_tensor *c) {
    const struct uk_statement *of = m->wave->computes;
    const struct uk_map *map = of->left.tensor->layout;
    struct uk_index *elements = uk_index_int(m->a, 1);

    *c = *of->left.tensor;
    c->layout = NULL;
    c->dims = c->stored_dims = map->to_count;
    s->iterators = 0;
    for (int k = 0; k < map->to_count; k++) {
        struct uk_digit digit;
        const bool good = uk_digit_of(map, map->to[k], &digit);
        const int64_t extent = good ? extent_of(m, &digit) : 0;
        struct uk_var *v = good ? add_axis(m, s, map->to[k], extent) : NULL;
        struct uk_index *x = v ? uk_index_var(m->a, v) : NULL;

        if (!(c->shape[k] = c->stored[k] = uk_index_int(m->a, extent)) || !x)
            return uk_out_of_memory(m->s->context);
        s->left.index[k] = x;
        x = uk_index_op(m->a, UK_I_MUL, uk_index_int(m->a, digit.divisor), x);
        struct uk_index **sum = &m->lane_value[digit.dim];
        if (!(*sum = *sum ? uk_index_op(m->a, UK_I_ADD, *sum, x) : x))
            return uk_out_of_memory(m->s->context);
    }
    for (int k = c->dims; k-- > 0; elements = uk_index_op(m->a, UK_I_MUL, elements, c->shape[k]))
        c->stride[k] = elements;
    s->left.tensor = c;
    s->left_iterators = s->iterators;
    for (int i = of->left_iterators; i < of->iterators; i++) {
        s->extent[s->iterators] = of->extent[i];
        s->iterator[s->iterators++] = of->iterator[i];
    }
    return elements ? UK_OK : uk_out_of_memory(m->s->context);
}

static struct uk_index *in_lane(const struct maker *m, struct uk_index *e) {
    for (int d = 0; d < m->wave->computes->left.tensor->dims && e; d++)
        e = uk_substitute(m->a, e, m->wave->computes->iterator[m->axis[d]],
                          m->lane_value[d] ? m->lane_value[d] : uk_index_int(m->a, 0));
    return e;
}

/* A copy of the expression with the lane's elements in place of the wave's; NULL: no memory. */
static struct uk_expr *expression_in_lane(const struct maker *m, const struct uk_expr *e) {
    struct uk_expr *x = uk_alloc(m->a, sizeof *x);

    if (!x)
        return NULL;
    *x = *e;
    if (e->op == UK_E_INDEX && !(x->index = in_lane(m, e->index)))
        return NULL;
    for (int d = 0; e->op == UK_E_ACCESS && d < e->access.tensor->dims; d++)
        if (!(x->access.index[d] = in_lane(m, e->access.index[d])))
            return NULL;
    for (int i = 0; i < 3; i++)
        if (e->arg[i] && !(x->arg[i] = expression_in_lane(m, e->arg[i])))
            return NULL;
    return x;
}

/* Gives the lane's kernel a declaration of its own: the wave's with the other output and statement. */
static enum uk_status declare(struct maker *m) {
    const struct uk_statement *of = m->wave->computes;
    struct uk_program *p = uk_alloc(m->a, sizeof *p);
    struct uk_statement *s = uk_alloc(m->a, sizeof *s);
    struct uk_tensor *c = uk_alloc(m->a, sizeof *c), **tensors;

    if (!p || !s || !c)
        return uk_out_of_memory(m->s->context);
    *p = *m->wave->declaration;
    *s = *of;
    enum uk_status status = add_axes(m, s, c);
    if (status)
        return status;
    if (!(s->right = expression_in_lane(m, of->right)))
        return uk_out_of_memory(m->s->context);
    /* A list of copies, so that the wave's stays as it is. */
    tensors = &p->tensors;
    for (const struct uk_tensor *t = m->wave->declaration->tensors; t; t = t->next) {
        if (t == of->left.tensor) {
            *tensors = c;
        } else if (!(*tensors = uk_alloc(m->a, sizeof **tensors))) {
            return uk_out_of_memory(m->s->context);
        } else {
            **tensors = *t;
        }
        tensors = &(*tensors)->next;
    }
    *tensors = NULL;
    p->statements = m->out->computes = s;
    m->out->declaration = p;
    return UK_OK;
}

/* The tensor of the lane's declaration in the place of the wave's. */
static struct uk_tensor *tensor_of(const struct maker *m, const struct uk_tensor *of) {
    struct uk_tensor *x = m->out->declaration->tensors;

    for (const struct uk_tensor *t = m->wave->declaration->tensors; t && t != of; t = t->next)
        x = x->next;
    return of ? x : NULL;
}

/* The number of values of dimension d of the output, from a lane's first to its last. */
static int64_t span_of(const struct maker *m, int d) {
    const struct uk_map *map = m->wave->computes->left.tensor->layout;
    int64_t last = 0;

    for (int k = 0; k < map->to_count; k++) {
        struct uk_digit digit;

        if (uk_digit_of(map, map->to[k], &digit) && digit.dim == d)
            last += digit.divisor * (extent_of(m, &digit) - 1);
    }
    return last + 1;
}

/* Shrinks the dimensions of the lane's tensor that the wave's access indexes by an axis of the output. */
static bool shrink(const struct maker *m, const struct uk_access *of, struct uk_tensor *t) {
    for (int d = 0; d < t->dims; d++)
        for (int axis = 0; axis < m->wave->computes->left.tensor->dims; axis++) {
            const struct uk_var *v = m->wave->computes->iterator[m->axis[axis]];
            struct uk_index *n = uk_index_int(m->a, span_of(m, axis));

            if (of->index[d]->op != UK_I_VAR || of->index[d]->var != v)
                continue;
            if (!n)
                return false;
            t->shape[d] = n;
            for (int k = 0; k < t->stored_dims; k++)
                if (t->layout
                        ? t->layout->to[k]->op == UK_I_VAR && t->layout->to[k]->var == t->layout->from[d]
                        : k == d)
                    t->stored[k] = n;
        }
    return true;
}

/* Lets the accesses of e, the lane's copy of `of`, be to the lane's tensors. False: no memory. */
static bool set_accesses(const struct maker *m, struct uk_expr *e, const struct uk_expr *of) {
    if (e->op == UK_E_ACCESS) {
        e->access.tensor = tensor_of(m, of->access.tensor);
        if (!shrink(m, &of->access, e->access.tensor))
            return false;
    }
    for (int i = 0; i < 3; i++)
        if (e->arg[i] && !set_accesses(m, e->arg[i], of->arg[i]))
            return false;
    return true;
}

static enum uk_status set_forms(struct maker *m) {
    if (!set_accesses(m, m->out->computes->right, m->wave->computes->right))
        return uk_out_of_memory(m->s->context);
    for (int k = 0; k < UK_FORMS; k++) {
        struct uk_form *f = &m->out->form[k];
        const struct uk_argument *of = f->argument;

        if (!f->is_declared)
            continue;
        if (!(f->argument = uk_alloc(m->a, sizeof *of * (size_t)(f->arguments + 1))))
            return uk_out_of_memory(m->s->context);
        for (int i = 0; i < f->arguments; i++) {
            f->argument[i] = of[i];
            f->argument[i].tensor = tensor_of(m, of[i].tensor);
            f->argument[i].hint = tensor_of(m, of[i].hint);
        }
    }
    return UK_OK;
}

enum uk_status uk_kernel_of_lane(struct uk_schedule *s, struct uk_intrinsic *i, struct uk_intrinsic **out) {
    const struct uk_map *map = i->computes->left.tensor->layout;
    /* In the context, since a program's arena is released after each compilation. */
    struct maker m = {.s = s, .a = &s->context->arena, .wave = i};

    *out = i->lane ? i->lane : i;
    if (i->lane || i->wave || !map || !map->lane || i->scope != UK_EXEC_WAVE)
        return UK_OK;
    if (!(m.out = uk_alloc(m.a, sizeof *m.out)))
        return uk_out_of_memory(s->context);
    *m.out = *i;
    m.out->wave = i;
    enum uk_status status = find_axes(&m);
    if (status || (status = find_lanes(&m)) || (status = declare(&m)) || (status = set_forms(&m)))
        return status;
    *out = i->lane = m.out;
    return UK_OK;
}
