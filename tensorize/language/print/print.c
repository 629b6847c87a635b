/* SPDX-License-Identifier: Apache-2.0 */
/* Printer of expressions, for programs, loops and messages. Parentheses occur only where the grammar needs
 * them, so the text parses to the same tree. */
#include <inttypes.h>
#include <stdlib.h>
#include "language/lex.h"

/* Precedence of operators: an operator of lower precedence inside one of higher precedence needs
 * parentheses. */
enum {
    BIND_OR = 1,
    BIND_AND,
    BIND_NOT,
    BIND_RELATION,
    BIND_BIT_OR,
    BIND_BIT_XOR,
    BIND_BIT_AND,
    BIND_SHIFT,
    BIND_SUM,
    BIND_TERM,
    BIND_UNARY,
    BIND_ATOM
};

struct operator{
    const char *sign;
    int binds;
};

static const struct operator index_operators[] = {
    [UK_I_ADD] = {"+", BIND_SUM},
    [UK_I_SUB] = {"-", BIND_SUM},
    [UK_I_MUL] = {"*", BIND_TERM},
    [UK_I_DIV] = {"/", BIND_TERM},
    [UK_I_MOD] = {"%", BIND_TERM},
    [UK_I_EQ] = {"==", BIND_RELATION},
    [UK_I_NE] = {"!=", BIND_RELATION},
    [UK_I_LT] = {"<", BIND_RELATION},
    [UK_I_LE] = {"<=", BIND_RELATION},
    [UK_I_GT] = {">", BIND_RELATION},
    [UK_I_GE] = {">=", BIND_RELATION},
    [UK_I_AND] = {"and", BIND_AND},
    [UK_I_OR] = {"or", BIND_OR},
    [UK_I_NEG] = {"-", BIND_UNARY},
    [UK_I_NOT] = {"not", BIND_NOT},
};

static const struct operator expr_operators[] = {
    [UK_E_ADD] = {"+", BIND_SUM},
    [UK_E_SUB] = {"-", BIND_SUM},
    [UK_E_MUL] = {"*", BIND_TERM},
    [UK_E_DIV] = {"/", BIND_TERM},
    [UK_E_SHL] = {"<<", BIND_SHIFT},
    [UK_E_SHR] = {">>", BIND_SHIFT},
    [UK_E_BIT_AND] = {"&", BIND_BIT_AND},
    [UK_E_BIT_XOR] = {"^", BIND_BIT_XOR},
    [UK_E_BIT_OR] = {"|", BIND_BIT_OR},
    [UK_E_NEG] = {"-", BIND_UNARY},
    [UK_E_EQ] = {"==", BIND_RELATION},
    [UK_E_NE] = {"!=", BIND_RELATION},
    [UK_E_LT] = {"<", BIND_RELATION},
    [UK_E_LE] = {"<=", BIND_RELATION},
    [UK_E_GT] = {">", BIND_RELATION},
    [UK_E_GE] = {">=", BIND_RELATION},
    [UK_E_AND] = {"and", BIND_AND},
    [UK_E_OR] = {"or", BIND_OR},
    [UK_E_NOT] = {"not", BIND_NOT},
};

static void put_index(struct uk_text *t, const struct uk_index *e, int least);

/* Discards the text: memory ran out. */
static void discard_text(struct uk_text *t) {
    free(t->text);
    *t = (struct uk_text){.failed = true};
}

/* True if e is c * x. The grammar has no products except c * x and x * c, and no factor may follow c * x. */
static bool is_scaled(const struct uk_index *e) {
    return e->op == UK_I_MUL && uk_index_is_int(e->a, NULL);
}

static void put_left_factor(struct uk_text *t, const struct uk_index *e, const struct uk_index *parent) {
    bool leads = is_scaled(e) && (parent->op != UK_I_MUL || uk_index_is_int(parent->b, NULL));

    put_index(t, e, leads ? BIND_ATOM : BIND_TERM);
}

/* Prints a product with a negative constant as -(2 * x), since a sign binds tighter than the product. */
static bool put_negative_product(struct uk_text *t, const struct uk_index *e) {
    const struct uk_index *c = uk_index_is_int(e->a, NULL) ? e->a : e->b;

    if (e->op != UK_I_MUL || c->op != UK_I_INT || c->value >= 0)
        return false;
    uk_put(t, "-(%" PRIu64 " * ", -(uint64_t)c->value);
    put_index(t, c == e->a ? e->b : e->a, BIND_UNARY);
    uk_put(t, ")");
    return true;
}

static void put_binary_index(struct uk_text *t, const struct uk_index *e, int least) {
    struct operator op = index_operators[e->op];

    if (op.binds < least)
        uk_put(t, "(");
    if (op.binds == BIND_TERM) {
        put_left_factor(t, e->a, e);
        uk_put(t, " %s ", op.sign);
        put_index(t, e->b, BIND_UNARY);
    } else {
        put_index(t, e->a, op.binds == BIND_RELATION ? BIND_SHIFT : op.binds);
        uk_put(t, " %s ", op.sign);
        put_index(t, e->b, op.binds + (e->op != UK_I_AND && e->op != UK_I_OR));
    }
    if (op.binds < least)
        uk_put(t, ")");
}

static void put_element_index(struct uk_text *t, const struct uk_index *e) {
    const struct uk_access a = uk_element_access(e);

    uk_put(t, e->wraps ? "wrap(" : "");
    uk_print_access(t, &a, a.tensor->dims);
    uk_put(t, e->wraps ? ")" : "");
}

static void put_index(struct uk_text *t, const struct uk_index *e, int least) {
    if (!e) {
        discard_text(t);
        return;
    }
    switch (e->op) {
    case UK_I_INT:
        uk_put(t, "%" PRId64, e->value);
        return;
    case UK_I_VAR:
        if (e->var->definition) {
            uk_put(t, "(");
            uk_print_index(t, e->var->definition);
            uk_put(t, ")");
        } else {
            uk_put(t, "%s", e->var->name);
        }
        return;
    case UK_I_NEG:
        uk_put(t, "-");
        put_index(t, e->a, BIND_UNARY);
        return;
    case UK_I_NOT:
        uk_put(t, "not ");
        put_index(t, e->a, BIND_ATOM);
        return;
    case UK_I_ELEMENT:
        put_element_index(t, e);
        return;
    case UK_I_MIN:
    case UK_I_MAX:
    case UK_I_SELECT:
        uk_put(t, "%s(", e->op == UK_I_MIN ? "min" : e->op == UK_I_MAX ? "max" : "select");
        put_index(t, e->a, 0);
        uk_put(t, ", ");
        put_index(t, e->b, 0);
        if (e->c) {
            uk_put(t, ", ");
            put_index(t, e->c, 0);
        }
        uk_put(t, ")");
        return;
    default:
        if (!put_negative_product(t, e))
            put_binary_index(t, e, least);
    }
}

void uk_print_index(struct uk_text *t, const struct uk_index *e) {
    put_index(t, e, 0);
}

void uk_print_access(struct uk_text *t, const struct uk_access *a, int dims) {
    uk_put(t, "%s[", a->tensor->name);
    for (int i = 0; i < dims; i++) {
        uk_put(t, "%s", i ? ", " : "");
        put_index(t, a->index[i], 0);
    }
    uk_put(t, "]");
}

static void put_expr(struct uk_text *t, const struct uk_expr *e, int least);

static void put_call(struct uk_text *t, const char *name, const struct uk_expr *e) {
    uk_put(t, "%s(", name);
    for (int i = 0; i < 3 && e->arg[i]; i++) {
        uk_put(t, "%s", i ? ", " : "");
        put_expr(t, e->arg[i], 0);
    }
    uk_put(t, ")");
}

static void put_number(struct uk_text *t, const struct uk_expr *e) {
    char text[40];

    if (e->is_integer) {
        uk_put(t, "%" PRId64, e->integer);
    } else if (e->number > 0 && e->number - e->number != 0) {
        uk_put(t, "inf");
    } else if (uk_double_to_text(e->number, text)) {
        uk_put(t, "%s", text);
    } else {
        discard_text(t);
    }
}

/* Prints an element: loops index stored dimensions, programs logical ones. */
static void put_element(struct uk_text *t, const struct uk_access *a) {
    int dims = a->tensor->dims;

    if (a->tensor->stored_dims > dims && a->index[a->tensor->stored_dims - 1])
        dims = a->tensor->stored_dims;
    while (dims > 0 && !a->index[dims - 1])
        dims--;
    uk_print_access(t, a, dims);
}

static void put_operator(struct uk_text *t, const struct uk_expr *e, int least) {
    struct operator op = expr_operators[e->op];

    if (op.binds < least)
        uk_put(t, "(");
    if (e->op == UK_E_NEG || e->op == UK_E_NOT) {
        uk_put(t, "%s", e->op == UK_E_NEG ? "-" : "not ");
        put_expr(t, e->arg[0], e->op == UK_E_NEG ? BIND_UNARY : BIND_RELATION);
    } else {
        put_expr(t, e->arg[0], op.binds == BIND_RELATION ? BIND_BIT_OR : op.binds);
        uk_put(t, " %s ", op.sign);
        put_expr(t, e->arg[1], op.binds + 1);
    }
    if (op.binds < least)
        uk_put(t, ")");
}

static void put_expr(struct uk_text *t, const struct uk_expr *e, int least) {
    switch (e->op) {
    case UK_E_NUMBER:
        put_number(t, e);
        return;
    case UK_E_SCALAR:
        uk_put(t, "%s", e->scalar->name);
        return;
    case UK_E_ACCESS:
        put_element(t, &e->access);
        return;
    case UK_E_INDEX:
        uk_put(t, "index(");
        put_index(t, e->index, 0);
        uk_put(t, ")");
        return;
    case UK_E_CAST:
        put_call(t, uk_type_name(e->type), e);
        return;
    case UK_E_PAD:
    case UK_E_SELECT:
        put_call(t, e->op == UK_E_PAD ? "pad" : "select", e);
        return;
    default:
        if (uk_is_function(e->op))
            put_call(t, uk_function_of(e->op)->name, e);
        else
            put_operator(t, e, least);
    }
}

void uk_print_expr(struct uk_text *t, const struct uk_expr *e) {
    put_expr(t, e, 0);
}
