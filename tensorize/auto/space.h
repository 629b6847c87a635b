/* SPDX-License-Identifier: Apache-2.0 */
/* Inside the search space: a schedule as steps that can be changed one at a time. */
#ifndef UK_SPACE_H
#define UK_SPACE_H

#include "auto.h"

enum { UK_MAX_STEPS = 256 };

struct uk_draft {
    struct uk_schedule *s; /* the program with these steps applied */
    int steps;
    struct uk_step *step[UK_MAX_STEPS]; /* every loop is named with its stage */
};

/* A number in [0, below), and the next state. */
uint64_t uk_draw(uint64_t *random, uint64_t below);
/* Makes one change, drawn by *random; whether it is legal is for the caller to find out. d->s stays as it was.
 * UK_REFUSED: what was drawn has nothing to change here. */
enum uk_status uk_change(struct uk_draft *d, uint64_t *random);

#endif
