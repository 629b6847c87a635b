/* SPDX-License-Identifier: Apache-2.0 */
/* Building calls for value expressions. */
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include "language.h"

static struct uk_expr *leaf(struct uk_program *p, enum uk_expr_op op) {
    struct uk_expr *e = uk_may_build(p) ? uk_program_check_memory(p, uk_alloc(&p->arena, sizeof *e)) : NULL;

    if (e) {
        e->op = op;
        e->type = UK_TYPES; /* until the check */
        e->depth = 1;
        e->at = p->at;
    }
    return e;
}

static bool is_condition(enum uk_expr_op op) {
    return op >= UK_E_EQ;
}

/* True if argument i of op must be a condition. */
static bool takes_condition(enum uk_expr_op op, int i) {
    return op >= UK_E_AND || (op == UK_E_SELECT && i == 0);
}

static struct uk_expr *node(struct uk_program *p, enum uk_expr_op op, int n, struct uk_expr *const arg[]) {
    struct uk_expr *e = leaf(p, op);

    if (!e)
        return NULL;
    for (int i = 0; i < n; i++) {
        if (!arg[i])
            return uk_program_fail(p, UK_INVALID_ARGUMENT, p->at,
                                   "an operand is NULL; pass what the builders return");
        if (!uk_is_own(p, "an operand", arg[i]))
            return NULL;
        if (is_condition(arg[i]->op) != takes_condition(op, i))
            return uk_program_fail(p, UK_REFUSED, arg[i]->at, "%s; conditions stand first in select only",
                                   takes_condition(op, i) ? "a value where a condition is needed"
                                                          : "a condition where a value is needed");
        e->arg[i] = arg[i];
        if (arg[i]->depth >= e->depth)
            e->depth = arg[i]->depth + 1;
    }
    if (e->depth > UK_MAX_DEPTH)
        return uk_program_fail(p, UK_REFUSED, p->at, "more than %d operators in one expression; use a temp",
                               UK_MAX_DEPTH);
    return e;
}

static struct uk_expr *binary(struct uk_program *p, enum uk_expr_op op, struct uk_expr *a,
                              struct uk_expr *b) {
    return node(p, op, 2, (struct uk_expr *[]){a, b});
}

struct uk_expr *uk_scalar_value(struct uk_program *p, struct uk_scalar *s) {
    struct uk_expr *e = leaf(p, UK_E_SCALAR);

    if (e)
        e->scalar = s;
    return e;
}

struct uk_index *uk_index_element(struct uk_program *p, struct uk_tensor *t, struct uk_index *const index[]) {
    struct uk_index *list[UK_MAX_DIMS], *at, *e;

    if (!uk_may_build(p))
        return NULL;
    if (!t)
        return uk_program_fail(p, UK_INVALID_ARGUMENT, p->at,
                               "the tensor is NULL; pass what uk_tensor returns");
    if (!uk_is_own(p, "the tensor", t) || !uk_set_dims(p, "index", t->dims, index, list))
        return NULL;
    if (uk_type_is_float(t->type))
        return uk_program_fail(p, UK_REFUSED, p->at,
                               "%s is %s, so its elements cannot be subscripts; use a tensor of integers",
                               t->name, uk_type_name(t->type));
    at = t->dims ? list[t->dims - 1] : uk_index_int(&p->arena, 0);
    for (int d = t->dims - 2; d >= 0; d--)
        at = uk_index_op(&p->arena, UK_I_LIST, list[d], at);
    e = uk_program_check_memory(p, uk_alloc(&p->arena, sizeof *e));
    if (!uk_program_check_memory(p, at) || !e)
        return NULL;
    *e = (struct uk_index){.op = UK_I_ELEMENT, .tensor = t, .a = at, .depth = at->depth + 1, .at = p->at};
    if (e->depth > UK_MAX_DEPTH)
        return uk_program_fail(p, UK_REFUSED, p->at, "more than %d operators in one expression; simplify it",
                               UK_MAX_DEPTH);
    return e;
}

struct uk_index *uk_index_wrap(struct uk_program *p, struct uk_index *element) {
    struct uk_index *e;

    if (!uk_may_build(p))
        return NULL;
    if (!element)
        return uk_program_fail(p, UK_INVALID_ARGUMENT, p->at,
                               "an operand is NULL; pass what the builders return");
    if (!uk_is_own(p, "the element", element))
        return NULL;
    if (element->op != UK_I_ELEMENT)
        return uk_program_fail(p, UK_REFUSED, p->at,
                               "wrap takes an element of a tensor; pass what uk_index_element returns");
    if ((e = uk_program_check_memory(p, uk_alloc(&p->arena, sizeof *e)))) {
        *e = *element;
        e->wraps = true;
    }
    return e;
}

struct uk_index *uk_wrapped_by(struct uk_program *p, struct uk_index *e, struct uk_index *extent) {
    struct uk_index *own;

    if (e->op != UK_I_ELEMENT || !e->wraps)
        return e;
    if ((own = uk_program_check_memory(p, uk_alloc(&p->arena, sizeof *own)))) {
        *own = *e;
        own->b = extent;
        own->depth += own->depth <= extent->depth ? extent->depth : 0;
    }
    return own;
}

struct uk_expr *uk_element(struct uk_program *p, struct uk_tensor *t, struct uk_index *const index[]) {
    struct uk_expr *e = leaf(p, UK_E_ACCESS);

    if (!e)
        return NULL;
    if (!t)
        return uk_program_fail(p, UK_INVALID_ARGUMENT, p->at,
                               "the tensor is NULL; pass what uk_tensor returns");
    if (!uk_is_own(p, "the tensor", t))
        return NULL;
    e->access.tensor = t;
    e->access.at = p->at;
    if (!uk_set_dims(p, "index", t->dims, index, e->access.index))
        return NULL;
    for (int d = 0; d < t->dims; d++)
        if (!(e->access.index[d] = uk_wrapped_by(p, e->access.index[d], t->shape[d])))
            return NULL;
    return e;
}

struct uk_expr *uk_literal(struct uk_program *p, int64_t value) {
    struct uk_expr *e = leaf(p, UK_E_NUMBER);

    if (e) {
        e->is_integer = true;
        e->integer = value;
        e->number = (double)value;
    }
    return e;
}

/* Numbers of the language have no sign: -2 is the negation of 2. */
struct uk_expr *uk_integer_number(struct uk_program *p, int64_t value) {
    if (uk_may_build(p) && value == INT64_MIN)
        return uk_program_fail(p, UK_REFUSED, p->at,
                               "the integer %" PRId64 " has no constant; write it as %" PRId64 " - 1", value,
                               value + 1);
    return value < 0 ? uk_negate(p, uk_literal(p, -value)) : uk_literal(p, value);
}

struct uk_expr *uk_real_number(struct uk_program *p, double value) {
    if (uk_may_build(p) && isnan(value))
        return uk_program_fail(p, UK_INVALID_ARGUMENT, p->at,
                               "a number is NaN; the language has no such constant");
    if (signbit(value))
        return uk_negate(p, uk_real_number(p, -value));
    struct uk_expr *e = leaf(p, UK_E_NUMBER);

    if (e)
        e->number = value;
    return e;
}

struct uk_expr *uk_number(struct uk_program *p, double value) {
    if (fabs(value) < 0x1p53 && value == trunc(value) && (value != 0 || !signbit(value)))
        return uk_integer_number(p, (int64_t)value);
    return value == 0 ? uk_negate(p, uk_integer_number(p, 0)) : uk_real_number(p, value);
}

struct uk_expr *uk_index_value(struct uk_program *p, struct uk_index *index) {
    struct uk_expr *e = leaf(p, UK_E_INDEX);

    return e && uk_set_dims(p, "index", 1, &index, &e->index) ? e : NULL;
}

struct uk_expr *uk_pad(struct uk_program *p, struct uk_expr *element, struct uk_expr *outside) {
    if (uk_may_build(p) && element && uk_is_own(p, "the element", element) && element->op != UK_E_ACCESS)
        return uk_program_fail(p, UK_REFUSED, element->at,
                               "pad takes an element of a tensor; write pad(X[i], 0)");
    return binary(p, UK_E_PAD, element, outside);
}

struct uk_expr *uk_add(struct uk_program *p, struct uk_expr *a, struct uk_expr *b) {
    return binary(p, UK_E_ADD, a, b);
}

struct uk_expr *uk_subtract(struct uk_program *p, struct uk_expr *a, struct uk_expr *b) {
    return binary(p, UK_E_SUB, a, b);
}

struct uk_expr *uk_multiply(struct uk_program *p, struct uk_expr *a, struct uk_expr *b) {
    return binary(p, UK_E_MUL, a, b);
}

struct uk_expr *uk_divide(struct uk_program *p, struct uk_expr *a, struct uk_expr *b) {
    return binary(p, UK_E_DIV, a, b);
}

struct uk_expr *uk_shift_left(struct uk_program *p, struct uk_expr *a, struct uk_expr *b) {
    return binary(p, UK_E_SHL, a, b);
}

struct uk_expr *uk_shift_right(struct uk_program *p, struct uk_expr *a, struct uk_expr *b) {
    return binary(p, UK_E_SHR, a, b);
}

struct uk_expr *uk_bit_and(struct uk_program *p, struct uk_expr *a, struct uk_expr *b) {
    return binary(p, UK_E_BIT_AND, a, b);
}

struct uk_expr *uk_bit_xor(struct uk_program *p, struct uk_expr *a, struct uk_expr *b) {
    return binary(p, UK_E_BIT_XOR, a, b);
}

struct uk_expr *uk_bit_or(struct uk_program *p, struct uk_expr *a, struct uk_expr *b) {
    return binary(p, UK_E_BIT_OR, a, b);
}

struct uk_expr *uk_negate(struct uk_program *p, struct uk_expr *a) {
    return node(p, UK_E_NEG, 1, &a);
}

/* True if f takes n arguments: class CHOICE two or more. Fails the program if not. */
static bool takes(struct uk_program *p, const struct uk_function_row *f, int n) {
    const bool any = f->class == UK_FUNCTION_CHOICE;

    if (n >= f->arguments && n <= (any ? UK_MAX_DEPTH : f->arguments))
        return true;
    return uk_program_fail(p, UK_REFUSED, p->at, "%s has %d argument%s; it takes %s", f->name, n,
                           n == 1 ? "" : "s",
                           any && n > UK_MAX_DEPTH ? "fewer than 4096"
                           : any                   ? "two or more"
                           : f->arguments == 2     ? "two"
                                                   : "one");
}

static struct uk_expr *no_function(struct uk_program *p, const char *name, const char *near) {
    const char *all = uk_program_check_memory(p, uk_list_words(&p->arena, UK_FUNCTIONS, uk_function_name));

    return all ? uk_program_fail(p, UK_INVALID_ARGUMENT, p->at,
                                 "there is no function %s%s%s%s%s; there are %s", name ? "\"" : "",
                                 name ? name : "NULL", name ? "\"" : "", near ? "; did you mean " : "",
                                 near ? near : "", all)
               : NULL;
}

struct uk_expr *uk_call(struct uk_program *p, const char *function, int n, struct uk_expr *const argument[]) {
    struct uk_closest_name near = {.word = function ? function : ""};
    int f = 0;

    if (!uk_may_build(p))
        return NULL;
    for (; f < UK_FUNCTIONS && strcmp(uk_function_name(f), near.word); f++)
        uk_consider_name(&near, uk_function_name(f));
    if (f == UK_FUNCTIONS)
        return no_function(p, function, near.name);
    const enum uk_expr_op op = (enum uk_expr_op)(UK_E_FUNCTION + f);

    if (!argument)
        return uk_program_fail(p, UK_INVALID_ARGUMENT, p->at,
                               "the arguments of %s are NULL; pass an array of %d", uk_function_name(f), n);
    if (!takes(p, &uk_functions[f], n))
        return NULL;
    if (n == 1)
        return node(p, op, 1, argument);
    struct uk_expr *e = argument[0];

    for (int i = 1; i < n; i++)
        e = binary(p, op, e, argument[i]);
    return e;
}

struct uk_expr *uk_cast(struct uk_program *p, enum uk_type type, struct uk_expr *a) {
    struct uk_expr *e;

    if (uk_may_build(p) && (unsigned)type >= UK_TYPES)
        return uk_program_fail(p, UK_INVALID_ARGUMENT, p->at,
                               "there is no type %d to cast to; use one of enum uk_type", (int)type);
    e = node(p, UK_E_CAST, 1, &a);
    if (e)
        e->type = type;
    return e;
}

struct uk_expr *uk_select(struct uk_program *p, struct uk_expr *condition, struct uk_expr *a,
                          struct uk_expr *b) {
    return node(p, UK_E_SELECT, 3, (struct uk_expr *[]){condition, a, b});
}

struct uk_expr *uk_compare(struct uk_program *p, enum uk_relation r, struct uk_expr *a, struct uk_expr *b) {
    if (uk_may_build(p) && (unsigned)r > UK_GREATER_EQUAL)
        return uk_program_fail(p, UK_INVALID_ARGUMENT, p->at,
                               "there is no relation %d; use one of enum uk_relation", (int)r);
    return binary(p, (enum uk_expr_op)(UK_E_EQ + (int)r), a, b);
}

struct uk_expr *uk_and(struct uk_program *p, struct uk_expr *a, struct uk_expr *b) {
    return binary(p, UK_E_AND, a, b);
}

struct uk_expr *uk_or(struct uk_program *p, struct uk_expr *a, struct uk_expr *b) {
    return binary(p, UK_E_OR, a, b);
}

struct uk_expr *uk_not(struct uk_program *p, struct uk_expr *a) {
    return node(p, UK_E_NOT, 1, &a);
}
