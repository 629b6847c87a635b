/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A tile of a depthwise convolution, of floats or with NEON of bytes, with all its terms: up to ROWS rows of
 * any number of pixels, of any number of channels. Blocks of ROWS x COLUMNS pixels and one vector of channels
 * stay in registers over the whole window, and channels are the inner loop. If pixels were, a number of
 * channels that is a power of two would put all of them into few sets of the first-level cache.
 *
 * A window of 3 x 3 has its weights in registers, and each vector of x is loaded once for all sums that use
 * it. Windows of 5 or 7 columns have one row of weights in registers at a time; others load both factors of
 * each term.
 *
 * Blocks at the image's border test for each row and column whether it exists; the outcome is the same for
 * all channels, so that branches are predicted.
 *
 * Each pixel of an image of many channels begins another page of memory, at which prefetchers of the hardware
 * stop, so that the next block's lines are prefetched from an image that comes from beyond L2. Where it is in
 * L2, that would take up to a fifth of the time.
 *
 * Bound, 3 x 3: 9 * ROWS * COLUMNS FMAs for (ROWS + 2) * (COLUMNS + 2) loads of x and 9 of weights per
 * vector; at two of either a cycle FMAs decide. Large images are bound by memory.
 */
#include "registry/kernel_contract.h"
#if defined UK_OP_sdwc || defined UK_OP_sdwc_s2
#include "vector_real.h"
typedef real element, weight, result;
typedef vector total;
#define load_x load
#define load_x_part load_part
#define load_weight load
#define load_weight_part load_part
#define no_terms() all(0)
#define add_term(x, w, t) fma(x, w, t)

INLINE void store_total(result *y, total t, bool acc) {
    store(y, acc ? fma(load(y), all(1), t) : t);
}

INLINE void store_total_part(result *y, int64_t n, total t, bool acc) {
    t = acc ? fma(load_part(y, n), all(1), t) : t;
    store_part(y, n, t);
}
#else
#include "vector_bytes_neon.h"
#endif

enum { ROWS = UK_MR, COLUMNS = UK_NR };
#if defined UK_OP_sdwc_s2 || defined UK_OP_u8dwt_s2 || defined UK_OP_i8dwt_s2 || defined UK_OP_u8u8dwt_s2 || \
    defined UK_OP_i8u8dwt_s2
enum { STEP = 2 };
#else
enum { STEP = 1 };
#endif

#ifdef __AVX512F__
enum { HAS_MASKS = 1 };
#else
enum { HAS_MASKS = 0 };
#endif

/* FAR: bytes of an image, as high as wide, that is not in a second-level cache; LINE: of a cache line. */
enum { FAR = 1 << 20, LINE = 64 };

#define UNROLL _Pragma("GCC unroll 64")

struct tile {
    int64_t r, s, ldr, lds, ldfr, ldfs, ldyi, ldyj, acc;
    /* Of the tile's input, rows and columns [begin, end) are inside the image. */
    int64_t rows_begin, rows_end, columns_begin, columns_end;
    bool fetches; /* the input is FAR */
    const element *x;
    const weight *f;
    result *y;
};

/* What is known of a block when it is compiled. */
struct known {
    int rows;
    bool inside;   /* all of its input is inside the image */
    bool is_whole; /* whole vectors */
    int window;    /* 3: 3 x 3; 5, 7: columns of the window; 0: none */
};

struct sums {
    total of[ROWS][COLUMNS];
};

/* Input rows, or columns, of n results with a window of `length`. */
INLINE int64_t reach(int64_t n, int64_t length) {
    return STEP * (n - 1) + length;
}

INLINE bool has_row(const struct known *k, const struct tile *t, int64_t i) {
    return k->inside || (i >= t->rows_begin && i < t->rows_end);
}

INLINE bool has_column(const struct known *k, const struct tile *t, int64_t j) {
    return k->inside || (j >= t->columns_begin && j < t->columns_end);
}

/* The address of x in the tile's input row i, column j, channel c, inside the image or not. */
INLINE const element *place_of_x(const struct tile *t, int64_t i, int64_t j, int64_t c) {
    const int64_t at = (i - t->rows_begin) * t->ldr + (j - t->columns_begin) * t->lds + c;

    return (const element *)((uintptr_t)t->x + (uintptr_t)at * sizeof(element));
}

/*
 * The addresses of columns. Where strides are variables, compilers would compute those of a block beforehand,
 * and load each from the stack, which takes as long as loading the elements: the library's kernels add up the
 * addresses instead. Most programs have constant strides, which are parts of instructions.
 *
 * AT_COLUMN(p, ..) sets p to the address of column j, after it was set for columns 0 to j - 1.
 */
#ifdef UK_TO_BITCODE
#define AT_COLUMN(p, j, direct, ld) ((p) = (direct))

/* As place_of_x, of what exists: LLVM folds sums with pointers into addresses, but not those with integers.
 */
INLINE const element *element_of_x(const struct tile *t, int64_t i, int64_t j, int64_t c) {
    return t->x + (i - t->rows_begin) * t->ldr + (j - t->columns_begin) * t->lds + c;
}
#else
#define element_of_x place_of_x
#define AT_COLUMN(p, j, direct, ld) ((p) = (j) ? moved(p, (ld) * (int64_t)sizeof *(p)) : (direct))

INLINE void *moved(const void *p, int64_t bytes) {
    uintptr_t at = (uintptr_t)p + (uintptr_t)bytes;

    __asm__("" : "+r"(at));
    return (void *)at;
}
#endif

INLINE vector x_at(const struct known *k, const element *p, int64_t left) {
    return k->is_whole ? load_x(p) : load_x_part(p, left);
}

INLINE vector weight_at(const struct known *k, const struct tile *t, int64_t r, int64_t s, int64_t c,
                        int64_t left) {
    const weight *p = t->f + r * t->ldfr + s * t->ldfs + c;

    return k->is_whole ? load_weight(p) : load_weight_part(p, left);
}

/* Prefetches, of the tile's input row i, the columns that the next block is the first to read. Of the rows,
 * only those are prefetched that the tile above has not read. */
INLINE void fetch_row(const struct tile *t, int64_t i, int64_t first, int64_t window, int64_t c) {
    if (!t->fetches || i < t->r - STEP || c * (int64_t)sizeof *t->x % LINE)
        return;
    const int64_t j = STEP * (first + COLUMNS - 1) + window;
    const element *p = NULL;

    UNROLL for (int q = 0; q < STEP * COLUMNS; q++) {
        AT_COLUMN(p, q, place_of_x(t, i, j + q, c), t->lds);
        __builtin_prefetch(p, 0, 3);
    }
}

/* The window of 3 x 3. */
INLINE void add_3x3(const struct known *k, const struct tile *t, int64_t first, int64_t c, int64_t left,
                    struct sums *sum) {
    vector w[3][3];

    UNROLL for (int r = 0; r < 3; r++) UNROLL for (int s = 0; s < 3; s++) w[r][s] =
        weight_at(k, t, r, s, c, left);
    UNROLL for (int i = 0; i < STEP * (ROWS - 1) + 3; i++) {
        if (i >= STEP * (k->rows - 1) + 3 || !has_row(k, t, i))
            continue;
        fetch_row(t, i, first, 3, c);
        const element *p = NULL;
        UNROLL for (int j = 0; j < STEP * (COLUMNS - 1) + 3; j++) {
            AT_COLUMN(p, j, element_of_x(t, i, STEP * first + j, c), t->lds);
            if (!has_column(k, t, STEP * first + j))
                continue;
            const vector x = x_at(k, p, left);

            UNROLL for (int h = 0; h < ROWS; h++) UNROLL for (int q = 0; q < COLUMNS; q++) {
                const int r = i - STEP * h, s = j - STEP * q;

                if (h < k->rows && r >= 0 && r < 3 && s >= 0 && s < 3)
                    sum->of[h][q] = add_term(x, w[r][s], sum->of[h][q]);
            }
        }
    }
}

/* A window of `width` columns, row by row. */
INLINE void add_rows(const struct known *k, const struct tile *t, int width, int64_t first, int64_t c,
                     int64_t left, struct sums *sum) {
#pragma GCC unroll 1
    for (int64_t r = 0; r < t->r; r++) {
        vector w[7];

        UNROLL for (int s = 0; s < 7; s++) if (s < width) w[s] = weight_at(k, t, r, s, c, left);
        UNROLL for (int h = 0; h < ROWS; h++) {
            if (h >= k->rows || !has_row(k, t, STEP * h + r))
                continue;
            if (h == ROWS - 1)
                fetch_row(t, STEP * h + r, first, width, c);
            const element *p = NULL;
            UNROLL for (int j = 0; j < STEP * (COLUMNS - 1) + 7; j++) {
                if (j >= STEP * (COLUMNS - 1) + width)
                    continue;
                AT_COLUMN(p, j, element_of_x(t, STEP * h + r, STEP * first + j, c), t->lds);
                if (!has_column(k, t, STEP * first + j))
                    continue;
                const vector x = x_at(k, p, left);

                UNROLL for (int q = 0; q < COLUMNS; q++) {
                    const int s = j - STEP * q;

                    if (s >= 0 && s < width)
                        sum->of[h][q] = add_term(x, w[s], sum->of[h][q]);
                }
            }
        }
    }
}

/* Any window, term by term. */
INLINE void add_terms(const struct known *k, const struct tile *t, int64_t first, int64_t c, int64_t left,
                      struct sums *sum) {
#pragma GCC unroll 1
    for (int64_t r = 0; r < t->r; r++) {
#pragma GCC unroll 1
        for (int64_t s = 0; s < t->s; s++) {
            const vector w = weight_at(k, t, r, s, c, left);

            UNROLL for (int h = 0; h < ROWS; h++) {
                if (h >= k->rows || !has_row(k, t, STEP * h + r))
                    continue;
                UNROLL for (int q = 0; q < COLUMNS; q++) {
                    const int64_t j = STEP * (first + q) + s;

                    if (has_column(k, t, j))
                        sum->of[h][q] =
                            add_term(x_at(k, element_of_x(t, STEP * h + r, j, c), left), w, sum->of[h][q]);
                }
            }
        }
    }
}

/* The block of `columns` pixels from column `first` on, channels from c on. */
INLINE void block(const struct known *k, const struct tile *t, int64_t first, int64_t columns, int64_t c,
                  int64_t left) {
    struct sums sum;

    UNROLL for (int h = 0; h < ROWS; h++) UNROLL for (int q = 0; q < COLUMNS; q++) sum.of[h][q] = no_terms();
    if (k->window == 3)
        add_3x3(k, t, first, c, left, &sum);
    else if (k->window)
        add_rows(k, t, k->window, first, c, left, &sum);
    else
        add_terms(k, t, first, c, left, &sum);
    UNROLL for (int h = 0; h < ROWS; h++) {
        result *y = NULL;

        UNROLL for (int q = 0; q < COLUMNS; q++) {
            if (h >= k->rows || q >= columns)
                continue;
            AT_COLUMN(y, q, t->y + h * t->ldyi + (first + q) * t->ldyj + c, t->ldyj);
            if (k->is_whole)
                store_total(y, sum.of[h][q], t->acc != 0);
            else
                store_total_part(y, left, sum.of[h][q], t->acc != 0);
        }
    }
}

/* All channels of a block. With masks a whole vector takes no longer as a part, so that blocks at the border
 * need no code of their own for it. */
INLINE void channels(const struct tile *t, int rows, bool inside, int window, int64_t first, int64_t columns,
                     int64_t n) {
    const struct known whole = {rows, inside, true, window}, part = {rows, false, false, window};
    int64_t c = 0;

    if (inside || !HAS_MASKS)
#pragma GCC unroll 1
        for (; c + V <= n; c += V)
            block(&whole, t, first, columns, c, V);
#pragma GCC unroll 1
    for (; c < n; c += V)
        block(&part, t, first, columns, c, n - c < V ? n - c : V);
}

/* All blocks of the tile. */
INLINE void blocks(const struct tile *t, int rows, int window, int64_t m, int64_t n) {
    const bool rows_inside = rows == ROWS && t->rows_begin <= 0 && t->rows_end >= reach(ROWS, t->r);

#pragma GCC unroll 1
    for (int64_t first = 0; first < m; first += COLUMNS)
        if (rows_inside && m - first >= COLUMNS && STEP * first >= t->columns_begin &&
            STEP * first + reach(COLUMNS, t->s) <= t->columns_end)
            channels(t, ROWS, true, window, first, COLUMNS, n);
        else
            channels(t, rows, false, window, first, m - first, n);
}

/* The rows of the tile: ROWS, or one by one. */
INLINE void rows(const struct tile *t, int window, int64_t m, int64_t columns, int64_t n) {
    if (m == ROWS)
        blocks(t, ROWS, window, columns, n);
    else
        blocks(t, 1, window, columns, n);
}

_Static_assert(ROWS == 2, "a tile of fewer rows has one");

void UK_SYMBOL(int64_t r, int64_t s, const element *x, int64_t ldr, int64_t lds, int64_t h, int64_t w,
               int64_t r0, int64_t s0, const weight *f, int64_t ldfr, int64_t ldfs, result *y, int64_t ldyi,
               int64_t ldyj, int64_t acc, int64_t m, int64_t n, int64_t c) {
    const struct tile t = {.r = r,
                           .s = s,
                           .ldr = ldr,
                           .lds = lds,
                           .ldfr = ldfr,
                           .ldfs = ldfs,
                           .ldyi = ldyi,
                           .ldyj = ldyj,
                           .acc = acc,
                           .rows_begin = r0,
                           .rows_end = r0 + h,
                           .columns_begin = s0,
                           .columns_end = s0 + w,
                           .fetches = ldr * w * (int64_t)sizeof *x >= FAR,
                           .x = x,
                           .f = f,
                           .y = y};

    if (r == 3 && s == 3)
        rows(&t, 3, m, n, c);
    else if (s == 5)
        rows(&t, 5, m, n, c);
    else if (s == 7)
        rows(&t, 7, m, n, c);
    else
        rows(&t, 0, m, n, c);
}
