/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>
#include "random.h"
#include "random_conv.h"

enum {
    MAX_IMAGES = 3,
    MAX_EXTENT = 20,
    MAX_CHANNELS = 70,
    MAX_STRIDE = 3,
    MAX_DILATION = 2,
    MAX_WORK = 10000000, /* multiply-adds */
    MAX_TERMS = 2000,    /* sums of 1 in f16 are exact up to 2^11 */
};

/* Types of X, F and the sum. */
static const char *const types[][3] = {
    {"f32", "f32", "f32"}, {"i8", "i8", "i32"},   {"f16", "f16", "f16"},
    {"f32", "f32", "f32"}, {"f16", "f16", "f32"}, {"u8", "i8", "i32"},
};
enum { TYPES = sizeof types / sizeof *types, NO_ACTIVATION = 0, RELU, CLIP, ACTIVATIONS };

/* Names of the axes of X and of Y, and iterators over outputs and taps; the last ones are those of images
 * with fewer axes. */
static const char extents[] = "DHW", outputs[] = "VPQ", at[] = "epq", taps[] = "trs";

/* ---- the shape ---- */

static int any_channels(uint64_t *x) {
    static const int edges[] = {1, 3, 4, 8, 16, 31, 32, 33, 63, 64, 65, MAX_CHANNELS};

    return random_below(x, 2) ? edges[random_below(x, sizeof edges / sizeof *edges)]
                              : 1 + random_below(x, MAX_CHANNELS);
}

static void draw_axis(struct conv_axis *a, int max_extent, uint64_t *x) {
    static const int windows[] = {1, 1, 2, 3, 3, 3, 4, 5, 6, 7};

    do {
        a->extent = 1 + random_below(x, max_extent);
        a->taps = windows[random_below(x, sizeof windows / sizeof *windows)];
        a->stride = random_below(x, 2) ? 1 : 1 + random_below(x, MAX_STRIDE);
        a->dilation = a->taps > 1 && !random_below(x, 4) ? MAX_DILATION : 1;
        const int window = (a->taps - 1) * a->dilation + 1;
        const bool has_border = random_below(x, 3);
        a->before = has_border ? random_below(x, window) : 0;
        a->after = !has_border ? 0 : random_below(x, 2) ? a->before : random_below(x, window);
        a->outputs = (a->extent + a->before + a->after - window + a->stride) / a->stride;
    } while (a->extent + a->before + a->after < (a->taps - 1) * a->dilation + 1);
}

static void draw_groups(struct random_conv *v, bool depthwise, uint64_t *x) {
    v->groups = 1;
    switch (depthwise ? 0 : random_below(x, 6)) {
    case 0: /* depthwise, with one or two outputs per channel */
        v->groups = v->c;
        v->o = v->c * (random_below(x, depthwise ? 9 : 3) ? 1 : 2);
        break;
    case 1:
        v->groups = 2;
        v->c += v->c % 2;
        v->o += v->o % 2;
    }
}

/* Draws the shape again until it takes at most MAX_WORK. */
static void draw_shape(struct random_conv *v, bool depthwise, uint64_t *x) {
    double work;

    do {
        const int axes = random_below(x, depthwise ? 16 : 8);

        v->axes = axes > 1 ? 2 : 1 + 2 * axes;
        v->n = 1 + random_below(x, MAX_IMAGES);
        v->c = any_channels(x);
        v->o = any_channels(x);
        draw_groups(v, depthwise, x);
        v->terms = v->c / v->groups;
        work = (double)v->n * v->o;
        for (int i = CONV_AXES - v->axes; i < CONV_AXES; i++) {
            draw_axis(&v->axis[i], depthwise ? 2 * MAX_EXTENT : MAX_EXTENT, x);
            v->terms *= v->axis[i].taps;
            work *= v->axis[i].outputs;
        }
    } while (v->terms > MAX_TERMS || work * (double)v->terms > MAX_WORK);
}

/* ---- the text ---- */

/* Formats an extent: a number, or the name of a size. */
static const char *extent(const struct random_conv *v, char name, int value, char to[16]) {
    if (v->has_names)
        snprintf(to, 16, "%c", name);
    else
        snprintf(to, 16, "%d", value);
    return to;
}

static bool is_identity(const struct conv_axis *a) {
    return a->taps == 1 && a->stride == 1 && !a->before && !a->after;
}

/* True if the taps of axis i have an iterator. */
static bool has_taps(const struct random_conv *v, int i) {
    return i >= CONV_AXES - v->axes && (v->axis[i].taps > 1 || !v->drops_taps);
}

static bool is_depthwise(const struct random_conv *v) {
    return v->groups > 1 && v->groups == v->c;
}

/* The name of the number of output channels. */
static char outputs_name(const struct random_conv *v) {
    return is_depthwise(v) ? 'C' : 'O';
}

static char output_name(const struct random_conv *v, int i) {
    return is_identity(&v->axis[i]) ? extents[i] : outputs[i];
}

static void put_sizes(struct random_conv *v) {
    bool assumes = false;

    if (!v->has_names)
        return;
    uk_put(&v->text, "size N = %d, C = %d", v->n, v->c);
    if (!is_depthwise(v))
        uk_put(&v->text, ", O = %d", v->o);
    for (int i = CONV_AXES - v->axes; i < CONV_AXES; i++) {
        uk_put(&v->text, ", %c = %d", extents[i], v->axis[i].extent);
        if (!is_identity(&v->axis[i]))
            uk_put(&v->text, ", %c = %d", outputs[i], v->axis[i].outputs);
    }
    for (int i = CONV_AXES - v->axes; i < CONV_AXES; i++) {
        const struct conv_axis *a = &v->axis[i];

        if (is_identity(a))
            continue;
        uk_put(&v->text, "%s %c == (%c + %d - %d) / %d + 1", assumes ? " and" : "\nassume", outputs[i],
               extents[i], a->before + a->after, (a->taps - 1) * a->dilation + 1, a->stride);
        assumes = true;
    }
    uk_put(&v->text, "\n");
}

/* Declares X, Y, or a tensor of the shape of Y. */
static void put_images(struct random_conv *v, const char *kind, const char *name, const char *type) {
    const bool is_input = *name == 'X';
    char n[16], c[16], e[16];

    extent(v, is_input ? 'C' : outputs_name(v), is_input ? v->c : v->o, c);
    uk_put(&v->text, "%s %s %s [%s", kind, name, type, extent(v, 'N', v->n, n));
    if (v->channels_first)
        uk_put(&v->text, ", %s", c);
    for (int i = CONV_AXES - v->axes; i < CONV_AXES; i++) {
        const struct conv_axis *a = &v->axis[i];

        uk_put(&v->text, ", %s",
               is_input ? extent(v, extents[i], a->extent, e) : extent(v, output_name(v, i), a->outputs, e));
    }
    uk_put(&v->text, v->channels_first ? "]\n" : ", %s]\n", c);
}

/* Writes the shape of F, or the subscripts of its element. */
static void put_weights(struct random_conv *v, bool is_shape) {
    char o[16] = "o", c[16] = "c";

    if (is_shape) {
        extent(v, outputs_name(v), v->o, o);
        if (v->groups == 1)
            extent(v, 'C', v->c, c);
        else
            snprintf(c, sizeof c, "%d", v->c / v->groups);
    }
    uk_put(&v->text, "[");
    if (v->outputs_first)
        uk_put(&v->text, is_depthwise(v) ? "%s, " : "%s, %s, ", o, c);
    for (int i = 0; i < CONV_AXES; i++)
        if (has_taps(v, i) && is_shape)
            uk_put(&v->text, "%d, ", v->axis[i].taps);
        else if (has_taps(v, i))
            uk_put(&v->text, "%c, ", taps[i]);
    if (v->outputs_first)
        uk_text_cut(&v->text, v->text.length - strlen(", "));
    else
        uk_put(&v->text, is_depthwise(v) ? "%.0s%s" : "%s, %s", c, o);
    uk_put(&v->text, "]");
}

/* Writes the channel of X that output o reads. */
static void put_channel(struct random_conv *v) {
    const int in = v->c / v->groups, out = v->o / v->groups;

    if (v->groups == 1)
        uk_put(&v->text, ", c");
    else if (!is_depthwise(v))
        uk_put(&v->text, ", %d * (o / %d) + c", in, out);
    else
        uk_put(&v->text, out > 1 ? ", o / %d" : ", o", out);
}

/* Writes the element of X that a window's element reads. */
static void put_input(struct random_conv *v, bool has_border) {
    uk_put(&v->text, has_border ? "pad(X[n" : "X[n");
    if (v->channels_first)
        put_channel(v);
    for (int i = CONV_AXES - v->axes; i < CONV_AXES; i++) {
        const struct conv_axis *a = &v->axis[i];

        uk_put(&v->text, ", ");
        if (a->stride > 1)
            uk_put(&v->text, "%d * ", a->stride);
        uk_put(&v->text, "%c", at[i]);
        if (has_taps(v, i))
            uk_put(&v->text, a->dilation > 1 ? " + 2 * %c" : " + %c", taps[i]);
        if (a->before)
            uk_put(&v->text, " - %d", a->before);
    }
    if (!v->channels_first)
        put_channel(v);
    uk_put(&v->text, has_border ? "], %d)" : "]", v->border);
}

/* Writes the subscripts of Y. */
static void put_left(struct random_conv *v) {
    uk_put(&v->text, v->channels_first ? "[n, o" : "[n");
    for (int i = CONV_AXES - v->axes; i < CONV_AXES; i++)
        uk_put(&v->text, ", %c", at[i]);
    uk_put(&v->text, v->channels_first ? "]" : ", o]");
}

static void put_sum(struct random_conv *v, bool has_epilogue) {
    const char *const *type = types[v->type], *separator = "";
    const bool cast_x = strcmp(type[0], type[2]), cast_f = strcmp(type[1], type[2]);
    bool has_border = false;

    uk_put(&v->text, has_epilogue ? "T" : "Y");
    put_left(v);
    uk_put(&v->text, " = sum(");
    for (int i = 0; i < CONV_AXES; i++)
        if (has_taps(v, i)) {
            uk_put(&v->text, "%s%c", separator, taps[i]);
            separator = ", ";
        }
    if (!is_depthwise(v))
        uk_put(&v->text, "%sc", separator);
    uk_put(&v->text, cast_x ? ") %s(" : ") ", type[2]);
    for (int i = CONV_AXES - v->axes; i < CONV_AXES; i++)
        has_border |= v->axis[i].before || v->axis[i].after;
    put_input(v, has_border);
    uk_put(&v->text, cast_x ? ") * " : " * ");
    uk_put(&v->text, cast_f ? "%s(F" : "F", type[2]);
    put_weights(v, false);
    uk_put(&v->text, cast_f ? ")\n" : "\n");
}

static void put_epilogue(struct random_conv *v) {
    uk_put(&v->text, "Y");
    put_left(v);
    uk_put(&v->text, v->activation == CLIP ? " = min(max(T" : v->activation == RELU ? " = max(T" : " = T");
    put_left(v);
    if (v->has_bias)
        uk_put(&v->text, " + bias[o]");
    if (v->has_residual) {
        uk_put(&v->text, " + R");
        put_left(v);
    }
    if (v->activation)
        uk_put(&v->text, ", 0)");
    if (v->activation == CLIP) /* above all sums of numbers below 1, below many of bytes */
        uk_put(&v->text, ", %d)", ((int)v->terms + 2) * (*types[v->type][0] == 'f' ? 1 : 1000));
    uk_put(&v->text, "\n");
}

static void put_text(struct random_conv *v) {
    const bool has_epilogue = v->has_bias || v->has_residual || v->activation;
    const char *sum = types[v->type][2];
    char o[16];

    put_sizes(v);
    put_images(v, "tensor", "X", types[v->type][0]);
    uk_put(&v->text, "tensor F %s ", types[v->type][1]);
    put_weights(v, true);
    uk_put(&v->text, v->is_finite ? " finite\n" : "\n");
    if (v->has_bias)
        uk_put(&v->text, "tensor bias %s [%s]\n", sum, extent(v, outputs_name(v), v->o, o));
    if (v->has_residual)
        put_images(v, "tensor", "R", sum);
    if (has_epilogue)
        put_images(v, "temp", "T", sum);
    put_images(v, "tensor", "Y", sum);
    put_sum(v, has_epilogue);
    if (has_epilogue)
        put_epilogue(v);
}

void random_conv_make(struct random_conv *v, int number, bool depthwise, uint64_t x) {
    *v = (struct random_conv){.type = number % TYPES};
    const bool is_float = *types[v->type][0] == 'f';

    draw_shape(v, depthwise, &x);
    v->values = (enum values)random_below(&x, is_float ? VALUES : 1);
    v->channels_first = random_below(&x, 2);
    v->outputs_first = random_below(&x, 2);
    v->has_names = (v->groups == 1 || (is_depthwise(v) && v->o == v->c)) && random_below(&x, 2);
    v->drops_taps = !is_depthwise(v) && random_below(&x, 2);
    v->is_finite = is_float && random_below(&x, 2);
    v->has_bias = random_below(&x, 2);
    v->has_residual = !random_below(&x, 3);
    v->activation = random_below(&x, ACTIVATIONS);
    v->border = random_below(&x, 6) ? 0 : 1;
    put_text(v);
}
