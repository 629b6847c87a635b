/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Room rewrite: replaces groups of nodes by fewer, larger operators, and removes nodes whose results nobody
 * reads. It uses graph. An operator between DequantizeLinear and QuantizeLinear becomes the operator on
 * bytes; a normalization becomes part of the convolution before it.
 */
#ifndef UK_REWRITE_H
#define UK_REWRITE_H

#include "graph/graph.h"

enum uk_status uk_rewrite(struct uk_graph *g);

/* ---- normalize.c: call it when shapes and constants are known ---- */

enum uk_status uk_rewrite_normalized(struct uk_graph *g);

/* ---- qdq.c ---- */

enum uk_status uk_rewrite_quantized(struct uk_graph *g);

#endif
