/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Assigns places in one block of memory. A value lives from the layer that computes it to the last one that
 * reads it, inputs from the beginning, outputs to the end, and states always; values that live at the same
 * time do not overlap. A value of outside that a loop reads or writes lives during the whole loop.
 *
 * Greedy placement, one value after the other at the lowest offset that is free for its whole life, in two
 * orders, of which the one that takes less memory is kept: largest first, and by the most bytes live during
 * the value's life (Pisarchyk and Lee, "Efficient memory management for deep neural net inference", 2020).
 *
 * A layer's workspace, whose size depends on the target, begins after the values that are live then and may
 * overlap others.
 */
#include <stdlib.h>
#include "plan/plan.h"

/* Bytes that the value needs at the sizes where it needs most. */
static int64_t find_bytes(const struct uk_graph *g, const struct uk_graph_value *v) {
    int64_t most = uk_value_elements(v);

    for (int p = 0; v->at && p < g->points.count; p++) {
        int64_t elements = 1;
        for (int d = 0; d < v->rank; d++)
            elements *= v->at[p][d];
        most = elements > most ? elements : most;
    }
    most *= (int64_t)uk_type_bytes(v->type);
    return (most + UK_PLACE_ALIGNMENT - 1) / UK_PLACE_ALIGNMENT * UK_PLACE_ALIGNMENT;
}

/* Gives values that are empty, as a loop has no iterations, room for one part: layers of the loop may be run
 * one by one. */
static void hold_parts(const struct uk_graph *g) {
    for (struct uk_graph_value *v = g->values; v; v = v->next)
        if (v->mover && uk_storage(v)->bytes < v->bytes)
            uk_storage(v)->bytes = v->bytes;
}

static int64_t bytes_of(const struct uk_graph_value *v) {
    return v->bytes;
}

/* The value is needed in a layer of the region. One of outside is needed by all layers of the loop then, as
 * an iteration may follow. */
static void live_at(struct uk_graph_value *v, struct uk_graph_region *in, int layer) {
    v = uk_storage(v);
    const struct uk_graph_region *loop = uk_region_within(v->producer ? v->producer->region : NULL, in);
    const int first = loop ? loop->first : layer, last = loop ? loop->last : layer;

    if (v->first < 0 || first < v->first)
        v->first = first;
    if (last > v->last)
        v->last = last;
}

static void find_regions(const struct uk_plan *p) {
    for (int i = 0; i < p->count; i++)
        for (struct uk_graph_region *r = p->layer[i]->region; r; r = r->outside) {
            if (r->last < r->first)
                r->first = i;
            r->last = i;
        }
}

static void lifetimes(const struct uk_plan *p) {
    for (int i = 0; i < p->g->inputs; i++)
        live_at(p->g->input[i], NULL, 0);
    for (int i = 0; i < p->count; i++)
        for (int j = 0; j < p->layer[i]->arguments; j++)
            live_at((struct uk_graph_value *)p->layer[i]->argument[j], p->layer[i]->region, i);
    for (int i = 0; i < p->g->outputs; i++)
        live_at(p->g->output[i], NULL, p->count);
    for (struct uk_graph_region *r = p->g->regions; r; r = r->next) {
        struct uk_graph_value *const read[] = {r->counter, r->count, r->condition};
        for (int i = 0; i < 3 && r->first <= r->last; i++)
            if (read[i])
                live_at(read[i], r, r->first);
    }
    for (int i = 0; i < p->g->states; i++) {
        live_at(p->g->state[i].buffer, NULL, 0);
        live_at(p->g->state[i].buffer, NULL, p->count);
    }
}

static bool has_place(const struct uk_graph_value *v) {
    return v->first >= 0 && !v->storage && !v->data;
}

static int by_size(const void *a, const void *b) {
    const struct uk_graph_value *x = *(struct uk_graph_value *const *)a,
                                *y = *(struct uk_graph_value *const *)b;
    const int64_t of_x = bytes_of(x), of_y = bytes_of(y);

    return of_x != of_y ? (of_x < of_y) - (of_x > of_y) : (x->number > y->number) - (x->number < y->number);
}

/* Ties: the value that is needed longest comes first, so that inputs are placed around it. */
static int by_breadth(const void *a, const void *b) {
    const struct uk_graph_value *x = *(struct uk_graph_value *const *)a,
                                *y = *(struct uk_graph_value *const *)b;

    return x->breadth != y->breadth ? (x->breadth < y->breadth) - (x->breadth > y->breadth)
           : x->last != y->last     ? (x->last < y->last) - (x->last > y->last)
                                    : by_size(a, b);
}

static int by_place(const void *a, const void *b) {
    const struct uk_graph_value *x = *(struct uk_graph_value *const *)a,
                                *y = *(struct uk_graph_value *const *)b;

    return (x->offset > y->offset) - (x->offset < y->offset);
}

/* Returns the lowest free offset. `placed` is sorted by offset; only values live at the same time count. */
static int64_t find_place(const struct uk_graph_value *v, struct uk_graph_value *const *placed, int count) {
    int64_t at = 0;

    for (int i = 0; i < count; i++) {
        const struct uk_graph_value *o = placed[i];
        if (o->last < v->first || v->last < o->first)
            continue;
        if (o->offset >= at + bytes_of(v))
            break;
        if (o->offset + bytes_of(o) > at)
            at = o->offset + bytes_of(o);
    }
    return at;
}

/* Returns the largest sum of live bytes, without borders; sets each value's `breadth`. */
static int64_t find_bound(const struct uk_plan *p, struct uk_graph_value *const *value, int count) {
    int64_t most = 0;

    for (int layer = 0; layer <= p->count; layer++) {
        int64_t live = 0;
        for (int i = 0; i < count; i++)
            if (value[i]->first <= layer && layer <= value[i]->last)
                live += bytes_of(uk_value_inside_border(value[i]));
        for (int i = 0; i < count; i++)
            if (value[i]->first <= layer && layer <= value[i]->last && live > value[i]->breadth)
                value[i]->breadth = live;
        most = live > most ? live : most;
    }
    return most;
}

static void place_workspaces(const struct uk_plan *p, struct uk_graph_value *const *value, int count) {
    for (struct uk_layer *l = p->layers; l; l = l->next) {
        for (int i = 0; i < count; i++)
            if (value[i]->first <= l->number && l->number <= value[i]->last &&
                value[i]->offset + bytes_of(value[i]) > l->work)
                l->work = value[i]->offset + bytes_of(value[i]);
        if (l->work > l->function->work)
            l->function->work = l->work;
    }
}

/* Places all values in the given order; returns the bytes needed. */
static int64_t place_all(struct uk_graph_value **value, int count, struct uk_graph_value **placed,
                         int (*order)(const void *, const void *)) {
    int64_t most = 0;

    qsort(value, (size_t)count, sizeof *value, order);
    for (int i = 0; i < count; i++) {
        qsort(placed, (size_t)i, sizeof *placed, by_place);
        value[i]->offset = find_place(value[i], placed, i);
        placed[i] = value[i];
        if (value[i]->offset + bytes_of(value[i]) > most)
            most = value[i]->offset + bytes_of(value[i]);
    }
    return most;
}

static void place_best(struct uk_plan *p, struct uk_graph_value **value, int count) {
    static int (*const order[])(const void *, const void *) = {by_size, by_breadth};
    enum { ORDERS = sizeof order / sizeof *order };
    struct uk_graph_value **placed = value + p->g->value_count;
    int best = 0;

    p->bytes = INT64_MAX;
    for (int i = 0; i < ORDERS && p->bytes > p->bound; i++) {
        const int64_t bytes = place_all(value, count, placed, order[i]);
        best = bytes < p->bytes ? i : best;
        p->bytes = bytes < p->bytes ? bytes : p->bytes;
    }
    place_all(value, count, placed, order[best]);
}

enum uk_status uk_plan_memory(struct uk_plan *p) {
    struct uk_graph_value **value = calloc((size_t)p->g->value_count + 1, 2 * sizeof *value);
    int count = 0;

    if (!value)
        return uk_graph_no_memory(p->g);
    find_regions(p);
    lifetimes(p);
    for (struct uk_graph_value *v = p->g->values; v; v = v->next)
        v->bytes = v->has_shape && v->type != UK_TYPES ? find_bytes(p->g, v) : 0;
    hold_parts(p->g);
    for (struct uk_graph_value *v = p->g->values; v; v = v->next)
        if (has_place(v))
            value[count++] = v;
    p->bound = find_bound(p, value, count);
    place_best(p, value, count);
    place_workspaces(p, value, count);
    free(value);
    return UK_OK;
}
