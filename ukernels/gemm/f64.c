/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix products of f64. */
#define ELEMENT double
#define TYPE uk_gemm_f64
#define NAME "dgemm"
#define REGISTERED UK_ELEMENT_F64
#define KERNEL(op) uk_d##op##_function
#include "element.h"
