/* SPDX-License-Identifier: Apache-2.0 */
/* Open sizes in the API: their list, and what a network looks like at some of their values. */
#include <inttypes.h>
#include <string.h>
#include "emit/emit.h"

enum uk_status uk_network_range(struct uk_network *n, const struct uk_network_size *range) {
    enum uk_status s = uk_network_enter(n, false);

    if (s)
        return s;
    if (n->is_begun)
        return uk_graph_fail(&n->graph, UK_INVALID_ARGUMENT, NULL,
                             "a network has been read already; give ranges before");
    if (!range || !range->name)
        return uk_graph_fail(&n->graph, UK_INVALID_ARGUMENT, NULL, "the range is NULL, or has no name");
    if (range->upper <= range->lower)
        return uk_graph_fail(&n->graph, UK_INVALID_ARGUMENT, NULL,
                             "size '%s' has the range %" PRId64 "..%" PRId64
                             "; give one of two values or more",
                             range->name, range->lower, range->upper);
    return uk_size_add(&n->graph, range->name, range->lower, range->upper, range->step);
}

void uk_sizes_show(struct uk_network *n) {
    for (int i = 0; i < n->graph.open_count; i++) {
        const struct uk_graph_size *z = n->graph.open[i];
        n->size[i] = (struct uk_network_size){z->name, z->lower, z->upper, z->step};
        n->chosen[i] = z->upper / z->step;
    }
}

const struct uk_network_size *uk_network_size(const struct uk_network *n, int i) {
    return n && n->is_read && i >= 0 && i < n->graph.open_count ? &n->size[i] : NULL;
}

static void set(struct uk_network *n, const int64_t *steps) {
    for (struct uk_graph_value *v = n->graph.values; v; v = v->next) {
        for (int d = 0; v->form && d < v->rank; d++)
            v->extent[d] = uk_form_value(&v->form[d], steps);
        if (v->form)
            v->slice_at = uk_form_value(&v->form[UK_RANK], steps);
    }
    for (struct uk_graph_region *r = n->graph.regions; r; r = r->next)
        r->trips = r->form ? uk_form_value(r->form, steps) : r->trips;
    for (int i = 0; i < n->graph.open_count; i++)
        n->graph.size[n->graph.open[i] - n->graph.size].value = steps[i] * n->graph.open[i]->step;
}

void uk_network_set_largest(struct uk_network *n) {
    if (n->graph.open_count)
        set(n, n->graph.points.size[0]);
}

void uk_network_set_chosen(struct uk_network *n) {
    if (n->graph.open_count)
        set(n, n->chosen);
}

const int64_t *uk_layer_sizes(const struct uk_network *n, const struct uk_layer *l) {
    enum { MOST = 64 };
    static _Thread_local int64_t size[MOST];
    int64_t steps[UK_MAX_OPEN];

    for (int i = 0; i < n->graph.open_count; i++)
        steps[i] = n->graph.open[i]->value / n->graph.open[i]->step;
    for (int i = 0; i < l->sizes && i < MOST; i++)
        size[i] = uk_form_value(&l->size[i], steps);
    return l->sizes ? size : NULL;
}

enum uk_status uk_network_refuse_open(struct uk_network *n, const char *what) {
    return n->graph.open_count
               ? uk_graph_fail(&n->graph, UK_REFUSED, NULL,
                               "%s takes fixed sizes only, and '%s' has a range; give it one value (--size "
                               "%s=%" PRId64 ")",
                               what, n->size[0].name, n->size[0].name, n->size[0].upper)
               : UK_OK;
}
