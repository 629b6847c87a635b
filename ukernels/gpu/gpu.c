/* SPDX-License-Identifier: Apache-2.0 */
/* The public functions: they check arguments, for all drivers, and call the driver. */
#include <dlfcn.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "device.h"
#include "vendors.h"

enum { DRIVERS = 8 };

static _Atomic(const struct uk_gpu_driver *) driver[DRIVERS] = {&uk_gpu_hip, &uk_gpu_cuda};

enum uk_status uk_gpu_fail(struct uk_gpu *gpu, enum uk_status status, const char *format, ...) {
    va_list arguments;

    if (!gpu)
        return UK_INVALID_ARGUMENT;
    va_start(arguments, format);
    vsnprintf(gpu->message, sizeof gpu->message, format, arguments);
    va_end(arguments);
    return status;
}

static bool is_whole(const struct uk_gpu_driver *d) {
    return d->open && d->close && d->name && d->alloc && d->free && d->upload && d->download && d->fill &&
           d->load && d->unload && d->find && d->launch && d->wait && d->event_make && d->event_free &&
           d->record && d->seconds;
}

enum uk_status uk_gpu_register(const struct uk_gpu_driver *added) {
    if (!added || !added->kind || !*added->kind || !is_whole(added))
        return UK_INVALID_ARGUMENT;
    for (int i = 0; i < DRIVERS; i++) {
        const struct uk_gpu_driver *d = NULL;

        if (atomic_compare_exchange_strong(&driver[i], &d, added) || d == added)
            return UK_OK;
        if (strcmp(d->kind, added->kind) == 0)
            return UK_INVALID_ARGUMENT;
    }
    return UK_INVALID_ARGUMENT;
}

static const struct uk_gpu_driver *find_driver(const char *kind) {
    for (int i = 0; i < DRIVERS; i++) {
        const struct uk_gpu_driver *d = atomic_load(&driver[i]);

        if (d && strcmp(d->kind, kind) == 0)
            return d;
    }
    return NULL;
}

static const char simulator[] = "sim", simulator_library[] = "libukgpusim.so." UK_SOVERSION;

/* The simulator's driver from libukgpusim.so, or NULL with the reason in `why`. The simulator registers
 * itself with the shared libukernels; a program that links the archive has a copy of its own, which does not
 * see that. */
static const struct uk_gpu_driver *load_simulator(char *why) {
    void *library = dlopen(simulator_library, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    const struct uk_gpu_driver *d = library ? dlsym(library, "uk_gpu_sim") : NULL;

    if (!d || uk_gpu_register(d)) {
        const char *text = d ? "there is no room for another kind of GPU" : dlerror();

        snprintf(why, UK_GPU_MESSAGE, "the simulator is not installed: %s", text ? text : simulator_library);
        d = NULL;
    }
    return d;
}

/* Writes the names of all kinds: "hip, cuda and sim". */
static void list_kinds(char *text, size_t size) {
    size_t length = 0;

    text[0] = '\0';
    for (int i = 0; i < DRIVERS && length < size; i++) {
        const struct uk_gpu_driver *d = atomic_load(&driver[i]);

        if (d && strcmp(d->kind, simulator) != 0)
            length += (size_t)snprintf(text + length, size - length, "%s%s", i == 0 ? "" : ", ", d->kind);
    }
    if (length < size)
        snprintf(text + length, size - length, " and %s", simulator);
}

static enum uk_status open_with(const struct uk_gpu_driver *d, int ordinal, struct uk_gpu **gpu, char *why) {
    struct uk_gpu *g = calloc(1, sizeof *g);
    enum uk_status status;

    if (!g) {
        snprintf(why, UK_GPU_MESSAGE, "out of memory");
        return UK_OUT_OF_MEMORY;
    }
    g->driver = d;
    status = d->open(ordinal, &g->device, why);
    if (status)
        free(g);
    else
        *gpu = g;
    return status;
}

/* Opens the device by hip or, if that fails, by cuda. */
static enum uk_status open_any(int ordinal, struct uk_gpu **gpu, char *why) {
    char first[UK_GPU_MESSAGE], second[UK_GPU_MESSAGE];
    enum uk_status status = open_with(&uk_gpu_hip, ordinal, gpu, first);

    if (!status || status == UK_OUT_OF_MEMORY)
        return memcpy(why, first, sizeof first), status;
    status = open_with(&uk_gpu_cuda, ordinal, gpu, second);
    if (status)
        snprintf(why, UK_GPU_MESSAGE, "there is no GPU: hip: %.220s; cuda: %.220s", first, second);
    return status;
}

enum uk_status uk_gpu_open(const char *kind, int ordinal, struct uk_gpu **gpu, char message[UK_GPU_MESSAGE]) {
    char own[UK_GPU_MESSAGE], kinds[UK_GPU_MESSAGE / 2];
    char *const why = message ? message : own;
    const struct uk_gpu_driver *d;

    if (!gpu)
        return UK_INVALID_ARGUMENT;
    *gpu = NULL;
    if (ordinal < 0) {
        snprintf(why, UK_GPU_MESSAGE, "device %d: devices are counted from 0", ordinal);
        return UK_INVALID_ARGUMENT;
    }
    if (!kind)
        return open_any(ordinal, gpu, why);
    d = find_driver(kind);
    if (!d && strcmp(kind, simulator) == 0 && !(d = load_simulator(why)))
        return UK_UNSUPPORTED;
    if (d)
        return open_with(d, ordinal, gpu, why);
    list_kinds(kinds, sizeof kinds);
    snprintf(why, UK_GPU_MESSAGE, "there is no kind of GPU \"%.100s\"; there are %s", kind, kinds);
    return UK_INVALID_ARGUMENT;
}

void uk_gpu_close(struct uk_gpu *gpu) {
    if (!gpu)
        return;
    gpu->driver->close(gpu->device);
    uk_gpu_forget(gpu);
    free(gpu);
}

const char *uk_gpu_kind(const struct uk_gpu *gpu) {
    return gpu ? gpu->driver->kind : "";
}

const char *uk_gpu_name(const struct uk_gpu *gpu) {
    return gpu ? gpu->driver->name(gpu->device) : "";
}

const char *uk_gpu_message(const struct uk_gpu *gpu) {
    return gpu ? gpu->message : "no device is open";
}

enum uk_status uk_gpu_alloc(struct uk_gpu *gpu, size_t bytes, uk_gpu_address *address) {
    if (!gpu || !address)
        return uk_gpu_fail(gpu, UK_INVALID_ARGUMENT, "uk_gpu_alloc: there is no place for the address");
    return gpu->driver->alloc(gpu->device, bytes ? bytes : 1, address, gpu->message);
}

enum uk_status uk_gpu_free(struct uk_gpu *gpu, uk_gpu_address address) {
    if (!gpu)
        return UK_INVALID_ARGUMENT;
    return address ? gpu->driver->free(gpu->device, address, gpu->message) : UK_OK;
}

/* True if there are bytes to copy or fill, and arguments are valid. Otherwise *status is the result of the
 * call. */
static bool copies(struct uk_gpu *gpu, const char *name, uk_gpu_address device, const void *host,
                   size_t bytes, enum uk_status *status) {
    *status = UK_OK;
    if (!gpu)
        *status = UK_INVALID_ARGUMENT;
    else if (bytes && !device)
        *status = uk_gpu_fail(gpu, UK_INVALID_ARGUMENT, "%s: device address 0", name);
    else if (bytes && !host)
        *status = uk_gpu_fail(gpu, UK_INVALID_ARGUMENT, "%s: a null pointer", name);
    else if (bytes > UINT64_MAX - device)
        *status = uk_gpu_fail(gpu, UK_INVALID_SIZE, "%s: %zu bytes reach beyond all addresses", name, bytes);
    return !*status && bytes;
}

enum uk_status uk_gpu_upload(struct uk_gpu *gpu, uk_gpu_address to, const void *from, size_t bytes) {
    enum uk_status status;

    if (!copies(gpu, "uk_gpu_upload", to, from, bytes, &status))
        return status;
    return gpu->driver->upload(gpu->device, to, from, bytes, gpu->message);
}

enum uk_status uk_gpu_download(struct uk_gpu *gpu, void *to, uk_gpu_address from, size_t bytes) {
    enum uk_status status;

    if (!copies(gpu, "uk_gpu_download", from, to, bytes, &status))
        return status;
    return gpu->driver->download(gpu->device, to, from, bytes, gpu->message);
}

enum uk_status uk_gpu_fill(struct uk_gpu *gpu, uk_gpu_address to, unsigned char value, size_t bytes) {
    enum uk_status status;

    if (!copies(gpu, "uk_gpu_fill", to, gpu, bytes, &status))
        return status;
    return gpu->driver->fill(gpu->device, to, value, bytes, gpu->message);
}

enum uk_status uk_gpu_load(struct uk_gpu *gpu, const void *image, size_t bytes,
                           struct uk_gpu_module **module) {
    if (!gpu || !image || !module || !bytes)
        return uk_gpu_fail(gpu, UK_INVALID_ARGUMENT, "uk_gpu_load: %s",
                           module ? "there is no image" : "there is no place for the module");
    return gpu->driver->load(gpu->device, image, bytes, module, gpu->message);
}

enum uk_status uk_gpu_unload(struct uk_gpu *gpu, struct uk_gpu_module *module) {
    if (!gpu)
        return UK_INVALID_ARGUMENT;
    return module ? gpu->driver->unload(gpu->device, module, gpu->message) : UK_OK;
}

enum uk_status uk_gpu_find(struct uk_gpu *gpu, struct uk_gpu_module *module, const char *name,
                           struct uk_gpu_kernel **kernel) {
    if (!gpu || !module || !name || !kernel)
        return uk_gpu_fail(gpu, UK_INVALID_ARGUMENT, "uk_gpu_find: there is no %s",
                           !module ? "module"
                           : !name ? "name"
                                   : "place for the kernel");
    return gpu->driver->find(gpu->device, module, name, kernel, gpu->message);
}

/* Checks a grid and its blocks, and converts them to unsigned. UK_OK with *empty: the grid has no blocks,
 * nothing is to be launched. */
static enum uk_status check_shape(struct uk_gpu *gpu, const int64_t grid[3], const int64_t block[3],
                                  unsigned small_grid[3], unsigned small_block[3], bool *empty) {
    static const int64_t most[3] = {INT32_MAX, UINT16_MAX, UINT16_MAX};
    int64_t threads = 1;

    *empty = false;
    for (int i = 0; i < 3; i++) {
        if (block[i] < 1 || block[i] > 1024 || (threads *= block[i]) > 1024)
            return uk_gpu_fail(gpu, UK_INVALID_SIZE,
                               "a block of %lld x %lld x %lld threads: it has to have 1 to 1024 threads",
                               (long long)block[0], (long long)block[1], (long long)block[2]);
        if (grid[i] < 0 || grid[i] > most[i])
            return uk_gpu_fail(gpu, UK_INVALID_SIZE, "a grid of %lld blocks along %c: there may be 0 to %lld",
                               (long long)grid[i], "xyz"[i], (long long)most[i]);
        *empty |= grid[i] == 0;
        small_grid[i] = (unsigned)grid[i];
        small_block[i] = (unsigned)block[i];
    }
    return UK_OK;
}

enum uk_status uk_gpu_launch(struct uk_gpu *gpu, struct uk_gpu_kernel *kernel, const int64_t grid[3],
                             const int64_t block[3], size_t shared, const void *arguments, size_t bytes) {
    unsigned g[3], b[3];
    enum uk_status status;
    bool empty;

    if (!gpu || !kernel || !grid || !block || (bytes && !arguments))
        return uk_gpu_fail(gpu, UK_INVALID_ARGUMENT, "uk_gpu_launch: there is no %s",
                           !kernel  ? "kernel"
                           : !grid  ? "grid"
                           : !block ? "block"
                                    : "memory of the arguments");
    status = check_shape(gpu, grid, block, g, b, &empty);
    if (status || empty)
        return status;
    if (shared > INT32_MAX)
        return uk_gpu_fail(gpu, UK_INVALID_SIZE, "%zu bytes of shared memory: no device has that much",
                           shared);
    return gpu->driver->launch(gpu->device, kernel, g, b, (unsigned)shared, arguments, bytes, gpu->message);
}

enum uk_status uk_gpu_wait(struct uk_gpu *gpu) {
    return gpu ? gpu->driver->wait(gpu->device, gpu->message) : UK_INVALID_ARGUMENT;
}

enum uk_status uk_gpu_event_make(struct uk_gpu *gpu, struct uk_gpu_event **event) {
    if (!gpu || !event)
        return uk_gpu_fail(gpu, UK_INVALID_ARGUMENT, "uk_gpu_event_make: there is no place for the event");
    return gpu->driver->event_make(gpu->device, event, gpu->message);
}

enum uk_status uk_gpu_event_free(struct uk_gpu *gpu, struct uk_gpu_event *event) {
    if (!gpu)
        return UK_INVALID_ARGUMENT;
    return event ? gpu->driver->event_free(gpu->device, event, gpu->message) : UK_OK;
}

enum uk_status uk_gpu_record(struct uk_gpu *gpu, struct uk_gpu_event *event) {
    if (!gpu || !event)
        return uk_gpu_fail(gpu, UK_INVALID_ARGUMENT, "uk_gpu_record: there is no event");
    return gpu->driver->record(gpu->device, event, gpu->message);
}

enum uk_status uk_gpu_seconds(struct uk_gpu *gpu, struct uk_gpu_event *start, struct uk_gpu_event *end,
                              double *seconds) {
    if (!gpu || !start || !end || !seconds)
        return uk_gpu_fail(gpu, UK_INVALID_ARGUMENT, "uk_gpu_seconds: there is no %s",
                           !start ? "first event"
                           : !end ? "second event"
                                  : "place for the seconds");
    return gpu->driver->seconds(gpu->device, start, end, seconds, gpu->message);
}
