/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Small products: a few kernels, each with all rows of its columns, that read A and B in place. Which
 * products they are is decided here, for calls and plans alike; those of more than one call of each kernel
 * are planned by small.c.
 *
 * Which products. Nothing is packed, and nothing but the calls is paid beside the multiply-adds, while
 *   - k <= 128, so that the columns of B and the rows of A that are multiplied together stay in L1 and L2; or
 *     columns are few and all operands stay in half of L2, or the estimate (small_cost.c) says that tiles
 *     take longer. Many columns are computed a few vectors at a time, each for all rows of C, or a few rows
 *     of C at a time, each for all columns: what is estimated to take less;
 *   - those rows do not share sets: they are not a multiple of L1's way apart, unless they are few;
 *   - rows of B are contiguous: a kernel loads vectors of them. A may be row-major or column-major. A
 *     column-major B is transposed, as many columns at a time as stay in L1;
 *   - one thread is enough: a second one is worth waking from GEMM_TASK cycles on. On one thread, from
 *     GEMM_WORK_ALONE multiply-adds on, tiles are estimated to take longer;
 *   - it is not a long matrix-vector product. Those, m = 1 or n = 1, are bound by memory, and summed in an
 *     order of their own; their kernels, which start with more sums, are faster from GEMM_VECTOR_MOST
 *     elements on,
 *     and from GEMM_VECTOR_ITERATIONS on if the vector is along k, or B column-major: a sum waits 4 cycles
 *     for each
 *     k iteration. With AVX2, transposing such a B takes longer than inner products from GEMM_TRANSPOSE_LANE
 *     k
 *     iterations on.
 * Which kernels: for n columns those whose cycles are least, as direct.c estimates them once from
 * kernels.def.
 *
 * Every element is one sum in the order of k, to which C is added last, as in all tiles of a block of k. So
 * results have the same bits as those of a plan, which is made where an operand is packed beforehand, for
 * alpha, and for epilogues. Inner products (dots.c) are none of these: they have a sum for each lane of a
 * vector, with or without a plan.
 */
#ifndef GEMM_DIRECT_H
#define GEMM_DIRECT_H

#include "gemm.h"

/* Bytes: of a vector; of the columns that are computed together where there are many. */
enum { GEMM_VECTOR = 64, GEMM_WIDE = 4 * GEMM_VECTOR };

/* The row-major product of a call: column-major ones are C' = B' A'. */
struct gemm_product {
    int64_t m, n, k, lda, ldb, ldc;
    bool a_columns, b_columns; /* column-major */
};

/* The product of a plan. */
static inline struct gemm_product gemm_product_of_plan(const struct gemm_plan *plan) {
    const bool a_columns = plan->a_step != 1, b_columns = plan->b_column != 1;

    return (struct gemm_product){.m = plan->m,
                                 .n = plan->n,
                                 .k = plan->k,
                                 .lda = a_columns               ? plan->a_step
                                        : plan->a_row < plan->k ? plan->k /* the only row */
                                                                : plan->a_row,
                                 .ldb = b_columns ? plan->b_column : plan->b_step,
                                 .ldc = plan->ldc,
                                 .a_columns = a_columns,
                                 .b_columns = b_columns};
}

/* Whether a leading dimension is too small, or so large that addresses may overflow: the caller then makes a
 * plan, which says which. */
static inline bool gemm_leading_is_invalid(int64_t ld, int64_t length) {
    return (uint64_t)(ld - length) >> 30;
}

/* Whether a column-major B is row-major as well: a single column, or a row whose elements are contiguous. */
static inline bool gemm_is_by_rows(const struct gemm_product *p) {
    return (p->n == 1 && !gemm_leading_is_invalid(p->ldb, p->k)) || (p->k == 1 && p->ldb == 1);
}

/* The same product with B as row-major. */
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

/* Whether columns of B are transposed two vectors at a time, the vectors being of GEMM_VECTOR bytes. */
static inline bool gemm_transposes_wide(const struct gemm_type *t) {
    return t->transpose->mr * t->size > GEMM_VECTOR;
}

/* The kernel that transposes n columns of B, of one or two vectors of them. */
static inline const struct uk_kernel *gemm_few_transpose(const struct gemm_type *t, int64_t n) {
    return t->transpose_few[n > t->transpose_few[0]->mr];
}

/* Whether a product is more than one call of each of its kernels, or may be. */
static inline bool gemm_needs_plan(const struct gemm_type *t, const struct gemm_product *p) {
    return p->b_columns || p->n >= t->blocked_columns || p->m * p->k > t->l2_quarter / 4;
}

/* The kernels of n columns, or of the widest part of them. */
static inline const struct gemm_direct *gemm_direct_at(const struct gemm_type *t, bool a_columns, int64_t n) {
    return &t->direct[a_columns][n < t->blocked_columns ? n : GEMM_WIDE / t->size];
}

/* The same for that many rows. */
static inline const struct gemm_direct *gemm_direct_for(const struct gemm_type *t, bool a_columns, int64_t m,
                                                        int64_t n) {
    return n <= GEMM_FEW_COLUMNS && m <= GEMM_FEW_COLUMNS ? &t->direct_few_rows[a_columns][n]
                                                          : gemm_direct_at(t, a_columns, n);
}

/* Those kernels, or the ones for that many rows and k iterations. */
static inline const struct gemm_direct *gemm_direct_of(const struct gemm_direct *d, int64_t m, int64_t k) {
    return d->many_rows && m >= d->many_rows_from && k >= d->many_iterations_from ? d->many_rows : d;
}

/* ---- dots.c ---- */

/* Whether inner products take the least time: of rows of A and columns of B, both contiguous, lda and ldb
 * apart. */
bool uk_gemm_suits_dots(const struct gemm_type *t, int64_t m, int64_t n, int64_t k, int64_t lda, int64_t ldb);
/* The same if one operand, A or B, has to be transposed first; rows or columns of the other one are ld apart.
 * */
bool uk_gemm_suits_transposed_dots(const struct gemm_type *t, int64_t m, int64_t n, int64_t k, int64_t ld,
                                   bool transposes_a);
double uk_gemm_dots_cycles(const struct gemm_type *t, int64_t m, int64_t n, int64_t k, int64_t lda,
                           int64_t ldb);
/* How many k iterations are summed at a time. */
int64_t uk_gemm_dots_block(const struct gemm_type *t, int64_t m, int64_t k);

/* ---- small.c ---- */

/* Whether a product on one thread is computed as a small one although it has more multiply-adds than those.
 * */
bool uk_gemm_small_beyond(const struct gemm_type *t, const struct gemm_product *p);
/* Whether a column-major B is transposed for a small product's kernels where k is between GEMM_DOTS_LEAST and
 * GEMM_WIDTHS. */
bool uk_gemm_transposes_long(const struct gemm_type *t, const struct gemm_product *p);
/* The kernels of a product of k >= GEMM_WIDTHS, if it is a small one. */
const struct gemm_direct *uk_gemm_small_of_long_sums(const struct gemm_type *t, const struct gemm_product *p);
/* Whether it is a small product for some number of threads: its k is then in one block for every number of
 * threads, so that results do not depend on that number. */
bool uk_gemm_is_whole(const struct gemm_type *t, const struct gemm_product *p);
/* How a small product is computed. */
void uk_gemm_small_plan(const struct gemm_type *t, const struct gemm_product *p, struct gemm_small *w);
/* Runs the plan of one, alpha being 1 and without an epilogue. */
void uk_gemm_run_small(const struct gemm_plan *plan, const void *a, const void *b, double beta, void *c,
                       void *workspace);

/* ---- small_cost.c ---- */

/* Cycles of one core for the product as planned; copying B is not among them. */
double uk_gemm_small_cost(const struct gemm_type *t, const struct gemm_product *p,
                          const struct gemm_small *w);

/* ---- small_run.c ---- */

/* Computes a product as planned. The workspace may be NULL. */
void uk_gemm_small_f32(const struct gemm_small *w, const struct gemm_product *p, const void *a, const void *b,
                       double beta, void *c, void *workspace);
void uk_gemm_small_f64(const struct gemm_small *w, const struct gemm_product *p, const void *a, const void *b,
                       double beta, void *c, void *workspace);

/* Returns 0 where the condition does not hold. One test after another: compilers would combine several in
 * vectors, which takes longer than the smallest products. */
#define GEMM_REQUIRE(condition) \
    do {                        \
        if (!(condition))       \
            return 0;           \
        __asm__ volatile("");   \
    } while (0)

/* The kernels of this product, whose type's tables are ready; NULL: it is not a small product, or its sizes
 * are invalid. */
static inline __attribute__((always_inline)) const struct gemm_direct *
gemm_small_for(const struct gemm_type *t, const struct gemm_product *p) {
    const int64_t n = p->n, k = p->k, m = p->m;

    GEMM_REQUIRE((uint64_t)(n - 1) < GEMM_MOST);
    if ((uint64_t)(k - 1) >= GEMM_WIDTHS - 1) {
        const struct gemm_product copy = *p; /* so that p itself stays in registers */

        return uk_gemm_small_of_long_sums(t, &copy);
    }
    GEMM_REQUIRE((uint64_t)(m - 1) < GEMM_MOST);
    GEMM_REQUIRE(!gemm_leading_is_invalid(p->lda, p->a_columns ? m : k));
    GEMM_REQUIRE(!gemm_leading_is_invalid(p->ldb, p->b_columns ? k : n));
    GEMM_REQUIRE(!gemm_leading_is_invalid(p->ldc, n));
    if (m == 1 || n == 1) {
        GEMM_REQUIRE(m * n * k <= GEMM_VECTOR_MOST &&
                     (k <= GEMM_VECTOR_ITERATIONS || (n > 1 && !p->b_columns)));
        if (n > 1 && p->b_columns && t->transpose)
            GEMM_REQUIRE(gemm_transposes_wide(t) || k * t->size < GEMM_TRANSPOSE_LANE);
    }
    if (p->b_columns)
        GEMM_REQUIRE(gemm_is_by_rows(p) ||
                     (t->transpose && (k < GEMM_DOTS_LEAST || uk_gemm_transposes_long(t, p))));
    if (!p->a_columns && !(p->lda * t->size & (t->l1_way_bytes - 1)))
        GEMM_REQUIRE(m <= t->few_rows);
    const struct gemm_direct *d = gemm_direct_for(t, p->a_columns, m, n);

    GEMM_REQUIRE(d->column_splits);
    if (m * n * k > t->work_most && (m * n * k > GEMM_WORK_ALONE || !uk_is_alone())) {
        const struct gemm_product copy = *p; /* so that p itself stays in registers */

        GEMM_REQUIRE(uk_gemm_small_beyond(t, &copy));
    }
    return d;
}

/* ---- direct.c ---- */

/* Cycles of the instructions of m rows and the kernels' own columns; rows of B are ldb elements apart. */
double uk_gemm_direct_cycles(const struct gemm_type *t, const struct gemm_direct *d, int64_t m, int64_t ldb,
                             int64_t k);
/* Finds the kernels for all numbers of columns. */
void uk_gemm_direct_fill(struct gemm_type *t);

#endif
