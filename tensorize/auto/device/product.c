/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products on GPUs. Each thread of a block has a tile of the output in registers. The threads share blocks of
 * both operands, which they copy together to shared memory, one block of k ahead. An elementwise stage that
 * reads the product takes the tile from registers.
 */
#include <float.h>
#include <string.h>
#include "device.h"
#include "auto/stage.h"
#include "auto/steps.h"
#include "registry/operation.h"

enum {
    /* terms of the sum in shared memory: enough work to hide the loads of the next block */
    K_BLOCK = 8,
    /* rows and columns of a thread's tile if the target has no kernels */
    DEFAULT_TILE = 8,
    /* adjacent rows or columns of a thread: 16 bytes of f32, one access to shared memory */
    GROUP = 4,
    /* minimum rows and columns of a product: in smaller ones most of a tile would be empty */
    MIN_EXTENT = 8,
    /* registers besides sums, operands read from shared memory, and copies in flight */
    SPARE_REGISTERS = 10,
    /* registers for each element that a thread copies, its share of addresses included; measured */
    REGISTERS_PER_COPY = 4,
    /* minimum waves per SIMD: one computes while another waits */
    WAVES = 2,
    /* lanes of a wave that a SIMD computes per cycle */
    LANES_A_CYCLE = 16,
    /* dimensions added to an operand's copy: two by groups_of, and the slots of the pipeline */
    MORE_DIMENSIONS = 3,
    /* threads along either axis of a block: MAX_THREADS_PER_AXIS or MIN_THREADS_PER_AXIS */
    MAX_THREADS_PER_AXIS = 16,
    MIN_THREADS_PER_AXIS = 8,
};

struct product {
    struct uk_schedule *s;
    struct uk_stage *st;
    /* the operands that move with rows and with columns */
    int a, b;
    /* the tiled loops */
    struct uk_loop *rows, *columns, *sum;
    /* place: innermost around a block's tile; k_blocks: over blocks of k; k_inner: inside one */
    struct uk_loop *place, *k_blocks, *k_inner;
    /* name of the draft, if it has no pipeline */
    const char *draft;
};

/* The tile of a block: `threads` x `threads` threads, each with rows x columns elements. `instructions`: per
 * thread and k iteration, for arithmetic. */
struct tile {
    int rows, columns, threads;
    double instructions;
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

static bool is_longer(const struct product *p, const struct uk_loop *l, const struct uk_loop *than) {
    return !than || uk_values_estimate(p->s, p->st, l) > uk_values_estimate(p->s, p->st, than);
}

/* The longest loop of the output that moves operand o and not `other`; a loop that is contiguous in the
 * output takes precedence. */
static struct uk_loop *axis_of(const struct product *p, int o, int other) {
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

static bool find_axes(struct product *p) {
    const struct uk_stage *st = p->st;
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
    return p->sum && uk_values_estimate(p->s, st, p->rows) >= MIN_EXTENT &&
           uk_values_estimate(p->s, st, p->columns) >= MIN_EXTENT;
}

/* ---- choice of the tile ---- */

static double ceiling(double n, double of) {
    const double whole = (double)(int64_t)(n / of);

    return whole * of < n ? whole + 1 : whole;
}

/* Number of registers of one sum. */
static int words_of(const struct uk_stage *st) {
    return (int)(uk_type_bytes(st->operand[0].tensor->type) + sizeof(float) - 1) / (int)sizeof(float);
}

/* Number of registers that a thread needs. */
static int registers_of(const struct uk_device *d, const struct uk_stage *st, const struct tile *t) {
    const int read = t->rows + t->columns, words = words_of(st);
    const int n = words * (t->rows * t->columns + read) +
                  (REGISTERS_PER_COPY + words - 1) * read * K_BLOCK / t->threads + SPARE_REGISTERS;

    return (n + d->granule - 1) / d->granule * d->granule;
}

/* Bytes of a thread's buffers, which have to stay in registers: the sums, and the elements that are loaded
 * one block of k ahead. */
static int64_t register_bytes_of(const struct product *p, const struct tile *t) {
    const struct uk_stage *st = p->st;
    const size_t ahead = (uk_type_bytes(st->operand[p->a].tensor->type) * (size_t)t->rows +
                          uk_type_bytes(st->operand[p->b].tensor->type) * (size_t)t->columns) *
                         K_BLOCK / (size_t)t->threads;

    return (int64_t)(uk_type_bytes(st->operand[0].tensor->type) * (size_t)(t->rows * t->columns) + ahead);
}

/* Bytes of shared memory for both operands, in two slots. */
static int64_t bytes_of(const struct product *p, const struct tile *t) {
    const size_t step = uk_type_bytes(p->st->operand[p->a].tensor->type) * (size_t)t->rows +
                        uk_type_bytes(p->st->operand[p->b].tensor->type) * (size_t)t->columns;

    return 2 * (int64_t)(step * (size_t)t->threads + 2 * GROUP * sizeof(float)) * K_BLOCK;
}

static int waves_of(const struct uk_device *d, const struct tile *t) {
    return (t->threads * t->threads + d->lanes - 1) / d->lanes;
}

/* Number of blocks resident on a compute unit. */
static int resident(const struct product *p, const struct tile *t) {
    const struct uk_device *d = &p->s->target->machine.core.device;
    const int waves = d->registers / registers_of(d, p->st, t), most = waves < d->waves ? waves : d->waves;
    const int by_registers = most * d->simds / waves_of(d, t);
    const int by_shared = (int)(d->shared_bytes / bytes_of(p, t));

    return most < WAVES || t->threads * t->threads > d->threads || register_bytes_of(p, t) > d->register_bytes
               ? 0
           : by_shared < by_registers ? by_shared
                                      : by_registers;
}

/* Estimates the cycles of the product on all compute units: the larger of arithmetic and memory accesses, for
 * rounds of at most `most` resident blocks per unit. */
static double estimate(const struct product *p, const struct tile *t, int most) {
    const struct uk_device *d = &p->s->target->machine.core.device;
    const double rows = t->rows * t->threads, columns = t->columns * t->threads, bytes = 4;
    double terms = 1, blocks = ceiling(uk_values_estimate(p->s, p->st, p->rows), rows) *
                               ceiling(uk_values_estimate(p->s, p->st, p->columns), columns);

    for (int i = 0; i < p->st->loops; i++) {
        const struct uk_loop *l = p->st->loop[i];
        const double n = uk_values_estimate(p->s, p->st, l);

        if (uk_is_reduced(p->st, l))
            terms *= n;
        else if (l != p->rows && l != p->columns)
            blocks *= n;
    }
    const double of_unit = ceiling(blocks, d->units), together = of_unit < most ? of_unit : most,
                 waves = together * waves_of(d, t), simds = waves < d->simds ? waves : d->simds;
    const double lane_cycles = (double)d->lanes / LANES_A_CYCLE;
    const double arithmetic = waves * t->instructions * lane_cycles / simds,
                 shared = waves * d->lanes * (t->rows + t->columns) * bytes / (AUTO_SHARED * d->shared_rate),
                 global = together * (rows + columns) * bytes / p->s->target->machine.core.l2.bytes;
    const double inside = arithmetic > shared ? arithmetic : shared;

    return ceiling(of_unit, together) * (terms * (global > inside ? global : inside) + AUTO_BLOCK);
}

struct choice {
    struct tile tile;
    double cycles;
};

static const char *name_of(const struct product *p, const struct tile *t) {
    return uk_format(p->s->arena, "tiles of %d x %d in blocks of %d threads", t->rows, t->columns,
                     t->threads * t->threads);
}

/* Considers this tile in blocks of MAX_THREADS_PER_AXIS and of MIN_THREADS_PER_AXIS threads, and updates
 * *best. */
static void consider_tile(const struct product *p, int rows, int columns, double instructions,
                          struct choice *best) {
    for (int threads = MAX_THREADS_PER_AXIS; threads >= MIN_THREADS_PER_AXIS; threads /= 2) {
        const struct tile t = {rows, columns, threads, instructions};
        const char *name = p->s->refused ? name_of(p, &t) : NULL;
        const int most = name && uk_refusal(p->s, p->st->name, name) ? 0 : resident(p, &t);
        const double cycles = most ? estimate(p, &t, most) : DBL_MAX;

        if (cycles < best->cycles)
            *best = (struct choice){t, cycles};
    }
}

/* Chooses among the tiles of the target's kernels; a small one if the output fills none of these. Without
 * kernels LLVM compiles tiles of about their size. */
static bool choose_tile(const struct product *p, struct tile *out) {
    const bool is_f32 = p->st->operand[0].tensor->type == UK_F32;
    const double m = uk_values_estimate(p->s, p->st, p->rows),
                 n = uk_values_estimate(p->s, p->st, p->columns);
    struct choice best = {.cycles = DBL_MAX};
    bool has_kernels = false;
    char lacks[64];

    for (int i = 0; i < uk_kernel_count() && is_f32; i++) {
        const struct uk_kernel *k = uk_kernel_at(i);

        if (uk_kernel_operation(k)->form != UK_OP_SHARED ||
            uk_kernel_operation(k)->element != UK_ELEMENT_F32 ||
            uk_target_lacks_for(p->s->target, k, lacks, sizeof lacks))
            continue;
        has_kernels = true;
        if (m >= uk_kernel_mr(k) * MIN_THREADS_PER_AXIS && n >= uk_kernel_nr(k) * MIN_THREADS_PER_AXIS)
            consider_tile(p, uk_kernel_mr(k), uk_kernel_nr(k), uk_kernel_fma(k) + uk_kernel_other(k), &best);
    }
    if (!has_kernels && m >= DEFAULT_TILE * MIN_THREADS_PER_AXIS && n >= DEFAULT_TILE * MIN_THREADS_PER_AXIS)
        consider_tile(p, DEFAULT_TILE, DEFAULT_TILE, DEFAULT_TILE * DEFAULT_TILE, &best);
    if (best.cycles == DBL_MAX && !has_kernels && m >= DEFAULT_TILE * MIN_THREADS_PER_AXIS &&
        n >= GROUP * MIN_THREADS_PER_AXIS)
        consider_tile(p, DEFAULT_TILE, GROUP, DEFAULT_TILE * GROUP, &best);
    if (best.cycles == DBL_MAX)
        consider_tile(p, GROUP, GROUP, GROUP * GROUP, &best);
    *out = best.tile;
    return best.cycles < DBL_MAX;
}

/* ---- the loops ---- */

/* The three loops that a loop is split into: over blocks, over threads, and within a thread's tile. */
struct parts {
    struct uk_loop *block, *thread, *inner;
};

static enum uk_status split_axis(struct product *p, struct uk_loop *l, int each, int threads,
                                 struct parts *out) {
    enum uk_status status = uk_device_split(p->s, p->st, &l, (int64_t)each * threads, "b", "p", &out->block);

    out->inner = l;
    return status ? status : uk_device_split(p->s, p->st, &out->inner, each, "t", "i", &out->thread);
}

/* Orders the loops: blocks, other loops of the output, other loops of the sum, blocks of k, threads, k within
 * a block, a thread's tile. */
static enum uk_status order(struct product *p, const struct tile *t) {
    struct uk_loop *blocks[UK_AXES], *order[UK_MAX_LOOPS], *z = NULL;
    struct uk_stage *st = p->st;
    struct parts r, c;
    int n = 0, axes = 0;

    p->k_inner = p->sum;
    enum uk_status status = split_axis(p, p->rows, t->rows, t->threads, &r);

    if (status || (status = split_axis(p, p->columns, t->columns, t->threads, &c)) ||
        (status = uk_device_split(p->s, st, &p->k_inner, K_BLOCK, "o", "i", &p->k_blocks)))
        return status;
    struct uk_loop *const tiled[] = {r.block,  r.thread, r.inner,     c.block,
                                     c.thread, c.inner,  p->k_blocks, p->k_inner};
    bool taken[UK_MAX_LOOPS] = {false};
    for (int i = 0; i < st->loops; i++)
        for (size_t k = 0; k < sizeof tiled / sizeof tiled[0]; k++)
            taken[i] |= st->loop[i] == tiled[k];
    for (int i = 0; i < st->loops; i++)
        if (!taken[i] && uk_device_is_free(st, i) && is_longer(p, st->loop[i], z))
            z = st->loop[i];
    if (z)
        blocks[axes++] = z;
    blocks[axes++] = r.block;
    blocks[axes++] = c.block;
    memcpy(order, blocks, sizeof blocks[0] * (size_t)axes);
    n = axes;
    for (int reduced = 0; reduced < 2; reduced++) {
        for (int i = 0; i < st->loops; i++)
            if (!taken[i] && st->loop[i] != z && uk_is_reduced(st, st->loop[i]) == reduced)
                order[n++] = st->loop[i];
        p->place = reduced ? p->place : order[n - 1];
    }
    struct uk_loop *const inside[] = {p->k_blocks, r.thread, c.thread, p->k_inner, r.inner, c.inner};
    for (size_t i = 0; i < sizeof inside / sizeof inside[0]; i++)
        order[n++] = inside[i];
    if ((status = uk_device_order(p->s, st, order, n)) ||
        (status = uk_device_bind_blocks(p->s, st, blocks, axes)) ||
        (status = uk_device_bind(p->s, st, r.thread, "thread", 1)))
        return status;
    return uk_device_bind(p->s, st, c.thread, "thread", 0);
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

/* The layout [sum, other dimensions, groups of a thread, threads, elements of a group]. Groups of adjacent
 * threads are adjacent, which avoids bank conflicts. */
static struct uk_map *groups_of(const struct product *p, int o, int along, int sum, int each) {
    struct uk_arena *arena = p->s->arena;
    struct uk_map *m = uk_alloc(arena, sizeof *m);
    const int dims = p->st->operand[o].tensor->dims;

    if (!m)
        return NULL;
    m->from_count = dims;
    for (int d = 0; d < dims; d++) {
        if (!(m->from[d] = uk_alloc(arena, sizeof *m->from[d])))
            return NULL;
        *m->from[d] =
            (struct uk_var){.name = uk_format(arena, "i%d", d), .kind = UK_VAR_ITERATOR, .number = d};
    }
    m->to[m->to_count++] = uk_index_var(arena, m->from[sum]);
    for (int d = 0; d < dims; d++)
        if (d != sum && d != along)
            m->to[m->to_count++] = uk_index_var(arena, m->from[d]);
    struct uk_index *row = uk_index_var(arena, m->from[along]), *size = uk_index_int(arena, GROUP);
    if (each > GROUP)
        m->to[m->to_count++] = uk_index_op(arena, UK_I_MOD, uk_index_op(arena, UK_I_DIV, row, size),
                                           uk_index_int(arena, each / GROUP));
    m->to[m->to_count++] = uk_index_op(arena, UK_I_DIV, row, uk_index_int(arena, each));
    m->to[m->to_count++] = uk_index_op(arena, UK_I_MOD, row, size);
    for (int i = 0; i < m->to_count; i++)
        if (!m->to[i])
            return NULL;
    return m;
}

/* Makes the loop that is contiguous in global memory the innermost one; each thread copies a vector along
 * it. */
static enum uk_status order_copy(struct product *p, struct uk_stage *copy) {
    struct uk_loop *order[UK_MAX_LOOPS];
    int n = 0;

    for (int contiguous = 0; contiguous < 2; contiguous++)
        for (int i = copy->prefix; i < copy->loops; i++)
            if (uk_device_is_contiguous(&copy->operand[1], copy->loop[i]) == contiguous)
                order[n++] = copy->loop[i];
    return uk_device_order(p->s, copy, order, n);
}

/* Pads the rows of the copy by a group if adjacent threads copy adjacent terms of the sum: these would be in
 * the same bank otherwise. */
static void set_strides(const struct product *p, const struct tile *t, int o, int each,
                        struct uk_step *step) {
    const int64_t threads = (int64_t)GROUP * t->threads, all = (int64_t)each * t->threads;

    if (!step->layout || !uk_device_is_contiguous(&p->st->operand[o], p->k_inner))
        return;
    step->stride[step->strides++] = all + GROUP;
    while (step->strides < step->layout->to_count - 2 - (each > GROUP))
        step->stride[step->strides++] = all;
    if (each > GROUP)
        step->stride[step->strides++] = threads;
    step->stride[step->strides++] = GROUP;
    step->stride[step->strides++] = 1;
}

/* Copies the operand's part of a block of k to shared memory. A thread's tile has `each` elements along the
 * iterator `axis`. */
static enum uk_status copy_to_shared(struct product *p, const struct tile *tile, int o, int axis, int each) {
    const struct uk_tensor *t = p->st->operand[o].tensor;
    struct uk_step *step = uk_step_on(p->s, UK_STEP_CACHE_READ, p->st, &p->k_blocks, 1);
    const int along = dimension_of(p->st, o, axis), sum = dimension_of(p->st, o, p->k_inner->iterator);

    if (!step || !(step->name = uk_alloc(p->s->arena, sizeof *step->name)))
        return uk_out_of_memory(p->s->context);
    step->subject = t->name;
    step->has_scope = true;
    step->scope = UK_SCOPE_SHARED;
    step->names = 1;
    step->name[0] = uk_fresh_name(p->s, t->name, "_shared");
    uk_name_access(p->st, o, step);
    if (along >= 0 && sum >= 0 && along != sum && t->dims + MORE_DIMENSIONS <= UK_MAX_DIMS &&
        !(step->layout = groups_of(p, o, along, sum, each)))
        return uk_out_of_memory(p->s->context);
    set_strides(p, tile, o, each, step);
    enum uk_status status = step->name[0] ? uk_apply_one(p->s, step) : uk_out_of_memory(p->s->context);
    struct uk_stage *copy = status ? NULL : uk_stage_find(p->s, step->name[0]);
    return copy ? order_copy(p, copy) : status;
}

/* ---- elementwise stages, pipeline, kernel ---- */

/* Attaches an elementwise stage that is the only reader of the product: it runs while the tile is in
 * registers. */
static enum uk_status attach_reader(struct product *p) {
    struct uk_stage *e = uk_only_reader(p->s, p->st);
    struct uk_step *step = uk_step_on(p->s, UK_STEP_REVERSE_COMPUTE_AT, p->st, &p->place, 1);
    bool done;

    if (!e || !uk_is_elementwise(e) || e->parent)
        return UK_OK;
    if (step)
        step->subject = e->name;
    return uk_device_try_step(p->s, step, &done);
}

static enum uk_status pipeline(struct product *p) {
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
static enum uk_status tensorize(struct product *p) {
    struct uk_step *step = uk_step_on(p->s, UK_STEP_TENSORIZE, p->st, &p->k_inner, 1);
    const char *refusal = uk_refusal(p->s, p->st->name, UK_DRAFT_KERNEL);
    const struct uk_draft_name *without = p->st->draft;

    if (refusal) {
        p->st->plain_loops_reason = uk_format(p->s->arena, "its kernel was refused: %s", refusal);
        return p->st->plain_loops_reason ? UK_OK : uk_out_of_memory(p->s->context);
    }
    if (step)
        step->subject = "auto";
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
    struct product p = {.s = s, .st = st};
    struct tile t;
    enum uk_status status;

    *done = find_axes(&p) && choose_tile(&p, &t);
    if (!*done)
        return UK_OK;
    const int rows = p.rows->iterator, columns = p.columns->iterator;
    p.draft = name_of(&p, &t);
    if ((status = uk_begin_draft(s, st, p.draft)) || (status = order(&p, &t)) ||
        (status = attach_reader(&p)) || (status = uk_device_keep_in_registers(s, st, p.place)) ||
        (status = copy_to_shared(&p, &t, p.a, rows, t.rows)) ||
        (status = copy_to_shared(&p, &t, p.b, columns, t.columns)) || (status = pipeline(&p)))
        return status;
    return tensorize(&p);
}
