/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loads oneDNN. Newer packages compute through SYCL, whose CPU device is Intel's OpenCL library, which only
 * an environment variable names; and they find the libraries that they need only if these have been loaded.
 */
#define _GNU_SOURCE
#include "onednn.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <fcntl.h>
#include <unistd.h>

enum { CPU = 1, IN_ORDER = 1 };

struct version {
    int major, minor, patch;
};

typedef int create_engine(void **engine, int kind, size_t index);
typedef int create_stream(void **stream, void *engine, unsigned flags);

static const char *take(struct bench_library *l, void *library) {
    static const char *const names[ONEDNN_COUNT] = {
        [ONEDNN_ENGINE] = "dnnl_engine_create",
        [ONEDNN_STREAM] = "dnnl_stream_create",
        [ONEDNN_WAIT] = "dnnl_stream_wait",
        [ONEDNN_DESC] = "dnnl_memory_desc_create_with_strides",
        [ONEDNN_DESC_BY_TAG] = "dnnl_memory_desc_create_with_tag",
        [ONEDNN_FREE_DESC] = "dnnl_memory_desc_destroy",
        [ONEDNN_DESC_SIZE] = "dnnl_memory_desc_get_size",
        [ONEDNN_DESC_EQUAL] = "dnnl_memory_desc_equal",
        [ONEDNN_QUERY] = "dnnl_primitive_desc_query",
        [ONEDNN_QUERY_DESC] = "dnnl_primitive_desc_query_md",
        [ONEDNN_MATMUL] = "dnnl_matmul_primitive_desc_create",
        [ONEDNN_CONVOLUTION] = "dnnl_convolution_forward_primitive_desc_create",
        [ONEDNN_REORDER] = "dnnl_reorder_primitive_desc_create",
        [ONEDNN_FREE_KIND] = "dnnl_primitive_desc_destroy",
        [ONEDNN_PRIMITIVE] = "dnnl_primitive_create",
        [ONEDNN_FREE_PRIMITIVE] = "dnnl_primitive_destroy",
        [ONEDNN_MEMORY] = "dnnl_memory_create",
        [ONEDNN_FREE_MEMORY] = "dnnl_memory_destroy",
        [ONEDNN_EXECUTE] = "dnnl_primitive_execute",
        [ONEDNN_ATTRIBUTES] = "dnnl_primitive_attr_create",
        [ONEDNN_FREE_ATTRIBUTES] = "dnnl_primitive_attr_destroy",
        [ONEDNN_SET_SCALES] = "dnnl_primitive_attr_set_scales_mask",
        [ONEDNN_VERSION] = "dnnl_version",
        [ONEDNN_INSTRUCTIONS] = "dnnl_get_effective_cpu_isa",
    };
    for (int i = 0; i < ONEDNN_COUNT; i++) {
        BENCH_FUNCTION(library, names[i], l->function[i]);
        if (!l->function[i])
            return names[i];
    }
    return NULL;
}

static void *load(const char *directory, const char *path) {
    static const char *const needed[] = {"libintlc.so.5", "libsvml.so", "libimf.so", "libtbb.so.12",
                                         "libsycl.so."};
    char found[4096];
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    for (size_t i = 0; i < sizeof needed / sizeof *needed && !library; i++)
        if (bench_find_library(directory, needed[i], found, sizeof found))
            dlopen(found, RTLD_NOW | RTLD_LOCAL);
    return library ? library : dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

bool bench_onednn_duplicate(const char *path, char *copied, size_t size) {
    struct stat s;
    const int from = open(path, O_RDONLY | O_CLOEXEC), to = memfd_create("oneDNN", MFD_CLOEXEC);
    bool done = from >= 0 && to >= 0 && !fstat(from, &s);
    for (off_t at = 0; done && at < s.st_size;)
        done = sendfile(to, from, &at, (size_t)(s.st_size - at)) > 0;
    if (from >= 0)
        close(from);
    snprintf(copied, size, "/proc/self/fd/%d", to);
    return done;
}

bool bench_onednn_load(struct bench_library *l, const char *directory, const char *path, const char *suffix) {
    char device[4096];
    l->missing = true;
    if (bench_find_library(directory, "libintelocl.so", device, sizeof device))
        setenv("OCL_ICD_FILENAMES", device, 0);
    void *library = load(directory, path);
    const char *lacking = library ? take(l, library) : NULL;
    if (!library || lacking) {
        snprintf(l->detail, sizeof l->detail, "%s%s", library ? "the library lacks " : "",
                 library ? lacking : dlerror());
        return false;
    }
    if (((create_engine *)l->function[ONEDNN_ENGINE])(&l->handle[0], CPU, 0) ||
        ((create_stream *)l->function[ONEDNN_STREAM])(&l->handle[1], l->handle[0], IN_ORDER)) {
        snprintf(l->detail, sizeof l->detail, "dnnl_engine_create finds no CPU");
        return false;
    }
    const struct version *v = ((const struct version *(*)(void))l->function[ONEDNN_VERSION])();
    snprintf(l->detail, sizeof l->detail, "oneDNN %d.%d.%d%s", v->major, v->minor, v->patch, suffix);
    l->missing = false;
    return true;
}
