/* SPDX-License-Identifier: Apache-2.0 */
/* Values of sizes, counts of operations, recognition of matrix products. */
#ifndef UK_SHAPE_H
#define UK_SHAPE_H

#include "bench.h"
#include "uk.h"
#include "base/base.h"
#include "language/language.h"
#include "machine/machine.h"

/* Assigns values to all sizes, from --size, constants, `size` items and assumptions. Strides without a value
 * become the smallest that the rows allow. Exit status. */
int uk_choose_sizes(const struct uk_program *p, const struct uk_arguments *a, int64_t *sizes);
/* Derives the sizes again that neither the user, nor `size` items, nor constants give, except `kept` (or
 * NULL). False: some size has no value. */
bool uk_derive_sizes(const struct uk_program *p, const struct uk_var *kept, int64_t *sizes);
int64_t uk_value(const struct uk_index *e, const int64_t *sizes);
/* terms.c: number of times that the statement's right side is evaluated, excluding terms that `where`
 * skips or that are zero padding. */
double uk_terms(const struct uk_statement *s, const int64_t *sizes);
/* Floating-point or integer operations per call; a multiply-add counts as two. */
double uk_operations(const struct uk_program *p, const int64_t *sizes);
/* Cycles of a GPU for the multiply-adds of the program's sums of products at its peak rate for their types,
 * borders included. */
double uk_least_cycles(const struct uk_program *p, const int64_t *sizes, const struct uk_device *d);
/* Lower bound of the bytes that one call reads and writes; 0 if the program has a reduction. */
double uk_traffic(const struct uk_program *p, const int64_t *sizes);
/* True if the program is a single f32 matrix product that BLAS computes; sets *g to its shape. `tensors` are
 * in the program's order. */
bool uk_is_gemm(const struct uk_program *p, const int64_t *sizes, void *const *tensors, struct bench_gemm *g);

#endif
