/* SPDX-License-Identifier: Apache-2.0 */
/* Bounds of integer expressions, by interval arithmetic over those of variables. */
#include "minmax.h"
#include "generator.h"

const struct uk_interval uk_cg_any = {INT64_MIN, INT64_MAX}, uk_cg_from_zero = {0, INT64_MAX};

/* l op r for two lower bounds, or two upper bounds; `unknown` if one of them is unknown, or out of range. */
static int64_t combine(enum uk_index_op op, int64_t l, int64_t r, int64_t unknown) {
    int64_t v = 0;
    const bool wraps = op == UK_I_ADD   ? __builtin_add_overflow(l, r, &v)
                       : op == UK_I_SUB ? __builtin_sub_overflow(l, r, &v)
                                        : __builtin_mul_overflow(l, r, &v);

    return wraps || l == INT64_MIN || l == INT64_MAX || r == INT64_MIN || r == INT64_MAX ? unknown : v;
}

/* Products of factors that are not negative, and of an expression and a number. */
static struct uk_interval product(struct uk_interval l, struct uk_interval r) {
    if (l.low == l.high && r.low != r.high)
        return product(r, l);
    if (l.low >= 0 && r.low >= 0)
        return (struct uk_interval){combine(UK_I_MUL, l.low, r.low, 0),
                                    combine(UK_I_MUL, l.high, r.high, INT64_MAX)};
    if (r.low != r.high)
        return uk_cg_any;
    const int64_t low = r.low < 0 ? l.high : l.low, high = r.low < 0 ? l.low : l.high;

    return (struct uk_interval){combine(UK_I_MUL, low, r.low, INT64_MIN),
                                combine(UK_I_MUL, high, r.low, INT64_MAX)};
}

/* The quotient by a number above 0, rounded down. */
static struct uk_interval quotient(struct uk_interval l, struct uk_interval r) {
    const int64_t by = uk_max(r.low, 1);

    return (struct uk_interval){l.low >= 0           ? 0
                                : l.low == INT64_MIN ? l.low
                                                     : uk_floor_quotient(l.low, by),
                                l.high == INT64_MAX || l.high < 0 ? l.high : l.high / by};
}

static struct uk_interval of_two(enum uk_index_op op, struct uk_interval l, struct uk_interval r) {
    switch (op) {
    case UK_I_ADD:
        return (struct uk_interval){combine(op, l.low, r.low, INT64_MIN),
                                    combine(op, l.high, r.high, INT64_MAX)};
    case UK_I_SUB:
        return (struct uk_interval){combine(op, l.low, r.high, INT64_MIN),
                                    combine(op, l.high, r.low, INT64_MAX)};
    case UK_I_MUL:
        return product(l, r);
    case UK_I_MIN:
        return (struct uk_interval){uk_min(l.low, r.low), uk_min(l.high, r.high)};
    case UK_I_MAX:
        return (struct uk_interval){uk_max(l.low, r.low), uk_max(l.high, r.high)};
    case UK_I_DIV: /* by a number above 0 */
        return quotient(l, r);
    case UK_I_MOD: /* by a number above 0 */
        return (struct uk_interval){0, r.high == INT64_MAX || r.high < 1 ? INT64_MAX : r.high - 1};
    default: /* of a selection */
        return (struct uk_interval){uk_min(l.low, r.low), uk_max(l.high, r.high)};
    }
}

struct uk_interval uk_cg_add_product(struct uk_interval sum, struct uk_interval e, int64_t times) {
    const struct uk_interval by = {times, times};

    return times == INT64_MAX ? uk_cg_any : of_two(UK_I_ADD, sum, product(e, by));
}

/* Of a size that a schedule introduced. It is not negative, and with short indices as small as other sizes.
 */
static struct uk_interval of_definition(const struct uk_codegen *g, const struct uk_index *e) {
    const struct uk_interval of = uk_cg_range(g, e);

    return g->is_short ? (struct uk_interval){uk_max(of.low, 0), uk_min(of.high, UK_SHORT_SIZE - 1)} : of;
}

struct uk_interval uk_cg_range(const struct uk_codegen *g, const struct uk_index *e) {
    const struct uk_binding *b;

    switch (e->op) {
    case UK_I_INT:
        return (struct uk_interval){e->value, e->value};
    case UK_I_VAR:
        b = uk_cg_binding(g, e->var);
        return b ? b->range : e->var->definition ? of_definition(g, e->var->definition) : uk_cg_any;
    case UK_I_NEG:
        return of_two(UK_I_SUB, (struct uk_interval){0, 0}, uk_cg_range(g, e->a));
    case UK_I_ADD:
    case UK_I_SUB:
    case UK_I_MUL:
    case UK_I_DIV:
    case UK_I_MOD:
    case UK_I_MIN:
    case UK_I_MAX:
        return of_two(e->op, uk_cg_range(g, e->a), uk_cg_range(g, e->b));
    case UK_I_SELECT:
        return of_two(e->op, uk_cg_range(g, e->b), uk_cg_range(g, e->c));
    default:
        return uk_cg_from_zero; /* truth values, and elements used as subscripts */
    }
}

struct uk_interval uk_cg_loop_range(const struct uk_codegen *g, const struct uk_node *loop) {
    const int64_t end = uk_cg_range(g, loop->upper).high;

    return (struct uk_interval){uk_cg_range(g, loop->lower).low, end == INT64_MAX ? end : end - 1};
}
