/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions of products of bytes of one pair of types that programs call. bytes.c includes this file with
 *
 *     LEFT, RIGHT  the elements of A and of B
 *     TYPE         their gemm_type
 *     UK(name)     names of public functions
 */

enum uk_status UK(gemm)(enum uk_layout layout, enum uk_transpose ta, enum uk_transpose tb, int64_t m,
                        int64_t n, int64_t k, const LEFT *a, int64_t lda, const RIGHT *b, int64_t ldb,
                        int32_t beta, int32_t *c, int64_t ldc) {
    const struct gemm_type *type = uk_gemm_look_up(&TYPE);

    return uk_gemm_call(
        &(struct gemm_arguments){
            type, {layout, ta, tb, m, n, k, lda, ldb, ldc}, gemm_call_threads(), false, false, UK_C_DEFAULT},
        1, a, b, beta, c);
}

enum uk_status UK(gemm_batch)(enum uk_layout layout, enum uk_transpose ta, enum uk_transpose tb, int64_t m,
                              int64_t n, int64_t k, const LEFT *const *a, int64_t lda, const RIGHT *const *b,
                              int64_t ldb, int32_t beta, int32_t *const *c, int64_t ldc, int64_t count) {
    return uk_gemm_batch(&(struct gemm_batch){count, {1, beta, a, b, (void *)c, NULL, NULL}, false, 0, 0, 0},
                         uk_gemm_look_up(&TYPE),
                         &(struct gemm_shape){layout, ta, tb, m, n, k, lda, ldb, ldc});
}

enum uk_status UK(gemm_batch_strided)(enum uk_layout layout, enum uk_transpose ta, enum uk_transpose tb,
                                      int64_t m, int64_t n, int64_t k, const LEFT *a, int64_t lda,
                                      int64_t stride_a, const RIGHT *b, int64_t ldb, int64_t stride_b,
                                      int32_t beta, int32_t *c, int64_t ldc, int64_t stride_c,
                                      int64_t count) {
    return uk_gemm_batch(
        &(struct gemm_batch){count, {1, beta, a, b, c, NULL, NULL}, true, stride_a, stride_b, stride_c},
        uk_gemm_look_up(&TYPE), &(struct gemm_shape){layout, ta, tb, m, n, k, lda, ldb, ldc});
}

enum uk_status UK(gemm_plan)(struct uk_gemm_plan *plan, enum uk_layout layout, enum uk_transpose ta,
                             enum uk_transpose tb, int64_t m, int64_t n, int64_t k, int64_t lda, int64_t ldb,
                             int64_t ldc, const struct uk_gemm_options *options) {
    if (!plan)
        return uk_gemm_refuse(UK_INVALID_ARGUMENT, "plan is NULL");
    return uk_gemm_prepare((struct gemm_prepared *)(void *)plan, uk_gemm_look_up(&TYPE),
                           &(struct gemm_shape){layout, ta, tb, m, n, k, lda, ldb, ldc}, options, NULL);
}

enum uk_status UK(gemm_run)(const struct uk_gemm_plan *callers, const LEFT *a, const RIGHT *b, int32_t beta,
                            void *c, const struct uk_igemm_epilogue *epilogue, void *workspace) {
    return run_bytes(callers, &TYPE, a, b, beta, c, epilogue, workspace);
}

enum uk_status UK(gemm_pack_a)(const struct uk_gemm_plan *plan, const LEFT *a, LEFT *packed) {
    return uk_gemm_pack_operand(gemm_plan_in(plan), &TYPE, false, a, packed);
}

enum uk_status UK(gemm_pack_b)(const struct uk_gemm_plan *plan, const RIGHT *b, RIGHT *packed) {
    return uk_gemm_pack_operand(gemm_plan_in(plan), &TYPE, true, b, packed);
}

#undef LEFT
#undef RIGHT
#undef TYPE
#undef UK
