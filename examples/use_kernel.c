/* SPDX-License-Identifier: Apache-2.0 */
/* Calls a micro-kernel from the registry: one tile C = A B, with A and B in panels. Links -lukernels. */
#include <stdio.h>
#include <string.h>
#include <ukernels/kernels.h>

int main(void) {
    enum { K = 3, LARGEST = 64 };
    static float a[K * LARGEST], b[K * LARGEST], c[LARGEST * LARGEST];
    const struct uk_kernel *best = NULL;
    for (int i = 0; i < uk_kernel_count(); i++) { /* choose the largest tile that runs on this CPU */
        const struct uk_kernel *k = uk_kernel_at(i);
        if (!strcmp(uk_kernel_op(k), "sgemm") && uk_kernel_runs_here(k) &&
            uk_kernel_mr(k) * uk_kernel_nr(k) > uk_kernel_mr(best) * uk_kernel_nr(best))
            best = k;
    }
    const int mr = uk_kernel_mr(best), nr = uk_kernel_nr(best);
    if (!best || mr > LARGEST || nr > LARGEST)
        return 1;
    for (int p = 0; p < K; p++) { /* A[i][p] = i + p, B[p][j] = j - p */
        for (int i = 0; i < mr; i++)
            a[p * mr + i] = (float)(i + p);
        for (int j = 0; j < nr; j++)
            b[p * nr + j] = (float)(j - p);
    }
    ((uk_sgemm_function *)uk_kernel_function(best))(K, a, b, c, nr, 0, mr, nr);
    printf("%s: C[1][2] = %g\n", uk_kernel_symbol(best), c[nr + 2]);
    return c[nr + 2] == 1 * 2 + 2 * 1 + 3 * 0 ? 0 : 1;
}
