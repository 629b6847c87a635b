/* SPDX-License-Identifier: Apache-2.0 */
/*
 * c[i][j] += sum over p of a(i, p) * b(p, j) of a thread's tile of UK_MR x UK_NR, for bytes: v_dot4_i32_i8
 * adds the products of four terms, which a register holds.
 *
 * Bound: the instructions of four terms take 4 * UK_MR * UK_NR cycles of a SIMD; the 16-byte reads of each
 * operand in shared memory, 4 terms of 4 rows, take a compute unit 2 * (UK_MR + UK_NR) cycles per wave, as in
 * the kernel for floats (asm/amdgcn/gemm_gfx906.c).
 */
#include "registry/gpu_kernel.h"

enum { MR = UK_MR, NR = UK_NR, GROUP = 4, TERMS = 4 };
typedef int words __attribute__((ext_vector_type(4)));

/* Reads the groups of four terms; count is a constant. */
static inline __attribute__((always_inline)) void read_groups(words *x, int count, const UK_SHARED int8_t *s,
                                                              int stride) {
#pragma unroll
    for (int i = 0; i < count; i++)
        x[i] = *(const UK_SHARED words *)(s + i * stride);
}

void UK_SYMBOL(int64_t k, const UK_SHARED int8_t *a, int64_t lda, int64_t sa, const UK_SHARED int8_t *b,
               int64_t ldb, int64_t sb, UK_REGISTER int32_t *c) {
    words x[MR / GROUP], y[NR / GROUP];
    int32_t sum[MR][NR];

#pragma unroll
    for (int i = 0; i < MR * NR; i++)
        sum[i / NR][i % NR] = c[i];
    /* Addresses of shared memory have 32 bits, so strides fit an int. */
    for (int left = (int)k; left > 0; left -= TERMS, a += (int)lda, b += (int)ldb) {
        read_groups(x, MR / GROUP, a, (int)sa);
        read_groups(y, NR / GROUP, b, (int)sb);
#pragma unroll
        for (int i = 0; i < MR; i++)
#pragma unroll
            for (int j = 0; j < NR; j++)
                sum[i][j] =
                    __builtin_amdgcn_sdot4(x[i / GROUP][i % GROUP], y[j / GROUP][j % GROUP], sum[i][j], 0);
    }
#pragma unroll
    for (int i = 0; i < MR * NR; i++)
        c[i] = sum[i / NR][i % NR];
}
