/* SPDX-License-Identifier: Apache-2.0 */
/* Inside room auto: the schedule of one stage, and stages that are inlined into others. */
#ifndef UK_AUTO_STAGE_H
#define UK_AUTO_STAGE_H

#include "auto.h"

/* auto.c: tiles the stage for the cheapest kernel. If no kernel fits, it keeps plain loops, if these are
 * allowed. */
enum uk_status uk_auto_stage(struct uk_schedule *s, struct uk_stage *st);
/* auto.c: sets *fits if some kernel computes the stage, possibly with copies of operands that hold their
 * borders. */
enum uk_status uk_is_computed_by_kernel(struct uk_schedule *s, struct uk_stage *st, bool *fits);
/* program.c: true if the stage computes each element of its output from single elements, without a
 * sum. */
bool uk_is_elementwise(const struct uk_stage *st);
/* The only stage that reads the temp that st writes; NULL: several do, or another stage writes it too. */
struct uk_stage *uk_only_reader(const struct uk_schedule *s, const struct uk_stage *st);
/* Inlines elementwise stages into their only reader, if that is elementwise too. */
enum uk_status uk_inline_stages(struct uk_schedule *s);

#endif
