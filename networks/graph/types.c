/* SPDX-License-Identifier: Apache-2.0 */
/* Element types of ONNX. */
#include <inttypes.h>
#include "graph/graph.h"

/* By enumerator of TensorProto.DataType. */
static const struct {
    enum uk_type type;
    const char *name;
} types[] = {
    [0] = {UK_TYPES, "undefined"},
    [1] = {UK_F32, "float"},
    [2] = {UK_U8, "uint8"},
    [3] = {UK_I8, "int8"},
    [4] = {UK_U16, "uint16"},
    [5] = {UK_I16, "int16"},
    [6] = {UK_I32, "int32"},
    [7] = {UK_I64, "int64"},
    [8] = {UK_TYPES, "string"},
    [9] = {UK_U8, "bool"},
    [10] = {UK_F16, "float16"},
    [11] = {UK_F64, "double"},
    [12] = {UK_U32, "uint32"},
    [13] = {UK_U64, "uint64"},
    [14] = {UK_TYPES, "complex64"},
    [15] = {UK_TYPES, "complex128"},
    [16] = {UK_BF16, "bfloat16"},
    [17] = {UK_TYPES, "float8e4m3fn"},
    [18] = {UK_TYPES, "float8e4m3fnuz"},
    [19] = {UK_TYPES, "float8e5m2"},
    [20] = {UK_TYPES, "float8e5m2fnuz"},
    [21] = {UK_TYPES, "uint4"},
    [22] = {UK_TYPES, "int4"},
    [23] = {UK_TYPES, "float4e2m1"},
    [24] = {UK_TYPES, "float8e8m0"},
    [25] = {UK_TYPES, "uint2"},
    [26] = {UK_TYPES, "int2"},
};

enum { TYPES = sizeof types / sizeof types[0] };

enum uk_type uk_onnx_type(int64_t number, bool *is_boolean) {
    *is_boolean = number == 9;
    return number >= 0 && number < TYPES ? types[number].type : UK_TYPES;
}

enum uk_status uk_graph_refuse_type(struct uk_graph *g, const struct uk_graph_node *at, const char *what,
                                    const char *name, int64_t number) {
    const bool is_known = number >= 0 && number < TYPES;

    return uk_graph_fail(g, UK_REFUSED, at, "%s%s%s%s has the element type %s%s%" PRId64 "%s, which %s", what,
                         name ? " '" : "", name ? name : "", name ? "'" : "",
                         is_known ? types[number].name : "", is_known ? " (" : "", number,
                         is_known ? ")" : "", is_known ? "is not supported" : "ONNX does not have");
}
