/* SPDX-License-Identifier: Apache-2.0 */
/* A model of ONNX with one convolution. */
#ifndef BENCH_ONNX_MODEL_H
#define BENCH_ONNX_MODEL_H

#include "convolution.h"

/* Types of tensors, of onnx.proto and of ONNX Runtime's C interface. */
enum { ONNX_FLOAT = 1, ONNX_UINT8 = 2, ONNX_INT8 = 3 };

/* The serialized model: input x and output y in NCHW, weights constant; Conv, or QLinearConv for bytes. The
 * caller frees it. NULL: out of memory. */
void *bench_onnx_model(const struct bench_convolution *v, size_t *length);

#endif
