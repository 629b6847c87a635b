/* SPDX-License-Identifier: Apache-2.0 */
/* Rule 3: both operands of an operator have one type; a literal takes that of the other operand. */
#include <math.h>
#include <string.h>
#include "language.h"

/* Type of a literal until an operand, the tensor or a cast determines it. */
static const enum uk_type UNTYPED = UK_TYPES;

static bool fits(const struct uk_expr *e, enum uk_type type) {
    if (uk_type_is_float(type))
        return true;
    return e->is_integer && e->integer >= uk_integer_min(type) && e->integer <= uk_integer_max(type);
}

static const char *name_of(enum uk_expr_op op) {
    static const char *const names[] = {"+", "-", "*", "/", "<<", ">>", "&", "^", "|", "-"};
    static const char *const relations[] = {"==", "!=", "<", "<=", ">", ">="};

    if (op >= UK_E_ADD && op <= UK_E_NEG)
        return names[op - UK_E_ADD];
    if (uk_is_function(op))
        return uk_function_of(op)->name;
    if (op >= UK_E_EQ && op <= UK_E_GE)
        return relations[op - UK_E_EQ];
    return op == UK_E_PAD ? "pad" : "select";
}

static bool floats_only(enum uk_expr_op op) {
    return uk_is_function_of_class(op, UK_FUNCTION_REAL) || uk_is_function_of_class(op, UK_FUNCTION_WHOLE);
}

static bool is_defined(struct uk_program *p, const struct uk_expr *e, enum uk_type type) {
    enum uk_expr_op op = e->op;
    bool shift = op == UK_E_SHL || op == UK_E_SHR;

    if (floats_only(op) && !uk_type_is_float(type))
        return uk_program_fail(p, UK_REFUSED, e->at,
                               "%s is not defined for %s; convert to a float type first", name_of(op),
                               uk_type_name(type));
    if (shift && uk_type_is_float(type))
        return uk_program_fail(p, UK_REFUSED, e->at, "%s is not defined for %s; shift integers only",
                               name_of(op), uk_type_name(type));
    if (uk_is_bitwise(op) && uk_type_is_float(type))
        return uk_program_fail(p, UK_REFUSED, e->at,
                               "%s is not defined for %s; combine bits of integers only", name_of(op),
                               uk_type_name(type));
    return true;
}

/* Copies a negated number and gives the copy its type: its handle may be shared. */
static bool adopt_negated(struct uk_program *p, struct uk_expr *e, enum uk_type type) {
    struct uk_expr *number = uk_program_check_memory(p, uk_alloc(&p->arena, sizeof *number));

    if (!number)
        return false;
    *number = *e->arg[0];
    number->type = e->type = type;
    e->arg[0] = number;
    return true;
}

/* Gives a tree of literals its type. A tree that already has another type is copied, since handles may be
 * shared. */
static bool adopt(struct uk_program *p, struct uk_expr **slot, enum uk_type type) {
    struct uk_expr *e = *slot;

    if (e->type != UNTYPED && e->type != type) {
        e = uk_program_check_memory(p, uk_alloc(&p->arena, sizeof *e));
        if (!e)
            return false;
        *e = **slot;
        *slot = e;
    }
    /* -128 is a literal of i8, although 128 is not. */
    if (e->op == UK_E_NEG && e->arg[0]->op == UK_E_NUMBER && e->arg[0]->is_integer &&
        !fits(e->arg[0], type) &&
        fits(&(struct uk_expr){.is_integer = true, .integer = -e->arg[0]->integer}, type))
        return adopt_negated(p, e, type);
    if (e->op == UK_E_NUMBER && !fits(e, type))
        return uk_program_fail(p, UK_REFUSED, e->at,
                               "the literal does not fit into %s; cast it, or use another",
                               uk_type_name(type));
    if (!is_defined(p, e, type))
        return false;
    e->type = type;
    for (int i = e->op == UK_E_SELECT; i < 3 && e->arg[i]; i++)
        if (!adopt(p, &e->arg[i], type))
            return false;
    return true;
}

static bool is_literal(const struct uk_expr *e) {
    if (e->op == UK_E_NUMBER)
        return true;
    if (e->op == UK_E_SCALAR || e->op == UK_E_ACCESS || e->op == UK_E_INDEX || e->op == UK_E_CAST ||
        e->op == UK_E_PAD || e->op >= UK_E_EQ)
        return false;
    for (int i = e->op == UK_E_SELECT; i < 3 && e->arg[i]; i++)
        if (!is_literal(e->arg[i]))
            return false;
    return true;
}

static bool infer(struct uk_program *p, struct uk_expr *e);

/* Gives arguments i and k of e one type, which becomes e's. */
static bool unify(struct uk_program *p, struct uk_expr *e, int i, int k) {
    bool l = is_literal(e->arg[i]), r = is_literal(e->arg[k]);

    if (!infer(p, e->arg[i]) || !infer(p, e->arg[k]))
        return false;
    if (l && r)
        return true; /* e consists of literals too: its user determines the type */
    if (l && !adopt(p, &e->arg[i], e->arg[k]->type))
        return false;
    if (r && !adopt(p, &e->arg[k], e->arg[i]->type))
        return false;
    if (e->arg[i]->type != e->arg[k]->type)
        return uk_program_fail(p, UK_REFUSED, e->at,
                               "%s of %s and %s; convert one side, for instance by %s(...)", name_of(e->op),
                               uk_type_name(e->arg[i]->type), uk_type_name(e->arg[k]->type),
                               uk_type_name(e->arg[k]->type));
    e->type = e->arg[i]->type;
    return true;
}

static bool only_integers(const struct uk_expr *e) {
    if (e->op == UK_E_NUMBER)
        return e->is_integer;
    for (int i = e->op == UK_E_SELECT; i < 3 && e->arg[i]; i++)
        if (!only_integers(e->arg[i]))
            return false;
    return !floats_only(e->op);
}

static enum uk_type natural_type(const struct uk_expr *e) {
    return only_integers(e) ? UK_I64 : UK_F64;
}

/* Infers a comparison. If both sides are literals, nothing else determines their type. */
static bool infer_comparison(struct uk_program *p, struct uk_expr *e) {
    if (!unify(p, e, 0, 1))
        return false;
    if (is_literal(e->arg[0]) && is_literal(e->arg[1])) {
        enum uk_type l = natural_type(e->arg[0]), r = natural_type(e->arg[1]);
        enum uk_type type = l == UK_I64 && r == UK_I64 ? UK_I64 : UK_F64;

        return adopt(p, &e->arg[0], type) && adopt(p, &e->arg[1], type);
    }
    return true;
}

/* Infers a cast. A literal below it that is real takes the cast's float type at once; other literals keep
 * their natural type, i64 or f64, and are converted. */
static bool infer_cast(struct uk_program *p, struct uk_expr *e) {
    enum uk_type natural;

    if (!is_literal(e->arg[0]))
        return infer(p, e->arg[0]);
    natural = natural_type(e->arg[0]);
    if (uk_type_is_float(e->type) && natural == UK_F64)
        natural = e->type;
    return infer(p, e->arg[0]) && adopt(p, &e->arg[0], natural);
}

/* Gives each part of e its type, except parts that consist of literals. */
static bool infer(struct uk_program *p, struct uk_expr *e) {
    switch (e->op) {
    case UK_E_NUMBER:
        return true;
    case UK_E_SCALAR:
        e->type = e->scalar->type;
        return true;
    case UK_E_ACCESS:
        e->type = e->access.tensor->type;
        return true;
    case UK_E_INDEX:
        e->type = UK_I64;
        return true;
    case UK_E_CAST:
        return infer_cast(p, e);
    case UK_E_SELECT:
        return infer(p, e->arg[0]) && unify(p, e, 1, 2);
    case UK_E_AND:
    case UK_E_OR:
        return infer(p, e->arg[0]) && infer(p, e->arg[1]);
    case UK_E_NOT:
        return infer(p, e->arg[0]);
    case UK_E_EQ:
    case UK_E_NE:
    case UK_E_LT:
    case UK_E_LE:
    case UK_E_GT:
    case UK_E_GE:
        return infer_comparison(p, e);
    default:
        break;
    }
    if (e->arg[1])
        return unify(p, e, 0, 1) && (is_literal(e) || is_defined(p, e, e->type));
    if (!infer(p, e->arg[0]) || is_literal(e))
        return !p->status;
    e->type = e->arg[0]->type;
    return is_defined(p, e, e->type);
}

bool uk_check_types(struct uk_program *p, struct uk_statement *s) {
    enum uk_type type = s->left.tensor->type;

    if (!infer(p, s->right) || (is_literal(s->right) && !adopt(p, &s->right, type)))
        return false;
    if (s->right->type != type)
        return uk_program_fail(
            p, UK_REFUSED, s->right->at, "%s is %s and the right side is %s; convert it by %s(...)",
            s->left.tensor->name, uk_type_name(type), uk_type_name(s->right->type), uk_type_name(type));
    return true;
}
