/* SPDX-License-Identifier: Apache-2.0 */
/* Many products of one shape: threads take whole products if there are enough of them, else tiles of each product. */
#include "gemm.h"

struct batch {
    struct gemm_plan plan;
    struct gemm_operands common;
    /* The operands of a batch: pointers to each; or the first one and strides in elements. */
    const void *const *a, *const *b;
    void *const *c;
    const char *first_a, *first_b;
    char *first_c;
    int64_t stride_a, stride_b, stride_c;
    bool is_strided;
    int64_t count, groups;
    char *workspace;
    size_t slice;
};

static struct gemm_operands item(const struct batch *t, int64_t i) {
    struct gemm_operands o = t->common;
    const int size = t->plan.type->size;
    const void *a = t->a ? t->a[i] : t->first_a ? t->first_a + i * t->stride_a * size : NULL;
    const void *b = t->b ? t->b[i] : t->first_b ? t->first_b + i * t->stride_b * size : NULL;

    o.a = t->plan.swapped ? b : a;
    o.b = t->plan.swapped ? a : b;
    o.c = t->c ? t->c[i] : t->first_c ? t->first_c + i * t->stride_c * size : NULL;
    return o;
}

/* A share of the products, one after another. Workspace and operands have been checked: nothing can fail. */
static void run_group(void *context, int64_t index, int64_t thread) {
    const struct batch *t = context;
    const int64_t begin = index * t->count / t->groups, end = (index + 1) * t->count / t->groups;

    (void)thread;
    for (int64_t i = begin; i < end; i++) {
        const struct gemm_operands o = item(t, i);
        void *workspace = t->workspace ? t->workspace + (size_t)index * t->slice : NULL;

        if (!uk_gemm_run_direct(&t->plan, &o, workspace))
            uk_gemm_run(&t->plan, &o, workspace);
    }
}

/* A workspace for each group; false: there is no memory. */
static bool take_workspace(struct batch *t) {
    const size_t one = uk_gemm_workspace_of(&t->plan), lines = one / 64 + (one % 64 != 0);
    size_t all;

    t->slice = lines * 64;
    if (__builtin_mul_overflow(lines, 64 * (size_t)t->groups, &all))
        return false;
    t->workspace = all ? uk_take_memory(all) : NULL;
    return !all || t->workspace;
}

/* Whether the first and the last of `count` items lie further apart than a matrix may be large. */
static bool is_far(int64_t stride, int bytes, int64_t count) {
    int64_t span, most;
    ptrdiff_t last; /* where addresses have 32 bits, so has this */

    return __builtin_mul_overflow(stride, count - 1, &span) ||
           __builtin_mul_overflow(span, 128 * bytes, &most) || __builtin_mul_overflow(span, bytes, &last);
}

/* Pointers, or matrices at strides, within the addresses there are; and no two matrices C that begin in one another's first line. */
static bool has_places(const struct batch *t, const struct gemm_shape *shape, int64_t count) {
    const int64_t line = shape->layout == UK_ROW_MAJOR ? shape->n : shape->m;
    const int size = t->plan.type->size;

    if (!t->is_strided || count < 2)
        return !is_far(1, sizeof(void *), count);
    return !is_far(t->stride_a, size, count) && !is_far(t->stride_b, size, count) &&
           !is_far(t->stride_c, size, count) && (t->stride_c <= -line || t->stride_c >= line);
}

static enum uk_status run_batch(struct batch *t, const struct gemm_type *type, const struct gemm_shape *shape,
                                int64_t count) {
    enum uk_status status = count < 0 ? UK_INVALID_SIZE : uk_gemm_resolve(&t->plan, type, shape, NULL);

    if (status || !count || !t->plan.m || !t->plan.n)
        return status;
    if (!has_places(t, shape, count))
        return UK_INVALID_SIZE;
    t->count = count;
    t->groups = 1;
    if (t->plan.threads > 1 && count >= t->plan.threads && t->plan.cycles * (double)count > GEMM_TASK) {
        t->groups = t->plan.threads;
        status = uk_gemm_resolve(&t->plan, type, shape, &(struct uk_gemm_options){.threads = 1});
    }
    for (int64_t i = 0; !status && i < count; i++) {
        const struct gemm_operands o = item(t, i);

        if (uk_gemm_lacks_operand(&t->plan, &o))
            status = UK_INVALID_ARGUMENT;
    }
    if (status)
        return status;
    if (!take_workspace(t))
        return UK_OUT_OF_MEMORY;
    uk_gemm_parallel(&t->plan, run_group, t, t->groups);
    uk_give_memory(t->workspace);
    return UK_OK;
}

/* Batches by pointers. */
static enum uk_status by_pointers(const struct gemm_type *type, const struct gemm_shape *shape, double alpha,
                                  const void *a, const void *b, double beta, const void *c, int64_t count) {
    struct batch t = {.common = {.alpha = alpha, .beta = beta}, .a = a, .b = b, .c = c};

    return run_batch(&t, type, shape, count);
}

/* Batches by strides. */
static enum uk_status by_strides(const struct gemm_type *type, const struct gemm_shape *shape, double alpha,
                                 const void *a, int64_t stride_a, const void *b, int64_t stride_b,
                                 double beta, void *c, int64_t stride_c, int64_t count) {
    struct batch t = {.common = {.alpha = alpha, .beta = beta},
                      .is_strided = true,
                      .first_a = a,
                      .first_b = b,
                      .first_c = c,
                      .stride_a = stride_a,
                      .stride_b = stride_b,
                      .stride_c = stride_c};

    return run_batch(&t, type, shape, count);
}

enum uk_status uk_sgemm_batch(enum uk_layout layout, enum uk_transpose ta, enum uk_transpose tb, int64_t m,
                              int64_t n, int64_t k, float alpha, const float *const *a, int64_t lda,
                              const float *const *b, int64_t ldb, float beta, float *const *c, int64_t ldc,
                              int64_t count) {
    return by_pointers(uk_gemm_type_f32(), &(struct gemm_shape){layout, ta, tb, m, n, k, lda, ldb, ldc},
                       alpha, a, b, beta, c, count);
}

enum uk_status uk_sgemm_batch_strided(enum uk_layout layout, enum uk_transpose ta, enum uk_transpose tb,
                                      int64_t m, int64_t n, int64_t k, float alpha, const float *a,
                                      int64_t lda, int64_t stride_a, const float *b, int64_t ldb,
                                      int64_t stride_b, float beta, float *c, int64_t ldc, int64_t stride_c,
                                      int64_t count) {
    return by_strides(uk_gemm_type_f32(), &(struct gemm_shape){layout, ta, tb, m, n, k, lda, ldb, ldc}, alpha,
                      a, stride_a, b, stride_b, beta, c, stride_c, count);
}

enum uk_status uk_dgemm_batch(enum uk_layout layout, enum uk_transpose ta, enum uk_transpose tb, int64_t m,
                              int64_t n, int64_t k, double alpha, const double *const *a, int64_t lda,
                              const double *const *b, int64_t ldb, double beta, double *const *c, int64_t ldc,
                              int64_t count) {
    return by_pointers(uk_gemm_type_f64(), &(struct gemm_shape){layout, ta, tb, m, n, k, lda, ldb, ldc},
                       alpha, a, b, beta, c, count);
}

enum uk_status uk_dgemm_batch_strided(enum uk_layout layout, enum uk_transpose ta, enum uk_transpose tb,
                                      int64_t m, int64_t n, int64_t k, double alpha, const double *a,
                                      int64_t lda, int64_t stride_a, const double *b, int64_t ldb,
                                      int64_t stride_b, double beta, double *c, int64_t ldc, int64_t stride_c,
                                      int64_t count) {
    return by_strides(uk_gemm_type_f64(), &(struct gemm_shape){layout, ta, tb, m, n, k, lda, ldb, ldc}, alpha,
                      a, stride_a, b, stride_b, beta, c, stride_c, count);
}
