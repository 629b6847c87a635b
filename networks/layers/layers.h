/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Room layers: what operators mean. It uses graph, language and interpret. Each operator is a row of
 * operators.def: its attributes, the rule of its result's type and shape, and the statements of the tensor
 * language that compute it. Data: struct uk_operator, a row; uk_writer, a tensor program that statements are
 * written to.
 */
#ifndef UK_LAYERS_H
#define UK_LAYERS_H

#include "graph/graph.h"

struct uk_writer;

struct uk_operator {
    const char *name, *domain;
    int since; /* the row for this version of the operator set and later ones, up to the next row */
    const char
        *attributes; /* those that it knows: "alpha=0.01 axis"; the number is the default in expressions */
    /* Element by element, with broadcasting: the result's element of the inputs' elements $0, $1, ...;
     * {alpha} is an attribute, {y} and {x} are the types of the result and of input 0. Or a function that
     * makes that text, in the graph's arena; NULL: no memory. */
    const char *expression;
    const char *(*express)(struct uk_graph *g, const struct uk_graph_node *n);
    bool is_boolean;     /* the result is; else its type is that of input 0 */
    bool is_mixed;       /* element by element, of inputs of several types */
    bool is_union;       /* Concat: what it unites may be written into the result by who computes it */
    bool is_part;        /* Split, Slice: the result may be a part of the input */
    bool is_view;        /* the result is input 0's elements under another shape */
    bool channels_last;  /* its kernels want channels innermost */
    bool is_channelwise; /* element by element, but inputs of one dimension have an element for each channel,
                            dimension 1 */
    enum uk_status (*infer)(struct uk_graph *g, struct uk_graph_node *n); /* NULL: element by element */
    /* Computes constants without a program; NULL: by the interpreter of its statements. */
    enum uk_status (*fold)(struct uk_graph *g, struct uk_graph_node *n);
    enum uk_status (*write)(struct uk_writer *w, const struct uk_graph_node *n, int output);
    void (*lay_out)(struct uk_graph_node *n); /* gives constants the order in memory that kernels want */
};

/* ---- table.c ---- */

/* Finds the row and refuses attributes that it does not know. */
enum uk_status uk_operator_find(struct uk_graph *g, struct uk_graph_node *n);
/* Shapes and types of all values; what is constant is computed, where `fold` is not NULL by that function. */
typedef enum uk_status uk_fold(struct uk_graph *g, struct uk_graph_node *n, void *user);
enum uk_status uk_infer(struct uk_graph *g, uk_fold *fold, void *user);

/* ---- rules.c: of shapes ---- */

bool uk_node_is_elementwise(const struct uk_graph_node *n);
/* The expression of a node that computes element by element. NULL: no memory. */
const char *uk_expression_of(struct uk_graph *g, const struct uk_graph_node *n);
/* Of a node: in expressions an input is a letter behind '0', and there are some that nodes get besides. `y`
 * is the output. */
enum { UK_MOST_INPUTS = 70 };
enum uk_status uk_infer_broadcast(struct uk_graph *g, struct uk_graph_node *n);
/* Input i must be there, of known shape. */
enum uk_status uk_need_input(struct uk_graph *g, const struct uk_graph_node *n, int i);
/* Gives output i its type and shape; refuses sizes that overflow. */
enum uk_status uk_set_output(struct uk_graph *g, struct uk_graph_node *n, int i, enum uk_type type, int rank,
                             const int64_t *extent);
/* Whole numbers that are an attribute in early versions and a constant input in later ones. *count is -1
 * where they are left out; at most UK_LISTED. */
enum { UK_LISTED = 2 * UK_RANK };
enum uk_status uk_need_ints(struct uk_graph *g, const struct uk_graph_node *n, const char *attribute,
                            int input, int64_t *list, int *count);
/* The node has that many inputs at least; the new ones are left out. */
enum uk_status uk_extend_inputs(struct uk_graph *g, struct uk_graph_node *n, int inputs);
/* Appends a constant of one dimension, for the caller to fill, to the node's inputs; its number. -1: no
 * memory. */
int uk_append_constant(struct uk_graph *g, struct uk_graph_node *n, enum uk_type type, int64_t count,
                       void **data);
/* An axis of a tensor of that rank; negative ones count from the end. */
enum uk_status uk_need_axis(struct uk_graph *g, const struct uk_graph_node *n, int64_t axis, int rank,
                            int *out);

/* ---- text.c: writing programs ---- */

/* Of a statement, its result among them: as many as the language takes. */
enum { UK_MOST_ACCESSES = 16 };

/* A tensor of a program: a value, or a temp of a node. */
struct uk_written {
    const struct uk_graph_value *value;
    const struct uk_graph_node *node; /* of a temp: whose, and its name there */
    const char *local;
    char name[16];
    enum uk_type type;
    int rank, order[UK_RANK];
    int64_t extent[UK_RANK], stride[UK_RANK];
    const char *expression; /* not stored: computed where it is read, of i0, i1, ... */
    bool is_temp;
};

#define UK_CONSTANT_MARK " constant"

struct uk_writer {
    struct uk_graph *g;
    const struct uk_graph_value *result;     /* what the program computes */
    const struct uk_graph_node *const *node; /* by which nodes, in order */
    int nodes;
    bool marks_constants; /* those of several dimensions are declared as constant: they are packed when
                             compiling */
    struct uk_text statements;
    struct uk_written *tensor;
    int tensors, room, temps;
    bool failed; /* no memory */
};

/* Declares the value, which the program reads, with another shape of as many elements in its order in memory;
 * false: no memory, or the program computes the value. */
bool uk_write_shaped(struct uk_writer *w, const struct uk_graph_value *v, int rank, const int64_t *extent);
/* A temp of the node's, used as @name[...]; order: of its dimensions in memory, NULL: as they are. */
void uk_write_temp(struct uk_writer *w, const struct uk_graph_node *n, const char *name, enum uk_type type,
                   int rank, const int64_t *extent, const int *order);
/* Such a temp of the shape and layout of output 0. */
void uk_write_temp_like(struct uk_writer *w, const struct uk_graph_node *n, const char *name,
                        enum uk_type type);
/* Adds a statement, whose subscripts are in ONNX's order: $0[n, c, p, q] is an element of input 0, $y[...] of
 * output 0 (or, if that is not 0, of the output that is written), @t[...] of a temp. */
void uk_write(struct uk_writer *w, const struct uk_graph_node *n, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The same for output 0 as an expression of its subscripts i0, i1, ...; it may be computed where it is read.
 * */
void uk_write_result(struct uk_writer *w, const struct uk_graph_node *n, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The program by which w->node compute w->result, in the graph's arena; afterwards w->tensor holds what it
 * reads, in the order of its arguments, with the result last, and its temps. End the writer in any case. */
enum uk_status uk_write_program(struct uk_writer *w, const char **text);
void uk_writer_end(struct uk_writer *w);

/* Statement text: "i0, i1, i2" for n iterators; in one of a few buffers that later calls use again. */
const char *uk_iterators(int n);
/* A number of the program's text that reads back as the same value. */
const char *uk_number_text(double v, bool single);

/* ---- operators, by family ---- */

#define UK_INFER(name) enum uk_status uk_infer_##name(struct uk_graph *g, struct uk_graph_node *n)
#define UK_WRITE(name) \
    enum uk_status uk_write_##name(struct uk_writer *w, const struct uk_graph_node *n, int output)
#define UK_EXPRESS(name) const char *uk_express_##name(struct uk_graph *g, const struct uk_graph_node *n)
UK_INFER(conv); /* conv.c */
UK_WRITE(conv);
UK_INFER(pool); /* pool.c */
UK_WRITE(pool);
UK_INFER(global_pool);
UK_WRITE(global_pool);
UK_INFER(gemm); /* matmul.c */
UK_WRITE(gemm);
UK_INFER(matmul);
UK_WRITE(matmul);
UK_INFER(softmax); /* reduce.c */
UK_WRITE(softmax);
UK_INFER(qlinear_softmax);
UK_WRITE(qlinear_softmax);
UK_INFER(reduce);
UK_WRITE(reduce);
UK_WRITE(reduce_log_sum_exp);
UK_INFER(arg);
UK_WRITE(arg);
UK_INFER(conv_transpose); /* conv.c */
UK_WRITE(conv_transpose);
UK_INFER(concat); /* move.c */
UK_WRITE(concat);
UK_INFER(split);
UK_WRITE(split);
UK_INFER(slice);
UK_WRITE(slice);
UK_INFER(pad);
UK_WRITE(pad);
UK_INFER(expand);
UK_INFER(tile);
UK_WRITE(tile);
UK_INFER(blocks);
UK_WRITE(blocks);
UK_INFER(layer_normalization); /* normalize.c */
UK_WRITE(layer_normalization);
UK_INFER(instance_normalization);
UK_WRITE(instance_normalization);
UK_INFER(lrn);
UK_WRITE(lrn);
UK_INFER(gather); /* gather.c */
UK_WRITE(gather);
UK_INFER(resize); /* resize.c */
UK_WRITE(resize);
UK_INFER(quantize); /* quantized.c */
UK_EXPRESS(quantize);
UK_INFER(dequantize);
UK_EXPRESS(dequantize);
UK_INFER(qlinear_conv);
UK_WRITE(qlinear_conv);
UK_INFER(qlinear_matmul);
UK_WRITE(qlinear_matmul);
UK_INFER(qgemm);
UK_WRITE(qgemm);
UK_INFER(qlinear_binary); /* quantized_elements.c */
UK_EXPRESS(qlinear_binary);
UK_INFER(qlinear_unary);
UK_EXPRESS(qlinear_unary);
UK_INFER(qlinear_concat);
UK_WRITE(qlinear_concat);
UK_INFER(qlinear_pool); /* quantized_pool.c */
UK_WRITE(qlinear_pool);
UK_INFER(dropout); /* view.c */
UK_INFER(same);
UK_INFER(reshape);
UK_INFER(flatten);
UK_INFER(squeeze);
UK_INFER(unsqueeze);
UK_INFER(transpose);
UK_INFER(batch_normalization); /* elementwise.c */
UK_INFER(cast);
UK_INFER(where);
UK_INFER(divide);
UK_INFER(power);
UK_INFER(prelu);
UK_INFER(nary);
UK_INFER(nothing); /* constant.c */
enum uk_status uk_fold_constant(struct uk_graph *g, struct uk_graph_node *n);
enum uk_status uk_fold_constant_of_shape(struct uk_graph *g, struct uk_graph_node *n);
enum uk_status uk_fold_range(struct uk_graph *g, struct uk_graph_node *n);
enum uk_status uk_fold_shape(struct uk_graph *g, struct uk_graph_node *n);
enum uk_status uk_fold_size(struct uk_graph *g, struct uk_graph_node *n);
UK_EXPRESS(clip);
UK_EXPRESS(cast);
UK_EXPRESS(divide);
UK_EXPRESS(power);
UK_EXPRESS(gelu);
UK_EXPRESS(nary);
UK_EXPRESS(batch_normalization);
/* ---- fold.c ---- */

/* For uk_infer: `context` is a struct uk_context. */
enum uk_status uk_fold_by_interpreter(struct uk_graph *g, struct uk_graph_node *n, void *context);
enum uk_status uk_fold_view(struct uk_graph *g, struct uk_graph_node *n);
/* The constant's elements with dimension order[i] as the i-th. */
void uk_permute(const struct uk_graph_value *v, const int *order, void *out);

/* The sum of products of a convolution of input 0 and a filter. */
struct uk_conv_form {
    const char *to;      /* "@t" or "$y" */
    const char *cast;    /* the type in which it is computed, or "": that of the input */
    const char *outside; /* what padding is */
    const char *behind;  /* added to the filter's element, or "" */
};
enum uk_status uk_write_conv_sum(struct uk_writer *w, const struct uk_graph_node *n, int filter,
                                 const struct uk_conv_form *form);
/* The same of a product of matrices, of input 0 and input `right`; behind_a and behind_b: what is added to
 * elements. */
void uk_write_matmul_sum(struct uk_writer *w, const struct uk_graph_node *n, int right, const char *to,
                         const char *cast, const char *behind_a, const char *behind_b);

/* gather.c: the subscript of an input along a dimension, as the constant input `list` of whole numbers has
 * it: "i2 / 2" where the list is so, else an element of it. */
void uk_listed_subscript(const struct uk_graph_node *n, int list, int dimension, char *text, size_t room);

/* move.c: where the input of a Concat begins in the result along *axis; false: its elements are changed on
 * the way. Where output `output` of a Split or a Slice begins in the input, in each dimension; false: it
 * takes steps. */
bool uk_part_of_union(struct uk_graph *g, const struct uk_graph_node *n, int input, int *axis, int64_t *from);
bool uk_part_of_input(struct uk_graph *g, const struct uk_graph_node *n, int output, int64_t from[UK_RANK]);

/* Whether the value lies in the memory of that one; whether input `input` of a QLinearConcat has the result's
 * scale and zero point. */
bool uk_is_placed(const struct uk_graph_value *v, const struct uk_graph_value *in);
bool uk_same_scale(struct uk_graph *g, const struct uk_graph_node *n, int input);

/* The permutation of a Transpose: dimension d of the result is perm[d] of the input. */
enum uk_status uk_permutation(struct uk_graph *g, const struct uk_graph_node *n, int *perm);
/* The least number of a type, in a program's text. */
const char *uk_least(enum uk_type t);

/* How constants are laid out in memory for the node. */
void uk_lay_out_conv(struct uk_graph_node *n);
void uk_lay_out_qlinear_conv(struct uk_graph_node *n);
void uk_lay_out_qgemm(struct uk_graph_node *n);
void uk_lay_out_conv_transpose(struct uk_graph_node *n);
void uk_lay_out_gemm(struct uk_graph_node *n);

#endif
