/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inlines a kernel's bitcode into plain C with clang: none of our libraries is linked, and no call remains.
 *
 *     bitcode=build/stage/lib/ukernels/bitcode/x86_64-avx2/uk_sgemm_6x16_avx2_asm.bc
 *     flags="-O2 -mavx2 -mfma"       # the features that kernels.json lists
 *     include=-Ibuild/stage/include
 *
 *     clang-19 $flags $include -Xclang -mlink-builtin-bitcode -Xclang $bitcode main.c -o main
 *
 * or, for any compiler that reads LLVM bitcode:
 *
 *     clang-19 $flags $include -c -emit-llvm main.c -o main.bc
 *     llvm-link-19 --internalize --only-needed main.bc $bitcode -o linked.bc
 *     clang-19 $flags linked.bc -o main
 */
#include <stdio.h>
#include <ukernels/kernels.h>

enum { M = 31, N = 50, K = 17, MR = 6, NR = 16 };

/* Packed panels: of A [k][MR], of NR columns of B [k][NR]. Missing rows and columns of the last panels are
 * never used. */
static void pack(const float a[M][K], const float b[K][N], float ap[][K][MR], float bp[][K][NR]) {
    for (int p = 0; p < K; p++) {
        for (int i = 0; i < M; i++)
            ap[i / MR][p][i % MR] = a[i][p];
        for (int j = 0; j < N; j++)
            bp[j / NR][p][j % NR] = b[p][j];
    }
}

void multiply(const float a[M][K], const float b[K][N], float c[M][N]) {
    static float ap[(M + MR - 1) / MR][K][MR], bp[(N + NR - 1) / NR][K][NR];

    pack(a, b, ap, bp);
    for (int i = 0; i < M; i += MR)
        for (int j = 0; j < N; j += NR)
            uk_sgemm_6x16_avx2_asm(K, ap[i / MR][0], bp[j / NR][0], &c[i][j], N, 0, M - i < MR ? M - i : MR,
                                   N - j < NR ? N - j : NR);
}

int main(void) {
    static float a[M][K], b[K][N], c[M][N];
    int wrong = 0;

    for (int i = 0; i < M; i++)
        for (int p = 0; p < K; p++)
            a[i][p] = (float)((i * 7 + p * 3) % 9 - 4);
    for (int p = 0; p < K; p++)
        for (int j = 0; j < N; j++)
            b[p][j] = (float)((p * 5 + j * 11) % 7 - 3);
    multiply(a, b, c);
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            float sum = 0;

            for (int p = 0; p < K; p++)
                sum += a[i][p] * b[p][j];
            wrong += sum != c[i][j];
        }
    printf("%d of %d elements are wrong\n", wrong, M * N);
    return wrong != 0;
}
