/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the ways to compute a product by tiles are estimated to take, in cycles of one core.
 *
 * Tiles. A k iteration of a tile of mr x nr takes the longest of
 *     its instructions on the core's ports: FMAs, mr (rounded up to the kernel's row_step) * vectors of nr; loads, a broadcast
 *                   per row and the vectors of B
 *     the latency of an FMA, which every sum of the tile has to wait for
 * A tile takes CALL cycles more for the call, its jumps, and its part of C, which is read and written once per
 * block of k.
 *
 * Copies. Packing is bound by loads and stores of lines that are neither in L1 nor in L2: COPY cycles per byte,
 * once per element, in either direction. If the first row of tiles packs B while it computes, the cost is a
 * figure of the machine (fused_packing), and so it is where tiles pack the next micro-panel of A, two rows each
 * (beside). A copy of A in rows takes more (ROWS; TRANSPOSE where columns become rows), and its tiles read as
 * many streams as they have rows.
 *
 * Reading in place. A tile reads mr rows of A at once, 16 or 8 elements of k to a line: if the rows are so far
 * apart that they share too few sets of L1, each line is fetched again for each element (conflict, per row and
 * k iteration). A micro-panel of B is read again by every panel of rows: if the block's lines do not fit into
 * the sets of L2 that they map to, they come from L3, and the kernels' prefetches hide only a part of that
 * (far, per line). Both are counted from the strides: rows a multiple of 2^s bytes apart reach 1/2^s of the
 * sets. If a block's rows lie in more pages than the first-level TLB has entries, each new page costs
 * its translation (translate); rows that do not begin with cache lines cost more, too (crossing). figures.c has
 * these figures. Tiles that read B in place prefetch its next rows; tiles that read a packed B prefetch the
 * next rows of A, which the hardware prefetcher does not see as streams if they are short. That is worth
 * something (unprefetched) where not all operands fit into L2, and where a full tile's columns are among the
 * product's: the narrower tile of the last columns prefetches nothing. Rows of A that each begin in a page of
 * their own, more pages than the second-level TLB has entries, cost a page walk each for every block of columns.
 * Where A is column-major, the elements of a k iteration are in one line or two. If L1 keeps too few of a block's
 * lines, each comes again for every tile of the row (columns.near, or .far if L2 loses it too), and so do
 * translations.
 *
 * Blocks. A block of B, kc x nc, takes half of L2, or BLOCK bytes of a larger one: the packed operands pass
 * through L2 as well. k is split into equal blocks of about KC if it is longer than GEMM_K_WHOLE: C is read and
 * written once per block, but a long block has few columns, for each of which the panels of A come from L3.
 * Where L3 is far, k is not split if all of B, of few columns, takes no more than half of L2: rows of A are
 * then read once and in full, not in runs of kc that lie in different pages. Nor is k split for a small product
 * (direct.h) that is computed by tiles: it has one sum for each element.
 */
#include "cost.h"
#include <limits.h>

enum { CALL = 40, KC = 512, NEAR = 12, BLOCK = 512 << 10 };
static const double COPY = GEMM_COPY, ROWS = 0.11, TRANSPOSE = GEMM_TRANSPOSE, FLAT = 1.12;

/* How many lines that are `stride` bytes apart the cache keeps. */
static int64_t kept(const struct uk_cache *c, int64_t stride) {
    const int64_t way = c->size / c->ways,
                  step = stride & -stride; /* the largest power of two that divides it */
    const int64_t sets = step >= way ? 1 : step <= GEMM_LINE ? way / GEMM_LINE : way / step;

    return sets * c->ways;
}

/* Whether rows that reach so far have more pages than the first TLB has entries. */
static bool misses_tlb(const struct gemm_type *t, int64_t bytes) {
    return bytes > t->machine->core.tlb.first * t->machine->core.tlb.page;
}

/* New pages for each row, `stride` bytes after the one before: at most one. */
static double pages_of(const struct gemm_type *t, int64_t stride) {
    const int64_t page = t->machine->core.tlb.page;

    return (double)gemm_least(stride, page) / (double)page;
}

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

/* Cycles of all tiles of a product, with all operands in L1 and L2. */
double uk_gemm_tiles_cost(const struct gemm_tile *t, const struct uk_kernel *k, int64_t rows, int64_t m,
                          int64_t n, int64_t iterations) {
    const int64_t high = m / rows, wide = n / t->nr, low = m % rows, narrow = n % t->nr;
    double cycles = (double)(high * wide) * iteration_cost(t, k->row_step, rows, t->nr);

    if (narrow)
        cycles += (double)high * iteration_cost(t, k->row_step, rows, narrow);
    if (low)
        cycles += (double)wide * iteration_cost(t, k->row_step, low, t->nr);
    if (low && narrow)
        cycles += iteration_cost(t, k->row_step, low, narrow);
    return cycles * (double)iterations + (double)(gemm_parts(m, rows) * gemm_parts(n, t->nr)) * CALL;
}

double uk_gemm_group_cycles(const struct uk_core *core, const struct uk_kernel *k) {
    const struct uk_counts n = {.fma = k->fma, .load = k->loads, .other = k->other};

    return uk_cost_cycles(core, uk_core_vectors(core, INT_MAX), &n);
}

int64_t uk_gemm_panel_rows(const struct uk_kernel *k, int64_t m) {
    const int64_t even = gemm_parts(m, gemm_parts(m, k->mr));

    return gemm_parts(even, k->row_step) * k->row_step;
}

/* Whether the tiles prefetch into L2 what is read of B next: if B comes from L3 or memory, and so few panels of
 * rows read it that this matters. A column-major B is packed, and A is then read in rows; without the prefetch
 * that copy waits for all of B. Of a B in place the first panel of rows waits for a part, if more than half of
 * B is not in L2; where a single panel reads B, memory bounds the time and nothing is gained. Tiles that read
 * packed panels of A prefetch the next one where it comes from a far L3 and a tile has enough k iterations. */
bool uk_gemm_prefetches(const struct gemm_plan *p, const struct gemm_tile *t, enum gemm_form form) {
    const int64_t panels = gemm_parts(p->m, t->mr), size = p->n * p->k * p->type->size,
                  near = p->type->machine->part[1].size;

    if (!t->prefetching[form])
        return false;
    if (form == GEMM_PANELS)
        return p->type->figures->is_far && p->k >= 128;
    if (form == GEMM_RA)
        return p->b_column != 1 && p->a_step == 1 && panels <= t->nr && size > near / 2;
    return panels > 1 && panels <= 8 && size > 2 * near;
}

/* Whether the rows of A that a tile reads in place map to so few sets of L1 that they evict each other. */
bool uk_gemm_conflicts(const struct gemm_plan *p, const struct gemm_tile *t) {
    return p->a_step == 1 &&
           gemm_least(p->m, t->mr) * 3 / 2 > kept(&p->type->machine->part[0], p->a_row * p->type->size);
}

/* A column-major A in place: the cycles in which all tiles of a row but the first fetch A's lines again. */
static double columns_again(const struct gemm_plan *p, const struct gemm_tile *t, int64_t kc) {
    const struct gemm_figures *f = p->type->figures;
    const int64_t stride = p->a_step * p->type->size, again = gemm_parts(p->n, t->nr) - 1;
    const double apart = (double)(stride < GEMM_LINE ? GEMM_LINE : stride) / GEMM_LINE;
    const double wide = 1 + (double)((t->mr - 1) * p->type->size) / GEMM_LINE,
                 lines = wide < apart ? wide : apart;
    const double block = (double)kc * lines;
    double iteration = 0;

    if (misses_tlb(p->type, kc * stride))
        iteration += f->columns.translate * pages_of(p->type, stride);
    if (block > (double)kept(&p->type->machine->part[1], stride))
        iteration += f->columns.far * lines;
    else if (block > (double)kept(&p->type->machine->part[0], stride) / 2)
        iteration += f->columns.near * lines;
    return (double)(p->k * gemm_parts(p->m, t->mr)) * (double)again * iteration;
}

int64_t uk_gemm_room(const struct gemm_plan *p) {
    return gemm_least(p->type->machine->part[1].size / 2, BLOCK) / p->type->size;
}

int64_t uk_gemm_columns(const struct gemm_tile *t, int64_t n, int64_t kc, int64_t room) {
    const int64_t most = room / kc / t->nr * t->nr, few = 4 * t->nr;

    return gemm_parts(gemm_parts(n, gemm_parts(n, most < few ? few : most)), t->nr) * t->nr;
}

/* Whether a row has enough tiles to pack the next micro-panel of A. */
static bool tiles_pack(const struct gemm_plan *p, const struct gemm_tile *t, int64_t kc) {
    const int64_t columns = gemm_least(p->n, uk_gemm_columns(t, p->n, kc, uk_gemm_room(p)));

    return t->packing && uk_gemm_prefetches(p, t, GEMM_PANELS) && p->a_step == 1 &&
           columns >= t->mr / 2 * t->nr && uk_gemm_panel_rows(t->kernel[GEMM_PANELS], p->m) == t->mr;
}

double uk_gemm_a_cost(const struct gemm_plan *p, const struct gemm_tile *t, int64_t kc,
                      enum gemm_source source, enum gemm_source b) {
    const int size = p->type->size;
    const struct gemm_figures *f = p->type->figures;
    const struct uk_core *core = &p->type->machine->core;
    const double elements = (double)p->m * (double)p->k, copy = f->columns.copy;
    double cycles = 0;

    if (source == GEMM_COPIED && b == GEMM_COPIED && tiles_pack(p, t, kc))
        return elements * size * f->beside;
    if (source == GEMM_COPIED)
        return elements * size * (p->a_step == 1 ? COPY : copy);
    if (source == GEMM_ROWS)
        return elements * size * (p->a_step == 1 ? ROWS : TRANSPOSE - COPY + copy);
    if (p->a_step == 1 && p->m > core->tlb.second && p->a_row * size >= core->tlb.page)
        cycles +=
            elements * (double)p->n * size / (double)(p->type->machine->part[1].size / 2) * core->tlb.walk;
    if (uk_gemm_conflicts(p, t))
        cycles += elements * (double)gemm_parts(p->n, t->nr) * f->conflict;
    if (p->a_step == 1 && b == GEMM_IN_PLACE && 2 * p->n > t->nr && p->k * size < 2 * core->tlb.page &&
        ((p->m + p->n) * p->k + p->m * p->n) * size > p->type->machine->part[1].size)
        cycles += elements * size / GEMM_LINE * f->unprefetched;
    if (p->a_step != 1)
        cycles += columns_again(p, t, kc);
    return cycles;
}

bool uk_gemm_fuses_packing(const struct gemm_plan *p, const struct gemm_tile *t, enum gemm_source a) {
    return t->kernel[GEMM_RAP] && (p->a_step == 1 || a == GEMM_ROWS) && p->b_column == 1;
}

/* Whether rows of B map to so few sets of L2 that a block of KC rows would fill half of those sets. */
static bool shares_sets(const struct gemm_plan *p) {
    return KC > kept(&p->type->machine->part[1], p->b_step * p->type->size) / 2;
}

/* Whether k is split in two because few panels of rows read a B that comes from a far L3 or memory. Fetching B
 * then takes so much of the time that reading half as many of its rows at once, in half as many pages and ways
 * of a set, outweighs reading and writing C twice. Where rows of B share sets it does so for up to 8 panels,
 * even if only half of B is not in L2. */
static bool passes(const struct gemm_plan *p, const struct gemm_tile *t) {
    const bool shared = shares_sets(p);

    return p->type->figures->is_far && p->b_column == 1 && p->m > 2 * t->mr &&
           gemm_parts(p->m, t->mr) <= (shared ? 8 : 6) &&
           p->n * p->k * p->type->size > p->type->machine->part[1].size / (shared ? 2 : 1);
}

double uk_gemm_b_cost(const struct gemm_plan *p, const struct gemm_tile *t, int64_t kc, enum gemm_source a,
                      enum gemm_source source) {
    const int size = p->type->size;
    const double elements = (double)p->n * (double)p->k, again = (double)gemm_parts(p->m, t->mr) - 1;
    const int64_t stride = p->b_step * size;
    const struct gemm_figures *f = p->type->figures;
    double cycles = 0;

    if (source == GEMM_COPIED)
        return elements * size * (uk_gemm_fuses_packing(p, t, a) ? f->fused_packing : COPY);
    if (kc > kept(&p->type->machine->part[1], stride) / (f->is_far ? 1 : 2))
        cycles += elements * size / GEMM_LINE * f->far;
    if (misses_tlb(p->type, kc * stride))
        cycles += elements / t->nr * pages_of(p->type, stride) * f->translate;
    if (stride % GEMM_LINE)
        cycles += elements / t->nr * f->crossing;
    return cycles * again;
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

/* By what factor a tile takes longer than its k iterations, if it has so few rows that it reads more than NEAR
 * bytes of B a cycle: with AVX2 a tile of 4 rows x 3 vectors, for which A is packed besides. */
static double flatness(const struct gemm_type *type, const struct gemm_tile *t) {
    return t->nr * type->size > NEAR * iteration_cost(t, t->mr, t->mr, t->nr) ? FLAT : 1;
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

/* Whether k is not split although it is long: rows of A are read once, while B stays in L2. Where rows of A
 * conflict, rows of more than two tiles read a packed A, and a packed panel of a long block would not stay in
 * the cache. */
static bool streams(const struct gemm_plan *p, const struct gemm_tile *t) {
    return p->type->figures->is_far && p->a_step == 1 && p->n <= 4 * t->nr &&
           p->n * p->k * p->type->size <= p->type->machine->part[1].size / 2 &&
           (p->n <= 2 * t->nr || !uk_gemm_conflicts(p, t));
}

int64_t uk_gemm_k_block(const struct gemm_plan *p, const struct gemm_tile *t) {
    const int64_t room = p->type->machine->part[1].size / 2 / p->type->size / (4 * t->nr);
    const bool few = passes(p, t);
    const int64_t longest = few ? KC / 2 : KC, whole = few && shares_sets(p) ? longest : GEMM_K_WHOLE;
    const int64_t most = room > longest ? longest : room < 128 ? 128 : room;

    if (p->whole || p->k <= gemm_least(room, whole) || p->k <= most + most / 4 || streams(p, t))
        return p->k;
    const int64_t group = p->type->kr > 4 ? p->type->kr : 4;

    return gemm_parts(gemm_parts(p->k, gemm_parts(p->k, most)), group) * group;
}
