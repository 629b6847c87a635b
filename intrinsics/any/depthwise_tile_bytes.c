/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A tile of a depthwise convolution of bytes with all its terms: up to ROWS rows of any number of pixels, of
 * any number of channels. For CHANNELS channels at a time, LINES rows of the image are interleaved column by
 * column, so that a 32-bit lane has their bytes of one channel, or those widened to 16 bits; one instruction
 * then sums LINES rows of a column of the window. The window's weights are interleaved in the same way, with
 * zeros for rows of a group that are not in the window, once per call and CHANNELS channels.
 *
 * Interleaved columns go through a buffer in L1, ROOM groups of lines, and each register of sums walks along
 * them with its weights in registers.
 *
 * Windows that begin one row apart share the lines of both rows of the tile: 3 x 3 needs four lines. Windows
 * that begin two rows apart share groups of two lines. They have groups of four lines of their own, unless
 * sharing them takes as few products.
 *
 * Where an instruction multiplies only bytes of certain types (FLIP), the highest bit of x is flipped, which
 * adds 128 to a signed x or takes 128 from an unsigned one, and a multiple of the weights' sum corrects the
 * result:
 *
 *     sum of x * w = sum of (x + 128) * w - 128 * sum of w = sum of (x - 128) * w + 128 * sum of w
 *
 * Lines and columns outside of the image are zeros, flipped as others are. All wraps at 2^32, as i32 does.
 *
 * Bounds, 3 x 3, are with the instructions: lines_vnni.h, lines_avx2.h, lines_dot.h.
 */
#include "registry/kernel_contract.h"
#include "depthwise_bytes.h"

#define INLINE static inline __attribute__((always_inline))
#define UNROLL _Pragma("GCC unroll 16")

#if defined UK_ISA_avx512vnni
#include "../x86_64/lines_vnni.h"
#elif defined UK_ISA_avx2
#include "../x86_64/lines_avx2.h"
#else
#include "../aarch64/lines_dot.h"
#endif

#if defined UK_OP_u8dwt_s2 || defined UK_OP_i8dwt_s2 || defined UK_OP_u8u8dwt_s2 || defined UK_OP_i8u8dwt_s2
#define STEP 2
#else
#define STEP 1
#endif

enum {
    ROWS = UK_MR,
    HEIGHT = STEP == 1 ? 7 : 8,           /* rows of a part of the window, at most */
    WIDTH = 7,                            /* columns of it */
    GROUPS = (HEIGHT + 2 - STEP) / LINES, /* groups, per row of the tile and part of the window */
};

struct tile {
    int64_t r, s, ldr, lds, ldfr, ldfs, ldyi, ldyj, m, n;
    /* Of the tile's input, rows and columns [begin, end) are inside the image. */
    int64_t rows_begin, rows_end, columns_begin, columns_end;
    const element *x;
    const weight *f;
    int32_t *y;
};

/* A part of the window for up to CHANNELS channels. */
struct part {
    int64_t c, channels;       /* first channel, and number */
    int64_t row, column, r, s; /* first row and column of the window, and numbers */
    int64_t groups;            /* of lines, for each row of the tile */
    int64_t second;            /* first group of the tile's second row; 0: both rows share groups */
    int64_t acc;
};

/* Tables of a part, apart from its numbers so that compilers keep those in registers and, where the window is
 * known, leave the other windows out. */
struct tables {
    /* Of the second row only if it shares groups: else those of the first. */
    set weights[ROWS][GROUPS][WIDTH];
    set offset;          /* added to each sum */
    set column_of[ROOM]; /* interleaved columns; all groups of one follow one another */
};

static const uint8_t zeros[CHANNELS];

INLINE int64_t clamp(int64_t n, int64_t least, int64_t most) {
    return n < least ? least : n > most ? most : n;
}

/* ---- weights ---- */

/* The weights in the g-th group of lines, column s of the part, for windows that begin in the first line. */
INLINE void take_weights(const struct tile *t, const struct part *p, int64_t g, int64_t s, set to) {
    const void *line[LINES];

    UNROLL for (int b = 0; b < LINES; b++) {
        const int64_t r = LINES * g + b;

        line[b] = r < p->r ? (const void *)(t->f + (p->row + r) * t->ldfr + (p->column + s) * t->ldfs + p->c)
                           : zeros;
    }
    interleave(line, false, p->channels, false, to);
}

/* Prepares the weights, of both rows if they share groups, and what corrects their sums. */
INLINE void prepare(const struct tile *t, const struct part *p, struct tables *b) {
    enum { ON = 32 / LINES * STEP % 32 }; /* bits from the first row's window to the second's */
    const vector ones = all_bytes(1);

    UNROLL for (int k = 0; k < SETS && FLIP != 0; k++) b->offset[k] = zero();
#pragma GCC unroll 1
    for (int64_t g = 0; g < p->groups; g++) {
#pragma GCC unroll 1
        for (int64_t s = 0; s < p->s; s++) {
            vector *first = b->weights[0][g][s], *second = b->weights[1][g][s],
                   *before = b->weights[0][g ? g - 1 : 0][s];

            take_weights(t, p, g, s, first);
            if (ON != 0 && !p->second)
                UNROLL for (int k = 0; k < SETS; k++) second[k] =
                    g ? either(shift_left(first[k], ON), shift_right(before[k], 32 - ON))
                      : shift_left(first[k], ON);
            UNROLL for (int k = 0; k < SETS && FLIP != 0; k++) b->offset[k] =
                multiply(b->offset[k], ones, first[k]);
        }
    }
    UNROLL for (int k = 0; k < SETS && FLIP != 0; k++) {
        const vector by_128 = shift_left(b->offset[k], 7);

        b->offset[k] = UK_X_IS_SIGNED ? subtract(zero(), by_128) : by_128;
    }
}

/* ---- columns ---- */

/* Interleaves n columns of the tile's input, of the lines from `row` on; those from row `end` on are zeros.
 * To every `groups`-th place of the buffer from `to` on. */
INLINE void take_columns(const struct tile *t, const struct part *p, bool is_whole, int64_t row, int64_t end,
                         int64_t column, int64_t n, set *to, int64_t groups) {
    const int64_t before = clamp(t->columns_begin - column, 0, n),
                  inside = clamp(t->columns_end - column, before, n);
    const void *line[LINES];
    int64_t pitch[LINES], j = 0;

    UNROLL for (int b = 0; b < LINES; b++) {
        const int64_t i = row + b;
        const bool has = i < end && i >= t->rows_begin && i < t->rows_end;

        line[b] = has ? (const void *)(t->x + (i - t->rows_begin) * t->ldr +
                                       (column + before - t->columns_begin) * t->lds + p->c)
                      : zeros;
        pitch[b] = has ? t->lds : 0;
    }
#pragma GCC unroll 1
    for (; j < n; j++, to += groups) {
        if (j < before || j >= inside) {
            UNROLL for (int k = 0; k < SETS; k++)(*to)[k] = all_bytes(FLIP);
            continue;
        }
        interleave(line, is_whole, p->channels, true, *to);
        UNROLL for (int b = 0; b < LINES; b++) line[b] = (const element *)line[b] + pitch[b];
    }
}

/* Interleaves the input of n columns of the tile from `first` on. */
INLINE void fill(const struct tile *t, const struct part *p, struct tables *b, bool is_whole, int64_t first,
                 int64_t n, int64_t groups) {
    const int64_t columns = STEP * (n - 1) + p->s;

#pragma GCC unroll 1
    for (int64_t g = 0; g < groups; g++) {
        const int64_t i = p->second && g >= p->second ? 1 : 0, rows = p->second && !i ? 1 : t->m,
                      row = p->row + LINES * (g - i * p->second) + STEP * i;

        take_columns(t, p, is_whole, row, p->row + STEP * (rows - 1) + p->r, STEP * first + p->column,
                     columns, b->column_of + g, groups);
    }
}

/* ---- sums ---- */

/* The sums of set k of n columns from `first` on, of a part of `width` columns; `rows`, `height`, the groups
 * of lines of a row, and `width` are constants, and `is_plain`: whole vectors, not added to y. */
INLINE void sums_of_set(const struct tile *t, const struct part *p, const struct tables *b, bool is_plain,
                        int rows, int height, int width, int64_t k, int64_t first, int64_t n,
                        int64_t all_groups) {
    const bool is_known = STEP == 1 || STEP == LINES || height == 1;
    const int64_t second = STEP == 1  ? 0
                           : is_known ? 1
                                      : p->second,
                  groups = is_known ? height + (rows == ROWS ? second : 0) : all_groups, ldyi = t->ldyi,
                  ldyj = t->ldyj, left = is_plain ? V : p->channels - V * k, acc = is_plain ? 0 : p->acc;
    const set *at = b->column_of;
    int32_t *y = t->y + first * ldyj + p->c + V * k;
    vector w[ROWS][GROUPS][WIDTH];

    UNROLL for (int i = 0; i < ROWS; i++) UNROLL for (int g = 0; g < GROUPS; g++)
        UNROLL for (int s = 0; s < WIDTH; s++) if (i < rows && g < height && s < width) w[i][g][s] =
            b->weights[second ? 0 : i][g][s][k];
#pragma GCC unroll 1
    for (int64_t j = 0; j < n; j++, at += STEP * groups, y += ldyj) {
        vector sum[ROWS];

        UNROLL for (int i = 0; i < ROWS; i++) if (i < rows) sum[i] = FLIP ? b->offset[k] : zero();
        UNROLL for (int g = 0; g < GROUPS; g++) UNROLL for (int s = 0; s < WIDTH; s++)
            UNROLL for (int i = 0; i < ROWS; i++) if (i < rows && g < height && s < width) sum[i] =
                multiply(sum[i], at[s * groups + g + i * second][k], w[i][g][s]);
        UNROLL for (int i = 0; i < ROWS; i++) if (i < rows) store(y + i * ldyi, sum[i], left, acc);
    }
}

INLINE void sums(const struct tile *t, const struct part *p, const struct tables *b, int rows, int height,
                 int width, int64_t first, int64_t n, int64_t groups) {
#pragma GCC unroll 1
    for (int64_t k = 0; V * k < p->channels; k++)
        if (!p->acc && p->channels >= V * (k + 1))
            sums_of_set(t, p, b, true, rows, height, width, k, first, n, groups);
        else
            sums_of_set(t, p, b, false, rows, height, width, k, first, n, groups);
}

/* The same for any part. */
INLINE void sums_of_any(const struct tile *t, const struct part *p, const struct tables *b, int64_t first,
                        int64_t n, int64_t groups) {
#pragma GCC unroll 1
    for (int64_t k = 0; V * k < p->channels; k++) {
#pragma GCC unroll 1
        for (int64_t i = 0; i < t->m; i++) {
#pragma GCC unroll 1
            for (int64_t j = 0; j < n; j++) {
                vector sum = FLIP ? b->offset[k] : zero();

#pragma GCC unroll 1
                for (int64_t g = 0; g < p->groups; g++) {
                    const set *at = b->column_of + STEP * j * groups + g + i * p->second;
#pragma GCC unroll 1
                    for (int64_t s = 0; s < p->s; s++)
                        sum = multiply(sum, at[s * groups][k], b->weights[p->second ? 0 : i][g][s][k]);
                }
                store(t->y + i * t->ldyi + (first + j) * t->ldyj + p->c + V * k, sum, p->channels - V * k,
                      p->acc);
            }
        }
    }
}

INLINE void sums_of_window(const struct tile *t, const struct part *p, const struct tables *b, int height,
                           int width, int64_t first, int64_t n, int64_t groups) {
    if (t->m == ROWS)
        sums(t, p, b, ROWS, height, width, first, n, groups);
    else
        sums(t, p, b, 1, height, width, first, n, groups);
}

/* ---- the tile ---- */

/* Groups of lines of a window of r rows, r odd. */
INLINE int height_of(int r) {
    return (r + LINES) / LINES;
}

INLINE void compute(const struct tile *t, const struct part *p, struct tables *b) {
    const int64_t all = p->groups + (t->m == ROWS ? p->second : 0), groups = all ? all : 1,
                  most = (ROOM / groups - p->s) / STEP + 1;

    prepare(t, p, b);
#pragma GCC unroll 1
    for (int64_t first = 0; first < t->n; first += most) {
        const int64_t n = t->n - first < most ? t->n - first : most;

        if (p->channels == CHANNELS)
            fill(t, p, b, true, first, n, groups);
        else
            fill(t, p, b, false, first, n, groups);
        if (p->groups == height_of(3) && p->s == 3)
            sums_of_window(t, p, b, height_of(3), 3, first, n, groups);
        else if (p->groups == height_of(5) && p->s == 5)
            sums_of_window(t, p, b, height_of(5), 5, first, n, groups);
        else if (p->groups == height_of(7) && p->s == 7)
            sums_of_window(t, p, b, height_of(7), 7, first, n, groups);
        else
            sums_of_any(t, p, b, first, n, groups);
    }
}

/* Sets the part's groups of lines. Two windows of up to four rows, or of more than six, that begin two rows
 * apart do not share groups of four. */
INLINE void share_lines(struct part *p) {
    const bool shares = STEP == 1 || (p->r > LINES && p->r <= 2 * LINES - STEP && STEP != LINES);

    p->groups = p->r ? (p->r + (shares ? STEP : 0) + LINES - 1) / LINES : 0;
    p->second = shares ? 0 : STEP == LINES ? p->groups > 0 : p->groups;
}

_Static_assert(ROWS == 2, "a tile of fewer rows has one");
_Static_assert(sizeof(element) == 1 && sizeof(weight) == 1, "lines are of bytes");

void UK_SYMBOL(int64_t r, int64_t s, const element *x, int64_t ldr, int64_t lds, int64_t h, int64_t w,
               int64_t r0, int64_t s0, const weight *f, int64_t ldfr, int64_t ldfs, int32_t *y, int64_t ldyi,
               int64_t ldyj, int64_t acc, int64_t m, int64_t n, int64_t channels) {
    const struct tile t = {.r = r,
                           .s = s,
                           .ldr = ldr,
                           .lds = lds,
                           .ldfr = ldfr,
                           .ldfs = ldfs,
                           .ldyi = ldyi,
                           .ldyj = ldyj,
                           .m = m,
                           .n = n,
                           .rows_begin = r0,
                           .rows_end = r0 + h,
                           .columns_begin = s0,
                           .columns_end = s0 + w,
                           .x = x,
                           .f = f,
                           .y = y};
    struct part p;
    struct tables b; /* stay uninitialized: setting them would call memset */

#pragma GCC unroll 1
    for (p.c = 0; p.c < channels; p.c += CHANNELS) {
        p.channels = channels - p.c < CHANNELS ? channels - p.c : CHANNELS;
        p.acc = acc;
        p.row = 0;
        do {
            p.r = r - p.row < HEIGHT ? r - p.row : HEIGHT;
            p.column = 0;
            do {
                p.s = s - p.column < WIDTH ? s - p.column : WIDTH;
                share_lines(&p);
                compute(&t, &p, &b);
                p.acc = 1;
                p.column += WIDTH;
            } while (p.column < s);
            p.row += HEIGHT;
        } while (p.row < r);
    }
}
