/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions of products of bf16 or f16 that programs call. halves.c includes this file with
 *
 *     RESULT    the elements of C of calls without a plan
 *     TYPE      the gemm_type of calls without a plan
 *     TYPE_OF_PLAN(options), TYPE_OF_RUN(plan)  that of a plan to be made, and of one that exists
 *     UK(name)  names of public functions
 */

enum uk_status UK(gemm)(enum uk_layout layout, enum uk_transpose ta, enum uk_transpose tb, int64_t m,
                        int64_t n, int64_t k, float alpha, const uint16_t *a, int64_t lda, const uint16_t *b,
                        int64_t ldb, float beta, RESULT *c, int64_t ldc) {
    const struct gemm_type *type = uk_gemm_look_up(&TYPE);

    return uk_gemm_call(
        &(struct gemm_arguments){
            type, {layout, ta, tb, m, n, k, lda, ldb, ldc}, gemm_call_threads(), false, false, UK_C_DEFAULT},
        (double)alpha, a, b, (double)beta, c);
}

enum uk_status UK(gemm_batch)(enum uk_layout layout, enum uk_transpose ta, enum uk_transpose tb, int64_t m,
                              int64_t n, int64_t k, float alpha, const uint16_t *const *a, int64_t lda,
                              const uint16_t *const *b, int64_t ldb, float beta, RESULT *const *c,
                              int64_t ldc, int64_t count) {
    return uk_gemm_batch(
        &(struct gemm_batch){
            count, {(double)alpha, (double)beta, a, b, (void *)c, NULL, NULL}, false, 0, 0, 0},
        uk_gemm_look_up(&TYPE), &(struct gemm_shape){layout, ta, tb, m, n, k, lda, ldb, ldc});
}

enum uk_status UK(gemm_batch_strided)(enum uk_layout layout, enum uk_transpose ta, enum uk_transpose tb,
                                      int64_t m, int64_t n, int64_t k, float alpha, const uint16_t *a,
                                      int64_t lda, int64_t stride_a, const uint16_t *b, int64_t ldb,
                                      int64_t stride_b, float beta, RESULT *c, int64_t ldc, int64_t stride_c,
                                      int64_t count) {
    return uk_gemm_batch(
        &(struct gemm_batch){
            count, {(double)alpha, (double)beta, a, b, c, NULL, NULL}, true, stride_a, stride_b, stride_c},
        uk_gemm_look_up(&TYPE), &(struct gemm_shape){layout, ta, tb, m, n, k, lda, ldb, ldc});
}

enum uk_status UK(gemm_plan)(struct uk_gemm_plan *plan, enum uk_layout layout, enum uk_transpose ta,
                             enum uk_transpose tb, int64_t m, int64_t n, int64_t k, int64_t lda, int64_t ldb,
                             int64_t ldc, const struct uk_gemm_options *options) {
    if (!plan)
        return uk_gemm_refuse(UK_INVALID_ARGUMENT, "plan is NULL");
    return uk_gemm_prepare((struct gemm_prepared *)(void *)plan, uk_gemm_look_up(TYPE_OF_PLAN(options)),
                           &(struct gemm_shape){layout, ta, tb, m, n, k, lda, ldb, ldc}, options, NULL);
}

enum uk_status UK(gemm_run)(const struct uk_gemm_plan *callers, float alpha, const uint16_t *a,
                            const uint16_t *b, float beta, void *c, const struct uk_sgemm_epilogue *epilogue,
                            void *workspace) {
    return run_halves(callers, TYPE_OF_RUN(callers),
                      &(struct gemm_operands){(double)alpha, (double)beta, a, b, c, NULL, NULL}, epilogue,
                      workspace);
}

enum uk_status UK(gemm_pack_a)(const struct uk_gemm_plan *plan, const uint16_t *a, uint16_t *packed) {
    return uk_gemm_pack_operand(gemm_plan_in(plan), TYPE_OF_RUN(plan), false, a, packed);
}

enum uk_status UK(gemm_pack_b)(const struct uk_gemm_plan *plan, const uint16_t *b, uint16_t *packed) {
    return uk_gemm_pack_operand(gemm_plan_in(plan), TYPE_OF_RUN(plan), true, b, packed);
}

#undef RESULT
#undef TYPE
#undef TYPE_OF_PLAN
#undef TYPE_OF_RUN
#undef UK
