/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replaces chains that exporters write for a normalization by one operator, which is one layer:
 *
 *     d = x - mean(x), d / sqrt(mean(d^2) + epsilon)      LayerNormalization without scale
 *     x / sqrt(mean(x^2) + epsilon)                       RMSNormalization without scale
 *     x as [N, groups, rest], InstanceNormalization, back  GroupNormalization
 *
 * A scale and a bias that follow are element by element, so they join that layer.
 */
#include <string.h>
#include "rewrite/rewrite.h"

static const struct uk_graph_node *made_by(const struct uk_graph_value *v, const char *type) {
    const struct uk_graph_node *n = v ? v->producer : NULL;

    return n && !n->is_folded && !*n->domain && !strcmp(n->type, type) ? n : NULL;
}

static bool is_float(const struct uk_graph_value *v) {
    return v && (v->type == UK_F32 || v->type == UK_F64);
}

static bool is_number(const struct uk_graph_value *v, double number) {
    return v && v->data && uk_value_elements(v) == 1 && v->rank <= 1 && uk_constant_real(v, 0) == number;
}

/* Returns the first of the dimensions that the mean is over, which must be the last ones, and kept; -1: they
 * are not. */
static int axis_of_mean(const struct uk_graph_node *n) {
    const struct uk_attribute *a = uk_attribute_find(n, "axes");
    const struct uk_graph_value *x = n->input[0], *list = uk_node_input(n, 1);
    const int64_t count = a ? a->count : list ? uk_value_elements(list) : 0;
    bool reduced[UK_RANK] = {false};
    int axis = x->rank;

    if (!uk_attribute_int(n, "keepdims", 1) || !count || (!a && !list->data))
        return -1;
    for (int64_t i = 0; i < count; i++) {
        const int64_t d = a ? a->ints[i] : uk_constant_int(list, i);
        reduced[d < 0 ? d + x->rank : d] = true;
    }
    while (axis && reduced[axis - 1])
        axis--;
    for (int d = 0; d < axis; d++)
        if (reduced[d])
            return -1;
    return axis;
}

/* Returns v if the node computes a / v, or a * (1 / v), and sets *a; else NULL. */
static struct uk_graph_value *divisor(const struct uk_graph_node *n, struct uk_graph_value **a) {
    if (*n->domain || n->inputs != 2 || !n->input[0] || !n->input[1])
        return NULL;
    if (!strcmp(n->type, "Div")) {
        *a = n->input[0];
        return n->input[1];
    }
    for (int i = 0; i < 2 && !strcmp(n->type, "Mul"); i++) {
        const struct uk_graph_node *r = made_by(n->input[i], "Reciprocal"), *d = made_by(n->input[i], "Div");
        *a = n->input[!i];
        if (r)
            return r->input[0];
        if (d && is_number(d->input[0], 1))
            return d->input[1];
    }
    return NULL;
}

/* Returns the value whose square the node computes, or NULL. */
static struct uk_graph_value *root_of_square(const struct uk_graph_value *v) {
    const struct uk_graph_node *power = made_by(v, "Pow"), *product = made_by(v, "Mul");

    if (power && is_number(uk_node_input(power, 1), 2))
        return power->input[0];
    return product && product->input[0] == product->input[1] ? product->input[0] : NULL;
}

struct chain {
    struct uk_graph_value *x;
    int axis;
    double epsilon;
    bool has_mean;
};

/* True if v is x minus the mean of x over the same dimensions; sets x. */
static bool is_centered(const struct uk_graph_value *v, struct chain *c) {
    const struct uk_graph_node *sub = made_by(v, "Sub"),
                               *mean = sub ? made_by(sub->input[1], "ReduceMean") : NULL;

    if (!mean || mean->input[0] != sub->input[0] || axis_of_mean(mean) != c->axis)
        return false;
    c->x = sub->input[0];
    return true;
}

static bool match(const struct uk_graph_node *n, struct chain *c) {
    struct uk_graph_value *a = NULL, *root, *again;
    const struct uk_graph_node *sqrt = made_by(divisor(n, &a), "Sqrt"),
                               *add = sqrt ? made_by(sqrt->input[0], "Add") : NULL, *mean = NULL;

    for (int i = 0; add && i < 2 && !mean; i++) {
        const struct uk_graph_value *epsilon = add->input[!i];
        if (epsilon && epsilon->data && uk_value_elements(epsilon) == 1 &&
            (mean = made_by(add->input[i], "ReduceMean")))
            c->epsilon = uk_constant_real(epsilon, 0);
    }
    root = mean ? root_of_square(mean->input[0]) : NULL;
    if (!root || !is_float(a) || a->rank != n->output[0]->rank || (c->axis = axis_of_mean(mean)) < 0)
        return false;
    c->x = a;
    if ((c->has_mean = is_centered(a, c)) && a != root) { /* exporters write the difference twice */
        again = c->x;
        return is_centered(root, c) && c->x == again;
    }
    return a == root;
}

/* Makes the node another operator with an integer as attribute, and epsilon. */
static enum uk_status replace(struct uk_graph *g, struct uk_graph_node *n, const char *type, int version,
                              const char *name, int64_t number, double epsilon, int inputs,
                              struct uk_graph_value *const *from) {
    struct uk_graph_value **input = uk_alloc(&g->arena, (size_t)inputs * sizeof *input);
    struct uk_attribute *attribute = uk_alloc(&g->arena, 2 * sizeof *attribute);

    if (!input || !attribute)
        return uk_graph_no_memory(g);
    attribute[0] = (struct uk_attribute){.name = name, .kind = UK_A_INT, .i = number};
    attribute[1] = (struct uk_attribute){.name = "epsilon", .kind = UK_A_FLOAT, .f = epsilon};
    for (int i = 0; i < inputs; i++) {
        input[i] = from[i];
        input[i]->uses++;
    }
    uk_node_release(n);
    n->input = input;
    n->inputs = inputs;
    n->type = type;
    n->version = version;
    n->attribute = attribute;
    n->attributes = 2;
    n->op = NULL;
    return UK_OK;
}

/* Returns the instance normalization of groups of x's channels whose result the node, a Reshape, gives x's
 * shape; else NULL. Channels of a group are next to each other in both shapes. */
static const struct uk_graph_node *groups_of(const struct uk_graph_node *n, struct uk_graph_value **x) {
    const struct uk_graph_node *in = strcmp(n->type, "Reshape") || *n->domain
                                         ? NULL
                                         : made_by(n->input[0], "InstanceNormalization"),
                               *to = in ? made_by(in->input[0], "Reshape") : NULL;
    const struct uk_graph_value *y = n->output[0];

    if (!to)
        return NULL;
    *x = to->input[0];
    const struct uk_graph_value *grouped = in->input[0];
    return (*x)->rank == y->rank && y->rank > 2 && grouped->rank == 3 &&
                   !memcmp((*x)->extent, y->extent, (size_t)y->rank * sizeof *y->extent) &&
                   grouped->extent[0] == y->extent[0] && grouped->extent[1] > 0 &&
                   y->extent[1] % grouped->extent[1] == 0
               ? in
               : NULL;
}

/* Replaces the last node of a chain. Scale and bias of an instance normalization are per group, as those of
 * GroupNormalization 18. */
static enum uk_status replace_chain(struct uk_graph *g, struct uk_graph_node *n) {
    struct uk_graph_value *x;
    struct chain c;

    if (match(n, &c))
        return replace(g, n, c.has_mean ? "LayerNormalization" : "RMSNormalization", UK_NODE_VERSION, "axis",
                       c.axis, c.epsilon, 1, &c.x);
    const struct uk_graph_node *in = groups_of(n, &x);
    if (!in)
        return UK_OK;
    struct uk_graph_value *const from[] = {x, in->input[1], in->input[2]};
    return replace(g, n, "GroupNormalization", 18, "num_groups", in->input[0]->extent[1],
                   uk_attribute_float(in, "epsilon", 1e-5), 3, from);
}

enum uk_status uk_rewrite_statistics(struct uk_graph *g) {
    enum uk_status s = UK_OK;

    for (struct uk_graph_node *n = g->nodes; n && !s; n = n->next)
        if (!n->is_folded && n->outputs == 1 && n->output[0])
            s = replace_chain(g, n);
    return s ? s : uk_rewrite_remove_dead(g);
}
