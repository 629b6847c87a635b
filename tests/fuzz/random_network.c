/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>
#include "layers/layers.h"
#include "random_parts.h"

#define UK_OPERATOR(name_, since_, ...) {.name = #name_, .domain = "", __VA_ARGS__},
#define UK_MICROSOFT(name_, ...) {.name = #name_, .domain = "com.microsoft", __VA_ARGS__},
#define UK_INTERNAL(name_, ...)
static const struct uk_operator table[] = {
#include "layers/operators.def"
};
#undef UK_OPERATOR
#undef UK_MICROSOFT
#undef UK_INTERNAL

enum { ROWS = sizeof table / sizeof table[0], MOST_NODES = 8 };

unsigned drawn_byte(struct drawing *d) {
    return d->at < d->end ? *d->at++ : 0;
}

bool drawn_one_in(struct drawing *d, unsigned n) {
    return drawn_byte(d) % n == n - 1;
}

/* Usually a small number, sometimes one at a limit. */
long long drawn_number(struct drawing *d) {
    static const long long edges[] = {INT64_MIN, INT64_MAX, INT32_MAX, 1LL << 32, 1 << 30, -1,
                                      -2,        100,       1LL << 40, 65536,     255,     1 << 20,
                                      -128,      33025,     1LL << 62, 1000};
    const unsigned b = drawn_byte(d);

    return b < 240 ? b % 6 : edges[b % 16];
}

static void numbers(struct drawing *d, unsigned count) {
    for (unsigned i = 0; i < count; i++)
        uk_put(&d->text, "%s%lld", i ? "," : "", drawn_number(d));
}

void drawn_real(struct drawing *d) {
    static const char *const odd[] = {"nan", "inf", "-inf", "1e38", "-0", "1e-45", "0", "-1"};
    const unsigned b = drawn_byte(d);

    if (b < 240)
        uk_put(&d->text, "%g", (b % 16) / 4.0);
    else
        uk_put(&d->text, "%s", odd[b % 8]);
}

const char *drawn_type(struct drawing *d) {
    static const char *const types[] = {"f32", "f32", "f32", "u8",   "i8",  "i64", "i64",  "i32",
                                        "f64", "i16", "f16", "bool", "f32", "u8",  "bf16", "str"};

    const char *t = types[drawn_byte(d) % 16];

    return !strcmp(t, "f32") || (!strcmp(t, "str") && !drawn_one_in(d, 8)) ? d->real : t;
}

void put_shape(struct drawing *d, const char *shape) {
    uk_put(&d->text, "%s", shape);
    d->has_n |= strchr(shape, 'N') != NULL;
    d->has_m |= strchr(shape, 'M') != NULL;
}

void drawn_shape(struct drawing *d, bool may_be_open) {
    static const char *const usual[] = {"1,2,4,4",   "2,3",     "4",       "-",       "2",     "3",
                                        "1",         "1,3,5,5", "2,2,1,1", "3,2,3,3", "2,3,4", "0,3",
                                        "1,2,3,4,5", "N,3",     "1,N,M",   "2,M"};
    const unsigned b = drawn_byte(d);

    if (b < 200)
        put_shape(d, usual[b % (may_be_open ? 16 : 13)]);
    else
        numbers(d, 1 + b % 9);
}

const char *drawn_text(struct drawing *d) {
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
                                        "Affine",
                                        "down",
                                        "zeros",
                                        "border",
                                        "ij,jk->ik",
                                        "...i->..."};

    return texts[drawn_byte(d) % (sizeof texts / sizeof *texts)];
}

/* ---- attributes, usually of the kind that ONNX gives the name ---- */

static char kind_of(const char *name) {
    static const struct {
        const char *names;
        char kind;
    } kinds[] = {
        {" auto_pad mode nearest_mode coordinate_transformation_mode keep_aspect_ratio_policy approximate "
         "reduction activation direction equation round_mode padding_mode update_rule ",
         's'},
        {" axes dilations ends kernel_shape output_padding output_shape pads paddings perm shape split "
         "starts strides value_ints qkv_hidden_sizes scan_input_axes scan_input_directions scan_output_axes "
         "scan_output_directions ",
         'I'},
        {" scales value_floats activation_params activation_alpha activation_beta ", 'F'},
        {" activations ", 'S'},
        {" alpha beta bias epsilon gamma lambd max min momentum ratio value_float extrapolation_value "
         "mask_filter_value scale softcap clip spatial_scale cubic_coeff_a fill ",
         'f'},
        {" body else_branch then_branch ", 'g'},
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
    const char kind = drawn_one_in(d, 40) ? kinds[drawn_byte(d) % 9] : kind_of(name);

    uk_put(&d->text, " %s=%c:", name, kind);
    if (kind == 's') {
        uk_put(&d->text, "%s", drawn_text(d));
    } else if (kind == 'i') {
        uk_put(&d->text, "%lld", drawn_number(d));
    } else if (kind == 'f') {
        drawn_real(d);
    } else if (kind == 'I') {
        numbers(d, drawn_byte(d) % 9);
    } else if (kind == 'F') {
        for (unsigned i = 0, count = drawn_byte(d) % 6; i < count; i++) {
            uk_put(&d->text, "%s", i ? "," : "");
            drawn_real(d);
        }
    } else if (kind == 'S') {
        for (unsigned i = 0, count = drawn_byte(d) % 7; i < count; i++)
            uk_put(&d->text, "%s%s", i ? "," : "", drawn_text(d));
    } else if (kind == 'g') {
        uk_put(&d->text, "g%u", d->graphs ? drawn_byte(d) % (unsigned)d->graphs : 0);
    } else if (kind == 't') {
        uk_put(&d->text, "%s:", drawn_type(d));
        drawn_shape(d, false);
        uk_put(&d->text, ":");
        numbers(d, 1 + drawn_byte(d) % 4);
    }
}

static void attributes(struct drawing *d, const char *known) {
    while (known && *known) {
        const size_t length = strcspn(known, " ="), word = strcspn(known, " ");
        char name[40];

        snprintf(name, sizeof name, "%.*s", (int)length, known);
        if (drawn_byte(d) % 2)
            attribute(d, name);
        known += word + (known[word] == ' ');
    }
}

/* ---- lines ---- */

void drawn_value(struct drawing *d) {
    const unsigned count = (unsigned)(d->values + d->inner);

    if (drawn_one_in(d, 24)) {
        uk_put(&d->text, " _");
        return;
    }
    const unsigned n = count ? drawn_byte(d) % count : 0;
    if (n < (unsigned)d->values || !d->inner)
        uk_put(&d->text, " v%u", n);
    else
        uk_put(&d->text, " b%u", n - (unsigned)d->values);
}

int drawn_result(struct drawing *d) {
    return d->depth ? d->inner++ : d->values++;
}

char drawn_letter(const struct drawing *d) {
    return d->depth ? 'b' : 'v';
}

void drawn_node(struct drawing *d) {
    const struct uk_operator *op = &table[drawn_byte(d) % ROWS];
    unsigned inputs = drawn_byte(d) % 5, outputs = 1 + drawn_one_in(d, 8) + drawn_one_in(d, 16);

    if (*op->domain || !strncmp(op->name, "QLinear", 7) || !strncmp(op->name, "Batch", 5) ||
        !strcmp(op->name, "Attention") || !strcmp(op->name, "LSTM") || !strcmp(op->name, "GRU"))
        inputs = drawn_byte(d) % 10;
    if (drawn_one_in(d, 64))
        inputs = drawn_byte(d);
    uk_put(&d->text, "%s%s%s", op->name, *op->domain ? "@" : "", op->domain);
    for (unsigned i = 0; i < inputs; i++)
        drawn_value(d);
    uk_put(&d->text, " ->");
    for (unsigned i = 0; i < outputs && d->values < MOST_VALUES; i++) {
        const int result = drawn_result(d);
        if (drawn_one_in(d, 32))
            uk_put(&d->text, " _");
        else
            uk_put(&d->text, " %c%d", drawn_letter(d), result);
    }
    attributes(d, op->attributes);
    uk_put(&d->text, "\n");
}

static void tensor(struct drawing *d) {
    static const char how[] = "~~~~~~~~~~~~~~=:";
    const bool is_input = drawn_byte(d) % 2;

    uk_put(&d->text, "%s v%d %s ", is_input ? "input" : "init", d->values++, drawn_type(d));
    drawn_shape(d, is_input);
    if (!is_input) {
        uk_put(&d->text, " %c", how[drawn_byte(d) % 16]);
        for (unsigned i = 0, count = 1 + drawn_byte(d) % 4; i < count; i++)
            if (drawn_one_in(d, 3)) {
                uk_put(&d->text, " ");
                drawn_real(d);
            } else {
                uk_put(&d->text, " %lld", drawn_number(d));
            }
    }
    uk_put(&d->text, "\n");
}

char *random_network(const uint8_t *bytes, size_t length, struct random_options *o) {
    static const int versions[] = {17, 6, 9, 11, 13, 18, 22, 28}, late[] = {28, 22, 25, 16};
    static const char *const reals[] = {"f32", "f32", "f32", "f32", "f16", "bf16", "f64", "f16"};
    struct drawing d = {.at = bytes, .end = bytes + length, .options = o};
    const bool has_parts_only = drawn_one_in(&d, 2);
    const unsigned version = drawn_byte(&d);

    *o = (struct random_options){0};
    uk_put(&d.text, "opset %d\nopset 1 com.microsoft\n",
           has_parts_only ? late[version % 4] : versions[version % 8]);
    d.real = reals[drawn_byte(&d) % 8];
    for (unsigned i = 0, count = 1 + (has_parts_only ? 0 : drawn_byte(&d) % 6); i < count; i++)
        tensor(&d);
    for (unsigned i = 0, count = 1 + drawn_byte(&d) % MOST_NODES; i < count; i++)
        if (has_parts_only || drawn_one_in(&d, 3))
            draw_part(&d);
        else
            drawn_node(&d);
    for (int i = 0; i < 3; i++)
        uk_put(&d.text, "output v%d\n", i ? (int)(drawn_byte(&d) % (unsigned)d.values) : d.values - 1);
    draw_options(&d);
    return d.text.text;
}
