/* SPDX-License-Identifier: Apache-2.0 */
/* libukernels: convolutions. ukernels.h, which says what all calls have in common, includes this header. */
#ifndef UK_CONVOLUTIONS_H
#define UK_CONVOLUTIONS_H

#include "ukernels.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* ---- convolutions ----
 *
 *   Y[n, p, q, o] = sum of X[n, i, j, c] * F[r, s, c, o]
 *   i = p * stride_h + r * dilation_h - pad_top
 *   j = q * stride_w + s * dilation_w - pad_left
 *
 * over all r, s and c, in f32. A term whose element of X lies outside of the image, in the padding, is left
 * out: an infinite weight there does not make a NaN. A sum without terms is 0. Y has
 *
 *   P = (h + pad_top + pad_bottom - (r - 1) * dilation_h - 1) / stride_h + 1
 *
 * rows, rounded down, and Q columns likewise; a padded image without rows or columns has none. In G groups,
 * the output channels [g * o / G, (g + 1) * o / G) sum the input channels [g * c / G, (g + 1) * c / G).
 *
 * A plan chooses path, kernel, blocking and threads for a shape; convolutions of it run any number of times,
 * in any number of threads:
 *
 *     struct uk_conv2d shape = {.n = 1, .h = 14, .w = 14, .c = 64, .o = 32, .r = 3, .s = 3};
 *     shape.stride_h = shape.stride_w = shape.dilation_h = shape.dilation_w = shape.groups = 1;
 *     shape.pad_top = shape.pad_bottom = shape.pad_left = shape.pad_right = 1;
 *     struct uk_conv2d_options options = {.weights_packed = true};
 *     struct uk_sgemm_epilogue relu = {.flags = UK_EPILOGUE_CLAMP, .low = 0, .high = INFINITY};
 *     relu.column_bias = bias;
 *     struct uk_conv2d_plan plan;
 *     enum uk_status status = uk_sconv2d_plan(&plan, &shape, &options);
 *     size_t bytes = status ? 0 : uk_conv2d_packed_weights_size(&plan);
 *     float *packed = bytes ? (float *)aligned_alloc(64, (bytes + 63) / 64 * 64) : NULL;
 *     if (packed && !(status = uk_sconv2d_pack_weights(&plan, f, packed)))
 *         status = uk_sconv2d_run(&plan, x, packed, y, &relu, NULL, 0); // y = max(conv(x, f) + bias, 0)
 *     free(packed);
 *
 * Tiles of the sums are products whose rows are read from the image in place, window element by window
 * element, as in Georganas et al., "Anatomy of high-performance deep learning convolutions on SIMD
 * architectures" (SC18, 2018). Where a copy helps, a block of rows of the image is copied first.
 *
 * Errors: UK_INVALID_ARGUMENT is an enum or a flag out of range, a null pointer to what would be read or
 * written, packed weights of another plan, or a workspace that is too small or not aligned; UK_INVALID_SIZE a
 * size that is negative, or 0 where that is not allowed, groups that do not divide the channels, a window
 * larger than the padded image, a stride that is too small, or an operand, X with its pads, too large to be
 * addressed; UK_OVERLAP an output that overlaps an operand, from its first to its last element;
 * UK_OUT_OF_MEMORY a workspace that could not be allocated. uk_last_message names the field or the argument.
 *
 * Threads: as for matrix products. Y is the same to the last bit whatever their number, and whether the
 * weights were packed beforehand or not.
 */
/* The order of dimensions of an image, and of the weights; h, w are rows and columns of the image, r, s of
 * the window. */
enum uk_image_layout { UK_NHWC, UK_NCHW };
enum uk_filter_layout { UK_HWIO, UK_OIHW };

/* Elements from one image, row, column, channel to the next; 0: dense, as if the dimensions inside followed
 * one another. Each must be at least what the dimensions inside take. `channel` of UK_NHWC and `column` of
 * UK_NCHW are 0 or 1. */
struct uk_image_strides {
    int64_t image, row, column, channel;
};

/* A shape. Zero-initialize. */
struct uk_conv2d {
    int64_t n, h, w, c;             /* of X; may be 0 */
    int64_t o;                      /* channels of Y; may be 0 */
    int64_t r, s;                   /* of the window: at least 1 */
    int64_t stride_h, stride_w;     /* at least 1 */
    int64_t dilation_h, dilation_w; /* from one row or column of the window to the next; at least 1 */
    int64_t pad_top, pad_bottom;    /* rows around the image; may be as many as the window has, or more */
    int64_t pad_left, pad_right;    /* columns, likewise */
    int64_t groups;                 /* at least 1; divides c and o */
    enum uk_image_layout layout;    /* of X, Y and the residual */
    enum uk_filter_layout filter; /* UK_HWIO: [r][s][c / groups][o]; UK_OIHW: [o][c / groups][r][s]; dense */
    struct uk_image_strides x, y; /* the residual has those of Y */
};

/* How a plan is to be made. Zero-initialize. */
struct uk_conv2d_options {
    int threads;              /* the most threads; 0: uk_num_threads(), 1: the caller's alone */
    struct pthreadpool *pool; /* as in struct uk_gemm_options */
    bool weights_packed;      /* uk_sconv2d_run gets what uk_sconv2d_pack_weights wrote */
    const char *machine;      /* as in struct uk_gemm_options: the plan can be explained, but not run */
};

/* Made by uk_sconv2d_plan. It may be copied, owns no memory, and need not be freed. Its contents are private
 * to the library; the size leaves room for what later versions need. */
struct uk_conv2d_plan {
    unsigned char opaque[1024] __attribute__((aligned(16)));
};

/* options may be NULL: all zero. On failure *plan is not written. */
enum uk_status uk_sconv2d_plan(struct uk_conv2d_plan *plan, const struct uk_conv2d *shape,
                               const struct uk_conv2d_options *options);
/* The bytes of workspace that uk_sconv2d_run needs for this plan; 0: none. SIZE_MAX: more than addresses
 * reach. */
size_t uk_conv2d_workspace(const struct uk_conv2d_plan *plan);

/* Packs weights, once for any number of runs, into `packed`, the caller's memory of
 * uk_conv2d_packed_weights_size(plan) bytes, best aligned to 64. They begin with a stamp, of 64 bytes, which
 * says for what they are packed and whether all weights are finite: a plan refuses what was packed for
 * another shape of weights or in another layout. The layout may change between versions: do not store them.
 */
size_t uk_conv2d_packed_weights_size(const struct uk_conv2d_plan *plan);
enum uk_status uk_sconv2d_pack_weights(const struct uk_conv2d_plan *plan, const float *weights,
                                       float *packed);

/* Computes y. `weights` are packed if the plan's options say so, else as the shape says; they are then packed
 * in each call. epilogue may be NULL; each element of y becomes, while its tile is in a cache,
 *
 *   y = min(max(scale * y + column_bias[o] + residual, low), high)
 *
 * where column_bias has an element for each output channel, and the residual is laid out as Y; row_bias must
 * be NULL. A scale of 0 is as for matrix products. workspace is `bytes` bytes, at least
 * uk_conv2d_workspace(plan), aligned to 64, and used by one call at a time: nothing is allocated then. If it
 * is NULL, the call takes memory that an earlier one kept, or allocates. */
enum uk_status uk_sconv2d_run(const struct uk_conv2d_plan *plan, const float *x, const float *weights,
                              float *y, const struct uk_sgemm_epilogue *epilogue, void *workspace,
                              size_t bytes);

/* Writes in English how a plan computes, as uk_gemm_explain does. */
size_t uk_conv2d_explain(const struct uk_conv2d_plan *plan, char *buffer, size_t size);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
