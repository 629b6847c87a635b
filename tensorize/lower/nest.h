/* SPDX-License-Identifier: Apache-2.0 */
/* Private to lower: the stages that become one nest of loops. */
#ifndef UK_NEST_H
#define UK_NEST_H

#include <isl/schedule.h>
#include "lower.h"

struct uk_nest {
    struct uk_schedule *s;
    struct uk_stage *main; /* the stage at the root */
    int stages;
    struct uk_member *member; /* main, and all stages attached to it directly or indirectly, in order */
};

struct uk_member {
    struct uk_stage *stage;
    isl_set *set;
};

isl_schedule *uk_schedule_tree(struct uk_nest *n);

/* ---- empty_sums.c ---- */

/* Collects the sizes that count as at least 1: even if a sum is empty, the tile that initializes it, or a
 * stage that follows its last tile, must run. */
enum uk_status uk_raise_sizes(struct uk_nest *n);
/* True if the extent, of a sum, is a size that counts as at least 1, or a multiple of one. */
bool uk_is_raised_extent(const struct uk_nest *n, const struct uk_index *e);
/* True if the nest does nothing for an extent of 0 of this iterator. Initializations, and stages that follow
 * a sum, run for an empty sum. */
bool uk_needs_iterations(const struct uk_nest *n, int iterator);
/* The body, run only if no extent is 0 for which it has nothing to do; NULL: no memory. */
struct uk_node *uk_guard_body(struct uk_nest *n, struct uk_node *body);

#endif
