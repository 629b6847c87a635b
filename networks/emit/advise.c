/* SPDX-License-Identifier: Apache-2.0 */
/* Advice for a network that cannot stay open: steps of the sizes with which it can, found by trying. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "emit/emit.h"

struct trying {
    const struct uk_network *n;
    const char *name;
    const struct uk_folders *folders;
    const void *bytes;
    size_t length;
    const struct uk_network_options *options;
};

/* The bounds of the open size that are multiples of the step. False: fewer than two values remain. */
static bool range_with(const struct uk_graph_size *z, int64_t step, struct uk_network_size *out) {
    *out =
        (struct uk_network_size){z->name, (z->lower + step - 1) / step * step, z->upper / step * step, step};
    return out->lower < out->upper;
}

/* Returns whether the network can be read with these steps of its open sizes. */
static bool can_read(const struct trying *t, const int64_t *step) {
    struct uk_network *n = uk_network_create();
    bool can = n;

    for (int i = 0; i < t->n->graph.open_count && can; i++) {
        struct uk_network_size range;
        can = range_with(t->n->graph.open[i], step[i], &range) && !uk_network_range(n, &range);
    }
    if (can) {
        n->is_trial = true;
        can = !uk_network_read_bytes(n, t->name, t->bytes, t->length, t->folders, t->options);
    }
    uk_network_destroy(n);
    return can;
}

/* Finds the smallest step for all sizes with which the network can be read, and leaves it out where a size
 * needs none. */
static bool find_steps(const struct trying *t, int64_t *step) {
    static const int64_t steps[] = {2, 3, 4, 8, 16, 32, 64};
    const int open = t->n->graph.open_count;
    bool found = false;

    for (size_t k = 0; k < sizeof steps / sizeof *steps && !found; k++) {
        for (int i = 0; i < open; i++) {
            struct uk_network_size range;
            const struct uk_graph_size *z = t->n->graph.open[i];
            step[i] = z->step * (range_with(z, z->step * steps[k], &range) ? steps[k] : 1);
        }
        found = can_read(t, step);
    }
    for (int i = 0; i < open && found; i++) {
        const int64_t needed = step[i];
        step[i] = t->n->graph.open[i]->step;
        if (!can_read(t, step))
            step[i] = needed;
    }
    return found;
}

void uk_network_advise(struct uk_network *n, const char *name, const void *bytes, size_t length,
                       const struct uk_folders *folders, const struct uk_network_options *o) {
    const struct trying t = {n, name, folders, bytes, length, o};
    struct uk_text text = {0};
    int64_t step[UK_MAX_OPEN];

    if (!n->graph.message)
        return;
    uk_put(&text, "%s; ", n->graph.message);
    if (find_steps(&t, step)) {
        uk_put(&text, "it can stay open with");
        for (int i = 0; i < n->graph.open_count; i++) {
            struct uk_network_size range;
            if (step[i] == n->graph.open[i]->step || !range_with(n->graph.open[i], step[i], &range))
                continue;
            uk_put(&text, " --size %s=%" PRId64 "..%" PRId64 ":%" PRId64, range.name, range.lower,
                   range.upper, range.step);
        }
    } else {
        uk_put(&text, "give one value to a size that decides it, as --size %s=%" PRId64,
               n->graph.open[0]->name, n->graph.open[0]->upper);
    }
    if (text.text) {
        free(n->graph.message);
        n->graph.message = text.text;
    }
}
