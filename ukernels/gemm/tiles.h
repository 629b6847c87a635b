/* SPDX-License-Identifier: Apache-2.0 */
/* Products by tiles: blocks, and what the ways to compute them are estimated to take, in cycles of one core
 * (cost.c says how). */
#ifndef GEMM_TILES_H
#define GEMM_TILES_H

#include "pack.h"

/* ---- blocks.c ---- */

/* The rows of a panel, if all panels are about equally high and none is higher than the kernel's tile. */
int64_t uk_gemm_panel_rows(const struct uk_kernel *k, int64_t m);
/* The length of balanced blocks of k, for each of which at least four tiles of B have room. */
int64_t uk_gemm_k_block(const struct gemm_product *p, const struct gemm_tile *t);
/* Of n columns, those of a block of B, if all blocks are about equally wide; `parts`: tasks that share a
 * core's L2. */
int64_t uk_gemm_columns(const struct gemm_product *p, const struct gemm_way *w, int64_t n, int parts);

/* ---- cost.c ---- */

/* The dimensions of a product. */
enum { GEMM_M, GEMM_N, GEMM_K };

double uk_gemm_way_cost(const struct gemm_product *p, const struct gemm_way *w);
/* Cycles of transposing C tile by tile when it is stored: each goes through scratch. */
double uk_gemm_transposed_c_cost(const struct gemm_product *p, const struct gemm_way *w);
/* Cycles of transposing the whole column-major B, so many columns at a time to the same memory. */
double uk_gemm_transposed_b_cost(const struct gemm_product *p, int64_t columns);
/* A group of terms of a tile, of a kernel that reads such. */
double uk_gemm_group_cycles(const struct uk_core *core, const struct uk_kernel *k);

/* Whether the first row of tiles can pack B while it computes. It does not depend on what has been packed
 * beforehand, as the plan may not. */
bool uk_gemm_fuses_packing(const struct gemm_product *p, const struct gemm_tile *t, enum uk_lattice_kind a);

/* The tile of the widest vectors whose width suits n columns best, among all tiles or those that take B in
 * place; NULL: there is none. */
const struct gemm_tile *uk_gemm_width_for(const struct gemm_type *type, int64_t n, bool in_place);

/* ---- plan_tiles.c: the path, as plan.h has it ---- */

double uk_gemm_tiles_cycles(struct gemm_plan *plan);
enum uk_status uk_gemm_plan_tiles(struct gemm_plan *plan);

#endif
