/* SPDX-License-Identifier: Apache-2.0 */
/* Writes models of ONNX with one convolution or product, in the wire format of protocol buffers: each field
 * is a key, which is 8 * number + kind, then a number (kind 0), or a length and as many bytes (kind 2). */
#include "onnx_model.h"
#include <stdlib.h>
#include <string.h>

struct bytes {
    unsigned char *data;
    size_t length, room;
    bool failed; /* out of memory */
};

/* ---- the wire format ---- */

static void put(struct bytes *b, const void *data, size_t length) {
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

static void put_varint(struct bytes *b, uint64_t value) {
    do {
        const unsigned char byte = (unsigned char)((value & 127) | (value > 127 ? 128 : 0));
        put(b, &byte, 1);
        value >>= 7;
    } while (value);
}

static void put_number(struct bytes *b, int field, int64_t value) {
    put_varint(b, (uint64_t)field << 3);
    put_varint(b, (uint64_t)value);
}

static void put_data(struct bytes *b, int field, const void *data, size_t length) {
    put_varint(b, (uint64_t)field << 3 | 2);
    put_varint(b, length);
    put(b, data, length);
}

static void put_text(struct bytes *b, int field, const char *text) {
    put_data(b, field, text, strlen(text));
}

/* Adds a message, and frees it. */
static void put_message(struct bytes *b, int field, struct bytes *message) {
    b->failed |= message->failed;
    put_data(b, field, message->data ? message->data : (unsigned char *)"", message->length);
    free(message->data);
}

/* ---- messages of onnx.proto ---- */

static void put_ints(struct bytes *node, const char *name, const int64_t *values, int count) {
    enum { NAME = 1, INTS = 8, TYPE = 20, TYPE_INTS = 7, ATTRIBUTE = 5 };
    struct bytes a = {0};
    put_text(&a, NAME, name);
    for (int i = 0; i < count; i++)
        put_number(&a, INTS, values[i]);
    put_number(&a, TYPE, TYPE_INTS);
    put_message(node, ATTRIBUTE, &a);
}

static void put_int(struct bytes *node, const char *name, int64_t value) {
    enum { NAME = 1, INT = 3, TYPE = 20, TYPE_INT = 2, ATTRIBUTE = 5 };
    struct bytes a = {0};
    put_text(&a, NAME, name);
    put_number(&a, INT, value);
    put_number(&a, TYPE, TYPE_INT);
    put_message(node, ATTRIBUTE, &a);
}

/* A constant; no dimensions: a scalar. */
static void put_tensor(struct bytes *graph, const char *name, int type, int dims, const int64_t *shape,
                       const void *data, size_t length) {
    enum { DIMS = 1, TYPE = 2, NAME = 8, RAW = 9, INITIALIZER = 5 };
    struct bytes t = {0};
    for (int i = 0; i < dims; i++)
        put_number(&t, DIMS, shape[i]);
    put_number(&t, TYPE, type);
    put_text(&t, NAME, name);
    put_data(&t, RAW, data, length);
    put_message(graph, INITIALIZER, &t);
}

/* An input (field 11) or output (12) of the graph. */
static void put_value(struct bytes *graph, int field, const char *name, int type, int rank,
                      const int64_t *shape) {
    enum { NAME = 1, TYPE = 2, TENSOR = 1, ELEMENT = 1, SHAPE = 2, DIM = 1, VALUE = 1 };
    struct bytes dims = {0}, tensor = {0}, kind = {0}, value = {0};
    for (int i = 0; i < rank; i++) {
        struct bytes dim = {0};
        put_number(&dim, VALUE, shape[i]);
        put_message(&dims, DIM, &dim);
    }
    put_number(&tensor, ELEMENT, type);
    put_message(&tensor, SHAPE, &dims);
    put_message(&kind, TENSOR, &tensor);
    put_text(&value, NAME, name);
    put_message(&value, TYPE, &kind);
    put_message(graph, field, &value);
}

/* ---- the model ---- */

static void put_node(struct bytes *graph, const struct bench_convolution *v) {
    enum { INPUT = 1, OUTPUT = 2, OPERATION = 4, NODE = 1 };
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
    struct bytes node = {0};
    for (int i = 0; inputs[bytes][i]; i++)
        put_text(&node, INPUT, inputs[bytes][i]);
    put_text(&node, OUTPUT, "y");
    put_text(&node, OPERATION, bytes ? "QLinearConv" : "Conv");
    put_ints(&node, "kernel_shape", (const int64_t[]){s->r, s->s}, 2);
    put_ints(&node, "strides", (const int64_t[]){s->stride, s->stride}, 2);
    put_ints(&node, "dilations", (const int64_t[]){s->dilation, s->dilation}, 2);
    put_ints(&node, "pads", pads, 4);
    put_int(&node, "group", s->groups);
    put_message(graph, NODE, &node);
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

static void put_constants(struct bytes *graph, const struct bench_convolution *v) {
    const struct bench_conv_shape *s = v->shape;
    const int64_t shape[] = {s->o, s->c / s->groups, s->r, s->s};
    const float one = 1;
    const bool bytes = v->type == BENCH_CONV_U8I8;
    unsigned char *weights = weights_of(v);
    graph->failed |= !weights;
    if (weights)
        put_tensor(graph, "f", bytes ? ONNX_INT8 : ONNX_FLOAT, 4, shape, weights, v->f_bytes);
    free(weights);
    if (!bytes)
        return;
    put_tensor(graph, "x_scale", ONNX_FLOAT, 0, NULL, &one, sizeof one);
    put_tensor(graph, "y_scale", ONNX_FLOAT, 0, NULL, &one, sizeof one);
    put_tensor(graph, "f_scale", ONNX_FLOAT, 1, &s->o, v->scale, (size_t)s->o * sizeof *v->scale);
    put_tensor(graph, "x_zero", ONNX_UINT8, 0, NULL, "", 1);
    put_tensor(graph, "f_zero", ONNX_INT8, 0, NULL, "", 1);
    put_tensor(graph, "y_zero", ONNX_UINT8, 0, NULL, "", 1);
}

enum { GRAPH_NAME = 2, INPUT = 11, OUTPUT = 12 }; /* fields of a graph */

/* Serializes a model of the graph, and frees the graph. NULL: out of memory. */
static void *finish(struct bytes *graph, size_t *length) {
    enum { VERSION = 1, GRAPH = 7, OPERATORS = 8, DOMAIN = 1, NUMBER = 2 };
    struct bytes operators = {0}, contributed = {0}, model = {0};
    put_text(&operators, DOMAIN, "");
    put_number(&operators, NUMBER, 13);
    put_text(&contributed, DOMAIN, "com.microsoft");
    put_number(&contributed, NUMBER, 1);
    put_number(&model, VERSION, 8);
    put_message(&model, GRAPH, graph);
    put_message(&model, OPERATORS, &operators);
    put_message(&model, OPERATORS, &contributed);
    *length = model.length;
    if (!model.failed)
        return model.data;
    free(model.data);
    return NULL;
}

void *bench_onnx_model(const struct bench_convolution *v, size_t *length) {
    const struct bench_conv_shape *s = v->shape;
    const int type = v->type == BENCH_CONV_F32 ? ONNX_FLOAT : ONNX_UINT8;
    struct bytes graph = {0};
    put_node(&graph, v);
    put_text(&graph, GRAPH_NAME, "convolution");
    put_constants(&graph, v);
    put_value(&graph, INPUT, "x", type, 4, (const int64_t[]){s->n, s->c, s->h, s->w});
    put_value(&graph, OUTPUT, "y", type, 4,
              (const int64_t[]){s->n, s->o, bench_conv_rows(s), bench_conv_columns(s)});
    return finish(&graph, length);
}

void *bench_onnx_matmul_model(bool is_unsigned, int64_t m, int64_t n, int64_t k, const void *weights,
                              size_t *length) {
    enum { NODE_INPUT = 1, NODE_OUTPUT = 2, OPERATION = 4, NODE = 1 };
    struct bytes graph = {0}, node = {0};
    put_text(&node, NODE_INPUT, "x");
    put_text(&node, NODE_INPUT, "f");
    put_text(&node, NODE_OUTPUT, "y");
    put_text(&node, OPERATION, "MatMulInteger");
    put_message(&graph, NODE, &node);
    put_text(&graph, GRAPH_NAME, "product");
    put_tensor(&graph, "f", ONNX_INT8, 2, (const int64_t[]){k, n}, weights, (size_t)(k * n));
    put_value(&graph, INPUT, "x", is_unsigned ? ONNX_UINT8 : ONNX_INT8, 2, (const int64_t[]){m, k});
    put_value(&graph, OUTPUT, "y", ONNX_INT32, 2, (const int64_t[]){m, n});
    return finish(&graph, length);
}

void *bench_onnx_weights_model(const struct bench_product *p, int accuracy, size_t *length) {
    enum { NODE_INPUT = 1, NODE_OUTPUT = 2, OPERATION = 4, DOMAIN = 7, NODE = 1 };
    const int bits = bench_weight_bits(p->type);
    const int64_t blocks = p->k / BENCH_BLOCK, bytes = BENCH_BLOCK * bits / 8;
    const struct {
        const char *name;
        int64_t value;
    } attributes[] = {
        {"K", p->k}, {"N", p->n}, {"bits", bits}, {"block_size", BENCH_BLOCK}, {"accuracy_level", accuracy}};
    struct bytes graph = {0}, node = {0};
    put_text(&node, NODE_INPUT, "x");
    put_text(&node, NODE_INPUT, "w");
    put_text(&node, NODE_INPUT, "s");
    put_text(&node, NODE_OUTPUT, "y");
    put_text(&node, OPERATION, "MatMulNBits");
    put_text(&node, DOMAIN, "com.microsoft");
    for (size_t i = 0; i < sizeof attributes / sizeof *attributes; i++)
        put_int(&node, attributes[i].name, attributes[i].value);
    put_message(&graph, NODE, &node);
    put_text(&graph, GRAPH_NAME, "weights");
    put_tensor(&graph, "w", ONNX_UINT8, 3, (const int64_t[]){p->n, blocks, bytes}, p->b,
               (size_t)(p->n * blocks * bytes));
    put_tensor(&graph, "s", ONNX_FLOAT, 1, (const int64_t[]){p->n * blocks}, p->scale,
               (size_t)(p->n * blocks) * sizeof(float));
    put_value(&graph, INPUT, "x", ONNX_FLOAT, 2, (const int64_t[]){p->m, p->k});
    put_value(&graph, OUTPUT, "y", ONNX_FLOAT, 2, (const int64_t[]){p->m, p->n});
    return finish(&graph, length);
}
