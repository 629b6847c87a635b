/* SPDX-License-Identifier: Apache-2.0 */
/* libukernels: matrix products of low precision. ukernels.h, which says what all products have in common,
 * includes this header. */
#ifndef UK_LOW_PRECISION_H
#define UK_LOW_PRECISION_H

#include "ukernels.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* ---- products of bytes ----
 *
 *   C = op(A) op(B) + beta C
 *
 * with C of i32, in any layout, with the same conditions, errors and threads as products of f32:
 *
 *                 A     B     k for which no sum leaves an i32
 *     uk_igemm    u8    i8    up to 65,793
 *     uk_i8gemm   i8    i8    up to 131,071
 *     uk_u8gemm   u8    u8    up to 33,025
 *
 * Nothing is rounded or saturated: sums of any length are exact modulo 2^32, and so they are in whatever
 * order they are summed. Plans are made and packed for as those of floats are; a plan of one pair of types is
 * refused by the functions of others.
 */
enum uk_status uk_igemm(enum uk_layout layout, enum uk_transpose ta, enum uk_transpose tb, int64_t m,
                        int64_t n, int64_t k, const uint8_t *a, int64_t lda, const int8_t *b, int64_t ldb,
                        int32_t beta, int32_t *c, int64_t ldc);
enum uk_status uk_igemm_batch(enum uk_layout layout, enum uk_transpose ta, enum uk_transpose tb, int64_t m,
                              int64_t n, int64_t k, const uint8_t *const *a, int64_t lda,
                              const int8_t *const *b, int64_t ldb, int32_t beta, int32_t *const *c,
                              int64_t ldc, int64_t count);
enum uk_status uk_igemm_batch_strided(enum uk_layout layout, enum uk_transpose ta, enum uk_transpose tb,
                                      int64_t m, int64_t n, int64_t k, const uint8_t *a, int64_t lda,
                                      int64_t stride_a, const int8_t *b, int64_t ldb, int64_t stride_b,
                                      int32_t beta, int32_t *c, int64_t ldc, int64_t stride_c, int64_t count);
enum uk_status uk_igemm_plan(struct uk_gemm_plan *plan, enum uk_layout layout, enum uk_transpose ta,
                             enum uk_transpose tb, int64_t m, int64_t n, int64_t k, int64_t lda, int64_t ldb,
                             int64_t ldc, const struct uk_gemm_options *options);
enum uk_status uk_igemm_run(const struct uk_gemm_plan *plan, const uint8_t *a, const int8_t *b, int32_t beta,
                            int32_t *c, void *workspace);
enum uk_status uk_igemm_pack_a(const struct uk_gemm_plan *plan, const uint8_t *a, uint8_t *packed);
enum uk_status uk_igemm_pack_b(const struct uk_gemm_plan *plan, const int8_t *b, int8_t *packed);

enum uk_status uk_i8gemm(enum uk_layout layout, enum uk_transpose ta, enum uk_transpose tb, int64_t m,
                         int64_t n, int64_t k, const int8_t *a, int64_t lda, const int8_t *b, int64_t ldb,
                         int32_t beta, int32_t *c, int64_t ldc);
enum uk_status uk_i8gemm_batch(enum uk_layout layout, enum uk_transpose ta, enum uk_transpose tb, int64_t m,
                               int64_t n, int64_t k, const int8_t *const *a, int64_t lda,
                               const int8_t *const *b, int64_t ldb, int32_t beta, int32_t *const *c,
                               int64_t ldc, int64_t count);
enum uk_status uk_i8gemm_batch_strided(enum uk_layout layout, enum uk_transpose ta, enum uk_transpose tb,
                                       int64_t m, int64_t n, int64_t k, const int8_t *a, int64_t lda,
                                       int64_t stride_a, const int8_t *b, int64_t ldb, int64_t stride_b,
                                       int32_t beta, int32_t *c, int64_t ldc, int64_t stride_c,
                                       int64_t count);
enum uk_status uk_i8gemm_plan(struct uk_gemm_plan *plan, enum uk_layout layout, enum uk_transpose ta,
                              enum uk_transpose tb, int64_t m, int64_t n, int64_t k, int64_t lda, int64_t ldb,
                              int64_t ldc, const struct uk_gemm_options *options);
enum uk_status uk_i8gemm_run(const struct uk_gemm_plan *plan, const int8_t *a, const int8_t *b, int32_t beta,
                             int32_t *c, void *workspace);
enum uk_status uk_i8gemm_pack_a(const struct uk_gemm_plan *plan, const int8_t *a, int8_t *packed);
enum uk_status uk_i8gemm_pack_b(const struct uk_gemm_plan *plan, const int8_t *b, int8_t *packed);

enum uk_status uk_u8gemm(enum uk_layout layout, enum uk_transpose ta, enum uk_transpose tb, int64_t m,
                         int64_t n, int64_t k, const uint8_t *a, int64_t lda, const uint8_t *b, int64_t ldb,
                         int32_t beta, int32_t *c, int64_t ldc);
enum uk_status uk_u8gemm_batch(enum uk_layout layout, enum uk_transpose ta, enum uk_transpose tb, int64_t m,
                               int64_t n, int64_t k, const uint8_t *const *a, int64_t lda,
                               const uint8_t *const *b, int64_t ldb, int32_t beta, int32_t *const *c,
                               int64_t ldc, int64_t count);
enum uk_status uk_u8gemm_batch_strided(enum uk_layout layout, enum uk_transpose ta, enum uk_transpose tb,
                                       int64_t m, int64_t n, int64_t k, const uint8_t *a, int64_t lda,
                                       int64_t stride_a, const uint8_t *b, int64_t ldb, int64_t stride_b,
                                       int32_t beta, int32_t *c, int64_t ldc, int64_t stride_c,
                                       int64_t count);
enum uk_status uk_u8gemm_plan(struct uk_gemm_plan *plan, enum uk_layout layout, enum uk_transpose ta,
                              enum uk_transpose tb, int64_t m, int64_t n, int64_t k, int64_t lda, int64_t ldb,
                              int64_t ldc, const struct uk_gemm_options *options);
enum uk_status uk_u8gemm_run(const struct uk_gemm_plan *plan, const uint8_t *a, const uint8_t *b,
                             int32_t beta, int32_t *c, void *workspace);
enum uk_status uk_u8gemm_pack_a(const struct uk_gemm_plan *plan, const uint8_t *a, uint8_t *packed);
enum uk_status uk_u8gemm_pack_b(const struct uk_gemm_plan *plan, const uint8_t *b, uint8_t *packed);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
