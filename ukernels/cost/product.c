/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Instructions of a product's k iterations, and of copies of its operands.
 *
 * A k iteration of a group of rows loads the vectors of a row of B once, and an element of A for each row. A
 * vector of columns costs the same for one column as for all.
 */
#include <string.h>
#include "cost.h"
#include "registry/operation.h"
#include "ukernels.h"

/* Groups of k iterations in a product of two matrix tiles. */
enum { TILE_GROUPS = 16 };

/* Terms of A that a kernel converts at a time. */
enum { CONVERTED_TERMS = 64 };

static enum uk_unit unit_of(const struct uk_kernel *k) {
    return uk_kernel_state(k) == UK_STATE_TILES          ? UK_UNIT_TILES
           : strstr(uk_kernel_features(k), "avx512bf16") ? UK_UNIT_BF16
                                                         : UK_UNIT_VECTORS;
}

/* Conversions, unless they are among the other instructions of the kernel's row.
 *
 * A vector of f16 takes as long as three instructions (measured on Emerald Rapids; it consists of two), one
 * of bf16 as long as two, which could start while it is stored. All of B's panel is converted for each group
 * of rows, A's rows once for all columns of a group, with a store. After each CONVERTED_TERMS terms the sums
 * are added to C: a load, an addition and a store. */
static void set_conversions(const struct uk_kernel *k, struct uk_product_kernel *p) {
    const enum uk_element element = uk_kernel_operation(k)->element;
    const bool is_f16 = element == UK_ELEMENT_F16_F32;

    if ((!is_f16 && element != UK_ELEMENT_BF16) || strstr(uk_kernel_features(k), "bf16") || p->other > 0)
        return;
    p->converts_b = p->vectors * (is_f16 ? 3 : 2);
    p->converts_a = (double)(2 * p->fma) / p->nr + (double)(3 * p->fma) / CONVERTED_TERMS;
}

/* Kernels that compute all rows in one call have rows that share a vector, and shuffle what they loaded.
 * Loads of two contiguous elements of a column-major A fill whole registers but count as merges too: for few
 * k iterations their masks cost as much, and for many half a vector per row is as good. */
struct uk_product_kernel uk_product_kernel(const struct uk_kernel *k) {
    const enum uk_op_form form = uk_kernel_operation(k)->form;
    const bool all_rows = form == UK_OP_SMALL || form == UK_OP_SMALL_TA;
    const int mr = uk_kernel_mr(k), nr = uk_kernel_nr(k), step = uk_kernel_row_step(k);
    const enum uk_unit unit = unit_of(k);
    struct uk_product_kernel p = {.mr = mr,
                                  .nr = nr,
                                  .row_step = step,
                                  .column_step = uk_kernel_column_step(k),
                                  .vectors = uk_kernel_fma(k) / (unit == UK_UNIT_TILES ? mr / step : mr),
                                  .shares_vectors = all_rows && step > 1,
                                  .fma = uk_kernel_fma(k),
                                  .loads = uk_kernel_loads(k),
                                  .unit = unit};
    const double of_a = p.loads - 1;

    *(all_rows ? &p.shuffles : &p.other) = uk_kernel_other(k);
    if (p.shares_vectors)
        p.merges = form == UK_OP_SMALL ? of_a - of_a / step : step == 2 ? of_a : 0;
    set_conversions(k, &p);
    return p;
}

struct uk_counts uk_product_counts(const struct uk_product_kernel *k, double rows, int64_t columns) {
    const double part = rows / k->mr;

    if (k->shares_vectors)
        return (struct uk_counts){.fma = k->fma * part,
                                  .load = 1 + (k->loads - 1) * part,
                                  .shuffle = k->shuffles * part,
                                  .merge = 1 + k->merges * part,
                                  .other = k->other * part};
    const double used = (double)uk_min(uk_ceil_div(columns, k->column_step) * k->column_step, k->nr) / k->nr,
                 of_b = uk_min_real(k->vectors, k->loads), of_a = k->loads - of_b,
                 shuffles = uk_min_real(k->shuffles, rows);

    const double products = k->fma * part * used,
                 loads = of_b * used +
                         (k->shuffles > 0 ? of_a - (k->mr - k->shuffles) + (rows - shuffles) : of_a * part);

    if (k->unit == UK_UNIT_TILES)
        return (struct uk_counts){.tile = products, .tile_load = loads, .other = k->other * part};
    const double converts = k->converts_b * used + k->converts_a * part;
    struct uk_counts n = {
        .load = loads, .shuffle = shuffles, .merge = converts, .other = k->other * part + converts};

    *(k->unit == UK_UNIT_BF16 ? &n.bf16 : &n.fma) = products;
    return n;
}

int64_t uk_product_rows(int64_t m, int mr, int row_step) {
    const int64_t even = uk_ceil_div(m, uk_ceil_div(m, mr)), step = uk_max(row_step, 1);

    return uk_ceil_div(even, step) * step;
}

/* C is read and written once per block of k, so that few, long blocks are better for C. */
int64_t uk_product_k_block(const struct uk_machine *m, int64_t k, int nr, int64_t bytes, int multiple) {
    const int64_t room = m->cache[UK_L2].size / 2 / bytes / (4 * nr);
    const int64_t most = room > GEMM_KC ? GEMM_KC : room < GEMM_KC_LEAST ? GEMM_KC_LEAST : room;

    if (k <= uk_min(room, GEMM_K_WHOLE) || k <= most + most / 4)
        return k;
    return uk_ceil_div(uk_ceil_div(k, uk_ceil_div(k, most)), multiple) * multiple;
}

bool uk_rows_share_sets(const struct uk_machine *m, int64_t rows, int64_t stride) {
    const struct uk_cache *l1 = &m->cache[UK_L1];
    const int64_t way = l1->size / l1->ways;
    int64_t step = way; /* the largest power of two that divides the stride, at most a way */

    while (stride % step)
        step /= 2;
    return uk_ceil_div(rows * step, way) > l1->ways / 2; /* rows a way apart are in the same set */
}

/* Cycles of a k iteration of a group. */
static double group_cycles(const struct uk_core *core, const struct uk_vectors *v,
                           const struct uk_product_kernel *k, int64_t rows, int64_t columns) {
    const int64_t step = uk_max(k->row_step, 1);
    const struct uk_counts n = uk_product_counts(k, (double)(uk_ceil_div(rows, step) * step), columns);

    const double cycles = uk_cost_cycles(core, v, &n);

    if (k->unit != UK_UNIT_TILES)
        return uk_max_real(cycles, core->fma_latency);
    return uk_max_real(cycles, (double)core->tiles.latency / TILE_GROUPS) +
           (rows < step ? (double)core->tiles.stored / TILE_GROUPS : 0);
}

/* The same of as many groups as have all n columns. */
static double groups_cycles(const struct uk_core *core, const struct uk_vectors *v,
                            const struct uk_product_kernel *k, int64_t rows, int64_t n) {
    const int64_t wide = n / k->nr, narrow = n % k->nr;

    return (wide ? (double)wide * group_cycles(core, v, k, rows, k->nr) : 0) +
           (narrow ? group_cycles(core, v, k, rows, narrow) : 0);
}

double uk_product_iteration(const struct uk_core *core, const struct uk_vectors *v,
                            const struct uk_product_kernel *k, int64_t rows, int64_t m, int64_t n) {
    const int64_t groups = rows ? m / rows : uk_ceil_div(m, k->mr), each = rows ? rows : m / groups,
                  rest = m - groups * each; /* rows: of the last group; else groups of a row more */

    if (rows)
        return (double)groups * groups_cycles(core, v, k, each, n) +
               (rest ? groups_cycles(core, v, k, rest, n) : 0);
    return (double)(groups - rest) * groups_cycles(core, v, k, each, n) +
           (rest ? (double)rest * groups_cycles(core, v, k, each + 1, n) : 0);
}

double uk_copy_cycles(const struct uk_core *core, const struct uk_vectors *v, double vectors, int lanes,
                      bool transposes, double *loads) {
    struct uk_counts n = {.load = vectors, .other = vectors};

    for (int l = lanes; l > 1 && transposes; l /= 2)
        n.shuffle += vectors;
    *loads = vectors / uk_ports_rate(&v->load);
    return uk_max_real(uk_cost_cycles(core, v, &n), vectors / uk_ports_rate(&v->store));
}
