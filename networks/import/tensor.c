/* SPDX-License-Identifier: Apache-2.0 */
/* Elements of tensors: as little-endian bytes, or as lists of numbers. */
#include <string.h>
#include "import/tensor.h"

/* ---- elements ---- */

void *uk_import_elements(struct uk_graph *g, struct uk_graph_value *v) {
    uk_allow_constant(g, uk_value_elements(v) * (int64_t)uk_type_bytes(v->type));
    return uk_value_constant(g, v, v->type, v->rank, v->extent);
}

void uk_import_type(int64_t number, struct uk_graph_value *v) {
    enum { UINT4 = 21, INT4 = 22 };

    v->type = number == UINT4 ? UK_U8 : number == INT4 ? UK_I8 : uk_onnx_type(number, &v->is_boolean);
    v->is_nibble = number == UINT4 || number == INT4;
}

int64_t uk_import_bytes(const struct uk_graph_value *v) {
    const int64_t n = uk_value_elements(v);

    return v->is_nibble ? (n + 1) / 2 : n * (int64_t)uk_type_bytes(v->type);
}

/* Spreads the value's elements, the lower halves of bytes first. */
static void unpack_nibbles(struct uk_graph_value *v) {
    uint8_t *data = (uint8_t *)(uintptr_t)v->data;

    for (int64_t i = uk_value_elements(v) - 1; i >= 0; i--) {
        const unsigned nibble = i % 2 ? data[i / 2] >> 4 : data[i / 2] & 15u;
        data[i] = (uint8_t)(v->type == UK_I8 && nibble > 7 ? nibble | 0xf0u : nibble);
    }
}

static void store_int(enum uk_type type, void *data, int64_t i, int64_t v) {
    switch (type) {
    case UK_I64:
    case UK_U64:
        ((int64_t *)data)[i] = v;
        break;
    case UK_U32:
    case UK_I32:
        ((int32_t *)data)[i] = (int32_t)v;
        break;
    case UK_I16:
    case UK_U16:
    case UK_F16:
    case UK_BF16:
        ((uint16_t *)data)[i] = (uint16_t)v;
        break;
    default:
        ((uint8_t *)data)[i] = (uint8_t)v;
    }
}

/* Length of the list that holds elements of the type. */
static size_t listed(const Onnx__TensorProto *t, enum uk_type type) {
    return type == UK_F32                     ? t->n_float_data
           : type == UK_F64                   ? t->n_double_data
           : type == UK_I64                   ? t->n_int64_data
           : type == UK_U32 || type == UK_U64 ? t->n_uint64_data
                                              : t->n_int32_data;
}

static void copy_list(const Onnx__TensorProto *t, enum uk_type type, void *data, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        if (type == UK_F32)
            ((float *)data)[i] = t->float_data[i];
        else if (type == UK_F64)
            ((double *)data)[i] = t->double_data[i];
        else
            store_int(type, data, i,
                      type == UK_I64                     ? t->int64_data[i]
                      : type == UK_U32 || type == UK_U64 ? (int64_t)t->uint64_data[i]
                                                         : t->int32_data[i]);
}

static enum uk_status shape_of(struct uk_graph *g, const Onnx__TensorProto *t, struct uk_graph_value *v) {
    if (t->n_dims > UK_RANK)
        return uk_graph_fail(g, UK_REFUSED, NULL, "tensor '%s' has %zu dimensions; at most %d are supported",
                             v->name, t->n_dims, UK_RANK);
    v->rank = (int)t->n_dims;
    for (int i = 0; i < v->rank; i++) {
        if (t->dims[i] < 0)
            return uk_graph_fail(g, UK_REFUSED, NULL, "tensor '%s': extent %lld is negative", v->name,
                                 (long long)t->dims[i]);
        v->extent[i] = t->dims[i];
    }
    v->has_shape = true;
    return uk_value_elements(v) < 0
               ? uk_graph_fail(g, UK_REFUSED, NULL, "tensor '%s': its shape is too large for 64 bits",
                               v->name)
               : UK_OK;
}

/* Copies raw data, and gives back its pages if they are those of a mapped file. */
static void copy_raw(const struct uk_raw_data *raw, const struct uk_mapped *file, void *data) {
    if (raw->length)
        memcpy(data, raw->bytes, raw->length);
    if (file && (uintptr_t)raw->bytes - (uintptr_t)file->bytes < file->length)
        uk_pages_give_back(raw->bytes, raw->length);
}

/* Copies elements from the message. Their number is checked against the shape before memory is allocated. */
static enum uk_status copy_elements(struct uk_graph *g, const Onnx__TensorProto *t,
                                    const struct uk_folders *folders, struct uk_graph_value *v) {
    const int64_t n = v->is_nibble ? uk_import_bytes(v) : uk_value_elements(v);
    const size_t bytes = (size_t)uk_import_bytes(v);
    const struct uk_raw_data raw = uk_import_raw(t);

    if (t->has_raw_data && raw.length != bytes)
        return uk_graph_fail(g, UK_REFUSED, NULL, "tensor '%s' of %s elements of %s has %zu bytes of data",
                             v->name, uk_value_shape(v), uk_type_name(v->type), raw.length);
    if (!t->has_raw_data && listed(t, v->type) != (size_t)n)
        return uk_graph_fail(g, UK_REFUSED, NULL, "tensor '%s' of %s elements of %s has %zu numbers", v->name,
                             uk_value_shape(v), uk_type_name(v->type), listed(t, v->type));
    void *data = uk_import_elements(g, v);
    if (!data)
        return uk_graph_no_memory(g);
    if (t->has_raw_data)
        copy_raw(&raw, folders->file, data);
    else
        copy_list(t, v->type, data, n);
    return UK_OK;
}

enum uk_status uk_import_tensor(struct uk_graph *g, const Onnx__TensorProto *t,
                                const struct uk_folders *folders, struct uk_graph_value *v) {
    const bool external =
        t->has_data_location && t->data_location == ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL;
    enum uk_status s;

    uk_import_type(t->data_type, v);
    if ((s = shape_of(g, t, v)))
        return s;
    if (v->type == UK_TYPES)
        return uk_graph_refuse_type(g, NULL, "tensor", v->name, t->data_type);
    if (t->segment)
        return uk_graph_fail(g, UK_REFUSED, NULL, "tensor '%s' is a segment of one, which is not supported",
                             v->name);
    s = external ? uk_import_external(g, t, folders, v) : copy_elements(g, t, folders, v);
    if (!s && v->is_nibble)
        unpack_nibbles(v);
    for (int64_t i = 0; !s && v->is_boolean && i < uk_value_elements(v); i++)
        ((uint8_t *)(uintptr_t)v->data)[i] = ((const uint8_t *)v->data)[i] != 0;
    return s;
}
