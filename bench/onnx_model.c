/* SPDX-License-Identifier: Apache-2.0 */
/* Writes models of ONNX in the wire format of protocol buffers: each field is a key, which is 8 * number +
 * kind, then a number (kind 0), a length and as many bytes (kind 2), or four bytes (kind 5). Also the models
 * of one convolution or product. */
#include "onnx_model.h"
#include <stdlib.h>
#include <string.h>

/* ---- the wire format ---- */

static void put(struct bench_onnx_bytes *b, const void *data, size_t length) {
    if (b->length + length > b->room) {
        const size_t room = 2 * (b->length + length) + 64;
        unsigned char *more = b->failed ? NULL : realloc(b->data, room);
        if (!more) {
            b->failed = true;
            return;
        }
        b->data = more;
        b->room = room;
    }
    memcpy(b->data + b->length, data, length);
    b->length += length;
}

static void put_varint(struct bench_onnx_bytes *b, uint64_t value) {
    do {
        const unsigned char byte = (unsigned char)((value & 127) | (value > 127 ? 128 : 0));
        put(b, &byte, 1);
        value >>= 7;
    } while (value);
}

void bench_onnx_put_number(struct bench_onnx_bytes *b, int field, int64_t value) {
    put_varint(b, (uint64_t)field << 3);
    put_varint(b, (uint64_t)value);
}

static void put_data(struct bench_onnx_bytes *b, int field, const void *data, size_t length) {
    put_varint(b, (uint64_t)field << 3 | 2);
    put_varint(b, length);
    put(b, data, length);
}

void bench_onnx_put_text(struct bench_onnx_bytes *b, int field, const char *text) {
    put_data(b, field, text, strlen(text));
}

void bench_onnx_put_message(struct bench_onnx_bytes *b, int field, struct bench_onnx_bytes *message) {
    b->failed |= message->failed;
    put_data(b, field, message->data ? message->data : (unsigned char *)"", message->length);
    free(message->data);
}

/* ---- messages of onnx.proto ---- */

void bench_onnx_put_ints(struct bench_onnx_bytes *node, const char *name, const int64_t *values, int count) {
    enum { NAME = 1, INTS = 8, TYPE = 20, TYPE_INTS = 7 };
    struct bench_onnx_bytes a = {0};
    bench_onnx_put_text(&a, NAME, name);
    for (int i = 0; i < count; i++)
        bench_onnx_put_number(&a, INTS, values[i]);
    bench_onnx_put_number(&a, TYPE, TYPE_INTS);
    bench_onnx_put_message(node, ONNX_NODE_ATTRIBUTE, &a);
}

void bench_onnx_put_int(struct bench_onnx_bytes *node, const char *name, int64_t value) {
    enum { NAME = 1, INT = 3, TYPE = 20, TYPE_INT = 2 };
    struct bench_onnx_bytes a = {0};
    bench_onnx_put_text(&a, NAME, name);
    bench_onnx_put_number(&a, INT, value);
    bench_onnx_put_number(&a, TYPE, TYPE_INT);
    bench_onnx_put_message(node, ONNX_NODE_ATTRIBUTE, &a);
}

void bench_onnx_put_float(struct bench_onnx_bytes *node, const char *name, float value) {
    enum { NAME = 1, FLOAT = 2, TYPE = 20, TYPE_FLOAT = 1, KIND = 5 };
    struct bench_onnx_bytes a = {0};
    bench_onnx_put_text(&a, NAME, name);
    put_varint(&a, FLOAT << 3 | KIND);
    put(&a, &value, sizeof value);
    bench_onnx_put_number(&a, TYPE, TYPE_FLOAT);
    bench_onnx_put_message(node, ONNX_NODE_ATTRIBUTE, &a);
}

void bench_onnx_put_string(struct bench_onnx_bytes *node, const char *name, const char *value) {
    enum { NAME = 1, STRING = 4, TYPE = 20, TYPE_STRING = 3 };
    struct bench_onnx_bytes a = {0};
    bench_onnx_put_text(&a, NAME, name);
    bench_onnx_put_text(&a, STRING, value);
    bench_onnx_put_number(&a, TYPE, TYPE_STRING);
    bench_onnx_put_message(node, ONNX_NODE_ATTRIBUTE, &a);
}

void bench_onnx_put_tensor(struct bench_onnx_bytes *graph, const char *name, int type, int dims,
                           const int64_t *shape, const void *data, size_t length) {
    enum { DIMS = 1, TYPE = 2, NAME = 8, RAW = 9 };
    struct bench_onnx_bytes t = {0};
    for (int i = 0; i < dims; i++)
        bench_onnx_put_number(&t, DIMS, shape[i]);
    bench_onnx_put_number(&t, TYPE, type);
    bench_onnx_put_text(&t, NAME, name);
    put_data(&t, RAW, data, length);
    bench_onnx_put_message(graph, ONNX_GRAPH_INITIALIZER, &t);
}

void bench_onnx_put_value(struct bench_onnx_bytes *graph, int field, const char *name, int type, int rank,
                          const int64_t *shape) {
    enum { NAME = 1, TYPE = 2, TENSOR = 1, ELEMENT = 1, SHAPE = 2, DIM = 1, VALUE = 1 };
    struct bench_onnx_bytes dims = {0}, tensor = {0}, kind = {0}, value = {0};
    for (int i = 0; i < rank; i++) {
        struct bench_onnx_bytes dim = {0};
        bench_onnx_put_number(&dim, VALUE, shape[i]);
        bench_onnx_put_message(&dims, DIM, &dim);
    }
    bench_onnx_put_number(&tensor, ELEMENT, type);
    bench_onnx_put_message(&tensor, SHAPE, &dims);
    bench_onnx_put_message(&kind, TENSOR, &tensor);
    bench_onnx_put_text(&value, NAME, name);
    bench_onnx_put_message(&value, TYPE, &kind);
    bench_onnx_put_message(graph, field, &value);
}

/* ---- the model ---- */

static void put_node(struct bench_onnx_bytes *graph, const struct bench_convolution *v) {
    static const char *const inputs[2][9] = {
        {"x", "f"}, {"x", "x_scale", "x_zero", "f", "f_scale", "f_zero", "y_scale", "y_zero"}};
    const struct bench_conv_shape *s = v->shape;
    const bool bytes = v->type == BENCH_CONV_U8I8;
    /* Padding after the image: what the last window needs. */
    const int64_t below = (bench_conv_rows(s) - 1) * s->stride + s->dilation * (s->r - 1) + 1 - s->h -
                          bench_conv_above(s),
                  right = (bench_conv_columns(s) - 1) * s->stride + s->dilation * (s->s - 1) + 1 - s->w -
                          bench_conv_left(s);
    const int64_t pads[] = {bench_conv_above(s), bench_conv_left(s), below > 0 ? below : 0,
                            right > 0 ? right : 0};
    struct bench_onnx_bytes node = {0};
    for (int i = 0; inputs[bytes][i]; i++)
        bench_onnx_put_text(&node, ONNX_NODE_INPUT, inputs[bytes][i]);
    bench_onnx_put_text(&node, ONNX_NODE_OUTPUT, "y");
    bench_onnx_put_text(&node, ONNX_NODE_OPERATION, bytes ? "QLinearConv" : "Conv");
    bench_onnx_put_ints(&node, "kernel_shape", (const int64_t[]){s->r, s->s}, 2);
    bench_onnx_put_ints(&node, "strides", (const int64_t[]){s->stride, s->stride}, 2);
    bench_onnx_put_ints(&node, "dilations", (const int64_t[]){s->dilation, s->dilation}, 2);
    bench_onnx_put_ints(&node, "pads", pads, 4);
    bench_onnx_put_int(&node, "group", s->groups);
    bench_onnx_put_message(graph, ONNX_GRAPH_NODE, &node);
}

/* The weights as [O, C / groups, R, S]. NULL: out of memory. */
static unsigned char *weights_of(const struct bench_convolution *v) {
    const struct bench_conv_shape *s = v->shape;
    const int64_t channels = s->c / s->groups, window = s->r * s->s;
    const size_t size = v->type == BENCH_CONV_F32 ? sizeof(float) : 1;
    unsigned char *to = malloc(v->f_bytes);
    for (int64_t i = 0; to && i < window; i++)
        for (int64_t c = 0; c < channels; c++)
            for (int64_t o = 0; o < s->o; o++)
                memcpy(to + (size_t)((o * channels + c) * window + i) * size,
                       (const unsigned char *)v->f + (size_t)((i * channels + c) * s->o + o) * size, size);
    return to;
}

static void put_constants(struct bench_onnx_bytes *graph, const struct bench_convolution *v) {
    const struct bench_conv_shape *s = v->shape;
    const int64_t shape[] = {s->o, s->c / s->groups, s->r, s->s};
    const float one = 1;
    const bool bytes = v->type == BENCH_CONV_U8I8;
    unsigned char *weights = weights_of(v);
    graph->failed |= !weights;
    if (weights)
        bench_onnx_put_tensor(graph, "f", bytes ? ONNX_INT8 : ONNX_FLOAT, 4, shape, weights, v->f_bytes);
    free(weights);
    if (!bytes)
        return;
    bench_onnx_put_tensor(graph, "x_scale", ONNX_FLOAT, 0, NULL, &one, sizeof one);
    bench_onnx_put_tensor(graph, "y_scale", ONNX_FLOAT, 0, NULL, &one, sizeof one);
    bench_onnx_put_tensor(graph, "f_scale", ONNX_FLOAT, 1, &s->o, v->scale, (size_t)s->o * sizeof *v->scale);
    bench_onnx_put_tensor(graph, "x_zero", ONNX_UINT8, 0, NULL, "", 1);
    bench_onnx_put_tensor(graph, "f_zero", ONNX_INT8, 0, NULL, "", 1);
    bench_onnx_put_tensor(graph, "y_zero", ONNX_UINT8, 0, NULL, "", 1);
}

enum { OPSET = 13 }; /* of convolutions and products */

void *bench_onnx_finish(struct bench_onnx_bytes *graph, int opset, size_t *length) {
    enum { VERSION = 1, GRAPH = 7, OPERATORS = 8, DOMAIN = 1, NUMBER = 2 };
    struct bench_onnx_bytes operators = {0}, contributed = {0}, model = {0};
    bench_onnx_put_text(&operators, DOMAIN, "");
    bench_onnx_put_number(&operators, NUMBER, opset);
    bench_onnx_put_text(&contributed, DOMAIN, "com.microsoft");
    bench_onnx_put_number(&contributed, NUMBER, 1);
    bench_onnx_put_number(&model, VERSION, 8);
    bench_onnx_put_message(&model, GRAPH, graph);
    bench_onnx_put_message(&model, OPERATORS, &operators);
    bench_onnx_put_message(&model, OPERATORS, &contributed);
    *length = model.length;
    if (!model.failed)
        return model.data;
    free(model.data);
    return NULL;
}

void *bench_onnx_model(const struct bench_convolution *v, size_t *length) {
    const struct bench_conv_shape *s = v->shape;
    const int type = v->type == BENCH_CONV_F32 ? ONNX_FLOAT : ONNX_UINT8;
    struct bench_onnx_bytes graph = {0};
    put_node(&graph, v);
    bench_onnx_put_text(&graph, ONNX_GRAPH_NAME, "convolution");
    put_constants(&graph, v);
    bench_onnx_put_value(&graph, ONNX_GRAPH_INPUT, "x", type, 4, (const int64_t[]){s->n, s->c, s->h, s->w});
    bench_onnx_put_value(&graph, ONNX_GRAPH_OUTPUT, "y", type, 4,
                         (const int64_t[]){s->n, s->o, bench_conv_rows(s), bench_conv_columns(s)});
    return bench_onnx_finish(&graph, OPSET, length);
}

void *bench_onnx_matmul_model(bool is_unsigned, int64_t m, int64_t n, int64_t k, const void *weights,
                              size_t *length) {
    struct bench_onnx_bytes graph = {0}, node = {0};
    bench_onnx_put_text(&node, ONNX_NODE_INPUT, "x");
    bench_onnx_put_text(&node, ONNX_NODE_INPUT, "f");
    bench_onnx_put_text(&node, ONNX_NODE_OUTPUT, "y");
    bench_onnx_put_text(&node, ONNX_NODE_OPERATION, "MatMulInteger");
    bench_onnx_put_message(&graph, ONNX_GRAPH_NODE, &node);
    bench_onnx_put_text(&graph, ONNX_GRAPH_NAME, "product");
    bench_onnx_put_tensor(&graph, "f", ONNX_INT8, 2, (const int64_t[]){k, n}, weights, (size_t)(k * n));
    bench_onnx_put_value(&graph, ONNX_GRAPH_INPUT, "x", is_unsigned ? ONNX_UINT8 : ONNX_INT8, 2,
                         (const int64_t[]){m, k});
    bench_onnx_put_value(&graph, ONNX_GRAPH_OUTPUT, "y", ONNX_INT32, 2, (const int64_t[]){m, n});
    return bench_onnx_finish(&graph, OPSET, length);
}

void *bench_onnx_weights_model(const struct bench_product *p, int accuracy, size_t *length) {
    const int bits = bench_weight_bits(p->type);
    const int64_t blocks = p->k / BENCH_BLOCK, bytes = BENCH_BLOCK * bits / 8;
    const struct {
        const char *name;
        int64_t value;
    } attributes[] = {
        {"K", p->k}, {"N", p->n}, {"bits", bits}, {"block_size", BENCH_BLOCK}, {"accuracy_level", accuracy}};
    struct bench_onnx_bytes graph = {0}, node = {0};
    bench_onnx_put_text(&node, ONNX_NODE_INPUT, "x");
    bench_onnx_put_text(&node, ONNX_NODE_INPUT, "w");
    bench_onnx_put_text(&node, ONNX_NODE_INPUT, "s");
    bench_onnx_put_text(&node, ONNX_NODE_OUTPUT, "y");
    bench_onnx_put_text(&node, ONNX_NODE_OPERATION, "MatMulNBits");
    bench_onnx_put_text(&node, ONNX_NODE_DOMAIN, "com.microsoft");
    for (size_t i = 0; i < sizeof attributes / sizeof *attributes; i++)
        bench_onnx_put_int(&node, attributes[i].name, attributes[i].value);
    bench_onnx_put_message(&graph, ONNX_GRAPH_NODE, &node);
    bench_onnx_put_text(&graph, ONNX_GRAPH_NAME, "weights");
    bench_onnx_put_tensor(&graph, "w", ONNX_UINT8, 3, (const int64_t[]){p->n, blocks, bytes}, p->b,
                          (size_t)(p->n * blocks * bytes));
    bench_onnx_put_tensor(&graph, "s", ONNX_FLOAT, 1, (const int64_t[]){p->n * blocks}, p->scale,
                          (size_t)(p->n * blocks) * sizeof(float));
    bench_onnx_put_value(&graph, ONNX_GRAPH_INPUT, "x", ONNX_FLOAT, 2, (const int64_t[]){p->m, p->k});
    bench_onnx_put_value(&graph, ONNX_GRAPH_OUTPUT, "y", ONNX_FLOAT, 2, (const int64_t[]){p->m, p->n});
    return bench_onnx_finish(&graph, OPSET, length);
}
