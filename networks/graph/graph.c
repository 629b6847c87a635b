/* SPDX-License-Identifier: Apache-2.0 */
/* Values, nodes and attributes; keeps the message of the first error. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "graph/graph.h"

void uk_graph_begin(struct uk_graph *g) {
    *g = (struct uk_graph){
        .name = "", .constant_room = UK_MAX_CONSTANT_BYTES, .term_room = UK_MAX_FOLDED_TERMS};
    g->end_of_values = &g->values;
}

void uk_graph_end(struct uk_graph *g) {
    uk_graph_unmap(g);
    uk_arena_free(&g->arena);
    free(g->message);
}

/* Replaces control characters, which names may contain, and cuts the message: it stays one readable line. */
static void one_line(char *text) {
    enum { LONGEST = 2000 };

    for (int i = 0; text[i]; i++)
        if (i == LONGEST)
            text[i] = 0;
        else if ((unsigned char)text[i] < ' ' || text[i] == 0x7f)
            text[i] = ' ';
}

static bool is_part_of_loop(const struct uk_graph_node *n) {
    return !strcmp(n->domain, UK_INTERNAL_DOMAIN) && !strncmp(n->type, "Loop", 4);
}

enum uk_status uk_graph_fail(struct uk_graph *g, enum uk_status s, const struct uk_graph_node *at,
                             const char *format, ...) {
    struct uk_text t = {0};
    va_list ap;
    char *what = NULL;

    if (g->status)
        return g->status;
    g->status = s;
    va_start(ap, format);
    int length = vsnprintf(NULL, 0, format, ap);
    va_end(ap);
    if (length >= 0 && (what = malloc((size_t)length + 1))) {
        va_start(ap, format);
        vsnprintf(what, (size_t)length + 1, format, ap);
        va_end(ap);
        uk_put(&t, "%.1000s: error: ", *g->name ? g->name : "network");
        if (at) /* parts of a loop have its name, but types that no model has */
            uk_put(&t, "%.80s%s%.200s: ", is_part_of_loop(at) ? "" : at->type, is_part_of_loop(at) ? "" : " ",
                   at->name);
        uk_put(&t, "%s", what);
    }
    free(what);
    free(g->message);
    g->message = t.text;
    if (g->message)
        one_line(g->message);
    return s;
}

enum uk_status uk_graph_no_memory(struct uk_graph *g) {
    return uk_graph_fail(g, UK_OUT_OF_MEMORY, NULL, "out of memory");
}

const char *uk_graph_reason(const struct uk_graph *g) {
    const char *message = g->message ? g->message : "out of memory", *error = strstr(message, "error: ");

    return error ? error + strlen("error: ") : message;
}

void uk_graph_retry(struct uk_graph *g) {
    free(g->message);
    g->message = NULL;
    g->status = UK_OK;
}

/* ---- values ---- */

struct uk_graph_value *uk_value_new(struct uk_graph *g, const char *name) {
    struct uk_graph_value *v = uk_alloc(&g->arena, sizeof *v);

    if (!v || !(v->name = uk_strdup(&g->arena, name)))
        return NULL;
    v->number = g->value_count++;
    v->type = UK_TYPES;
    v->first = v->last = -1;
    *g->end_of_values = v;
    g->end_of_values = &v->next;
    return v;
}

int64_t uk_value_elements(const struct uk_graph_value *v) {
    int64_t n = 1;
    bool empty = false;

    for (int i = 0; i < v->rank; i++) {
        empty |= v->extent[i] == 0;
        if (v->extent[i] && (__builtin_mul_overflow(n, v->extent[i], &n) || n > UK_MAX_ELEMENTS))
            return -1;
    }
    return empty ? 0 : n;
}

const int64_t *uk_stored_extents(const struct uk_graph_value *v) {
    return v->is_block && v->at ? v->at[0] : v->extent;
}

int64_t uk_stored_elements(const struct uk_graph_value *v) {
    const int64_t *extent = uk_stored_extents(v);
    int64_t all = 1;

    for (int d = 0; d < v->rank; d++)
        all *= extent[d];
    return all;
}

const char *uk_value_shape(const struct uk_graph_value *v) {
    static _Thread_local char text[4][UK_RANK * 21];
    static _Thread_local int turn;
    char *t = text[turn++ % 4];
    size_t used = 0;

    if (!v->has_shape)
        return "unknown";
    snprintf(t, sizeof text[0], "scalar");
    for (int i = 0; i < v->rank; i++)
        used += (size_t)snprintf(t + used, sizeof text[0] - used, "%s%" PRId64, i ? "x" : "", v->extent[i]);
    return t;
}

/* ---- nodes ---- */

const struct uk_attribute *uk_attribute_find(const struct uk_graph_node *n, const char *name) {
    for (int i = 0; i < n->attributes; i++)
        if (!strcmp(n->attribute[i].name, name))
            return &n->attribute[i];
    return NULL;
}

int64_t uk_attribute_int(const struct uk_graph_node *n, const char *name, int64_t otherwise) {
    const struct uk_attribute *a = uk_attribute_find(n, name);

    return a && a->kind == UK_A_INT ? a->i : otherwise;
}

double uk_attribute_float(const struct uk_graph_node *n, const char *name, double otherwise) {
    const struct uk_attribute *a = uk_attribute_find(n, name);

    return a && a->kind == UK_A_FLOAT ? a->f : otherwise;
}

const char *uk_attribute_string(const struct uk_graph_node *n, const char *name, const char *otherwise) {
    const struct uk_attribute *a = uk_attribute_find(n, name);

    return a && a->kind == UK_A_STRING ? a->s : otherwise;
}

struct uk_subgraph *uk_attribute_graph(const struct uk_graph_node *n, const char *name) {
    const struct uk_attribute *a = uk_attribute_find(n, name);

    return a && a->kind == UK_A_GRAPH ? a->graph : NULL;
}

struct uk_graph_value *uk_node_input(const struct uk_graph_node *n, int i) {
    return i < n->inputs ? n->input[i] : NULL;
}

struct uk_graph_node *uk_graph_node_new(struct uk_graph *g, const char *type, const char *name, int inputs,
                                        int outputs) {
    struct uk_graph_node *n = uk_alloc(&g->arena, sizeof *n);

    if (!n || !(n->input = uk_alloc(&g->arena, ((size_t)inputs + 1) * sizeof *n->input)) ||
        !(n->output = uk_alloc(&g->arena, ((size_t)outputs + 1) * sizeof *n->output)))
        return NULL;
    n->number = g->node_count++;
    n->type = type;
    n->domain = "";
    n->name = name;
    n->version = UK_NODE_VERSION;
    n->inputs = inputs;
    n->outputs = outputs;
    return n;
}

struct uk_graph_node *uk_identity_new(struct uk_graph *g, const char *name, struct uk_graph_value *from,
                                      struct uk_graph_value *to) {
    struct uk_graph_node *n = uk_graph_node_new(g, "Identity", name, 1, 1);

    if (!n)
        return NULL;
    n->input[0] = from;
    from->uses++;
    n->output[0] = to;
    to->producer = n;
    return n;
}

void uk_subgraph_release(struct uk_subgraph *sub) {
    for (struct uk_graph_node *n = sub->nodes; n; n = n->next)
        uk_node_release(n);
    for (int i = 0; i < sub->outputs; i++)
        sub->output[i]->uses--;
}

void uk_node_release(struct uk_graph_node *n) {
    for (int i = 0; i < n->inputs; i++)
        if (n->input[i])
            n->input[i]->uses--;
    for (int i = 0; i < n->attributes; i++)
        if (n->attribute[i].kind == UK_A_GRAPH)
            uk_subgraph_release(n->attribute[i].graph);
}
