/* SPDX-License-Identifier: Apache-2.0 */
/* Copies of operands: of a block while a product is computed, or of a whole operand beforehand. */
#ifndef GEMM_PACK_H
#define GEMM_PACK_H

#include "plan.h"

/* The row stride of a copy of rows of n elements. Long ones are an odd number of lines: they use all sets of
 * a cache, and vectors that are stored to them cross no lines. */
int64_t uk_gemm_leading(int64_t n, int size);
/* A, and B. */
enum gemm_side { GEMM_LEFT, GEMM_RIGHT };
/* A mixed product's A and B have types of their own. */
static inline enum uk_element gemm_element_of(const struct gemm_type *t, enum gemm_side side) {
    return !t->is_mixed ? t->element : side == GEMM_LEFT ? UK_ELEMENT_U8 : UK_ELEMENT_I8;
}
/* A, with its rows as lines, or B, with its columns, as the caller has it. */
static inline struct uk_lattice gemm_in_place(const struct gemm_product *p, enum gemm_side side) {
    const enum uk_element element = gemm_element_of(p->type, side);

    return side == GEMM_LEFT ? uk_lattice_matrix(element, p->m, p->k, gemm_a_row(p), gemm_a_step(p))
                             : uk_lattice_matrix(element, p->n, p->k, gemm_b_column(p), gemm_b_step(p));
}
/* Its copy for tiles: n lines of k elements; `taken`: of a panel. */
struct uk_lattice uk_gemm_copy(const struct gemm_type *type, const struct gemm_tile *tile,
                               enum gemm_side side, enum uk_lattice_kind kind, int64_t n, int64_t k,
                               int64_t taken);
/* The copy of a block of a product by tiles, of an operand that the plan copies. */
struct uk_lattice uk_gemm_block(const struct gemm_plan *plan, enum gemm_side side);
/* The whole operand as the plan's path has it packed. */
struct uk_lattice uk_gemm_packed(const struct gemm_plan *plan, enum gemm_side side);
/* Its bytes; 0: the path packs nothing. */
size_t uk_gemm_packed_bytes(const struct gemm_plan *plan, enum gemm_side side);

/* A copy of lines [line, line + n) of an operand, and of each elements [k, k + iterations): they become lines
 * 0 to n and elements 0 to `iterations`. In panels, 0 is written to lines that a panel does not have and
 * behind the last element of a group, and the border's value where the view leads out of the array. In rows:
 * of a matrix, a view with one loop of lines and one of k, without an axis. */
struct uk_gemm_part {
    const struct uk_lattice *from;
    const void *array;
    int64_t line, n, k, iterations;
    const struct uk_lattice *to;
};
void uk_gemm_pack(const struct gemm_type *type, const struct uk_gemm_part *part, void *copy);
/* Packs the whole operand. */
void uk_gemm_pack_whole(const struct gemm_plan *plan, enum gemm_side side, const void *from, void *to);

#endif
