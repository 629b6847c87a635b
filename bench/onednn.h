/* SPDX-License-Identifier: Apache-2.0 */
/* oneDNN's C interface of version 3, as far as it is used: its types are declared here. */
#ifndef BENCH_ONEDNN_H
#define BENCH_ONEDNN_H

#include "bench.h"

/* Types of elements, kinds of engines and streams, indices of arguments, of dnnl_types.h. */
enum { ONEDNN_F16 = 1, ONEDNN_BF16 = 2, ONEDNN_F32 = 3, ONEDNN_S32 = 4, ONEDNN_S8 = 5, ONEDNN_U8 = 6 };
enum { ONEDNN_SOURCE = 1, ONEDNN_DESTINATION = 17, ONEDNN_WEIGHTS = 33, ONEDNN_SCALES = 4096 };
/* The format tag of any layout; queries. */
enum { ONEDNN_ANY = 1 };
enum { ONEDNN_QUERY_SOURCE = 129, ONEDNN_QUERY_WEIGHTS = 131, ONEDNN_QUERY_DESTINATION = 133 };

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
    ONEDNN_INSTRUCTIONS, /* returns the instruction sets that it uses */
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
typedef int onednn_desc_by_tag(void **desc, int dimensions, const int64_t *sizes, int type, int tag);
typedef const void *onednn_query_desc(const void *kind, int what, int index);
typedef size_t onednn_desc_size(const void *desc);

/* ---- onednn_copy.c ---- */

bool bench_onednn_make_memory(const struct bench_library *l, const void *desc, void *data, void **memory);
/* NULL: does nothing. */
void bench_onednn_free_memory(const struct bench_library *l, void *memory);

/* A copy between layouts. */
struct onednn_copy {
    void *kind, *primitive, *from, *to; /* the last two: memory objects */
};

/* Makes the copy; free it also if that fails. */
bool bench_onednn_make_copy(const struct bench_library *l, struct onednn_copy *c, const void *from_desc,
                            void *from, const void *to_desc, void *to);
/* Begins the copy. */
bool bench_onednn_run_copy(const struct bench_library *l, const struct onednn_copy *c);
void bench_onednn_free_copy(const struct bench_library *l, const struct onednn_copy *c);
/* Copies once, to the end. */
bool bench_onednn_copy(const struct bench_library *l, const void *from_desc, void *from, const void *to_desc,
                       void *to);
/* True unless the primitive is a plain loop, which takes seconds where a kernel takes milliseconds. */
bool bench_onednn_has_kernel(const struct bench_library *l, const void *kind);

/* ---- onednn_load.c ---- */

/* Copies the library's file to memory, and writes the path of the copy, which lasts as long as the process.
 * Loaded besides the library, it has settings of its own. False: no memory, or the file cannot be read. */
bool bench_onednn_duplicate(const char *path, char *copied, size_t size);
/* Loads the library of that path with what it needs below the directory; fills l->function and, with an
 * engine and a stream, l->handle. False: l->detail says why not. The detail otherwise begins with the
 * version; `suffix` follows. */
bool bench_onednn_load(struct bench_library *l, const char *directory, const char *path, const char *suffix);

#endif
