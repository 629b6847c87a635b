/* SPDX-License-Identifier: Apache-2.0 */
/* Inside the scheduler: a step that makes a copy. */
#ifndef UK_PACK_H
#define UK_PACK_H

#include "schedule.h"

struct uk_packing_step {
    struct uk_schedule *s;
    struct uk_step *step;
    const char *what; /* pack, cache_read */
    struct uk_stage *consumer;
    int prefix;
    int operand[UK_MAX_OPERANDS], operands; /* the accesses of the consumer */
    const struct uk_tensor *from;
    const struct uk_expr *outside; /* what is read outside of the tensor; NULL: it is not */
    struct uk_region *region;
    struct uk_buffer_layout layout;
    struct uk_tensor *tensor;
    struct uk_stage *copy, *shared; /* the copy that is made, or the one that is there already */
};

/* pack_copy.c: p->copy, of the region in p->tensor. */
enum uk_status uk_create_copy(struct uk_packing_step *p);

#endif
