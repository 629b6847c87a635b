/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The contract of kernels for GPUs, and the header that they include. kernel_contract.h holds as well, unless
 * it says something else.
 *
 * A kernel computes one thread's part of a tile: all threads of a wave call it, with the same k and strides.
 *
 *   1. Operands in shared memory are UK_SHARED pointers. The tile of C is a UK_REGISTER array of the caller.
 *      All indices into it are constants, so it becomes registers when the kernel is inlined. The same holds
 *      for each local array.
 *   2. The kernel adds to C, which the caller has initialized. Tiles are full: at edges, shared memory is
 *      filled up with zeros.
 *   3. The kernel waits for nothing except its own loads, for which the compiler inserts waits: asm has no
 *      load and no barrier. The caller makes sure that shared memory has been written before the call, and is
 *      not written again before all threads have returned.
 *   4. Asm consists of arithmetic on values ("+v", "v"): the compiler places it and chooses registers.
 *   5. Loops over registers are unrolled in the source: bitcode.py marks asm `noduplicate`, so that no
 *      compiler unrolls loops around it later.
 */
#ifndef UK_GPU_KERNEL_H
#define UK_GPU_KERNEL_H

/* Address spaces of pointers, on devices. A host compiles the prototypes without them. */
#if !defined(UK_SHARED)
#if defined(__AMDGCN__)
#define UK_SHARED __attribute__((address_space(3)))
#define UK_REGISTER __attribute__((address_space(5)))
#else
#define UK_SHARED
#define UK_REGISTER
#endif
#endif

#include "kernel_contract.h"

#endif
