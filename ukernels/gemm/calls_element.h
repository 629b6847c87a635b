/* SPDX-License-Identifier: Apache-2.0 */
/* The functions that programs call, of one element type: included by gemm.c behind direct_element.h, with
 * LOOKED_UP, which returns the type's tables, and UK(name) for the names. */

/* ---- small products ---- */

/* A column-major B of few columns, whose transpose has room on the stack. */
__attribute__((noinline)) static void DIRECT(run_few_near)(const struct gemm_direct *d,
                                                           const struct gemm_product *p, const ELEMENT *a,
                                                           const ELEMENT *b, ELEMENT beta, ELEMENT *c) {
    ELEMENT copy[GEMM_COPY_ON_STACK / sizeof(ELEMENT)] __attribute__((aligned(64)));

    DIRECT(run_few)(d, p, a, b, beta, c, copy);
}

/* Products of many columns or rows, or with a column-major B: by a plan, but where it would take as long as
 * the product. */
__attribute__((noinline)) static void DIRECT(run_large)(const struct gemm_direct *d,
                                                        const struct gemm_product *p, const ELEMENT *a,
                                                        const ELEMENT *b, ELEMENT beta, ELEMENT *c) {
    enum { FEW_ITERATIONS = GEMM_COPY_ON_STACK / (2 * GEMM_VECTOR) };
    const bool by_rows = p->b_columns && gemm_is_by_rows(p);

    if (p->b_columns && !by_rows && p->k <= FEW_ITERATIONS && p->n <= TYPE.transpose_few[1]->mr) {
        DIRECT(run_few_near)(d, p, a, b, beta, c);
        return;
    }
    const struct gemm_product q = by_rows ? gemm_by_rows(p) : *p;
    struct gemm_small w;

    if (!gemm_needs_plan(&TYPE, &q)) {
        DIRECT(run)(d, q.m, q.n, q.k, a, q.lda, b, q.ldb, beta, c, q.ldc);
        return;
    }
    uk_gemm_small_plan(&TYPE, &q, &w);
    SMALL(&w, &q, a, b, (double)beta, c, NULL);
}

/* Any small product. */
static inline __attribute__((always_inline)) void DIRECT(run_product)(const struct gemm_direct *d,
                                                                      const struct gemm_product *p,
                                                                      const ELEMENT *a, const ELEMENT *b,
                                                                      ELEMENT beta, ELEMENT *c) {
    if (gemm_needs_plan(&TYPE, p)) {
        const struct gemm_product copy = *p; /* so that p itself stays in registers */

        DIRECT(run_large)(d, &copy, a, b, beta, c);
        return;
    }
    DIRECT(run)(d, p->m, p->n, p->k, a, p->lda, b, p->ldb, beta, c, p->ldc);
}

/* Computes a product that is small and whose arguments are valid; false: nothing has been done. */
static inline __attribute__((always_inline)) bool
DIRECT(call_product)(struct gemm_product p, const ELEMENT *a, const ELEMENT *b, ELEMENT beta, ELEMENT *c) {
    const struct gemm_direct *d = gemm_small_for(&TYPE, &p);

    if (!d)
        return false;
    DIRECT(run_product)(d, &p, a, b, beta, c);
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

/* The same for a plan; false: it is not a small product, or an argument is invalid. */
static inline bool DIRECT(call_plan)(const struct gemm_plan *plan, ELEMENT alpha, const ELEMENT *a,
                                     const ELEMENT *b, ELEMENT beta, ELEMENT *c, void *workspace) {
    if (plan->type != &TYPE || plan->path != &uk_gemm_small || alpha != 1 || !a || !b || !c)
        return false;
    uk_gemm_run_small(plan, plan->swapped ? b : a, plan->swapped ? a : b, (double)beta, c, workspace);
    return true;
}

/* Whether a call needs nothing but the plan's resolved kernels. Numbers are compared as bits, which is one
 * comparison even where they may be NaN. */
static inline bool DIRECT(is_resolved)(uk_small_run *resolved, ELEMENT alpha, const ELEMENT *a,
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

/* ---- the calls ---- */

__attribute__((noinline)) static enum uk_status DIRECT(by_plan)(enum uk_layout layout, enum uk_transpose ta,
                                                                enum uk_transpose tb, int64_t m, int64_t n,
                                                                int64_t k, ELEMENT alpha, const ELEMENT *a,
                                                                int64_t lda, const ELEMENT *b, int64_t ldb,
                                                                ELEMENT beta, ELEMENT *c, int64_t ldc) {
    return call(&TYPE, &(struct gemm_shape){layout, ta, tb, m, n, k, lda, ldb, ldc}, alpha, a, b, beta, c);
}

/* The first call in the process: it looks up the kernels, without which small products are not recognized,
 * and their results would be summed in another order. */
__attribute__((noinline)) static enum uk_status DIRECT(first)(enum uk_layout layout, enum uk_transpose ta,
                                                              enum uk_transpose tb, int64_t m, int64_t n,
                                                              int64_t k, ELEMENT alpha, const ELEMENT *a,
                                                              int64_t lda, const ELEMENT *b, int64_t ldb,
                                                              ELEMENT beta, ELEMENT *c, int64_t ldc) {
    LOOKED_UP();
    return UK(gemm)(layout, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

enum uk_status UK(gemm)(enum uk_layout layout, enum uk_transpose ta, enum uk_transpose tb, int64_t m,
                        int64_t n, int64_t k, ELEMENT alpha, const ELEMENT *a, int64_t lda, const ELEMENT *b,
                        int64_t ldb, ELEMENT beta, ELEMENT *c, int64_t ldc) {
    if (!atomic_load_explicit(&TYPE.ready, memory_order_acquire))
        return DIRECT(first)(layout, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
    return DIRECT(call)(layout, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
               ? UK_OK
               : DIRECT(by_plan)(layout, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

enum uk_status UK(gemm_plan)(struct uk_gemm_plan *plan, enum uk_layout layout, enum uk_transpose ta,
                             enum uk_transpose tb, int64_t m, int64_t n, int64_t k, int64_t lda, int64_t ldb,
                             int64_t ldc, const struct uk_gemm_options *options) {
    if (!plan)
        return UK_INVALID_ARGUMENT;
    return uk_gemm_resolve((struct gemm_plan *)(void *)plan, LOOKED_UP(),
                           &(struct gemm_shape){layout, ta, tb, m, n, k, lda, ldb, ldc}, options);
}

__attribute__((noinline)) static enum uk_status
DIRECT(run_any)(const struct gemm_plan *plan, ELEMENT alpha, const ELEMENT *a, const ELEMENT *b, ELEMENT beta,
                ELEMENT *c, const struct UK(gemm_epilogue) * epilogue, void *workspace) {
    struct gemm_epilogue e;

    if (!epilogue && DIRECT(call_plan)(plan, alpha, a, b, beta, c, workspace))
        return UK_OK;
    if (epilogue && !epilogue_given(epilogue->flags, epilogue->scale, epilogue->low, epilogue->high,
                                    epilogue->row_bias, epilogue->column_bias, &e))
        return UK_INVALID_ARGUMENT;
    return uk_gemm_run_as(plan, &TYPE, alpha, a, b, beta, c, epilogue ? &e : NULL, workspace);
}

__attribute__((noinline)) static enum uk_status
DIRECT(run_swapped)(const struct gemm_plan *plan, ELEMENT alpha, const ELEMENT *a, const ELEMENT *b,
                    ELEMENT beta, ELEMENT *c, const struct UK(gemm_epilogue) * epilogue, void *workspace) {
    uk_small_run *resolved = plan->resolved_swapped[sizeof(ELEMENT) > 4];

    if (DIRECT(is_resolved)(resolved, alpha, a, b, beta, c, epilogue))
        return resolved(plan->call, b, a, c, DIRECT(adds)(beta));
    return DIRECT(run_any)(plan, alpha, a, b, beta, c, epilogue, workspace);
}

/* The jump to the kernel should end a cache line of code: each further line, and each taken jump, costs a
 * cycle or two of the smallest products' ten. */
__attribute__((aligned(64))) enum uk_status
UK(gemm_run)(const struct uk_gemm_plan *callers, ELEMENT alpha, const ELEMENT *a, const ELEMENT *b,
             ELEMENT beta, ELEMENT *c, const struct UK(gemm_epilogue) * epilogue, void *workspace) {
    const struct gemm_plan *plan = gemm_plan_in(callers);
    uk_small_run *resolved = plan->resolved[sizeof(ELEMENT) > 4];

    if (DIRECT(is_resolved)(resolved, alpha, a, b, beta, c, epilogue))
        return resolved(plan->call, a, b, c, DIRECT(adds)(beta));
    return DIRECT(run_swapped)(plan, alpha, a, b, beta, c, epilogue, workspace);
}

enum uk_status UK(gemm_pack_a)(const struct uk_gemm_plan *plan, const ELEMENT *a, ELEMENT *packed) {
    return uk_gemm_pack_operand(gemm_plan_in(plan), &TYPE, false, a, packed);
}

enum uk_status UK(gemm_pack_b)(const struct uk_gemm_plan *plan, const ELEMENT *b, ELEMENT *packed) {
    return uk_gemm_pack_operand(gemm_plan_in(plan), &TYPE, true, b, packed);
}

enum uk_status UK(gemm_batch)(enum uk_layout layout, enum uk_transpose ta, enum uk_transpose tb, int64_t m,
                              int64_t n, int64_t k, ELEMENT alpha, const ELEMENT *const *a, int64_t lda,
                              const ELEMENT *const *b, int64_t ldb, ELEMENT beta, ELEMENT *const *c,
                              int64_t ldc, int64_t count) {
    struct gemm_batch t = {.common = {.alpha = alpha, .beta = beta},
                           .a = (const void *)a,
                           .b = (const void *)b,
                           .c = (const void *)c};

    return uk_gemm_run_batch(&t, LOOKED_UP(), &(struct gemm_shape){layout, ta, tb, m, n, k, lda, ldb, ldc},
                             count);
}

enum uk_status UK(gemm_batch_strided)(enum uk_layout layout, enum uk_transpose ta, enum uk_transpose tb,
                                      int64_t m, int64_t n, int64_t k, ELEMENT alpha, const ELEMENT *a,
                                      int64_t lda, int64_t stride_a, const ELEMENT *b, int64_t ldb,
                                      int64_t stride_b, ELEMENT beta, ELEMENT *c, int64_t ldc,
                                      int64_t stride_c, int64_t count) {
    struct gemm_batch t = {.common = {.alpha = alpha, .beta = beta},
                           .is_strided = true,
                           .first_a = (const char *)a,
                           .first_b = (const char *)b,
                           .first_c = (char *)c,
                           .stride_a = stride_a,
                           .stride_b = stride_b,
                           .stride_c = stride_c};

    return uk_gemm_run_batch(&t, LOOKED_UP(), &(struct gemm_shape){layout, ta, tb, m, n, k, lda, ldb, ldc},
                             count);
}
