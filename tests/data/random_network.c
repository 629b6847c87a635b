/* SPDX-License-Identifier: Apache-2.0 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include "layers/layers.h"
#include "random_network.h"

#define UK_OPERATOR(name_, since_, ...) {.name = #name_, .domain = "", __VA_ARGS__},
#define UK_MICROSOFT(name_, ...) {.name = #name_, .domain = "com.microsoft", __VA_ARGS__},
#define UK_INTERNAL(name_, ...)
static const struct uk_operator table[] = {
#include "layers/operators.def"
};
#undef UK_OPERATOR
#undef UK_MICROSOFT
#undef UK_INTERNAL

enum { ROWS = sizeof table / sizeof table[0], MOST_NODES = 8, MOST_VALUES = 64 };

struct drawing {
    const uint8_t *at, *end;
    struct uk_text text;
    int values; /* number of values, named v0, v1, ... */
};

static unsigned byte(struct drawing *d) {
    return d->at < d->end ? *d->at++ : 0;
}

static bool one_in(struct drawing *d, unsigned n) {
    return byte(d) % n == n - 1;
}

/* Usually a small number, sometimes one at a limit. */
static long long number(struct drawing *d) {
    static const long long edges[] = {INT64_MIN, INT64_MAX, INT32_MAX, 1LL << 32, 1 << 30, -1,
                                      -2,        100,       1LL << 40, 65536,     255,     1 << 20,
                                      -128,      33025,     1LL << 62, 1000};
    const unsigned b = byte(d);

    return b < 240 ? b % 6 : edges[b % 16];
}

static void numbers(struct drawing *d, unsigned count) {
    for (unsigned i = 0; i < count; i++)
        uk_put(&d->text, "%s%lld", i ? "," : "", number(d));
}

static void real(struct drawing *d) {
    static const char *const odd[] = {"nan", "inf", "-inf", "1e38", "-0", "1e-45", "0", "-1"};
    const unsigned b = byte(d);

    if (b < 240)
        uk_put(&d->text, "%g", (b % 16) / 4.0);
    else
        uk_put(&d->text, "%s", odd[b % 8]);
}

static const char *type(struct drawing *d) {
    static const char *const types[] = {"f32", "f32", "f32", "u8",   "i8",  "i64", "i64",  "i32",
                                        "f64", "i16", "f16", "bool", "f32", "u8",  "bf16", "str"};

    return types[byte(d) % 16];
}

static void shape(struct drawing *d) {
    static const char *const usual[] = {"1,2,4,4", "2,3",     "4",       "-",     "2",   "3",        "1",
                                        "1,3,5,5", "2,2,1,1", "3,2,3,3", "2,3,4", "0,3", "1,2,3,4,5"};
    const unsigned b = byte(d);

    if (b < 200)
        uk_put(&d->text, "%s", usual[b % 13]);
    else
        numbers(d, 1 + b % 9);
}

static const char *text(struct drawing *d) {
    static const char *const texts[] = {"NOTSET",
                                        "SAME_UPPER",
                                        "SAME_LOWER",
                                        "VALID",
                                        "constant",
                                        "reflect",
                                        "edge",
                                        "wrap",
                                        "nearest",
                                        "linear",
                                        "half_pixel",
                                        "align_corners",
                                        "asymmetric",
                                        "floor",
                                        "ceil",
                                        "DCR",
                                        "CRD",
                                        "tanh",
                                        "none",
                                        "not_larger",
                                        "not_smaller",
                                        "stretch",
                                        "cubic",
                                        "",
                                        "pytorch_half_pixel",
                                        "half_pixel_symmetric",
                                        "round_prefer_ceil",
                                        "FLOAT",
                                        "add",
                                        "max",
                                        "circular",
                                        "avg",
                                        "output_half_pixel",

                                        "forward",
                                        "reverse",
                                        "bidirectional",
                                        "Sigmoid",
                                        "Tanh",
                                        "HardSigmoid",
                                        "Affine"};

    return texts[byte(d) % (sizeof texts / sizeof *texts)];
}

/* ---- attributes, usually of the kind that ONNX gives the name ---- */

static char kind_of(const char *name) {
    static const struct {
        const char *names;
        char kind;
    } kinds[] = {
        {" auto_pad mode nearest_mode coordinate_transformation_mode keep_aspect_ratio_policy approximate "
         "reduction activation direction equation ",
         's'},
        {" axes dilations ends kernel_shape output_padding output_shape pads paddings perm shape split "
         "starts strides value_ints qkv_hidden_sizes ",
         'I'},
        {" scales value_floats activation_params activation_alpha activation_beta ", 'F'},
        {" activations ", 'S'},
        {" alpha beta bias epsilon gamma lambd max min momentum ratio value_float extrapolation_value "
         "mask_filter_value scale softcap clip spatial_scale cubic_coeff_a ",
         'f'},
        {" else_branch then_branch ", 'g'},
        {" value ", 't'}};
    char word[64];

    snprintf(word, sizeof word, " %s ", name);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strstr(kinds[i].names, word))
            return kinds[i].kind;
    return 'i';
}

static void attribute(struct drawing *d, const char *name) {
    static const char kinds[] = "sSIFftizg";
    const char kind = one_in(d, 40) ? kinds[byte(d) % 9] : kind_of(name);

    uk_put(&d->text, " %s=%c:", name, kind);
    if (kind == 's') {
        uk_put(&d->text, "%s", text(d));
    } else if (kind == 'i') {
        uk_put(&d->text, "%lld", number(d));
    } else if (kind == 'f') {
        real(d);
    } else if (kind == 'I') {
        numbers(d, byte(d) % 9);
    } else if (kind == 'F') {
        for (unsigned i = 0, count = byte(d) % 6; i < count; i++) {
            uk_put(&d->text, "%s", i ? "," : "");
            real(d);
        }
    } else if (kind == 'S') {
        for (unsigned i = 0, count = byte(d) % 7; i < count; i++)
            uk_put(&d->text, "%s%s", i ? "," : "", text(d));
    } else if (kind == 't') {
        uk_put(&d->text, "%s:", type(d));
        shape(d);
        uk_put(&d->text, ":");
        numbers(d, 1 + byte(d) % 4);
    }
}

static void attributes(struct drawing *d, const char *known) {
    while (known && *known) {
        const size_t length = strcspn(known, " ="), word = strcspn(known, " ");
        char name[40];

        snprintf(name, sizeof name, "%.*s", (int)length, known);
        if (byte(d) % 2)
            attribute(d, name);
        known += word + (known[word] == ' ');
    }
}

/* ---- lines ---- */

static void value(struct drawing *d) {
    if (one_in(d, 24))
        uk_put(&d->text, " _");
    else
        uk_put(&d->text, " v%u", d->values ? byte(d) % (unsigned)d->values : 0);
}

static void node(struct drawing *d) {
    const struct uk_operator *op = &table[byte(d) % ROWS];
    unsigned inputs = byte(d) % 5, outputs = 1 + one_in(d, 8) + one_in(d, 16);

    if (*op->domain || !strncmp(op->name, "QLinear", 7) || !strncmp(op->name, "Batch", 5) ||
        !strcmp(op->name, "Attention") || !strcmp(op->name, "LSTM") || !strcmp(op->name, "GRU"))
        inputs = byte(d) % 10;
    if (one_in(d, 64))
        inputs = byte(d);
    uk_put(&d->text, "%s%s%s", op->name, *op->domain ? "@" : "", op->domain);
    for (unsigned i = 0; i < inputs; i++)
        value(d);
    uk_put(&d->text, " ->");
    for (unsigned i = 0; i < outputs && d->values < MOST_VALUES; i++)
        uk_put(&d->text, one_in(d, 32) ? " _" : " v%d", d->values++);
    attributes(d, op->attributes);
    uk_put(&d->text, "\n");
}

static void tensor(struct drawing *d) {
    static const char how[] = "~~~~~~=:";
    const bool is_input = byte(d) % 2;

    uk_put(&d->text, "%s v%d %s ", is_input ? "input" : "init", d->values++, type(d));
    shape(d);
    if (!is_input) {
        uk_put(&d->text, " %c", how[byte(d) % 8]);
        for (unsigned i = 0, count = 1 + byte(d) % 4; i < count; i++)
            if (one_in(d, 3)) {
                uk_put(&d->text, " ");
                real(d);
            } else {
                uk_put(&d->text, " %lld", number(d));
            }
    }
    uk_put(&d->text, "\n");
}

char *random_network(const uint8_t *bytes, size_t length) {
    static const int versions[] = {17, 6, 9, 11, 13, 18, 21, 28};
    struct drawing d = {bytes, bytes + length, {0}, 0};

    uk_put(&d.text, "opset %d\nopset 1 com.microsoft\n", versions[byte(&d) % 8]);
    for (unsigned i = 0, count = 1 + byte(&d) % 6; i < count; i++)
        tensor(&d);
    for (unsigned i = 0, count = 1 + byte(&d) % MOST_NODES; i < count; i++)
        node(&d);
    for (int i = 0; i < 3; i++)
        uk_put(&d.text, "output v%d\n", i ? (int)(byte(&d) % (unsigned)d.values) : d.values - 1);
    return d.text.text;
}
