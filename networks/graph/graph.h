/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Room graph: the network as nodes and values, independent of the file's format. It uses base's arena and
 * texts, and the element types of language. Data: struct uk_graph, which owns everything; uk_graph_value, a
 * tensor; uk_graph_node, an operator with its attributes.
 */
#ifndef UK_GRAPH_H
#define UK_GRAPH_H

#include "networks.h"
#include "base/base.h"

enum { UK_RANK = UK_NETWORK_DIMENSIONS };

struct uk_operator;
struct uk_graph_region;

/* ---- open sizes ----
 *
 * A named dimension with a range of values is an open size. One program serves all of them: the graph is
 * evaluated at some *points*, assignments of numbers to the open sizes, and what differs between points is
 * written as a form in the open sizes. A size with a step is counted in steps: at 1280 with step 32 it is 40.
 */

enum { UK_MAX_OPEN = 8, UK_FORM_TERMS = 12 };

/* A named dimension of inputs, and the values that the options give it. */
struct uk_graph_size {
    const char *name;
    int64_t lower, upper, step; /* lower == upper: fixed */
    int64_t value;              /* the one that the graph has now */
    int open;                   /* number among the open sizes; -1: fixed, or no input has it */
};

/* An integer as a polynomial in the open sizes: the sum of factor * size a * size b; -1: no such factor. */
struct uk_size_form {
    int terms;
    struct uk_size_term {
        int64_t factor;
        int a, b; /* b >= 0 only if a is, and a <= b then */
    } term[UK_FORM_TERMS];
};

/* The points. Point 0 has the largest sizes. The others serve to find forms, and to verify them. */
struct uk_size_points {
    int count;
    int values; /* of the graph when it was evaluated; later ones must follow one of these */
    int64_t (*size)[UK_MAX_OPEN]; /* in steps, by open size */
    /* Points that determine a form: the base; per open size the points 1 and 2 below it (-1: out of range);
     * and those 1 below it in two sizes. */
    int base, below[UK_MAX_OPEN][2], across[UK_MAX_OPEN][UK_MAX_OPEN];
};

/* A tensor. Its elements are in ONNX's order; once it is laid out, in that of `order`. */
struct uk_graph_value {
    struct uk_graph_value *next; /* in order of creation */
    const char *name;
    int number;
    enum uk_type type; /* UK_TYPES: unknown yet */
    bool is_boolean;   /* bytes of 0 and 1 */
    bool is_nibble;    /* bytes with values of four bits */
    bool has_shape;
    int rank;
    int64_t extent[UK_RANK];
    const void *data;     /* elements of a constant, row-major; else NULL */
    const void *examined; /* the data for which is_finite is set */
    bool is_finite;
    struct uk_graph_node *producer;
    int uses; /* number of node inputs and network outputs that are this value */
    bool is_input, is_output;
    bool is_needed; /* an input without a constant, on whose value shapes depend */
    /* Layout, set by plan: dimension order[i] is the i-th in memory, the last one contiguous. A view has no
     * memory of its own: its elements are in `storage`. */
    int order[UK_RANK];
    bool is_laid_out, wants_channels_last;
    struct uk_graph_value *storage;
    bool is_slice; /* a part of the storage, with its strides, that begins at element slice_at */
    int64_t slice_at;
    /* The value is one of the parts into which the outermost dimension of the storage divides it, contiguous:
     * that of the loop's iteration, counted from the end if is_reversed. NULL: its place is fixed. */
    const struct uk_graph_region *mover;
    bool is_reversed;
    bool is_state; /* the buffer of a state */
    /* Open sizes. A value whose extents depend on them has those of each point in `at`; a constant whose
     * elements do has those of each point in `data_at`. A block has the first elements, in each dimension, of
     * the ones at point 0, and their strides. */
    const char **dimension; /* of an input: names of its open dimensions, NULL where the file states one */
    int64_t (*at)[UK_RANK];
    const void **data_at;
    bool is_block;
    bool follows; /* of a value made after the graph was evaluated at the points: `at` was set nevertheless */
    const struct uk_size_form *form; /* of each extent, of slice_at, of the number of elements if it has a
                                        mover; NULL: they are fixed */
    int64_t bytes;                   /* set by plan: of its place in the block */
    /* Set by plan: byte offset in the block, first and last layer that need the value. */
    int64_t offset,
        breadth; /* breadth: maximum, over the layers that need the value, of the bytes of all live values */
    int first, last;
};

enum uk_attribute_kind {
    UK_A_INT,
    UK_A_FLOAT,
    UK_A_STRING,
    UK_A_TENSOR,
    UK_A_INTS,
    UK_A_FLOATS,
    UK_A_STRINGS,
    UK_A_GRAPH,
    UK_A_OTHER
};

/* A graph in an attribute: a branch of an If, or the body of a loop. Its nodes, each of which comes after the
 * producers of its inputs, may read values of the graph outside. */
struct uk_subgraph {
    struct uk_graph_node *nodes;
    int first, end; /* numbers of its nodes, and of those in graphs inside it; end is exclusive */
    int inputs, outputs;
    struct uk_graph_value **input, **output;
};

struct uk_attribute {
    const char *name;
    enum uk_attribute_kind kind;
    int count; /* of ints, floats or strings */
    /* Of an integer that depends on the open sizes: its value at each point, and the next such attribute. */
    int64_t *at;
    struct uk_attribute *next_open;
    union {
        int64_t i;
        double f;
        const char *s;
        const int64_t *ints;
        const double *floats;
        const char *const *strings;
        struct uk_graph_value *tensor;
        struct uk_subgraph *graph;
    };
};

/*
 * A range of nodes, later of layers, that runs once in each iteration of a loop. A branch is a loop of at
 * most one iteration. The nodes of a region, with those of regions inside it, are next to each other in the
 * graph.
 */
struct uk_graph_region {
    struct uk_graph_region *next;    /* in order of creation */
    struct uk_graph_region *outside; /* NULL: the network */
    int number;
    bool is_branch;
    /* The trip count of a loop is the extent of a dimension of a value, or an integer, where a negative one
     * counts as 0. Both NULL: the condition ends the loop. */
    const struct uk_graph_value *extent_of;
    int dimension;
    struct uk_graph_value *count;
    /* A boolean that is tested before each iteration: if it is false, or true if is_negated, the loop ends.
     * NULL: none. */
    struct uk_graph_value *condition;
    bool is_negated;
    struct uk_graph_value *counter; /* an i64 in the block of memory: the iteration's number, from 0 */
    /* While nodes are made: the last one before the region; those that end an iteration, and those that
     * follow the region. */
    struct uk_graph_node *before, *endings, *results;
    /* Set by plan: the trip count at the sizes that the graph has, -1 if it is computed; its form, NULL if it
     * is fixed; its layers; it has no layers if last < first. */
    int64_t trips;
    const struct uk_size_form *form;
    int first, last;
};

struct uk_graph_node {
    struct uk_graph_node *next;
    struct uk_graph_region *region; /* NULL: it runs once */
    int number;
    const char *name; /* the node's, or that of its first output */
    const char *type, *domain;
    const struct uk_operator *op;
    int version; /* version of its domain's operator set */
    int inputs, outputs;
    struct uk_graph_value **input, **output; /* NULL: left out */
    int attributes;
    struct uk_attribute *attribute;
    bool is_folded; /* its outputs are constants */
    bool is_placed; /* its outputs need no code: they are slices of its input, or its inputs are slices of its
                       output */
};

struct uk_property {
    const char *key, *value;
};

/* An output of the network that is one of its inputs with elements appended or replaced: both are parts of
 * one buffer, which begin at its first element and have its strides. It has the largest extents of the
 * output. */
struct uk_graph_state {
    struct uk_graph_value *past, *present; /* the input and the output, which are none of the graph's then */
    struct uk_graph_value *buffer;         /* NULL: not made yet */
    int axis;                              /* the dimension in which rows are written; -1: any */
};

/* Coefficients that take long to find, by what they were found from (layers/bytes/quantized_elements.c). */
struct uk_graph_sum {
    struct uk_graph_sum *next;
    float from[3], to[3];
    int least;
};

struct uk_graph_choice {
    struct uk_graph_choice *next;
    int node, number; /* the node's number; that of its choice */
    bool holds;
};

/* Part of a file, mapped read-only, in which constants have their elements. */
struct uk_mapping {
    struct uk_mapping *next;
    void *address;
    size_t length;
};

struct uk_graph {
    struct uk_arena arena;
    struct uk_mapping *mappings; /* unmapped with the graph */
    char *message;               /* the last error, by malloc(); or NULL */
    enum uk_status status;
    const char *name;
    struct uk_graph_value *values, **end_of_values;
    struct uk_graph_node *nodes;
    struct uk_graph_region *regions;
    int value_count, node_count, region_count;
    int inputs, outputs;
    struct uk_graph_value **input, **output;
    const char *unstated; /* message: the inputs without a shape, and the options that state it; NULL: none */
    int properties;
    struct uk_property *property;
    int states;
    struct uk_graph_state *state;
    int sizes, open_count;
    struct uk_graph_size *size; /* named dimensions that the options give */
    const struct uk_graph_size *open[UK_MAX_OPEN];
    struct uk_size_points points; /* count 0: no size is open */
    int64_t constant_room;        /* bytes of constants that may still be allocated */
    int64_t term_room;            /* elements and terms of sums that constant folding may still compute */
    /* Choices of nodes between forms: those at point 0 hold at all points. */
    const struct uk_graph *largest; /* the graph at point 0; NULL: this one */
    struct uk_graph_choice *choices;
    struct uk_graph_sum *sums;
    struct uk_attribute *open_attributes; /* those with values at points */
    bool needs_values;                    /* shapes depend on inputs with is_needed */
    const struct uk_graph_node *inferred; /* the node whose results are being inferred, for messages */
};

/* Limits on what a small file can demand: bytes of constants whose elements the file does not hold (more are
 * refused), and terms that the interpreter folds, one or two seconds of work (more are left to run time). */
enum { UK_MAX_CONSTANT_BYTES = 1 << 30, UK_MAX_FOLDED_TERMS = 1 << 25 };
/* Domain of operators that only nodes made by this library have. */
#define UK_INTERNAL_DOMAIN "ukernels"
/* Operator set that nodes made by this library belong to. */
enum { UK_NODE_VERSION = 23 };
/* Elements of a tensor at most, extents of 0 left out, so that products of extents do not overflow. */
#define UK_MAX_ELEMENTS (INT64_C(1) << 40)

/* ---- types.c ---- */

/* Maps an enumerator of ONNX's TensorProto.DataType to a type; UK_TYPES: unsupported. */
enum uk_type uk_onnx_type(int64_t number, bool *is_boolean);
/* Refuses an unsupported type of `what`, an "input" or the like; name: its name, or NULL. */
enum uk_status uk_graph_refuse_type(struct uk_graph *g, const struct uk_graph_node *at, const char *what,
                                    const char *name, int64_t number);

/* ---- list.c ---- */

/* A list in a message: entries are added one by one, and those after the first UK_MAX_LISTED are counted.
 * Zero-initialize. */
struct uk_list {
    struct uk_text text;
    int count;
};
enum { UK_MAX_LISTED = 12 };
void uk_list_put(struct uk_list *l, const char *separator, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Returns the list, "a, b and 3 more", in the arena, and frees it. NULL: no memory. */
const char *uk_list_end(struct uk_list *l, struct uk_arena *a);

/* ---- graph.c ---- */

void uk_graph_begin(struct uk_graph *g);
void uk_graph_end(struct uk_graph *g);
/* Records the message, unless there is an earlier one, and returns the status. at: the node that it is about,
 * or NULL. */
enum uk_status uk_graph_fail(struct uk_graph *g, enum uk_status s, const struct uk_graph_node *at,
                             const char *format, ...) __attribute__((format(printf, 4, 5)));
enum uk_status uk_graph_no_memory(struct uk_graph *g);
/* The last error without the network's name, which uk_graph_fail() puts before it. */
const char *uk_graph_reason(const struct uk_graph *g);
/* Forgets the failure. */
void uk_graph_retry(struct uk_graph *g);
/* Returns a new value; NULL: no memory. The name is copied. */
struct uk_graph_value *uk_value_new(struct uk_graph *g, const char *name);
/* Number of elements; -1: more than UK_MAX_ELEMENTS. */
int64_t uk_value_elements(const struct uk_graph_value *v);
/* Extents that a constant's elements have in memory: of a block those of point 0, else its own. */
const int64_t *uk_stored_extents(const struct uk_graph_value *v);
/* The number of elements with these extents. */
int64_t uk_stored_elements(const struct uk_graph_value *v);
/* The shape as text, "1x3x224x224", in one of a few buffers of the thread that later calls reuse. */
const char *uk_value_shape(const struct uk_graph_value *v);

/* ---- strides.c: places of elements ---- */

/* Strides of the dimensions; the distance of the first element from that of the root storage; both in
 * elements. Values that move are taken at the beginning of their storage. */
void uk_value_strides(const struct uk_graph_value *v, int64_t stride[UK_RANK]);
int64_t uk_value_begin(const struct uk_graph_value *v);
/* The offset of the first element in the network's block, in bytes, once that is planned. memory: the block,
 * which holds the iterations of values that move; NULL: as at the beginning of their storage. */
int64_t uk_value_offset(const struct uk_graph_value *v, const void *memory);
/* True for a slice, and for a view of one. */
bool uk_is_strided(const struct uk_graph_value *v);
/* Finds the strides with which v has the elements of `of`, in their order in memory. strides: those of `of`.
 * False: there are none. */
bool uk_view_strides(const struct uk_graph_value *of, const int64_t *strides, const struct uk_graph_value *v,
                     int64_t stride[UK_RANK]);

/* ---- region.c: loops and branches ---- */

/* Returns a new region inside `outside`; NULL: no memory. */
struct uk_graph_region *uk_region_new(struct uk_graph *g, struct uk_graph_region *outside);
/* Returns the trip count at the sizes that the graph has, at most if there is a condition too; -1: it is
 * computed at run time. */
int64_t uk_region_trips(const struct uk_graph_region *r);
/* True if r is `outer`, or inside it; NULL is the network. */
bool uk_region_contains(const struct uk_graph_region *outer, const struct uk_graph_region *r);
/* Returns the region directly inside `outer` that contains r; NULL: r is `outer`, or not inside it. */
struct uk_graph_region *uk_region_within(const struct uk_graph_region *outer, struct uk_graph_region *r);
/* Returns the number of the part of its storage that the value, which has a mover, is in the iteration that
 * the block of memory holds. 0: no such part exists. */
int64_t uk_value_part(const struct uk_graph_value *v, const void *memory);

/* ---- open.c: open sizes ---- */

/* Adds a size, which has its largest value then. Fails if there is one of that name, or unless the bounds are
 * multiples of the step. */
enum uk_status uk_size_add(struct uk_graph *g, const char *name, int64_t lower, int64_t upper, int64_t step);
/* Returns the size of that name, or NULL. */
struct uk_graph_size *uk_size_find(const struct uk_graph *g, const char *name);
/* Computes the extent of a dimension from its name: that of a size, or a sum of sizes and integers
 * ("past + sequence"). False: a size in it is not given. */
bool uk_size_extent(const struct uk_graph *g, const char *name, int64_t *extent);
/* Gives the values of the graph the extents and elements of a point, and the sizes their values. */
void uk_graph_set_point(struct uk_graph *g, int point);
/* Returns whether a condition of the node, which has that number, holds at point 0 of open sizes: the graph
 * has the same form at all points. holds: whether it does at this point. */
bool uk_choose_form(struct uk_graph *g, const struct uk_graph_node *n, int number, bool holds);
/* Compare at all points: the extents of two values; an extent with 1. */
bool uk_same_extents(const struct uk_graph *g, const struct uk_graph_value *a,
                     const struct uk_graph_value *b);
bool uk_is_one(const struct uk_graph *g, const struct uk_graph_value *v, int d);
/* True if dimension d of v is broadcast to dimension `at` of y. It is the same at all points: where both are
 * 1, it depends on the others. */
bool uk_is_broadcast(const struct uk_graph *g, const struct uk_graph_value *v, int d,
                     const struct uk_graph_value *y, int at);
/* Gives y, whose extents are those of x plus constants, the extents at all points. False: no memory. */
bool uk_follow_points(struct uk_graph *g, struct uk_graph_value *y, const struct uk_graph_value *x);
/* The open sizes at a point as text, "seq=7, past=0", in one of a few buffers that later calls reuse. */
const char *uk_point_text(const struct uk_graph *g, int point);

/* ---- form.c ---- */

/* Finds the form with value[p] at point p from the points that determine it. False: it has none. It may fail
 * to hold at other points. */
bool uk_form_fit(const struct uk_graph *g, const int64_t *value, struct uk_size_form *f);
bool uk_form_holds(const struct uk_graph *g, const struct uk_size_form *f, const int64_t *value);
/* sizes: of each open one, in steps. */
int64_t uk_form_value(const struct uk_size_form *f, const int64_t *sizes);
bool uk_form_equal(const struct uk_size_form *a, const struct uk_size_form *b);
/* Subtracts f, term by term. False: the result has too many. */
bool uk_form_subtract(struct uk_size_form *from, const struct uk_size_form *f);
/* True for a form without a product of sizes. */
bool uk_form_is_affine(const struct uk_size_form *f);

/* Returns the attribute of that name, or NULL. */
const struct uk_attribute *uk_attribute_find(const struct uk_graph_node *n, const char *name);
int64_t uk_attribute_int(const struct uk_graph_node *n, const char *name, int64_t otherwise);
double uk_attribute_float(const struct uk_graph_node *n, const char *name, double otherwise);
const char *uk_attribute_string(const struct uk_graph_node *n, const char *name, const char *otherwise);
/* Returns NULL if there is no graph of that name. */
struct uk_subgraph *uk_attribute_graph(const struct uk_graph_node *n, const char *name);
/* Returns a new node without attributes, whose inputs and outputs the caller sets; NULL: no memory. type,
 * name: texts that live as long as the graph. */
struct uk_graph_node *uk_graph_node_new(struct uk_graph *g, const char *type, const char *name, int inputs,
                                        int outputs);
/* Returns a new Identity, which computes `to`. NULL: no memory. */
struct uk_graph_node *uk_identity_new(struct uk_graph *g, const char *name, struct uk_graph_value *from,
                                      struct uk_graph_value *to);
/* Takes back the uses of values by a node, or by the nodes of a subgraph, that is no longer needed. */
void uk_node_release(struct uk_graph_node *n);
void uk_subgraph_release(struct uk_subgraph *sub);
/* Returns input i, or NULL if it is left out. */
struct uk_graph_value *uk_node_input(const struct uk_graph_node *n, int i);
/* ---- constant.c ---- */

/* Makes the value a constant of that shape and returns memory for its elements, which the caller fills. NULL:
 * no memory, or the limit on constants is exceeded; uk_graph_no_memory() then returns the status. */
void *uk_value_constant(struct uk_graph *g, struct uk_graph_value *v, enum uk_type type, int rank,
                        const int64_t *extent);
/* Returns memory of that many bytes for a constant, at a multiple of 64. NULL as above. */
void *uk_constant_alloc(struct uk_graph *g, int64_t bytes);
/* Raises the limit on constants by three times `bytes`, the size of elements that a file or a caller
 * supplied: once for them, and twice for constants computed from them. */
void uk_allow_constant(struct uk_graph *g, int64_t bytes);
/* Gives the value its elements from the file, mapped until uk_graph_end(). The offset must be a multiple of
 * the element's size. False: it cannot be mapped. */
bool uk_value_map(struct uk_graph *g, struct uk_graph_value *v, int file, int64_t offset, int64_t bytes);
void uk_graph_unmap(struct uk_graph *g);
/* Give back the memory of whole pages of a mapped file between two addresses; or of those that have the
 * constant's elements, if these are in such a file. They are read again when they are used again. */
void uk_pages_give_back(const void *from, size_t length);
void uk_constant_give_back(const struct uk_graph *g, const struct uk_graph_value *v);
/* True for a constant of floats whose elements are all finite. */
bool uk_constant_is_finite(const struct uk_graph *g, struct uk_graph_value *v);
/* Element i of a constant, as an integer or as a real number. */
int64_t uk_constant_int(const struct uk_graph_value *v, int64_t i);
double uk_constant_real(const struct uk_graph_value *v, int64_t i);

#endif
