/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products with weights of 4 or 8 bits in blocks (../weights.h).
 *
 *     weights/plan.c    checks arguments; chooses kernel, blocks and threads
 *     weights/pack.c    packs weights
 *     weights/rows.c    copies of A's rows: of f32, or rounded to bytes
 *     weights/run.c     runs plans
 *     weights/calls.c   the functions that programs call
 *
 * Packed weights are a stamp and panels of as many columns as the kernels of f32 have. A panel has for each
 * block, one after another, the bytes of the weights as ops.def describes them, the scales, and if the
 * weights have zero points the offsets -zero * scale, of f32. Without zero points weights are packed as
 * signed numbers.
 */
#ifndef GEMM_WEIGHTS_H
#define GEMM_WEIGHTS_H

#include "gemm.h"

/* Bytes of the stamp; terms of a block: a multiple of the least number. */
enum { WEIGHTS_STAMP = 64, WEIGHTS_BLOCK_LEAST = 16, WEIGHTS_BLOCK_MOST = 8 * WEIGHTS_BLOCK_LEAST };

struct weights_plan {
    uint64_t magic;
    int64_t m, n, k, block, lda, ldc;
    int bits; /* of a weight: 4 or 8 */
    struct uk_weights_options options;
    const struct uk_kernel *kernel;
    int64_t blocks;                   /* of a column */
    int64_t block_bytes, panel_bytes; /* of packed weights */
    int64_t row_blocks;               /* of about equal heights, each multiplied in one call per panel */
    int64_t row_tasks, column_tasks;  /* the grid that threads share; row_tasks divides row_blocks */
    int64_t ld;                       /* elements from row to row of the copy of A; 0: A is read in place */
    /* Bytes of the workspace: copy of A, scales and sums of its blocks, C of f32. */
    size_t copy, scales, sums;
};
_Static_assert(sizeof(struct weights_plan) <= sizeof(struct uk_weights_plan),
               "a plan has to fit into the caller's struct uk_weights_plan");

static inline bool weights_by_bytes(const struct weights_plan *p) {
    return p->options.sums == UK_SUMS_I32;
}

static inline int64_t weights_scale_bytes(const struct weights_plan *p) {
    return p->options.scale == UK_SCALE_F32 ? 4 : 2;
}

/* Bytes of the weights of a block of a column. */
static inline int64_t weights_column_bytes(const struct weights_plan *p) {
    return p->block * p->bits / 8;
}

static inline int64_t weights_panels(const struct weights_plan *p) {
    return uk_ceil_div(p->n, p->kernel->nr);
}

/* The plan; NULL: no plan was made. */
static inline const struct weights_plan *weights_plan_in(const struct uk_weights_plan *callers);

/* ---- weights/plan.c ---- */

extern const uint64_t uk_weights_magic;
enum uk_status uk_weights_make_plan(struct weights_plan *plan, int bits, int64_t m, int64_t n, int64_t k,
                                    int64_t block, int64_t lda, int64_t ldc,
                                    const struct uk_weights_options *options);

/* ---- weights/pack.c ---- */

/* Bytes of packed weights, stamp included; SIZE_MAX: more than addresses reach. */
size_t uk_weights_bytes(const struct weights_plan *plan);
enum uk_status uk_weights_pack(const struct weights_plan *plan, const struct uk_weights *weights,
                               char *packed);
/* True if the stamp says that the weights are packed for the plan. */
bool uk_weights_are_packed(const struct weights_plan *plan, const char *packed);

/* ---- weights/rows.c ---- */

/* Copies rows [begin, end) of A, plan->ld elements apart. By bytes: rounds each block of a row to multiples
 * of scales[i * 2 * blocks + g]; their sum is `blocks` floats further. */
void uk_weights_copy_rows(const struct weights_plan *plan, const void *a, int64_t begin, int64_t end,
                          void *to, float *scales);

/* ---- weights/run.c ---- */

/* Runs `count` tasks on the plan's threads, and waits for them. */
void uk_weights_parallel(const struct weights_plan *plan,
                         void (*task)(void *context, int64_t index, int64_t thread), void *context,
                         int64_t count);
void uk_weights_run(const struct weights_plan *plan, const void *a, const char *packed, float beta, void *c,
                    const struct gemm_epilogue *e, char *workspace);

static inline const struct weights_plan *weights_plan_in(const struct uk_weights_plan *callers) {
    const struct weights_plan *p = (const struct weights_plan *)(const void *)callers;

    return p && p->magic == uk_weights_magic ? p : NULL;
}

#endif
