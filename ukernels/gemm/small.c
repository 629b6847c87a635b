/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The path of small products: which they are (direct.h), and how the calls of their kernels go over C. It is planned here for calls, resolved
 * calls and batches alike; what is planned is in struct gemm_small.
 */
#include "path.h"
#include <stddef.h>

/* Rows of C that two vectors of columns have registers for. */
enum { TALL = 14 };

/* Whether what is needed to compute a few columns at a time stays in the caches: their part of B in half of L1,
 * all operands in most of L2. A call then writes two lines of a row of C: with AVX2, a single line costs more
 * than reading B from L2. */
static bool stays_in_caches(const struct gemm_type *t, const struct gemm_product *p) {
    const struct gemm_direct *d = &t->direct[0][GEMM_WIDE / t->size];

    return d->column_splits && d->column_split[0].kernel->nr * t->size >= 2 * GEMM_VECTOR &&
           p->k * GEMM_WIDE <= t->few_rows * t->way && p->m * p->n + p->n * p->k + p->m * p->k <= 3 * t->near;
}

/* Whether many columns are computed a few rows at a time, along C's rows: if C comes from memory, because it
 * does not fit into the last-level cache, or from a far last-level cache, and if the rows of B, which all rows
 * of C read again, can stay in half of L2. Else a few columns at a time are faster. Rows of a transposed B lie together. */
static bool is_along_rows(const struct gemm_type *t, const struct gemm_product *p) {
    const int64_t stride = (p->b_columns ? 1 : p->ldb) * t->size,
                  step = stride & -stride; /* the largest power of two that divides it */

    return p->n >= t->many && (!p->b_columns || p->m > TALL) &&
           (p->m * p->n > t->last ||
            (t->last_is_far && !stays_in_caches(t, p) &&
             p->k * (step < t->second_way ? step : t->second_way) <= 2 * t->near * t->size));
}

/* Whether rows of C, or of B, map to so few sets of L1 that a tile's parts of both hardly stay there together:
 * `sets` sets or fewer, which is four, or two for few rows. */
static bool shares_sets(const struct gemm_type *t, int64_t ld, int sets) {
    return !(ld * t->size & (t->way / sets - 1));
}

/* Whether kernels that work along rows of C prefetch C and B: prefetched lines stay in L1 until they are needed. */
static bool prefetches_along_rows(const struct gemm_type *t, int64_t ldb, int64_t ldc) {
    return t->last_is_far && !shares_sets(t, ldb, 4) && !shares_sets(t, ldc, 4);
}

/* Whether many columns are computed a panel of two vectors at a time, all rows of C for each: if the rows of B
 * share sets, so that prefetched lines are evicted unread, and a few columns even while a few rows read them,
 * and if there are enough k iterations for lines of C, each in a page of its own, to arrive in time. */
static bool is_by_panels(const struct gemm_type *t, const struct gemm_product *p) {
    return t->last_is_far && t->panel_first && !p->a_columns && !p->b_columns && p->n >= t->many &&
           p->m > 2 * TALL && p->m <= GEMM_PANELS_ROWS && p->k > 3 * TALL &&
           p->k * 2 * GEMM_VECTOR <= GEMM_TRANSPOSED && shares_sets(t, p->ldb, 4);
}

/* If k is at most twice the rows of a tile, reading and writing C is most of the time; for a larger k a tile's
 * part of B is more than that of C. A few columns at a time read A again and again, from L2. Fewer columns take a first kernel of several
 * vectors that prefetches rows of A from a far last-level cache. */
bool uk_gemm_small_beyond(const struct gemm_type *t, const struct gemm_product *p) {
    if (!uk_is_alone() || p->b_columns)
        return false;
    if (p->n < t->many)
        return t->last_is_far && !p->a_columns &&
               t->direct[0][p->n].column_split[0].kernel->nr * t->size >= 2 * GEMM_VECTOR;
    return is_by_panels(t, p) || (p->k <= 2 * TALL && (p->m * p->k <= t->near || is_along_rows(t, p)));
}

/* Whether a column-major B is transposed, panel by panel, and not C (plan_either in plan_tiles.c): where there are as
 * many rows as columns, two groups of rows, or one panel; else transposing takes longer, some 19 cycles a k
 * iteration, than a few rows. */
static bool suits_transposing(const struct gemm_type *t, const struct gemm_product *p) {
    const int64_t columns = p->n * t->size, width = columns <= GEMM_VECTOR ? GEMM_VECTOR : 2 * GEMM_VECTOR;

    return t->transpose && (p->m >= p->n || p->m >= 2 * TALL || columns <= width) &&
           p->k * width <= GEMM_TRANSPOSED;
}

bool uk_gemm_transposes_long(const struct gemm_type *t, const struct gemm_product *p) {
    return p->a_columns || !uk_gemm_suits_dots(t, p->m, p->n, p->k, p->lda, p->ldb);
}

/* Whether the operands, of any k that is not split, stay in L2 together wherever their pages map to: then
 * neither A nor B is copied, and every group of rows reads B again fast enough. Up to 5/8 of L2 with vectors as
 * long as a cache line, up to 3/8 with shorter ones. */
static bool stays_near(const struct gemm_type *t, const struct gemm_product *p, const struct gemm_direct *d) {
    const struct uk_kernel *k = d->column_split[0].kernel;
    const int eighths = k->mr * k->nr * t->size >= (int)k->fma * GEMM_VECTOR ? 5 : 3;
    const int64_t k_most = t->near * t->size / (2 * GEMM_WIDE); /* four of the widest tiles of a block */

    return p->k <= GEMM_K_WHOLE && p->k <= k_most &&
           2 * (p->m * p->k + p->n * p->k + p->m * p->n) <= eighths * t->near &&
           (p->a_columns || p->lda * t->size & (t->way - 1) || p->m <= t->few_rows) &&
           (p->b_columns ? suits_transposing(t, p) : p->n < t->many || is_along_rows(t, p));
}

/* Small products with a long k also are those of so few columns that k is not split: rows
 * of A are read once, while B stays in L2, a block of rows at a time where several kernels compute the columns.
 * But where rows of A share a set of L1, a kernel must not have more rows than the set has ways. Rows of B
 * longer than GEMM_WIDE, up to twice that, only if no rows of A share a set and rows of B begin with cache
 * lines: where they cross lines packed panels are faster. */
static const struct gemm_direct *for_long_sums(const struct gemm_type *t, const struct gemm_product *p) {
    if (!t->last_is_far || (uint64_t)(p->n - 2) > GEMM_MOST || p->m < 2 || p->m > GEMM_MOST ||
        p->k < GEMM_WIDTHS || p->k > GEMM_MOST ||
        gemm_leading_is_invalid(p->lda, p->a_columns ? p->m : p->k) ||
        gemm_leading_is_invalid(p->ldb, p->b_columns ? p->k : p->n) ||
        gemm_leading_is_invalid(p->ldc, p->n) ||
        (p->b_columns && !p->a_columns && uk_gemm_suits_dots(t, p->m, p->n, p->k, p->lda, p->ldb)) ||
        (p->b_columns == p->a_columns &&
         uk_gemm_suits_transposed_dots(t, p->m, p->n, p->k, p->a_columns ? p->ldb : p->lda, p->a_columns)))
        return NULL;
    const struct gemm_direct *d = gemm_direct_at(t, p->a_columns, p->n);
    const bool conflicts = !(p->lda * t->size & (t->way - 1));

    d = gemm_direct_of(d, p->m, p->k);
    if (d->column_splits && stays_near(t, p, d))
        return d;
    if (!d->column_splits || p->a_columns || p->b_columns || p->n * t->size > 2 * GEMM_WIDE ||
        p->k > 2 * t->near / p->n ||
        (p->n * t->size > GEMM_WIDE && (conflicts || p->ldb * t->size % GEMM_VECTOR ||
                                        d->column_split[0].kernel->nr * t->size < 2 * GEMM_VECTOR)) ||
        (conflicts && p->m > t->few_rows && d->column_split[0].kernel->mr > t->few_rows))
        return NULL;
    return d;
}

const struct gemm_direct *uk_gemm_small_of_long_sums(const struct gemm_type *t,
                                                     const struct gemm_product *p) {
    const struct gemm_direct *d = for_long_sums(t, p);

    return d && (uk_is_alone() || p->m * p->n * p->k <= t->work_most) ? d : NULL;
}

bool uk_gemm_is_whole(const struct gemm_type *t, const struct gemm_product *p) {
    return for_long_sums(t, p);
}

/* ---- how ---- */

/* How many columns of a column-major B are transposed at a time, at least two vectors if k is 256 or less. */
static int64_t transposed_columns(const struct gemm_type *t, int64_t n, int64_t k, bool along_rows) {
    enum { WIDE = GEMM_WIDE / GEMM_VECTOR, NEAR = GEMM_TRANSPOSED / 4 };
    const int64_t lanes = GEMM_VECTOR / t->size, all = (n + 2 * lanes - 1) / (2 * lanes) * 2;
    const int64_t line = k * GEMM_VECTOR, room = GEMM_TRANSPOSED / line,
                  near = along_rows ? room : NEAR / line;
    const int64_t most = room <= WIDE ? room / 2 * 2 : near > WIDE ? (near - 1) / WIDE * WIDE : WIDE;

    return (all < most ? all : most) * lanes;
}

/* The leading dimension of the transpose: no power of two, as then a few sets of L1 would hold all rows, unless so many rows fill the cache. */
static int64_t transposed_leading(const struct gemm_type *t, int64_t columns, int64_t k) {
    const int64_t lanes = GEMM_VECTOR / t->size;

    return GEMM_TRANSPOSED / (k * GEMM_VECTOR) > GEMM_WIDE / GEMM_VECTOR ? columns | lanes : columns;
}

/* How many columns one call computes, of products that are computed a few rows at a time: those of the kernel
 * of two vectors or more that reads B least often; among such kernels of the widest. Where the last-level cache
 * is far, and rows of C as long as two pages share sets of L1, a kernel with no more rows than L1 has ways, if
 * there are three groups or more. */
static int width_along_rows(const struct gemm_type *t, const struct gemm_product *p) {
    const bool shares = t->last_is_far && p->m > 2 * TALL &&
                        p->ldc * t->size >= 2 * t->machine->core.tlb.page && shares_sets(t, p->ldc, 4);
    int64_t least = INT64_MAX;
    int width = t->whole[p->a_columns][0]->nr;

    for (int i = 0; i < t->wholes[p->a_columns]; i++) {
        const struct uk_kernel *k = t->whole[p->a_columns][i];
        const int64_t groups = (p->m + k->mr - 1) / k->mr;

        if (shares && k->mr > 2 * t->few_rows)
            continue;
        if (k->fma >= 2 * k->mr && (groups < least || (groups == least && k->nr > width))) {
            least = groups;
            width = k->nr;
        }
    }
    return width;
}

/* Whether A, B and C together do not stay in L2, and rows of A come from a far last-level cache or memory. */
static bool has_far_rows(const struct gemm_type *t, const struct gemm_product *p, int64_t n) {
    return t->last_is_far && !p->a_columns && 2 * (p->m * p->k + n * p->k + p->m * n) > 5 * t->near;
}

static enum gemm_order order_of(const struct gemm_type *t, const struct gemm_product *p, int64_t n,
                                bool along_rows) {
    return n < t->many  ? has_far_rows(t, p, n) ? GEMM_BLOCKS_OF_ROWS : GEMM_AT_ONCE
           : along_rows ? GEMM_ALONG_ROWS
                        : GEMM_BLOCKS_OF_COLUMNS;
}

/* The blocks of a product of many columns. */
static void plan_blocks(const struct gemm_type *t, const struct gemm_product *p, struct gemm_small *w) {
    const bool along_rows = w->order == GEMM_ALONG_ROWS;

    w->width = along_rows ? width_along_rows(t, p) : GEMM_WIDE / t->size;
    w->kernels = &t->direct[p->a_columns][w->width];
    w->prefetches = along_rows ? prefetches_along_rows(t, w->ldb, p->ldc)
                               : t->last_is_far && p->m * w->columns * t->size > 2 * t->few_rows * t->way &&
                                     !shares_sets(t, p->ldc, 2);
}

/* A column-major B is transposed: up to two vectors of columns by the kernels that pack them. */
static void plan_transposed(const struct gemm_type *t, const struct gemm_product *p, bool along_rows,
                            struct gemm_small *w) {
    const int64_t most = transposed_columns(t, p->n, p->k, along_rows);
    const int64_t last = p->n % most;

    w->copies = GEMM_COPIES_TRANSPOSED;
    w->columns = gemm_least(most, p->n);
    w->ldb = transposed_leading(t, most, p->k);
    w->order = (unsigned char)order_of(t, p, w->columns, along_rows);
    w->last_order = (unsigned char)order_of(t, p, last ? last : w->columns, along_rows);
    w->kernels = gemm_direct_of(gemm_direct_at(t, p->a_columns, w->columns), p->m, p->k);
    /* An odd number of vectors more than two, to keep rows out of the same sets. */
    const int64_t vectors = gemm_parts(p->n * t->size, GEMM_VECTOR);
    w->bytes = gemm_least(p->k * GEMM_VECTOR * ((vectors + 1) | 1), GEMM_TRANSPOSED);
}

void uk_gemm_small_plan(const struct gemm_type *t, const struct gemm_product *p, const struct gemm_direct *d,
                        struct gemm_small *w) {
    *w = (struct gemm_small){.kernels = d, .columns = p->n, .ldb = p->ldb};
    if (p->b_columns && p->n <= t->transpose_few[1]->mr) {
        w->copies = GEMM_COPIES_FEW;
        w->ldb = gemm_few_transpose(t, p->n)->mr;
        w->kernels = gemm_direct_of(&t->direct[p->a_columns][p->n], p->m, p->k);
        w->bytes = p->k * w->ldb * t->size;
        return;
    }
    const bool along_rows = is_along_rows(t, p);

    if (p->b_columns) {
        plan_transposed(t, p, along_rows, w);
    } else if (is_by_panels(t, p)) {
        w->copies = GEMM_COPIES_PANELS;
        w->order = w->last_order = GEMM_BLOCKS_OF_COLUMNS;
        w->columns = w->width = w->ldb = 2 * GEMM_VECTOR / t->size;
        w->kernels = &t->direct[0][w->width];
        w->bytes = p->k * 2 * GEMM_VECTOR;
        return;
    } else {
        w->order = w->last_order = (unsigned char)order_of(t, p, p->n, along_rows);
        w->kernels = gemm_direct_of(d, p->m, p->k);
    }
    if (w->columns >= t->many)
        plan_blocks(t, p, w);
}

/* Runs a resolved call of several kernels; s is the first field of the plan. */
static int run_column_splits(const struct uk_small_call *s, const void *a, const void *b, void *c, int acc) {
    const struct gemm_plan *plan = (const void *)((const char *)s - offsetof(struct gemm_plan, call));
    const struct gemm_direct *d = plan->small.kernels;

    for (int i = 0; i < d->column_splits; i++) {
        const int bytes = d->column_split[i].columns * plan->type->size;

        s[i].run(&s[i], a, b, c, acc);
        b = (const char *)b + bytes;
        c = (char *)c + bytes;
    }
    return UK_OK;
}

/* Whether the plan has the calls of its kernels, each of which computes all rows. */
static bool is_prepared(const struct gemm_plan *plan) {
    return !plan->small.bytes && plan->small.order == GEMM_AT_ONCE;
}

/* Prepares the resolved call of a plan whose kernels compute all rows and columns in place. */
static void prepare(struct gemm_plan *plan, const struct gemm_product *p) {
    const struct gemm_direct *d = plan->small.kernels;
    int64_t n = plan->n;

    for (int i = 0; i < d->column_splits; i++) {
        const int64_t columns = i + 1 < d->column_splits ? d->column_split[i].columns : n;

        d->column_split[i].prepare(&plan->call[i], plan->k, p->lda, plan->b_step, plan->ldc, plan->m,
                                   columns);
        n -= columns;
    }
    (plan->swapped ? plan->resolved_swapped : plan->resolved)[plan->type == &uk_gemm_f64] =
        is_prepared(plan)       ? d->column_splits == 1 ? plan->call[0].run : run_column_splits
        : d->column_splits == 1 ? plan->call[0].ahead
                                : NULL;
}

/* ---- the path ---- */

/* What the kernels cannot do, alpha, epilogues and packed operands, tiles do. */
static enum uk_status plan_small(struct gemm_plan *p) {
    const struct gemm_product product = gemm_product_of_plan(p);
    const struct gemm_direct *d = gemm_small_for(p->type, &product);

    if (!d)
        return UK_NO_MATCH;
    const enum uk_status status = uk_gemm_plan_tiles_as_given(p);

    if (status || p->a_packed || p->b_packed) {
        p->path = &uk_gemm_tiles;
        return status;
    }
    uk_gemm_small_plan(p->type, &product, d, &p->small);
    if (!p->small.bytes && !p->small.width && p->type->machine == uk_machine())
        prepare(p, &product);
    return UK_OK;
}

void uk_gemm_run_small(const struct gemm_plan *plan, const void *a, const void *b, double beta, void *c,
                       void *workspace) {
    if (is_prepared(plan)) {
        if (beta != 0 && beta != 1)
            plan->type->scale(plan->m, plan->n, c, plan->ldc, beta, NULL);
        run_column_splits(plan->call, a, b, c, beta != 0);
    } else {
        const struct gemm_product p = gemm_product_of_plan(plan);

        (plan->type == &uk_gemm_f32 ? uk_gemm_small_f32 : uk_gemm_small_f64)(&plan->small, &p, a, b, beta, c,
                                                                             workspace);
    }
}

static void run(const struct gemm_plan *plan, const struct gemm_operands *o, void *workspace) {
    if (o->alpha == 1 && !o->epilogue)
        uk_gemm_run_small(plan, o->a, o->b, o->beta, o->c, workspace);
    else
        uk_gemm_tiles.run(plan, o, workspace);
}

static void explain_kernels(struct gemm_text *t, const struct gemm_direct *d) {
    int64_t from = 0;

    for (int i = 0; i < d->column_splits; i++) {
        uk_gemm_add(t, "kernel of columns %lld to %lld: %s\n", (long long)from,
                    (long long)(from + d->column_split[i].columns - 1), d->column_split[i].kernel->symbol);
        from += d->column_split[i].columns;
    }
}

static void explain(struct gemm_text *t, const struct gemm_plan *p) {
    static const char *const orders[] = {"all rows in one call", "blocks of rows, the next ones prefetched",
                                         "all rows in one call", "along rows of C"},
                             *const copies[] = {"read in place", "packed in panels first", "transposed first",
                                                "transposed first"};
    const struct gemm_small *w = &p->small;

    uk_gemm_add(t, "path: small, %s, A read in place, B %s\n", orders[w->order], copies[w->copies]);
    if (w->copies == GEMM_COPIES_PANELS)
        uk_gemm_add(t, "kernel of the first rows, which packs B: %s\n", p->type->panel_first->symbol);
    else if (w->columns < p->n)
        uk_gemm_add(t, "B: %lld columns at a time\n", (long long)w->columns);
    if (w->width)
        uk_gemm_add(t, "blocks: %d columns each\n", w->width);
    explain_kernels(t, w->kernels);
    const int64_t last = w->width ? (w->copies == GEMM_COPIES_PANELS ? p->n : w->columns) % w->width : 0;

    if (last) {
        uk_gemm_add(t, "last block: %lld columns\n", (long long)last);
        explain_kernels(t, gemm_direct_of(&p->type->direct[p->a_step != 1][last], p->m, p->k));
    }
}

const struct gemm_path uk_gemm_small = {"small", GEMM_PACKS_PANELS, plan_small, run, explain};
