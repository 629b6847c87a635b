/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compute_inline P: P is computed where its result is read. P's right side, with the reader's subscripts in
 * place of P's iterators, replaces every access to the temp that P writes.
 */
#include <string.h>
#include "schedule.h"

struct inlining {
    struct uk_schedule *s;
    const struct uk_step *step;
    struct uk_stage *stage; /* P, which is inlined */
    const struct uk_tensor *tensor;
};

static enum uk_status refuse(const struct inlining *i, const char *what, const char *name,
                             const char *advice) {
    return uk_fail(i->s->context, UK_REFUSED, i->step->at, "compute_inline %s: %s%s%s", i->step->subject,
                   what, name, advice);
}

static bool is_copy_of_its_own(const struct uk_stage *st) {
    return st->is_copy || st->is_reset;
}

/* Checks that an element of the temp is one expression of its subscripts, which are P's iterators. */
static enum uk_status check_stage(const struct inlining *i) {
    const struct uk_stage *st = i->stage;
    const struct uk_statement *t = st->statement;

    if (is_copy_of_its_own(st))
        return refuse(i, "the stage is a copy; leave its pack out instead", "", "");
    if (t->reduce != UK_REDUCE_NONE || t->assign != UK_ASSIGN)
        return refuse(i, "the stage reduces or accumulates; only element-wise stages can be inlined", "", "");
    if (i->tensor->kind != UK_TENSOR_TEMP)
        return refuse(i, i->tensor->name, " is an output", "; only a temp can be inlined");
    if (st->match)
        return refuse(i, "the stage is tensorized already; put the step before tensorize", "", "");
    if (st->parent)
        return refuse(i, "the stage is attached to another one; leave that step out", "", "");
    if (uk_scatters(t))
        return refuse(i, "a subscript of ", i->tensor->name, " on the left is an element of a tensor");
    for (int d = 0; d < i->tensor->dims; d++)
        if (t->left.index[d]->op != UK_I_VAR || t->left.index[d]->var->kind != UK_VAR_ITERATOR)
            return refuse(i, "a subscript of ", i->tensor->name,
                          " on the left has an offset; write it without");
    for (const struct uk_stage *o = i->s->stages; o; o = o->next) {
        for (int k = 1; k < o->operands; k++)
            if (o->operand[k].tensor != i->tensor && uk_memory_of(&o->operand[k]) == i->tensor)
                return refuse(i, "stage ", o->name, " reads it by `im2col`; put the step before that");
        if (o->parent == st)
            return refuse(i, "stage ", o->name, " is attached to it; put the step before that");
        if (o != st && o->operand[0].tensor == i->tensor)
            return refuse(i, "stage ", o->name, " writes the temp too");
    }
    for (int o = 1; o < st->operands; o++)
        if (st->operand[o].tensor->kind == UK_TENSOR_PACKED)
            return refuse(i, "it reads the copy ", st->operand[o].tensor->name,
                          "; put the step before the pack");
    return UK_OK;
}

static int count_reads(const struct inlining *i, const struct uk_stage *st) {
    int n = 0;

    for (int o = 1; o < st->operands; o++)
        n += st->operand[o].tensor == i->tensor;
    return n;
}

static enum uk_status check_reader(const struct inlining *i, const struct uk_stage *r) {
    int reads = count_reads(i, r), others = r->operands - reads;

    if (r == i->stage)
        return refuse(i, "the stage reads what it writes", "", "");
    if (is_copy_of_its_own(r))
        return refuse(i, "the copy ", r->name, " reads it; put the step before the pack");
    if (r->inside)
        return refuse(i, "loops of stage ", r->name, ", which reads it, are fused; put the step before that");
    if (r->match)
        return refuse(i, "stage ", r->name,
                      ", which reads it, is tensorized already; put the step before that");
    for (int o = 1; o < r->operands; o++) {
        if (r->operand[o].tensor != i->tensor)
            continue;
        if (r->operand[o].pad != UK_PAD_NONE)
            return refuse(i, "stage ", r->name, " reads it under pad, where it must have a shape");
        if (r->operand[o].is_subscript)
            return refuse(i, "its elements are subscripts in stage ", r->name,
                          ", which are checked before the loops run");
        if (uk_is_gathered(&r->operand[o]))
            return refuse(i, "stage ", r->name, " reads it with an element of a tensor as a subscript");
    }
    for (int o = 1; o < i->stage->operands && r->source != r->statement; o++)
        if (i->stage->operand[o].is_subscript)
            return refuse(i, "it has an element as a subscript, and another step has changed stage ", r->name,
                          "; put the step before that");
    if (others + reads * (i->stage->operands - 1) > UK_MAX_OPERANDS)
        return refuse(i, "stage ", r->name, " would have too many accesses");
    return UK_OK;
}

/* Checks that what P reads has the same value where its readers run. */
static enum uk_status check_readers(const struct inlining *i) {
    const struct uk_stage *last = NULL;

    for (const struct uk_stage *r = i->s->stages; r; r = r->next) {
        enum uk_status status = count_reads(i, r) ? check_reader(i, r) : UK_OK;

        if (status)
            return status;
        if (count_reads(i, r))
            last = r;
    }
    if (!last)
        return refuse(i, "nothing reads ", i->tensor->name, "; leave the statement out");
    for (const struct uk_stage *w = i->stage->next; w; w = w == last ? NULL : w->next)
        for (int o = 1; o < i->stage->operands; o++)
            if (w->operand[0].tensor == i->stage->operand[o].tensor)
                return refuse(i, "stage ", w->name, " writes what it reads before that is used");
    return UK_OK;
}

/* ---- the new expression ---- */

/* Substitutes P's iterators, all at once: a subscript may contain the same names. */
static struct uk_index *with_subscripts(const struct inlining *i, const struct uk_access *at,
                                        const struct uk_index *e) {
    struct uk_arena *a = i->s->arena;
    const struct uk_statement *t = i->stage->statement;

    if (!e)
        return NULL;
    for (int d = 0; e->op == UK_I_VAR && d < i->tensor->dims; d++)
        if (t->left.index[d]->var == e->var)
            return at->index[d];
    if (e->op == UK_I_INT || e->op == UK_I_VAR)
        return (struct uk_index *)e;
    struct uk_index *l = with_subscripts(i, at, e->a), *r = with_subscripts(i, at, e->b);
    return e->op == UK_I_SELECT ? uk_index_select(a, l, r, with_subscripts(i, at, e->c))
                                : uk_index_with_operands(a, e, l, r);
}

static struct uk_expr *value_at(const struct inlining *i, const struct uk_access *at,
                                const struct uk_expr *e) {
    struct uk_expr *r = uk_alloc(i->s->arena, sizeof *r);

    if (!r)
        return NULL;
    *r = *e;
    for (int d = 0; e->op == UK_E_ACCESS && d < e->access.tensor->dims; d++)
        if (!(r->access.index[d] = with_subscripts(i, at, e->access.index[d])))
            return NULL;
    if (e->op == UK_E_INDEX && !(r->index = with_subscripts(i, at, e->index)))
        return NULL;
    for (int k = 0; k < 3; k++)
        if (e->arg[k] && !(r->arg[k] = value_at(i, at, e->arg[k])))
            return NULL;
    return r;
}

/* The reader's new right side. Remaining accesses stay the same nodes, since these identify operands;
 * accesses of P's right side become new operands. */
static struct uk_expr *replaced(const struct inlining *i, struct uk_stage *r, struct uk_expr *e) {
    struct uk_expr *copy;

    if (e->op == UK_E_ACCESS) {
        if (e->access.tensor != i->tensor)
            return e;
        copy = value_at(i, &e->access, i->stage->statement->right);
        return copy && !uk_add_operands(i->s, r, copy) ? copy : NULL;
    }
    copy = uk_alloc(i->s->arena, sizeof *copy);
    if (!copy)
        return NULL;
    *copy = *e;
    for (int k = 0; k < 3; k++)
        if (e->arg[k] && !(copy->arg[k] = replaced(i, r, e->arg[k])))
            return NULL;
    return copy;
}

static void drop_operands(const struct inlining *i, struct uk_stage *r) {
    int number[UK_MAX_OPERANDS], n = 0;

    for (int o = 0; o < r->operands; o++) {
        number[o] = n;
        if (o && r->operand[o].tensor == i->tensor)
            continue;
        if (n != o)
            r->operand[n] = r->operand[o];
        n++;
    }
    r->operands = n;
    for (int b = 0; b < r->bounds; b++)
        r->bound[b].operand = number[r->bound[b].operand];
}

/* Adds to the reader's condition on sizes (`needs`) that the accesses of the reader and of P are inside their
 * tensors. This precedes the replacement, because the new accesses could be inside for more sizes. */
static enum uk_status keep_condition(const struct inlining *i, struct uk_stage *r) {
    const struct uk_stage *of[] = {i->stage, r};

    for (int n = 0; n < 2; n++) {
        struct uk_index *inside;
        int64_t always;
        enum uk_status status = uk_inside_condition(i->s, of[n], &inside);

        if (status)
            return status;
        if (!(uk_index_is_int(inside, &always) && always))
            r->needs = r->needs ? uk_index_op(i->s->arena, UK_I_AND, r->needs, inside) : inside;
        if (of[n]->needs && of[n] != r)
            r->needs = r->needs ? uk_index_op(i->s->arena, UK_I_AND, r->needs, of[n]->needs) : of[n]->needs;
    }
    return UK_OK;
}

enum uk_status uk_apply_inline(struct uk_schedule *s, struct uk_step *step) {
    struct inlining i = {.s = s, .step = step, .stage = uk_stage_find(s, step->subject)};
    const char *near = i.stage ? NULL : uk_closest_stage(s, step->subject);

    if (!i.stage)
        return uk_fail(s->context, UK_REFUSED, step->at,
                       "compute_inline: there is no stage %s%s%s; name one of the statements", step->subject,
                       near ? "; did you mean " : "", near ? near : "");
    i.tensor = i.stage->operand[0].tensor;
    enum uk_status status;

    if ((status = check_stage(&i)) || (status = check_readers(&i)))
        return status;
    for (struct uk_stage *r = s->stages; r; r = r->next)
        if (count_reads(&i, r) && (status = keep_condition(&i, r)))
            return status;
    for (struct uk_stage *r = s->stages; r; r = r->next) {
        if (!count_reads(&i, r))
            continue;
        drop_operands(&i, r);
        r->statement->right = replaced(&i, r, r->statement->right);
        if (!r->statement->right)
            return s->context->failed ? UK_REFUSED : uk_out_of_memory(s->context);
    }
    struct uk_stage **at = &s->stages;
    while (*at != i.stage)
        at = &(*at)->next;
    *at = i.stage->next;
    i.stage->is_gone = true;
    if (s->last == i.stage)
        s->last = NULL;
    return UK_OK;
}
