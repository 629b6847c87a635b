/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Types of low precision: products whose operands have fewer bits than their sums.
 *
 *     low.c         the types, and their rows of tiles
 *     low_plan.c    chooses the kernel by an estimate
 *     low_pack.c    copies of operands
 *     bytes.c       the functions that programs call; calls_bytes.h has those of one type
 *
 * Kernels read groups of kr terms. A tile's panels are [k/kr][width][kr]; a kernel of the form GEMM_RA reads
 * the rows of A in place. If a row ends in a partial group that such a kernel does not take, it reads a copy,
 * in which each row is filled up with 0.
 */
#ifndef GEMM_LOW_H
#define GEMM_LOW_H

#include "gemm.h"

/* Terms of a group of any kernel, at most. */
enum { GEMM_GROUP_MOST = 8 };

/* ---- low_plan.c ---- */

/* The way with the fewest estimated cycles among all kernels of the type. whole: k must be one block. Its
 * tile is NULL if there is none. */
struct gemm_way uk_gemm_low_way(const struct gemm_product *p, bool whole);

/* ---- low_pack.c ---- */

/* The kernel that packs groups of kr terms of lines that are contiguous along k, or side by side; NULL: none.
 */
const struct uk_kernel *uk_gemm_group_pack(const struct gemm_type *t, int kr, bool along_k);
/* Functions of struct gemm_type. */
void uk_gemm_pack_groups(const struct gemm_type *t, const struct uk_lattice *to, int64_t k, int64_t n,
                         const void *s, int64_t step, int64_t across, void *d);
/* Also fills each row up with 0 to a multiple of GEMM_GROUP_MOST elements, or to its end. */
void uk_gemm_copy_low_rows(const struct gemm_type *t, int64_t m, int64_t k, const void *s, int64_t row,
                           int64_t step, void *d, int64_t ldd);

#endif
