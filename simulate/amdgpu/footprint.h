/* SPDX-License-Identifier: Apache-2.0 */
/* The bytes that an instruction accesses in one block, and the lines of these if all addresses are moved. */
#ifndef UK_AMDGPU_FOOTPRINT_H
#define UK_AMDGPU_FOOTPRINT_H

#include "state.h"

struct uk_piece {
    uint64_t first, last; /* addresses of bytes */
};
struct uk_footprint {
    unsigned line; /* bytes of a line */
    bool *
        is_used; /* per distance modulo `line`: lines are counted for it; to be set before the first access */
    uint64_t *lines; /* per distance: lines that the accesses touch, each instruction's different ones */
    struct uk_piece *piece;
    size_t n, capacity;
};

/* false: no memory. uk_footprint_end may follow in any case. */
bool uk_footprint_begin(struct uk_footprint *, unsigned line);
void uk_footprint_end(struct uk_footprint *);
bool uk_footprint_add(struct uk_footprint *, uint64_t lanes, const uint64_t *address, unsigned size);
/* Sorts and joins the pieces, to be marked. */
void uk_footprint_join(struct uk_footprint *);
/* Marks the lines of all pieces, moved by the distance, as accessed, and adds how many are so for the first
 * time. false: no memory. */
bool uk_footprint_mark(const struct uk_footprint *, const struct uk_simt_memory *, uint64_t distance,
                       uint64_t *is_new);

#endif
