/* SPDX-License-Identifier: Apache-2.0 */
#ifndef UK_TENSOR_H
#define UK_TENSOR_H

#include "import/import.h"
#include "onnx.pb-c.h"

/* ---- guard.c ---- */

/* Checks and unpacks a message; raw data of its tensors stays in `bytes`. Free it with free_unpacked(). what:
 * the message if it is malformed; NULL, and a failure is recorded, if it is, or if there is no memory. */
void *uk_import_unpack(struct uk_graph *g, const ProtobufCMessageDescriptor *d, const void *bytes,
                       size_t length, const char *what);
/* Raw data of a tensor that was unpacked so. */
struct uk_raw_data {
    const uint8_t *bytes;
    size_t length;
};
struct uk_raw_data uk_import_raw(const Onnx__TensorProto *t);

/* ---- tensor.c ---- */

/* Gives the constant `v` the tensor's elements. */
enum uk_status uk_import_tensor(struct uk_graph *g, const Onnx__TensorProto *t,
                                const struct uk_folders *folders, struct uk_graph_value *v);
/* Allocates the constant's elements. Call it only if the file really has as many bytes: it raises the limit
 * on constants by them. NULL: uk_graph_no_memory() returns the status. */
void *uk_import_elements(struct uk_graph *g, struct uk_graph_value *v);
/* external.c: the same for a tensor whose elements are in another file. */
enum uk_status uk_import_external(struct uk_graph *g, const Onnx__TensorProto *t,
                                  const struct uk_folders *folders, struct uk_graph_value *v);

/* Sets the value's type by ONNX's number. Elements of uint4 and int4 become bytes. UK_TYPES: not supported.
 */
void uk_import_type(int64_t number, struct uk_graph_value *v);
/* Bytes of the value's elements in a file: two elements of four bits are one. */
int64_t uk_import_bytes(const struct uk_graph_value *v);

#endif
