/* SPDX-License-Identifier: Apache-2.0 */
/* Room schedule: a step that makes a copy. */
#ifndef UK_PACK_H
#define UK_PACK_H

#include "schedule.h"

struct uk_packing_step {
    struct uk_schedule *s;
    struct uk_step *step;
    const char *what; /* the step's word: "pack" or "cache_read" */
    struct uk_stage *consumer;
    int prefix;
    int operand[UK_MAX_OPERANDS], operands; /* accesses of the consumer that will read the copy */
    const struct uk_tensor *from;
    const struct uk_expr *outside; /* value of elements outside the tensor; NULL: none is read */
    struct uk_region *region;
    struct uk_buffer_layout layout;
    struct uk_tensor *tensor;
    struct uk_stage *copy, *shared; /* copy: the new stage; shared: an existing copy that is used instead */
};

/* pack.c: finds the stage that the step's place names, and its accesses to the tensor. */
enum uk_status uk_find_consumer(struct uk_packing_step *p);
/* Checks that either all accesses are under pad() with one value, which becomes p->outside, or none is. */
enum uk_status uk_find_pad(struct uk_packing_step *p);
/* Removes the guards of an operand whose copy has zeros that replace the terms outside; else they become
 * guards of the stage itself, as from a `where`. */
void uk_release_guards(struct uk_stage *st, int operand);
/* pack_copy.c: makes p->copy, which copies the region into p->tensor. */
enum uk_status uk_create_copy(struct uk_packing_step *p);

#endif
