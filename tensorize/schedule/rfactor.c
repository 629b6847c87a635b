/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rfactor L -> R: splits a reduction into two stages. R reduces over all loops of the sum except L, once for
 * each value of L, into a buffer; the stage then reduces R over L. L carries no dependence in R, so it may be
 * parallel or vectorized there.
 *
 * R keeps the stage's loops with all that was done to them. The stage restarts with one loop for each
 * dimension of its output, and L. L is the buffer's first dimension, or its last one if L is the stage's
 * innermost loop: its values are then the lanes of vectors. For values of L with nothing to reduce, R holds
 * the identity.
 */
#include <string.h>
#include "schedule.h"

struct factoring {
    struct uk_schedule *s;
    const struct uk_step *step;
    struct uk_stage *stage; /* first the original reduction, then R */
    int position;
    struct uk_loop *loop;
    struct uk_var *iterator; /* L as an iterator of both statements */
    struct uk_index *extent;
    bool innermost;
    struct uk_tensor *tensor;
};

static enum uk_status refuse(const struct factoring *f, const char *what) {
    return uk_fail(f->s->context, UK_REFUSED, f->step->at, "rfactor %s: %s", f->step->loop[0].loop, what);
}

static enum uk_status check(struct factoring *f) {
    struct uk_stage *st = f->stage;
    const char *name = f->step->name[0];
    enum uk_status status = uk_check_plain(f->s, f->loop, f->step->at, "rfactor");

    if (status)
        return status;
    if (st->previous)
        return refuse(f, "the stage is a scan, whose order matters; take a sum without `scan`");
    if (!uk_is_reduced(st, f->loop))
        return refuse(f, "the loop is of an output axis; take one that the stage reduces over");
    if (st->match)
        return refuse(f, "the stage is tensorized already; put the step before tensorize");
    if (uk_has_fused_rows(st))
        return refuse(f, "loops over the output are fused; put the step before that");
    if (st->parent)
        return refuse(f, "the stage is attached to another one; put the step before that");
    for (const struct uk_stage *c = f->s->stages; c; c = c->next)
        if (c->parent == st)
            return refuse(f, "another stage is attached to this one; put the step before that");
    for (int o = 1; o < st->operands; o++)
        if (st->operand[o].tensor == st->operand[0].tensor)
            return refuse(f, "the stage reads what it writes; use a temp");
    if (st->statement->left_iterators == UK_MAX_DIMS)
        return refuse(f, "the output has too many dimensions to add one");
    if (uk_stage_find(f->s, name) || uk_find_tensor(f->s->program, name) ||
        uk_find_var(f->s->program->sizes, name) || uk_find_scalar(f->s->program, name))
        return uk_fail(f->s->context, UK_REFUSED, f->step->at,
                       "rfactor %s: the name %s is taken; give another after ->", f->step->loop[0].loop,
                       name);
    return UK_OK;
}

/* Finds an extent that covers all values of L for which the stage has instances, and possibly more. */
static enum uk_status find_extent(struct factoring *f) {
    struct uk_index *zero[UK_MAX_LOOPS] = {0};
    int64_t n = uk_constant_extent(f->stage, f->loop);

    f->extent = n >= 0 ? uk_index_int(f->s->arena, n) : uk_loop_end(f->s, f->stage, f->loop, zero);
    return f->extent
               ? UK_OK
               : refuse(
                     f,
                     "the loop has no bound that is independent of other loops; split the sum, or reorder");
}

/* Fills in R's subscripts over the iterators of a statement; L's iterator is first or last. */
static bool put_index(const struct factoring *f, struct uk_statement *t, struct uk_access *a) {
    int left = f->tensor->dims - 1;

    *a = (struct uk_access){.tensor = f->tensor, .at = f->step->at};
    for (int d = 0; d < f->tensor->dims; d++) {
        int of_left = f->innermost ? d : d - 1;
        struct uk_var *v = of_left >= 0 && of_left < left ? t->iterator[of_left] : f->iterator;

        a->index[d] = uk_index_var(f->s->arena, v);
        if (!a->index[d])
            return false;
    }
    return true;
}

static enum uk_status create_buffer(struct factoring *f) {
    const struct uk_statement *t = f->stage->statement;
    struct uk_arena *a = f->s->arena;
    struct uk_tensor *x = f->tensor = uk_alloc(a, sizeof *x);
    struct uk_buffer *b = uk_alloc(a, sizeof *b);
    struct uk_index *elements = uk_index_int(a, 1);
    int left = t->left_iterators, n = 0;

    if (!x || !b)
        return uk_out_of_memory(f->s->context);
    *x = (struct uk_tensor){.name = f->step->name[0],
                            .type = t->left.tensor->type,
                            .kind = UK_TENSOR_TEMP,
                            .dims = left + 1,
                            .stored_dims = left + 1,
                            .align = 64,
                            .is_written = true,
                            .is_read = true,
                            .at = f->step->at};
    if (!f->innermost)
        x->shape[n++] = f->extent;
    for (int d = 0; d < left; d++)
        x->shape[n++] = t->extent[d];
    if (f->innermost)
        x->shape[n] = f->extent;
    for (int d = left; d >= 0; d--) {
        x->stored[d] = x->shape[d];
        x->stride[d] = elements;
        elements = uk_index_op(a, UK_I_MUL, elements, x->shape[d]);
    }
    *b = (struct uk_buffer){.tensor = x, .elements = elements, .next = f->s->buffers};
    f->s->buffers = b;
    return elements ? UK_OK : uk_out_of_memory(f->s->context);
}

/* Makes the stage's remaining statement: left assign reduce(L) R[..]. */
static struct uk_statement *final_statement(struct factoring *f) {
    const struct uk_statement *was = f->stage->statement;
    struct uk_statement *t = uk_alloc(f->s->arena, sizeof *t);
    struct uk_expr *read = uk_alloc(f->s->arena, sizeof *read);
    int left = was->left_iterators;

    if (!t || !read)
        return NULL;
    *t = *was;
    t->next = NULL;
    t->where = NULL;
    t->iterators = left + 1;
    t->iterator[left] = f->iterator;
    t->extent[left] = f->extent;
    t->reduced = 1;
    t->reduced_iterator[0] = f->iterator;
    t->right = read;
    *read = (struct uk_expr){.op = UK_E_ACCESS, .type = f->tensor->type, .depth = 1, .at = f->step->at};
    return put_index(f, t, &read->access) ? t : NULL;
}

/* Makes R's statement: R[..] = reduce(the other iterators) of the stage's right side. L's iterator joins the
 * left ones. */
static struct uk_statement *partial_statement(struct factoring *f) {
    const struct uk_statement *was = f->stage->statement;
    struct uk_statement *t = uk_alloc(f->s->arena, sizeof *t);
    int left = was->left_iterators;

    if (!t)
        return NULL;
    *t = *was;
    t->next = NULL;
    t->label = f->step->name[0];
    t->assign = UK_ASSIGN;
    t->left_iterators++;
    t->iterators++;
    t->iterator[left] = f->iterator;
    t->extent[left] = f->extent;
    for (int i = left; i < was->iterators; i++) {
        t->iterator[i + 1] = was->iterator[i];
        t->extent[i + 1] = was->extent[i];
    }
    return put_index(f, t, &t->left) ? t : NULL;
}

/* Turns the stage into R: L belongs to an iterator of its own, the first one after the left ones. */
static enum uk_status become_partial(struct factoring *f) {
    struct uk_stage *st = f->stage;
    struct uk_affine of_loop = {0};
    int left = st->statement->left_iterators;

    st->statement = partial_statement(f);
    if (!st->statement)
        return uk_out_of_memory(f->s->context);
    st->name = st->statement->label;
    enum uk_status named = uk_name_add_stage(f->s, st, st->name);
    if (named)
        return named;
    for (int i = st->iterators++; i > left; i--) {
        st->iterator[i] = st->iterator[i - 1];
        st->reduced[i] = st->reduced[i - 1];
    }
    for (int i = 0; i < st->loops; i++)
        st->loop[i]->iterator += st->loop[i]->iterator >= left;
    of_loop.coefficient[f->loop->id] = 1;
    f->loop->iterator = left;
    st->iterator[left] = of_loop;
    st->reduced[left] = false;
    st->operand[0].tensor = f->tensor;
    memset(st->operand[0].index, 0, sizeof st->operand[0].index);
    for (int d = 0; d < f->tensor->dims; d++) {
        enum uk_status status =
            uk_affine_of(f->s, st, st->statement->left.index[d], &st->operand[0].index[d]);

        if (status)
            return status;
    }
    return uk_add_bound(f->s, st, &of_loop, f->extent);
}

enum uk_status uk_apply_rfactor(struct uk_schedule *s, struct uk_step *step) {
    struct factoring f = {.s = s, .step = step};
    enum uk_status status = uk_find_loop(s, &step->loop[0], &f.stage, &f.position);

    if (status)
        return status;
    f.loop = f.stage->loop[f.position];
    f.innermost = f.position == f.stage->loops - 1;
    if ((status = check(&f)) || (status = find_extent(&f)) || (status = create_buffer(&f)))
        return status;
    f.iterator = uk_alloc(s->arena, sizeof *f.iterator);
    if (!f.iterator)
        return uk_out_of_memory(s->context);
    *f.iterator = (struct uk_var){.name = f.loop->var->name, .kind = UK_VAR_ITERATOR, .at = step->at};
    struct uk_statement *rest = final_statement(&f);
    struct uk_stage *last = NULL, **end = &last;
    if (!rest)
        return uk_out_of_memory(s->context);
    if ((status = become_partial(&f)) || (status = uk_stage_create(s, rest, &end)))
        return status;
    last->next = f.stage->next;
    f.stage->next = last;
    s->last = NULL;
    return UK_OK;
}
