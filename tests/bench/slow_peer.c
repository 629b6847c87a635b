/* SPDX-License-Identifier: Apache-2.0 */
/* A BLAS that claims to be BLIS, for tests of uk bench gemm: slow, and wrong if C has seven rows. */
#include <stdint.h>

enum { TRANSPOSE = 112 }; /* CblasTrans of cblas.h */

void bli_thread_set_num_threads(int64_t threads) {
    (void)threads;
}

int bli_arch_query_id(void) {
    return 0;
}

const char *bli_arch_string(int id) {
    (void)id;
    return "slow";
}

const char *bli_info_get_version_str(void) {
    return "of a test";
}

#define PRODUCT(name, real)                                                                       \
    void name(int order, int ta, int tb, int m, int n, int k, real alpha, const real *a, int lda, \
              const real *b, int ldb, real beta, real *c, int ldc) {                              \
        (void)order; /* the benchmark calls it with column-major only */                          \
        for (int j = 0; j < n; j++)                                                               \
            for (int i = 0; i < m; i++) {                                                         \
                volatile real sum = m == 7;                                                       \
                for (int l = 0; l < k; l++)                                                       \
                    sum += (ta == TRANSPOSE ? a[l + i * lda] : a[i + l * lda]) *                  \
                           (tb == TRANSPOSE ? b[j + l * ldb] : b[l + j * ldb]);                   \
                c[i + j * ldc] = alpha * sum + (beta == 0 ? 0 : beta * c[i + j * ldc]);           \
            }                                                                                     \
    }

PRODUCT(cblas_sgemm, float)
PRODUCT(cblas_dgemm, double)
