/* SPDX-License-Identifier: Apache-2.0 */
/* Loop: a loop that a trip count, a condition or both end. */
#include <string.h>
#include "layers/layers.h"

/* Inputs before the states: the trip count and the condition; the body has as many, the iteration's number
 * and the condition. */
enum { COUNT, CONDITION, FIRST_STATE, BOOLEAN = 9 /* TensorProto.BOOL */ };

struct loop {
    struct uk_expansion e;
    struct uk_subgraph *body;
    int states;
    struct uk_graph_value *count, *condition; /* before the first iteration; count NULL: no bound */
    bool condition_stays;
};

/* ---- conditions ---- */

/* True if the condition after an iteration is the one before it. */
static bool passes_condition(const struct uk_subgraph *body) {
    const struct uk_graph_value *v = body->output[0];
    const struct uk_graph_node *n;

    while ((n = v->producer) && n->number >= body->first && n->number < body->end && !*n->domain &&
           uk_node_input(n, 0) &&
           (!strcmp(n->type, "Identity") ||
            (!strcmp(n->type, "Cast") && uk_attribute_int(n, "to", 0) == BOOLEAN)))
        v = n->input[0];
    return v == body->input[CONDITION];
}

static struct uk_graph_value *always(struct uk_expansion *e) {
    struct uk_graph_value *v = uk_value_new(e->g, e->n->name);
    uint8_t *data = v ? uk_value_constant(e->g, v, UK_U8, 0, v->extent) : NULL;

    e->failed |= !data;
    if (!data)
        return &e->missing;
    *data = 1;
    v->is_boolean = true;
    return v;
}

/* Checks that a condition is one boolean, and gives it rank 0. */
static struct uk_graph_value *scalar(struct uk_expansion *e, struct uk_graph_value *v) {
    if (v->has_shape && !v->rank && v->is_boolean)
        return v;
    v = uk_expand_to(e, NULL, "LoopCondition", 1, v);
    uk_expand_domain(e, UK_INTERNAL_DOMAIN);
    return v;
}

enum uk_status uk_infer_loop_condition(struct uk_graph *g, struct uk_graph_node *n) {
    enum uk_status s = uk_need_input(g, n, 0);
    const struct uk_graph_value *v = s ? NULL : n->input[0];

    if (!s && (!v->is_boolean || uk_value_elements(v) != 1))
        return uk_graph_fail(g, UK_REFUSED, n, "its condition '%s' is %s %s, not one boolean", v->name,
                             v->is_boolean ? "boolean" : uk_type_name(v->type), uk_value_shape(v));
    if (!s)
        s = uk_set_output(g, n, 0, v->type, 0, NULL);
    if (!s)
        n->output[0]->is_boolean = true;
    return s;
}

/* ---- checks ---- */

static enum uk_status check_scalar(const struct loop *l, int input, const char *what, bool is_right_type) {
    const struct uk_graph_value *v = l->e.n->input[input];

    return is_right_type && uk_value_elements(v) == 1
               ? UK_OK
               : uk_graph_fail(l->e.g, UK_REFUSED, l->e.n, "input %d, '%s', is %s %s; it must be one %s",
                               input, v->name, uk_type_name(v->type), uk_value_shape(v), what);
}

static enum uk_status check(struct loop *l) {
    struct uk_graph_node *n = l->e.n;
    struct uk_graph *g = l->e.g;
    enum uk_status s = UK_OK;

    l->body = uk_attribute_graph(n, "body");
    l->states = n->inputs > FIRST_STATE ? n->inputs - FIRST_STATE : 0;
    if (!l->body)
        return uk_graph_fail(g, UK_REFUSED, n, "it has no body");
    if (l->body->inputs != l->states + FIRST_STATE || l->body->outputs <= l->states ||
        n->outputs > l->body->outputs - 1)
        return uk_graph_fail(
            g, UK_REFUSED, n,
            "its body has %d inputs and %d outputs; with %d states and %d outputs of the loop "
            "it needs %d and at least %d",
            l->body->inputs, l->body->outputs, l->states, n->outputs, l->states + FIRST_STATE,
            1 + (n->outputs > l->states ? n->outputs : l->states));
    for (int i = 0; i < n->inputs && !s; i++)
        if (n->input[i] || i >= FIRST_STATE)
            s = uk_need_input(g, n, i);
    l->count = uk_node_input(n, COUNT);
    l->condition = uk_node_input(n, CONDITION);
    if (!s && l->count)
        s = check_scalar(l, COUNT, "i64, the trip count", l->count->type == UK_I64);
    if (!s && l->condition)
        s = check_scalar(l, CONDITION, "boolean", l->condition->is_boolean);
    return s;
}

/* ---- expansion ---- */

static enum uk_status begin(struct loop *l) {
    struct uk_graph_value *const *input = l->body->input;
    struct uk_expansion *e = &l->e;

    const int64_t trips = l->count && !l->count->data ? -1 : uk_loop_trips(e->n, l->body);
    const int64_t most = l->count && l->count->data ? uk_constant_int(l->count, 0) : trips;

    l->condition_stays = trips >= 0 || passes_condition(l->body);
    if (trips >= 0)
        l->count = uk_expand_ints(e, 1, most < trips ? &most : &trips);
    else if (l->condition && l->condition->data && !uk_constant_int(l->condition, 0))
        l->count = uk_expand_ints(e, 1, (const int64_t[1]){0});
    if (!l->condition || l->condition->data)
        l->condition = always(e);
    if (!l->count && l->condition_stays && l->condition->data)
        return uk_graph_fail(e->g, UK_REFUSED, e->n,
                             "it does not end: it has no trip count, and its condition is always true");
    l->condition = scalar(e, l->condition);
    if (l->condition_stays)
        uk_expand_to(e, input[CONDITION], "Identity", 1, l->condition);
    uk_expand_counted_loop(e, input[COUNT], l->count);
    if (!l->condition_stays)
        l->condition = uk_expand_state(e, input[CONDITION], l->condition);
    if (!l->condition->data)
        uk_expand_while(e, l->condition);
    for (int i = 0; i < l->states; i++)
        uk_expand_state(e, input[FIRST_STATE + i], e->n->input[FIRST_STATE + i]);
    return e->failed ? uk_graph_no_memory(e->g) : UK_OK;
}

static void end(struct loop *l) {
    struct uk_graph_value *const *next = l->body->output + 1, *const *state = l->body->input + FIRST_STATE;
    struct uk_graph_node *n = l->e.n;
    struct uk_expansion *e = &l->e;

    if (!l->condition_stays)
        uk_expand_next(e, l->condition, scalar(e, l->body->output[0]));
    for (int i = 0; i < l->states; i++)
        uk_expand_next(e, state[i], next[i]);
    for (int i = l->states; i < n->outputs; i++)
        if (n->output[i])
            uk_expand_collect(e, n->output[i], next[i], false);
    uk_expand_loop_end(e);
    for (int i = 0; i < n->outputs && i < l->states; i++)
        if (n->output[i])
            uk_expand_final(e, n->output[i], state[i]);
    for (int i = 0; i < l->body->outputs; i++)
        l->body->output[i]->uses--;
}

enum uk_status uk_expand_onnx_loop(struct uk_graph *g, struct uk_graph_node *n,
                                   struct uk_graph_node **first) {
    struct loop l = {.e = uk_expansion_begin(g, n, first)};
    enum uk_status s = check(&l);

    if (!s)
        s = begin(&l);
    if (s)
        return s;
    uk_expand_nodes(&l.e, l.body->nodes);
    end(&l);
    n->attributes = 0; /* the body's uses stay */
    return uk_expansion_end(&l.e);
}
