/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Small products, computed without a plan: a few kernels, each with all rows of its columns, that read A and B in place.
 *
 * Which products. Nothing is packed, so nothing is paid beside the multiply-adds but the calls, while
 *   - the columns of B and the rows of A that are multiplied together stay in the first two caches: k <= 128, or all
 *     operands in the second, or so few columns that rows of A are read once; and of many columns a few vectors at a time,
 *     all rows of C for each of them, or a few rows of C at a time, all columns for each; but few columns of a B whose rows
 *     share sets are copied, by the first rows as they read them, into a panel that stays in the first cache;
 *   - those rows do not share sets: they are not a multiple of the first cache's way apart, unless they are few
 *     (conflict in cost.c);
 *   - rows of B are contiguous: a kernel loads vectors of them. A may be stored by rows or by columns. B by columns is
 *     turned, as many columns at a time as stay in the first cache;
 *   - one thread is enough: a second one is worth waking from GEMM_TASK cycles on. Where there is but one, updates of a
 *     large C are small products too, by few steps of k or where the last cache is far, and if it is any number of rows
 *     whose kernel asks for those to come: tiles, a call for 14 rows, take 5 to 10 % longer where k is 27 to 64;
 *   - there is more than a vector. Long vectors, m = 1 or n = 1, are bound by memory, and summed in an order of their
 *     own; from VECTOR_MOST elements on their kernels, which start with more sums, are ahead, and from VECTOR_STEPS on
 *     if the vector is along k, or B by columns: a sum waits 4 cycles for each. With AVX2, to turn such a B takes longer than
 *     their inner products from a lane of steps on.
 * Which kernels: for n columns those whose cycles are least, as direct.c estimates them once from kernels.def.
 *
 * Every element is one sum in the order of k, to which C is added last, as all tiles of a block of k have it: the bits
 * are those of the plan's other ways, which serve what is packed beforehand, alpha, and epilogues.
 * Inner products (dots.c), which are none of these, have a sum for each lane of a vector, whatever way they are called.
 */
#ifndef GEMM_DIRECT_H
#define GEMM_DIRECT_H

#include "gemm.h"

/* Bytes: of a vector; of the columns that are computed together where there are many. */
enum { GEMM_VECTOR = 64, GEMM_WIDE = 4 * GEMM_VECTOR };

/* Bytes of those columns of B that are turned at a time, or copied; so many of them have room on the stack. */
enum { GEMM_TURNED = 32 << 10, GEMM_COPY_ON_STACK = 8 << 10 };

/* The most rows, columns or steps of a small product. */
enum { GEMM_MOST = 1 << 24 };

/* The most multiply-adds of a small product, and where there is one thread: a second one is worth waking from twice GEMM_TASK
 * cycles on. */
enum { GEMM_WORK_MOST = 1 << 21, GEMM_WORK_ALONE = 1 << 24 };

/* Rows of C that two vectors of columns have registers for, and four. */
enum { GEMM_TALL = 14, GEMM_LOW = 6 };

/* The row-major product of a call: column-major ones are C' = B' A'. */
struct gemm_product {
    int64_t m, n, k, lda, ldb, ldc;
    bool a_columns, b_columns; /* stored by columns */
};

/* A plan's. */
static inline struct gemm_product gemm_product_of_plan(const struct gemm_plan *plan) {
    const bool a_columns = plan->a_step != 1, b_columns = plan->b_column != 1;

    return (struct gemm_product){.m = plan->m,
                                 .n = plan->n,
                                 .k = plan->k,
                                 .lda = a_columns ? plan->a_step : plan->a_row,
                                 .ldb = b_columns ? plan->b_column : plan->b_step,
                                 .ldc = plan->ldc,
                                 .a_columns = a_columns,
                                 .b_columns = b_columns};
}

/* Whether a leading dimension is wrong, or so large that it may overflow: others look into that. */
static inline bool gemm_leading_is_odd(int64_t ld, int64_t length) {
    return (uint64_t)(ld - length) >> 30;
}

/* Whether B by columns is by rows as well: a single column, or a row whose elements are side by side. */
static inline bool gemm_is_by_rows(const struct gemm_product *p) {
    return (p->n == 1 && !gemm_leading_is_odd(p->ldb, p->k)) || (p->k == 1 && p->ldb == 1);
}

/* The same with that B by rows. */
static inline struct gemm_product gemm_by_rows(const struct gemm_product *p) {
    struct gemm_product q = *p;

    q.b_columns = false;
    q.ldb = p->n;
    return q;
}

static inline struct gemm_product gemm_product_of(const struct gemm_shape *s) {
    const bool rows = s->layout == UK_ROW_MAJOR;
    const struct gemm_product p = {
        .m = rows ? s->m : s->n,
        .n = rows ? s->n : s->m,
        .k = s->k,
        .lda = rows ? s->lda : s->ldb,
        .ldb = rows ? s->ldb : s->lda,
        .ldc = s->ldc,
        .a_columns = (rows ? s->ta : s->tb) == UK_TRANSPOSE,
        .b_columns = (rows ? s->tb : s->ta) == UK_TRANSPOSE,
    };

    return p.b_columns && gemm_is_by_rows(&p) ? gemm_by_rows(&p) : p;
}

/* Whether a few columns at a time keep what they need near: their part of B in half of the first cache, all operands in
 * most of the second. A call has to have two lines of a row of C then: one, with AVX2, is dearer than B from the second
 * cache. And rows that are one group of two vectors, but not of four, go through B once along C. */
static inline bool gemm_is_near(const struct gemm_type *t, int64_t m, int64_t n, int64_t k) {
    const struct gemm_direct *d = &t->direct[0][GEMM_WIDE / t->size];

    return d->pieces && d->piece[0].kernel->nr * t->size >= 2 * GEMM_VECTOR &&
           (m > GEMM_TALL || m <= GEMM_LOW) && k * GEMM_WIDE <= t->few_rows * t->way &&
           m * n + n * k + m * k <= 3 * t->near;
}

/* Whether many columns are computed a few rows at a time, along C's rows: if C has no room in the last cache, so that where
 * it comes from and goes to is memory, or that cache is far, it is needed, and the rows of B, which all rows of C read
 * again, can stay in half of the second one's sets. Else a few columns at a time are faster. */
static inline bool gemm_goes_by_rows(const struct gemm_type *t, int64_t m, int64_t n, int64_t k,
                                     int64_t ldb) {
    const int64_t stride = ldb * t->size, step = stride & -stride; /* the power of two in it */

    return n >= t->many &&
           (m * n > t->last || (t->last_is_far && !gemm_is_near(t, m, n, k) &&
                                k * (step < t->second_way ? step : t->second_way) <= 2 * t->near * t->size));
}

/* Whether rows of C, or of B, have so few sets of the first cache, for all of them, that what a tile has of both hardly stays
 * there together: four, or of few rows two. */
static inline bool gemm_shares_sets(const struct gemm_type *t, int64_t ld, int sets) {
    return !(ld * t->size & (t->way / sets - 1));
}

/* Whether kernels that go along rows of C ask for it, and for B: its lines stay in the first cache until they are needed. */
static inline bool gemm_asks_along_rows(const struct gemm_type *t, const struct gemm_product *p) {
    return t->last_is_far && !gemm_shares_sets(t, p->ldb, 4) && !gemm_shares_sets(t, p->ldc, 4);
}

/* Whether many columns are computed a panel of two vectors at a time, all rows of C for each: if the rows of B share sets, so
 * that what is asked for, and a few columns even while a few rows go through them, falls out unread, and there are steps
 * enough that lines of C, each in a page of its own, come in time. Measured on Emerald Rapids, rows 1 to 16 KB apart: 33 to 500
 * rows by 48 to 128 steps 1 to 12 % faster than along rows, nine at a time, and than tiles; 1000 rows 1 % slower. */
static inline bool gemm_goes_by_panels(const struct gemm_type *t, const struct gemm_product *p) {
    enum { ROWS_MOST = 512 };

    return t->last_is_far && t->panel_first && !p->a_columns && !p->b_columns && p->n >= t->many &&
           p->m > 2 * GEMM_TALL && p->m <= ROWS_MOST && p->k > 3 * GEMM_TALL &&
           p->k * 2 * GEMM_VECTOR <= GEMM_TURNED && gemm_shares_sets(t, p->ldb, 4);
}

/* The bytes for what is copied of B at a time; 0: it is read in place. */
static inline int64_t gemm_direct_copy(const struct gemm_type *t, const struct gemm_product *p) {
    if (gemm_goes_by_panels(t, p))
        return p->k * 2 * GEMM_VECTOR;
    if (!p->b_columns || gemm_is_by_rows(p))
        return 0;
    /* Of all columns: up to two vectors; or an even number, and one to keep rows out of the same sets. */
    const uint64_t vectors = ((uint64_t)(p->n * t->size) + GEMM_VECTOR - 1) / GEMM_VECTOR;
    const int64_t all = p->k * GEMM_VECTOR * (int64_t)(vectors <= 2 ? vectors : (vectors + 1) | 1);

    return all < GEMM_TURNED ? all : GEMM_TURNED;
}

/* Whether a product is a small one, were it not for its work, on one thread: C comes and goes while there is little to
 * compute, up to twice as many steps as a tile has rows, after which its part of B is more than that of C. A few columns at
 * a time read A again and again, from the second cache. Along rows of a C that is asked for there may be more steps: tiles,
 * for which B is packed, took Emerald Rapids 1 to 12 % longer where k is 29 to 64, and not where it is 96. */
static inline bool gemm_is_update(const struct gemm_type *t, const struct gemm_product *p) {
    enum { ASKED_MOST = 64 };

    if (!uk_is_alone() || p->b_columns || p->n < t->many)
        return false;
    if ((p->k <= 2 * GEMM_TALL && p->m * p->k <= t->near) || gemm_goes_by_panels(t, p))
        return true;
    return (p->k <= 2 * GEMM_TALL || (p->k <= ASKED_MOST && gemm_asks_along_rows(t, p))) &&
           gemm_goes_by_rows(t, p->m, p->n, p->k, p->ldb);
}

/* Whether A, B and C are more than stays in the second cache, wherever their pages lie in it, and rows of A come from far
 * behind it: kernels then ask for them. */
static inline bool gemm_comes_from_afar(const struct gemm_type *t, const struct gemm_product *p) {
    return t->last_is_far && !p->a_columns && 2 * (p->m * p->k + p->n * p->k + p->m * p->n) > 5 * t->near;
}

/* Whether a product whose work is not small has one kernel of several vectors, which asks for rows of A from afar, or more
 * of which such a one is the first. */
static inline bool gemm_asks_for_rows(const struct gemm_type *t, const struct gemm_product *p) {
    return uk_is_alone() && t->last_is_far && !p->a_columns && !p->b_columns && p->n < t->many &&
           t->direct[0][p->n].piece[0].kernel->nr * t->size >= 2 * GEMM_VECTOR;
}

/* Whether columns of B are turned two vectors at a time, by vectors of GEMM_VECTOR. */
static inline bool gemm_turns_wide(const struct gemm_type *t) {
    return t->turn->mr * t->size > GEMM_VECTOR;
}

/* Those of n columns, or of the widest part of them. */
static inline const struct gemm_direct *gemm_direct_at(const struct gemm_type *t, bool a_columns, int64_t n) {
    return &t->direct[a_columns][n < t->many ? n : GEMM_WIDE / t->size];
}

/* Those for so many rows and steps; but of one kernel there are no others, which need not be asked for. */
static inline const struct gemm_direct *gemm_direct_of(const struct gemm_direct *d, int64_t m, int64_t k) {
    return d->tall && m >= d->tall_rows && k >= d->tall_steps ? d->tall : d;
}

/* ---- dots.c ---- */

/* Of fewer k they would be trees for the most part. */
enum { GEMM_DOTS_LEAST = 48 };
/* Whether inner products take the least time: of rows of A and columns of B, both contiguous, lda and ldb apart. */
bool uk_gemm_suits_dots(const struct gemm_type *t, int64_t m, int64_t n, int64_t k, int64_t lda, int64_t ldb);
/* The same if one has to be turned first: A, or B; the other's are ld apart. */
bool uk_gemm_suits_turned_dots(const struct gemm_type *t, int64_t m, int64_t n, int64_t k, int64_t ld,
                               bool turns_a);
double uk_gemm_dots_cycles(const struct gemm_type *t, int64_t m, int64_t n, int64_t k, int64_t lda,
                           int64_t ldb);
/* Sums of so many k at a time. */
int64_t uk_gemm_dots_block(const struct gemm_type *t, int64_t m, int64_t k);

/* ---- direct.c ---- */

/* Whether a B by columns of GEMM_DOTS_LEAST steps or more, up to GEMM_WIDTHS, is turned for a small product's kernels. */
bool uk_gemm_turns_long(const struct gemm_type *t, const struct gemm_product *p);
/* The kernels of a product of k >= GEMM_WIDTHS, if it is a small one. */
const struct gemm_direct *uk_gemm_direct_for_stream(const struct gemm_type *t, const struct gemm_product *p);
/* Whether it is one for some number of threads: its k then is in one block whatever way it takes. */
bool uk_gemm_is_whole(const struct gemm_type *t, const struct gemm_product *p);

/* Returns 0 where the condition does not hold. One test after another: compilers would make sums and vectors of several,
 * which takes longer than the smallest products. */
#define GEMM_REQUIRE(condition) \
    do {                        \
        if (!(condition))       \
            return 0;           \
        __asm__ volatile("");   \
    } while (0)

/* What a resolved call of a small product comes to. */
typedef int gemm_resolved(const struct uk_small_call *s, const void *a, const void *b, void *c, int acc);

/* The kernels of this product, whose type's tables are ready; NULL: it is no small one, or its sizes are wrong. */
static inline __attribute__((always_inline)) const struct gemm_direct *
gemm_direct_for(const struct gemm_type *t, const struct gemm_product *p) {
    enum { VECTOR_MOST = 256, VECTOR_STEPS = 20, TURN_LANE = 16 };
    const int64_t n = p->n, k = p->k, m = p->m;

    GEMM_REQUIRE((uint64_t)(n - 1) < GEMM_MOST);
    if ((uint64_t)(k - 1) >= GEMM_WIDTHS - 1) {
        const struct gemm_product copy = *p; /* p itself stays in registers */

        return uk_gemm_direct_for_stream(t, &copy);
    }
    GEMM_REQUIRE((uint64_t)(m - 1) < GEMM_MOST);
    if (m * n * k > GEMM_WORK_MOST && (m * n * k > GEMM_WORK_ALONE || !uk_is_alone()))
        GEMM_REQUIRE(gemm_is_update(t, p) || gemm_asks_for_rows(t, p));
    GEMM_REQUIRE(!gemm_leading_is_odd(p->lda, p->a_columns ? m : k));
    GEMM_REQUIRE(!gemm_leading_is_odd(p->ldb, p->b_columns ? k : n));
    GEMM_REQUIRE(!gemm_leading_is_odd(p->ldc, n));
    if (m == 1 || n == 1) {
        GEMM_REQUIRE(m * n * k <= VECTOR_MOST && (k <= VECTOR_STEPS || (n > 1 && !p->b_columns)));
        if (n > 1 && p->b_columns && t->turn)
            GEMM_REQUIRE(gemm_turns_wide(t) || k * t->size < TURN_LANE);
    }
    if (p->b_columns)
        GEMM_REQUIRE(gemm_is_by_rows(p) || (t->turn && (k < GEMM_DOTS_LEAST || uk_gemm_turns_long(t, p))));
    if (!p->a_columns && !(p->lda * t->size & (t->way - 1)))
        GEMM_REQUIRE(m <= t->few_rows);
    const struct gemm_direct *d = gemm_direct_at(t, p->a_columns, n);

    if (n <= GEMM_FEW_COLUMNS && m <= GEMM_FEW_COLUMNS)
        d = &t->direct_few[p->a_columns][n];

    return d->pieces ? d : NULL;
}

/* The columns that a few rows at a time take in one call: of the kernels of two vectors or more those of the one that goes
 * through B least often, and of such the widest. Where the last cache is far, and rows of C as long as two pages share sets
 * of the first one: a kernel of no more rows than it has ways, if groups are three or more. */
int uk_gemm_direct_width(const struct gemm_type *t, bool a_columns, int64_t m, int64_t ldc);

/* How many columns of a B by columns are turned at a time, at least two vectors if k is 256 or less, and how far apart the rows
 * of that many are: no power of two, of which few sets of the first cache would have them all, but of so many k that they
 * fill it. */
int64_t uk_gemm_turned_columns(const struct gemm_type *t, int64_t n, int64_t k, bool by_rows);
int64_t uk_gemm_turned_leading(const struct gemm_type *t, int64_t columns, int64_t k);

/* What a plan's kernels need beside the operands. */
void uk_gemm_direct_prepare(struct gemm_plan *plan, const struct gemm_product *p);

/* Finds the kernels for all numbers of columns. */
void uk_gemm_direct_fill(struct gemm_type *t);

#endif
