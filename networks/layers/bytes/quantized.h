/* SPDX-License-Identifier: Apache-2.0 */
#ifndef UK_QUANTIZED_H
#define UK_QUANTIZED_H

#include "layers/window.h"

/* Constant scales and zero points (NULL: 0) of `count` channels; count is 1 for the whole tensor. */
struct uk_quantization {
    const struct uk_graph_value *scale, *zero;
    int64_t count;
};

/* Reads a quantization from the node's inputs number `scale` and `zero`; refuses a zero point of another
 * type. */
enum uk_status uk_scale_of(struct uk_graph *g, const struct uk_graph_node *n, int scale, int zero,
                           int64_t channels, enum uk_type type, struct uk_quantization *out);
/* quantized_elements.c: reads `count` quantizations of whole tensors. The scale of the i-th is the node's
 * input number at[i], its zero point input at[i] + 1. Refuses zero points that do not have the type of input
 * 0, and an input 0 that is neither u8 nor i8. */
enum uk_status uk_byte_scales(struct uk_graph *g, const struct uk_graph_node *n, int count, const int at[],
                              struct uk_quantization out[]);
double uk_scale_at(const struct uk_quantization *s, int64_t channel);
int64_t uk_zero_at(const struct uk_quantization *s, int64_t channel);
bool uk_is_byte(enum uk_type t);
/* gather_windows.c: true for a convolution of bytes whose channels leave a kernel's group of terms incomplete
 * and whose weights have no zero points; true for one whose windows are gathered into rows before the
 * multiplication. */
bool uk_has_part_of_group(const struct uk_graph_node *n);
bool uk_gathers_windows(struct uk_graph *g, const struct uk_graph_node *n);
/* Writes such a convolution's sums to a temp or value, "@t". False: the convolution, or the layout of its
 * operands, is of another kind. */
bool uk_write_gathered(struct uk_writer *w, const struct uk_graph_node *n, const char *to);
/* Terms at most, so that a sum of products of two bytes less their zero points fits 32 bits; the same for a
 * sum of such bytes. */
enum { UK_MAX_BYTE_PRODUCTS = INT32_MAX / (255 * 255), UK_MAX_BYTE_TERMS = INT32_MAX / 255 };
/* integer.c: returns the product of x, which is quantized at run time, and bytes b, with the scales and zero
 * points of b's columns, plus the bias. zero, bias: NULL: none. */
struct uk_graph_value *uk_expand_dynamic_product(struct uk_expansion *e, struct uk_graph_value *to,
                                                 struct uk_graph_value *x, struct uk_graph_value *b,
                                                 struct uk_graph_value *scale, struct uk_graph_value *zero,
                                                 struct uk_graph_value *bias);

#endif
