/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Depthwise: windows of r x s weights (i8) over u8 (u8dwc) or i8 (i8dwc) whose neighbours are channels, for m pixels and n
 * channels, in parts of up to 3 x 3. A register holds 8 channels of a pixel, at any address. Of a column of three such
 * registers a, b, c two words hold the taps of two channels each, 0 and 4, 1 and 5 (or 2 and 6, 3 and 7, the upper half):
 *
 *     a0 c0 b0 __ | a4 c4 b4 __        a1 c1 b1 __ | a5 c5 b5 __        upper half: a2 __ b2 c2 | a6 __ b6 c6, ..
 *
 * so that smaqa.su or smaqa by weights in the same form, with 0 for what is left over, adds three taps to two sums. A
 * column serves three pixels whose windows are one column apart, or two where they are two columns apart. The halves go
 * one after the other over all pixels: 6 registers of weights, 6 of columns.
 *
 * Bound, of 4 channels of a pixel: a column is 3 loads and 8 instructions, 6 products, 2 to begin and 4 to store: 23, 0.64
 * for each of 36 multiply-adds; 34 where windows are two columns apart. Weights cost 36 instructions in each half and part.
 *
 * Edges: rows and columns that a part does not have read others again, with weights 0. The last 8 channels overlap those
 * before them; fewer than 8 go one by one.
 */
#include "any_address_rvp.h"
#include "registry/rvp.h"

#ifdef UK_OP_u8dwc
typedef uint8_t element;
#define MAQA uk_rvp_smaqa_su /* the signed operand, the weights, comes first */
#else
typedef int8_t element;
#define MAQA uk_rvp_smaqa
#endif
enum { REGISTER = 8, PART = 3 };
_Static_assert(UK_NR == REGISTER, "the channels of a register");

#define INLINE static inline __attribute__((always_inline))

/* Two words of a column, each with three taps of two channels. */
struct words {
    uint64_t even, odd;
};

/* One half of three registers; a byte of each word is left over, as it is. */
INLINE struct words words_of(uint64_t a, uint64_t b, uint64_t c, int upper) {
    const uint64_t ab = upper ? uk_rvp_pktt16(b, a) : uk_rvp_pkbb16(b, a), high = 0xff00ff00ff00ff00;

    return (struct words){uk_rvp_zunpkd820(ab) | (c << 8 & high), uk_rvp_zunpkd831(ab) | (c & high)};
}

/* A part of the window, and what it is applied to: 8 channels of m pixels. */
struct part {
    const element *x;
    int64_t rows, columns, ldi, ldr, lds; /* rows, columns <= PART */
    const int8_t *f;
    int64_t ldfr, ldfs;
    int32_t *y;
    int64_t ldy, acc, m;
    uint64_t channels; /* bytes of ones: those whose weights are not taken for 0 */
};

INLINE void weights_of(const struct part *p, int upper, struct words w[PART]) {
    const uint64_t used = upper ? 0xffff0000ffff0000 : 0x0000ffff0000ffff; /* of c, so that 0 is left over */

#pragma GCC unroll 3
    for (int64_t s = 0; s < PART; s++) {
        uint64_t row[PART] = {0};

#pragma GCC unroll 3
        for (int64_t r = 0; r < PART; r++)
            if (r < p->rows && s < p->columns)
                row[r] = load_8(p->f + r * p->ldfr + s * p->ldfs) & p->channels;
        w[s] = words_of(row[0], row[1], row[2] & used, upper);
    }
}

/* Reads of three rows, column after column. */
struct reader {
    const element *row[PART];
    int64_t step;
    int upper;
};

INLINE struct words next_column(struct reader *r) {
    const struct words w = words_of(load_8(r->row[0]), load_8(r->row[1]), load_8(r->row[2]), r->upper);

#pragma GCC unroll 3
    for (int i = 0; i < PART; i++)
        r->row[i] += r->step;
    return w;
}

INLINE struct words add_column(struct words sum, struct words w, struct words x) {
    return (struct words){MAQA(sum.even, w.even, x.even), MAQA(sum.odd, w.odd, x.odd)};
}

/* Sums of channels 0 and 4, and 1 and 5, to their places. */
INLINE void store(struct words sum, int32_t *y, int64_t acc) {
    uint64_t low = uk_rvp_pack(sum.even, sum.odd), high = uk_rvp_packu(sum.even, sum.odd);

    if (acc) {
        low = uk_rvp_add32(low, load_8(y));
        high = uk_rvp_add32(high, load_8(y + REGISTER / 2));
    }
    store_8(y, low);
    store_8(y + REGISTER / 2, high);
}

INLINE void put_pixel(const struct words w[PART], struct words a, struct words b, struct words c, int32_t *y,
                      int64_t acc) {
    const struct words sum = {0, 0};

    store(add_column(add_column(add_column(sum, w[0], a), w[1], b), w[2], c), y, acc);
}

/* Windows of three columns, one column apart. */
INLINE void by_one(const struct part *p, const struct words w[PART], struct reader *r, int32_t *y,
                   int64_t acc) {
    struct words a = next_column(r), b = next_column(r), c;
    int64_t i = 0;

#pragma GCC unroll 1
    for (; i + PART <= p->m; i += PART, y += PART * p->ldy) {
        put_pixel(w, a, b, c = next_column(r), y, acc);
        put_pixel(w, b, c, a = next_column(r), y + p->ldy, acc);
        put_pixel(w, c, a, b = next_column(r), y + 2 * p->ldy, acc);
    }
#pragma GCC unroll 1
    for (; i < p->m; i++, y += p->ldy, a = b, b = c)
        put_pixel(w, a, b, c = next_column(r), y, acc);
}

/* ... two columns apart. */
INLINE void by_two(const struct part *p, const struct words w[PART], struct reader *r, int32_t *y,
                   int64_t acc) {
    struct words a = next_column(r);
    int64_t i = 0;

#pragma GCC unroll 1
    for (; i < p->m; i++, y += p->ldy) {
        const struct words b = next_column(r), c = next_column(r);

        put_pixel(w, a, b, c, y, acc);
        a = c;
    }
}

/* Others: columns that are not there are the first one again. */
INLINE void by_any(const struct part *p, const struct words w[PART], struct reader *r, int32_t *y,
                   int64_t acc) {
#pragma GCC unroll 1
    for (int64_t i = 0; i < p->m; i++, y += p->ldy) {
        struct words sum = {0, 0};

#pragma GCC unroll 3
        for (int64_t s = 0; s < PART; s++) {
            struct reader at = *r;
            const int64_t from = i * p->ldi + (s < p->columns ? s * p->lds : 0);

#pragma GCC unroll 3
            for (int k = 0; k < PART; k++)
                at.row[k] += from;
            sum = add_column(sum, w[s], next_column(&at));
        }
        store(sum, y, acc);
    }
}

/* A register of its own for each row: compilers would add constants to the first row's, which are large, at each load. */
INLINE const element *apart(const element *row) {
    __asm__("" : "+r"(row));
    return row;
}

INLINE void half(const struct part *p, int upper) {
    struct reader r = {{apart(p->x), apart(p->rows > 1 ? p->x + p->ldr : p->x),
                        apart(p->rows > 2 ? p->x + 2 * p->ldr : p->x)},
                       p->lds,
                       upper};
    struct words w[PART];
    int32_t *y = p->y + 2 * upper;

    weights_of(p, upper, w);
    if (p->columns == PART && p->ldi == p->lds)
        by_one(p, w, &r, y, p->acc);
    else if (p->columns == PART && p->ldi == 2 * p->lds)
        by_two(p, w, &r, y, p->acc);
    else
        by_any(p, w, &r, y, p->acc);
}

/* All of the window, r x s, for 8 channels. */
INLINE void window(struct part p, int64_t r, int64_t s) {
    const element *x = p.x;
    const int8_t *f = p.f;

#pragma GCC unroll 1
    for (int64_t i = 0; i < r; i += PART)
#pragma GCC unroll 1
        for (int64_t j = 0; j < s; j += PART) {
            p.rows = r - i < PART ? r - i : PART;
            p.columns = s - j < PART ? s - j : PART;
            p.x = x + i * p.ldr + j * p.lds;
            p.f = f + i * p.ldfr + j * p.ldfs;
            half(&p, 0);
            half(&p, 1);
            p.acc = 1;
        }
}

/* One channel of one pixel. */
INLINE int32_t single(const struct part *p, const element *x, const int8_t *f, int64_t r, int64_t s) {
    uint32_t sum = 0;

#pragma GCC unroll 1
    for (int64_t i = 0; i < r; i++)
#pragma GCC unroll 1
        for (int64_t j = 0; j < s; j++)
            sum += (uint32_t)(x[i * p->ldr + j * p->lds] * f[i * p->ldfr + j * p->ldfs]);
    return (int32_t)sum;
}

void UK_SYMBOL(int64_t r, int64_t s, const element *x, int64_t ldi, int64_t ldr, int64_t lds, const int8_t *f,
               int64_t ldfr, int64_t ldfs, int32_t *y, int64_t ldy, int64_t acc, int64_t m, int64_t n) {
    struct part p = {
        .ldi = ldi, .ldr = ldr, .lds = lds, .ldfr = ldfr, .ldfs = ldfs, .ldy = ldy, .acc = acc, .m = m};
    const int64_t by_register = r > 0 && s > 0 && n >= REGISTER ? n : 0;

#pragma GCC unroll 1
    for (int64_t j = 0; j < by_register; j += REGISTER) {
        const int64_t begin = j + REGISTER <= n ? j : n - REGISTER;

        p.x = x + begin;
        p.f = f + begin;
        p.y = y + begin;
        p.channels = acc ? ~(uint64_t)0 << 8 * (j - begin) : ~(uint64_t)0; /* those before are there */
        window(p, r, s);
    }
#pragma GCC unroll 1
    for (int64_t j = by_register; j < n; j++)
#pragma GCC unroll 1
        for (int64_t i = 0; i < m; i++) {
            const uint32_t sum = (uint32_t)single(&p, x + i * ldi + j, f + j, r, s);
            int32_t *at = y + i * ldy + j;

            *at = (int32_t)((acc ? (uint32_t)*at : 0) + sum);
        }
}
