/* SPDX-License-Identifier: Apache-2.0 */
/* Operands of products and convolutions, with the interpreter's results and the tolerance of a sum. */
#ifndef TESTS_GPU_VALUES_H
#define TESTS_GPU_VALUES_H

#include "random_data.h"

/* Values of floats. Integers of 32 bits have any bits; a quarter of all bytes are the type's limits. */
enum values {
    /* integers so small that sums of products are exact in any order */
    INTEGERS,
    /* the same with an infinity and a NaN in each operand, unless it is `finite` */
    INFINITIES,
    /* any mantissas, of magnitude below 1; sums are exact within a bound */
    MANTISSAS,
    VALUES
};

/* Draws the operands for the sizes in d->size; the result is the tensor Y. Each of its elements is a sum of
 * `terms` products, to which at most two elements are added. */
void draw_values(struct random_data *d, struct uk_program *p, enum values values, int64_t terms, uint64_t x);
/* Sets d->size to the defaults of the program's `size` items. */
void use_default_sizes(struct random_data *d, const struct uk_program *p);

#endif
