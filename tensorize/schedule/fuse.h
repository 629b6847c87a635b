/* SPDX-License-Identifier: Apache-2.0 */
/* Inside room schedule: two loops that become one. */
#ifndef UK_FUSE_H
#define UK_FUSE_H

#include "schedule.h"

struct uk_fusion {
    struct uk_schedule *s;
    const struct uk_step *step;
    struct uk_stage *st;
    int position; /* of a */
    struct uk_loop *a, *b, *f;
    int64_t n; /* constant extent of b, or -1 */
    struct uk_index *extent[2];
    struct uk_text why; /* no change of view */
};

/* Is the form one of a or b? */
bool uk_fusion_mentions(const struct uk_fusion *u, const struct uk_affine *f);
/* Puts f in the place of a and b. */
void uk_fusion_replace_loops(struct uk_fusion *u);

/* fuse_view.c: can a and b be one iterator of another view of all that the stage accesses? If not, u->why. */
bool uk_view_fits(struct uk_fusion *u);
enum uk_status uk_fuse_view(struct uk_fusion *u);

#endif
