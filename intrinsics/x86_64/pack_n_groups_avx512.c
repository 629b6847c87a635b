/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packs UK_MR = 4 rows, of which k exist, into groups of 4 bytes: the bytes s[p * lds + j] of column j go to
 * d + 4 * j. Rows and columns that do not exist are packed as 0, up to w columns.
 *
 * UK_NR = 16 columns at a time, the last ones under masks, which zero columns that do not exist: rows 0 and
 * 1, and 2 and 3, are interleaved byte by byte, and these two by pairs of bytes, in lanes of 16 bytes that
 * each begin with 4 columns.
 *
 * Bound: a load of 16 bytes from each row into a lane of its own (4 loads and 3 shuffles), and 2
 * permutations, per 64 bytes of the panel, stored at once: at two shuffles a cycle 25 bytes per cycle.
 */
#include <immintrin.h>
#include "registry/kernel_contract.h"

#if defined(UK_OP_u8pack_n)
typedef uint8_t element;
#else
typedef int8_t element;
#endif

static inline __attribute__((always_inline)) __mmask16 first(int64_t n) {
    return (__mmask16)(n >= UK_NR ? 0xffff : n > 0 ? (1u << n) - 1 : 0);
}

/* Lane q of `rows` is row q; 32-bit words 4 q + c of `words` are its bytes 4 c .. 4 c + 3. */
static inline __attribute__((always_inline)) __m512i interleave(const __m128i r[UK_MR]) {
    const __m512i by_columns = _mm512_set_epi32(15, 11, 7, 3, 14, 10, 6, 2, 13, 9, 5, 1, 12, 8, 4, 0);
    const __m512i by_bytes =
        _mm512_broadcast_i32x4(_mm_set_epi8(15, 11, 7, 3, 14, 10, 6, 2, 13, 9, 5, 1, 12, 8, 4, 0));
    __m512i rows = _mm512_inserti32x4(_mm512_castsi128_si512(r[0]), r[1], 1);

    rows = _mm512_inserti32x4(_mm512_inserti32x4(rows, r[2], 2), r[3], 3);
    const __m512i words = _mm512_permutexvar_epi32(by_columns, rows);
    return _mm512_shuffle_epi8(words, by_bytes);
}

void UK_SYMBOL(int64_t k, const element *s, int64_t lds, element *d, int64_t n, int64_t w) {
    int64_t j = 0;
    __m128i r[UK_MR];

    if (n > w)
        n = w;
    const int64_t full = k >= UK_MR ? n / UK_NR * UK_NR : 0;
#pragma GCC unroll 1
    for (; j < full; j += UK_NR) {
        for (int p = 0; p < UK_MR; p++)
            r[p] = _mm_loadu_si128((const __m128i *)(s + p * lds + j));
        _mm512_storeu_si512(d + UK_MR * j, interleave(r));
    }
#pragma GCC unroll 1
    for (; j < w; j += UK_NR) {
        for (int p = 0; p < UK_MR; p++)
            r[p] = _mm_maskz_loadu_epi8(p < k ? first(n - j) : 0, s + p * lds + j);
        _mm512_mask_storeu_epi32(d + UK_MR * j, first(w - j), interleave(r));
    }
}
