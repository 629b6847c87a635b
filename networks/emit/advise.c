/* SPDX-License-Identifier: Apache-2.0 */
/* Advice for a network that cannot stay open, found by trying: steps of the sizes with which it can, or the
 * largest sizes, if those are what it cannot have. */
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

/* Returns whether the network can be read at the smallest sizes alone. */
static bool can_read_smallest(const struct trying *t) {
    const struct uk_graph *g = &t->n->graph;
    const struct uk_network_options none = {0}, *o = t->options ? t->options : &none;
    struct uk_network_options fixed = *o;
    const size_t count = (size_t)o->size_count + (size_t)g->open_count;
    const char **name = calloc(count + 1, sizeof *name);
    int64_t *value = calloc(count + 1, sizeof *value);
    struct uk_network *n = name && value ? uk_network_create() : NULL;

    for (int i = 0; i < o->size_count && n; i++) {
        name[i] = o->size_names[i];
        value[i] = o->size_values[i];
    }
    for (int i = 0; i < g->open_count && n; i++) {
        name[o->size_count + i] = g->open[i]->name;
        value[o->size_count + i] = g->open[i]->lower;
    }
    fixed.size_names = name;
    fixed.size_values = value;
    fixed.size_count = (int)count;
    const bool can = n && !uk_network_read_bytes(n, t->name, t->bytes, t->length, t->folders, &fixed);
    uk_network_destroy(n);
    free(name);
    free(value);
    return can;
}

/* Writes steps with which the network can stay open, or that a size needs one value. */
static void put_steps(struct uk_text *text, const struct trying *t) {
    const struct uk_graph *g = &t->n->graph;
    int64_t step[UK_MAX_OPEN];

    if (!find_steps(t, step)) {
        uk_put(text, "; give one value to a size that decides it, as --size %s=%" PRId64, g->open[0]->name,
               g->open[0]->upper);
        return;
    }
    uk_put(text, "; it can stay open with");
    for (int i = 0; i < g->open_count; i++) {
        struct uk_network_size range;
        if (step[i] == g->open[i]->step || !range_with(g->open[i], step[i], &range))
            continue;
        uk_put(text, " --size %s=%" PRId64 "..%" PRId64 ":%" PRId64, range.name, range.lower, range.upper,
               range.step);
    }
}

static void put_largest(struct uk_text *text, const struct uk_graph *g) {
    uk_put(text, ", at the largest sizes");
    for (int i = 0; i < g->open_count; i++)
        uk_put(text, "%s %s=%" PRId64, i ? "," : "", g->open[i]->name, g->open[i]->upper);
    uk_put(text, "; give ranges that end earlier");
}

void uk_network_advise(struct uk_network *n, const char *name, const void *bytes, size_t length,
                       const struct uk_folders *folders, const struct uk_network_options *o) {
    const struct trying t = {n, name, folders, bytes, length, o};
    struct uk_text text = {0};

    if (!n->graph.message)
        return;
    uk_put(&text, "%s", n->graph.message);
    if (n->is_opening)
        put_steps(&text, &t);
    else if (can_read_smallest(&t))
        put_largest(&text, &n->graph);
    if (text.text) {
        free(n->graph.message);
        n->graph.message = text.text;
    }
}
