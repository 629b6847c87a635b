/* SPDX-License-Identifier: Apache-2.0 */
/* Parser of values and conditions. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "language/parse.h"

static struct uk_expr *element(struct uk_parser *ps) {
    struct uk_index *index[UK_MAX_DIMS];
    struct uk_tensor *x = uk_parse_access(ps, index);

    return x ? uk_element(ps->p, x, index) : NULL;
}

static struct uk_expr *number(struct uk_parser *ps) {
    struct uk_token *t = ps->t;
    double value;
    int64_t whole;

    ps->p->at = t->at;
    if (t->kind == UK_T_INT)
        return uk_expect_int(ps, "a number", &whole) ? uk_literal(ps->p, whole) : NULL;
    char *text = uk_program_check_memory(ps->p, uk_strndup(&ps->p->arena, t->s, t->n));

    if (!text || !uk_text_to_double(text, &value))
        return uk_program_check_memory(ps->p, NULL);
    ps->t++;
    struct uk_expr *e = value - value == 0 ? uk_literal(ps->p, 0) : NULL;

    if (!e)
        return uk_program_fail(ps->p, UK_SYNTAX, t->at, "the number is out of range; write inf");
    e->is_integer = false;
    e->number = value;
    return e;
}

static struct uk_expr *scalar(struct uk_parser *ps) {
    struct uk_position at = ps->p->at = ps->t->at;
    const char *name = uk_expect_name(ps, "a value");
    struct uk_scalar *s = name ? uk_find_scalar(ps->p, name) : NULL;

    if (!name || s)
        return name ? uk_scalar_value(ps->p, s) : NULL;
    if (uk_find_tensor(ps->p, name))
        return uk_program_fail(ps->p, UK_REFUSED, at, "%s is a tensor; give its subscripts", name);
    if (uk_find_var(ps->p->sizes, name) || uk_find_var(ps->p->iterators, name))
        return uk_program_fail(ps->p, UK_REFUSED, at, "%s is an integer; as a value it is written index(%s)",
                               name, name);
    if (uk_next_is(ps, "("))
        return uk_refuse_function(ps, name, ps->t - 1);
    return uk_program_fail(ps->p, UK_REFUSED, at, "%s is not declared; add `scalar %s f32` above", name,
                           name);
}

/* "(" expr { "," expr } ")": returns the number of arguments, or -1 after a failure. */
static int arguments(struct uk_parser *ps, struct uk_expr *list[], int room) {
    int n = 0;

    if (!uk_expect(ps, "(", "the operands stand in ( )"))
        return -1;
    do {
        if (n == room) {
            uk_program_fail(ps->p, UK_REFUSED, ps->t->at, "more than %d operands; nest the calls", room);
            return -1;
        }
        if (!(list[n++] = uk_parse_expression(ps)))
            return -1;
    } while (uk_accept(ps, ","));
    return uk_expect(ps, ")", "separate by commas and close the bracket") ? n : -1;
}

static struct uk_expr *condition(struct uk_parser *ps);

/* True if the bracket ahead encloses a condition rather than a value: no operator follows it. */
static bool condition_in_brackets(const struct uk_parser *ps) {
    static const char *const operators[] = {"==", "!=", "<",  "<=", ">", ">=", "+", "-",
                                            "*",  "/",  "<<", ">>", "&", "^",  "|"};

    if (!uk_next_is(ps, "("))
        return false;
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++)
        if (uk_token_is(&ps->list[ps->t->match + 1], operators[i]))
            return false;
    return true;
}

static struct uk_expr *comparison(struct uk_parser *ps) {
    bool inverted = uk_accept(ps, "not");
    struct uk_expr *e;

    if (condition_in_brackets(ps)) {
        ps->t++;
        e = condition(ps);
        if (!e || !uk_expect(ps, ")", "close the bracket"))
            return NULL;
    } else {
        struct uk_expr *l = uk_parse_expression(ps);
        int r = l ? uk_relation_ahead(ps) : 0;

        if (l && r < 0)
            return uk_expected(ps, "a relation", "write one of < <= > >= == != between two values");
        struct uk_position at = ps->t->at;

        ps->t += l != NULL;
        struct uk_expr *right = l ? uk_parse_expression(ps) : NULL;

        if (!right)
            return NULL;
        ps->p->at = at;
        e = uk_compare(ps->p, (enum uk_relation)r, l, right);
    }
    return e && inverted ? uk_not(ps->p, e) : e;
}

static struct uk_expr *conjunction(struct uk_parser *ps) {
    struct uk_expr *e = comparison(ps);

    while (e && uk_accept(ps, "and")) {
        struct uk_expr *r = comparison(ps);

        e = r ? uk_and(ps->p, e, r) : NULL;
    }
    return e;
}

static struct uk_expr *condition(struct uk_parser *ps) {
    struct uk_expr *e = conjunction(ps);

    while (e && uk_accept(ps, "or")) {
        struct uk_expr *r = conjunction(ps);

        e = r ? uk_or(ps->p, e, r) : NULL;
    }
    return e;
}

static struct uk_expr *select_value(struct uk_parser *ps) {
    struct uk_position at = ps->t[-1].at;
    struct uk_expr *c, *a, *b;

    if (!uk_expect(ps, "(", "write select(condition, value, value)") || !(c = condition(ps)) ||
        !uk_expect(ps, ",", "the value where the condition holds follows") ||
        !(a = uk_parse_expression(ps)) || !uk_expect(ps, ",", "the value where it does not hold follows") ||
        !(b = uk_parse_expression(ps)) || !uk_expect(ps, ")", "close the bracket"))
        return NULL;
    ps->p->at = at;
    return uk_select(ps->p, c, a, b);
}

static struct uk_expr *index_value(struct uk_parser *ps) {
    struct uk_position at = ps->t[-1].at;
    struct uk_index *i;

    if (!uk_expect(ps, "(", "write index(i)") || !(i = uk_parse_affine(ps)) ||
        !uk_expect(ps, ")", "close the bracket"))
        return NULL;
    ps->p->at = at;
    return uk_index_value(ps->p, i);
}

static struct uk_expr *pad_value(struct uk_parser *ps) {
    struct uk_position at = ps->t[-1].at;
    struct uk_expr *x, *outside;

    if (!uk_expect(ps, "(", "write pad(X[i - 1], 0)") || !(x = element(ps)) ||
        !uk_expect(ps, ",", "the value outside of the tensor follows") ||
        !(outside = uk_parse_expression(ps)) || !uk_expect(ps, ")", "close the bracket"))
        return NULL;
    ps->p->at = at;
    return uk_pad(ps->p, x, outside);
}

static struct uk_expr *function(struct uk_parser *ps, const char *name) {
    struct uk_position at = ps->t++->at;
    struct uk_expr *list[16];
    int n = arguments(ps, list, 16);

    ps->p->at = at;
    return n < 0 ? NULL : uk_call(ps->p, name, n, list);
}

static struct uk_expr *primary(struct uk_parser *ps) {
    const struct uk_position at = ps->p->at = ps->t->at;
    struct uk_expr *e, *list[1];

    if (ps->t->kind == UK_T_INT || ps->t->kind == UK_T_NUMBER)
        return number(ps);
    if (uk_accept(ps, "inf"))
        return uk_number(ps->p, __builtin_inf());
    if (uk_accept(ps, "("))
        return (e = uk_parse_expression(ps)) && uk_expect(ps, ")", "close the bracket") ? e : NULL;
    if (uk_accept(ps, "pad"))
        return pad_value(ps);
    if (uk_accept(ps, "select"))
        return select_value(ps);
    if (uk_accept(ps, "index"))
        return index_value(ps);
    if (uk_reduction_ahead(ps))
        return uk_refuse_reduction(ps);
    for (int i = 0; i < UK_FUNCTIONS; i++)
        if (uk_next_is(ps, uk_function_name(i)))
            return function(ps, uk_function_name(i));
    enum uk_type type = uk_accept_type(ps);

    if (type != UK_TYPES) {
        if (arguments(ps, list, 1) < 0)
            return NULL;
        ps->p->at = at;
        return uk_cast(ps->p, type, list[0]);
    }
    return ps->t->kind == UK_T_WORD && uk_token_is(ps->t + 1, "[") ? element(ps) : scalar(ps);
}

static struct uk_expr *unary(struct uk_parser *ps) {
    struct uk_position at = ps->t->at;
    struct uk_expr *e;

    if (!uk_accept(ps, "-"))
        return primary(ps);
    if (!uk_enter_sign(ps) || !(e = unary(ps)))
        return NULL;
    ps->nesting--;
    ps->p->at = at;
    return uk_negate(ps->p, e);
}

static struct uk_expr *term(struct uk_parser *ps) {
    struct uk_expr *e = unary(ps);

    while (e && (uk_next_is(ps, "*") || uk_next_is(ps, "/"))) {
        struct uk_token *op = ps->t++;
        struct uk_expr *r = unary(ps);

        if (!r)
            return NULL;
        ps->p->at = op->at;
        e = *op->s == '*' ? uk_multiply(ps->p, e, r) : uk_divide(ps->p, e, r);
    }
    return e;
}

static struct uk_expr *sum(struct uk_parser *ps) {
    struct uk_expr *e = term(ps);

    while (e && (uk_next_is(ps, "+") || uk_next_is(ps, "-"))) {
        struct uk_token *op = ps->t++;
        struct uk_expr *r = term(ps);

        if (!r)
            return NULL;
        ps->p->at = op->at;
        e = *op->s == '+' ? uk_add(ps->p, e, r) : uk_subtract(ps->p, e, r);
    }
    return e;
}

static struct uk_expr *shift(struct uk_parser *ps) {
    struct uk_expr *e = sum(ps);

    while (e && (uk_next_is(ps, "<<") || uk_next_is(ps, ">>"))) {
        struct uk_token *op = ps->t++;
        struct uk_expr *r = sum(ps);

        if (!r)
            return NULL;
        ps->p->at = op->at;
        e = *op->s == '<' ? uk_shift_left(ps->p, e, r) : uk_shift_right(ps->p, e, r);
    }
    return e;
}

/* `&` binds tighter than `^`, and `^` than `|`: all of them tighter than relations, unlike in C. */
static const struct {
    const char *sign;
    struct uk_expr *(*build)(struct uk_program *p, struct uk_expr *a, struct uk_expr *b);
} bitwise[] = {{"|", uk_bit_or}, {"^", uk_bit_xor}, {"&", uk_bit_and}};

static struct uk_expr *bits(struct uk_parser *ps, size_t level) {
    if (level == sizeof bitwise / sizeof *bitwise)
        return shift(ps);
    struct uk_expr *e = bits(ps, level + 1);

    while (e && uk_next_is(ps, bitwise[level].sign)) {
        struct uk_token *op = ps->t++;
        struct uk_expr *r = bits(ps, level + 1);

        if (!r)
            return NULL;
        ps->p->at = op->at;
        e = bitwise[level].build(ps->p, e, r);
    }
    return e;
}

struct uk_expr *uk_parse_expression(struct uk_parser *ps) {
    return bits(ps, 0);
}
