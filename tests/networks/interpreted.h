/* SPDX-License-Identifier: Apache-2.0 */
/* Networks that run by the interpreter, which takes much less time than compiling them if they are small. */
#ifndef UK_TEST_INTERPRETED_H
#define UK_TEST_INTERPRETED_H

#include "networks.h"

/* Bytes of the memory of a run. Only a compiled network says how many: this is at least as much as the values
 * that the layers write, their borders and counters of loops, which small networks have. */
static inline size_t interpreted_bytes(const struct uk_network *n) {
    enum { SPARE = 1 << 20, ALIGNED = 64 };
    size_t end = 0;

    for (int i = 0; uk_network_layer(n, i); i++) {
        const struct uk_network_layer *l = uk_network_layer(n, i);
        if (l->offset + l->output.bytes > end)
            end = l->offset + l->output.bytes;
    }
    return (2 * (end + uk_network_memory_bound(n)) + SPARE) / ALIGNED * ALIGNED;
}

/* Runs all layers, some of them as often as loops say. */
static inline enum uk_status interpret_network(struct uk_network *n, void *memory) {
    enum uk_status s = UK_OK;

    for (int i = -1; !s && (i = uk_network_next_layer(n, memory, i)) >= 0;)
        s = uk_network_interpret_layer(n, memory, i, uk_network_layer_output(n, memory, i));
    return s;
}

#endif
