/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the nodes that take the place of one whose operator has `expand`. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "layers/layers.h"

struct uk_expansion uk_expansion_begin(struct uk_graph *g, struct uk_graph_node *n,
                                       struct uk_graph_node **first) {
    return (struct uk_expansion){.g = g, .n = n, .end = first, .region = n->region};
}

enum uk_status uk_expansion_end(struct uk_expansion *e) {
    if (e->failed)
        return uk_graph_no_memory(e->g);
    uk_node_release(e->n);
    return UK_OK;
}

struct uk_graph_value *uk_expand_to(struct uk_expansion *e, struct uk_graph_value *to, const char *type,
                                    int inputs, ...) {
    struct uk_graph_node *n = uk_graph_node_new(e->g, type, e->n->name, inputs, 1);
    struct uk_graph_value *v = to ? to : uk_value_new(e->g, e->n->name);
    va_list ap;

    if (!n || !v) {
        e->failed = true;
        return v ? v : &e->missing;
    }
    va_start(ap, inputs);
    for (int i = 0; i < inputs; i++) {
        n->input[i] = va_arg(ap, struct uk_graph_value *);
        if (n->input[i])
            n->input[i]->uses++;
    }
    va_end(ap);
    n->output[0] = v;
    v->producer = n;
    n->region = e->region;
    *e->end = e->last = n;
    e->end = &n->next;
    return v;
}

static void set(struct uk_expansion *e, const struct uk_attribute *a) {
    struct uk_graph_node *n = e->failed ? NULL : e->last;
    struct uk_attribute *list = n ? uk_alloc(&e->g->arena, ((size_t)n->attributes + 1) * sizeof *list) : NULL;

    if (!list) {
        e->failed = true;
        return;
    }
    if (n->attributes)
        memcpy(list, n->attribute, (size_t)n->attributes * sizeof *list);
    list[n->attributes++] = *a;
    n->attribute = list;
}

void uk_expand_domain(struct uk_expansion *e, const char *domain) {
    if (e->last)
        e->last->domain = domain;
}

void uk_expand_int(struct uk_expansion *e, const char *name, int64_t v) {
    set(e, &(struct uk_attribute){.name = name, .kind = UK_A_INT, .i = v});
}

void uk_expand_float(struct uk_expansion *e, const char *name, double v) {
    set(e, &(struct uk_attribute){.name = name, .kind = UK_A_FLOAT, .f = v});
}

void uk_expand_text(struct uk_expansion *e, const char *name, const char *v) {
    set(e, &(struct uk_attribute){.name = name, .kind = UK_A_STRING, .s = v});
}

void uk_expand_same(struct uk_expansion *e, const char *names) {
    char name[40];
    int length;

    for (; sscanf(names, " %39s%n", name, &length) == 1; names += length) {
        const struct uk_attribute *a = uk_attribute_find(e->n, name);
        if (a)
            set(e, a);
    }
}

void uk_expand_list(struct uk_expansion *e, const char *name, int count, const int64_t *v) {
    int64_t *copy = uk_alloc(&e->g->arena, ((size_t)count + 1) * sizeof *copy);

    if (!copy) {
        e->failed = true;
        return;
    }
    memcpy(copy, v, (size_t)count * sizeof *copy);
    set(e, &(struct uk_attribute){.name = name, .kind = UK_A_INTS, .count = count, .ints = copy});
}

static struct uk_graph_value *constant(struct uk_expansion *e, enum uk_type type, int rank, int64_t count,
                                       void **data) {
    struct uk_graph_value *v = uk_value_new(e->g, e->n->name);

    if (!v || !(*data = uk_value_constant(e->g, v, type, rank, &count))) {
        e->failed = true;
        *data = NULL;
    }
    return v ? v : &e->missing;
}

struct uk_graph_value *uk_expand_ints(struct uk_expansion *e, int count, const int64_t *list) {
    void *data;
    struct uk_graph_value *v = constant(e, UK_I64, 1, count, &data);

    if (data)
        memcpy(data, list, (size_t)count * sizeof *list);
    return v;
}

struct uk_graph_value *uk_expand_real(struct uk_expansion *e, enum uk_type type, double real) {
    void *data;
    struct uk_graph_value *v = constant(e, type, 0, 0, &data);

    if (data && type == UK_F64)
        *(double *)data = real;
    else if (data)
        *(float *)data = (float)real;
    return v;
}

struct uk_graph_value *uk_expand_reshape(struct uk_expansion *e, struct uk_graph_value *to,
                                         struct uk_graph_value *v, int rank, const int64_t *extent) {
    struct uk_graph_value *shape = uk_expand_ints(e, rank, extent);

    v = uk_expand_to(e, to, "Reshape", 2, v, shape);
    uk_expand_int(e, "allowzero", 1);
    return v;
}

struct uk_graph_value *uk_expand_transpose(struct uk_expansion *e, struct uk_graph_value *to,
                                           struct uk_graph_value *v, int rank, const int64_t *perm) {
    v = uk_expand_to(e, to, "Transpose", 1, v);
    uk_expand_list(e, "perm", rank, perm);
    return v;
}

struct uk_graph_value *uk_expand_slice(struct uk_expansion *e, struct uk_graph_value *v, int64_t axis,
                                       int64_t from, int64_t to) {
    struct uk_graph_value *first = uk_expand_ints(e, 1, &from), *end = uk_expand_ints(e, 1, &to),
                          *axes = uk_expand_ints(e, 1, &axis);

    return uk_expand_to(e, NULL, "Slice", 4, v, first, end, axes);
}
