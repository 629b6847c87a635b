/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Room auto: automatic schedules: a stage's kernel, tiles, blocks and copies by the cost rule, and the space
 * of changes that a search draws from. It uses match. Data: struct tiling (tiling.h), uk_draft (space.h).
 */
#ifndef UK_AUTO_H
#define UK_AUTO_H

#include "match/match.h"

/* The names of drafts, besides kernels': what precedes the choice of a kernel, rows that are one and copies
 * of what is read; and the loops as the statement has them. */
#define UK_DRAFT_ROWS "rows that are one"
#define UK_DRAFT_COPIES "copies of what it reads"
#define UK_DRAFT_SUMS "plain loops, a row in vectors"
#define UK_AS_WRITTEN "plain loops"
/* Of a GPU: the kernel of a product's tile; several threads for a sum; neighbours of a row in a vector, and
 * sums in registers. */
#define UK_DRAFT_KERNEL "the kernel of its tile"
#define UK_DRAFT_SHARED_SUMS "several threads for each sum"
#define UK_DRAFT_SPREAD "vectors and registers of a thread"

/* refused.c. Why the stage's draft was refused; NULL: it was not. */
const char *uk_refusal(const struct uk_schedule *s, const char *stage, const char *draft);
/* Has the stage no draft left but the loops of the statement? */
bool uk_is_as_written(const struct uk_schedule *s, const char *stage);
/* Why it has none: of its first draft that was refused; NULL: it had none. */
const char *uk_why_as_written(struct uk_schedule *s, const char *stage);
/* What follows is done to the stage by that draft. */
enum uk_status uk_begin_draft(struct uk_schedule *s, struct uk_stage *st, const char *name);
/* After an automatic schedule was refused: notes whose draft that was, and forgets the message. False: no
 * other is left. */
bool uk_draft_again(struct uk_schedule *s, enum uk_status status);
/* The same where its loops were made, and no code of them: which stage's is at fault is not known, and those
 * of kernels go first. */
bool uk_draft_other_code(struct uk_schedule *s, enum uk_status status);
/* What uk explain prints of it. */
void uk_report_refused(const struct uk_schedule *s);

enum uk_status uk_auto_schedule(struct uk_schedule *s);
/* The same where the target is a GPU: every nest becomes a kernel. */
enum uk_status uk_auto_device(struct uk_schedule *s);
/* tune_space.c: the next schedule that a search starts from in which one statement takes another kernel, or
 * none; *steps is NULL after the last one. */
enum uk_status uk_start_with_kernel(struct uk_program *p, const struct uk_options *options, int *cursor,
                                    char **steps);
enum { UK_CHEAP_REUSE = 32 };
/* Does copying that many elements, one by one, take little time beside the stage's computation? */
bool uk_is_cheap(const struct uk_schedule *s, const struct uk_stage *st, double copied);
enum uk_status uk_schedule_stage(struct uk_schedule *s, struct uk_stage *st, const struct uk_fit *fit);
/* Bytes of the second-level cache for each of the threads. */
int64_t uk_l2_share(const struct uk_schedule *s);

#endif
