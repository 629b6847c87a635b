/* SPDX-License-Identifier: Apache-2.0 */
/* Open sizes: extents from the names of dimensions, and the values of a graph at its points. */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "graph/graph.h"

static struct uk_graph_size *find(const struct uk_graph *g, const char *name, size_t length) {
    for (int i = 0; i < g->sizes; i++)
        if (strlen(g->size[i].name) == length && !strncmp(g->size[i].name, name, length))
            return &g->size[i];
    return NULL;
}

struct uk_graph_size *uk_size_find(const struct uk_graph *g, const char *name) {
    return find(g, name, strlen(name));
}

enum uk_status uk_size_add(struct uk_graph *g, const char *name, int64_t lower, int64_t upper, int64_t step) {
    struct uk_graph_size *list = uk_alloc(&g->arena, ((size_t)g->sizes + 1) * sizeof *list);
    const char *copy = uk_strdup(&g->arena, name);

    if (!list || !copy)
        return uk_graph_no_memory(g);
    if (uk_size_find(g, name))
        return uk_graph_fail(g, UK_INVALID_ARGUMENT, NULL, "size '%s' is given twice", name);
    if (step < 1 || lower < 0 || upper < lower || upper > UK_MAX_ELEMENTS)
        return uk_graph_fail(g, UK_INVALID_ARGUMENT, NULL,
                             "size '%s': the range %" PRId64 "..%" PRId64 ":%" PRId64
                             " is empty, or has a number out of range",
                             name, lower, upper, step);
    if (lower % step || upper % step)
        return uk_graph_fail(g, UK_INVALID_ARGUMENT, NULL,
                             "size '%s': the bounds %" PRId64 " and %" PRId64
                             " are not multiples of the step %" PRId64 "; give such ones",
                             name, lower, upper, step);
    if (g->sizes)
        memcpy(list, g->size, (size_t)g->sizes * sizeof *list);
    list[g->sizes++] = (struct uk_graph_size){copy, lower, upper, step, upper, -1};
    g->size = list;
    return UK_OK;
}

/* Exporters name a dimension that is a sum by the sum. */
bool uk_size_extent(const struct uk_graph *g, const char *name, int64_t *extent) {
    const struct uk_graph_size *whole = uk_size_find(g, name);
    int64_t sum = 0;

    for (const char *at = name; !whole;) {
        at += strspn(at, " ");
        size_t length = strcspn(at, "+");
        const char *next = at + length;
        while (length && at[length - 1] == ' ')
            length--;
        const struct uk_graph_size *part = find(g, at, length);
        const bool is_integer = length && length < 10 && strspn(at, "0123456789") == length;
        if (!part && !is_integer)
            return false;
        sum += part ? part->value : strtol(at, NULL, 10);
        if (!*next) {
            *extent = sum;
            return true;
        }
        at = next + 1;
    }
    *extent = whole->value;
    return true;
}

void uk_graph_set_point(struct uk_graph *g, int point) {
    for (int i = 0; i < g->sizes; i++)
        if (g->size[i].open >= 0)
            g->size[i].value = g->points.size[point][g->size[i].open] * g->size[i].step;
    for (struct uk_graph_value *v = g->values; v; v = v->next) {
        if (v->at)
            memcpy(v->extent, v->at[point], sizeof v->extent);
        if (v->data_at)
            v->data = v->data_at[point];
    }
    for (struct uk_attribute *a = g->open_attributes; a; a = a->next_open)
        a->i = a->at[point];
}

bool uk_choose_form(struct uk_graph *g, const struct uk_graph_node *n, int number, bool holds) {
    if (!g->open_count)
        return holds;
    if (!g->largest) {
        struct uk_graph_choice *c = uk_alloc(&g->arena, sizeof *c);
        if (!c)
            return holds;
        *c = (struct uk_graph_choice){g->choices, n->number, number, holds};
        g->choices = c;
        return holds;
    }
    for (const struct uk_graph_choice *c = g->largest->choices; c; c = c->next)
        if (c->node == n->number && c->number == number)
            return c->holds;
    return holds;
}

static const int64_t *extents_at(const struct uk_graph_value *v, int point) {
    return v->at ? v->at[point] : v->extent;
}

bool uk_same_extents(const struct uk_graph *g, const struct uk_graph_value *a,
                     const struct uk_graph_value *b) {
    const int points = a->at || b->at ? g->points.count : 1;
    bool same = a->rank == b->rank;

    for (int p = 0; p < points && same; p++)
        same = !memcmp(extents_at(a, p), extents_at(b, p), (size_t)a->rank * sizeof *a->extent);
    return same;
}

bool uk_is_one(const struct uk_graph *g, const struct uk_graph_value *v, int d) {
    for (int p = 0; v->at && p < g->points.count; p++)
        if (v->at[p][d] != 1)
            return false;
    return v->extent[d] == 1;
}

bool uk_is_broadcast(const struct uk_graph *g, const struct uk_graph_value *v, int d,
                     const struct uk_graph_value *y, int at) {
    return uk_is_one(g, v, d) && !uk_is_one(g, y, at);
}

bool uk_follow_points(struct uk_graph *g, struct uk_graph_value *y, const struct uk_graph_value *x) {
    y->at = NULL;
    if (!x->at)
        return true;
    y->at = uk_alloc(&g->arena, (size_t)g->points.count * sizeof *y->at);
    for (int p = 0; y->at && p < g->points.count; p++)
        for (int d = 0; d < y->rank; d++)
            y->at[p][d] = x->at[p][d] + y->extent[d] - x->extent[d];
    return y->at;
}

const char *uk_point_text(const struct uk_graph *g, int point) {
    static _Thread_local char text[2][600];
    static _Thread_local int turn;
    char *t = text[turn++ % 2];
    size_t used = 0;

    *t = 0;
    for (int i = 0; i < g->open_count && used < sizeof text[0]; i++)
        used += (size_t)snprintf(t + used, sizeof text[0] - used, "%s%.40s=%" PRId64, i ? ", " : "",
                                 g->open[i]->name, g->points.size[point][i] * g->open[i]->step);
    return t;
}
