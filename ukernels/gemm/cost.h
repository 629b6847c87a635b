/* SPDX-License-Identifier: Apache-2.0 */
/* What the ways to compute a product by tiles are estimated to take: cost.c says how. Costs are cycles of one core. */
#ifndef GEMM_COST_H
#define GEMM_COST_H

#include "cost/cost.h"
#include "gemm.h"

enum { GEMM_LINE = 64 };

/* Measured figures, in cycles; cost.c says when each counts. */
struct gemm_figures {
    bool is_far;          /* the last cache */
    double split;         /* that a vector of B across two lines adds to a step of few */
    double conflict;      /* of a row of A and a step, where the rows share sets of the first cache */
    double far;           /* of a line from the last cache, prefetched a few rows ahead */
    double translate;     /* of a row in another page, if there are many */
    double crossing;      /* of a row whose vectors do not begin with lines */
    double fused_packing; /* of a byte of a copy that the first panel of rows makes as it reads */
    double beside;        /* of a byte of a copy of A that tiles make beside their steps */
    double unprefetched;  /* of a line of A from behind the second cache, which such tiles do not prefetch */
    /* A column-major A: cycles per byte of a copy; and for each tile that reads it in place: of a line that comes from the second
     * cache, of one from behind it, and of a step in another page. */
    struct {
        double copy, near, far, translate;
    } columns;
    double transposed; /* factor by which the estimate has to be better for C to be transposed and not B */
};

/* ---- figures.c ---- */

const struct gemm_figures *uk_gemm_figures_of(const struct uk_machine *m);
/* How many bytes ahead kernels prefetch a matrix that comes from behind the second cache: what comes from memory during its
 * latency; 0 where the hardware prefetches past the end of a page, so that no page begins with misses. */
int64_t uk_gemm_ahead(const struct uk_machine *m);

/* ---- cost.c ---- */

/* Cycles per byte: of a copy; of elements whose columns become rows. */
#define GEMM_COPY 0.1
#define GEMM_TRANSPOSE 0.2

static inline int64_t gemm_least(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static inline int64_t gemm_parts(int64_t n, int64_t part) {
    return (n + part - 1) / part;
}

/* Rows of equal panels, none higher than the kernel's tile. */
int64_t uk_gemm_panel_rows(const struct uk_kernel *k, int64_t m);

/* Balanced blocks of k, whose part of B has room for four tiles at least. */
int64_t uk_gemm_k_block(const struct gemm_plan *p, const struct gemm_tile *t);

/* All tiles of a product, of so many rows each, with all operands near. */
double uk_gemm_tiles_cost(const struct gemm_tile *t, const struct uk_kernel *k, int64_t rows, int64_t m,
                          int64_t n, int64_t iterations);

/* What reading or copying an operand costs beside the tiles, with blocks of k of kc, A and B from these sources. */
double uk_gemm_a_cost(const struct gemm_plan *p, const struct gemm_tile *t, int64_t kc, enum gemm_source a,
                      enum gemm_source b);
double uk_gemm_b_cost(const struct gemm_plan *p, const struct gemm_tile *t, int64_t kc, enum gemm_source a,
                      enum gemm_source b);

/* The most elements of a block of B; and how many columns a block then has, if all blocks are about equally wide. */
int64_t uk_gemm_room(const struct gemm_plan *p);
int64_t uk_gemm_columns(const struct gemm_tile *t, int64_t n, int64_t kc, int64_t room);

/* Whether a tile's rows of A, in place, share so few sets of the first cache that they do not stay there. */
bool uk_gemm_conflicts(const struct gemm_plan *p, const struct gemm_tile *t);

/* Whether the tiles prefetch what is needed of B next. */
bool uk_gemm_prefetches(const struct gemm_plan *p, const struct gemm_tile *t, enum gemm_form form);

/* Whether the first panel of rows can copy B as it reads it. What has been packed beforehand does not count: the plan may
 * not depend on it. */
bool uk_gemm_fuses_packing(const struct gemm_plan *p, const struct gemm_tile *t, enum gemm_source a);

/* The tile whose width suits n columns, of all or of those that take B in place: of the widest vectors; NULL: there is none. */
const struct gemm_tile *uk_gemm_width_for(const struct gemm_type *type, int64_t n, bool in_place);

#endif
