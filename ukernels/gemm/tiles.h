/* SPDX-License-Identifier: Apache-2.0 */
/* The path of tiles: sizes of blocks, and estimates of the ways to compute a product, in cycles of one core
 * (cost.c explains them). */
#ifndef GEMM_TILES_H
#define GEMM_TILES_H

#include "pack.h"

/* ---- cost.c ---- */

/* The dimensions of a product. */
enum { GEMM_M, GEMM_N, GEMM_K };

/* Cycles of a product by a way, on one thread. Reads all fields of the way except `cycles`. */
double uk_gemm_way_cost(const struct gemm_product *p, const struct gemm_way *w);
/* Cycles of transposing C when it is stored: each tile passes through scratch on the stack. */
double uk_gemm_transposed_c_cost(const struct gemm_product *p, const struct gemm_way *w);
/* Cycles of transposing a column-major B, `columns` columns at a time, each time into the same memory. */
double uk_gemm_transposed_b_cost(const struct gemm_product *p, int64_t columns);

/* True if the first row of tiles can pack B while it computes. Ignores whether operands were packed
 * beforehand, so that the order of sums does not depend on it. */
bool uk_gemm_fuses_packing(const struct gemm_product *p, const struct gemm_tile *t, enum uk_lattice_kind a);

/* The tile with the fewest cycles per row of C for n columns, among those with the widest vectors and, if
 * in_place, with kernels that read B in place. NULL: none. */
const struct gemm_tile *uk_gemm_width_for(const struct gemm_type *type, int64_t n, bool in_place);
/* Cycles of a k iteration of a whole tile. */
double uk_gemm_tile_cycles(const struct gemm_tile *t);

/* ---- tiles_plan.c ---- */

/* Rows of a panel of A with m rows: as few panels as possible, of about equal heights, at most the tile's. */
int64_t uk_gemm_panel_rows(const struct uk_kernel *k, int64_t m);
/* k iterations of a block; blocks are about equal, and half of L2 has room for at least four panels of B. */
int64_t uk_gemm_k_block(const struct gemm_product *p, const struct gemm_tile *t);
/* Columns of a block of B, a multiple of the tile's: blocks of the n columns have about equal widths.
 * `parts`: number of tasks that share a core's L2. */
int64_t uk_gemm_columns(const struct gemm_product *p, const struct gemm_way *w, int64_t n, int parts);
/* Functions of struct gemm_path. */
double uk_gemm_tiles_cycles(struct gemm_plan *plan);
enum uk_status uk_gemm_plan_tiles(struct gemm_plan *plan);

#endif
