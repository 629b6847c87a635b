/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs plans. C is divided into a grid of rectangles of whole panels, which are tasks:
 *
 *     for i in blocks of rows, panels of weights:
 *         C[i, panel] (+)= A[i] W[panel], in one call of the kernel
 */
#include "gemm/weights.h"
#include "kernels.h"
#include "registry/half.h"
#include "registry/kernel_contract.h"

void uk_weights_parallel(const struct weights_plan *plan,
                         void (*task)(void *context, int64_t index, int64_t thread), void *context,
                         int64_t count) {
    if (plan->options.threads == 1 || count == 1)
        for (int64_t i = 0; i < count; i++)
            task(context, i, 0);
    else if (plan->options.pool)
        uk_pool_for(plan->options.pool, task, context, count);
    else
        uk_parallel_for(task, context, count);
}

struct run {
    const struct weights_plan *plan;
    const void *a;      /* the caller's */
    const char *panels; /* of weights */
    char *copy;         /* of A; or NULL */
    float *scales;      /* of the copy's blocks; or NULL */
    float *c;
    int64_t ldc;
    float beta;
    const struct gemm_epilogue *epilogue;
};

/* A block of rows and a panel of columns. */
struct tile {
    const void *a;
    int64_t lda;
    const float *scales;
    const char *weights;
    float *c;
    int64_t acc, rows, columns;
};

static void call_f32(const struct run *r, const struct tile *t) {
    const struct weights_plan *p = r->plan;
    const int64_t bytes = weights_column_bytes(p), width = p->kernel->nr, size = weights_scale_bytes(p);
    const void *s = t->weights + width * bytes, *o = (const char *)s + width * size;
    uk_function *f = p->kernel->function;

    if (p->bits == 4 && p->options.has_zeros)
        ((uk_sgemm_u4_function *)f)(p->blocks, bytes, t->a, t->lda, p->block, bytes,
                                    (const uint8_t *)t->weights, p->block_bytes, s, p->block_bytes / size, o,
                                    p->block_bytes / 4, t->c, r->ldc, t->acc, t->rows, t->columns);
    else if (p->bits == 4)
        ((uk_sgemm_i4_function *)f)(p->blocks, bytes, t->a, t->lda, p->block, bytes,
                                    (const int8_t *)t->weights, p->block_bytes, s, p->block_bytes / size,
                                    t->c, r->ldc, t->acc, t->rows, t->columns);
    else if (p->options.has_zeros)
        ((uk_sgemm_u8_function *)f)(p->blocks, bytes, t->a, t->lda, p->block, (const uint8_t *)t->weights,
                                    p->block_bytes, s, p->block_bytes / size, o, p->block_bytes / 4, t->c,
                                    r->ldc, t->acc, t->rows, t->columns);
    else
        ((uk_sgemm_i8_function *)f)(p->blocks, bytes, t->a, t->lda, p->block, (const int8_t *)t->weights,
                                    p->block_bytes, s, p->block_bytes / size, t->c, r->ldc, t->acc, t->rows,
                                    t->columns);
}

static void call_bytes(const struct run *r, const struct tile *t) {
    const struct weights_plan *p = r->plan;
    const int64_t bytes = weights_column_bytes(p), width = p->kernel->nr, size = weights_scale_bytes(p);
    const void *s = t->weights + width * bytes, *o = (const char *)s + width * size;
    uk_function *f = p->kernel->function;

    if (p->bits == 4 && p->options.has_zeros)
        ((uk_i8gemm_u4_function *)f)(p->blocks, bytes, t->a, t->lda, p->block, bytes, t->scales,
                                     2 * p->blocks, (const uint8_t *)t->weights, p->block_bytes, s,
                                     p->block_bytes / size, o, p->block_bytes / 4, t->c, r->ldc, t->acc,
                                     t->rows, t->columns);
    else if (p->bits == 4)
        ((uk_i8gemm_i4_function *)f)(p->blocks, bytes, t->a, t->lda, p->block, bytes, t->scales,
                                     2 * p->blocks, (const int8_t *)t->weights, p->block_bytes, s,
                                     p->block_bytes / size, t->c, r->ldc, t->acc, t->rows, t->columns);
    else if (p->options.has_zeros)
        ((uk_i8gemm_u8_function *)f)(p->blocks, bytes, t->a, t->lda, p->block, t->scales, 2 * p->blocks,
                                     (const uint8_t *)t->weights, p->block_bytes, s, p->block_bytes / size, o,
                                     p->block_bytes / 4, t->c, r->ldc, t->acc, t->rows, t->columns);
    else
        ((uk_i8gemm_i8_function *)f)(p->blocks, bytes, t->a, t->lda, p->block, t->scales, 2 * p->blocks,
                                     (const int8_t *)t->weights, p->block_bytes, s, p->block_bytes / size,
                                     t->c, r->ldc, t->acc, t->rows, t->columns);
}

/* Scales, biases and clamps a tile whose first element is (i, j). */
static void finish(const struct run *r, const struct tile *t, int64_t i, int64_t j) {
    struct gemm_epilogue e = *r->epilogue;

    e.row_bias = e.row_bias ? (const float *)e.row_bias + i : NULL;
    e.column_bias = e.column_bias ? (const float *)e.column_bias + j : NULL;
    uk_gemm_f32.scale(t->rows, t->columns, t->c, r->ldc, 1, &e);
}

/* Rows [i, i + rows) and the panel of columns from j on. */
static void compute(const struct run *r, int64_t i, int64_t rows, int64_t j, int64_t columns) {
    static const int64_t types[] = {
        [UK_SCALE_F32] = UK_SCALES_F32, [UK_SCALE_F16] = UK_SCALES_F16, [UK_SCALE_BF16] = UK_SCALES_BF16};
    const struct weights_plan *p = r->plan;
    const int64_t element = weights_by_bytes(p) ? 1 : (int64_t)sizeof(float);
    struct tile t = {.a = (const float *)r->a + i * p->lda,
                     .lda = p->lda,
                     .weights = r->panels + j / p->kernel->nr * p->panel_bytes,
                     .scales = r->scales ? r->scales + i * 2 * p->blocks : NULL,
                     .c = r->c + i * r->ldc + j,
                     .acc =
                         (r->beta != 0) | types[p->options.scale] | (weights_by_bytes(p) ? UK_ROW_SUMS : 0),
                     .rows = rows,
                     .columns = columns};

    if (r->copy) {
        t.a = r->copy + i * p->ld * element;
        t.lda = p->ld;
    }
    if (r->beta != 0 && r->beta != 1)
        uk_gemm_f32.scale(rows, columns, t.c, r->ldc, (double)r->beta, NULL);
    if (weights_by_bytes(p))
        call_bytes(r, &t);
    else
        call_f32(r, &t);
    if (r->epilogue)
        finish(r, &t, i, j);
}

static void run_task(void *context, int64_t index, int64_t thread) {
    const struct run *r = context;
    const struct weights_plan *p = r->plan;
    const int64_t width = p->kernel->nr, blocks = p->row_blocks / p->row_tasks,
                  first = index / p->column_tasks * blocks;
    int64_t i, i_end, j_begin, j_end;

    (void)thread;
    gemm_share(index % p->column_tasks, p->column_tasks, p->n, width, &j_begin, &j_end);
    for (int64_t b = first; b < first + blocks; b++) {
        gemm_share(b, p->row_blocks, p->m, 1, &i, &i_end);
        for (int64_t j = j_begin; j < j_end; j += width)
            compute(r, i, i_end - i, j, uk_min(width, j_end - j));
    }
}

/* ---- copies of A and C ---- */

static void copy_rows(void *context, int64_t index, int64_t thread) {
    const struct run *r = context;

    (void)thread;
    uk_weights_copy_rows(r->plan, r->a, index, index + 1, r->copy, r->scales);
}

static void widen_c(const struct weights_plan *p, const uint16_t *c, float *to) {
    for (int64_t i = 0; i < p->m; i++)
        for (int64_t j = 0; j < p->n; j++)
            to[i * p->n + j] = uk_from_bf16(c[i * p->ldc + j]);
}

static void narrow_c(const struct weights_plan *p, const float *from, uint16_t *c) {
    for (int64_t i = 0; i < p->m; i++)
        for (int64_t j = 0; j < p->n; j++)
            c[i * p->ldc + j] = uk_to_bf16(from[i * p->n + j]);
}

void uk_weights_run(const struct weights_plan *p, const void *a, const char *packed, float beta, void *c,
                    const struct gemm_epilogue *e, char *workspace) {
    float *const sums = p->sums ? (float *)(void *)(workspace + p->copy + p->scales) : NULL;
    struct run r = {.plan = p,
                    .a = a,
                    .panels = packed + WEIGHTS_STAMP,
                    .copy = p->ld ? workspace : NULL,
                    .scales = p->scales ? (float *)(void *)(workspace + p->copy) : NULL,
                    .c = sums ? sums : c,
                    .ldc = sums ? p->n : p->ldc,
                    .beta = beta,
                    .epilogue = e};

    const bool is_scaled_to_0 = e && e->scale == 0;

    if (is_scaled_to_0)
        beta = 0;
    if (sums && beta != 0)
        widen_c(p, c, sums);
    if (is_scaled_to_0 || !p->blocks) { /* no terms */
        uk_gemm_f32.scale(p->m, p->n, r.c, r.ldc, (double)beta, e);
    } else {
        if (r.copy)
            uk_weights_parallel(p, copy_rows, &r, p->m);
        uk_weights_parallel(p, run_task, &r, p->row_tasks * p->column_tasks);
    }
    if (sums)
        narrow_c(p, sums, c);
}
