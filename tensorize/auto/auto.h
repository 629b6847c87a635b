/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Room auto: automatic schedules. Chooses a stage's kernel, tiles, blocks and copies by estimated cycles, and
 * offers random changes of a schedule to a search. It uses match. Data: struct tiling (tiling.h), uk_draft
 * (space.h).
 */
#ifndef UK_AUTO_H
#define UK_AUTO_H

#include "match/match.h"

/* Names of drafts (struct uk_draft_name) other than kernels; uk explain prints them. Before a kernel is
 * chosen: fused rows, copies of operands. Without a kernel: vectorized sums; loops as the statement has them.
 */
#define UK_DRAFT_ROWS "rows that are one"
#define UK_DRAFT_COPIES "copies of what it reads"
#define UK_DRAFT_SUMS "plain loops, a row in vectors"
#define UK_DRAFT_AS_WRITTEN "plain loops"
/* On GPUs: windows as the rows of a matrix; a kernel for each thread's tile of a product; tiles of pixels for
 * a depthwise convolution; a matrix read once for few rows; several threads for each sum; vectors of adjacent
 * elements, with sums in registers. */
#define UK_DRAFT_IM2COL "windows as rows of a matrix"
#define UK_DRAFT_KERNEL "the kernel of its tile"
#define UK_DRAFT_DEPTHWISE "pixels and their windows in shared memory"
#define UK_DRAFT_FEW_ROWS "several threads for each sum of few rows"
#define UK_DRAFT_SHARED_SUMS "several threads for each sum"
#define UK_DRAFT_SPREAD "vectors and registers of a thread"

/* ---- refused.c ---- */

/* The reason why the stage's draft was refused; NULL: it was not. */
const char *uk_refusal(const struct uk_schedule *s, const char *stage, const char *draft);
/* True if the only draft left for the stage is UK_DRAFT_AS_WRITTEN. */
bool uk_is_as_written(const struct uk_schedule *s, const char *stage);
/* The reason for that: of the first draft of the stage that was refused; NULL: none was. */
const char *uk_reason_as_written(struct uk_schedule *s, const char *stage);
/* Names the draft that the following steps on the stage belong to. */
enum uk_status uk_begin_draft(struct uk_schedule *s, struct uk_stage *st, const char *name);
/* To be called when an automatic schedule was refused: lists the draft at fault as refused, and discards the
 * recorded error. False: the status is no refusal, or no other draft is left. */
bool uk_refuse_draft(struct uk_schedule *s, enum uk_status status);
/* uk_refuse_draft after loops were made but code generation refused them. The stage at fault is unknown, so
 * all drafts with kernels are listed first, then all drafts. */
bool uk_refuse_draft_code(struct uk_schedule *s, enum uk_status status);
/* Adds the lines of uk explain about refused drafts to the report. */
void uk_report_refused(const struct uk_schedule *s);

/* Applies an automatic schedule to all stages. */
enum uk_status uk_auto_schedule(struct uk_schedule *s);
/* uk_auto_schedule for a GPU: every nest becomes a GPU kernel. */
enum uk_status uk_auto_device(struct uk_schedule *s);
/* Versions of a program without steps, by sizes that are neither defined nor have a default; NULL: one
 * schedule serves all of them. product_versions.c: for a CPU; device/versions.c: for a GPU, where sizes with
 * defaults count, too. */
enum uk_status uk_auto_product_versions(struct uk_program *p, const struct uk_target *t,
                                        const struct uk_options *o, struct uk_version **out);
enum uk_status uk_auto_device_versions(struct uk_program *p, const struct uk_target *t,
                                       const struct uk_options *o, struct uk_version **out);
/* tune_space.c: sets *steps to the next schedule for a search to start from, the automatic one except that
 * one statement takes another kernel, or plain loops. NULL after the last one. *cursor: 0 before the first
 * call. */
enum uk_status uk_start_with_kernel(struct uk_program *p, const struct uk_options *options, int *cursor,
                                    char **steps);
/* The number of the tensor's elements. */
double uk_elements(const struct uk_schedule *s, const struct uk_tensor *x);
enum { UK_CHEAP_REUSE = 32 };
/* True if copying that many elements, one by one, takes little time compared to the stage's computation: each
 * is used at least UK_CHEAP_REUSE times. */
bool uk_is_cheap(const struct uk_schedule *s, const struct uk_stage *st, double copied);
/* tiling.c: tiles the stage for the fit's kernel. */
enum uk_status uk_schedule_stage(struct uk_schedule *s, struct uk_stage *st, const struct uk_fit *fit);

#endif
