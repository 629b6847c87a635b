/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What operands in place and copies cost tiles beside their multiply-adds: two sets of figures that were measured with products,
 * and which of them a machine takes by the facts of its row.
 *
 * A last-level cache is far if a line comes from it more slowly, with as many in flight as L1 allows, than the
 * shortest k iteration of a tile takes, the latency of a multiply-add: tiles then wait for operands that lie
 * there, unless they are prefetched or packed. It is far behind a ring or a mesh of slices, and near in a
 * complex of eight cores, 50 cycles away.
 *
 * The near figures were measured on Zen 5, the far ones on Granite Rapids in a virtual machine: AVX-512's tiles
 * of 14 rows, sums over 512, rows of B 1, 2, 4 and 8 KB apart or a line or half of one more, two to 32 panels
 * of rows, all of B in place, packed by the first panel, or packed beforehand. In a k iteration of 14 cycles,
 * lines from the far cache took 7 more for the two of a row, translations of rows in pages of their own 0.8 and
 * rows that cross lines 0.4; the copy took 2 to 6 for the 128 bytes of a row. A line of A took 2 to 4 more than
 * where tiles prefetch it, of 3136 or 12544 rows of 32 to 256 elements. Rows of A a multiple of 4 KB apart, for
 * which there are 12 ways, took 0.01 to 0.045 a k iteration: of 49 to 1024 of them those of products with 768
 * or 1024 columns were faster copied, with up to 512 in place. Their lines wait in L2, 16 cycles away.
 *
 * On Emerald Rapids packing A beside the k iterations of tiles took 0.04 cycles a byte of doubles, 0.06 of
 * floats: rows of 56 and 28 KB, 8 tiles. In place rows of doubles 4 KB apart took 0.04 a k iteration.
 *
 * A column-major A in place had no measurable cost on Zen 5. On Granite Rapids, sums over 512 and 256 of 504
 * rows, 4 and 16 tiles to a row, columns 2 to 8 KB apart: packing took 12 cycles for the 56 bytes of a k
 * iteration. In place its two lines took each tile 0.4 cycles where they lie in few pages, 1.0 to 1.6 in many,
 * and 3 where they share too few sets of L2.
 *
 * Where C was transposed instead of B, Granite Rapids gained what was estimated to within 4 %, or more; other CPUs have not been
 * measured.
 */
#include "cost.h"

static const struct gemm_figures near = {.conflict = 0.2,
                                         .far = 0.15,
                                         .translate = 0.2,
                                         .fused_packing = 0.1,
                                         .columns = {.copy = 0.1},
                                         .transposed = 1.15};
static const struct gemm_figures far = {.is_far = true,
                                        .split = 0.9,
                                        .conflict = 0.02,
                                        .far = 3.5,
                                        .translate = 0.8,
                                        .crossing = 0.4,
                                        .fused_packing = 0.03,
                                        .beside = 0.05,
                                        .unprefetched = 2.5,
                                        .columns = {.copy = 0.2, .near = 0.2, .far = 1.3, .translate = 0.8},
                                        .transposed = 1.03};

const struct gemm_figures *uk_gemm_figures_of(const struct uk_machine *m) {
    const double latency = m->uncore.cache.latency;

    return latency > m->core.fma_latency * m->core.l1.lines ? &far : &near;
}

int64_t uk_gemm_ahead(const struct uk_machine *m) {
    return m->core.prefetch.past_page
               ? 0
               : (int64_t)(m->uncore.latency * m->uncore.bytes) / GEMM_LINE * GEMM_LINE;
}
