/* SPDX-License-Identifier: Apache-2.0 */
/*
 * 4 rows x 8 columns of C, all of f16: the products and sums of its declaration, each rounded, computed in
 * floats. Plain C, for machines without f16 arithmetic.
 *
 * Bound: rounding takes nine operations and is done twice per term, besides a multiplication and an addition:
 * at two vectors of four a cycle 0.8 flop per cycle.
 */
#include "registry/kernel_contract.h"

enum { MR = UK_MR, NR = UK_NR };

void UK_SYMBOL(int64_t k, const uint16_t *a, const uint16_t *b, uint16_t *c, int64_t ldc, int64_t acc,
               int64_t mr, int64_t nr) {
    float sum[MR][NR] = {{0}};

    for (int64_t p = 0; p < k; p++, a += MR, b += NR) {
        float row[NR];

        for (int j = 0; j < NR; j++)
            row[j] = uk_from_f16(b[j]);
        for (int i = 0; i < MR; i++) {
            const float x = uk_from_f16(a[i]);

            for (int j = 0; j < NR; j++)
                sum[i][j] = uk_round_f16(sum[i][j] + uk_round_f16(x * row[j]));
        }
    }
    for (int64_t i = 0; i < mr; i++)
        for (int64_t j = 0; j < nr; j++)
            c[i * ldc + j] =
                uk_to_f16(acc ? uk_round_f16(uk_from_f16(c[i * ldc + j]) + sum[i][j]) : sum[i][j]);
}
