/* SPDX-License-Identifier: Apache-2.0 */
/* Helpers of all parts of an attempt: the reason of its failure, and the loops that values depend on. */
#include <stdio.h>
#include "attempt.h"

bool uk_record_difference(struct uk_attempt *t, const char *format, ...) {
    va_list ap;
    char text[512];

    if (t->score <= t->best)
        return false;
    t->best = t->score;
    va_start(ap, format);
    vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    t->why->length = 0;
    uk_put(t->why, "%s", text);
    return false;
}

int uk_tensor_number(const struct uk_program *p, const struct uk_tensor *t) {
    int n = 0;

    for (const struct uk_tensor *o = p->tensors; o; o = o->next, n++)
        if (o == t)
            return n;
    return -1;
}

int uk_match_operand_of(const struct uk_stage *st, const struct uk_expr *e) {
    for (int o = 1; o < st->operands; o++)
        if (st->operand[o].expr == e)
            return o;
    return -1;
}

static bool form_depends(const struct uk_affine *f, const struct uk_loop *l) {
    return f->coefficient[l->id] || (f->general && uk_mentions(f->general, l->var));
}

bool uk_match_depends(struct uk_attempt *t, const struct uk_expr *e, const struct uk_loop *l) {
    struct uk_affine f;

    if (e->op == UK_E_INDEX)
        return uk_affine_of(t->s, t->st, e->index, &f) || form_depends(&f, l);
    if (e->op == UK_E_ACCESS) {
        const struct uk_operand *o = &t->st->operand[uk_match_operand_of(t->st, e)];

        for (int d = 0; d < o->tensor->stored_dims; d++)
            if (form_depends(&o->index[d], l))
                return true;
        return false;
    }
    for (int i = 0; i < 3; i++)
        if (e->arg[i] && uk_match_depends(t, e->arg[i], l))
            return true;
    return false;
}

bool uk_match_scalars_depend(struct uk_attempt *t, const struct uk_loop *l) {
    for (int i = 0; i < t->m.scalars; i++)
        if (t->m.scalar[i] && uk_match_depends(t, t->m.scalar[i], l))
            return true;
    return false;
}
