/* SPDX-License-Identifier: Apache-2.0 */
/* Products by CBLAS, as a whole command: bench/hyperfine.sh links it with one BLAS after the other.
 * Usage: gemm M N K CALLS */
#include <stdio.h>
#include <stdlib.h>

void cblas_sgemm(int order, int ta, int tb, int m, int n, int k, float alpha, const float *a, int lda,
                 const float *b, int ldb, float beta, float *c, int ldc);

/* MKL calls this; unless it returns a function that says yes, MKL takes the CPU for another vendor's and
 * selects slow kernels: see bench/peers.c. */
static int yes(void) {
    return 1;
}

int (*mkl_serv_get_cpu_true(void))(void);
int (*mkl_serv_get_cpu_true(void))(void) {
    return yes;
}

int main(int argc, char **argv) {
    if (argc != 5) {
        fputs("usage: gemm M N K CALLS\n", stderr);
        return 2;
    }
    int m = atoi(argv[1]), n = atoi(argv[2]), k = atoi(argv[3]), calls = atoi(argv[4]);
    if (m < 1 || n < 1 || k < 1 || m > 16384 || n > 16384 || k > 16384)
        return 2;
    float *a = calloc((size_t)m * (size_t)k, sizeof *a), *b = calloc((size_t)k * (size_t)n, sizeof *b),
          *c = calloc((size_t)m * (size_t)n, sizeof *c);
    if (!a || !b || !c)
        return 1;
    for (size_t i = 0; i < (size_t)m * (size_t)k; i++)
        a[i] = (float)(i % 7) - 3;
    for (size_t i = 0; i < (size_t)k * (size_t)n; i++)
        b[i] = (float)(i % 5) - 2;
    for (int i = 0; i < calls; i++)
        cblas_sgemm(101, 111, 111, m, n, k, 1, a, k, b, n, 0, c, n);
    /* Checksum: sums of small integers are exact, so every BLAS gives the same. */
    double sum = 0;
    for (size_t i = 0; i < (size_t)m * (size_t)n; i++)
        sum += (double)c[i] * (double)(i % 3);
    printf("%.0f\n", sum);
    free(a);
    free(b);
    free(c);
    return 0;
}
