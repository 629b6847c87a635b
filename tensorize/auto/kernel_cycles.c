/* SPDX-License-Identifier: Apache-2.0 */
/* Instructions of all calls of a fit's kernel in a stage, in cycles that do not depend on the loops around
 * the calls. ukernels/cost/product.c has those of a product's tiles, which libukernels chooses kernels by
 * too. */
#include <limits.h>
#include <math.h>
#include "costing.h"
#include "minmax.h"
#include "registry/operation.h"

/* Operations at the end of a row of sums, for kernels whose group of terms fills a register: an address,
 * loading the sum, adding the halves of the register, storing. */
enum { GROUP_END = 6 };

/* The same for a block of a kernel that computes many blocks per call: the loop's end, and a mispredicted
 * branch per row of blocks. */
enum { BLOCK_END = 4 };

/* True if a call of the kernel computes any number of rows, mr of them at a time. */
static bool takes_any_rows(const struct uk_kernel *row) {
    switch (uk_kernel_operation(row)->form) {
    case UK_OP_SMALL:
    case UK_OP_SMALL_TA:
    case UK_OP_NT:
    case UK_OP_GEMV_N:
    case UK_OP_WEIGHTS:
        return true;
    default:
        return false;
    }
}

/* True if the kernel's tile has rows and columns as in struct uk_product_kernel. */
static bool has_product_tile(const struct uk_kernel *row) {
    switch (uk_kernel_operation(row)->form) {
    case UK_OP_PANELS:
    case UK_OP_RA:
    case UK_OP_RUNS:
    case UK_OP_RUNS_RAB:
    case UK_OP_RAB:
    case UK_OP_SAB:
    case UK_OP_RAP:
    case UK_OP_SMALL:
    case UK_OP_SMALL_TA:
    case UK_OP_WEIGHTS:
        return uk_kernel_fma(row) > 0;
    default:
        return false;
    }
}

/* ---- a fit's axes ---- */

bool uk_computes_all_rows(const struct uk_kernel *row) {
    const enum uk_op_form form = uk_kernel_operation(row)->form;

    return (form == UK_OP_SMALL || form == UK_OP_SMALL_TA) && uk_kernel_fma(row) > 0;
}

int64_t uk_rows_at_once(const struct uk_stage *st, const struct uk_fit *f, int v) {
    const struct uk_kernel *row = f->intrinsic->row;
    const int64_t block = row ? uk_depthwise_block(st, f, v) : 0;

    if (block)
        return f->max_extent[v] ? uk_min(block, f->max_extent[v]) : block;
    return row && !f->max_extent[v] && !uk_is_reduced(st, f->axis[v]) && takes_any_rows(row)
               ? uk_kernel_mr(row)
               : f->max_extent[v];
}

/* ---- k iterations ---- */

/* The cost of n iterations in tiles of `most`: the last tile counts with its length rounded up to `step`. */
static double rounded(double n, double most, double step) {
    if (most <= 0 || step <= 0)
        return n;
    double full = (double)(int64_t)(n / most), rest = n - full * most;

    return full * most + (double)(int64_t)((rest + step - 1) / step) * step;
}

/* Rows and columns of a product; 1 without a loop over them. */
struct product {
    int row_axis;                 /* of the fit, then of its axes without a loop; -1: none yet */
    int64_t rows, columns, group; /* group: as `rows` of uk_product_iteration */
};

/* The tile's extent along the v-th axis of the fit; 0: the kernel takes any. */
static int64_t tile_extent(const struct uk_fit *f, int v) {
    return v < f->axes ? f->max_extent[v] : f->unit[v - f->axes];
}

/* True if an axis after the v-th one has the extent of the tile's columns. */
static bool has_columns_after(const struct uk_stage *st, const struct uk_fit *f, int v) {
    for (v++; v < f->axes + f->units; v++)
        if ((v >= f->axes || !uk_is_reduced(st, f->axis[v])) &&
            tile_extent(f, v) == uk_kernel_nr(f->intrinsic->row))
            return true;
    return false;
}

/* Sets the rows or columns of *p to n, the extent of the v-th axis. Of the axes of a square tile, and where
 * tiles of fewer rows than mr have as many as columns, the first is that of the rows. */
static void set_extent(const struct uk_stage *st, const struct uk_fit *f, int v, double n,
                       struct product *p) {
    const struct uk_kernel *row = f->intrinsic->row;
    const int64_t most = tile_extent(f, v), extent = (int64_t)uk_min_real(uk_max_real(n, 1), INT32_MAX);

    if (most == uk_kernel_nr(row) &&
        (p->row_axis >= 0 || (most != uk_kernel_mr(row) && !has_columns_after(st, f, v)))) {
        p->columns = extent;
        return;
    }
    p->row_axis = v;
    p->rows = extent;
    p->group = most;
}

static struct product product_of(const struct uk_schedule *s, const struct uk_stage *st,
                                 const struct uk_fit *f) {
    struct product p = {-1, 1, 1, uk_kernel_mr(f->intrinsic->row)};

    for (int v = 0; v < f->axes + f->units; v++)
        if (v >= f->axes || !uk_is_reduced(st, f->axis[v]))
            set_extent(st, f, v, v < f->axes ? uk_values_estimate(s, st, f->axis[v]) : 1, &p);
    return p;
}

/* Cycles of a k iteration of the product, the last columns perhaps by another kernel. */
static double product_cycles(const struct uk_schedule *s, const struct uk_kernel *row,
                             const struct product *p) {
    const struct uk_product_kernel k = uk_product_kernel(row);
    const int64_t last = p->columns % k.nr;
    double tail = 0;

    if (!uk_computes_all_rows(row) || p->columns < k.nr || !last)
        return uk_product_iteration(&s->target->machine.core, &s->target->vectors, &k, p->group, p->rows,
                                    p->columns);
    uk_tail_kernel(s, row, p->rows, last, &tail);
    return uk_product_iteration(&s->target->machine.core, &s->target->vectors, &k, p->group, p->rows,
                                p->columns - last) +
           tail;
}

bool uk_take_even_rows(const struct uk_schedule *s, const struct uk_stage *st, struct uk_fit *f) {
    const struct uk_kernel *row = f->intrinsic->row;

    if (!row || !has_product_tile(row) || f->transposed)
        return false;
    const struct product p = product_of(s, st, f);
    struct product even = p;

    if (p.row_axis < 0 || p.row_axis >= f->axes || p.group != uk_kernel_mr(row) ||
        uk_constant_extent(st, f->axis[p.row_axis]) <= 0)
        return false;
    for (int o = 1; o < st->operands; o++)
        if (f->panel[o].width && f->panel[o].lane == p.row_axis)
            return false;
    even.group = uk_product_rows(p.rows, uk_kernel_mr(row), uk_kernel_row_step(row));
    if (product_cycles(s, row, &even) >= product_cycles(s, row, &p) * (1 - AUTO_MARGIN))
        return false;
    f->max_extent[p.row_axis] = even.group;
    return true;
}

int uk_weighted_rows(const struct uk_stage *st, const struct uk_fit *f) {
    const struct uk_kernel *row = f->intrinsic->row;
    int rows = -1;

    if (!row || uk_kernel_operation(row)->form != UK_OP_WEIGHTS ||
        uk_kernel_operation(row)->element != UK_ELEMENT_F32)
        return -1;
    for (int v = 0; v < f->axes; v++)
        if (!uk_is_reduced(st, f->axis[v]) && !f->max_extent[v])
            rows = v;
    return rows;
}

bool uk_take_row_blocks(const struct uk_schedule *s, const struct uk_stage *st, struct uk_fit *f) {
    const int rows = uk_weighted_rows(st, f);

    if (rows < 0)
        return false;
    double terms = CHAR_BIT / uk_kernel_operation(f->intrinsic->row)->bits; /* for each byte of a column */

    for (int v = 0; v < f->axes; v++)
        if (uk_is_reduced(st, f->axis[v]))
            terms *= uk_values_estimate(s, st, f->axis[v]);
    const int64_t all = uk_constant_extent(st, f->axis[rows]); /* negative: it is open */
    const double bytes = terms * (double)uk_type_bytes(st->operand[1].tensor->type),
                 fitting = (double)s->target->machine.cache[UK_L2].size / 2 / bytes;
    const int64_t most = uk_max((int64_t)fitting, GEMM_BLOCK_TILES * uk_kernel_mr(f->intrinsic->row));

    if (all >= 0 && all <= most)
        return false;
    f->max_extent[rows] = all < 0 ? most : uk_ceil_div(all, uk_ceil_div(all, most));
    return true;
}

/* The estimated number of columns of the stage. */
static double columns_of(const struct uk_schedule *s, const struct uk_stage *st, const struct uk_fit *f) {
    for (int v = 0; v < f->axes; v++)
        if (!uk_is_reduced(st, f->axis[v]) && f->max_extent[v] == uk_kernel_nr(f->intrinsic->row))
            return uk_values_estimate(s, st, f->axis[v]);
    return 1;
}

bool uk_has_too_many_columns(const struct uk_schedule *s, const struct uk_stage *st, const struct uk_fit *f) {
    const struct uk_kernel *row = f->intrinsic->row;

    return row && uk_computes_all_rows(row) && uk_kernel_row_step(row) != 1 && !uk_is_one_call(s, st, f);
}

bool uk_is_one_call(const struct uk_schedule *s, const struct uk_stage *st, const struct uk_fit *f) {
    return uk_computes_all_rows(f->intrinsic->row) && columns_of(s, st, f) <= uk_kernel_nr(f->intrinsic->row);
}

/* The number of k iterations of whole tiles that take as long as one of the product. */
static double whole_tiles(const struct uk_schedule *s, const struct uk_stage *st, const struct uk_fit *f) {
    const struct uk_product_kernel k = uk_product_kernel(f->intrinsic->row);
    const struct uk_counts whole = uk_product_counts(&k, k.mr, k.nr);
    const struct product p = product_of(s, st, f);

    return product_cycles(s, f->intrinsic->row, &p) /
           uk_cost_cycles(&s->target->machine.core, &s->target->vectors, &whole);
}

/* The number of rows that hide the latency of a multiply-add; fewer cost as much. */
static double rows_of_latency(const struct uk_schedule *s, const struct uk_stage *st,
                              const struct uk_kernel *row) {
    const struct uk_target *t = s->target;
    const double lanes = (double)t->vectors.bytes / (double)uk_type_bytes(st->operand[0].tensor->type),
                 vectors = uk_max_real(uk_kernel_nr(row) / uk_max_real(lanes, 1), 1);

    return uk_max_real(t->machine.core.fma_latency * uk_ports_rate(&t->vectors.fma) / vectors, 1);
}

/* True if the kernel's sums end with the v-th axis, of whose terms it takes kr at a time. */
static bool is_last_sum(const struct uk_stage *st, const struct uk_fit *f, int v) {
    for (int last = f->axes - 1; last > v; last--)
        if (uk_is_reduced(st, f->axis[last]))
            return false;
    return true;
}

/* Number of whole steps along the v-th axis, of extent n, for kernels that are not of products by tiles. */
static double steps_of(const struct uk_schedule *s, const struct uk_stage *st, const struct uk_fit *f, int v,
                       double n) {
    const struct uk_kernel *row = f->intrinsic->row;
    const bool has_loop = v < f->axes;
    const int64_t most = tile_extent(f, v);

    if (row && has_loop && uk_depthwise_block(st, f, v)) {
        /* instructions are per channel */
        return v == uk_channel_axis_of_tile(st, f) ? n : n / (double)uk_depthwise_block(st, f, v);
    } else if (row && has_loop && uk_is_reduced(st, f->axis[v]) &&
               (takes_any_rows(row) || is_last_sum(st, f, v))) {
        /* A partial group takes as long as a full one. */
        n = ceil(n / uk_kernel_kr(row)) * uk_kernel_kr(row);
    } else if (has_loop && uk_rows_at_once(st, f, v) != most) {
        return n / (double)uk_rows_at_once(st, f, v);
    }
    if (!row || most != uk_kernel_mr(row))
        return rounded(n, (double)most, (double)most) / (double)uk_max(most, 1);
    const double hiding = rows_of_latency(s, st, row);

    if (!has_loop && (double)most >= hiding)
        n = hiding;
    return rounded(n, (double)most, uk_kernel_row_step(row)) / (double)uk_max(most, 1);
}

double uk_whole_iterations(const struct uk_schedule *s, const struct uk_stage *st, const struct uk_fit *f) {
    const struct uk_kernel *row = f->intrinsic->row;
    const bool is_product = row && has_product_tile(row);
    double work = 1;

    for (int v = 0; v < f->axes + f->units; v++)
        if (!is_product || (v < f->axes && uk_is_reduced(st, f->axis[v])))
            work *= steps_of(s, st, f, v, v < f->axes ? uk_values_estimate(s, st, f->axis[v]) : 1);
    for (int i = 0; i < st->loops; i++)
        work *= uk_is_axis(f, st->loop[i]) ? 1 : uk_values_estimate(s, st, st->loop[i]);
    return work * (is_product ? whole_tiles(s, st, f) : 1) * uk_depthwise_waste(s, st, f);
}

/* Cycles of adding up the lanes of a group of inner products: two vectors become one by two shuffles and an
 * addition, about as many times as there are sums. The kernel is inlined, so that these overlap the
 * multiply-adds of the next group and latencies do not count. */
static double group_lanes_cycles(const struct uk_schedule *s, const struct uk_kernel *row) {
    const double sums = uk_kernel_mr(row) * uk_kernel_nr(row);
    const struct uk_counts n = {.shuffle = 2 * sums, .other = sums};

    return uk_cost_cycles(&s->target->machine.core, &s->target->vectors, &n);
}

/* Kernels whose vectors lie along the sum add their lanes at the end, for mr rows at a time; those whose
 * group fills a register, for each row of each call. */
double uk_lanes_cycles(const struct uk_schedule *s, const struct uk_stage *st, const struct uk_fit *f) {
    const struct uk_kernel *row = f->intrinsic->row;
    const enum uk_op_form form = uk_kernel_operation(row)->form;
    double sums = 1;

    if (form == UK_OP_GEMV_N && uk_kernel_kr(row) > 1) {
        for (int i = 0; i < st->loops; i++)
            if (!uk_is_axis(f, st->loop[i]) || !uk_is_reduced(st, st->loop[i]))
                sums *= uk_values_estimate(s, st, st->loop[i]);
        return sums * GROUP_END;
    }
    if (s->target->vectors.bytes < 16 || (form != UK_OP_GEMV_N && form != UK_OP_DOT && form != UK_OP_NT))
        return 0;
    for (int i = 0; i < st->loops; i++)
        sums *= uk_is_reduced(st, st->loop[i]) ? 1 : uk_values_estimate(s, st, st->loop[i]);
    if (form == UK_OP_NT)
        return ceil(sums / (uk_kernel_mr(row) * uk_kernel_nr(row))) * group_lanes_cycles(s, row);
    return ceil(sums / uk_kernel_mr(row)) * GEMM_TREE;
}

/* ---- calls ---- */

/* The number of calls of the kernel if its sum is not split. */
static double calls(const struct uk_schedule *s, const struct uk_stage *st, const struct uk_fit *f) {
    double n = 1;

    for (int i = 0; i < st->loops; i++)
        n *= uk_is_axis(f, st->loop[i]) ? 1 : uk_values_estimate(s, st, st->loop[i]);
    for (int v = 0; v < f->axes; v++)
        n *= f->max_extent[v] ? ceil(uk_values_estimate(s, st, f->axis[v]) / (double)f->max_extent[v]) : 1;
    return n;
}

double uk_cycles_of_tile(const struct uk_schedule *s, const struct uk_stage *st, const struct uk_fit *f) {
    const struct uk_vectors *v = &s->target->vectors;
    const double lanes = v->bytes / (double)uk_type_bytes(st->operand[0].tensor->type);
    double tile = 1;

    for (int i = 0; i < f->axes; i++) {
        const double n = uk_values_estimate(s, st, f->axis[i]);
        const int64_t at_once = uk_rows_at_once(st, f, i);

        if (uk_is_reduced(st, f->axis[i]))
            continue;
        if (at_once)
            tile *= f->max_extent[i] ? (double)at_once : n / ceil(n / (double)at_once);
        else if (uk_channel_axis(st, f) >= 0)
            tile *= n; /* such a call's pixels and channels are all its tile */
    }
    const double vectors = tile / (lanes > 1 ? lanes : 1);
    return (uk_is_depthwise_tile(f) ? BLOCK_END : GEMM_CALL) + vectors / uk_ports_rate(&v->store) +
           vectors / uk_ports_rate(&v->load);
}

double uk_call_cycles(const struct uk_schedule *s, const struct uk_stage *st, const struct uk_fit *f) {
    return calls(s, st, f) * uk_cycles_of_tile(s, st, f);
}
