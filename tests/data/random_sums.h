/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random programs around one sum, from a seed:
 *
 * - products of one to three tensors in 0 to 4 output dimensions, with or without strides of their own
 * - convolutions in one and two dimensions: channels first or last, grouped, depthwise, strided, dilated
 * - types: bytes, i32, all floating-point types
 * - with padding, with conditions, and with elementwise statements after the sum: bias, residual, rounding to
 *   fewer bits
 *
 * All extents are sizes.
 */
#ifndef RANDOM_SUMS_H
#define RANDOM_SUMS_H

#include <stdint.h>

enum { RANDOM_SUM_TEXT = 2048 };

/* Writes the text of the seed's program with this number. */
void random_sum_make(uint64_t seed, int number, char text[RANDOM_SUM_TEXT]);

#endif
