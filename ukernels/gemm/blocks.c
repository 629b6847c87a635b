/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sizes of the blocks of a product by tiles.
 *
 * - A block of B, kc x nc, is as large as half of L2, and at most GEMM_BLOCK bytes: the other half is for the
 *   operands that pass through L2. If kernels prefetch the next block, a block is half as large.
 * - k is split into equal blocks of about GEMM_KC if it is longer than GEMM_K_WHOLE. C is read and written
 *   once per block of k, so that few, long blocks are better for C; but a long block has few columns, and
 *   the panels of A come from the last-level cache once per block of columns. Not to split a long k is a way
 *   of its own, which cost.c compares.
 */
#include "tiles.h"

int64_t uk_gemm_panel_rows(const struct uk_kernel *k, int64_t m) {
    return uk_product_rows(m, k->mr, k->row_step);
}

int64_t uk_gemm_columns(const struct gemm_product *p, const struct gemm_way *w, int64_t n, int parts) {
    const bool has_next = w->prefetches && w->form != GEMM_PANELS; /* the next block is in L2 too */
    const int64_t room = uk_min(p->type->machine->cache[UK_L2].size / 2, GEMM_BLOCK) / p->type->size /
                         (has_next ? 2 * parts : parts);
    const int nr = w->tile->nr;
    const int64_t most = room / w->kc / nr * nr, few = 4 * nr;

    return uk_ceil_div(uk_ceil_div(n, uk_ceil_div(n, most < few ? few : most)), nr) * nr;
}

int64_t uk_gemm_k_block(const struct gemm_product *p, const struct gemm_tile *t) {
    const int64_t room = p->type->machine->cache[UK_L2].size / 2 / p->type->size / (4 * t->nr);
    const int64_t most = room > GEMM_KC ? GEMM_KC : room < GEMM_KC_LEAST ? GEMM_KC_LEAST : room;

    if (p->k <= uk_min(room, GEMM_K_WHOLE) || p->k <= most + most / 4)
        return p->k;
    const int64_t group = p->type->kr > 4 ? p->type->kr : 4;

    return uk_ceil_div(uk_ceil_div(p->k, uk_ceil_div(p->k, most)), group) * group;
}
