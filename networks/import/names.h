/* SPDX-License-Identifier: Apache-2.0 */
#ifndef UK_NAMES_H
#define UK_NAMES_H

#include "graph/graph.h"

struct uk_named {
    const char *name;
    struct uk_graph_value *value;
};

/* Hash table from names to values. Zero-initialize. */
struct uk_names {
    struct uk_named *entry;
    size_t room, used;
};

struct uk_graph_value *uk_names_find(const struct uk_names *n, const char *name);
/* Adds a value under a name that is not in the table and lives as long as it. False: no memory. */
bool uk_names_add(struct uk_names *n, const char *name, struct uk_graph_value *v);
void uk_names_free(struct uk_names *n);

#endif
