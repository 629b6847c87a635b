/* SPDX-License-Identifier: Apache-2.0 */
#ifndef UK_TENSOR_H
#define UK_TENSOR_H

#include "import/import.h"
#include "onnx.pb-c.h"

/* malloc() for protobuf-c, which does not say why it gives up; failed: because an allocation did (guard.c).
 * */
struct uk_unpacking {
    ProtobufCAllocator allocator;
    bool failed;
};
void uk_unpacking_begin(struct uk_unpacking *u);

/* The tensor's elements as those of the constant `v`. */
enum uk_status uk_import_tensor(struct uk_graph *g, const Onnx__TensorProto *t, const char *folder,
                                struct uk_graph_value *v);
/* The type that an enumerator of TensorProto.DataType means; UK_TYPES: none of ours. */
enum uk_type uk_import_type(int data_type, bool *is_boolean);
const char *uk_import_type_name(int data_type);

#endif
