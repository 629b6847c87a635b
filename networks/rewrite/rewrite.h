/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Room rewrite: replaces groups of nodes by fewer, larger operators, and removes nodes whose results nobody
 * reads. It uses graph. An operator between DequantizeLinear and QuantizeLinear becomes the operator on
 * bytes; a product with dequantized weights becomes one with weights of few bits; a normalization becomes
 * part of the convolution before it, and a chain that computes one becomes one operator.
 */
#ifndef UK_REWRITE_H
#define UK_REWRITE_H

#include "graph/graph.h"

enum uk_status uk_rewrite(struct uk_graph *g);

/* Removes nodes whose results nobody reads. */
enum uk_status uk_rewrite_remove_dead(struct uk_graph *g);

/* ---- statistics.c: call it when shapes and constants are known; new nodes have no row (`op`) yet ---- */

enum uk_status uk_rewrite_statistics(struct uk_graph *g);

/* ---- normalize.c: call it when shapes and constants are known ---- */

enum uk_status uk_rewrite_normalized(struct uk_graph *g);

/* ---- quantization.c: constants of DequantizeLinear and QuantizeLinear ---- */

/* Sets the outputs of nodes Constant whose value is a tensor: rewriting comes before constants are folded,
 * and nodes that it changes may then come before these. */
void uk_know_constants(struct uk_graph *g);
/* Returns input i if it is a constant, else NULL. */
const struct uk_graph_value *uk_constant_input(const struct uk_graph_node *n, int i);
/* True if the node's scales are constants of f32, finite and above 0: larger bytes are larger numbers. */
bool uk_has_regular_scales(const struct uk_graph_node *n);
/* Number of the node's scales; 0: they are not constant. */
int64_t uk_count_scales(const struct uk_graph_node *n);

/* A bias as an operator on bytes adds it. At most one is set. */
struct uk_bias {
    struct uk_graph_value *whole; /* i32, to the sums of products */
    struct uk_graph_value *real;  /* f32, to the result before it is rounded, in units of y_scale */
};
/* Converts the constant that a DequantizeLinear makes of i32. x, w: those of the factors. None is set if the
 * bias is of another kind. */
enum uk_status uk_requantize_bias(struct uk_graph *g, const struct uk_graph_node *bias,
                                  const struct uk_graph_node *x, const struct uk_graph_node *w,
                                  double y_scale, struct uk_bias *out);

/* ---- qdq.c ---- */

enum uk_status uk_rewrite_quantized(struct uk_graph *g);

/* ---- blocks.c: weights of 4 or 8 bits in blocks of rows, as BlockMatMul reads them ---- */

/* Elements between those of neighbouring rows, or blocks of rows, and columns. */
struct uk_block_strides {
    int64_t row, column;
};

/* Constant weights of a product with N columns, which sums over `rows`. Each block of rows of a column has a
 * scale and a zero point: a weight w is worth (w - zero) * scale. */
struct uk_weight_blocks {
    const struct uk_graph_value *weights; /* bytes */
    const struct uk_graph_value *scales;  /* f32 */
    const struct uk_graph_value *zeros;   /* stored as the weights are, or f32; NULL: all are equal */
    bool has_middle;                      /* without `zeros`: they are half of the range, else 0 */
    bool is_signed;                       /* both are signed, and half of the range is added to both */
    bool is_packed; /* two elements of 4 bits in a byte, the first one in the low half */
    int bits;
    int64_t rows, columns, block;
    struct uk_block_strides weight, scale, zero;
};

/* True for blocks of as many rows that BlockMatMul has statements for. */
bool uk_is_block_supported(int64_t block, int bits);
/* Blocks per column; the last one may have fewer rows. */
int64_t uk_count_blocks(const struct uk_weight_blocks *b);
/* Makes the inputs of BlockMatMul that follow x: weights, scales, and offsets or NULL. */
enum uk_status uk_lay_out_blocks(struct uk_graph *g, const struct uk_weight_blocks *b,
                                 struct uk_graph_value *out[3]);

/* ---- weights.c: call it when constants are known ---- */

enum uk_status uk_rewrite_weights(struct uk_graph *g);

#endif
