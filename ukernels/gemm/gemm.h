/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matrix products of any size and layout on the kernels of the registry: uk_sgemm, uk_dgemm, their batches
 * and plans.
 *
 *     product.h        a product: as a caller describes it, and as every path sees it
 *     gemm.c, batch.c  the calls, and the shortcut of the smallest products; calls_element.h has those of a
 *                      type; a plan in words
 *     igemm.c, i32.c   the same of bytes
 *     plan.c           arguments are checked, and the path with the least cycles is chosen (plan.h)
 *     prepare.c        plans that callers keep
 *     message.c        uk_last_message
 *     verbose.c        UK_VERBOSE=1: a line a call
 *     paths.c          the table of paths; running a plan; task.c has what all paths need
 *     vector.c         the path of matrix-vector products
 *     dots.c           the path of products that are computed as inner products
 *     small.c          the path of small products, whose kernels take operands in place and all rows in one
 *                      call; direct.c: which kernels; small_cost.c: what the ways over C take; small_run.c
 *     run.c            the path of tiles: blocks, panels, rows of tiles; plan_tiles.c: kernel, blocks and
 *                      threads, the least of what cost.c estimates; blocks.c
 *     pack.c           copies of operands
 *     kernels.c        the registry's kernels by element type and form (types.h)
 *     element.h        what depends on the element type: f32.c and f64.c include it
 *
 * The loops over blocks and packed panels are those of Goto and van de Geijn, "Anatomy of high-performance
 * matrix multiplication" (ACM TOMS 34, 2008), with the micro-kernel as the unit, as in BLIS (Van Zee and van
 * de Geijn, ACM TOMS 41, 2015). Besides them an operand may be read in place, where cost.c estimates that
 * this is faster than packing it.
 *
 * Uses machine (the row of a core), registry (kernels by name), view (operands in arrays), cost (cycles on a
 * core's ports) and runtime (threads, memory).
 */
#ifndef GEMM_H
#define GEMM_H

#include "plan.h"

#endif
