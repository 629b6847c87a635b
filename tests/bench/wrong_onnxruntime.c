/* SPDX-License-Identifier: Apache-2.0 */
/* An ONNX Runtime whose nodes write zeros, for tests of uk bench ops: it has the functions that
 * bench/onnxruntime_load.c takes from the table, at their places in struct OrtApi. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct value {
    void *data;
    size_t bytes;
};

static void *make_anything(int a, const char *b, void **out) {
    (void)a, (void)b;
    *out = malloc(1);
    return NULL;
}

static void *make_memory(int a, int b, void **out) {
    return make_anything(a + b, NULL, out);
}

static void *make_options(void **out) {
    return make_anything(0, NULL, out);
}

static void *make_session(const void *environment, const void *model, size_t length, const void *options,
                          void **out) {
    (void)environment, (void)model, (void)length, (void)options;
    return make_anything(0, NULL, out);
}

static void *set_threads(void *options, int threads) {
    (void)options, (void)threads;
    return NULL;
}

static void *make_tensor(const void *memory, void *data, size_t bytes, const int64_t *shape, size_t dims,
                         int type, void **out) {
    (void)memory, (void)shape, (void)dims, (void)type;
    struct value *v = malloc(sizeof *v);
    *v = (struct value){data, bytes};
    *out = v;
    return NULL;
}

static void *run(void *session, const void *options, const char *const *inputs, const void *const *input,
                 size_t input_count, const char *const *outputs, size_t output_count, void **output) {
    (void)session, (void)options, (void)inputs, (void)input, (void)input_count, (void)outputs;
    for (size_t i = 0; i < output_count; i++) {
        const struct value *v = output[i];
        memset(v->data, 0, v->bytes);
    }
    return NULL;
}

static void destroy(void *what) {
    free(what);
}

typedef void any(void);

static any *const *table(uint32_t version) {
    static any *const functions[101] = {
        [3] = (any *)make_anything, [8] = (any *)make_session, [9] = (any *)run,
        [10] = (any *)make_options, [24] = (any *)set_threads, [49] = (any *)make_tensor,
        [69] = (any *)make_memory,  [93] = (any *)destroy,     [95] = (any *)destroy,
        [96] = (any *)destroy,      [100] = (any *)destroy};
    (void)version;
    return functions;
}

static const char *version(void) {
    return "of a test";
}

struct base {
    any *const *(*table)(uint32_t);
    const char *(*version)(void);
};

const struct base *OrtGetApiBase(void);

const struct base *OrtGetApiBase(void) {
    static const struct base base = {table, version};
    return &base;
}
