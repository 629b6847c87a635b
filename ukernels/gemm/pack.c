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
#include <string.h>

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
    int64_t n, k;
    struct uk_lattice map;
    int64_t taken; /* lines of a panel, which is `width` wide */
    int width;
    bool in_panels;    /* or line by line */
    bool across_first; /* or k by k, n elements each: in its order, without the gaps */
};

static struct operand operand_of(const struct gemm_plan *plan, enum gemm_side side) {
    const enum gemm_packs packs = plan->path->packs;
    const struct gemm_tile *tile = plan->tile;
    const bool left = side == GEMM_LEFT;
    const int64_t n = left ? plan->m : plan->n, across = left ? plan->a_row : plan->b_column,
                  step = left ? plan->a_step : plan->b_step;
    const int width = !tile ? 0 : left ? tile->mr : tile->nr;

    return (struct operand){
        .n = n,
        .k = plan->k,
        .map = {0, 1, 1, {{n, across, -1, 0}}, {{plan->k, step, -1, 0}}, {{0, 0}}},
        .taken = left ? plan->rows : width,
        .width = width,
        .in_panels = packs == GEMM_PACKS_PANELS && (!left || plan->a_source == GEMM_COPIED),
        .across_first = packs == GEMM_PACKS_AS_STORED && (left ? step != 1 : across == 1)};
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

/* Where element p of line j of a panel is, in bytes: groups of terms lie together. */
static int64_t in_panel(const struct gemm_type *t, int64_t p, int64_t j, int width) {
    return ((p / t->kr * width + j) * t->kr + p % t->kr) * t->size;
}

/* Elements [p, p + run->count) of the lines of a panel, one by one: some of them are not in the array, or not as far apart as the others. */
static void pack_one_by_one(const struct gemm_type *t, const struct uk_gemm_panels *s, int64_t line,
                            int64_t lines, int64_t p, const struct uk_lattice_run *run, char *to) {
    for (int64_t j = 0; j < s->width; j++) {
        const struct uk_lattice_run at =
            uk_lattice_run(s->map->line, s->map->lines, j < lines ? line + j : 0, 1);

        for (int64_t q = 0; q < run->count; q++) {
            struct uk_lattice_run one = *run;

            one.count = 1;
            one.offset += q * run->stride;
            if (run->axis >= 0)
                one.moved[run->axis] += q * run->step;
            char *d = to + in_panel(t, p + q, j, s->width);

            if (j >= lines)
                memset(d, 0, (size_t)t->size);
            else if (uk_lattice_has(s->map, &at, &one))
                memcpy(d, (const char *)s->from + (s->map->origin + at.offset + one.offset) * t->size,
                       (size_t)t->size);
            else
                memcpy(d, s->border, (size_t)t->size);
        }
        /* What fills the last group. */
        for (int64_t q = s->k; q < gemm_padded(t, s->k) && p + run->count == s->k; q++)
            memset(to + in_panel(t, q, j, s->width), 0, (size_t)t->size);
    }
}

/*
 * k by k, and panel by panel of a run of k. Where the elements of a panel's k iteration are contiguous in the source, ITERATIONS k iterations
 * of one panel, then of the next: the page and the cache line that the panels share are then still in the caches.
 */
void uk_gemm_pack_panels(const struct gemm_type *t, const struct uk_gemm_panels *s, char *to) {
    enum { ITERATIONS = 32 };
    const struct uk_lattice *m = s->map;
    const struct uk_lattice_loop *fastest = &m->line[m->lines - 1];
    const int64_t most = fastest->stride == 1 ? ITERATIONS : s->k;

    for (int64_t p = 0, on; p < s->k; p += on) {
        const struct uk_lattice_run k =
            uk_lattice_run(m->k, m->ks, s->first_k + p, s->k - p < most ? s->k - p : most);
        /* Of groups kernels pack whole ones, but for the last of all. */
        const bool whole = t->kr == 1 || (p % t->kr == 0 && (k.count % t->kr == 0 || p + k.count == s->k));

        on = k.count;
        for (int64_t i = 0, panel = 0; i < s->n; i += s->taken, panel++) {
            const int64_t lines = s->n - i < s->taken ? s->n - i : s->taken;
            const struct uk_lattice_run line = uk_lattice_run(m->line, m->lines, s->first_line + i, lines);
            char *start = to + panel * gemm_padded(t, s->k) * s->width * t->size;

            if (whole && (t->kr == 1 || k.stride == 1 || line.stride == 1) && line.count == lines &&
                uk_lattice_has(m, &line, &k))
                t->pack(t, k.count, lines,
                        (const char *)s->from + (m->origin + line.offset + k.offset) * t->size, k.stride,
                        line.stride, s->width, start + p * s->width * t->size);
            else
                pack_one_by_one(t, s, s->first_line + i, lines, p, &k, start);
        }
    }
}

void uk_gemm_pack(const struct gemm_plan *plan, enum gemm_side side, const void *from, int64_t line,
                  int64_t n, int64_t p, int64_t k, void *to) {
    const struct operand o = operand_of(plan, side);
    const struct uk_lattice_loop *lines = o.map.line, *ks = o.map.k;

    if (o.in_panels)
        uk_gemm_pack_panels(
            plan->type, &(struct uk_gemm_panels){&o.map, from, NULL, line, n, p, k, o.taken, o.width}, to);
    else
        plan->type->copy_rows(plan->type, n, k, gemm_at(plan, from, line * lines->stride + p * ks->stride),
                              lines->stride, ks->stride, to, plan->a_leading);
}

void uk_gemm_pack_whole(const struct gemm_plan *plan, enum gemm_side side, const void *from, void *to) {
    const struct operand o = operand_of(plan, side);
    const int64_t across = o.map.line->stride, step = o.map.k->stride;
    const struct gemm_type *t = plan->type;

    if (plan->path->packs == GEMM_PACKS_NOTHING)
        return;
    if (o.in_panels)
        uk_gemm_pack(plan, side, from, 0, o.n, 0, o.k, to);
    else if (o.across_first)
        t->copy_rows(t, o.k, o.n, from, step, across, to, uk_gemm_leading(o.n, t->size));
    else
        t->copy_rows(t, o.n, o.k, from, across, step, to, uk_gemm_leading(o.k, t->size));
}
