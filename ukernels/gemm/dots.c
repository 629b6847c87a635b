/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The path of products computed as inner products of rows of A and columns of B, both contiguous, by vectors
 * along k.
 *
 * - Kernels of other paths have vectors of columns of B (of rows of A if C is transposed). With few
 *   columns or rows most lanes are unused, a k iteration takes at least the latency of its sums, and one
 *   operand has to be transposed.
 * - Vectors along k are full, whatever m and n are. But their lanes have to be added up (GEMM_TREE cycles per
 *   group of rows), and loads may cross cache lines unless rows and columns begin at one (uk_core.split).
 *
 * An operand of few columns or rows that is not contiguous along k is transposed into the workspace.
 */
#include <math.h>
#include "pack.h"
#include "small.h"

static double vectors(const struct gemm_type *t, int64_t n) {
    return (double)uk_ceil_div(n, t->nt_lanes);
}

/* Elements from row to row of A, and from column to column of B, as the kernel reads them. */
static int64_t row_stride(const struct gemm_product *p) {
    return p->a_columns ? uk_gemm_leading(p->k, p->type->size) : p->lda;
}

static int64_t column_stride(const struct gemm_product *p) {
    return p->b_columns ? p->ldb : uk_gemm_leading(p->k, p->type->size);
}

/* Groups of rows of a call of the kernel. Kernels whose mr is no power of two end with a group of one or two
 * rows, the lanes of which are added up in fewer cycles: the mean over all m. */
static double groups_of(const struct gemm_type *t, int64_t m) {
    const int mr = t->nt->mr;

    return mr & (mr - 1) ? ((double)m + (double)mr / 2) / mr : (double)uk_ceil_div(m, mr);
}

static double dots_cycles(const struct gemm_product *p) {
    const struct gemm_type *t = p->type;
    const double crossing = t->machine->core.split, groups = groups_of(t, p->m);
    const int nr = t->nt->nr;
    const double a = row_stride(p) * t->size % GEMM_LINE ? crossing * (double)p->m : 0,
                 b = column_stride(p) * t->size % GEMM_LINE ? crossing * groups * nr : 0;
    const bool is_far = (p->m + p->n) * p->k > 4 * t->l2_quarter;

    return (is_far ? GEMM_STREAMS : 1) * (double)uk_ceil_div(p->n, nr) *
           (vectors(t, p->k) * (nr * t->fma_cycles * (double)p->m + a + b) + groups * GEMM_TREE);
}

/* Cycles of kernels with vectors of columns, B in place or transposed first. */
static double columns_cycles(const struct gemm_type *t, int64_t rows, int64_t columns, int64_t k,
                             bool transposed) {
    const double multiply = (double)rows * vectors(t, columns) * t->fma_cycles;

    return (double)k * (uk_max_real(multiply, t->fma_latency) +
                        (transposed ? GEMM_TRANSPOSING * (double)columns * t->size : 0));
}

/* The path is taken if it takes fewer cycles than those that add the terms in another order. If one operand
 * is transposed first, it has few rows or columns, at most nr columns of B: with more, other kernels use half
 * vectors. The copy takes as long as 4 to 8 rows of those. */
static double cycles(struct gemm_plan *plan) {
    const struct gemm_product *p = &plan->product;
    const struct gemm_type *t = p->type;
    const int64_t m = p->m, n = p->n, k = p->k, few = p->a_columns ? m : n, many = p->a_columns ? n : m;
    const bool transposes = p->a_columns == p->b_columns;

    if (!t->nt || (p->a_columns && !p->b_columns) || m < 2 || n < 2)
        return HUGE_VAL;
    if (!plan->is_wanted &&
        ((m | n | k) >= GEMM_MOST || k < (transposes ? GEMM_WIDTHS : GEMM_DOTS_LEAST) ||
         (transposes && (many < 8 * few || (p->a_columns ? 2 * m > t->nt_lanes : n > t->nt->nr)))))
        return HUGE_VAL;
    const double rows = columns_cycles(t, m, n, k, p->a_columns || !transposes),
                 columns = columns_cycles(t, n, m, k, !transposes),
                 others = p->b_columns ? uk_min_real(rows, columns) : rows,
                 copy = transposes ? GEMM_TRANSPOSING * (double)(few * k) * t->size : 0;

    const double own = dots_cycles(p);

    plan->is_certain = true;
    return plan->is_wanted || own < others - copy ? own : HUGE_VAL;
}

/* k iterations that are summed at a time: rows and columns stay in L1 until all have been multiplied. */
static int64_t k_block(const struct gemm_product *p) {
    const struct gemm_type *t = p->type;
    enum { MULTIPLE = 16 };
    const int64_t most = t->machine->cache[UK_L1].size / 4 / t->size;

    if (p->m <= t->nt->mr || p->k <= most)
        return p->k;
    return uk_ceil_div(uk_ceil_div(p->k, uk_ceil_div(p->k, most)), MULTIPLE) * MULTIPLE;
}

/* Threads divide the rows among them, or the columns if there are more. Operands that were packed beforehand
 * are copies in the same order, rows uk_gemm_leading apart. */
static enum uk_status plan_dots(struct gemm_plan *plan) {
    const struct gemm_product *p = &plan->product;
    const struct uk_kernel *k = p->type->nt;
    const int64_t rows = uk_ceil_div(p->m, k->mr), columns = uk_ceil_div(p->n, k->nr),
                  leading = uk_gemm_leading(p->k, p->type->size);

    plan->dots = (struct gemm_dots){.kernel = k,
                                    .k = p->k,
                                    .k_block = k_block(p),
                                    .lda = p->a_packed ? leading : row_stride(p),
                                    .ldb = p->b_packed ? leading : column_stride(p),
                                    .ldc = p->ldc};
    plan->a_block = p->a_columns && !p->a_packed ? p->m * row_stride(p) : 0;
    plan->b_block = !p->b_columns && !p->b_packed ? p->n * column_stride(p) : 0;
    *(rows > columns ? &plan->row_tasks : &plan->column_tasks) =
        uk_min(gemm_threads(plan), uk_max(rows, columns));
    gemm_set_workspace(plan, 1);
    return UK_OK;
}

static void run_part(void *context, int64_t index, int64_t thread) {
    const struct gemm_task *t = context;
    const struct gemm_plan *plan = t->plan;
    const struct gemm_product *p = &plan->product;
    const struct uk_kernel *k = plan->dots.kernel;
    int64_t row, last_row, column, last_column;

    (void)thread;
    gemm_share(plan->row_tasks == 1 ? 0 : index, plan->row_tasks, p->m, k->mr, &row, &last_row);
    gemm_share(plan->row_tasks == 1 ? index : 0, plan->column_tasks, p->n, k->nr, &column, &last_column);
    p->type->dots(&plan->dots, t->o, row, last_row, column, last_column);
}

static void run(const struct gemm_plan *plan, const struct gemm_operands *o, void *workspace) {
    struct gemm_operands own = *o;
    struct gemm_task task = {plan, &own, NULL};

    if (plan->a_block)
        uk_gemm_pack_whole(plan, GEMM_LEFT, o->a, workspace);
    if (plan->b_block)
        uk_gemm_pack_whole(plan, GEMM_RIGHT, o->b, workspace);
    own.a = plan->a_block ? workspace : o->a;
    own.b = plan->b_block ? workspace : o->b;
    gemm_parallel(plan, run_part, &task, plan->row_tasks * plan->column_tasks);
}

static void explain(struct gemm_text *t, const struct gemm_plan *plan) {
    uk_gemm_add(t, "path: inner products of rows of A and columns of B%s\nkernel: %s\nblocks: kc %lld\n",
                plan->a_block   ? ", A transposed first"
                : plan->b_block ? ", B transposed first"
                                : "",
                plan->dots.kernel->symbol, (long long)plan->dots.k_block);
}

const struct gemm_path uk_gemm_dots = {"dots", GEMM_PACKS_ALONG_K, cycles, plan_dots, run, explain};
