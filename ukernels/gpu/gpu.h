/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GPUs: device memory, images of kernels, launches. A kernel here is a function that the host launches on the
 * device; an image is the compiled form of kernels. Each kind of device has a table of functions (struct
 * uk_gpu_driver):
 *
 *   "hip"   AMD's GPUs through HIP         loaded when the first device is opened; need not be installed
 *   "cuda"  NVIDIA's through CUDA's driver loaded likewise
 *   "sim"   the simulator of AMD's GPUs    loaded likewise, from libukgpusim.so
 *   any     a driver that the program registers
 *
 * gpu.c checks arguments and calls the table; vendors.c has one driver for HIP and CUDA, which differ in
 * names.
 *
 *     struct uk_gpu *gpu;
 *     char why[UK_GPU_MESSAGE];
 *     uk_gpu_address x;
 *     if (uk_gpu_open(NULL, 0, &gpu, why))
 *         fprintf(stderr, "%s\n", why);
 *     else if (uk_gpu_alloc(gpu, sizeof host, &x) || uk_gpu_upload(gpu, x, host, sizeof host))
 *         fprintf(stderr, "%s\n", uk_gpu_message(gpu));
 *
 * - Units: bytes, unless a function says otherwise.
 * - Addresses of a device are numbers that the host cannot dereference; an address plus an offset is an
 *   address too. 0 is no address.
 * - Order: a device executes copies, fills and launches one after another, in the order of the calls. A
 *   launch returns before the kernel has finished. Downloads and uk_gpu_wait return after everything before
 *   them has finished, and report its errors. The host memory of an upload may be reused as soon as the
 *   call returns.
 * - Ownership: closing a device frees its memory, modules and events.
 * - Threads: one thread at a time uses an open device. Several devices, or one device opened several
 *   times, may be used by several threads. A child after fork cannot use the parent's devices.
 * - Errors: as in ukernels.h; uk_gpu_message has the text. After a call has returned UK_DEVICE (the device
 *   failed), uk_gpu_close may be the only call that works.
 */
#ifndef UK_GPU_H
#define UK_GPU_H

#include "ukernels.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

typedef uint64_t uk_gpu_address;
struct uk_gpu;
struct uk_gpu_module; /* a loaded image */
struct uk_gpu_kernel; /* a kernel of a module */
struct uk_gpu_event;
enum { UK_GPU_MESSAGE = 512 }; /* room for any message, with its closing NUL */

/* Opens device `ordinal` of a kind: "hip", "cuda", "sim" (0: a gfx906, 1: a gfx90a), or a registered
 * driver's. NULL tries hip, then cuda. On failure *gpu is NULL and `message`, which may be NULL, says why:
 * UK_UNSUPPORTED if a library or the device is missing, with its name. */
enum uk_status uk_gpu_open(const char *kind, int ordinal, struct uk_gpu **gpu, char message[UK_GPU_MESSAGE]);
/* Waits for launches, then frees the device and all of its memory, modules and events. NULL: does nothing. */
void uk_gpu_close(struct uk_gpu *gpu);
/* The kind, "hip", and the driver's name of the device, "AMD Instinct MI210". They live until the device is
 * closed. */
const char *uk_gpu_kind(const struct uk_gpu *gpu);
const char *uk_gpu_name(const struct uk_gpu *gpu);
/* The message of the last call that failed; "" if none did. It lives until the next failure. */
const char *uk_gpu_message(const struct uk_gpu *gpu);

/* Allocates device memory, aligned to 256 bytes. 0 bytes get a valid address as well. */
enum uk_status uk_gpu_alloc(struct uk_gpu *gpu, size_t bytes, uk_gpu_address *address);
/* Waits for launches, then frees. Address 0: does nothing. */
enum uk_status uk_gpu_free(struct uk_gpu *gpu, uk_gpu_address address);
enum uk_status uk_gpu_upload(struct uk_gpu *gpu, uk_gpu_address to, const void *from, size_t bytes);
enum uk_status uk_gpu_download(struct uk_gpu *gpu, void *to, uk_gpu_address from, size_t bytes);
/* Sets each byte to `value`. */
enum uk_status uk_gpu_fill(struct uk_gpu *gpu, uk_gpu_address to, unsigned char value, size_t bytes);

/* Loads an image, which may be freed afterwards: a code object (HIP, the simulator), or the text of PTX
 * (CUDA), which need not end with a NUL. UK_UNSUPPORTED: it is for another device. */
enum uk_status uk_gpu_load(struct uk_gpu *gpu, const void *image, size_t bytes,
                           struct uk_gpu_module **module);
/* Frees the module and its kernels. NULL: does nothing. */
enum uk_status uk_gpu_unload(struct uk_gpu *gpu, struct uk_gpu_module *module);
/* A kernel of the module, which owns it. UK_INVALID_ARGUMENT: the module has no kernel of that name. */
enum uk_status uk_gpu_find(struct uk_gpu *gpu, struct uk_gpu_module *module, const char *name,
                           struct uk_gpu_kernel **kernel);

/*
 * Launches grid[0] x grid[1] x grid[2] blocks of block[0] x block[1] x block[2] threads. `arguments` holds
 * those of the kernel, each at the next multiple of its own size, and is copied before the call returns.
 * `shared` is the size of shared memory beyond what the kernel declares. An empty grid launches nothing.
 * UK_INVALID_SIZE: a block is empty or has more than 1,024 threads, grid[0] is more than 2^31 - 1, or grid[1]
 * or grid[2] more than 65,535.
 */
enum uk_status uk_gpu_launch(struct uk_gpu *gpu, struct uk_gpu_kernel *kernel, const int64_t grid[3],
                             const int64_t block[3], size_t shared, const void *arguments, size_t bytes);
enum uk_status uk_gpu_wait(struct uk_gpu *gpu);

/* Events are points in the sequence of what the device executes. */
enum uk_status uk_gpu_event_make(struct uk_gpu *gpu, struct uk_gpu_event **event);
/* NULL: does nothing. */
enum uk_status uk_gpu_event_free(struct uk_gpu *gpu, struct uk_gpu_event *event);
/* Moves the event after everything that was called so far. */
enum uk_status uk_gpu_record(struct uk_gpu *gpu, struct uk_gpu_event *event);
/* The time between two recorded events; waits for both. UK_UNSUPPORTED: the simulator measures no time. */
enum uk_status uk_gpu_seconds(struct uk_gpu *gpu, struct uk_gpu_event *start, struct uk_gpu_event *end,
                              double *seconds);

/* ---- for compiled programs ---- */

/* Finds a kernel of an image, which is loaded at its first use on the device: images of equal bytes are
 * loaded once. The bytes may be freed afterwards. The kernel lives until the device is closed. */
enum uk_status uk_gpu_use(struct uk_gpu *gpu, const void *image, size_t bytes, const char *name,
                          struct uk_gpu_kernel **kernel);
/* Device memory of at least `bytes` bytes, aligned to 256, that all programs on the device share: its
 * contents are valid until the next program uses it. To grow, it waits for launches and allocates again:
 * addresses that earlier calls returned are then invalid, and the contents are lost. */
enum uk_status uk_gpu_workspace(struct uk_gpu *gpu, size_t bytes, uk_gpu_address *address);

/* ---- writing a driver ----
 *
 * Each function does what the function uk_gpu_<name> above does. gpu.c has checked its arguments: no pointer
 * is NULL, nothing is empty. In a launch only, `shared` may be 0, and `bytes` is 0 for a kernel without
 * parameters, whose `arguments` may be NULL. On failure a function writes a message (UK_GPU_MESSAGE bytes)
 * and no other output. `free`, `unload` and `event_free` release even if they report an error.
 */
struct uk_gpu_driver {
    const char *kind;
    enum uk_status (*open)(int ordinal, void **device, char *message);
    void (*close)(void *device);
    const char *(*name)(void *device);
    enum uk_status (*alloc)(void *device, size_t bytes, uk_gpu_address *address, char *message);
    enum uk_status (*free)(void *device, uk_gpu_address address, char *message);
    enum uk_status (*upload)(void *device, uk_gpu_address to, const void *from, size_t bytes, char *message);
    enum uk_status (*download)(void *device, void *to, uk_gpu_address from, size_t bytes, char *message);
    enum uk_status (*fill)(void *device, uk_gpu_address to, unsigned char value, size_t bytes, char *message);
    enum uk_status (*load)(void *device, const void *image, size_t bytes, struct uk_gpu_module **module,
                           char *message);
    enum uk_status (*unload)(void *device, struct uk_gpu_module *module, char *message);
    enum uk_status (*find)(void *device, struct uk_gpu_module *module, const char *name,
                           struct uk_gpu_kernel **kernel, char *message);
    enum uk_status (*launch)(void *device, struct uk_gpu_kernel *kernel, const unsigned grid[3],
                             const unsigned block[3], unsigned shared, const void *arguments, size_t bytes,
                             char *message);
    enum uk_status (*wait)(void *device, char *message);
    enum uk_status (*event_make)(void *device, struct uk_gpu_event **event, char *message);
    enum uk_status (*event_free)(void *device, struct uk_gpu_event *event, char *message);
    enum uk_status (*record)(void *device, struct uk_gpu_event *event, char *message);
    enum uk_status (*seconds)(void *device, struct uk_gpu_event *start, struct uk_gpu_event *end,
                              double *seconds, char *message);
};
/* Registers a driver; *driver must live as long as the process. Any thread may call it at any time.
 * UK_INVALID_ARGUMENT: it lacks a kind or a function, another driver has that kind, or eight are registered.
 * Registering a driver again does nothing. */
enum uk_status uk_gpu_register(const struct uk_gpu_driver *driver);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
