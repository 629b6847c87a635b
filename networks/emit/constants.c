/* SPDX-License-Identifier: Apache-2.0 */
/* Constants of the network, laid out or packed as the layers' code reads them. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "emit/emit.h"

enum { PACKED_ALIGNMENT = 64 };

static bool is_permuted(const struct uk_graph_value *v) {
    for (int i = 0; i < v->rank; i++)
        if (v->order[i] != i)
            return true;
    return false;
}

bool uk_constant_name(const struct uk_network *n, struct uk_module *const *packing, const struct uk_layer *l,
                      int i, char name[UK_CONSTANT_NAME]) {
    const int number = l->argument[i]->number, function = l->function->number;
    struct uk_module *m = packing ? packing[function] : NULL;

    if (!m || uk_module_packed_bytes(m, uk_layer_sizes(n, l), i) < 0) {
        snprintf(name, UK_CONSTANT_NAME, "%.256s_c%d", n->name, number);
        return false;
    }
    snprintf(name, UK_CONSTANT_NAME, "%.256s_c%d_%d_%d", n->name, number, function, i);
    return true;
}

/* Returns the elements in the value's layout; NULL: no memory. */
static const void *ordered(struct uk_constants *c, const struct uk_graph_value *v, size_t bytes) {
    if (!is_permuted(v))
        return v->data;
    void *data = uk_alloc(&c->arena, bytes + 1);

    if (data)
        uk_permute(v, v->order, data);
    return data;
}

/* Replaces the constant's bytes by their packed form. */
static enum uk_status pack(struct uk_network *n, struct uk_constants *c, const struct uk_layer *l,
                           struct uk_module *m, int i, struct uk_constant *k) {
    const size_t bytes = (size_t)uk_module_packed_bytes(m, uk_layer_sizes(n, l), i);
    char *room = uk_alloc(&c->arena, bytes + PACKED_ALIGNMENT);

    if (!room)
        return uk_graph_no_memory(&n->graph);
    char *const packed = room + (PACKED_ALIGNMENT - (uintptr_t)room % PACKED_ALIGNMENT) % PACKED_ALIGNMENT;
    const enum uk_status s = (enum uk_status)uk_module_pack(m, uk_layer_sizes(n, l), i, k->bytes, packed);
    k->bytes = packed;
    k->length = bytes;
    return s;
}

static enum uk_status add(struct uk_network *n, struct uk_constants *c, struct uk_module *const *packing,
                          const struct uk_layer *l, int i) {
    const struct uk_graph_value *v = l->argument[i];
    const size_t bytes = (size_t)uk_stored_elements(v) * uk_type_bytes(v->type);
    struct uk_constant *k = &c->constant[c->count];
    char name[UK_CONSTANT_NAME];
    const bool packs = uk_constant_name(n, packing, l, i, name);

    for (int j = 0; j < c->count; j++)
        if (c->value[j] == v && !strcmp(c->constant[j].name, name))
            return UK_OK;
    c->value[c->count] = v;
    k->name = uk_strdup(&c->arena, name);
    k->length = bytes;
    k->bytes = ordered(c, v, bytes);
    if (!k->name || !k->bytes)
        return uk_graph_no_memory(&n->graph);
    c->count++;
    return packs ? pack(n, c, l, packing[l->function->number], i, k) : UK_OK;
}

enum uk_status uk_constants_make(struct uk_network *n, struct uk_module *const *packing,
                                 struct uk_constants *c) {
    enum uk_status s = UK_OK;
    size_t most = 1;

    for (const struct uk_layer *l = n->plan.layers; l; l = l->next)
        most += (size_t)l->arguments;
    *c = (struct uk_constants){.constant = calloc(most, sizeof *c->constant),
                               .value = calloc(most, sizeof *c->value)};
    if (!c->constant || !c->value)
        s = uk_graph_no_memory(&n->graph);
    for (const struct uk_layer *l = n->plan.layers; l && !s; l = l->next)
        for (int i = 0; i < l->arguments && !s; i++)
            if (l->argument[i]->data && uk_value_elements(l->argument[i]))
                s = add(n, c, packing, l, i);
    return s;
}

void uk_constants_free(struct uk_constants *c) {
    free(c->constant);
    free(c->value);
    uk_arena_free(&c->arena);
}
