/* SPDX-License-Identifier: Apache-2.0 */
/* Products whose m or n is 1: inner products along contiguous rows of the matrix, or sums of contiguous rows.
 * */
#include "path.h"

/* Whether the vector is multiplied along contiguous rows. */
static bool is_along(const struct gemm_plan *p) {
    return (p->m == 1 ? p->b_step : p->a_step) == 1;
}

/* m or n is 1: the kernels of matrix-vector products, if there are any. Memory bounds the time: an element is
 * used once. */
static enum uk_status plan_vector(struct gemm_plan *p) {
    const bool is_row = p->m == 1;
    const int64_t along = is_row ? p->b_step : p->a_step, count = is_row ? p->n : p->m;
    const struct uk_kernel *k = along == 1 ? p->type->gemv_n : p->type->gemv_t;

    if ((!is_row && p->n != 1) || !k)
        return UK_NO_MATCH;
    p->cycles = (double)p->k * (double)count * p->type->size / 16;
    p->nc = along == 1 ? k->mr : 64;
    p->row_tasks = p->cycles / GEMM_TASK < p->threads ? (int64_t)(p->cycles / GEMM_TASK) : p->threads;
    /* Kernels of one or two vectors of columns have more sums each, and so another order of sums: no part of
     * a longer row may be so short. */
    p->row_tasks = uk_min(p->row_tasks, uk_ceil_div(count, p->nc) / (along == 1 ? 1 : 2));
    p->row_tasks = p->row_tasks < 1 ? 1 : p->row_tasks;
    p->column_tasks = 1;
    if ((is_row ? p->a_step : p->b_step) != 1)
        p->b_block = uk_ceil_div(p->k * p->type->size, GEMM_LINE) * GEMM_LINE / p->type->size;
    return UK_OK;
}

/* The prefetch distance for a matrix of that many elements: 0 if it can stay in L2. */
static int64_t ahead_in(const struct gemm_type *type, int64_t elements) {
    return elements * type->size > type->machine->cache[UK_L2].size ? type->prefetch_ahead / type->size : 0;
}

/* A product whose m or n is 1; x is copied to the workspace if it is not contiguous and has to be. */
static struct gemm_vector whole_vector(const struct gemm_task *t) {
    const struct gemm_plan *plan = t->plan;
    const struct gemm_operands *o = t->o;
    const struct gemm_type *type = plan->type;
    const bool is_row = plan->m == 1, along = is_along(plan);
    const bool packed = is_row ? plan->b_packed : plan->a_packed;
    const int64_t outer = is_row ? plan->b_column : plan->a_row, inner = is_row ? plan->b_step : plan->a_step;
    const int64_t count = is_row ? plan->n : plan->m, width = along ? plan->k : count;

    return (struct gemm_vector){
        .kernel = along ? type->gemv_n : type->gemv_t,
        .k = plan->k,
        .count = count,
        .matrix = is_row ? o->b : o->a,
        .stride = packed  ? uk_gemm_leading(width, type->size)
                  : along ? outer
                          : inner,
        .x = plan->b_block ? t->work
             : is_row      ? o->a
                           : o->b,
        .y = o->c,
        .y_step = is_row ? 1 : plan->ldc,
        .alpha = o->alpha,
        .beta = o->beta,
        .epilogue = o->epilogue,
        .ahead = ahead_in(type, plan->k * count),
        .is_row = is_row,
    };
}

static void run_vector(void *context, int64_t index, int64_t thread) {
    const struct gemm_task *t = context;
    const struct gemm_plan *plan = t->plan;
    struct gemm_vector v = whole_vector(t);
    int64_t begin, end;

    (void)thread;
    gemm_share(index, plan->row_tasks, v.count, plan->nc, &begin, &end);
    v.matrix = gemm_at(plan, v.matrix, is_along(plan) ? begin * v.stride : begin);
    v.y = gemm_at_written(plan, v.y, begin * v.y_step);
    v.count = end - begin;
    *(v.is_row ? &v.column : &v.row) = begin;
    if (is_along(plan))
        plan->type->vector_n(&v);
    else
        plan->type->vector_t(&v);
}

bool uk_gemm_run_vector(const struct gemm_type *t, const struct gemm_product *p, const void *a, const void *b,
                        double beta, void *c) {
    const bool is_row = p->m == 1;
    const int64_t count = is_row ? p->n : p->m, stride = is_row ? p->ldb : p->lda;
    const bool along = (is_row ? p->b_columns : !p->a_columns) || stride == 1;

    GEMM_REQUIRE(is_row || p->n == 1);
    GEMM_REQUIRE(is_row ? !p->a_columns || p->lda == 1 : p->b_columns || p->ldb == 1);
    GEMM_REQUIRE(uk_is_alone() || (double)p->k * (double)count * t->size / 16 < 2 * GEMM_TASK);

    const struct gemm_vector v = {
        .kernel = along ? t->gemv_n : t->gemv_t,
        .k = p->k,
        .count = count,
        .matrix = is_row ? b : a,
        .stride = stride,
        .x = is_row ? a : b,
        .y = c,
        .y_step = is_row ? 1 : p->ldc,
        .alpha = 1,
        .beta = beta,
        .ahead = ahead_in(t, p->k * count),
        .is_row = is_row,
    };

    GEMM_REQUIRE(v.kernel);
    (along ? t->vector_n : t->vector_t)(&v);
    return true;
}

/* Copies x so that it is contiguous. */
static void pack_vector(const struct gemm_plan *plan, const struct gemm_operands *o, void *x) {
    const struct gemm_type *t = plan->type;

    if (plan->m == 1)
        t->copy_rows(t, plan->k, 1, o->a, plan->a_packed ? 1 : plan->a_step, 1, x, 1);
    else
        t->copy_rows(t, plan->k, 1, o->b, plan->b_packed ? 1 : plan->b_step, 1, x, 1);
}

static void run(const struct gemm_plan *plan, const struct gemm_operands *o, void *workspace) {
    struct gemm_task task = {plan, o, workspace};

    if (plan->b_block)
        pack_vector(plan, o, workspace);
    uk_gemm_parallel(plan, run_vector, &task, plan->row_tasks);
}

static void explain(struct gemm_text *t, const struct gemm_plan *p) {
    uk_gemm_add(t, "path: matrix times vector, by %s\nkernel: %s\n",
                is_along(p) ? "inner products along contiguous rows" : "sums of contiguous rows",
                (is_along(p) ? p->type->gemv_n : p->type->gemv_t)->symbol);
}

const struct gemm_path uk_gemm_vector = {"vector", GEMM_PACKS_AS_STORED, plan_vector, run, explain};
