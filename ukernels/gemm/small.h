/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The path of small products: a few kernels, each of which computes all rows of its columns in one call,
 * and reads A and B in place.
 *
 * A product is computed so if all of these hold:
 *
 *   - k < GEMM_WIDTHS, so that the columns of B and the rows of A that are multiplied together stay in L1 and
 *     L2. Or columns are few, and all operands stay in half of L2 or tiles take longer by the estimate
 *     (small_cost.c).
 *   - Rows of A do not share sets of L1 (gemm_rows_share_sets).
 *   - Rows of B are contiguous, as a kernel loads vectors of them. A may be row-major or column-major. A
 *     column-major B is transposed, as many columns at a time as stay in L1.
 *   - It is not a long matrix-vector product, m = 1 or n = 1. Those are bound by memory, and have kernels
 *     with more sums, which are faster beyond GEMM_VECTOR_MOST multiply-adds; beyond GEMM_VECTOR_ITERATIONS
 *     k iterations if n = 1 or B is column-major, since a sum waits for the latency of a multiply-add in each
 *     k iteration. With vectors of 32 bytes, transposing a column-major B takes longer than inner products
 *     from GEMM_TRANSPOSE_LANE bytes along k on.
 *   - One thread is enough. Otherwise tiles divide the work.
 *
 * small_kernels.c chooses the kernels for each number of columns, once, by estimates from kernels.def.
 *
 * Each element is one sum in the order of k, to which C is added last, as in tiles with k in one block.
 */
#ifndef GEMM_SMALL_H
#define GEMM_SMALL_H

#include "gemm.h"

/* Bytes of the widest vector, and of a row of a block of columns (gemm_small.width). */
enum { GEMM_VECTOR = 64, GEMM_WIDE = 4 * GEMM_VECTOR };

/* The kernel that transposes n columns of B, which are at most two vectors. */
static inline const struct uk_kernel *gemm_few_transpose(const struct gemm_type *t, int64_t n) {
    return t->transpose_few[n > t->transpose_few[0]->mr];
}

/* The kernels for n columns; from blocked_columns on, those for a block of columns. */
static inline const struct gemm_direct *gemm_direct_at(const struct gemm_type *t, bool a_columns, int64_t n) {
    return &t->direct[a_columns][n < t->blocked_columns ? n : GEMM_WIDE / t->size];
}

/* The kernels for m rows and n columns: few rows may have kernels of their own. */
static inline const struct gemm_direct *gemm_direct_for(const struct gemm_type *t, bool a_columns, int64_t m,
                                                        int64_t n) {
    return n <= GEMM_FEW_COLUMNS && m <= GEMM_FEW_COLUMNS ? &t->direct_few_rows[a_columns][n]
                                                          : gemm_direct_at(t, a_columns, n);
}

/* The kernels d, or those that replace them for m rows and k iterations. */
static inline const struct gemm_direct *gemm_direct_of(const struct gemm_direct *d, int64_t m, int64_t k) {
    return d->many_rows && m >= d->many_rows_from && k >= d->many_iterations_from ? d->many_rows : d;
}

/* ---- small_cost.c ---- */

/* Cycles of one core for the product as planned, without those of copying B. */
double uk_gemm_small_cost(const struct gemm_product *p, const struct gemm_small *w);

/* ---- small_run.c ---- */

/* Prepares the calls of a plan of the path of small products, if its kernels compute all rows and columns
 * without a copy of B; other plans stay as they are. */
void uk_gemm_prepare_small(struct gemm_prepared *plan);
/* Computes a product as planned; alpha is not 0. The workspace may be NULL: fewer columns are then copied at
 * a time, on the stack. */
void uk_gemm_run_small(const struct gemm_small *w, const struct gemm_product *p,
                       const struct gemm_operands *o, void *workspace);

/* ---- small_kernels.c ---- */

/* Cycles of the instructions for m rows and all columns of the kernels d; rows of B are ldb elements apart.
 */
double uk_gemm_direct_cycles(const struct gemm_type *t, const struct gemm_direct *d, int64_t m, int64_t ldb,
                             int64_t k);
/* Sets the fields of a type that only this path uses: the kernels for all numbers of columns. */
void uk_gemm_direct_fill(struct gemm_type *t);

/* True if a product of k < GEMM_WIDTHS may be a small one; beyond GEMM_WORK_ALONE multiply-adds an estimate
 * decides. t: the product's type, which has been looked up. Matrix-vector products of another path are
 * refused early, as their calls may be short too. */
static inline __attribute__((always_inline)) bool gemm_is_small(const struct gemm_type *t,
                                                                const struct gemm_product *p) {
    const int64_t n = p->n, k = p->k, m = p->m;

    GEMM_REQUIRE((uint64_t)(n - 1) < GEMM_MOST);
    GEMM_REQUIRE((uint64_t)(k - 1) < GEMM_WIDTHS - 1);
    GEMM_REQUIRE((uint64_t)(m - 1) < GEMM_MOST);
    if (m == 1 || n == 1) {
        GEMM_REQUIRE(m * n * k <= GEMM_VECTOR_MOST &&
                     (k <= GEMM_VECTOR_ITERATIONS || (n > 1 && !p->b_columns)));
        if (n > 1 && p->b_columns && t->transpose && t->transpose->mr * t->size <= GEMM_VECTOR)
            GEMM_REQUIRE(k * t->size < GEMM_TRANSPOSE_LANE);
    }
    GEMM_REQUIRE(!gemm_leading_is_invalid(p->lda, p->a_columns ? m : k));
    GEMM_REQUIRE(!gemm_leading_is_invalid(p->ldb, p->b_columns ? k : n));
    GEMM_REQUIRE(!gemm_leading_is_invalid(p->ldc, n));
    GEMM_REQUIRE(!p->b_columns || gemm_b_is_rows(p) || t->transpose);
    GEMM_REQUIRE(p->a_columns || !gemm_rows_share_sets(t, m, p->lda));
    GEMM_REQUIRE(gemm_direct_for(t, p->a_columns, m, n)->column_splits);
    return true;
}

/* Computes C = A B, or C += A B if `adds` is not 0, by the kernels d in one call each. Inlined, so that
 * t->size is a constant if t is. */
static inline __attribute__((always_inline)) void
gemm_run_direct(const struct gemm_type *t, const struct gemm_direct *d, const struct gemm_product *p,
                const void *a, const void *b, int64_t ldb, int adds, void *c, int64_t ldc) {
    struct uk_small_call s;
    int64_t n = p->n;

    d = gemm_direct_of(d, p->m, p->k);
    const int last = d->column_splits - 1;

    for (int i = 0; i < last; i++) {
        const int columns = d->column_split[i].columns;

        d->column_split[i].prepare(&s, p->k, p->lda, ldb, ldc, p->m, columns);
        s.run(&s, a, b, c, adds);
        b = (const char *)b + columns * t->size;
        c = (char *)c + columns * t->size;
        n -= columns;
    }
    d->column_split[last].prepare(&s, p->k, p->lda, ldb, ldc, p->m, n);
    s.run(&s, a, b, c, adds);
}

#endif
