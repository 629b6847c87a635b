/* SPDX-License-Identifier: Apache-2.0 */
/* Products by tiles: blocks, and what the ways to compute them are estimated to take, in cycles of one core
 * (cost.c says how). */
#ifndef GEMM_TILES_H
#define GEMM_TILES_H

#include "pack.h"

/* ---- blocks.c ---- */

/* Rows of a panel: panels are about equally high, and none is higher than the kernel's tile. */
int64_t uk_gemm_panel_rows(const struct uk_kernel *k, int64_t m);
/* Length of the blocks of k, about equally long; L2 has room for at least four tiles of B. */
int64_t uk_gemm_k_block(const struct gemm_product *p, const struct gemm_tile *t);
/* Columns of a block of B: blocks of the n columns are about equally wide. `parts`: tasks that share a core's
 * L2. */
int64_t uk_gemm_columns(const struct gemm_product *p, const struct gemm_way *w, int64_t n, int parts);

/* ---- cost.c ---- */

/* The dimensions of a product. */
enum { GEMM_M, GEMM_N, GEMM_K };

double uk_gemm_way_cost(const struct gemm_product *p, const struct gemm_way *w);
/* Cycles of transposing C when it is stored: each tile passes through scratch. */
double uk_gemm_transposed_c_cost(const struct gemm_product *p, const struct gemm_way *w);
/* Cycles of transposing a column-major B, `columns` at a time, into the same memory. */
double uk_gemm_transposed_b_cost(const struct gemm_product *p, int64_t columns);
/* Cycles of one group of terms, for a kernel that reads groups. */
double uk_gemm_group_cycles(const struct uk_core *core, const struct uk_kernel *k);

/* Can the first row of tiles pack B while it computes? Independent of operands packed beforehand, as the
 * order of sums must be. */
bool uk_gemm_fuses_packing(const struct gemm_product *p, const struct gemm_tile *t, enum uk_lattice_kind a);

/* Among the tiles with the widest vectors the one with the least cycles per row for n columns; in_place: of
 * those that read B in place. NULL: none. */
const struct gemm_tile *uk_gemm_width_for(const struct gemm_type *type, int64_t n, bool in_place);

/* ---- plan_tiles.c: the path, as plan.h has it ---- */

double uk_gemm_tiles_cycles(struct gemm_plan *plan);
enum uk_status uk_gemm_plan_tiles(struct gemm_plan *plan);

#endif
