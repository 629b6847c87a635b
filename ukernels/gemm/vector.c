/* SPDX-License-Identifier: Apache-2.0 */
/* The path of products whose m or n is 1: inner products along contiguous rows of the matrix, or sums of
 * contiguous rows. Each element of the matrix is used once, so that the time is that of loading it. */
#include <math.h>
#include "pack.h"
#include "small.h"

/* True for inner products along contiguous rows of the matrix, false for sums of contiguous rows. */
static bool is_along(const struct gemm_product *p) {
    return p->m == 1 ? p->b_columns || p->ldb == 1 : !p->a_columns || p->lda == 1;
}

static int64_t results(const struct gemm_product *p) {
    return p->m == 1 ? p->n : p->m;
}

static const struct uk_kernel *kernel_of(const struct gemm_product *p) {
    return is_along(p) ? p->type->gemv_n : p->type->gemv_t;
}

static bool stays_in(const struct gemm_product *p, int cache) {
    return p->k * results(p) * p->type->size <= p->type->machine->cache[cache].size;
}

/* Bytes per cycle at which the matrix is loaded. */
static double bytes_a_cycle(const struct gemm_product *p) {
    const struct uk_machine *m = p->type->machine;

    return stays_in(p, UK_L2)    ? m->cache[UK_L2].bytes
           : stays_in(p, UK_LLC) ? m->cache[UK_LLC].bytes
                                 : m->uncore.bytes;
}

static double cycles(struct gemm_plan *plan) {
    const struct gemm_product *p = &plan->product;

    if ((p->m != 1 && p->n != 1) || !kernel_of(p) || (!plan->is_wanted && gemm_is_small(p->type, p)))
        return HUGE_VAL;
    plan->is_certain = true;
    return (double)p->k * (double)results(p) * p->type->size / bytes_a_cycle(p);
}

static enum uk_status plan_vector(struct gemm_plan *plan) {
    const struct gemm_product *p = &plan->product;
    const bool along = is_along(p), x_is_contiguous = p->m == 1 ? !p->a_columns : p->b_columns || p->ldb == 1;

    /* A kernel computes a part of only one or two vectors of columns with several sums each, in another
     * order. So that results do not depend on the number of threads, no part of a longer row may be so short.
     */
    plan->nc = along ? kernel_of(p)->mr : GEMM_VECTOR;
    plan->row_tasks =
        uk_max(1, uk_min(gemm_threads(plan), uk_ceil_div(results(p), plan->nc) / (along ? 1 : 2)));
    if (!x_is_contiguous)
        plan->b_block = uk_ceil_div(p->k * p->type->size, GEMM_LINE) * GEMM_LINE / p->type->size;
    return UK_OK;
}

/* The prefetch distance in elements; 0 if the matrix can stay in L2. */
static int64_t ahead_in(const struct gemm_product *p) {
    return stays_in(p, UK_L2) ? 0 : p->type->prefetch_ahead / p->type->size;
}

/* The whole product. The plan has a workspace (b_block) if the vector is not contiguous: x is then a copy in
 * it. */
static struct gemm_vector whole_vector(const struct gemm_task *t) {
    const struct gemm_product *p = &t->plan->product;
    const struct gemm_operands *o = t->o;
    const bool is_row = p->m == 1, along = is_along(p);
    const bool packed = is_row ? p->b_packed : p->a_packed;
    const int64_t count = results(p), width = along ? p->k : count;

    return (struct gemm_vector){
        .kernel = kernel_of(p),
        .k = p->k,
        .count = count,
        .matrix = is_row ? o->b : o->a,
        .stride = packed   ? uk_gemm_leading(width, p->type->size)
                  : is_row ? p->ldb
                           : p->lda,
        .x = t->plan->b_block ? t->work
             : is_row         ? o->a
                              : o->b,
        .y = o->c,
        .y_step = is_row ? 1 : p->ldc,
        .alpha = o->alpha,
        .beta = o->beta,
        .epilogue = o->epilogue,
        .ahead = ahead_in(p),
        .is_row = is_row,
    };
}

static void run_vector(void *context, int64_t index, int64_t thread) {
    const struct gemm_task *t = context;
    const struct gemm_plan *plan = t->plan;
    const bool along = is_along(&plan->product);
    struct gemm_vector v = whole_vector(t);
    int64_t begin, end;

    (void)thread;
    gemm_share(index, plan->row_tasks, v.count, plan->nc, &begin, &end);
    v.matrix = gemm_at(plan, v.matrix, along ? begin * v.stride : begin);
    v.y = gemm_at_written(plan, v.y, begin * v.y_step);
    v.count = end - begin;
    *(v.is_row ? &v.column : &v.row) = begin;
    (along ? plan->product.type->vector_n : plan->product.type->vector_t)(&v);
}

/* Copies the vector to x, contiguous. */
static void pack_vector(const struct gemm_product *p, const struct gemm_operands *o, void *x) {
    const struct gemm_type *t = p->type;

    if (p->m == 1)
        t->copy_rows(t, p->k, 1, o->a, p->a_packed ? 1 : gemm_a_step(p), 1, x, 1);
    else
        t->copy_rows(t, p->k, 1, o->b, p->b_packed ? 1 : gemm_b_step(p), 1, x, 1);
}

static void run(const struct gemm_plan *plan, const struct gemm_operands *o, void *workspace) {
    struct gemm_task task = {plan, o, workspace};

    if (plan->b_block)
        pack_vector(&plan->product, o, workspace);
    uk_gemm_parallel(plan, run_vector, &task, plan->row_tasks);
}

static void explain(struct gemm_text *t, const struct gemm_plan *plan) {
    uk_gemm_add(t, "path: matrix times vector, by %s\nkernel: %s\n",
                is_along(&plan->product) ? "inner products along contiguous rows" : "sums of contiguous rows",
                kernel_of(&plan->product)->symbol);
}

const struct gemm_path uk_gemm_vector = {"vector", GEMM_PACKS_AS_STORED, cycles, plan_vector, run, explain};
