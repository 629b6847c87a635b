/* SPDX-License-Identifier: Apache-2.0 */
/* Writes models of ONNX with copies of the nodes of an operator. */
#include "op_model.h"
#include "onnx_model.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OPSET = 20, VALUES = 16 /* of a list */ };

int bench_op_onnx_type(const char *type) {
    static const struct {
        const char *name;
        int number;
    } types[] = {{"f32", ONNX_FLOAT}, {"f64", ONNX_DOUBLE}, {"f16", ONNX_FLOAT16}, {"bf16", ONNX_BFLOAT16},
                 {"u8", ONNX_UINT8},  {"i8", ONNX_INT8},    {"u16", ONNX_UINT16},  {"i16", ONNX_INT16},
                 {"i32", ONNX_INT32}, {"u32", ONNX_UINT32}, {"i64", ONNX_INT64},   {"u64", ONNX_UINT64}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (!strcmp(type, types[i].name))
            return types[i].number;
    return 0;
}

/* ---- shapes ---- */

/* The line about this tensor; NULL: no line is. */
static const struct bench_op_words *line_of(const struct bench_op_words *lines, int count,
                                            const char *tensor) {
    for (int i = 0; i < count; i++)
        if (!strcmp(lines[i].word[0], tensor))
            return &lines[i];
    return NULL;
}

bool bench_op_order(const struct bench_op_call *c, const struct bench_op_tensor *t,
                    int64_t extent[BENCH_OP_DIMS], int from[BENCH_OP_DIMS], char *message, size_t size) {
    const struct bench_op_words *w = line_of(c->op->order, c->op->orders, t->name);
    unsigned seen = 0;
    for (int d = 0; d < t->dims; d++) {
        from[d] = w && d + 1 < w->count ? atoi(w->word[d + 1]) : d;
        if (from[d] >= 0 && from[d] < t->dims)
            seen |= 1u << from[d];
    }
    if ((w && w->count != t->dims + 1) || seen != (1u << t->dims) - 1) {
        snprintf(message, size, "order %s: give each of its dimensions, 0 to %d, once", t->name, t->dims - 1);
        return false;
    }
    for (int d = 0; d < t->dims; d++)
        extent[d] = t->extent[from[d]];
    return true;
}

int bench_op_shape(const struct bench_op_call *c, const struct bench_op_tensor *t,
                   int64_t extent[BENCH_OP_DIMS], char *message, size_t size) {
    const struct bench_op_words *w = line_of(c->op->shape, c->op->shapes, t->name);
    int from[BENCH_OP_DIMS];
    int64_t elements = 1;
    if (!bench_op_order(c, t, extent, from, message, size))
        return -1;
    if (!w)
        return t->dims;
    for (int d = 0; d + 1 < w->count; d++) {
        if (d >= BENCH_OP_DIMS || !bench_op_number(c->shape, w->word[d + 1], &extent[d])) {
            snprintf(message, size, "shape %s: '%s' is no product of numbers and sizes", t->name,
                     w->word[d + 1]);
            return -1;
        }
        elements *= extent[d];
    }
    if (elements == t->elements)
        return w->count - 1;
    snprintf(message, size, "shape %s: it has %lld elements, but the program's tensor %lld", t->name,
             (long long)elements, (long long)t->elements);
    return -1;
}

/* ---- nodes ---- */

void bench_op_value_name(char name[2 * BENCH_OP_NAME], const char *value, int copy) {
    snprintf(name, 2 * (size_t)BENCH_OP_NAME, "%s_%d", value, copy);
}

/* Reads the numbers of "1,2," or "1". Returns how many; -1: a word is no number. */
static int read_list(const struct bench_op_call *c, const char *text, int64_t value[VALUES]) {
    int count = 0;
    for (const char *p = text; *p && count < VALUES; p += *p == ',') {
        char word[BENCH_OP_NAME];
        const size_t length = strcspn(p, ",");
        memcpy(word, p, length);
        word[length] = 0;
        if (!bench_op_number(c->shape, word, &value[count++]))
            return -1;
        p += length;
    }
    return count;
}

static void put_attribute(const struct bench_op_call *c, struct bench_onnx_bytes *node, const char *word) {
    int64_t value[VALUES];
    char name[BENCH_OP_NAME], *end;
    const char *text = strchr(word, '=') + 1;
    snprintf(name, sizeof name, "%.*s", (int)(text - 1 - word), word);
    const int count = read_list(c, text, value);
    const double real = strtod(text, &end);
    if (count > 0 && strchr(text, ','))
        bench_onnx_put_ints(node, name, value, count);
    else if (count > 0)
        bench_onnx_put_int(node, name, *value);
    else if (end != text && !*end)
        bench_onnx_put_float(node, name, (float)real);
    else
        bench_onnx_put_string(node, name, text);
}

static void put_node(const struct bench_op_call *c, struct bench_onnx_bytes *graph,
                     const struct bench_op_words *w, int copy) {
    struct bench_onnx_bytes node = {0};
    const char *colon = strchr(w->word[0], ':');
    char text[2 * BENCH_OP_NAME];
    int field = ONNX_NODE_INPUT;
    bench_onnx_put_text(&node, ONNX_NODE_OPERATION, colon ? colon + 1 : w->word[0]);
    if (colon) {
        snprintf(text, sizeof text, "%.*s", (int)(colon - w->word[0]), w->word[0]);
        bench_onnx_put_text(&node, ONNX_NODE_DOMAIN, text);
    }
    for (int i = 1; i < w->count; i++) {
        const char *word = w->word[i];
        const bool is_constant = line_of(c->op->constant, c->op->constants, word);
        if (strchr(word, '=')) {
            put_attribute(c, &node, word);
        } else if (!strcmp(word, ">")) {
            field = ONNX_NODE_OUTPUT;
        } else {
            bench_op_value_name(text, word, copy);
            bench_onnx_put_text(&node, field, !strcmp(word, "-") ? "" : is_constant ? word : text);
        }
    }
    bench_onnx_put_message(graph, ONNX_GRAPH_NODE, &node);
}

/* ---- constants ---- */

/* Stores a number of a text as an element of the type. Returns its bytes; 0: the type has no constants here.
 */
static size_t store_number(const char *type, const char *text, unsigned char *to) {
    const float real = strtof(text, NULL);
    const int64_t whole = strtoll(text, NULL, 10);
    if (!strcmp(type, "f32")) {
        memcpy(to, &real, sizeof real);
        return sizeof real;
    }
    const size_t bytes = !strcmp(type, "i64")         ? 8
                         : !strcmp(type, "i32")       ? 4
                         : type[1] == '8' && !type[2] ? 1
                                                      : 0;
    memcpy(to, &whole, bytes); /* little-endian */
    return bytes;
}

/* False: *message says what is wrong with the line. */
static bool put_constant(struct bench_onnx_bytes *graph, const struct bench_op_words *w, char *message,
                         size_t size) {
    unsigned char data[VALUES * 8];
    size_t used = 0;
    int64_t count = 0;
    const char *text = w->word[2];
    for (const char *p = text; *p && count < VALUES; p += strcspn(p, ","), p += *p == ',', count++) {
        const size_t bytes = store_number(w->word[1], p, data + used);
        if (!bytes) {
            snprintf(message, size, "constant %s: '%s' is no type of constants; use f32, i64, i32, i8 or u8",
                     w->word[0], w->word[1]);
            return false;
        }
        used += bytes;
    }
    bench_onnx_put_tensor(graph, w->word[0], bench_op_onnx_type(w->word[1]), strchr(text, ',') ? 1 : 0,
                          &count, data, used);
    return true;
}

/* ---- the model ---- */

/* Declares the inputs and outputs of a copy. */
static bool put_values(const struct bench_op_call *c, struct bench_onnx_bytes *graph, int copy, char *message,
                       size_t size) {
    for (int i = 0; i < c->tensors; i++) {
        const struct bench_op_tensor *t = &c->tensor[i];
        int64_t extent[BENCH_OP_DIMS];
        char name[2 * BENCH_OP_NAME];
        const int dims = bench_op_shape(c, t, extent, message, size);
        if (dims < 0)
            return false;
        bench_op_value_name(name, t->name, copy);
        bench_onnx_put_value(graph, t->is_written ? ONNX_GRAPH_OUTPUT : ONNX_GRAPH_INPUT, name,
                             bench_op_onnx_type(t->type), dims, extent);
    }
    return true;
}

void *bench_op_model(const struct bench_op_call *c, int copies, size_t *length, char *message, size_t size) {
    struct bench_onnx_bytes graph = {0};
    bool right = true;
    bench_onnx_put_text(&graph, ONNX_GRAPH_NAME, c->op->name);
    for (int i = 0; i < c->op->constants && right; i++)
        right = put_constant(&graph, &c->op->constant[i], message, size);
    for (int copy = 0; copy < copies && right; copy++) {
        for (int n = 0; n < c->op->nodes; n++)
            put_node(c, &graph, &c->op->node[n], copy);
        right = put_values(c, &graph, copy, message, size);
    }
    if (right)
        return bench_onnx_finish(&graph, OPSET, length);
    free(graph.data);
    return NULL;
}
