/* SPDX-License-Identifier: Apache-2.0 */
#ifndef UK_WINDOW_H
#define UK_WINDOW_H

#include "layers/layers.h"

/* Extents, strides and padding are so small that their products fit. */
enum { UK_WINDOW_DIMENSIONS = 3, UK_LARGEST_IMAGE = 1 << 30 };

/* Windows over the dimensions of an image, N and C left out: output q reads the inputs stride * q + dilation
 * * r - before, 0 <= r < kernel, of which those outside the image are padding. Of a part of the outputs
 * `before` may be negative. */
struct uk_window {
    int dimensions;
    int64_t kernel[UK_WINDOW_DIMENSIONS], stride[UK_WINDOW_DIMENSIONS], dilation[UK_WINDOW_DIMENSIONS];
    int64_t before[UK_WINDOW_DIMENSIONS], after[UK_WINDOW_DIMENSIONS];
    int64_t in[UK_WINDOW_DIMENSIONS], out[UK_WINDOW_DIMENSIONS];
};

/* From the attributes kernel_shape, strides, dilations, pads, auto_pad and ceil_mode; kernel: the extents of
 * a filter, or NULL. */
enum uk_status uk_window_of(struct uk_graph *g, const struct uk_graph_node *n, const int64_t *kernel,
                            struct uk_window *w);
/* The same without auto_pad's numbers and the outputs. */
enum uk_status uk_window_attributes(struct uk_graph *g, const struct uk_graph_node *n, const int64_t *kernel,
                                    struct uk_window *w);
/* The numbers of a list attribute, one for each of `count` dimensions, or `otherwise`; none is less than
 * `least`. */
enum uk_status uk_window_numbers(struct uk_graph *g, const struct uk_graph_node *n, const char *name,
                                 int count, int64_t least, int64_t otherwise, int64_t *out);
/* Whether some window reads outside of the image. */
bool uk_window_pads(const struct uk_window *w);
/* ", 2*i2 + r0 - 1, ..." the subscripts of an input; in one of a few buffers that later calls use again. */
const char *uk_window_subscripts(const struct uk_window *w);
/* ", r0, r1" for the filter's subscripts (0 where its extent is 1); "r0, r1" for a reduction's iterators,
 * without those of extent 1. */
const char *uk_window_filter(const struct uk_window *w);
const char *uk_window_iterators(const struct uk_window *w);
/* "r0 < 3 and r1 < 3", as far as such iterators are; "" for none. */
const char *uk_window_ranges(const struct uk_window *w);
/* pool.c: the number of elements in a window, without padding unless count_include_pad says so, as an
 * expression of the result's iterators, into `text`; temps of that type that it reads are written before. */
void uk_write_window_count(struct uk_writer *w, const struct uk_graph_node *n, const struct uk_window *p,
                           enum uk_type type, char *text, size_t room);

#endif
