/* SPDX-License-Identifier: Apache-2.0 */
/* Included by blas.c once for each element type T, with the LETTER that its names begin with. */

#define PRODUCT PASTE(LETTER, product, )
#define PRODUCT_IN_PLACE PASTE(LETTER, product_in_place, )
#define PRODUCT_BATCH PASTE(LETTER, product_batch, )
#define UK_GEMM PASTE(uk_, LETTER, gemm)
#define UK_GEMM_BATCH PASTE(uk_, LETTER, gemm_batch_strided)

/* Computes the product without allocating, after PRODUCT could not: column by column, as the reference does.
 */
__attribute__((noinline)) static void PRODUCT_IN_PLACE(const struct shape *s, T alpha, const T *a, const T *b,
                                                       T beta, T *c) {
    int64_t row_a = s->ta == UK_NO_TRANSPOSE ? 1 : s->lda, column_a = s->ta == UK_NO_TRANSPOSE ? s->lda : 1;
    int64_t row_b = s->tb == UK_NO_TRANSPOSE ? 1 : s->ldb, column_b = s->tb == UK_NO_TRANSPOSE ? s->ldb : 1;

    for (int64_t j = 0; j < s->n; j++) {
        T *column = c + j * s->ldc;

        for (int64_t i = 0; i < s->m && beta != 1; i++)
            column[i] = beta == 0 ? 0 : beta * column[i];
        for (int64_t p = 0; p < s->k && alpha != 0; p++) {
            T factor = alpha * b[p * row_b + j * column_b];

            for (int64_t i = 0; i < s->m; i++)
                column[i] += factor * a[i * row_a + p * column_a];
        }
    }
}

static inline void PRODUCT(const struct shape *s, T alpha, const T *a, const T *b, T beta, T *c) {
    if (UK_GEMM(UK_COLUMN_MAJOR, s->ta, s->tb, s->m, s->n, s->k, alpha, a, s->lda, b, s->ldb, beta, c,
                s->ldc))
        PRODUCT_IN_PLACE(s, alpha, a, b, beta, c);
}

static void PRODUCT_BATCH(const struct shape *s, const struct batch *batch, T alpha, const T *a, const T *b,
                          T beta, T *c) {
    if (!UK_GEMM_BATCH(UK_COLUMN_MAJOR, s->ta, s->tb, s->m, s->n, s->k, alpha, a, s->lda, batch->stride_a, b,
                       s->ldb, batch->stride_b, beta, c, s->ldc, batch->stride_c, batch->count))
        return;
    for (int64_t i = 0; i < batch->count; i++)
        PRODUCT_IN_PLACE(s, alpha, a + i * batch->stride_a, b + i * batch->stride_b, beta,
                         c + i * batch->stride_c);
}

#define INT int32_t
#define WIDE false
#define GEMM PASTE(LETTER, gemm_, )
#define GEMM_BATCH PASTE(LETTER, gemm_batch_strided_, )
#define CBLAS_GEMM PASTE(cblas_, LETTER, gemm)
#define CBLAS_GEMM_BATCH PASTE(cblas_, LETTER, gemm_batch_strided)
#include "entries.h"
#undef INT
#undef WIDE
#undef GEMM
#undef GEMM_BATCH
#undef CBLAS_GEMM
#undef CBLAS_GEMM_BATCH

#define INT int64_t
#define WIDE true
#define GEMM PASTE(LETTER, gemm_64_, )
#define GEMM_BATCH PASTE(LETTER, gemm_batch_strided_64_, )
#define CBLAS_GEMM PASTE(cblas_, LETTER, gemm_64)
#define CBLAS_GEMM_BATCH PASTE(cblas_, LETTER, gemm_batch_strided_64)
#include "entries.h"
/* OpenBLAS's name of the same function. */
extern __typeof__(CBLAS_GEMM) PASTE(cblas_, LETTER, gemm64_)
    __attribute__((alias(STRING(CBLAS_GEMM)), visibility("default")));
#undef INT
#undef WIDE
#undef GEMM
#undef GEMM_BATCH
#undef CBLAS_GEMM
#undef CBLAS_GEMM_BATCH

#undef PRODUCT
#undef PRODUCT_IN_PLACE
#undef PRODUCT_BATCH
#undef UK_GEMM
#undef UK_GEMM_BATCH
