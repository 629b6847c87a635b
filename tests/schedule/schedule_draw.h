/* SPDX-License-Identifier: Apache-2.0 */
/* Random schedules of the kinds of programs, as text: legal or not. */
#ifndef SCHEDULE_DRAW_H
#define SCHEDULE_DRAW_H

#include <stdbool.h>
#include <stdint.h>

enum { MAX_STEPS = 48, STEP_LENGTH = 128 };

struct random_steps {
    uint64_t x;
    int loops, names, steps, size[3];
    char loop[24][16];
    char step[MAX_STEPS][STEP_LENGTH];
};

/* Blocks and threads as a GPU wants them, or anyhow: loops of any sort, in any order. */
void bind_steps(struct random_steps *r);
/* Blocks, tiles and packs as a kernel wants them, of random sizes, with the outer loops in a random order. */
void kernel_steps(struct random_steps *r, bool avx512);
/* Any steps on the loops that r->loop names. */
void any_steps(struct random_steps *r);

#endif
