/* SPDX-License-Identifier: Apache-2.0 */
/* Inside room auto: the schedule of one stage, and stages that become part of others. */
#ifndef UK_AUTO_STAGE_H
#define UK_AUTO_STAGE_H

#include "auto.h"

/* auto.c: the cheapest kernel for the stage, and its tiling. Without a kernel, plain loops where they are
 * allowed. */
enum uk_status uk_auto_stage(struct uk_schedule *s, struct uk_stage *st);
/* Does any kernel compute it, with copies of its borders if it wants them? */
enum uk_status uk_is_computed_by_kernel(struct uk_schedule *s, struct uk_stage *st, bool *fits);
/* auto_program.c */
bool uk_is_elementwise(const struct uk_stage *st);
/* The only stage that reads the temp that st writes, if nothing else writes it. */
struct uk_stage *uk_only_reader(const struct uk_schedule *s, const struct uk_stage *st);
/* Element-wise stages become part of their only reader, if that is one too. */
enum uk_status uk_inline_stages(struct uk_schedule *s);

#endif
