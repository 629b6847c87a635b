/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Vectors of a GPU's threads: an innermost loop that moves up to 16 bytes, from neighbours to neighbours, is one load and one store;
 * to other places of shared memory or of registers it is one load, too.
 * Global memory need not be aligned for them; in shared memory each vector is.
 */
#include "lower.h"

enum { LEAST_BYTES = 8, MOST_BYTES = 16 };

/* What one step of v adds to e; false: not always the same. */
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
    case UK_I_MUL:
        if (uk_index_is_int(e->a, &c))
            return step_of(e->b, v, &b) && !__builtin_mul_overflow(b, c, step);
        return uk_index_is_int(e->b, &c) && step_of(e->a, v, &a) && !__builtin_mul_overflow(a, c, step);
    default:
        return false;
    }
}

/* Is e a multiple of n, whatever its variables are, where v is 0? */
static bool is_multiple(const struct uk_index *e, const struct uk_var *v, int64_t n) {
    int64_t c;

    if (uk_index_is_int(e, &c))
        return c % n == 0;
    switch (e->op) {
    case UK_I_VAR:
        return e->var == v;
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

/* Neighbours along v, and in shared memory each n of them aligned to their size. */
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

static bool is_moved(const struct uk_node *n) {
    const struct uk_node *store = n->body;
    int64_t lower, upper;

    if (n->op != UK_N_FOR || n->loop != UK_LOOP_SERIAL || n->step != 1 || store->next ||
        store->op != UK_N_STORE || store->assign != UK_ASSIGN || store->expr->op != UK_E_ACCESS ||
        !uk_index_is_int(n->lower, &lower) || lower || !uk_index_is_int(n->upper, &upper) ||
        store->expr->access.tensor->type != store->target.tensor->type)
        return false;
    const int64_t bytes = upper * (int64_t)uk_type_bytes(store->target.tensor->type);
    return (bytes == LEAST_BYTES || bytes == MOST_BYTES) && upper > 1 &&
           is_vector(&store->expr->access, n->var, upper) &&
           (is_vector(&store->target, n->var, upper) || store->target.tensor->scope != UK_SCOPE_GLOBAL);
}

void uk_make_vectors(struct uk_node *n) {
    for (; n; n = n->next) {
        if (is_moved(n)) {
            n->loop = UK_LOOP_VECTOR;
            n->independent = n->moves = true;
            n->stores = is_vector(&n->body->target, n->var, n->upper->value);
        }
        uk_make_vectors(n->body);
        uk_make_vectors(n->other);
    }
}
