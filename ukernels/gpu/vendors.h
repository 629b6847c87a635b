/* SPDX-License-Identifier: Apache-2.0 */
/* The built-in drivers: AMD's HIP and NVIDIA's CUDA. */
#ifndef UK_GPU_VENDORS_H
#define UK_GPU_VENDORS_H

#include "gpu.h"

extern const struct uk_gpu_driver uk_gpu_hip, uk_gpu_cuda;

#endif
