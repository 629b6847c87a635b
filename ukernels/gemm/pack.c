/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operands, packed: a block while computing, or whole and beforehand.
 *
 * For a product by tiles, B is packed in panels of the tile's width, [n/NR][k][NR], and A in panels of its
 * height, [m/rows][k][MR], or in rows, [m][k]. Where a kernel reads groups of KR terms, these lie together,
 * [n/NR][k/KR][NR][KR], and 0 fills the last group. The matrix of a matrix-vector product is copied in its order,
 * without the gaps between rows.
 */
#include "path.h"

int64_t uk_gemm_leading(int64_t n, int size) {
    /* Rows whose stride is a multiple of GEMM_SHARED_SETS bytes map to few sets of L1. */
    return n * size % GEMM_SHARED_SETS ? n : n + 64 / size;
}

size_t uk_gemm_bytes(const struct gemm_plan *plan, int64_t elements) {
    const size_t size = (size_t)plan->type->size;

    return (uint64_t)elements > SIZE_MAX / size ? SIZE_MAX : (size_t)elements * size;
}

/* An operand: n lines of k elements, rows of A or columns of B, and what it becomes. */
struct operand {
    int64_t n, k, across, step; /* elements from line to line, and within a line */
    int64_t taken;              /* lines of a panel, which is `width` wide */
    int width;
    bool in_panels;    /* or line by line */
    bool across_first; /* or k by k, n elements each: in its order, without the gaps */
};

static struct operand operand_of(const struct gemm_plan *plan, enum gemm_side side) {
    const bool in_panels = plan->path->packs == GEMM_PACKS_PANELS,
               as_stored = plan->path->packs == GEMM_PACKS_AS_STORED;
    const struct gemm_tile *tile = plan->tile;

    if (side == GEMM_LEFT)
        return (struct operand){plan->m,
                                plan->k,
                                plan->a_row,
                                plan->a_step,
                                plan->rows,
                                tile ? tile->mr : 0,
                                in_panels && plan->a_source == GEMM_COPIED,
                                as_stored && plan->a_step != 1};
    return (struct operand){plan->n,
                            plan->k,
                            plan->b_column,
                            plan->b_step,
                            tile ? tile->nr : 0,
                            tile ? tile->nr : 0,
                            in_panels,
                            as_stored && plan->b_column == 1};
}

size_t uk_gemm_packed(const struct gemm_plan *plan, enum gemm_side side) {
    const struct operand o = operand_of(plan, side);
    const int size = plan->type->size;

    if (plan->path->packs == GEMM_PACKS_NOTHING)
        return 0;
    if (o.in_panels)
        return uk_gemm_bytes(plan, gemm_parts(o.n, o.taken) * o.width * gemm_padded(plan->type, o.k));
    return uk_gemm_bytes(plan, o.across_first ? o.k * uk_gemm_leading(o.n, size)
                                              : o.n * uk_gemm_leading(o.k, size));
}

/*
 * n lines of k elements in panels. Where the elements of a panel's k iteration are contiguous in the source, ITERATIONS k iterations of one
 * panel, then of the next: the page and the cache line that the panels share are then still in the caches.
 */
static void pack_panels(const struct gemm_type *t, const struct operand *o, const char *from, int64_t n,
                        int64_t k, char *to) {
    enum { ITERATIONS = 32 };
    const int64_t most = o->across == 1 ? ITERATIONS : k;

    for (int64_t p = 0; p < k; p += most) {
        const int64_t now = k - p < most ? k - p : most;

        for (int64_t i = 0, panel = 0; i < n; i += o->taken, panel++)
            t->pack(t, now, n - i < o->taken ? n - i : o->taken,
                    from + (p * o->step + i * o->across) * t->size, o->step, o->across, o->width,
                    to + (panel * gemm_padded(t, k) + p) * o->width * t->size);
    }
}

void uk_gemm_pack(const struct gemm_plan *plan, enum gemm_side side, const void *from, int64_t line,
                  int64_t n, int64_t p, int64_t k, void *to) {
    const struct operand o = operand_of(plan, side);
    const void *at = gemm_at(plan, from, line * o.across + p * o.step);

    if (o.in_panels)
        pack_panels(plan->type, &o, at, n, k, to);
    else
        plan->type->copy_rows(plan->type, n, k, at, o.across, o.step, to, plan->a_leading);
}

void uk_gemm_pack_whole(const struct gemm_plan *plan, enum gemm_side side, const void *from, void *to) {
    const struct operand o = operand_of(plan, side);
    const struct gemm_type *t = plan->type;

    if (plan->path->packs == GEMM_PACKS_NOTHING)
        return;
    if (o.in_panels)
        pack_panels(t, &o, from, o.n, o.k, to);
    else if (o.across_first)
        t->copy_rows(t, o.k, o.n, from, o.step, o.across, to, uk_gemm_leading(o.n, t->size));
    else
        t->copy_rows(t, o.n, o.k, from, o.across, o.step, to, uk_gemm_leading(o.k, t->size));
}
