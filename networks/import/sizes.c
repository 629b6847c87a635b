/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes of named dimensions, from the options. */
#include "import/sizes.h"

enum uk_status uk_import_sizes(struct uk_graph *g, const struct uk_network_options *o) {
    enum uk_status s = UK_OK;

    for (int i = 0; i < o->size_count && !s; i++)
        s = uk_size_add(g, o->size_names[i], o->size_values[i], o->size_values[i], 1);
    return s;
}

/* Returns whether the extent of the dimension depends on the size. */
static bool depends_on(const struct uk_graph *g, const char *dimension, struct uk_graph_size *z) {
    int64_t before, after;
    bool depends = uk_size_extent(g, dimension, &before);

    z->value--;
    depends = depends && uk_size_extent(g, dimension, &after) && after != before;
    z->value++;
    return depends;
}

/* Numbers the open sizes that the extent of the dimension depends on. */
static enum uk_status number_sizes_of(struct uk_graph *g, const char *dimension) {
    for (int k = 0; k < g->sizes; k++) {
        struct uk_graph_size *z = &g->size[k];
        if (z->lower == z->upper || z->open >= 0 || !depends_on(g, dimension, z))
            continue;
        if (g->open_count == UK_MAX_OPEN)
            return uk_graph_fail(g, UK_REFUSED, NULL,
                                 "more than %d sizes are open; give one value to some of them", UK_MAX_OPEN);
        z->open = g->open_count;
        g->open[g->open_count++] = z;
    }
    return UK_OK;
}

enum uk_status uk_import_open_sizes(struct uk_graph *g) {
    enum uk_status s = UK_OK;

    for (int i = 0; i < g->inputs && !s; i++)
        for (int d = 0; g->input[i]->dimension && d < g->input[i]->rank && !s; d++)
            if (g->input[i]->dimension[d])
                s = number_sizes_of(g, g->input[i]->dimension[d]);
    return s;
}
