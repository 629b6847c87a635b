/* SPDX-License-Identifier: Apache-2.0 */
/* Products with few rows on GPUs: what few_rows.c and few_rows_plan.c share. */
#ifndef UK_DEVICE_FEW_ROWS_H
#define UK_DEVICE_FEW_ROWS_H

#include "product.h"

/* A product of a matrix, read once, by a few vectors: the product's rows. */
struct uk_few_rows {
    struct uk_schedule *s;
    struct uk_stage *st;
    int vectors, matrix;        /* operands */
    struct uk_loop *many, *sum; /* the loops over the matrix; `many` is one of the output */
    double rows;                /* the number of vectors */
    double others;              /* values of loops of the output that move both operands */
    double more_terms;          /* values of the sum's other loops */
    bool along_sum; /* adjacent elements of the matrix are terms of a sum, not elements of the output */
};

/*
 * How threads share the matrix. A block has x * y threads. Each adds `rows` sums for each of
 *
 *     along_sum   `each` elements of the output; x threads take vectors of a step's terms, y others elements
 *     else        a vector of the output; x threads take vectors of the output, y `each` terms of a step
 *
 * and in a step loads `each` vectors of the matrix. Sums of a block's threads are added in shared memory.
 */
struct uk_few_rows_plan {
    int x, y, vector, each;
    int64_t parts; /* of the sum, each computed by other blocks */
};

/* few_rows_plan.c: the plan for which all launches take the fewest cycles, with up to `most_parts`. *found
 * false: no plan fits. */
enum uk_status uk_device_plan_few_rows(const struct uk_few_rows *w, int64_t most_parts,
                                       struct uk_few_rows_plan *out, bool *found);
/* Terms of a step; elements of the output in a block. */
int uk_device_step_terms(const struct uk_few_rows *w, const struct uk_few_rows_plan *p);
int uk_device_block_elements(const struct uk_few_rows *w, const struct uk_few_rows_plan *p);

#endif
