/* SPDX-License-Identifier: Apache-2.0 */
/* A matrix product through CBLAS: cc use_blas.c $(pkg-config --cflags --libs ukblas). Works with any
 * cblas.h. */
#include <cblas.h>
#include <stdio.h>

int main(void) {
    static const float a[2][3] = {{1, 2, 3}, {4, 5, 6}}, b[3][2] = {{1, 0}, {0, 1}, {1, 1}};
    float c[2][2];

    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, 2, 2, 3, 1, a[0], 3, b[0], 2, 0, c[0], 2);
    printf("%g %g\n%g %g\n", c[0][0], c[0][1], c[1][0], c[1][1]);
    return c[0][0] == 4 && c[0][1] == 5 && c[1][0] == 10 && c[1][1] == 11 ? 0 : 1;
}
