/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Room auto: automatic schedules: a stage's kernel, tiles, blocks and copies by the cost rule, and the space of changes that a
 * search draws from. It uses match. Data: struct tiling (tiling.h), uk_draft (space.h).
 */
#ifndef UK_AUTO_H
#define UK_AUTO_H

#include "match/match.h"

enum uk_status uk_auto_schedule(struct uk_schedule *s);
/* The same where the target is a GPU: every nest becomes a kernel. */
enum uk_status uk_auto_device(struct uk_schedule *s);
enum { UK_CHEAP_REUSE = 32 };
/* Does copying that many elements, one by one, take little time beside the stage's computation? */
bool uk_is_cheap(const struct uk_schedule *s, const struct uk_stage *st, double copied);
/* Does the machine have a second-level cache as Intel's servers: twice as large as others, and slower to reach from the first? */
bool uk_has_big_l2(const struct uk_schedule *s);
/* Does a tile use B faster than it streams from the second-level cache? */
bool uk_is_flat(const struct uk_schedule *s, const struct uk_stage *st, const struct uk_fit *f);
enum uk_status uk_schedule_stage(struct uk_schedule *s, struct uk_stage *st, const struct uk_fit *fit);
/* Bytes of the second-level cache for each of the threads. */
int64_t uk_l2_share(const struct uk_schedule *s);

#endif
