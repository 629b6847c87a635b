/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random programs whose elements lie several in a register of a GPU: tensors X and Y of [N, 2, 4 or 8] bytes,
 * i16, f16 or f32, of which each result takes some by constant subscripts, through arithmetic of mixed types,
 * or sums them against one another's order. Integers wrap; floats stay so small that every sum and product is
 * exact.
 */
#ifndef TESTS_GPU_RANDOM_PACKED_H
#define TESTS_GPU_RANDOM_PACKED_H

#include "language/language.h"
#include "random.h"

/* Appends a program; its one size is N. */
void random_packed_make(uint64_t *x, struct uk_text *text);

#endif
