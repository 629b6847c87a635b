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
/* peak.c: the types of both factors of a product, for which GPUs have different rates. */
enum uk_factors {
    UK_FACTORS_F32,
    UK_FACTORS_F64,
    UK_FACTORS_F16,
    UK_FACTORS_BF16,
    UK_FACTORS_I8,
    UK_FACTORS
};
/* Those of a matrix instruction (v_mfma_f32_32x32x8f16 v[0:15], ...). */
enum uk_factors uk_factors_of_matrix(const char *instruction);
/* Multiply-adds of programs at a GPU's peak rate; begins with 0 everywhere. */
struct uk_peak {
    double cycles;           /* borders included */
    unsigned vector, matrix; /* what has that rate: vector instructions or matrix units, each with a bit for
                                each of enum uk_factors */
};
/* Adds a call of the program. `matrix` has a bit for each of enum uk_factors whose products the program's
 * kernels compute by matrix instructions: for these, the peak is that of the matrix units. */
void uk_peak_add(struct uk_peak *peak, const struct uk_program *p, const int64_t *sizes,
                 const struct uk_device *d, unsigned matrix);
/* Writes what has that rate: "f32 by vector instructions"; returns the text. */
enum { UK_PEAK_TEXT = 256 };
const char *uk_peak_units(const struct uk_peak *peak, char text[UK_PEAK_TEXT]);
/* Prints a line for each sum of products: the GPU's rates for its factors. */
void uk_peak_explain(const struct uk_program *p, const struct uk_device *d, const char *indent);
/* Lower bound of the bytes that one call reads and writes; 0 if the program has a reduction. */
double uk_traffic(const struct uk_program *p, const int64_t *sizes);
/* True if the program is a single f32 matrix product that BLAS computes; sets *g to its shape. `tensors` are
 * in the program's order. */
bool uk_is_gemm(const struct uk_program *p, const int64_t *sizes, void *const *tensors, struct bench_gemm *g);

#endif
