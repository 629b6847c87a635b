/* SPDX-License-Identifier: Apache-2.0 */
/* The simulator as a GPU driver of libukernels, which registers itself when it is linked. */
#ifndef UK_AMDGPU_DRIVER_H
#define UK_AMDGPU_DRIVER_H

#include "amdgpu.h"
#include "gpu/gpu.h"

extern const struct uk_gpu_driver uk_gpu_sim;

/* Calls `seen` after each successful launch on the process's simulated devices, with its counts; at that time
 * uk_amdgpu_instruction describes the launch's instructions, and how->times the cycles of its blocks if
 * `core`, the row of the devices in cores.def, is not NULL. by_kind, only with `core`: launches execute one
 * or two blocks of each kind (struct uk_amdgpu_launch). `seen` is NULL: no observer. To be set while no
 * device is in use. */
void uk_sim_observe(void (*seen)(void *user, const struct uk_amdgpu_kernel *kernel,
                                 const struct uk_amdgpu_launch *how, const struct uk_amdgpu_counts *counts),
                    void *user, const struct uk_core *core, bool by_kind);

#endif
