/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The simulator as a GPU driver of libukernels, "sim": device 0 is a gfx906, device 1 a gfx90a. It registers
 * itself when it is linked; libukernels loads it as libukgpusim.so. A launch has finished, and has reported
 * its errors, when it returns. The environment variable UK_SIM_SEED determines the order of blocks and waves.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "amdgpu.h"
#include "driver.h"
#include "machine/machine.h"

static const char *const gpus[] = {"gfx906", "gfx90a"};
enum { GPUS = sizeof gpus / sizeof *gpus };

static void (*observer)(void *user, const struct uk_amdgpu_kernel *kernel, const struct uk_amdgpu_launch *how,
                        const struct uk_amdgpu_counts *counts);
static void *observer_user;
static const struct uk_core *observer_core;
static bool observer_by_kind;

void uk_sim_observe(void (*seen)(void *user, const struct uk_amdgpu_kernel *kernel,
                                 const struct uk_amdgpu_launch *how, const struct uk_amdgpu_counts *counts),
                    void *user, const struct uk_core *core, bool by_kind) {
    observer = seen;
    observer_user = user;
    observer_core = core;
    observer_by_kind = by_kind;
}

struct device {
    struct uk_amdgpu *gpu;
    uint64_t seed;
    char name[32];
};

static enum uk_status status_of(enum uk_amdgpu_status status) {
    switch (status) {
    case UK_AMDGPU_OK:
        return UK_OK;
    case UK_AMDGPU_INVALID:
    case UK_AMDGPU_BAD_OBJECT:
        return UK_INVALID_ARGUMENT;
    case UK_AMDGPU_UNSUPPORTED:
    case UK_AMDGPU_OTHER_GPU:
        return UK_UNSUPPORTED;
    case UK_AMDGPU_NO_MEMORY:
        return UK_OUT_OF_MEMORY;
    default:
        return UK_DEVICE;
    }
}

static enum uk_status check_status(const struct device *d, enum uk_amdgpu_status status, char *message) {
    if (status)
        snprintf(message, UK_GPU_MESSAGE, "%s", uk_amdgpu_message(d->gpu));
    return status_of(status);
}

static enum uk_status open_device(int ordinal, void **device, char *message) {
    const char *seed = getenv("UK_SIM_SEED");
    struct device *d;

    if (ordinal >= GPUS) {
        snprintf(message, UK_GPU_MESSAGE, "the simulator has %d devices: there is no device %d", GPUS,
                 ordinal);
        return UK_UNSUPPORTED;
    }
    d = calloc(1, sizeof *d);
    if (!d || !(d->gpu = uk_amdgpu_open(gpus[ordinal]))) {
        free(d);
        snprintf(message, UK_GPU_MESSAGE, "out of memory");
        return UK_OUT_OF_MEMORY;
    }
    d->seed = seed ? strtoull(seed, NULL, 0) : 0;
    snprintf(d->name, sizeof d->name, "%s, simulated", gpus[ordinal]);
    *device = d;
    return UK_OK;
}

static void close_device(void *device) {
    struct device *d = device;

    uk_amdgpu_close(d->gpu);
    free(d);
}

static const char *get_name(void *device) {
    const struct device *d = device;

    return d->name;
}

static enum uk_status alloc(void *device, size_t bytes, uk_gpu_address *address, char *message) {
    struct device *d = device;

    return check_status(d, uk_amdgpu_alloc(d->gpu, bytes, address), message);
}

static enum uk_status free_memory(void *device, uk_gpu_address address, char *message) {
    struct device *d = device;

    return check_status(d, uk_amdgpu_free(d->gpu, address), message);
}

static enum uk_status upload(void *device, uk_gpu_address to, const void *from, size_t bytes, char *message) {
    struct device *d = device;

    return check_status(d, uk_amdgpu_write(d->gpu, to, from, bytes), message);
}

static enum uk_status download(void *device, void *to, uk_gpu_address from, size_t bytes, char *message) {
    struct device *d = device;

    return check_status(d, uk_amdgpu_read(d->gpu, to, from, bytes), message);
}

static enum uk_status fill(void *device, uk_gpu_address to, unsigned char value, size_t bytes,
                           char *message) {
    struct device *d = device;
    unsigned char *pattern = malloc(bytes);
    enum uk_status status;

    if (!pattern) {
        snprintf(message, UK_GPU_MESSAGE, "out of memory");
        return UK_OUT_OF_MEMORY;
    }
    memset(pattern, value, bytes);
    status = check_status(d, uk_amdgpu_write(d->gpu, to, pattern, bytes), message);
    free(pattern);
    return status;
}

static enum uk_status load(void *device, const void *image, size_t bytes, struct uk_gpu_module **module,
                           char *message) {
    struct device *d = device;
    struct uk_amdgpu_object *object;
    enum uk_status status = check_status(d, uk_amdgpu_load(d->gpu, image, bytes, &object), message);

    if (!status)
        *module = (struct uk_gpu_module *)object;
    return status;
}

static enum uk_status unload(void *device, struct uk_gpu_module *module, char *message) {
    (void)device, (void)message;
    uk_amdgpu_unload((struct uk_amdgpu_object *)module);
    return UK_OK;
}

static enum uk_status find(void *device, struct uk_gpu_module *module, const char *name,
                           struct uk_gpu_kernel **kernel, char *message) {
    const struct uk_amdgpu_kernel *k = uk_amdgpu_find((struct uk_amdgpu_object *)module, name);

    (void)device;
    if (!k) {
        snprintf(message, UK_GPU_MESSAGE, "the code object has no kernel %s", name);
        return UK_INVALID_ARGUMENT;
    }
    *kernel = (struct uk_gpu_kernel *)(uintptr_t)k;
    return UK_OK;
}

static enum uk_status launch(void *device, struct uk_gpu_kernel *kernel, const unsigned grid[3],
                             const unsigned block[3], unsigned shared, const void *arguments, size_t bytes,
                             char *message) {
    struct device *d = device;
    const struct uk_amdgpu_kernel *k = (const struct uk_amdgpu_kernel *)kernel;
    struct uk_amdgpu_launch how = {.grid = {grid[0], grid[1], grid[2]},
                                   .block = {block[0], block[1], block[2]},
                                   .lds_bytes = shared,
                                   .seed = d->seed,
                                   .core = observer_core,
                                   .by_kind = observer_by_kind};
    const uint32_t n = k->n_arguments;
    const size_t should = n ? k->arguments[n - 1].offset + k->arguments[n - 1].size : 0;
    struct uk_amdgpu_counts counts = {.flops = 0};
    const void **argument;
    enum uk_status status;

    if (bytes != should) {
        snprintf(message, UK_GPU_MESSAGE, "kernel %s takes %zu bytes of arguments, not %zu", k->name, should,
                 bytes);
        return UK_INVALID_ARGUMENT;
    }
    argument = malloc((n + 1) * sizeof *argument);
    if (observer_core)
        how.times = calloc((size_t)grid[0] * grid[1] * grid[2] + 1, sizeof *how.times);
    if (!argument || (observer_core && !how.times)) {
        free(argument);
        free(how.times);
        snprintf(message, UK_GPU_MESSAGE, "out of memory");
        return UK_OUT_OF_MEMORY;
    }
    for (uint32_t i = 0; i < n; i++)
        argument[i] = (const char *)arguments + k->arguments[i].offset;
    status = check_status(d, uk_amdgpu_launch(d->gpu, k, &how, argument, n, &counts), message);
    /* An instruction that is not simulated: no other simulated device executes it either. */
    if (status == UK_UNSUPPORTED)
        status = UK_DEVICE;
    if (!status && observer)
        observer(observer_user, k, &how, &counts);
    free(how.times);
    free(argument);
    return status;
}

static enum uk_status wait_all(void *device, char *message) {
    (void)device, (void)message;
    return UK_OK;
}

/* Events carry no data, so the device serves as each of them. */
static enum uk_status event_make(void *device, struct uk_gpu_event **event, char *message) {
    (void)message;
    *event = device;
    return UK_OK;
}

static enum uk_status event_free(void *device, struct uk_gpu_event *event, char *message) {
    (void)device, (void)event, (void)message;
    return UK_OK;
}

static enum uk_status record(void *device, struct uk_gpu_event *event, char *message) {
    (void)device, (void)event, (void)message;
    return UK_OK;
}

static enum uk_status get_seconds(void *device, struct uk_gpu_event *start, struct uk_gpu_event *end,
                                  double *seconds, char *message) {
    (void)device, (void)start, (void)end, (void)seconds;
    snprintf(message, UK_GPU_MESSAGE, "the simulator measures no time");
    return UK_UNSUPPORTED;
}

const struct uk_gpu_driver uk_gpu_sim = {
    "sim", open_device, close_device, get_name, alloc,    free_memory, upload,     download, fill,
    load,  unload,      find,         launch,   wait_all, event_make,  event_free, record,   get_seconds,
};

__attribute__((constructor)) static void register_driver(void) {
    uk_gpu_register(&uk_gpu_sim);
}
