/* SPDX-License-Identifier: Apache-2.0 */
/* Inside the scheduler: moving a stage into the loops of another. */
#ifndef UK_ATTACH_H
#define UK_ATTACH_H

#include "schedule.h"

struct uk_attaching {
    struct uk_schedule *s;
    const struct uk_step *step;
    const char *what;    /* compute_at, ... */
    struct uk_stage *st; /* the stage that is attached ... */
    struct uk_stage *at; /* ... inside the first `prefix` loops of this one */
    int prefix;
    const struct uk_part *part[2 * UK_MAX_DIMS]; /* by iterator of the stage; NULL: all of its range */
    bool reads_inside;                           /* something that is written inside the place */
    bool clipped;                                /* parts may reach beyond the tensor */
};

enum uk_status uk_refuse_attach(const struct uk_attaching *a, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Is the stage `at`, or attached to it inside its first `prefix` loops or deeper? */
bool uk_is_within(const struct uk_stage *st, const struct uk_stage *at, int prefix);
int uk_plain_dimension(const struct uk_statement *t, const struct uk_access *x, int k);
enum uk_status uk_attach_loops(struct uk_attaching *a);
/* Adds the bounds with which the stage, attached after, runs only when the sums of `at` are complete. */
enum uk_status uk_wait_for_sums(struct uk_attaching *a);
void uk_link_before(struct uk_schedule *s, struct uk_stage *st, const struct uk_stage *next);

#endif
