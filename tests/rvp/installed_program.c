/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that uses an installed build: its own words of P, before and after it installs a handler of
 * SIGILL, and a kernel of the library, selected by UK_ISA.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <registry/rvp.h>
#include <kernels.h>

enum { M = 4, N = 5, K = 64 };
static sigjmp_buf back;

static void caught(int number) {
    siglongjmp(back, number);
}

static int product_is_wrong(void) {
    const struct uk_kernel *row = uk_kernel_find("uk_igemm_4x5_rvp_asm");
    static uint8_t a[M * K];
    static int8_t b[N * K];
    static int32_t c[M * N];
    char lacks[32];

    if (!row || !uk_kernel_runs_here(row)) {
        uk_cpu_lacks(row ? uk_kernel_features(row) : "", lacks, sizeof lacks);
        printf("uk_igemm_4x5_rvp_asm does not run here: %s is missing\n", lacks);
        return 1;
    }
    /* Panels in steps of 8: 8 elements of each row of A, or column of B, are adjacent. */
    for (int i = 0; i < M * K; i++)
        a[i] = (uint8_t)(37 * i + 11);
    for (int i = 0; i < N * K; i++)
        b[i] = (int8_t)(53 * i - 7);
    ((uk_igemm_function *)uk_kernel_function(row))(K, a, b, c, N, 0, M, N);
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            int32_t sum = 0;

            for (int k = 0; k < K; k++)
                sum += a[(k / 8 * M + i) * 8 + k % 8] * b[(k / 8 * N + j) * 8 + k % 8];
            if (c[i * N + j] != sum) {
                printf("row %d, column %d: %d, not %d\n", i, j, c[i * N + j], sum);
                return 1;
            }
        }
    return 0;
}

int main(void) {
    volatile uint64_t x = 0x0000000100000002, y = 0x00000003fffffffe;

    if (uk_rvp_add32(x, y) != 0x0000000400000000 || product_is_wrong())
        return 1;
    signal(SIGILL, caught);
    if (uk_rvp_sub32(x, y) != 0xfffffffe00000004 || product_is_wrong())
        return 2;
    if (!sigsetjmp(back, 1)) {
        __asm__ volatile("unimp");
        return 3;
    }
    puts("installed: P is run");
    return 0;
}
