/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix products of f32. */
#define ELEMENT float
#define TYPE uk_gemm_f32
#define NAME "sgemm"
#define REGISTERED UK_ELEMENT_F32
#define KERNEL(op) uk_s##op##_function
#include "element.h"
