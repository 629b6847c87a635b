/* SPDX-License-Identifier: Apache-2.0 */
/* Room schedule: fusing two loops into one. A fusion by a *change of view* applies if each access of the
 * stage addresses the pairs (a, b) at equal distances, as a contiguous matrix is also one long row: a and b
 * then become one iterator, even if the extent of b is not a constant. */
#ifndef UK_FUSE_H
#define UK_FUSE_H

#include "schedule.h"

struct uk_fusion {
    struct uk_schedule *s;
    const struct uk_step *step;
    struct uk_stage *st;
    int position;               /* position of a in the stage */
    struct uk_loop *a, *b, *f;  /* the outer, the inner, and the fused loop */
    int64_t n;                  /* constant extent of b, or -1 */
    struct uk_index *extent[2]; /* of a and b, for a change of view */
    struct uk_text why;         /* the reason why no change of view is possible */
};

/* Returns whether the form contains a or b. */
bool uk_fusion_mentions(const struct uk_fusion *u, const struct uk_affine *f);
/* Replaces a and b by f. */
void uk_fusion_replace_loops(struct uk_fusion *u);

/* fuse_view.c: returns whether a change of view is possible, and sets u->extent; else the reason is in
 * u->why. */
bool uk_view_fits(struct uk_fusion *u);
/* Changes the view: f becomes the iterator in place of those of a and b. */
enum uk_status uk_fuse_view(struct uk_fusion *u);

#endif
