/*
 * 4 rows x 8 columns of C, in vectors of 4 floats that any compiler maps to what the machine has (SSE2, NEON,
 * VSX, or scalars): c[i][0] and c[i][1] are the left and right half of row i.
 *
 * Bound, on x86-64 without FMA: 8 multiplies, 8 adds, 4 broadcasts and 3 loads per k; at two such operations
 * a cycle 8 flop per cycle.
 */
#include "ukernels.h"

/* Unaligned, and allowed to alias float. */
typedef float vector __attribute__((vector_size(16), aligned(4), may_alias));
enum { MR = 4, NR = 8 };

void uk_sgemm_4x8_generic_c(int64_t k, const float *a, const float *b, float *c, int64_t ldc, int64_t acc,
                            int64_t mr, int64_t nr) {
    vector sum[MR][2] = {{{0}}};

    for (int64_t p = 0; p < k; p++, a += MR, b += NR) {
        const vector left = *(const vector *)b, right = *(const vector *)(b + 4);

#pragma GCC unroll 4
        for (int i = 0; i < MR; i++) {
            sum[i][0] += a[i] * left;
            sum[i][1] += a[i] * right;
        }
    }
    for (int64_t i = 0; i < mr; i++) {
        for (int64_t j = 0; j < nr; j++) {
            float x = sum[i][j / 4][j % 4];

            c[i * ldc + j] = acc ? c[i * ldc + j] + x : x;
        }
    }
}
