/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ways to compute a product, each in a file of its own: paths.c (no product at all, and the table), small.c,
 * vector.c, dots.c, run.c (tiles, planned in plan_tiles.c).
 */
#ifndef GEMM_PATH_H
#define GEMM_PATH_H

#include "cost.h"
#include "direct.h"

/* A text that grows as long as there is room. */
struct gemm_text {
    char *buffer;
    size_t size, length;
};
void uk_gemm_add(struct gemm_text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Element `index` of A or B, and of C. */
static inline const void *gemm_at(const struct gemm_plan *plan, const void *base, int64_t index) {
    return (const char *)base + index * plan->type->size;
}

static inline void *gemm_at_written(const struct gemm_plan *plan, void *base, int64_t index) {
    return (char *)base + index * plan->type->c_size;
}

/* How operands are packed beforehand. */
enum gemm_packs {
    GEMM_PACKS_NOTHING,
    GEMM_PACKS_PANELS,
    GEMM_PACKS_ALONG_K,  /* rows of A, and columns of B */
    GEMM_PACKS_AS_STORED /* in its order, rows uk_gemm_leading apart */
};

struct gemm_product;
/* A plan of the row-major product without a path; swapped: A and B are the transposes of the caller's B and
 * A. */
struct gemm_plan uk_gemm_plan_of(const struct gemm_type *type, const struct gemm_product *p, bool swapped);

struct gemm_path {
    const char *name;
    enum gemm_packs packs;
    /* Whether it applies, and what it does: completes the plan; UK_NO_MATCH: this is no path for the product,
     * of which only strides, sizes, threads and what is packed are set. */
    enum uk_status (*plan)(struct gemm_plan *p);
    /* alpha is not 0. The workspace has as many bytes as uk_gemm_workspace_of says. */
    void (*run)(const struct gemm_plan *plan, const struct gemm_operands *o, void *workspace);
    void (*explain)(struct gemm_text *t, const struct gemm_plan *plan);
};

extern const struct gemm_path uk_gemm_scale, uk_gemm_small, uk_gemm_vector, uk_gemm_dots, uk_gemm_tiles;
/* In the order in which they are tried, the last of which takes everything; and NULL. */
extern const struct gemm_path *const uk_gemm_paths[];

/* What a task of a path computes a part of. */
struct gemm_task {
    const struct gemm_plan *plan;
    const struct gemm_operands *o;
    char *work;
};

/* The task's share of `count` panels of `size` of the `whole`. */
static inline void gemm_share(int64_t task, int64_t tasks, int64_t whole, int64_t size, int64_t *begin,
                              int64_t *end) {
    *begin = 0;
    *end = whole;
    if (tasks == 1)
        return;
    const int64_t count = (whole + size - 1) / size;

    *begin = task * count / tasks * size;
    *end = uk_min((task + 1) * count / tasks * size, whole);
}

/* ---- vector.c, dots.c: for one thread, without a workspace or a plan, which takes as long as 10000
 * multiply-adds; alpha is 1 ---- */

/* Computes a matrix-vector product. */
bool uk_gemm_run_vector(const struct gemm_type *t, const struct gemm_product *p, const void *a, const void *b,
                        double beta, void *c);
/* The same of a product that is best computed as inner products. */
bool uk_gemm_run_dots(const struct gemm_type *t, const struct gemm_product *p, const void *a, const void *b,
                      double beta, void *c);

#endif
