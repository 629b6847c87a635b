/* SPDX-License-Identifier: Apache-2.0 */
/* Products with weights in blocks: the functions that programs call. */
#include "gemm/weights.h"

static enum uk_status make(struct uk_weights_plan *callers, int bits, int64_t m, int64_t n, int64_t k,
                           int64_t block, int64_t lda, int64_t ldc,
                           const struct uk_weights_options *options) {
    if (!callers)
        return uk_gemm_refuse(UK_INVALID_ARGUMENT, "plan is NULL");
    return uk_weights_make_plan((struct weights_plan *)(void *)callers, bits, m, n, k, block, lda, ldc,
                                options);
}

/* The plan, if it is one for weights of that many bits; else NULL, and *status says why. */
static const struct weights_plan *plan_for(const struct uk_weights_plan *callers, int bits,
                                           enum uk_status *status) {
    const struct weights_plan *p = weights_plan_in(callers);

    *status = UK_OK;
    if (p && p->bits == bits)
        return p;
    *status = uk_gemm_refuse(UK_INVALID_ARGUMENT, "the plan is not one of uk_w%dgemm_plan", bits);
    return NULL;
}

static enum uk_status pack(const struct uk_weights_plan *callers, int bits, const struct uk_weights *weights,
                           void *packed) {
    enum uk_status status;
    const struct weights_plan *p = plan_for(callers, bits, &status);

    if (!p)
        return status;
    if (!weights || !packed)
        return uk_gemm_refuse(UK_INVALID_ARGUMENT, "%s is NULL", weights ? "packed" : "weights");
    return uk_weights_pack(p, weights, packed);
}

static size_t workspace_of(const struct weights_plan *p) {
    return p->copy + p->scales + p->sums;
}

static enum uk_status check_run(const struct weights_plan *p, const void *a, const void *packed,
                                const void *c) {
    const bool is_empty = !p->m || !p->n;

    if (!packed || (!is_empty && (!c || (!a && p->k))))
        return uk_gemm_refuse(UK_INVALID_ARGUMENT, "%s is NULL", !packed ? "packed" : !c ? "c" : "a");
    if (!uk_weights_are_packed(p, packed))
        return uk_gemm_refuse(UK_INVALID_ARGUMENT,
                              "the weights are not packed, or for another plan: n, k, block, scale and "
                              "has_zeros must be the same, and the machine");
    return UK_OK;
}

static enum uk_status run(const struct uk_weights_plan *callers, int bits, const void *a, const void *packed,
                          float beta, void *c, const struct uk_sgemm_epilogue *epilogue, void *workspace) {
    enum uk_status status;
    const struct weights_plan *p = plan_for(callers, bits, &status);
    struct gemm_epilogue e;

    if (!p || (status = check_run(p, a, packed, c)))
        return status;
    if (epilogue &&
        !uk_gemm_epilogue_given(epilogue->flags, (double)epilogue->scale, (double)epilogue->low,
                                (double)epilogue->high, epilogue->row_bias, epilogue->column_bias, &e))
        return uk_gemm_refuse(UK_INVALID_ARGUMENT,
                              "the epilogue has an unknown flag, or a value without its flag");
    if (!p->m || !p->n)
        return UK_OK;
    void *const own = workspace || !workspace_of(p) ? NULL : uk_take_memory(workspace_of(p));

    if (!workspace && !own && workspace_of(p))
        return uk_gemm_refuse(UK_OUT_OF_MEMORY, "no memory for a workspace of %zu bytes", workspace_of(p));
    uk_weights_run(p, a, packed, beta, c, epilogue ? &e : NULL, own ? own : workspace);
    uk_give_memory(own);
    return UK_OK;
}

size_t uk_weights_packed_size(const struct uk_weights_plan *plan) {
    return weights_plan_in(plan) ? uk_weights_bytes(weights_plan_in(plan)) : 0;
}

size_t uk_weights_workspace(const struct uk_weights_plan *plan) {
    return weights_plan_in(plan) ? workspace_of(weights_plan_in(plan)) : 0;
}

size_t uk_weights_explain(const struct uk_weights_plan *plan, char *buffer, size_t size) {
    const struct weights_plan *p = weights_plan_in(plan);
    struct gemm_text t = {.buffer = buffer, .size = buffer ? size : 0};

    if (!p)
        return 0;
    uk_gemm_add(&t, "kernel: %s\n", p->kernel->symbol);
    uk_gemm_add(&t, "A: %s\n",
                weights_by_bytes(p) ? "rounded to bytes, block by block"
                : p->ld             ? "copied in rows of f32"
                                    : "read in place");
    uk_gemm_add(&t, "blocks: %lld of rows\n", (long long)p->row_blocks);
    uk_gemm_add(&t, "threads: %lld by columns, %lld by rows\n", (long long)p->column_tasks,
                (long long)p->row_tasks);
    return t.length;
}

#define FUNCTIONS(bits)                                                                                 \
    enum uk_status uk_w##bits##gemm_plan(struct uk_weights_plan *plan, int64_t m, int64_t n, int64_t k, \
                                         int64_t block, int64_t lda, int64_t ldc,                       \
                                         const struct uk_weights_options *options) {                    \
        return make(plan, bits, m, n, k, block, lda, ldc, options);                                     \
    }                                                                                                   \
    enum uk_status uk_w##bits##gemm_pack(const struct uk_weights_plan *plan,                            \
                                         const struct uk_weights *weights, void *packed) {              \
        return pack(plan, bits, weights, packed);                                                       \
    }                                                                                                   \
    enum uk_status uk_w##bits##gemm_run(const struct uk_weights_plan *plan, const void *a,              \
                                        const void *packed, float beta, void *c,                        \
                                        const struct uk_sgemm_epilogue *epilogue, void *workspace) {    \
        return run(plan, bits, a, packed, beta, c, epilogue, workspace);                                \
    }
FUNCTIONS(4)
FUNCTIONS(8)
