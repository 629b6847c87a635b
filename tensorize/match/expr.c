/* SPDX-License-Identifier: Apache-2.0 */
/* Compares the expression of a declaration with that of a nest: pairs accesses with operands, and binds
 * scalars to values. */
#include <string.h>
#include "attempt.h"

static const char *operation_name(const struct uk_expr *e) {
    static const char *const name[] = {
        [UK_E_NUMBER] = "a number",
        [UK_E_SCALAR] = "a scalar",
        [UK_E_ACCESS] = "an element",
        [UK_E_INDEX] = "index()",
        [UK_E_ADD] = "+",
        [UK_E_SUB] = "-",
        [UK_E_MUL] = "*",
        [UK_E_DIV] = "/",
        [UK_E_SHL] = "<<",
        [UK_E_SHR] = ">>",
        [UK_E_BIT_AND] = "&",
        [UK_E_BIT_XOR] = "^",
        [UK_E_BIT_OR] = "|",
        [UK_E_NEG] = "unary -",
        [UK_E_CAST] = "a conversion",
        [UK_E_PAD] = "pad",
        [UK_E_SELECT] = "select",
        [UK_E_EQ] = "==",
        [UK_E_NE] = "!=",
        [UK_E_LT] = "<",
        [UK_E_LE] = "<=",
        [UK_E_GT] = ">",
        [UK_E_GE] = ">=",
        [UK_E_AND] = "and",
        [UK_E_OR] = "or",
        [UK_E_NOT] = "not",
    };

    return uk_is_function(e->op) ? uk_function_of(e->op)->name : name[e->op];
}

/* ---- operands ---- */

/* True if the kernel only moves elements: then those of any type of as many bytes. */
static bool is_move(const struct uk_attempt *t) {
    return t->ks->right->op == UK_E_ACCESS && t->ks->reduce == UK_REDUCE_NONE;
}

/* Pairs an access of the declaration with an operand. Two accesses of one declared tensor must be accesses of
 * one tensor in the nest too. */
static bool pair(struct uk_attempt *t, int declared, int operand) {
    const struct uk_tensor *want = t->declared->operand[declared].tensor;
    const struct uk_operand *o = &t->st->operand[operand];
    int n = uk_tensor_number(t->k->declaration, want);

    if (uk_is_gathered(o))
        return uk_record_difference(
            t, "a subscript of %s is an element of a tensor, which kernels do not support", o->tensor->name);
    if (want->type != o->tensor->type &&
        !(is_move(t) && uk_type_bytes(want->type) == uk_type_bytes(o->tensor->type)))
        return uk_record_difference(t, "%s has the type %s, %s of the kernel has %s", o->tensor->name,
                                    uk_type_name(o->tensor->type), want->name, uk_type_name(want->type));
    if (!uk_match_scope(t, want, operand))
        return false;
    if (t->first[n] >= 0 && t->st->operand[t->m.operand[n]].tensor != o->tensor)
        return uk_record_difference(
            t, "%s of the kernel would be both %s and %s; the kernel takes one tensor there", want->name,
            t->st->operand[t->m.operand[n]].tensor->name, o->tensor->name);
    if (operand && (n == t->pair[0].tensor) != (o->tensor == t->st->operand[0].tensor))
        return uk_record_difference(
            t, "%s is written by the nest and also read as %s of the kernel, which %s",
            t->st->operand[0].tensor->name, want->name,
            n == t->pair[0].tensor ? "reads what it writes" : "needs a separate tensor there; read a copy");
    t->pair[t->pairs++] = (struct uk_pair){.tensor = n, .declared = declared, .operand = operand};
    if (t->first[n] < 0) {
        t->first[n] = t->pairs - 1;
        t->m.operand[n] = operand;
    }
    t->score++;
    return true;
}

/* ---- scalars ---- */

static bool same_operand(const struct uk_operand *a, const struct uk_operand *b) {
    for (int d = 0; d < a->tensor->stored_dims; d++) {
        const struct uk_affine *x = &a->index[d], *y = &b->index[d];

        if (memcmp(x->coefficient, y->coefficient, sizeof x->coefficient) || !x->rest != !y->rest ||
            !x->general != !y->general || (x->rest && !uk_index_equal(x->rest, y->rest)) ||
            (x->general && !uk_index_equal(x->general, y->general)))
            return false;
    }
    return true;
}

static double value_of(const struct uk_expr *number) {
    return number->is_integer ? (double)number->integer : number->number;
}

/* True if two expressions of the nest have the same value. */
static bool same_value(const struct uk_stage *st, const struct uk_expr *a, const struct uk_expr *b) {
    if (a->op != b->op || a->type != b->type)
        return false;
    switch (a->op) {
    case UK_E_NUMBER:
        return value_of(a) == value_of(b);
    case UK_E_SCALAR:
        return a->scalar == b->scalar;
    case UK_E_ACCESS:
        return a->access.tensor == b->access.tensor && same_operand(&st->operand[uk_match_operand_of(st, a)],
                                                                    &st->operand[uk_match_operand_of(st, b)]);
    case UK_E_INDEX:
        return uk_index_equal(a->index, b->index);
    default:
        for (int i = 0; i < 3; i++)
            if (!a->arg[i] != !b->arg[i] || (a->arg[i] && !same_value(st, a->arg[i], b->arg[i])))
                return false;
        return true;
    }
}

/* True if the value can be read once before a call: it is no pad, whose element may not exist, and the nest
 * does not write it. */
static bool is_fixed(const struct uk_attempt *t, const struct uk_expr *e) {
    if (e->op == UK_E_PAD || (e->op == UK_E_ACCESS && e->access.tensor == t->st->operand[0].tensor))
        return false;
    for (int i = 0; i < 3; i++)
        if (e->arg[i] && !is_fixed(t, e->arg[i]))
            return false;
    return true;
}

static bool reads_gathered(const struct uk_attempt *t, const struct uk_expr *e) {
    if (e->op == UK_E_ACCESS)
        return uk_is_gathered(&t->st->operand[uk_match_operand_of(t->st, e)]);
    for (int i = 0; i < 3; i++)
        if (e->arg[i] && reads_gathered(t, e->arg[i]))
            return true;
    return false;
}

static bool bind_scalar(struct uk_attempt *t, const struct uk_scalar *want, const struct uk_expr *e) {
    int n = uk_scalar_number(t->k->declaration->scalars, want);

    if (want->type != e->type)
        return uk_record_difference(t, "the scalar %s of the kernel has the type %s, the value here has %s",
                                    want->name, uk_type_name(want->type), uk_type_name(e->type));
    if (reads_gathered(t, e))
        return uk_record_difference(
            t, "the scalar %s of the kernel would be read with an element of a tensor as a subscript",
            want->name);
    if (!is_fixed(t, e))
        return uk_record_difference(t,
                                    "the scalar %s of the kernel would be %s, which changes within the nest",
                                    want->name, e->op == UK_E_PAD ? "a pad" : "what the nest writes");
    for (int i = t->tile; i < t->st->loops && !t->is_whole_stage; i++)
        if (uk_match_depends(t, e, t->st->loop[i]))
            return uk_record_difference(
                t, "the scalar %s of the kernel is one number, but %s here depends on loop %s", want->name,
                operation_name(e), t->st->loop[i]->var->name);
    if (t->m.scalar[n] && !same_value(t->st, t->m.scalar[n], e))
        return uk_record_difference(t, "the scalar %s of the kernel has two values here", want->name);
    t->m.scalar[n] = e;
    t->score++;
    return true;
}

/* ---- trees ---- */

/* True if guards express the pad, which adds nothing to the sum outside, or it is not needed at all. */
static bool is_left_out(const struct uk_stage *st, const struct uk_expr *pad) {
    int o = uk_match_operand_of(st, pad->arg[0]);

    return o >= 0 && st->operand[o].pad != UK_PAD_VALUE;
}

/* True if the operands may be swapped: min and max of floats with a NaN, or of two zeros, are the second one.
 */
static bool commutes(const struct uk_expr *e) {
    return e->op == UK_E_ADD || e->op == UK_E_MUL || uk_is_bitwise(e->op) || e->op == UK_E_EQ ||
           e->op == UK_E_NE || e->op == UK_E_AND || e->op == UK_E_OR ||
           (uk_is_function_of_class(e->op, UK_FUNCTION_CHOICE) && !uk_type_is_float(e->type));
}

static bool same_expression(struct uk_attempt *t, const struct uk_expr *k, const struct uk_expr *e) {
    while (e->op == UK_E_PAD && is_left_out(t->st, e))
        e = e->arg[0];
    if (k->op == UK_E_PAD && e->op == UK_E_ACCESS && uk_match_is_border(t, k)) {
        k = k->arg[0];
        t->has_border[uk_tensor_number(t->k->declaration, k->access.tensor)] = true;
    }

    if (k->op == UK_E_SCALAR)
        return bind_scalar(t, k->scalar, e);
    if (k->op != e->op)
        return uk_record_difference(t, "the expression has %s here, but %s in the kernel", operation_name(e),
                                    operation_name(k));
    t->score++;
    switch (k->op) {
    case UK_E_ACCESS:
        return pair(t, uk_match_operand_of(t->declared, k), uk_match_operand_of(t->st, e));
    case UK_E_NUMBER:
        return value_of(k) == value_of(e) ||
               uk_record_difference(t, "the number %g here is %g in the kernel", value_of(e), value_of(k));
    case UK_E_INDEX:
        return uk_record_difference(t, "the kernel's expression has index(), which kernels cannot compute");
    case UK_E_CAST:
        if (k->type != e->type)
            return uk_record_difference(t, "a conversion to %s here, to %s in the kernel",
                                        uk_type_name(e->type), uk_type_name(k->type));
        break;
    case UK_E_PAD:
        t->padded[uk_tensor_number(t->k->declaration, k->arg[0]->access.tensor)] = true;
        break;
    default:
        break;
    }
    bool swap = commutes(k) && (t->swap >> t->node++ & 1);
    for (int i = 0; i < 3; i++) {
        const struct uk_expr *x = e->arg[swap && i < 2 ? 1 - i : i];

        if ((k->arg[i] == NULL) != (x == NULL))
            return uk_record_difference(t, "the kernel computes a different expression");
        if (x && !same_expression(t, k->arg[i], x))
            return false;
    }
    return true;
}

bool uk_match_leaves_out(const struct uk_attempt *t, const struct uk_tensor *x) {
    for (int o = 0; o < t->declared->operands; o++)
        if (t->declared->operand[o].tensor == x)
            return false;
    return t->k->declaration->statements != t->k->computes;
}

bool uk_match_expression(struct uk_attempt *t) {
    t->node = t->score = t->pairs = 0;
    memset(t->padded, 0, sizeof t->padded);
    memset(t->has_border, 0, sizeof t->has_border);
    memset(t->first, -1, sizeof t->first);
    if (!pair(t, 0, 0) || !same_expression(t, t->ks->right, t->st->statement->right))
        return false;
    for (const struct uk_tensor *x = t->k->declaration->tensors; x; x = x->next)
        if (t->first[uk_tensor_number(t->k->declaration, x)] < 0 && !uk_match_leaves_out(t, x))
            return uk_record_difference(t, "the declaration does not say what it does with %s", x->name);
    for (const struct uk_scalar *x = t->k->declaration->scalars; x; x = x->next)
        if (!t->m.scalar[uk_scalar_number(t->k->declaration->scalars, x)])
            return uk_record_difference(t, "the declaration does not say what it does with %s", x->name);
    return true;
}
