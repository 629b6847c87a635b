/* SPDX-License-Identifier: Apache-2.0 */
#include "random.h"
#include "random_sums.h"
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_OUTPUT = 4, MOST_REDUCED = 3, MOST_OPERANDS = 3, ITERATORS = MOST_OUTPUT + MOST_REDUCED };

static const char names[] = "abcdefg";

struct kind {
    const char *operand[MOST_OPERANDS], *result; /* types; operands are converted where they differ from it */
};
static const struct kind kinds[] = {
    {{"f32", "f32", "f32"}, "f32"}, {{"f32", "f32", "f32"}, "f32"}, {{"f64", "f64", "f64"}, "f64"},
    {{"i32", "i32", "i32"}, "i32"}, {{"u8", "i8", "i8"}, "i32"},    {{"i8", "i8", "i8"}, "i32"},
    {{"u8", "i8", "u8"}, "i32"},
};

struct maker {
    uint64_t x;
    const struct kind *kind;
    char *text;
};

static int below(struct maker *m, int n) {
    return random_below(&m->x, n);
}

__attribute__((format(printf, 2, 3))) static void put(char *text, const char *format, ...) {
    const size_t n = strlen(text);
    va_list ap;

    va_start(ap, format);
    const int more = vsnprintf(text + n, RANDOM_SUM_TEXT - n, format, ap);
    va_end(ap);
    if (more < 0 || n + (size_t)more >= RANDOM_SUM_TEXT) {
        fprintf(stderr, "random_sums.c: RANDOM_SUM_TEXT is too small\n");
        exit(99);
    }
}

/* "[A, B + 2]" or "[a, b]" */
static void put_list(char *text, const char *const *item, int n) {
    put(text, "[");
    for (int i = 0; i < n; i++)
        put(text, "%s%s", i ? ", " : "", item[i]);
    put(text, "]");
}

static void put_factor(struct maker *m, char *text, int operand, const char *access) {
    const char *type = m->kind->operand[operand];
    const bool converts = strcmp(type, m->kind->result) != 0;

    put(text, converts ? "%s%s(%s)" : "%s%.0s%s", operand ? " * " : "", converts ? m->kind->result : "",
        access);
}

/* The result is a temp, which one statement reads, or two; or the program's. Before the sum's own line. */
static int put_result(struct maker *m, const char *shape) {
    const int follows = below(m, 5) < 3 ? 0 : 1 + below(m, 3);

    put(m->text, "%s %s %s %s\n", follows ? "temp" : "tensor", follows ? "T" : "Y", m->kind->result, shape);
    if (follows)
        put(m->text, "tensor Y %s %s\n", m->kind->result, shape);
    if (follows == 2)
        put(m->text, "tensor V %s %s\n", m->kind->result, shape);
    if (follows == 3)
        put(m->text, "scalar t %s\n", m->kind->result);
    return follows;
}

/* What reads the sum element by element, on the subscripts that the sum has. */
static void put_rest(struct maker *m, int follows, const char *left) {
    if (follows == 1)
        put(m->text, "Y%s = max(T%s + %d, 0)\n", left, left, below(m, 5));
    if (follows == 2)
        put(m->text, "Y%s = max(T%s, 0)\nV%s = Y%s + T%s\n", left, left, left, left, left);
    if (follows == 3)
        put(m->text, "Y%s = min(T%s, 20) + t\n", left, left);
}

/* ---- products ---- */

static const char *letter(int i, bool upper) {
    static const char *const of[2][ITERATORS] = {{"a", "b", "c", "d", "e", "f", "g"},
                                                 {"A", "B", "C", "D", "E", "F", "G"}};

    return of[upper][i];
}

static void put_product(struct maker *m) {
    static const char *const words[] = {"sum", "sum", "sum", "sum", "sum", "max", "min"};
    const int outputs = below(m, MOST_OUTPUT + 1), reduced = below(m, 8) ? 1 + below(m, MOST_REDUCED) : 0;
    const int all = outputs + reduced, operands = 1 + below(m, MOST_OPERANDS);
    char access[MOST_OPERANDS][64] = {""}, shape[64] = "", left[64] = "", right[256] = "", where[64] = "";
    const char *item[ITERATORS], *extent[ITERATORS];
    unsigned has[MOST_OPERANDS];

    for (int o = 0; o < operands; o++)
        has[o] = (unsigned)below(m, 1 << all);
    for (int i = 0; i < all; i++) { /* each is somewhere */
        unsigned any = 0;

        for (int o = 0; o < operands; o++)
            any |= has[o];
        if (!(any >> i & 1))
            has[below(m, operands)] |= 1u << i;
    }
    for (int o = 0; o < operands; o++) {
        int n = 0;

        for (int i = 0; i < all; i++)
            if (has[o] >> i & 1) {
                const int at = below(m, n + 1);

                memmove(&item[at + 1], &item[at], sizeof item[0] * (size_t)(n - at));
                memmove(&extent[at + 1], &extent[at], sizeof extent[0] * (size_t)(n - at));
                item[at] = letter(i, false);
                extent[at] = letter(i, true);
                n++;
            }
        put(m->text, "tensor X%d %s ", o, m->kind->operand[o]);
        put_list(m->text, extent, n);
        put(m->text, "\n");
        put(access[o], "X%d", o);
        put_list(access[o], item, n);
        put_factor(m, right, o, access[o]);
    }
    for (int i = 0; i < outputs; i++) {
        item[i] = letter(i, false);
        extent[i] = letter(i, true);
    }
    put_list(shape, extent, outputs);
    put_list(left, item, outputs);
    if (reduced && outputs && !below(m, 3))
        put(where, " where %c %s %c%s", names[outputs + below(m, reduced)],
            below(m, 2) ? "<=" : ">=", names[below(m, outputs)], below(m, 2) ? " + 1" : "");
    const int follows = put_result(m, shape);
    const char *word = words[below(m, (int)(sizeof words / sizeof *words))];
    put(m->text, "%s%s %s ", follows ? "T" : "Y", left,
        !follows && !strcmp(word, "sum") && !below(m, 4) ? "+=" : "=");
    if (reduced)
        put(m->text, "%s(", word);
    for (int i = 0; i < reduced; i++)
        put(m->text, "%s%c", i ? ", " : "", names[outputs + i]);
    put(m->text, "%s%s%s\n", reduced ? where : "", reduced ? ") " : "", right);
    put_rest(m, follows, left);
}

/* ---- windows ---- */

struct window {
    int dims, size[2], stride[2], padding[2];
    bool last, depthwise, padded; /* last: the channels are */
};

/* The dimensions of an image with its channels where they are. */
static void put_image(const struct window *w, char *text, const char *channels, const char *const *pixel) {
    const char *item[4];
    int n = 0;

    item[n++] = *channels >= 'a' ? "n" : "N";
    if (!w->last)
        item[n++] = channels;
    for (int d = 0; d < w->dims; d++)
        item[n++] = pixel[d];
    if (w->last)
        item[n++] = channels;
    put_list(text, item, n);
}

static void put_filter(const struct window *w, char *text, const char *c, const char *o,
                       const char *const *tap) {
    const char *item[4];
    int n = 0;

    if (!w->last && !w->depthwise)
        item[n++] = o;
    if (!w->last)
        item[n++] = c;
    for (int d = 0; d < w->dims; d++)
        item[n++] = tap[d];
    if (w->last)
        item[n++] = c;
    if (w->last && !w->depthwise)
        item[n++] = o;
    put_list(text, item, n);
}

static void put_convolution(struct maker *m) {
    static const char *const outputs[] = {"P", "Q"}, *const pixels[] = {"p", "q"}, *const taps[] = {"r", "s"};
    struct window w = {
        .dims = 1 + below(m, 2), .last = below(m, 2), .depthwise = below(m, 3) == 0, .padded = below(m, 2)};
    char extent[2][32] = {"", ""}, at[2][48] = {"", ""}, size[2][8] = {"", ""}, x[128] = "", f[128] = "",
         shape[64] = "", left[64] = "", read[192] = "", right[256] = "";
    const char *extents[2], *ats[2], *sizes[2];

    for (int d = 0; d < w.dims; d++) {
        w.size[d] = below(m, 3) ? 3 : 1 + below(m, 5);
        w.stride[d] = below(m, 3) ? 1 : 2;
        w.padding[d] = w.padded ? below(m, 3) : 0;
        put(extent[d], "%d * %s + %d", w.stride[d], outputs[d], w.padded ? below(m, 2) : w.size[d]);
        put(at[d], "%d * %s + %s - %d", w.stride[d], pixels[d], taps[d], w.padding[d]);
        put(size[d], "%d", w.size[d]);
        extents[d] = extent[d];
        ats[d] = at[d];
        sizes[d] = size[d];
    }
    put(m->text, "tensor X %s ", m->kind->operand[0]);
    put_image(&w, m->text, "C", extents);
    put(m->text, "\ntensor F %s ", m->kind->operand[1]);
    put_filter(&w, m->text, "C", "O", sizes);
    put(m->text, "\n");
    put_image(&w, shape, w.depthwise ? "C" : "O", outputs);
    put_image(&w, left, w.depthwise ? "c" : "o", pixels);
    put_image(&w, x, "c", ats);
    put_filter(&w, f, "c", "o", taps);
    put(read, w.padded ? "pad(X%s, %d)" : "X%s", x, below(m, 3) ? 0 : 2);
    put_factor(m, right, 0, read);
    read[0] = 0;
    put(read, "F%s", f);
    put_factor(m, right, 1, read);
    const int follows = put_result(m, shape);
    put(m->text, "%s%s = sum(%s%sr%s) %s\n", follows ? "T" : "Y", left, w.depthwise ? "" : "c",
        w.depthwise ? "" : ", ", w.dims > 1 ? ", s" : "", right);
    put_rest(m, follows, left);
}

void random_sum_make(uint64_t seed, int number, char text[RANDOM_SUM_TEXT]) {
    struct maker m = {.x = seed + (uint64_t)number * 1000003, .text = text};

    *text = 0;
    m.kind = &kinds[below(&m, (int)(sizeof kinds / sizeof *kinds))];
    if (below(&m, 2))
        put_product(&m);
    else
        put_convolution(&m);
}
