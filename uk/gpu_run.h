/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of modules compiled for a GPU. */
#ifndef UK_GPU_RUN_H
#define UK_GPU_RUN_H

#include "machine/machine.h"
#include "operands/data.h"

/* A call of a module compiled for a GPU. `sizes` are those that are not constants. */
struct uk_gpu_call {
    const struct uk_module *module;
    const char *target, *kind; /* kind of GPU that runs the code, as uk_gpu_open() takes it */
    const char *device;        /* "gpu", "sim", or NULL: the GPU, or the simulator if there is none */
    const int64_t *sizes;
    const double *scalars;
    struct uk_data *data;
    /* Boards: how to time the kernels after the call, and the result; NULL: no timing. */
    const struct uk_timing *how;
    struct uk_board_times *times;
    bool quiet; /* does not print which device it runs on */
};
/* Runs the call. Exit status; if UK_EXIT_OK, *status is the function's result. */
int uk_gpu_run(const struct uk_gpu_call *c, enum uk_status *status);
/* True if the simulator runs the target's code. */
bool uk_gpu_is_simulated(const char *target);
/* The GPU's row of cores.def; NULL: the target is not a GPU. */
const struct uk_core *uk_gpu_core(const char *target);
/* The kind of GPU that runs the target's code; NULL: the target is not a GPU. */
const char *uk_gpu_kind_of(const char *target);
/* The kind to pass to uk_gpu_open(): that of uk_gpu_kind_of(), or the kind registered for the board in
 * use. */
const char *uk_gpu_kind_here(const char *target);

#endif
