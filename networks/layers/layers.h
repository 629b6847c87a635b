/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Room layers: the meaning of operators. It uses graph, rewrite, language and interpret. Each operator is a
 * row of operators.def: its attributes, the rule for its result's type and shape, and the statements of the
 * tensor language that compute it, or the nodes that take its place (expand.c). Data: struct uk_operator, a
 * row; uk_writer, a tensor program under construction.
 */
#ifndef UK_LAYERS_H
#define UK_LAYERS_H

#include "graph/graph.h"

struct uk_writer;

/* Operators that loops consist of, besides those that compute; see loop.c. */
enum uk_loop_role {
    UK_LOOP_NONE,
    UK_LOOP_COUNTER, /* no code: the driver writes the iteration's number */
    UK_LOOP_STATE,   /* before the loop: copies the first value of a state to its place */
    UK_LOOP_ELEMENT, /* a view of the part of a value that is the iteration's */
    UK_LOOP_NEXT,    /* at the end of an iteration: copies the next value of a state to its place */
    UK_LOOP_STORE,   /* copies a value to its place in a result of the region */
    UK_LOOP_RESULT   /* no code: the result, after the region */
};

struct uk_operator {
    const char *name, *domain;
    int since; /* oldest version of the operator set that the row is for; a newer row may replace it */
    const char
        *attributes; /* supported attributes, "alpha=0.01 axis"; a number is the default in expressions */
    /* For operators that compute element by element, with broadcasting: the result's element from the inputs'
     * elements $0, $1, ... In braces: {alpha} is an attribute's number, {y} and {x} are the types of the
     * result and of input 0. `express` makes such a text in the graph's arena; NULL: no memory. */
    const char *expression;
    const char *(*express)(struct uk_graph *g, const struct uk_graph_node *n);
    bool is_boolean; /* the result is boolean; else it has the type of input 0 */
    bool is_mixed;   /* element by element; inputs may have different types */
    bool is_union;   /* Concat, Border: producers may write its inputs directly into the result (slices.c) */
    bool is_part;    /* Split, Slice: the results may be slices of the input's memory (slices.c) */
    bool is_update;  /* Scatter: the result is input 0 with other elements at some places */
    bool is_view;    /* the result has input 0's elements under another shape */
    enum uk_loop_role loop;
    bool channels_last;  /* its kernels are fast with channels innermost */
    bool is_channelwise; /* element by element, but a one-dimensional input has an element per channel,
                            dimension 1 */
    /* Replaces the node by others, once the shapes of its inputs are known: they are linked in at *first,
     * define the node's outputs, and are inferred next. None: the node stays, if its row has `infer`. */
    enum uk_status (*expand)(struct uk_graph *g, struct uk_graph_node *n, struct uk_graph_node **first);
    enum uk_status (*infer)(struct uk_graph *g, struct uk_graph_node *n); /* NULL: by broadcasting */
    /* Computes constant results without a program; NULL: the interpreter runs the statements. */
    enum uk_status (*fold)(struct uk_graph *g, struct uk_graph_node *n);
    enum uk_status (*write)(struct uk_writer *w, const struct uk_graph_node *n, int output);
    void (*lay_out)(struct uk_graph_node *n); /* lays out constant inputs as kernels want them */
};

/* ---- table.c ---- */

/* Infers shapes and types of the results of nodes without a row yet, gives them one, and computes constants:
 * by `fold`, unless the operator has a function of its own or is a view. All operators that have no row are
 * refused in one message; then all dimensions that are open; then all inputs on whose values shapes depend.
 */
typedef enum uk_status uk_fold(struct uk_graph *g, struct uk_graph_node *n, void *user);
enum uk_status uk_infer(struct uk_graph *g, uk_fold *fold, void *user);

/* ---- rules.c: helpers of shape inference ---- */

bool uk_is_real(enum uk_type t);
bool uk_node_is_elementwise(const struct uk_graph_node *n);
/* Returns the expression of an elementwise node. NULL: no memory. */
const char *uk_expression_of(struct uk_graph *g, const struct uk_graph_node *n);
/* Inputs of a node at most. Expressions name input i by the character '0' + i; this leaves room, below the
 * output's 'y', for inputs that inference appends. */
enum { UK_MAX_NODE_INPUTS = 70 };
enum uk_status uk_infer_broadcast(struct uk_graph *g, struct uk_graph_node *n);
/* Refuses the node unless input i exists and has a known shape. */
enum uk_status uk_need_input(struct uk_graph *g, const struct uk_graph_node *n, int i);
/* The same for the first `count` inputs. */
enum uk_status uk_need_inputs(struct uk_graph *g, const struct uk_graph_node *n, int count);
/* Refuses the node unless the value, on which a shape or the code depends, is constant. */
enum uk_status uk_need_constant(struct uk_graph *g, const struct uk_graph_node *n, struct uk_graph_value *v);
/* Marks the inputs of the network from which the value is computed. False: the value is computed from an
 * input of more elements than a list of extents has, so that it depends on data rather than on shapes, or
 * from a loop's iteration; or no memory. g->needs_values becomes the result where a shape depends on it. */
bool uk_mark_needed(struct uk_graph *g, struct uk_graph_value *v);
/* Sets the type and shape of output i; refuses sizes that overflow. */
enum uk_status uk_set_output(struct uk_graph *g, struct uk_graph_node *n, int i, enum uk_type type, int rank,
                             const int64_t *extent);
/* Reads integers that are an attribute in early versions and a constant input in later ones. *count: how
 * many, at most UK_MAX_LISTED_INTS; -1: left out. */
enum { UK_MAX_LISTED_INTS = 2 * UK_RANK };
enum uk_status uk_need_ints(struct uk_graph *g, const struct uk_graph_node *n, const char *attribute,
                            int input, int64_t *list, int *count);
/* Extends the node to at least that many inputs; new ones are left out (NULL). */
enum uk_status uk_extend_inputs(struct uk_graph *g, struct uk_graph_node *n, int inputs);
/* Appends a one-dimensional constant, which the caller fills, to the node's inputs. Returns the input's
 * number; -1: no memory. */
int uk_append_constant(struct uk_graph *g, struct uk_graph_node *n, enum uk_type type, int64_t count,
                       void **data);
/* Checks an axis of a tensor of that rank; negative ones count from the end. */
enum uk_status uk_need_axis(struct uk_graph *g, const struct uk_graph_node *n, int64_t axis, int rank,
                            int *out);

/* ---- expand.c: nodes that take the place of one ---- */

struct uk_expansion {
    struct uk_graph *g;
    struct uk_graph_node *n;           /* the node that is replaced */
    struct uk_graph_node **end, *last; /* where the next node is linked in; the one made last */
    struct uk_graph_region *region;    /* of nodes that are made next */
    struct uk_graph_value missing;     /* in place of values for which there was no memory */
    bool failed;                       /* no memory */
};

struct uk_expansion uk_expansion_begin(struct uk_graph *g, struct uk_graph_node *n,
                                       struct uk_graph_node **first);
/* Takes back the node's uses of its inputs. */
enum uk_status uk_expansion_end(struct uk_expansion *e);
/* Adds a node with these inputs (NULL: left out), which computes the value `to`, or a new one if that is
 * NULL. Returns its value, which is never NULL. The functions below set an attribute of the node added last,
 * or its domain. */
struct uk_graph_value *uk_expand_to(struct uk_expansion *e, struct uk_graph_value *to, const char *type,
                                    int inputs, ...);
void uk_expand_domain(struct uk_expansion *e, const char *domain);
void uk_expand_int(struct uk_expansion *e, const char *name, int64_t v);
void uk_expand_float(struct uk_expansion *e, const char *name, double v);
void uk_expand_text(struct uk_expansion *e, const char *name, const char *v);
void uk_expand_list(struct uk_expansion *e, const char *name, int count, const int64_t *v);
/* Sets all attributes of the replaced node that are in the list, a text of words. */
void uk_expand_same(struct uk_expansion *e, const char *names);
/* Return constants: a list of i64; a scalar of f32 or f64. */
struct uk_graph_value *uk_expand_ints(struct uk_expansion *e, int count, const int64_t *list);
struct uk_graph_value *uk_expand_real(struct uk_expansion *e, enum uk_type type, double real);
/* Elements from `from` to `to`, exclusive, of a dimension. */
struct uk_graph_value *uk_expand_slice(struct uk_expansion *e, struct uk_graph_value *v, int64_t axis,
                                       int64_t from, int64_t to);
struct uk_graph_value *uk_expand_reshape(struct uk_expansion *e, struct uk_graph_value *to,
                                         struct uk_graph_value *v, int rank, const int64_t *extent);
struct uk_graph_value *uk_expand_transpose(struct uk_expansion *e, struct uk_graph_value *to,
                                           struct uk_graph_value *v, int rank, const int64_t *perm);

/*
 * ---- loop.c: loops and branches ----
 *
 *     uk_expand_loop(e, x, 0);
 *     h = uk_expand_state(e, NULL, first);
 *     v = uk_expand_element(e, NULL, x, false);
 *     sum = uk_expand_to(e, NULL, "Add", 2, h, v);
 *     uk_expand_next(e, h, sum);
 *     all = uk_expand_collect(e, NULL, sum, false);
 *     uk_expand_loop_end(e);
 *     last = uk_expand_final(e, NULL, h);
 *
 * Nodes that are made between the begin and the end of a loop belong to it; they may read values of outside.
 * Loops may be nested. As elsewhere `to` is the value that is computed, or NULL for a new one.
 */

/* Begins a loop of as many iterations as that dimension has elements. */
void uk_expand_loop(struct uk_expansion *e, const struct uk_graph_value *extent_of, int dimension);
/* Begins a loop of `count` iterations, an i64 of one element, or NULL for no bound. `iteration`, a new value
 * if it is NULL, becomes the number of the iteration, from 0: an i64 of rank 0. After states are made,
 * uk_expand_while() makes the loop end when the boolean, one element, is false before an iteration. */
void uk_expand_counted_loop(struct uk_expansion *e, struct uk_graph_value *iteration,
                            struct uk_graph_value *count);
void uk_expand_while(struct uk_expansion *e, struct uk_graph_value *condition);
/* trips.c: returns the trip count of a Loop that its condition ends, if that compares numbers that the loop
 * counts with known ones; -1: it does not. The Loop's own bound is ignored. */
int64_t uk_loop_trips(const struct uk_graph_node *n, const struct uk_subgraph *body);
/* Begins a branch: its nodes run if the boolean, one element, is true, or false if is_negated. It ends as a
 * loop does. uk_expand_store() makes `to`, a value of outside, equal to y; each branch that may run stores
 * one, and after them uk_expand_either() defines it. */
void uk_expand_branch(struct uk_expansion *e, struct uk_graph_value *condition, bool is_negated);
struct uk_graph_value *uk_expand_store(struct uk_expansion *e, struct uk_graph_value *to,
                                       struct uk_graph_value *y);
void uk_expand_either(struct uk_expansion *e, struct uk_graph_value *to, struct uk_graph_value *a,
                      struct uk_graph_value *b);
/* Links in nodes that were made already, which then belong to the loop, if one has begun. */
void uk_expand_nodes(struct uk_expansion *e, struct uk_graph_node *first);
void uk_expand_loop_end(struct uk_expansion *e);
/* Returns a state of the loop that has begun: `init`, a value of outside, in the first iteration. It is a
 * copy. */
struct uk_graph_value *uk_expand_state(struct uk_expansion *e, struct uk_graph_value *to,
                                       struct uk_graph_value *init);
/* Has the state take that value, of the same type and shape, at the end of each iteration: all states at the
 * same time, wherever in the loop this is called. */
void uk_expand_next(struct uk_expansion *e, struct uk_graph_value *state, struct uk_graph_value *next);
/* Returns x[t], or x[T - 1 - t] if is_reversed, in iteration t of T: x, a value of outside, without
 * dimension 0, whose extent must be the trip count. */
struct uk_graph_value *uk_expand_element(struct uk_expansion *e, struct uk_graph_value *to,
                                         struct uk_graph_value *x, bool is_reversed);
/* Returns the values that y, computed in the loop, has in all iterations, along a new dimension 0; a value of
 * outside, defined at the loop's end. Nothing is made for a `to` that nobody reads. The trip count must be
 * known, and the loop must run to its end. */
struct uk_graph_value *uk_expand_collect(struct uk_expansion *e, struct uk_graph_value *to,
                                         struct uk_graph_value *y, bool is_reversed);
/* Returns the number of the iteration, from 0: an i64 of rank 0. */
struct uk_graph_value *uk_expand_iteration(struct uk_expansion *e);
/* After the end of the loop: the state's last value. */
struct uk_graph_value *uk_expand_final(struct uk_expansion *e, struct uk_graph_value *to,
                                       struct uk_graph_value *state);

/* ---- text.c: writing programs ---- */

/* Accesses in a statement at most, the result's included: the language's limit. */
enum { UK_MAX_ACCESSES = 16 };

/* A tensor of a program: a value, or a temp of a node. */
struct uk_written {
    const struct uk_graph_value *value;
    const struct uk_graph_node *node; /* of a temp: its node, and the name that the node gave it */
    const char *local;
    char name[16];
    enum uk_type type;
    int rank, order[UK_RANK];
    int64_t extent[UK_RANK], stride[UK_RANK];
    const char *expression; /* not NULL: inlined where it is read, in terms of i0, i1, ... */
    bool is_temp;
};

#define UK_CONSTANT_MARK " constant"

struct uk_writer {
    struct uk_graph *g;
    const struct uk_graph_value *result;     /* value that the program computes */
    const struct uk_graph_node *const *node; /* nodes that compute it, in order */
    int nodes;
    bool marks_constants; /* constants of two or more dimensions are declared `constant`, to be packed at
                             compile time */
    struct uk_text statements;
    struct uk_written *tensor;
    int tensors, room, temps;
    bool failed; /* no memory */
};

/* Declares an input value under another shape with as many elements, taken in their order in memory. False:
 * no memory, or the value cannot be redeclared because the program computes it. */
bool uk_write_shaped(struct uk_writer *w, const struct uk_graph_value *v, int rank, const int64_t *extent);
/* Declares a temp of the node, accessed as @name[...]. order: its dimensions from outermost to innermost;
 * NULL: as given. */
void uk_write_temp(struct uk_writer *w, const struct uk_graph_node *n, const char *name, enum uk_type type,
                   int rank, const int64_t *extent, const int *order);
/* Declares a temp with the shape and layout of output 0. */
void uk_write_temp_like(struct uk_writer *w, const struct uk_graph_node *n, const char *name,
                        enum uk_type type);
/* Adds a statement with subscripts in ONNX's order: $0[n, c, p, q] is an element of input 0, $y[...] of
 * output 0 (or of the output that the program computes), @t[...] of a temp. */
void uk_write(struct uk_writer *w, const struct uk_graph_node *n, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Defines output 0 by an expression in its subscripts i0, i1, ...; it may be inlined where it is read instead
 * of stored. */
void uk_write_result(struct uk_writer *w, const struct uk_graph_node *n, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Returns the program by which w->node compute w->result, in the graph's arena: "" if, at a point of open
 * sizes, there is nothing to compute. Afterwards w->tensor lists
 * the arguments in order, the result last, then temps. Call uk_writer_end() in any case. */
enum uk_status uk_write_program(struct uk_writer *w, const char **text);
void uk_writer_end(struct uk_writer *w);

/* Text "i0, i1, i2" for n iterators, in one of a few buffers of the thread that later calls reuse. */
const char *uk_iterators(int n);
/* Writes the subscripts i0, i1, ..., with `text` in place of that of dimension `axis`. */
void uk_subscripts(char *out, size_t room, int rank, int axis, const char *text);
/* The number as program text that reads back as the same value. */
const char *uk_number_text(double v, bool single);

/* ---- operators, by family ---- */

#define UK_INFER(name) enum uk_status uk_infer_##name(struct uk_graph *g, struct uk_graph_node *n)
#define UK_WRITE(name) \
    enum uk_status uk_write_##name(struct uk_writer *w, const struct uk_graph_node *n, int output)
#define UK_EXPAND(name) \
    enum uk_status uk_expand_##name(struct uk_graph *g, struct uk_graph_node *n, struct uk_graph_node **first)
#define UK_EXPRESS(name) const char *uk_express_##name(struct uk_graph *g, const struct uk_graph_node *n)
UK_INFER(conv); /* conv.c */
UK_WRITE(conv);
UK_INFER(pool); /* pool.c */
UK_WRITE(pool);
UK_INFER(global_pool);
UK_WRITE(global_pool);
UK_WRITE(lp_pool);
UK_WRITE(global_lp_pool);
UK_INFER(gemm); /* matmul.c */
UK_WRITE(gemm);
UK_INFER(matmul);
UK_WRITE(matmul);
UK_INFER(softmax); /* reduce.c */
UK_WRITE(softmax);
UK_WRITE(hardmax);
UK_INFER(qlinear_softmax);
UK_WRITE(qlinear_softmax);
UK_INFER(reduce);
UK_WRITE(reduce);
UK_WRITE(reduce_log_sum_exp);
UK_INFER(arg);
UK_WRITE(arg);
UK_EXPAND(conv_transpose); /* conv.c */
UK_INFER(conv_transpose);
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
UK_INFER(group_normalization);
UK_WRITE(group_normalization);
UK_INFER(lp_normalization);
UK_WRITE(lp_normalization);
UK_INFER(instance_normalization);
UK_WRITE(instance_normalization);
UK_INFER(mean_variance);
UK_WRITE(mean_variance);
UK_INFER(lrn);
UK_WRITE(lrn);
UK_INFER(det); /* determinant.c */
UK_WRITE(det);
UK_INFER(grid_sample); /* sample.c */
UK_WRITE(grid_sample);
UK_INFER(affine_grid);
UK_WRITE(affine_grid);
UK_INFER(roi_align); /* region.c */
UK_WRITE(roi_align);
UK_INFER(deform_conv); /* deform_conv.c */
UK_WRITE(deform_conv);
UK_EXPAND(mod); /* remainder.c */
UK_EXPRESS(mod);
UK_INFER(remainder);
UK_EXPRESS(remainder_step);
UK_EXPRESS(remainder_end);
UK_EXPRESS(remainder_high);
UK_EXPRESS(signed_remainder);
UK_INFER(trilu); /* mask.c */
UK_WRITE(trilu);
UK_INFER(eye);
UK_WRITE(eye);
UK_INFER(center);
UK_WRITE(center);
UK_INFER(reverse_sequence);
UK_WRITE(reverse_sequence);
UK_INFER(cumulate); /* cumulate.c */
UK_WRITE(cumulate);
UK_INFER(einsum); /* einsum.c */
UK_WRITE(einsum);
UK_INFER(gather); /* gather.c */
UK_INFER(compress);
UK_WRITE(compress);
UK_WRITE(gather);
UK_INFER(gather_elements);
UK_WRITE(gather_elements);
UK_INFER(gather_nd);
UK_WRITE(gather_nd);
UK_INFER(one_hot);
UK_WRITE(one_hot);
UK_INFER(top_k); /* top_k.c */
UK_WRITE(top_k);
UK_INFER(scatter_elements); /* scatter.c */
UK_WRITE(scatter_elements);
UK_INFER(scatter_nd);
UK_WRITE(scatter_nd);
UK_INFER(tensor_scatter);
UK_WRITE(tensor_scatter);
UK_INFER(max_unpool); /* unpool.c */
UK_WRITE(max_unpool);
UK_INFER(col2im);
UK_WRITE(col2im);
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
UK_INFER(bit_cast);
UK_INFER(reshape);
UK_INFER(flatten);
UK_INFER(squeeze);
UK_INFER(unsqueeze);
UK_INFER(transpose);
UK_INFER(batch_normalization); /* elementwise.c */
UK_INFER(cast);
UK_INFER(cast_like);
UK_INFER(where);
UK_INFER(power);
UK_INFER(swiglu);
UK_INFER(prelu);
UK_INFER(nary);
UK_EXPAND(if);            /* control.c */
UK_INFER(loop_condition); /* counted_loop.c */
UK_INFER(loop_counter);   /* loop.c */
UK_INFER(loop_element);
UK_INFER(loop_next);
UK_INFER(loop_result);
UK_WRITE(copy);
enum uk_status uk_fold_nothing(struct uk_graph *g, struct uk_graph_node *n);
UK_EXPAND(causal_conv);      /* causal_conv.c */
UK_EXPAND(linear_attention); /* linear_attention.c */
UK_EXPAND(onnx_loop);        /* counted_loop.c */
UK_EXPAND(scan);             /* scan.c */
UK_EXPAND(batch_scan);
UK_EXPAND(move_first);
UK_EXPAND(recurrent);          /* recurrent.c */
UK_EXPAND(skip_normalization); /* contrib.c */
UK_EXPAND(bias_gelu);
UK_EXPAND(fused_conv);
UK_EXPAND(fused_matmul);
UK_EXPAND(onnx_attention); /* attention.c */
UK_EXPAND(matmul);         /* heads.c */
UK_INFER(score_matmul);
UK_WRITE(score_matmul);
UK_INFER(value_matmul);
UK_WRITE(value_matmul);
UK_INFER(mask);
UK_EXPRESS(mask);
UK_INFER(masked_softmax);
UK_WRITE(masked_softmax);
UK_INFER(matmul_integer); /* integer.c */
UK_WRITE(matmul_integer);
UK_INFER(conv_integer);
UK_WRITE(conv_integer);
UK_INFER(rescale);
UK_EXPRESS(rescale);
UK_EXPRESS(requantize);
UK_EXPRESS(dynamic_scale);
UK_INFER(dynamic_zero);
UK_EXPRESS(dynamic_zero);
UK_EXPAND(qlinear_matmul);
UK_EXPAND(matmul_integer_to_float);
UK_EXPAND(dynamic_quantize);
UK_EXPAND(dynamic_matmul);
UK_EXPAND(matmul_bits); /* bits.c */
UK_INFER(block_matmul);
UK_WRITE(block_matmul);
UK_EXPAND(projected_attention); /* contrib_attention.c */
UK_EXPAND(multi_head_attention);
UK_EXPAND(group_query_attention); /* group_query.c */
UK_EXPAND(rotary);                /* rotary.c */
UK_EXPAND(suppression);           /* suppression.c */
UK_INFER(rotate);
UK_WRITE(rotate);
UK_INFER(nothing); /* constant.c */
enum uk_status uk_fold_constant(struct uk_graph *g, struct uk_graph_node *n);
enum uk_status uk_fold_constant_of_shape(struct uk_graph *g, struct uk_graph_node *n);
enum uk_status uk_fold_range(struct uk_graph *g, struct uk_graph_node *n);
UK_WRITE(range);
enum uk_status uk_fold_shape(struct uk_graph *g, struct uk_graph_node *n);
enum uk_status uk_fold_size(struct uk_graph *g, struct uk_graph_node *n);
enum uk_status uk_fold_nonzero(struct uk_graph *g, struct uk_graph_node *n);
UK_EXPRESS(clip);
UK_EXPRESS(is_inf);
UK_EXPRESS(cast);
UK_EXPRESS(bit_shift);
UK_EXPRESS(power);
UK_EXPRESS(gelu);
UK_EXPRESS(mish);
UK_EXPRESS(nary);
UK_EXPRESS(batch_normalization);
/* ---- fold.c ---- */

/* Implements uk_fold by the interpreter. context: a struct uk_context. */
enum uk_status uk_fold_by_interpreter(struct uk_graph *g, struct uk_graph_node *n, void *context);
enum uk_status uk_fold_view(struct uk_graph *g, struct uk_graph_node *n);
/* Copies the constant's elements so that dimension order[i] becomes the i-th. */
void uk_permute(const struct uk_graph_value *v, const int *order, void *out);

/* Parameters of a convolution's sum of products. */
struct uk_conv_form {
    const char *to;            /* "@t" or "$y" */
    const char *cast;          /* type that both factors are converted to; "": the input's */
    const char *pad_value;     /* value of padding */
    const char *filter_suffix; /* text after the filter's element, such as " - 3"; or "" */
};
enum uk_status uk_write_conv_sum(struct uk_writer *w, const struct uk_graph_node *n, int filter,
                                 const struct uk_conv_form *form);
/* The same for a matrix product of input 0 and input `right`. suffix_a, suffix_b: text after an element of
 * either. */
void uk_write_matmul_sum(struct uk_writer *w, const struct uk_graph_node *n, int right, const char *to,
                         const char *cast, const char *suffix_a, const char *suffix_b);

/* gather.c: appends ", ", unless the text is empty, and a subscript. */
enum { UK_SUBSCRIPTS = 512 };
void uk_append_subscript(char text[UK_SUBSCRIPTS], const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* gather.c: refuses constant indices in input 1 that are outside of a dimension of input 0. Every `step`-th
 * one, beginning with number `first`, is of that dimension. */
enum uk_status uk_check_indices(struct uk_graph *g, const struct uk_graph_node *n, int dimension,
                                int64_t first, int64_t step);
/* Writes the subscripts of v's batch dimensions, "i0, 0, "; the result y has `batch` of them. */
void uk_batch_subscripts(const struct uk_graph *g, char *text, size_t room, const struct uk_graph_value *v,
                         int batch, const struct uk_graph_value *y);

/* moves/list.c: true for the producer of a list. */
bool uk_is_list(const struct uk_graph_node *n);

/* gather.c: writes the subscript of dimension `dimension` that the constant list in input `list` selects:
 * "i2 / 2" or "i2 + 3" if the list is regular, else an element of it. */
void uk_listed_subscript(const struct uk_graph_node *n, int list, int dimension, char *text, size_t room);

/* place.c: offset in the result, along *axis, of an input of a Concat; false: the input's elements are
 * changed on the way. True if the elements of an input of a union or an update are at their places in the
 * result: it is a slice of the result, or both are parts of a state. */
bool uk_part_of_union(struct uk_graph *g, const struct uk_graph_node *n, int input, int *axis, int64_t *from);
bool uk_is_in_place(struct uk_graph *g, const struct uk_graph_node *n, int input);
/* move.c: offset in the input, in each dimension, of an output of a Split or a Slice; false: it has steps
 * other than 1. */
bool uk_part_of_input(struct uk_graph *g, const struct uk_graph_node *n, int output, int64_t from[UK_RANK]);

/* True if the value is a slice of `in`; true if input `input` of a QLinearConcat has the result's scale and
 * zero point. */
bool uk_is_slice_of(const struct uk_graph_value *v, const struct uk_graph_value *in);
bool uk_has_same_scale(struct uk_graph *g, const struct uk_graph_node *n, int input);

/* The permutation of a Transpose: dimension d of the result is perm[d] of the input. */
enum uk_status uk_permutation(struct uk_graph *g, const struct uk_graph_node *n, int *perm);
/* The minimum of a type, as program text; of i64 the minimum plus 1, as literals end at 2^63 - 1. */
const char *uk_minimum_text(enum uk_type t);

/* Layouts of constant inputs in memory, per operator. */
void uk_lay_out_conv(struct uk_graph_node *n);
void uk_lay_out_qlinear_conv(struct uk_graph_node *n);
void uk_lay_out_qgemm(struct uk_graph_node *n);
void uk_lay_out_conv_transpose(struct uk_graph_node *n);
void uk_lay_out_gemm(struct uk_graph_node *n);

#endif
