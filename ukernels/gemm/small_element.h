/* SPDX-License-Identifier: Apache-2.0 */
/* What depends on the element type of small products that are planned: included by small_run.c behind
 * direct_element.h, with SMALL for the name of its function. */

/* The function of a prepared call, or its variant that prefetches C. */
static inline uk_small_run *DIRECT(code)(const struct uk_small_call *s, bool prefetches) {
    return prefetches && s->prefetching ? s->prefetching : s->run;
}

/* Adds the product of all rows of A and n columns to C, or overwrites C with it. */
static void DIRECT(run_columns)(const struct gemm_product *p, int64_t n, const ELEMENT *a, const ELEMENT *b,
                                int64_t ldb, int acc, ELEMENT *c) {
    DIRECT(run)
    (&TYPE.direct[p->a_columns][n], p->m, n, p->k, a, p->lda, b, ldb, (ELEMENT)acc, c, p->ldc);
}

/* The same of many columns, a block of them at a time by the same kernels. */
static void DIRECT(run_blocks)(const struct gemm_small *w, const struct gemm_product *p, const ELEMENT *a,
                               const ELEMENT *b, int acc, ELEMENT *c) {
    const struct gemm_direct *d = w->kernels;
    const int64_t wide = p->n / w->width * w->width;
    int64_t from = 0;

    for (int i = 0; i < d->column_splits; i++) {
        struct uk_small_call s = {0};

        d->column_split[i].prepare(&s, p->k, p->lda, p->ldb, p->ldc, p->m, d->column_split[i].columns);
        for (int64_t j = from; j < wide; j += w->width)
            DIRECT(code)(&s, w->prefetches)(&s, a, b + j, c + j, acc);
        from += d->column_split[i].columns;
    }
    if (p->n > wide)
        DIRECT(run_columns)(p, p->n - wide, a, b + wide, p->ldb, acc, c + wide);
}

/* Many columns, a few rows at a time. */
static void DIRECT(run_rows_of)(const struct gemm_small *w, const struct gemm_product *p, const ELEMENT *a,
                                const ELEMENT *b, int acc, ELEMENT *c) {
    const int64_t last = p->n % w->width, wide = p->n - last;
    const struct gemm_direct *d = w->kernels;
    const int64_t mr = d->column_split[0].kernel->mr, groups = (p->m + mr - 1) / mr;
    struct gemm_product few = *p;

    for (int64_t g = 0, i = 0; g < groups; g++, i += few.m) {
        const ELEMENT *from = a + i * (p->a_columns ? 1 : p->lda);
        ELEMENT *to = c + i * p->ldc;
        struct uk_small_call s[GEMM_COLUMN_SPLITS] = {0};

        few.m = (g + 1) * p->m / groups - i;
        for (int q = 0; q < d->column_splits; q++)
            d->column_split[q].prepare(&s[q], p->k, p->lda, p->ldb, p->ldc, few.m,
                                       d->column_split[q].columns);
        for (int64_t j = 0; j < wide;)
            for (int q = 0; q < d->column_splits; j += d->column_split[q++].columns)
                DIRECT(code)(&s[q], w->prefetches)(&s[q], from, b + j, to + j, acc);
        if (last)
            DIRECT(run_columns)(&few, last, from, b + wide, p->ldb, acc, to + wide);
    }
}

/* The same in even blocks of columns, whose part of B stays in L2 while rows of C pass through. */
static void DIRECT(run_rows)(const struct gemm_small *w, const struct gemm_product *p, const ELEMENT *a,
                             const ELEMENT *b, int acc, ELEMENT *c) {
    const int64_t blocks = (p->n * p->k + TYPE.l2_quarter - 1) / TYPE.l2_quarter,
                  even = (p->n + blocks - 1) / blocks,
                  width = (even + GEMM_VECTOR - 1) / GEMM_VECTOR * GEMM_VECTOR;
    struct gemm_product block = *p;

    for (int64_t j = 0; j < p->n; j += width) {
        block.n = uk_min(p->n - j, width);
        DIRECT(run_rows_of)(w, &block, a, b + j, acc, c + j);
    }
}

/* Few columns with rows of A from a far last-level cache or memory: a block of them at a time, which stays in
 * L2 with its rows of C for all kernels. */
static void DIRECT(run_ahead)(const struct gemm_direct *d, const struct gemm_product *p, const ELEMENT *a,
                              const ELEMENT *b, int acc, ELEMENT *c) {
    const int64_t mr = d->column_split[0].kernel->mr, some = TYPE.l2_quarter / 2 / (p->k + p->n) / mr * mr,
                  most = d->column_splits == 1 ? p->m
                         : some < mr           ? mr
                                               : some;

    for (int64_t i = 0, j = 0; i < p->m; i += most, j = 0)
        for (int q = 0; q < d->column_splits; j += d->column_split[q++].columns) {
            const int64_t rows = uk_min(p->m - i, most),
                          columns = q + 1 < d->column_splits ? d->column_split[q].columns : p->n - j;
            struct uk_small_call s = {0};

            d->column_split[q].prepare(&s, p->k, p->lda, p->ldb, p->ldc, rows, columns);
            (s.ahead ? s.ahead : s.run)(&s, a + i * p->lda, b + j, c + i * p->ldc + j, acc);
        }
}

/* Rows of B in place, or transposed; d: the kernels of few columns. */
static void DIRECT(run_order)(const struct gemm_small *w, int order, const struct gemm_direct *d,
                              const struct gemm_product *p, const ELEMENT *a, const ELEMENT *b, int acc,
                              ELEMENT *c) {
    switch (order) {
    case GEMM_AT_ONCE:
        DIRECT(run)(d, p->m, p->n, p->k, a, p->lda, b, p->ldb, (ELEMENT)acc, c, p->ldc);
        break;
    case GEMM_BLOCKS_OF_ROWS:
        DIRECT(run_ahead)(d, p, a, b, acc, c);
        break;
    case GEMM_BLOCKS_OF_COLUMNS:
        DIRECT(run_blocks)(w, p, a, b, acc, c);
        break;
    default:
        DIRECT(run_rows)(w, p, a, b, acc, c);
    }
}

typedef void DIRECT(transpose_function)(int64_t k, const ELEMENT *s, int64_t lds, ELEMENT *d, int64_t ldd,
                                        int64_t m);

/* A column-major B, as many columns at a time as the plan says; has_kernel: there is room for whole vectors
 * of them. */
static void DIRECT(run_transposed)(const struct gemm_small *w, const struct gemm_product *p, bool has_kernel,
                                   const ELEMENT *a, const ELEMENT *b, int acc, ELEMENT *c, ELEMENT *copy) {
    struct gemm_product block = *p;

    block.b_columns = false;
    block.ldb = w->ldb;
    for (int64_t j = 0; j < p->n; j += w->columns) {
        block.n = uk_min(p->n - j, w->columns);
        const bool is_last = block.n < w->columns;

        if (!has_kernel)
            TYPE.copy_rows(&TYPE, p->k, block.n, b + j * p->ldb, 1, p->ldb, copy, block.ldb);
        for (int64_t i = 0, columns; has_kernel && i < block.n; i += columns) {
            columns = uk_min(block.n - i, TYPE.transpose->mr);
            ((DIRECT(transpose_function) *)TYPE.transpose->function)(p->k, b + (j + i) * p->ldb, p->ldb,
                                                                     copy + i, block.ldb, columns);
        }
        DIRECT(run_order)
        (w, is_last ? w->last_order : w->order,
         is_last ? gemm_direct_of(gemm_direct_at(&TYPE, p->a_columns, block.n), p->m, p->k) : w->kernels,
         &block, a, copy, acc, c + j);
    }
}

/* Products that copy B, or a part of it at a time. */
static void DIRECT(run_copied)(const struct gemm_small *w, const struct gemm_product *p, const ELEMENT *a,
                               const ELEMENT *b, int acc, ELEMENT *c, ELEMENT *copy) {
    if (w->copies == GEMM_COPIES_FEW)
        DIRECT(run_few)(w->kernels, p, a, b, (ELEMENT)acc, c, copy);
    else
        DIRECT(run_transposed)(w, p, true, a, b, acc, c, copy);
}

__attribute__((noinline)) static void DIRECT(run_copied_near)(const struct gemm_small *w,
                                                              const struct gemm_product *p, const ELEMENT *a,
                                                              const ELEMENT *b, int acc, ELEMENT *c) {
    ELEMENT copy[GEMM_COPY_ON_STACK / sizeof(ELEMENT)] __attribute__((aligned(64)));

    DIRECT(run_copied)(w, p, a, b, acc, c, copy);
}

/* Where memory cannot be allocated: fewer columns of a column-major B at a time, on the stack; else B in
 * place. */
__attribute__((noinline)) static void DIRECT(run_narrow)(const struct gemm_product *p, const ELEMENT *a,
                                                         const ELEMENT *b, int acc, ELEMENT *c) {
    ELEMENT copy[GEMM_COPY_ON_STACK / sizeof(ELEMENT)] __attribute__((aligned(64)));
    const int64_t most = uk_min(GEMM_COPY_ON_STACK / (p->k * TYPE.size), TYPE.blocked_columns - 1);
    struct gemm_small w = {.columns = most, .ldb = most, .order = GEMM_AT_ONCE};

    w.kernels = gemm_direct_of(gemm_direct_at(&TYPE, p->a_columns, most), p->m, p->k);
    if (p->b_columns) {
        DIRECT(run_transposed)(&w, p, false, a, b, acc, c, copy);
        return;
    }
    w.width = GEMM_WIDE / TYPE.size;
    w.kernels = &TYPE.direct[p->a_columns][w.width];
    DIRECT(run_blocks)(&w, p, a, b, acc, c);
}

/* Any small product, as planned. */
void SMALL(const struct gemm_small *w, const struct gemm_product *p, const void *a, const void *b,
           double beta, void *c, void *workspace) {
    const int acc = beta != 0;

    if (beta != 0 && beta != 1)
        TYPE.scale(p->m, p->n, c, p->ldc, beta, NULL);
    if (!w->bytes) {
        DIRECT(run_order)(w, w->order, w->kernels, p, a, b, acc, c);
    } else if (w->bytes <= GEMM_COPY_ON_STACK) {
        DIRECT(run_copied_near)(w, p, a, b, acc, c);
    } else {
        void *memory = workspace ? workspace : uk_take_memory((size_t)w->bytes);

        if (memory)
            DIRECT(run_copied)(w, p, a, b, acc, c, memory);
        else
            DIRECT(run_narrow)(p, a, b, acc, c);
        if (!workspace)
            uk_give_memory(memory);
    }
}
