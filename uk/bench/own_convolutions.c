/* SPDX-License-Identifier: Apache-2.0 */
/* Our own convolutions as contenders of uk bench conv: programs, compiled for the shape. Constant weights are
 * packed before the time is taken, as networks do it. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "conv.h"

/* ---- the text ---- */

/* Writes subscript and name of the window's iterator in one dimension: "2*p + 2*r - 1", or without r if its
 * extent is 1. */
static void write_subscript(char *text, size_t size, const char *p, const char *r, int64_t extent,
                            int64_t before, const struct bench_conv_shape *s) {
    size_t used = 0;
    if (s->stride > 1)
        used += (size_t)snprintf(text, size, "%" PRId64 "*", s->stride);
    used += (size_t)snprintf(text + used, size - used, "%s", p);
    if (extent > 1 && s->dilation > 1)
        used += (size_t)snprintf(text + used, size - used, " + %" PRId64 "*%s", s->dilation, r);
    else if (extent > 1)
        used += (size_t)snprintf(text + used, size - used, " + %s", r);
    if (before)
        snprintf(text + used, size - used, " - %" PRId64, before);
}

/* Parts of the text that depend on the form: dense, in groups, depthwise. */
struct form {
    const char *image, *weight, *result; /* subscripts of channels */
    char image_shape[64], weight_shape[64], result_shape[64];
    bool sums_channels;
};

static struct form form_of(const struct bench_conv_shape *s) {
    const int64_t in = s->c / s->groups, out = s->o / s->groups;
    if (bench_conv_is_depthwise(s)) {
        struct form f = {.image = "o", .weight = "o", .result = "o"};
        snprintf(f.image_shape, sizeof f.image_shape, "%" PRId64, s->c);
        memcpy(f.weight_shape, f.image_shape, sizeof f.weight_shape);
        memcpy(f.result_shape, f.image_shape, sizeof f.result_shape);
        return f;
    }
    const bool grouped = s->groups > 1;
    struct form f = {.image = grouped ? "g, c" : "c",
                     .weight = grouped ? "c, g, o" : "c, o",
                     .result = grouped ? "g, o" : "o",
                     .sums_channels = true};
    char groups[24] = "";
    if (grouped)
        snprintf(groups, sizeof groups, "%" PRId64 ", ", s->groups);
    snprintf(f.image_shape, sizeof f.image_shape, "%s%" PRId64, groups, in);
    snprintf(f.weight_shape, sizeof f.weight_shape, "%" PRId64 ", %s%" PRId64, in, groups, out);
    snprintf(f.result_shape, sizeof f.result_shape, "%s%" PRId64, groups, out);
    return f;
}

/* Writes the reduction's iterators, "sum(r, s, c) "; nothing if there are none. */
static void write_sum(char *text, size_t size, const struct bench_conv_shape *s, const struct form *f) {
    const char *const names[] = {s->r > 1 ? "r" : NULL, s->s > 1 ? "s" : NULL, f->sums_channels ? "c" : NULL};
    size_t used = 0;
    *text = 0;
    for (int i = 0; i < 3; i++)
        if (names[i])
            used += (size_t)snprintf(text + used, size - used, "%s%s", used ? ", " : "sum(", names[i]);
    if (used)
        snprintf(text + used, size - used, ") ");
}

static void write_program(char *text, size_t size, const struct bench_convolution *v,
                          bool weights_are_arguments) {
    const struct bench_conv_shape *s = v->shape;
    const bool bytes = v->type == BENCH_CONV_U8I8;
    const struct form f = form_of(s);
    const int64_t above = bench_conv_above(s), left = bench_conv_left(s);
    char row[64], column[64], sum[32], image[256], weight[128];
    write_subscript(row, sizeof row, "p", "r", s->r, above, s);
    write_subscript(column, sizeof column, "q", "s", s->s, left, s);
    write_sum(sum, sizeof sum, s, &f);
    snprintf(image, sizeof image, above || left ? "pad(X[n, %s, %s, %s], 0)" : "X[n, %s, %s, %s]", row,
             column, f.image);
    snprintf(weight, sizeof weight, "F[%s, %s, %s]", s->r > 1 ? "r" : "0", s->s > 1 ? "s" : "0", f.weight);
    /* as networks declare constants */
    const char *attributes = weights_are_arguments ? "" : bytes ? " constant" : " constant finite";
    const char *before = bytes ? "i32(" : "", *after = bytes ? ")" : "";
    size_t used = (size_t)snprintf(text, size,
                                   "tensor X %s [%" PRId64 ", %" PRId64 ", %" PRId64 ", %s]\n"
                                   "tensor F %s [%" PRId64 ", %" PRId64 ", %s]%s\n",
                                   bytes ? "u8" : "f32", s->n, s->h, s->w, f.image_shape,
                                   bytes ? "i8" : "f32", s->r, s->s, f.weight_shape, attributes);
    if (bytes)
        used +=
            (size_t)snprintf(text + used, size - used,
                             "tensor scale f32 [%s]\n"
                             "temp T i32 [%" PRId64 ", %" PRId64 ", %" PRId64 ", %s]\n",
                             f.result_shape, s->n, bench_conv_rows(s), bench_conv_columns(s), f.result_shape);
    used += (size_t)snprintf(text + used, size - used,
                             "tensor Y %s [%" PRId64 ", %" PRId64 ", %" PRId64 ", %s]\n"
                             "%s[n, p, q, %s] = %s%s%s%s * %s%s%s\n",
                             bytes ? "u8" : "f32", s->n, bench_conv_rows(s), bench_conv_columns(s),
                             f.result_shape, bytes ? "T" : "Y", f.result, sum, before, image, after, before,
                             weight, after);
    if (bytes)
        snprintf(text + used, size - used, "Y[n, p, q, %s] = u8(round(f32(T[n, p, q, %s]) * scale[%s]))\n",
                 f.result, f.result, f.result);
}

/* ---- the call ---- */

static bool begin_own(struct bench_call *call) {
    const struct bench_convolution *v = call->convolution;
    char text[2048];
    write_program(text, sizeof text, v, call->library->weights_are_arguments);
    return uk_bench_begin_program(call, text, (void *const[]){v->x, v->f, v->scale ? v->scale : v->y, v->y});
}

void uk_bench_own_convolutions(struct bench_library *ours, struct bench_library *plain,
                               const struct uk_arguments *a, const struct bench_conv_options *how) {
    static struct uk_bench_own_options own[2];
    own[0] = (struct uk_bench_own_options){.target = a->target};
    own[1] = (struct uk_bench_own_options){.target = a->target, .plain_loops = true};
    struct bench_library l = {.name = "ukernels",
                              .begin = begin_own,
                              .repeat = uk_bench_repeat_program,
                              .end = uk_bench_end_program,
                              .threads = how->threads,
                              .weights_are_arguments = how->weights_are_arguments};
    l.handle[0] = &own[0];
    snprintf(l.detail, sizeof l.detail, "ukernels %s, %s, %d thread%s, weights %s", uk_version(),
             bench_isas[how->isa].name, how->threads, how->threads > 1 ? "s" : "",
             how->weights_are_arguments ? "packed in each call" : "packed beforehand");
    *ours = *plain = l;
    plain->name = "plain loops";
    plain->handle[0] = &own[1];
    snprintf(plain->detail, sizeof plain->detail, "the same programs without kernels, as of --no-kernels");
}
