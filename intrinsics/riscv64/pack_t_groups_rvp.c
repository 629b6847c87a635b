/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Groups of 8 elements of each of m rows, in a panel of w rows: one group (pack_t), row i's first k elements,
 * then 0, at d + 8 * i; or all groups of the panel (panel_t), which are ldd apart, row after row.
 *
 * Bound: a group of pack_t takes a load, a store and a pointer, 0.38 instructions per byte; one of panel_t a
 * load, a store and, unrolled by 8 groups, 0.63 instructions of the loop: 0.33. Partial groups take 2 per
 * byte.
 */
#include "any_address_rvp.h"

#if defined(UK_OP_u8pack_t) || defined(UK_OP_u8panel_t)
typedef uint8_t element;
#else
typedef int8_t element;
#endif
enum { KR = UK_KR };
_Static_assert(KR == 8, "a group is a register");

/* A group of k <= 8 elements. */
static inline __attribute__((always_inline)) void part(int64_t k, const element *s, element *d) {
    for (int64_t p = 0; p < KR; p++)
        d[p] = p < k ? s[p] : 0;
}

#if defined(UK_OP_u8pack_t) || defined(UK_OP_i8pack_t)
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
            part(k, s, d + KR * i);
    }
    for (; i < w; i++)
        store_8(d + KR * i, 0);
}
#else
/* Groups of a row of k elements. */
static inline __attribute__((always_inline)) void groups(int64_t k, const element *s, element *d, int64_t ldd,
                                                         int64_t g) {
    const int64_t whole = k < KR * g ? k / KR : g;
    int64_t q = 0;

#pragma GCC unroll 1
    for (; q + 8 <= whole; q += 8, s += 8 * KR, d += 8 * ldd)
#pragma GCC unroll 8
        for (int i = 0; i < 8; i++)
            store_8(d + i * ldd, load_8(s + i * KR));
#pragma GCC unroll 1
    for (; q < whole; q++, s += KR, d += ldd)
        store_8(d, load_8(s));
    if (q < g && k > KR * q) {
        part(k - KR * q++, s, d);
        d += ldd;
    }
#pragma GCC unroll 1
    for (; q < g; q++, d += ldd)
        store_8(d, 0);
}

void UK_SYMBOL(int64_t k, const element *s, int64_t lds, element *d, int64_t ldd, int64_t n, int64_t w,
               int64_t g) {
#pragma GCC unroll 1
    for (int64_t i = 0; i < w; i++, s += lds, d += KR)
        groups(i < n ? k : 0, s, d, ldd, g);
}
#endif
