/* SPDX-License-Identifier: Apache-2.0 */
/* Random numbers for drawn shapes, by the generator splitmix64: the sequence depends only on its state, on
 * every machine. */
#ifndef BENCH_DRAW_H
#define BENCH_DRAW_H

#include <stdint.h>

/* The first state for a set of shapes: each set has a sequence of its own. */
uint64_t bench_draw_begin(uint64_t seed, const char *set);
uint64_t bench_draw(uint64_t *state);
/* In [0, 1). */
double bench_draw_real(uint64_t *state);
int64_t bench_draw_from(uint64_t *state, const int64_t *values, int count);
/* A number with an evenly distributed logarithm. */
double bench_draw_log(uint64_t *state, double least, double most);

#endif
