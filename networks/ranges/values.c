/* SPDX-License-Identifier: Apache-2.0 */
/* Extents and places of values as forms of the open sizes. */
#include <inttypes.h>
#include <stdlib.h>
#include "ranges/ranges.h"

static bool fit(struct uk_graph *g, const int64_t *value, struct uk_size_form *f) {
    return uk_form_fit(g, value, f) && uk_form_holds(g, f, value);
}

enum uk_status uk_open_value(struct uk_graph *g, struct uk_graph_value *v, const int64_t *slice_at) {
    struct uk_size_form *form = uk_alloc(&g->arena, (UK_RANK + 2) * sizeof *form);
    int64_t *value = calloc((size_t)g->points.count, sizeof *value);
    enum uk_status s = form && value ? UK_OK : uk_graph_no_memory(g);

    for (int d = 0; d < v->rank && !s; d++) {
        for (int p = 0; p < g->points.count; p++)
            value[p] = v->at ? v->at[p][d] : v->extent[d];
        if (!fit(g, value, &form[d]))
            s = uk_graph_fail(g, UK_REFUSED, v->producer,
                              "dimension %d of '%s' cannot stay open: it is %" PRId64 " at %s and %" PRId64
                              " at %s, and is not affine in the sizes",
                              d, v->name, value[0], uk_point_text(g, 0), value[g->points.base],
                              uk_point_text(g, g->points.base));
    }
    if (!s && !fit(g, slice_at, &form[UK_RANK]))
        s = uk_graph_fail(g, UK_REFUSED, v->producer,
                          "the place of '%s' in memory is not affine in the sizes", v->name);
    for (int p = 0; v->mover && p < g->points.count; p++) {
        value[p] = 1;
        for (int d = 0; d < v->rank; d++)
            value[p] *= v->at ? v->at[p][d] : v->extent[d];
    }
    if (!s && v->mover && !fit(g, value, &form[UK_RANK + 1]))
        s = uk_graph_fail(g, UK_REFUSED, v->producer,
                          "the number of elements of '%s' is not a sum of products of two sizes", v->name);
    v->form = form;
    free(value);
    return s;
}
