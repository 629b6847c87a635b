/* SPDX-License-Identifier: Apache-2.0 */
/* What depends on the element type of small products: included by gemm.c with ELEMENT, TYPE (its gemm_type),
 * and DIRECT(name) for the names, and BITS, the integers of its size. */

static inline BITS DIRECT(bits)(ELEMENT x) {
    union {
        ELEMENT number;
        BITS bits;
    } u = {x};

    return u.bits;
}

/* Nonzero if beta is 1, zero if it is 0, which are the only values here: without a comparison, from bits of
 * the exponent. */
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
    struct uk_small_call s;

    if (beta != 0 && beta != 1)
        DIRECT(scale)(m, n, beta, c, ldc);
    d = gemm_direct_of(d, m, k);
    const int last = d->column_splits - 1;

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

typedef void DIRECT(pack_function)(int64_t k, const ELEMENT *s, int64_t lds, ELEMENT *d, int64_t m);

/* The same with a column-major B of two vectors of columns at most, which is transposed. */
static inline void DIRECT(run_few)(const struct gemm_direct *d, const struct gemm_product *p,
                                   const ELEMENT *a, const ELEMENT *b, ELEMENT beta, ELEMENT *c,
                                   ELEMENT *copy) {
    const struct uk_kernel *k = gemm_few_transpose(&TYPE, p->n);

    ((DIRECT(pack_function) *)k->function)(p->k, b, p->ldb, copy, p->n);
    DIRECT(run)(d, p->m, p->n, p->k, a, p->lda, copy, k->mr, beta, c, p->ldc);
}
