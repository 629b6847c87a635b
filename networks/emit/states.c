/* SPDX-License-Identifier: Apache-2.0 */
/* States in the API. */
#include <string.h>
#include "emit/emit.h"

enum uk_status uk_states_begin(struct uk_network *n) {
    n->state = uk_alloc(&n->graph.arena, ((size_t)n->graph.states + 1) * sizeof *n->state);
    return n->state ? UK_OK : UK_OUT_OF_MEMORY;
}

void uk_states_show(struct uk_network *n) {
    for (int i = 0; i < n->graph.states; i++) {
        const struct uk_graph_state *s = &n->graph.state[i];
        struct uk_network_state *shown = &n->state[i];

        uk_tensor_show(&shown->input, s->past, s->past->name);
        uk_tensor_show(&shown->output, s->present, s->present->name);
        memcpy(shown->capacity, s->buffer->extent, sizeof shown->capacity);
        shown->bytes = (size_t)uk_value_elements(s->buffer) * uk_type_bytes(s->buffer->type);
        shown->axis = s->axis;
    }
}

const struct uk_network_state *uk_network_state(const struct uk_network *n, int i) {
    return n && n->is_read && i >= 0 && i < n->graph.states ? &n->state[i] : NULL;
}

void *uk_network_state_place(const struct uk_network *n, void *memory, int i) {
    return uk_network_state(n, i) && memory ? (char *)memory + uk_value_offset(n->graph.state[i].buffer, NULL)
                                            : NULL;
}

enum uk_status uk_network_refuse_states(struct uk_network *n, const char *what) {
    return n->graph.states ? uk_graph_fail(&n->graph, UK_REFUSED, NULL,
                                           "%s has no states, and '%s' is one; leave it out of the states",
                                           what, n->state[0].input.name)
                           : UK_OK;
}
