/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernels by name: a prototype for each row of kernels.def. Of these the library defines the kernels of
 * its own architecture.
 *
 *     #include <ukernels/kernels.h>
 *     // c[i][j] = sum over p < K of a[p*6 + i] * b[p*16 + j], on a CPU that has AVX2 and FMA
 *     uk_sgemm_6x16_avx2_asm(K, a, b, c, ldc, 0, 6, 16);
 *
 * registry/ops.def says what each operation computes, registry/kernel_contract.h what all kernels share. A
 * kernel checks neither its arguments nor the CPU, keeps no state, and may be called from any number of
 * threads at once.
 */
#ifndef UKERNELS_KERNELS_H
#define UKERNELS_KERNELS_H

#include "ukernels.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* For each row of ops.def the type of its kernels' functions: typedef void uk_sgemm_function(int64_t k, ...);
 * and so on. */
#define UK_OP_ROW(name, parameters, declaration, ...) typedef void uk_##name##_function parameters;
#include "registry/ops.def"
#undef UK_OP_ROW

/* The attributes of a row are not needed here. */
#define UK_KERNEL(op, mr, nr, isa, impl, ...) uk_##op##_function uk_##op##_##mr##x##nr##_##isa##_##impl;
#include "registry/kernels.def"
#undef UK_KERNEL

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
