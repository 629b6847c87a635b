/* SPDX-License-Identifier: Apache-2.0 */
/* Inside lower: the stages that become one nest of loops. */
#ifndef UK_NEST_H
#define UK_NEST_H

#include <isl/schedule.h>
#include "lower.h"

struct uk_nest {
    struct uk_schedule *s;
    struct uk_stage *main; /* the stage at the root */
    int stages;
    struct uk_member *member; /* main, and all that is attached to it or to those, in order */
};

struct uk_member {
    struct uk_stage *stage;
    isl_set *set;
};

isl_schedule *uk_schedule_tree(struct uk_nest *n);

#endif
