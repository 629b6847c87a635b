/* SPDX-License-Identifier: Apache-2.0 */
/* What the ways to compute a product by tiles are estimated to take: cost.c says how. Costs are cycles of one
 * core. */
#ifndef GEMM_COST_H
#define GEMM_COST_H

#include "gemm.h"

enum { GEMM_LINE = 64 };

/* A way to compute a product by tiles. */
struct uk_gemm_way {
    const struct gemm_tile *tile;
    enum gemm_form form;
    enum uk_lattice_kind a, b;
    bool prefetches; /* the tile's variant that does so */
    int64_t rows, kc;
    double cycles;
};

/* ---- blocks.c ---- */

/* The rows of a panel, if all panels are about equally high and none is higher than the kernel's tile. */
int64_t uk_gemm_panel_rows(const struct uk_kernel *k, int64_t m);
/* The length of balanced blocks of k, for each of which at least four tiles of B have room. */
int64_t uk_gemm_k_block(const struct gemm_plan *p, const struct gemm_tile *t);
/* Of n columns, those of a block of B, if all blocks are about equally wide; `parts`: tasks that share a
 * core's L2. */
int64_t uk_gemm_columns(const struct gemm_plan *p, const struct uk_gemm_way *w, int64_t n, int parts);
/* Whether so many lines, each contiguous, map to so few sets of a cache that they evict each other. */
bool uk_gemm_conflicts(const struct uk_lattice *v, int64_t lines, const struct uk_cache *c);

/* ---- cost.c ---- */

/* The dimensions of a product. */
enum { GEMM_M, GEMM_N, GEMM_K };

double uk_gemm_way_cost(const struct gemm_plan *p, const struct uk_gemm_way *w);
/* Cycles of transposing C tile by tile when it is stored: each goes through scratch. */
double uk_gemm_transposed_c_cost(const struct gemm_plan *p);
/* Cycles of transposing the whole column-major B of a plan without a tile, so many columns at a time to the
 * same memory. */
double uk_gemm_transposed_b_cost(const struct gemm_plan *p, int64_t columns);
/* A group of terms of a tile, of a kernel that reads such. */
double uk_gemm_group_cycles(const struct uk_core *core, const struct uk_kernel *k);

/* Whether the first row of tiles can pack B while it computes. It does not depend on what has been packed
 * beforehand, as the plan may not. */
bool uk_gemm_fuses_packing(const struct gemm_plan *p, const struct gemm_tile *t, enum uk_lattice_kind a);

/* The tile of the widest vectors whose width suits n columns best, among all tiles or those that take B in
 * place; NULL: there is none. */
const struct gemm_tile *uk_gemm_width_for(const struct gemm_type *type, int64_t n, bool in_place);

#endif
