/* SPDX-License-Identifier: Apache-2.0 */
/* What the ways to compute a product by tiles are estimated to take: cost.c says how. Costs are cycles of one core. */
#ifndef GEMM_COST_H
#define GEMM_COST_H

#include "cost/cost.h"
#include "gemm.h"

enum { GEMM_LINE = 64 };

/* Measured figures, in cycles; cost.c says when each counts. */
struct gemm_figures {
    bool is_far;          /* whether the last-level cache is far */
    double split;         /* what a vector of B across two lines adds to a k iteration of few rows */
    double conflict;      /* of a row of A and a k iteration, where the rows share sets of L1 */
    double far;           /* of a line from the last cache, prefetched a few rows ahead */
    double translate;     /* of a row in another page, if there are many */
    double crossing;      /* of a row whose vectors do not begin with lines */
    double fused_packing; /* of a byte that the first row of tiles packs while it computes */
    double beside;        /* of a byte of A that tiles pack beside their k iterations */
    double unprefetched;  /* of a line of A from L3 or memory that tiles do not prefetch */
    /* A column-major A: cycles per byte of a copy; and for each tile that reads it in place: of a line that
     * comes from L2, of one from L3 or memory, and of a k iteration in another page. */
    struct {
        double copy, near, far, translate;
    } columns;
    double transposed; /* factor by which the estimate has to be better for C to be transposed and not B */
};

/* ---- figures.c ---- */

const struct gemm_figures *uk_gemm_figures_of(const struct uk_machine *m);
/* The prefetch distance in bytes for a matrix that comes from L3 or memory: what memory delivers during its
 * latency; 0 where the hardware prefetches past the end of a page, so that no page begins with misses. */
int64_t uk_gemm_ahead(const struct uk_machine *m);

/* ---- cost.c ---- */

/* Cycles per byte: of packing; of transposing. */
#define GEMM_COPY 0.1
#define GEMM_TRANSPOSE 0.2

static inline int64_t gemm_least(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static inline int64_t gemm_parts(int64_t n, int64_t part) {
    return (n + part - 1) / part;
}

/* The rows of a panel, if all panels are about equally high and none is higher than the kernel's tile. */
int64_t uk_gemm_panel_rows(const struct uk_kernel *k, int64_t m);

/* The length of balanced blocks of k, for each of which at least four tiles of B have room. */
int64_t uk_gemm_k_block(const struct gemm_plan *p, const struct gemm_tile *t);

/* Cycles of all tiles of a product, of `rows` rows each, with all operands in L1 and L2. */
double uk_gemm_tiles_cost(const struct gemm_tile *t, const struct uk_kernel *k, int64_t rows, int64_t m,
                          int64_t n, int64_t iterations);

/* A group of terms of a tile, of a kernel that reads such. */
double uk_gemm_group_cycles(const struct uk_core *core, const struct uk_kernel *k);

/* What reading or copying an operand costs beside the tiles, with blocks of k of kc, A and B from these sources. */
double uk_gemm_a_cost(const struct gemm_plan *p, const struct gemm_tile *t, int64_t kc, enum gemm_source a,
                      enum gemm_source b);
double uk_gemm_b_cost(const struct gemm_plan *p, const struct gemm_tile *t, int64_t kc, enum gemm_source a,
                      enum gemm_source b);

/* The most elements of a block of B; and how many columns a block then has, if all blocks are about equally wide. */
int64_t uk_gemm_room(const struct gemm_plan *p);
int64_t uk_gemm_columns(const struct gemm_tile *t, int64_t n, int64_t kc, int64_t room);

/* Whether the rows of A that a tile reads in place map to so few sets of L1 that they evict each other. */
bool uk_gemm_conflicts(const struct gemm_plan *p, const struct gemm_tile *t);

/* Whether the tiles prefetch what is read next. */
bool uk_gemm_prefetches(const struct gemm_plan *p, const struct gemm_tile *t, enum gemm_form form);

/* Whether the first row of tiles can pack B while it computes. It does not depend on what has been packed
 * beforehand, as the plan may not. */
bool uk_gemm_fuses_packing(const struct gemm_plan *p, const struct gemm_tile *t, enum gemm_source a);

/* The tile of the widest vectors whose width suits n columns best, among all tiles or those that take B in
 * place; NULL: there is none. */
const struct gemm_tile *uk_gemm_width_for(const struct gemm_type *type, int64_t n, bool in_place);

#endif
