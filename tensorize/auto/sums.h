/* SPDX-License-Identifier: Apache-2.0 */
/* Inside room auto: fusion of the loops of sums, and sums that no kernel computes. */
#ifndef UK_SUMS_H
#define UK_SUMS_H

#include "auto.h"

/* ---- loops of sums of products ---- */

/* Fuses the loop at `position` with the next one. */
enum uk_status uk_fuse_loop_pair(struct uk_schedule *s, struct uk_stage *st, int position);
/* True if the loops at `position` and the next one are summed over, the stage is a sum of products, an
 * operand is contiguous along them, and the first one's extent is a constant. */
bool uk_is_long_sum(const struct uk_stage *st, int position);
/* Fuses such loops if every operand is addressed by them as by a single loop. */
enum uk_status uk_fuse_sums(struct uk_schedule *s, struct uk_stage *st);

/* ---- sums that no kernel computes ---- */

/* Moves the loop over a row of the output inside the sum's loops, if that gives vectors. */
enum uk_status uk_order_sum(struct uk_schedule *s, struct uk_stage *st);
/* The number of loops of the sum's nest that the reader shares with it if it runs after each row; 0: it
 * cannot do so. */
int uk_loops_of_row(const struct uk_schedule *s, const struct uk_stage *sum, const struct uk_stage *reader);
/* The sum immediately before the stage, if the stage can join its nest; NULL: there is none. */
struct uk_stage *uk_preceding_sum(const struct uk_schedule *s, const struct uk_stage *st);

#endif
