/* SPDX-License-Identifier: Apache-2.0 */
/* The functions that programs call, of one element type: included by gemm.c behind direct_element.h, with LOOKED_UP, which returns the
 * type's tables, and UK(name) for the names. */

__attribute__((noinline)) static enum uk_status DIRECT(by_plan)(enum uk_layout layout, enum uk_transpose ta,
                                                                enum uk_transpose tb, int64_t m, int64_t n,
                                                                int64_t k, ELEMENT alpha, const ELEMENT *a,
                                                                int64_t lda, const ELEMENT *b, int64_t ldb,
                                                                ELEMENT beta, ELEMENT *c, int64_t ldc) {
    return call(&TYPE, &(struct gemm_shape){layout, ta, tb, m, n, k, lda, ldb, ldc}, alpha, a, b, beta, c);
}

/* The first call in the process: it looks up the kernels, without which small products are not recognized, and their results would
 * be summed in another order. */
__attribute__((noinline)) static enum uk_status DIRECT(first)(enum uk_layout layout, enum uk_transpose ta,
                                                              enum uk_transpose tb, int64_t m, int64_t n,
                                                              int64_t k, ELEMENT alpha, const ELEMENT *a,
                                                              int64_t lda, const ELEMENT *b, int64_t ldb,
                                                              ELEMENT beta, ELEMENT *c, int64_t ldc) {
    LOOKED_UP();
    return UK(gemm)(layout, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

enum uk_status UK(gemm)(enum uk_layout layout, enum uk_transpose ta, enum uk_transpose tb, int64_t m,
                        int64_t n, int64_t k, ELEMENT alpha, const ELEMENT *a, int64_t lda, const ELEMENT *b,
                        int64_t ldb, ELEMENT beta, ELEMENT *c, int64_t ldc) {
    if (!atomic_load_explicit(&TYPE.ready, memory_order_acquire))
        return DIRECT(first)(layout, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
    return DIRECT(call)(layout, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
               ? UK_OK
               : DIRECT(by_plan)(layout, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

enum uk_status UK(gemm_plan)(struct uk_gemm_plan *plan, enum uk_layout layout, enum uk_transpose ta,
                             enum uk_transpose tb, int64_t m, int64_t n, int64_t k, int64_t lda, int64_t ldb,
                             int64_t ldc, const struct uk_gemm_options *options) {
    if (!plan)
        return UK_INVALID_ARGUMENT;
    return uk_gemm_resolve((struct gemm_plan *)(void *)plan, LOOKED_UP(),
                           &(struct gemm_shape){layout, ta, tb, m, n, k, lda, ldb, ldc}, options);
}

__attribute__((noinline)) static enum uk_status
DIRECT(run_any)(const struct gemm_plan *plan, ELEMENT alpha, const ELEMENT *a, const ELEMENT *b, ELEMENT beta,
                ELEMENT *c, const struct UK(gemm_epilogue) * epilogue, void *workspace) {
    struct gemm_epilogue e;

    if (!epilogue && DIRECT(call_plan)(plan, alpha, a, b, beta, c, workspace))
        return UK_OK;
    if (epilogue && !epilogue_given(epilogue->flags, epilogue->scale, epilogue->low, epilogue->high,
                                    epilogue->row_bias, epilogue->column_bias, &e))
        return UK_INVALID_ARGUMENT;
    return uk_gemm_run_as(plan, &TYPE, alpha, a, b, beta, c, epilogue ? &e : NULL, workspace);
}

__attribute__((noinline)) static enum uk_status
DIRECT(run_swapped)(const struct gemm_plan *plan, ELEMENT alpha, const ELEMENT *a, const ELEMENT *b,
                    ELEMENT beta, ELEMENT *c, const struct UK(gemm_epilogue) * epilogue, void *workspace) {
    gemm_resolved *resolved = plan->resolved_swapped[sizeof(ELEMENT) > 4];

    if (DIRECT(is_resolved)(resolved, alpha, a, b, beta, c, epilogue))
        return resolved(plan->small, b, a, c, DIRECT(adds)(beta));
    return DIRECT(run_any)(plan, alpha, a, b, beta, c, epilogue, workspace);
}

/* The jump to the kernel should end a cache line of code: each further line, and each taken jump, costs a cycle or two of the
 * smallest products' ten. */
__attribute__((aligned(64))) enum uk_status
UK(gemm_run)(const struct uk_gemm_plan *callers, ELEMENT alpha, const ELEMENT *a, const ELEMENT *b,
             ELEMENT beta, ELEMENT *c, const struct UK(gemm_epilogue) * epilogue, void *workspace) {
    const struct gemm_plan *plan = gemm_plan_in(callers);
    gemm_resolved *resolved = plan->resolved[sizeof(ELEMENT) > 4];

    if (DIRECT(is_resolved)(resolved, alpha, a, b, beta, c, epilogue))
        return resolved(plan->small, a, b, c, DIRECT(adds)(beta));
    return DIRECT(run_swapped)(plan, alpha, a, b, beta, c, epilogue, workspace);
}

enum uk_status UK(gemm_pack_a)(const struct uk_gemm_plan *plan, const ELEMENT *a, ELEMENT *packed) {
    return uk_gemm_pack_operand(gemm_plan_in(plan), &TYPE, false, a, packed);
}

enum uk_status UK(gemm_pack_b)(const struct uk_gemm_plan *plan, const ELEMENT *b, ELEMENT *packed) {
    return uk_gemm_pack_operand(gemm_plan_in(plan), &TYPE, true, b, packed);
}

enum uk_status UK(gemm_batch)(enum uk_layout layout, enum uk_transpose ta, enum uk_transpose tb, int64_t m,
                              int64_t n, int64_t k, ELEMENT alpha, const ELEMENT *const *a, int64_t lda,
                              const ELEMENT *const *b, int64_t ldb, ELEMENT beta, ELEMENT *const *c,
                              int64_t ldc, int64_t count) {
    struct gemm_batch t = {.common = {.alpha = alpha, .beta = beta},
                           .a = (const void *)a,
                           .b = (const void *)b,
                           .c = (const void *)c};

    return uk_gemm_run_batch(&t, LOOKED_UP(), &(struct gemm_shape){layout, ta, tb, m, n, k, lda, ldb, ldc},
                             count);
}

enum uk_status UK(gemm_batch_strided)(enum uk_layout layout, enum uk_transpose ta, enum uk_transpose tb,
                                      int64_t m, int64_t n, int64_t k, ELEMENT alpha, const ELEMENT *a,
                                      int64_t lda, int64_t stride_a, const ELEMENT *b, int64_t ldb,
                                      int64_t stride_b, ELEMENT beta, ELEMENT *c, int64_t ldc,
                                      int64_t stride_c, int64_t count) {
    struct gemm_batch t = {.common = {.alpha = alpha, .beta = beta},
                           .is_strided = true,
                           .first_a = (const char *)a,
                           .first_b = (const char *)b,
                           .first_c = (char *)c,
                           .stride_a = stride_a,
                           .stride_b = stride_b,
                           .stride_c = stride_c};

    return uk_gemm_run_batch(&t, LOOKED_UP(), &(struct gemm_shape){layout, ta, tb, m, n, k, lda, ldb, ldc},
                             count);
}
