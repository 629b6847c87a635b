/* SPDX-License-Identifier: Apache-2.0 */
/* Random schedules of matrix products as GPUs and kernels want them, legal or not. Any steps on any program:
 * data/random_steps.h. */
#ifndef SCHEDULE_DRAW_H
#define SCHEDULE_DRAW_H

#include "random_steps.h"

/* Blocks and threads as a GPU wants them, or anyhow: loops of any sort, in any order. */
void bind_steps(struct random_steps *r);
/* Blocks, tiles and packs as a kernel wants them, of random sizes, with the outer loops in a random order. */
void kernel_steps(struct random_steps *r, bool avx512);

#endif
