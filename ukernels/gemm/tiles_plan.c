/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chooses kernel, blocks and threads of a product by tiles: the way with the least cost by cost.c.
 *
 * A column-major B can be used without a copy. It is the row-major A of the product of the transposes,
 * C' = B' A', whose tiles are transposed when they are stored to C. This is done only if k is one block, so
 * that each is stored once. The width of the tile depends on n only, or on m if C is transposed.
 */
#include <math.h>
#include <string.h>
#include "low.h"
#include "tiles.h"

/* ---- sizes of blocks ----
 *
 * - A block of B, kc x nc, is as large as half of L2, and at most GEMM_BLOCK bytes: the other half is for the
 *   operands that pass through L2. If kernels prefetch the next block, a block is half as large.
 * - k is split into equal blocks of about GEMM_KC if it is longer than GEMM_K_WHOLE. C is read and written
 *   once per block of k, so that few, long blocks are better for C; but a long block has few columns, and
 *   the panels of A come from the last-level cache once per block of columns. Not to split a long k is a way
 *   of its own, which cost.c compares.
 */

int64_t uk_gemm_panel_rows(const struct uk_kernel *k, int64_t m) {
    return uk_product_rows(m, k->mr, k->row_step);
}

int64_t uk_gemm_columns(const struct gemm_product *p, const struct gemm_way *w, int64_t n, int parts) {
    const bool has_next = w->prefetches && w->form != GEMM_PANELS; /* the next block is in L2 too */
    const int64_t room = uk_min(p->type->machine->cache[UK_L2].size / 2, GEMM_BLOCK) /
                         uk_element_bytes(w->tile->right) / (has_next ? 2 * parts : parts);
    const int nr = w->tile->nr;
    const int64_t most = room / w->kc / nr * nr, few = 4 * nr;

    return uk_ceil_div(uk_ceil_div(n, uk_ceil_div(n, most < few ? few : most)), nr) * nr;
}

int64_t uk_gemm_k_block(const struct gemm_product *p, const struct gemm_tile *t) {
    return uk_product_k_block(p->type->machine, p->k, t->nr, uk_element_bytes(t->right),
                              (int)uk_max(t->kr, 4));
}

/* ---- ways ---- */

/* True if kernels of the form read A and B as a and b. Forms that read B in rows read panels too. */
static bool form_takes(enum gemm_form form, const struct gemm_product *p, enum uk_lattice_kind a,
                       enum uk_lattice_kind b) {
    if (b == UK_IN_PLACE ? form == GEMM_PANELS || form == GEMM_RA || p->b_columns : false)
        return false;
    switch (form) {
    case GEMM_PANELS:
        return a == UK_PANELS;
    case GEMM_RA:
    case GEMM_RAB:
        return a == UK_ROWS || (a == UK_IN_PLACE && !p->a_columns);
    default:
        return true;
    }
}

/* The tile with the least cost for the product's columns; NULL: no tile fits. */
static const struct gemm_tile *width_of(const struct gemm_product *p) {
    return p->n < GEMM_WIDTHS ? p->type->for_columns[p->n] : uk_gemm_width_for(p->type, p->n, false);
}

/* Sets the form with the fewest strides that reads the operands as w->a and w->b; false: no kernel does. */
static bool find_form(const struct gemm_product *p, struct gemm_way *w) {
    static const enum gemm_form forms[] = {GEMM_PANELS, GEMM_RA, GEMM_RAB, GEMM_SAB};

    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        if (w->tile->kernel[forms[i]] && form_takes(forms[i], p, w->a, w->b)) {
            w->form = forms[i];
            return true;
        }
    return false;
}

/* Ways per tile: where A and B are, and whether a long k is one block. */
enum { SOURCES = UK_PANELS + 1, WAYS = SOURCES * 2 * 2 };

/* Sets the i-th way to compute the product; there are WAYS per tile. whole: k is one block in any case. False
 * if no kernel computes it so. */
static bool find_way(const struct gemm_product *p, bool whole, const struct gemm_tile *width, int i,
                     struct gemm_way *w) {
    const struct gemm_tile *t = &p->type->tile[i / WAYS];

    w->tile = t;
    w->a = (enum uk_lattice_kind)(i / 2 % SOURCES);
    w->b = i % 2 ? UK_PANELS : UK_IN_PLACE;
    if (!width || t->nr != width->nr || t->lanes != width->lanes || !find_form(p, w))
        return false;
    w->kc = whole ? p->k : uk_gemm_k_block(p, t);
    if (i % WAYS >= WAYS / 2) {
        if (w->kc == p->k || p->n * p->k * p->type->size > p->type->machine->cache[UK_L2].size / 2)
            return false;
        w->kc = p->k;
    }
    w->rows = uk_gemm_panel_rows(t->kernel[w->form], p->m);
    return true;
}

/* The way with the least cost, ties: the first; by the variant that prefetches, if it takes fewer cycles. Its
 * tile is NULL if there is no way. */
static struct gemm_way find_best(const struct gemm_product *p, bool whole) {
    const struct gemm_tile *width = width_of(p);
    struct gemm_way w = {0}, best = {0};

    for (int i = 0; i < p->type->tiles * WAYS; i++) {
        if (!find_way(p, whole, width, i, &w))
            continue;
        w.cycles = uk_gemm_way_cost(p, &w);
        if (!best.tile || w.cycles < best.cycles)
            best = w;
    }
    w = best;
    w.prefetches = w.tile && w.tile->prefetching[w.form] && (w.form != GEMM_RA || p->b_columns);
    if (w.prefetches && (w.cycles = uk_gemm_way_cost(p, &w)) < best.cycles)
        return w;
    return best;
}

/* Sets the way of a product whose operands stay in L1 and L2 and can be read in place, where copies could
 * save nothing. False if the product is not of this kind. */
static bool find_in_place(const struct gemm_product *p, struct gemm_way *w) {
    if (p->n >= GEMM_WIDTHS || p->m >= GEMM_WIDTHS || p->k >= GEMM_WIDTHS || p->b_columns ||
        (!p->a_columns && gemm_rows_share_sets(p->type, p->m, p->lda)))
        return false;
    *w = (struct gemm_way){.tile = p->type->in_place_for_columns[p->n], .a = UK_IN_PLACE, .b = UK_IN_PLACE};
    if (!w->tile || !find_form(p, w))
        return false;
    w->rows = uk_gemm_panel_rows(w->tile->kernel[w->form], p->m);
    w->kc = p->k;
    w->cycles = (double)(p->m * p->n * p->k) / w->tile->lanes;
    return true;
}

/* A product with a column-major B is replaced by that of the transposes if that is faster: B is its row-major
 * A, which tiles read in place. That saves packing B, and costs transposing C tile by tile. Besides, a tile
 * may suit m better than n. Only if k is one block, and the estimate less by the factor GEMM_CERTAIN. */
double uk_gemm_tiles_cycles(struct gemm_plan *plan) {
    const struct gemm_product *p = &plan->product;

    if (p->type->is_low_precision) {
        plan->way = uk_gemm_low_way(p, plan->whole);
        return plan->way.tile ? plan->way.cycles : HUGE_VAL;
    }
    if (find_in_place(p, &plan->way))
        return plan->way.cycles;
    plan->way = find_best(p, plan->whole);
    if (!plan->way.tile)
        return HUGE_VAL;
    if (plan->way.b != UK_IN_PLACE && p->b_columns && p->m < p->n) {
        const struct gemm_product q = gemm_transposed(p);
        struct gemm_way w = find_best(&q, plan->whole);

        if (w.tile && w.kc >= q.k &&
            (w.cycles += uk_gemm_transposed_c_cost(&q, &w)) * GEMM_CERTAIN < plan->way.cycles) {
            plan->product = q;
            plan->swapped = !plan->swapped;
            plan->way = w;
        }
    }
    return plan->way.cycles;
}

/* Sets the grid of tasks: the one whose largest rectangle takes the least work, packing included. */
static void split(struct gemm_plan *plan) {
    const int64_t row_panels = uk_ceil_div(plan->product.m, plan->way.rows),
                  column_panels = uk_ceil_div(plan->product.n, plan->way.tile->nr),
                  threads = gemm_threads(plan);
    const double area = (double)(row_panels * column_panels);
    double best = 1;

    for (int64_t r = 1; r <= threads && r <= row_panels; r++) {
        const int64_t c = uk_min(threads / r, column_panels);
        const double h = (double)uk_ceil_div(row_panels, r), w = (double)uk_ceil_div(column_panels, c);
        const double again = GEMM_AGAIN * ((double)(r - 1) * w / area + (double)(c - 1) * h / area);

        if (h * w / area + again < best) {
            best = h * w / area + again;
            plan->row_tasks = r;
            plan->column_tasks = c;
        }
    }
}

/* Elements of a block's copy with `before` elements before it, rounded up to whole cache lines, as each copy
 * begins at one. */
static int64_t elements_of_block(const struct gemm_plan *plan, enum gemm_side side, int64_t before) {
    const struct uk_lattice m = uk_gemm_block(plan, side);
    const int size = plan->product.type->size;

    return uk_ceil_div(before * size + uk_lattice_room(&m) * uk_element_bytes(m.element), GEMM_LINE) *
           GEMM_LINE / size;
}

/* The kernel of the last columns, if there is a narrower tile whose kernel takes A in the same form. */
static void find_tail(struct gemm_plan *plan) {
    const struct gemm_way *w = &plan->way;
    const struct gemm_type *type = plan->product.type;
    const int64_t last = plan->product.n % w->tile->nr;
    const enum gemm_form form = w->form == GEMM_PANELS || w->form == GEMM_SAB ? GEMM_SAB : GEMM_RAB;

    for (int i = 0; i < type->tiles && last; i++) {
        const struct gemm_tile *t = &type->tile[i];
        const enum gemm_form f = t->kernel[form] ? form : GEMM_SAB;

        if (t->kernel[f] && t->lanes == w->tile->lanes && t->mr >= w->rows && last <= t->nr &&
            t->nr < (plan->tail ? plan->tail->nr : w->tile->nr)) {
            plan->tail = t->kernel[f];
            plan->tail_form = (unsigned char)f;
        }
    }
}

/* A packed A is kept for all blocks of columns, which read its panels from L3 or memory. If a task's rows
 * take more than GEMM_PACKED_A bytes, they are split into blocks of rows, each of which packs B again. */
enum uk_status uk_gemm_plan_tiles(struct gemm_plan *plan) {
    const struct gemm_product *p = &plan->product;
    const struct gemm_way *w = &plan->way;
    const int nr = w->tile->nr, size = p->type->size;

    split(plan);
    plan->prefetching = w->prefetches ? w->tile->prefetching[w->form] : NULL;
    const int64_t columns = uk_ceil_div(uk_ceil_div(p->n, nr), plan->column_tasks) * nr,
                  rows = uk_ceil_div(uk_ceil_div(p->m, w->rows), plan->row_tasks) * w->rows,
                  mc = uk_max(GEMM_PACKED_A / size / w->kc / w->rows * w->rows, 4 * w->rows);

    plan->nc = uk_gemm_columns(p, w, columns,
                               plan->row_tasks * plan->column_tasks > p->type->machine->cores ? 2 : 1);
    plan->mc = uk_ceil_div(uk_ceil_div(rows, uk_ceil_div(rows, mc)), w->rows) * w->rows;
    /* The first row of tiles reads B in place and packs it while it computes (fused packing). If the rows of
     * A that it reads share sets of L1, it reads a copy, whose rows are up to two lines longer than those of
     * the panel (uk_gemm_leading). */
    if (w->b == UK_PANELS && !p->b_packed && !p->a_packed && uk_gemm_fuses_packing(p, w->tile, w->a))
        plan->first = w->tile->kernel[GEMM_RAP];
    if (plan->first && w->a == UK_PANELS && !p->a_columns &&
        gemm_rows_share_sets(p->type, uk_min(p->m, w->tile->mr), p->lda))
        plan->a_padding = w->tile->mr * 2 * (GEMM_LINE / size);
    plan->a_block = w->a == UK_IN_PLACE ? 0 : elements_of_block(plan, GEMM_LEFT, plan->a_padding);
    plan->b_block = w->b == UK_IN_PLACE ? 0 : elements_of_block(plan, GEMM_RIGHT, 0);
    if (gemm_sums_bytes(p->type))
        plan->sums_block =
            uk_ceil_div((rows + columns) * (int64_t)sizeof(int32_t), GEMM_LINE) * GEMM_LINE / size;
    gemm_set_workspace(plan, plan->row_tasks * plan->column_tasks);
    find_tail(plan);
    return UK_OK;
}

/* ---- other ways than the best ---- */

enum uk_status uk_gemm_plan_choice(struct gemm_plan *plan, int i, const struct gemm_wanted *wanted) {
    const struct gemm_product p = plan->product;
    const bool swapped = plan->swapped,
               whole = plan->whole || plan->path == &uk_gemm_small || plan->path == &uk_gemm_stream;
    struct gemm_way w = {0};

    if (i >= p.type->tiles * WAYS)
        return UK_INVALID_ARGUMENT;
    if (!find_way(&p, whole, wanted->kernel ? &p.type->tile[i / WAYS] : width_of(&p), i, &w) ||
        (wanted->kernel && strcmp(wanted->kernel, w.tile->kernel[w.form]->symbol)))
        return UK_NO_MATCH;
    if (wanted->kc)
        w.kc = uk_min(wanted->kc, p.k);
    w.cycles = uk_gemm_way_cost(&p, &w);
    *plan = (struct gemm_plan){.product = p,
                               .path = &uk_gemm_tiles,
                               .cycles = w.cycles,
                               .swapped = swapped,
                               .whole = whole,
                               .row_tasks = 1,
                               .column_tasks = 1,
                               .way = w};
    return uk_gemm_plan_tiles(plan);
}

enum uk_status uk_gemm_plan_wanted(struct gemm_plan *plan, const struct gemm_wanted *wanted) {
    struct gemm_plan best = {.path = NULL};
    enum uk_status status = UK_OK;

    for (int i = 0; status != UK_INVALID_ARGUMENT; i++) {
        struct gemm_plan one = *plan;

        status = uk_gemm_plan_choice(&one, i, wanted);
        if (!status && (!best.path || one.cycles < best.cycles))
            best = one;
    }
    *plan = best;
    return plan->path ? UK_OK : UK_NO_MATCH;
}
