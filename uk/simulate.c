/* SPDX-License-Identifier: Apache-2.0 */
/* Runs GPU kernels in the simulator (simulate/amdgpu), for uk verify. */
#include <stdio.h>
#include <stdlib.h>
#include "amdgpu.h"
#include "simulate.h"
#include "uk.h"

/* A simulated GPU with one code object loaded. */
struct uk_simulation {
    struct uk_amdgpu *gpu;
    struct uk_amdgpu_object *object;
};

struct uk_simulation *uk_simulation_begin(void) {
    return calloc(1, sizeof(struct uk_simulation));
}

void uk_simulation_end(struct uk_simulation *s) {
    if (s && s->gpu)
        uk_amdgpu_close(s->gpu);
    free(s);
}

static enum uk_status failed(const struct uk_simulation *s, enum uk_amdgpu_status status, char *message,
                             size_t room) {
    snprintf(message, room, "%s", uk_amdgpu_message(s->gpu));
    switch (status) {
    case UK_AMDGPU_REPORT:
    case UK_AMDGPU_LIMIT:
        return UK_WRONG_RESULT;
    case UK_AMDGPU_NO_MEMORY:
        return UK_OUT_OF_MEMORY;
    default:
        return UK_UNSUPPORTED;
    }
}

static enum uk_status open_gpu(struct uk_simulation *s, const struct uk_verify_launch *l, char *message,
                               size_t room) {
    enum uk_amdgpu_status status;

    if (s->gpu)
        return UK_OK;
    if (!uk_amdgpu_simulates(l->gpu)) {
        snprintf(message, room, "the simulator has no %s", l->gpu);
        return UK_UNSUPPORTED;
    }
    s->gpu = uk_amdgpu_open(l->gpu);
    if (!s->gpu) {
        snprintf(message, room, "out of memory for a simulated %s", l->gpu);
        return UK_OUT_OF_MEMORY;
    }
    status = uk_amdgpu_load(s->gpu, l->image, l->image_bytes, &s->object);
    return status ? failed(s, status, message, room) : UK_OK;
}

/* Allocates a buffer on the GPU for each operand, of exactly its size, and uploads it. */
static enum uk_amdgpu_status send(struct uk_simulation *s, const struct uk_verify_launch *l,
                                  uint64_t *address, const void **argument) {
    enum uk_amdgpu_status status = UK_AMDGPU_OK;

    for (int i = 0; i < l->arguments && !status; i++) {
        const struct uk_verify_argument *a = &l->argument[i];

        argument[i] = a->is_buffer ? &address[i] : a->data;
        if (a->is_buffer)
            status = uk_amdgpu_alloc(s->gpu, a->bytes, &address[i]);
        if (a->is_buffer && !status)
            status = uk_amdgpu_write(s->gpu, address[i], a->data, a->bytes);
    }
    return status;
}

static enum uk_amdgpu_status run(struct uk_simulation *s, const struct uk_verify_launch *l, uint64_t *address,
                                 const void **argument) {
    const struct uk_amdgpu_launch launch = {
        .grid = {1, 1, 1}, .block = {l->threads, 1, 1}, .lds_bytes = l->shared_bytes, .seed = l->seed};
    enum uk_amdgpu_status status = send(s, l, address, argument);

    if (!status)
        status = uk_amdgpu_launch(s->gpu, uk_amdgpu_find(s->object, l->kernel), &launch, argument,
                                  (uint32_t)l->arguments, NULL);
    for (int i = 0; i < l->arguments && !status; i++)
        if (l->argument[i].is_buffer)
            status = uk_amdgpu_read(s->gpu, l->argument[i].data, address[i], l->argument[i].bytes);
    return status;
}

enum uk_status uk_simulate(void *simulation, const struct uk_verify_launch *l, char *message, size_t room) {
    struct uk_simulation *s = simulation;
    const size_t count = (size_t)l->arguments + 1;
    uint64_t *address = calloc(count, sizeof *address);
    const void **argument = calloc(count, sizeof *argument);
    enum uk_status status = UK_OUT_OF_MEMORY;

    if (address && argument && !(status = open_gpu(s, l, message, room))) {
        const enum uk_amdgpu_status done = run(s, l, address, argument);

        /* The message belongs to the last call, so it is copied before buffers are freed. */
        if (done)
            status = failed(s, done, message, room);
        for (size_t i = 0; i < count; i++)
            if (address[i])
                uk_amdgpu_free(s->gpu, address[i]);
    }
    free(address);
    free(argument);
    return status;
}
