/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix products: the functions that programs call. */
#include <math.h>
#include "direct.h"

#define ELEMENT float
#define BITS uint32_t
#define TYPE uk_gemm_f32
#define DIRECT(name) sdirect_##name
#include "direct_element.h"
#undef ELEMENT
#undef BITS
#undef TYPE
#undef DIRECT
#define ELEMENT double
#define BITS uint64_t
#define TYPE uk_gemm_f64
#define DIRECT(name) ddirect_##name
#include "direct_element.h"

bool uk_gemm_run_direct(const struct gemm_plan *plan, const struct gemm_operands *o, void *workspace) {
    if (!plan->direct || o->alpha != 1 || o->epilogue)
        return false;
    if (plan->type == &uk_gemm_f32)
        sdirect_run_plan(plan, o->a, o->b, (float)o->beta, o->c, workspace);
    else
        ddirect_run_plan(plan, o->a, o->b, o->beta, o->c, workspace);
    return true;
}

static enum uk_status run(const struct gemm_plan *plan, const struct gemm_type *type, double alpha,
                          const void *a, const void *b, double beta, void *c, struct gemm_epilogue *e,
                          void *workspace) {
    struct gemm_operands o = {alpha, beta, plan->swapped ? b : a, plan->swapped ? a : b, c, e};

    if (plan->type != type)
        return UK_INVALID_ARGUMENT;
    if (e && plan->swapped) {
        const void *rows = e->row_bias;

        e->row_bias = e->column_bias;
        e->column_bias = rows;
    }
    return uk_gemm_run(plan, &o, workspace);
}

static enum uk_status call(const struct gemm_type *type, const struct gemm_shape *s, double alpha,
                           const void *a, const void *b, double beta, void *c) {
    struct gemm_plan plan;
    enum uk_status status;

    if (alpha == 1 &&
        (uk_gemm_run_vector(type, s, a, b, beta, c) || uk_gemm_run_dots(type, s, a, b, beta, c)))
        return UK_OK;
    status = uk_gemm_resolve(&plan, type, s, NULL);
    return status ? status : run(&plan, type, alpha, a, b, beta, c, NULL, NULL);
}

__attribute__((noinline)) static enum uk_status sgemm_by_plan(enum uk_layout layout, enum uk_transpose ta,
                                                              enum uk_transpose tb, int64_t m, int64_t n,
                                                              int64_t k, float alpha, const float *a,
                                                              int64_t lda, const float *b, int64_t ldb,
                                                              float beta, float *c, int64_t ldc) {
    return call(&uk_gemm_f32, &(struct gemm_shape){layout, ta, tb, m, n, k, lda, ldb, ldc}, alpha, a, b, beta,
                c);
}

/* The first call in the process: it looks up the kernels, without which small products are not recognized, and their results would
 * be summed in another order. */
__attribute__((noinline)) static enum uk_status sgemm_first(enum uk_layout layout, enum uk_transpose ta,
                                                            enum uk_transpose tb, int64_t m, int64_t n,
                                                            int64_t k, float alpha, const float *a,
                                                            int64_t lda, const float *b, int64_t ldb,
                                                            float beta, float *c, int64_t ldc) {
    uk_gemm_type_f32();
    return uk_sgemm(layout, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

enum uk_status uk_sgemm(enum uk_layout layout, enum uk_transpose ta, enum uk_transpose tb, int64_t m,
                        int64_t n, int64_t k, float alpha, const float *a, int64_t lda, const float *b,
                        int64_t ldb, float beta, float *c, int64_t ldc) {
    if (!atomic_load_explicit(&uk_gemm_f32.ready, memory_order_acquire))
        return sgemm_first(layout, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
    return sdirect_call(layout, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
               ? UK_OK
               : sgemm_by_plan(layout, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

__attribute__((noinline)) static enum uk_status dgemm_by_plan(enum uk_layout layout, enum uk_transpose ta,
                                                              enum uk_transpose tb, int64_t m, int64_t n,
                                                              int64_t k, double alpha, const double *a,
                                                              int64_t lda, const double *b, int64_t ldb,
                                                              double beta, double *c, int64_t ldc) {
    return call(&uk_gemm_f64, &(struct gemm_shape){layout, ta, tb, m, n, k, lda, ldb, ldc}, alpha, a, b, beta,
                c);
}

/* As sgemm_first. */
__attribute__((noinline)) static enum uk_status dgemm_first(enum uk_layout layout, enum uk_transpose ta,
                                                            enum uk_transpose tb, int64_t m, int64_t n,
                                                            int64_t k, double alpha, const double *a,
                                                            int64_t lda, const double *b, int64_t ldb,
                                                            double beta, double *c, int64_t ldc) {
    uk_gemm_type_f64();
    return uk_dgemm(layout, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

enum uk_status uk_dgemm(enum uk_layout layout, enum uk_transpose ta, enum uk_transpose tb, int64_t m,
                        int64_t n, int64_t k, double alpha, const double *a, int64_t lda, const double *b,
                        int64_t ldb, double beta, double *c, int64_t ldc) {
    if (!atomic_load_explicit(&uk_gemm_f64.ready, memory_order_acquire))
        return dgemm_first(layout, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
    return ddirect_call(layout, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
               ? UK_OK
               : dgemm_by_plan(layout, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

enum uk_status uk_sgemm_plan(struct uk_gemm_plan *plan, enum uk_layout layout, enum uk_transpose ta,
                             enum uk_transpose tb, int64_t m, int64_t n, int64_t k, int64_t lda, int64_t ldb,
                             int64_t ldc, const struct uk_gemm_options *options) {
    if (!plan)
        return UK_INVALID_ARGUMENT;
    return uk_gemm_resolve((struct gemm_plan *)(void *)plan, uk_gemm_type_f32(),
                           &(struct gemm_shape){layout, ta, tb, m, n, k, lda, ldb, ldc}, options);
}

enum uk_status uk_dgemm_plan(struct uk_gemm_plan *plan, enum uk_layout layout, enum uk_transpose ta,
                             enum uk_transpose tb, int64_t m, int64_t n, int64_t k, int64_t lda, int64_t ldb,
                             int64_t ldc, const struct uk_gemm_options *options) {
    if (!plan)
        return UK_INVALID_ARGUMENT;
    return uk_gemm_resolve((struct gemm_plan *)(void *)plan, uk_gemm_type_f64(),
                           &(struct gemm_shape){layout, ta, tb, m, n, k, lda, ldb, ldc}, options);
}

/* What the caller's epilogue means: zeros change nothing. */
static struct gemm_epilogue epilogue_given(double scale, double low, double high, const void *row_bias,
                                           const void *column_bias) {
    const bool clamps = low != 0 || high != 0;

    return (struct gemm_epilogue){scale != 0 ? scale : 1, clamps ? low : -HUGE_VAL, clamps ? high : HUGE_VAL,
                                  row_bias, column_bias};
}

__attribute__((noinline)) static enum uk_status srun_any(const struct gemm_plan *plan, float alpha,
                                                         const float *a, const float *b, float beta, float *c,
                                                         const struct uk_sgemm_epilogue *epilogue,
                                                         void *workspace) {
    struct gemm_epilogue e;

    if (!epilogue && sdirect_call_plan(plan, alpha, a, b, beta, c, workspace))
        return UK_OK;
    if (epilogue)
        e = epilogue_given(epilogue->scale, epilogue->low, epilogue->high, epilogue->row_bias,
                           epilogue->column_bias);
    return run(plan, &uk_gemm_f32, alpha, a, b, beta, c, epilogue ? &e : NULL, workspace);
}

__attribute__((noinline)) static enum uk_status
srun_swapped(const struct gemm_plan *plan, float alpha, const float *a, const float *b, float beta, float *c,
             const struct uk_sgemm_epilogue *epilogue, void *workspace) {
    gemm_resolved *resolved = plan->resolved_swapped[0];

    if (sdirect_is_resolved(resolved, alpha, a, b, beta, c, epilogue))
        return resolved(plan->small, b, a, c, sdirect_adds(beta));
    return srun_any(plan, alpha, a, b, beta, c, epilogue, workspace);
}

/* The jump to the kernel should end a cache line of code: each further line, and each taken jump, costs a cycle or two of the
 * smallest products' ten. */
__attribute__((aligned(64))) enum uk_status uk_sgemm_run(const struct uk_gemm_plan *callers, float alpha,
                                                         const float *a, const float *b, float beta, float *c,
                                                         const struct uk_sgemm_epilogue *epilogue,
                                                         void *workspace) {
    const struct gemm_plan *plan = gemm_plan_in(callers);
    gemm_resolved *resolved = plan->resolved[0];

    if (sdirect_is_resolved(resolved, alpha, a, b, beta, c, epilogue))
        return resolved(plan->small, a, b, c, sdirect_adds(beta));
    return srun_swapped(plan, alpha, a, b, beta, c, epilogue, workspace);
}

__attribute__((noinline)) static enum uk_status drun_any(const struct gemm_plan *plan, double alpha,
                                                         const double *a, const double *b, double beta,
                                                         double *c, const struct uk_dgemm_epilogue *epilogue,
                                                         void *workspace) {
    struct gemm_epilogue e;

    if (!epilogue && ddirect_call_plan(plan, alpha, a, b, beta, c, workspace))
        return UK_OK;
    if (epilogue)
        e = epilogue_given(epilogue->scale, epilogue->low, epilogue->high, epilogue->row_bias,
                           epilogue->column_bias);
    return run(plan, &uk_gemm_f64, alpha, a, b, beta, c, epilogue ? &e : NULL, workspace);
}

__attribute__((noinline)) static enum uk_status
drun_swapped(const struct gemm_plan *plan, double alpha, const double *a, const double *b, double beta,
             double *c, const struct uk_dgemm_epilogue *epilogue, void *workspace) {
    gemm_resolved *resolved = plan->resolved_swapped[1];

    if (ddirect_is_resolved(resolved, alpha, a, b, beta, c, epilogue))
        return resolved(plan->small, b, a, c, ddirect_adds(beta));
    return drun_any(plan, alpha, a, b, beta, c, epilogue, workspace);
}

__attribute__((aligned(64))) enum uk_status uk_dgemm_run(const struct uk_gemm_plan *callers, double alpha,
                                                         const double *a, const double *b, double beta,
                                                         double *c, const struct uk_dgemm_epilogue *epilogue,
                                                         void *workspace) {
    const struct gemm_plan *plan = gemm_plan_in(callers);
    gemm_resolved *resolved = plan->resolved[1];

    if (ddirect_is_resolved(resolved, alpha, a, b, beta, c, epilogue))
        return resolved(plan->small, a, b, c, ddirect_adds(beta));
    return drun_swapped(plan, alpha, a, b, beta, c, epilogue, workspace);
}

size_t uk_gemm_workspace(const struct uk_gemm_plan *plan) {
    return gemm_is_plan(gemm_plan_in(plan)) ? uk_gemm_workspace_of(gemm_plan_in(plan)) : 0;
}

/* ---- packing beforehand: the caller's A is the product's B if the layouts differ ---- */

size_t uk_gemm_packed_a_size(const struct uk_gemm_plan *callers) {
    const struct gemm_plan *plan = gemm_plan_in(callers);

    return !gemm_is_plan(plan) ? 0 : plan->swapped ? uk_gemm_packed_b(plan) : uk_gemm_packed_a(plan);
}

size_t uk_gemm_packed_b_size(const struct uk_gemm_plan *callers) {
    const struct gemm_plan *plan = gemm_plan_in(callers);

    return !gemm_is_plan(plan) ? 0 : plan->swapped ? uk_gemm_packed_a(plan) : uk_gemm_packed_b(plan);
}

static enum uk_status pack(const struct gemm_plan *plan, const struct gemm_type *type, bool is_b,
                           const void *from, void *to) {
    if (!gemm_is_plan(plan))
        return UK_INVALID_ARGUMENT;
    const bool b = is_b != plan->swapped;

    if (plan->type != type || ((!from || !to) && (b ? uk_gemm_packed_b(plan) : uk_gemm_packed_a(plan))))
        return UK_INVALID_ARGUMENT;
    if (b)
        uk_gemm_pack_whole_b(plan, from, to);
    else
        uk_gemm_pack_whole_a(plan, from, to);
    return UK_OK;
}

enum uk_status uk_sgemm_pack_a(const struct uk_gemm_plan *plan, const float *a, float *packed) {
    return pack(gemm_plan_in(plan), &uk_gemm_f32, false, a, packed);
}

enum uk_status uk_sgemm_pack_b(const struct uk_gemm_plan *plan, const float *b, float *packed) {
    return pack(gemm_plan_in(plan), &uk_gemm_f32, true, b, packed);
}

enum uk_status uk_dgemm_pack_a(const struct uk_gemm_plan *plan, const double *a, double *packed) {
    return pack(gemm_plan_in(plan), &uk_gemm_f64, false, a, packed);
}

enum uk_status uk_dgemm_pack_b(const struct uk_gemm_plan *plan, const double *b, double *packed) {
    return pack(gemm_plan_in(plan), &uk_gemm_f64, true, b, packed);
}
