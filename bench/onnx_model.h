/* SPDX-License-Identifier: Apache-2.0 */
/* Models of ONNX with one convolution or product. */
#ifndef BENCH_ONNX_MODEL_H
#define BENCH_ONNX_MODEL_H

#include "bench.h"
#include "convolution.h"

/* Types of tensors, of onnx.proto and of ONNX Runtime's C interface. */
enum { ONNX_FLOAT = 1, ONNX_UINT8 = 2, ONNX_INT8 = 3, ONNX_INT32 = 6 };

/* The serialized model: input x and output y in NCHW, weights constant; Conv, or QLinearConv for bytes. The
 * caller frees it. NULL: out of memory. */
void *bench_onnx_model(const struct bench_convolution *v, size_t *length);
/* Likewise with a MatMulInteger of x [m, k], u8 or i8, and constant weights [k, n] of i8. */
void *bench_onnx_matmul_model(bool is_unsigned, int64_t m, int64_t n, int64_t k, const void *weights,
                              size_t *length);
/* Likewise with a MatMulNBits of x [m, k] of f32 and the product's weights. accuracy: its accuracy_level; 4:
 * rows are rounded to bytes. */
void *bench_onnx_weights_model(const struct bench_product *p, int accuracy, size_t *length);

#endif
