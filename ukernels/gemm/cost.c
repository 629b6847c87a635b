/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the ways to compute a product by tiles are estimated to take, in cycles of one core.
 *
 * Tiles. A k iteration of a tile of mr x nr takes the longest of
 *     its instructions on the core's ports: FMAs, mr (rounded up to the kernel's row_step) * vectors of nr; loads, a broadcast
 *                   per row and the vectors of B
 *     the latency of an FMA, which every sum of the tile has to wait for
 * A tile takes GEMM_CALL cycles more for the call, its jumps, and its part of C, which is read and written once per
 * block of k. A tile that is transposed on its way to C takes another call, and GEMM_COLUMN cycles for each of its columns.
 *
 * Operands. A way is one or several loop nests (cost/stream.c): the tiles, of which B may be in place for the first panel of rows and packed
 * for the others; and the copies that are made beside them. So rows that share sets of a cache, pages that are not among a TLB's, lines
 * that come from the last cache or memory, and vectors across two lines cost what the machine's row says, wherever they appear.
 */
#include "cost.h"
#include <limits.h>

static double larger(double a, double b) {
    return a > b ? a : b;
}

/* Cycles of a k iteration of a tile. */
static double iteration_cost(const struct gemm_tile *t, int row_step, int64_t mr, int64_t nr) {
    const double vectors = (double)gemm_parts(nr, t->lanes),
                 rows = (double)(gemm_parts(mr, row_step) * row_step);

    const struct uk_counts n = {.fma = rows * vectors, .load = rows + vectors};

    return larger(uk_cost_cycles(t->core, t->vectors, &n), t->core->fma_latency);
}

/* Instructions of all tiles of a product, of `rows` rows each. */
static double instructions_of(const struct gemm_tile *t, const struct uk_kernel *k, int64_t rows, int64_t m,
                              int64_t n, int64_t iterations) {
    const int64_t high = m / rows, wide = n / t->nr, low = m % rows, narrow = n % t->nr;
    double cycles = (double)(high * wide) * iteration_cost(t, k->row_step, rows, t->nr);

    if (narrow)
        cycles += (double)high * iteration_cost(t, k->row_step, rows, narrow);
    if (low)
        cycles += (double)wide * iteration_cost(t, k->row_step, low, t->nr);
    if (low && narrow)
        cycles += iteration_cost(t, k->row_step, low, narrow);
    return cycles * (double)iterations + (double)(gemm_parts(m, rows) * gemm_parts(n, t->nr)) * GEMM_CALL;
}

double uk_gemm_group_cycles(const struct uk_core *core, const struct uk_kernel *k) {
    const struct uk_counts n = {.fma = k->fma, .load = k->loads, .other = k->other};

    return uk_cost_cycles(core, uk_core_vectors(core, INT_MAX), &n);
}

bool uk_gemm_fuses_packing(const struct gemm_plan *p, const struct gemm_tile *t, enum gemm_source a) {
    return t->kernel[GEMM_RAP] && (p->a_step == 1 || a == GEMM_ROWS) && p->b_column == 1;
}

/* Cycles of a row of C for n columns and a k iteration; a narrower tile may compute the last columns. */
static double columns_cost(const struct gemm_type *type, const struct gemm_tile *t, int64_t n) {
    const int64_t wide = n / t->nr, narrow = n % t->nr;
    double last = narrow ? iteration_cost(t, t->mr, t->mr, t->nr) / t->mr : 0;

    for (int i = 0; i < type->tiles && narrow; i++) {
        const struct gemm_tile *u = &type->tile[i];
        const double cost = iteration_cost(u, u->mr, u->mr, u->nr) / u->mr;

        if (u->lanes == t->lanes && u->mr >= t->mr && narrow <= u->nr && cost < last)
            last = cost;
    }
    return (double)wide * iteration_cost(t, t->mr, t->mr, t->nr) / t->mr + last;
}

/* By what factor a tile takes longer than its k iterations, if it has so few rows that it reads more than
 * GEMM_FLAT_BYTES bytes of B a cycle: with AVX2 a tile of 4 rows x 3 vectors, for which A is packed besides. */
static double flatness(const struct gemm_type *type, const struct gemm_tile *t) {
    return t->nr * type->size > GEMM_FLAT_BYTES * iteration_cost(t, t->mr, t->mr, t->nr) ? GEMM_FLAT : 1;
}

/* Among tiles of equal cost the one with more rows, which loads less. */
const struct gemm_tile *uk_gemm_width_for(const struct gemm_type *type, int64_t n, bool in_place) {
    const struct gemm_tile *best = NULL;
    double least_cost = 0;
    int lanes = 0;

    for (int i = 0; i < type->tiles; i++)
        lanes = type->tile[i].lanes > lanes ? type->tile[i].lanes : lanes;
    for (int i = 0; i < type->tiles; i++) {
        const struct gemm_tile *t = &type->tile[i];
        const bool fits = t->lanes == lanes && (!in_place || t->kernel[GEMM_RAB] || t->kernel[GEMM_SAB]);
        const double cost = fits ? columns_cost(type, t, n) * flatness(type, t) : 0;

        if (fits && (!best || cost < least_cost || (cost == least_cost && t->mr > best->mr))) {
            best = t;
            least_cost = cost;
        }
    }
    return best;
}

/* The loops of a product by tiles, the outermost first. */
enum loop { K_BLOCKS, COLUMN_BLOCKS, PANELS, TILES, ITERATIONS, LOOPS };

/* An operand, with the elements that each loop moves it by. */
struct moved {
    struct uk_loop_operand o;
    int64_t by[LOOPS];
};

static struct moved new_operand(int64_t runs, int64_t length, int64_t pitch) {
    return (struct moved){.o = {.runs = runs, .length = length, .pitch = pitch}};
}

/* Adds an operand of elements of so many bytes to a nest of which `extent` has all loops: those of one iteration are left out. */
static void add_operand(struct uk_loop_nest *n, struct moved m, int size, const int64_t *extent) {
    struct uk_loop_operand *o = &n->operand[n->operands++];
    int loops = 0;

    *o = m.o;
    o->bytes = size;
    o->length *= size;
    o->pitch *= size;
    for (int i = 0; i < LOOPS; i++)
        if (extent[i] > 1) {
            n->extent[loops] = extent[i];
            o->stride[loops++] = m.by[i] * size;
        }
    n->loops = loops;
}

/* A, as it is read from there. */
static struct moved a_of(const struct gemm_plan *p, const struct uk_gemm_way *w) {
    struct moved a;

    if (w->a == GEMM_COPIED) {
        a = new_operand(1, w->rows, 0);
        a.by[ITERATIONS] = w->tile->mr;
        a.by[PANELS] = w->kc * w->tile->mr;
    } else if (w->a == GEMM_ROWS) {
        const int64_t leading = uk_gemm_leading(w->kc, p->type->size);

        a = new_operand(w->rows, 1, leading);
        a.by[ITERATIONS] = 1;
        a.by[PANELS] = leading * w->rows;
    } else {
        a = p->a_step == 1 ? new_operand(w->rows, 1, p->a_row) : new_operand(1, w->rows, 0);
        a.by[ITERATIONS] = p->a_step;
        a.by[K_BLOCKS] = p->a_step * w->kc;
        a.by[PANELS] = p->a_row * w->rows;
    }
    return a;
}

static struct moved b_of(const struct gemm_plan *p, const struct uk_gemm_way *w, int64_t nc,
                         enum gemm_source source) {
    const int64_t nr = w->tile->nr;
    struct moved b = new_operand(1, gemm_least(nr, p->n), 0);

    b.by[ITERATIONS] = source == GEMM_COPIED ? nr : p->b_step;
    b.by[TILES] = source == GEMM_COPIED ? w->kc * nr : nr;
    if (source == GEMM_IN_PLACE) {
        b.by[COLUMN_BLOCKS] = nc;
        b.by[K_BLOCKS] = p->b_step * w->kc;
    }
    return b;
}

/* If transposed, columns of a tile lie together, not rows. */
static struct moved c_of(const struct gemm_plan *p, const struct uk_gemm_way *w, int64_t nc) {
    const int64_t width = gemm_least(w->tile->nr, p->n), row = p->transposed ? 1 : p->ldc,
                  column = p->transposed ? p->ldc : 1;
    struct moved c =
        p->transposed ? new_operand(width, w->rows, p->ldc) : new_operand(w->rows, width, p->ldc);

    c.by[TILES] = w->tile->nr * column;
    c.by[COLUMN_BLOCKS] = nc * column;
    c.by[PANELS] = w->rows * row;
    c.o.is_written = true;
    c.o.held = p->k > 1 && w->kc > 1;
    return c;
}

/* Columns of a block of B. */
static int64_t columns_of(const struct gemm_plan *p, const struct uk_gemm_way *w) {
    return gemm_least(uk_gemm_columns(w->tile, p->n, w->kc, uk_gemm_room(p)), p->n);
}

/* Cycles of the tiles of so many panels of rows, B from `source`; packs: they copy it into panels, too. */
static double tiles_cost(const struct gemm_plan *p, const struct uk_gemm_way *w, int64_t panels,
                         enum gemm_source source, bool packs) {
    const struct gemm_tile *t = w->tile;
    const int size = p->type->size;
    const int64_t nc = columns_of(p, w);
    const int64_t extent[LOOPS] = {gemm_parts(p->k, w->kc), gemm_parts(p->n, nc), panels,
                                   gemm_parts(nc, t->nr), gemm_least(w->kc, p->k)};
    const double vectors = (double)gemm_parts(gemm_least(t->nr, p->n), t->lanes),
                 iterations = (double)panels * (double)gemm_parts(p->n, t->nr) * (double)p->k;
    const double crossing = source == GEMM_IN_PLACE && p->b_step * size % GEMM_LINE
                                ? vectors * t->lanes * size / GEMM_LINE * p->type->machine->core.split
                                : 0;
    struct uk_loop_nest n = {.operands = 0};

    n.loads = iterations * ((vectors + (double)w->rows) / uk_ports_rate(&t->vectors->load) + crossing);
    n.instructions =
        instructions_of(t, t->kernel[w->form], w->rows, gemm_least(p->m, panels * w->rows), p->n, p->k);
    if (packs)
        n.instructions += iterations * vectors / uk_ports_rate(&t->vectors->store);
    n.instructions = larger(n.instructions, n.loads);
    if (!w->a_is_free) {
        struct moved a = a_of(p, w);

        a.o.is_prefetched = w->prefetches && w->form == GEMM_PANELS;
        add_operand(&n, a, size, extent);
    }
    struct moved b = b_of(p, w, nc, source);

    b.o.is_prefetched = w->prefetches && w->form == GEMM_RAB;
    add_operand(&n, b, size, extent);
    add_operand(&n, c_of(p, w, nc), p->type->c_size, extent);
    if (packs) {
        add_operand(&n, b_of(p, w, nc, GEMM_COPIED), size, extent);
        n.operand[n.operands - 1].is_written = true;
    }
    return uk_cost_nest(p->type->machine, &n);
}

/* A copy of lines of k elements, `step` apart, the lines `across`, in panels of `width` lines; or, with 0, in rows. It goes block by block
 * of kc elements of so many lines to the same memory. */
struct copy {
    int64_t lines, kc, block, step, across, width;
    bool is_prefetched;
};

/* Its instructions. Where lines become columns or the other way, a square of vectors takes a shuffle a vector for each doubling. */
static double copy_instructions(const struct gemm_plan *p, const struct gemm_tile *t, const struct copy *c,
                                double *loads) {
    const bool transposes = c->width ? c->across != 1 : c->step != 1;
    const int64_t panels = c->width ? gemm_parts(c->lines, c->width) : 1,
                  wide = gemm_parts(c->width ? c->width : c->lines, t->lanes);
    const double vectors = (double)(panels * wide) * (double)p->k;
    struct uk_counts n = {.load = vectors, .other = vectors};

    for (int l = t->lanes; transposes && l > 1; l /= 2)
        n.shuffle += vectors;
    *loads = vectors / uk_ports_rate(&t->vectors->load);
    return larger(uk_cost_cycles(t->core, t->vectors, &n), vectors / uk_ports_rate(&t->vectors->store));
}

/* What one step of the copy reads and writes: a k iteration of a panel whose lines are contiguous, or as many as a vector has elements of
 * other ones; of rows a vector, or a square of vectors that is transposed. */
static void bodies_of(const struct copy *c, int lanes, int64_t leading, struct moved *from, struct moved *to,
                      int64_t *lines, int64_t *terms) {
    *lines = c->width ? c->width : c->step == 1 ? 1 : lanes;
    *terms = c->width && c->across == 1 ? 1 : lanes;
    *from = c->across == 1 ? new_operand(*terms, *lines, c->step) : new_operand(*lines, *terms, c->across);
    *to = c->width ? new_operand(1, *lines * *terms, 0) : new_operand(*lines, *terms, leading);
    to->by[ITERATIONS] = c->width ? *lines * *terms : *terms;
    to->by[PANELS] = *lines * (c->width ? c->kc : leading);
    to->o.is_written = true;
}

static double copy_cost(const struct gemm_plan *p, const struct gemm_tile *t, const struct copy *c) {
    const int64_t block = gemm_least(c->block, c->lines);
    int64_t lines, terms;
    struct uk_loop_nest n = {.operands = 0};
    struct moved from, to;

    bodies_of(c, t->lanes, uk_gemm_leading(c->kc, p->type->size), &from, &to, &lines, &terms);
    const int64_t extent[LOOPS] = {gemm_parts(p->k, c->kc), gemm_parts(c->lines, block),
                                   gemm_parts(block, lines), 1, gemm_parts(gemm_least(c->kc, p->k), terms)};
    from.o.is_prefetched = c->is_prefetched;
    from.by[ITERATIONS] = terms * c->step;
    from.by[PANELS] = lines * c->across;
    from.by[COLUMN_BLOCKS] = block * c->across;
    from.by[K_BLOCKS] = c->kc * c->step;
    n.instructions = copy_instructions(p, t, c, &n.loads);
    add_operand(&n, from, p->type->size, extent);
    add_operand(&n, to, p->type->size, extent);
    return uk_cost_nest(p->type->machine, &n);
}

static struct copy copy_of_a(const struct gemm_plan *p, const struct uk_gemm_way *w) {
    return (struct copy){p->m, w->kc, p->m, p->a_step, p->a_row, w->a == GEMM_COPIED ? w->rows : 0, false};
}

double uk_gemm_a_copy_least(const struct gemm_plan *p, const struct uk_gemm_way *w) {
    const struct copy a = copy_of_a(p, w);
    double loads;

    return w->a == GEMM_IN_PLACE ? 0 : copy_instructions(p, w->tile, &a, &loads);
}

double uk_gemm_way_cost(const struct gemm_plan *p, const struct uk_gemm_way *w) {
    const struct gemm_tile *t = w->tile;
    const int64_t panels = gemm_parts(p->m, w->rows);
    const struct copy a = copy_of_a(p, w), b = {p->n,
                                                w->kc,
                                                columns_of(p, w),
                                                p->b_step,
                                                p->b_column,
                                                t->nr,
                                                w->prefetches && w->form == GEMM_RA};
    const double copy = w->a == GEMM_IN_PLACE ? 0 : copy_cost(p, t, &a);

    if (w->b == GEMM_IN_PLACE)
        return copy + tiles_cost(p, w, panels, GEMM_IN_PLACE, false);
    if (!uk_gemm_fuses_packing(p, t, w->a))
        return copy + copy_cost(p, t, &b) + tiles_cost(p, w, panels, GEMM_COPIED, false);
    return copy + tiles_cost(p, w, 1, GEMM_IN_PLACE, true) +
           (panels > 1 ? tiles_cost(p, w, panels - 1, GEMM_COPIED, false) : 0);
}

double uk_gemm_transposed_c_cost(const struct gemm_plan *p) {
    const int64_t tiles = gemm_parts(p->m, p->rows) * gemm_parts(p->n, p->tile->nr);

    return (double)tiles * GEMM_CALL + (double)(gemm_parts(p->m, p->rows) * p->n) * GEMM_COLUMN;
}

double uk_gemm_transposed_b_cost(const struct gemm_plan *p, int64_t columns) {
    const struct copy c = {p->n, p->k, columns, p->b_step, p->b_column, columns, false};

    return copy_cost(p, uk_gemm_width_for(p->type, p->n, false), &c);
}
