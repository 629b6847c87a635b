/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The contract of kernels for GPUs, and the header that they include. kernel_contract.h holds too where this
 * does not say otherwise.
 *
 * A kernel computes a thread's part of a tile: all threads of a wave call it, with the same k and strides.
 *
 *   1. Operands that lie in shared memory are UK_SHARED pointers, the tile of C is a UK_REGISTER array of the
 *      caller's of which every element has a constant index: it vanishes into registers when the kernel is
 *      inlined, and so must each local array.
 *   2. The caller has set C to 0 or to what is added to; the kernel adds. Tiles are full: edges are zeros in
 *      shared memory.
 *   3. The kernel waits for nothing but its own loads, for which the compiler inserts waits: asm has no load
 *      and no barrier. The caller makes sure that shared memory is written before, and not again before all
 *      threads have returned.
 *   4. Asm is of arithmetic only, on operands that are values ("+v", "v"): the compiler places it and chooses
 *      registers.
 *   5. Loops over registers are unrolled in the source: bitcode.py marks asm `noduplicate`, and no compiler
 *      unrolls them later.
 */
#ifndef UK_GPU_KERNEL_H
#define UK_GPU_KERNEL_H

/* Address spaces, on devices; hosts read the prototypes without them. Kernels that a program imports have
 * them without this file. */
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
