/* SPDX-License-Identifier: Apache-2.0 */
/* States of networks: the option that names them, and their elements in the memory of a run. */
#define _POSIX_C_SOURCE 200809L
#include <inttypes.h>
#include <string.h>
#include "network.h"

const struct uk_network_tensor *uk_net_input(const struct uk_net_job *j, int i) {
    const struct uk_network_state *s = uk_network_state(j->network, i - j->inputs_count);

    return i < j->inputs_count ? uk_network_value(j->network, UK_NETWORK_INPUT, i) : s ? &s->input : NULL;
}

const struct uk_network_tensor *uk_net_output(const struct uk_net_job *j, int i) {
    const struct uk_network_state *s = uk_network_state(j->network, i - j->outputs_count);

    return i < j->outputs_count ? uk_network_value(j->network, UK_NETWORK_OUTPUT, i) : s ? &s->output : NULL;
}

/* Copies elements, which are contiguous, to the part of the state's buffer with the tensor's shape, or back.
 */
static void copy(const struct uk_network_state *s, const struct uk_network_tensor *t, char *buffer,
                 char *elements, bool back) {
    const size_t row = t->rank ? (size_t)t->shape[t->rank - 1] : 1, bytes = row * uk_type_bytes(t->type);
    const size_t rows = row ? t->elements / row : 0;

    for (size_t i = 0; i < rows; i++, elements += bytes) {
        int64_t rest = (int64_t)i, at = 0, stride = t->rank ? s->capacity[t->rank - 1] : 1;
        for (int d = t->rank - 2; d >= 0; d--) {
            at += rest % t->shape[d] * stride;
            rest /= t->shape[d];
            stride *= s->capacity[d];
        }
        char *const place = buffer + (size_t)at * uk_type_bytes(t->type);
        memcpy(back ? elements : place, back ? place : elements, bytes);
    }
}

void uk_net_fill_states(const struct uk_net_job *j) {
    const struct uk_network_state *s;
    char *from = j->inputs;

    for (int i = 0; i < j->inputs_count; i++)
        from += uk_net_input(j, i)->bytes;
    for (int i = 0; (s = uk_network_state(j->network, i)); i++) {
        copy(s, &s->input, uk_network_state_place(j->network, j->memory, i), from, false);
        from += s->input.bytes;
    }
}

void uk_net_take_state(const struct uk_net_job *j, int i, void *elements) {
    const struct uk_network_state *s = uk_network_state(j->network, i);

    copy(s, &s->output, uk_network_state_place(j->network, j->memory, i), elements, true);
}

int uk_net_split_state(struct uk_arena *arena, const char *text, const char **input, const char **output) {
    const char *equals = strchr(text, '=');

    *input = equals && equals > text ? uk_strndup(arena, text, (size_t)(equals - text)) : NULL;
    *output = equals ? equals + 1 : NULL;
    return *input && **output ? UK_EXIT_OK
                              : uk_complain(UK_EXIT_USAGE,
                                            "--state %s: expected INPUT=OUTPUT, for instance --state "
                                            "past.0.key=present.0.key, or auto",
                                            text);
}
