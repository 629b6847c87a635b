/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernels of riscv64, for kernels.py. Tests each against the contract; or, with M N K, computes a
 * product of that size tile by tile with the kernel KERNEL, whose instructions the caller counts. Only these
 * kernels are linked: rows of other kernels have no function.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "check_kernel.h"

enum { MOST = 24, MOST_K = 512 };

#ifdef KERNEL
#if IN_PLACE
void KERNEL(int64_t k, const uint8_t *a, int64_t lda, const int8_t *b, int32_t *c, int64_t ldc, int64_t acc,
            int64_t mr, int64_t nr);
#define CALL(k, a, b, c, mr, nr) KERNEL(k, a, MOST_K, b, c, MOST, 0, mr, nr)
#else
void KERNEL(int64_t k, const uint8_t *a, const int8_t *b, int32_t *c, int64_t ldc, int64_t acc, int64_t mr,
            int64_t nr);
#define CALL(k, a, b, c, mr, nr) KERNEL(k, a, b, c, MOST, 0, mr, nr)
#endif

int main(int argc, char **argv) {
    static uint8_t a[MOST * MOST_K];
    static int8_t b[MOST * MOST_K];
    static int32_t c[MOST * MOST];

    if (argc != 4)
        return 2;
    const int m = atoi(argv[1]), n = atoi(argv[2]), k = (atoi(argv[3]) + 7) / 8 * 8;
    for (int i = 0; i < m; i += MR)
        for (int j = 0; j < n; j += NR)
            CALL(k, a, b, c + i * MOST + j, m - i < MR ? m - i : MR, n - j < NR ? n - j : NR);
    return 0;
}
#else
int main(void) {
    int failed = 0, own = 0;
    char message[512];

    for (int i = 0; i < uk_kernel_count(); i++) {
        const struct uk_kernel *row = uk_kernel_at(i);

        if (!strcmp(uk_kernel_arch(row), "riscv64") && uk_kernel_function(row)) {
            own++;
            if (!check_kernel(row, uk_kernel_function(row), message, sizeof message)) {
                printf("%s\n", message);
                failed++;
            }
        }
    }
    printf("%d kernels, %d failed\n", own, failed);
    return failed || !own;
}
#endif
