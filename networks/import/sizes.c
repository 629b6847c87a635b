/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes of named dimensions, from the options. */
#include "import/sizes.h"

enum uk_status uk_import_sizes(struct uk_graph *g, const struct uk_network_options *o) {
    enum uk_status s = UK_OK;

    for (int i = 0; i < o->size_count && !s; i++)
        s = uk_size_add(g, o->size_names[i], o->size_values[i], o->size_values[i], 1);
    return s;
}

/* Returns whether the extent of some dimension of the input depends on the size. */
static bool depends_on(const struct uk_graph *g, const struct uk_graph_value *v, struct uk_graph_size *z) {
    bool depends = false;

    for (int d = 0; v->dimension && d < v->rank && !depends; d++) {
        int64_t before, after;
        if (!v->dimension[d] || !uk_size_extent(g, v->dimension[d], &before))
            continue;
        z->value--;
        depends = uk_size_extent(g, v->dimension[d], &after) && after != before;
        z->value++;
    }
    return depends;
}

enum uk_status uk_import_open_sizes(struct uk_graph *g) {
    for (int i = 0; i < g->inputs; i++)
        for (int k = 0; k < g->sizes; k++) {
            struct uk_graph_size *z = &g->size[k];
            if (z->lower == z->upper || z->open >= 0 || !depends_on(g, g->input[i], z))
                continue;
            if (g->open_count == UK_MAX_OPEN)
                return uk_graph_fail(g, UK_REFUSED, NULL,
                                     "more than %d sizes are open; give one value to some of them",
                                     UK_MAX_OPEN);
            z->open = g->open_count;
            g->open[g->open_count++] = z;
        }
    return UK_OK;
}
