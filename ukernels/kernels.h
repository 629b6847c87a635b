/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernels by name: a prototype for each row of kernels.def. Only kernels of this build's architecture exist in the library; the others are declared and no more.
 *
 *     #include <ukernels/kernels.h>
 *     // c[i][j] = sum over p < K of a[p*6 + i] * b[p*16 + j], on a CPU that has AVX2 and FMA
 *     uk_sgemm_6x16_avx2_asm(K, a, b, c, ldc, 0, 6, 16);
 *
 * What each operation computes is said in ops.def, what all kernels share in kernel_contract.h, in registry/ beside this file. A
 * kernel trusts its arguments, asks nothing of the CPU, keeps nothing, and may be called from any number of threads at once.
 */
#ifndef UKERNELS_KERNELS_H
#define UKERNELS_KERNELS_H

#include "ukernels.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* A row may list no attributes, or several: only its name matters here. */
#define UK_KERNEL(op, mr, nr, isa, impl, ...) uk_##op##_function uk_##op##_##mr##x##nr##_##isa##_##impl;
#include "registry/kernels.def"
#undef UK_KERNEL

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
