/* SPDX-License-Identifier: Apache-2.0 */
/* Inside the search space: a schedule as steps that can be changed one at a time. */
#ifndef UK_SPACE_H
#define UK_SPACE_H

#include "auto.h"
#include "cost/cost.h"

struct uk_draft {
    struct uk_schedule *s; /* the program with these steps applied */
    int steps;
    struct uk_step *step[AUTO_STEPS]; /* every loop is named with its stage */
};

/* Makes one random change; the caller checks whether it is legal. d->s is not changed. UK_REFUSED: there is
 * nothing that this kind of change applies to. */
enum uk_status uk_change(struct uk_draft *d, uint64_t *random);

/* ---- draft.c: the steps of a draft ---- */

/* A number in [0, below), and the next state. */
uint64_t uk_draw(uint64_t *random, uint64_t below);
/* Either may be NULL. */
bool uk_same_name(const char *a, const char *b);
/* Whether the step's first loop is one of this stage. */
bool uk_is_on_stage(const struct uk_step *step, const char *stage);
/* Kinds of steps: those that make loops of loops, those that make copies, those that compute a stage inside
 * another's loops. */
bool uk_step_splits(const struct uk_step *step);
bool uk_step_copies(const struct uk_step *step);
bool uk_step_attaches(const struct uk_step *step);
/* Whether the step takes a list of loops, so that one may be left out; and how many loops it has at least. */
bool uk_step_lists_loops(const struct uk_step *step);
int uk_step_least_loops(const struct uk_step *step);
/* Step k as one that may be written to, with room for one more loop; NULL: no memory. */
struct uk_step *uk_draft_own(struct uk_draft *d, int k);
void uk_draft_remove(struct uk_draft *d, int k);
void uk_step_remove_loop(struct uk_step *step, int i);
/* A new step on n loops of the stage before step k. */
struct uk_step *uk_draft_insert(struct uk_draft *d, int k, enum uk_step_kind kind, const struct uk_stage *st,
                                const char *const *loops, int n);
/* No room for the steps that one change adds. */
bool uk_draft_is_full(const struct uk_draft *d);
typedef bool uk_step_test(const struct uk_step *step);
/* One of the steps that the test holds for, or -1. */
int uk_draft_pick_step(const struct uk_draft *d, uint64_t *random, uk_step_test *test);
typedef bool uk_stage_test(const struct uk_stage *st);
/* One of the stages with loops of their own that the test holds for, or NULL. */
struct uk_stage *uk_draft_pick_stage(const struct uk_draft *d, uint64_t *random, uk_stage_test *test);
/* After the last step that makes loops of the stage, or the stage itself. */
int uk_draft_after_splits(const struct uk_draft *d, const struct uk_stage *st);
/* A test: all but the stages that reset a sum. */
bool uk_is_any_stage(const struct uk_stage *st);

/* ---- change_splits.c; outcomes as of uk_change() ---- */

/* How many values the loop has, by the estimates of sizes. */
double uk_loop_values(const struct uk_draft *d, const struct uk_stage *st, const struct uk_loop *l);
/* Splits the loop; later steps that name it are about the inner loop, which has `factor` values. */
enum uk_status uk_draft_split(struct uk_draft *d, const struct uk_stage *st, const struct uk_loop *l,
                              int64_t factor, uint64_t *random, struct uk_step **out);
/* Another factor of a split; a split less; a split more. */
enum uk_status uk_change_factor(struct uk_draft *d, uint64_t *random);
enum uk_status uk_change_unsplit(struct uk_draft *d, uint64_t *random);
enum uk_status uk_change_split(struct uk_draft *d, uint64_t *random);

#endif
