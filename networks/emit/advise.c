/* SPDX-License-Identifier: Apache-2.0 */
/* Advice for a network that cannot stay open, found by trying: bounds and steps of the sizes with which it
 * can, or the largest sizes, if those are what it cannot have. */
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

/* Ranges of all open sizes; one of equal bounds is a value. */
struct ranges {
    struct uk_network_size of[UK_MAX_OPEN];
};

static struct uk_network_size range_of(const struct uk_graph_size *z) {
    return (struct uk_network_size){z->name, z->lower, z->upper, z->step};
}

static struct ranges given(const struct trying *t) {
    struct ranges r = {0};

    for (int i = 0; i < t->n->graph.open_count; i++)
        r.of[i] = range_of(t->n->graph.open[i]);
    return r;
}

static bool is_given(const struct trying *t, int i, const struct uk_network_size *range) {
    const struct uk_network_size own = range_of(t->n->graph.open[i]);

    return own.lower == range->lower && own.upper == range->upper && own.step == range->step;
}

/* Returns whether the network can be read with these ranges. */
static bool can_read(const struct trying *t, const struct ranges *r) {
    struct uk_network *n = uk_network_create();
    bool can = n;

    for (int i = 0; i < t->n->graph.open_count && can; i++) {
        const struct uk_network_size *z = &r->of[i];
        can = z->lower < z->upper ? !uk_network_range(n, z)
                                  : !uk_size_add(&n->graph, z->name, z->upper, z->upper, 1);
    }
    if (can) {
        n->is_trial = true;
        can = !uk_network_read_bytes(n, t->name, t->bytes, t->length, t->folders, t->options);
    }
    uk_network_destroy(n);
    return can;
}

/* Replaces ranges by the given ones where that suffices. */
static void give_back(const struct trying *t, struct ranges *r) {
    for (int i = 0; i < t->n->graph.open_count; i++) {
        const struct uk_network_size changed = r->of[i];
        if (is_given(t, i, &changed))
            continue;
        r->of[i] = range_of(t->n->graph.open[i]);
        if (!can_read(t, r))
            r->of[i] = changed;
    }
}

/* Tries ranges whose steps are a multiple of the given ones, and that lack the smallest values. */
static bool try_ranges(const struct trying *t, int64_t step, int64_t values, struct ranges *r) {
    *r = given(t);
    for (int i = 0; i < t->n->graph.open_count; i++) {
        struct uk_network_size z = r->of[i];
        z.step *= step;
        z.lower = (z.lower + z.step - 1) / z.step * z.step + values * z.step;
        z.upper = z.upper / z.step * z.step;
        if (z.lower < z.upper)
            r->of[i] = z;
    }
    return can_read(t, r);
}

/* Tries fewer small values, then steps, then both. */
static bool find_ranges(const struct trying *t, struct ranges *r) {
    static const int64_t values[] = {1, 2, 4}, steps[] = {2, 3, 4, 8, 16, 32, 64};
    bool found = false;

    for (size_t k = 0; k < sizeof values / sizeof *values && !found; k++)
        found = try_ranges(t, 1, values[k], r);
    for (int64_t less = 0; less < 2; less++)
        for (size_t k = 0; k < sizeof steps / sizeof *steps && !found; k++)
            found = try_ranges(t, steps[k], less, r);
    return found;
}

/* Tries the largest value of each size. */
static bool find_values(const struct trying *t, struct ranges *r) {
    *r = given(t);
    for (int i = 0; i < t->n->graph.open_count; i++)
        r->of[i].lower = r->of[i].upper;
    return can_read(t, r);
}

static void put_option(struct uk_text *text, const struct uk_network_size *z) {
    uk_put(text, " --size %s=%" PRId64, z->name, z->lower);
    if (z->lower < z->upper)
        uk_put(text, "..%" PRId64, z->upper);
    if (z->lower < z->upper && z->step > 1)
        uk_put(text, ":%" PRId64, z->step);
}

/* Writes ranges with which the network can stay open, or the sizes that need one value. */
static void put_ranges(struct uk_text *text, const struct trying *t) {
    struct ranges r;
    const bool found = find_ranges(t, &r);

    if (!found && !find_values(t, &r))
        return;
    give_back(t, &r);
    uk_put(text, found ? "; it can stay open with" : "; give one value to what decides it:");
    for (int i = 0; i < t->n->graph.open_count; i++)
        if (!is_given(t, i, &r.of[i]))
            put_option(text, &r.of[i]);
}

static bool can_read_smallest(const struct trying *t) {
    struct ranges r = given(t);

    for (int i = 0; i < t->n->graph.open_count; i++)
        r.of[i].upper = r.of[i].lower;
    return can_read(t, &r);
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
        put_ranges(&text, &t);
    else if (can_read_smallest(&t))
        put_largest(&text, &n->graph);
    if (text.text) {
        free(n->graph.message);
        n->graph.message = text.text;
    }
}
