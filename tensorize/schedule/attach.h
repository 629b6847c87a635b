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
/* Refuses where no iteration of the prefix's loops is the one in which the sums of `at` are complete; before
 * anything is changed. */
enum uk_status uk_check_sums_end(const struct uk_attaching *a);
/* Adds the bounds with which the stage, attached after, runs only when the sums of `at` are complete. */
enum uk_status uk_wait_for_sums(struct uk_attaching *a);
void uk_link_before(struct uk_schedule *s, struct uk_stage *st, const struct uk_stage *next);
bool uk_stage_reads(const struct uk_stage *st, const struct uk_tensor *t);
bool uk_stage_writes(const struct uk_stage *st, const struct uk_tensor *t);
/* Refuses if `first` runs after `second`, or if what runs between two roots has to do with the stage. */
enum uk_status uk_check_follows(const struct uk_attaching *a, const struct uk_stage *first,
                                const struct uk_stage *second);
enum uk_status uk_check_between(struct uk_attaching *a, const struct uk_stage *from,
                                const struct uk_stage *to);
/* Takes the stage out of the schedule's list. */
void uk_unlink_stage(struct uk_schedule *s, const struct uk_stage *st);
/* Is every dimension of the access an iterator that runs over all of it? iterator[d] is that, or -1 where it
 * is at 0. */
bool uk_covers(const struct uk_attaching *a, const struct uk_statement *t, const struct uk_access *x,
               int iterator[UK_MAX_DIMS]);
/* compute_at.c, reverse_compute_at.c: once place and stage are found. */
enum uk_status uk_attach_producer(struct uk_attaching *a);
enum uk_status uk_attach_consumer(struct uk_attaching *a);

#endif
