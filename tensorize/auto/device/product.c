/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products on GPUs. Each thread of a block has a tile of the output in registers. The threads share blocks of
 * both operands, which they copy together to shared memory, one block of k ahead. An elementwise stage that
 * reads the product takes the tile from registers.
 */
#include <string.h>
#include "product.h"
#include "auto/steps.h"

enum {
    /* minimum rows and columns of a product: in smaller ones most of a tile would be empty */
    MIN_EXTENT = 8,
    /* dimensions added to an operand's copy: three by groups_of, and the slots of the pipeline */
    MORE_DIMENSIONS = 4,
};

/* ---- detection of products ---- */

/* The operand that a factor of the product reads, possibly converted or padded; 0: the factor is another
 * expression. */
static int factor(const struct uk_stage *st, const struct uk_expr *e) {
    while (e->op == UK_E_CAST || e->op == UK_E_PAD)
        e = e->arg[0];
    for (int o = 1; o < st->operands; o++)
        if (st->operand[o].expr == e)
            return o;
    return 0;
}

static bool is_longer(const struct uk_product *p, const struct uk_loop *l, const struct uk_loop *than) {
    return !than || uk_values_estimate(p->s, p->st, l) > uk_values_estimate(p->s, p->st, than);
}

/* The longest loop of the output that moves operand o and not `other`; a loop that is contiguous in the
 * output takes precedence. */
static struct uk_loop *axis_of(const struct uk_product *p, int o, int other) {
    const struct uk_stage *st = p->st;
    struct uk_loop *found = NULL;

    for (int i = 0; i < st->loops; i++) {
        struct uk_loop *l = st->loop[i];

        if (!uk_device_is_free(st, i) || !uk_depends(&st->operand[o], l) ||
            uk_depends(&st->operand[other], l))
            continue;
        if (uk_device_is_contiguous(&st->operand[0], l))
            return l;
        found = is_longer(p, l, found) ? l : found;
    }
    return found;
}

static bool find_axes(struct uk_product *p) {
    const struct uk_stage *st = p->st;

    p->sum = NULL;
    const struct uk_statement *t = st->statement;
    const struct uk_expr *e = t->right;

    if (t->reduce != UK_REDUCE_SUM || st->previous || st->is_filtered || e->op != UK_E_MUL ||
        st->operands != 3)
        return false;
    p->a = factor(st, e->arg[0]);
    p->b = factor(st, e->arg[1]);
    if (!p->a || !p->b || p->a == p->b)
        return false;
    p->rows = axis_of(p, p->a, p->b);
    p->columns = axis_of(p, p->b, p->a);
    if (!p->rows || !p->columns)
        return false;
    if (uk_device_is_contiguous(&st->operand[0], p->rows)) {
        struct uk_loop *l = p->rows;
        const int o = p->a;

        p->rows = p->columns;
        p->columns = l;
        p->a = p->b;
        p->b = o;
    }
    for (int i = 0; i < st->loops; i++)
        if (uk_is_reduced(st, st->loop[i]) && uk_depends(&st->operand[p->a], st->loop[i]) &&
            uk_depends(&st->operand[p->b], st->loop[i]) && is_longer(p, st->loop[i], p->sum))
            p->sum = st->loop[i];
    return p->sum;
}

/* True if the loops at `position` and the next one, both of the output, are one long row in every operand. */
static bool is_one_row(const struct uk_product *p, int position) {
    return position >= p->st->prefix && position + 1 < p->st->loops && uk_device_is_free(p->st, position) &&
           uk_device_is_free(p->st, position + 1) && uk_fuse_is_view(p->s, p->st, position);
}

/* Loops [first, last]: this one and those that uk_fuse_rows will fuse with it. */
struct range {
    int first, last;
};

static struct range fused_with(const struct uk_product *p, const struct uk_loop *l,
                               const struct uk_loop *other) {
    const bool fuses = !uk_refusal(p->s, p->st->name, UK_DRAFT_ROWS);
    const int at = uk_loop_position(p->st, l);
    struct range r = {at, at};

    while (fuses && r.first > 0 && p->st->loop[r.first - 1] != other && is_one_row(p, r.first - 1))
        r.first--;
    while (fuses && r.last + 1 < p->st->loops && p->st->loop[r.last + 1] != other && is_one_row(p, r.last))
        r.last++;
    return r;
}

/* Counts the values of the loops over rows and columns, each with those fused with it, and of other loops. */
static void count_values(struct uk_product *p) {
    const struct uk_stage *st = p->st;
    const struct range rows = fused_with(p, p->rows, p->columns),
                       columns = fused_with(p, p->columns, p->rows);

    p->row_values = p->column_values = p->others = p->more_terms = 1;
    for (int i = 0; i < st->loops; i++) {
        const double n = uk_values_estimate(p->s, st, st->loop[i]);

        if (uk_is_reduced(st, st->loop[i]))
            p->more_terms *= st->loop[i] == p->sum ? 1 : n;
        else if (i >= rows.first && i <= rows.last)
            p->row_values *= n;
        else
            *(i >= columns.first && i <= columns.last ? &p->column_values : &p->others) *= n;
    }
}

bool uk_device_find_product(struct uk_product *p) {
    if (!find_axes(p))
        return false;
    count_values(p);
    return true;
}

/* Computes the sum in parts, by rfactor: the stage becomes the one of the parts, and the one after it adds
 * them. */
static enum uk_status divide(struct uk_product *p, const struct uk_tile *t) {
    const int64_t terms = uk_constant_extent(p->st, p->sum), steps = (terms - 1) / t->terms + 1,
                  each = t->part_terms ? t->part_terms : ((steps - 1) / t->parts + 1) * t->terms;
    struct uk_loop *inner = p->sum, *outer;
    enum uk_status status = uk_device_split(p->s, p->st, &inner, each, "part", "p", &outer);

    return status ? status : uk_device_rfactor(p->s, p->st, outer, p->parts_name);
}

/* Finds the product's axes and its tile, divides the sum, and fuses loops over rows that are one long row. */
static enum uk_status find_product(struct uk_product *p, struct uk_tile *t, bool *found) {
    struct uk_schedule *s = p->s;
    struct uk_stage *st = p->st;
    enum uk_status status = UK_OK;

    *found = find_axes(p);
    if (!*found)
        return UK_OK;
    if ((status = uk_device_im2col(s, st, p->a, p->b)))
        return status;
    find_axes(p);
    count_values(p);
    if (st->statement->left_iterators < UK_MAX_DIMS && !st->statement->where && !uk_has_fused_rows(st) &&
        !st->parent)
        p->parts_name = uk_fresh_name(s, st->operand[0].tensor->name, "_parts");
    *found = p->row_values >= MIN_EXTENT && p->column_values >= MIN_EXTENT;
    if (*found && (status = uk_device_choose_tile(p, t, found)))
        return status;
    if (!*found && !st->inside)
        return UK_OK;
    if (!*found)
        return uk_fail(s->context, UK_REFUSED, st->statement->at,
                       "the matrix has too few rows or columns for a tile");
    const bool fuses = !uk_refusal(s, st->name, UK_DRAFT_ROWS);
    if (uk_device_has_parts(t) && (status = divide(p, t)))
        return status;
    if (fuses && ((status = uk_begin_draft(s, st, UK_DRAFT_ROWS)) || (status = uk_fuse_rows(s, st))))
        return status;
    *found = find_axes(p);
    return UK_OK;
}

/* ---- the loops ---- */

/* The three loops that a loop is split into: over blocks, over threads, and within a thread's tile. */
struct parts {
    struct uk_loop *block, *thread, *inner;
};

static enum uk_status split_axis(struct uk_product *p, struct uk_loop *l, int each, int threads,
                                 struct parts *out) {
    enum uk_status status = uk_device_split(p->s, p->st, &l, (int64_t)each * threads, "b", "p", &out->block);

    out->inner = l;
    return status ? status : uk_device_split(p->s, p->st, &out->inner, each, "t", "i", &out->thread);
}

static enum uk_status split_axes(struct uk_product *p, const struct uk_tile *t, struct uk_device_loops *out) {
    struct parts r, c;
    enum uk_status status;

    if (t->wave)
        return uk_device_wave_loops(p, t, out);
    if ((status = split_axis(p, p->rows, t->rows, t->row_threads, &r)) ||
        (status = split_axis(p, p->columns, t->columns, t->column_threads, &c)))
        return status;
    *out = (struct uk_device_loops){r.block, c.block, 2, 2, {r.thread, c.thread}, {r.inner, c.inner}, {1, 0}};
    return UK_OK;
}

static bool is_among(const struct uk_loop *l, struct uk_loop *const *list, int n) {
    for (int i = 0; i < n; i++)
        if (list[i] == l)
            return true;
    return false;
}

/* True if the loop is of the tile of a block, or over blocks of it. */
static bool is_tiled(const struct uk_product *p, const struct uk_device_loops *d, const struct uk_loop *l) {
    return l == d->row_block || l == d->column_block || l == p->k_blocks || l == p->k_inner ||
           is_among(l, d->thread, d->threads) || is_among(l, d->inner, d->inner_loops);
}

static void add_loops(struct uk_loop **order, int *n, struct uk_loop *const *list, int count) {
    memcpy(order + *n, list, sizeof *list * (size_t)count);
    *n += count;
}

/* Orders the loops: blocks, other loops of the output, other loops of the sum, blocks of k, threads, k within
 * a block, a thread's tile. */
static enum uk_status order(struct uk_product *p, const struct uk_tile *t) {
    struct uk_loop *blocks[UK_MAX_LOOPS], *order[UK_MAX_LOOPS];
    struct uk_stage *st = p->st;
    struct uk_device_loops d;
    int n = 0, axes = 0;

    p->k_inner = p->sum;
    enum uk_status status = split_axes(p, t, &d);
    if (status || (status = uk_device_split(p->s, st, &p->k_inner, t->terms, "o", "i", &p->k_blocks)))
        return status;
    for (int i = 0; i < st->loops; i++)
        if (!is_tiled(p, &d, st->loop[i]) && uk_device_is_free(st, i))
            blocks[axes++] = st->loop[i];
    blocks[axes++] = d.row_block;
    blocks[axes++] = d.column_block;
    add_loops(order, &n, blocks, axes);
    for (int reduced = 0; reduced < 2; reduced++) {
        for (int i = 0; i < st->loops; i++)
            if (!is_tiled(p, &d, st->loop[i]) && !is_among(st->loop[i], blocks, axes) &&
                uk_is_reduced(st, st->loop[i]) == reduced)
                order[n++] = st->loop[i];
        p->place = reduced ? p->place : order[n - 1];
    }
    /* Axis x is the first one's of those with as many values: never that of the parts, which are fewer. */
    if (t->part_terms)
        for (int i = 0; i < axes; i++)
            blocks[i] = order[(i + axes - 2) % axes];
    order[n++] = p->k_blocks;
    add_loops(order, &n, d.thread, d.threads);
    order[n++] = p->k_inner;
    add_loops(order, &n, d.inner, d.inner_loops);
    if (!(status = uk_device_order(p->s, st, order, n)))
        status = uk_device_bind_blocks(p->s, st, blocks, axes);
    for (int i = 0; i < d.threads && !status; i++)
        status = uk_device_bind(p->s, st, d.thread[i], "thread", d.axis[i]);
    return status;
}

/* ---- shared memory ---- */

/* The dimension whose index is the iterator alone; -1: there is none. */
static int dimension_of(const struct uk_stage *st, int o, int iterator) {
    const struct uk_operand *x = &st->operand[o];
    const struct uk_var *v = st->statement->iterator[iterator];
    int found = -1;

    for (int d = 0; d < x->tensor->dims; d++) {
        const struct uk_index *e = x->expr->access.index[d];

        if (!uk_mentions(e, v))
            continue;
        if (e->op != UK_I_VAR || found >= 0)
            return -1;
        found = d;
    }
    return found;
}

struct uk_map *uk_device_empty_map(struct uk_arena *arena, int dims) {
    struct uk_map *m = uk_alloc(arena, sizeof *m);

    if (!m)
        return NULL;
    m->from_count = dims;
    for (int d = 0; d < dims; d++) {
        if (!(m->from[d] = uk_alloc(arena, sizeof *m->from[d])))
            return NULL;
        *m->from[d] =
            (struct uk_var){.name = uk_format(arena, "i%d", d), .kind = UK_VAR_ITERATOR, .number = d};
    }
    return m;
}

/* The layout [sum, other dimensions, groups of a thread, threads, elements of a group]. Groups of adjacent
 * threads are adjacent, which avoids bank conflicts. `group` terms of the sum are one element of it. */
static struct uk_map *groups_of(const struct uk_product *p, int o, int along, int sum, int each, int group) {
    struct uk_arena *arena = p->s->arena;
    const int dims = p->st->operand[o].tensor->dims;
    struct uk_map *m = uk_device_empty_map(arena, dims);

    if (!m)
        return NULL;
    struct uk_index *term = uk_index_var(arena, m->from[sum]), *terms = uk_index_int(arena, group);
    m->to[m->to_count++] = group > 1 ? uk_index_op(arena, UK_I_DIV, term, terms) : term;
    for (int d = 0; d < dims; d++)
        if (d != sum && d != along)
            m->to[m->to_count++] = uk_index_var(arena, m->from[d]);
    struct uk_index *row = uk_index_var(arena, m->from[along]), *size = uk_index_int(arena, UK_GROUP);
    if (each > UK_GROUP)
        m->to[m->to_count++] = uk_index_op(arena, UK_I_MOD, uk_index_op(arena, UK_I_DIV, row, size),
                                           uk_index_int(arena, each / UK_GROUP));
    m->to[m->to_count++] = uk_index_op(arena, UK_I_DIV, row, uk_index_int(arena, each));
    m->to[m->to_count++] = uk_index_op(arena, UK_I_MOD, row, size);
    if (group > 1)
        m->to[m->to_count++] = uk_index_op(arena, UK_I_MOD, term, terms);
    for (int i = 0; i < m->to_count; i++)
        if (!m->to[i])
            return NULL;
    return m;
}

/* The order of a copy's loops: 2, the one that is contiguous in global memory, for a thread's vector; 1,
 * others of the same dimension, for adjacent threads; 0. */
static int order_of(const struct uk_stage *copy, const struct uk_loop *l) {
    const struct uk_operand *from = &copy->operand[1];

    if (uk_device_is_contiguous(from, l))
        return 2;
    for (int i = copy->prefix; i < copy->loops; i++)
        for (int d = 0; d < from->tensor->dims && uk_device_is_contiguous(from, copy->loop[i]); d++)
            if (from->index[d].coefficient[l->id] && from->index[d].coefficient[copy->loop[i]->id])
                return 1;
    return 0;
}

static enum uk_status order_copy(struct uk_product *p, struct uk_stage *copy) {
    struct uk_loop *order[UK_MAX_LOOPS];
    int n = 0;

    for (int place = 0; place <= 2; place++)
        for (int i = copy->prefix; i < copy->loops; i++)
            if (order_of(copy, copy->loop[i]) == place)
                order[n++] = copy->loop[i];
    return uk_device_order(p->s, copy, order, n);
}

/* Pads the rows of the copy by a group if adjacent threads copy adjacent terms of the sum: these would be in
 * the same bank otherwise. */
static void set_strides(const struct uk_product *p, const struct uk_tile *t, int o, int each,
                        struct uk_step *step) {
    const int64_t group = t->group, count = o == p->a ? t->row_threads : t->column_threads,
                  threads = group * UK_GROUP * count, all = group * each * count;
    const int last = t->group > 1 ? 3 : 2;

    if (!step->layout || !uk_device_is_contiguous(&p->st->operand[o], p->k_inner))
        return;
    step->stride[step->strides++] = all + group * UK_GROUP;
    while (step->strides < step->layout->to_count - last - (each > UK_GROUP))
        step->stride[step->strides++] = all;
    if (each > UK_GROUP)
        step->stride[step->strides++] = threads;
    step->stride[step->strides++] = group * UK_GROUP;
    step->stride[step->strides++] = group;
    if (group > 1)
        step->stride[step->strides++] = 1;
}

/* Copies the operand's part of a block of k to shared memory. A thread's tile has `each` elements along the
 * iterator `axis`. */
static enum uk_status copy_to_shared(struct uk_product *p, const struct uk_tile *tile, int o, int axis,
                                     int each) {
    const struct uk_tensor *t = p->st->operand[o].tensor;
    struct uk_step *step = uk_device_copy(p->s, p->st, p->k_blocks, o, UK_SCOPE_SHARED, "_shared");
    const int along = dimension_of(p->st, o, axis), sum = dimension_of(p->st, o, p->k_inner->iterator);

    if (!step)
        return uk_out_of_memory(p->s->context);
    if (along >= 0 && sum >= 0 && along != sum && t->dims + MORE_DIMENSIONS <= UK_MAX_DIMS &&
        !(step->layout = tile->wave ? uk_device_wave_layout(p, tile, o, along, sum)
                                    : groups_of(p, o, along, sum, each, tile->group)))
        return uk_out_of_memory(p->s->context);
    if (!tile->wave)
        set_strides(p, tile, o, each, step);
    enum uk_status status = uk_apply_one(p->s, step);
    struct uk_stage *copy = status ? NULL : uk_stage_find(p->s, step->name[0]);
    if (!copy)
        return status;
    return tile->wave ? uk_device_wave_copy(p, copy) : order_copy(p, copy);
}

/* ---- elementwise stages, pipeline, kernel ---- */

static enum uk_status pipeline(struct uk_product *p) {
    struct uk_step *step = uk_step_on(p->s, UK_STEP_PIPELINE, p->st, &p->k_blocks, 1);
    const char *draft = uk_format(p->s->arena, "%s, pipelined", p->draft);

    if (!step || !draft)
        return uk_out_of_memory(p->s->context);
    if (uk_refusal(p->s, p->st->name, draft))
        return UK_OK;
    step->number[0] = 2;
    enum uk_status status = uk_begin_draft(p->s, p->st, draft);
    return status ? status : uk_apply_one(p->s, step);
}

/* Replaces the tile's loops by a kernel, if there is one. */
static enum uk_status tensorize(struct uk_product *p) {
    struct uk_step *step = uk_step_on(p->s, UK_STEP_TENSORIZE, p->st, &p->k_inner, 1);
    const char *refusal = uk_refusal(p->s, p->st->name, UK_DRAFT_KERNEL);
    const struct uk_draft_name *without = p->st->draft;

    if (refusal) {
        p->st->plain_loops_reason = uk_format(p->s->arena, "its kernel was refused: %s", refusal);
        return p->st->plain_loops_reason ? UK_OK : uk_out_of_memory(p->s->context);
    }
    const char *wanted = uk_device_wanted_kernel(p);
    if (wanted && !*wanted)
        return UK_OK;
    if (step)
        step->subject = wanted ? wanted : "auto";
    enum uk_status status = uk_begin_draft(p->s, p->st, UK_DRAFT_KERNEL);
    if (status)
        return status;
    status = uk_apply_one(p->s, step);
    if (status != UK_NO_MATCH && status != UK_REFUSED)
        return status;
    p->st->draft = without;
    p->st->plain_loops_reason = "no kernel computes its tile";
    uk_context_forget(p->s->context);
    return UK_OK;
}

enum uk_status uk_device_product(struct uk_schedule *s, struct uk_stage *st, bool *done) {
    struct uk_product p = {.s = s, .st = st};
    struct uk_tile t;
    enum uk_status status;

    if ((status = find_product(&p, &t, done)) || !*done)
        return status;
    const int rows = p.rows->iterator, columns = p.columns->iterator;
    p.draft = uk_device_tile_name(&p, &t);
    if ((status = uk_begin_draft(s, st, p.draft)) || (status = order(&p, &t)) ||
        (status = uk_device_attach_reader(s, st, p.place)) ||
        (status = uk_device_keep_in_registers(s, st, p.place)) ||
        (status = copy_to_shared(&p, &t, p.a, rows, t.rows)) ||
        (status = copy_to_shared(&p, &t, p.b, columns, t.columns)) || (status = pipeline(&p)))
        return status;
    return tensorize(&p);
}
