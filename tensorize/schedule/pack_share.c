/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Selection of the accesses that a copying step means, and sharing of copies: a step uses an existing copy if
 * it has the same name, part and layout.
 */
#include <string.h>
#include "attach.h"

/* Compares subscripts by names: an iterator of fused loops has its name from the step that fused them. */
static bool same_subscript(const struct uk_index *a, const struct uk_index *b) {
    int64_t x, y;

    if (!a || !b)
        return a == b;
    if (a->op == UK_I_VAR && b->op == UK_I_VAR)
        return !strcmp(a->var->name, b->var->name);
    if (uk_index_is_int(a, &x) && uk_index_is_int(b, &y))
        return x == y;
    return a->op == b->op && same_subscript(a->a, b->a) && same_subscript(a->b, b->b) &&
           same_subscript(a->c, b->c);
}

bool uk_same_access(const struct uk_access *a, struct uk_index *const *subscript, int subscripts) {
    bool same = subscripts == a->tensor->dims;

    for (int d = 0; d < subscripts && same; d++)
        same = same_subscript(a->index[d], subscript[d]);
    return same;
}

bool uk_is_selected(const struct uk_step *step, const struct uk_operand *o) {
    return !strcmp(o->tensor->name, step->subject) &&
           (!step->subscripts ||
            (o->expr && uk_same_access(&o->expr->access, step->subscript, step->subscripts)));
}

bool uk_same_constant(const struct uk_expr *a, const struct uk_expr *b) {
    if (a->op != b->op || a->type != b->type || a->scalar != b->scalar || a->is_integer != b->is_integer ||
        a->integer != b->integer || (a->op == UK_E_NUMBER && !a->is_integer && a->number != b->number))
        return false;
    for (int i = 0; i < 3; i++)
        if (!a->arg[i] != !b->arg[i] || (a->arg[i] && !uk_same_constant(a->arg[i], b->arg[i])))
            return false;
    return true;
}

static bool same_layout(const struct uk_buffer_layout *a, const struct uk_buffer_layout *b) {
    bool same = a->stored == b->stored;

    for (int k = 0; k < a->stored && same; k++)
        same = a->digit[k].dim == b->digit[k].dim && a->digit[k].divisor == b->digit[k].divisor &&
               a->digit[k].modulus == b->digit[k].modulus && a->stride[k] == b->stride[k];
    return same;
}

static bool same_contents(const struct uk_copied *a, const struct uk_copied *b) {
    bool same = same_layout(&a->layout, &b->layout) && a->region->dims == b->region->dims &&
                (a->outside == NULL) == (b->outside == NULL) &&
                (!a->outside || uk_same_constant(a->outside, b->outside));

    for (int d = 0; d < a->region->dims && same; d++)
        same = uk_part_equal(&a->region->part[d], &b->region->part[d]);
    return same;
}

/* True if the reader runs after the copy and nothing writes the copied tensor in between. */
static bool is_up_to_date(const struct uk_stage *copy, const struct uk_stage *reader) {
    for (const struct uk_stage *st = copy->next; st; st = st->next) {
        if (uk_root_of(st) == uk_root_of(reader))
            return true;
        if (st->operand[0].tensor == copy->operand[1].tensor)
            return false;
    }
    return false;
}

struct uk_stage *uk_find_shared(const struct uk_schedule *s, const struct uk_stage *reader, const char *name,
                                const struct uk_tensor *from, const struct uk_copied *what) {
    for (struct uk_stage *c = s->stages; c; c = c->next)
        if (c->copied && !c->prefix && c->operand[1].tensor == from && !strcmp(c->name, name) &&
            same_contents(c->copied, what) && is_up_to_date(c, reader))
            return c;
    return NULL;
}

const struct uk_stage *uk_first_reader(const struct uk_stage *copy) {
    for (const struct uk_stage *st = copy->next; st; st = st->next)
        for (int o = 1; o < st->operands && !st->is_gone; o++)
            if (st->operand[o].tensor == copy->operand[0].tensor)
                return st;
    return NULL;
}
