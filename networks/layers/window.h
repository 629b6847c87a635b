/* SPDX-License-Identifier: Apache-2.0 */
#ifndef UK_WINDOW_H
#define UK_WINDOW_H

#include "layers/layers.h"

/* Limits on extents, strides and padding, so that their products do not overflow. */
enum { UK_WINDOW_DIMENSIONS = 3, UK_MAX_IMAGE_EXTENT = 1 << 30 };

/* Windows over an image's dimensions after N and C. Output q reads the inputs stride * q + dilation * r -
 * before for 0 <= r < kernel; those outside of the image are padding. If the window describes a part of the
 * outputs, `before` may be negative. */
struct uk_window {
    int dimensions;
    int64_t kernel[UK_WINDOW_DIMENSIONS], stride[UK_WINDOW_DIMENSIONS], dilation[UK_WINDOW_DIMENSIONS];
    int64_t before[UK_WINDOW_DIMENSIONS], after[UK_WINDOW_DIMENSIONS];
    int64_t in[UK_WINDOW_DIMENSIONS], out[UK_WINDOW_DIMENSIONS];
};

/* Reads the attributes kernel_shape, strides, dilations, pads, auto_pad and ceil_mode. kernel: the filter's
 * extents, or NULL. */
enum uk_status uk_window_of(struct uk_graph *g, const struct uk_graph_node *n, const int64_t *kernel,
                            struct uk_window *w);
/* The same, but leaves out the padding of auto_pad and the outputs' extents. */
enum uk_status uk_window_attributes(struct uk_graph *g, const struct uk_graph_node *n, const int64_t *kernel,
                                    struct uk_window *w);
/* Reads a list attribute with one number for each of `count` dimensions, each at least `least`; `otherwise`
 * is the default. */
enum uk_status uk_window_numbers(struct uk_graph *g, const struct uk_graph_node *n, const char *name,
                                 int count, int64_t least, int64_t otherwise, int64_t *out);
/* True if a window reads outside of the image. */
bool uk_window_pads(const struct uk_window *w);
/* Text ", 2*i2 + r0 - 1, ...", the subscripts of an input. This text and the next three are in one of a few
 * buffers of the thread that later calls reuse. */
const char *uk_window_subscripts(const struct uk_window *w);
/* ", r0, r1", the filter's subscripts (0 if its extent is 1); "r0, r1", a reduction's iterators, without
 * those of extent 1. */
const char *uk_window_filter(const struct uk_window *w);
const char *uk_window_iterators(const struct uk_window *w);
/* "r0 < 3 and r1 < 3", the ranges of those iterators; "" if there are none. */
const char *uk_window_ranges(const struct uk_window *w);
/* pool.c: writes into `text` an expression, in the result's iterators, of the number of elements in a window;
 * padding counts if count_include_pad says so. Writes the temps of that type that the expression reads. */
void uk_write_window_count(struct uk_writer *w, const struct uk_graph_node *n, const struct uk_window *p,
                           enum uk_type type, char *text, size_t room);

#endif
