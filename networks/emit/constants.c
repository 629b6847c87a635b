/* SPDX-License-Identifier: Apache-2.0 */
/* Parameters, as the code has them. */
#include <stdlib.h>
#include <string.h>
#include "emit/emit.h"

static bool is_permuted(const struct uk_graph_value *v) {
    for (int i = 0; i < v->rank; i++)
        if (v->order[i] != i)
            return true;
    return false;
}

static enum uk_status add(struct uk_network *n, struct uk_constants *c, const struct uk_graph_value *v) {
    const size_t bytes = (size_t)uk_value_elements(v) * uk_element_bytes(v->type);
    struct uk_constant *k = &c->constant[c->count];

    c->value[c->count] = v;
    k->name = uk_format(&c->arena, "%s_c%d", n->name, v->number);
    k->length = bytes;
    k->bytes = v->data;
    if (is_permuted(v)) {
        void *data = uk_alloc(&c->arena, bytes + 1);
        if (data)
            uk_permute(v, v->order, data);
        k->bytes = data;
    }
    if (!k->name || !k->bytes)
        return uk_graph_no_memory(&n->graph);
    c->count++;
    return UK_OK;
}

enum uk_status uk_constants_make(struct uk_network *n, struct uk_constants *c) {
    const size_t values = (size_t)n->graph.value_count + 1;
    bool *seen = calloc(values, sizeof *seen);
    enum uk_status s = UK_OK;

    *c = (struct uk_constants){.constant = calloc(values, sizeof *c->constant),
                               .value = calloc(values, sizeof *c->value)};
    if (!seen || !c->constant || !c->value)
        s = uk_graph_no_memory(&n->graph);
    for (const struct uk_layer *l = n->plan.layers; l && !s; l = l->next)
        for (int i = 0; i < l->arguments && !s; i++) {
            const struct uk_graph_value *v = l->argument[i];
            if (!v->data || seen[v->number] || !uk_value_elements(v))
                continue;
            seen[v->number] = true;
            s = add(n, c, v);
        }
    free(seen);
    return s;
}

void uk_constants_free(struct uk_constants *c) {
    free(c->constant);
    free(c->value);
    uk_arena_free(&c->arena);
}
