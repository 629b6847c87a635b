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
    /* types; operands of another type than the result are converted */
    const char *operand[MOST_OPERANDS], *result;
};
static const struct kind kinds[] = {
    {{"f32", "f32", "f32"}, "f32"},    {{"f32", "f32", "f32"}, "f32"}, {{"f64", "f64", "f64"}, "f64"},
    {{"i32", "i32", "i32"}, "i32"},    {{"u8", "i8", "i8"}, "i32"},    {{"i8", "i8", "i8"}, "i32"},
    {{"u8", "i8", "u8"}, "i32"},       {{"f16", "f16", "f16"}, "f16"}, {{"f16", "f16", "f16"}, "f32"},
    {{"bf16", "bf16", "bf16"}, "f32"},
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

/* Writes a list such as "[A, B + 2]" or "[a, b]". */
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

/* ---- statements after the sum ---- */

/* Statements that read the sum element by element, with the same subscripts. The sum is then a temporary,
 * else the program's result. */
enum follows { NOTHING, RELU, TWO_READERS, SCALAR, BIAS, RESIDUAL, FEWER_BITS, DOUBLED, FOLLOWS };

/* Texts about the sum's result: shape "[A, B]", left side "[a, b]", and its channel dimension, if any, as
 * "[B]" and "[b]". */
struct written {
    char shape[64], left[64], channels[8], channel[8];
};

/* The type that the sum is rounded to. */
static const char *fewer_bits(const struct maker *m) {
    return !strcmp(m->kind->result, "i32") ? "u8" : !strcmp(m->kind->result, "f32") ? "bf16" : "f32";
}

/* Writes the declarations before the sum's own line. */
static enum follows put_result(struct maker *m, const struct written *w) {
    const char *type = m->kind->result;
    const bool is_integer = !strcmp(type, "i32");
    enum follows follows = below(m, 2) ? NOTHING : RELU + (enum follows)below(m, FOLLOWS - RELU);

    if (follows == DOUBLED && !is_integer)
        follows = RESIDUAL;
    const bool fewer = follows == FEWER_BITS || follows == DOUBLED;
    put(m->text, "%s %s %s %s\n", follows ? "temp" : "tensor", follows ? "T" : "Y", type, w->shape);
    if (follows)
        put(m->text, "tensor Y %s %s\n", fewer ? fewer_bits(m) : type, w->shape);
    if (follows == TWO_READERS)
        put(m->text, "tensor V %s %s\n", type, w->shape);
    if (follows == SCALAR)
        put(m->text, "scalar t %s\n", type);
    if (follows == BIAS || fewer)
        put(m->text, "tensor bias %s %s\n", type, w->channels);
    if (follows == RESIDUAL)
        put(m->text, "tensor R %s %s\n", type, w->shape);
    if (fewer && is_integer)
        put(m->text, "scalar zero u8\ntensor scale %s %s\n", follows == DOUBLED ? "i32" : "f32", w->channels);
    if (follows == DOUBLED)
        put(m->text, "temp S i64 %s\n", w->shape);
    return follows;
}

/* Rounds as quantized networks do: in floats, or in integers with twice the bits. */
static void put_fewer_bits(struct maker *m, bool doubled, const struct written *w) {
    const char *left = w->left, *at = w->channel;

    if (strcmp(m->kind->result, "i32") != 0)
        put(m->text, "Y%s = %s(T%s + bias%s)\n", left, fewer_bits(m), left, at);
    else if (!doubled)
        put(m->text, "Y%s = u8(round(f32(T%s + bias%s) * scale%s * 0.125) + f32(zero))\n", left, left, at,
            at);
    else
        put(m->text,
            "S%s = i64(T%s + bias%s) * (i64(scale%s) << 27) + (1 << 30) >> 31\n"
            "Y%s = u8(max(min(S%s + i64(zero), 255), 0))\n",
            left, left, at, at, left, left);
}

static void put_rest(struct maker *m, enum follows follows, const struct written *w) {
    const char *left = w->left;

    if (follows == RELU)
        put(m->text, "Y%s = max(T%s + %d, 0)\n", left, left, below(m, 5));
    if (follows == TWO_READERS)
        put(m->text, "Y%s = max(T%s, 0)\nV%s = Y%s + T%s\n", left, left, left, left, left);
    if (follows == SCALAR)
        put(m->text, "Y%s = min(T%s, 20) + t\n", left, left);
    if (follows == BIAS)
        put(m->text, "Y%s = max(T%s + bias%s, 0)\n", left, left, w->channel);
    if (follows == RESIDUAL)
        put(m->text, "Y%s = max(T%s + R%s, 0)\n", left, left, left);
    if (follows == FEWER_BITS || follows == DOUBLED)
        put_fewer_bits(m, follows == DOUBLED, w);
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
    char access[MOST_OPERANDS][64] = {""}, right[256] = "", where[64] = "";
    struct written w = {"", "", "", ""};
    const char *item[ITERATORS], *extent[ITERATORS];
    unsigned has[MOST_OPERANDS];

    for (int o = 0; o < operands; o++)
        has[o] = (unsigned)below(m, 1 << all);
    for (int i = 0; i < all; i++) { /* each iterator occurs in some operand */
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
        if (n == 2 && !below(m, 3))
            put(m->text, " stride [s%d, 1]", o);
        put(m->text, "\n");
        put(access[o], "X%d", o);
        put_list(access[o], item, n);
        put_factor(m, right, o, access[o]);
    }
    for (int i = 0; i < outputs; i++) {
        item[i] = letter(i, false);
        extent[i] = letter(i, true);
    }
    put_list(w.shape, extent, outputs);
    put_list(w.left, item, outputs);
    put_list(w.channels, extent + outputs - (outputs > 0), outputs > 0);
    put_list(w.channel, item + outputs - (outputs > 0), outputs > 0);
    if (reduced && outputs && !below(m, 3))
        put(where, " where %c %s %c%s", names[outputs + below(m, reduced)],
            below(m, 2) ? "<=" : ">=", names[below(m, outputs)], below(m, 2) ? " + 1" : "");
    const enum follows follows = put_result(m, &w);
    const char *word = words[below(m, (int)(sizeof words / sizeof *words))];
    put(m->text, "%s%s %s ", follows ? "T" : "Y", w.left,
        !follows && !strcmp(word, "sum") && !below(m, 4) ? "+=" : "=");
    if (reduced)
        put(m->text, "%s(", word);
    for (int i = 0; i < reduced; i++)
        put(m->text, "%s%c", i ? ", " : "", names[outputs + i]);
    put(m->text, "%s%s%s\n", reduced ? where : "", reduced ? ") " : "", right);
    put_rest(m, follows, &w);
}

/* ---- windows ---- */

struct window {
    int dims, size[2], stride[2], dilation[2], padding[2];
    bool last, grouped, depthwise, padded; /* last: channels are the last dimension */
};

/* Writes the dimensions of an image, with its channels first or last. */
static void put_image(const struct window *w, char *text, const char *channels, const char *const *pixel) {
    const char *item[5];
    int n = 0;

    item[n++] = *channels >= 'a' ? "n" : "N";
    if (w->grouped)
        item[n++] = *channels >= 'a' ? "g" : "G";
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
    const char *item[5];
    int n = 0;

    if (w->grouped)
        item[n++] = *c >= 'a' ? "g" : "G";
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
    w.grouped = !w.depthwise && !below(m, 4);
    char extent[2][32] = {"", ""}, at[2][48] = {"", ""}, size[2][8] = {"", ""}, x[128] = "", f[128] = "",
         read[192] = "", right[256] = "", where[32] = "";
    struct written out = {"", "", "", ""};
    const char *extents[2], *ats[2], *sizes[2];

    for (int d = 0; d < w.dims; d++) {
        w.size[d] = below(m, 3) ? 3 : 1 + below(m, 5);
        w.stride[d] = below(m, 3) ? 1 : 2 + below(m, 2);
        w.dilation[d] = below(m, 4) ? 1 : 2;
        w.padding[d] = w.padded ? below(m, 3) : 0;
        put(extent[d], "%d * %s + %d", w.stride[d], outputs[d],
            w.padded ? below(m, 2) : w.dilation[d] * (w.size[d] - 1) + 1);
        put(at[d], "%d * %s + %d * %s - %d", w.stride[d], pixels[d], w.dilation[d], taps[d], w.padding[d]);
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
    put_image(&w, out.shape, w.depthwise ? "C" : "O", outputs);
    put_image(&w, out.left, w.depthwise ? "c" : "o", pixels);
    put(out.channels, w.depthwise ? "[C]" : "[O]");
    put(out.channel, w.depthwise ? "[c]" : "[o]");
    put_image(&w, x, "c", ats);
    put_filter(&w, f, "c", "o", taps);
    put(read, w.padded ? "pad(X%s, %d)" : "X%s", x, below(m, 3) ? 0 : below(m, 5));
    put_factor(m, right, 0, read);
    read[0] = 0;
    put(read, "F%s", f);
    put_factor(m, right, 1, read);
    if (!below(m, 6))
        put(where, " where r %s p%s", below(m, 2) ? "<=" : ">", below(m, 2) ? " + 1" : "");
    const enum follows follows = put_result(m, &out);
    put(m->text, "%s%s = sum(%sr%s%s) %s\n", follows ? "T" : "Y", out.left, w.depthwise ? "" : "c, ",
        w.dims > 1 ? ", s" : "", where, right);
    put_rest(m, follows, &out);
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
