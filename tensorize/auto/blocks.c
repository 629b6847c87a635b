/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chooses the blocks of a product: estimates several orders and lengths by the cache lines that they move,
 * and takes the cheapest. An analysis such as that of Low, Igual, Smith and Quintana-Orti ("Analytical
 * modeling is enough for high-performance BLIS", 2016) gives the lengths where nothing but the sizes of
 * caches matters; here sets that lines share, pages, copies and few rows matter as well, so that lengths are
 * compared.
 *
 * Rows outside: a block of B, kc x nc, from which the tiles of all rows stream it. Columns outside: a panel
 * of B, kc x nr, used by all rows of a block of A, mc x kc.
 */
#include <float.h>
#include "minmax.h"
#include "tiling.h"

/* The lengths that are compared: SHORTEST, then 2, 3, 4, 6, 8, 12, .. times as much. */
enum { SHORTEST = 32, LENGTHS = 12, CHOICES = LENGTHS + 1 };

void uk_tile_axes(const struct uk_stage *st, const struct uk_fit *f, int *rows, int *columns) {
    *rows = *columns = -1;
    for (int v = 0; v < f->axes; v++)
        if (!uk_is_reduced(st, f->axis[v]) && f->max_extent[v]) {
            *rows = *columns;
            *columns = v;
        }
}

static int64_t length_at(int i) {
    return i ? (int64_t)(i % 2 ? 2 * SHORTEST : 3 * SHORTEST) << (i - 1) / 2 : SHORTEST;
}

int64_t uk_even_block_length(int64_t n, int64_t most) {
    int64_t blocks = (n - 1) / most + 1;

    return n <= most ? most : ((n - 1) / blocks + 8) / 8 * 8;
}

bool uk_shares_columns(const struct uk_schedule *s, const struct uk_stage *st, const struct uk_fit *f,
                       int columns) {
    const int threads = s->options->threads;

    return threads > 1 && uk_extent_estimate(s, st, f->axis[columns]) >=
                              (double)(UK_MIN_TILES_PER_THREAD * f->max_extent[columns]) * threads;
}

/* Lengths of blocks along an axis, 0 for all of it; the first one is the longest. */
struct choices {
    int count;
    int64_t length[CHOICES];
};

struct search {
    const struct uk_costing *c;
    int rows, columns, sum; /* axes; -1: there is none */
    bool packs_rows, packs_columns;
    struct choices k, n, m;
    double least;
    struct uk_blocks best;
};

static void add_level(struct uk_levels *l, const struct uk_loop *loop, int64_t all, int64_t step) {
    if (step && step < all)
        l->level[l->levels++] = (struct uk_nest_level){loop, (all - 1) / step + 1, step};
}

static int64_t values_of(const struct uk_costing *c, int axis) {
    return axis < 0 ? 1 : (int64_t)uk_values_estimate(c->s, c->st, c->fit->axis[axis]);
}

/* Sets the number of levels around each copy. */
static void place_copies(const struct search *x, const struct uk_blocks *b, int blocks, struct uk_levels *l) {
    for (int o = 1; o < x->c->operands; o++) {
        const struct uk_operand *operand = &x->c->st->operand[o];
        const bool of_columns = x->columns >= 0 && uk_depends(operand, x->c->fit->axis[x->columns]);
        int last = (of_columns ? b->packs_each_column_panel : b->packs_each_row_panel) ? l->levels : blocks;

        l->copied[o] = 0;
        for (int i = 0; i < last && !operand->tensor->is_constant; i++)
            if (uk_depends(operand, l->level[i].loop))
                l->copied[o] = i + 1;
    }
}

/* Sets the levels to the loops that tiling.c will create. */
static void set_levels(const struct search *x, const struct uk_blocks *b, struct uk_levels *l) {
    const struct uk_costing *c = x->c;
    const struct uk_fit *f = c->fit;

    l->levels = 0;
    if (b->are_rows_outermost)
        add_level(l, f->axis[x->rows], values_of(c, x->rows), f->max_extent[x->rows]);
    for (int i = 0; i < c->st->loops; i++)
        if (!uk_is_axis(f, c->st->loop[i]))
            l->level[l->levels++] = (struct uk_nest_level){c->st->loop[i], c->size[i], 1};
    if (x->sum >= 0)
        add_level(l, f->axis[x->sum], values_of(c, x->sum), b->kc);
    if (x->columns >= 0)
        add_level(l, f->axis[x->columns], values_of(c, x->columns), b->nc);
    if (x->rows >= 0)
        add_level(l, f->axis[x->rows], values_of(c, x->rows), b->mc);
    const int blocks = l->levels;
    for (int i = 0; i < f->axes; i++) {
        const int v = b->is_column_loop_outer ? f->axes - 1 - i : i;
        const int64_t all = values_of(c, v), block = v == x->columns ? b->nc : v == x->rows ? b->mc : 0;

        if (!b->are_rows_outermost || v != x->rows)
            add_level(l, f->axis[v], block && block < all ? block : all, f->max_extent[v]);
    }
    place_copies(x, b, blocks, l);
}

/* Cycles of all threads for waking them and waiting for them, which happens around each run of the loop that
 * is parallel: the first one over tiles, or that over blocks of columns that threads share (tiling.c). */
static double parallel_cycles(const struct search *x, const struct uk_blocks *b) {
    const int threads = x->c->s->options->threads;
    double times = 1;

    if (threads == 1 || x->rows < 0)
        return 0;
    for (int i = 0; i < x->c->st->loops; i++)
        times *= uk_is_axis(x->c->fit, x->c->st->loop[i]) ? 1 : (double)x->c->size[i];
    if (b->kc && x->sum >= 0)
        times *= (double)uk_ceil_div(values_of(x->c, x->sum), b->kc);
    if (b->nc && !uk_shares_columns(x->c->s, x->c->st, x->c->fit, x->columns))
        times *= (double)uk_ceil_div(values_of(x->c, x->columns), b->nc);
    return times * threads * GEMM_TASK;
}

static double cycles_of(const struct search *x, const struct uk_blocks *b) {
    struct uk_levels l;

    set_levels(x, b, &l);
    return uk_costing_cycles(x->c, &l) + parallel_cycles(x, b);
}

static void compare(struct search *x, struct uk_blocks b) {
    const double cycles = cycles_of(x, &b);

    if (cycles < x->least * (1 - AUTO_MARGIN)) {
        x->least = cycles;
        x->best = b;
    }
}

/* The smallest candidate length that is at least n and at least GEMM_KC, so that calls with larger sizes are
 * blocked well; 0: none is. */
static int64_t smallest_covering_length(int64_t n) {
    for (int i = 0; i < LENGTHS; i++)
        if (length_at(i) >= n && length_at(i) >= GEMM_KC)
            return length_at(i);
    return 0;
}

/* Chooses candidate lengths along an axis: whole tiles, in blocks of about equal length if the extent is
 * known; if threads share the axis, a number of blocks that is a multiple of theirs. An extent that is only
 * estimated is always blocked, which bounds a block's part of the cache, and the memory of copies, for all
 * sizes. */
static void choose_lengths(const struct search *x, int axis, int threads, struct choices *out) {
    const int64_t all = values_of(x->c, axis);
    const int64_t tile = axis < 0 || !x->c->fit->max_extent[axis] ? 1 : x->c->fit->max_extent[axis];
    const bool is_known = axis < 0 || uk_constant_extent(x->c->st, x->c->fit->axis[axis]) >= 0;

    out->count = 0;
    if (threads == 1 && is_known)
        out->length[out->count++] = 0;
    else if (threads == 1 && smallest_covering_length(all))
        out->length[out->count++] = (smallest_covering_length(all) + tile - 1) / tile * tile;
    for (int i = 0; i < LENGTHS + (threads > 1); i++) {
        int64_t n = i < LENGTHS ? length_at(i) : all;

        if (n > all || (n == all && threads == 1))
            continue;
        if (threads > 1)
            n = (all - 1) / (((all - 1) / n / threads + 1) * threads) + 1;
        else if (is_known)
            n = uk_even_block_length(all, n);
        out->length[out->count++] = (n + tile - 1) / tile * tile;
    }
}

/* Leaves out long blocks of a k that a version of the program does not know: rows of A in place, of any
 * stride, may share sets of L1, which a short part of them endures. */
static void drop_long(const struct search *x, struct choices *k) {
    const struct uk_schedule *s = x->c->s;
    int kept = 0;

    if (!s->version || !s->version->estimate || x->sum < 0 ||
        uk_constant_extent(x->c->st, x->c->fit->axis[x->sum]) >= 0)
        return;
    for (int i = 0; i < k->count; i++)
        if (k->length[i] <= GEMM_KC)
            k->length[kept++] = k->length[i];
    k->count = kept;
}

/* Leaves out blocks of a known k that are shorter than those of uk_sgemm: the estimate is not exact enough
 * for C, which is read and written once more for each. */
static void drop_short(const struct search *x, struct choices *k) {
    const struct uk_kernel *row = x->c->fit->intrinsic->row;
    int kept = 0;

    if (!row || x->sum < 0 || uk_constant_extent(x->c->st, x->c->fit->axis[x->sum]) < 0)
        return;
    const int64_t least =
        uk_product_k_block(&x->c->s->target->machine, values_of(x->c, x->sum), uk_kernel_nr(row),
                           (int64_t)uk_type_bytes(x->c->st->operand[1].tensor->type), uk_kernel_kr(row));

    for (int i = 0; i < k->count; i++)
        if (!k->length[i] || k->length[i] >= least)
            k->length[kept++] = k->length[i];
    k->count = kept;
}

static void compare_rows_outside(struct search *x, bool packs_each_row_panel) {
    for (int i = 0; i < x->k.count; i++)
        for (int j = 0; j < x->n.count; j++)
            compare(x, (struct uk_blocks){.kc = x->k.length[i],
                                          .nc = x->n.length[j],
                                          .packs_each_row_panel = packs_each_row_panel});
}

/* Compares all lengths with columns outside: blocks of rows in the outer loop, then of columns. */
static void compare_columns_outside(struct search *x) {
    const double before = x->least;

    for (int i = 0; i < x->k.count; i++)
        for (int j = 0; j < x->m.count; j++)
            compare(x, (struct uk_blocks){.is_column_loop_outer = true,
                                          .kc = x->k.length[i],
                                          .nc = x->n.length[0],
                                          .mc = x->m.length[j]});
    for (int j = 0; j < x->n.count && x->least < before; j++) {
        struct uk_blocks b = x->best;

        b.nc = x->n.length[j];
        compare(x, b);
    }
    for (int i = 0; i < x->k.count && x->packs_columns; i++)
        compare(x, (struct uk_blocks){
                       .is_column_loop_outer = true, .packs_each_column_panel = true, .kc = x->k.length[i]});
}

/* True if a row of the output contains the values of all loops that are no axis, such as the groups of a
 * convolution, so that a tile of rows may be completed, line by line, before the next one. */
static bool can_rows_be_outermost(const struct search *x) {
    const struct uk_costing *c = x->c;
    int inside = 0;

    for (int i = 0; i < c->st->loops; i++) {
        const int64_t row = c->stride[0][uk_loop_position(c->st, c->fit->axis[x->rows])];

        if (uk_is_axis(c->fit, c->st->loop[i]))
            continue;
        if (c->stride[0][i] * c->size[i] > row || uk_is_prefix_of_copy(c->s, c->st, i))
            return false;
        inside++;
    }
    return inside && c->fit->max_extent[x->rows];
}

/* The axes of the fit. */
static struct search begin(const struct uk_costing *c) {
    struct search x = {.c = c, .sum = -1, .least = DBL_MAX};

    uk_tile_axes(c->st, c->fit, &x.rows, &x.columns);
    for (int v = 0; v < c->fit->axes; v++)
        if (uk_is_reduced(c->st, c->fit->axis[v]) && !c->fit->max_extent[v])
            x.sum = v;
    return x;
}

double uk_cycles_of_blocks(const struct uk_costing *c, const struct uk_blocks *blocks) {
    const struct search x = begin(c);

    return cycles_of(&x, blocks);
}

double uk_find_blocks(const struct uk_costing *c, struct uk_blocks *out) {
    struct search x = begin(c);
    const bool sums = c->st->statement->reduce != UK_REDUCE_NONE;

    for (int o = 1; o < c->operands; o++)
        if (c->fit->panel[o].width && x.columns >= 0 &&
            uk_depends(&c->st->operand[o], c->fit->axis[x.columns]))
            x.packs_columns = true;
        else if (c->fit->panel[o].width)
            x.packs_rows = true;
    if (x.rows < 0 || !sums) {
        compare(&x, (struct uk_blocks){.kc = 0});
    } else {
        const bool shares = uk_shares_columns(c->s, c->st, c->fit, x.columns);

        choose_lengths(&x, x.sum, 1, &x.k);
        drop_short(&x, &x.k);
        drop_long(&x, &x.k);
        choose_lengths(&x, x.columns, shares ? c->s->options->threads : 1, &x.n);
        choose_lengths(&x, x.rows, 1, &x.m);
        /* The variant with the fewest loops is first; a later one wins only by a margin. */
        compare(&x, (struct uk_blocks){.kc = x.k.length[0], .nc = x.n.length[0]});
        compare(&x, (struct uk_blocks){.is_column_loop_outer = true,
                                       .kc = x.k.length[0],
                                       .nc = x.n.length[0],
                                       .mc = x.m.length[0]});
        compare_rows_outside(&x, false);
        if (x.packs_rows)
            compare_rows_outside(&x, true);
        compare_columns_outside(&x);
        if (can_rows_be_outermost(&x))
            compare(&x, (struct uk_blocks){.are_rows_outermost = true, .kc = x.k.length[0]});
    }
    *out = x.best;
    return x.least;
}
