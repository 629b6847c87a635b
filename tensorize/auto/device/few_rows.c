/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products with few rows on GPUs: a matrix is read once. Adjacent threads load adjacent vectors of it into
 * registers, and multiply them by all rows' elements, which the block copies to shared memory. Several
 * threads of a block compute a sum together, and add their results in shared memory; if there are few blocks,
 * several blocks compute it, whose results a second kernel adds.
 */
#include "few_rows.h"
#include "auto/steps.h"

enum {
    /* rows from which tiles of threads (product.c) keep what they read in registers for longer */
    FEW_ROWS = 7,
    /* elements of the output, and terms of a sum, from which the matrix is large */
    MIN_ELEMENTS = 64,
    MIN_TERMS = 64,
    MOST_PARTS = 64,
};

struct steps {
    struct uk_few_rows w;
    struct uk_few_rows_plan plan;
    int many; /* iterator of w.many */
    /* of the stage of partial sums: over blocks, threads and steps; in a step, over a thread's terms, and its
     * elements of the output (NULL: one) */
    struct uk_loop *block, *x, *y, *step, *term, *element;
    struct uk_stage *total; /* adds the partial sums of a block's threads */
};

/* ---- detection ---- */

static double footprint(const struct uk_schedule *s, const struct uk_stage *st, const struct uk_operand *o) {
    double n = 1;

    for (int i = 0; i < st->loops; i++)
        n *= uk_depends(o, st->loop[i]) ? uk_values_estimate(s, st, st->loop[i]) : 1;
    return n;
}

static bool is_product(const struct uk_stage *st) {
    const struct uk_statement *t = st->statement;

    return t->reduce == UK_REDUCE_SUM && t->right->op == UK_E_MUL && st->operands == 3 && !st->previous &&
           !st->is_filtered && !st->inside && !st->parent && !t->where && !uk_has_fused_rows(st) &&
           t->left_iterators && t->left_iterators + 2 <= UK_MAX_DIMS &&
           st->operand[1].tensor != st->operand[2].tensor && st->operand[1].pad == UK_PAD_NONE &&
           st->operand[2].pad == UK_PAD_NONE && st->operand[0].tensor != st->operand[1].tensor &&
           st->operand[0].tensor != st->operand[2].tensor;
}

static void keep_longer(const struct uk_few_rows *w, struct uk_loop *l, struct uk_loop **longest) {
    if (!*longest || uk_values_estimate(w->s, w->st, l) > uk_values_estimate(w->s, w->st, *longest))
        *longest = l;
}

/* Sorts the loop into those of the matrix, the rows and others. False: no such product. */
static bool sort_loop(struct uk_few_rows *w, int position) {
    struct uk_loop *l = w->st->loop[position];
    const bool of_matrix = uk_depends(&w->st->operand[w->matrix], l),
               of_vectors = uk_depends(&w->st->operand[w->vectors], l);
    const double n = uk_values_estimate(w->s, w->st, l);

    if (uk_is_reduced(w->st, l)) {
        w->more_terms *= n;
        if (of_matrix && of_vectors)
            keep_longer(w, l, &w->sum);
        return of_matrix || of_vectors;
    }
    if (of_matrix) {
        w->others *= n;
        if (!of_vectors)
            keep_longer(w, l, &w->many);
        return true;
    }
    w->rows *= n;
    return of_vectors && uk_constant_extent(w->st, l) > 0;
}

static bool find(struct uk_few_rows *w) {
    struct uk_stage *st = w->st;
    bool is_found = is_product(st);

    if (!is_found)
        return false;
    w->matrix = footprint(w->s, st, &st->operand[1]) > footprint(w->s, st, &st->operand[2]) ? 1 : 2;
    w->vectors = 3 - w->matrix;
    w->rows = w->others = w->more_terms = 1;
    for (int i = 0; i < st->loops; i++)
        is_found &= uk_is_reduced(st, st->loop[i]) || uk_device_is_free(st, i) ? sort_loop(w, i) : false;
    if (!is_found || !w->many || !w->sum || w->rows > FEW_ROWS)
        return false;
    const double many = uk_values_estimate(w->s, st, w->many), terms = uk_values_estimate(w->s, st, w->sum);
    w->others /= many;
    w->more_terms /= terms;
    w->along_sum = uk_device_is_contiguous(&st->operand[w->matrix], w->sum);
    return many >= MIN_ELEMENTS && terms >= MIN_TERMS &&
           (w->along_sum || uk_device_is_contiguous(&st->operand[w->matrix], w->many));
}

/* ---- partial sums ---- */

/* Divides the sum into parts of other blocks, and those into sums of threads. Sets total, x or y, step, and
 * the terms of a thread in a step. */
static enum uk_status divide(struct steps *c) {
    struct uk_schedule *s = c->w.s;
    struct uk_stage *st = c->w.st;
    const char *name = st->operand[0].tensor->name;
    const int64_t terms = uk_device_step_terms(&c->w, &c->plan);
    struct uk_loop *inner = c->w.sum, *outer, *thread;
    const struct uk_draft_name *draft = st->draft;
    enum uk_status status;

    if (c->plan.parts > 1) {
        const int64_t steps = (uk_constant_extent(st, inner) - 1) / terms + 1;

        if ((status = uk_device_split(s, st, &inner, ((steps - 1) / c->plan.parts + 1) * terms, "part", "p",
                                      &outer)) ||
            (status = uk_device_rfactor(s, st, outer, uk_fresh_name(s, name, "_parts"))))
            return status;
        st->next->draft = draft;
    }
    if ((status = uk_device_split(s, st, &inner, terms, "o", "i", &c->step)))
        return status;
    thread = inner;
    const int each = c->w.along_sum ? c->plan.vector : c->plan.each;
    if (each > 1) {
        if ((status = uk_device_split(s, st, &inner, each, "t", "i", &thread)))
            return status;
        c->term = inner;
    }
    *(c->w.along_sum ? &c->x : &c->y) = thread;
    if ((status = uk_device_rfactor(s, st, thread, uk_fresh_name(s, name, "_partial"))))
        return status;
    c->total = st->next;
    c->total->draft = draft;
    return UK_OK;
}

/* Splits the loop over elements of the output among blocks and threads. */
static enum uk_status split_elements(struct steps *c) {
    const int each = c->w.along_sum ? c->plan.each : c->plan.vector;
    struct uk_loop *l = c->w.many, **thread = c->w.along_sum ? &c->y : &c->x;
    enum uk_status status =
        uk_device_split(c->w.s, c->w.st, &l, uk_device_block_elements(&c->w, &c->plan), "b", "p", &c->block);

    *thread = l;
    if (status || each == 1)
        return status;
    status = uk_device_split(c->w.s, c->w.st, &l, each, "t", "i", thread);
    c->element = l;
    return status;
}

/* Orders the loops: blocks, threads, other loops of the sum, steps, terms of a thread, rows, elements of a
 * thread. */
static enum uk_status order(struct steps *c) {
    struct uk_stage *st = c->w.st;
    struct uk_loop *order[UK_MAX_LOOPS];
    int n = 0;

    for (int i = 0; i < st->loops; i++)
        if (!uk_is_reduced(st, st->loop[i]) && st->loop[i] != c->block && st->loop[i] != c->x &&
            st->loop[i] != c->y && st->loop[i] != c->element &&
            uk_depends(&st->operand[c->w.matrix], st->loop[i]))
            order[n++] = st->loop[i];
    order[n++] = c->block;
    const int blocks = n;
    order[n++] = c->y;
    order[n++] = c->x;
    for (int i = 0; i < st->loops; i++)
        if (uk_is_reduced(st, st->loop[i]) && st->loop[i] != c->step && st->loop[i] != c->term)
            order[n++] = st->loop[i];
    order[n++] = c->step;
    if (c->term)
        order[n++] = c->term;
    for (int i = 0; i < st->loops; i++)
        if (!uk_is_reduced(st, st->loop[i]) && !uk_depends(&st->operand[c->w.matrix], st->loop[i]))
            order[n++] = st->loop[i];
    if (c->element)
        order[n++] = c->element;
    enum uk_status status = uk_device_order(c->w.s, st, order, n);
    if (status || (status = uk_device_bind_blocks(c->w.s, st, order, blocks)) ||
        (status = uk_device_bind(c->w.s, st, c->y, "thread", 1)) ||
        (status = uk_device_bind(c->w.s, st, c->x, "thread", 0)))
        return status;
    return uk_device_keep_in_registers(c->w.s, st, c->block);
}

/* ---- their sums ---- */

/* The longest loop over rows, if a block has as many threads along y; else NULL. */
static struct uk_loop *rows_of(const struct steps *c) {
    struct uk_stage *st = c->total;
    struct uk_loop *longest = NULL;

    for (int i = st->prefix; i < st->loops; i++) {
        const int64_t n = uk_constant_extent(st, st->loop[i]);

        if (uk_device_is_free(st, i) && st->loop[i]->iterator != c->many && n <= c->plan.y &&
            (!longest || n > uk_constant_extent(st, longest)))
            longest = st->loop[i];
    }
    return longest;
}

/* Attaches the stage that adds the partial sums to a block: each thread adds some, in registers, and computes
 * the elementwise stage that reads them. */
static enum uk_status add_partial_sums(struct steps *c) {
    struct uk_schedule *s = c->w.s;
    struct uk_stage *st = c->total;
    struct uk_step *step = uk_step_on(s, UK_STEP_REVERSE_COMPUTE_AT, c->w.st, &c->block, 1);
    struct uk_loop *order[UK_MAX_LOOPS], *vector = NULL, *x = NULL;
    int n = 0;
    enum uk_status status;

    if (!step)
        return uk_out_of_memory(s->context);
    step->subject = st->name;
    if ((status = uk_apply_one(s, step)))
        return status;
    for (int i = st->prefix; i < st->loops; i++)
        x = st->loop[i]->iterator == c->many ? st->loop[i] : x;
    if (!x)
        return uk_fail(s->context, UK_REFUSED, st->statement->at, "a block has no loop over its elements");
    if (!c->w.along_sum && c->plan.vector > 1) {
        vector = x;
        if ((status = uk_device_split(s, st, &vector, c->plan.vector, "t", "i", &x)))
            return status;
    }
    struct uk_loop *const rows = rows_of(c);
    for (int i = st->prefix; i < st->loops; i++)
        if (!uk_is_reduced(st, st->loop[i]) && st->loop[i] != x && st->loop[i] != vector)
            order[n++] = st->loop[i];
    order[n++] = x;
    for (int i = st->prefix; i < st->loops; i++)
        if (uk_is_reduced(st, st->loop[i]))
            order[n++] = st->loop[i];
    if (vector)
        order[n++] = vector;
    if ((status = uk_device_order(s, st, order, n)) ||
        (rows && (status = uk_device_bind(s, st, rows, "thread", 1))) ||
        (status = uk_device_bind(s, st, x, "thread", 0)) || (status = uk_device_attach_reader(s, st, x)))
        return status;
    return uk_device_keep_in_registers(s, st, x);
}

/* ---- operands ---- */

static enum uk_status copy(struct steps *c, int o, enum uk_scope scope, const char *suffix) {
    return uk_apply_one(c->w.s, uk_device_copy(c->w.s, c->w.st, c->step, o, scope, suffix));
}

enum uk_status uk_device_few_rows(struct uk_schedule *s, struct uk_stage *st, bool *done) {
    struct steps c = {.w = {.s = s, .st = st}};
    enum uk_status status;

    *done = false;
    if (uk_refusal(s, st->name, UK_DRAFT_FEW_ROWS) || !find(&c.w))
        return UK_OK;
    const int64_t terms = uk_constant_extent(st, c.w.sum);
    if ((status = uk_device_plan_few_rows(
             &c.w, terms > 0 && st->statement->left_iterators + 3 <= UK_MAX_DIMS ? MOST_PARTS : 1, &c.plan,
             done)) ||
        !*done)
        return status;
    c.many = c.w.many->iterator;
    /* The matrix is copied first: its loads are under way while the threads wait for the rows. */
    if ((status = uk_begin_draft(s, st, UK_DRAFT_FEW_ROWS)) || (status = divide(&c)) ||
        (status = split_elements(&c)) || (status = order(&c)) || (status = add_partial_sums(&c)) ||
        (status = copy(&c, c.w.matrix, UK_SCOPE_REGISTER, "_ahead")))
        return status;
    return copy(&c, c.w.vectors, UK_SCOPE_SHARED, "_shared");
}
