/* SPDX-License-Identifier: Apache-2.0 */
/* A micro-kernel called through the registry: one tile C = A B, A and B in panels. Links -lukernels. */
#include <stdio.h>
#include <string.h>
#include <ukernels/ukernels.h>

int main(void) {
    enum { K = 3, LARGEST = 64 };
    static float a[K * LARGEST], b[K * LARGEST], c[LARGEST * LARGEST];
    const struct uk_kernel *best = NULL;
    int count;
    const struct uk_kernel *kernel = uk_kernels(&count);
    for (int i = 0; i < count; i++, kernel++) /* the largest tile that this CPU runs */
        if (!strcmp(kernel->op, "sgemm") && uk_kernel_runs_here(kernel) &&
            (!best || kernel->mr * kernel->nr > best->mr * best->nr))
            best = kernel;
    if (!best || best->mr > LARGEST || best->nr > LARGEST)
        return 1;
    for (int p = 0; p < K; p++) { /* A[i][p] = i + p, B[p][j] = j - p */
        for (int i = 0; i < best->mr; i++)
            a[p * best->mr + i] = (float)(i + p);
        for (int j = 0; j < best->nr; j++)
            b[p * best->nr + j] = (float)(j - p);
    }
    ((uk_sgemm_function *)best->function)(K, a, b, c, best->nr, 0, best->mr, best->nr);
    printf("%s: C[1][2] = %g\n", best->symbol, c[best->nr + 2]);
    return c[best->nr + 2] == 1 * 2 + 2 * 1 + 3 * 0 ? 0 : 1;
}
