/* SPDX-License-Identifier: Apache-2.0 */
/* Stores a tile of 6 rows x 2 vectors of 8 floats or 4 doubles to C. */
#include "element_avx2.h"

enum { NR = 2 * V };

/* Stores a row; low and high are the masks of its columns. */
static inline __attribute__((always_inline)) void store_row(element *c, vector x, vector y, int64_t acc,
                                                            int64_t nr, __m256i low, __m256i high) {
    if (nr < V) {
        store_first(c, nr, acc ? (vector)(load_part(c, low) + x) : x);
        return;
    }
    store(c, acc ? (vector)(load(c) + x) : x);
    if (nr == NR)
        store(c + V, acc ? (vector)(load(c + V) + y) : y);
    else
        store_first(c + V, nr - V, acc ? (vector)(load_part(c + V, high) + y) : y);
}

/* Stores the first mr rows of the tile. */
static inline __attribute__((always_inline)) void store_tile(element *c, int64_t ldc, vector c00, vector c01,
                                                             vector c10, vector c11, vector c20, vector c21,
                                                             vector c30, vector c31, vector c40, vector c41,
                                                             vector c50, vector c51, int64_t acc, int64_t mr,
                                                             int64_t nr, __m256i low, __m256i high) {
    store_row(c, c00, c01, acc, nr, low, high);
    if (mr > 1)
        store_row(c + ldc, c10, c11, acc, nr, low, high);
    if (mr > 2)
        store_row(c + 2 * ldc, c20, c21, acc, nr, low, high);
    if (mr > 3)
        store_row(c + 3 * ldc, c30, c31, acc, nr, low, high);
    if (mr > 4)
        store_row(c + 4 * ldc, c40, c41, acc, nr, low, high);
    if (mr > 5)
        store_row(c + 5 * ldc, c50, c51, acc, nr, low, high);
}
