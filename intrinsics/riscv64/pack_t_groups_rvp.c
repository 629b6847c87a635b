/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One group of 8 elements of each of m rows, in a panel of w: row i's first k of them, then 0, at d + 8 * i.
 *
 * Bound: a load, a store and a pointer per group, 0.38 instructions per byte; 2 per byte of groups that are not whole.
 */
#include "any_address_rvp.h"

#if defined(UK_OP_u8pack_t)
typedef uint8_t element;
#else
typedef int8_t element;
#endif
enum { KR = UK_KR };
_Static_assert(KR == 8, "a group is a register");

void UK_SYMBOL(int64_t k, const element *s, int64_t lds, element *d, int64_t m, int64_t w) {
    int64_t i = 0;

    if (m > w)
        m = w;
    if (k >= KR) {
#pragma GCC unroll 4
        for (; i < m; i++, s += lds)
            store_8(d + KR * i, load_8(s));
    } else {
        for (; i < m; i++, s += lds)
            for (int64_t p = 0; p < KR; p++)
                d[KR * i + p] = p < k ? s[p] : 0;
    }
    for (; i < w; i++)
        store_8(d + KR * i, 0);
}
