/* SPDX-License-Identifier: Apache-2.0 */
/* Constants of the network, laid out or packed as the layers' code reads them. Their elements are made one
 * constant at a time, where they are needed. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "emit/emit.h"

static bool is_permuted(const struct uk_graph_value *v) {
    for (int i = 0; i < v->rank; i++)
        if (v->order[i] != i)
            return true;
    return false;
}

void uk_constant_name(const struct uk_network *n, const struct uk_layer *l, int i, bool is_packed,
                      char name[UK_CONSTANT_NAME]) {
    const int number = l->argument[i]->number;

    if (is_packed)
        snprintf(name, UK_CONSTANT_NAME, "%.256s_c%d_%d_%d", n->name, number, l->function->number, i);
    else
        snprintf(name, UK_CONSTANT_NAME, "%.256s_c%d", n->name, number);
}

/* ---- the list ---- */

/* Returns the module that packs the layer's argument i; NULL: it is not packed. */
static struct uk_module *packing_of(const struct uk_constants *c, const struct uk_layer *l, int i) {
    struct uk_module *m = c->packing ? c->packing[l->function->number] : NULL;

    return m && uk_module_packed_bytes(m, uk_layer_sizes(c->n, l), i) >= 0 ? m : NULL;
}

const struct uk_placed *uk_constant_find(const struct uk_constants *c, const struct uk_layer *l, int i) {
    const struct uk_module *packing = packing_of(c, l, i);

    for (const struct uk_placed *k = c->placed; k < c->placed + c->count; k++)
        if (k->value == l->argument[i] && k->packing == packing && (!packing || k->argument == i))
            return k;
    return NULL;
}

static uint64_t aligned(uint64_t bytes) {
    return (bytes + UK_PLACE_ALIGNMENT - 1) / UK_PLACE_ALIGNMENT * UK_PLACE_ALIGNMENT;
}

static void add(struct uk_constants *c, const struct uk_layer *l, int i) {
    const struct uk_graph_value *v = l->argument[i];
    struct uk_module *packing = packing_of(c, l, i);
    struct uk_placed *k = &c->placed[c->count];

    if (uk_constant_find(c, l, i))
        return;
    *k = (struct uk_placed){.value = v, .layer = l, .argument = i, .packing = packing, .offset = c->length};
    k->bytes = packing ? (size_t)uk_module_packed_bytes(packing, uk_layer_sizes(c->n, l), i)
                       : (size_t)uk_stored_elements(v) * uk_type_bytes(v->type);
    c->length = aligned(c->length + k->bytes);
    c->count++;
}

enum uk_status uk_constants_list(struct uk_constants *c) {
    size_t most = 1;

    for (const struct uk_layer *l = c->n->plan.layers; l; l = l->next)
        most += (size_t)l->arguments;
    c->length = c->home == UK_IN_FILE ? UK_FILE_HEADER : 0;
    c->placed = calloc(most, sizeof *c->placed);
    if (!c->placed)
        return uk_graph_no_memory(&c->n->graph);
    for (const struct uk_layer *l = c->n->plan.layers; l; l = l->next)
        for (int i = 0; i < l->arguments; i++)
            if (l->argument[i]->data && uk_value_elements(l->argument[i]))
                add(c, l, i);
    return UK_OK;
}

void uk_constants_free(struct uk_constants *c) {
    free(c->placed);
    free(c->block);
    *c = (struct uk_constants){.n = NULL};
}

/* ---- elements ---- */

const void *uk_constant_elements(const struct uk_placed *k) {
    return k->packing || is_permuted(k->value) ? NULL : k->value->data;
}

/* Packs the constant; its elements must first be permuted, if they are, into memory of their own. */
static enum uk_status pack(const struct uk_constants *c, const struct uk_placed *k, void *to) {
    const struct uk_graph_value *v = k->value;
    void *ordered = NULL;

    if (is_permuted(v)) {
        ordered = malloc((size_t)uk_stored_elements(v) * uk_type_bytes(v->type));
        if (!ordered)
            return uk_graph_no_memory(&c->n->graph);
        uk_permute(v, v->order, ordered);
    }
    const enum uk_status s = (enum uk_status)uk_module_pack(k->packing, uk_layer_sizes(c->n, k->layer),
                                                            k->argument, ordered ? ordered : v->data, to);
    free(ordered);
    return s;
}

enum uk_status uk_constant_write(const struct uk_constants *c, const struct uk_placed *k, void *to) {
    const void *elements = uk_constant_elements(k);
    enum uk_status s = UK_OK;

    /* Packing and permuting leave out what pads a panel or a row: the same network gives the same bytes. */
    if (!elements)
        memset(to, 0, k->bytes);
    if (k->packing)
        s = pack(c, k, to);
    else if (elements)
        memcpy(to, elements, k->bytes);
    else
        uk_permute(k->value, k->value->order, to);
    uk_constant_give_back(&c->n->graph, k->value);
    return s;
}

enum uk_status uk_constants_load(struct uk_constants *c) {
    enum uk_status s = UK_OK;
    uint64_t length = 0;

    for (struct uk_placed *k = c->placed; k < c->placed + c->count; k++) {
        k->address = uk_constant_elements(k);
        if (k->address && (uintptr_t)k->address % UK_PLACE_ALIGNMENT == 0)
            continue;
        k->address = NULL;
        k->offset = length;
        length = aligned(length + k->bytes);
    }
    c->block =
        length <= SIZE_MAX ? aligned_alloc(UK_PLACE_ALIGNMENT, (size_t)length + UK_PLACE_ALIGNMENT) : NULL;
    if (!c->block)
        return uk_graph_no_memory(&c->n->graph);
    for (struct uk_placed *k = c->placed; k < c->placed + c->count && !s; k++)
        if (!k->address) {
            k->address = (char *)c->block + k->offset;
            s = uk_constant_write(c, k, (char *)c->block + k->offset);
        }
    return s;
}
