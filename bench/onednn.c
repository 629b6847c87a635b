/* SPDX-License-Identifier: Apache-2.0 */
/*
 * oneDNN's matmul primitive, through the C interface of version 3, whose types are declared below as far as
 * they are used.
 *
 * The primitive, its memory objects and the list of arguments are created once, so that a call is one
 * dnnl_primitive_execute, which oneDNN's own benchmark times, too. Weights are in the plain layout, not in
 * oneDNN's packed one. oneDNN has no f64 product on CPUs; accumulation into C is not measured.
 */
#define _GNU_SOURCE
#include "bench.h"
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

enum { F32 = 3, CPU = 1, IN_ORDER = 1, SOURCE = 1, DESTINATION = 17, WEIGHTS = 33 };

struct version {
    int major, minor, patch;
};

struct argument {
    int index;
    void *memory;
};

/* The library's functions. Those that return an int return 0 on success. */
enum {
    ENGINE,
    STREAM,
    DESC,
    FREE_DESC,
    MATMUL,
    FREE_MATMUL,
    PRIMITIVE,
    FREE_PRIMITIVE,
    MEMORY,
    FREE_MEMORY,
    EXECUTE,
    VERSION,
    COUNT
};

_Static_assert((int)COUNT <= (int)BENCH_FUNCTIONS, "a library's table holds them");

typedef int create_engine(void **engine, int kind, size_t index);
typedef int create_stream(void **stream, void *engine, unsigned flags);
typedef int create_desc(void **desc, int dimensions, const int64_t *sizes, int type, const int64_t *strides);
typedef int create_matmul(void **matmul, void *engine, const void *source, const void *weights,
                          const void *bias, const void *destination, const void *attributes);
typedef int create_primitive(void **primitive, const void *matmul);
typedef int create_memory(void **memory, const void *desc, void *engine, void *data);
typedef int execute(const void *primitive, void *stream, int arguments, const struct argument *argument);
typedef int destroy(void *what);

/* The state of a call: the primitive and its three memory objects. */
enum { SOURCE_MEMORY, WEIGHTS_MEMORY, DESTINATION_MEMORY, THE_PRIMITIVE };

static void *desc_of(const struct bench_library *l, int64_t rows, int64_t columns, int64_t ld,
                     bool transposed) {
    int64_t sizes[12] = {rows, columns}, strides[12] = {transposed ? 1 : ld, transposed ? ld : 1};
    void *desc = NULL;
    return ((create_desc *)l->function[DESC])(&desc, 2, sizes, F32, strides) ? NULL : desc;
}

static void end_onednn(struct bench_call *call) {
    bench_function *const *f = call->library->function;
    for (int i = SOURCE_MEMORY; i <= DESTINATION_MEMORY; i++)
        if (call->state[i])
            ((destroy *)f[FREE_MEMORY])(call->state[i]);
    if (call->state[THE_PRIMITIVE])
        ((destroy *)f[FREE_PRIMITIVE])(call->state[THE_PRIMITIVE]);
}

/* Creates the primitive and its memory objects for three descriptions. */
static bool make(struct bench_call *call, void *const desc[3]) {
    const struct bench_library *l = call->library;
    const struct bench_product *p = call->product;
    bench_function *const *f = l->function;
    void *const data[] = {(void *)(uintptr_t)p->a, (void *)(uintptr_t)p->b, p->c};
    void *matmul = NULL;
    if (((create_matmul *)f[MATMUL])(&matmul, l->handle[0], desc[0], desc[1], NULL, desc[2], NULL))
        return false;
    bool made = !((create_primitive *)f[PRIMITIVE])(&call->state[THE_PRIMITIVE], matmul);
    ((destroy *)f[FREE_MATMUL])(matmul);
    for (int i = 0; i < 3 && made; i++)
        made = !((create_memory *)f[MEMORY])(&call->state[i], desc[i], l->handle[0], data[i]);
    return made;
}

static bool begin_onednn(struct bench_call *call) {
    const struct bench_library *l = call->library;
    const struct bench_product *p = call->product;
    if (p->type != BENCH_F32 || p->beta != 0)
        return false;
    void *desc[3] = {desc_of(l, p->m, p->k, p->lda, p->a_transposed),
                     desc_of(l, p->k, p->n, p->ldb, p->b_transposed), desc_of(l, p->m, p->n, p->ldc, false)};
    bool made = desc[0] && desc[1] && desc[2] && make(call, desc);
    for (int i = 0; i < 3; i++)
        if (desc[i])
            ((destroy *)l->function[FREE_DESC])(desc[i]);
    if (!made)
        end_onednn(call);
    return made;
}

static void repeat_onednn(struct bench_call *call, long calls) {
    const struct bench_library *l = call->library;
    const struct argument arguments[] = {{SOURCE, call->state[SOURCE_MEMORY]},
                                         {WEIGHTS, call->state[WEIGHTS_MEMORY]},
                                         {DESTINATION, call->state[DESTINATION_MEMORY]}};
    execute *run = (execute *)l->function[EXECUTE];
    for (long i = 0; i < calls; i++)
        run(call->state[THE_PRIMITIVE], l->handle[1], 3, arguments);
}

static const char *take(struct bench_library *l, void *library) {
    static const char *const names[COUNT] = {"dnnl_engine_create",
                                             "dnnl_stream_create",
                                             "dnnl_memory_desc_create_with_strides",
                                             "dnnl_memory_desc_destroy",
                                             "dnnl_matmul_primitive_desc_create",
                                             "dnnl_primitive_desc_destroy",
                                             "dnnl_primitive_create",
                                             "dnnl_primitive_destroy",
                                             "dnnl_memory_create",
                                             "dnnl_memory_destroy",
                                             "dnnl_primitive_execute",
                                             "dnnl_version"};
    for (int i = 0; i < COUNT; i++) {
        BENCH_FUNCTION(library, names[i], l->function[i]);
        if (!l->function[i])
            return names[i];
    }
    return NULL;
}

void bench_onednn_open(struct bench_library *l, const char *directory, int threads) {
    char path[4096];
    *l = (struct bench_library){.name = "oneDNN",
                                .missing = true,
                                .forms = {[BENCH_CALL] = true},
                                .begin = begin_onednn,
                                .repeat = repeat_onednn,
                                .end = end_onednn};
    /* The build for GNU's OpenMP: SYCL adds 4 us to every call. */
    if (!bench_find_library(directory, "libdnnl.so.3.2", path, sizeof path)) {
        snprintf(l->detail, sizeof l->detail, "not installed; ./uk-setup peers installs it");
        return;
    }
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    const char *lacking = library ? take(l, library) : NULL;
    if (!library || lacking) {
        snprintf(l->detail, sizeof l->detail, "%s%s", library ? "the library lacks " : "",
                 library ? lacking : dlerror());
        return;
    }
    if (((create_engine *)l->function[ENGINE])(&l->handle[0], CPU, 0) ||
        ((create_stream *)l->function[STREAM])(&l->handle[1], l->handle[0], IN_ORDER)) {
        snprintf(l->detail, sizeof l->detail, "dnnl_engine_create finds no CPU");
        return;
    }
    const struct version *v = ((const struct version *(*)(void))l->function[VERSION])();
    snprintf(l->detail, sizeof l->detail, "oneDNN %d.%d.%d matmul, primitive made beforehand, %d thread%s",
             v->major, v->minor, v->patch, threads, threads > 1 ? "s" : "");
    l->missing = false;
}
