/* SPDX-License-Identifier: Apache-2.0 */
/* Inside room auto: sums: loops that become one, and what no kernel computes. */
#ifndef UK_SUMS_H
#define UK_SUMS_H

#include "auto.h"

/* auto_long_sums.c: the loop at `position` and the next one become one. */
enum uk_status uk_fuse_pair(struct uk_schedule *s, struct uk_stage *st, int position);
/* Are the loop at `position` and the next one of a sum of products, along which an operand is contiguous, and
 * is the first one's extent a constant? */
bool uk_is_long_sum(const struct uk_stage *st, int position);
/* Such loops that are one in all that is read become one. */
enum uk_status uk_fuse_sums(struct uk_schedule *s, struct uk_stage *st);

/* auto_sums.c: sums that no kernel computes. The loop over a row of the output goes inside of the sum's,
 * where that makes vectors. */
enum uk_status uk_order_sum(struct uk_schedule *s, struct uk_stage *st);
/* How many loops of the sum's nest the reader shares with it if it follows row by row; 0: it cannot. */
int uk_loops_of_row(const struct uk_schedule *s, const struct uk_stage *sum, const struct uk_stage *reader);
/* The sum right before the stage, of whose nest the stage can be a part; NULL: there is none. */
struct uk_stage *uk_sum_before(const struct uk_schedule *s, const struct uk_stage *st);

#endif
