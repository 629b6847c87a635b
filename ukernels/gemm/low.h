/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Types of low precision: products whose operands have fewer bits than their sums.
 *
 *     low/types.c       the types, and their rows of tiles
 *     low/plan.c        chooses the kernel by an estimate
 *     low/pack.c        copies of operands
 *     low/convert.c     conversions of f16 and bf16
 *     low/sums.c        sums of rows and columns, for zero points
 *     low/epilogue.c    checks the caller's last operations on sums of bytes
 *     low/quantize.c    does them
 *     low/bytes.c       functions that programs call, of bytes; calls_bytes.h has those of one type
 *     low/halves.c      the same of f16 and bf16; calls_halves.h
 *
 * Kernels read groups of kr terms. A tile's panels are [k/kr][width][kr]; a kernel of the form GEMM_RA reads
 * the rows of A in place. If a row ends in a partial group that such a kernel does not take, it reads a copy,
 * in which each row is filled up with 0.
 */
#ifndef GEMM_LOW_H
#define GEMM_LOW_H

#include "pack.h"

/* Terms of a group of any kernel, at most. */
enum { GEMM_GROUP_MOST = 8 };

/* ---- low/types.c ---- */

/* C = beta C, with the last operations: the product has no terms. */
void uk_gemm_low_scale(const struct gemm_product *p, const struct gemm_operands *o);

/* ---- low/plan.c ---- */

/* The way with the fewest estimated cycles among all kernels of the type. whole: k must be one block. Its
 * tile is NULL if no kernel computes the type. */
struct gemm_way uk_gemm_low_way(const struct gemm_product *p, bool whole);

/* ---- low/pack.c ---- */

/* The kernel that packs groups of kr terms of lines that are contiguous along k, or side by side: whole
 * panels if its operation's form is UK_OP_PANEL_T or UK_OP_PANEL_N. NULL: none. */
const struct uk_kernel *uk_gemm_group_pack(const struct gemm_type *t, int kr, bool along_k);
/* Functions of struct gemm_type. */
void uk_gemm_pack_groups(const struct gemm_type *t, const struct uk_lattice *to, int64_t k, int64_t n,
                         const void *s, int64_t step, int64_t across, void *d);
/* Also fills each row up with 0 to a multiple of GEMM_GROUP_MOST elements, or to its end. */
void uk_gemm_copy_low_rows(const struct gemm_type *t, int64_t m, int64_t k, const void *s, int64_t row,
                           int64_t step, void *d, int64_t ldd);

/* ---- low/convert.c ---- */

/* Packs a panel of f32 of `width` lines from lines of f16 or bf16, contiguous along k or side by side. */
void uk_gemm_pack_widened(const struct gemm_type *t, int64_t k, int64_t n, const void *s, int64_t step,
                          int64_t across, int64_t width, void *d);
/* d[i*ldd + p] = s[i*row + p*step], converted to f32 */
void uk_gemm_widen_rows(const struct gemm_type *t, int64_t m, int64_t k, const uint16_t *s, int64_t row,
                        int64_t step, float *d, int64_t ldd);
/* Converts n elements of the type to f32. */
void uk_gemm_widen(const struct gemm_type *t, int64_t n, const uint16_t *s, float *d);
/* sums = alpha sums + beta C, rows lds and ldc apart; C is not read if beta is 0. */
void uk_gemm_merge_low(const struct gemm_product *p, int64_t m, int64_t n, double alpha, float *sums,
                       int64_t lds, double beta, const void *c, int64_t ldc);
/* C = sums, rounded once to C's elements. */
void uk_gemm_store_low(const struct gemm_product *p, int64_t m, int64_t n, const float *sums, int64_t lds,
                       void *c, int64_t ldc);

/* ---- low/sums.c ---- */

/* Sets sums[i] to the sum of line `line` + i of a matrix of bytes, i < n. */
void uk_gemm_low_sums(const struct uk_lattice *m, const void *array, int64_t line, int64_t n, int32_t *sums);

/* ---- low/epilogue.c ---- */

/* Sets *q to the caller's epilogue, which may be NULL, for a run of the plan. q refers to it. */
enum uk_status uk_gemm_quantization(const struct gemm_plan *plan, const struct uk_igemm_epilogue *epilogue,
                                    int32_t beta, struct gemm_quantization *q);

/* ---- low/quantize.c ---- */

/* Stores `count` columns of a tile to C, where c is its first element. Rows of its sums are lds apart:
 *
 *     zero points and biases are added modulo 2^32
 *     C of bytes    round(scale * f32(sum)) + c_zero, ties to even, clamped
 *     C of i32      the same, or if it is not scaled sum + c_zero, clamped
 *     C of f32      scale * f32(sum), clamped
 *
 * `column`: of C, the tile's first. */
void uk_gemm_quantize(const struct gemm_tile_row *s, int64_t column, int64_t count, const int32_t *sums,
                      int64_t lds, void *c);

#endif
