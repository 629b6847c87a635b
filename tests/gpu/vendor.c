/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stand-in for AMD's HIP or, with -DCUDA, NVIDIA's driver, which uk_gpu_open loads, so that calls of
 * vendors' libraries can be tested without a GPU. The simulator computes. It is as strict as real ones may
 * be: a thread has to select a device before other calls, launches run at the next wait and report their
 * errors there, arguments must match the kernel's code object. Tests can make the n-th call fail, by a
 * function or UK_FAKE_FAIL_AT in the environment, and ask for the number of objects not yet freed.
 */
#include <elf.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "driver.h"
#include "vendor.h"

#ifdef CUDA
#define NAME(hip, cuda) cuda
enum { POINTER = 1, BYTES = 2, END = 0 };
#else
#define NAME(hip, cuda) hip
enum { POINTER = 1, BYTES = 2, END = 3 };
#endif
enum {
    INVALID_VALUE = 1,
    NO_MEMORY = 2,
    NOT_CHOSEN = 201,
    NO_BINARY = 209,
    INVALID_IMAGE = 200,
    NOT_FOUND = 500,
    LAUNCH_FAILED = 719,
    ASKED_TO_FAIL = 999,
    /* the simulator's ordinal of it */
    GFX90A = 1
};

struct launch {
    struct launch *next;
    struct uk_gpu_kernel *kernel;
    unsigned grid[3], block[3], shared;
    size_t bytes;
    unsigned char arguments[];
};

#define driver uk_gpu_sim
static void *device;
static char message[UK_GPU_MESSAGE];
static struct launch *first, **last = &first;
static long calls, fail_at, alive;
/* a launch has failed; permanent, as faults are */
static int failed;
/* the handle of all events; times are not measured */
static char event;
static _Thread_local int chosen;
static int context;

void fake_fail_at(long call) {
    calls = 0;
    fail_at = call;
    failed = 0;
}

int fake_has_failed(void) {
    return calls >= fail_at;
}

long fake_alive(void) {
    return alive;
}

/* Begins every call. 0: the call may continue. */
static int begin(int choice_needed) {
    if (++calls == fail_at)
        return ASKED_TO_FAIL;
    return choice_needed && !chosen ? NOT_CHOSEN : 0;
}

#define BEGIN(choice_needed)                    \
    do {                                        \
        const int error = begin(choice_needed); \
                                                \
        if (error)                              \
            return error;                       \
    } while (0)

static int number_of(enum uk_status status) {
    switch (status) {
    case UK_OK:
        return 0;
    case UK_OUT_OF_MEMORY:
        return NO_MEMORY;
    case UK_UNSUPPORTED:
        return NO_BINARY;
    default:
        return INVALID_VALUE;
    }
}

/* The size of an image: an ELF file ends with its section headers. */
static size_t bytes_of(const unsigned char *image) {
    const Elf64_Ehdr *header = (const Elf64_Ehdr *)(const void *)image;

    return memcmp(image, ELFMAG, SELFMAG) ? 4
                                          : header->e_shoff + (size_t)header->e_shnum * header->e_shentsize;
}

static int run_all(void) {
    while (first) {
        struct launch *l = first;

        if (!failed &&
            driver.launch(device, l->kernel, l->grid, l->block, l->shared, l->arguments, l->bytes, message))
            failed = LAUNCH_FAILED;
        first = l->next;
        free(l);
    }
    last = &first;
    return failed;
}

/* ---- devices ---- */

int NAME(hipInit, cuInit)(unsigned flags) {
    const char *text = getenv("UK_FAKE_FAIL_AT");

    if (text)
        fake_fail_at(strtol(text, NULL, 10));
    BEGIN(0);
    return device ? 0 : flags ? INVALID_VALUE : number_of(driver.open(GFX90A, &device, message));
}

int NAME(hipGetDeviceCount, cuDeviceGetCount)(int *devices) {
    BEGIN(0);
    *devices = 1;
    return 0;
}

int NAME(hipDeviceGet, cuDeviceGet)(int *number, int ordinal) {
    BEGIN(0);
    *number = ordinal;
    return ordinal ? INVALID_VALUE : 0;
}

int NAME(hipDeviceGetName, cuDeviceGetName)(char *name, int size, int number) {
    BEGIN(0);
    snprintf(name, (size_t)size, "a simulated device");
    return number ? INVALID_VALUE : 0;
}

#ifdef CUDA
int cuDevicePrimaryCtxRetain(void **made, int number) {
    BEGIN(0);
    alive++;
    *made = &context;
    return number ? INVALID_VALUE : 0;
}

int cuDevicePrimaryCtxRelease_v2(int number) {
    alive--;
    chosen = 0;
    return number ? INVALID_VALUE : 0;
}

int cuCtxSetCurrent(void *current) {
    BEGIN(0);
    chosen = current == &context;
    return chosen ? 0 : INVALID_VALUE;
}

int cuFuncSetAttribute(void *function, int attribute, int value) {
    BEGIN(1);
    return function && attribute == 8 && value > 48 << 10 ? 0 : INVALID_VALUE;
}

int cuGetErrorString(int error, const char **text) {
    *text = error == ASKED_TO_FAIL ? "asked to fail" : "an error";
    return 0;
}
#else
int hipSetDevice(int ordinal) {
    BEGIN(0);
    chosen = ordinal == 0;
    return chosen ? 0 : INVALID_VALUE;
}

const char *hipGetErrorString(int error) {
    (void)context;
    return error == ASKED_TO_FAIL ? "asked to fail" : "an error";
}
#endif

/* ---- memory ---- */

int NAME(hipMalloc, cuMemAlloc_v2)(uk_gpu_address *address, size_t bytes) {
    BEGIN(1);
    const int error = number_of(driver.alloc(device, bytes, address, message));

    alive += !error;
    return error;
}

int NAME(hipFree, cuMemFree_v2)(uk_gpu_address address) {
    const int error = begin(1), late = run_all();

    alive -= driver.free(device, address, message) == UK_OK;
    return error ? error : late;
}

int NAME(hipMemcpyHtoD, cuMemcpyHtoD_v2)(uk_gpu_address to, const void *from, size_t bytes) {
    BEGIN(1);
    const int error = run_all();

    return error ? error : number_of(driver.upload(device, to, from, bytes, message));
}

int NAME(hipMemcpyDtoH, cuMemcpyDtoH_v2)(void *to, uk_gpu_address from, size_t bytes) {
    BEGIN(1);
    const int error = run_all();

    return error ? error : number_of(driver.download(device, to, from, bytes, message));
}

int NAME(hipMemsetD8, cuMemsetD8_v2)(uk_gpu_address to, unsigned char value, size_t bytes) {
    BEGIN(1);
    const int error = run_all();

    return error ? error : number_of(driver.fill(device, to, value, bytes, message));
}

/* ---- kernels ---- */

int NAME(hipModuleLoadDataEx, cuModuleLoadDataEx)(void **module, const void *image, unsigned options,
                                                  int *option, void **value) {
    BEGIN(1);
    struct uk_gpu_module *loaded;
    const int error = number_of(driver.load(device, image, bytes_of(image), &loaded, message));

#ifdef CUDA
    if (memcmp(image, ".version", 8) == 0)
        snprintf(message, sizeof message, "PTX of %zu bytes, which is not simulated", strlen(image));
#endif
    if (error && options == 2 && option[0] == 5 && option[1] == 6)
        snprintf(value[0], (size_t)(uintptr_t)value[1], "%s", message);
    if (!error) {
        alive++;
        *module = loaded;
    }
    return error == INVALID_VALUE ? INVALID_IMAGE : error;
}

int NAME(hipModuleUnload, cuModuleUnload)(void *module) {
    const int error = begin(1), late = run_all();

    alive -= driver.unload(device, module, message) == UK_OK;
    return error ? error : late;
}

int NAME(hipModuleGetFunction, cuModuleGetFunction)(void **function, void *module, const char *name) {
    BEGIN(1);
    struct uk_gpu_kernel *kernel;

    if (driver.find(device, module, name, &kernel, message))
        return NOT_FOUND;
    *function = kernel;
    return 0;
}

int NAME(hipModuleLaunchKernel, cuLaunchKernel)(void *function, unsigned gx, unsigned gy, unsigned gz,
                                                unsigned bx, unsigned by, unsigned bz, unsigned shared,
                                                void *stream, void **parameters, void **extra) {
    BEGIN(1);
    const size_t bytes = extra ? *(const size_t *)extra[3] : 0;

    if (stream || parameters ||
        (extra &&
         ((uintptr_t)extra[0] != POINTER || (uintptr_t)extra[2] != BYTES || (uintptr_t)extra[4] != END)))
        return INVALID_VALUE;
    struct launch *l = calloc(1, sizeof *l + bytes);

    if (!l)
        return NO_MEMORY;
    *l = (struct launch){NULL, function, {gx, gy, gz}, {bx, by, bz}, shared, bytes};
    if (bytes)
        memcpy(l->arguments, extra[1], bytes);
    *last = l;
    last = &l->next;
    return 0;
}

int NAME(hipDeviceSynchronize, cuCtxSynchronize)(void) {
    BEGIN(1);
    return run_all();
}

/* ---- events ---- */

int NAME(hipEventCreateWithFlags, cuEventCreate)(void **made, unsigned flags) {
    BEGIN(1);
    *made = &event;
    alive++;
    return flags ? INVALID_VALUE : 0;
}

int NAME(hipEventDestroy, cuEventDestroy_v2)(void *e) {
    alive -= e == &event;
    BEGIN(1);
    return e == &event ? 0 : INVALID_VALUE;
}

int NAME(hipEventRecord, cuEventRecord)(void *e, void *stream) {
    BEGIN(1);
    return e == &event && !stream ? 0 : INVALID_VALUE;
}

int NAME(hipEventSynchronize, cuEventSynchronize)(void *e) {
    BEGIN(1);
    const int error = run_all();

    return error ? error : e == &event ? 0 : INVALID_VALUE;
}

int NAME(hipEventElapsedTime, cuEventElapsedTime)(float *milliseconds, void *start, void *end) {
    BEGIN(1);
    *milliseconds = 1;
    return start == &event && end == &event ? 0 : INVALID_VALUE;
}
