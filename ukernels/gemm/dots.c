/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products with a column-major B as inner products: which, and what they cost.
 *
 * Other kernels have a vector of columns of B, or of rows of A if C is transposed: with few columns or rows
 * some lanes, or most, are unused, a k iteration takes the latency of its sums at least, and one operand is
 * transposed. Vectors along k are full, whatever m and n are, but their lanes have to be added up (GEMM_TREE
 * cycles for each group of rows), and where rows or columns do not begin with lines each load may cost more
 * (split in cost.h). If one operand is not contiguous along k, but has few columns or rows, it is transposed
 * into the workspace.
 *
 * This decision is part of every small product's time: it has no divisions, and its arguments are in
 * registers.
 */
#include "path.h"

static double vectors(const struct gemm_type *t, int64_t n) {
    return (double)((n + (1 << t->nt_shift) - 1) >> t->nt_shift);
}

double uk_gemm_dots_cycles(const struct gemm_type *t, int64_t m, int64_t n, int64_t k, int64_t lda,
                           int64_t ldb) {
    const double crossing = t->machine->core.split;
    const double groups = t->nt->mr == 4 ? (double)((m + 3) / 4) : (double)(2 * m + 3) / 6,
                 fours = (double)((n + 3) / 4);
    const double a = lda * t->size % GEMM_LINE ? crossing * (double)m : 0,
                 b = ldb * t->size % GEMM_LINE ? crossing * groups * 4 : 0;
    const bool is_far = (m + n) * k > 4 * t->l2_quarter;

    return (is_far ? GEMM_STREAMS : 1) * fours *
           (vectors(t, k) * (4 * t->fma_cycles * (double)m + a + b) + groups * GEMM_TREE);
}

/* Cycles by kernels with vectors of columns, B in place or transposed first. */
static double columns_cycles(const struct gemm_type *t, int64_t rows, int64_t columns, int64_t k,
                             bool transposed) {
    const double multiply = (double)rows * vectors(t, columns) * t->fma_cycles;

    return (double)k * ((multiply < t->fma_latency ? t->fma_latency : multiply) +
                        (transposed ? GEMM_TRANSPOSING * (double)columns * t->size : 0));
}

bool uk_gemm_suits_dots(const struct gemm_type *t, int64_t m, int64_t n, int64_t k, int64_t lda,
                        int64_t ldb) {
    if (!t->nt || k < GEMM_DOTS_LEAST || m < 2 || n < 2 || (m | n | k) >= GEMM_MOST)
        return false;
    const double rows = columns_cycles(t, m, n, k, true), columns = columns_cycles(t, n, m, k, true),
                 least = rows < columns ? rows : columns;

    return uk_gemm_dots_cycles(t, m, n, k, lda, ldb) < least;
}

/* For at most nr columns of B: with more, other kernels use half vectors. The copy takes as long as 4 to 8
 * rows of those. */
bool uk_gemm_suits_transposed_dots(const struct gemm_type *t, int64_t m, int64_t n, int64_t k, int64_t ld,
                                   bool transposes_a) {
    const int64_t few = transposes_a ? m : n, many = transposes_a ? n : m;

    if (!t->nt || k < GEMM_WIDTHS || few < 2 || many < 8 * few || (m | n | k) >= GEMM_MOST ||
        (transposes_a ? 2 * m > 1 << t->nt_shift : n > t->nt->nr))
        return false;
    const int64_t leading = uk_gemm_leading(k, t->size), lda = transposes_a ? leading : ld,
                  ldb = transposes_a ? ld : leading;
    const double transposing = GEMM_TRANSPOSING * (double)(few * k) * t->size;
    const double rows = columns_cycles(t, m, n, k, transposes_a), columns = columns_cycles(t, n, m, k, false),
                 least = (transposes_a && columns < rows ? columns : rows) - transposing;

    return uk_gemm_dots_cycles(t, m, n, k, lda, ldb) < least;
}

int64_t uk_gemm_dots_block(const struct gemm_type *t, int64_t m, int64_t k) {
    const int64_t most = t->machine->cache[UK_L1].size / 4 / t->size;

    if (m <= t->nt->mr || k <= most)
        return k;
    return uk_ceil_div(uk_ceil_div(k, uk_ceil_div(k, most)), 16) * 16;
}

/* ---- the path ---- */

/* Inner products, if they are faster; at most one operand is transposed. */
static enum uk_status plan_dots(struct gemm_plan *p) {
    const struct uk_kernel *k = p->type->nt;
    const bool transposes_a = p->a_step != 1, transposes_b = p->b_step != 1;
    const int64_t leading = uk_gemm_leading(p->k, p->type->size);

    if ((transposes_a && transposes_b) || !k || p->m < 2 || p->n < 2)
        return UK_NO_MATCH;
    if (!p->is_wanted &&
        !(transposes_a || transposes_b
              ? uk_gemm_suits_transposed_dots(p->type, p->m, p->n, p->k,
                                              transposes_a ? p->b_column : p->a_row, transposes_a)
              : uk_gemm_suits_dots(p->type, p->m, p->n, p->k, p->a_row, p->b_column)))
        return UK_NO_MATCH;
    p->cycles = uk_gemm_dots_cycles(p->type, p->m, p->n, p->k, transposes_a ? leading : p->a_row,
                                    transposes_b ? leading : p->b_column);
    p->a_block = transposes_a && !p->a_packed ? p->m * leading : 0;
    p->b_block = transposes_b && !p->b_packed ? p->n * leading : 0;
    p->kc = uk_gemm_dots_block(p->type, p->m, p->k);
    /* Of rows, or of columns. */
    const int64_t threads =
        p->cycles / GEMM_TASK < p->threads ? (int64_t)(p->cycles / GEMM_TASK) : p->threads;
    const int64_t rows = uk_ceil_div(p->m, k->mr), columns = uk_ceil_div(p->n, k->nr);
    int64_t *tasks = rows > columns ? &p->row_tasks : &p->column_tasks;

    p->rows = k->mr;
    *tasks = uk_min(threads, rows > columns ? rows : columns);
    *tasks = *tasks < 1 ? 1 : *tasks;
    return UK_OK;
}

/* Packed operands are copies in the same order, rows uk_gemm_leading apart. */
static void run_dots(void *context, int64_t index, int64_t thread) {
    const struct gemm_task *t = context;
    const struct gemm_plan *plan = t->plan;
    const struct gemm_operands *o = t->o;
    const int64_t leading = uk_gemm_leading(plan->k, plan->type->size);
    struct gemm_dots d = {.kernel = plan->type->nt,
                          .k = plan->k,
                          .k_block = plan->kc,
                          .lda = plan->a_packed || plan->a_block ? leading : plan->a_row,
                          .ldb = plan->b_packed || plan->b_block ? leading : plan->b_column,
                          .ldc = plan->ldc,
                          .alpha = o->alpha,
                          .beta = o->beta,
                          .epilogue = o->epilogue};
    int64_t rows, columns;

    (void)thread;
    gemm_share(plan->row_tasks == 1 ? 0 : index, plan->row_tasks, plan->m, d.kernel->mr, &d.row, &rows);
    gemm_share(plan->row_tasks == 1 ? index : 0, plan->column_tasks, plan->n, d.kernel->nr, &d.column,
               &columns);
    d.m = rows - d.row;
    d.n = columns - d.column;
    d.a = gemm_at(plan, plan->a_block ? t->work : o->a, d.row * d.lda);
    d.b = gemm_at(plan, plan->b_block ? t->work : o->b, d.column * d.ldb);
    d.c = gemm_at_written(plan, o->c, d.row * d.ldc + d.column);
    plan->type->dots(&d);
}

bool uk_gemm_run_dots(const struct gemm_type *t, const struct gemm_product *p, const void *a, const void *b,
                      double beta, void *c) {
    GEMM_REQUIRE(!p->a_columns && p->b_columns);
    GEMM_REQUIRE(uk_gemm_suits_dots(t, p->m, p->n, p->k, p->lda, p->ldb));
    GEMM_REQUIRE(uk_is_alone() || uk_gemm_dots_cycles(t, p->m, p->n, p->k, p->lda, p->ldb) < 2 * GEMM_TASK);
    t->dots(&(struct gemm_dots){.kernel = t->nt,
                                .m = p->m,
                                .n = p->n,
                                .k = p->k,
                                .k_block = uk_gemm_dots_block(t, p->m, p->k),
                                .a = a,
                                .lda = p->lda,
                                .b = b,
                                .ldb = p->ldb,
                                .c = c,
                                .ldc = p->ldc,
                                .alpha = 1,
                                .beta = beta});
    return true;
}

static void run(const struct gemm_plan *plan, const struct gemm_operands *o, void *workspace) {
    struct gemm_task task = {plan, o, workspace};

    if (plan->a_block)
        uk_gemm_pack_whole(plan, GEMM_LEFT, o->a, workspace);
    if (plan->b_block)
        uk_gemm_pack_whole(plan, GEMM_RIGHT, o->b, workspace);
    uk_gemm_parallel(plan, run_dots, &task, plan->row_tasks * plan->column_tasks);
}

static void explain(struct gemm_text *t, const struct gemm_plan *p) {
    uk_gemm_add(t, "path: inner products of rows of A and columns of B%s\nkernel: %s\nblocks: kc %lld\n",
                p->a_block   ? ", A transposed first"
                : p->b_block ? ", B transposed first"
                             : "",
                p->type->nt->symbol, (long long)p->kc);
}

const struct gemm_path uk_gemm_dots = {"dots", GEMM_PACKS_ALONG_K, plan_dots, run, explain};
