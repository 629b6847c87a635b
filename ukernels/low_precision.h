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
 * refused by the functions of others. Packed operands are aligned to 4 bytes at least.
 */

/* What is done to each sum of a product of bytes last, as ONNX's QLinearMatMul defines it. With
 *
 *   x = sum over p of (a[i][p] - a_zero) * (b[p][j] - b_zero) + beta c[i][j] + row_bias[i] + column_bias[j]
 *
 * in i32, modulo 2^32, and y = scale * f32(x), in f32, an element of C becomes
 *
 *   C of u8, i8 or i32    min(max(round(y) + c_zero, low), high), rounded to the nearest, ties to even
 *   C of f32              min(max(y, low), high)
 *
 * and without UK_EPILOGUE_SCALE round(y) and y are x. What leaves the type of C becomes its least or greatest
 * number. i and j are the row and column of C in the caller's layout. Zero-initialize: what has no flag and
 * no pointer, and zero points of 0, do nothing.
 *
 * The type of C is that of the plan (c_element of struct uk_gemm_options): UK_C_I32, UK_C_I8, UK_C_U8, or
 * UK_C_F32. ldc counts its elements. Unless it is i32, beta must be 0.
 *
 *     // C of u8: the nearest to 0.02 (A - 128) (B - zero[j]) + 3
 *     struct uk_gemm_plan plan;
 *     struct uk_gemm_options options = {.c_element = UK_C_U8};
 *     struct uk_igemm_epilogue e = {.flags = UK_EPILOGUE_SCALE, .scale = 0.02f, .a_zero = 128, .c_zero = 3};
 *     e.column_zero = zero;
 *     enum uk_status status =
 *         uk_u8gemm_plan(&plan, UK_ROW_MAJOR, UK_NO_TRANSPOSE, UK_NO_TRANSPOSE, m, n, k, k, n, n, &options);
 *     if (!status)
 *         status = uk_u8gemm_run(&plan, a, b, 0, c, &e, NULL);
 *
 * Errors: UK_INVALID_ARGUMENT is a zero point that is no number of its type (c_zero of C of f32: not 0), a
 * scale that is not positive and finite, low > high, bounds between which C's type has no number, an unknown
 * flag, or a value without its flag.
 */
struct uk_igemm_epilogue {
    unsigned flags;                 /* UK_EPILOGUE_SCALE, UK_EPILOGUE_CLAMP: what is done; or 0 */
    float scale;                    /* 0 without its flag, or with column_scale */
    double low, high;               /* both 0 without their flag */
    const int32_t *row_bias;        /* m numbers, or NULL */
    const int32_t *column_bias;     /* n numbers, or NULL */
    const float *column_scale;      /* n numbers that take the place of `scale`, or NULL */
    const int32_t *column_zero;     /* n zero points of B, that of each column, in place of b_zero; or NULL */
    int32_t a_zero, b_zero, c_zero; /* zero points; b_zero is 0 with column_zero */
};

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
                            void *c, const struct uk_igemm_epilogue *epilogue, void *workspace);
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
                             void *c, const struct uk_igemm_epilogue *epilogue, void *workspace);
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
                             int32_t beta, void *c, const struct uk_igemm_epilogue *epilogue,
                             void *workspace);
enum uk_status uk_u8gemm_pack_a(const struct uk_gemm_plan *plan, const uint8_t *a, uint8_t *packed);
enum uk_status uk_u8gemm_pack_b(const struct uk_gemm_plan *plan, const uint8_t *b, uint8_t *packed);

/* ---- products of bf16 and of f16 ----
 *
 *   C = alpha op(A) op(B) + beta C
 *
 * Elements are passed as their bits. Conditions, errors, threads, plans, packing and the epilogue are those
 * of products of f32; packed operands are aligned to 4 bytes at least.
 *
 *     A, B                sums                             C
 *     uk_bgemm    bf16    f32                              f32, or bf16 by c_element
 *     uk_hgemm    f16     f32, or f16 by f16_sums          f16, or f32 by c_element
 *
 * c_element and f16_sums are options of a plan (struct uk_gemm_options). Sums in f32 are at least as exact as
 * if each product and each sum were truncated to 24 bits; those of bf16 may be 0 if they are subnormal. In
 * sums of f16 each product and each sum is rounded to f16 or, on CPUs with a fused operation, the sum with
 * the product added, once. alpha, beta and the epilogue are applied in f32; an element of C is rounded once,
 * ties to even. If C is f16 like the sums, alpha is 1, beta 0 or 1, and there is no epilogue, terms are added
 * to C.
 */
enum uk_status uk_bgemm(enum uk_layout layout, enum uk_transpose ta, enum uk_transpose tb, int64_t m,
                        int64_t n, int64_t k, float alpha, const uint16_t *a, int64_t lda, const uint16_t *b,
                        int64_t ldb, float beta, float *c, int64_t ldc);
enum uk_status uk_bgemm_batch(enum uk_layout layout, enum uk_transpose ta, enum uk_transpose tb, int64_t m,
                              int64_t n, int64_t k, float alpha, const uint16_t *const *a, int64_t lda,
                              const uint16_t *const *b, int64_t ldb, float beta, float *const *c, int64_t ldc,
                              int64_t count);
enum uk_status uk_bgemm_batch_strided(enum uk_layout layout, enum uk_transpose ta, enum uk_transpose tb,
                                      int64_t m, int64_t n, int64_t k, float alpha, const uint16_t *a,
                                      int64_t lda, int64_t stride_a, const uint16_t *b, int64_t ldb,
                                      int64_t stride_b, float beta, float *c, int64_t ldc, int64_t stride_c,
                                      int64_t count);
enum uk_status uk_bgemm_plan(struct uk_gemm_plan *plan, enum uk_layout layout, enum uk_transpose ta,
                             enum uk_transpose tb, int64_t m, int64_t n, int64_t k, int64_t lda, int64_t ldb,
                             int64_t ldc, const struct uk_gemm_options *options);
enum uk_status uk_bgemm_run(const struct uk_gemm_plan *plan, float alpha, const uint16_t *a,
                            const uint16_t *b, float beta, void *c, const struct uk_sgemm_epilogue *epilogue,
                            void *workspace);
enum uk_status uk_bgemm_pack_a(const struct uk_gemm_plan *plan, const uint16_t *a, uint16_t *packed);
enum uk_status uk_bgemm_pack_b(const struct uk_gemm_plan *plan, const uint16_t *b, uint16_t *packed);

enum uk_status uk_hgemm(enum uk_layout layout, enum uk_transpose ta, enum uk_transpose tb, int64_t m,
                        int64_t n, int64_t k, float alpha, const uint16_t *a, int64_t lda, const uint16_t *b,
                        int64_t ldb, float beta, uint16_t *c, int64_t ldc);
enum uk_status uk_hgemm_batch(enum uk_layout layout, enum uk_transpose ta, enum uk_transpose tb, int64_t m,
                              int64_t n, int64_t k, float alpha, const uint16_t *const *a, int64_t lda,
                              const uint16_t *const *b, int64_t ldb, float beta, uint16_t *const *c,
                              int64_t ldc, int64_t count);
enum uk_status uk_hgemm_batch_strided(enum uk_layout layout, enum uk_transpose ta, enum uk_transpose tb,
                                      int64_t m, int64_t n, int64_t k, float alpha, const uint16_t *a,
                                      int64_t lda, int64_t stride_a, const uint16_t *b, int64_t ldb,
                                      int64_t stride_b, float beta, uint16_t *c, int64_t ldc,
                                      int64_t stride_c, int64_t count);
enum uk_status uk_hgemm_plan(struct uk_gemm_plan *plan, enum uk_layout layout, enum uk_transpose ta,
                             enum uk_transpose tb, int64_t m, int64_t n, int64_t k, int64_t lda, int64_t ldb,
                             int64_t ldc, const struct uk_gemm_options *options);
enum uk_status uk_hgemm_run(const struct uk_gemm_plan *plan, float alpha, const uint16_t *a,
                            const uint16_t *b, float beta, void *c, const struct uk_sgemm_epilogue *epilogue,
                            void *workspace);
enum uk_status uk_hgemm_pack_a(const struct uk_gemm_plan *plan, const uint16_t *a, uint16_t *packed);
enum uk_status uk_hgemm_pack_b(const struct uk_gemm_plan *plan, const uint16_t *b, uint16_t *packed);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
