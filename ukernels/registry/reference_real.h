/* SPDX-License-Identifier: Apache-2.0 */
/* References of the operations that exist for f32 and f64. reference.c includes this file for each type,
 * `real`, with REFERENCE(op) the name of the function. */
/* The product with element (i, p) of A at a[i * lda + p * csa]. The other products call this one: panels and
 * transposes differ in strides only. */
void REFERENCE(gemm_sab)(int64_t MR, int64_t NR, int64_t KR, int64_t k, const real *a, int64_t lda,
                         int64_t csa, const real *b, int64_t ldb, real *c, int64_t ldc, int64_t acc,
                         int64_t mr, int64_t nr) {
    (void)MR;
    (void)NR;
    (void)KR;
    for (int64_t i = 0; i < mr; i++) {
        for (int64_t j = 0; j < nr; j++) {
            real sum = 0;

            for (int64_t p = 0; p < k; p++)
                sum += a[i * lda + p * csa] * b[p * ldb + j];
            c[i * ldc + j] = acc ? c[i * ldc + j] + sum : sum;
        }
    }
}

void REFERENCE(gemm)(int64_t MR, int64_t NR, int64_t KR, int64_t k, const real *a, const real *b, real *c,
                     int64_t ldc, int64_t acc, int64_t mr, int64_t nr) {
    REFERENCE(gemm_sab)(MR, NR, KR, k, a, 1, MR, b, NR, c, ldc, acc, mr, nr);
}

void REFERENCE(gemm_ra)(int64_t MR, int64_t NR, int64_t KR, int64_t k, const real *a, int64_t lda,
                        const real *b, real *c, int64_t ldc, int64_t acc, int64_t mr, int64_t nr) {
    REFERENCE(gemm_sab)(MR, NR, KR, k, a, lda, 1, b, NR, c, ldc, acc, mr, nr);
}

void REFERENCE(gemm_rab)(int64_t MR, int64_t NR, int64_t KR, int64_t k, const real *a, int64_t lda,
                         const real *b, int64_t ldb, real *c, int64_t ldc, int64_t acc, int64_t mr,
                         int64_t nr) {
    REFERENCE(gemm_sab)(MR, NR, KR, k, a, lda, 1, b, ldb, c, ldc, acc, mr, nr);
}

void REFERENCE(gemm_small)(int64_t MR, int64_t NR, int64_t KR, int64_t k, const real *a, int64_t lda,
                           const real *b, int64_t ldb, real *c, int64_t ldc, int64_t acc, int64_t m,
                           int64_t n) {
    REFERENCE(gemm_sab)(MR, NR, KR, k, a, lda, 1, b, ldb, c, ldc, acc, m, n);
}

void REFERENCE(gemm_small_ta)(int64_t MR, int64_t NR, int64_t KR, int64_t k, const real *a, int64_t lda,
                              const real *b, int64_t ldb, real *c, int64_t ldc, int64_t acc, int64_t m,
                              int64_t n) {
    REFERENCE(gemm_sab)(MR, NR, KR, k, a, 1, lda, b, ldb, c, ldc, acc, m, n);
}

void REFERENCE(gemm_nt)(int64_t MR, int64_t NR, int64_t KR, int64_t k, const real *a, int64_t lda,
                        const real *b, int64_t ldb, real *c, int64_t ldc, int64_t acc, int64_t m, int64_t n) {
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++)
            REFERENCE(dot)(MR, NR, KR, k, a + i * lda, b + j * ldb, c + i * ldc + j, acc);
}

void REFERENCE(pack_t)(int64_t MR, int64_t NR, int64_t KR, int64_t k, const real *s, int64_t lds, real *d,
                       int64_t m) {
    (void)NR;
    (void)KR;
    for (int64_t p = 0; p < k; p++)
        for (int64_t i = 0; i < MR; i++)
            d[p * MR + i] = i < m ? s[i * lds + p] : 0;
}

void REFERENCE(transpose)(int64_t MR, int64_t NR, int64_t KR, int64_t k, const real *s, int64_t lds, real *d,
                          int64_t ldd, int64_t m) {
    (void)NR;
    (void)KR;
    for (int64_t p = 0; p < k; p++)
        for (int64_t i = 0; i < MR; i++)
            d[p * ldd + i] = i < m ? s[i * lds + p] : 0;
}

void REFERENCE(pack_n)(int64_t MR, int64_t NR, int64_t KR, int64_t k, const real *s, int64_t lds, real *d,
                       int64_t n) {
    (void)MR;
    (void)KR;
    for (int64_t p = 0; p < k; p++)
        for (int64_t j = 0; j < NR; j++)
            d[p * NR + j] = j < n ? s[p * lds + j] : 0;
}

void REFERENCE(gemm_rap)(int64_t MR, int64_t NR, int64_t KR, int64_t k, const real *a, int64_t lda,
                         const real *b, int64_t ldb, real *d, real *c, int64_t ldc, int64_t acc, int64_t mr,
                         int64_t nr) {
    REFERENCE(pack_n)(MR, NR, KR, k, b, ldb, d, nr);
    REFERENCE(gemm_rab)(MR, NR, KR, k, a, lda, b, ldb, c, ldc, acc, mr, nr);
}

void REFERENCE(dot)(int64_t MR, int64_t NR, int64_t KR, int64_t k, const real *a, const real *b, real *c,
                    int64_t acc) {
    real sum = 0;

    (void)MR;
    (void)NR;
    (void)KR;
    for (int64_t p = 0; p < k; p++)
        sum += a[p] * b[p];
    c[0] = acc ? c[0] + sum : sum;
}

void REFERENCE(axpy)(int64_t MR, int64_t NR, int64_t KR, int64_t n, real alpha, const real *x, real *y) {
    (void)MR;
    (void)NR;
    (void)KR;
    for (int64_t j = 0; j < n; j++)
        y[j] += alpha * x[j];
}

void REFERENCE(gemv_n)(int64_t MR, int64_t NR, int64_t KR, int64_t k, const real *a, int64_t lda,
                       const real *x, real *c, int64_t acc, int64_t ahead, int64_t m) {
    (void)ahead;
    for (int64_t i = 0; i < m; i++)
        REFERENCE(dot)(MR, NR, KR, k, a + i * lda, x, c + i, acc);
}

void REFERENCE(gemv_t)(int64_t MR, int64_t NR, int64_t KR, int64_t k, const real *a, int64_t lda,
                       const real *x, real *y, int64_t acc, int64_t ahead, int64_t n) {
    (void)ahead;
    for (int64_t j = 0; j < n && !acc; j++)
        y[j] = 0;
    for (int64_t p = 0; p < k; p++)
        REFERENCE(axpy)(MR, NR, KR, n, x[p], a + p * lda, y);
}
