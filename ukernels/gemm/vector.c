/* SPDX-License-Identifier: Apache-2.0 */
/* The path of products whose m or n is 1: inner products along contiguous rows of the matrix, or sums of
 * contiguous rows. Each element of the matrix is used once, so that the time is that of loading it. */
#include <math.h>
#include "pack.h"
#include "small.h"

/* True if a cache holds the matrix. */
static bool stays_in(const struct gemm_type *t, const struct gemm_vector *v, int cache) {
    return v->k * v->count * t->size <= t->machine->cache[cache].size;
}

/* Describes the product as a matrix-vector product. The kernel is NULL if there is none. */
static struct gemm_vector vector_of(const struct gemm_product *p) {
    const struct gemm_type *t = p->type;
    const bool is_row = p->m == 1,
               is_along = is_row ? p->b_columns || p->ldb == 1 : !p->a_columns || p->lda == 1,
               packed = is_row ? p->b_packed : p->a_packed;
    struct gemm_vector v = {.kernel = is_along ? t->gemv_n : t->gemv_t,
                            .k = p->k,
                            .count = is_row ? p->n : p->m,
                            .stride = is_row ? p->ldb : p->lda,
                            .y_step = is_row ? 1 : p->ldc,
                            .is_along = is_along,
                            .is_row = is_row};

    if (packed)
        v.stride = uk_gemm_leading(is_along ? v.k : v.count, t->size);
    v.ahead = stays_in(t, &v, UK_L2) ? 0 : t->prefetch_ahead / t->size;
    return v;
}

static double cycles(struct gemm_plan *plan) {
    const struct gemm_product *p = &plan->product;
    const struct gemm_type *t = p->type;

    if (p->m != 1 && p->n != 1)
        return HUGE_VAL;
    plan->vector = vector_of(p);
    if (!plan->vector.kernel)
        return HUGE_VAL;
    plan->is_certain = true;
    const double rate = stays_in(t, &plan->vector, UK_L2)    ? t->machine->cache[UK_L2].bytes
                        : stays_in(t, &plan->vector, UK_LLC) ? t->machine->cache[UK_LLC].bytes
                                                             : t->machine->uncore.bytes;

    return (double)p->k * (double)plan->vector.count * t->size / rate;
}

static enum uk_status plan_vector(struct gemm_plan *plan) {
    const struct gemm_product *p = &plan->product;
    const struct gemm_vector *v = &plan->vector;
    const bool x_is_contiguous =
        v->is_row ? p->a_packed || !p->a_columns : p->b_packed || p->b_columns || p->ldb == 1;

    /* A kernel computes a part of only one or two vectors of columns with several sums each, in another
     * order. So that results do not depend on the number of threads, no part of a longer row may be so short.
     */
    plan->nc = v->is_along ? v->kernel->mr : GEMM_VECTOR;
    plan->row_tasks =
        uk_max(1, uk_min(gemm_threads(plan), uk_ceil_div(v->count, plan->nc) / (v->is_along ? 1 : 2)));
    if (!x_is_contiguous)
        plan->b_block = uk_ceil_div(p->k * p->type->size, GEMM_LINE) * GEMM_LINE / p->type->size;
    gemm_set_workspace(plan, 1);
    return UK_OK;
}

static void run_part(const struct gemm_plan *plan, const struct gemm_operands *o, int64_t begin,
                     int64_t end) {
    const struct gemm_type *t = plan->product.type;

    (plan->vector.is_along ? t->vector_n : t->vector_t)(&plan->vector, o, begin, end);
}

static void run_task(void *context, int64_t index, int64_t thread) {
    const struct gemm_task *t = context;
    int64_t begin, end;

    (void)thread;
    gemm_share(index, t->plan->row_tasks, t->plan->vector.count, t->plan->nc, &begin, &end);
    run_part(t->plan, t->o, begin, end);
}

static void run_contiguous(const struct gemm_plan *plan, const struct gemm_operands *o) {
    if (plan->row_tasks == 1)
        run_part(plan, o, 0, plan->vector.count);
    else
        gemm_parallel(plan, run_task, &(struct gemm_task){plan, o, NULL}, plan->row_tasks);
}

/* Copies the vector, which is not contiguous. Not inlined: `run` then needs no stack frame. */
__attribute__((noinline)) static void run_copied(const struct gemm_plan *plan, const struct gemm_operands *o,
                                                 void *workspace) {
    const struct gemm_product *p = &plan->product;
    const bool is_row = plan->vector.is_row;
    struct gemm_operands own = *o;

    p->type->copy_rows(p->type, 1, p->k, is_row ? o->a : o->b, 0, is_row ? gemm_a_step(p) : gemm_b_step(p),
                       workspace, 0);
    *(is_row ? &own.a : &own.b) = workspace;
    run_contiguous(plan, &own);
}

static void run(const struct gemm_plan *plan, const struct gemm_operands *o, void *workspace) {
    if (plan->b_block)
        run_copied(plan, o, workspace);
    else
        run_contiguous(plan, o);
}

static void explain(struct gemm_text *t, const struct gemm_plan *plan) {
    uk_gemm_add(t, "path: matrix times vector, by %s\nkernel: %s\n",
                plan->vector.is_along ? "inner products along contiguous rows" : "sums of contiguous rows",
                plan->vector.kernel->symbol);
}

const struct gemm_path uk_gemm_vector = {"vector", GEMM_PACKS_AS_STORED, cycles, plan_vector, run, explain};
