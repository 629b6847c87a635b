/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Room ranges: networks whose sizes are open. It uses graph, layers and language. Operators know numbers
 * only: the graph is inferred at each point, and the programs' texts are written at each point; here the
 * graphs and the texts of all points become one graph and one text with sizes. Data: struct uk_open_text, a
 * layer's text with its sizes.
 */
#ifndef UK_RANGES_H
#define UK_RANGES_H

#include "layers/layers.h"

struct uk_context;

/* ---- points.c ---- */

/* Chooses the points of the open sizes. The graph then is at point 0. */
enum uk_status uk_points_choose(struct uk_graph *g);

/* ---- evaluate.c ---- */

/* Makes `copy`, which uk_graph_end() frees, a copy of the graph before its inference. Constants and
 * attributes are shared with g, which must live longer. */
enum uk_status uk_open_copy(const struct uk_graph *g, struct uk_graph *copy);
/* Infers the graph at all points, each time from the copy, and notes the extents and constants that depend on
 * the point. g has been inferred at point 0. Fails if the graph has another form at some point. */
enum uk_status uk_open_evaluate(struct uk_graph *g, struct uk_graph *copy, struct uk_context *c);

/* ---- constants.c ---- */

/* Makes constants whose elements depend on the point readable by programs for all sizes: marks blocks, and
 * has the others computed at run time. Fails if one can be neither. */
enum uk_status uk_open_constants(struct uk_graph *g);

/* ---- text.c ---- */

/* A tensor argument of a text, and the number of its value. */
struct uk_tensor_name {
    char name[16];
    int value;
};

/* A layer's program at all points, and in terms of the open sizes. */
struct uk_open_text {
    const char **text; /* by point; NULL: the result is empty there; "": nothing is to be computed */
    struct uk_tensor_name **tensor; /* by point: names of the tensors in the text, to compare texts that name
                                       them differently */
    int *tensors;
    const char *open; /* the program with sizes */
    int sizes;        /* the function's first arguments: their values as forms */
    struct uk_size_form *size;
};

/* Makes t->open and t->size. layer: its name, for messages. */
enum uk_status uk_open_unite(struct uk_graph *g, struct uk_context *c, struct uk_open_text *t,
                             const struct uk_graph_node *at, const char *layer);

/* ---- values.c ---- */

/* Finds the form of each extent; of slice_at, whose value at each point is slice_at[p]; and, if the value has
 * a mover, of the number of elements. Fails unless there is one. */
enum uk_status uk_open_value(struct uk_graph *g, struct uk_graph_value *v, const int64_t *slice_at);

#endif
