/* SPDX-License-Identifier: Apache-2.0 */
/* Integer expressions: built with constants folded, compared, evaluated. */
#include "language.h"

static struct uk_index *node(struct uk_arena *a, enum uk_index_op op, struct uk_position at) {
    struct uk_index *e = uk_alloc(a, sizeof *e);

    if (e) {
        e->op = op;
        e->at = at;
        e->depth = 1;
    }
    return e;
}

static int deeper(int depth, const struct uk_index *e) {
    return e && e->depth >= depth ? e->depth + 1 : depth;
}

struct uk_index *uk_index_int(struct uk_arena *a, int64_t value) {
    struct uk_index *e = node(a, UK_I_INT, (struct uk_position){0, 0});

    if (e)
        e->value = value;
    return e;
}

struct uk_index *uk_index_var(struct uk_arena *a, struct uk_var *v) {
    struct uk_index *e = v ? node(a, UK_I_VAR, v->at) : NULL;

    if (e)
        e->var = v;
    return e;
}

bool uk_index_is_int(const struct uk_index *e, int64_t *value) {
    bool fixed = e && e->op == UK_I_VAR && e->var->defined;

    if (!e || (e->op != UK_I_INT && !fixed))
        return false;
    if (value)
        *value = fixed ? e->var->value : e->value;
    return true;
}

bool uk_index_equal(const struct uk_index *a, const struct uk_index *b) {
    int64_t x, y;

    if (a == b)
        return true;
    if (uk_index_is_int(a, &x) && uk_index_is_int(b, &y))
        return x == y;
    if (!a || !b || a->op != b->op)
        return false;
    if (a->op == UK_I_VAR)
        return a->var == b->var;
    return a->tensor == b->tensor && a->wraps == b->wraps && uk_index_equal(a->a, b->a) &&
           uk_index_equal(a->b, b->b) && uk_index_equal(a->c, b->c);
}

bool uk_has_element(const struct uk_index *e) {
    return e &&
           (e->op == UK_I_ELEMENT || uk_has_element(e->a) || uk_has_element(e->b) || uk_has_element(e->c));
}

struct uk_access uk_element_access(const struct uk_index *e) {
    struct uk_access access = {.tensor = e->tensor, .at = e->at};
    struct uk_index *rest = e->a;

    for (int d = 0; d < e->tensor->dims; d++) {
        const bool more = d + 1 < e->tensor->dims;

        access.index[d] = more ? rest->a : rest;
        rest = more ? rest->b : NULL;
    }
    return access;
}

bool uk_mentions(const struct uk_index *e, const struct uk_var *v) {
    return e && (e->var == v || uk_mentions(e->a, v) || uk_mentions(e->b, v) || uk_mentions(e->c, v));
}

int64_t uk_floor_quotient(int64_t l, int64_t r) {
    return l / r - (l % r != 0 && (l < 0) != (r < 0));
}

/* Computes l op r. Sets *overflow if the value is not representable or a divisor is not positive. */
static int64_t apply(enum uk_index_op op, int64_t l, int64_t r, bool *overflow) {
    int64_t v = 0;

    switch (op) {
    case UK_I_NEG:
        *overflow |= __builtin_sub_overflow((int64_t)0, l, &v);
        return v;
    case UK_I_ADD:
        *overflow |= __builtin_add_overflow(l, r, &v);
        return v;
    case UK_I_SUB:
        *overflow |= __builtin_sub_overflow(l, r, &v);
        return v;
    case UK_I_MUL:
        *overflow |= __builtin_mul_overflow(l, r, &v);
        return v;
    case UK_I_DIV:
        if (r > 0)
            return uk_floor_quotient(l, r);
        *overflow = true;
        return 0;
    case UK_I_MOD:
        if (r > 0)
            return l % r < 0 ? l % r + r : l % r;
        *overflow = true;
        return 0;
    case UK_I_MIN:
        return l < r ? l : r;
    case UK_I_MAX:
        return l > r ? l : r;
    case UK_I_EQ:
        return l == r;
    case UK_I_NE:
        return l != r;
    case UK_I_LT:
        return l < r;
    case UK_I_LE:
        return l <= r;
    case UK_I_GT:
        return l > r;
    case UK_I_GE:
        return l >= r;
    case UK_I_AND:
        return l && r;
    case UK_I_OR:
        return l || r;
    case UK_I_NOT:
        return !l;
    case UK_I_INT:
    case UK_I_VAR:
    case UK_I_SELECT:
    case UK_I_ELEMENT:
    case UK_I_LIST:
        break;
    }
    return 0;
}

int64_t uk_index_eval(const struct uk_index *e, int64_t (*value)(const struct uk_var *, void *), void *user,
                      bool *overflow) {
    switch (e->op) {
    case UK_I_INT:
        return e->value;
    case UK_I_VAR:
        return value(e->var, user);
    case UK_I_ELEMENT: /* would need memory, which no caller gives */
    case UK_I_LIST:
        *overflow = true;
        return 0;
    case UK_I_SELECT:
        return uk_index_eval(uk_index_eval(e->a, value, user, overflow) ? e->b : e->c, value, user, overflow);
    case UK_I_AND:
        return uk_index_eval(e->a, value, user, overflow) && uk_index_eval(e->b, value, user, overflow);
    case UK_I_OR:
        return uk_index_eval(e->a, value, user, overflow) || uk_index_eval(e->b, value, user, overflow);
    default:
        break;
    }
    int64_t l = uk_index_eval(e->a, value, user, overflow);
    int64_t r = e->b ? uk_index_eval(e->b, value, user, overflow) : 0;

    return apply(e->op, l, r, overflow);
}

struct uk_index *uk_index_node(struct uk_arena *a, enum uk_index_op op, struct uk_index *l,
                               struct uk_index *r) {
    bool unary = op == UK_I_NEG || op == UK_I_NOT;

    if (!l || (!r && !unary))
        return NULL;
    struct uk_index *e = node(a, op, l->at.line || !r ? l->at : r->at);

    if (e) {
        e->a = l;
        e->b = unary ? NULL : r;
        e->depth = deeper(deeper(1, l), e->b);
    }
    return e;
}

/* Splits c * x or x * c into the constant and the other factor. */
static bool scaled(const struct uk_index *e, int64_t *c, struct uk_index **x) {
    if (e->op != UK_I_MUL)
        return false;
    if (uk_index_is_int(e->a, c)) {
        *x = e->b;
        return true;
    }
    *x = e->a;
    return uk_index_is_int(e->b, c);
}

static struct uk_index *add_constant(struct uk_arena *a, struct uk_index *x, int64_t c);

/* Returns -e if e is a negation or a product with a negative constant; else NULL. */
static struct uk_index *negated(struct uk_arena *a, const struct uk_index *e) {
    struct uk_index *x;
    int64_t c;

    if (e->op == UK_I_NEG)
        return e->a;
    if (!scaled(e, &c, &x) || c >= 0 || c == INT64_MIN)
        return NULL;
    return c == -1 ? x : uk_index_node(a, UK_I_MUL, uk_index_int(a, -c), x);
}

/* Finds the constant term that x ends with, with its sign; false if there is none. */
static bool last_constant(const struct uk_index *x, int64_t *c) {
    if ((x->op != UK_I_ADD && x->op != UK_I_SUB) || !uk_index_is_int(x->b, c) || *c == INT64_MIN)
        return false;
    *c = x->op == UK_I_ADD ? *c : -*c;
    return true;
}

/*
 * Returns x + c with c merged into a constant among x's last terms or first, or with one sign less if x
 * begins with a negation; else NULL. Looks at no more than `terms` terms, so that long sums are built in
 * linear time.
 */
static struct uk_index *join_constant(struct uk_arena *a, struct uk_index *x, int64_t c, int terms) {
    struct uk_index *l;
    int64_t inner, sum;

    if (uk_index_is_int(x, &inner))
        return __builtin_add_overflow(inner, c, &sum) ? NULL : uk_index_int(a, sum);
    if (last_constant(x, &inner))
        return __builtin_add_overflow(inner, c, &sum) ? NULL : add_constant(a, x->a, sum);
    if ((l = negated(a, x)))
        return uk_index_node(a, UK_I_SUB, uk_index_int(a, c), l);
    if ((x->op != UK_I_ADD && x->op != UK_I_SUB) || terms == 1)
        return NULL;
    l = join_constant(a, x->a, c, terms - 1);
    return l ? uk_index_op(a, x->op, l, x->b) : NULL;
}

/* Returns x + c (x - -c for a negative c), merged with the constants that x ends with. */
static struct uk_index *append_constant(struct uk_arena *a, struct uk_index *x, int64_t c) {
    int64_t inner, sum;

    while (last_constant(x, &inner) && !__builtin_add_overflow(inner, c, &sum)) {
        x = x->a;
        c = sum;
    }
    if (c == 0)
        return x;
    if (c < 0 && c > INT64_MIN)
        return uk_index_node(a, UK_I_SUB, x, uk_index_int(a, -c));
    return uk_index_node(a, UK_I_ADD, x, uk_index_int(a, c));
}

static struct uk_index *add_constant(struct uk_arena *a, struct uk_index *x, int64_t c) {
    enum { MOST_TERMS = 16 };
    struct uk_index *joined = x && c ? join_constant(a, x, c, MOST_TERMS) : NULL;

    return joined || !x ? joined : append_constant(a, x, c);
}

static struct uk_index *fold_product(struct uk_arena *a, struct uk_index *l, struct uk_index *r) {
    int64_t c;

    if (uk_index_is_int(l, &c)) {
        if (c == 0)
            return l;
        if (c == 1 || c == -1)
            return c == 1 ? r : uk_index_op(a, UK_I_NEG, r, NULL);
    }
    if (uk_index_is_int(r, &c)) {
        if (c == 0)
            return r;
        if (c == 1 || c == -1)
            return c == 1 ? l : uk_index_op(a, UK_I_NEG, l, NULL);
    }
    return uk_index_node(a, UK_I_MUL, l, r);
}

/* Folds a quotient or remainder of which exactly one side is a constant, or both are the same expression. */
static struct uk_index *fold_division(struct uk_arena *a, enum uk_index_op op, struct uk_index *l,
                                      struct uk_index *r) {
    struct uk_index *x;
    int64_t c, k;

    if (uk_index_is_int(r, &c) && c > 0) {
        if (c == 1)
            return op == UK_I_DIV ? l : uk_index_int(a, 0);
        if (scaled(l, &k, &x) && k % c == 0)
            return op == UK_I_DIV ? fold_product(a, x, uk_index_int(a, k / c)) : uk_index_int(a, 0);
        if (op == UK_I_MOD && l->op == UK_I_MOD && uk_index_equal(l->b, r))
            return l;
    }
    return uk_index_node(a, op, l, r);
}

static struct uk_index *fold_logic(struct uk_arena *a, enum uk_index_op op, struct uk_index *l,
                                   struct uk_index *r) {
    int64_t c;

    if (uk_index_is_int(l, &c))
        return (c != 0) == (op == UK_I_AND) ? r : uk_index_int(a, c != 0);
    if (uk_index_is_int(r, &c))
        return (c != 0) == (op == UK_I_AND) ? l : uk_index_int(a, c != 0);
    return uk_index_equal(l, r) ? l : uk_index_node(a, op, l, r);
}

/* The value of `l op l`. */
static struct uk_index *fold_equal(struct uk_arena *a, enum uk_index_op op, struct uk_index *l) {
    switch (op) {
    case UK_I_MIN:
    case UK_I_MAX:
        return l;
    case UK_I_SUB:
    case UK_I_NE:
    case UK_I_LT:
    case UK_I_GT:
        return uk_index_int(a, 0);
    case UK_I_EQ:
    case UK_I_LE:
    case UK_I_GE:
        return uk_index_int(a, 1);
    default:
        return NULL;
    }
}

/* Builds a sum or difference: constants come last or first; x - -y, x + -y and -x + y are written with one
 * sign less. */
static struct uk_index *fold_sum(struct uk_arena *a, enum uk_index_op op, struct uk_index *l,
                                 struct uk_index *r) {
    enum uk_index_op other = op == UK_I_ADD ? UK_I_SUB : UK_I_ADD;
    struct uk_index *x;
    int64_t c;

    if (uk_index_is_int(r, &c) && c > INT64_MIN)
        return add_constant(a, l, op == UK_I_ADD ? c : -c);
    if (uk_index_is_int(l, &c)) {
        if (c == 0)
            return op == UK_I_ADD ? r : uk_index_op(a, UK_I_NEG, r, NULL);
        if (op == UK_I_ADD)
            return add_constant(a, r, c);
    }
    if ((x = negated(a, r)))
        return uk_index_op(a, other, l, x);
    if (last_constant(r, &c))
        return add_constant(a, uk_index_op(a, op, l, r->a), op == UK_I_ADD ? c : -c);
    if (r->op == UK_I_SUB && uk_index_is_int(r->a, &c) && c > INT64_MIN)
        return add_constant(a, uk_index_op(a, other, l, r->b), op == UK_I_ADD ? c : -c);
    if (op == UK_I_ADD && (x = negated(a, l)))
        return uk_index_op(a, UK_I_SUB, r, x);
    return uk_index_node(a, op, l, r);
}

/* Builds -x, as a difference or with the sign on a constant. */
static struct uk_index *fold_negation(struct uk_arena *a, struct uk_index *x) {
    struct uk_index *factor;
    int64_t c;

    if (x->op == UK_I_NEG)
        return x->a;
    if (scaled(x, &c, &factor) && c > INT64_MIN)
        return fold_product(a, uk_index_int(a, -c), factor);
    if (x->op == UK_I_SUB)
        return uk_index_op(a, UK_I_SUB, x->b, x->a);
    if (last_constant(x, &c))
        return uk_index_op(a, UK_I_SUB, uk_index_int(a, -c), x->a);
    return uk_index_node(a, UK_I_NEG, x, NULL);
}

struct uk_index *uk_index_op(struct uk_arena *a, enum uk_index_op op, struct uk_index *l,
                             struct uk_index *r) {
    bool unary = op == UK_I_NEG || op == UK_I_NOT;
    bool overflow = false;
    int64_t x, y = 0;

    if (!l || (!r && !unary))
        return NULL;
    if (op == UK_I_LIST)
        return uk_index_node(a, op, l, r);
    if (uk_index_is_int(l, &x) && (unary || uk_index_is_int(r, &y))) {
        int64_t v = apply(op, x, y, &overflow);

        if (!overflow)
            return uk_index_int(a, v);
        return uk_index_node(a, op, l, r);
    }
    if (unary)
        return op == UK_I_NEG ? fold_negation(a, l) : uk_index_node(a, op, l, NULL);
    struct uk_index *same = uk_index_equal(l, r) ? fold_equal(a, op, l) : NULL;

    if (same)
        return same;
    switch (op) {
    case UK_I_ADD:
    case UK_I_SUB:
        return fold_sum(a, op, l, r);
    case UK_I_MUL:
        return fold_product(a, l, r);
    case UK_I_DIV:
    case UK_I_MOD:
        return fold_division(a, op, l, r);
    case UK_I_AND:
    case UK_I_OR:
        return fold_logic(a, op, l, r);
    default:
        return uk_index_node(a, op, l, r);
    }
}

/* Builds a sum or negation that is not a constant. */
static struct uk_index *sum_written(struct uk_arena *a, enum uk_index_op op, struct uk_index *l,
                                    struct uk_index *r) {
    struct uk_index *x;
    int64_t c;

    if (op == UK_I_NEG)
        return l->op == UK_I_NEG   ? l->a
               : scaled(l, &c, &x) ? fold_negation(a, l)
                                   : uk_index_node(a, op, l, NULL);
    if (uk_index_is_int(r, &c) && c > INT64_MIN)
        return append_constant(a, l, op == UK_I_ADD ? c : -c);
    if (uk_index_is_int(l, &c) && (c == 0 || op == UK_I_ADD))
        return op == UK_I_ADD ? append_constant(a, r, c) : sum_written(a, UK_I_NEG, r, NULL);
    if (op == UK_I_ADD && r->op == UK_I_NEG)
        return uk_index_node(a, UK_I_SUB, l, r->a);
    return uk_index_node(a, op, l, r);
}

struct uk_index *uk_index_op_as_written(struct uk_arena *a, enum uk_index_op op, struct uk_index *l,
                                        struct uk_index *r) {
    bool is_sum = op == UK_I_NEG || op == UK_I_ADD || op == UK_I_SUB;
    bool has_both = l && (r || op == UK_I_NEG);

    if (!is_sum || !has_both || (uk_index_is_int(l, NULL) && (!r || uk_index_is_int(r, NULL))) ||
        (op == UK_I_SUB && uk_index_equal(l, r)))
        return uk_index_op(a, op, l, r);
    return sum_written(a, op, l, r);
}

struct uk_index *uk_index_select(struct uk_arena *a, struct uk_index *c, struct uk_index *l,
                                 struct uk_index *r) {
    int64_t v;

    if (!c || !l || !r)
        return NULL;
    if (uk_index_is_int(c, &v))
        return v ? l : r;
    if (uk_index_equal(l, r))
        return l;
    struct uk_index *e = node(a, UK_I_SELECT, c->at);

    if (e) {
        e->a = c;
        e->b = l;
        e->c = r;
        e->depth = deeper(deeper(deeper(1, c), l), r);
    }
    return e;
}

struct uk_index *uk_index_with_operands(struct uk_arena *a, const struct uk_index *e, struct uk_index *l,
                                        struct uk_index *r) {
    if (l == e->a && r == e->b)
        return (struct uk_index *)e;
    if (e->op != UK_I_ELEMENT)
        return uk_index_op(a, e->op, l, r);
    struct uk_index *other = l && (r || !e->b) ? node(a, e->op, e->at) : NULL;

    if (other) {
        *other = *e;
        other->a = l;
        other->b = r;
        other->depth = deeper(deeper(1, l), r);
    }
    return other;
}
