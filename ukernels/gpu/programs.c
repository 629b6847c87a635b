/* SPDX-License-Identifier: Apache-2.0 */
/* Functions for compiled programs: load an image once per device, and keep the workspace for the next call.
 */
#include <stdlib.h>
#include <string.h>
#include "device.h"

static struct uk_gpu_used *load(struct uk_gpu *gpu, const void *image, size_t bytes, enum uk_status *status) {
    for (struct uk_gpu_used *u = gpu->used; u; u = u->next)
        if (u->bytes == bytes && memcmp(u->image, image, bytes) == 0)
            return u;
    struct uk_gpu_used *u = malloc(sizeof *u + bytes);
    if (!u) {
        *status = uk_gpu_fail(gpu, UK_OUT_OF_MEMORY, "out of memory");
        return NULL;
    }
    *u = (struct uk_gpu_used){.next = gpu->used, .bytes = bytes};
    memcpy(u->image, image, bytes);
    *status = uk_gpu_load(gpu, image, bytes, &u->module);
    if (*status) {
        free(u);
        return NULL;
    }
    return gpu->used = u;
}

enum uk_status uk_gpu_use(struct uk_gpu *gpu, const void *image, size_t bytes, const char *name,
                          struct uk_gpu_kernel **kernel) {
    enum uk_status status = UK_OK;

    if (!gpu || !image || !bytes || !name || !kernel)
        return uk_gpu_fail(gpu, UK_INVALID_ARGUMENT, "uk_gpu_use: there is no %s",
                           !image || !bytes ? "image"
                           : !name          ? "name"
                                            : "place for the kernel");
    struct uk_gpu_used *u = load(gpu, image, bytes, &status);
    if (!u)
        return status;
    for (const struct uk_gpu_found *f = u->kernels; f; f = f->next)
        if (strcmp(f->name, name) == 0)
            return *kernel = f->kernel, UK_OK;
    const size_t length = strlen(name) + 1;
    struct uk_gpu_found *f = malloc(sizeof *f + length);
    if (!f)
        return uk_gpu_fail(gpu, UK_OUT_OF_MEMORY, "out of memory");
    status = uk_gpu_find(gpu, u->module, name, &f->kernel);
    if (status) {
        free(f);
        return status;
    }
    memcpy(f->name, name, length);
    f->next = u->kernels;
    u->kernels = f;
    *kernel = f->kernel;
    return UK_OK;
}

enum uk_status uk_gpu_workspace(struct uk_gpu *gpu, size_t bytes, uk_gpu_address *address) {
    if (!gpu || !address)
        return uk_gpu_fail(gpu, UK_INVALID_ARGUMENT, "uk_gpu_workspace: there is no place for the address");
    if (bytes > gpu->workspace_bytes || !gpu->workspace) {
        const uk_gpu_address small = gpu->workspace;
        enum uk_status status;

        gpu->workspace = 0;
        gpu->workspace_bytes = 0;
        status = uk_gpu_free(gpu, small); /* waits for launches that use it */
        if (!status)
            status = uk_gpu_alloc(gpu, bytes, &gpu->workspace);
        if (status)
            return status;
        gpu->workspace_bytes = bytes;
    }
    *address = gpu->workspace;
    return UK_OK;
}

void uk_gpu_forget(struct uk_gpu *gpu) {
    struct uk_gpu_used *next;

    for (struct uk_gpu_used *u = gpu->used; u; u = next) {
        struct uk_gpu_found *after;

        next = u->next;
        for (struct uk_gpu_found *f = u->kernels; f; f = after) {
            after = f->next;
            free(f);
        }
        free(u);
    }
}
