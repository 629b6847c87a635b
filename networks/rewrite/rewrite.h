/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Room rewrite: replaces groups of nodes by fewer, larger operators, and removes nodes whose results nobody
 * reads. It uses graph. An operator between DequantizeLinear and QuantizeLinear becomes the operator on
 * bytes; a normalization becomes part of the convolution before it, and a chain that computes one becomes one
 * operator.
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

/* ---- qdq.c ---- */

enum uk_status uk_rewrite_quantized(struct uk_graph *g);

#endif
