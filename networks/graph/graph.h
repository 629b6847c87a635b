/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Room graph: the network as nodes and values, whatever it was read from. It uses base's arena and texts, and
 * the element types of language. Data: struct uk_graph, which owns all of it; uk_value, a tensor; uk_node, an
 * operator with its attributes.
 */
#ifndef UK_GRAPH_H
#define UK_GRAPH_H

#include "networks.h"
#include "base/base.h"

enum { UK_RANK = UK_NETWORK_DIMENSIONS };

struct uk_operator;

/* A tensor. Its elements are in ONNX's order unless `order` says otherwise, once it is laid out. */
struct uk_graph_value {
    struct uk_graph_value *next; /* in the order in which they were made */
    const char *name;
    int number;
    enum uk_type type; /* UK_TYPES: not known yet */
    bool is_boolean;   /* bytes of 0 and 1 */
    bool has_shape;
    int rank;
    int64_t extent[UK_RANK];
    const void *data; /* of a constant, row-major; else NULL */
    struct uk_graph_node *producer;
    int uses; /* inputs of nodes and outputs of the network */
    bool is_input, is_output;
    /* Layout (plan): dimension order[i] is the i-th in memory, the last one contiguous. A view has its
     * elements in the memory of another value. */
    int order[UK_RANK];
    bool is_laid_out, wants_channels_last;
    struct uk_graph_value *storage;
    bool is_slice; /* of the storage: with its strides, from element slice_at of it on */
    int64_t slice_at;
    /* Plan: where it lies in memory, and the first and the last layer that need it. */
    int64_t offset, breadth; /* breadth: the largest sum of what is live beside it, itself included */
    int first, last;
};

enum uk_attribute_kind { UK_A_INT, UK_A_FLOAT, UK_A_STRING, UK_A_TENSOR, UK_A_INTS, UK_A_FLOATS, UK_A_OTHER };

struct uk_attribute {
    const char *name;
    enum uk_attribute_kind kind;
    int count; /* of ints or floats */
    union {
        int64_t i;
        double f;
        const char *s;
        const int64_t *ints;
        const double *floats;
        struct uk_graph_value *tensor;
    };
};

struct uk_graph_node {
    struct uk_graph_node *next;
    int number;
    const char *name; /* of the node, or of its first output */
    const char *type, *domain;
    const struct uk_operator *op;
    int version; /* of its domain's operator set */
    int inputs, outputs;
    struct uk_graph_value **input, **output; /* NULL: left out */
    int attributes;
    struct uk_attribute *attribute;
    bool is_folded; /* its outputs are constants */
    bool is_placed; /* its outputs need no code: parts of other values, or made of such parts */
};

struct uk_property {
    const char *key, *value;
};

struct uk_graph {
    struct uk_arena arena;
    char *message; /* the last error; owned by malloc */
    enum uk_status status;
    const char *name;
    struct uk_graph_value *values, **end_of_values;
    struct uk_graph_node *nodes;
    int value_count, node_count;
    int inputs, outputs;
    struct uk_graph_value **input, **output;
    int properties;
    struct uk_property *property;
    int64_t constant_room; /* bytes that constants may still have */
    int64_t term_room;     /* elements, and terms of sums, that may still be computed of constants */
    const struct uk_graph_node *inferred; /* the node whose results are being computed */
};

/* What a file of a few bytes may ask for: constants that are no elements of the file, and work for the
 * interpreter, which takes a second or two for it. What would be more is refused, or left to run time. */
enum { UK_MOST_CONSTANT_BYTES = 1 << 30, UK_MOST_TERMS = 1 << 25 };
/* Of a tensor, extents of 0 left out, so that products of extents fit. */
#define UK_MOST_ELEMENTS (INT64_C(1) << 40)

/* ---- graph.c ---- */

void uk_graph_begin(struct uk_graph *g);
void uk_graph_end(struct uk_graph *g);
/* Records the message, of which the first counts, and returns the status. at: the node that it is about, or
 * NULL. */
enum uk_status uk_graph_fail(struct uk_graph *g, enum uk_status s, const struct uk_graph_node *at,
                             const char *format, ...) __attribute__((format(printf, 4, 5)));
enum uk_status uk_graph_no_memory(struct uk_graph *g);
/* A new value; NULL: no memory. The name is copied. */
struct uk_graph_value *uk_value_new(struct uk_graph *g, const char *name);
/* Makes the value a constant of that shape with memory for its elements, which the caller fills. NULL: no
 * memory, or too many; then uk_graph_no_memory() returns the status. */
void *uk_value_constant(struct uk_graph *g, struct uk_graph_value *v, enum uk_type type, int rank,
                        const int64_t *extent);
/* Memory of that many bytes for a constant. NULL as above. */
void *uk_constant_alloc(struct uk_graph *g, int64_t bytes);
/* Elements that a file or a caller has: as many bytes more may be constants, and twice as many what is made
 * of them. */
void uk_constant_given(struct uk_graph *g, int64_t bytes);
/* Elements; -1: more than UK_MOST_ELEMENTS. */
int64_t uk_value_elements(const struct uk_graph_value *v);
/* How far apart in memory neighbours along each dimension are, in elements; and where in the network's memory
 * the first element lies, in bytes, once that is planned. */
void uk_value_strides(const struct uk_graph_value *v, int64_t stride[UK_RANK]);
int64_t uk_value_place(const struct uk_graph_value *v);
/* The shape as text, "1x3x224x224", in one of a few buffers that later calls use again. */
const char *uk_value_shape(const struct uk_graph_value *v);

/* The attribute of that name, or NULL. */
const struct uk_attribute *uk_attribute_find(const struct uk_graph_node *n, const char *name);
int64_t uk_attribute_int(const struct uk_graph_node *n, const char *name, int64_t otherwise);
double uk_attribute_float(const struct uk_graph_node *n, const char *name, double otherwise);
const char *uk_attribute_string(const struct uk_graph_node *n, const char *name, const char *otherwise);
/* The input, or NULL where it is left out. */
struct uk_graph_value *uk_node_input(const struct uk_graph_node *n, int i);
/* An element of a constant, as an integer or as a number. */
int64_t uk_constant_int(const struct uk_graph_value *v, int64_t i);
double uk_constant_real(const struct uk_graph_value *v, int64_t i);

#endif
