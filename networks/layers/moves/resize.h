/* SPDX-License-Identifier: Apache-2.0 */
/* Resize as its node says, and the lists of places and weights that it reads; see resize.c. */
#ifndef UK_LAYERS_RESIZE_H
#define UK_LAYERS_RESIZE_H

#include "layers/layers.h"

struct uk_resize {
    double scale[UK_RANK];
    int64_t to[UK_RANK], from[UK_RANK]; /* the scale is their quotient; from 0: it is a number of the model */
    int64_t out[UK_RANK];
    enum { UK_NEAREST, UK_LINEAR, UK_WINDOW } method;
    bool cubic, antialias, excludes, crops;
    double a; /* Keys' parameter of the cubic (Cubic Convolution Interpolation, 1981) */
    double start[UK_RANK],
        end[UK_RANK]; /* the part that is resized, if it crops, as fractions: 1 is the last element */
    const char *transformation, *nearest;
};

/* Lists of a dimension that changes: source indices; if linear, also the next indices; their weights unless
 * nearest; if it crops, also whether a source is inside. The first one is input uk_resize_list(r, d). */
int uk_resize_lists(const struct uk_resize *r);
int uk_resize_list(const struct uk_resize *r, int d);
/* Elements of a window of dimension d. Antialias stretches the filter if the image becomes smaller. */
int64_t uk_resize_taps(const struct uk_resize *r, int d);
/* Appends the lists of dimension d to the node's inputs. */
enum uk_status uk_resize_append(struct uk_graph *g, struct uk_graph_node *n, const struct uk_resize *r,
                                int d);

#endif
