/* SPDX-License-Identifier: Apache-2.0 */
#ifndef UK_SIZES_H
#define UK_SIZES_H

#include "graph/graph.h"

/* Adds the sizes of the options to the graph's. */
enum uk_status uk_import_sizes(struct uk_graph *g, const struct uk_network_options *o);
/* Numbers the open sizes in the order in which the inputs have them. */
enum uk_status uk_import_open_sizes(struct uk_graph *g);

#endif
