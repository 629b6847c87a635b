/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packs UK_MR rows, of which k exist, into groups of UK_MR elements: the elements s[p * lds + j] of column j
 * go to d + UK_MR * j. Rows and columns that do not exist are packed as 0, up to w columns. Column after
 * column, in plain C.
 *
 * Bound: a load and a store per element, one element per cycle at one store a cycle.
 */
#include "registry/kernel_contract.h"

#if defined(UK_OP_u8pack_n)
typedef uint8_t element;
#elif defined(UK_OP_bpack_n)
typedef uint16_t element;
#elif defined(UK_OP_i16pack_n)
typedef int16_t element;
#else
typedef int8_t element;
#endif

void UK_SYMBOL(int64_t k, const element *s, int64_t lds, element *d, int64_t n, int64_t w) {
    if (k >= UK_MR && n == w) {
        for (int64_t j = 0; j < n; j++, d += UK_MR)
            for (int64_t p = 0; p < UK_MR; p++)
                d[p] = s[p * lds + j];
        return;
    }
    for (int64_t j = 0; j < w; j++, d += UK_MR)
        for (int64_t p = 0; p < UK_MR; p++)
            d[p] = p < k && j < n ? s[p * lds + j] : 0;
}
