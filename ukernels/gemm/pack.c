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

/* Whether the operand has to be transposed so that the copy's rows run along k: A, and B where the product is
 * not computed by tiles. */
static bool a_is_columns(const struct gemm_plan *plan) {
    return plan->path->packs == GEMM_PACKS_AS_STORED && plan->a_step != 1;
}

static bool b_is_rows(const struct gemm_plan *plan) {
    return plan->path->packs == GEMM_PACKS_AS_STORED && plan->b_column == 1;
}

static int64_t panels(int64_t n, int64_t width) {
    return (n + width - 1) / width;
}

size_t uk_gemm_bytes(const struct gemm_plan *plan, int64_t elements) {
    const size_t size = (size_t)plan->type->size;

    return (uint64_t)elements > SIZE_MAX / size ? SIZE_MAX : (size_t)elements * size;
}

size_t uk_gemm_packed_a(const struct gemm_plan *plan) {
    const int size = plan->type->size;

    if (plan->path->packs == GEMM_PACKS_NOTHING)
        return 0;
    if (plan->path->packs == GEMM_PACKS_PANELS && plan->a_source == GEMM_COPIED)
        return uk_gemm_bytes(plan,
                             panels(plan->m, plan->rows) * plan->tile->mr * gemm_padded(plan->type, plan->k));
    return uk_gemm_bytes(plan, a_is_columns(plan) ? plan->k * uk_gemm_leading(plan->m, size)
                                                  : plan->m * uk_gemm_leading(plan->k, size));
}

size_t uk_gemm_packed_b(const struct gemm_plan *plan) {
    const int size = plan->type->size;

    if (plan->path->packs == GEMM_PACKS_NOTHING)
        return 0;
    if (plan->path->packs == GEMM_PACKS_PANELS)
        return uk_gemm_bytes(plan, panels(plan->n, plan->tile->nr) * plan->tile->nr *
                                       gemm_padded(plan->type, plan->k));
    return uk_gemm_bytes(plan, b_is_rows(plan) ? plan->k * uk_gemm_leading(plan->n, size)
                                               : plan->n * uk_gemm_leading(plan->k, size));
}

/* n lines of an operand in panels, `taken` of them in each, which is `width` wide. */
struct panels {
    int64_t k, n, taken;
    int width;
    const char *from;
    int64_t step, across;
};

/* Where the elements of a panel's k iteration are contiguous in the source, ITERATIONS k iterations of one
 * panel, then of the next: the page and the cache line that the panels share are then still in the caches. */
static void pack_panels(const struct gemm_type *t, const struct panels *s, char *to) {
    enum { ITERATIONS = 32 };
    const int64_t most = s->across == 1 ? ITERATIONS : s->k;

    for (int64_t p = 0; p < s->k; p += most) {
        const int64_t k = s->k - p < most ? s->k - p : most;

        for (int64_t i = 0, panel = 0; i < s->n; i += s->taken, panel++)
            t->pack(t, k, s->n - i < s->taken ? s->n - i : s->taken,
                    s->from + (p * s->step + i * s->across) * t->size, s->step, s->across, s->width,
                    to + (panel * gemm_padded(t, s->k) + p) * s->width * t->size);
    }
}

void uk_gemm_pack_a(const struct gemm_plan *plan, const void *a, int64_t i, int64_t m, int64_t p, int64_t k,
                    void *packed) {
    const struct gemm_type *t = plan->type;

    if (plan->a_source != GEMM_COPIED) {
        t->copy_rows(t, m, k, gemm_at(plan, a, i * plan->a_row + p * plan->a_step), plan->a_row, plan->a_step,
                     packed, plan->a_leading);
        return;
    }
    pack_panels(t,
                &(struct panels){k, m, plan->rows, plan->tile->mr,
                                 gemm_at(plan, a, i * plan->a_row + p * plan->a_step), plan->a_step,
                                 plan->a_row},
                packed);
}

void uk_gemm_pack_b(const struct gemm_plan *plan, const void *b, int64_t j, int64_t n, int64_t p, int64_t k,
                    void *packed) {
    const int width = plan->tile->nr;

    pack_panels(plan->type,
                &(struct panels){k, n, width, width, gemm_at(plan, b, j * plan->b_column + p * plan->b_step),
                                 plan->b_step, plan->b_column},
                packed);
}

void uk_gemm_pack_whole_a(const struct gemm_plan *plan, const void *a, void *packed) {
    const struct gemm_type *t = plan->type;

    if (plan->path->packs == GEMM_PACKS_NOTHING)
        return;
    if (a_is_columns(plan)) {
        t->copy_rows(t, plan->k, plan->m, a, plan->a_step, plan->a_row, packed,
                     uk_gemm_leading(plan->m, t->size));
    } else if (plan->path->packs == GEMM_PACKS_PANELS && plan->a_source == GEMM_COPIED) {
        uk_gemm_pack_a(plan, a, 0, plan->m, 0, plan->k, packed);
    } else {
        t->copy_rows(t, plan->m, plan->k, a, plan->a_row, plan->a_step, packed,
                     uk_gemm_leading(plan->k, t->size));
    }
}

void uk_gemm_pack_whole_b(const struct gemm_plan *plan, const void *b, void *packed) {
    const struct gemm_type *t = plan->type;

    if (plan->path->packs == GEMM_PACKS_NOTHING)
        return;
    if (plan->path->packs == GEMM_PACKS_PANELS)
        uk_gemm_pack_b(plan, b, 0, plan->n, 0, plan->k, packed);
    else if (b_is_rows(plan))
        t->copy_rows(t, plan->k, plan->n, b, plan->b_step, 1, packed, uk_gemm_leading(plan->n, t->size));
    else
        t->copy_rows(t, plan->n, plan->k, b, plan->b_column, plan->b_step, packed,
                     uk_gemm_leading(plan->k, t->size));
}
