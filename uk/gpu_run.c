/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a compiled program on a GPU: the first device that accepts its image, or else the simulator. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "amdgpu.h"
#include "child.h"
#include "operands/data.h"
#include "gpu_run.h"
#include "progress.h"
#include "remote/remote.h"
#include "target/target.h"
#include "gpu/gpu.h"

/* Calls again while launches are recorded, and times their repetitions. */
static enum uk_status time_call(struct uk_gpu *gpu, const struct uk_gpu_call *c, void *const *argument,
                                char why[UK_GPU_MESSAGE]) {
    enum { MOST = 64 };
    double seconds[MOST];
    enum uk_status s = uk_board_gpu_record(UK_RECORD_LAUNCHES, why);

    if (!s)
        s = (enum uk_status)uk_module_call(c->module, c->sizes, c->scalars, argument);
    if (!s)
        s = uk_board_gpu_replay(c->how, seconds, why);
    if (!s)
        uk_board_times_of_gpu(c->times, seconds, c->how->rounds, uk_gpu_name(gpu));
    return s;
}

/* Loads the image and the operands, calls the function, and copies back what it wrote. UK_UNSUPPORTED: the
 * GPU is of another architecture. `why` is the device's message after a failure; "": the function refused its
 * arguments. */
static enum uk_status call(struct uk_gpu *gpu, const struct uk_gpu_call *c, char why[UK_GPU_MESSAGE]) {
    void **argument = calloc((size_t)c->data->count + 1, sizeof *argument);
    enum uk_status s = argument ? UK_OK : UK_OUT_OF_MEMORY;

    snprintf(why, UK_GPU_MESSAGE, "%s", s ? "out of memory" : "");
    for (int i = 0; i < c->data->count && !s; i++) {
        const struct uk_array *a = &c->data->array[i];
        uk_gpu_address at = 0;

        s = uk_gpu_alloc(gpu, a->bytes, &at);
        if (!s)
            s = uk_gpu_upload(gpu, at, a->origin, a->bytes);
        argument[i + 1] = (void *)(uintptr_t)at;
    }
    if (!s) {
        argument[0] = gpu;
        s = (enum uk_status)uk_module_call(c->module, c->sizes, c->scalars, argument);
    }
    if (!s && c->how)
        s = time_call(gpu, c, argument, why);
    for (int i = 0; i < c->data->count && !s; i++) {
        const struct uk_array *a = &c->data->array[i];

        if (a->tensor->is_written)
            s = uk_gpu_download(gpu, a->origin, (uk_gpu_address)(uintptr_t)argument[i + 1], a->bytes);
    }
    free(argument);
    if (s && !*why)
        snprintf(why, UK_GPU_MESSAGE, "%s", uk_gpu_message(gpu));
    return s;
}

/* True if the device is a simulated GPU of another target. Others are recognized by their answer only. */
static bool is_other_gpu(const char *kind, const char *target, const char *name) {
    const struct uk_core *core = strcmp(kind, "sim") ? NULL : uk_gpu_core(target);

    return core && strncmp(name, core->name, strlen(core->name)) != 0;
}

/* Tries all devices of a kind until one accepts the image; `why` is the last one's error. False: none did. */
static bool try_kind(const char *kind, const struct uk_gpu_call *c, enum uk_status *status,
                     char why[UK_GPU_MESSAGE], char name[UK_GPU_MESSAGE]) {
    struct uk_gpu *gpu;

    for (int i = 0; !(*status = uk_gpu_open(kind, i, &gpu, i ? NULL : why)); i++) {
        *status = is_other_gpu(kind, c->target, uk_gpu_name(gpu)) ? UK_UNSUPPORTED : call(gpu, c, why);
        snprintf(name, UK_GPU_MESSAGE, "%s", uk_gpu_name(gpu));
        uk_gpu_close(gpu);
        if (*status != UK_UNSUPPORTED)
            return true;
    }
    return *status != UK_UNSUPPORTED;
}

bool uk_gpu_is_simulated(const char *target) {
    for (const struct uk_target *t = uk_targets; target && t->name; t++)
        if (t->arch->is_device && !strncmp(target, t->name, strlen(t->name)))
            return uk_amdgpu_simulates(t->cpu);
    return false;
}

const struct uk_core *uk_gpu_core(const char *target) {
    for (const struct uk_target *t = uk_targets; target && t->name; t++)
        if (t->arch->is_device && !strncmp(target, t->name, strlen(t->name)))
            return uk_core_find(t->row);
    return NULL;
}

/* Runs on the board's GPUs: the first that accepts the image. Exit status. */
static int run_on_board(const struct uk_gpu_call *c, enum uk_status *status) {
    const char *board = uk_board_in_use()->text;
    char why[UK_GPU_MESSAGE] = "", name[UK_GPU_MESSAGE];
    const bool done = try_kind(uk_gpu_kind_here(c->target), c, status, why, name);

    if (uk_is_interrupted())
        return UK_EXIT_WRONG;
    if (!done)
        return uk_complain(UK_EXIT_WRONG, "--remote=%s: no GPU for target '%s' was found: %s", board,
                           c->target, why);
    if (*status && *why)
        return uk_complain(UK_EXIT_WRONG, "--remote=%s: %s: %s", board, name, why);
    if (!c->how && !c->quiet && !*status)
        printf("device: %s\n", name);
    return UK_EXIT_OK;
}

int uk_gpu_run(const struct uk_gpu_call *c, enum uk_status *status) {
    const bool simulate = c->device && !strcmp(c->device, "sim"), real = c->device && !simulate;
    char why[UK_GPU_MESSAGE] = "", name[UK_GPU_MESSAGE];

    if (uk_board_in_use())
        return run_on_board(c, status);
    bool done = !simulate && try_kind(c->kind, c, status, why, name);
    if (!done && real)
        return uk_complain(UK_EXIT_WRONG, "--device=gpu: no GPU for target '%s' was found: %s", c->target,
                           why);
    if (!done && !uk_gpu_is_simulated(c->target))
        return uk_complain(UK_EXIT_WRONG,
                           "no GPU for target '%s' is here%s%s, and the simulator has only AMD's; "
                           "--device=interp interprets its loops",
                           c->target, *why ? ": " : "", why);
    if (!done) {
        if (!simulate && !c->quiet)
            printf("no GPU for target '%s' was found (%s): it is simulated\n", c->target, why);
        uk_progress_begin("running in the simulator, which is thousands of times slower than a GPU");
        done = try_kind("sim", c, status, why, name);
        uk_progress_end();
    }
    if (!done)
        return uk_complain(UK_EXIT_WRONG, "the simulator has no GPU for target %s: %s", c->target, why);
    if (*status && *why)
        return uk_complain(UK_EXIT_WRONG, "%s: %s", name, why);
    if (!c->quiet && !*status)
        printf("device: %s\n", name);
    return UK_EXIT_OK;
}
