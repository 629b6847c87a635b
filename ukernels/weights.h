/* SPDX-License-Identifier: Apache-2.0 */
/* libukernels: matrix products with weights of 4 and 8 bits in blocks, as language models have them.
 * ukernels.h, which says what all products have in common, includes this header. */
#ifndef UK_WEIGHTS_H
#define UK_WEIGHTS_H

#include "ukernels.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* ---- products with weights in blocks ----
 *
 *   C = A W + beta C,   W[p][j] = scale[g][j] * (w[p][j] - zero[g][j]),   g = p / block
 *
 * A is m x k and C m x n, both row-major, of f32 or both of bf16. w is k x n, whole numbers of 4 bits
 * (uk_w4gemm_) or of 8 (uk_w8gemm_), not negative. `block` terms of a column that follow one another share a
 * scale and a zero point: 16 to 128, a multiple of 16 that divides k.
 *
 * Weights are packed once, for products of any number of rows. A plan is for a number of rows:
 *
 *     // y = x W of 1 x 4096 by 4096 x 4096, with weights as ONNX's MatMulNBits stores them
 *     struct uk_weights_plan plan;
 *     struct uk_weights w = {.weight = weight, .scale = scale};
 *     enum uk_status status = uk_w4gemm_plan(&plan, 1, 4096, 4096, 32, 4096, 4096, NULL);
 *     void *packed = status ? NULL : aligned_alloc(64, (uk_weights_packed_size(&plan) + 63) / 64 * 64);
 *     if (packed && !(status = uk_w4gemm_pack(&plan, &w, packed)))
 *         status = uk_w4gemm_run(&plan, x, packed, 0, y, NULL, NULL);
 *     free(packed);
 *
 * Sums are computed in one of two ways (options.sums):
 *
 *     UK_SUMS_F32    Weights become f32, and are multiplied by A in f32. C is within (k + 4) 2^-24 times the
 *                    sum of |a| |scale| (w + zero) of the exact result, beside its own rounding.
 *     UK_SUMS_I32    Each block of a row of A is rounded to 127 steps of its largest magnitude x, and
 * products of bytes are summed exactly in each block. As MatMulNBits with accuracy_level 4. Each block adds
 * an error of at most x / 254 times the sum of the block's |W|. A row with an element that is infinite or NaN
 * becomes NaN.
 *
 * Errors: UK_INVALID_ARGUMENT is an enum out of range, a null pointer to what is read or written, a scale
 * that is infinite or NaN, a zero point of more than 15 for 4 bits, packed weights of another plan, or a plan
 * of the other function; UK_INVALID_SIZE a negative size, a block that is not allowed, a leading dimension
 * that is too small, or a matrix of 2^56 bytes and more; UK_OUT_OF_MEMORY a workspace that could not be
 * allocated. uk_last_message names the argument.
 *
 * Threads: as for other products. C is the same to the last bit whatever their number.
 */
/* The type of scales, as the caller has them and as they are packed. */
enum uk_scale_type { UK_SCALE_F32, UK_SCALE_F16, UK_SCALE_BF16 };
enum uk_sums { UK_SUMS_F32, UK_SUMS_I32 };

/* How a plan is to be made. Zero-initialize. */
struct uk_weights_options {
    int threads;              /* the most threads; 0: uk_num_threads(), 1: the caller's alone */
    struct pthreadpool *pool; /* as in struct uk_gemm_options */
    enum uk_sums sums;
    enum uk_scale_type scale;
    bool has_zeros; /* false: all zero points are 8, or 128 if weights have 8 bits */
    bool is_bf16;   /* A and C are of bf16, not of f32 */
};

/* The order of the two weights of a byte. In both the first is in the low half. */
enum uk_nibbles {
    UK_NIBBLES_PAIRS,  /* byte t of a block has its terms 2 t and 2 t + 1: MatMulNBits */
    UK_NIBBLES_HALVES, /* its terms t and t + block / 2: GGUF's Q4_0 */
};

/* A caller's weights. Zero-initialize. Byte t of block g of column j is at weight[g * weight_block + t +
 * j * weight_column]; the scale at that many bytes from `scale`, with steps scale_block and scale_column; the
 * zero point likewise. Steps of 0 are those of MatMulNBits: blocks of a column follow one another, then come
 * those of the next. */
struct uk_weights {
    const uint8_t *weight; /* block bytes, or with 4 bits block / 2, of each block */
    const void *scale;     /* of the plan's type; at least aligned to 1 */
    const uint8_t *zero;   /* read if the plan has zero points */
    int64_t weight_block, weight_column;
    int64_t scale_block, scale_column;
    int64_t zero_block, zero_column;
    enum uk_nibbles nibbles;
    /* Of 4 bits: two zero points share a byte, that of an even block in its low half. zero_block must be 0,
     * zero_column 0 or the bytes from column to column. */
    bool zero_nibbles;
};

/* Made by uk_w4gemm_plan or uk_w8gemm_plan. It may be copied, owns no memory, and need not be freed. */
struct uk_weights_plan {
    unsigned char opaque[512] __attribute__((aligned(16)));
};

/* options may be NULL: all zero. On failure *plan is not written. */
enum uk_status uk_w4gemm_plan(struct uk_weights_plan *plan, int64_t m, int64_t n, int64_t k, int64_t block,
                              int64_t lda, int64_t ldc, const struct uk_weights_options *options);
enum uk_status uk_w8gemm_plan(struct uk_weights_plan *plan, int64_t m, int64_t n, int64_t k, int64_t block,
                              int64_t lda, int64_t ldc, const struct uk_weights_options *options);

/* The bytes of packed weights, which begin with a stamp of 64 bytes. They are for all plans of this function
 * on this machine that have the same n, k, block, scale and has_zeros, and may be read by any number of
 * threads. The layout may change between versions: do not store them. */
size_t uk_weights_packed_size(const struct uk_weights_plan *plan);
/* Packs weights into the caller's memory of that size, aligned to 64. */
enum uk_status uk_w4gemm_pack(const struct uk_weights_plan *plan, const struct uk_weights *weights,
                              void *packed);
enum uk_status uk_w8gemm_pack(const struct uk_weights_plan *plan, const struct uk_weights *weights,
                              void *packed);

/* The bytes of workspace that a run needs; 0: none. SIZE_MAX: more than addresses reach. */
size_t uk_weights_workspace(const struct uk_weights_plan *plan);
/* Computes C. The epilogue, which may be NULL, is that of uk_sgemm_run. If beta is 0, C is not read.
 * workspace is uk_weights_workspace(plan) bytes aligned to 64, used by one call at a time; if it is NULL, the
 * call takes memory that an earlier one kept, or allocates. */
enum uk_status uk_w4gemm_run(const struct uk_weights_plan *plan, const void *a, const void *packed,
                             float beta, void *c, const struct uk_sgemm_epilogue *epilogue, void *workspace);
enum uk_status uk_w8gemm_run(const struct uk_weights_plan *plan, const void *a, const void *packed,
                             float beta, void *c, const struct uk_sgemm_epilogue *epilogue, void *workspace);

/* Writes in English how a plan computes, as uk_gemm_explain does. */
size_t uk_weights_explain(const struct uk_weights_plan *plan, char *buffer, size_t size);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
