/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Room rewrite: a graph as fewer and larger operators. It uses graph. What QuantizeLinear and
 * DequantizeLinear say about an operator between them becomes the operator that computes with bytes; nodes
 * whose results nobody reads are taken out.
 */
#ifndef UK_REWRITE_H
#define UK_REWRITE_H

#include "graph/graph.h"

enum uk_status uk_rewrite(struct uk_graph *g);

/* ---- normalize.c: after shapes and constants are known ---- */

enum uk_status uk_rewrite_normalized(struct uk_graph *g);

/* ---- qdq.c ---- */

enum uk_status uk_rewrite_quantized(struct uk_graph *g);

#endif
