/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matrix products of any size and layout, by the kernels of the registry: uk_sgemm, uk_dgemm, uk_igemm, their
 * batches and plans.
 *
 *     product.h        a product: as a caller describes it, and as every path sees it
 *     gemm.c, batch.c  the calls, and the shortcut of the smallest products; uk_gemm_explain
 *     calls_element.h  calls of one element type
 *     igemm.c, i32.c   products of bytes
 *     plan.c           checks arguments and chooses the path with the fewest cycles (plan.h)
 *     prepare.c        plans that callers keep
 *     message.c        uk_last_message
 *     verbose.c        UK_VERBOSE=1: a line per call
 *     paths.c          the table of paths; runs a plan
 *     task.c           parallel loops and texts, for all paths
 *     vector.c         the path of matrix-vector products
 *     dots.c           the path of products that are computed as inner products
 *     small.c          the path of small products, whose kernels read operands in place and compute all rows
 *                      in one call; direct.c chooses kernels, small_cost.c estimates, small_run.c runs
 *     run.c            the path of tiles: blocks, panels, rows of tiles; plan_tiles.c chooses kernel, blocks
 *                      and threads, blocks.c sizes blocks, cost.c estimates
 *     pack.c           copies of operands
 *     kernels.c        the registry's kernels by element type and form (types.h)
 *     element.h        functions that depend on the element type; f32.c and f64.c include it
 *
 * The loops over blocks and packed panels are those of Goto and van de Geijn, "Anatomy of high-performance
 * matrix multiplication" (ACM TOMS 34, 2008), with the micro-kernel as the unit, as in BLIS (Van Zee and van
 * de Geijn, ACM TOMS 41, 2015). Besides them an operand may be read in place, where cost.c estimates that
 * this is faster than packing it.
 *
 * Uses the folders machine (the row of a core), registry (kernels), view (operands in arrays), cost (cycles)
 * and runtime (threads, memory).
 */
#ifndef GEMM_H
#define GEMM_H

#include "plan.h"

#endif
