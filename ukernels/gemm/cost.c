/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Estimates the ways to compute a product by tiles, in cycles of one core.
 *
 * Tiles. cost/product.c has the cycles of a k iteration of a tile of mr x nr: of an FMA per row and vector of
 * columns, a broadcast load per row, and a load per vector of B.
 *
 * GEMM_CALL cycles per tile are added for the call, its jumps, and its part of C, which is read and written
 * once per block of k. A tile that is transposed on its way to C takes another GEMM_CALL, and GEMM_COLUMN
 * cycles per column.
 *
 * Operands. A way consists of loop nests (cost/stream.c): the tiles, in one nest or, if those of the first
 * panel of rows read B in place and pack it, in two; and a nest for each copy. So the machine's row decides
 * what rows that share sets of a cache, TLB misses, lines from the last-level cache or memory, and vectors
 * across two lines cost.
 */
#include "tiles.h"

/* The kernel of a tile: a load per vector of B, and a broadcast load per row of A. */
static struct uk_product_kernel kernel_of(const struct gemm_tile *t, int row_step) {
    const int vectors = (int)uk_ceil_div(t->nr, t->lanes);

    return (struct uk_product_kernel){.mr = t->mr,
                                      .nr = t->nr,
                                      .row_step = row_step,
                                      .column_step = t->lanes,
                                      .vectors = vectors,
                                      .fma = t->mr * vectors,
                                      .loads = t->mr + vectors};
}

double uk_gemm_tile_cycles(const struct gemm_tile *t) {
    const struct uk_product_kernel k = kernel_of(t, t->mr);

    return uk_product_iteration(t->core, t->vectors, &k, t->mr, t->mr, t->nr);
}

/* Cycles of the instructions of all tiles of a product, of `rows` rows each. */
static double instructions_of(const struct gemm_tile *t, const struct uk_kernel *k, int64_t rows, int64_t m,
                              int64_t n, int64_t iterations) {
    const struct uk_product_kernel tile = kernel_of(t, k->row_step);

    return uk_product_iteration(t->core, t->vectors, &tile, rows, m, n) * (double)iterations +
           (double)(uk_ceil_div(m, rows) * uk_ceil_div(n, t->nr)) * GEMM_CALL;
}

bool uk_gemm_fuses_packing(const struct gemm_product *p, const struct gemm_tile *t, enum uk_lattice_kind a) {
    return t->kernel[GEMM_RAP] && (!p->a_columns || a == UK_ROWS) && !p->b_columns;
}

/* Cycles per row of C and k iteration for n columns, the last of which a narrower tile may compute. */
static double columns_cost(const struct gemm_type *type, const struct gemm_tile *t, int64_t n) {
    const int64_t wide = n / t->nr, narrow = n % t->nr;
    double last = narrow ? t->cycles / t->mr : 0;

    for (int i = 0; i < type->tiles && narrow; i++) {
        const struct gemm_tile *u = &type->tile[i];

        if (u->lanes == t->lanes && u->mr >= t->mr && narrow <= u->nr)
            last = uk_min_real(last, u->cycles / u->mr);
    }
    return (double)wide * t->cycles / t->mr + last;
}

/* The factor by which a tile takes longer than its instructions say because it reads more than
 * GEMM_FLAT_BYTES bytes of B a cycle, having few rows: with AVX2 a tile of 4 rows x 3 vectors. Otherwise 1.
 */
static double flatness(const struct gemm_type *type, const struct gemm_tile *t) {
    return t->nr * type->size > GEMM_FLAT_BYTES * t->cycles ? GEMM_FLAT : 1;
}

/* Ties: the tile with more rows, which loads less. */
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

/* Columns of a block of B. */
static int64_t columns_of(const struct gemm_product *p, const struct gemm_way *w) {
    return uk_min(uk_gemm_columns(p, w, p->n, 1), p->n);
}

/* The nest of the tiles. Its BLOCKS outermost loops are those over blocks, each of which makes copies of A
 * and B again in the same memory. A k iteration accesses the tile's rows of A, its columns of B, and all of
 * it in C. */
enum { BLOCKS = 2, LOOPS = 5 };

static void add_a(const struct gemm_product *p, const struct gemm_way *w, const struct uk_nest_loop *loop,
                  struct uk_loop_nest *n) {
    const bool copied = w->a != UK_IN_PLACE;
    const struct uk_lattice v = copied ? uk_gemm_copy(p->type, w->tile, GEMM_LEFT, w->a, p->m, w->kc, w->rows)
                                       : gemm_in_place(p, GEMM_LEFT);

    uk_nest_add(n, loop, LOOPS, &(struct uk_nest_access){&v, GEMM_M, GEMM_K, w->rows, 1, copied ? BLOCKS : 0})
        ->is_prefetched = w->prefetches && w->form == GEMM_PANELS;
}

static struct uk_loop_operand *add_b(const struct gemm_product *p, const struct gemm_way *w,
                                     enum uk_lattice_kind kind, const struct uk_nest_loop *loop,
                                     struct uk_loop_nest *n) {
    const bool copied = kind != UK_IN_PLACE;
    const int nr = w->tile->nr;
    const struct uk_lattice v = copied ? uk_gemm_copy(p->type, w->tile, GEMM_RIGHT, kind, p->n, w->kc, nr)
                                       : gemm_in_place(p, GEMM_RIGHT);

    return uk_nest_add(
        n, loop, LOOPS,
        &(struct uk_nest_access){&v, GEMM_N, GEMM_K, uk_min(nr, p->n), 1, copied ? BLOCKS : 0});
}

/* If C is column-major, the elements of a tile's columns are contiguous, not those of its rows. */
static void add_c(const struct gemm_product *p, const struct gemm_way *w, const struct uk_nest_loop *loop,
                  struct uk_loop_nest *n) {
    const struct uk_lattice v =
        uk_lattice_matrix(p->type->element, p->m, p->n, p->c_columns ? 1 : p->ldc, p->c_columns ? p->ldc : 1);
    struct uk_loop_operand *c = uk_nest_add(
        n, loop, LOOPS, &(struct uk_nest_access){&v, GEMM_M, GEMM_N, w->rows, uk_min(w->tile->nr, p->n), 0});

    c->is_written = true;
    c->register_loops = p->k > 1 && w->kc > 1;
}

/* Cycles of the tiles of `panels` panels of rows that read B as `kind`. packs: they also copy it into panels.
 */
static double tiles_cost(const struct gemm_product *p, const struct gemm_way *w, int64_t panels,
                         enum uk_lattice_kind kind, bool packs) {
    const struct gemm_tile *t = w->tile;
    const int size = p->type->size;
    const int64_t nc = columns_of(p, w);
    const struct uk_nest_loop loop[LOOPS] = {{uk_ceil_div(p->k, w->kc), {[GEMM_K] = w->kc}},
                                             {uk_ceil_div(p->n, nc), {[GEMM_N] = nc}},
                                             {panels, {[GEMM_M] = w->rows}},
                                             {uk_ceil_div(nc, t->nr), {[GEMM_N] = t->nr}},
                                             {uk_min(w->kc, p->k), {[GEMM_K] = 1}}};
    const double vectors = (double)uk_ceil_div(uk_min(t->nr, p->n), t->lanes),
                 iterations = (double)panels * (double)uk_ceil_div(p->n, t->nr) * (double)p->k;
    const double splits = kind == UK_IN_PLACE
                              ? iterations * vectors * uk_cost_splits(t->lanes * size, gemm_b_step(p) * size)
                              : 0;
    struct uk_loop_nest n = {.operands = 0};

    n.loads =
        iterations * (vectors + (double)w->rows) / uk_ports_rate(&t->vectors->load) + splits * t->core->split;
    n.instructions =
        instructions_of(t, t->kernel[w->form], w->rows, uk_min(p->m, panels * w->rows), p->n, p->k) +
        splits * t->vectors->split;
    if (packs)
        n.instructions += iterations * vectors / uk_ports_rate(&t->vectors->store);
    n.instructions = uk_max_real(n.instructions, n.loads);
    add_a(p, w, loop, &n);
    add_b(p, w, kind, loop, &n)->is_prefetched = w->prefetches && w->form == GEMM_RAB;
    add_c(p, w, loop, &n);
    if (packs)
        add_b(p, w, UK_PANELS, loop, &n)->is_written = true;
    return uk_cost_nest(p->type->machine, &n);
}

/* An operand that is copied block by block to the same memory: a block is kc elements of `block` lines (lines
 * of struct uk_lattice). */
struct copy {
    struct uk_lattice from, to;
    int64_t block, kc;
    bool is_prefetched;
};

/* Lines of a panel of the copy; 0: it is in rows. */
static int64_t lines_of_panel(const struct copy *c) {
    return c->to.kind == UK_PANELS ? uk_lattice_panel_lines(&c->to) : 0;
}

/* Cycles of a copy's instructions, and of its loads. */
static double copy_instructions(const struct gemm_product *p, const struct gemm_tile *t, const struct copy *c,
                                double *loads) {
    const int64_t lines = lines_of_panel(c), panels = lines ? uk_ceil_div(c->from.line->extent, lines) : 1,
                  wide = uk_ceil_div(lines ? lines : c->from.line->extent, t->lanes);
    const bool transposes =
        (lines ? uk_lattice_line_stride(&c->from) : uk_lattice_element_stride(&c->from)) != 1;

    return uk_copy_cycles(t->core, t->vectors, (double)(panels * wide) * (double)p->k, t->lanes, transposes,
                          loads);
}

/* Cycles of a copy. An iteration of its nest copies
 *
 *     to panels, if lines are next to each other in the source    one k iteration of a panel
 *     to panels otherwise                                         as many k iterations as a vector has lanes
 *     to rows, if the elements of a line are contiguous           a vector of a line
 *     to rows otherwise                                           a square of vectors, transposed
 */
static double copy_cost(const struct gemm_product *p, const struct gemm_tile *t, const struct copy *c) {
    const int64_t across = uk_lattice_line_stride(&c->from), block = uk_min(c->block, c->from.line->extent),
                  taken = lines_of_panel(c),
                  lines = taken                                      ? taken
                          : uk_lattice_element_stride(&c->from) == 1 ? 1
                                                                     : t->lanes,
                  terms = taken && across == 1 ? 1 : t->lanes;
    /* Dimension 0 counts lines, of A or of B. */
    const struct uk_nest_loop loop[] = {{uk_ceil_div(p->k, c->kc), {[GEMM_K] = c->kc}},
                                        {uk_ceil_div(c->from.line->extent, block), {block}},
                                        {uk_ceil_div(block, lines), {lines}},
                                        {uk_ceil_div(uk_min(c->kc, p->k), terms), {[GEMM_K] = terms}}};
    struct uk_loop_nest n = {.operands = 0};

    n.instructions = copy_instructions(p, t, c, &n.loads);
    uk_nest_add(&n, loop, 4, &(struct uk_nest_access){&c->from, 0, GEMM_K, lines, terms, 0})->is_prefetched =
        c->is_prefetched;
    uk_nest_add(&n, loop, 4, &(struct uk_nest_access){&c->to, 0, GEMM_K, lines, terms, BLOCKS})->is_written =
        true;
    return uk_cost_nest(p->type->machine, &n);
}

double uk_gemm_way_cost(const struct gemm_product *p, const struct gemm_way *w) {
    const struct gemm_tile *t = w->tile;
    const int64_t panels = uk_ceil_div(p->m, w->rows);
    double copy = 0;

    if (w->a != UK_IN_PLACE)
        copy = copy_cost(p, t,
                         &(struct copy){gemm_in_place(p, GEMM_LEFT),
                                        uk_gemm_copy(p->type, t, GEMM_LEFT, w->a, p->m, w->kc, w->rows), p->m,
                                        w->kc, false});
    if (w->b == UK_IN_PLACE)
        return copy + tiles_cost(p, w, panels, UK_IN_PLACE, false);
    if (!uk_gemm_fuses_packing(p, t, w->a)) {
        copy += copy_cost(p, t,
                          &(struct copy){gemm_in_place(p, GEMM_RIGHT),
                                         uk_gemm_copy(p->type, t, GEMM_RIGHT, UK_PANELS, p->n, w->kc, t->nr),
                                         columns_of(p, w), w->kc, w->prefetches && w->form == GEMM_RA});
        return copy + tiles_cost(p, w, panels, UK_PANELS, false);
    }
    return copy + tiles_cost(p, w, 1, UK_IN_PLACE, true) +
           (panels > 1 ? tiles_cost(p, w, panels - 1, UK_PANELS, false) : 0);
}

double uk_gemm_transposed_c_cost(const struct gemm_product *p, const struct gemm_way *w) {
    const int64_t panels = uk_ceil_div(p->m, w->rows);

    return (double)(panels * uk_ceil_div(p->n, w->tile->nr)) * GEMM_CALL +
           (double)(panels * p->n) * GEMM_COLUMN;
}

double uk_gemm_transposed_b_cost(const struct gemm_product *p, int64_t columns) {
    const struct copy c = {gemm_in_place(p, GEMM_RIGHT),
                           uk_lattice_panels(p->type->element, p->n, p->k, columns, (int)columns, 1), columns,
                           p->k, false};

    return copy_cost(p, uk_gemm_width_for(p->type, p->n, false), &c);
}
