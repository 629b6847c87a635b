/* SPDX-License-Identifier: Apache-2.0 */
/* Models of ONNX of the operators, shared by op_model.c and op_peer.c. */
#ifndef BENCH_OP_MODEL_H
#define BENCH_OP_MODEL_H

#include "operators.h"

/* ONNX's number of the type; 0: it has none. */
int bench_op_onnx_type(const char *type);
/* The extents of the tensor in ONNX's order of dimensions, before lines `shape`, and for each dimension the
 * tensor's own one. False: *message says what is wrong with the table. */
bool bench_op_order(const struct bench_op_call *c, const struct bench_op_tensor *t,
                    int64_t extent[BENCH_OP_DIMS], int from[BENCH_OP_DIMS], char *message, size_t size);
/* The shape that ONNX has. Returns the number of dimensions; -1: *message says what is wrong with the table.
 */
int bench_op_shape(const struct bench_op_call *c, const struct bench_op_tensor *t,
                   int64_t extent[BENCH_OP_DIMS], char *message, size_t size);
/* Writes the name that the tensor has in a copy of the nodes. */
void bench_op_value_name(char name[2 * BENCH_OP_NAME], const char *value, int copy);
/* The serialized model with this number of copies of the nodes. The caller frees it. NULL: out of memory, or
 * *message says what is wrong with the table. */
void *bench_op_model(const struct bench_op_call *c, int copies, size_t *length, char *message, size_t size);

#endif
