/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Draws schedules of matrix products for GPUs and for kernels, legal or not. Steps for any program:
 * data/random_steps.h.
 */
#ifndef SCHEDULE_DRAW_H
#define SCHEDULE_DRAW_H

#include "random_steps.h"

/* Draws blocks and threads: loops in orders that suit a GPU, or in others. */
void bind_steps(struct random_steps *r);
/* Draws blocks, tiles and packs for a kernel, of random sizes, with the outer loops in a random order. */
void kernel_steps(struct random_steps *r, bool avx512);

#endif
