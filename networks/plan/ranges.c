/* SPDX-License-Identifier: Apache-2.0 */
/* Programs of layers with open sizes: the plan is that of point 0; the texts are written at each point. */
#include <stdlib.h>
#include <string.h>
#include "plan/plan.h"

struct ranging {
    struct uk_plan *p;
    struct uk_open_text *text; /* by layer */
    int64_t **slice_at;        /* by value: its place in its storage at each point; NULL: no slice */
    struct uk_arena arena;
};

static bool allocate(struct ranging *r) {
    const size_t points = (size_t)r->p->g->points.count;

    r->text = uk_alloc(&r->arena, ((size_t)r->p->count + 1) * sizeof *r->text);
    r->slice_at = uk_alloc(&r->arena, ((size_t)r->p->g->value_count + 1) * sizeof *r->slice_at);
    if (!r->text || !r->slice_at)
        return false;
    for (int i = 0; i < r->p->count; i++) {
        struct uk_open_text *t = &r->text[i];
        t->text = uk_alloc(&r->arena, points * sizeof *t->text);
        t->tensor = uk_alloc(&r->arena, points * sizeof *t->tensor);
        t->tensors = uk_alloc(&r->arena, points * sizeof *t->tensors);
        if (!t->text || !t->tensor || !t->tensors)
            return false;
    }
    for (const struct uk_graph_value *v = r->p->g->values; v; v = v->next)
        if (v->is_slice && !(r->slice_at[v->number] = uk_alloc(&r->arena, points * sizeof(int64_t))))
            return false;
    return true;
}

/* ---- one point ---- */

static bool note_tensors(struct ranging *r, struct uk_open_text *t, int point, const struct uk_writer *w) {
    struct uk_tensor_name *list = uk_alloc(&r->arena, ((size_t)w->tensors + 1) * sizeof *list);

    for (int i = 0; list && i < w->tensors; i++)
        if (!w->tensor[i].is_temp) {
            struct uk_tensor_name *named = &list[t->tensors[point]++];
            memcpy(named->name, w->tensor[i].name, sizeof named->name);
            named->value = w->tensor[i].value->number;
        }
    t->tensor[point] = list;
    return list;
}

/* True if the value has no elements at any point. */
static bool is_always_empty(const struct uk_graph *g, const struct uk_graph_value *v) {
    bool empty = !uk_value_elements(v);

    for (int p = 0; v->at && p < g->points.count && empty; p++) {
        empty = false;
        for (int d = 0; d < v->rank; d++)
            empty |= v->at[p][d] == 0;
    }
    return empty;
}

/* Writes the layer's program at the point, unless its result is empty there and not elsewhere. */
static enum uk_status write_layer(struct ranging *r, struct uk_layer *l, int point) {
    struct uk_writer w = {
        .g = r->p->g, .result = l->result, .node = l->node, .nodes = l->nodes, .marks_constants = true};
    struct uk_open_text *t = &r->text[l->number];
    const char *text = NULL;
    enum uk_status s = UK_OK;

    if (uk_value_elements(l->result) || is_always_empty(r->p->g, l->result))
        s = uk_write_program(&w, &text);
    if (!s && text && !(t->text[point] = uk_strdup(&r->arena, text)))
        s = uk_graph_no_memory(r->p->g);
    if (!s && !note_tensors(r, t, point, &w))
        s = uk_graph_no_memory(r->p->g);
    if (!s && point == r->p->g->points.base)
        s = uk_layer_take_arguments(r->p, l, &w);
    uk_writer_end(&w);
    return s;
}

static enum uk_status write_point(struct ranging *r, int point) {
    const struct uk_mark mark = uk_arena_mark(&r->p->g->arena);
    enum uk_status s = UK_OK;

    uk_graph_set_point(r->p->g, point);
    uk_move_slices(r->p->g);
    for (const struct uk_graph_value *v = r->p->g->values; v; v = v->next)
        if (v->is_slice)
            r->slice_at[v->number][point] = v->slice_at;
    for (struct uk_layer *l = r->p->layers; l && !s; l = l->next)
        s = write_layer(r, l, point);
    if (point != r->p->g->points.base) /* the texts are copied; arguments, at the base, are not */
        uk_arena_release(&r->p->g->arena, mark);
    return s;
}

/* ---- all points ---- */

/* True if the layers have the same text at all points. */
static bool is_same_text(const struct ranging *r, const struct uk_layer *a, const struct uk_layer *b) {
    const struct uk_open_text *ta = &r->text[a->number], *tb = &r->text[b->number];
    bool same = true;

    for (int p = 0; p < r->p->g->points.count && same; p++)
        same = !ta->text[p] == !tb->text[p] && (!ta->text[p] || !strcmp(ta->text[p], tb->text[p]));
    return same;
}

static enum uk_status unite(struct ranging *r, struct uk_layer *l, const char *stem, struct uk_context *c) {
    struct uk_open_text *t = &r->text[l->number];
    const struct uk_layer *like = r->p->layers;
    const struct uk_graph_node *last = l->node[l->nodes - 1];
    enum uk_status s = UK_OK;

    while (like != l && !is_same_text(r, like, l))
        like = like->next;
    if (like != l)
        *t = r->text[like->number];
    else
        s = uk_open_unite(r->p->g, c, t, last, last->name);
    l->sizes = t->sizes;
    l->size = t->size;
    return s ? s : uk_layer_take_text(r->p, l, stem, t->open);
}

static enum uk_status form_of(struct ranging *r, struct uk_graph_value *v, const int64_t *zero) {
    const int64_t *at = v && v->is_slice ? r->slice_at[v->number] : zero;

    if (v && !v->data && !v->follows && v->number >= r->p->g->points.values)
        return uk_graph_fail(r->p->g, UK_REFUSED, v->producer,
                             "the extents of '%s' at the points of open sizes are not known", v->name);
    if (!v || v->form || (v->data && !v->is_block) || (!v->at && !v->is_slice))
        return UK_OK;
    return uk_open_value(r->p->g, v, at);
}

/* Finds the forms of all values that layers use. */
static enum uk_status find_forms(struct ranging *r) {
    struct uk_graph *g = r->p->g;
    int64_t *zero = uk_alloc(&r->arena, (size_t)g->points.count * sizeof *zero);
    enum uk_status s = zero ? UK_OK : uk_graph_no_memory(g);

    for (int i = 0; i < g->inputs && !s; i++)
        s = form_of(r, g->input[i], zero);
    for (const struct uk_graph_node *n = g->nodes; n && !s; n = n->next) {
        for (int i = 0; i < n->inputs && !n->is_folded && !s; i++)
            s = form_of(r, n->input[i], zero);
        for (int i = 0; i < n->outputs && !n->is_folded && !s; i++)
            if (n->output[i] && n->output[i]->uses)
                s = form_of(r, n->output[i], zero);
    }
    return s;
}

enum uk_status uk_layers_write_open(struct uk_plan *p, const char *stem, struct uk_context *c) {
    struct ranging r = {.p = p};
    enum uk_status s = allocate(&r) ? UK_OK : uk_graph_no_memory(p->g);

    for (int point = p->g->points.count - 1; point >= 0 && !s; point--)
        s = write_point(&r, point); /* point 0 last: the graph stays at it */
    for (struct uk_layer *l = p->layers; l && !s; l = l->next)
        s = unite(&r, l, stem, c);
    if (!s)
        s = find_forms(&r);
    uk_arena_free(&r.arena);
    return s;
}
