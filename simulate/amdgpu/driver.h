/* SPDX-License-Identifier: Apache-2.0 */
/* The simulator as a kind of GPU of libukernels, which registers itself where it is linked. */
#ifndef UK_AMDGPU_DRIVER_H
#define UK_AMDGPU_DRIVER_H

#include "gpu/gpu.h"

extern const struct uk_gpu_driver uk_gpu_sim;

#endif
