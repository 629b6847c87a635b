/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cycles of a product with a tile on a GPU: by uk_device_time(), from an estimate of what a block uses. A
 * block computes the sum in steps of some terms; in each, its threads load the operands of the next step, and
 * read those of this one from shared memory.
 */
#include <float.h>
#include "product.h"

enum {
    /* registers besides sums, operands read from shared memory, and copies in flight */
    SPARE_REGISTERS = 10,
    /* registers for tests at edges, if the tile leaves them; measured: 18 to 23 */
    GUARD_REGISTERS = 20,
    /* instructions of a wave to test an element that it copies at an edge; counted: 5.0 to 6.5, 5.7 to 8.0 */
    GUARD_VECTOR = 5,
    GUARD_SCALAR = 7,
    /* registers for each element that a thread copies, its share of addresses included; measured */
    REGISTERS_PER_COPY = 4,
    /* minimum waves per SIMD: one computes while another waits */
    WAVES = 2,
    /* cycles of most instructions */
    INSTRUCTION = 4,
    /* bytes that a thread copies at a time, on average of rows and edges */
    COPIED = 8,
    READ = 16,
    /* part of the units' cycles that counts if memory takes longer: of such tiles, the one that they finish
     * first */
    TIE = 64,
};

static size_t bytes_of_operand(const struct uk_product *p, int o) {
    return uk_type_bytes(p->st->operand[o].tensor->type);
}

/* Number of registers of one sum. */
static int words_of(const struct uk_stage *st) {
    return (int)(uk_type_bytes(st->operand[0].tensor->type) + sizeof(float) - 1) / (int)sizeof(float);
}

/* Number of elements of both operands that a thread copies for a term. */
static double elements_of(const struct uk_tile *t) {
    return (double)t->rows / t->column_threads + (double)t->columns / t->row_threads;
}

/* Bytes of both operands that a block copies for a term. */
static double term_bytes_of(const struct uk_product *p, const struct uk_tile *t) {
    return (double)bytes_of_operand(p, p->a) * t->rows * t->row_threads +
           (double)bytes_of_operand(p, p->b) * t->columns * t->column_threads;
}

/* Number of registers that a thread needs. */
static int registers_of(const struct uk_product *p, const struct uk_tile *t) {
    const int read = t->rows + t->columns, words = words_of(p->st);

    if (t->wave)
        return uk_device_wave_registers(p, t);
    return words * (t->rows * t->columns + read) +
           (int)((REGISTERS_PER_COPY + words - 1) * elements_of(t) * t->terms / t->group) + SPARE_REGISTERS;
}

/* Bytes of a thread's buffers, which have to stay in registers: the sums, and the elements that are loaded
 * one block of k ahead. */
static int64_t register_bytes_of(const struct uk_product *p, const struct uk_tile *t) {
    if (t->wave)
        return uk_device_wave_register_bytes(p, t);
    return (int64_t)((double)bytes_of_operand(p, 0) * t->rows * t->columns +
                     term_bytes_of(p, t) * t->terms / uk_device_block_threads(p, t));
}

/* Bytes of shared memory for both operands, in two slots. */
static int64_t shared_of(const struct uk_product *p, const struct uk_tile *t) {
    if (t->wave)
        return uk_device_wave_shared(p, t);
    return 2 * (int64_t)(term_bytes_of(p, t) + 2 * UK_GROUP * sizeof(float)) * t->terms;
}

static double in_last(double all, double tile) {
    return all - (uk_device_ceiling(all, tile) - 1) * tile;
}

/* True if a block extends past the last row or column. */
static bool has_edges(const struct uk_product *p, const struct uk_tile *t) {
    const double rows = t->rows * t->row_threads, columns = t->columns * t->column_threads;

    return in_last(p->row_values, rows) < rows || in_last(p->column_values, columns) < columns;
}

/* Number of blocks resident on a compute unit; 0: the tile does not fit. */
static int resident(const struct uk_product *p, const struct uk_tile *t) {
    const struct uk_device *d = &p->s->target->machine.core.device;
    const int registers = registers_of(p, t), threads = uk_device_block_threads(p, t),
              guarded = registers + (has_edges(p, t) ? GUARD_REGISTERS : 0), least = WAVES * d->simds;

    if (uk_device_resident(d, registers, 0, d->lanes) < least || threads > d->threads ||
        register_bytes_of(p, t) > d->register_bytes)
        return 0;
    return uk_device_resident(d, uk_device_resident(d, guarded, 0, d->lanes) < least ? registers : guarded,
                              shared_of(p, t), threads);
}

/* Cycles of the SIMD for a thread's arithmetic of one term. */
static double arithmetic(const struct uk_product *p, const struct uk_tile *t) {
    const int cycles =
        p->st->operand[0].tensor->type == UK_F64 ? p->s->target->machine.core.device.f64_cycles : INSTRUCTION;

    return t->instructions * cycles;
}

/* ---- what a block uses ---- */

/* The elements of the output in a block. Guarded: the block extends past the last row or column, so that both
 * copies are made with tests, those of A or of B except where all of the operand's blocks are whole. */
struct extent {
    double rows, columns;
    bool a_is_guarded, b_is_guarded;
};

static int64_t gcd(int64_t a, int64_t b) {
    return b ? gcd(b, a % b) : a;
}

double uk_device_lines_of_run(const struct uk_device *d, double bytes, double pitch) {
    const double granule = (double)gcd((int64_t)pitch, d->line);

    return 1 + (uk_device_ceiling(bytes, granule) - 1) * granule / d->line;
}

/* True if a test at an edge is of a vector, which is whole or does not exist. */
static bool has_guarded_vectors(const struct uk_product *p, int o) {
    const struct uk_loop *axis = o == p->a ? p->rows : p->columns,
                         *along = uk_device_is_contiguous(&p->st->operand[o], p->sum) ? p->sum : axis;
    const int64_t n = uk_constant_extent(p->st, along);

    return uk_device_is_contiguous(&p->st->operand[o], along) && n > 0 &&
           n % (READ / (int64_t)bytes_of_operand(p, o)) == 0;
}

/* Lines that a block loads of an operand in a step, those of each instruction counted once. `axis` is the
 * extent of what indexes the operand in the output; a block has n of its values. */
static double lines_of(const struct uk_product *p, const struct uk_tile *t, int o, double axis, double n,
                       bool is_guarded) {
    const struct uk_device *d = &p->s->target->machine.core.device;
    const bool along_sum = uk_device_is_contiguous(&p->st->operand[o], p->sum);
    const double bytes = (double)bytes_of_operand(p, o), terms = t->terms,
                 pitch = bytes * (along_sum ? uk_values_estimate(p->s, p->st, p->sum) : axis),
                 runs = along_sum ? n : terms, all = along_sum ? terms : n;

    if (!is_guarded || has_guarded_vectors(p, o))
        return runs * uk_device_lines_of_run(d, all * bytes, pitch);
    /* Each of UK_GROUP instructions loads every UK_GROUP-th element. */
    return runs * UK_GROUP *
           uk_device_lines_of_run(d, (all < UK_GROUP ? 1 : all - UK_GROUP + 1) * bytes, pitch);
}

/* Lines that a block stores: each instruction one group of all threads, which are a tile apart; or adjacent
 * columns of a wave. */
static double stored_lines(const struct uk_product *p, const struct uk_tile *t, const struct extent *e) {
    const struct uk_device *d = &p->s->target->machine.core.device;
    const double bytes = (double)bytes_of_operand(p, 0), apart = t->columns - UK_GROUP,
                 pitch = bytes * p->column_values, run = e->columns > apart ? e->columns - apart : 1;

    if (t->wave)
        return e->rows * uk_device_ceiling(e->columns, UK_LANE_COLUMNS) *
               uk_device_lines_of_run(d, UK_LANE_COLUMNS * bytes, pitch);
    return e->rows * t->columns / UK_GROUP * uk_device_lines_of_run(d, run * bytes, pitch);
}

/* Accesses of a thread that copies an operand's part of a step, each with a test. */
static double guarded_copies(const struct uk_product *p, const struct uk_tile *t, int o, double each) {
    const double elements = each * t->terms;
    const bool is_single = t->wave && !uk_device_is_contiguous(&p->st->operand[o], p->sum);

    return has_guarded_vectors(p, o) && !is_single
               ? uk_device_ceiling(elements * (double)bytes_of_operand(p, o), READ)
               : elements;
}

/* A wave waits for what it reads from shared memory, as long as it does not issue the reads, and for its
 * loads, if a step takes less time than these. */
static struct uk_block_time block_of(const struct uk_product *p, const struct uk_tile *t, double steps,
                                     const struct extent *e) {
    const struct uk_device *d = &p->s->target->machine.core.device;
    const int threads = uk_device_block_threads(p, t), waves = (threads + d->lanes - 1) / d->lanes;
    const double bytes_a = (double)bytes_of_operand(p, p->a), bytes_b = (double)bytes_of_operand(p, p->b),
                 bytes = t->rows * bytes_a + t->columns * bytes_b, reads = bytes / READ,
                 copies = term_bytes_of(p, t) * t->terms / threads / COPIED,
                 copies_a = (double)t->rows * t->row_threads / threads,
                 copies_b = (double)t->columns * t->column_threads / threads,
                 guards = (e->a_is_guarded ? guarded_copies(p, t, p->a, copies_a) : 0) +
                          (e->b_is_guarded ? guarded_copies(p, t, p->b, copies_b) : 0),
                 unguarded =
                     (e->a_is_guarded ? 0 : copies_a * bytes_a) + (e->b_is_guarded ? 0 : copies_b * bytes_b),
                 loads = guards + unguarded * t->terms / COPIED,
                 vector =
                     t->terms * arithmetic(p, t) + INSTRUCTION * (AUTO_STEP_VECTOR + guards * GUARD_VECTOR),
                 scalar = AUTO_STEP_SCALAR + guards * GUARD_SCALAR,
                 wait = d->latency.shared - INSTRUCTION * reads,
                 step = vector + INSTRUCTION * (t->terms * reads + copies + loads + scalar) +
                        (wait > 0 ? t->terms * wait : 0),
                 load = d->latency.memory - step;

    const double lines = steps * (lines_of(p, t, p->a, p->row_values, e->rows, e->a_is_guarded) +
                                  lines_of(p, t, p->b, p->column_values, e->columns, e->b_is_guarded)) +
                         stored_lines(p, t, e);
    if (t->wave) {
        struct uk_block_time time;

        uk_device_wave_time(p, t, steps, guards, guards * GUARD_VECTOR, guards * GUARD_SCALAR, &time);
        time.lines = (float)lines;
        return time;
    }
    return (struct uk_block_time){
        .issue = {(float)(waves * steps * vector), (float)(waves * steps * INSTRUCTION * scalar),
                  (float)(waves * steps * INSTRUCTION * loads),
                  (float)(waves * steps * INSTRUCTION * (t->terms * reads + copies))},
        .shared =
            (float)(steps * t->terms * (bytes * waves * d->lanes + term_bytes_of(p, t)) / d->shared_rate),
        .lines = (float)lines,
        .alone = (float)(steps * (step + (load > 0 ? load : 0)) + 2 * d->latency.memory +
                         2 * INSTRUCTION * (t->rows * t->columns + AUTO_STEP_SCALAR)),
    };
}

/* Number of parts of the sum. */
static double parts_of(const struct uk_product *p, const struct uk_tile *t) {
    const double terms = uk_values_estimate(p->s, p->st, p->sum);

    return t->part_terms ? uk_device_ceiling(terms, (double)t->part_terms) : (double)t->parts;
}

double uk_device_cycles_of_parts(const struct uk_schedule *s, const struct uk_stage *st, double parts) {
    const struct uk_device *d = &s->target->machine.core.device;
    const struct uk_tensor *out = st->operand[0].tensor;
    const double bytes = uk_elements(s, out) * (double)uk_type_bytes(out->type),
                 memory = (parts + 1) * bytes / d->memory_rate,
                 alone = 2 * d->latency.memory + INSTRUCTION * parts;

    return d->launch + (memory > alone ? memory : alone);
}

/* ---- the launch ---- */

enum { OTHERS, ROWS, COLUMNS, AXES, MAX_AXIS = UINT16_MAX };

/* The blocks of a launch: their number along each axis, the axes in the order of dispatch, fastest first, as
 * uk_device_bind_blocks() gives them to the grid, and what blocks use inside and at the ends of rows and
 * columns. */
struct grid {
    uint64_t n[AXES], blocks; /* along each axis, at most MAX_AXIS; their product */
    double all;               /* without that limit */
    int order[AXES];
    struct uk_block_time time[2][2];
};

static struct grid grid_of(const struct uk_product *p, const struct uk_tile *t) {
    const double columns = p->column_values, tile_rows = t->rows * t->row_threads,
                 tile_columns = t->columns * t->column_threads, sum = uk_values_estimate(p->s, p->st, p->sum),
                 terms = t->part_terms && (double)t->part_terms < sum
                             ? (double)t->part_terms
                             : uk_device_ceiling(sum, (double)t->parts),
                 steps = p->more_terms * uk_device_ceiling(terms, t->terms);
    const double n[AXES] = {p->others * parts_of(p, t), uk_device_ceiling(p->row_values, tile_rows),
                            uk_device_ceiling(columns, tile_columns)};
    const bool cuts_terms = in_last(uk_values_estimate(p->s, p->st, p->sum), t->terms) < t->terms;
    struct grid g = {.all = n[OTHERS] * n[ROWS] * n[COLUMNS]};
    int most = OTHERS, at = 0;

    for (int i = 0; i < AXES; i++) {
        g.n[i] = n[i] < MAX_AXIS ? (uint64_t)n[i] : MAX_AXIS;
        most = n[i] > n[most] ? i : most;
    }
    g.blocks = g.n[OTHERS] * g.n[ROWS] * g.n[COLUMNS];
    g.order[at++] = most;
    for (int i = AXES; i-- > 0;)
        if (i != most)
            g.order[at++] = i;
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++) {
            struct extent e = {i ? in_last(p->row_values, tile_rows) : tile_rows,
                               j ? in_last(columns, tile_columns) : tile_columns, false, false};

            if (e.rows < tile_rows || e.columns < tile_columns) {
                e.a_is_guarded = cuts_terms || in_last(p->row_values, tile_rows) < tile_rows;
                e.b_is_guarded = cuts_terms || in_last(columns, tile_columns) < tile_columns;
            }
            g.time[i][j] = block_of(p, t, steps, &e);
        }
    return g;
}

static struct uk_block_time time_of(const struct grid *g, uint64_t block) {
    uint64_t at[AXES];

    for (int i = 0; i < AXES; i++) {
        at[g->order[i]] = block % g->n[g->order[i]];
        block /= g->n[g->order[i]];
    }
    return g->time[at[ROWS] + 1 == g->n[ROWS]][at[COLUMNS] + 1 == g->n[COLUMNS]];
}

/* Cycles of memory for all that the launch accesses. */
static double cycles_of_memory(const struct uk_product *p, const struct uk_tile *t) {
    double bytes =
        parts_of(p, t) * uk_elements(p->s, p->st->operand[0].tensor) * (double)bytes_of_operand(p, 0);

    for (int o = 1; o < p->st->operands; o++)
        bytes += uk_elements(p->s, uk_memory_of(&p->st->operand[o])) * (double)bytes_of_operand(p, o);
    return bytes / p->s->target->machine.core.device.memory_rate;
}

double uk_device_tile_cycles(const struct uk_product *p, const struct uk_tile *t, uint64_t most) {
    struct uk_core core = p->s->target->machine.core;
    const struct grid g = grid_of(p, t);
    const bool is_sample = g.blocks > most;
    struct uk_block_time all[AUTO_COUNTED_BLOCKS];
    struct uk_device_launch l = {.blocks = g.blocks,
                                 .block = all,
                                 .waves = (uk_device_block_threads(p, t) + core.device.lanes - 1) /
                                          core.device.lanes,
                                 .resident = resident(p, t)};
    struct uk_launch_time time;
    uint64_t stride = 1;

    if (!l.resident || !l.blocks)
        return DBL_MAX;
    /* Of many blocks each unit has about the same mixture, so one that runs a sample of them decides: every
     * stride-th, where the stride meets all rows and columns in turn. */
    const double of_unit = uk_device_ceiling(g.all, core.device.units);

    if (is_sample) {
        core.device.units = 1;
        l.blocks = of_unit < (double)most ? (uint64_t)of_unit : most;
        for (stride = g.blocks / l.blocks; gcd((int64_t)stride, (int64_t)g.blocks) != 1;)
            stride++;
    }
    for (uint64_t i = 0; i < l.blocks; i++)
        all[i] = time_of(&g, i * stride % g.blocks);
    if (!uk_device_time(&core, &l, &time))
        return UK_TILE_NO_MEMORY;
    const double units = time.cycles * (is_sample ? of_unit / (double)l.blocks : 1),
                 memory = cycles_of_memory(p, t),
                 more = uk_device_has_parts(t) ? uk_device_cycles_of_parts(p->s, p->st, parts_of(p, t)) : 0;
    return (units > memory ? units : memory + units / TIE) + more;
}
