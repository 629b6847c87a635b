/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products with a column-major B as inner products: which, and what they cost.
 *
 * Other kernels have a vector of columns of B, or of rows of A if C is transposed: with few columns or rows
 * some lanes, or most, are unused, a k iteration takes the latency of its sums at least, and one operand is
 * transposed. Vectors along k are full, whatever m and n are, but their lanes have to be added up (TREE cycles
 * for each group of rows), and where rows or columns do not begin with lines each load may cost more (split in
 * cost.h). If one operand is not contiguous along k, but has few columns or rows, it is transposed into the
 * workspace.
 *
 * This decision is part of every small product's time: it has no divisions, and its arguments are in registers.
 */
#include "cost.h"
#include "direct.h"

enum { TREE = 45, PLAN = 500 };
/* Cycles per byte that is transposed, of operands in L1 or L2; and the factor by which inner products of
 * operands in a far last-level cache take longer: blocks of four rows or columns are more streams than panels. */
static const double TRANSPOSE = 0.12, FAR = 1.45;
/* Cycles per byte of transposing a few columns of a row-major B, or rows of a column-major A, an element at a
 * time; and cycles of the plan that this requires. */
static const double COPY = 0.4;

static double vectors(const struct gemm_type *t, int64_t n) {
    return (double)((n + (1 << t->nt_shift) - 1) >> t->nt_shift);
}

static double cycles(const struct gemm_type *t, int64_t m, int64_t n, int64_t k, int64_t lda, int64_t ldb,
                     double crossing) {
    const double groups = t->nt->mr == 4 ? (double)((m + 3) / 4) : (double)m / 3 + 0.5,
                 fours = (double)((n + 3) / 4);
    const double a = lda * t->size % GEMM_LINE ? crossing * (double)m : 0,
                 b = ldb * t->size % GEMM_LINE ? crossing * groups * 4 : 0;
    const bool is_far = (m + n) * k > 4 * t->near;

    return (is_far ? FAR : 1) * fours *
           (vectors(t, k) * (4 * t->fma_cycles * (double)m + a + b) + groups * TREE);
}

double uk_gemm_dots_cycles(const struct gemm_type *t, int64_t m, int64_t n, int64_t k, int64_t lda,
                           int64_t ldb) {
    return cycles(t, m, n, k, lda, ldb, t->figures->split);
}

/* Cycles by kernels with vectors of columns, B in place or transposed first. */
static double columns_cycles(const struct gemm_type *t, int64_t rows, int64_t columns, int64_t k,
                             bool transposed) {
    const double multiply = (double)rows * vectors(t, columns) * t->fma_cycles;

    return (double)k * ((multiply < t->fma_latency ? t->fma_latency : multiply) +
                        (transposed ? TRANSPOSE * (double)columns * t->size : 0));
}

bool uk_gemm_suits_dots(const struct gemm_type *t, int64_t m, int64_t n, int64_t k, int64_t lda,
                        int64_t ldb) {
    if (!t->nt || k < GEMM_DOTS_LEAST || m < 2 || n < 2 || (m | n | k) >= GEMM_MOST)
        return false;
    const double rows = columns_cycles(t, m, n, k, true), columns = columns_cycles(t, n, m, k, true),
                 least = rows < columns ? rows : columns;

    return cycles(t, m, n, k, lda, ldb, 0) < least && uk_gemm_dots_cycles(t, m, n, k, lda, ldb) < least;
}

/* For at most nr columns of B: with more, other kernels use half vectors. The copy takes as long as 4 to 8 rows of those. */
bool uk_gemm_suits_transposed_dots(const struct gemm_type *t, int64_t m, int64_t n, int64_t k, int64_t ld,
                                   bool transposes_a) {
    const int64_t few = transposes_a ? m : n, many = transposes_a ? n : m;

    if (!t->nt || k < GEMM_WIDTHS || few < 2 || many < 8 * few || (m | n | k) >= GEMM_MOST ||
        (transposes_a ? 2 * m > 1 << t->nt_shift : n > t->nt->nr))
        return false;
    const int64_t leading = uk_gemm_leading(k, t->size), lda = transposes_a ? leading : ld,
                  ldb = transposes_a ? ld : leading;
    const double transposing = PLAN + COPY * (double)(few * k) * t->size;
    const double rows = columns_cycles(t, m, n, k, transposes_a), columns = columns_cycles(t, n, m, k, false),
                 least = (transposes_a && columns < rows ? columns : rows) - transposing;

    return cycles(t, m, n, k, lda, ldb, 0) < least && uk_gemm_dots_cycles(t, m, n, k, lda, ldb) < least;
}

int64_t uk_gemm_dots_block(const struct gemm_type *t, int64_t m, int64_t k) {
    const int64_t most = 8192 / t->size;

    if (m <= t->nt->mr || k <= most)
        return k;
    return gemm_parts(gemm_parts(k, gemm_parts(k, most)), 16) * 16;
}
