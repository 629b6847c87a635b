/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operators that uk bench ops measures: the table bench/ops/operators.txt, their programs, operands,
 * and the calls of the same operators by ONNX Runtime and of a copy of as many bytes.
 */
#ifndef BENCH_OPERATORS_H
#define BENCH_OPERATORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "ukernels.h"

enum {
    BENCH_OP_NAME = 40,
    BENCH_OP_CODE = 512,
    BENCH_OP_SIZES = 8,   /* of a program */
    BENCH_OP_TENSORS = 6, /* arguments of a program */
    BENCH_OP_DIMS = 6,
    BENCH_OP_NODES = 6,
    BENCH_OP_WORDS = 16, /* of a line about a node or a constant */
    BENCH_OP_LINES = 8,  /* of one kind: types, cases, constants, drawn sizes, ... */
    BENCH_OP_TEXT = 256  /* of the shape in messages */
};

/* A size of a program and its value. */
struct bench_op_size {
    char name[BENCH_OP_NAME];
    int64_t value;
};

/* A shape that is measured: a type, and all sizes of the program. */
struct bench_op_case {
    char type[BENCH_OP_NAME];
    int count;
    struct bench_op_size size[BENCH_OP_SIZES];
};

struct bench_op_draw {
    char name[BENCH_OP_NAME];
    int64_t least, most;
};

/* The words of a line, the first one left out. */
struct bench_op_words {
    int count;
    char word[BENCH_OP_WORDS][BENCH_OP_NAME];
};

/* An operator; the lines of operators.txt say what each field means. */
struct bench_op {
    char name[BENCH_OP_NAME], program[BENCH_OP_NAME], numpy[BENCH_OP_CODE];
    int types, cases, draws, nodes, constants, values, orders, shapes, touches; /* lines; types: words */
    char type[BENCH_OP_LINES][BENCH_OP_NAME];
    struct bench_op_case shape_case[BENCH_OP_LINES];
    struct bench_op_draw draw[BENCH_OP_LINES];
    struct bench_op_words node[BENCH_OP_NODES], constant[BENCH_OP_LINES], value[BENCH_OP_LINES],
        order[BENCH_OP_LINES], shape[BENCH_OP_LINES], touch[BENCH_OP_LINES];
};

struct bench_ops {
    int count, room;
    struct bench_op *op;
};

/* ---- operators.c: the table ---- */

/* The text of bench/ops/operators.txt. */
extern const char bench_operators_text[];
/* Reads a text of that form. UK_INVALID_ARGUMENT: `message` names the line. The caller frees the operators in
 * any case. */
enum uk_status bench_ops_parse(const char *text, struct bench_ops *ops, char *message, size_t size);
void bench_ops_free(struct bench_ops *ops);
/* True if the operator can have this type. */
bool bench_op_has_type(const struct bench_op *op, const char *type);
/* The value of the case's size; -1: it has none of this name. */
int64_t bench_op_size_value(const struct bench_op_case *c, const char *name);
/* Reads a product of numbers and sizes of the case, joined by *. False if a word is neither. */
bool bench_op_number(const struct bench_op_case *c, const char *text, int64_t *value);
/* Elements of the tensor that a call reads or writes, of this many in all. -1: the line `touches` is wrong.
 */
int64_t bench_op_touched(const struct bench_op *op, const struct bench_op_case *c, const char *tensor,
                         int64_t elements);
/* Writes "M=352 N=352". */
void bench_op_text(const struct bench_op_case *c, char *text, size_t size);

/* The programs of bench/ops/, by name of file; the last one has no name. */
struct bench_op_program {
    const char *name, *text;
};
extern const struct bench_op_program bench_op_programs[];

/* ---- op_draw.c: shapes that are drawn ---- */

/* Bytes that a call of a case reads and writes; -1: the sizes are invalid. */
typedef int64_t bench_op_bytes(void *user, const struct bench_op_case *c);
/* The state with which the operator's shapes begin. */
uint64_t bench_op_draw_begin(const struct bench_op *op, uint64_t seed);
/* Draws sizes of *c, which has all that are drawn, so that the operands have about as many bytes as a number
 * between `least` and `most` whose logarithm is evenly distributed. Half of the shapes have multiples of 16
 * only, among them powers of two, and the others odd sizes; a size whose range has no such number has any.
 * False: the operator draws nothing, or no sizes have as many bytes. */
bool bench_op_draw_sizes(const struct bench_op *op, struct bench_op_case *c, double least, double most,
                         bench_op_bytes *bytes, void *user, uint64_t *state);

/* ---- op_data.c: operands ---- */

struct bench_op_tensor {
    char name[BENCH_OP_NAME];
    char type[BENCH_OP_NAME]; /* "f32" */
    bool is_read, is_written;
    int dims;
    int64_t extent[BENCH_OP_DIMS], elements, touched; /* touched: elements that a call reads or writes */
    size_t element;                                   /* bytes */
    double least, most; /* range of the values; of whole numbers `most` is excluded */
    void *data;
};

/* One shape of an operator with its operands. */
struct bench_op_call {
    const struct bench_op *op;
    const struct bench_op_case *shape;
    int tensors;
    struct bench_op_tensor tensor[BENCH_OP_TENSORS];
};

/* Bytes of the tensors that are read, and of those that are written. */
double bench_op_bytes_in(const struct bench_op_call *c);
double bench_op_bytes_out(const struct bench_op_call *c);
/* Touched elements of the tensor that has most: a time per element refers to them. */
int64_t bench_op_elements(const struct bench_op_call *c);
/* Allocates the operands of tensors that are described, and fills those that are read. Free them by
 * bench_op_data_free() in any case. False: out of memory, or *message says what is wrong with the table. */
bool bench_op_data_create(struct bench_op_call *c, char *message, size_t size);
void bench_op_data_free(struct bench_op_call *c);
/* Fills results with NaN, or with a number that a call must overwrite. */
void bench_op_spoil(struct bench_op_call *c);
double bench_op_value(const struct bench_op_tensor *t, const void *data, int64_t i);
/* Allocates memory that begins `index` times nine lines after a multiple of a page: operands whose addresses
 * agree in the last 12 bits delay each other. */
void *bench_op_allocate(size_t bytes, int index);
void bench_op_deallocate(void *memory, int index);

/* ---- op_peer.c: ONNX Runtime ---- */

struct bench_library;
struct bench_op_peer;

/* Nodes of the second graph: the difference of the two graphs' times is that of BENCH_OP_COPIES - 1 nodes. */
enum { BENCH_OP_COPIES = 33 };

/* Opens ONNX Runtime for them. */
void bench_op_peer_open(struct bench_library *l, const char *directory, int threads);
/* Makes two sessions of the operator, with one copy of its nodes and with BENCH_OP_COPIES. All copies read
 * the same operands and write the same results, so that they stay in the cache in which a single one would
 * have them. NULL: ONNX Runtime cannot compute it, or *message says what is wrong with the table. */
struct bench_op_peer *bench_op_peer_begin(const struct bench_library *onnxruntime,
                                          const struct bench_op_call *c, char *message, size_t size);
/* Runs the graph with one copy, or with all. False: ONNX Runtime refused. */
bool bench_op_peer_run(struct bench_op_peer *p, bool all);
/* The result of the tensor, in the program's order of dimensions, until the next call. NULL: out of memory.
 */
const void *bench_op_peer_result(struct bench_op_peer *p, int tensor);
void bench_op_peer_end(struct bench_op_peer *p);

#endif
