/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random programs with several elements in a GPU register: tensors X and Y of [N, 2, 4 or 8] bytes, i16, f16
 * or f32. Each result reads elements by constant subscripts, in arithmetic of mixed types or in sums against
 * each other's order. Integers wrap; floats are so small that every sum and product is exact.
 */
#ifndef TESTS_GPU_RANDOM_PACKED_H
#define TESTS_GPU_RANDOM_PACKED_H

#include "language/language.h"
#include "random.h"

/* Appends a program; its only size is N. */
void random_packed_make(uint64_t *x, struct uk_text *text);

#endif
