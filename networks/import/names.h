/* SPDX-License-Identifier: Apache-2.0 */
#ifndef UK_NAMES_H
#define UK_NAMES_H

#include "graph/graph.h"

/* Zero-initialize. */
struct uk_names {
    struct uk_graph_value **value;
    size_t room, used;
};

struct uk_graph_value *uk_names_find(const struct uk_names *n, const char *name);
/* The name is not in the table. false: no memory. */
bool uk_names_add(struct uk_names *n, struct uk_graph_value *v);
void uk_names_free(struct uk_names *n);

#endif
