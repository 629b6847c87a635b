/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The choice of a product's tile on a GPU: by uk_device_time(), from an estimate of what a block uses. A
 * block computes the sum in steps of some terms; in each, its threads load the operands of the next
 * step, and read those of this one from shared memory. Few blocks leave compute units idle, so the sum of a
 * small output is divided into parts, which a second kernel adds.
 */
#include <float.h>
#include <limits.h>
#include <string.h>
#include "product.h"
#include "registry/operation.h"

enum {
    /* rows and columns of a thread's tile if the target has no kernels */
    DEFAULT_TILE = 8,
    /* threads along either axis of a block that is a square */
    MAX_THREADS = 16,
    MIN_THREADS = 8,
    /* an output with at most as many rows or columns is narrow: blocks may be, too */
    NARROW = 32,
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
    /* steps of the sum in a part, at least */
    MIN_STEPS = 4,
    /* terms of the sum in a step: enough work to hide the loads of the next one */
    MIN_TERMS = 8,
    MAX_TERMS = 32,
    /* waves along either axis of a block, each with a kernel's tile, and groups of terms in a step of such:
     * the two that lanes read at a time, or more */
    MAX_WAVES_PER_AXIS = 2,
    MIN_WAVE_GROUPS = 2,
    MAX_WAVE_GROUPS = 8,
    MOST_PARTS = 64,
    /* part of the units' cycles that counts if memory takes longer: of such tiles, the one that they finish
     * first */
    TIE = 64,
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
    return all - (ceiling(all, tile) - 1) * tile;
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

    return 1 + (ceiling(bytes, granule) - 1) * granule / d->line;
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
        return e->rows * ceiling(e->columns, UK_LANE_COLUMNS) *
               uk_device_lines_of_run(d, UK_LANE_COLUMNS * bytes, pitch);
    return e->rows * t->columns / UK_GROUP * uk_device_lines_of_run(d, run * bytes, pitch);
}

/* Accesses of a thread that copies an operand's part of a step, each with a test. */
static double guarded_copies(const struct uk_product *p, const struct uk_tile *t, int o, double each) {
    const double elements = each * t->terms;

    return has_guarded_vectors(p, o) ? ceiling(elements * (double)bytes_of_operand(p, o), READ) : elements;
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

    return t->part_terms ? ceiling(terms, (double)t->part_terms) : (double)t->parts;
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
                 terms = t->part_terms && (double)t->part_terms < sum ? (double)t->part_terms
                                                                      : ceiling(sum, (double)t->parts),
                 steps = p->more_terms * ceiling(terms, t->terms);
    const double n[AXES] = {p->others * parts_of(p, t), ceiling(p->row_values, tile_rows),
                            ceiling(columns, tile_columns)};
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
    const double of_unit = ceiling(g.all, core.device.units);

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

/* ---- candidates ---- */

struct choice {
    struct uk_tile tile;
    double cycles; /* UK_TILE_NO_MEMORY is less than any */
};

const char *uk_device_tile_name(const struct uk_product *p, const struct uk_tile *t) {
    struct uk_arena *a = p->s->arena;
    const char *tile =
        uk_format(a, "tiles of %d x %d in blocks of %d x %d %s, %d terms a step", t->rows, t->columns,
                  t->row_threads, t->column_threads, t->wave ? "waves" : "threads", t->terms);

    if (t->part_terms && tile)
        return uk_format(a, "%s, parts of the sum of %d terms", tile, t->part_terms);
    return t->parts == 1 || !tile ? tile : uk_format(a, "%s, %d parts of the sum", tile, (int)t->parts);
}

/* True if the draft with this tile was refused. One with parts is of the stage that computes these. */
static bool is_refused(const struct uk_product *p, const struct uk_tile *t) {
    const char *name = p->s->refused ? uk_device_tile_name(p, t) : NULL;

    return name && uk_refusal(p->s, uk_device_has_parts(t) ? p->parts_name : p->st->name, name);
}

/* The number of parts of the sum that may be tried: those of constant sizes, each of a few steps. */
static int64_t most_parts(const struct uk_product *p) {
    const int64_t terms = uk_constant_extent(p->st, p->sum);
    int64_t parts = 1;

    while (p->parts_name && 2 * parts <= MOST_PARTS && terms >= 2 * parts * MIN_STEPS * MIN_TERMS)
        parts *= 2;
    return parts;
}

const char *uk_device_wanted_kernel(const struct uk_product *p) {
    const char *stage = p->s->wanted_stage;

    return stage && !strcmp(stage, p->st->name) ? p->s->wanted_kernel : NULL;
}

struct uk_tile_range uk_device_tile_range(const struct uk_tile *t) {
    if (t->wave)
        return (struct uk_tile_range){1, MAX_WAVES_PER_AXIS, MIN_WAVE_GROUPS * t->group,
                                      MAX_WAVE_GROUPS * t->group};
    return (struct uk_tile_range){MIN_THREADS, MAX_THREADS, MIN_TERMS * t->group, MAX_TERMS * t->group};
}

static void consider_block(const struct uk_product *p, struct uk_tile t, int most_terms,
                           struct choice *best) {
    const int64_t most = uk_device_wanted_kernel(p) ? 1 : most_parts(p);
    const struct uk_tile_range r = uk_device_tile_range(&t);

    for (t.terms = r.min_terms; t.terms <= r.max_terms && t.terms <= most_terms; t.terms *= 2)
        for (t.parts = 1; t.parts <= most; t.parts *= 2) {
            const double cycles =
                is_refused(p, &t) ? DBL_MAX : uk_device_tile_cycles(p, &t, AUTO_COUNTED_BLOCKS);

            if (cycles < best->cycles)
                *best = (struct choice){t, cycles};
        }
}

/* Considers this tile in blocks of 1, 2 and 4 waves, with up to this many terms a step and any number of
 * parts, and updates *best. Narrow blocks are for narrow outputs. */
static void consider_tile(const struct uk_product *p, struct uk_tile t, int most_terms, struct choice *best) {
    static const struct {
        int rows, columns;
        bool is_narrow;
    } threads[] = {{16, 16, false}, {8, 16, false}, {16, 8, false}, {8, 8, false}, {4, 16, true},
                   {4, 32, true},   {2, 32, true},  {2, 64, true},  {1, 64, true}};

    for (int waves = 0; t.wave && waves < MAX_WAVES_PER_AXIS * MAX_WAVES_PER_AXIS; waves++) {
        t.row_threads = MAX_WAVES_PER_AXIS - waves / MAX_WAVES_PER_AXIS;
        t.column_threads = MAX_WAVES_PER_AXIS - waves % MAX_WAVES_PER_AXIS;
        consider_block(p, t, most_terms, best);
    }
    for (size_t i = 0; !t.wave && i < sizeof threads / sizeof threads[0]; i++) {
        t.row_threads = threads[i].rows;
        t.column_threads = threads[i].columns;
        if (!threads[i].is_narrow || p->row_values <= NARROW)
            consider_block(p, t, most_terms, best);
        t.row_threads = threads[i].columns;
        t.column_threads = threads[i].rows;
        if (threads[i].is_narrow && p->column_values <= NARROW)
            consider_block(p, t, most_terms, best);
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
    case UK_ELEMENT_F16:
        return c == UK_F32 && a == UK_F16 && b == a;
    case UK_ELEMENT_BF16:
        return c == UK_F32 && a == UK_BF16 && b == a;
    case UK_ELEMENT_I8:
        return c == UK_I32 && a == UK_I8 && b == a;
    default:
        return false;
    }
}

bool uk_device_kernel_tile(const struct uk_product *p, int kernel, struct uk_tile *out) {
    const struct uk_kernel *k = uk_kernel_at(kernel);
    const bool is_wave = uk_kernel_operation(k)->form == UK_OP_WAVE;
    const char *wanted = uk_device_wanted_kernel(p);
    char lacks[64];

    *out = (struct uk_tile){.rows = uk_kernel_mr(k),
                            .columns = uk_kernel_nr(k),
                            .wave = is_wave ? k : NULL,
                            .group = uk_kernel_kr(k),
                            .parts = 1,
                            .instructions = (uk_kernel_fma(k) + uk_kernel_other(k)) / uk_kernel_kr(k)};
    return (is_wave || uk_kernel_operation(k)->form == UK_OP_SHARED) && has_types(p, k) &&
           (!is_wave || uk_device_has_groups(p, out)) && (!wanted || !strcmp(wanted, uk_kernel_symbol(k))) &&
           !uk_target_lacks_for(p->s->target, k, lacks, sizeof lacks);
}

/* True if a version of the program wants this tile, and it was not refused. */
static bool takes_wanted(const struct uk_product *p, struct uk_tile *out) {
    const struct uk_wanted_tile *w = p->s->wanted_tile;

    if (!w || strcmp(w->stage, p->st->name) != 0 || (uk_device_has_parts(&w->tile) && !p->parts_name) ||
        is_refused(p, &w->tile))
        return false;
    *out = w->tile;
    return true;
}

enum uk_status uk_device_choose_tile(const struct uk_product *p, struct uk_tile *out, bool *found) {
    struct choice best = {.cycles = DBL_MAX};
    const char *wanted = uk_device_wanted_kernel(p);
    bool has_kernels = false;
    struct uk_tile t;

    if ((*found = takes_wanted(p, out))) {
        if (p->s->report)
            uk_put(p->s->report, "stage %s: %s\n", p->st->name, uk_device_tile_name(p, out));
        return UK_OK;
    }
    for (int i = 0; i < uk_kernel_count(); i++)
        if (uk_device_kernel_tile(p, i, &t)) {
            has_kernels = true;
            consider_tile(p, t, INT_MAX, &best);
        }
    /* Without kernels LLVM compiles tiles of about their size, and smaller ones in any case. It reads all
     * operands of a step ahead, so a step of more terms takes too many registers. */
    if (!has_kernels)
        consider_plain_tile(p, DEFAULT_TILE, DEFAULT_TILE, &best);
    if (!wanted || !has_kernels) {
        consider_plain_tile(p, DEFAULT_TILE, UK_GROUP, &best);
        consider_plain_tile(p, UK_GROUP, UK_GROUP, &best);
    }
    *out = best.tile;
    *found = best.cycles < DBL_MAX;
    if (*found && p->s->report)
        uk_put(p->s->report, "stage %s: %s: estimated %.0f cycles\n", p->st->name,
               uk_device_tile_name(p, out), best.cycles);
    return best.cycles < 0 ? uk_out_of_memory(p->s->context) : UK_OK;
}
