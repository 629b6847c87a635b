/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One group of UK_NR elements of each of m rows, in a panel of w rows: row i's first k elements, then 0, at d
 * + UK_NR * i. A product that multiplies groups has a panel of such columns, one per group of its sum.
 *
 * A group is a word of 4 or 8 bytes and is copied at once; a vector would have to be assembled from words.
 *
 * Bound: a load and a store per group, each from a row of its own: 4 or 8 bytes per cycle at one store a
 * cycle.
 */
#include "registry/kernel_contract.h"

#if defined(UK_OP_u8pack_t)
typedef uint8_t element;
#elif defined(UK_OP_bpack_t)
typedef uint16_t element;
#elif defined(UK_OP_i16pack_t)
typedef int16_t element;
#else
typedef int8_t element;
#endif

void UK_SYMBOL(int64_t k, const element *s, int64_t lds, element *d, int64_t m, int64_t w) {
    int64_t i = 0;

    if (m > w)
        m = w;
    if (k >= UK_NR) {
#pragma GCC unroll 4
        for (; i < m; i++)
            __builtin_memcpy(d + UK_NR * i, s + i * lds, UK_NR * sizeof *d);
    } else {
        for (; i < m; i++)
            for (int64_t p = 0; p < UK_NR; p++)
                d[UK_NR * i + p] = p < k ? s[i * lds + p] : 0;
    }
    for (; i < w; i++)
        __builtin_memset(d + UK_NR * i, 0, UK_NR * sizeof *d);
}
