/* SPDX-License-Identifier: Apache-2.0 */
/* Copies of operands: of a block while a product is computed, or of a whole operand beforehand. */
#ifndef GEMM_PACK_H
#define GEMM_PACK_H

#include "gemm.h"

/* The row stride in elements of a copy of rows of n elements. For long rows it is an odd number of cache
 * lines: rows then use all sets of a cache, and vectors that are stored to them cross no lines. */
int64_t uk_gemm_leading(int64_t n, int size);
/* A and B of the product (struct gemm_product, not of the call). */
enum gemm_side { GEMM_LEFT, GEMM_RIGHT };
/* The element type of A or B, which differ if the type is mixed. */
static inline enum uk_element gemm_element_of(const struct gemm_type *t, enum gemm_side side) {
    return side == GEMM_LEFT ? t->left : t->right;
}
/* The operand as the caller stores it: lines (of struct uk_lattice) are rows of A or columns of B. */
static inline struct uk_lattice gemm_in_place(const struct gemm_product *p, enum gemm_side side) {
    const enum uk_element element = gemm_element_of(p->type, side);

    return side == GEMM_LEFT ? uk_lattice_matrix(element, p->m, p->k, gemm_a_row(p), gemm_a_step(p))
                             : uk_lattice_matrix(element, p->n, p->k, gemm_b_column(p), gemm_b_step(p));
}
/* The copy of n lines of k elements for tiles, in rows or in panels of `taken` lines. */
struct uk_lattice uk_gemm_copy(const struct gemm_type *type, const struct gemm_tile *tile,
                               enum gemm_side side, enum uk_lattice_kind kind, int64_t n, int64_t k,
                               int64_t taken);
/* The copy of one block of an operand, for plans of tiles that copy it. */
struct uk_lattice uk_gemm_block(const struct gemm_plan *plan, enum gemm_side side);
/* The copy of a whole operand, as the plan's path packs it. */
struct uk_lattice uk_gemm_packed(const struct gemm_plan *plan, enum gemm_side side);
/* Bytes from the beginning of a packed operand of bytes to the sums of its lines, in i32, which follow it. */
size_t uk_gemm_packed_sums(const struct uk_lattice *packed);
/* Bytes of that copy, with its sums; 0: the path packs nothing; SIZE_MAX: more than addresses reach. */
size_t uk_gemm_packed_bytes(const struct gemm_plan *plan, enum gemm_side side);

/* A rectangle to copy: elements [k, k + iterations) of lines [line, line + n). They become lines 0 to n and
 * elements 0 to `iterations` of the copy.
 *     panels   0 fills the lines that the last panel lacks and the last group of terms; the border's value
 *              replaces elements outside of the array
 *     rows     only of a matrix: one loop of lines, one of k, no axis */
struct uk_gemm_part {
    const struct uk_lattice *from;
    const void *array;
    int64_t line, n, k, iterations;
    const struct uk_lattice *to;
};
void uk_gemm_pack(const struct gemm_type *type, const struct uk_gemm_part *part, void *copy);
/* Packs the whole operand `from` into `to`, which has uk_gemm_packed_bytes. */
void uk_gemm_pack_whole(const struct gemm_plan *plan, enum gemm_side side, const void *from, void *to);

#endif
