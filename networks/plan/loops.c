/* SPDX-License-Identifier: Apache-2.0 */
/* Places of values that go into loops and out of them, and trip counts. */
#include <stdlib.h>
#include <string.h>
#include "plan/plan.h"

bool uk_has_loop_place(const struct uk_graph_node *n) {
    return n->op->loop && n->op->loop != UK_LOOP_STATE;
}

/* Returns where the first node of the region is linked in that has the role; any role: UK_LOOP_NONE. */
static struct uk_graph_node **first_of(struct uk_graph *g, const struct uk_graph_region *r,
                                       enum uk_loop_role role) {
    struct uk_graph_node **at = &g->nodes;

    while (role ? (*at)->region != r || (*at)->op->loop != role : !uk_region_contains(r, (*at)->region))
        at = &(*at)->next;
    return at;
}

/* ---- parts of a value ---- */

/* True if the parts along dimension 0 are contiguous; dimensions of extent 1 do not matter. */
static bool has_contiguous_parts(const struct uk_graph *g, const struct uk_graph_value *x) {
    int i = 0;

    while (x->order[i] != 0 && uk_is_one(g, x, x->order[i]))
        i++;
    return x->order[i] == 0;
}

/* Constants and values in another order are copied before the loop. */
static enum uk_status place_element(struct uk_graph *g, struct uk_graph_node *n) {
    struct uk_graph_value *x = n->input[0], *y = n->output[0];
    int rank = 0;

    if (x->data || uk_is_strided(x) || !has_contiguous_parts(g, x)) {
        x = uk_copy_row_major(g, x, first_of(g, n->region, UK_LOOP_NONE), n->region->outside);
        if (!x)
            return uk_graph_no_memory(g);
        n->input[0] = x;
    }
    for (int i = 0; i < x->rank; i++)
        if (x->order[i])
            y->order[rank++] = x->order[i] - 1;
    y->is_laid_out = true;
    y->storage = x;
    return UK_OK;
}

/* ---- states ---- */

/* True if all elements of the value are those of the state, in their places. */
static bool is_state_itself(const struct uk_graph *g, const struct uk_graph_value *v,
                            const struct uk_graph_value *state) {
    return uk_storage((struct uk_graph_value *)(uintptr_t)v) == state && uk_same_extents(g, v, state) &&
           !memcmp(v->order, state->order, (size_t)state->rank * sizeof *state->order);
}

/* A next value that has its elements in a state is copied before any state changes. */
static enum uk_status place_next(struct uk_graph *g, struct uk_graph_node *n) {
    struct uk_graph_value *y = n->output[0], *state = y->storage, *next = n->input[0];
    const struct uk_graph_node *from = uk_storage(next)->producer;

    memcpy(y->order, state->order, sizeof y->order);
    y->is_laid_out = true;
    if (!next->data && is_state_itself(g, next, state)) {
        n->is_placed = true;
    } else if (!next->data && from && from->op->loop == UK_LOOP_STATE && from->region == n->region->outside) {
        n->input[0] = uk_copy_row_major(g, next, first_of(g, n->region, UK_LOOP_NEXT), n->region);
        if (!n->input[0])
            return uk_graph_no_memory(g);
    }
    return UK_OK;
}

enum uk_status uk_place_loop_part(struct uk_graph *g, struct uk_graph_node *n) {
    if (n->op->loop == UK_LOOP_ELEMENT)
        return place_element(g, n);
    if (n->op->loop == UK_LOOP_NEXT)
        return place_next(g, n);
    uk_set_row_major(n->output[0]);
    if (n->op->loop == UK_LOOP_STORE)
        uk_set_row_major(n->output[0]->storage);
    else
        n->is_placed = true;
    return UK_OK;
}

/* ---- trip counts ---- */

/* Finds the form of the trip count, whose value at each point is trips[p]. */
static enum uk_status find_form(struct uk_graph *g, struct uk_graph_region *r, const int64_t *trips) {
    struct uk_size_form *form = uk_alloc(&g->arena, sizeof *form);
    bool same = true;

    if (!form)
        return uk_graph_no_memory(g);
    for (int p = 0; p < g->points.count; p++)
        same &= trips[p] == trips[0];
    if (same)
        return UK_OK;
    r->form = form;
    return uk_form_fit(g, trips, form) && uk_form_holds(g, form, trips)
               ? UK_OK
               : uk_graph_fail(g, UK_REFUSED, r->counter->producer,
                               "its number of iterations is not affine in the open sizes; give one value to "
                               "those that decide it");
}

enum uk_status uk_plan_trips(struct uk_graph *g) {
    int64_t *trips = calloc((size_t)g->points.count + 1, sizeof *trips);
    enum uk_status s = trips ? UK_OK : uk_graph_no_memory(g);

    for (struct uk_graph_region *r = g->regions; r && !s; r = r->next) {
        for (int p = g->points.count - 1; p >= 0; p--) { /* point 0 last: the graph stays at it */
            uk_graph_set_point(g, p);
            trips[p] = uk_region_trips(r);
        }
        r->trips = uk_region_trips(r);
        if (r->trips >= 0 && g->points.count)
            s = find_form(g, r, trips);
    }
    free(trips);
    return s;
}
