/* SPDX-License-Identifier: Apache-2.0 */
/* Scan: a loop over the elements of its inputs along one dimension each. */
#include <inttypes.h>
#include <string.h>
#include "layers/layers.h"

/* ---- MoveFirst: dimension 0 becomes dimension `axis` ---- */

enum uk_status uk_expand_move_first(struct uk_graph *g, struct uk_graph_node *n,
                                    struct uk_graph_node **first) {
    struct uk_expansion e = uk_expansion_begin(g, n, first);
    enum uk_status s = uk_need_input(g, n, 0);
    int64_t perm[UK_RANK];
    int axis;

    if (!s)
        s = uk_need_axis(g, n, uk_attribute_int(n, "axis", 0), n->input[0]->rank, &axis);
    if (s)
        return s;
    for (int d = 0; d < n->input[0]->rank; d++)
        perm[d] = d < axis ? d + 1 : d > axis ? d : 0;
    uk_expand_transpose(&e, n->output[0], n->input[0], n->input[0]->rank, perm);
    return uk_expansion_end(&e);
}

/* ---- Scan: first values of states, then inputs that are scanned; last values of states, then the results of
 * all iterations ---- */

struct scan {
    struct uk_expansion e;
    struct uk_subgraph *body;
    int states, scanned, collected;
    struct uk_graph_value **all; /* results of all iterations, along dimension 0 */
};

/* Element i of a list attribute; 0 without the attribute. */
static int64_t listed(const struct uk_graph_node *n, const char *name, int i) {
    const struct uk_attribute *a = uk_attribute_find(n, name);

    return a && i < a->count ? a->ints[i] : 0;
}

static enum uk_status check_list(struct uk_graph *g, const struct uk_graph_node *n, const char *name,
                                 int count, bool is_flag) {
    const struct uk_attribute *a = uk_attribute_find(n, name);

    if (a && a->count != count)
        return uk_graph_fail(g, UK_REFUSED, n, "%s has %d elements; it needs %d", name, a->count, count);
    for (int i = 0; a && is_flag && i < count; i++)
        if (a->ints[i] != 0 && a->ints[i] != 1)
            return uk_graph_fail(g, UK_REFUSED, n, "%s has the element %" PRId64 ", which is neither 0 nor 1",
                                 name, a->ints[i]);
    return UK_OK;
}

static enum uk_status check(struct scan *sc) {
    struct uk_graph_node *n = sc->e.n;
    struct uk_graph *g = sc->e.g;
    const int64_t scanned = uk_attribute_int(n, "num_scan_inputs", 0);
    enum uk_status s = UK_OK;

    sc->body = uk_attribute_graph(n, "body");
    if (!sc->body || scanned < 1 || scanned > n->inputs)
        return uk_graph_fail(g, UK_REFUSED, n,
                             "it has no body, or num_scan_inputs is %" PRId64 " of %d inputs", scanned,
                             n->inputs);
    sc->scanned = (int)scanned;
    sc->states = n->inputs - sc->scanned;
    sc->collected = n->outputs - sc->states;
    if (sc->body->inputs != n->inputs || sc->body->outputs != n->outputs || sc->collected < 0)
        return uk_graph_fail(
            g, UK_REFUSED, n,
            "its body has %d inputs and %d outputs; it needs %d and %d, of which %d are states",
            sc->body->inputs, sc->body->outputs, n->inputs, n->outputs, sc->states);
    if (!s)
        s = uk_need_inputs(g, n, n->inputs);
    if (!s)
        s = check_list(g, n, "scan_input_axes", sc->scanned, false);
    if (!s)
        s = check_list(g, n, "scan_input_directions", sc->scanned, true);
    if (!s)
        s = check_list(g, n, "scan_output_axes", sc->collected, false);
    return s ? s : check_list(g, n, "scan_output_directions", sc->collected, true);
}

/* Returns scanned input i with the dimension along which it is scanned as the first one; NULL: refused. */
static struct uk_graph_value *scanned_input(struct scan *sc, int i) {
    struct uk_graph_node *n = sc->e.n;
    struct uk_graph_value *x = n->input[sc->states + i];
    int64_t perm[UK_RANK];
    int axis;

    if (uk_need_axis(sc->e.g, n, listed(n, "scan_input_axes", i), x->rank, &axis))
        return NULL;
    for (int d = 0; d < x->rank; d++)
        perm[d] = d == 0 ? axis : d <= axis ? d - 1 : d;
    return axis ? uk_expand_transpose(&sc->e, NULL, x, x->rank, perm) : x;
}

static enum uk_status begin(struct scan *sc) {
    struct uk_graph_node *n = sc->e.n;
    struct uk_graph_value **x = uk_alloc(&sc->e.g->arena, (size_t)sc->scanned * sizeof *x);

    sc->all = uk_alloc(&sc->e.g->arena, ((size_t)sc->collected + 1) * sizeof *sc->all);
    if (!x || !sc->all)
        return uk_graph_no_memory(sc->e.g);
    for (int i = 0; i < sc->scanned; i++)
        if (!(x[i] = scanned_input(sc, i)))
            return sc->e.g->status;
    uk_expand_loop(&sc->e, x[0], 0);
    for (int i = 0; i < sc->states; i++)
        uk_expand_state(&sc->e, sc->body->input[i], n->input[i]);
    for (int i = 0; i < sc->scanned; i++)
        uk_expand_element(&sc->e, sc->body->input[sc->states + i], x[i],
                          listed(n, "scan_input_directions", i));
    return UK_OK;
}

/* Collects result i; sets sc->all[i]. */
static void collect(struct scan *sc, int i) {
    struct uk_graph_node *n = sc->e.n;
    struct uk_graph_value *to = n->output[sc->states + i];

    sc->all[i] = to;
    if (to && to->uses)
        sc->all[i] =
            uk_expand_collect(&sc->e, listed(n, "scan_output_axes", i) ? NULL : to,
                              sc->body->output[sc->states + i], listed(n, "scan_output_directions", i));
}

static void end(struct scan *sc) {
    struct uk_graph_node *n = sc->e.n;

    for (int i = 0; i < n->outputs; i++)
        sc->body->output[i]->uses--;
    for (int i = 0; i < sc->states; i++)
        uk_expand_next(&sc->e, sc->body->input[i], sc->body->output[i]);
    for (int i = 0; i < sc->collected; i++)
        collect(sc, i);
    uk_expand_loop_end(&sc->e);
    for (int i = 0; i < sc->collected; i++)
        if (sc->all[i] != n->output[sc->states + i]) {
            uk_expand_to(&sc->e, n->output[sc->states + i], "MoveFirst", 1, sc->all[i]);
            uk_expand_domain(&sc->e, UK_INTERNAL_DOMAIN);
            uk_expand_int(&sc->e, "axis", listed(n, "scan_output_axes", i));
        }
    for (int i = 0; i < sc->states; i++)
        if (n->output[i])
            uk_expand_final(&sc->e, n->output[i], sc->body->input[i]);
}

enum uk_status uk_expand_scan(struct uk_graph *g, struct uk_graph_node *n, struct uk_graph_node **first) {
    struct scan sc = {.e = uk_expansion_begin(g, n, first)};
    enum uk_status s = check(&sc);

    if (!s)
        s = begin(&sc);
    if (s)
        return s;
    uk_expand_nodes(&sc.e, sc.body->nodes);
    end(&sc);
    n->attributes = 0; /* the body's uses stay */
    return uk_expansion_end(&sc.e);
}

/* ---- Scan of operator set 8: a Scan for each element along dimension 0, the batch ---- */

/* Returns the Scan of one element, whose inputs and outputs are new values. NULL: no memory. */
static struct uk_graph_node *scan_of_element(struct uk_expansion *e) {
    const struct uk_graph_node *n = e->n;
    struct uk_graph_node *one = uk_graph_node_new(e->g, n->type, n->name, n->inputs - 1, n->outputs);
    struct uk_attribute *copy = uk_alloc(&e->g->arena, ((size_t)n->attributes + 1) * sizeof *copy);

    if (!one || !copy)
        return NULL;
    memcpy(copy, n->attribute, (size_t)n->attributes * sizeof *copy);
    for (int i = 0; i < n->attributes; i++)
        if (!strcmp(copy[i].name, "directions"))
            copy[i].name = "scan_input_directions";
    one->attribute = copy;
    one->attributes = n->attributes;
    for (int i = 0; i < one->inputs; i++) {
        one->input[i] = uk_expand_element(e, NULL, n->input[i + 1], false);
        one->input[i]->uses++;
    }
    for (int i = 0; i < one->outputs; i++) {
        if (!(one->output[i] = uk_value_new(e->g, n->name)))
            return NULL;
        one->output[i]->producer = one;
    }
    return one;
}

enum uk_status uk_expand_batch_scan(struct uk_graph *g, struct uk_graph_node *n,
                                    struct uk_graph_node **first) {
    struct uk_expansion e = uk_expansion_begin(g, n, first);
    enum uk_status s = UK_OK;

    if (n->inputs < 2 || n->input[0])
        return uk_graph_fail(g, UK_REFUSED, n,
                             "it has sequence_lens or no inputs; remove rows past the ends of sequences, or "
                             "convert the network to operator set 9");
    for (int i = 1; i < n->inputs && !s; i++)
        s = uk_need_input(g, n, i);
    if (s)
        return s;
    uk_expand_loop(&e, n->input[n->inputs - 1], 0);
    struct uk_graph_node *one = scan_of_element(&e);
    if (!one)
        return uk_graph_no_memory(g);
    uk_expand_nodes(&e, one);
    for (int i = 0; i < n->outputs; i++)
        if (n->output[i])
            uk_expand_collect(&e, n->output[i], one->output[i], false);
    uk_expand_loop_end(&e);
    n->attributes = 0; /* the body's uses stay */
    return uk_expansion_end(&e);
}
