/* SPDX-License-Identifier: Apache-2.0 */
/* Room schedule: fusing two loops into one. */
#ifndef UK_FUSE_H
#define UK_FUSE_H

#include "schedule.h"

struct uk_fusion {
    struct uk_schedule *s;
    const struct uk_step *step;
    struct uk_stage *st;
    int position; /* position of a in the stage */
    struct uk_loop *a, *b, *f;
    int64_t n; /* constant extent of b, or -1 */
    struct uk_index *extent[2];
    struct uk_text why; /* the reason why no change of view is possible */
};

/* Returns whether the form contains a or b. */
bool uk_fusion_mentions(const struct uk_fusion *u, const struct uk_affine *f);
/* Replaces a and b by f. */
void uk_fusion_replace_loops(struct uk_fusion *u);

/* fuse_view.c: returns whether a and b can become one iterator in another view of all that the stage
 * accesses; else the reason is in u->why. */
bool uk_view_fits(struct uk_fusion *u);
enum uk_status uk_fuse_view(struct uk_fusion *u);

#endif
