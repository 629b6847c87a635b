/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ONNX Runtime's Conv and QLinearConv: a session of one node with constant weights, all optimizations. Its
 * operands are NCHW. If it computes in blocks of channels, it copies image and result in each call, which in
 * a network it does only where other layouts meet.
 */
#include "onnxruntime.h"
#include "onnx_model.h"
#include <stdlib.h>
#include <string.h>

struct operands {
    void *session, *x, *y; /* x, y: values of ONNX Runtime */
    unsigned char *image, *result;
};

/* Transposes each of n images of rows and columns: NHWC to NCHW, or back. */
static void transpose(unsigned char *to, const unsigned char *from, int64_t n, int64_t rows, int64_t columns,
                      size_t size) {
    for (int64_t image = 0; image < n; image++)
        for (int64_t i = 0; i < rows; i++)
            for (int64_t j = 0; j < columns; j++)
                memcpy(to + (size_t)((image * columns + j) * rows + i) * size,
                       from + (size_t)((image * rows + i) * columns + j) * size, size);
}

static size_t element_bytes(const struct bench_convolution *v) {
    return v->type == BENCH_CONV_F32 ? sizeof(float) : 1;
}

static void end_session(struct bench_call *call) {
    bench_function *const *f = call->library->function;
    struct operands *o = call->state[0];
    if (o->x)
        ((onnxruntime_destroy *)f[ONNXRUNTIME_FREE_VALUE])(o->x);
    if (o->y)
        ((onnxruntime_destroy *)f[ONNXRUNTIME_FREE_VALUE])(o->y);
    if (o->session)
        ((onnxruntime_destroy *)f[ONNXRUNTIME_FREE_SESSION])(o->session);
    free(o->image);
    free(o->result);
    free(o);
}

static bool make_operands(const struct bench_call *call, struct operands *o) {
    const struct bench_library *l = call->library;
    const struct bench_convolution *v = call->convolution;
    const struct bench_conv_shape *s = v->shape;
    size_t length;
    void *model = bench_onnx_model(v, &length);
    const int type = v->type == BENCH_CONV_F32 ? ONNX_FLOAT : ONNX_UINT8;
    const int64_t x[] = {s->n, s->c, s->h, s->w},
                  y[] = {s->n, s->o, bench_conv_rows(s), bench_conv_columns(s)};
    onnxruntime_create_tensor *tensor = (onnxruntime_create_tensor *)l->function[ONNXRUNTIME_TENSOR];
    o->image = aligned_alloc(4096, (v->x_bytes + 4095) / 4096 * 4096);
    o->result = aligned_alloc(4096, (v->y_bytes + 4095) / 4096 * 4096);
    if (model)
        o->session = bench_onnxruntime_session(l, model, length);
    free(model);
    if (!o->image || !o->result || !o->session)
        return false;
    transpose(o->image, v->x, s->n, s->h * s->w, s->c, element_bytes(v));
    return bench_onnxruntime_succeeded(l, tensor(l->handle[1], o->image, v->x_bytes, x, 4, type, &o->x)) &&
           bench_onnxruntime_succeeded(l, tensor(l->handle[1], o->result, v->y_bytes, y, 4, type, &o->y));
}

static void repeat_session(struct bench_call *call, long calls) {
    static const char *const inputs[] = {"x"}, *const outputs[] = {"y"};
    const struct bench_library *l = call->library;
    struct operands *o = call->state[0];
    const void *const input[] = {o->x};
    for (long i = 0; i < calls; i++)
        bench_onnxruntime_succeeded(l, ((onnxruntime_run *)l->function[ONNXRUNTIME_RUN])(
                                           o->session, NULL, inputs, input, 1, outputs, 1, &o->y));
}

static bool begin_session(struct bench_call *call) {
    struct operands *o = call->state[0] = calloc(1, sizeof *o);
    if (!o)
        return false;
    if (make_operands(call, o))
        return true;
    end_session(call);
    return false;
}

static void take_result(struct bench_call *call) {
    const struct operands *o = call->state[0];
    const struct bench_convolution *v = call->convolution;
    const struct bench_conv_shape *s = v->shape;
    transpose(v->y, o->result, s->n, s->o, bench_conv_rows(s) * bench_conv_columns(s), element_bytes(v));
}

void bench_onnxruntime_open(struct bench_library *l, const char *directory, int threads) {
    *l = (struct bench_library){.name = "ONNX Runtime",
                                .missing = true,
                                .begin = begin_session,
                                .repeat = repeat_session,
                                .end = end_session,
                                .take_result = take_result,
                                .threads = threads};
    bench_onnxruntime_load(l, directory, ", NCHW");
}
