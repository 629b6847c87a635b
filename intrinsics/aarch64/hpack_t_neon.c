/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Panels of f16 (moved as 16-bit integers) of UK_MR rows: 8 rows of 8 elements are a square, which three
 * rounds of zips transpose; each round interleaves rows that are half the square apart. Missing rows are
 * packed as zeros.
 *
 * Bound: 8 loads, 24 zips and 8 stores per square: at two vector instructions a cycle 12 cycles, 10 bytes per
 * cycle.
 */
#include <arm_neon.h>
#include "registry/kernel_contract.h"

enum { V = 8 };

static inline __attribute__((always_inline)) void transpose(uint16x8_t r[V]) {
#pragma GCC unroll 3
    for (int round = 0; round < 3; round++) {
        uint16x8_t next[V];

#pragma GCC unroll 4
        for (int i = 0; i < V / 2; i++) {
            const uint16x8x2_t both = vzipq_u16(r[i], r[i + V / 2]);

            next[2 * i] = both.val[0];
            next[2 * i + 1] = both.val[1];
        }
#pragma GCC unroll 8
        for (int i = 0; i < V; i++)
            r[i] = next[i];
    }
}

/* Transposes n elements of 8 rows of the panel, m of which exist; n is 8 except at the end of the rows. */
static inline __attribute__((always_inline)) void square(const uint16_t *s, int64_t lds, uint16_t *d,
                                                         int64_t m, int64_t n) {
    uint16x8_t r[V];

#pragma GCC unroll 8
    for (int i = 0; i < V; i++) {
        r[i] = vdupq_n_u16(0);
        if (i < m && n == V) {
            r[i] = vld1q_u16(s + i * lds);
        } else if (i < m) {
            uint16_t row[V] = {0};

#pragma GCC unroll 1
            for (int64_t p = 0; p < n; p++)
                row[p] = s[i * lds + p];
            r[i] = vld1q_u16(row);
        }
    }
    transpose(r);
#pragma GCC unroll 8
    for (int p = 0; p < V; p++)
        if (p < n)
            vst1q_u16(d + p * UK_MR, r[p]);
}

void UK_SYMBOL(int64_t k, const uint16_t *s, int64_t lds, uint16_t *d, int64_t m) {
    for (int64_t i = 0; i < UK_MR; i += V) {
        const uint16_t *row = i < m ? s + i * lds : s;
        int64_t p = 0;

#pragma GCC unroll 1
        for (; p + V <= k; p += V)
            square(row + p, lds, d + p * UK_MR + i, m - i, V);
        if (p < k)
            square(row + p, lds, d + p * UK_MR + i, m - i, k - p);
    }
}
