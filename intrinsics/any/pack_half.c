/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Panels of f16 (moved as 16-bit integers): UK_OP_hpack_t of rows of length k, panels of width UK_MR;
 * UK_OP_hpack_n of k rows of the panel's width UK_NR or less.
 *
 * Bound: pack_n a load and a store per vector, 16 bytes per cycle at one store a cycle; pack_t a load and a
 * store per element, 2 bytes per cycle.
 */
#include "registry/kernel_contract.h"

#ifdef UK_OP_hpack_t
void UK_SYMBOL(int64_t k, const uint16_t *s, int64_t lds, uint16_t *d, int64_t m) {
    for (int64_t p = 0; p < k; p++, s++, d += UK_MR)
        for (int64_t i = 0; i < UK_MR; i++)
            d[i] = i < m ? s[i * lds] : 0;
}
#else
void UK_SYMBOL(int64_t k, const uint16_t *s, int64_t lds, uint16_t *d, int64_t n) {
    if (n == UK_NR) {
        for (int64_t p = 0; p < k; p++, s += lds, d += UK_NR)
            __builtin_memcpy(d, s, UK_NR * sizeof *d);
        return;
    }
    for (int64_t p = 0; p < k; p++, s += lds, d += UK_NR)
        for (int64_t j = 0; j < UK_NR; j++)
            d[j] = j < n ? s[j] : 0;
}
#endif
