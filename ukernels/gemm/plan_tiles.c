/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which kernel, blocking and threads a product by tiles takes: the least of the costs that cost.c estimates.
 *
 * A column-major B can be used without a copy: it is the row-major A of the product of the transposes, whose
 * tiles are transposed when they are stored to C, where k is one block. The width of the tile depends on n
 * alone, or on m where C is transposed.
 */
#include "cost.h"
#include "path.h"
#include <string.h>

/* Forms that take B in place take panels too. */
static bool form_takes(enum gemm_form form, const struct gemm_plan *p, enum uk_lattice_kind a,
                       enum uk_lattice_kind b) {
    if (b == UK_IN_PLACE ? form == GEMM_PANELS || form == GEMM_RA || p->b_column != 1 : false)
        return false;
    switch (form) {
    case GEMM_PANELS:
        return a == UK_PANELS;
    case GEMM_RA:
    case GEMM_RAB:
        return a == UK_ROWS || (a == UK_IN_PLACE && p->a_step == 1);
    default:
        return true;
    }
}

/* The tile whose width suits the columns best; NULL: there is none. */
static const struct gemm_tile *width_of(const struct gemm_plan *p) {
    return p->n < GEMM_WIDTHS ? p->type->for_columns[p->n] : uk_gemm_width_for(p->type, p->n, false);
}

/* The form with the fewest strides that takes operands from there. */
static bool find_form(const struct gemm_plan *p, struct uk_gemm_way *w) {
    static const enum gemm_form forms[] = {GEMM_PANELS, GEMM_RA, GEMM_RAB, GEMM_SAB};

    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        if (w->tile->kernel[forms[i]] && form_takes(forms[i], p, w->a, w->b)) {
            w->form = forms[i];
            return true;
        }
    return false;
}

/* Sources of both operands, and whether k is whole where it would be split. */
enum { SOURCES = UK_PANELS + 1, WAYS = SOURCES * 2 * 2 };

/* The i-th way, of WAYS for each tile, to compute the product; false: there is none. */
static bool find_way(const struct gemm_plan *p, const struct gemm_tile *width, int i, struct uk_gemm_way *w) {
    const struct gemm_tile *t = &p->type->tile[i / WAYS];

    w->tile = t;
    w->a = (enum uk_lattice_kind)(i / 2 % SOURCES);
    w->b = i % 2 ? UK_PANELS : UK_IN_PLACE;
    if (!width || t->nr != width->nr || t->lanes != width->lanes || !find_form(p, w))
        return false;
    w->kc = uk_gemm_k_block(p, t);
    if (i % WAYS >= WAYS / 2) {
        if (w->kc == p->k || p->n * p->k * p->type->size > p->type->machine->cache[UK_L2].size / 2)
            return false;
        w->kc = p->k;
    }
    w->rows = uk_gemm_panel_rows(t->kernel[w->form], p->m);
    return true;
}

/* The kernel of the last columns, if there is a narrower tile whose kernel takes A in the same form. */
static void find_tail(struct gemm_plan *p) {
    const int64_t last =
        p->n < GEMM_WIDTHS ? (int64_t)((unsigned)p->n % (unsigned)p->tile->nr) : p->n % p->tile->nr;
    const enum gemm_form form = p->form == GEMM_PANELS || p->form == GEMM_SAB ? GEMM_SAB : GEMM_RAB;
    const struct gemm_type *type = p->type;

    for (int i = 0; i < type->tiles && last; i++) {
        const struct gemm_tile *t = &type->tile[i];
        const enum gemm_form f = t->kernel[form] ? form : GEMM_SAB;

        if (t->kernel[f] && t->lanes == p->tile->lanes && t->mr >= p->rows && last <= t->nr &&
            t->nr < (p->tail ? p->tail->nr : p->tile->nr)) {
            p->tail = t->kernel[f];
            p->tail_form = (unsigned char)f;
        }
    }
}

/* How many tasks, and in which grid: the one whose largest rectangle is the least work, packing included. */
static void split(struct gemm_plan *p) {
    const int nr = p->tile->nr;
    const int64_t row_panels = uk_ceil_div(p->m, p->rows), column_panels = uk_ceil_div(p->n, nr);
    const double area = (double)(row_panels * column_panels);
    double best = 1;
    int64_t threads = p->cycles / GEMM_TASK < p->threads ? (int64_t)(p->cycles / GEMM_TASK) : p->threads;

    p->row_tasks = p->column_tasks = 1;
    for (int64_t r = 1; r <= threads && r <= row_panels; r++) {
        const int64_t c = uk_min(threads / r, column_panels);
        const double h = (double)uk_ceil_div(row_panels, r), w = (double)uk_ceil_div(column_panels, c);
        const double again = GEMM_AGAIN * ((double)(r - 1) * w / area + (double)(c - 1) * h / area);

        if (h * w / area + again < best) {
            best = h * w / area + again;
            p->row_tasks = r;
            p->column_tasks = c;
        }
    }
}

/* Whether the first row of tiles reads B in place and packs it while it computes (fused packing). */
static bool has_fused_packing(const struct gemm_plan *p) {
    return p->b_source == UK_PANELS && !p->b_packed && !p->a_packed &&
           uk_gemm_fuses_packing(p, p->tile, (enum uk_lattice_kind)p->a_source);
}

/* Of a copy, and of what lies before it: whole lines of the cache, as each begins with one. */
static int64_t elements_of_block(const struct gemm_plan *p, enum gemm_side side, int64_t before) {
    const struct uk_lattice m = uk_gemm_block(p, side);
    const int size = p->type->size;

    return uk_ceil_div((before + uk_lattice_room(&m)) * size, GEMM_LINE) * GEMM_LINE / size;
}

/* Whether the first panel's rows, in place, evict each other from L1. */
static bool first_conflicts(const struct gemm_plan *p) {
    const struct uk_lattice a = gemm_in_place(p, GEMM_LEFT);

    return uk_gemm_conflicts(&a, uk_min(p->m, p->tile->mr), &p->type->machine->cache[UK_L1]);
}

static void block(struct gemm_plan *p, const struct uk_gemm_way *c) {
    const int nr = c->tile->nr, mr = c->tile->mr, size = p->type->size;
    int64_t columns, rows;

    p->tile = c->tile;
    p->form = (unsigned char)c->form;
    p->a_source = (unsigned char)c->a;
    p->b_source = (unsigned char)c->b;
    p->rows = c->rows;
    p->cycles = c->cycles;
    p->kc = c->kc;
    split(p);
    p->prefetching = c->prefetches ? c->tile->prefetching[c->form] : NULL;
    columns = uk_ceil_div(uk_ceil_div(p->n, nr), p->column_tasks) * nr;
    rows = uk_ceil_div(uk_ceil_div(p->m, p->rows), p->row_tasks) * p->rows;
    p->nc = uk_gemm_columns(p, c, columns, p->row_tasks * p->column_tasks > p->type->machine->cores ? 2 : 1);
    /* Where A is packed it is kept for all blocks of columns, which read its panels from L3 or from memory.
     * More rows than this, 4096 x 512 doubles, are another block of rows, which packs B again. */
    p->mc = GEMM_PACKED_A / size / p->kc / p->rows * p->rows;
    p->mc = p->mc < 4 * p->rows ? 4 * p->rows : p->mc;
    p->mc = uk_ceil_div(uk_ceil_div(rows, uk_ceil_div(rows, p->mc)), p->rows) * p->rows;
    p->first = has_fused_packing(p) ? p->tile->kernel[GEMM_RAP] : NULL;
    /* The rows of the copy are up to two lines longer than those of the panel (uk_gemm_leading). */
    p->a_padding = p->first && c->a == UK_PANELS && first_conflicts(p) ? mr * 2 * (GEMM_LINE / size) : 0;
    p->a_block = c->a == UK_IN_PLACE ? 0 : elements_of_block(p, GEMM_LEFT, p->a_padding);
    p->b_block = c->b == UK_IN_PLACE ? 0 : elements_of_block(p, GEMM_RIGHT, 0);
}

/* Takes the variant that prefetches, where it takes less. */
static void choose_prefetching(const struct gemm_plan *p, struct uk_gemm_way *w) {
    struct uk_gemm_way with = *w;

    with.prefetches = w->tile->prefetching[w->form] && (w->form != GEMM_RA || p->b_column != 1);
    if (with.prefetches && (with.cycles = uk_gemm_way_cost(p, &with)) < w->cycles)
        *w = with;
}

/* The cheapest way; among equal ones the first. */
static struct uk_gemm_way find_best(const struct gemm_plan *p) {
    const struct gemm_tile *width = width_of(p);
    struct uk_gemm_way w = {0}, best = {0};

    for (int i = 0; i < p->type->tiles * WAYS; i++) {
        if (!find_way(p, width, i, &w))
            continue;
        w.cycles = uk_gemm_way_cost(p, &w);
        if (!best.tile || w.cycles < best.cycles)
            best = w;
    }
    if (best.tile)
        choose_prefetching(p, &best);
    return best;
}

/* A thread remembers the last products' ways: estimates take some 5 us, as long as a product of 60 cubed. */
enum { REMEMBERED = 8, SIZES = 9 };
static _Thread_local struct {
    const struct gemm_type *type;
    const struct uk_machine *machine;
    int64_t size[SIZES];
    struct uk_gemm_way way;
} remembered[REMEMBERED];
static _Thread_local unsigned forgotten; /* the next one to be */

static struct uk_gemm_way best_way(const struct gemm_plan *p) {
    const int64_t size[SIZES] = {
        p->m, p->n, p->k, p->a_row, p->a_step, p->b_step, p->b_column, p->ldc, p->whole | p->transposed << 1};
    int i = 0;

    while (i < REMEMBERED && (remembered[i].type != p->type || remembered[i].machine != p->type->machine ||
                              memcmp(remembered[i].size, size, sizeof size)))
        i++;
    if (i == REMEMBERED) {
        i = (int)(forgotten++ % REMEMBERED);
        memcpy(remembered[i].size, size, sizeof size);
        remembered[i].way = find_best(p);
        remembered[i].type = p->type;
        remembered[i].machine = p->type->machine;
    }
    return remembered[i].way;
}

static enum uk_status plan_tiles(struct gemm_plan *p) {
    const struct uk_gemm_way best = best_way(p);

    if (!best.tile)
        return UK_UNSUPPORTED;
    block(p, &best);
    find_tail(p);
    return UK_OK;
}

enum uk_status uk_gemm_plan_choice(struct gemm_plan *p, int i, const struct gemm_wanted *wanted) {
    struct uk_gemm_way c = {0};

    if (i >= p->type->tiles * WAYS)
        return UK_INVALID_ARGUMENT;
    if (!find_way(p, wanted->kernel ? &p->type->tile[i / WAYS] : width_of(p), i, &c) ||
        (wanted->kernel && strcmp(wanted->kernel, c.tile->kernel[c.form]->symbol)))
        return UK_NO_MATCH;
    if (wanted->kc)
        c.kc = uk_min(wanted->kc, p->k);
    c.cycles = uk_gemm_way_cost(p, &c);
    p->path = &uk_gemm_tiles;
    p->small.bytes = 0;
    p->tail = NULL;
    block(p, &c);
    find_tail(p);
    return UK_OK;
}

enum uk_status uk_gemm_plan_wanted(struct gemm_plan *p, const struct gemm_wanted *wanted) {
    struct gemm_plan best = *p;
    enum uk_status status = UK_OK;

    for (int i = 0; status != UK_INVALID_ARGUMENT; i++) {
        struct gemm_plan one = *p;

        status = uk_gemm_plan_choice(&one, i, wanted);
        if (!status && (!best.tile || one.cycles < best.cycles))
            best = one;
    }
    *p = best;
    return p->tile ? UK_OK : UK_NO_MATCH;
}

/* Kernels that read groups of terms: both operands in panels, by the one tile that there is. */
enum uk_status uk_gemm_plan_groups(struct gemm_plan *p) {
    const struct gemm_tile *t = p->type->tile;
    struct uk_gemm_way c = {.tile = t, .form = GEMM_PANELS, .a = UK_PANELS, .b = UK_PANELS};

    if (!p->type->tiles)
        return UK_UNSUPPORTED;
    c.rows = uk_gemm_panel_rows(t->kernel[GEMM_PANELS], p->m);
    c.kc = uk_gemm_k_block(p, t);
    c.cycles = (double)(uk_ceil_div(p->m, c.rows) * uk_ceil_div(p->n, t->nr)) *
               (double)uk_ceil_div(p->k, p->type->kr) * uk_gemm_group_cycles(t->core, t->kernel[GEMM_PANELS]);
    block(p, &c);
    return UK_OK;
}

/* The product of the transposes. */
static struct gemm_plan transposed(const struct gemm_plan *p) {
    struct gemm_plan q = *p;

    q.m = p->n;
    q.n = p->m;
    q.a_row = p->b_column;
    q.a_step = p->b_step;
    q.b_step = p->a_step;
    q.b_column = p->a_row;
    q.a_packed = p->b_packed;
    q.b_packed = p->a_packed;
    q.swapped = !p->swapped;
    q.transposed = true;
    return q;
}

/* Takes the product of the transposes if it is faster: a column-major B is its row-major A, which tiles read
 * in place. That saves packing B, and costs transposing C tile by tile, once where k is one block. A tile
 * whose width suits m may be better, too. Its estimate has to be less by GEMM_CERTAIN. */
static enum uk_status plan_either(struct gemm_plan *p) {
    struct gemm_plan q = transposed(p);
    const enum uk_status status = plan_tiles(p);

    if (status || p->b_source == UK_IN_PLACE || p->b_column == 1 || p->m >= p->n || plan_tiles(&q) ||
        q.kc < q.k)
        return status;
    q.cycles += uk_gemm_transposed_c_cost(&q);
    if (q.cycles * GEMM_CERTAIN < p->cycles)
        *p = q;
    return UK_OK;
}

/* Small products, whose plan may not cost much beside their flops: what plan_tiles finds where all operands
 * stay in L1 and L2 and can be read in place, which then costs nothing beside the tiles. */
static bool plan_small(struct gemm_plan *p) {
    if (p->n >= GEMM_WIDTHS || p->m >= GEMM_WIDTHS || p->k >= GEMM_WIDTHS || p->b_column != 1)
        return false;
    const struct gemm_tile *whole = p->a_step == 1 ? p->type->small_for_columns[p->n] : NULL;
    const struct gemm_tile *t = whole ? whole : p->type->in_place_for_columns[p->n];
    const struct uk_cache *first = &p->type->machine->cache[UK_L1];
    const int form = whole ? GEMM_SMALL : p->a_step == 1 && t && t->kernel[GEMM_RAB] ? GEMM_RAB : GEMM_SAB;

    if (!t || !t->kernel[form])
        return false;
    if (p->a_step == 1 && p->m > first->ways / 2 &&
        p->a_row * p->type->size % (first->size / first->ways) == 0)
        return false; /* rows that share a set */
    const struct uk_kernel *k = t->kernel[form];
    /* One call takes as many rows as there is scratch for. */
    const unsigned m = (unsigned)p->m, high = (unsigned)(whole ? GEMM_SCRATCH / k->nr : k->mr);
    const unsigned panels = (m + high - 1) / high, even = (m + panels - 1) / panels;
    const unsigned step = (unsigned)k->row_step;

    p->tile = t;
    p->form = (unsigned char)form;
    p->rows = step == 1 ? even : (even + step - 1) / step * step;
    p->mc = p->rows * panels;
    p->nc = p->n;
    p->kc = p->k;
    p->cycles = (double)(p->m * p->n * p->k) / t->lanes;
    if (!whole)
        find_tail(p);
    return true;
}

enum uk_status uk_gemm_plan_tiles(struct gemm_plan *p) {
    return plan_small(p) ? UK_OK : plan_either(p);
}

enum uk_status uk_gemm_plan_tiles_as_given(struct gemm_plan *p) {
    return plan_small(p) ? UK_OK : plan_tiles(p);
}
