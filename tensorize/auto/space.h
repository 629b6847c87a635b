/* SPDX-License-Identifier: Apache-2.0 */
/* Inside the search space: a draft, here a whole schedule as a list of steps, and random changes of one of
 * them. */
#ifndef UK_SPACE_H
#define UK_SPACE_H

#include "auto.h"
#include "cost/cost.h"

struct uk_draft {
    struct uk_schedule *s; /* the program with these steps applied */
    int steps;
    struct uk_step *step[AUTO_STEPS]; /* every loop is named with its stage */
};

/* Makes one random change to the steps; the caller checks whether it is legal. d->s is not changed.
 * UK_REFUSED: the kind of change that was drawn applies to nothing. */
enum uk_status uk_change(struct uk_draft *d, uint64_t *random);

/* ---- draft.c: the steps of a draft ---- */

/* A random number in [0, below); *random is the generator's state. */
uint64_t uk_draw(uint64_t *random, uint64_t below);
/* True if the names are equal, or both NULL. */
bool uk_same_name(const char *a, const char *b);
/* True if the step's first loop is one of this stage. */
bool uk_is_on_stage(const struct uk_step *step, const char *stage);
/* True for steps that split loops; that make copies; that compute a stage inside another one's loops. */
bool uk_step_splits(const struct uk_step *step);
bool uk_step_copies(const struct uk_step *step);
bool uk_step_attaches(const struct uk_step *step);
/* True if the step takes a list of loops, from which one may be removed. */
bool uk_step_lists_loops(const struct uk_step *step);
/* Minimum number of loops of such a step. */
int uk_step_min_loops(const struct uk_step *step);
/* Replaces step k by a copy that may be changed, with memory for one more loop; NULL: no memory. */
struct uk_step *uk_draft_copy_step(struct uk_draft *d, int k);
void uk_draft_remove_step(struct uk_draft *d, int k);
void uk_step_remove_loop(struct uk_step *step, int i);
/* Inserts a step on n loops of the stage before step k; NULL: no memory. */
struct uk_step *uk_draft_insert(struct uk_draft *d, int k, enum uk_step_kind kind, const struct uk_stage *st,
                                const char *const *loops, int n);
/* True if the steps that one change may add no longer fit. */
bool uk_draft_is_full(const struct uk_draft *d);
typedef bool uk_step_test(const struct uk_step *step);
/* A random one of the steps for which the test is true, or -1. */
int uk_draft_pick_step(const struct uk_draft *d, uint64_t *random, uk_step_test *test);
typedef bool uk_stage_test(const struct uk_stage *st);
/* A random one of the stages with loops of their own for which the test is true, or NULL. */
struct uk_stage *uk_draft_pick_stage(const struct uk_draft *d, uint64_t *random, uk_stage_test *test);
/* The index after the last step that creates the stage or splits its loops. */
int uk_draft_after_splits(const struct uk_draft *d, const struct uk_stage *st);
/* A uk_stage_test: true except for stages that initialize a sum. */
bool uk_is_any_stage(const struct uk_stage *st);

/* ---- change_splits.c; statuses as of uk_change() ---- */

/* The loop's trip count, by the estimates of sizes. */
double uk_loop_values(const struct uk_draft *d, const struct uk_stage *st, const struct uk_loop *l);
/* Inserts a split of the loop; later steps that name the loop then name the inner one, of `factor` values. */
enum uk_status uk_draft_split(struct uk_draft *d, const struct uk_stage *st, const struct uk_loop *l,
                              int64_t factor, uint64_t *random, struct uk_step **out);
/* Change the factor of a split, remove a split, add a split. */
enum uk_status uk_change_factor(struct uk_draft *d, uint64_t *random);
enum uk_status uk_change_unsplit(struct uk_draft *d, uint64_t *random);
enum uk_status uk_change_split(struct uk_draft *d, uint64_t *random);

#endif
