/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random programs around one sum, from a seed: products of one to three tensors in 0 to 4 output dimensions,
 * with strides of their own or not; convolutions in one and two dimensions with the channels first or last,
 * in groups, depthwise, strided, dilated; of bytes, i32 and floats of all types; under pad, with conditions,
 * with what follows element by element: bias, residual, rounding to fewer bits. All extents are sizes.
 */
#ifndef RANDOM_SUMS_H
#define RANDOM_SUMS_H

#include <stdint.h>

enum { RANDOM_SUM_TEXT = 2048 };

/* The text of program number `number` of the seed. */
void random_sum_make(uint64_t seed, int number, char text[RANDOM_SUM_TEXT]);

#endif
