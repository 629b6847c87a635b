/* SPDX-License-Identifier: Apache-2.0 */
/*
 * im2col X at S.root -> A: the stage reads A in place of X. A is a matrix (with a dimension for each iterator
 * in the access to X) whose element is the one of X that the stage reads for these iterators. It is not in
 * memory: each access to it becomes one to X. Loops over pixels, which move X's address by different amounts,
 * are one long row of A, and so are those over a window and its channels; `fuse` makes each group one loop,
 * and the stage a product of matrices. A copy of A's part in shared memory, made by cache_read, has the
 * borders of the image too.
 *
 * Source: K. Chellapilla, S. Puri, P. Simard, "High Performance Convolutional Neural Networks for Document
 * Processing" (2006), which stores the matrix; cuDNN's implicit GEMM (S. Chetlur et al., 2014), which does
 * not.
 */
#include <string.h>
#include "pack.h"

static enum uk_status refuse(const struct uk_packing_step *p, const char *what) {
    return uk_fail(p->s->context, UK_REFUSED, p->step->at, "im2col %s at %s: %s", p->step->subject,
                   p->step->loop[0].loop, what);
}

static enum uk_status check(const struct uk_packing_step *p) {
    const struct uk_stage *st = p->consumer;
    const struct uk_operand *o = &st->operand[p->operand[0]];

    if (p->prefix || st->parent)
        return refuse(p, "the matrix is of the whole stage; write `at STAGE.root`, before the stage is "
                         "attached to another one");
    if (p->operands > 1)
        return refuse(p, "the stage reads the tensor more than once; give the subscripts of one access");
    if (p->from->im2col)
        return refuse(p, "it is a matrix of `im2col` itself; leave the step out");
    if (p->from->layout)
        return refuse(p, "the tensor has a layout; pack it into a plain one first");
    if (st->inside)
        return refuse(p, "loops of the stage are fused; put the step before that");
    if (o->pad == UK_PAD_GUARD && !uk_may_store_zeros(st, p->operand[0]))
        return refuse(p,
                      "terms at the border are left out, and zeros in their place would give NaN where the "
                      "other factor is infinite; declare that tensor `finite`");
    for (const struct uk_stage *c = p->s->stages; c; c = c->next)
        if (c->parent == st)
            return refuse(p, "another stage is attached to this one; put the step before that");
    return uk_name_is_new(p->s, p->step->name[0], p->step->at);
}

/* Creates the matrix: its dimensions are the iterators of the access, in the order of the loops. */
static enum uk_status create_matrix(struct uk_packing_step *p, int dimension[]) {
    const struct uk_stage *st = p->consumer;
    const struct uk_access *x = &st->operand[p->operand[0]].expr->access;
    struct uk_arena *a = p->s->arena;
    struct uk_im2col *m = uk_alloc(a, sizeof *m);
    struct uk_tensor *t = p->tensor = uk_alloc(a, sizeof *t);
    struct uk_index *elements = uk_index_int(a, 1);

    if (!m || !t || !elements)
        return uk_out_of_memory(p->s->context);
    *t = *p->from;
    t->name = p->step->name[0];
    t->kind = UK_TENSOR_TEMP;
    t->im2col = m;
    t->is_constant = t->has_strides = t->has_over = false;
    t->dims = 0;
    for (int i = 0; i < st->loops; i++) {
        const int k = st->loop[i]->iterator;
        bool is_used = false, is_new = true;

        for (int d = 0; d < x->tensor->dims; d++)
            is_used |= uk_mentions(x->index[d], st->statement->iterator[k]);
        for (int d = 0; d < t->dims; d++)
            is_new &= dimension[d] != k;
        if (!is_used || !is_new)
            continue;
        if (t->dims == UK_MAX_DIMS)
            return refuse(p, "its subscripts have more iterators than a tensor may have dimensions");
        m->iterator[m->iterators] = st->statement->iterator[k];
        m->digit[m->iterators++] = (struct uk_digit){.dim = t->dims, .divisor = 1};
        dimension[t->dims] = k;
        t->shape[t->dims++] = st->statement->extent[k];
    }
    t->stored_dims = t->dims;
    for (int d = t->dims; d-- > 0;) {
        t->stored[d] = t->shape[d];
        t->stride[d] = elements;
        if (!(elements = uk_index_op(a, UK_I_MUL, elements, t->shape[d])))
            return uk_out_of_memory(p->s->context);
    }
    return uk_name_add(p->s, t->name);
}

/* A copy of e in which `read` replaces the access, and the pad around it, which becomes *element. The
 * operands refer to the copy's accesses. */
static struct uk_expr *replaced(struct uk_packing_step *p, const struct uk_expr *e, struct uk_expr *read,
                                const struct uk_expr **element) {
    struct uk_stage *st = p->consumer;
    const struct uk_expr *access = st->operand[p->operand[0]].expr;

    if (e == access || (e->op == UK_E_PAD && e->arg[0] == access)) {
        *element = e;
        return read;
    }
    struct uk_expr *r = uk_alloc(p->s->arena, sizeof *r);
    if (!r)
        return NULL;
    *r = *e;
    for (int o = 1; o < st->operands; o++)
        if (st->operand[o].expr == e)
            st->operand[o].expr = r;
    for (int i = 0; i < 3; i++)
        if (e->arg[i] && !(r->arg[i] = replaced(p, e->arg[i], read, element)))
            return NULL;
    return r;
}

/* Makes the stage read the matrix. */
static enum uk_status redirect(struct uk_packing_step *p, const int dimension[]) {
    struct uk_stage *st = p->consumer;
    struct uk_operand *o = &st->operand[p->operand[0]];
    struct uk_arena *a = p->s->arena;
    struct uk_statement *t = uk_alloc(a, sizeof *t);
    struct uk_expr *read = uk_alloc(a, sizeof *read);
    struct uk_im2col *m = (struct uk_im2col *)p->tensor->im2col;

    if (!t || !read)
        return uk_out_of_memory(p->s->context);
    *t = *st->statement;
    *read = (struct uk_expr){.op = UK_E_ACCESS, .type = p->tensor->type, .depth = 1, .at = o->expr->at};
    read->access = (struct uk_access){.tensor = p->tensor, .at = o->expr->access.at};
    for (int d = 0; d < p->tensor->dims; d++)
        if (!(read->access.index[d] = uk_index_var(a, t->iterator[dimension[d]])))
            return uk_out_of_memory(p->s->context);
    if (!(t->right = replaced(p, t->right, read, &m->element)))
        return uk_out_of_memory(p->s->context);
    uk_release_guards(st, p->operand[0]);
    memset(o->index, 0, sizeof o->index);
    for (int d = 0; d < p->tensor->dims; d++)
        o->index[d] = st->iterator[dimension[d]];
    o->tensor = p->tensor;
    o->expr = read;
    o->pad = UK_PAD_NONE;
    st->statement = t;
    return UK_OK;
}

enum uk_status uk_apply_im2col(struct uk_schedule *s, struct uk_step *step) {
    struct uk_packing_step *p = uk_alloc(s->arena, sizeof *p);
    int dimension[UK_MAX_DIMS];
    enum uk_status status;

    if (!p)
        return uk_out_of_memory(s->context);
    *p = (struct uk_packing_step){.s = s, .step = step, .what = "im2col"};
    if ((status = uk_find_consumer(p)) || (status = check(p)) || (status = uk_find_pad(p)) ||
        (status = create_matrix(p, dimension)))
        return status;
    /* Must precede the change: subscripts are still the program's. */
    struct uk_index *inside;
    if ((status = uk_inside_condition(s, p->consumer, &inside)) || (status = redirect(p, dimension)))
        return status;
    p->consumer->inside = inside;
    return UK_OK;
}
