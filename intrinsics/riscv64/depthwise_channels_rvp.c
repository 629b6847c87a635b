/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Depthwise convolution: windows of r x s weights over bytes whose neighbours are channels, for m pixels and
 * n channels.
 *
 * A register holds 8 channels of a pixel, at any address. smaqa.su, smaqa or umaqa by weights in the same
 * layout (0 for bytes that are not used) adds the taps of a column to the sums of two channels: 0 and 4, 1
 * and 5, or, from the upper half, 2 and 6, 3 and 7. A column of two rows a, b is one word; a column of three
 * or four rows a, b, c, d is two words:
 *
 *     2 rows: a0 a1 b0 b1 | a4 a5 b4 b5      3 or 4: a0 c0 b0 d0 | a4 c4 b4 d4   a1 c1 b1 d1 | a5 c5 b5 d5
 *
 * A window of 3 x 3 or 4 x 4 is one part, with four taps a product. Other windows are cut into parts of two
 * rows and 2, 3, 5, 6 or 7 columns, with two taps a product: longer words would need more registers. Between
 * parts the sums are in C as pairs of channels.
 *
 * A column stays in registers for all pixels whose windows contain it
 *
 * - for a whole register of channels, if windows are one or two columns apart;
 * - for four channels, if the window is 3 x 3 or windows are one column apart;
 * - for fewer channels, if the window is 3 x 3.
 *
 * For 3 x 3, for 4 x 4, and for two rows with windows one column apart, an iteration of the loop covers the
 * pixels until the same column is in the same register again; otherwise columns are moved between registers.
 *
 * Bound, for 4 channels of a pixel: of 3 x 3 a column is 3 loads and 8 instructions, 6 products, 2 to begin
 * and 4 to store: 23, 0.64 for each of 36 multiply-adds; of two rows of 7 columns 3, 14, 4 and 2 for
 * addresses: 23, 0.41 for each of 56. Weights cost 5 or 12 instructions a column in each half and part.
 *
 * Edges: a row or column that a part does not have is another one read again, with weights of 0. The last 8
 * channels overlap those before them; 4 to 7 channels are two groups of 4 that overlap; of fewer, missing
 * channels repeat the last one.
 */
#include "any_address_rvp.h"
#include "depthwise_bytes_rvp.h"

enum { REGISTER = 8, QUAD = 4, ROWS = 4, COLUMNS = 7, AT_ANY_STRIDE = 3 };
_Static_assert(UK_NR == REGISTER, "the channels of a register");

/* The channels of a register that a part computes: half of the register, four alone, or one to three; the
 * last two lie in the lower half. */
enum half { LOWER, UPPER, FOUR, FEW };

#define INLINE static inline __attribute__((always_inline))

/* A column of a part for two pairs of channels (of two rows both are one word), or the sums of two pairs. */
struct words {
    uint64_t even, odd;
};

INLINE uint64_t pair_of(uint64_t a, uint64_t b, enum half h) {
    return h == UPPER ? uk_rvp_pktt16(b, a) : uk_rvp_pkbb16(b, a);
}

/* With three rows a byte of each word is unused and keeps its value; its weight is 0. */
INLINE struct words words_of(const uint64_t row[ROWS], int rows, enum half h) {
    const uint64_t ab = pair_of(row[0], row[1], h), high = 0xff00ff00ff00ff00;

    if (rows == 2)
        return (struct words){ab, ab};
    const uint64_t cd = rows == 3 ? row[2] : pair_of(row[2], row[3], h);
    return (struct words){uk_rvp_zunpkd820(ab) | (cd << 8 & high), uk_rvp_zunpkd831(ab) | (cd & high)};
}

/* A part of the window, and the pixels to apply it to: 8 or 4 channels of m pixels. */
struct part {
    const element *x;
    int64_t rows, columns, ldi, ldr, lds;
    const weight *f;
    int64_t ldfr, ldfs;
    int32_t *y;
    int64_t ldy, m;
    int is_first, is_last; /* otherwise the sums are in y, as pairs if there are four channels */
    uint64_t
        channels; /* bytes of ones for the channels that are added; the weights of the others count as 0 */
    int64_t second, third; /* offsets of the second and third of few channels */
};

INLINE uint64_t load_channels(const struct part *p, const void *x, enum half h) {
    const uint8_t *few = (const uint8_t *)x;

    if (h == LOWER || h == UPPER)
        return load_8(x);
    const uint64_t v =
        h == FOUR ? load_4(x) : few[0] | (uint64_t)few[p->second] << 8 | (uint64_t)few[p->third] << 16;
    return v | v << 16;
}

INLINE void weights_of(const struct part *p, enum half h, int rows, int columns, struct words w[COLUMNS]) {
    const uint64_t used = h == UPPER ? 0xffff0000ffff0000 : 0x0000ffff0000ffff; /* by a third row */

#pragma GCC unroll 7
    for (int s = 0; s < columns; s++) {
        uint64_t row[ROWS] = {0};

#pragma GCC unroll 4
        for (int r = 0; r < rows; r++)
            if (r < p->rows && s < p->columns)
                row[r] = load_channels(p, p->f + r * p->ldfr + s * p->ldfs, h) & p->channels;
        if (rows == 3)
            row[2] &= used;
        w[s] = words_of(row, rows, h);
        if (rows == 2)
            w[s] = (struct words){w[s].even & 0x00ff00ff00ff00ff, w[s].odd & 0xff00ff00ff00ff00};
    }
}

/* Reads the rows of a part, column after column. */
struct reader {
    const element *row[ROWS];
};

/* Gives each row a register of its own: otherwise compilers add large constants to the first row's at each
 * load. */
INLINE const element *own_register(const element *row) {
    __asm__("" : "+r"(row));
    return row;
}

INLINE struct reader begin(const struct part *p, int rows) {
    struct reader r;

#pragma GCC unroll 4
    for (int i = 0; i < rows; i++)
        r.row[i] = own_register(i < p->rows ? p->x + i * p->ldr : p->x);
    return r;
}

INLINE struct words column_at(const struct part *p, const struct reader *r, int rows, enum half h,
                              int64_t at) {
    uint64_t row[ROWS];

#pragma GCC unroll 4
    for (int i = 0; i < rows; i++)
        row[i] = load_channels(p, r->row[i] + at, h);
    return words_of(row, rows, h);
}

INLINE void advance(struct reader *r, int rows, int64_t step) {
#pragma GCC unroll 4
    for (int i = 0; i < rows; i++)
        r->row[i] += step;
}

INLINE struct words add_column(struct words sum, struct words w, struct words x) {
    return (struct words){MAQA(sum.even, w.even, x.even), MAQA(sum.odd, w.odd, x.odd)};
}

/* Reorders the sums from pairs of channels to the order of channels, or back. */
INLINE struct words exchange(struct words sum) {
    return (struct words){uk_rvp_pack(sum.even, sum.odd), uk_rvp_packu(sum.even, sum.odd)};
}

/* The address of the second half of the outputs; there are four, or the eight of a register. */
INLINE int32_t *second_half_at(int32_t *y, enum half h) {
    return y + (h == FOUR ? QUAD / 2 : REGISTER / 2);
}

INLINE struct words sums_before(const struct part *p, int32_t *y, enum half h) {
    if (p->is_first)
        return (struct words){0, 0};
    if (h == FEW)
        return exchange(
            (struct words){(uint32_t)y[0] | (uint64_t)(uint32_t)y[p->second] << 32, (uint32_t)y[p->third]});
    return (struct words){load_8(y), load_8(second_half_at(y, h))};
}

INLINE void store(const struct part *p, struct words sum, int32_t *y, enum half h) {
    if (p->is_last || h == FEW)
        sum = exchange(sum);
    if (h == FEW) {
        y[p->third] = (int32_t)sum.odd;
        y[p->second] = (int32_t)(sum.even >> 32);
        y[0] = (int32_t)sum.even;
        return;
    }
    store_8(y, sum.even);
    store_8(second_half_at(y, h), sum.odd);
}

/* One pixel of windows that are one or two columns apart; the first of its columns is x[first]. */
INLINE void put_pixel(const struct part *p, struct reader *r, enum half h, int rows, int columns, int step,
                      int first, const struct words w[COLUMNS], struct words x[COLUMNS], int32_t *y) {
    struct words sum = sums_before(p, y, h);

#pragma GCC unroll 2
    for (int s = columns - step; s < columns; s++) {
        x[(first + s) % columns] = column_at(p, r, rows, h, 0);
        advance(r, rows, p->lds);
    }
#pragma GCC unroll 7
    for (int s = 0; s < columns; s++)
        sum = add_column(sum, w[s], x[(first + s) % columns]);
    store(p, sum, y, h);
}

INLINE void slide(const struct part *p, enum half h, int rows, int columns, int step) {
    const int cycle = rows == 2 && step == 2 ? 0 : columns % step ? columns : columns / step;
    struct reader r = begin(p, rows);
    struct words w[COLUMNS], x[COLUMNS];
    int32_t *y = p->y;
    const int64_t last = cycle ? p->m - cycle : -1; /* the last pixel with which a whole cycle begins */
    int64_t i = 0;

    weights_of(p, h, rows, columns, w);
#pragma GCC unroll 7
    for (int s = 0; s < columns - step; s++) {
        x[s] = column_at(p, &r, rows, h, 0);
        advance(&r, rows, p->lds);
    }
#pragma GCC unroll 1
    for (; i <= last; i += cycle)
#pragma GCC unroll 7
        for (int k = 0; k < cycle; k++, y += p->ldy)
            put_pixel(p, &r, h, rows, columns, step, k * step % columns, w, x, y);
#pragma GCC unroll 1
    for (; i < p->m; i++, y += p->ldy) {
        put_pixel(p, &r, h, rows, columns, step, 0, w, x, y);
#pragma GCC unroll 7
        for (int s = 0; s < columns - step; s++)
            x[s] = x[s + step];
    }
}

/* Windows at any distance, of two rows and up to three columns; missing columns repeat the first one. */
INLINE void jump(const struct part *p, enum half h) {
    struct reader r = begin(p, 2);
    struct words w[COLUMNS];
    int32_t *y = p->y;

    weights_of(p, h, 2, AT_ANY_STRIDE, w);
#pragma GCC unroll 1
    for (int64_t i = 0; i < p->m; i++, y += p->ldy) {
        struct words sum = sums_before(p, y, h);

#pragma GCC unroll 3
        for (int s = 0; s < AT_ANY_STRIDE; s++)
            sum = add_column(sum, w[s], column_at(p, &r, 2, h, s < p->columns ? s * p->lds : 0));
        advance(&r, 2, p->ldi);
        store(p, sum, y, h);
    }
}

/* slide() for two rows. */
INLINE void slide_columns(const struct part *p, enum half h, int step) {
    if (p->columns == 2)
        slide(p, h, 2, 2, step);
    else if (p->columns == 3)
        slide(p, h, 2, 3, step);
    else if (p->columns == 5)
        slide(p, h, 2, 5, step);
    else if (p->columns == 6)
        slide(p, h, 2, 6, step);
    else
        slide(p, h, 2, 7, step);
}

INLINE int slides(const struct part *p, int64_t columns) {
    return columns > 1 && (p->ldi == p->lds || p->ldi == 2 * p->lds);
}

/* True if a part of two rows slides. With four channels only if windows are one column apart: other cases are
 * not worth the code. */
INLINE int slides_two(const struct part *p, int64_t columns, enum half h) {
    return h == FOUR ? columns > 1 && p->ldi == p->lds : h != FEW && slides(p, columns);
}

/* True if all channels of the register are computed. */
INLINE int is_full(enum half h) {
    return h == LOWER || h == UPPER;
}

INLINE void apply(struct part p, enum half h) {
    p.y += h == UPPER ? 2 : 0;
    if (p.rows == 3)
        p.ldi == p.lds ? slide(&p, h, 3, 3, 1) : slide(&p, h, 3, 3, 2);
    else if (!slides_two(&p, p.columns, h))
        jump(&p, h);
    else if (p.rows == 4 && is_full(h))
        p.ldi == p.lds ? slide(&p, h, 4, 4, 1) : slide(&p, h, 4, 4, 2);
    else if (h == FOUR || p.ldi == p.lds)
        slide_columns(&p, h, 1);
    else
        slide_columns(&p, h, 2);
}

/* Reorders the sums in y to pairs. */
INLINE void take_sums(struct part p, enum half h) {
    int32_t *y = p.y + (h == UPPER ? 2 : 0);

    p.is_last = 0;
#pragma GCC unroll 1
    for (int64_t i = 0; i < p.m; i++, y += p.ldy)
        store(&p, exchange((struct words){load_8(y), load_8(second_half_at(y, h))}), y, h);
}

/* Columns of the next part when n are left: 7, 6, 5, 3 or 2, so that none remains alone; at any stride, up to
 * 3. */
INLINE int64_t length(int64_t n, int has_slides) {
    if (!has_slides)
        return n < AT_ANY_STRIDE ? n : AT_ANY_STRIDE;
    return n == 4 ? 2 : n == 8 ? 5 : n < COLUMNS ? n : COLUMNS;
}

/* The whole window, r x s, for the channels of one half. */
INLINE void window(struct part p, int64_t r, int64_t s, int64_t acc, enum half h) {
    const element *x = p.x;
    const weight *f = p.f;
    const int64_t rows = r == s && (r == 3 || (r == 4 && is_full(h))) && slides(&p, s) ? r : 2;

    if (acc && h != FEW)
        take_sums(p, h);
    p.is_first = !acc;
#pragma GCC unroll 1
    for (int64_t i = 0; i < r; i += rows)
#pragma GCC unroll 1
        for (int64_t j = 0; j < s; j += p.columns) {
            p.rows = r - i < rows ? r - i : rows;
            p.columns = rows > 2 ? s : length(s - j, slides_two(&p, s, h));
            p.is_last = i + rows >= r && j + p.columns == s;
            p.x = x + i * p.ldr + j * p.lds;
            p.f = f + i * p.ldfr + j * p.ldfs;
            apply(p, h);
            p.is_first = 0;
        }
}

/* Bytes of ones for four channels from the i-th on, in the layout of load_channels. */
INLINE uint64_t four_from(int64_t i) {
    const uint64_t v = ~(uint32_t)0 << 8 * i & ~(uint32_t)0;

    return v | v << 16;
}

/* Sets the sums of an empty window to 0. */
INLINE void put_zeros(const struct part *p, int32_t *y, int64_t n) {
#pragma GCC unroll 1
    for (int64_t i = 0; i < p->m; i++)
#pragma GCC unroll 1
        for (int64_t j = 0; j < n; j++)
            y[i * p->ldy + j] = 0;
}

void UK_SYMBOL(int64_t r, int64_t s, const element *x, int64_t ldi, int64_t ldr, int64_t lds, const weight *f,
               int64_t ldfr, int64_t ldfs, int32_t *y, int64_t ldy, int64_t acc, int64_t m, int64_t n) {
    struct part p = {.ldi = ldi,
                     .ldr = ldr,
                     .lds = lds,
                     .ldfr = ldfr,
                     .ldfs = ldfs,
                     .ldy = ldy,
                     .m = m,
                     .second = n > 1,
                     .third = n > 2 ? 2 : n > 1};
    const int64_t group = n >= REGISTER ? REGISTER : n >= QUAD ? QUAD : n;

    if (r <= 0 || s <= 0) {
        if (!acc)
            put_zeros(&p, y, n);
        return;
    }
#pragma GCC unroll 1
    for (int64_t j = 0; j < n; j += group) {
        const int64_t begin = j + group <= n ? j : n - group;

        p.x = x + begin;
        p.f = f + begin;
        p.y = y + begin;
        p.channels = ~(uint64_t)0;
        if (acc && group >= QUAD) /* the channels before j were added by the group before */
            p.channels = group == QUAD ? four_from(j - begin) : p.channels << 8 * (j - begin);
        if (group == REGISTER) {
            window(p, r, s, acc, LOWER);
            window(p, r, s, acc, UPPER);
        } else if (group == QUAD)
            window(p, r, s, acc, FOUR);
        else
            window(p, r, s, acc, FEW);
    }
}
