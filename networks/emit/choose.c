/* SPDX-License-Identifier: Apache-2.0 */
/* The choice of values of open sizes. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "emit/emit.h"

static enum uk_status refuse(struct uk_network *n, const struct uk_network_size *z, int64_t size) {
    char step[40] = "";

    if (z->step != 1)
        snprintf(step, sizeof step, " in steps of %" PRId64, z->step);
    return uk_graph_fail(&n->graph, UK_INVALID_SIZE, NULL,
                         "size '%s' is %" PRId64 ", but its range is %" PRId64 " to %" PRId64 "%s", z->name,
                         size, z->lower, z->upper, step);
}

enum uk_status uk_network_choose(struct uk_network *n, const int64_t *sizes) {
    enum uk_status s = uk_network_enter(n, true);
    int64_t steps[UK_MAX_OPEN];

    if (!s && !sizes && n->graph.open_count)
        s = uk_graph_fail(&n->graph, UK_INVALID_ARGUMENT, NULL, "sizes is NULL");
    for (int i = 0; !s && i < n->graph.open_count; i++) {
        const struct uk_network_size *z = &n->size[i];
        if (sizes[i] < z->lower || sizes[i] > z->upper || sizes[i] % z->step)
            s = refuse(n, z, sizes[i]);
        steps[i] = s ? 0 : sizes[i] / z->step;
    }
    if (s || !n->graph.open_count)
        return s;
    memcpy(n->chosen, steps, sizeof n->chosen);
    return uk_network_show_chosen(n);
}
