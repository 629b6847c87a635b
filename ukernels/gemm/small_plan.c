/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The path of small products: which products it computes (small.h), and the order in which calls of kernels
 * compute the parts of C.
 */
#include "small.h"
#include "tiles.h"
#include <math.h>

/* ---- how ---- */

/* The prepared call of the first kernel of a way. */
static struct uk_small_call call_of(const struct gemm_product *p, const struct gemm_small *w) {
    const struct gemm_direct *d = w->kernels;
    const int64_t mr = d->column_split[0].kernel->mr;
    struct uk_small_call s = {0};

    d->column_split[0].prepare(&s, p->k, p->lda, w->ldb, p->ldc,
                               w->order == GEMM_ALONG_ROWS ? uk_min(p->m, mr) : p->m,
                               d->column_split[0].columns);
    return s;
}

/* Replaces *w by the other way if that takes fewer cycles than *least, with or without prefetching C. */
static void take_less(const struct gemm_product *p, struct gemm_small *w, double *least,
                      struct gemm_small other) {
    for (int i = 0; i < 2; i++) {
        other.prefetches = i;
        const double cycles = i && !call_of(p, &other).prefetching ? *least : uk_gemm_small_cost(p, &other);

        if (cycles < *least) {
            *least = cycles;
            *w = other;
        }
    }
}

/* Considers, for products of many columns, the ways that compute a few rows at a time, along C's rows, by
 * each of the kernels of two vectors or more; all with and without prefetching C. */
static void choose_of_many(const struct gemm_product *p, struct gemm_small *w, double *least) {
    const struct gemm_type *t = p->type;
    struct gemm_small other = *w;

    take_less(p, w, least, other);
    other.order = GEMM_ALONG_ROWS;
    for (int i = 0; i < t->small_kernels[p->a_columns]; i++) {
        const struct uk_kernel *k = t->small_kernel[p->a_columns][i];

        other.width = k->nr;
        other.kernels = &t->direct[p->a_columns][k->nr];
        if (k->fma >= 2 * k->mr && k->nr * t->size <= GEMM_WIDE)
            take_less(p, w, least, other);
    }
}

/* Sets *w, which is in the default order, to the best of the ways with the same columns and copies of B.
 * Returns its cycles. With few columns, kernels that can prefetch rows of A from beyond L2 do so: the rows
 * are too many streams, and too short ones, for the hardware's prefetcher. */
static double choose(const struct gemm_product *p, struct gemm_small *w) {
    if (!w->width && call_of(p, w).ahead)
        w->order = GEMM_BLOCKS_OF_ROWS;
    double least = uk_gemm_small_cost(p, w);

    if (w->width)
        choose_of_many(p, w, &least);
    return least;
}

/* Sets the default order, with its kernels: all rows in one call; if there are many columns, blocks of a few
 * vectors of columns. */
static void set_default(const struct gemm_product *p, struct gemm_small *w) {
    const struct gemm_type *t = p->type;
    w->width = w->columns < t->blocked_columns ? 0 : GEMM_WIDE / t->size;
    w->order = w->width ? GEMM_BLOCKS_OF_COLUMNS : GEMM_AT_ONCE;
    w->kernels = gemm_direct_of(gemm_direct_for(t, p->a_columns, p->m, w->columns), p->m, p->k);
}

/* The number of columns of a column-major B that are transposed at a time; at least two vectors if k is at
 * most 256. The copy takes a part of L1, so that it stays there whatever else is read; for calls along rows
 * of C, which read all of it for a few rows, as much as fits there. */
static int64_t transposed_columns(const struct gemm_type *t, int64_t n, int64_t k, bool along_rows) {
    enum { WIDE = GEMM_WIDE / GEMM_VECTOR, NEAR = GEMM_TRANSPOSED / 4 };
    const int64_t lanes = GEMM_VECTOR / t->size, all = (n + 2 * lanes - 1) / (2 * lanes) * 2;
    const int64_t line = k * GEMM_VECTOR, room = GEMM_TRANSPOSED / line,
                  near = along_rows ? room : NEAR / line;
    const int64_t most = room <= WIDE ? room / 2 * 2 : near > WIDE ? (near - 1) / WIDE * WIDE : WIDE;

    return (all < most ? all : most) * lanes;
}

/* Sets a way that transposes a column-major B, some columns at a time. */
static void set_transposed(const struct gemm_product *p, bool along_rows, struct gemm_small *w) {
    const struct gemm_type *t = p->type;
    const int64_t most = transposed_columns(t, p->n, p->k, along_rows), line = p->k * GEMM_VECTOR,
                  vectors = uk_ceil_div(p->n * t->size, GEMM_VECTOR);

    w->copies = GEMM_COPIES_TRANSPOSED;
    w->columns = uk_min(most, p->n);
    /* An odd number of vectors, so that rows of the copy do not share a few sets of L1, unless its k rows
     * fill the cache anyway. */
    w->ldb = GEMM_TRANSPOSED / line > GEMM_WIDE / GEMM_VECTOR ? most | GEMM_VECTOR / t->size : most;
    w->bytes = uk_min(line * ((vectors + 1) | 1), GEMM_TRANSPOSED);
    set_default(p, w);
}

/* True if all operands fit into this number of quarters of L2. */
static bool fits(const struct gemm_product *p, int quarters) {
    return p->m * p->n + p->n * p->k + p->m * p->k <= quarters * p->type->l2_quarter;
}

/* Sets the default way. True if other ways may be better: the part of C that one block of columns computes
 * does not fit into L1, or the operands do not fit into half of L2. */
static bool begin(const struct gemm_product *p, struct gemm_small *w) {
    const struct gemm_type *t = p->type;
    *w = (struct gemm_small){.columns = p->n, .ldb = p->ldb};
    if (p->b_columns && p->n <= t->transpose_few[1]->mr) {
        w->copies = GEMM_COPIES_FEW;
        w->ldb = gemm_few_transpose(t, p->n)->mr;
        w->kernels = gemm_direct_of(gemm_direct_for(t, p->a_columns, p->m, p->n), p->m, p->k);
        w->bytes = p->k * w->ldb * t->size;
        return false;
    }
    if (p->b_columns)
        set_transposed(p, false, w);
    else
        set_default(p, w);
    return (w->width && p->m * w->columns * t->size > t->machine->cache[UK_L1].size) || !fits(p, 2);
}

/* Sets the best way and returns its cycles. */
static double plan_best(const struct gemm_product *p, struct gemm_small *w) {
    if (!begin(p, w))
        return uk_gemm_small_cost(p, w);
    double least = choose(p, w);

    if (p->b_columns) {
        struct gemm_small other = *w;

        set_transposed(p, true, &other);
        const double cycles = other.columns > w->columns ? choose(p, &other) : least;

        if (cycles < least) {
            least = cycles;
            *w = other;
        }
    }
    return least;
}

/* ---- which ---- */

/* True if a product of k >= GEMM_WIDTHS, which this path does not split, may be a small one. It has few
 * columns, and its B stays in L2 if k is longer than GEMM_K_WHOLE. One or two vectors of transposed columns
 * have room. A column-major A from beyond L2 is left to tiles, which prefetch it. */
static bool is_small_and_long(const struct gemm_type *t, const struct gemm_product *p) {
    const int64_t width = p->n * t->size <= GEMM_VECTOR ? GEMM_VECTOR : 2 * GEMM_VECTOR;

    return p->n >= 2 && p->n < t->blocked_columns && p->m >= 2 && p->m <= GEMM_MOST && p->k <= GEMM_MOST &&
           !gemm_leading_is_invalid(p->lda, p->a_columns ? p->m : p->k) &&
           !gemm_leading_is_invalid(p->ldb, p->b_columns ? p->k : p->n) &&
           !gemm_leading_is_invalid(p->ldc, p->n) &&
           (p->k <= GEMM_K_WHOLE || p->n * p->k <= 2 * t->l2_quarter) &&
           (!p->b_columns || (t->transpose && p->k * width <= GEMM_TRANSPOSED)) &&
           (!p->a_columns || fits(p, 4));
}

/* Tiles are not asked if they could save nothing by copying operands: k is short and the product not too
 * large, or k is long and all operands stay in L2. */
static double cycles(struct gemm_plan *plan) {
    const struct gemm_product *p = &plan->product;
    const struct gemm_type *t = p->type;
    const bool is_short = p->k < GEMM_WIDTHS;

    if (!t->blocked_columns || !(is_short ? gemm_is_small(t, p) : is_small_and_long(t, p)))
        return HUGE_VAL;
    plan->is_certain = is_short ? p->m * p->n * p->k <= GEMM_WORK_ALONE : fits(p, 2);
    if (p->b_columns && is_short && !plan->is_certain)
        return HUGE_VAL; /* the copies no longer stay in the caches */
    if (plan->is_certain && !begin(p, &plan->small))
        return (double)(p->m * p->n * p->k) * t->fma_cycles * t->size / t->vectors->bytes;
    const double cycles = plan_best(p, &plan->small);

    return cycles + (p->b_columns ? uk_gemm_transposed_b_cost(p, plan->small.columns) : 0);
}

/* This path takes no packed operands, as kernels read them in place, and uses one thread. */
static enum uk_status plan_small(struct gemm_plan *plan) {
    const struct gemm_product *p = &plan->product;

    if (p->a_packed || p->b_packed || gemm_threads(plan) > 1)
        return UK_NO_MATCH;
    plan->workspace = plan->small.bytes > GEMM_COPY_ON_STACK ? (size_t)plan->small.bytes : 0;
    return UK_OK;
}

/* ---- the path ---- */

static void run(const struct gemm_plan *plan, const struct gemm_operands *o, void *workspace) {
    uk_gemm_run_small(&plan->small, &plan->product, o, workspace);
}

static void explain_kernels(struct gemm_text *t, const struct gemm_direct *d) {
    int64_t from = 0;

    for (int i = 0; i < d->column_splits; i++) {
        uk_gemm_add(t, "kernel of columns %lld to %lld: %s\n", (long long)from,
                    (long long)(from + d->column_split[i].columns - 1), d->column_split[i].kernel->symbol);
        from += d->column_split[i].columns;
    }
}

static void explain(struct gemm_text *t, const struct gemm_plan *plan) {
    static const char *const orders[] = {"all rows in one call", "blocks of rows, the next ones prefetched",
                                         "all rows in one call", "along rows of C"},
                             *const copies[] = {"read in place", "transposed first", "transposed first"};
    const struct gemm_product *p = &plan->product;
    const struct gemm_small *w = &plan->small;

    uk_gemm_add(t, "path: small, %s, A read in place, B %s\n", orders[w->order], copies[w->copies]);
    if (w->columns < p->n)
        uk_gemm_add(t, "B: %lld columns at a time\n", (long long)w->columns);
    if (w->width)
        uk_gemm_add(t, "blocks: %d columns each\n", w->width);
    explain_kernels(t, w->kernels);
    const int64_t last = w->width ? w->columns % w->width : 0;

    if (last) {
        uk_gemm_add(t, "last block: %lld columns\n", (long long)last);
        explain_kernels(t, gemm_direct_of(&p->type->direct[p->a_columns][last], p->m, p->k));
    }
}

const struct gemm_path uk_gemm_small = {"small", GEMM_PACKS_PANELS, cycles, plan_small, run, explain};
