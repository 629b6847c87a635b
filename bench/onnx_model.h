/* SPDX-License-Identifier: Apache-2.0 */
/* Models of ONNX: their messages, and models with one convolution or product. */
#ifndef BENCH_ONNX_MODEL_H
#define BENCH_ONNX_MODEL_H

#include "bench.h"
#include "convolution.h"

/* Types of tensors, of onnx.proto and of ONNX Runtime's C interface. */
enum {
    ONNX_FLOAT = 1,
    ONNX_UINT8,
    ONNX_INT8,
    ONNX_UINT16,
    ONNX_INT16,
    ONNX_INT32,
    ONNX_INT64,
    ONNX_FLOAT16 = 10,
    ONNX_DOUBLE,
    ONNX_UINT32,
    ONNX_UINT64,
    ONNX_BFLOAT16 = 16
};

/* ---- messages ---- */

/* A message that grows; zero-initialize. */
struct bench_onnx_bytes {
    unsigned char *data;
    size_t length, room;
    bool failed; /* out of memory */
};

/* Fields of a graph, and of a node. */
enum {
    ONNX_GRAPH_NODE = 1,
    ONNX_GRAPH_NAME = 2,
    ONNX_GRAPH_INITIALIZER = 5,
    ONNX_GRAPH_INPUT = 11,
    ONNX_GRAPH_OUTPUT = 12
};
enum {
    ONNX_NODE_INPUT = 1,
    ONNX_NODE_OUTPUT = 2,
    ONNX_NODE_OPERATION = 4,
    ONNX_NODE_ATTRIBUTE = 5,
    ONNX_NODE_DOMAIN = 7
};

void bench_onnx_put_number(struct bench_onnx_bytes *b, int field, int64_t value);
void bench_onnx_put_text(struct bench_onnx_bytes *b, int field, const char *text);
/* Adds a message, and frees it. */
void bench_onnx_put_message(struct bench_onnx_bytes *b, int field, struct bench_onnx_bytes *message);
/* Add attributes to a node. */
void bench_onnx_put_ints(struct bench_onnx_bytes *node, const char *name, const int64_t *values, int count);
void bench_onnx_put_int(struct bench_onnx_bytes *node, const char *name, int64_t value);
void bench_onnx_put_float(struct bench_onnx_bytes *node, const char *name, float value);
void bench_onnx_put_string(struct bench_onnx_bytes *node, const char *name, const char *value);
/* Adds a constant to a graph; no dimensions: a scalar. */
void bench_onnx_put_tensor(struct bench_onnx_bytes *graph, const char *name, int type, int dims,
                           const int64_t *shape, const void *data, size_t length);
/* Adds an input or output, by the field, to a graph. */
void bench_onnx_put_value(struct bench_onnx_bytes *graph, int field, const char *name, int type, int rank,
                          const int64_t *shape);
/* Serializes a model of the graph, and frees the graph. NULL: out of memory. */
void *bench_onnx_finish(struct bench_onnx_bytes *graph, int opset, size_t *length);

/* ---- convolutions and products ---- */

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
