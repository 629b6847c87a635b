/* SPDX-License-Identifier: Apache-2.0 */
#include "loop_work.h"

/* Values of the loops around a node, each at its first iteration, and of `let` names. */
struct known {
    const int64_t *size;
    const struct uk_var *var;
    int64_t value;
    const struct known *outer;
};

static int64_t value_of(const struct uk_var *v, void *user) {
    const struct known *k = user;

    for (; k->outer; k = k->outer)
        if (k->var == v)
            return k->value;
    return v->kind == UK_VAR_LOOP ? 0 : k->size[v->number];
}

static int64_t eval(const struct uk_index *e, const struct known *k) {
    bool overflow = false;

    return uk_index_eval(e, value_of, (void *)(uintptr_t)k, &overflow);
}

/* Work of a kernel call: the product of its extents. */
static double work_of_call(const struct uk_node *n, const struct known *outer) {
    double work = 1;

    for (const struct uk_var *v = n->intrinsic->declaration->sizes; v; v = v->next)
        if (v->is_extent && n->bind[v->number])
            work *= (double)eval(n->bind[v->number], outer);
    return work;
}

static double work_of(const struct uk_node *n, const struct known *outer) {
    double work = 0;

    for (; n; n = n->next) {
        struct known inner = {.var = n->var, .outer = outer};

        if (n->op == UK_N_FOR) {
            inner.value = eval(n->lower, outer);
            const int64_t length = eval(n->upper, outer) - inner.value;

            work += length > 0 ? (double)((length - 1) / n->step + 1) * work_of(n->body, &inner) : 0;
        } else if (n->op == UK_N_LET) {
            inner.value = eval(n->value, outer);
            work += work_of(n->body, &inner);
        } else if (n->op == UK_N_IF) {
            const double then = work_of(n->body, outer), other = work_of(n->other, outer);

            work += then > other ? then : other;
        } else {
            work += n->op == UK_N_LAUNCH ? work_of(n->body, outer)
                    : n->op == UK_N_CALL ? work_of_call(n, outer)
                                         : 1;
        }
    }
    return work;
}

double loop_work(const struct uk_function *f, const int64_t *size) {
    const struct known none = {.size = size};

    return work_of(f->body, &none);
}
