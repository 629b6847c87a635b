/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Vectors of a GPU's threads. An innermost loop that moves up to 16 bytes between adjacent elements is one
 * load and one store; if only the loaded elements are adjacent, and the target is in shared memory or
 * registers, it is one load. Global memory need not be aligned for them; in shared memory each vector is
 * aligned.
 */
#include "lower.h"

enum { MIN_BYTES = 4, HALF_BYTES = 8, MAX_BYTES = 16 };

/* The change of e per step of v; false: it is not constant. */
static bool step_of(const struct uk_index *e, const struct uk_var *v, int64_t *step) {
    int64_t a = 0, b = 0, c;

    *step = 0;
    if (!e || !uk_mentions(e, v))
        return true;
    switch (e->op) {
    case UK_I_VAR:
        *step = 1;
        return true;
    case UK_I_ADD:
    case UK_I_SUB:
        return step_of(e->a, v, &a) && step_of(e->b, v, &b) &&
               !(e->op == UK_I_ADD ? __builtin_add_overflow(a, b, step) : __builtin_sub_overflow(a, b, step));
    case UK_I_NEG:
        return step_of(e->a, v, &a) && !__builtin_sub_overflow((int64_t)0, a, step);
    case UK_I_MUL:
        if (uk_index_is_int(e->a, &c))
            return step_of(e->b, v, &b) && !__builtin_mul_overflow(b, c, step);
        return uk_index_is_int(e->b, &c) && step_of(e->a, v, &a) && !__builtin_mul_overflow(a, c, step);
    default:
        return false;
    }
}

/* True if e is a multiple of n for v = 0 and any values of its other variables. */
static bool is_multiple(const struct uk_index *e, const struct uk_var *v, int64_t n) {
    int64_t c;

    if (uk_index_is_int(e, &c))
        return c % n == 0;
    switch (e->op) {
    case UK_I_VAR:
        return e->var == v;
    case UK_I_NEG:
        return is_multiple(e->a, v, n);
    case UK_I_ADD:
    case UK_I_SUB:
        return is_multiple(e->a, v, n) && is_multiple(e->b, v, n);
    case UK_I_MUL:
        return is_multiple(e->a, v, n) || is_multiple(e->b, v, n) ||
               (uk_index_is_int(e->a, &c) && n % c == 0 && is_multiple(e->b, v, n / c)) ||
               (uk_index_is_int(e->b, &c) && n % c == 0 && is_multiple(e->a, v, n / c));
    default:
        return false;
    }
}

/* True if the elements are adjacent along v and, in shared memory, each n of them are aligned to their
 * size. */
static bool is_vector(const struct uk_access *x, const struct uk_var *v, int64_t n) {
    const struct uk_tensor *t = x->tensor;
    int64_t sum = 0;

    for (int d = 0; d < t->stored_dims; d++) {
        int64_t step, stride;

        if (!step_of(x->index[d], v, &step))
            return false;
        if (!step)
            continue;
        if (!uk_index_is_int(t->stride[d], &stride) || __builtin_mul_overflow(step, stride, &step) ||
            __builtin_add_overflow(sum, step, &sum))
            return false;
    }
    for (int d = 0; d < t->stored_dims && t->scope == UK_SCOPE_SHARED; d++)
        if (!is_multiple(t->stride[d], NULL, n) && !is_multiple(x->index[d], v, n))
            return false;
    return sum == 1;
}

/* The store of an innermost loop that moves a constant number of elements of one type; or NULL. */
static const struct uk_node *moved_by(const struct uk_node *n, int64_t *elements) {
    const struct uk_node *store = n->body;
    int64_t lower;

    if (n->op != UK_N_FOR || n->loop != UK_LOOP_SERIAL || n->step != 1 || store->next ||
        store->op != UK_N_STORE || store->assign != UK_ASSIGN || !uk_moved_access(store->expr) ||
        !uk_index_is_int(n->lower, &lower) || lower || !uk_index_is_int(n->upper, elements) ||
        uk_moved_access(store->expr)->tensor->type != store->target.tensor->type)
        return NULL;
    return store;
}

/* True if all elements of the vector are inside of the tensor if the first one is: the expression is no pad,
 * or in the dimensions along which v moves both the first index and the extent are multiples of n. */
static bool exist_together(const struct uk_expr *e, const struct uk_var *v, int64_t n) {
    const struct uk_access *x = uk_moved_access(e);

    for (int d = 0; e->op == UK_E_PAD && d < x->tensor->dims; d++)
        if (uk_mentions(x->index[d], v) &&
            !(is_multiple(x->index[d], v, n) && is_multiple(x->tensor->shape[d], v, n)))
            return false;
    return true;
}

static bool is_moved(const struct uk_node *n) {
    int64_t elements;
    const struct uk_node *store = moved_by(n, &elements);
    const int64_t bytes = store ? elements * (int64_t)uk_type_bytes(store->target.tensor->type) : 0;

    return (bytes == MIN_BYTES || bytes == HALF_BYTES || bytes == MAX_BYTES) && elements > 1 &&
           is_vector(uk_moved_access(store->expr), n->var, elements) &&
           exist_together(store->expr, n->var, elements) &&
           (is_vector(&store->target, n->var, elements) || store->target.tensor->scope != UK_SCOPE_GLOBAL);
}

static bool substitute(struct uk_arena *a, struct uk_access *x, const struct uk_var *v, struct uk_index *by) {
    for (int d = 0; d < x->tensor->stored_dims; d++)
        if (!(x->index[d] = uk_substitute(a, x->index[d], v, by)))
            return false;
    return true;
}

/* Splits a longer loop whose parts are vectors into a loop over them. False: no memory. */
static bool divide(struct uk_schedule *s, struct uk_node *n) {
    int64_t elements;
    const struct uk_node *store = moved_by(n, &elements);
    const int64_t vector = store ? MAX_BYTES / (int64_t)uk_type_bytes(store->target.tensor->type) : 0;
    struct uk_arena *a = s->arena;

    if (vector < 2 || elements <= vector || elements % vector)
        return true;
    struct uk_node *inner = uk_alloc(a, sizeof *inner), *to = uk_alloc(a, sizeof *to);
    struct uk_var *v = uk_alloc(a, sizeof *v);
    struct uk_expr *e = uk_alloc(a, sizeof *e), *pad = uk_alloc(a, sizeof *pad);
    const char *name = uk_fresh_name(s, n->var->name, "v");

    if (!inner || !to || !v || !e || !pad || !name)
        return false;
    *v = (struct uk_var){.name = name, .kind = UK_VAR_LOOP};
    *to = *store;
    *pad = *store->expr;
    *e = pad->op == UK_E_PAD ? *pad->arg[0] : *pad;
    if (pad->op == UK_E_PAD)
        pad->arg[0] = e;
    to->expr = pad->op == UK_E_PAD ? pad : e;
    *inner = *n;
    inner->var = v;
    inner->upper = uk_index_int(a, vector);
    inner->body = to;
    inner->next = NULL;
    struct uk_index *first = uk_index_op(a, UK_I_MUL, uk_index_int(a, vector), uk_index_var(a, n->var)),
                    *at = uk_index_op(a, UK_I_ADD, first, uk_index_var(a, v));
    if (!at || !inner->upper || !substitute(a, &to->target, n->var, at) ||
        !substitute(a, &e->access, n->var, at))
        return false;
    if (!is_moved(inner) || !is_vector(&to->target, v, vector))
        return true;
    n->upper = uk_index_int(a, elements / vector);
    n->body = inner;
    return n->upper && !uk_name_add(s, name);
}

/* True if the condition is the same for 0 <= v < n: comparisons do not mention v, or compare v plus a
 * multiple of n with such a multiple. */
static bool is_same_for_all(const struct uk_index *e, const struct uk_var *v, int64_t n) {
    int64_t step;

    if (!uk_mentions(e, v))
        return true;
    if (e->op == UK_I_AND)
        return is_same_for_all(e->a, v, n) && is_same_for_all(e->b, v, n);
    return e->op == UK_I_LT && step_of(e->a, v, &step) && step == 1 && is_multiple(e->a, v, n) &&
           !uk_mentions(e->b, v) && is_multiple(e->b, v, n);
}

/* Puts a condition that is the same in all iterations of an innermost loop in front of it, so that both sides
 * may be vectors. False: no memory. */
static bool unswitch(struct uk_schedule *s, struct uk_node *n) {
    struct uk_node *branch = n->body, *loop[2];
    int64_t lower, upper;

    if (n->op != UK_N_FOR || n->loop != UK_LOOP_SERIAL || !branch || branch->next || branch->op != UK_N_IF ||
        !branch->other || !uk_index_is_int(n->lower, &lower) || lower || !uk_index_is_int(n->upper, &upper) ||
        upper < 1 || !is_same_for_all(branch->condition, n->var, upper))
        return true;
    struct uk_index *condition =
        uk_substitute(s->arena, branch->condition, n->var, uk_index_int(s->arena, 0));
    if (!condition)
        return false;
    for (int i = 0; i < 2; i++) {
        const struct uk_node *store = i ? branch->other : branch->body;

        if (store->op != UK_N_STORE || store->next)
            return true;
    }
    for (int i = 0; i < 2; i++) {
        if (!(loop[i] = uk_alloc(s->arena, sizeof *loop[i])))
            return false;
        *loop[i] = *n;
        loop[i]->next = NULL;
        loop[i]->body = i ? branch->other : branch->body;
    }
    *n = (struct uk_node){.op = UK_N_IF,
                          .next = n->next,
                          .stage = branch->stage,
                          .condition = condition,
                          .body = loop[0],
                          .other = loop[1]};
    return true;
}

bool uk_make_vectors(struct uk_schedule *s, struct uk_node *n) {
    for (; n; n = n->next) {
        if (!unswitch(s, n) || !divide(s, n))
            return false;
        if (is_moved(n)) {
            n->loop = UK_LOOP_VECTOR;
            n->body->target.tensor->is_vectors |= n->body->target.tensor->scope == UK_SCOPE_REGISTER;
            n->independent = n->moves = true;
            n->stores = is_vector(&n->body->target, n->var, n->upper->value);
        }
        if (!uk_make_vectors(s, n->body) || !uk_make_vectors(s, n->other))
            return false;
    }
    return true;
}
