/* SPDX-License-Identifier: Apache-2.0 */
/* Our own convolutions as contenders of uk bench conv: programs, compiled for the shape. Constant weights are
 * packed before the time is taken, as networks do it. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "conv.h"
#include "tensorize.h"

/* How the programs are compiled; handle[0] of the library. */
struct own_options {
    const char *target;
    bool plain_loops;
};

struct own {
    struct uk_context *context;
    struct uk_program *program;
    struct uk_module *module;
    void *packed;
    void *tensors[4]; /* arguments, in order */
    char kernels[512];
};

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

static void end_own(struct bench_call *call) {
    struct own *o = call->state[0];
    uk_module_destroy(o->module);
    uk_program_destroy(o->program);
    uk_context_destroy(o->context);
    free(o->packed);
    free(o);
}

static void list_kernels(struct own *o) {
    size_t used = 0;
    for (int i = 0; uk_module_kernel(o->module, i) && used < sizeof o->kernels; i++)
        used += (size_t)snprintf(o->kernels + used, sizeof o->kernels - used, "%s%s", i ? ", " : "",
                                 uk_module_kernel(o->module, i));
}

/* Packs the weights, tensor 1, if they are constant. */
static enum uk_status pack(struct own *o, const struct bench_convolution *v, bool weights_are_arguments) {
    const bool bytes = v->type == BENCH_CONV_U8I8;
    void *const tensors[] = {v->x, v->f, bytes ? v->scale : v->y, v->y};
    memcpy(o->tensors, tensors, sizeof tensors);
    if (weights_are_arguments)
        return UK_OK;
    const int64_t size = uk_module_packed_bytes(o->module, NULL, 1);
    if (size < 0)
        return UK_INVALID_SIZE;
    o->tensors[1] = o->packed = aligned_alloc(4096, ((size_t)size + 4095) / 4096 * 4096 + 4096);
    return o->packed ? (enum uk_status)uk_module_pack(o->module, NULL, 1, v->f, o->packed) : UK_OUT_OF_MEMORY;
}

static bool begin_own(struct bench_call *call) {
    const struct own_options *how = call->library->handle[0];
    const bool weights_are_arguments = call->library->weights_are_arguments;
    const struct uk_options options = {
        .target = how->target, .plain_loops = how->plain_loops, .threads = call->library->threads};
    struct own *o = call->state[0] = calloc(1, sizeof *o);
    char text[2048];
    if (!o || !(o->context = uk_context_create())) {
        free(o);
        return false;
    }
    write_program(text, sizeof text, call->convolution, weights_are_arguments);
    enum uk_status status = uk_program_parse(o->context, "convolution.uk", text, strlen(text), &o->program);
    if (!status)
        status = uk_compile(o->program, &options, &o->module);
    if (!status)
        status = pack(o, call->convolution, weights_are_arguments);
    if (!status) {
        list_kernels(o);
        return true;
    }
    const char *message = uk_context_message(o->context);
    fprintf(stderr, "%s\n%s", *message ? message : uk_status_text(status), text);
    end_own(call);
    return false;
}

/* A call that fails leaves Y as it was, which the check finds. */
static void repeat_own(struct bench_call *call, long calls) {
    const struct own *o = call->state[0];
    for (long i = 0; i < calls; i++)
        uk_module_call(o->module, NULL, NULL, o->tensors);
}

const char *uk_bench_own_kernels(const struct bench_call *call) {
    return ((const struct own *)call->state[0])->kernels;
}

void uk_bench_own_convolutions(struct bench_library *ours, struct bench_library *plain,
                               const struct uk_arguments *a, const struct bench_conv_options *how) {
    static struct own_options own[2];
    own[0] = (struct own_options){.target = a->target};
    own[1] = (struct own_options){.target = a->target, .plain_loops = true};
    struct bench_library l = {.name = "ukernels",
                              .begin = begin_own,
                              .repeat = repeat_own,
                              .end = end_own,
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
