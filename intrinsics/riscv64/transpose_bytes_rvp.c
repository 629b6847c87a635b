/* SPDX-License-Identifier: Apache-2.0 */
/*
 * m rows of k bytes transposed, d[p * ldd + i] = s[i * lds + p], in blocks of 8 x 8 (transpose_8x8_rvp.h);
 * the result has planes instead of pixels with contiguous channels. The last block of rows and of columns
 * overlaps the one before it; fewer than 8 go byte by byte.
 *
 * Bound: 60 instructions for 64 bytes, and up to 14 to find their rows.
 */
#include "transpose_8x8_rvp.h"

typedef uint8_t element;
enum { SIDE = 8 };
_Static_assert(UK_MR == SIDE && UK_NR == SIDE, "a block is 8 registers");

/* The begin of the block at `at` of n. */
static inline int64_t begin(int64_t at, int64_t n) {
    return at + SIDE <= n ? at : n - SIDE;
}

void UK_SYMBOL(int64_t k, const element *s, int64_t lds, element *d, int64_t ldd, int64_t m) {
    if (m < SIDE || k < SIDE) {
        for (int64_t i = 0; i < m; i++)
            for (int64_t p = 0; p < k; p++)
                d[p * ldd + i] = s[i * lds + p];
        return;
    }
#pragma GCC unroll 1
    for (int64_t i = 0; i < m; i += SIDE)
#pragma GCC unroll 1
        for (int64_t p = 0; p < k; p += SIDE)
            transpose_8x8(s + begin(i, m) * lds + begin(p, k), lds, d + begin(p, k) * ldd + begin(i, m), ldd);
}
