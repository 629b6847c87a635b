/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The contract of kernels. Kernels include this header, the compiler's own, and templates next to them, and
 * no other header of the library: a change of those does not compile the kernels again.
 *
 * A kernel computes one tile of C. MR x NR is the kernel's tile, the largest that it computes; mr x nr is the
 * tile of a call, k the number of terms of each sum. What each operation computes is in ops.def; this is what
 * all kernels share, and what the tests check and break, clause by clause. The attributes of a row (.kr,
 * .edges, .a_over) are fields of struct uk_kernel: registry.h and the functions of ukernels.h explain them.
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
 *   Otherwise k is any number. Panels always have their full width MR or NR, however few rows or columns
 *   the tile has: the rest may be read, and does not change the result. f16 and bf16 are passed as uint16_t,
 *   their bits.
 *
 *   1. Freestanding: no libc, no globals but static const, no detection of CPU features, no helper that is
 *      not inlined.
 *   2. Sizes and strides are int64_t. Strides are in elements, of any size, and may be negative. The rows of
 *      an output do not overlap; those of an input may.
 *   3. It reads the elements of its operands and, past them, only what .a_over and panels allow; it
 *      writes the mr x nr elements of its output, and nothing else.
 *   4. C is not read unless acc is nonzero: a NaN there must not leak into the result.
 *   5. k may be 0: the tile is then set to 0, or left as it is if acc. Terms outside of an image (depthwise
 * tiles) are left out: a weight that is infinite there does not turn the sum into a NaN.
 *   6. Edges: 1 <= mr <= MR and 1 <= nr <= NR are passed, as far as .edges says; without edges mr = MR and
 *      nr = NR.
 *   7. Operands are aligned to their elements and no more, unless .a_align, .b_align, .c_align say so.
 *   8. The ABI: callee-saved registers, MXCSR, the direction flag and the caller's stack are left as found; a
 *      kernel that is called, not inlined, returns with clean upper halves of the vector registers (compilers
 *      insert vzeroupper; asm declares what it clobbers by its widest name so that they can).
 *   9. Denormals: as the CPU's vector instructions treat them.
 *      - On ARMv7, NEON reads and writes 0 in their place, whatever FPSCR says; VFP keeps them. Two kernels
 *        of one operation, or full tiles and edges of one kernel, may use different ones: their results then
 *        differ by at most the smallest normal number per product. NEON's multiply-add (vmla) also rounds
 *        the product before it is added.
 *      - On other architectures they are kept, unless the caller has set the CPU to flush them.
 *  10. Inlined twice into one function it must still assemble and work: `%=` or numeric labels in asm; what
 *      asm changes is a read-write or output operand, and early-clobber ("+&r"): otherwise a compiler may
 *      give an input of the same value, such as a constant ldc equal to k, the same register.
 *  11. `next`, `hint` in the declaration, is any address, which need not exist: it is prefetched from, and
 *      nothing else. From it on lies the panel that the loops around the call move to; it comes into L2 while
 *      the present panel is in use. For each term of the sum, 64 bytes are prefetched, one run after another,
 *      so that several calls share a panel whose rows are longer: the caller adds a call's part to `next`.
 *  12. A row with .state is called while the thread holds that state (uk_state_load), and leaves it as it
 * was.
 */
#ifndef UK_KERNEL_CONTRACT_H
#define UK_KERNEL_CONTRACT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "half.h"

/* Bits of the argument `acc` of kernels with weights in blocks, beside 1, that they add to C: the type of the
 * scales, of which f16 and bf16 are passed as their bits in place of floats; and UK_ROW_SUMS: the sum of the
 * terms of each block of a row of i8 is ldr / 2 floats after the block's scale, and need not be computed; the
 * weights' scales are then finite. */
enum { UK_SCALES_F32 = 0, UK_SCALES_F16 = 2, UK_SCALES_BF16 = 4, UK_SCALES = 6, UK_ROW_SUMS = 8 };

/* The build compiles a kernel's file once for each row of it, with UK_SYMBOL its name and UK_PARAMETERS the
 * parameters of its operation ("(int64_t k, const float *a, ...)"): a definition that differs is an error.
 * Rows that share a file also have UK_OP_<op>, UK_ISA_<isa>, UK_MR, UK_NR, UK_KR, and UK_DOUBLE or
 * UK_IMPL_<impl> where they apply (kernels.def). */
#ifdef UK_PARAMETERS
void UK_SYMBOL UK_PARAMETERS;
#endif

#endif
