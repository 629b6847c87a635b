/* SPDX-License-Identifier: Apache-2.0 */
/* Infers the graph at each point and compares it with the one at point 0. */
#include <stdlib.h>
#include <string.h>
#include "ranges/ranges.h"

/* ---- copies of a graph ---- */

/* Values and nodes of a graph by number, and their copies. */
struct copying {
    struct uk_graph *to;
    struct uk_graph_value **value;
};

static struct uk_graph_value **values_of(struct copying *c, struct uk_graph_value *const *from, int count) {
    struct uk_graph_value **list = uk_alloc(&c->to->arena, ((size_t)count + 1) * sizeof *list);

    for (int i = 0; list && i < count; i++)
        list[i] = from[i] ? c->value[from[i]->number] : NULL;
    return list;
}

static bool copy_values(struct copying *c, const struct uk_graph *from) {
    for (const struct uk_graph_value *v = from->values; v; v = v->next) {
        struct uk_graph_value *copy = uk_alloc(&c->to->arena, sizeof *copy);
        if (!copy)
            return false;
        *copy = *v;
        copy->next = NULL;
        copy->producer = NULL;
        c->value[v->number] = copy;
        *c->to->end_of_values = copy;
        c->to->end_of_values = &copy->next;
    }
    return true;
}

static bool copy_nodes(struct copying *c, const struct uk_graph_node *from, struct uk_graph_node **to);

static struct uk_subgraph *copy_subgraph(struct copying *c, const struct uk_subgraph *from) {
    struct uk_subgraph *copy = uk_alloc(&c->to->arena, sizeof *copy);

    if (!copy)
        return NULL;
    *copy = *from;
    copy->nodes = NULL;
    copy->input = values_of(c, from->input, from->inputs);
    copy->output = values_of(c, from->output, from->outputs);
    return copy->input && copy->output && copy_nodes(c, from->nodes, &copy->nodes) ? copy : NULL;
}

/* Copies the node's attributes if graphs are among them, since inference changes these. */
static bool copy_graphs(struct copying *c, struct uk_graph_node *n) {
    struct uk_attribute *copy;
    bool any = false;

    for (int i = 0; i < n->attributes; i++)
        any |= n->attribute[i].kind == UK_A_GRAPH;
    if (!any)
        return true;
    if (!(copy = uk_alloc(&c->to->arena, (size_t)n->attributes * sizeof *copy)))
        return false;
    memcpy(copy, n->attribute, (size_t)n->attributes * sizeof *copy);
    n->attribute = copy;
    for (int i = 0; i < n->attributes; i++)
        if (copy[i].kind == UK_A_GRAPH && !(copy[i].graph = copy_subgraph(c, copy[i].graph)))
            return false;
    return true;
}

static bool copy_nodes(struct copying *c, const struct uk_graph_node *from, struct uk_graph_node **to) {
    for (const struct uk_graph_node *n = from; n; n = n->next) {
        struct uk_graph_node *copy = uk_alloc(&c->to->arena, sizeof *copy);
        if (!copy)
            return false;
        *copy = *n;
        copy->next = NULL;
        copy->input = values_of(c, n->input, n->inputs);
        copy->output = values_of(c, n->output, n->outputs);
        if (!copy->input || !copy->output || !copy_graphs(c, copy))
            return false;
        for (int i = 0; i < n->outputs; i++)
            if (copy->output[i])
                copy->output[i]->producer = copy;
        *to = copy;
        to = &copy->next;
    }
    return true;
}

enum uk_status uk_open_copy(const struct uk_graph *g, struct uk_graph *copy) {
    struct copying c = {copy, calloc((size_t)g->value_count + 1, sizeof *c.value)};
    bool made = c.value;

    uk_graph_begin(copy);
    copy->name = g->name;
    copy->largest = g->largest ? g->largest : g;
    copy->value_count = g->value_count;
    copy->node_count = g->node_count;
    copy->inputs = g->inputs;
    copy->outputs = g->outputs;
    copy->size = g->size;
    copy->sizes = g->sizes;
    copy->open_count = g->open_count;
    copy->constant_room = g->constant_room;
    made = made && copy_values(&c, g) && copy_nodes(&c, g->nodes, &copy->nodes) &&
           (copy->input = values_of(&c, g->input, g->inputs)) &&
           (copy->output = values_of(&c, g->output, g->outputs));
    free(c.value);
    return made ? UK_OK : uk_graph_no_memory(copy);
}

/* ---- inference at a point ---- */

struct evaluation {
    struct uk_graph *g; /* at point 0 */
    struct uk_context *context;
    struct uk_graph_value **value; /* of g by number */
    struct uk_graph_node **node;   /* of g by number */
    int point;
    /* Large constants that are computed at run time are not computed at further points: their elements do not
     * matter there, unless a smaller constant is made of them. Then all are computed. */
    bool *skipped; /* by value: at this point */
    bool skips, needs_skipped, computes_all;
};

static bool has_same_shape(const struct uk_graph_value *a, const struct uk_graph_value *b) {
    return a->type == b->type && a->rank == b->rank &&
           !memcmp(a->extent, b->extent, (size_t)a->rank * sizeof *a->extent);
}

static bool has_same_elements(const struct uk_graph_value *a, const struct uk_graph_value *b) {
    return has_same_shape(a, b) &&
           (a->data == b->data ||
            !memcmp(a->data, b->data, (size_t)uk_value_elements(a) * uk_type_bytes(a->type)));
}

/* True if the node computes what it computes at point 0: its inputs are the same constants. */
static bool is_unchanged(const struct evaluation *e, const struct uk_graph_node *n) {
    const struct uk_graph_node *like = e->node[n->number];
    bool same = like && like->inputs == n->inputs && like->outputs == n->outputs && like->is_folded;

    for (int i = 0; i < n->inputs && same; i++)
        same = !n->input[i] || (like->input[i] && like->input[i]->data && n->input[i]->data &&
                                has_same_elements(n->input[i], like->input[i]));
    for (int i = 0; i < n->outputs && same; i++)
        same = !n->output[i] || (like->output[i]->data && has_same_shape(n->output[i], like->output[i]));
    return same;
}

/* Constants of more bytes that are no blocks are computed at run time, so that their elements at points do
 * not matter. */
enum { MOST_KEPT_BYTES = 1 << 16 };

/* True if elements of all results were seen at earlier points to be no blocks, and are too many to be kept.
 */
static bool is_skipped(const struct evaluation *e, const struct uk_graph_node *n) {
    bool skipped = !e->computes_all && n->outputs;

    for (int i = 0; i < n->outputs && skipped; i++) {
        const struct uk_graph_value *v = n->output[i];
        const struct uk_graph_value *like = v && v->number < e->g->value_count ? e->value[v->number] : NULL;
        skipped = like && like->data && like->data_at && !like->is_block && v->has_shape &&
                  uk_value_elements(v) * (int64_t)uk_type_bytes(v->type) > MOST_KEPT_BYTES &&
                  uk_value_elements(v) <= uk_value_elements(like);
    }
    return skipped;
}

/* True if the value has the elements, or a view of them, of a constant that was not computed. */
static bool has_skipped_elements(const struct evaluation *e, const struct uk_graph_value *v) {
    while (v && v->producer && v->producer->op && v->producer->op->is_view)
        v = v->producer->input[0];
    return v && v->number < e->g->value_count && e->skipped[v->number];
}

/* Implements uk_fold: takes unchanged constants, and those that are skipped, from point 0; and leaves to run
 * time what is left to it there. */
static enum uk_status fold(struct uk_graph *g, struct uk_graph_node *n, void *user) {
    struct evaluation *e = user;
    if (e->node[n->number] && !e->node[n->number]->is_folded)
        return UK_OK;
    const bool unchanged = is_unchanged(e, n), skipped = !unchanged && is_skipped(e, n);

    if (!unchanged && !skipped) {
        for (int i = 0; i < n->inputs; i++)
            e->needs_skipped |= has_skipped_elements(e, n->input[i]);
        return uk_fold_by_interpreter(g, n, e->context);
    }
    e->skips |= skipped;
    for (int i = 0; i < n->outputs; i++)
        if (n->output[i]) {
            n->output[i]->data = e->value[n->output[i]->number]->data;
            e->skipped[n->output[i]->number] = skipped;
        }
    return UK_OK;
}

static enum uk_status infer(struct evaluation *e, struct uk_graph *at) {
    enum uk_status s = UK_OK;

    for (int i = 0; i < at->inputs; i++)
        for (int d = 0; at->input[i]->dimension && d < at->input[i]->rank; d++)
            if (at->input[i]->dimension[d])
                uk_size_extent(at, at->input[i]->dimension[d], &at->input[i]->extent[d]);
    for (int i = 0; i < at->inputs && !s; i++)
        if (uk_value_elements(at->input[i]) < 0)
            s = uk_graph_fail(at, UK_REFUSED, NULL, "input '%s' is too large", at->input[i]->name);
    return s ? s : uk_infer(at, fold, e);
}

/* ---- comparison with point 0 ---- */

/* True if the node has the same operator and values. Its constants may be others. */
static bool has_same_form(const struct uk_graph_node *a, const struct uk_graph_node *b) {
    bool same = a->number == b->number && a->op == b->op && a->inputs == b->inputs &&
                a->outputs == b->outputs && (b->is_folded || !a->is_folded);

    for (int i = 0; i < a->inputs && same; i++)
        same = !a->input[i] == !b->input[i] && (!a->input[i] || a->input[i]->number == b->input[i]->number);
    for (int i = 0; i < a->outputs && same; i++)
        same = !a->output[i] == !b->output[i] &&
               (!a->output[i] ||
                (a->output[i]->rank == b->output[i]->rank && a->output[i]->type == b->output[i]->type));
    return same;
}

static bool has_same_list(const struct uk_attribute *a, const struct uk_attribute *b) {
    return a->count == b->count &&
           (!a->count || !memcmp(a->ints, b->ints, (size_t)a->count * sizeof *a->ints));
}

/* Compares attributes, which nodes that take the place of another one compute from its shapes. Notes integers
 * that depend on the point. False: others do, or no memory. */
static bool note_attribute(struct evaluation *e, struct uk_attribute *a, const struct uk_attribute *at) {
    const size_t points = (size_t)e->g->points.count;

    if (a->kind != at->kind || strcmp(a->name, at->name) != 0)
        return false;
    if (a->kind == UK_A_INTS)
        return has_same_list(a, at);
    if (a->kind == UK_A_FLOAT)
        return !memcmp(&a->f, &at->f, sizeof a->f);
    if (a->kind == UK_A_STRING)
        return !strcmp(a->s, at->s);
    if (a->kind != UK_A_INT || (!a->at && a->i == at->i))
        return true;
    if (!a->at) {
        if (!(a->at = uk_alloc(&e->g->arena, points * sizeof *a->at)))
            return false;
        for (size_t p = 0; p < points; p++)
            a->at[p] = a->i;
        a->next_open = e->g->open_attributes;
        e->g->open_attributes = a;
    }
    a->at[e->point] = at->i;
    return true;
}

static bool note_attributes(struct evaluation *e, const struct uk_graph_node *n,
                            const struct uk_graph_node *at) {
    bool noted = n->attributes == at->attributes;

    for (int i = 0; i < n->attributes && noted && n->attribute != at->attribute; i++)
        noted = note_attribute(e, &n->attribute[i], &at->attribute[i]);
    return noted;
}

static enum uk_status compare_nodes(struct evaluation *e, const struct uk_graph *at) {
    const struct uk_graph_node *a = e->g->nodes, *b = at->nodes;

    while (a && b && has_same_form(a, b) && note_attributes(e, a, b)) {
        a = a->next;
        b = b->next;
    }
    return a || b || e->g->value_count != at->value_count
               ? uk_graph_fail(e->g, UK_REFUSED, a, "at %s the network has another form here",
                               uk_point_text(e->g, e->point))
               : UK_OK;
}

/* ---- what depends on the point ---- */

/* True if a's elements, constants of the same type, are the first ones of b's in each dimension. */
static bool is_first_block(const struct uk_graph_value *a, const struct uk_graph_value *b) {
    const size_t bytes = uk_type_bytes(a->type);
    const int64_t row = a->rank ? a->extent[a->rank - 1] : 1, elements = uk_value_elements(a);
    int64_t stride[UK_RANK];

    for (int d = 0; d < a->rank; d++)
        if (a->extent[d] > b->extent[d])
            return false;
    uk_value_strides(b, stride);
    for (int64_t i = 0; i < elements; i += row) {
        int64_t rest = i / row, from = 0;
        for (int d = a->rank - 2; d >= 0; d--) {
            from += rest % a->extent[d] * stride[d];
            rest /= a->extent[d];
        }
        if (memcmp((const char *)a->data + (size_t)i * bytes, (const char *)b->data + (size_t)from * bytes,
                   (size_t)row * bytes) != 0)
            return false;
    }
    return true;
}

/* Notes the elements of a constant at the point. v: at point 0; at: here. */
static bool note_elements(struct evaluation *e, struct uk_graph_value *v, const struct uk_graph_value *at) {
    struct uk_arena *arena = &e->g->arena;
    const size_t points = (size_t)e->g->points.count,
                 bytes = (size_t)uk_value_elements(at) * uk_type_bytes(at->type);
    const bool is_first = !v->data_at;

    if (is_first && !(v->data_at = uk_alloc(arena, points * sizeof *v->data_at)))
        return false;
    for (size_t p = 0; p < points && is_first; p++)
        v->data_at[p] = v->data;
    v->is_block = (is_first || v->is_block) && is_first_block(at, v);
    if (bytes > MOST_KEPT_BYTES)
        return true;
    void *copy = uk_alloc(arena, bytes + 1);
    if (copy)
        memcpy(copy, at->data, bytes);
    v->data_at[e->point] = copy;
    return copy;
}

static bool note_extents(struct evaluation *e, struct uk_graph_value *v, const struct uk_graph_value *at) {
    const size_t points = (size_t)e->g->points.count;

    if (!v->at) {
        if (!(v->at = uk_alloc(&e->g->arena, points * sizeof *v->at)))
            return false;
        for (size_t p = 0; p < points; p++)
            memcpy(v->at[p], v->extent, sizeof v->extent);
    }
    memcpy(v->at[e->point], at->extent, sizeof at->extent);
    return true;
}

static enum uk_status note_values(struct evaluation *e, const struct uk_graph *at) {
    for (const struct uk_graph_value *a = at->values; a; a = a->next) {
        struct uk_graph_value *v = e->value[a->number];
        bool noted = true;

        if (!v->has_shape || !a->has_shape || v->rank != a->rank || v->type != a->type)
            continue;
        if (!has_same_shape(v, a))
            noted = note_extents(e, v, a);
        if (noted && v->data && a->data && !has_same_elements(v, a))
            noted = note_elements(e, v, a);
        if (!noted)
            return uk_graph_no_memory(e->g);
    }
    return UK_OK;
}

/* ---- all points ---- */

static enum uk_status evaluate(struct evaluation *e, struct uk_graph *before) {
    struct uk_graph at;
    enum uk_status s;

    for (int i = 0; i < e->g->open_count; i++)
        before->size[e->g->open[i] - e->g->size].value = e->g->points.size[e->point][i] * e->g->open[i]->step;
    memset(e->skipped, 0, (size_t)e->g->value_count * sizeof *e->skipped);
    e->skips = e->needs_skipped = false;
    s = uk_open_copy(before, &at);
    if (!s)
        s = infer(e, &at);
    if (e->skips && (s || e->needs_skipped)) {
        uk_graph_end(&at);
        e->computes_all = true;
        return evaluate(e, before);
    }
    if (s)
        uk_graph_fail(e->g, s, NULL, "at %s: %s", uk_point_text(e->g, e->point), uk_graph_reason(&at));
    if (!s)
        s = compare_nodes(e, &at);
    if (!s)
        s = note_values(e, &at);
    uk_graph_end(&at);
    return s;
}

enum uk_status uk_open_evaluate(struct uk_graph *g, struct uk_graph *copy, struct uk_context *c) {
    struct evaluation e = {.g = g,
                           .context = c,
                           .value = calloc((size_t)g->value_count + 1, sizeof *e.value),
                           .node = calloc((size_t)g->node_count + 1, sizeof *e.node),
                           .skipped = calloc((size_t)g->value_count + 1, sizeof *e.skipped)};
    enum uk_status s = e.value && e.node && e.skipped ? UK_OK : uk_graph_no_memory(g);

    for (struct uk_graph_value *v = g->values; v && !s; v = v->next)
        e.value[v->number] = v;
    for (struct uk_graph_node *n = g->nodes; n && !s; n = n->next)
        e.node[n->number] = n;
    for (e.point = 1; e.point < g->points.count && !s; e.point++)
        s = evaluate(&e, copy);
    for (struct uk_graph_value *v = g->values; v && !s; v = v->next)
        if (v->is_block)
            v->data_at = NULL; /* programs read the elements of point 0 */
    g->points.values = g->value_count;
    free(e.value);
    free(e.node);
    free(e.skipped);
    uk_graph_set_point(g, 0);
    return s;
}
