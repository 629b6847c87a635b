/* SPDX-License-Identifier: Apache-2.0 */
/*
 * AMD's HIP and NVIDIA's CUDA driver API. HIP models its module API on CUDA's: the parameters are the same,
 * addresses have 64 bits in both, and most error numbers agree. So one driver serves both through a table of
 * names; a function that only one of them has is NULL in the other's column. Neither SDK is needed to build;
 * the libraries are loaded when a device is opened.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "vendors.h"

/* Member, parameters, HIP's name, CUDA's name; all return an error code, 0 on success. */
#define FUNCTIONS(X)                                                                                   \
    X(init, (unsigned flags), "hipInit", "cuInit")                                                     \
    X(count, (int *devices), "hipGetDeviceCount", "cuDeviceGetCount")                                  \
    X(get_device, (int *device, int ordinal), "hipDeviceGet", "cuDeviceGet")                           \
    X(get_name, (char *name, int size, int device), "hipDeviceGetName", "cuDeviceGetName")             \
    X(set_device, (int ordinal), "hipSetDevice", NULL)                                                 \
    X(retain, (void **context, int device), NULL, "cuDevicePrimaryCtxRetain")                          \
    X(release, (int device), NULL, "cuDevicePrimaryCtxRelease_v2")                                     \
    X(set_context, (void *context), NULL, "cuCtxSetCurrent")                                           \
    X(alloc, (uk_gpu_address * address, size_t bytes), "hipMalloc", "cuMemAlloc_v2")                   \
    X(free, (uk_gpu_address address), "hipFree", "cuMemFree_v2")                                       \
    X(upload, (uk_gpu_address to, const void *from, size_t bytes), "hipMemcpyHtoD", "cuMemcpyHtoD_v2") \
    X(download, (void *to, uk_gpu_address from, size_t bytes), "hipMemcpyDtoH", "cuMemcpyDtoH_v2")     \
    X(fill, (uk_gpu_address to, unsigned char value, size_t bytes), "hipMemsetD8", "cuMemsetD8_v2")    \
    X(load, (void **module, const void *image, unsigned options, int *option, void **value),           \
      "hipModuleLoadDataEx", "cuModuleLoadDataEx")                                                     \
    X(unload, (void *module), "hipModuleUnload", "cuModuleUnload")                                     \
    X(find, (void **function, void *module, const char *name), "hipModuleGetFunction",                 \
      "cuModuleGetFunction")                                                                           \
    X(set_attribute, (void *function, int attribute, int value), NULL, "cuFuncSetAttribute")           \
    X(launch,                                                                                          \
      (void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,   \
       unsigned shared, void *stream, void **parameters, void **extra),                                \
      "hipModuleLaunchKernel", "cuLaunchKernel")                                                       \
    X(wait, (void), "hipDeviceSynchronize", "cuCtxSynchronize")                                        \
    X(event_make, (void **event, unsigned flags), "hipEventCreateWithFlags", "cuEventCreate")          \
    X(event_free, (void *event), "hipEventDestroy", "cuEventDestroy_v2")                               \
    X(record, (void *event, void *stream), "hipEventRecord", "cuEventRecord")                          \
    X(event_wait, (void *event), "hipEventSynchronize", "cuEventSynchronize")                          \
    X(elapsed, (float *milliseconds, void *start, void *end), "hipEventElapsedTime", "cuEventElapsedTime")

/* The same numbers in hipError_t and CUresult. */
enum { INVALID_VALUE = 1, OUT_OF_MEMORY = 2, INVALID_IMAGE = 200, NO_BINARY = 209, NOT_FOUND = 500 };
/* CUDA's options: the buffer for the just-in-time compiler's messages and its size; the limit of a function's
 * dynamic shared memory, which must be raised above 48 KiB. */
enum { JIT_ERROR_LOG = 5, JIT_ERROR_LOG_BYTES = 6, MOST_SHARED = 8, SHARED_BY_DEFAULT = 48 << 10 };

static const struct vendor {
    const char *label;
    const char *library[5];
    /* Keys of the list that passes all kernel arguments as one buffer: its address, its size, the end of the
     * list. */
    uintptr_t pointer, size, end;
    const char *text; /* the function that names an error */
} hip = {"HIP", {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5", "libamdhip64.so"},
         1,     2,
         3,     "hipGetErrorString"},
  cuda = {"CUDA's driver", {"libcuda.so.1", "libcuda.so"}, 1, 2, 0, "cuGetErrorString"};

struct device {
    const struct vendor *vendor;
    void *library;
#define X(name, parameters, hip_name, cuda_name) int(*name) parameters;
    FUNCTIONS(X)
#undef X
    void *text;
    void *context; /* CUDA's */
    int ordinal, device;
    char name[256];
};

static const char *text_of(const struct device *d, int error) {
    const char *text = NULL;

    if (d->vendor == &hip) {
        const char *(*get)(int);

        memcpy(&get, &d->text, sizeof get);
        text = get(error);
    } else {
        int (*get)(int, const char **);

        memcpy(&get, &d->text, sizeof get);
        get(error, &text);
    }
    return text ? text : "an error without a text";
}

static enum uk_status check_status(const struct device *d, int error, const char *what, char *message) {
    if (!error)
        return UK_OK;
    snprintf(message, UK_GPU_MESSAGE, "%s: %s (%s's error %d)", what, text_of(d, error), d->vendor->label,
             error);
    switch (error) {
    case OUT_OF_MEMORY:
        return UK_OUT_OF_MEMORY;
    case INVALID_VALUE:
    case NOT_FOUND:
    case INVALID_IMAGE:
        return UK_INVALID_ARGUMENT;
    case NO_BINARY:
        return UK_UNSUPPORTED;
    default:
        return UK_DEVICE;
    }
}

/* HIP and CUDA apply calls to the calling thread's current device. */
static enum uk_status choose(struct device *d, char *message) {
    if (d->vendor == &hip)
        return check_status(d, d->set_device(d->ordinal), "choosing the device", message);
    return check_status(d, d->set_context(d->context), "choosing the device", message);
}

#define CALL(what, call)                                                  \
    do {                                                                  \
        struct device *const d = device;                                  \
        const enum uk_status chosen = choose(d, message);                 \
                                                                          \
        return chosen ? chosen : check_status(d, d->call, what, message); \
    } while (0)

/* Functions that free run even if making the device current fails. */
#define RELEASE(what, call)                                             \
    do {                                                                \
        struct device *const d = device;                                \
        const enum uk_status chosen = choose(d, message);               \
        const int error = d->call;                                      \
                                                                        \
        return chosen ? chosen : check_status(d, error, what, message); \
    } while (0)

/* ---- opening ---- */

static enum uk_status load_library(struct device *d, char *message) {
    int i = 0;

    for (; d->vendor->library[i] && !d->library; i++)
        d->library = dlopen(d->vendor->library[i], RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!d->library) {
        const char *why = dlerror();

        snprintf(message, UK_GPU_MESSAGE, "%s is not installed: %s", d->vendor->label,
                 why ? why : d->vendor->library[i - 1]);
        return UK_UNSUPPORTED;
    }
    return UK_OK;
}

/* Looks up the functions; a NULL name is one that this vendor neither has nor needs. */
static bool get_symbol(struct device *d, const char *name, void *function, char *message) {
    void *symbol = name ? dlsym(d->library, name) : NULL;

    memcpy(function, &symbol, sizeof symbol);
    if (name && !symbol)
        snprintf(message, UK_GPU_MESSAGE, "%s has no %s: a newer one is needed", d->vendor->label, name);
    return symbol || !name;
}

static bool get_symbols(struct device *d, char *message) {
    const bool amd = d->vendor == &hip;

#define X(name, parameters, hip_name, cuda_name)                           \
    if (!get_symbol(d, amd ? (hip_name) : (cuda_name), &d->name, message)) \
        return false;
    FUNCTIONS(X)
#undef X
    return get_symbol(d, d->vendor->text, &d->text, message);
}

static enum uk_status find_device(struct device *d, int ordinal, char *message) {
    int devices = 0;
    int error = d->init(0);

    if (!error)
        error = d->count(&devices);
    if (error || ordinal >= devices) {
        if (error)
            snprintf(message, UK_GPU_MESSAGE, "%s finds no device: %s", d->vendor->label, text_of(d, error));
        else
            snprintf(message, UK_GPU_MESSAGE, "%s has %d device%s: there is no device %d", d->vendor->label,
                     devices, devices == 1 ? "" : "s", ordinal);
        return UK_UNSUPPORTED;
    }
    d->ordinal = ordinal;
    error = d->get_device(&d->device, ordinal);
    if (!error)
        error = d->get_name(d->name, sizeof d->name, d->device);
    d->name[sizeof d->name - 1] = '\0';
    if (!error && d->retain)
        error = d->retain(&d->context, d->device);
    return check_status(d, error, "opening the device", message);
}

static enum uk_status open_device(const struct vendor *vendor, int ordinal, void **device, char *message) {
    struct device *d = calloc(1, sizeof *d);
    enum uk_status status;

    if (!d) {
        snprintf(message, UK_GPU_MESSAGE, "out of memory");
        return UK_OUT_OF_MEMORY;
    }
    d->vendor = vendor;
    status = load_library(d, message);
    if (!status && !get_symbols(d, message))
        status = UK_UNSUPPORTED;
    if (!status)
        status = find_device(d, ordinal, message);
    if (!status) {
        *device = d;
        return UK_OK;
    }
    if (d->library)
        dlclose(d->library);
    free(d);
    return status;
}

static enum uk_status open_hip(int ordinal, void **device, char *message) {
    return open_device(&hip, ordinal, device, message);
}

static enum uk_status open_cuda(int ordinal, void **device, char *message) {
    return open_device(&cuda, ordinal, device, message);
}

static void close_device(void *device) {
    struct device *d = device;
    char message[UK_GPU_MESSAGE];

    if (!choose(d, message))
        d->wait();
    if (d->release)
        d->release(d->device);
    dlclose(d->library);
    free(d);
}

static const char *get_name(void *device) {
    const struct device *d = device;

    return d->name;
}

/* ---- memory ---- */

static enum uk_status alloc(void *device, size_t bytes, uk_gpu_address *address, char *message) {
    CALL("allocating device memory", alloc(address, bytes));
}

static enum uk_status free_memory(void *device, uk_gpu_address address, char *message) {
    RELEASE("freeing device memory", free(address));
}

static enum uk_status upload(void *device, uk_gpu_address to, const void *from, size_t bytes, char *message) {
    CALL("uploading", upload(to, from, bytes));
}

static enum uk_status download(void *device, void *to, uk_gpu_address from, size_t bytes, char *message) {
    CALL("downloading", download(to, from, bytes));
}

static enum uk_status fill(void *device, uk_gpu_address to, unsigned char value, size_t bytes,
                           char *message) {
    CALL("filling device memory", fill(to, value, bytes));
}

/* ---- kernels ---- */

static enum uk_status load_image(struct device *d, const void *image, struct uk_gpu_module **module,
                                 char *message) {
    char log[UK_GPU_MESSAGE / 2] = "";
    int option[] = {JIT_ERROR_LOG, JIT_ERROR_LOG_BYTES};
    void *value[] = {log, (void *)sizeof log};
    void *loaded;
    enum uk_status status = choose(d, message);

    if (status)
        return status;
    status = check_status(d, d->load(&loaded, image, d->vendor == &cuda ? 2 : 0, option, value),
                          "loading an image", message);
    if (!status)
        *module = loaded;
    else if (log[0])
        snprintf(message + strlen(message), UK_GPU_MESSAGE - strlen(message), ": %s", log);
    return status;
}

/* A code object states its own size. CUDA reads PTX up to a NUL, which is appended to a copy here. */
static enum uk_status load(void *device, const void *image, size_t bytes, struct uk_gpu_module **module,
                           char *message) {
    struct device *d = device;
    enum uk_status status;
    char *text;

    if (d->vendor != &cuda || memchr(image, 0, bytes))
        return load_image(d, image, module, message);
    text = malloc(bytes + 1);
    if (!text) {
        snprintf(message, UK_GPU_MESSAGE, "out of memory");
        return UK_OUT_OF_MEMORY;
    }
    memcpy(text, image, bytes);
    text[bytes] = 0;
    status = load_image(d, text, module, message);
    free(text);
    return status;
}

static enum uk_status unload(void *device, struct uk_gpu_module *module, char *message) {
    RELEASE("unloading an image", unload(module));
}

static enum uk_status find(void *device, struct uk_gpu_module *module, const char *name,
                           struct uk_gpu_kernel **kernel, char *message) {
    struct device *d = device;
    char what[UK_GPU_MESSAGE / 2];
    void *found;
    enum uk_status status = choose(d, message);

    if (status)
        return status;
    snprintf(what, sizeof what, "looking for kernel %s", name);
    status = check_status(d, d->find(&found, module, name), what, message);
    if (!status)
        *kernel = found;
    return status;
}

static enum uk_status launch(void *device, struct uk_gpu_kernel *kernel, const unsigned g[3],
                             const unsigned b[3], unsigned shared, const void *arguments, size_t bytes,
                             char *message) {
    struct device *d = device;
    void *copy = (void *)(uintptr_t)arguments;
    void *extra[] = {(void *)d->vendor->pointer, copy, (void *)d->vendor->size, &bytes,
                     (void *)d->vendor->end};
    enum uk_status status = choose(d, message);

    if (!status && shared > SHARED_BY_DEFAULT && d->set_attribute)
        status = check_status(d, d->set_attribute(kernel, MOST_SHARED, (int)shared),
                              "reserving shared memory", message);
    if (status)
        return status;
    return check_status(
        d, d->launch(kernel, g[0], g[1], g[2], b[0], b[1], b[2], shared, NULL, NULL, bytes ? extra : NULL),
        "launching", message);
}

static enum uk_status wait_all(void *device, char *message) {
    CALL("waiting", wait());
}

/* ---- events ---- */

static enum uk_status event_make(void *device, struct uk_gpu_event **event, char *message) {
    struct device *d = device;
    void *made;
    enum uk_status status = choose(d, message);

    if (!status)
        status = check_status(d, d->event_make(&made, 0), "making an event", message);
    if (!status)
        *event = made;
    return status;
}

static enum uk_status event_free(void *device, struct uk_gpu_event *event, char *message) {
    RELEASE("freeing an event", event_free(event));
}

static enum uk_status record(void *device, struct uk_gpu_event *event, char *message) {
    CALL("recording an event", record(event, NULL));
}

static enum uk_status get_seconds(void *device, struct uk_gpu_event *start, struct uk_gpu_event *end,
                                  double *seconds, char *message) {
    struct device *d = device;
    float milliseconds;
    enum uk_status status = choose(d, message);

    if (!status)
        status = check_status(d, d->event_wait(start), "waiting for an event", message);
    if (!status)
        status = check_status(d, d->event_wait(end), "waiting for an event", message);
    if (!status)
        status =
            check_status(d, d->elapsed(&milliseconds, start, end), "the time between two events", message);
    if (!status)
        *seconds = milliseconds / 1e3;
    return status;
}

#define DRIVER(kind, open)                                                                    \
    {kind, open,   close_device, get_name, alloc,    free_memory, upload,     download, fill, \
     load, unload, find,         launch,   wait_all, event_make,  event_free, record,   get_seconds}
const struct uk_gpu_driver uk_gpu_hip = DRIVER("hip", open_hip);
const struct uk_gpu_driver uk_gpu_cuda = DRIVER("cuda", open_cuda);
