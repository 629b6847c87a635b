/* SPDX-License-Identifier: Apache-2.0 */
/* oneDNN's C interface of version 3, as far as it is used: its types are declared here. */
#ifndef BENCH_ONEDNN_H
#define BENCH_ONEDNN_H

#include "bench.h"

/* Types of elements, kinds of engines and streams, indices of arguments, of dnnl_types.h. */
enum { ONEDNN_F32 = 3, ONEDNN_S8 = 5, ONEDNN_U8 = 6 };
enum { ONEDNN_SOURCE = 1, ONEDNN_DESTINATION = 17, ONEDNN_WEIGHTS = 33, ONEDNN_SCALES = 4096 };

struct onednn_argument {
    int index;
    void *memory;
};

/* The library's functions. Those that return an int return 0 on success. */
enum {
    ONEDNN_ENGINE,
    ONEDNN_STREAM,
    ONEDNN_WAIT,
    ONEDNN_DESC,
    ONEDNN_DESC_BY_TAG,
    ONEDNN_FREE_DESC,
    ONEDNN_DESC_SIZE,
    ONEDNN_DESC_EQUAL, /* returns 1 if it is */
    ONEDNN_QUERY,
    ONEDNN_QUERY_DESC,
    ONEDNN_MATMUL,
    ONEDNN_CONVOLUTION,
    ONEDNN_REORDER,
    ONEDNN_FREE_KIND,
    ONEDNN_PRIMITIVE,
    ONEDNN_FREE_PRIMITIVE,
    ONEDNN_MEMORY,
    ONEDNN_FREE_MEMORY,
    ONEDNN_EXECUTE,
    ONEDNN_ATTRIBUTES,
    ONEDNN_FREE_ATTRIBUTES,
    ONEDNN_SET_SCALES,
    ONEDNN_VERSION,
    ONEDNN_COUNT
};

_Static_assert((int)ONEDNN_COUNT <= (int)BENCH_FUNCTIONS, "a library's table holds them");

typedef int onednn_desc(void **desc, int dimensions, const int64_t *sizes, int type, const int64_t *strides);
typedef int onednn_matmul(void **kind, void *engine, const void *source, const void *weights,
                          const void *bias, const void *destination, const void *attributes);
typedef int onednn_primitive(void **primitive, const void *kind);
typedef int onednn_memory(void **memory, const void *desc, void *engine, void *data);
typedef int onednn_execute(const void *primitive, void *stream, int arguments,
                           const struct onednn_argument *argument);
typedef int onednn_wait(void *stream);
typedef int onednn_destroy(void *what);

/* Loads the library of that path with what it needs below the directory; fills l->function and, with an
 * engine and a stream, l->handle. False: l->detail says why not. The detail otherwise begins with the
 * version; `suffix` follows. */
bool bench_onednn_load(struct bench_library *l, const char *directory, const char *path, const char *suffix);

#endif
