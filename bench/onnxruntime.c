/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ONNX Runtime's Conv and QLinearConv: a session of one node with constant weights, all optimizations. Its
 * operands are NCHW. If it computes in blocks of channels, it copies image and result in each call, which in
 * a network it does only where other layouts meet.
 *
 * The library's interface is a table of functions, to which versions append.
 */
#define _GNU_SOURCE
#include "bench.h"
#include "onnx_model.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Places in the table, struct OrtApi of onnxruntime_c_api.h. Functions that return a pointer and make
 * something return NULL on success. */
enum {
    CREATE_ENVIRONMENT = 3,
    CREATE_SESSION = 8,
    RUN = 9,
    CREATE_OPTIONS = 10,
    SET_THREADS = 24,
    CREATE_TENSOR = 49,
    CREATE_MEMORY_INFO = 69,
    FREE_STATUS = 93,
    FREE_SESSION = 95,
    FREE_VALUE = 96,
    FREE_OPTIONS = 100,
    LEAST_VERSION = 11, /* of the table */
    ERRORS_ONLY = 3     /* level of messages */
};

struct base {
    bench_function *const *(*table)(uint32_t version);
    const char *(*version)(void);
};

typedef void *create_environment(int level, const char *name, void **environment);
typedef void *create_session(const void *environment, const void *model, size_t length, const void *options,
                             void **session);
typedef void *run(void *session, const void *options, const char *const *inputs, const void *const *input,
                  size_t input_count, const char *const *outputs, size_t output_count, void **output);
typedef void *create_options(void **options);
typedef void *set_threads(void *options, int threads);
typedef void *create_tensor(const void *memory, void *data, size_t bytes, const int64_t *shape, size_t dims,
                            int type, void **value);
typedef void *create_memory_info(int allocator, int kind, void **memory);
typedef void destroy(void *what);

/* handle[0]: the environment; handle[1]: the memory of this process. The table is in `function`, by these
 * indices. */
static const int places[] = {CREATE_SESSION, RUN,          CREATE_OPTIONS, SET_THREADS, CREATE_TENSOR,
                             FREE_STATUS,    FREE_SESSION, FREE_VALUE,     FREE_OPTIONS};
enum {
    T_SESSION,
    T_RUN,
    T_OPTIONS,
    T_THREADS,
    T_TENSOR,
    T_FREE_STATUS,
    T_FREE_SESSION,
    T_FREE_VALUE,
    T_FREE_OPTIONS
};

struct operands {
    void *session, *x, *y; /* x, y: values of ONNX Runtime */
    unsigned char *image, *result;
};

/* True on success; frees the status otherwise. */
static bool succeeded(const struct bench_library *l, void *status) {
    if (status)
        ((destroy *)l->function[T_FREE_STATUS])(status);
    return !status;
}

static void *open_session(const struct bench_library *l, const struct bench_convolution *v) {
    void *options = NULL, *session = NULL;
    size_t length;
    void *model = bench_onnx_model(v, &length);
    if (model && succeeded(l, ((create_options *)l->function[T_OPTIONS])(&options)) &&
        succeeded(l, ((set_threads *)l->function[T_THREADS])(options, l->threads)) &&
        !succeeded(
            l, ((create_session *)l->function[T_SESSION])(l->handle[0], model, length, options, &session)))
        session = NULL;
    if (options)
        ((destroy *)l->function[T_FREE_OPTIONS])(options);
    free(model);
    return session;
}

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
        ((destroy *)f[T_FREE_VALUE])(o->x);
    if (o->y)
        ((destroy *)f[T_FREE_VALUE])(o->y);
    if (o->session)
        ((destroy *)f[T_FREE_SESSION])(o->session);
    free(o->image);
    free(o->result);
    free(o);
}

static bool make_operands(const struct bench_call *call, struct operands *o) {
    const struct bench_library *l = call->library;
    const struct bench_convolution *v = call->convolution;
    const struct bench_conv_shape *s = v->shape;
    const int type = v->type == BENCH_CONV_F32 ? ONNX_FLOAT : ONNX_UINT8;
    const int64_t x[] = {s->n, s->c, s->h, s->w},
                  y[] = {s->n, s->o, bench_conv_rows(s), bench_conv_columns(s)};
    create_tensor *tensor = (create_tensor *)l->function[T_TENSOR];
    o->image = aligned_alloc(4096, (v->x_bytes + 4095) / 4096 * 4096);
    o->result = aligned_alloc(4096, (v->y_bytes + 4095) / 4096 * 4096);
    if (!o->image || !o->result || !(o->session = open_session(l, v)))
        return false;
    transpose(o->image, v->x, s->n, s->h * s->w, s->c, element_bytes(v));
    return succeeded(l, tensor(l->handle[1], o->image, v->x_bytes, x, 4, type, &o->x)) &&
           succeeded(l, tensor(l->handle[1], o->result, v->y_bytes, y, 4, type, &o->y));
}

static void repeat_session(struct bench_call *call, long calls) {
    static const char *const inputs[] = {"x"}, *const outputs[] = {"y"};
    const struct bench_library *l = call->library;
    struct operands *o = call->state[0];
    const void *const input[] = {o->x};
    for (long i = 0; i < calls; i++)
        succeeded(l, ((run *)l->function[T_RUN])(o->session, NULL, inputs, input, 1, outputs, 1, &o->y));
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
    static const char prefix[] = "libonnxruntime.so.";
    char path[4096];
    const struct base *(*get_base)(void);
    bench_function *const *table = NULL;
    *l = (struct bench_library){.name = "ONNX Runtime",
                                .missing = true,
                                .begin = begin_session,
                                .repeat = repeat_session,
                                .end = end_session,
                                .take_result = take_result,
                                .threads = threads};
    if (!bench_find_library(directory, prefix, path, sizeof path) &&
        !bench_find_library(".venv-networks", prefix, path, sizeof path)) {
        snprintf(l->detail, sizeof l->detail, "not installed; ./uk-setup networks installs it");
        return;
    }
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library)
        BENCH_FUNCTION(library, "OrtGetApiBase", get_base);
    if (!library || !get_base || !(table = get_base()->table(LEAST_VERSION))) {
        snprintf(l->detail, sizeof l->detail, "%s", library ? "the library has no OrtGetApiBase" : dlerror());
        return;
    }
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        l->function[i] = table[places[i]];
    if (!succeeded(l, ((create_environment *)table[CREATE_ENVIRONMENT])(ERRORS_ONLY, "uk", &l->handle[0])) ||
        !succeeded(l, ((create_memory_info *)table[CREATE_MEMORY_INFO])(0, 0, &l->handle[1]))) {
        snprintf(l->detail, sizeof l->detail, "CreateEnv fails");
        return;
    }
    snprintf(l->detail, sizeof l->detail, "ONNX Runtime %s, NCHW", get_base()->version());
    l->missing = false;
}
