/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packs operands: a block during a product, or all of an operand before it.
 *
 *     B, product by tiles          panels of the tile's width: [n/NR][k][NR]
 *     A, product by tiles          panels of the tile's height: [m/rows][k][MR]; or rows
 *     the same, groups of KR terms [n/NR][k/KR][NR][KR]; the last group is filled up with 0
 *     matrix times vector          the matrix as it is stored, by rows or by columns
 *
 * Rows, or columns, of a copy that is not in panels are uk_gemm_leading elements apart.
 */
#include "low.h"
#include <string.h>

int64_t uk_gemm_leading(int64_t n, int size) {
    const int line = GEMM_LINE / size;

    return n * size < GEMM_LONG_ROW ? n : (uk_ceil_div(n, line) | 1) * line;
}

struct uk_lattice uk_gemm_copy(const struct gemm_type *type, const struct gemm_tile *tile,
                               enum gemm_side side, enum uk_lattice_kind kind, int64_t n, int64_t k,
                               int64_t taken) {
    enum uk_element element = gemm_element_of(type, side);
    struct uk_lattice m;

    if (kind == UK_PANELS && side == GEMM_LEFT)
        return uk_lattice_panels(tile->left, n, k, taken, tile->mr, tile->kr);
    if (kind == UK_PANELS)
        return uk_lattice_panels(tile->right, n, k, taken, tile->nr, tile->kr);
    if (type->is_low_precision) {
        k = gemm_padded(k, tile->kr);
        element = side == GEMM_LEFT ? tile->left : tile->right;
    }
    m = uk_lattice_matrix(element, n, k, uk_gemm_leading(k, type->size), 1);
    m.kind = UK_ROWS;
    return m;
}

struct uk_lattice uk_gemm_packed(const struct gemm_plan *plan, enum gemm_side side) {
    const enum gemm_packs packs = plan->path->packs;
    const struct uk_lattice from = gemm_in_place(&plan->product, side);
    const int64_t n = from.line->extent, k = from.k->extent;
    const bool left = side == GEMM_LEFT,
               in_panels = packs == GEMM_PACKS_PANELS && (!left || plan->way.a == UK_PANELS);

    if (packs == GEMM_PACKS_AS_STORED && (left ? from.k->stride != 1 : from.line->stride == 1)) {
        struct uk_lattice m =
            uk_lattice_matrix(from.element, n, k, 1, uk_gemm_leading(n, plan->product.type->size));

        m.kind = UK_ROWS;
        return m;
    }
    return uk_gemm_copy(plan->product.type, plan->way.tile, side, in_panels ? UK_PANELS : UK_ROWS, n, k,
                        in_panels && !left ? plan->way.tile->nr : plan->way.rows);
}

struct uk_lattice uk_gemm_block(const struct gemm_plan *plan, enum gemm_side side) {
    const bool left = side == GEMM_LEFT;

    return uk_gemm_copy(plan->product.type, plan->way.tile, side,
                        (enum uk_lattice_kind)(left ? plan->way.a : plan->way.b), left ? plan->mc : plan->nc,
                        plan->way.kc, left ? plan->way.rows : plan->way.tile->nr);
}

size_t uk_gemm_packed_sums(const struct uk_lattice *packed) {
    return (size_t)uk_ceil_div(uk_lattice_room(packed) * uk_element_bytes(packed->element), GEMM_LINE) *
           GEMM_LINE;
}

static int64_t lines_of(const struct gemm_plan *plan, enum gemm_side side) {
    return side == GEMM_LEFT ? plan->product.m : plan->product.n;
}

size_t uk_gemm_packed_bytes(const struct gemm_plan *plan, enum gemm_side side) {
    if (plan->path->packs == GEMM_PACKS_NOTHING)
        return 0;
    const struct uk_lattice m = uk_gemm_packed(plan, side);

    const int64_t elements = uk_lattice_room(&m);
    const size_t size = (size_t)uk_element_bytes(m.element);
    size_t bytes;

    if ((uint64_t)elements > SIZE_MAX / size - GEMM_LINE)
        return SIZE_MAX;
    if (!gemm_sums_bytes(plan->product.type))
        return (size_t)elements * size;
    return __builtin_add_overflow(uk_gemm_packed_sums(&m), (size_t)lines_of(plan, side) * sizeof(int32_t),
                                  &bytes)
               ? SIZE_MAX
               : bytes;
}

/* Packs elements [p, p + run->count) of the lines of a panel, one by one, because some of them are in a
 * border, or not at the same stride as the others. */
static void pack_one_by_one(const struct gemm_type *t, const struct uk_gemm_part *s, int64_t line,
                            int64_t lines, int64_t p, const struct uk_lattice_run *run, char *to) {
    const struct uk_lattice *m = s->from;

    for (int64_t j = 0; j < s->to->width; j++, to += uk_lattice_line_stride(s->to) * t->size) {
        const struct uk_lattice_run at =
            uk_lattice_run(m->line, m->lines, s->line + (j < lines ? line + j : 0), 1);

        for (int64_t q = 0; q < run->count; q++) {
            struct uk_lattice_run one = *run;
            char *d = to + uk_lattice_at(s->to, 0, p + q) * t->size;

            one.count = 1;
            one.offset += q * run->stride;
            if (run->axis >= 0)
                one.axis_offset[run->axis] += q * run->step;
            if (j >= lines)
                memset(d, 0, (size_t)t->size);
            else if (uk_lattice_is_inside(m, &at, &one))
                memcpy(d, (const char *)s->array + (m->origin + at.offset + one.offset) * t->size,
                       (size_t)t->size);
            else
                memcpy(d, m->border, (size_t)t->size);
        }
        /* Fills up the last group. */
        for (int64_t q = s->iterations;
             q < gemm_padded(s->iterations, uk_lattice_group(s->to)) && p + run->count == s->iterations; q++)
            memset(to + uk_lattice_at(s->to, 0, q) * t->size, 0, (size_t)t->size);
    }
}

/*
 * Packs panels: for each run of k iterations, all panels in turn. If the elements of a k iteration are
 * contiguous in the source, a run has at most ITERATIONS, so that the cache lines and pages that neighbouring
 * panels share are still in the caches and the TLB.
 */
static void pack_panels(const struct gemm_type *t, const struct uk_gemm_part *s, char *to) {
    enum { ITERATIONS = 32 };
    const int group = uk_lattice_group(s->to), size = uk_element_bytes(s->to->element);
    const struct uk_lattice *m = s->from;
    const int64_t most = uk_lattice_line_stride(m) == 1 ? ITERATIONS : s->iterations,
                  taken = uk_lattice_panel_lines(s->to);

    for (int64_t p = 0, on; p < s->iterations; p += on) {
        const struct uk_lattice_run k =
            uk_lattice_run(m->k, m->ks, s->k + p, uk_min(s->iterations - p, most));
        /* Kernels pack whole groups, except for the last of all. */
        const bool whole =
            group == 1 || (p % group == 0 && (k.count % group == 0 || p + k.count == s->iterations));

        on = k.count;
        for (int64_t i = 0; i < s->n; i += taken) {
            const int64_t lines = uk_min(s->n - i, taken);
            const struct uk_lattice_run line = uk_lattice_run(m->line, m->lines, s->line + i, lines);

            char *d = to + uk_lattice_at(s->to, i, p) * size;
            const char *from = (const char *)s->array + (m->origin + line.offset + k.offset) * t->size;

            if (!whole || (group > 1 && k.stride != 1 && line.stride != 1) || line.count != lines ||
                !uk_lattice_is_inside(m, &line, &k))
                pack_one_by_one(t, s, i, lines, p, &k, to + uk_lattice_at(s->to, i, 0) * size);
            else if (t->pack_groups)
                t->pack_groups(t, s->to, k.count, lines, from, k.stride, line.stride, d);
            else
                t->pack(t, k.count, lines, from, k.stride, line.stride, s->to->width, d);
        }
    }
}

void uk_gemm_pack(const struct gemm_type *t, const struct uk_gemm_part *s, void *copy) {
    const void *from;

    if (s->to->kind == UK_PANELS) {
        pack_panels(t, s, copy);
        return;
    }
    from = uk_lattice_place(s->from, s->array, s->line, s->k);
    if (s->to->element != s->from->element)
        uk_gemm_widen_rows(t, s->n, s->iterations, from, uk_lattice_line_stride(s->from),
                           uk_lattice_element_stride(s->from), copy, uk_lattice_line_stride(s->to));
    else if (uk_lattice_element_stride(s->to) == 1)
        t->copy_rows(t, s->n, s->iterations, from, uk_lattice_line_stride(s->from),
                     uk_lattice_element_stride(s->from), copy, uk_lattice_line_stride(s->to));
    else
        t->copy_rows(t, s->iterations, s->n, from, uk_lattice_element_stride(s->from),
                     uk_lattice_line_stride(s->from), copy, uk_lattice_element_stride(s->to));
}

void uk_gemm_pack_whole(const struct gemm_plan *plan, enum gemm_side side, const void *from, void *to) {
    if (plan->path->packs == GEMM_PACKS_NOTHING)
        return;
    const struct uk_lattice in_place = gemm_in_place(&plan->product, side),
                            packed = uk_gemm_packed(plan, side);

    uk_gemm_pack(
        plan->product.type,
        &(struct uk_gemm_part){&in_place, from, 0, in_place.line->extent, 0, in_place.k->extent, &packed},
        to);
    if (gemm_sums_bytes(plan->product.type))
        uk_gemm_low_sums(&in_place, from, 0, in_place.line->extent,
                         (int32_t *)(void *)((char *)to + uk_gemm_packed_sums(&packed)));
}
