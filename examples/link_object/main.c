/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls a generated object from plain C: neither LLVM nor libuktensorize is linked.
 *
 *     uk compile ../matmul.uk --emit=object -o matmul.o
 *     uk compile ../matmul.uk --emit=header -o matmul.h
 *     cc main.c matmul.o -o main
 */
#include <stdio.h>
#include "matmul.h"

int main(void) {
    enum { M = 3, N = 2, K = 2 };
    const float a[M][K] = {{1, 2}, {3, 4}, {5, 6}}, b[K][N] = {{1, 1}, {0, 1}};
    float c[M][N];
    int status = matmul(M, N, K, K, N, N, a[0], b[0], c[0]); /* sizes, row strides, tensors */
    if (status)
        return status;
    for (int i = 0; i < M; i++)
        printf("%g %g\n", c[i][0], c[i][1]);
    return matmul(M, N, K, K - 1, N, N, a[0], b[0], c[0]) == 0; /* overlapping rows are refused */
}
