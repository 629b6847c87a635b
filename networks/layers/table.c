/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of operators, and the walk over the nodes that infers shapes and computes constants. */
#include <string.h>
#include "layers/layers.h"

#define UK_OPERATOR(name_, since_, ...) {.name = #name_, .domain = "", .since = since_, __VA_ARGS__},
#define UK_MICROSOFT(name_, ...) {.name = #name_, .domain = "com.microsoft", .since = 0, __VA_ARGS__},
static const struct uk_operator table[] = {
#include "layers/operators.def"
};
#undef UK_OPERATOR
#undef UK_MICROSOFT

enum { ROWS = sizeof table / sizeof table[0] };

static bool knows(const struct uk_operator *op, const char *attribute) {
    const size_t length = strlen(attribute);

    for (const char *a = op->attributes; length && a && (a = strstr(a, attribute)); a += length)
        if ((a == op->attributes || a[-1] == ' ') && (!a[length] || a[length] == ' ' || a[length] == '='))
            return true;
    return false;
}

enum uk_status uk_operator_find(struct uk_graph *g, struct uk_graph_node *n) {
    bool is_known = false;

    for (int i = 0; i < ROWS && !n->op; i++)
        if (!strcmp(table[i].name, n->type) && !strcmp(table[i].domain, n->domain)) {
            is_known = true;
            if (n->version >= table[i].since)
                n->op = &table[i];
        }
    if (!n->op)
        return uk_graph_fail(g, UK_REFUSED, n,
                             is_known ? "not supported in operator set %d" : "no such operator is supported",
                             n->version);
    for (int i = 0; i < n->attributes; i++)
        if (!knows(n->op, n->attribute[i].name))
            return uk_graph_fail(g, UK_REFUSED, n, "attribute %s is not supported", n->attribute[i].name);
    return UK_OK;
}

/* What the language computes with, element by element. */
static enum uk_status check_types(struct uk_graph *g, const struct uk_graph_node *n) {
    for (int i = 1; uk_node_is_elementwise(n) && i < n->inputs; i++)
        if (n->input[i] && n->input[0] && n->input[i]->type != n->input[0]->type && !n->op->is_mixed)
            return uk_graph_fail(g, UK_REFUSED, n, "inputs of types %s and %s",
                                 uk_type_name(n->input[0]->type), uk_type_name(n->input[i]->type));
    return UK_OK;
}

static bool is_constant(const struct uk_graph_node *n) {
    for (int i = 0; i < n->inputs; i++)
        if (n->input[i] && !n->input[i]->data)
            return false;
    return true;
}

static enum uk_status infer(struct uk_graph *g, struct uk_graph_node *n, uk_fold *fold, void *user) {
    enum uk_status s = uk_operator_find(g, n);

    if (!s)
        s = check_types(g, n);
    if (!s)
        s = n->op->infer ? n->op->infer(g, n) : uk_infer_broadcast(g, n);
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
            s = uk_graph_fail(g, UK_REFUSED, n, "its output %s is not supported", n->output[i]->name);
    n->is_folded = true;
    for (int i = 0; i < n->outputs; i++)
        n->is_folded &= !n->output[i] || !n->output[i]->uses || n->output[i]->data;
    return s;
}

enum uk_status uk_infer(struct uk_graph *g, uk_fold *fold, void *user) {
    enum uk_status s = UK_OK;

    for (struct uk_graph_node *n = g->nodes; n && !s; n = n->next)
        s = infer(g, n, fold, user);
    return s;
}
