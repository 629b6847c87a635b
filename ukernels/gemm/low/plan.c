/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chooses the kernel of a product of low precision. Each kernel is one way. Its cost: its own instructions by
 * its row of kernels.def and the machine's or, if that takes longer, reading B from L2 for each panel of
 * rows; B once from beyond L2; a call per tile; C once per block of k; and the copies of A and B. Operands
 * that were packed beforehand are estimated as if they were not, so that all plans of a shape agree.
 */
#include <limits.h>
#include "gemm/low.h"

static double cycles_of(const struct gemm_type *t, double loads, double other) {
    const struct uk_core *core = &t->machine->core;

    return uk_cost_cycles(core, uk_core_vectors(core, INT_MAX),
                          &(struct uk_counts){.load = loads, .other = other});
}

/* Cycles of packing `lines` lines of k elements, for groups of kr terms. Groups are stored one by one if a
 * line's elements are contiguous. Without a kernel, elements are loaded and stored one by one. Converted
 * elements take three instructions each if they are transposed, else one (measured). */
static double pack_cycles(const struct gemm_type *t, const struct gemm_tile *tile, int64_t lines, int64_t k,
                          bool along_k) {
    const int kr = tile->kr;
    const struct uk_kernel *pack = uk_gemm_group_pack(t, kr, along_k);
    const double groups = (double)uk_ceil_div(k, kr);

    if (tile->left != t->left) /* converted, and transposed by the kernels that pack f32 */
        return (double)(lines * k) * cycles_of(t, 0, along_k ? 3 : 1);
    if (!pack)
        return (double)(lines * k) * 2;
    return groups * (double)uk_ceil_div(lines, along_k ? pack->mr : pack->nr) *
           uk_max_real(1, cycles_of(t, pack->loads, pack->other));
}

/* Cycles in which a B that L2 does not hold comes from the last cache or memory. */
static double b_cycles(const struct gemm_product *p, const struct gemm_way *w) {
    const struct uk_machine *m = p->type->machine;
    const int64_t bytes = p->n * p->k * uk_element_bytes(w->tile->right);

    if (bytes <= m->cache[UK_L2].size)
        return 0;
    return (double)bytes / (bytes <= m->cache[UK_LLC].size ? m->cache[UK_LLC].bytes : m->uncore.bytes);
}

/* Cycles in which the panels of a block of B come from L2 for each panel of rows; none if L1 holds them. */
static double panel_cycles(const struct gemm_product *p, const struct gemm_way *w, int64_t panels) {
    const int size = uk_element_bytes(w->tile->right);
    const struct uk_machine *m = p->type->machine;

    if (p->n * w->kc * size <= m->cache[UK_L1].size / 2)
        return 0;
    return (double)(panels * p->n * p->k * size) / m->core.l2.bytes;
}

/* Cycles of copying A in rows: converted, three instructions a vector; else at the rate of stores. Elements
 * that are not contiguous are copied one by one. */
static double rows_cycles(const struct gemm_product *p, const struct gemm_way *w) {
    const struct gemm_type *t = p->type;
    const struct uk_vectors *vectors = uk_core_vectors(&t->machine->core, INT_MAX);
    const double elements = (double)(p->m * p->k);

    if (p->a_columns)
        return 2 * elements;
    if (w->tile->left != t->left)
        return elements * uk_element_bytes(w->tile->left) / vectors->bytes * cycles_of(t, 0, 3);
    return elements * t->size / (uk_ports_rate(&vectors->store) * vectors->bytes);
}

static double way_cycles(const struct gemm_product *p, const struct gemm_way *w) {
    const struct gemm_type *t = p->type;
    const struct uk_core *core = &t->machine->core;
    const struct uk_vectors *vectors = uk_core_vectors(core, INT_MAX);
    const struct uk_product_kernel kernel = uk_product_kernel(w->tile->kernel[w->form]);
    const int64_t panels = uk_ceil_div(p->m, w->rows), tiles = panels * uk_ceil_div(p->n, w->tile->nr),
                  blocks = uk_ceil_div(p->k, w->kc);
    const double vectors_of_c = (double)p->m * (double)uk_ceil_div(p->n * t->c_size, GEMM_LINE / 2);
    double cycles = uk_product_iteration(core, vectors, &kernel, w->rows, p->m, p->n) *
                    (double)uk_ceil_div(p->k, w->tile->kr);

    cycles += panel_cycles(p, w, panels) + b_cycles(p, w) +
              (double)blocks * ((double)tiles * GEMM_CALL + vectors_of_c);
    cycles += pack_cycles(t, w->tile, p->n, p->k, p->b_columns);
    if (w->a == UK_PANELS)
        cycles += pack_cycles(t, w->tile, p->m, p->k, !p->a_columns);
    else if (w->a == UK_ROWS)
        cycles += rows_cycles(p, w);
    return cycles;
}

/* A block of a B that is read once, by one panel of rows, has few k iterations, so that it has many columns,
 * and copies read long runs of the rows of B. */
static int64_t k_block(const struct gemm_product *p, const struct gemm_tile *t) {
    if (p->m <= t->mr)
        return uk_min(p->k, GEMM_KC_LEAST);
    return uk_product_k_block(p->type->machine, p->k, t->nr, uk_element_bytes(t->right),
                              (int)uk_max(t->kr, 4));
}

/* True if the tile's kernel of the form GEMM_RA can read the rows of A in place. */
static bool reads_rows(const struct gemm_product *p, const struct gemm_tile *t) {
    return !p->a_columns && t->left == p->type->left && (t->kernel[GEMM_RA]->any_k || p->k % t->kr == 0);
}

/* True if the kernel runs: if it needs state of the core, that is asked for when a plan would first use it.
 * Plans of other machines do not run. */
static bool may_hold(const struct gemm_type *t, const struct uk_kernel *k) {
    if (k->state == UK_STATE_NONE || t->machine != uk_machine())
        return true;
    if (uk_state_load(k->state))
        return false;
    uk_state_release(k->state);
    return true;
}

/* True if blocks of k do not change the bits of sums: whole numbers, and kernels that convert, which add
 * their sums to C after a few terms anyway. */
static bool is_same_in_blocks(const struct gemm_type *t, const struct gemm_way *w) {
    return t->sum == UK_C_I32 || uk_product_kernel(w->tile->kernel[w->form]).converts_b > 0;
}

struct gemm_way uk_gemm_low_way(const struct gemm_product *p, bool whole) {
    static const enum gemm_form forms[] = {GEMM_PANELS, GEMM_RA};
    struct gemm_way best = {0};

    for (int i = 0; i < p->type->tiles; i++)
        for (size_t f = 0; f < sizeof forms / sizeof *forms; f++) {
            const struct gemm_tile *t = &p->type->tile[i];
            struct gemm_way w = {.tile = t, .form = forms[f], .b = UK_PANELS};

            if (!t->kernel[w.form])
                continue;
            w.a = w.form == GEMM_PANELS ? UK_PANELS : reads_rows(p, t) ? UK_IN_PLACE : UK_ROWS;
            w.rows = uk_product_rows(p->m, t->mr, t->kernel[w.form]->row_step);
            w.kc = whole ? p->k : k_block(p, t);
            w.cycles = way_cycles(p, &w);
            if ((!best.tile || w.cycles < best.cycles) && may_hold(p->type, t->kernel[w.form]))
                best = w;
        }
    if (best.tile && p->b_packed && p->m <= best.rows && best.a == UK_IN_PLACE &&
        is_same_in_blocks(p->type, &best))
        best.kc = p->k; /* nothing is copied */
    return best;
}
