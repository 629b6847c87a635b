/* SPDX-License-Identifier: Apache-2.0 */
/* The table of operators, and the walk over the nodes that infers shapes and folds constants. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "layers/layers.h"

#define UK_OPERATOR(name_, since_, ...) {.name = #name_, .domain = "", .since = since_, __VA_ARGS__},
#define UK_MICROSOFT(name_, ...) {.name = #name_, .domain = "com.microsoft", .since = 0, __VA_ARGS__},
#define UK_INTERNAL(name_, ...) {.name = #name_, .domain = UK_INTERNAL_DOMAIN, .since = 0, __VA_ARGS__},
static const struct uk_operator table[] = {
#include "layers/operators.def"
};
#undef UK_OPERATOR
#undef UK_MICROSOFT
#undef UK_INTERNAL

enum { ROWS = sizeof table / sizeof table[0] };

static bool knows(const struct uk_operator *op, const char *attribute) {
    const size_t length = strlen(attribute);

    for (const char *a = op->attributes; length && a && (a = strstr(a, attribute)); a += length)
        if ((a == op->attributes || a[-1] == ' ') && (!a[length] || a[length] == ' ' || a[length] == '='))
            return true;
    return false;
}

/* Attributes that are not integers. `value` is a float of Pad and a tensor of other operators. */
static const struct {
    const char *name;
    enum uk_attribute_kind kind;
} kinds[] = {
    /* clang-format off */
    {"activation", UK_A_STRING},
    {"activation_alpha", UK_A_FLOATS},
    {"activation_beta", UK_A_FLOATS},
    {"activation_params", UK_A_FLOATS},
    {"activations", UK_A_STRINGS},
    {"alpha", UK_A_FLOAT},
    {"approximate", UK_A_STRING},
    {"auto_pad", UK_A_STRING},
    {"axes", UK_A_INTS},
    {"beta", UK_A_FLOAT},
    {"bias", UK_A_FLOAT},
    {"body", UK_A_GRAPH},
    {"clip", UK_A_FLOAT},
    {"consumed_inputs", UK_A_INTS},
    {"coordinate_transformation_mode", UK_A_STRING},
    {"cubic_coeff_a", UK_A_FLOAT},
    {"dilations", UK_A_INTS},
    {"direction", UK_A_STRING},
    {"directions", UK_A_INTS},
    {"else_branch", UK_A_GRAPH},
    {"ends", UK_A_INTS},
    {"epsilon", UK_A_FLOAT},
    {"equation", UK_A_STRING},
    {"extrapolation_value", UK_A_FLOAT},
    {"fill", UK_A_FLOAT},
    {"gamma", UK_A_FLOAT},
    {"keep_aspect_ratio_policy", UK_A_STRING},
    {"kernel_shape", UK_A_INTS},
    {"lambd", UK_A_FLOAT},
    {"mask_filter_value", UK_A_FLOAT},
    {"max", UK_A_FLOAT},
    {"min", UK_A_FLOAT},
    {"mode", UK_A_STRING},
    {"momentum", UK_A_FLOAT},
    {"nearest_mode", UK_A_STRING},
    {"output_padding", UK_A_INTS},
    {"output_shape", UK_A_INTS},
    {"paddings", UK_A_INTS},
    {"padding_mode", UK_A_STRING},
    {"pads", UK_A_INTS},
    {"perm", UK_A_INTS},
    {"qkv_hidden_sizes", UK_A_INTS},
    {"ratio", UK_A_FLOAT},
    {"reduction", UK_A_STRING},
    {"round_mode", UK_A_STRING},
    {"scale", UK_A_FLOAT},
    {"scales", UK_A_FLOATS},
    {"scan_input_axes", UK_A_INTS},
    {"scan_input_directions", UK_A_INTS},
    {"scan_output_axes", UK_A_INTS},
    {"scan_output_directions", UK_A_INTS},
    {"shape", UK_A_INTS},
    {"softcap", UK_A_FLOAT},
    {"spatial_scale", UK_A_FLOAT},
    {"split", UK_A_INTS},
    {"starts", UK_A_INTS},
    {"strides", UK_A_INTS},
    {"then_branch", UK_A_GRAPH},
    {"update_rule", UK_A_STRING},
    {"value_float", UK_A_FLOAT},
    {"value_floats", UK_A_FLOATS},
    {"value_ints", UK_A_INTS},
    /* clang-format on */
};

static enum uk_attribute_kind kind_of(const struct uk_graph_node *n, const char *attribute) {
    if (!strcmp(attribute, "value"))
        return strcmp(n->type, "Pad") ? UK_A_TENSOR : UK_A_FLOAT;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (!strcmp(kinds[i].name, attribute))
            return kinds[i].kind;
    return UK_A_INT;
}

static enum uk_status check_attribute(struct uk_graph *g, const struct uk_graph_node *n,
                                      const struct uk_attribute *a) {
    static const char *const names[] = {
        "an integer",         "a number",          "a text",          "a tensor",
        "a list of integers", "a list of numbers", "a list of texts", "a graph"};
    const enum uk_attribute_kind kind = knows(n->op, a->name) ? kind_of(n, a->name) : UK_A_OTHER;
    bool has_nan = a->kind == UK_A_FLOAT && isnan(a->f);

    if (kind == UK_A_OTHER)
        return uk_graph_fail(g, UK_REFUSED, n, "attribute '%s' is not supported", a->name);
    if (a->kind != kind)
        return uk_graph_fail(g, UK_REFUSED, n, "attribute '%s' is not %s", a->name, names[kind]);
    for (int i = 0; i < a->count && kind == UK_A_FLOATS; i++)
        has_nan |= isnan(a->floats[i]);
    return has_nan && strncmp(a->name, "value", 5)
               ? uk_graph_fail(g, UK_REFUSED, n, "attribute '%s' is not a number", a->name)
               : UK_OK;
}

/* Returns the operator's row for the node's version; NULL: no row. *is_known: a row exists for another
 * version. */
static const struct uk_operator *row_of(const struct uk_graph_node *n, bool *is_known) {
    *is_known = false;
    for (int i = 0; i < ROWS; i++)
        if (!strcmp(table[i].name, n->type) && !strcmp(table[i].domain, n->domain)) {
            *is_known = true;
            if (n->version >= table[i].since)
                return &table[i];
        }
    return NULL;
}

/* Sets n->op; checks the node against it. */
static enum uk_status check_node(struct uk_graph *g, struct uk_graph_node *n) {
    enum uk_status s = UK_OK;
    bool is_known;

    if (!(n->op = row_of(n, &is_known)))
        return uk_graph_fail(g, UK_REFUSED, n, "this operator is not supported");
    if (n->inputs > UK_MAX_NODE_INPUTS)
        return uk_graph_fail(g, UK_REFUSED, n, "it has %d inputs; at most %d are supported", n->inputs,
                             UK_MAX_NODE_INPUTS);
    for (int i = 0; i < n->attributes && !s; i++)
        s = check_attribute(g, n, &n->attribute[i]);
    return s;
}

/* ---- what is missing, in one message ---- */

/* An operator without a row. */
struct missing {
    struct missing *next;
    const struct uk_graph_node *first;
    bool is_known;
    int count;
};

static bool is_same(const struct uk_graph_node *a, const struct uk_graph_node *b) {
    return !strcmp(a->type, b->type) && !strcmp(a->domain, b->domain);
}

/* "com.microsoft.Gelu (2 nodes, the first is 'gelu_1')" */
static void list_missing(struct uk_list *l, const struct missing *m) {
    const struct uk_graph_node *n = m->first;
    char where[32] = "", count[48] = "node";

    if (m->is_known)
        snprintf(where, sizeof where, " of operator set %d", n->version);
    if (m->count > 1)
        snprintf(count, sizeof count, "%d nodes, the first is", m->count);
    uk_list_put(l, ", ", "%.60s%s%.60s%s (%s '%.80s')", n->domain, *n->domain ? "." : "", n->type, where,
                count, n->name);
}

static enum uk_status refuse_missing(struct uk_graph *g, const struct missing *missing) {
    struct uk_list list = {.count = 0};

    for (const struct missing *m = missing; m; m = m->next)
        list_missing(&list, m);
    const int count = list.count;
    const char *text = uk_list_end(&list, &g->arena);
    return text ? uk_graph_fail(g, UK_REFUSED, NULL, "%d operator%s not supported: %s", count,
                                count == 1 ? " is" : "s are", text)
                : uk_graph_no_memory(g);
}

/* Refuses the network if operators of it have no row. It stops at MAX_MISSING operators, since a file may
 * have a different one in each node. */
static enum uk_status check_operators(struct uk_graph *g) {
    enum { MAX_MISSING = 256 };
    struct missing *missing = NULL, **end = &missing;
    int found = 0;

    for (const struct uk_graph_node *n = g->nodes; n && found < MAX_MISSING; n = n->next) {
        bool is_known;
        struct missing *m = missing;
        if (n->op || row_of(n, &is_known))
            continue;
        while (m && !is_same(m->first, n))
            m = m->next;
        if (!m) {
            if (!(m = *end = uk_alloc(&g->arena, sizeof *m)))
                return uk_graph_no_memory(g);
            *m = (struct missing){NULL, n, is_known, 0};
            end = &m->next;
            found++;
        }
        m->count++;
    }
    return missing ? refuse_missing(g, missing) : UK_OK;
}

/* Lists the inputs that are needed, and the options that give them. False: no memory. */
static bool list_needed(struct uk_graph *g, const char **which, const char **how) {
    struct uk_list inputs = {.count = 0}, options = {.count = 0};

    for (int i = 0; i < g->inputs; i++)
        if (g->input[i]->is_needed) {
            uk_list_put(&inputs, ", ", "'%s'", g->input[i]->name);
            uk_list_put(&options, " ", "--constant %s=FILE", g->input[i]->name);
        }
    *which = uk_list_end(&inputs, &g->arena);
    *how = uk_list_end(&options, &g->arena);
    return *which && *how;
}

/* Refuses the network, naming the inputs on whose values shapes depend. */
static enum uk_status refuse_needed(struct uk_graph *g) {
    const char *which, *how;

    return list_needed(g, &which, &how)
               ? uk_graph_fail(g, UK_REFUSED, NULL, "inputs must be known at compile time: %s; give %s",
                               which, how)
               : uk_graph_no_memory(g);
}

/* Adds to the message about a node of a branch the inputs that choose the branch, if they are small. */
static enum uk_status explain_branch(struct uk_graph *g, const struct uk_graph_node *n, enum uk_status s) {
    const struct uk_graph_region *r = n->region;
    const char *reason, *which, *how;

    while (r && !(r->is_branch && !r->condition->data))
        r = r->outside;
    if (s != UK_REFUSED || !r || !uk_mark_needed(g, r->condition))
        return s;
    if (!(reason = uk_strdup(&g->arena, uk_graph_reason(g))) || !list_needed(g, &which, &how))
        return uk_graph_no_memory(g);
    uk_graph_retry(g);
    return uk_graph_fail(g, s, NULL,
                         "%s; it is in a branch that a value of %s chooses: for another value give %s",
                         reason, which, how);
}

/* Refuses operands of different types, unless the operator allows them: the language does not combine them.
 */
static enum uk_status check_types(struct uk_graph *g, const struct uk_graph_node *n) {
    for (int i = 1; uk_node_is_elementwise(n) && i < n->inputs; i++)
        if (n->input[i] && n->input[0] && n->input[i]->type != n->input[0]->type && !n->op->is_mixed)
            return uk_graph_fail(g, UK_REFUSED, n, "inputs of types %s and %s cannot be combined",
                                 uk_type_name(n->input[0]->type), uk_type_name(n->input[i]->type));
    return UK_OK;
}

/* Refuses the node unless the inputs that its expression reads exist. */
static enum uk_status check_operands(struct uk_graph *g, const struct uk_graph_node *n) {
    const char *e = uk_node_is_elementwise(n) ? uk_expression_of(g, n) : "";
    enum uk_status s = e ? UK_OK : uk_graph_no_memory(g);

    for (; e && !s && (e = strchr(e, '$')); e++)
        s = uk_need_input(g, n, e[1] - '0');
    return s;
}

static bool is_constant(const struct uk_graph_node *n) {
    for (int i = 0; i < n->inputs; i++)
        if (n->input[i] && !n->input[i]->data)
            return false;
    return true;
}

static enum uk_status infer(struct uk_graph *g, struct uk_graph_node *n, uk_fold *fold, void *user) {
    enum uk_status s = check_types(g, n);

    if (!s)
        s = n->op->infer ? n->op->infer(g, n) : uk_infer_broadcast(g, n);
    if (!s)
        s = check_operands(g, n);
    for (int i = 0; i < n->outputs && !s; i++)
        if (n->output[i] && n->op->is_boolean)
            n->output[i]->is_boolean = true;
    if (!s && n->op->fold)
        s = n->op->fold(g, n);
    else if (!s && n->op->is_view)
        s = uk_fold_view(g, n);
    else if (!s && is_constant(n))
        s = fold(g, n, user);
    for (int i = 0; i < n->outputs && !s; i++)
        if (n->output[i] && n->output[i]->uses && !n->output[i]->has_shape)
            s = uk_graph_fail(g, UK_REFUSED, n, "its output '%s' is not supported", n->output[i]->name);
    n->is_folded = true;
    for (int i = 0; i < n->outputs; i++)
        n->is_folded &= !n->output[i] || !n->output[i]->uses || n->output[i]->data;
    return s;
}

static bool lacks_shape(const struct uk_graph_node *n) {
    for (int i = 0; i < n->inputs; i++)
        if (n->input[i] && !n->input[i]->has_shape)
            return true;
    return false;
}

/* Replaces the node, which is at *place, if its operator is one of those that others compute. */
static enum uk_status expand(struct uk_graph *g, struct uk_graph_node **place, bool *expanded) {
    struct uk_graph_node *n = *place, *first = NULL, **end = &first;
    enum uk_status s = check_node(g, n);

    if (s || !n->op->expand || (s = n->op->expand(g, n, &first)) || (!first && n->op->infer))
        return s;
    *expanded = true;
    for (; *end; end = &(*end)->next)
        if (!(*end)->region)
            (*end)->region = n->region;
    *end = n->next;
    *place = first;
    return UK_OK;
}

/* Goes on after a node whose result's shape depends on inputs' values, without the nodes that read it, in
 * order to name all such inputs at once. */
enum uk_status uk_infer(struct uk_graph *g, uk_fold *fold, void *user) {
    struct uk_graph_node **place = &g->nodes;
    enum uk_status s = check_operators(g);

    if (!s && g->unstated)
        s = uk_graph_fail(g, UK_REFUSED, NULL, "%s", g->unstated);
    while (*place && !s) {
        struct uk_graph_node *n = *place;
        const bool needed = g->needs_values;
        bool expanded = false;
        if (n->op || (needed && lacks_shape(n))) {
            place = &n->next;
            continue;
        }
        g->needs_values = false;
        g->inferred = n;
        s = expand(g, place, &expanded);
        if (!s && !expanded)
            s = infer(g, n, fold, user);
        if (s && g->needs_values) {
            uk_graph_retry(g);
            s = UK_OK;
        } else if (s) {
            s = explain_branch(g, n, s);
        }
        g->needs_values |= needed;
        if (!expanded)
            place = &n->next;
    }
    g->inferred = NULL;
    return !s && g->needs_values ? refuse_needed(g) : s;
}
