/* SPDX-License-Identifier: Apache-2.0 */
/* Our convolution as programs call it, uk_sconv2d_run, as a contender of uk bench conv. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "conv.h"
#include "ukernels.h"

/* What a call needs: its plan, and memory from aligned_alloc. */
struct called {
    struct uk_conv2d_plan plan;
    float *packed; /* NULL: weights are packed in each call */
    void *workspace;
    size_t bytes;
};

static void end_called(struct bench_call *call) {
    struct called *c = call->state[0];
    free(c->packed);
    free(c->workspace);
    free(c);
}

static void *take(size_t bytes) {
    return aligned_alloc(64, (bytes + 63) / 64 * 64);
}

static enum uk_status prepare(struct called *c, const struct bench_convolution *v, int threads,
                              bool weights_packed) {
    const struct bench_conv_shape *s = v->shape;
    const int64_t above = bench_conv_above(s), left = bench_conv_left(s),
                  rows = (bench_conv_rows(s) - 1) * s->stride + (s->r - 1) * s->dilation + 1,
                  columns = (bench_conv_columns(s) - 1) * s->stride + (s->s - 1) * s->dilation + 1;
    const struct uk_conv2d shape = {.n = s->n,
                                    .h = s->h,
                                    .w = s->w,
                                    .c = s->c,
                                    .o = s->o,
                                    .r = s->r,
                                    .s = s->s,
                                    .stride_h = s->stride,
                                    .stride_w = s->stride,
                                    .dilation_h = s->dilation,
                                    .dilation_w = s->dilation,
                                    .pad_top = above,
                                    .pad_bottom = rows > above + s->h ? rows - above - s->h : 0,
                                    .pad_left = left,
                                    .pad_right = columns > left + s->w ? columns - left - s->w : 0,
                                    .groups = s->groups};
    const struct uk_conv2d_options options = {.threads = threads, .weights_packed = weights_packed};
    enum uk_status status = uk_sconv2d_plan(&c->plan, &shape, &options);
    if (status)
        return status;
    c->bytes = uk_conv2d_workspace(&c->plan);
    if (c->bytes && !(c->workspace = take(c->bytes)))
        return UK_OUT_OF_MEMORY;
    if (!weights_packed)
        return UK_OK;
    c->packed = take(uk_conv2d_packed_weights_size(&c->plan));
    return c->packed ? uk_sconv2d_pack_weights(&c->plan, v->f, c->packed) : UK_OUT_OF_MEMORY;
}

static bool begin_called(struct bench_call *call) {
    const struct bench_library *l = call->library;
    struct called *c = call->state[0] = calloc(1, sizeof *c);
    if (!c)
        return false;
    const enum uk_status status = prepare(c, call->convolution, l->threads, !l->weights_are_arguments);
    if (!status)
        return true;
    fprintf(stderr, "%s\n", *uk_last_message() ? uk_last_message() : uk_status_text(status));
    end_called(call);
    return false;
}

/* A call that fails leaves Y as it was, which the check finds. */
static void repeat_called(struct bench_call *call, long calls) {
    const struct called *c = call->state[0];
    const struct bench_convolution *v = call->convolution;
    for (long i = 0; i < calls; i++)
        uk_sconv2d_run(&c->plan, v->x, c->packed ? c->packed : v->f, v->y, NULL, c->workspace, c->bytes);
}

void uk_bench_called_convolutions(struct bench_library *called, const struct bench_conv_options *how) {
    *called = (struct bench_library){.name = "called",
                                     .missing = how->type != BENCH_CONV_F32,
                                     .begin = begin_called,
                                     .repeat = repeat_called,
                                     .end = end_called,
                                     .threads = how->threads,
                                     .weights_are_arguments = how->weights_are_arguments};
    if (called->missing)
        snprintf(called->detail, sizeof called->detail, "only f32 can be called");
    else
        snprintf(called->detail, sizeof called->detail, "uk_sconv2d_run of ukernels %s, %s, %d thread%s",
                 uk_version(), bench_isas[how->isa].name, how->threads, how->threads > 1 ? "s" : "");
}
