/* SPDX-License-Identifier: Apache-2.0 */
/* Room schedule: moving a stage into the loops of another one (compute_at, reverse_compute_at,
 * cache_write). */
#ifndef UK_ATTACH_H
#define UK_ATTACH_H

#include "schedule.h"

struct uk_attaching {
    struct uk_schedule *s;
    const struct uk_step *step;
    const char *what;    /* the step's word: "compute_at", .. */
    struct uk_stage *st; /* the stage that is attached */
    struct uk_stage *at; /* the stage into whose first `prefix` loops it is attached */
    int prefix;
    const struct uk_part *part[2 * UK_MAX_DIMS]; /* by iterator of `st`: the part that one iteration of the
                                                    place needs; NULL: the whole range */
    bool reads_inside; /* the stage reads a tensor that is written inside the place */
    bool clipped;      /* parts may extend beyond the tensor */
};

enum uk_status uk_refuse_attach(const struct uk_attaching *a, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Returns whether the stage is `at`, or is attached to it inside at least its first `prefix` loops. */
bool uk_is_within(const struct uk_stage *st, const struct uk_stage *at, int prefix);
/* Returns the dimension of the access whose subscript is iterator k of the statement alone; -1: none. */
int uk_plain_dimension(const struct uk_statement *t, const struct uk_access *x, int k);
/* Gives the attached stage its loops: those of the place, then its own, restricted to the parts. */
enum uk_status uk_attach_loops(struct uk_attaching *a);
/* Refuses if no iteration of the prefix's loops is the last one of the sums of `at`. Changes nothing. */
enum uk_status uk_check_sums_end(const struct uk_attaching *a);
/* Adds bounds by which the stage, attached after, runs only once the sums of `at` are complete. */
enum uk_status uk_wait_for_sums(struct uk_attaching *a);
/* Inserts the stage into the schedule's list, before `next`. */
void uk_link_before(struct uk_schedule *s, struct uk_stage *st, const struct uk_stage *next);
bool uk_stage_reads(const struct uk_stage *st, const struct uk_tensor *t);
bool uk_stage_writes(const struct uk_stage *st, const struct uk_tensor *t);
/* uk_check_follows refuses if `first` runs after `second`. uk_check_between refuses if a stage of a nest that
 * runs after stage `from` and before the nest of root `to` writes a tensor of the attached stage, or reads
 * one that this stage writes. */
enum uk_status uk_check_follows(const struct uk_attaching *a, const struct uk_stage *first,
                                const struct uk_stage *second);
enum uk_status uk_check_between(struct uk_attaching *a, const struct uk_stage *from,
                                const struct uk_stage *to);
/* Removes the stage from the schedule's list. */
void uk_unlink_stage(struct uk_schedule *s, const struct uk_stage *st);
/* Returns whether the access reaches the whole tensor: each dimension d is indexed by iterator[d] alone,
 * which runs over all of it. iterator[d] is -1 for a dimension indexed by the constant 0: it is merged with
 * the next one, whose iterator runs over both (after a `fuse` by a change of view, fuse_view.c). */
bool uk_covers(const struct uk_attaching *a, const struct uk_statement *t, const struct uk_access *x,
               int iterator[UK_MAX_DIMS]);
/* compute_at.c, reverse_compute_at.c: attach the stage, once uk_apply_attach has found place and stage. */
enum uk_status uk_attach_producer(struct uk_attaching *a);
enum uk_status uk_attach_consumer(struct uk_attaching *a);

#endif
