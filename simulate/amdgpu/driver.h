/* SPDX-License-Identifier: Apache-2.0 */
/* The simulator as a kind of GPU of libukernels, which registers itself where it is linked. */
#ifndef UK_AMDGPU_DRIVER_H
#define UK_AMDGPU_DRIVER_H

#include "amdgpu.h"
#include "gpu/gpu.h"

extern const struct uk_gpu_driver uk_gpu_sim;

/* Calls `seen` behind each launch of the process's simulated devices that went well, with what it executed;
 * its instructions are then those that uk_amdgpu_instruction describes. Set while no device is used. NULL:
 * nobody. */
void uk_sim_observe(void (*seen)(void *user, const struct uk_amdgpu_kernel *kernel,
                                 const struct uk_amdgpu_launch *how, const struct uk_amdgpu_counts *counts),
                    void *user);

#endif
