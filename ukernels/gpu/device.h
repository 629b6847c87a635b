/* SPDX-License-Identifier: Apache-2.0 */
/* Private to this folder: an open device. */
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

/* programs.c: frees the records of used images; closing the device frees modules and device memory. */
void uk_gpu_forget(struct uk_gpu *gpu);
/* gpu.c: stores the message and returns `status`; UK_INVALID_ARGUMENT if gpu is NULL. */
__attribute__((format(printf, 3, 4))) enum uk_status uk_gpu_fail(struct uk_gpu *gpu, enum uk_status status,
                                                                 const char *format, ...);

#endif
