/* SPDX-License-Identifier: Apache-2.0 */
/* What depends on the element type of small products: included by gemm.c with ELEMENT, TYPE (its gemm_type), and
 * DIRECT(name) for the names, and BITS, the integers of its size. */

static inline BITS DIRECT(bits)(ELEMENT x) {
    union {
        ELEMENT number;
        BITS bits;
    } u = {x};

    return u.bits;
}

/* Nonzero if beta is 1, zero if it is 0, which are the only values here: without a comparison, from bits of the exponent. */
static inline int DIRECT(adds)(ELEMENT beta) {
    return (int)(DIRECT(bits)(beta) >> (8 * sizeof beta - 32));
}

/* Computes C = beta C, where beta is neither 0 nor 1. */
__attribute__((noinline)) static void DIRECT(scale)(int64_t m, int64_t n, ELEMENT beta, ELEMENT *c,
                                                    int64_t ldc) {
    TYPE.scale(m, n, c, ldc, (double)beta, NULL);
}

/* Computes the row-major C = A B + beta C by these kernels. */
static inline __attribute__((always_inline)) void DIRECT(run)(const struct gemm_direct *d, int64_t m,
                                                              int64_t n, int64_t k, const ELEMENT *a,
                                                              int64_t lda, const ELEMENT *b, int64_t ldb,
                                                              ELEMENT beta, ELEMENT *c, int64_t ldc) {
    int last = d->column_splits - 1;
    struct uk_small_call s;

    if (beta != 0 && beta != 1)
        DIRECT(scale)(m, n, beta, c, ldc);
    if (last) {
        d = gemm_direct_of(d, m, k);
        last = d->column_splits - 1;
    }
    for (int i = 0; i < last; i++) {
        const int columns = d->column_split[i].columns;

        d->column_split[i].prepare(&s, k, lda, ldb, ldc, m, columns);
        s.run(&s, a, b, c, beta != 0);
        b += columns;
        c += columns;
        n -= columns;
    }
    d->column_split[last].prepare(&s, k, lda, ldb, ldc, m, n);
    s.run(&s, a, b, c, beta != 0);
}

/* The function of a prepared call, or its variant that prefetches C. */
static inline gemm_resolved *DIRECT(code)(const struct uk_small_call *s, bool prefetches) {
    return prefetches && s->prefetching ? s->prefetching : s->run;
}

/* The same with many columns, four vectors of them at a time by the same kernels. */
__attribute__((noinline)) static void DIRECT(run_wide)(const struct gemm_product *p, const ELEMENT *a,
                                                       const ELEMENT *b, ELEMENT beta, ELEMENT *c) {
    enum { WIDTH = GEMM_WIDE / sizeof(ELEMENT) };
    const struct gemm_direct *d = &TYPE.direct[p->a_columns][WIDTH];
    const int64_t wide = p->n / WIDTH * WIDTH;
    const bool prefetches = TYPE.last_is_far && p->m * p->n * TYPE.size > 2 * TYPE.few_rows * TYPE.way &&
                            !gemm_shares_sets(&TYPE, p->ldc, 2);
    int64_t from = 0;

    if (beta != 0 && beta != 1)
        DIRECT(scale)(p->m, p->n, beta, c, p->ldc);
    for (int i = 0; i < d->column_splits; i++) {
        struct uk_small_call s = {0};

        d->column_split[i].prepare(&s, p->k, p->lda, p->ldb, p->ldc, p->m, d->column_split[i].columns);
        for (int64_t j = from; j < wide; j += WIDTH)
            DIRECT(code)(&s, prefetches)(&s, a, b + j, c + j, beta != 0);
        from += d->column_split[i].columns;
    }
    b += wide;
    c += wide;
    d = &TYPE.direct[p->a_columns][p->n - wide];
    if (p->n > wide)
        DIRECT(run)(d, p->m, p->n - wide, p->k, a, p->lda, b, p->ldb, beta != 0, c, p->ldc);
}

typedef void DIRECT(first_function)(int64_t k, const ELEMENT *a, int64_t lda, const ELEMENT *b, int64_t ldb,
                                    ELEMENT *d, ELEMENT *c, int64_t ldc, int64_t acc, int64_t mr, int64_t nr);

/* The same with rows of B that share sets: a packed panel of B at a time. */
static void DIRECT(run_panels)(const struct gemm_product *p, const ELEMENT *a, const ELEMENT *b, ELEMENT beta,
                               ELEMENT *c, ELEMENT *panel) {
    enum { WIDTH = 2 * GEMM_VECTOR / sizeof(ELEMENT) };
    DIRECT(first_function) *const first = (DIRECT(first_function) *)TYPE.panel_first->function;
    const int64_t rows = TYPE.panel_first->mr, m = p->m - rows;
    const struct gemm_direct *d = &TYPE.direct[0][WIDTH];
    const ELEMENT *from = a + rows * p->lda;
    struct uk_small_call s = {0};

    if (beta != 0 && beta != 1)
        DIRECT(scale)(p->m, p->n, beta, c, p->ldc);
    d->column_split[0].prepare(&s, p->k, p->lda, WIDTH, p->ldc, m, WIDTH);
    for (int64_t j = 0; j < p->n; j += WIDTH) {
        const int64_t columns = p->n - j < WIDTH ? p->n - j : WIDTH;
        ELEMENT *to = c + rows * p->ldc + j;

        first(p->k, a, p->lda, b + j, p->ldb, panel, c + j, p->ldc, beta != 0, rows, columns);
        if (columns == WIDTH && d->column_splits == 1)
            DIRECT(code)(&s, true)(&s, from, panel, to, beta != 0);
        else
            DIRECT(run)
        (&TYPE.direct[0][columns], m, columns, p->k, from, p->lda, panel, WIDTH, beta != 0, to, p->ldc);
    }
}

/* The same, a few rows at a time. */
static void DIRECT(run_rows_of)(const struct gemm_product *p, const ELEMENT *a, const ELEMENT *b,
                                ELEMENT beta, ELEMENT *c) {
    const int width = uk_gemm_direct_width(&TYPE, p->a_columns, p->m, p->ldc);
    const int64_t last = p->n % width, wide = p->n - last;
    const struct gemm_direct *d = &TYPE.direct[p->a_columns][width], *tail = &TYPE.direct[p->a_columns][last];
    const int64_t mr = d->column_split[0].kernel->mr, groups = (p->m + mr - 1) / mr;
    const bool prefetches = gemm_prefetches_along_rows(&TYPE, p);

    for (int64_t g = 0, i = 0, rows; g < groups; g++, i += rows) {
        const ELEMENT *from = a + i * (p->a_columns ? 1 : p->lda);
        ELEMENT *to = c + i * p->ldc;
        struct uk_small_call s[GEMM_COLUMN_SPLITS] = {0};

        rows = (g + 1) * p->m / groups - i;
        for (int q = 0; q < d->column_splits; q++)
            d->column_split[q].prepare(&s[q], p->k, p->lda, p->ldb, p->ldc, rows, d->column_split[q].columns);
        for (int64_t j = 0; j < wide;)
            for (int q = 0; q < d->column_splits; j += d->column_split[q++].columns)
                DIRECT(code)(&s[q], prefetches)(&s[q], from, b + j, to + j, beta != 0);
        to += wide;
        if (last)
            DIRECT(run)(tail, rows, last, p->k, from, p->lda, b + wide, p->ldb, beta != 0, to, p->ldc);
    }
}

/* The same in even blocks of columns, whose part of B stays in L2 while rows of C pass through. */
__attribute__((noinline)) static void DIRECT(run_rows)(const struct gemm_product *p, const ELEMENT *a,
                                                       const ELEMENT *b, ELEMENT beta, ELEMENT *c) {
    const int64_t blocks = (p->n * p->k + TYPE.near - 1) / TYPE.near, even = (p->n + blocks - 1) / blocks,
                  width = (even + GEMM_VECTOR - 1) / GEMM_VECTOR * GEMM_VECTOR;
    struct gemm_product block = *p;

    if (beta != 0 && beta != 1)
        DIRECT(scale)(p->m, p->n, beta, c, p->ldc);
    for (int64_t j = 0; j < p->n; j += width) {
        block.n = p->n - j < width ? p->n - j : width;
        DIRECT(run_rows_of)(&block, a, b + j, beta, c + j);
    }
}

/* The same with rows of A from a far last-level cache or memory: a block of them at a time, which stays in L2
 * with its rows of C for all kernels. */
static void DIRECT(run_ahead)(const struct gemm_direct *d, const struct gemm_product *p, const ELEMENT *a,
                              const ELEMENT *b, ELEMENT beta, ELEMENT *c) {
    const int64_t mr = d->column_split[0].kernel->mr, some = TYPE.near / 2 / (p->k + p->n) / mr * mr,
                  most = d->column_splits == 1 ? p->m
                         : some < mr           ? mr
                                               : some;

    if (beta != 0 && beta != 1)
        DIRECT(scale)(p->m, p->n, beta, c, p->ldc);
    for (int64_t i = 0, j = 0; i < p->m; i += most, j = 0)
        for (int q = 0; q < d->column_splits; j += d->column_split[q++].columns) {
            const int64_t rows = p->m - i < most ? p->m - i : most,
                          columns = q + 1 < d->column_splits ? d->column_split[q].columns : p->n - j;
            struct uk_small_call s = {0};

            d->column_split[q].prepare(&s, p->k, p->lda, p->ldb, p->ldc, rows, columns);
            (s.ahead ? s.ahead : s.run)(&s, a + i * p->lda, b + j, c + i * p->ldc + j, beta != 0);
        }
}

/* Products of many columns or rows. */
static void DIRECT(run_many)(const struct gemm_direct *d, const struct gemm_product *p, const ELEMENT *a,
                             const ELEMENT *b, ELEMENT beta, ELEMENT *c) {
    if (p->n >= TYPE.many)
        (gemm_goes_by_rows(&TYPE, p->m, p->n, p->k, p->ldb) ? DIRECT(run_rows) : DIRECT(run_wide))(p, a, b,
                                                                                                   beta, c);
    else if (gemm_a_from_llc_or_memory(&TYPE, p))
        DIRECT(run_ahead)(d, p, a, b, beta, c);
    else
        DIRECT(run)(d, p->m, p->n, p->k, a, p->lda, b, p->ldb, beta, c, p->ldc);
}

typedef void DIRECT(pack_function)(int64_t k, const ELEMENT *s, int64_t lds, ELEMENT *d, int64_t m);
typedef void DIRECT(transpose_function)(int64_t k, const ELEMENT *s, int64_t lds, ELEMENT *d, int64_t ldd,
                                        int64_t m);

/* The same with a column-major B of two vectors of columns at most. */
static void DIRECT(run_few_transposed)(const struct gemm_product *p, const ELEMENT *a, const ELEMENT *b,
                                       ELEMENT beta, ELEMENT *c, ELEMENT *panel) {
    const struct uk_kernel *transpose = TYPE.transpose_few[p->n > TYPE.transpose_few[0]->mr];

    ((DIRECT(pack_function) *)transpose->function)(p->k, b, p->ldb, panel, p->n);
    DIRECT(run)
    (&TYPE.direct[p->a_columns][p->n], p->m, p->n, p->k, a, p->lda, panel, transpose->mr, beta, c, p->ldc);
}

/* The same with a column-major B, as many columns at a time as there is room for their transpose. */
static void DIRECT(run_transposed)(const struct gemm_product *p, const ELEMENT *a, const ELEMENT *b,
                                   ELEMENT beta, ELEMENT *c, ELEMENT *transposed) {
    const bool by_rows = p->m > GEMM_TALL && gemm_goes_by_rows(&TYPE, p->m, p->n, p->k, 1);
    const int64_t most = uk_gemm_transposed_columns(&TYPE, p->n, p->k, by_rows);
    struct gemm_product block = *p;

    if (beta != 0 && beta != 1)
        DIRECT(scale)(p->m, p->n, beta, c, p->ldc);
    block.b_columns = false;
    block.ldb = uk_gemm_transposed_leading(&TYPE, most, p->k);
    for (int64_t j = 0; j < p->n; j += most) {
        block.n = p->n - j < most ? p->n - j : most;
        for (int64_t i = 0, columns; i < block.n; i += columns) {
            columns = block.n - i < TYPE.transpose->mr ? block.n - i : TYPE.transpose->mr;
            ((DIRECT(transpose_function) *)TYPE.transpose->function)(p->k, b + (j + i) * p->ldb, p->ldb,
                                                                     transposed + i, block.ldb, columns);
        }
        if (by_rows && block.n >= TYPE.many)
            DIRECT(run_rows_of)(&block, a, transposed, beta != 0, c + j);
        else
            DIRECT(run_many)
        (gemm_direct_at(&TYPE, p->a_columns, block.n), &block, a, transposed, beta != 0, c + j);
    }
}

/* Products that copy B, a part of gemm_direct_copy bytes at a time. */
static void DIRECT(run_copied)(const struct gemm_product *p, const ELEMENT *a, const ELEMENT *b, ELEMENT beta,
                               ELEMENT *c, ELEMENT *copy) {
    if (!p->b_columns)
        DIRECT(run_panels)(p, a, b, beta, c, copy);
    else if (p->n <= TYPE.transpose_few[1]->mr)
        DIRECT(run_few_transposed)(p, a, b, beta, c, copy);
    else
        DIRECT(run_transposed)(p, a, b, beta, c, copy);
}

__attribute__((noinline)) static void DIRECT(run_few_near)(const struct gemm_product *p, const ELEMENT *a,
                                                           const ELEMENT *b, ELEMENT beta, ELEMENT *c) {
    ELEMENT copy[GEMM_COPY_ON_STACK / sizeof(ELEMENT)] __attribute__((aligned(64)));

    DIRECT(run_few_transposed)(p, a, b, beta, c, copy);
}

__attribute__((noinline)) static void DIRECT(run_copied_near)(const struct gemm_product *p, const ELEMENT *a,
                                                              const ELEMENT *b, ELEMENT beta, ELEMENT *c) {
    ELEMENT copy[GEMM_COPY_ON_STACK / sizeof(ELEMENT)] __attribute__((aligned(64)));

    DIRECT(run_copied)(p, a, b, beta, c, copy);
}

/* A column-major B where memory cannot be allocated: fewer columns at a time, on the stack. */
__attribute__((noinline)) static void DIRECT(run_narrow)(const struct gemm_product *p, const ELEMENT *a,
                                                         const ELEMENT *b, ELEMENT beta, ELEMENT *c) {
    ELEMENT copy[GEMM_COPY_ON_STACK / sizeof(ELEMENT)] __attribute__((aligned(64)));
    const int64_t most = GEMM_COPY_ON_STACK / (p->k * TYPE.size);
    struct gemm_product block = *p;

    block.b_columns = false;
    block.ldb = most;
    for (int64_t j = 0; j < p->n; j += most) {
        block.n = p->n - j < most ? p->n - j : most;
        TYPE.copy_rows(&TYPE, p->k, block.n, b + j * p->ldb, 1, p->ldb, copy, most);
        DIRECT(run_many)(gemm_direct_at(&TYPE, p->a_columns, block.n), &block, a, copy, beta, c + j);
    }
}

__attribute__((noinline)) static void DIRECT(run_copied_any)(const struct gemm_direct *d,
                                                             const struct gemm_product *p, const ELEMENT *a,
                                                             const ELEMENT *b, ELEMENT beta, ELEMENT *c,
                                                             void *workspace) {
    const int64_t bytes = gemm_direct_copy(&TYPE, p);

    if (bytes <= GEMM_COPY_ON_STACK) {
        DIRECT(run_copied_near)(p, a, b, beta, c);
        return;
    }
    void *memory = workspace ? workspace : uk_take_memory((size_t)bytes);

    if (memory)
        DIRECT(run_copied)(p, a, b, beta, c, memory);
    else if (p->b_columns)
        DIRECT(run_narrow)(p, a, b, beta, c);
    else
        DIRECT(run_many)(d, p, a, b, beta, c);
    if (!workspace)
        uk_give_memory(memory);
}

/* Products of many columns or rows, or with a column-major B. */
__attribute__((noinline)) static void DIRECT(run_large)(const struct gemm_direct *d,
                                                        const struct gemm_product *p, const ELEMENT *a,
                                                        const ELEMENT *b, ELEMENT beta, ELEMENT *c,
                                                        void *workspace) {
    enum { FEW_ITERATIONS = GEMM_COPY_ON_STACK / (2 * GEMM_VECTOR) };

    if (p->b_columns && gemm_is_by_rows(p)) {
        const struct gemm_product q = gemm_by_rows(p);

        DIRECT(run_many)(d, &q, a, b, beta, c);
    } else if (p->b_columns && p->k <= FEW_ITERATIONS && p->n <= TYPE.transpose_few[1]->mr) {
        DIRECT(run_few_near)(p, a, b, beta, c);
    } else if (p->b_columns || gemm_goes_by_panels(&TYPE, p)) {
        DIRECT(run_copied_any)(d, p, a, b, beta, c, workspace);
    } else {
        DIRECT(run_many)(d, p, a, b, beta, c);
    }
}

/* Any small product. */
static inline __attribute__((always_inline)) void
DIRECT(run_product)(const struct gemm_direct *d, const struct gemm_product *p, const ELEMENT *a,
                    const ELEMENT *b, ELEMENT beta, ELEMENT *c, void *workspace) {
    if (p->b_columns || p->n >= TYPE.many || p->m * p->k > TYPE.near / 4) {
        const struct gemm_product copy = *p; /* so that p itself stays in registers */

        DIRECT(run_large)(d, &copy, a, b, beta, c, workspace);
        return;
    }
    DIRECT(run)(d, p->m, p->n, p->k, a, p->lda, b, p->ldb, beta, c, p->ldc);
}

/* Computes a product that is small and whose arguments are valid; false: nothing has been done. */
static inline __attribute__((always_inline)) bool
DIRECT(call_product)(struct gemm_product p, const ELEMENT *a, const ELEMENT *b, ELEMENT beta, ELEMENT *c) {
    const struct gemm_direct *d = gemm_direct_for(&TYPE, &p);

    if (!d)
        return false;
    DIRECT(run_product)(d, &p, a, b, beta, c, NULL);
    return true;
}

static inline bool DIRECT(call)(enum uk_layout layout, enum uk_transpose ta, enum uk_transpose tb, int64_t m,
                                int64_t n, int64_t k, ELEMENT alpha, const ELEMENT *a, int64_t lda,
                                const ELEMENT *b, int64_t ldb, ELEMENT beta, ELEMENT *c, int64_t ldc) {
    GEMM_REQUIRE(((unsigned)ta | (unsigned)tb) <= 1);
    GEMM_REQUIRE(alpha == 1);
    GEMM_REQUIRE(a);
    GEMM_REQUIRE(b);
    GEMM_REQUIRE(c);
    if (layout == UK_ROW_MAJOR)
        return DIRECT(call_product)((struct gemm_product){m, n, k, lda, ldb, ldc, ta, tb}, a, b, beta, c);
    GEMM_REQUIRE(layout == UK_COLUMN_MAJOR);
    return DIRECT(call_product)((struct gemm_product){n, m, k, ldb, lda, ldc, tb, ta}, b, a, beta, c);
}

__attribute__((noinline)) static void DIRECT(run_plan_product)(const struct gemm_plan *plan, const ELEMENT *a,
                                                               const ELEMENT *b, ELEMENT beta, ELEMENT *c,
                                                               void *workspace) {
    const struct gemm_product p = gemm_product_of_plan(plan);

    DIRECT(run_product)(plan->direct, &p, a, b, beta, c, workspace);
}

/* The same for a plan of a small product. a and b are those of the row-major product. */
__attribute__((noinline)) static void DIRECT(run_plan)(const struct gemm_plan *plan, const ELEMENT *a,
                                                       const ELEMENT *b, ELEMENT beta, ELEMENT *c,
                                                       void *workspace) {
    const struct gemm_direct *d = plan->direct;

    if (plan->b_column != 1 || plan->n >= TYPE.many || plan->m * plan->k > TYPE.near / 4) {
        DIRECT(run_plan_product)(plan, a, b, beta, c, workspace);
        return;
    }
    if (beta != 0 && beta != 1)
        DIRECT(scale)(plan->m, plan->n, beta, c, plan->ldc);
    for (int i = 0; i < d->column_splits; i++) {
        plan->small[i].run(&plan->small[i], a, b, c, beta != 0);
        b += d->column_split[i].columns;
        c += d->column_split[i].columns;
    }
}

/* The same with the caller's operands; false: it is not a small product, or an argument is invalid. */
static inline bool DIRECT(call_plan)(const struct gemm_plan *plan, ELEMENT alpha, const ELEMENT *a,
                                     const ELEMENT *b, ELEMENT beta, ELEMENT *c, void *workspace) {
    if (plan->type != &TYPE || !plan->direct || alpha != 1 || !a || !b || !c)
        return false;
    DIRECT(run_plan)(plan, plan->swapped ? b : a, plan->swapped ? a : b, beta, c, workspace);
    return true;
}

/* Whether a call needs nothing but the plan's resolved kernels. Numbers are compared as bits, which is one comparison even where
 * they may be NaN. */
static inline bool DIRECT(is_resolved)(gemm_resolved *resolved, ELEMENT alpha, const ELEMENT *a,
                                       const ELEMENT *b, ELEMENT beta, const ELEMENT *c,
                                       const void *epilogue) {
    GEMM_REQUIRE(!epilogue);
    GEMM_REQUIRE(resolved);
    GEMM_REQUIRE(DIRECT(bits)(alpha) == DIRECT(bits)(1));
    GEMM_REQUIRE(DIRECT(bits)(beta) == 0 || DIRECT(bits)(beta) == DIRECT(bits)(1));
    GEMM_REQUIRE(a);
    GEMM_REQUIRE(b);
    GEMM_REQUIRE(c);
    return true;
}
