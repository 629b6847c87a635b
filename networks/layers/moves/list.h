/* SPDX-License-Identifier: Apache-2.0 */
/* Lists that nodes read; see list.c. */
#ifndef UK_LAYERS_LIST_H
#define UK_LAYERS_LIST_H

#include "layers/layers.h"

/* A list of a node, and the program that computes it: statements, a line each, in which $y[i0] is an
 * element and #0 to #3 are numbers; @x and @s [rows], @d and @t [rows, taps] are temps of f64. */
enum { UK_LIST_NUMBERS = 4 };
struct uk_list_program {
    const char *text;
    int64_t rows, taps, number[UK_LIST_NUMBERS];
};
/* Appends a one-dimensional constant to the node's inputs, whose elements the caller puts at *data. With open
 * sizes it has a producer, a folded node with the program. */
enum uk_status uk_append_list(struct uk_graph *g, struct uk_graph_node *n, enum uk_type type, int64_t count,
                              const struct uk_list_program *p, void **data);

#endif
