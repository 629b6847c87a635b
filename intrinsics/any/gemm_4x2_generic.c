/* SPDX-License-Identifier: Apache-2.0 */
/*
 * 4 rows x 2 vectors of C, in vectors of 4 floats (UK_OP_sgemm) or 2 doubles (UK_OP_dgemm), which any
 * compiler maps to the instructions of the machine (SSE2, NEON, VSX, or scalars): sum[i][0] and sum[i][1] are
 * the left and right half of row i.
 *
 * Bound, on x86-64 without FMA: 8 multiplies, 8 adds, 4 broadcasts and 3 loads per k iteration; at two such
 * operations a cycle 8 flop per cycle for floats, 4 for doubles.
 */
#include "registry/kernel_contract.h"

#ifdef UK_OP_dgemm
typedef double real;
#else
typedef float real;
#endif
/* Unaligned; may alias real. */
typedef real vector __attribute__((vector_size(16), aligned(sizeof(real)), may_alias));
enum { V = 16 / sizeof(real), MR = 4, NR = 2 * V };

void UK_SYMBOL(int64_t k, const real *a, const real *b, real *c, int64_t ldc, int64_t acc, int64_t mr,
               int64_t nr) {
    vector sum[MR][2] = {{{0}}};

    for (int64_t p = 0; p < k; p++, a += MR, b += NR) {
        const vector left = *(const vector *)b, right = *(const vector *)(b + V);

#pragma GCC unroll 4
        for (int i = 0; i < MR; i++) {
            sum[i][0] += a[i] * left;
            sum[i][1] += a[i] * right;
        }
    }
    for (int64_t i = 0; i < mr; i++) {
        for (int64_t j = 0; j < nr; j++) {
            real x = sum[i][j / V][j % V];

            c[i * ldc + j] = acc ? c[i * ldc + j] + x : x;
        }
    }
}
