/* SPDX-License-Identifier: Apache-2.0 */
/* Loads ONNX Runtime, and makes sessions. */
#define _GNU_SOURCE
#include "onnxruntime.h"
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

/* Places in the table, struct OrtApi of onnxruntime_c_api.h. */
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
typedef void *create_options(void **options);
typedef void *set_threads(void *options, int threads);
typedef void *create_memory_info(int allocator, int kind, void **memory);

/* Of l->function. */
static const int places[ONNXRUNTIME_COUNT] = {CREATE_SESSION, RUN,           CREATE_OPTIONS,
                                              SET_THREADS,    CREATE_TENSOR, FREE_STATUS,
                                              FREE_SESSION,   FREE_VALUE,    FREE_OPTIONS};
bool bench_onnxruntime_succeeded(const struct bench_library *l, void *status) {
    if (status)
        ((onnxruntime_destroy *)l->function[ONNXRUNTIME_FREE_STATUS])(status);
    return !status;
}

void *bench_onnxruntime_session(const struct bench_library *l, const void *model, size_t length) {
    void *options = NULL, *session = NULL;
    if (bench_onnxruntime_succeeded(l, ((create_options *)l->function[ONNXRUNTIME_OPTIONS])(&options)) &&
        bench_onnxruntime_succeeded(l,
                                    ((set_threads *)l->function[ONNXRUNTIME_THREADS])(options, l->threads)) &&
        !bench_onnxruntime_succeeded(l, ((create_session *)l->function[ONNXRUNTIME_SESSION])(
                                            l->handle[0], model, length, options, &session)))
        session = NULL;
    if (options)
        ((onnxruntime_destroy *)l->function[ONNXRUNTIME_FREE_OPTIONS])(options);
    return session;
}

void bench_onnxruntime_load(struct bench_library *l, const char *directory, const char *suffix) {
    static const char prefix[] = "libonnxruntime.so.";
    char path[4096];
    const struct base *(*get_base)(void);
    bench_function *const *table = NULL;
    l->missing = true;
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
    for (int i = 0; i < ONNXRUNTIME_COUNT; i++)
        l->function[i] = table[places[i]];
    if (!bench_onnxruntime_succeeded(
            l, ((create_environment *)table[CREATE_ENVIRONMENT])(ERRORS_ONLY, "uk", &l->handle[0])) ||
        !bench_onnxruntime_succeeded(
            l, ((create_memory_info *)table[CREATE_MEMORY_INFO])(0, 0, &l->handle[1]))) {
        snprintf(l->detail, sizeof l->detail, "CreateEnv fails");
        return;
    }
    snprintf(l->detail, sizeof l->detail, "ONNX Runtime %s%s", get_base()->version(), suffix);
    l->missing = false;
}
