/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packs a matrix with any two strides into a panel of width UK_NR: element (p, j) is at s + p * ldk + j *
 * lds. Element by element in plain C, because a gather issues the same number of loads.
 *
 * Bound: a load, a store and an addition per element; at two stores a cycle half a cycle, as long as the
 * source is in L1.
 */
#include "registry/kernel_contract.h"

void UK_SYMBOL(int64_t k, const float *s, int64_t ldk, int64_t lds, float *d, int64_t n) {
    if (n == UK_NR) {
#pragma GCC unroll 1
        for (int64_t p = 0; p < k; p++, s += ldk, d += UK_NR) {
            const float *from = s;

#pragma GCC unroll 32
            for (int j = 0; j < UK_NR; j++, from += lds)
                d[j] = *from;
        }
        return;
    }
#pragma GCC unroll 1
    for (int64_t p = 0; p < k; p++, s += ldk, d += UK_NR) {
#pragma GCC unroll 1
        for (int64_t j = 0; j < UK_NR; j++)
            d[j] = j < n ? s[j * lds] : 0.0f;
    }
}
