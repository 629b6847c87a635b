/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions of one element type that programs call: with plans, and batches. gemm.c includes this file with
 *
 *     ELEMENT                float or double
 *     BITS                   the unsigned integer of its size
 *     TYPE                   its gemm_type
 *     UK(name), LOCAL(name)  names of public and of local functions
 */

static inline BITS LOCAL(bits)(ELEMENT x) {
    union {
        ELEMENT number;
        BITS bits;
    } u = {x};

    return u.bits;
}

/* Not 0 if beta is 1; 0 if it is 0; other values do not occur. Reads bits of the exponent, which is faster
 * than a floating-point comparison. */
static inline int LOCAL(adds)(ELEMENT beta) {
    return (int)(LOCAL(bits)(beta) >> (8 * sizeof beta - 32));
}

/* True if a call needs only the plan's prepared kernels. Numbers are compared as bits, by a single comparison
 * even if they may be NaN. */
static inline bool LOCAL(is_resolved)(uk_small_run *resolved, ELEMENT alpha, const ELEMENT *a,
                                      const ELEMENT *b, ELEMENT beta, const ELEMENT *c,
                                      const void *epilogue) {
    GEMM_REQUIRE(!epilogue);
    GEMM_REQUIRE(resolved);
    GEMM_REQUIRE(LOCAL(bits)(alpha) == LOCAL(bits)(1));
    GEMM_REQUIRE(LOCAL(bits)(beta) == 0 || LOCAL(bits)(beta) == LOCAL(bits)(1));
    GEMM_REQUIRE(a);
    GEMM_REQUIRE(b);
    GEMM_REQUIRE(c);
    return true;
}

/* Has the same parameters as the public function, which jumps here without moving any. */
__attribute__((noinline)) static enum uk_status
LOCAL(call_by_plan)(enum uk_layout layout, enum uk_transpose ta, enum uk_transpose tb, int64_t m, int64_t n,
                    int64_t k, ELEMENT alpha, const ELEMENT *a, int64_t lda, const ELEMENT *b, int64_t ldb,
                    ELEMENT beta, ELEMENT *c, int64_t ldc) {
    if (!atomic_load_explicit(&TYPE.ready, memory_order_acquire))
        uk_gemm_look_up(&TYPE);
    return uk_gemm_call(
        &(struct gemm_arguments){
            &TYPE, {layout, ta, tb, m, n, k, lda, ldb, ldc}, gemm_call_threads(), false, false, UK_C_DEFAULT},
        (double)alpha, a, b, (double)beta, c);
}

/* Aligned to a cache line: the smallest products take some ten cycles, and a function that does not begin at
 * one takes one or two more. */
__attribute__((aligned(64))) enum uk_status UK(gemm)(enum uk_layout layout, enum uk_transpose ta,
                                                     enum uk_transpose tb, int64_t m, int64_t n, int64_t k,
                                                     ELEMENT alpha, const ELEMENT *a, int64_t lda,
                                                     const ELEMENT *b, int64_t ldb, ELEMENT beta, ELEMENT *c,
                                                     int64_t ldc) {
    return alpha == 1 && (beta == 0 || beta == 1) &&
                   call_smallest(&TYPE, layout, ta, tb, m, n, k, a, lda, b, ldb, beta != 0, c, ldc)
               ? UK_OK
               : LOCAL(call_by_plan)(layout, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

enum uk_status UK(gemm_plan)(struct uk_gemm_plan *plan, enum uk_layout layout, enum uk_transpose ta,
                             enum uk_transpose tb, int64_t m, int64_t n, int64_t k, int64_t lda, int64_t ldb,
                             int64_t ldc, const struct uk_gemm_options *options) {
    if (!plan)
        return uk_gemm_refuse(UK_INVALID_ARGUMENT, "plan is NULL");
    return uk_gemm_prepare((struct gemm_prepared *)(void *)plan, uk_gemm_look_up(&TYPE),
                           &(struct gemm_shape){layout, ta, tb, m, n, k, lda, ldb, ldc}, options, NULL);
}

__attribute__((noinline)) static enum uk_status
LOCAL(run_any)(const struct gemm_prepared *plan, ELEMENT alpha, const ELEMENT *a, const ELEMENT *b,
               ELEMENT beta, ELEMENT *c, const struct UK(gemm_epilogue) * epilogue, void *workspace) {
    struct gemm_epilogue e;

    if (epilogue && !uk_gemm_epilogue_given(epilogue->flags, epilogue->scale, epilogue->low, epilogue->high,
                                            epilogue->row_bias, epilogue->column_bias, &e))
        return uk_gemm_refuse(UK_INVALID_ARGUMENT,
                              "the epilogue has an unknown flag, or a value without its flag");
    return uk_gemm_run_as(
        &plan->plan, &TYPE,
        &(struct gemm_operands){(double)alpha, (double)beta, a, b, c, epilogue ? &e : NULL, NULL}, workspace);
}

__attribute__((noinline)) static enum uk_status
LOCAL(run_swapped)(const struct gemm_prepared *plan, ELEMENT alpha, const ELEMENT *a, const ELEMENT *b,
                   ELEMENT beta, ELEMENT *c, const struct UK(gemm_epilogue) * epilogue, void *workspace) {
    uk_small_run *resolved = plan->resolved_swapped[sizeof(ELEMENT) > 4];

    if (LOCAL(is_resolved)(resolved, alpha, a, b, beta, c, epilogue))
        return resolved(plan->calls.call, b, a, c, LOCAL(adds)(beta));
    return LOCAL(run_any)(plan, alpha, a, b, beta, c, epilogue, workspace);
}

/* The jump to the kernel should end a cache line of code: each further line, and each taken jump, costs a
 * cycle or two of the smallest products' ten. */
__attribute__((aligned(64))) enum uk_status
UK(gemm_run)(const struct uk_gemm_plan *callers, ELEMENT alpha, const ELEMENT *a, const ELEMENT *b,
             ELEMENT beta, ELEMENT *c, const struct UK(gemm_epilogue) * epilogue, void *workspace) {
    const struct gemm_prepared *plan = gemm_prepared_in(callers);
    uk_small_run *resolved = plan->resolved[sizeof(ELEMENT) > 4];

    if (LOCAL(is_resolved)(resolved, alpha, a, b, beta, c, epilogue))
        return resolved(plan->calls.call, a, b, c, LOCAL(adds)(beta));
    return LOCAL(run_swapped)(plan, alpha, a, b, beta, c, epilogue, workspace);
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
    return uk_gemm_batch(
        &(struct gemm_batch){
            count, {(double)alpha, (double)beta, a, b, (void *)c, NULL, NULL}, false, 0, 0, 0},
        uk_gemm_look_up(&TYPE), &(struct gemm_shape){layout, ta, tb, m, n, k, lda, ldb, ldc});
}

enum uk_status UK(gemm_batch_strided)(enum uk_layout layout, enum uk_transpose ta, enum uk_transpose tb,
                                      int64_t m, int64_t n, int64_t k, ELEMENT alpha, const ELEMENT *a,
                                      int64_t lda, int64_t stride_a, const ELEMENT *b, int64_t ldb,
                                      int64_t stride_b, ELEMENT beta, ELEMENT *c, int64_t ldc,
                                      int64_t stride_c, int64_t count) {
    return uk_gemm_batch(
        &(struct gemm_batch){
            count, {(double)alpha, (double)beta, a, b, c, NULL, NULL}, true, stride_a, stride_b, stride_c},
        uk_gemm_look_up(&TYPE), &(struct gemm_shape){layout, ta, tb, m, n, k, lda, ldb, ldc});
}
