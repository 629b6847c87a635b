/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernels by name: a prototype for each row of kernels.def. The library defines those of the architecture
 * that it was built for.
 *
 *     #include <ukernels/kernels.h>
 *     // c[i*ldc + j] = sum over p < K of a[p*6 + i] * b[p*16 + j] for 6 rows and 16 columns, on a CPU that
 *     // has AVX2 and FMA. The 0: C is overwritten; 1 would add the sums to it.
 *     uk_sgemm_6x16_avx2_asm(K, a, b, c, ldc, 0, 6, 16);
 *
 * registry/ops.def states what each operation computes and what its parameters are,
 * registry/kernel_contract.h what all kernels have in common: alignment, edges, strides in elements. A kernel
 * checks neither its arguments nor the CPU, keeps nothing from call to call, and may be called from any
 * number of threads at once. Some need state of the core: uk_kernel_state.
 */
#ifndef UKERNELS_KERNELS_H
#define UKERNELS_KERNELS_H

#include "ukernels.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* The type of the kernels of each operation, such as typedef void uk_sgemm_function(int64_t k, ...); the
 * other columns of ops.def are not needed here. */
#define UK_OP_ROW(name, parameters, declaration, ...) typedef void uk_##name##_function parameters;
#include "registry/ops.def"
#undef UK_OP_ROW

/* The kernels. The attributes of their rows are not needed here. */
#define UK_KERNEL(op, mr, nr, isa, impl, ...) uk_##op##_function uk_##op##_##mr##x##nr##_##isa##_##impl;
#include "registry/kernels.def"
#undef UK_KERNEL

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
