/* SPDX-License-Identifier: Apache-2.0 */
/* ONNX Runtime, as far as it is used. Its interface is a table of functions, to which versions append; those
 * that return a pointer and make something return NULL on success. */
#ifndef BENCH_ONNXRUNTIME_H
#define BENCH_ONNXRUNTIME_H

#include "bench.h"

/* Indices of l->function. l->handle[0] is the environment, l->handle[1] the memory of this process. */
enum {
    ONNXRUNTIME_SESSION,
    ONNXRUNTIME_RUN,
    ONNXRUNTIME_OPTIONS,
    ONNXRUNTIME_THREADS,
    ONNXRUNTIME_TENSOR,
    ONNXRUNTIME_FREE_STATUS,
    ONNXRUNTIME_FREE_SESSION,
    ONNXRUNTIME_FREE_VALUE,
    ONNXRUNTIME_FREE_OPTIONS,
    ONNXRUNTIME_COUNT
};

typedef void *onnxruntime_run(void *session, const void *options, const char *const *inputs,
                              const void *const *input, size_t input_count, const char *const *outputs,
                              size_t output_count, void **output);
typedef void *onnxruntime_create_tensor(const void *memory, void *data, size_t bytes, const int64_t *shape,
                                        size_t dims, int type, void **value);
typedef void onnxruntime_destroy(void *what);

/* Finds it below the directory or .venv-networks, and loads it. Sets l->missing, and a detail that ends in
 * the suffix, or says why it is missing. */
void bench_onnxruntime_load(struct bench_library *l, const char *directory, const char *suffix);
/* A session of a serialized model, with l->threads threads. NULL: it cannot compute that. */
void *bench_onnxruntime_session(const struct bench_library *l, const void *model, size_t length);
/* True on success; frees the status otherwise. */
bool bench_onnxruntime_succeeded(const struct bench_library *l, void *status);

#endif
