/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packs 8 rows, of which k exist, into groups of 8 elements: the elements s[p * lds + j] of column j go to d
 * + 8 * j. Rows and columns that do not exist are packed as 0, up to w columns. One group (pack_n), or all of
 * a panel's, ldd apart (panel_n). Columns of whole groups go 8 (transpose_8x8_rvp.h) and then 4 at a time:
 * bytes are exchanged between rows 2p and 2p + 1, then halves between pairs of rows. Other columns go by
 * bytes.
 *
 * Bound: 8 columns take 60 instructions, 0.94 per byte; 4 columns 8 loads, 8 to pair words, 12 to exchange
 * bytes, 4 for halves, 4 stores: 36, 1.13 per byte; others 2 per byte.
 */
#include "transpose_8x8_rvp.h"

#if defined(UK_OP_u8pack_n) || defined(UK_OP_u8panel_n)
typedef uint8_t element;
#else
typedef int8_t element;
#endif
enum { KR = UK_KR };
_Static_assert(KR == 8, "a group of a column is a register");

/* Each of these returns the address of the column in the next group. */
static inline __attribute__((always_inline)) const element *four_columns(const element *s, int64_t lds,
                                                                         element *d) {
    uint64_t x[4];

#pragma GCC unroll 4
    for (int p = 0; p < 4; p++, s += lds)
        x[p] = load_4(s);
#pragma GCC unroll 4
    for (int p = 0; p < 4; p++, s += lds)
        x[p] |= load_4(s) << 32;
    exchange(&x[0], &x[1]);
    exchange(&x[2], &x[3]);
    store_8(d, uk_rvp_pkbb16(x[2], x[0]));
    store_8(d + KR, uk_rvp_pkbb16(x[3], x[1]));
    store_8(d + 2 * KR, uk_rvp_pktt16(x[2], x[0]));
    store_8(d + 3 * KR, uk_rvp_pktt16(x[3], x[1]));
    return s;
}

static inline __attribute__((always_inline)) const element *eight_columns(const element *s, int64_t lds,
                                                                          element *d) {
    return transpose_8x8(s, lds, d, KR);
}

/* One column, byte by byte. */
static inline __attribute__((always_inline)) const element *column(const element *s, int64_t lds,
                                                                   element *d) {
#pragma GCC unroll 8
    for (int64_t p = 0; p < KR; p++, s += lds)
        d[p] = *s;
    return s;
}

/*
 * Hides an address from the compiler, which in a loop over groups would otherwise keep a pointer to each row,
 * more than there are registers.
 */
#if defined __riscv && !defined UK_IN_C
#define UNKNOWN(p) __asm__("" : "+r"(p))
#else
#define UNKNOWN(p) (void)0
#endif

/*
 * The first n columns of a group with all of its rows. A function of its own, so that a constant n leaves no
 * loop. Returns the address of the next group.
 */
static inline __attribute__((always_inline)) const element *columns(const element *s, int64_t lds, element *d,
                                                                    int64_t n) {
    const element *next = s, *end;
    int64_t j = 0;

    UNKNOWN(s);
    UNKNOWN(d);
    for (; j + 8 <= n; j += 8) {
        end = eight_columns(s + j, lds, d + KR * j);
        next = j ? next : end;
    }
    if (j + 4 <= n) {
        end = four_columns(s + j, lds, d + KR * j);
        next = j ? next : end;
        j += 4;
    }
#pragma GCC unroll 3
    for (int i = 0; i < 3; i++)
        if (j + i < n) {
            end = column(s + j + i, lds, d + KR * (j + i));
            next = j + i ? next : end;
        }
    return next;
}

/* A group of k <= 8 rows. */
static inline __attribute__((always_inline)) void part(int64_t k, const element *s, int64_t lds, element *d,
                                                       int64_t n, int64_t w) {
    for (int64_t j = 0; j < w; j++)
        for (int64_t p = 0; p < KR; p++)
            d[KR * j + p] = p < k && j < n ? s[p * lds + j] : 0;
}

#if defined(UK_OP_u8pack_n) || defined(UK_OP_i8pack_n)
void UK_SYMBOL(int64_t k, const element *s, int64_t lds, element *d, int64_t n, int64_t w) {
    if (k >= KR && n == w)
        columns(s, lds, d, w);
    else
        part(k, s, lds, d, n, w);
}
#else
void UK_SYMBOL(int64_t k, const element *s, int64_t lds, element *d, int64_t ldd, int64_t n, int64_t w,
               int64_t g) {
    const int64_t whole = k < KR * g ? k / KR : g;
    int64_t q = 0;

    if (n > w)
        n = w;
    if (n == w) {
#pragma GCC unroll 1
        for (; q < whole; q++, d += ldd)
            s = columns(s, lds, d, w);
    } else {
#pragma GCC unroll 1
        for (; q < whole; q++, d += ldd) {
            s = columns(s, lds, d, n);
            for (int64_t j = n; j < w; j++)
                store_8(d + KR * j, 0);
        }
    }
    for (; q < g; q++, s += KR * lds, d += ldd)
        part(k - KR * q, s, lds, d, n, w);
}
#endif
