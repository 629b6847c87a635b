/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matrix instructions: where the 64 lanes hold the elements of A, B, C and D.
 *
 * A[i][k] and B[k][j]: the lanes are divided among i (or j), then blocks, then parts of k; a lane holds the
 * elements of its part of k one after the other, from the lowest bits of its first register on. D[i][j] and
 * C[i][j]: the lanes are divided among j, then blocks, then groups of rows, 4 rows of 32 bits or 1 of 64; a
 * lane holds the rows of its group, then further groups, then further blocks, in consecutive registers.
 */
#ifndef UK_AMDGPU_MATRIX_H
#define UK_AMDGPU_MATRIX_H

#include <stdint.h>

/* The columns of matrix.def; types are values of enum uk_amdgpu_type. */
struct uk_matrix {
    uint8_t type, factor_type; /* of C and D, and of A and B */
    uint8_t size, k, blocks, passes;
};

/* Element `value` of the lane, in order from the lowest bits of its first register on. */
struct uk_matrix_place {
    uint8_t lane, value;
};

/* Bytes of an element of A and B; bytes of one of C and D. */
unsigned uk_matrix_factor_bytes(const struct uk_matrix *);
unsigned uk_matrix_sum_bytes(const struct uk_matrix *);
/* The place of A[i][k], and that of B[k][j] with i = j. */
struct uk_matrix_place uk_matrix_factor_place(const struct uk_matrix *, unsigned block, unsigned i,
                                              unsigned k);
/* The place of C[i][j] and of D[i][j]. */
struct uk_matrix_place uk_matrix_sum_place(const struct uk_matrix *, unsigned block, unsigned i, unsigned j);

#endif
