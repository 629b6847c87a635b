/* SPDX-License-Identifier: Apache-2.0 */
/* Runs batches, many products of one shape: threads compute whole products if there are enough of them, else
 * parts of each product. */
#include "gemm.h"

struct gemm_batch {
    struct gemm_operands common;
    /* The operands: pointers to each; or the first one and strides in elements. */
    const void *const *a, *const *b;
    void *const *c;
    const char *first_a, *first_b;
    char *first_c;
    int64_t stride_a, stride_b, stride_c;
    bool is_strided;
    /* Set by run. */
    struct gemm_prepared prepared;
    int64_t count, groups;
    char *workspace;
    size_t slice;
};

static struct gemm_operands item(const struct gemm_batch *t, int64_t i) {
    struct gemm_operands o = t->common;
    const int size = t->prepared.plan.product.type->size;
    const void *a = t->a ? t->a[i] : t->first_a ? t->first_a + i * t->stride_a * size : NULL;
    const void *b = t->b ? t->b[i] : t->first_b ? t->first_b + i * t->stride_b * size : NULL;

    o.a = t->prepared.plan.swapped ? b : a;
    o.b = t->prepared.plan.swapped ? a : b;
    o.c = t->c         ? t->c[i]
          : t->first_c ? t->first_c + i * t->stride_c * t->prepared.plan.product.type->c_size
                       : NULL;
    return o;
}

/* The function that runs the plan's prepared calls; NULL: it has none. */
static uk_small_run *resolved_in(const struct gemm_prepared *p) {
    const int is_double = p->plan.product.type->element == UK_ELEMENT_F64;

    return (p->plan.swapped ? p->resolved_swapped : p->resolved)[is_double];
}

/* Computes a share of the products, one after another. Operands have been checked and memory allocated:
 * nothing can fail. */
static void run_group(void *context, int64_t index, int64_t thread) {
    const struct gemm_batch *t = context;
    const int64_t begin = index * t->count / t->groups, end = (index + 1) * t->count / t->groups;

    (void)thread;
    for (int64_t i = begin; i < end; i++) {
        const struct gemm_operands o = item(t, i);
        void *workspace = t->workspace ? t->workspace + (size_t)index * t->slice : NULL;

        uk_small_run *resolved = resolved_in(&t->prepared);

        if (resolved && o.alpha == 1 && (o.beta == 0 || o.beta == 1))
            resolved(t->prepared.calls.call, o.a, o.b, o.c, o.beta != 0);
        else
            uk_gemm_run(&t->prepared.plan, &o, workspace);
    }
}

/* Allocates a workspace for each group; false: out of memory. */
static bool take_workspace(struct gemm_batch *t) {
    const size_t one = t->prepared.plan.workspace, lines = one / 64 + (one % 64 != 0);
    size_t all;

    t->slice = lines * 64;
    if (__builtin_mul_overflow(lines, 64 * (size_t)t->groups, &all))
        return false;
    t->workspace = all ? uk_take_memory(all) : NULL;
    return !all || t->workspace;
}

/* True if the first and the last of `count` matrices are further apart than the size limit of a matrix. */
static bool is_far(int64_t stride, int bytes, int64_t count) {
    int64_t span, most;
    ptrdiff_t last; /* has as many bits as addresses, which may be 32 */

    return __builtin_mul_overflow(stride, count - 1, &span) ||
           __builtin_mul_overflow(span, GEMM_PANEL_GROWTH * bytes, &most) ||
           __builtin_mul_overflow(span, bytes, &last);
}

/* True if the arrays of pointers, or the matrices at strides, may lie within the address space; and, for
 * strides, if no C begins within the first row or column of another. */
static bool has_places(const struct gemm_batch *t, const struct gemm_shape *shape, int64_t count) {
    const int64_t line = shape->layout == UK_ROW_MAJOR ? shape->n : shape->m;
    const int size = t->prepared.plan.product.type->size;

    if (!t->is_strided || count < 2)
        return !is_far(1, sizeof(void *), count);
    return !is_far(t->stride_a, size, count) && !is_far(t->stride_b, size, count) &&
           !is_far(t->stride_c, t->prepared.plan.product.type->c_size, count) &&
           (t->stride_c <= -line || t->stride_c >= line);
}

static enum uk_status run(struct gemm_batch *t, const struct gemm_type *type, const struct gemm_shape *shape,
                          int64_t count) {
    const struct gemm_plan *plan = &t->prepared.plan;
    enum uk_status status =
        count < 0 ? uk_gemm_refuse(UK_INVALID_SIZE, "count = %lld is negative", (long long)count)
                  : uk_gemm_prepare(&t->prepared, type, shape, NULL, NULL);

    if (status || !count || !plan->product.m || !plan->product.n)
        return status;
    if (!has_places(t, shape, count))
        return uk_gemm_refuse(UK_INVALID_SIZE, "a stride of the batch is too large, or matrices C overlap");
    t->count = count;
    t->groups = 1;
    if (plan->product.threads > 1 && count >= plan->product.threads &&
        plan->cycles * (double)count > GEMM_TASK) {
        t->groups = plan->product.threads;
        status = uk_gemm_prepare(&t->prepared, type, shape, &(struct uk_gemm_options){.threads = 1}, NULL);
    }
    for (int64_t i = 0; !status && i < count; i++) {
        const struct gemm_operands o = item(t, i);

        if (uk_gemm_lacks_operand(plan, &o))
            status = uk_gemm_refuse(UK_INVALID_ARGUMENT, "product %lld of the batch: an operand is NULL",
                                    (long long)i);
    }
    if (status)
        return status;
    if (!take_workspace(t))
        return uk_gemm_refuse(UK_OUT_OF_MEMORY, "no memory for the workspaces of the batch");
    const double begin = uk_gemm_is_verbose ? uk_microseconds() : 0;

    gemm_parallel(plan, run_group, t, t->groups);
    if (uk_gemm_is_verbose)
        uk_gemm_say(plan, &t->common, count, uk_max(t->groups, plan->row_tasks * plan->column_tasks), UK_OK,
                    uk_microseconds() - begin);
    uk_give_memory(t->workspace);
    return UK_OK;
}

enum uk_status uk_gemm_batch(const struct gemm_type *type, const struct gemm_shape *shape, double alpha,
                             const void *const *a, const void *const *b, double beta, void *const *c,
                             int64_t count) {
    struct gemm_batch t = {.common = {.alpha = alpha, .beta = beta}, .a = a, .b = b, .c = c};

    return run(&t, type, shape, count);
}

enum uk_status uk_gemm_batch_strided(const struct gemm_type *type, const struct gemm_shape *shape,
                                     double alpha, const void *a, int64_t stride_a, const void *b,
                                     int64_t stride_b, double beta, void *c, int64_t stride_c,
                                     int64_t count) {
    struct gemm_batch t = {.common = {.alpha = alpha, .beta = beta},
                           .first_a = a,
                           .first_b = b,
                           .first_c = c,
                           .stride_a = stride_a,
                           .stride_b = stride_b,
                           .stride_c = stride_c,
                           .is_strided = true};

    return run(&t, type, shape, count);
}
