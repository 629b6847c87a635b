/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loops and branches as nodes. Nodes of a loop form a region (graph.h); values go in and out of it so:
 *
 *     outside    LoopCounter              counter
 *                LoopState(first)         h          the state's place, with the first value
 *     inside     LoopElement(x)           x[t]       a view
 *                ...
 *                LoopStore(y)             all[t]     a part of the result's place
 *                LoopNext(next)                      a copy to the state's place
 *     outside    LoopResult(all[t])       all
 *                Identity(h)              the state's last value
 */
#include <inttypes.h>
#include <string.h>
#include "layers/layers.h"

/* Makes a node of one output with at most one input, which is linked in nowhere. NULL: no memory. */
static struct uk_graph_node *make(struct uk_expansion *e, const char *type, struct uk_graph_region *region,
                                  struct uk_graph_value *to, struct uk_graph_value *input) {
    struct uk_graph_node *n = e->failed ? NULL : uk_graph_node_new(e->g, type, e->n->name, input ? 1 : 0, 1);
    struct uk_graph_value *v = to || !n ? to : uk_value_new(e->g, e->n->name);

    if (!n || !v) {
        e->failed = true;
        return NULL;
    }
    n->domain = UK_INTERNAL_DOMAIN;
    n->region = region;
    n->output[0] = v;
    v->producer = n;
    if (input) {
        n->input[0] = input;
        input->uses++;
    }
    return n;
}

static void link_last(struct uk_expansion *e, struct uk_graph_node *n) {
    *e->end = n;
    e->end = &n->next;
}

static void link_before(struct uk_expansion *e, struct uk_graph_node *n) {
    struct uk_graph_node *at = e->region->before;

    if (e->end == &at->next)
        e->end = &n->next;
    n->next = at->next;
    at->next = n;
    e->region->before = n;
}

static void append(struct uk_graph_node **list, struct uk_graph_node *n) {
    while (*list)
        list = &(*list)->next;
    *list = n;
}

/* ---- begin and end ---- */

/* Begins a region; `iteration`, or a new value if that is NULL, becomes its counter. NULL: no memory. */
static struct uk_graph_region *begin(struct uk_expansion *e, struct uk_graph_value *iteration) {
    struct uk_graph_node *n = make(e, "LoopCounter", e->region, iteration, NULL);
    struct uk_graph_region *r = n ? uk_region_new(e->g, e->region) : NULL;

    if (!r) {
        e->failed = true;
        return NULL;
    }
    r->counter = n->output[0];
    r->counter->uses++;
    link_last(e, n);
    r->before = n;
    e->region = r;
    return r;
}

void uk_expand_loop(struct uk_expansion *e, const struct uk_graph_value *extent_of, int dimension) {
    struct uk_graph_region *r = begin(e, NULL);

    if (!r)
        return;
    r->extent_of = extent_of;
    r->dimension = dimension;
}

void uk_expand_counted_loop(struct uk_expansion *e, struct uk_graph_value *iteration,
                            struct uk_graph_value *count) {
    struct uk_graph_region *r = begin(e, iteration);

    if (!r || !count)
        return;
    r->count = count;
    count->uses++;
}

void uk_expand_while(struct uk_expansion *e, struct uk_graph_value *condition) {
    if (e->failed)
        return;
    e->region->condition = condition;
    condition->uses++;
}

void uk_expand_branch(struct uk_expansion *e, struct uk_graph_value *condition, bool is_negated) {
    struct uk_graph_region *r = begin(e, NULL);

    if (!r)
        return;
    r->is_branch = true;
    r->is_negated = is_negated;
    uk_expand_while(e, condition);
}

static void link_all(struct uk_expansion *e, struct uk_graph_node *n) {
    *e->end = n;
    while (*e->end)
        e->end = &(*e->end)->next;
}

void uk_expand_nodes(struct uk_expansion *e, struct uk_graph_node *first) {
    for (struct uk_graph_node *n = first; n; n = n->next)
        n->region = e->region;
    link_all(e, first);
}

void uk_expand_loop_end(struct uk_expansion *e) {
    struct uk_graph_region *r = e->region;

    if (e->failed)
        return;
    link_all(e, r->endings);
    link_all(e, r->results);
    e->region = r->outside;
}

/* ---- values ---- */

struct uk_graph_value *uk_expand_iteration(struct uk_expansion *e) {
    return e->failed ? &e->missing : e->region->counter;
}

struct uk_graph_value *uk_expand_state(struct uk_expansion *e, struct uk_graph_value *to,
                                       struct uk_graph_value *init) {
    struct uk_graph_node *n = e->failed ? NULL : make(e, "LoopState", e->region->outside, to, init);

    if (!n)
        return &e->missing;
    link_before(e, n);
    return n->output[0];
}

void uk_expand_next(struct uk_expansion *e, struct uk_graph_value *state, struct uk_graph_value *next) {
    struct uk_graph_node *n = e->failed ? NULL : make(e, "LoopNext", e->region, NULL, next);

    if (!n)
        return;
    n->output[0]->storage = state;
    n->output[0]->uses = 1; /* the next iteration's */
    state->uses++;
    append(&e->region->endings, n);
}

struct uk_graph_value *uk_expand_element(struct uk_expansion *e, struct uk_graph_value *to,
                                         struct uk_graph_value *x, bool is_reversed) {
    struct uk_graph_node *n = e->failed ? NULL : make(e, "LoopElement", e->region, to, x);

    if (!n)
        return &e->missing;
    n->output[0]->mover = e->region;
    n->output[0]->is_reversed = is_reversed;
    link_last(e, n);
    return n->output[0];
}

struct uk_graph_value *uk_expand_store(struct uk_expansion *e, struct uk_graph_value *to,
                                       struct uk_graph_value *y) {
    struct uk_graph_node *n = e->failed ? NULL : make(e, "LoopStore", e->region, NULL, y);

    if (!n)
        return &e->missing;
    n->output[0]->storage = to;
    link_last(e, n);
    return n->output[0];
}

void uk_expand_either(struct uk_expansion *e, struct uk_graph_value *to, struct uk_graph_value *a,
                      struct uk_graph_value *b) {
    uk_expand_to(e, to, "LoopResult", 2, a, b);
    uk_expand_domain(e, UK_INTERNAL_DOMAIN);
}

struct uk_graph_value *uk_expand_collect(struct uk_expansion *e, struct uk_graph_value *to,
                                         struct uk_graph_value *y, bool is_reversed) {
    struct uk_graph_value *part, *all = to ? to : uk_value_new(e->g, e->n->name);

    if (to && !to->uses)
        return to;
    e->failed |= !all;
    part = uk_expand_store(e, all, y);
    struct uk_graph_node *n = e->failed ? NULL : make(e, "LoopResult", e->region->outside, all, part);
    if (!n)
        return &e->missing;
    part->mover = e->region;
    part->is_reversed = is_reversed;
    append(&e->region->results, n);
    return all;
}

struct uk_graph_value *uk_expand_final(struct uk_expansion *e, struct uk_graph_value *to,
                                       struct uk_graph_value *state) {
    return uk_expand_to(e, to, "Identity", 1, state);
}

/* ---- shapes ---- */

enum uk_status uk_fold_nothing(struct uk_graph *g, struct uk_graph_node *n) {
    (void)g;
    (void)n;
    return UK_OK;
}

enum uk_status uk_infer_loop_counter(struct uk_graph *g, struct uk_graph_node *n) {
    return uk_set_output(g, n, 0, UK_I64, 0, NULL);
}

enum uk_status uk_infer_loop_element(struct uk_graph *g, struct uk_graph_node *n) {
    enum uk_status s = uk_need_input(g, n, 0);
    const struct uk_graph_value *x = n->input[0];

    if (s)
        return s;
    const int64_t trips = uk_region_trips(n->region);
    if (!x->rank || x->extent[0] != trips)
        return uk_graph_fail(g, UK_REFUSED, n,
                             "'%s' of shape %s is to be divided along a dimension of %" PRId64
                             " elements, one for each iteration",
                             x->name, uk_value_shape(x), trips);
    s = uk_set_output(g, n, 0, x->type, x->rank - 1, x->extent + 1);
    n->output[0]->is_boolean = x->is_boolean;
    return s;
}

static bool has_shape_of(const struct uk_graph_value *a, const struct uk_graph_value *b) {
    return a->type == b->type && a->rank == b->rank &&
           !memcmp(a->extent, b->extent, (size_t)a->rank * sizeof *a->extent);
}

/* A condition that is a constant after the first iteration needs no test, or refuses the network, if it is
 * true from the beginning. */
static enum uk_status settle_condition(struct uk_graph *g, struct uk_graph_node *n) {
    struct uk_graph_value *state = n->output[0]->storage;
    const struct uk_graph_value *next = n->input[0], *init = state->producer->input[0];

    if (!init->data || !uk_constant_int(init, 0) || !next->data || !uk_constant_int(next, 0))
        return UK_OK;
    if (!n->region->count)
        return uk_graph_fail(g, UK_REFUSED, n,
                             "it does not end: it has no trip count, and its condition is "
                             "always true");
    n->region->condition = NULL;
    state->uses -= 2; /* by the region and by the next value */
    n->output[0]->uses = 0;
    return UK_OK;
}

enum uk_status uk_infer_loop_next(struct uk_graph *g, struct uk_graph_node *n) {
    const struct uk_graph_value *state = n->output[0]->storage;
    enum uk_status s = uk_infer_same(g, n);

    if (!s && !has_shape_of(n->input[0], state))
        s = uk_graph_fail(
            g, UK_REFUSED, n,
            "state '%s' begins as %s %s, and '%s', its next value, is %s %s; both must have the "
            "same type and shape",
            state->name, uk_type_name(state->type), uk_value_shape(state), n->input[0]->name,
            uk_type_name(n->input[0]->type), uk_value_shape(n->input[0]));
    return s || state != n->region->condition ? s : settle_condition(g, n);
}

/* The shape is known if values are that decide it. */
static void need_known(struct uk_graph *g, struct uk_graph_value *v) {
    g->needs_values &= !v || v->data || uk_mark_needed(g, v);
}

/* Refuses results of branches that differ. */
static enum uk_status check_branches(struct uk_graph *g, const struct uk_graph_node *n) {
    const struct uk_graph_value *a = n->input[0], *b = n->input[1];

    if (has_shape_of(a, b))
        return UK_OK;
    g->needs_values = true;
    need_known(g, a->producer->region->condition);
    return uk_graph_fail(g, UK_REFUSED, n,
                         "its result '%s' is %s %s in one branch and %s %s in the other one; both must have "
                         "the same type and shape, as its condition is computed from data",
                         n->output[0]->name, uk_type_name(a->type), uk_value_shape(a), uk_type_name(b->type),
                         uk_value_shape(b));
}

/* Refuses a loop whose number of iterations is not known, as its result has an element for each. */
static enum uk_status check_trips(struct uk_graph *g, const struct uk_graph_node *n) {
    const struct uk_graph_region *r = n->input[0]->mover;

    if (uk_region_trips(r) >= 0 && !r->condition)
        return UK_OK;
    g->needs_values = r->count || r->condition;
    need_known(g, r->count);
    need_known(g, r->condition);
    return uk_graph_fail(g, UK_REFUSED, n,
                         "the shape of its result '%s' depends on data: so does the number of iterations of "
                         "the loop that makes it",
                         n->output[0]->name);
}

enum uk_status uk_infer_loop_result(struct uk_graph *g, struct uk_graph_node *n) {
    const struct uk_graph_value *part = n->input[0];
    const int more = n->inputs == 1;
    int64_t extent[UK_RANK + 1];
    enum uk_status s = uk_need_inputs(g, n, n->inputs);

    if (!s)
        s = more ? check_trips(g, n) : check_branches(g, n);
    if (s)
        return s;
    if (more)
        extent[0] = uk_region_trips(part->mover);
    memcpy(extent + more, part->extent, (size_t)part->rank * sizeof *extent);
    if (part->rank + more > UK_RANK)
        return uk_graph_fail(g, UK_REFUSED, n, "its result '%s' has more than %d dimensions",
                             n->output[0]->name, UK_RANK);
    s = uk_set_output(g, n, 0, part->type, part->rank + more, extent);
    n->output[0]->is_boolean = part->is_boolean;
    return s;
}

enum uk_status uk_write_copy(struct uk_writer *w, const struct uk_graph_node *n, int output) {
    const char *all = uk_iterators(n->input[0]->rank);

    (void)output;
    uk_write(w, n, "$y[%s] = $0[%s]", all, all);
    return UK_OK;
}
