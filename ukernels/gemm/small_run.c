/* SPDX-License-Identifier: Apache-2.0 */
/* Runs small products of all element types, as small.c has planned them. */
#include "small.h"

/* C becomes alpha A B + beta C. If alpha is 1, beta is 0 or 1. Other alphas need scratch, of `room` bytes;
 * NULL: not allocated yet. */
struct scale {
    double alpha, beta;
    void *scratch;
    int64_t room;
};

/* Bytes of scratch next to a copy of B on the stack. */
enum { SCRATCH_BESIDE_COPY = GEMM_SCALED_ON_STACK / 8 * 3 };

static const void *at(const struct gemm_type *t, const void *base, int64_t index) {
    return (const char *)base + index * t->size;
}

static void *at_written(const struct gemm_type *t, void *base, int64_t index) {
    return (char *)base + index * t->size;
}

/* The function of a prepared call, or its variant that prefetches C. */
static uk_small_run *code(const struct uk_small_call *s, bool prefetches) {
    return prefetches && s->prefetching ? s->prefetching : s->run;
}

/* Computes all rows and n columns; n < type->blocked_columns. */
static void run_columns(const struct gemm_product *p, int64_t n, const void *a, const void *b, int adds,
                        void *c) {
    struct gemm_product columns = *p;

    columns.n = n;
    gemm_run_direct(p->type, &p->type->direct[p->a_columns][n], &columns, a, b, p->ldb, adds, c, p->ldc);
}

/* Computes all rows and columns, a block of columns at a time, by the same kernels for each. */
static void run_blocks(const struct gemm_small *w, const struct gemm_product *p, const void *a, const void *b,
                       int adds, void *c) {
    const struct gemm_type *t = p->type;
    const struct gemm_direct *d = w->kernels;
    const int64_t wide = p->n / w->width * w->width;
    int64_t from = 0;

    for (int i = 0; i < d->column_splits; i++) {
        struct uk_small_call s = {0};

        d->column_split[i].prepare(&s, p->k, p->lda, p->ldb, p->ldc, p->m, d->column_split[i].columns);
        for (int64_t j = from; j < wide; j += w->width)
            code(&s, w->prefetches)(&s, a, at(t, b, j), at_written(t, c, j), adds);
        from += d->column_split[i].columns;
    }
    if (p->n > wide)
        run_columns(p, p->n - wide, a, at(t, b, wide), adds, at_written(t, c, wide));
}

/* Computes all columns of a few rows at a time. */
static void run_rows_of(const struct gemm_small *w, const struct gemm_product *p, const void *a,
                        const void *b, int adds, void *c) {
    const struct gemm_type *t = p->type;
    const int64_t last = p->n % w->width, wide = p->n - last;
    const struct gemm_direct *d = w->kernels;
    const int64_t groups = uk_ceil_div(p->m, d->column_split[0].kernel->mr);
    struct gemm_product few = *p;

    for (int64_t g = 0, i = 0; g < groups; g++, i += few.m) {
        const void *from = at(t, a, i * gemm_a_row(p));
        void *to = at_written(t, c, i * p->ldc);
        struct uk_small_call s[GEMM_COLUMN_SPLITS] = {0};

        few.m = (g + 1) * p->m / groups - i;
        for (int q = 0; q < d->column_splits; q++)
            d->column_split[q].prepare(&s[q], p->k, p->lda, p->ldb, p->ldc, few.m,
                                       d->column_split[q].columns);
        for (int64_t j = 0; j < wide;)
            for (int q = 0; q < d->column_splits; j += d->column_split[q++].columns)
                code(&s[q], w->prefetches)(&s[q], from, at(t, b, j), at_written(t, to, j), adds);
        if (last)
            run_columns(&few, last, from, at(t, b, wide), adds, at_written(t, to, wide));
    }
}

/* The same in equal blocks of columns, whose part of B stays in L2 while rows of C pass through. */
static void run_rows(const struct gemm_small *w, const struct gemm_product *p, const void *a, const void *b,
                     int adds, void *c) {
    const struct gemm_type *t = p->type;
    const int64_t blocks = uk_ceil_div(p->n * p->k, t->l2_quarter), even = uk_ceil_div(p->n, blocks),
                  width = uk_ceil_div(even, GEMM_VECTOR) * GEMM_VECTOR;
    struct gemm_product block = *p;

    for (int64_t j = 0; j < p->n; j += width) {
        block.n = uk_min(p->n - j, width);
        run_rows_of(w, &block, a, at(t, b, j), adds, at_written(t, c, j));
    }
}

/* Computes few columns with rows of A that come from the last-level cache or memory: a block of rows at a
 * time, which stays in L2 with its rows of C for all kernels. */
static void run_ahead(const struct gemm_direct *d, const struct gemm_product *p, const void *a, const void *b,
                      int adds, void *c) {
    const struct gemm_type *t = p->type;
    const int64_t mr = d->column_split[0].kernel->mr, some = t->l2_quarter / 2 / (p->k + p->n) / mr * mr,
                  most = d->column_splits == 1 ? p->m : uk_max(some, mr);

    for (int64_t i = 0, j = 0; i < p->m; i += most, j = 0)
        for (int q = 0; q < d->column_splits; j += d->column_split[q++].columns) {
            const int64_t rows = uk_min(p->m - i, most),
                          columns = q + 1 < d->column_splits ? d->column_split[q].columns : p->n - j;
            struct uk_small_call s = {0};

            d->column_split[q].prepare(&s, p->k, p->lda, p->ldb, p->ldc, rows, columns);
            (s.ahead ? s.ahead : s.run)(&s, at(t, a, i * p->lda), at(t, b, j),
                                        at_written(t, c, i * p->ldc + j), adds);
        }
}

/* Computes a product for any alpha: blocks of C are computed in scratch and merged with C. */
static void run_scaled(const struct gemm_product *p, const void *a, const void *b, const struct scale *s,
                       void *c) {
    const struct gemm_type *t = p->type;
    const int64_t room = s->room / t->size,
                  width = p->n < t->blocked_columns && p->m * p->n <= room
                              ? p->n
                              : uk_min(p->n, GEMM_WIDE / t->size),
                  panels = uk_ceil_div(p->m, room / width), height = uk_ceil_div(p->m, panels);
    struct gemm_product block = *p;

    for (int64_t j = 0; j < p->n; j += width)
        for (int64_t i = 0; i < p->m; i += height) {
            block.n = uk_min(width, p->n - j);
            block.m = uk_min(height, p->m - i);
            gemm_run_direct(t, gemm_direct_for(t, p->a_columns, block.m, block.n), &block,
                            at(t, a, i * gemm_a_row(p)), at(t, b, j), p->ldb, 0, s->scratch, width);
            t->merge(block.m, block.n, s->alpha, s->scratch, width, s->beta, at_written(t, c, i * p->ldc + j),
                     p->ldc);
        }
}

__attribute__((noinline)) static void run_scaled_on_stack(const struct gemm_product *p, const void *a,
                                                          const void *b, const struct scale *s, void *c) {
    char scratch[GEMM_SCALED_ON_STACK] __attribute__((aligned(64)));
    const struct scale own = {s->alpha, s->beta, scratch, sizeof scratch};

    run_scaled(p, a, b, &own, c);
}

/* Computes a product whose alpha is 1 and whose B is in rows, in place or transposed. d: the kernels, if
 * there are few columns. */
__attribute__((noinline)) static void run_unscaled(const struct gemm_small *w, int order,
                                                   const struct gemm_direct *d, const struct gemm_product *p,
                                                   const void *a, const void *b, int adds, void *c) {
    switch (order) {
    case GEMM_AT_ONCE:
        gemm_run_direct(p->type, d, p, a, b, p->ldb, adds, c, p->ldc);
        break;
    case GEMM_BLOCKS_OF_ROWS:
        run_ahead(d, p, a, b, adds, c);
        break;
    case GEMM_BLOCKS_OF_COLUMNS:
        run_blocks(w, p, a, b, adds, c);
        break;
    default:
        run_rows(w, p, a, b, adds, c);
    }
}

/* The same for any alpha. Both functions are not inlined, as their stack frames would add up. */
static void run_order(const struct gemm_small *w, int order, const struct gemm_direct *d,
                      const struct gemm_product *p, const void *a, const void *b, const struct scale *s,
                      void *c) {
    if (s->alpha != 1)
        (s->scratch ? run_scaled : run_scaled_on_stack)(p, a, b, s, c);
    else
        run_unscaled(w, order, d, p, a, b, s->beta != 0, c);
}

/* Transposes a column-major B of at most two vectors of columns, and computes the product. */
static void run_few(const struct gemm_small *w, const struct gemm_product *p, const void *a, const void *b,
                    const struct scale *s, void *c, void *copy) {
    struct gemm_product q = *p;

    p->type->transpose_all(gemm_few_transpose(p->type, p->n), p->k, b, p->ldb, copy, p->n);
    q.ldb = w->ldb;
    run_order(w, GEMM_AT_ONCE, w->kernels, &q, a, copy, s, c);
}

/* Transposes a column-major B, as many columns at a time as the plan says, and computes each part.
 * has_kernel: the copy has room for whole vectors, which the kernel stores. */
static void run_transposed(const struct gemm_small *w, const struct gemm_product *p, bool has_kernel,
                           const void *a, const void *b, const struct scale *s, void *c, void *copy) {
    const struct gemm_type *t = p->type;
    struct gemm_product block = *p;

    block.b_columns = false;
    block.ldb = w->ldb;
    for (int64_t j = 0; j < p->n; j += w->columns) {
        block.n = uk_min(p->n - j, w->columns);
        const bool is_last = block.n < w->columns;

        if (!has_kernel)
            t->copy_rows(t, p->k, block.n, at(t, b, j * p->ldb), 1, p->ldb, copy, block.ldb);
        for (int64_t i = 0, columns; has_kernel && i < block.n; i += columns) {
            columns = uk_min(block.n - i, t->transpose->mr);
            t->transpose_some(t->transpose, p->k, at(t, b, (j + i) * p->ldb), p->ldb, at_written(t, copy, i),
                              block.ldb, columns);
        }
        run_order(w, is_last ? w->last_order : w->order,
                  is_last ? gemm_direct_of(gemm_direct_at(t, p->a_columns, block.n), p->m, p->k) : w->kernels,
                  &block, a, copy, s, at_written(t, c, j));
    }
}

/* Products that copy B, or a part of it at a time. */
static void run_copied(const struct gemm_small *w, const struct gemm_product *p, const void *a, const void *b,
                       const struct scale *s, void *c, void *copy) {
    if (w->copies == GEMM_COPIES_FEW)
        run_few(w, p, a, b, s, c, copy);
    else
        run_transposed(w, p, true, a, b, s, c, copy);
}

__attribute__((noinline)) static void run_copied_on_stack(const struct gemm_small *w,
                                                          const struct gemm_product *p, const void *a,
                                                          const void *b, const struct scale *s, void *c) {
    char copy[GEMM_COPY_ON_STACK] __attribute__((aligned(64)));
    const struct scale own = {s->alpha, s->beta, copy + w->bytes, GEMM_COPY_ON_STACK - w->bytes};

    run_copied(w, p, a, b, &own, c, copy);
}

/* Computes the product without a workspace: transposes fewer columns of B at a time, on the stack. */
__attribute__((noinline)) static void run_narrow(const struct gemm_product *p, const void *a, const void *b,
                                                 const struct scale *s, void *c) {
    char copy[GEMM_COPY_ON_STACK] __attribute__((aligned(64)));
    const struct gemm_type *t = p->type;
    const int64_t bytes = GEMM_COPY_ON_STACK - SCRATCH_BESIDE_COPY,
                  most = uk_min(bytes / (p->k * t->size), t->blocked_columns - 1);
    const struct scale own = {s->alpha, s->beta, copy + bytes, SCRATCH_BESIDE_COPY};
    const struct gemm_small w = {.kernels = gemm_direct_of(gemm_direct_at(t, p->a_columns, most), p->m, p->k),
                                 .columns = most,
                                 .ldb = most,
                                 .order = GEMM_AT_ONCE,
                                 .last_order = GEMM_AT_ONCE};

    run_transposed(&w, p, false, a, b, &own, c, copy);
}

void uk_gemm_run_small(const struct gemm_small *w, const struct gemm_product *p,
                       const struct gemm_operands *o, void *workspace) {
    const struct scale s = {.alpha = o->alpha, .beta = o->beta};
    const int64_t beside = s.alpha == 1 ? 0 : SCRATCH_BESIDE_COPY;

    if (s.alpha == 1 && s.beta != 0 && s.beta != 1)
        p->type->scale(p->m, p->n, o->c, p->ldc, s.beta, NULL);
    if (!w->bytes)
        run_order(w, w->order, w->kernels, p, o->a, o->b, &s, o->c);
    else if (w->bytes + beside <= GEMM_COPY_ON_STACK)
        run_copied_on_stack(w, p, o->a, o->b, &s, o->c);
    else if (workspace)
        run_copied(w, p, o->a, o->b, &s, o->c, workspace);
    else
        run_narrow(p, o->a, o->b, &s, o->c);
    if (o->epilogue)
        p->type->scale(p->m, p->n, o->c, p->ldc, 1, o->epilogue);
}
