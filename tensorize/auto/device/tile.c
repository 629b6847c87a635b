/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The choice of a product's tile on a GPU: by uk_device_time(), from an estimate of what a block uses. A
 * block computes the sum in steps of some terms; in each, its threads load the operands of the next
 * step, and read those of this one from shared memory. Few blocks leave compute units idle, so the sum of a
 * small output is divided into parts, which a second kernel adds.
 */
#include <float.h>
#include "product.h"
#include "registry/operation.h"

enum {
    /* rows and columns of a thread's tile if the target has no kernels */
    DEFAULT_TILE = 8,
    /* threads along either axis of a block: MAX_THREADS_PER_AXIS or MIN_THREADS_PER_AXIS */
    MAX_THREADS_PER_AXIS = 16,
    MIN_THREADS_PER_AXIS = 8,
    /* registers besides sums, operands read from shared memory, and copies in flight */
    SPARE_REGISTERS = 10,
    /* registers for each element that a thread copies, its share of addresses included; measured */
    REGISTERS_PER_COPY = 4,
    /* minimum waves per SIMD: one computes while another waits */
    WAVES = 2,
    /* cycles of most instructions */
    INSTRUCTION = 4,
    /* bytes that a thread copies at a time, on average of rows and edges */
    COPIED = 8,
    READ = 16,
    /* steps of the sum in a part, at least */
    MIN_STEPS = 4,
    /* terms of the sum in a step: enough work to hide the loads of the next one */
    MIN_TERMS = 8,
    MAX_TERMS = 32,
    MOST_PARTS = 64,
};

static double ceiling(double n, double of) {
    const double whole = (double)(int64_t)(n / of);

    return whole * of < n ? whole + 1 : whole;
}

static size_t bytes_of_operand(const struct uk_product *p, int o) {
    return uk_type_bytes(p->st->operand[o].tensor->type);
}

/* Number of registers of one sum. */
static int words_of(const struct uk_stage *st) {
    return (int)(uk_type_bytes(st->operand[0].tensor->type) + sizeof(float) - 1) / (int)sizeof(float);
}

/* Number of registers that a thread needs. */
static int registers_of(const struct uk_stage *st, const struct uk_tile *t) {
    const int read = t->rows + t->columns, words = words_of(st);

    return words * (t->rows * t->columns + read) +
           (REGISTERS_PER_COPY + words - 1) * read * t->terms / t->group / t->threads + SPARE_REGISTERS;
}

/* Bytes of a thread's buffers, which have to stay in registers: the sums, and the elements that are loaded
 * one block of k ahead. */
static int64_t register_bytes_of(const struct uk_product *p, const struct uk_tile *t) {
    const size_t ahead =
        (bytes_of_operand(p, p->a) * (size_t)t->rows + bytes_of_operand(p, p->b) * (size_t)t->columns) *
        (size_t)t->terms / (size_t)t->threads;

    return (int64_t)(bytes_of_operand(p, 0) * (size_t)(t->rows * t->columns) + ahead);
}

/* Bytes of shared memory for both operands, in two slots. */
static int64_t shared_of(const struct uk_product *p, const struct uk_tile *t) {
    const size_t step =
        bytes_of_operand(p, p->a) * (size_t)t->rows + bytes_of_operand(p, p->b) * (size_t)t->columns;

    return 2 * (int64_t)(step * (size_t)t->threads + 2 * UK_GROUP * sizeof(float)) * t->terms;
}

/* Number of blocks resident on a compute unit; 0: the tile does not fit. */
static int resident(const struct uk_product *p, const struct uk_tile *t) {
    const struct uk_device *d = &p->s->target->machine.core.device;
    const int registers = registers_of(p->st, t), threads = t->threads * t->threads;

    return uk_device_resident(d, registers, 0, d->lanes) < WAVES * d->simds || threads > d->threads ||
                   register_bytes_of(p, t) > d->register_bytes
               ? 0
               : uk_device_resident(d, registers, shared_of(p, t), threads);
}

/* Cycles of the SIMD for a thread's arithmetic of one term. */
static double arithmetic(const struct uk_product *p, const struct uk_tile *t) {
    const int cycles =
        p->st->operand[0].tensor->type == UK_F64 ? p->s->target->machine.core.device.f64_cycles : INSTRUCTION;

    return t->instructions * cycles;
}

/* Lines that a block loads in a step: of an operand that is contiguous along the sum, one for each row. */
static double lines_of(const struct uk_product *p, int o, int each, const struct uk_tile *t) {
    const struct uk_device *d = &p->s->target->machine.core.device;
    const double rows = each * t->threads, bytes = (double)bytes_of_operand(p, o);

    return uk_device_is_contiguous(&p->st->operand[o], p->sum) ? rows * ceiling(t->terms * bytes, d->line)
                                                               : t->terms * ceiling(rows * bytes, d->line);
}

/* What a block uses. A wave waits for what it reads from shared memory, unless arithmetic of the term before
 * takes as long, and for its loads, if a step takes less time than these. */
static struct uk_block_time block_of(const struct uk_product *p, const struct uk_tile *t, double steps) {
    const struct uk_device *d = &p->s->target->machine.core.device;
    const int threads = t->threads * t->threads, waves = (threads + d->lanes - 1) / d->lanes;
    const double bytes_a = (double)bytes_of_operand(p, p->a), bytes_b = (double)bytes_of_operand(p, p->b),
                 term = arithmetic(p, t), bytes = t->rows * bytes_a + t->columns * bytes_b,
                 reads = t->terms * bytes / READ, copies = bytes * t->threads * t->terms / threads / COPIED,
                 vector = t->terms * term + INSTRUCTION * AUTO_STEP_VECTOR,
                 instructions = vector + INSTRUCTION * (reads + 2 * copies + AUTO_STEP_SCALAR),
                 late = 2 * d->latency.shared - term,
                 step = instructions + t->terms * (late > d->latency.shared ? late : d->latency.shared),
                 load = d->latency.memory - step;

    return (struct uk_block_time){
        .issue = {(float)(waves * steps * vector), (float)(waves * steps * INSTRUCTION * AUTO_STEP_SCALAR),
                  (float)(waves * steps * INSTRUCTION * copies),
                  (float)(waves * steps * INSTRUCTION * (reads + copies))},
        .shared = (float)(waves * steps * t->terms * bytes * d->lanes / d->shared_rate),
        .lines = (float)(steps * (lines_of(p, p->a, t->rows, t) + lines_of(p, p->b, t->columns, t))),
        .alone = (float)(steps * (step + (load > 0 ? load : 0)) + 2 * d->latency.memory +
                         2 * INSTRUCTION * (t->rows * t->columns + AUTO_STEP_SCALAR)),
    };
}

/* Cycles of adding the parts: a launch that reads all of them. */
static double cycles_of_parts(const struct uk_product *p, const struct uk_tile *t) {
    const struct uk_device *d = &p->s->target->machine.core.device;
    const double bytes = uk_elements(p->s, p->st->operand[0].tensor) * (double)bytes_of_operand(p, 0);

    return t->parts == 1 ? 0
                         : d->launch + 2 * d->latency.memory + INSTRUCTION * (double)t->parts +
                               (double)(t->parts + 1) * bytes / d->memory_rate;
}

enum { NO_MEMORY = -1 };

/* The cycles of all launches; DBL_MAX: the tile does not fit; NO_MEMORY. */
static double estimate(const struct uk_product *p, const struct uk_tile *t) {
    struct uk_core unit = p->s->target->machine.core;
    const int units = unit.device.units, threads = t->threads * t->threads;
    const double terms = ceiling(uk_values_estimate(p->s, p->st, p->sum), (double)t->parts),
                 blocks = ceiling(p->row_values, t->rows * t->threads) *
                          ceiling(p->column_values, t->columns * t->threads) * p->others * (double)t->parts,
                 of_unit = ceiling(blocks, units),
                 counted = of_unit < AUTO_UNIT_BLOCKS ? of_unit : AUTO_UNIT_BLOCKS;
    const struct uk_block_time block = block_of(p, t, p->more_terms * ceiling(terms, t->terms));
    struct uk_block_time all[AUTO_UNIT_BLOCKS];
    struct uk_device_launch l = {.blocks = (uint64_t)counted,
                                 .block = all,
                                 .waves = (threads + unit.device.lanes - 1) / unit.device.lanes,
                                 .resident = resident(p, t)};
    struct uk_launch_time time;

    /* All blocks are alike, so one of the busiest units decides. */
    unit.device.units = 1;
    for (uint64_t i = 0; i < l.blocks; i++)
        all[i] = block;
    if (!l.resident || !l.blocks)
        return DBL_MAX;
    return uk_device_time(&unit, &l, &time) ? time.cycles * of_unit / counted + cycles_of_parts(p, t)
                                            : NO_MEMORY;
}

/* ---- candidates ---- */

struct choice {
    struct uk_tile tile;
    double cycles; /* NO_MEMORY is less than any */
};

const char *uk_device_tile_name(const struct uk_product *p, const struct uk_tile *t) {
    struct uk_arena *a = p->s->arena;
    const int threads = t->threads * t->threads;

    return t->parts == 1
               ? uk_format(a, "tiles of %d x %d in blocks of %d threads, %d terms a step", t->rows,
                           t->columns, threads, t->terms)
               : uk_format(a,
                           "tiles of %d x %d in blocks of %d threads, %d terms a step, %d parts of the sum",
                           t->rows, t->columns, threads, t->terms, (int)t->parts);
}

/* True if the draft with this tile was refused. One with parts is of the stage that computes these. */
static bool is_refused(const struct uk_product *p, const struct uk_tile *t) {
    const char *name = p->s->refused ? uk_device_tile_name(p, t) : NULL;

    return name && uk_refusal(p->s, t->parts == 1 ? p->st->name : p->parts_name, name);
}

/* The number of parts of the sum that may be tried: those of constant sizes, each of a few steps. */
static int64_t most_parts(const struct uk_product *p) {
    const int64_t terms = uk_constant_extent(p->st, p->sum);
    int64_t parts = 1;

    while (p->parts_name && 2 * parts <= MOST_PARTS && terms >= 2 * parts * MIN_STEPS * MIN_TERMS)
        parts *= 2;
    return parts;
}

/* Considers this tile in blocks of MAX_THREADS_PER_AXIS and of MIN_THREADS_PER_AXIS threads, with up to this
 * many terms a step and any number of parts, and updates *best. */
static void consider_tile(const struct uk_product *p, struct uk_tile t, int most_terms, struct choice *best) {
    for (t.threads = MAX_THREADS_PER_AXIS; t.threads >= MIN_THREADS_PER_AXIS; t.threads /= 2)
        for (t.terms = MIN_TERMS * t.group; t.terms <= most_terms * t.group; t.terms *= 2)
            for (t.parts = 1; t.parts <= most_parts(p); t.parts *= 2) {
                const double cycles = is_refused(p, &t) ? DBL_MAX : estimate(p, &t);

                if (cycles < best->cycles)
                    *best = (struct choice){t, cycles};
            }
}

static void consider_plain_tile(const struct uk_product *p, int rows, int columns, struct choice *best) {
    const struct uk_tile t = {.rows = rows, .columns = columns, .group = 1, .instructions = rows * columns};

    consider_tile(p, t, MIN_TERMS, best);
}

/* True if the kernel multiplies the operands' types into the output's. */
static bool has_types(const struct uk_product *p, const struct uk_kernel *k) {
    const enum uk_type c = p->st->operand[0].tensor->type, a = p->st->operand[p->a].tensor->type,
                       b = p->st->operand[p->b].tensor->type;

    switch (uk_kernel_operation(k)->element) {
    case UK_ELEMENT_F32:
        return c == UK_F32 && a == c && b == c;
    case UK_ELEMENT_I8:
        return c == UK_I32 && a == UK_I8 && b == a;
    default:
        return false;
    }
}

enum uk_status uk_device_choose_tile(const struct uk_product *p, struct uk_tile *out, bool *found) {
    struct choice best = {.cycles = DBL_MAX};
    bool has_kernels = false;
    char lacks[64];

    for (int i = 0; i < uk_kernel_count(); i++) {
        const struct uk_kernel *k = uk_kernel_at(i);
        const struct uk_tile t = {.rows = uk_kernel_mr(k),
                                  .columns = uk_kernel_nr(k),
                                  .group = uk_kernel_kr(k),
                                  .instructions = (uk_kernel_fma(k) + uk_kernel_other(k)) / uk_kernel_kr(k)};

        if (uk_kernel_operation(k)->form != UK_OP_SHARED || !has_types(p, k) ||
            uk_target_lacks_for(p->s->target, k, lacks, sizeof lacks))
            continue;
        has_kernels = true;
        consider_tile(p, t, MAX_TERMS, &best);
    }
    /* Without kernels LLVM compiles tiles of about their size, and smaller ones in any case. It reads all
     * operands of a step ahead, so a step of more terms takes too many registers. */
    if (!has_kernels)
        consider_plain_tile(p, DEFAULT_TILE, DEFAULT_TILE, &best);
    consider_plain_tile(p, DEFAULT_TILE, UK_GROUP, &best);
    consider_plain_tile(p, UK_GROUP, UK_GROUP, &best);
    *out = best.tile;
    *found = best.cycles < DBL_MAX;
    return best.cycles < 0 ? uk_out_of_memory(p->s->context) : UK_OK;
}
