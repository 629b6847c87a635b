/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The path of small products: which they are (direct.h), and how the calls of their kernels go over C. It is
 * planned here for calls, resolved calls and batches alike; what is planned is in struct gemm_small.
 */
#include "path.h"
#include <math.h>
#include <stddef.h>

/* ---- how ---- */

/* Takes the other way if it takes fewer cycles. */
static void take_less(const struct gemm_type *t, const struct gemm_product *p, struct gemm_small *w,
                      double *least, const struct gemm_small *other) {
    const double cycles = uk_gemm_small_cost(t, p, other);

    if (cycles < *least) {
        *least = cycles;
        *w = *other;
    }
}

/* The call of the first kernel of a way, as it is resolved. */
static struct uk_small_call call_of(const struct gemm_product *p, const struct gemm_small *w) {
    const struct gemm_direct *d = w->kernels;
    const int64_t mr = d->column_split[0].kernel->mr;
    struct uk_small_call s = {0};

    d->column_split[0].prepare(&s, p->k, p->lda, w->ldb, p->ldc,
                               w->order == GEMM_ALONG_ROWS ? uk_min(p->m, mr) : p->m,
                               d->column_split[0].columns);
    return s;
}

/* With and without prefetching C. */
static void take_either(const struct gemm_type *t, const struct gemm_product *p, struct gemm_small *w,
                        double *least, struct gemm_small *other) {
    take_less(t, p, w, least, other);
    if (call_of(p, other).prefetching) {
        other->prefetches = true;
        take_less(t, p, w, least, other);
        other->prefetches = false;
    }
}

/* Of products of many columns: whether they are computed a few rows at a time, along C's rows, and by which
 * kernel, of two vectors or more; and whether C is prefetched. */
static void choose_of_many(const struct gemm_type *t, const struct gemm_product *p, struct gemm_small *w,
                           double *least) {
    struct gemm_small other = *w;

    take_either(t, p, w, least, &other);
    other.order = GEMM_ALONG_ROWS;
    for (int i = 0; i < t->small_kernels[p->a_columns]; i++) {
        const struct uk_kernel *k = t->small_kernel[p->a_columns][i];

        other.width = k->nr;
        other.kernels = &t->direct[p->a_columns][k->nr];
        if (k->fma >= 2 * k->mr && k->nr * t->size <= GEMM_WIDE)
            take_either(t, p, w, least, &other);
    }
}

/* The best way of those that begin as w does, whose calls are in the default order; returns its cycles. Of
 * few columns at a time, rows of A that come from beyond L2 are prefetched by kernels that can do so: they
 * are too many streams for the hardware, and too short. */
static double choose(const struct gemm_type *t, const struct gemm_product *p, struct gemm_small *w) {
    if (!w->width && call_of(p, w).ahead)
        w->order = GEMM_BLOCKS_OF_ROWS;
    double least = uk_gemm_small_cost(t, p, w);

    if (w->width)
        choose_of_many(t, p, w, &least);
    return least;
}

/* Sets the kernels and the order of those calls: all rows at once, of many columns a few vectors of them. */
static void set_default(const struct gemm_type *t, const struct gemm_product *p, struct gemm_small *w) {
    w->width = w->columns < t->blocked_columns ? 0 : GEMM_WIDE / t->size;
    w->order = w->width ? GEMM_BLOCKS_OF_COLUMNS : GEMM_AT_ONCE;
    w->kernels = gemm_direct_of(gemm_direct_for(t, p->a_columns, p->m, w->columns), p->m, p->k);
}

/* How many columns of a column-major B are transposed at a time, at least two vectors if k is 256 or less: so
 * many that the copy stays in L1 whatever else is read, or, for calls along rows of C, as fit there. */
static int64_t transposed_columns(const struct gemm_type *t, int64_t n, int64_t k, bool along_rows) {
    enum { WIDE = GEMM_WIDE / GEMM_VECTOR, NEAR = GEMM_TRANSPOSED / 4 };
    const int64_t lanes = GEMM_VECTOR / t->size, all = (n + 2 * lanes - 1) / (2 * lanes) * 2;
    const int64_t line = k * GEMM_VECTOR, room = GEMM_TRANSPOSED / line,
                  near = along_rows ? room : NEAR / line;
    const int64_t most = room <= WIDE ? room / 2 * 2 : near > WIDE ? (near - 1) / WIDE * WIDE : WIDE;

    return (all < most ? all : most) * lanes;
}

/* The leading dimension of the transpose: no power of two, as then a few sets of L1 would hold all rows,
 * unless so many rows fill the cache. */
static int64_t transposed_leading(const struct gemm_type *t, int64_t columns, int64_t k) {
    const int64_t lanes = GEMM_VECTOR / t->size;

    return GEMM_TRANSPOSED / (k * GEMM_VECTOR) > GEMM_WIDE / GEMM_VECTOR ? columns | lanes : columns;
}

/* A column-major B is transposed, some columns at a time. */
static void set_transposed(const struct gemm_type *t, const struct gemm_product *p, bool along_rows,
                           struct gemm_small *w) {
    const int64_t most = transposed_columns(t, p->n, p->k, along_rows);
    /* An odd number of vectors more than two, to keep rows out of the same sets. */
    const int64_t vectors = uk_ceil_div(p->n * t->size, GEMM_VECTOR);

    w->copies = GEMM_COPIES_TRANSPOSED;
    w->columns = uk_min(most, p->n);
    w->ldb = transposed_leading(t, most, p->k);
    w->bytes = uk_min(p->k * GEMM_VECTOR * ((vectors + 1) | 1), GEMM_TRANSPOSED);
    set_default(t, p, w);
}

/* Whether all operands stay in so many quarters of L2. */
static bool fits(const struct gemm_type *t, const struct gemm_product *p, int quarters) {
    return p->m * p->n + p->n * p->k + p->m * p->k <= quarters * t->l2_quarter;
}

/* Whether the order matters: C's part that all rows are computed of does not stay in L1, or all operands not
 * in half of L2. */
static bool is_chosen(const struct gemm_type *t, const struct gemm_product *p, const struct gemm_small *w) {
    return (w->width && p->m * w->columns * t->size > t->machine->cache[UK_L1].size) || !fits(t, p, 2);
}

/* Sets the default way; whether others may be better. */
static bool begin(const struct gemm_type *t, const struct gemm_product *p, struct gemm_small *w) {
    *w = (struct gemm_small){.columns = p->n, .ldb = p->ldb};
    if (p->b_columns && p->n <= t->transpose_few[1]->mr) {
        w->copies = GEMM_COPIES_FEW;
        w->ldb = gemm_few_transpose(t, p->n)->mr;
        w->kernels = gemm_direct_of(gemm_direct_for(t, p->a_columns, p->m, p->n), p->m, p->k);
        w->bytes = p->k * w->ldb * t->size;
        return false;
    }
    if (p->b_columns)
        set_transposed(t, p, false, w);
    else
        set_default(t, p, w);
    w->last_order = w->width && p->n % w->columns < t->blocked_columns ? GEMM_AT_ONCE : w->order;
    return is_chosen(t, p, w);
}

/* The best way; returns its cycles. */
static double plan_best(const struct gemm_type *t, const struct gemm_product *p, struct gemm_small *w) {
    if (!begin(t, p, w))
        return uk_gemm_small_cost(t, p, w);
    double least = choose(t, p, w);

    if (p->b_columns) {
        struct gemm_small other = *w;

        set_transposed(t, p, true, &other);
        const double cycles = other.columns > w->columns ? choose(t, p, &other) : least;

        if (cycles < least) {
            least = cycles;
            *w = other;
        }
    }
    w->last_order = w->width && p->n % w->columns < t->blocked_columns ? GEMM_AT_ONCE : w->order;
    return least;
}

/* ---- which ---- */

/* A thread remembers the last products' ways, and what they take: estimates take some 5 us. */
enum { REMEMBERED = 8 };
struct remembered {
    const struct gemm_type *type;
    const struct uk_machine *machine;
    struct gemm_product product;
    struct gemm_small way;
    double cycles, by_tiles; /* the latter, 0: not estimated */
};
static _Thread_local struct remembered remembered[REMEMBERED];
static _Thread_local unsigned forgotten; /* the next one to be */

static bool is_same(const struct gemm_product *p, const struct gemm_product *q) {
    return p->m == q->m && p->n == q->n && p->k == q->k && p->lda == q->lda && p->ldb == q->ldb &&
           p->ldc == q->ldc && p->a_columns == q->a_columns && p->b_columns == q->b_columns;
}

static struct remembered *remember(const struct gemm_type *t, const struct gemm_product *p) {
    for (int i = 0; i < REMEMBERED; i++)
        if (remembered[i].type == t && remembered[i].machine == t->machine &&
            is_same(&remembered[i].product, p))
            return &remembered[i];
    struct remembered *r = &remembered[forgotten++ % REMEMBERED];

    *r = (struct remembered){.type = t, .machine = t->machine, .product = *p};
    r->cycles = plan_best(t, p, &r->way);
    return r;
}

/* Whether it takes fewer cycles than by tiles. */
static bool beats_tiles(const struct gemm_type *t, const struct gemm_product *p) {
    struct remembered *r = remember(t, p);

    if (!r->by_tiles) {
        struct gemm_plan tiles = uk_gemm_plan_of(t, p, false);

        r->by_tiles = uk_gemm_plan_tiles(&tiles) ? HUGE_VAL : tiles.cycles;
        if (p->b_columns)
            r->cycles += uk_gemm_transposed_b_cost(&tiles, r->way.columns);
    }
    return r->cycles < r->by_tiles;
}

/* On one thread, where B is in place: one that is transposed is small for as long as the copies are. */
bool uk_gemm_small_beyond(const struct gemm_type *t, const struct gemm_product *p) {
    return uk_is_alone() && !p->b_columns && beats_tiles(t, p);
}

bool uk_gemm_transposes_long(const struct gemm_type *t, const struct gemm_product *p) {
    return p->a_columns || !uk_gemm_suits_dots(t, p->m, p->n, p->k, p->lda, p->ldb);
}

/* Whether there is room for a vector or two of transposed columns of B. */
static bool can_transpose(const struct gemm_type *t, const struct gemm_product *p) {
    const int64_t columns = p->n * t->size, width = columns <= GEMM_VECTOR ? GEMM_VECTOR : 2 * GEMM_VECTOR;

    return t->transpose && p->k * width <= GEMM_TRANSPOSED;
}

static bool by_dots(const struct gemm_type *t, const struct gemm_product *p) {
    return p->b_columns == p->a_columns
               ? uk_gemm_suits_transposed_dots(t, p->m, p->n, p->k, p->a_columns ? p->ldb : p->lda,
                                               p->a_columns)
               : p->b_columns && uk_gemm_suits_dots(t, p->m, p->n, p->k, p->lda, p->ldb);
}

/* Small products with a long k, which is not split: those of few columns, of which B stays in L2 if k is
 * longer than tiles' blocks. Where all operands stay in half of it, tiles could save nothing by copying them.
 * Else that is estimated, but for a column-major A from beyond L2, which tiles prefetch and these kernels do
 * not. */
static const struct gemm_direct *for_long_sums(const struct gemm_type *t, const struct gemm_product *p) {
    if (p->n < 2 || p->n >= t->blocked_columns || p->m < 2 || p->m > GEMM_MOST || p->k < GEMM_WIDTHS ||
        p->k > GEMM_MOST || gemm_leading_is_invalid(p->lda, p->a_columns ? p->m : p->k) ||
        gemm_leading_is_invalid(p->ldb, p->b_columns ? p->k : p->n) || gemm_leading_is_invalid(p->ldc, p->n))
        return NULL;
    if ((p->k > GEMM_K_WHOLE && p->n * p->k > 2 * t->l2_quarter) || (p->b_columns && !can_transpose(t, p)) ||
        by_dots(t, p))
        return NULL;
    return fits(t, p, 2) || ((!p->a_columns || fits(t, p, 4)) && beats_tiles(t, p))
               ? gemm_direct_of(gemm_direct_for(t, p->a_columns, p->m, p->n), p->m, p->k)
               : NULL;
}

const struct gemm_direct *uk_gemm_small_of_long_sums(const struct gemm_type *t,
                                                     const struct gemm_product *p) {
    const struct gemm_direct *d = for_long_sums(t, p);

    return d && (uk_is_alone() || p->m * p->n * p->k <= t->work_most) ? d : NULL;
}

bool uk_gemm_is_whole(const struct gemm_type *t, const struct gemm_product *p) {
    return for_long_sums(t, p);
}

void uk_gemm_small_plan(const struct gemm_type *t, const struct gemm_product *p, struct gemm_small *w) {
    if (begin(t, p, w))
        *w = remember(t, p)->way;
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

    if (!gemm_small_for(p->type, &product))
        return UK_NO_MATCH;
    const enum uk_status status = uk_gemm_plan_tiles_as_given(p);

    if (status || p->a_packed || p->b_packed) {
        p->path = &uk_gemm_tiles;
        return status;
    }
    uk_gemm_small_plan(p->type, &product, &p->small);
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
                             *const copies[] = {"read in place", "transposed first", "transposed first"};
    const struct gemm_small *w = &p->small;

    uk_gemm_add(t, "path: small, %s, A read in place, B %s\n", orders[w->order], copies[w->copies]);
    if (w->columns < p->n)
        uk_gemm_add(t, "B: %lld columns at a time\n", (long long)w->columns);
    if (w->width)
        uk_gemm_add(t, "blocks: %d columns each\n", w->width);
    explain_kernels(t, w->kernels);
    const int64_t last = w->width ? w->columns % w->width : 0;

    if (last) {
        uk_gemm_add(t, "last block: %lld columns\n", (long long)last);
        explain_kernels(t, gemm_direct_of(&p->type->direct[p->a_step != 1][last], p->m, p->k));
    }
}

const struct gemm_path uk_gemm_small = {"small", GEMM_PACKS_PANELS, plan_small, run, explain};
