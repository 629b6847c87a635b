/* SPDX-License-Identifier: Apache-2.0 */
/* Inside the room: a device that is open. */
#ifndef UK_GPU_DEVICE_H
#define UK_GPU_DEVICE_H

#include "gpu.h"

/* An image that generated code has used, and its kernels by name. */
struct uk_gpu_used {
    struct uk_gpu_used *next;
    struct uk_gpu_module *module;
    struct uk_gpu_found {
        struct uk_gpu_found *next;
        struct uk_gpu_kernel *kernel;
        char name[];
    } *kernels;
    size_t bytes;
    unsigned char image[];
};

struct uk_gpu {
    const struct uk_gpu_driver *driver;
    void *device;
    struct uk_gpu_used *used;
    uk_gpu_address workspace;
    size_t workspace_bytes;
    char message[UK_GPU_MESSAGE];
};

/* programs.c: the memory of what was used; modules and device memory go with the device. */
void uk_gpu_forget(struct uk_gpu *gpu);
/* gpu.c: writes the message; returns status, or UK_INVALID_ARGUMENT where there is no device. */
__attribute__((format(printf, 3, 4))) enum uk_status uk_gpu_fail(struct uk_gpu *gpu, enum uk_status status,
                                                                 const char *format, ...);

#endif
