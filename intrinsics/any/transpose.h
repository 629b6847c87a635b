/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Transposes a matrix, d[p * ldd + i] = s[i * lds + p], i < m, p < k. The file that includes this defines the
 * type `element` and
 *
 *     UK_VECTOR                       the vector type, of LANES lanes of 16 bytes
 *     UK_LOAD(s, lds), UK_STORE(d, v) a lane from each of LANES rows, lds elements apart; all lanes to memory
 *     UK_LOW(a, b), UK_HIGH(a, b)     interleaves the lower, or the upper, halves of each lane
 *     UK_NARROW, UK_LOAD_1, ..        the same for vectors of one lane, if UK_VECTOR has more
 *     UK_COPY(d, s, n)                if UK_VECTOR has several lanes: copies n elements, at least a
 *                                     vector, mostly by aligned stores
 *
 * A tile is ROWS rows of a lane each, which has SIDE elements: vector r has rows r, r + SIDE, .. log2(SIDE)
 * times the first half of the vectors is interleaved with the second: vector r is then column r of all rows.
 *
 *     of one lane   after one time                            after two
 *     a0 a1 a2 a3   low(a, c)  a0 c0 a1 c1                    a0 b0 c0 d0
 *     b0 b1 b2 b3   high(a, c) a2 c2 a3 c3                    a1 b1 c1 d1
 *     c0 c1 c2 c3   low(b, d)  b0 d0 b1 d1                    a2 b2 c2 d2
 *     d0 d1 d2 d3   high(b, d) b2 d2 b3 d3                    a3 b3 c3 d3
 *
 * Tiles go along strips of STRIP rows, so that the source has few streams and few pages; all tiles of a line
 * of each row follow one another. Rows of the source that share sets of L1 would lose their lines meanwhile:
 * a line of each row of the strip is copied first. The result's rows are stored from a copy if they are not
 * aligned, since stores across lines take several times as long, or if they share sets and get a line in
 * parts.
 *
 * The last tiles of rows and columns overlap those before them. Fewer than SIDE columns, in a source without
 * gaps between rows, are loaded with what follows them. Fewer than SIDE rows, in a result without gaps, are
 * stored with what the next stores replace. Otherwise these few go element by element.
 */
#define INLINE static inline __attribute__((always_inline))

enum {
    LINE = 64,
    OF_LINE = LINE / sizeof(element),
    SIDE = 16 / sizeof(element),
    LANES = sizeof(UK_VECTOR) / 16,
    ROWS = SIDE * LANES,
    STRIP = sizeof(element) < 4 ? 256 / sizeof(element) : 64,
    /* L1 of 8 ways, in which lines a multiple of 4096 bytes apart share a set */
    WAYS = 8,
    WAY = 4096
};

/* rows, columns: at most SIDE, that exist. For others the last row is loaded, and nothing stored. */
#define TILE(name, vector, load, low, high, store)                                                         \
    INLINE void name(int64_t rows, int64_t columns, const element *s, int64_t lds, element *d,             \
                     int64_t ldd) {                                                                        \
        vector v[SIDE], w[SIDE];                                                                           \
                                                                                                           \
        _Pragma("GCC unroll 16") for (int r = 0; r < SIDE; r++) v[r] =                                     \
            load(s + (r < rows ? r : rows - 1) * lds, SIDE * lds);                                         \
        _Pragma("GCC unroll 4") for (int times = SIDE; times > 1; times /= 2) {                            \
            _Pragma("GCC unroll 8") for (int r = 0; r < SIDE / 2; r++) {                                   \
                w[2 * r] = low(v[r], v[r + SIDE / 2]);                                                     \
                w[2 * r + 1] = high(v[r], v[r + SIDE / 2]);                                                \
            }                                                                                              \
            _Pragma("GCC unroll 16") for (int r = 0; r < SIDE; r++) v[r] = w[r];                           \
        }                                                                                                  \
        _Pragma("GCC unroll 16") for (int r = 0; r < SIDE; r++) if (r < columns) store(d + r * ldd, v[r]); \
    }
TILE(tile, UK_VECTOR, UK_LOAD, UK_LOW, UK_HIGH, UK_STORE)
#ifdef UK_NARROW
TILE(narrow_tile, UK_NARROW, UK_LOAD_1, UK_LOW_1, UK_HIGH_1, UK_STORE_1)
#else
#define narrow_tile tile
#endif

/* The begin of the part at `at` of n, of `size`: the last one overlaps the one before it. */
INLINE int64_t begin(int64_t at, int64_t n, int64_t size) {
    return at + size <= n ? at : n - size;
}

/* True if lines of n rows do not all stay in L1. */
INLINE bool share_sets(int64_t n, int64_t ld) {
    const uint64_t bytes = (uint64_t)ld * sizeof(element), step = bytes & -bytes;

    return n * (int64_t)(step < WAY ? step : WAY) > WAYS * WAY;
}

/* k columns, at most a line of each row, of m rows. */
INLINE void columns(int64_t k, const element *s, int64_t lds, element *d, int64_t ldd, int64_t m) {
#pragma GCC unroll 1
    for (int64_t i = 0; i < m; i += ROWS)
#pragma GCC unroll 1
        for (int64_t p = 0; p < k; p += SIDE)
            tile(SIDE, SIDE, s + begin(i, m, ROWS) * lds + begin(p, k, SIDE), lds,
                 d + begin(p, k, SIDE) * ldd + begin(i, m, ROWS), ldd);
}

/* The same by way of a copy of the result. */
INLINE void copied_columns(int64_t k, const element *s, int64_t lds, element *d, int64_t ldd, int64_t m) {
#ifdef UK_COPY
    element rows[OF_LINE * STRIP + OF_LINE] __attribute__((aligned(LINE)));

    columns(k, s, lds, rows, STRIP, m);
#pragma GCC unroll 1
    for (int64_t p = 0; p < k; p++)
        UK_COPY(d + p * ldd, rows + p * STRIP, m);
#else
    columns(k, s, lds, d, ldd, m);
#endif
}

/* At most STRIP rows. */
INLINE void strip(int64_t k, const element *s, int64_t lds, element *d, int64_t ldd, int64_t m) {
    element lines[STRIP * OF_LINE] __attribute__((aligned(LINE)));
    const bool shares = share_sets(ROWS, lds),
               is_aligned =
                   (((uintptr_t)d | (uintptr_t)ldd * sizeof(element)) & (sizeof(UK_VECTOR) - 1)) == 0,
               is_direct = is_aligned && (sizeof(UK_VECTOR) == LINE || !share_sets(OF_LINE, ldd));

#pragma GCC unroll 1
    for (int64_t p = 0; p < k; p += OF_LINE) {
        const int64_t first = k - p < SIDE ? k - SIDE : p, width = k - first < OF_LINE ? k - first : OF_LINE;
        const bool copies = shares && width == OF_LINE;
        const element *from = copies ? lines : s + first;

#pragma GCC unroll 1
        for (int64_t i = 0; copies && i < m; i++)
            __builtin_memcpy(lines + i * OF_LINE, s + first + i * lds, LINE);
        if (is_direct)
            columns(width, from, copies ? OF_LINE : lds, d + first * ldd, ldd, m);
        else
            copied_columns(width, from, copies ? OF_LINE : lds, d + first * ldd, ldd, m);
    }
}

/* Fewer rows than a tile has. */
INLINE void few_rows(int64_t k, const element *s, int64_t lds, element *d, int64_t ldd, int64_t m) {
#pragma GCC unroll 1
    for (int64_t p = 0; p < k; p += SIDE)
#pragma GCC unroll 1
        for (int64_t i = 0; i < m; i += SIDE)
            narrow_tile(SIDE, SIDE, s + begin(i, m, SIDE) * lds + begin(p, k, SIDE), lds,
                        d + begin(p, k, SIDE) * ldd + begin(i, m, SIDE), ldd);
}

INLINE void plain(int64_t k, const element *s, int64_t lds, element *d, int64_t ldd, int64_t m) {
#pragma GCC unroll 1
    for (int64_t p = 0; p < k; p++)
        for (int64_t i = 0; i < m; i++)
            d[p * ldd + i] = s[i * lds + p];
}

/* Fewer than SIDE columns; rows of the source without gaps. */
INLINE void few_columns(int64_t k, const element *s, element *d, int64_t ldd, int64_t m) {
    int64_t i = 0;

#pragma GCC unroll 1
    for (; (i + ROWS - 1) * k + SIDE <= m * k; i += ROWS)
        tile(SIDE, k, s + i * k, k, d + i, ldd);
    plain(k, s + i * k, k, d + i, ldd, m - i);
}

/* Fewer than SIDE rows; rows of the result without gaps. */
INLINE void very_few_rows(int64_t k, const element *s, int64_t lds, element *d, int64_t m) {
    int64_t p = 0;

#pragma GCC unroll 1
    for (; (p + SIDE - 1) * m + SIDE <= k * m; p += SIDE)
        narrow_tile(m, SIDE, s + p, lds, d + p * m, m);
    plain(k - p, s + p, lds, d + p * m, m, m);
}

INLINE void transpose(int64_t k, const element *s, int64_t lds, element *d, int64_t ldd, int64_t m) {
    if (k < SIDE && lds == k && m >= SIDE) {
        few_columns(k, s, d, ldd, m);
    } else if (m < SIDE && ldd == m && k >= SIDE) {
        very_few_rows(k, s, lds, d, m);
    } else if (m < SIDE || k < SIDE) {
        plain(k, s, lds, d, ldd, m);
    } else if (m < ROWS) {
        few_rows(k, s, lds, d, ldd, m);
    } else {
        for (int64_t i = 0; i < m; i += STRIP) {
            const int64_t first = m - i < ROWS ? m - ROWS : i;

            strip(k, s + first * lds, lds, d + first, ldd, m - first < STRIP ? m - first : STRIP);
        }
    }
}
