/* SPDX-License-Identifier: Apache-2.0 */
/* Runs batches, many products of one shape: threads compute whole products if there are enough of them, else
 * parts of each product. */
#include "gemm.h"

struct run {
    const struct gemm_batch *batch;
    struct gemm_prepared prepared;
    int64_t groups;
    char *workspace;
    size_t slice; /* bytes of a group's workspace */
};

/* The i-th matrix, of elements of `size` bytes; NULL: the caller gave none. */
static const void *matrix(const struct gemm_batch *t, const void *base, int64_t stride, int size, int64_t i) {
    return !base           ? NULL
           : t->is_strided ? (const char *)base + i * stride * size
                           : ((const void *const *)base)[i];
}

static struct gemm_operands item(const struct run *r, int64_t i) {
    const struct gemm_batch *t = r->batch;
    const struct gemm_plan *plan = &r->prepared.plan;
    const struct gemm_type *type = plan->product.type;
    struct gemm_operands o = t->bases;
    const void *a = matrix(t, o.a, t->stride_a, type->size, i),
               *b = matrix(t, o.b, t->stride_b, type->size, i);

    o.a = plan->swapped ? b : a;
    o.b = plan->swapped ? a : b;
    o.c = (void *)matrix(t, o.c, t->stride_c, type->c_size, i);
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
    const struct run *t = context;
    const int64_t count = t->batch->count, begin = index * count / t->groups,
                  end = (index + 1) * count / t->groups;

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
static bool take_workspace(struct run *t) {
    const size_t one = t->prepared.plan.workspace, lines = one / GEMM_LINE + (one % GEMM_LINE != 0);
    size_t all;

    t->slice = lines * GEMM_LINE;
    if (__builtin_mul_overflow(lines, GEMM_LINE * (size_t)t->groups, &all))
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
static bool has_places(const struct gemm_batch *t, const struct gemm_type *type,
                       const struct gemm_shape *shape) {
    const int64_t line = shape->layout == UK_ROW_MAJOR ? shape->n : shape->m;

    if (!t->is_strided || t->count < 2)
        return !is_far(1, sizeof(void *), t->count);
    return !is_far(t->stride_a, type->size, t->count) && !is_far(t->stride_b, type->size, t->count) &&
           !is_far(t->stride_c, type->c_size, t->count) && (t->stride_c <= -line || t->stride_c >= line);
}

enum uk_status uk_gemm_batch(const struct gemm_batch *batch, const struct gemm_type *type,
                             const struct gemm_shape *shape) {
    struct run t = {.batch = batch, .groups = 1};
    const struct gemm_plan *plan = &t.prepared.plan;
    const int64_t count = batch->count;
    enum uk_status status =
        count < 0 ? uk_gemm_refuse(UK_INVALID_SIZE, "count = %lld is negative", (long long)count)
                  : uk_gemm_prepare(&t.prepared, type, shape, NULL, NULL);

    if (status || !count || !plan->product.m || !plan->product.n)
        return status;
    if (!has_places(batch, type, shape))
        return uk_gemm_refuse(UK_INVALID_SIZE, "a stride of the batch is too large, or matrices C overlap");
    if (plan->product.threads > 1 && count >= plan->product.threads &&
        plan->cycles * (double)count > GEMM_TASK) {
        t.groups = plan->product.threads;
        status = uk_gemm_prepare(&t.prepared, type, shape, &(struct uk_gemm_options){.threads = 1}, NULL);
    }
    for (int64_t i = 0; !status && i < count; i++) {
        const struct gemm_operands o = item(&t, i);

        if (uk_gemm_lacks_operand(plan, &o))
            status = uk_gemm_refuse(UK_INVALID_ARGUMENT, "product %lld of the batch: an operand is NULL",
                                    (long long)i);
    }
    if (status)
        return status;
    if (!take_workspace(&t))
        return uk_gemm_refuse(UK_OUT_OF_MEMORY, "no memory for the workspaces of the batch");
    const double begin = uk_gemm_is_verbose ? uk_microseconds() : 0;

    gemm_parallel(plan, run_group, &t, t.groups);
    if (uk_gemm_is_verbose)
        uk_gemm_say(plan, &batch->bases, count, uk_max(t.groups, plan->row_tasks * plan->column_tasks), UK_OK,
                    uk_microseconds() - begin);
    uk_give_memory(t.workspace);
    return UK_OK;
}
