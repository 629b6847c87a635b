/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packs n rows of k bytes into g groups of UK_NR = 2 bytes, ldd apart: bytes 2 q and 2 q + 1 of row i go to
 * d + q * ldd + 2 * i. Rows and bytes that do not exist are packed as 0, up to w rows.
 *
 * UK_MR = 8 rows and 8 groups at a time: a square of words of 16 bits is transposed in three steps of 8
 * shuffles, and stored by 8 rows of 16 bytes. The rest is copied group by group.
 *
 * Bound, for 128 bytes: 8 loads, 24 shuffles and 8 stores: at two shuffles a cycle 12 cycles, 10.7 bytes a
 * cycle.
 */
#include <immintrin.h>
#include "registry/kernel_contract.h"

#if defined(UK_OP_u8panel_t)
typedef uint8_t element;
#else
typedef int8_t element;
#endif

enum { ROWS = UK_MR, KR = UK_NR, GROUPS = 8 };

static inline __attribute__((always_inline)) void square(const element *s, int64_t lds, element *d,
                                                         int64_t ldd) {
    __m128i r[ROWS], x[ROWS];

#pragma GCC unroll 8
    for (int i = 0; i < ROWS; i++)
        r[i] = _mm_loadu_si128((const __m128i *)(s + i * lds));
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        x[i] = _mm_unpacklo_epi16(r[2 * i], r[2 * i + 1]);
        x[i + 4] = _mm_unpackhi_epi16(r[2 * i], r[2 * i + 1]);
    }
#pragma GCC unroll 2
    for (int i = 0; i < 8; i += 4) {
        r[i] = _mm_unpacklo_epi32(x[i], x[i + 1]);
        r[i + 1] = _mm_unpackhi_epi32(x[i], x[i + 1]);
        r[i + 2] = _mm_unpacklo_epi32(x[i + 2], x[i + 3]);
        r[i + 3] = _mm_unpackhi_epi32(x[i + 2], x[i + 3]);
    }
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        const int from = i / 2 * 4 + i % 2;

        x[2 * i] = _mm_unpacklo_epi64(r[from], r[from + 2]);
        x[2 * i + 1] = _mm_unpackhi_epi64(r[from], r[from + 2]);
    }
#pragma GCC unroll 8
    for (int q = 0; q < GROUPS; q++)
        _mm_storeu_si128((__m128i *)(d + q * ldd), x[q]);
}

/* Groups from the q-th on of a row of k bytes. */
static inline __attribute__((always_inline)) void row(int64_t k, const element *s, element *d, int64_t ldd,
                                                      int64_t q, int64_t g) {
    const int64_t whole = k / KR < g ? k / KR : g;

#pragma GCC unroll 4
    for (; q < whole; q++)
        __builtin_memcpy(d + q * ldd, s + q * KR, KR);
#pragma GCC unroll 1
    for (; q < g; q++) {
        d[q * ldd] = q * KR < k ? s[q * KR] : 0;
        d[q * ldd + 1] = 0;
    }
}

void UK_SYMBOL(int64_t k, const element *s, int64_t lds, element *d, int64_t ldd, int64_t n, int64_t w,
               int64_t g) {
    const int64_t whole = k / KR < g ? k / KR / GROUPS * GROUPS : g / GROUPS * GROUPS;

    if (n > w)
        n = w;
#pragma GCC unroll 1
    for (int64_t i = 0; i < w; i += ROWS) {
        const int64_t squares = i + ROWS <= n ? whole : 0;

#pragma GCC unroll 1
        for (int64_t q = 0; q < squares; q += GROUPS)
            square(s + i * lds + q * KR, lds, d + q * ldd + i * KR, ldd);
#pragma GCC unroll 1
        for (int64_t j = i; j < w && j < i + ROWS; j++)
            row(j < n ? k : 0, s + (j < n ? j : 0) * lds, d + j * KR, ldd, squares, g);
    }
}
