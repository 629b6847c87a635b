/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packs UK_MR = 4 or 2 rows, k of which the matrix has, into groups of UK_MR elements: the elements s[p * lds
 * + j] of column j go to d + UK_MR * j. Rows and columns that do not exist are packed as 0, up to w columns.
 * Elements are bytes; or bf16, of 2 rows. One group (pack_n), or all of a panel's, ldd apart (panel_n).
 *
 * UK_NR = 16 bytes of each row at a time, or 8 bf16: rows 0 and 1, and 2 and 3, are interleaved element by
 * element, and the two results by pairs of bytes. A row that does not exist is a vector of zeros. A remainder
 * of fewer columns is first copied to 16 bytes a row.
 *
 * A panel's rows are far apart, so that no hardware prefetcher follows them: panel_n prefetches what later
 * panels take of them, into L2, because L1 may have too few ways for it.
 *
 * Bound: eight shuffles per 64 bytes of the panel of 4 rows, two of them to join vectors of 32 bytes for a
 * whole store: at two shuffles a cycle 16 bytes per cycle; with 2 rows three per 32 bytes: 21 bytes per
 * cycle.
 */
#include <immintrin.h>
#include "registry/kernel_contract.h"

#if defined(UK_OP_u8pack_n) || defined(UK_OP_u8panel_n)
typedef uint8_t element;
#elif defined(UK_OP_bpack_n) || defined(UK_OP_bpanel_n)
#define WORDS
typedef uint16_t element;
#else
typedef int8_t element;
#endif

enum { VECTORS = UK_MR / 2, LINE = 64 / sizeof(element), AHEAD = 256 / sizeof(element) };

static inline __attribute__((always_inline)) void interleave(const __m128i r[UK_MR], __m256i out[VECTORS]) {
#ifdef WORDS
    const __m128i a = _mm_unpacklo_epi16(r[0], r[1]), b = _mm_unpackhi_epi16(r[0], r[1]);
#else
    const __m128i a = _mm_unpacklo_epi8(r[0], r[1]), b = _mm_unpackhi_epi8(r[0], r[1]);
#endif
#if UK_MR == 2
    out[0] = _mm256_set_m128i(b, a);
#else
    const __m128i c = _mm_unpacklo_epi8(r[2], r[3]), e = _mm_unpackhi_epi8(r[2], r[3]);

    out[0] = _mm256_set_m128i(_mm_unpackhi_epi16(a, c), _mm_unpacklo_epi16(a, c));
    out[1] = _mm256_set_m128i(_mm_unpackhi_epi16(b, e), _mm_unpacklo_epi16(b, e));
#endif
}

/* Copies n elements, fewer than 16 bytes, by the widest copies that fit; the second one may overlap the
 * first. */
static inline __attribute__((always_inline)) void copy_few(element *to, const element *s, int64_t n) {
    const int64_t bytes = n * (int64_t)sizeof *s;
    char *d = (char *)to;
    const char *x = (const char *)s;

    if (bytes >= 8) {
        __builtin_memcpy(d, x, 8);
        __builtin_memcpy(d + bytes - 8, x + bytes - 8, 8);
    } else if (bytes >= 4) {
        __builtin_memcpy(d, x, 4);
        __builtin_memcpy(d + bytes - 4, x + bytes - 4, 4);
    } else if (bytes >= 2) {
        __builtin_memcpy(d, x, 2);
        __builtin_memcpy(d + bytes - 2, x + bytes - 2, 2);
    } else if (bytes > 0) {
        *d = *x;
    }
}

/* The last columns, from j on, at most 16. */
static inline __attribute__((always_inline)) void last_columns(int64_t k, const element *s, int64_t lds,
                                                               element *d, int64_t n, int64_t w) {
    element row[UK_MR][UK_NR] __attribute__((aligned(16))) = {{0}},
                              to[UK_MR * UK_NR] __attribute__((aligned(32)));
    __m128i r[UK_MR];
    __m256i out[VECTORS];

    for (int p = 0; p < UK_MR && p < k; p++)
        copy_few(row[p], s + p * lds, n);
    for (int p = 0; p < UK_MR; p++)
        r[p] = _mm_load_si128((const __m128i *)row[p]);
    interleave(r, out);
    if (w == UK_NR) {
        for (int i = 0; i < VECTORS; i++)
            _mm256_storeu_si256((__m256i *)d + i, out[i]);
        return;
    }
    for (int i = 0; i < VECTORS; i++)
        _mm256_store_si256((__m256i *)to + i, out[i]);
#pragma GCC unroll 1
    for (int64_t j = 0; j < w; j++)
        __builtin_memcpy(d + UK_MR * j, to + UK_MR * j, UK_MR * sizeof *d);
}

static inline __attribute__((always_inline)) void group(int64_t k, const element *s, int64_t lds, element *d,
                                                        int64_t n, int64_t w, bool prefetches) {
    int64_t j = 0;

#pragma GCC unroll 1
    for (; j + UK_NR <= n; j += UK_NR) {
        __m128i r[UK_MR];
        __m256i out[VECTORS];

        for (int p = 0; p < UK_MR; p++)
            r[p] = p < k ? _mm_loadu_si128((const __m128i *)(s + p * lds + j)) : _mm_setzero_si128();
        for (int p = 0; p < UK_MR && prefetches && j % LINE == 0; p++)
            _mm_prefetch((const char *)(s + p * lds + j + AHEAD), _MM_HINT_T1);
        interleave(r, out);
        for (int i = 0; i < VECTORS; i++)
            _mm256_storeu_si256((__m256i *)(d + UK_MR * j) + i, out[i]);
    }
#pragma GCC unroll 1
    for (; j < w; j += UK_NR)
        last_columns(k, s + j, lds, d + UK_MR * j, n - j, w - j < UK_NR ? w - j : UK_NR);
}

#if defined(UK_OP_u8panel_n) || defined(UK_OP_i8panel_n) || defined(UK_OP_bpanel_n)
void UK_SYMBOL(int64_t k, const element *s, int64_t lds, element *d, int64_t ldd, int64_t n, int64_t w,
               int64_t g) {
    if (n > w)
        n = w;
#pragma GCC unroll 1
    for (int64_t q = 0; q < g; q++, k -= UK_MR, d += ldd)
        if (k >= UK_MR) {
            group(UK_MR, s, lds, d, n, w, true);
            s += UK_MR * lds;
        } else {
            group(k, s, lds, d, n, w, false);
        }
}
#else
void UK_SYMBOL(int64_t k, const element *s, int64_t lds, element *d, int64_t n, int64_t w) {
    group(k, s, lds, d, n < w ? n : w, w, false);
}
#endif
