/* SPDX-License-Identifier: Apache-2.0 */
#ifndef UK_QUANTIZED_H
#define UK_QUANTIZED_H

#include "layers/window.h"

/* A constant scale and its zero point (left out: 0) for a number of channels, 1: of the whole tensor. */
struct uk_quantization {
    const struct uk_graph_value *scale, *zero;
    int64_t count;
};

/* Of the inputs `scale` and `zero` of the node; the zero point has the type. */
enum uk_status uk_scale_of(struct uk_graph *g, const struct uk_graph_node *n, int scale, int zero,
                           int64_t channels, enum uk_type type, struct uk_quantization *out);
/* quantized_elements.c: scales and zero points of the node's inputs at these numbers; all of input 0's type,
 * which is u8 or i8. */
enum uk_status uk_byte_scales(struct uk_graph *g, const struct uk_graph_node *n, int count, const int at[],
                              struct uk_quantization out[]);
double uk_scale_at(const struct uk_quantization *s, int64_t channel);
int64_t uk_zero_at(const struct uk_quantization *s, int64_t channel);
bool uk_is_byte(enum uk_type t);
/* gather_windows.c: a convolution of bytes whose channels fill no whole group of terms, and whose weights
 * have no zero points; and one whose windows are gathered before they are multiplied. */
bool uk_has_part_of_group(const struct uk_graph_node *n);
bool uk_gathers_windows(struct uk_graph *g, const struct uk_graph_node *n);
/* Such a convolution's sums into a temp or value, "@t"; false: the convolution, or how its operands lie in
 * memory, is another. */
bool uk_write_gathered(struct uk_writer *w, const struct uk_graph_node *n, const char *to);
/* Of bytes less their zero points, whose sum fits 32 bits; and such bytes themselves. */
enum { UK_MOST_PRODUCTS = INT32_MAX / (255 * 255), UK_MOST_BYTES = INT32_MAX / 255 };

#endif
