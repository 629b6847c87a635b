/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The contract of kernels. Kernels include this header, the compiler's own, and templates beside them, and no
 * other header of the library: a change of those does not compile the kernels again.
 *
 * A kernel computes one tile of C, mr x nr at most, for any k. What each operation computes is in ops.def;
 * this is what all kernels share, and what the tests check and break, clause by clause. struct uk_kernel
 * (ukernels.h) explains .kr, .edges, .a_over and the other attributes of a row.
 *
 *   A in panels, [k][MR]         B in panels, [k][NR]          C, rows ldc apart
 *
 *     a -> p=0 | 0 1 .. MR-1 |     b -> p=0 | 0 1 ... NR-1 |             c -> | 0 1 .. nr-1 | ...
 *          p=1 | 0 1 .. MR-1 |          p=1 | 0 1 ... NR-1 |        c + ldc -> | 0 1 .. nr-1 | ...
 *          ...                          ...                                    ...
 *        p=k-1 | 0 1 .. MR-1 |        p=k-1 | 0 1 ... NR-1 | c+(mr-1)*ldc -> | 0 1 .. nr-1 |
 *
 *   Element (i, p) of A is a[p*MR + i], element (p, j) of B is b[p*NR + j]. Where .kr > 1, panels are groups
 *   of kr terms, [k/kr][MR or NR][kr], and k is a multiple of kr: packing fills the last group with zeros.
 *   Panels always have their full width MR or NR, however few rows or columns the tile has: the rest may be
 *   read, and does not change the result. f16 and bf16 are passed as uint16_t, their bits.
 *
 *   1. Freestanding: no libc, no globals but static const, no detection of CPU features, no helper that is
 *      not inlined.
 *   2. Sizes and strides are int64_t; strides are in elements and may be anything that keeps rows apart.
 *   3. It reads the elements of its operands and, past them, only what .a_over and panels allow; it
 *      writes the mr x nr elements of its output, and nothing else.
 *   4. C is not read unless acc is nonzero: a NaN there must not leak into the result.
 *   5. k may be 0: the tile is then set to 0, or left as it is if acc.
 *   6. Edges: 1 <= mr <= MR and 1 <= nr <= NR are passed, as far as .edges says; without edges mr = MR and
 *      nr = NR.
 *   7. Operands are aligned to their elements and no more, unless .a_align, .b_align, .c_align say so.
 *   8. The ABI: callee-saved registers, MXCSR, the direction flag and the caller's stack are left as found; a
 *      native call ends with clean upper halves of the vector registers (compilers insert vzeroupper; asm
 *      declares what it clobbers by its widest name so that they can).
 *   9. Denormals: as the CPU's vector instructions treat them. ARMv7's NEON reads and writes 0 in their
 *      place, whatever FPSCR says, while its VFP keeps them: two kernels of one operation, and full tiles and
 *      edges of one kernel, may differ by the smallest normal number for each product there. It also rounds a
 *      product before it is added. Elsewhere denormals are kept, unless the caller has set the CPU to flush
 *      them.
 *  10. Inlined twice into one function it must still assemble and work: `%=` or numeric labels in asm; what
 *      asm changes is a read-write or output operand, and early-clobber ("+&r"): a compiler may else give an
 *      input of the same value, such as a constant ldc equal to k, the same register.
 */
#ifndef UK_KERNEL_CONTRACT_H
#define UK_KERNEL_CONTRACT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "half.h"

/* The build compiles a kernel's file once for each row of it, with UK_SYMBOL its name and UK_PARAMETERS the
 * parameters of its operation ("(int64_t k, const float *a, ...)"): a definition that differs is an error.
 * Rows that share a file also have UK_OP_<op>, UK_ISA_<isa>, UK_MR, UK_NR, UK_KR, and UK_DOUBLE or
 * UK_IMPL_<impl> where they apply (kernels.def). */
#ifdef UK_PARAMETERS
void UK_SYMBOL UK_PARAMETERS;
#endif

#endif
