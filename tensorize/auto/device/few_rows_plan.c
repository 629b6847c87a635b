/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The distribution of a product with few rows, by an estimate of its cycles. Memory has to deliver the
 * matrix, which takes longer than all arithmetic. So blocks read whole lines, and parts of the sum give each
 * compute unit about as many blocks.
 */
#include <float.h>
#include "few_rows.h"

enum {
    /* cycles of most instructions */
    INSTRUCTION = 4,
    /* bytes that a thread reads at once, at most */
    READ = 16,
    MAX_VECTOR = 4,
    /* part of a wave's threads that load adjacent vectors, at least */
    LEAST_LANES = 4,
    /* vectors that a thread loads in a step: loads in flight together */
    LEAST_LOADS = 4,
    MOST_LOADS = 16,
    /* threads of a block */
    LEAST_THREADS = 64,
    /* sums of a thread, and elements of vectors that it reads in a step, which LLVM keeps in registers */
    MOST_SUMS = 32,
    MOST_READ = 64,
    /* registers besides sums, and elements read in a step */
    SPARE_REGISTERS = 30,
    /* instructions of a multiply-add of bytes; counted: 2.5 to 3.5 */
    BYTES = 3,
    /* instructions to test an element at an edge, and of a step besides its work; counted */
    GUARD = 12,
    STEP = 30,
    /* blocks that share a compute unit's shared memory, at least */
    BLOCKS = 2,
    /* blocks of a compute unit, from which more parts of the sum balance the units no better */
    MOST_ROUNDS = 4,
};

int uk_device_step_terms(const struct uk_few_rows *w, const struct uk_few_rows_plan *p) {
    return w->along_sum ? p->x * p->vector : p->y * p->each;
}

int uk_device_block_elements(const struct uk_few_rows *w, const struct uk_few_rows_plan *p) {
    return w->along_sum ? p->y * p->each : p->x * p->vector;
}

static double bytes_of(const struct uk_few_rows *w, int o) {
    return (double)uk_type_bytes(w->st->operand[o].tensor->type);
}

/* Instructions of a multiply-add, with its part of conversions. */
static double instructions_of(const struct uk_few_rows *w) {
    switch (w->st->operand[w->matrix].tensor->type) {
    case UK_I8:
    case UK_U8:
        return BYTES;
    case UK_F64:
        return w->s->target->machine.core.device.f64_cycles / (double)INSTRUCTION;
    default:
        return 1;
    }
}

/* Sums of a thread; elements of the vectors that it reads in a step. */
static double sums_of(const struct uk_few_rows *w, const struct uk_few_rows_plan *p) {
    return w->rows * (w->along_sum ? p->each : p->vector);
}

static double read_of(const struct uk_few_rows *w, const struct uk_few_rows_plan *p) {
    return w->rows * (w->along_sum ? p->vector : p->each);
}

static double shared_of(const struct uk_few_rows *w, const struct uk_few_rows_plan *p) {
    return sums_of(w, p) * p->x * p->y * bytes_of(w, 0) +
           w->rows * uk_device_step_terms(w, p) * bytes_of(w, w->vectors);
}

static int resident(const struct uk_few_rows *w, const struct uk_few_rows_plan *p) {
    const double words = (bytes_of(w, 0) + sizeof(float) - 1) / sizeof(float),
                 registers = words * (sums_of(w, p) + read_of(w, p) + p->each * p->vector) + SPARE_REGISTERS;

    return uk_device_resident(&w->s->target->machine.core.device, (int)registers, (int64_t)shared_of(w, p),
                              p->x * p->y);
}

/* The product's extents along the matrix, and the steps of a block. Guarded: the last block or part of the
 * sum is not whole, so that all loads have a test. */
struct extents {
    double many, terms, steps, blocks;
    bool is_guarded;
};

static struct extents extents_of(const struct uk_few_rows *w, const struct uk_few_rows_plan *p) {
    const double step = uk_device_step_terms(w, p), elements = uk_device_block_elements(w, p);
    struct extents e = {.many = uk_values_estimate(w->s, w->st, w->many),
                        .terms = uk_values_estimate(w->s, w->st, w->sum)};

    const double steps = uk_device_ceiling(e.terms, step), blocks = uk_device_ceiling(e.many, elements);
    e.steps = uk_device_ceiling(steps, (double)p->parts);
    e.blocks = w->others * blocks * uk_device_ceiling(steps, e.steps);
    e.is_guarded = e.steps * uk_device_ceiling(steps, e.steps) * step > e.terms || blocks * elements > e.many;
    return e;
}

/* Lines of the matrix that a block accesses: each thread's vectors are next to those of its neighbours. */
static double lines_of(const struct uk_few_rows *w, const struct uk_few_rows_plan *p,
                       const struct extents *e) {
    const double bytes = bytes_of(w, w->matrix), pitch = bytes * (w->along_sum ? e->terms : e->many),
                 runs = (double)p->y * p->each;

    return w->more_terms * e->steps * runs *
           uk_device_lines_of_run(&w->s->target->machine.core.device, p->x * p->vector * bytes, pitch);
}

static struct uk_block_time block_of(const struct uk_few_rows *w, const struct uk_few_rows_plan *p,
                                     const struct extents *e) {
    const struct uk_device *d = &w->s->target->machine.core.device;
    /* A step waits for the rows' elements, a vector of each thread after the other, then for the matrix: for
     * all loads together, or for each, if each has a test. */
    const double step_bytes = w->rows * uk_device_step_terms(w, p) * bytes_of(w, w->vectors),
                 waits = d->latency.l2 * uk_device_ceiling(step_bytes, (double)READ * p->x * p->y) +
                         d->latency.memory * (e->is_guarded ? p->each : 1) + 3 * d->latency.shared;
    const double steps = w->more_terms * e->steps, waves = uk_device_ceiling((double)p->x * p->y, d->lanes),
                 loads = p->each, vectors = bytes_of(w, w->vectors),
                 reads = uk_device_ceiling(read_of(w, p) * vectors, READ),
                 vector = w->rows * p->each * p->vector * instructions_of(w) + STEP +
                          (e->is_guarded ? GUARD * p->each : 0),
                 added = w->along_sum ? p->x : (double)p->y * p->vector,
                 bytes = steps * read_of(w, p) * vectors + sums_of(w, p) * bytes_of(w, 0) * 2;

    return (struct uk_block_time){
        .issue = {(float)(waves * INSTRUCTION * (steps * vector + added)),
                  (float)(waves * INSTRUCTION * steps * STEP), (float)(waves * INSTRUCTION * steps * loads),
                  (float)(waves * INSTRUCTION * (steps * reads + added))},
        .shared = (float)(bytes * p->x * p->y / d->shared_rate),
        .lines = (float)(lines_of(w, p, e) +
                         steps * w->rows * uk_device_ceiling(uk_device_step_terms(w, p) * vectors, d->line)),
        .alone = (float)(steps * (waits + INSTRUCTION * (vector + loads + reads + STEP)) +
                         2 * d->latency.memory + 2 * d->latency.shared + 2 * INSTRUCTION * added),
    };
}

enum { NO_MEMORY = -1 };

/* The cycles of all launches; DBL_MAX: the plan does not fit; NO_MEMORY. Each access of a block to a line
 * counts as one of memory, because other blocks access the line at other times, and units that are idle leave
 * their part of memory's rate unused. */
static double estimate(const struct uk_few_rows *w, const struct uk_few_rows_plan *p) {
    const struct uk_core *core = &w->s->target->machine.core;
    const struct extents e = extents_of(w, p);
    const uint64_t blocks = e.blocks < AUTO_COUNTED_BLOCKS ? (uint64_t)e.blocks : AUTO_COUNTED_BLOCKS;
    struct uk_device_launch l = {.blocks = blocks,
                                 .waves = (p->x * p->y + core->device.lanes - 1) / core->device.lanes,
                                 .resident = resident(w, p)};
    const struct uk_block_time time = block_of(w, p, &e);
    struct uk_launch_time launch;
    struct uk_block_time all[AUTO_COUNTED_BLOCKS];

    if (!l.resident || !blocks)
        return DBL_MAX;
    for (uint64_t i = 0; i < blocks; i++)
        all[i] = time;
    l.block = all;
    if (!uk_device_time(core, &l, &launch))
        return NO_MEMORY;
    const double units = launch.cycles * e.blocks / (double)blocks,
                 memory = e.blocks * (double)time.lines * core->device.line / core->device.memory_rate /
                          launch.busy;
    return (units > memory ? units : memory) +
           (p->parts > 1 ? uk_device_cycles_of_parts(w->s, w->st, (double)p->parts) : 0);
}

/* ---- candidates ---- */

struct choice {
    struct uk_few_rows_plan plan;
    double cycles;
};

static bool is_possible(const struct uk_few_rows *w, const struct uk_few_rows_plan *p) {
    const struct uk_device *d = &w->s->target->machine.core.device;
    const int threads = p->x * p->y;

    return threads >= LEAST_THREADS && threads <= d->threads &&
           (p->x == d->lanes || p->x * p->vector * bytes_of(w, w->matrix) >= d->line) &&
           sums_of(w, p) <= MOST_SUMS && read_of(w, p) <= MOST_READ &&
           shared_of(w, p) <= (double)d->shared_bytes / BLOCKS &&
           (!w->along_sum || uk_device_block_elements(w, p) <= p->x);
}

static void consider_parts(const struct uk_few_rows *w, struct uk_few_rows_plan p, int64_t most_parts,
                           struct choice *best) {
    const double steps =
        uk_device_ceiling(uk_values_estimate(w->s, w->st, w->sum), uk_device_step_terms(w, &p));

    const double blocks = w->others * uk_device_ceiling(uk_values_estimate(w->s, w->st, w->many),
                                                        uk_device_block_elements(w, &p));
    const double most = MOST_ROUNDS * w->s->target->machine.core.device.units / blocks;

    if (!is_possible(w, &p))
        return;
    for (p.parts = 1; p.parts <= most_parts && (double)p.parts <= steps; p.parts++) {
        if (p.parts > 1 && (double)p.parts > most)
            return;
        const double cycles = estimate(w, &p);

        if (cycles < best->cycles)
            *best = (struct choice){p, cycles};
    }
}

/* True if the vector's elements are adjacent to each other, and all inside of the matrix or none; and threads
 * divide a wave, or the matrix: no access needs a test. */
static bool has_vectors(const struct uk_few_rows *w, int x, int vector) {
    const int64_t n = uk_constant_extent(w->st, w->along_sum ? w->sum : w->many);

    return (vector == 1 || (vector * bytes_of(w, w->matrix) <= READ && n > 0 && n % vector == 0)) &&
           (x == uk_power_of_two_above(x) || (n > 0 && n % ((int64_t)x * vector) == 0));
}

enum uk_status uk_device_plan_few_rows(const struct uk_few_rows *w, int64_t most_parts,
                                       struct uk_few_rows_plan *out, bool *found) {
    const int lanes = w->s->target->machine.core.device.lanes;
    struct choice best = {.cycles = DBL_MAX};
    struct uk_few_rows_plan p;

    for (p.x = lanes / LEAST_LANES; p.x <= lanes; p.x++)
        for (p.y = 1; p.y <= lanes; p.y *= 2)
            for (p.vector = 1; p.vector <= MAX_VECTOR; p.vector *= 2)
                for (p.each = LEAST_LOADS; p.each <= MOST_LOADS; p.each *= 2)
                    if (has_vectors(w, p.x, p.vector))
                        consider_parts(w, p, most_parts, &best);
    *out = best.plan;
    *found = best.cycles < DBL_MAX;
    if (*found && w->s->report)
        uk_put(w->s->report,
               "stage %s: blocks of %d x %d threads, %d vectors of %d elements of %s a step, %d parts of the "
               "sum: estimated %.0f cycles\n",
               w->st->name, out->x, out->y, out->each, out->vector, w->st->operand[w->matrix].tensor->name,
               (int)out->parts, best.cycles);
    return best.cycles < 0 ? uk_out_of_memory(w->s->context) : UK_OK;
}
