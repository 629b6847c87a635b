/* SPDX-License-Identifier: Apache-2.0 */
/* Included by product.h once for each width INT of integers: what programs call. */

#pragma GCC visibility push(default)

/* Fortran's routine. Its compilers pass the lengths of the strings `transa` and `transb` as additional last
 * arguments, which are ignored. */
void GEMM(const char *transa, const char *transb, const INT *m, const INT *n, const INT *k, const T *alpha,
          const T *a, const INT *lda, const T *b, const INT *ldb, const T *beta, T *c, const INT *ldc) {
    struct shape s = {.m = *m, .n = *n, .k = *k, .lda = *lda, .ldb = *ldb, .ldc = *ldc};
    int illegal = !read_letter(*transa, &s.ta)   ? TRANSA
                  : !read_letter(*transb, &s.tb) ? TRANSB
                                                 : illegal_size(&s);

    if (illegal)
        report(UPPER "GEMM ", illegal, WIDE);
    else
        PRODUCT(&s, *alpha, a, b, *beta, c);
}

void GEMM_BATCH(const char *transa, const char *transb, const INT *m, const INT *n, const INT *k,
                const T *alpha, const T *a, const INT *lda, const INT *stridea, const T *b, const INT *ldb,
                const INT *strideb, const T *beta, T *c, const INT *ldc, const INT *stridec,
                const INT *batch_size) {
    struct shape s = {.m = *m, .n = *n, .k = *k, .lda = *lda, .ldb = *ldb, .ldc = *ldc};
    struct batch batch = {*stridea, *strideb, *stridec, *batch_size};
    int illegal = !read_letter(*transa, &s.ta)   ? TRANSA
                  : !read_letter(*transb, &s.tb) ? TRANSB
                                                 : illegal_in_batch(&s, &batch);

    if (illegal)
        report(UPPER "GEMM_BATCH_STRIDED", illegal, WIDE);
    else
        PRODUCT_BATCH(&s, &batch, *alpha, a, b, *beta, c);
}

/* Illegal arguments are reported with the reference's numbers. The reference calls sgemm_, for a row-major
 * product with A and B exchanged, and adds 1 to its number because of `layout`. */
void CBLAS_GEMM(int layout, int transa, int transb, INT m, INT n, INT k, T alpha, const T *a, INT lda,
                const T *b, INT ldb, T beta, T *c, INT ldc) {
    bool rows = layout == CBLAS_ROWS;
    struct shape s = {.m = rows ? n : m, .n = rows ? m : n, .k = k, .ldc = ldc};
    int illegal;

    s.lda = rows ? ldb : lda;
    s.ldb = rows ? lda : ldb;
    if (!read_cblas(STRING(CBLAS_GEMM), WIDE, layout, transa, transb, &s))
        return;
    illegal = illegal_size(&s);
    if (illegal)
        report_cblas(STRING(CBLAS_GEMM), illegal + 1, rows, WIDE, "", 0);
    else
        PRODUCT(&s, alpha, rows ? b : a, rows ? a : b, beta, c);
}

/* The reference has no batches: an illegal argument is reported with its position in this parameter list. */
void CBLAS_GEMM_BATCH(int layout, int transa, int transb, INT m, INT n, INT k, T alpha, const T *a, INT lda,
                      INT stridea, const T *b, INT ldb, INT strideb, T beta, T *c, INT ldc, INT stridec,
                      INT batch_size) {
    bool rows = layout == CBLAS_ROWS;
    struct shape s = {.m = rows ? n : m, .n = rows ? m : n, .k = k, .ldc = ldc};
    struct batch batch = {.stride_c = stridec, .count = batch_size};
    int illegal;

    s.lda = rows ? ldb : lda;
    s.ldb = rows ? lda : ldb;
    batch.stride_a = rows ? strideb : stridea;
    batch.stride_b = rows ? stridea : strideb;
    if (!read_cblas(STRING(CBLAS_GEMM_BATCH), WIDE, layout, transa, transb, &s))
        return;
    illegal = illegal_in_batch(&s, &batch);
    if (rows)
        illegal = exchange(illegal, BATCH_LDA, BATCH_LDB);
    if (illegal)
        report_cblas(STRING(CBLAS_GEMM_BATCH), illegal + 1, false, WIDE, "", 0);
    else
        PRODUCT_BATCH(&s, &batch, alpha, rows ? b : a, rows ? a : b, beta, c);
}

#pragma GCC visibility pop
