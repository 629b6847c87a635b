/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The number of values that LLVM may keep in scalar registers in the loops of a GPU's kernel, besides its
 * parameters, if it moves out of loops all that it can:
 * - variables and bounds of the loops around a statement, and masks of its conditions;
 * - strides in global memory, and their multiples that lead to the rows of an unrolled copy;
 * - conditions that are the same in all iterations.
 */
#include "minmax.h"
#include "generator.h"

/* An expression over sizes, and the number of values that it has in unrolled loops. */
struct kept {
    const struct uk_index *e;
    int64_t values;
    struct kept *next;
};

/* A loop around a node, and how many copies of its body the kernel has. */
struct around {
    const struct uk_node *loop;
    int64_t copies;
    const struct around *outer;
};

struct scalars {
    struct uk_codegen *g;
    struct kept *strides, *conditions;
    int64_t deepest; /* largest number of variables, bounds and masks around a statement */
};

/* Equal expressions share their values. */
static void keep(struct scalars *s, struct kept **list, const struct uk_index *e, int64_t values) {
    struct kept *k = *list;

    while (k && !uk_index_equal(k->e, e))
        k = k->next;
    if (!k) {
        k = uk_alloc(&s->g->arena, sizeof *k);
        if (!k) {
            uk_cg_fail(s->g, UK_OUT_OF_MEMORY, NULL, NULL);
            return;
        }
        *k = (struct kept){.e = e, .next = *list};
        *list = k;
    }
    k->values = uk_max(k->values, values);
}

static int64_t sum(const struct kept *k) {
    int64_t n = 0;

    for (; k; k = k->next)
        n += k->values;
    return n;
}

/* A loop that code generation does not unroll, and out of which LLVM moves what it can. */
static bool is_loop(const struct around *in) {
    return in->copies == 1 && in->loop->loop != UK_LOOP_BLOCK && in->loop->loop != UK_LOOP_THREAD;
}

/* The number of values that e has in the copies of the bodies of unrolled loops. */
static int64_t values_in_copies(const struct uk_index *e, const struct around *in) {
    int64_t n = 1;

    for (; in; in = in->outer)
        if (in->copies > 1 && uk_mentions(e, in->loop->var))
            n *= in->copies;
    return n;
}

static void keep_strides(struct scalars *s, const struct uk_access *a, const struct around *in) {
    const struct uk_tensor *t = a->tensor;

    for (int d = 0; d < t->stored_dims && t->scope == UK_SCOPE_GLOBAL; d++)
        if (!uk_index_is_int(t->stride[d], NULL))
            keep(s, &s->strides, t->stride[d], values_in_copies(a->index[d], in));
}

static void keep_strides_of(struct scalars *s, const struct uk_expr *e, const struct around *in) {
    if (e->op == UK_E_ACCESS)
        keep_strides(s, &e->access, in);
    for (int i = 0; i < 3; i++)
        if (e->arg[i])
            keep_strides_of(s, e->arg[i], in);
}

/* True if the value is computed in a loop, and the same in all iterations of all loops. */
static bool is_invariant(const struct uk_index *e, const struct around *in) {
    bool is_inside = false;

    for (; in; in = in->outer) {
        is_inside |= is_loop(in);
        if (is_loop(in) && uk_mentions(e, in->loop->var))
            return false;
    }
    return is_inside;
}

static void keep_conditions(struct scalars *s, const struct uk_index *e, const struct around *in) {
    if (e->op == UK_I_AND || e->op == UK_I_OR || e->op == UK_I_NOT) {
        keep_conditions(s, e->a, in);
        if (e->b)
            keep_conditions(s, e->b, in);
    } else if (is_invariant(e, in)) {
        keep(s, &s->conditions, e, values_in_copies(e, in));
    }
}

/* The values that a node keeps while the nodes inside it run; binds its variable. */
static int64_t enter(struct scalars *s, const struct uk_node *n, struct around *here) {
    switch (n->op) {
    case UK_N_FOR:
        if (is_loop(here))
            here->copies = uk_cg_copies_of_body(s->g, n);
        uk_cg_bind(s->g, n->var, NULL, uk_cg_loop_range(s->g, n));
        if (uk_index_is_int(n->upper, NULL))
            return here->copies == 1;
        return n->loop == UK_LOOP_THREAD ? 1 : 2;
    case UK_N_LET:
        uk_cg_bind(s->g, n->var, NULL, uk_cg_range(s->g, n->value));
        return 1;
    case UK_N_IF:
        keep_conditions(s, n->condition, here->outer);
        return 1;
    case UK_N_STORE:
        keep_strides(s, &n->target, here->outer);
        keep_strides_of(s, n->expr, here->outer);
        return 0;
    default:
        return 0;
    }
}

static void count(struct scalars *s, const struct uk_node *n, const struct around *in, int64_t depth) {
    struct uk_binding *outside = s->g->bindings;

    for (; n; n = n->next) {
        struct around here = {.loop = n, .copies = 1, .outer = in};
        const int64_t inside = depth + enter(s, n, &here);

        s->deepest = uk_max(s->deepest, inside);
        count(s, n->body, n->op == UK_N_FOR ? &here : in, inside);
        count(s, n->other, in, inside);
        s->g->bindings = outside;
    }
}

int64_t uk_cg_count_scalars(struct uk_codegen *g, const struct uk_node *body) {
    struct scalars s = {.g = g};

    count(&s, body, NULL, 0);
    return sum(s.strides) + sum(s.conditions) + s.deepest;
}
